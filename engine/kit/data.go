package kit

import (
	"fmt"
	"strings"
)

// table is rows as SQL makes them: the engine for the writer, and DuckDB for the comparison. Its columns are id and value, and part if it is
// partitioned.
type table struct {
	sql  string // may name $dt
	kind string // SQL type of value; empty: VARCHAR
	part bool
}

// at is the table for a value of dt.
func (t table) at(dt string) table {
	t.sql = strings.ReplaceAll(t.sql, "$dt", "'"+dt+"'")
	return t
}

func (t table) valueType() string {
	if t.kind == "" {
		return "VARCHAR"
	}
	return t.kind
}

// valueSQL gives rows of one column from their literals, NULL included.
func valueSQL(literals ...string) string {
	rows := make([]string, len(literals))
	for i, l := range literals {
		rows[i] = fmt.Sprintf("(%d::BIGINT, %s)", i+1, l)
	}
	return "SELECT id, value FROM (VALUES " + strings.Join(rows, ", ") + ") AS t(id, value)"
}

// plain are rows that nobody has trouble with.
var plain = table{sql: valueSQL("'sun'", "'moon'", "'star'")}

// daily are plain rows of a day.
var daily = table{sql: "SELECT id, value || $dt AS value FROM (" + valueSQL("'sun '", "'moon '", "'star '") + ")"}

// dailyParts are those of a day in partitions; days share one of them.
var dailyParts = table{part: true, sql: "SELECT id, value || $dt AS value, CASE id WHEN 1 THEN 'all' ELSE 'day' || $dt END AS part FROM (" + valueSQL("'sun '", "'moon '", "'star '") + ")"}

// lines gives n rows that look like many others.
func lines(n int) table {
	return table{sql: fmt.Sprintf("SELECT range AS id, 'row ' || range || ' of a long table, padded' AS value FROM range(%d)", n)}
}

// text is one of the texts that formats have trouble with: an empty one, one with blanks around it, and so on.
type text struct{ name, literal string }

var texts = []text{
	{"empty", "''"},
	{"blanks", "'  sun  '"},
	{"comma", "'sun,moon'"},
	{"quotes", `'say "sun"'`},
	{"apostrophe", "'sun''s'"},
	{"backslash", `'sun\moon'`},
	{"tab", "'sun' || chr(9) || 'moon'"},
	{"newline", "'sun' || chr(10) || 'moon'"},
	{"crlf", "'sun' || chr(13) || chr(10) || 'moon'"},
	{"null_word", "'NULL'"},
	{"leading_zero", "'007'"},
	{"scripts", "'日本 ñandú עברית 🌞'"},
	{"combining", "'e' || chr(769)"},
	{"markup", "'<a href=\"x\">&amp;</a>'"},
}

// typed is a type with a plain value and with the ends of its range.
type typed struct {
	kind  string
	plain string
	least string
	most  string
}

var types = []typed{
	{"BOOLEAN", "true", "false", "true"},
	{"TINYINT", "7", "-128", "127"},
	{"SMALLINT", "7", "-32768", "32767"},
	{"INTEGER", "7", "-2147483648", "2147483647"},
	{"BIGINT", "7", "-9223372036854775808", "9223372036854775807"},
	{"UTINYINT", "7", "0", "255"},
	{"UINTEGER", "7", "0", "4294967295"},
	{"UBIGINT", "7", "0", "18446744073709551615"},
	{"HUGEINT", "7", "-99999999999999999999999999999999999999", "99999999999999999999999999999999999999"},
	{"FLOAT", "1.5", "-3.25e30", "3.25e30"},
	{"DOUBLE", "1.5", "-1.7e308", "2.2250738585072014e-308"},
	{"DECIMAL(9,2)", "12.50", "-9999999.99", "9999999.99"},
	{"DECIMAL(38,10)", "12.5", "-9999999999999999999999999999.9999999999", "9999999999999999999999999999.9999999999"},
	{"DATE", "2026-01-31", "0001-01-01", "9999-12-31"},
	{"TIME", "12:34:56", "00:00:00", "23:59:59.999999"},
	{"TIMESTAMP", "2026-01-31 12:34:56", "0001-01-01 00:00:00", "9999-12-31 23:59:59.999999"},
	{"TIMESTAMPTZ", "2026-01-31 12:34:56+00", "1900-01-01 00:00:00+00", "9999-12-31 23:59:59.999999+00"},
	{"UUID", "123e4567-e89b-12d3-a456-426614174000", "00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff"},
}

// lossNames are those of texts and types.
func lossNames() (names []string) {
	for _, t := range texts {
		names = append(names, t.name)
	}
	for _, t := range types {
		names = append(names, t.kind)
	}
	return names
}

func (t typed) plainTable() table {
	return table{kind: t.kind, sql: valueSQL("'"+t.plain+"'::"+t.kind, "NULL")}
}

func (t typed) extremeTable() table {
	return table{kind: t.kind, sql: valueSQL("'"+t.least+"'::"+t.kind, "'"+t.most+"'::"+t.kind)}
}

// parts are values of a partition column that a folder cannot have as its name, or readers have trouble with.
var parts = table{part: true, sql: `SELECT id, 'row ' || id AS value, part FROM (VALUES (1::BIGINT, 'plain'), (2, 'a b'), (3, '../up'), (4, 'a/b'), (5, 'a=b'),
	(6, '50%'), (7, '%2F'), (8, 'ä🌞'), (9, 'x''y"z'), (10, '.'), (11, 'plain'), (12, NULL)) AS t(id, part)`}
