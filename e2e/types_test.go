package e2e

import (
	"encoding/json"
	"flag"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/types.md instead of comparing it")

// typeCase is a column of one type, through each format that holds it.
type typeCase struct {
	column, sql string
	in          string // the formats, of "parquet csv json"
	values      []typeValue
	back        string            // the type to declare to read text files; empty: sql
	differs     map[string]string // by "FORMAT READER": why it sees other values; any other difference fails the test
}

// typeValue is one value.
type typeValue struct {
	sql  string
	want any    // as typed.py spells it; nil: sql without quotes
	text string // what text formats hold, if that is something else
}

func (v typeValue) wanted() any {
	if v.want == nil {
		return strings.Trim(v.sql, "'")
	}
	return v.want
}

func texts(values ...string) (all []typeValue) {
	for _, v := range values {
		all = append(all, typeValue{sql: "'" + v + "'"})
	}
	return all
}

const (
	everywhere = "parquet csv json"
	noPolars   = "its JSON reader makes floating point of numbers"
	inferred   = "it has its own idea of nested types in JSON"
)

var polarsJSON = map[string]string{"json polars": noPolars}

// typeCases are the types of the compute engine, each with its edges. Every column holds a NULL too.
var typeCases = []typeCase{
	{column: "tinyint", sql: "TINYINT", in: everywhere, values: texts("-128", "127")},
	{column: "smallint", sql: "SMALLINT", in: everywhere, values: texts("-32768", "32767")},
	{column: "integer", sql: "INTEGER", in: everywhere, values: texts("-2147483648", "2147483647")},
	{column: "bigint", sql: "BIGINT", in: everywhere, values: texts("-9223372036854775808", "9223372036854775807", "9007199254740993")},
	{column: "hugeint", sql: "HUGEINT", in: everywhere, values: texts("-99999999999999999999999999999999999999", "99999999999999999999999999999999999999")},
	{column: "utinyint", sql: "UTINYINT", in: everywhere, values: texts("0", "255")},
	{column: "usmallint", sql: "USMALLINT", in: everywhere, values: texts("0", "65535")},
	{column: "uinteger", sql: "UINTEGER", in: everywhere, values: texts("0", "4294967295")},
	{column: "ubigint", sql: "UBIGINT", in: everywhere, values: texts("0", "18446744073709551615")},
	{column: "uhugeint", sql: "UHUGEINT", in: everywhere, values: texts("0", "99999999999999999999999999999999999999")},
	{column: "bignum", sql: "BIGNUM", in: everywhere, back: "VARCHAR", values: texts("-123456789012345678901234567890123456789012345678901234567890", "1")},
	{column: "decimal4", sql: "DECIMAL(4,1)", in: everywhere, values: texts("-999.9", "0.1")},
	{column: "decimal9", sql: "DECIMAL(9,2)", in: everywhere, values: texts("-9999999.99", "0.01"), differs: nil},
	{column: "decimal18", sql: "DECIMAL(18,18)", in: everywhere, values: texts("-0.999999999999999999", "0.000000000000000001"), differs: polarsJSON},
	{column: "decimal38", sql: "DECIMAL(38,10)", in: everywhere, values: texts("-9999999999999999999999999999.9999999999", "0.0000000001"), differs: polarsJSON},
	{column: "decimal38_38", sql: "DECIMAL(38,38)", in: everywhere, values: texts("-0.12345678901234567890123456789012345678", "0.99999999999999999999999999999999999999"), differs: polarsJSON},
	{column: "real", sql: "FLOAT", in: everywhere, values: texts("0.1", "-0.0", "3.4028235e+38", "1e-45")},
	{column: "real_special", sql: "FLOAT", in: "parquet csv", values: texts("nan", "inf", "-inf")},
	{column: "double", sql: "DOUBLE", in: everywhere, values: texts("0.1", "-0.0", "1.7976931348623157e+308", "5e-324")},
	{column: "double_special", sql: "DOUBLE", in: "parquet csv", values: texts("nan", "inf", "-inf")},
	{column: "boolean", sql: "BOOLEAN", in: everywhere, values: texts("true", "false")},
	{column: "varchar", sql: "VARCHAR", in: everywhere, values: append(texts("", " lead and trail ", "NULL", "nan", "=1+1", "007", "😀é日本", "a,b;c"),
		typeValue{sql: `'say "x"'`}, typeValue{sql: `'it''s'`, want: "it's"}, typeValue{sql: "'a' || chr(0) || 'b'", want: "a\x00b"},
		typeValue{sql: "'one' || chr(10) || 'two' || chr(13) || chr(10) || 'three' || chr(13)", want: "one\ntwo\r\nthree\r"})},
	{column: "blob", sql: "BLOB", in: everywhere, values: []typeValue{{sql: "''"}, {sql: `'\x00\xFF'`, want: "00ff", text: "AP8="}}},
	{column: "uuid", sql: "UUID", in: everywhere, values: texts("6f1c4d0e-2b5a-4b7e-9a51-0d7f8c3e2a11", "ffffffff-ffff-ffff-ffff-ffffffffffff")},
	{column: "enum", sql: "ENUM('happy', 'sad', '')", in: everywhere, back: "VARCHAR", values: texts("happy", "sad", "")},
	{column: "bit", sql: "BIT", in: everywhere, back: "VARCHAR", values: texts("101", "0")},
	{column: "json", sql: "JSON", in: everywhere, values: texts(`{"k":[1,null]}`), differs: map[string]string{"json pyarrow": "it is a part of the row's object, and no text", "json polars": "it spells the part of the row's object anew"}},
	{column: "date", sql: "DATE", in: everywhere, values: texts("0001-01-01", "1582-10-04", "1582-10-15", "1970-01-01", "9999-12-31")},
	{column: "date_far", sql: "DATE", in: "parquet", values: texts("0044-03-15 (BC)", "12345-06-07")},
	{column: "time", sql: "TIME", in: everywhere, values: texts("00:00:00", "01:02:03.5", "23:59:59.999999")},
	{column: "timestamp", sql: "TIMESTAMP", in: everywhere, values: texts("0001-01-01 00:00:00", "1582-10-04 01:02:03", "1969-12-31 23:59:59.999999", "2026-03-29 02:30:00", "9999-12-31 23:59:59.999999")},
	{column: "timestamp_s", sql: "TIMESTAMP_S", in: everywhere, back: "TIMESTAMP", values: texts("0001-01-01 00:00:00", "9999-12-31 23:59:59")},
	{column: "timestamp_ms", sql: "TIMESTAMP_MS", in: everywhere, back: "TIMESTAMP", values: texts("0001-01-01 00:00:00", "9999-12-31 23:59:59.999")},
	{column: "timestamp_ns", sql: "TIMESTAMP_NS", in: everywhere, back: "VARCHAR", values: texts("1677-09-22 00:00:00", "1969-12-31 23:59:59.999999999", "2262-04-11 23:47:16.854775806")},
	{column: "timestamptz", sql: "TIMESTAMP WITH TIME ZONE", in: everywhere, values: append(texts("0001-01-01 00:00:00+00", "9999-12-31 23:59:59.999999+00"),
		typeValue{sql: "'2026-03-29 02:30:00+01'", want: "2026-03-29 01:30:00+00"}, typeValue{sql: "'2026-10-25 02:30:00+02'", want: "2026-10-25 00:30:00+00"})},
	{column: "nothing", sql: "INTEGER", in: everywhere},
	{column: "list", sql: "INTEGER[]", in: "parquet json", values: []typeValue{{sql: "[1, NULL, 3]", want: []any{"1", nil, "3"}}, {sql: "[]", want: []any{}}}},
	{column: "list_text", sql: "VARCHAR[]", in: "parquet json", values: []typeValue{{sql: `['a"b', '', NULL]`, want: []any{`a"b`, "", nil}}}},
	{column: "list_hugeint", sql: "HUGEINT[]", in: "parquet json", values: []typeValue{{sql: "[12345678901234567890]", want: []any{"12345678901234567890"}}},
		differs: polarsJSON},
	{column: "array", sql: "DOUBLE[2]", in: "parquet json", back: "DOUBLE[]", values: []typeValue{{sql: "[1.5, 2.5]", want: []any{"1.5", "2.5"}}}},
	{column: "struct", sql: `STRUCT(a DECIMAL(5,2), "B c" VARCHAR, n DATE)`, in: "parquet json",
		values:  []typeValue{{sql: "{'a': 1.50, 'B c': 'x', 'n': NULL}", want: map[string]any{"a": "1.50", "B c": "x", "n": nil}}},
		differs: map[string]string{"json polars": noPolars}},
	{column: "map", sql: "MAP(VARCHAR, INTEGER)", in: "parquet json", values: []typeValue{{sql: "MAP {'k': 1, 'l': NULL}", want: map[string]any{"k": "1", "l": nil}}}},
	{column: "deep", sql: "STRUCT(l INTEGER[], m MAP(VARCHAR, DATE[]))[]", in: "parquet json",
		values:  []typeValue{{sql: "[{'l': [1], 'm': MAP {'k': [DATE '2026-01-31']}}]", want: []any{map[string]any{"l": []any{"1"}, "m": map[string]any{"k": []any{"2026-01-31"}}}}}},
		differs: map[string]string{"json pyarrow": inferred}},
	{column: "list_ns", sql: "TIMESTAMP_NS[]", in: "parquet json", back: "JSON", values: []typeValue{{sql: "[TIMESTAMP_NS '2026-01-31 01:02:03.123456789']", want: []any{"2026-01-31 01:02:03.123456789"}}},
		differs: map[string]string{"json polars": inferred, "json ubunye": "it is declared as JSON"}},
}

// holds tells the columns that a format holds.
func (c typeCase) holds(format string) bool { return slices.Contains(strings.Fields(c.in), format) }

// want is what a reader sees of the values in a file, NULL last. asText tells that it sees the text of one.
func (c typeCase) want(format string, asText bool) []any {
	all := []any{}
	for _, v := range c.values {
		want := v.wanted()
		if asText && v.text != "" {
			want = v.text
		}
		if s, ok := want.(string); ok && asText && format == "json" && strings.HasPrefix(c.sql, "TIMESTAMP") {
			want = strings.NewReplacer(" ", "T", "+00", "Z").Replace(s)
		}
		all = append(all, want)
	}
	for len(all) < typeRows {
		all = append(all, nil)
	}
	return all
}

// typeRows is one more than the most values of a column.
const typeRows = 13

// typesSteps is SQL of a relation of each format's columns.
func typesSteps(format string) string {
	// A UNION, because CASE knows no lists of a fixed length.
	var rows []string
	for i := range typeRows {
		items := []string{fmt.Sprintf("CAST(%d AS BIGINT) AS id", i+1)}
		for _, c := range typeCases {
			if !c.holds(format) {
				continue
			}
			value := "NULL"
			if i < len(c.values) {
				value = c.values[i].sql
			}
			items = append(items, fmt.Sprintf("CAST(%s AS %s) AS %s", value, c.sql, c.column))
		}
		rows = append(rows, "SELECT "+strings.Join(items, ", "))
	}
	return strings.Join(rows, "\nUNION ALL\n") + "\n"
}

// newTypes is a project that has written every type to each format, has read that by from in another task, and by
// its path in a third.
func newTypes(t *testing.T) *project {
	t.Helper()
	formats := strings.Fields(everywhere)
	var b strings.Builder
	b.WriteString("name: types\ntasks:\n  write:\n    transform:\n")
	for _, f := range formats {
		fmt.Fprintf(&b, "      %s: {sql_file: %s.sql}\n", f, f)
	}
	b.WriteString("    outputs:\n")
	for _, f := range formats {
		fmt.Fprintf(&b, "      %s: {format: %s, path: lake/%s, sort_by: [id]}\n", f, f, f)
	}
	b.WriteString("  again:\n    inputs:\n")
	for _, f := range formats {
		fmt.Fprintf(&b, "      %s: {from: write.%s}\n", f, f)
	}
	b.WriteString("    outputs:\n")
	for _, f := range formats {
		fmt.Fprintf(&b, "      %s: {format: parquet, path: lake/again/%s, sort_by: [id]}\n", f, f)
	}
	b.WriteString("  declared:\n    inputs:\n")
	for _, f := range formats {
		fmt.Fprintf(&b, "      %s:\n        format: %s\n        path: lake/%s/*.%s\n", f, f, f, f)
		if f == "parquet" {
			continue // its types stand in the files
		}
		if f == "csv" {
			b.WriteString("        options: {quoted_null: false}\n")
		}
		b.WriteString("        columns:\n          id: BIGINT\n")
		for _, c := range typeCases {
			if c.holds(f) {
				fmt.Fprintf(&b, "          %s: '%s'\n", c.column, c.declared(f))
			}
		}
	}
	b.WriteString("    outputs:\n")
	for _, f := range formats {
		fmt.Fprintf(&b, "      %s: {format: parquet, path: lake/declared/%s, sort_by: [id]}\n", f, f)
	}
	p := newProject(t, b.String())
	for _, f := range formats {
		p.write(f+".sql", typesSteps(f))
	}
	p.run("run", "-c", "pipeline.yaml").must(t, 0)
	return p
}

// declared is the type to declare of a text file's column.
func (c typeCase) declared(format string) string {
	switch {
	case c.back != "":
		return c.back
	case c.sql == "JSON" && format == "csv":
		return "VARCHAR"
	}
	return c.sql
}

// seen is what a reader makes of a column.
type seen struct {
	Column, Type, Error string
	Values              []any
}

// see reads the columns of a folder that a format holds.
func (p *project) see(reader, kind, folder, format string) map[string]seen {
	p.t.Helper()
	var columns [][2]string
	for _, c := range typeCases {
		if c.holds(format) {
			columns = append(columns, [2]string{c.column, c.sql})
		}
	}
	all := map[string]seen{}
	for _, row := range foreign.read(p.t, map[string]any{"reader": reader, "kind": kind, "path": p.path(folder), "columns": columns}) {
		var s seen
		if err := json.Unmarshal([]byte(row), &s); err != nil {
			p.t.Fatal(err)
		}
		all[s.Column] = s
	}
	return all
}

// check gives the cell of the page for what a reader saw.
func (c typeCase) check(t *testing.T, format, reader string, s seen) string {
	t.Helper()
	equal := reflect.DeepEqual(s.Values, c.want(format, false)) || reflect.DeepEqual(s.Values, c.want(format, true))
	why := c.differs[format+" "+reader]
	switch {
	case s.Error == "" && equal && why == "":
		return "`" + s.Type + "`"
	case why == "":
		t.Errorf("%s, column %s, by %s: %s\n got %q (%s)\nwant %q", format, c.column, reader, s.Error, s.Values, s.Type, c.want(format, false))
	case equal:
		t.Errorf("%s, column %s, by %s: the same values, although %s", format, c.column, reader, why)
	}
	if s.Error != "" {
		return "**not read**: " + why
	}
	return "`" + s.Type + "`, **not equal**: " + why
}
