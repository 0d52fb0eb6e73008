package delta

import (
	"strings"
	"testing"

	"github.com/ubunye-io/ubunye/engine/abi"
	"github.com/ubunye-io/ubunye/engine/deltalog/schema"
)

// TestC072 too: a wall clock becomes a moment in UTC, and raises the protocol only when asked.
func TestNewSchema(t *testing.T) {
	for _, c := range []struct{ sql, typ, ntz string }{
		{"BIGINT", "long", ""}, {"INTEGER", "integer", ""}, {"TINYINT", "byte", ""}, {"UTINYINT", "short", ""}, {"USMALLINT", "integer", ""}, {"UINTEGER", "long", ""},
		{"UBIGINT", "decimal(20,0)", ""}, {"DECIMAL(18,2)", "decimal(18,2)", ""}, {"DOUBLE", "double", ""}, {"FLOAT", "float", ""}, {"BOOLEAN", "boolean", ""},
		{"VARCHAR", "string", ""}, {"UUID", "string", ""}, {"JSON", "string", ""}, {"ENUM('a', 'b')", "string", ""}, {"BLOB", "binary", ""}, {"DATE", "date", ""},
		{"TIMESTAMP WITH TIME ZONE", "timestamp", ""}, {"TIMESTAMP", "timestamp", "timestamp_ntz"}, {"TIMESTAMP_S", "timestamp", "timestamp_ntz"}, {"TIMESTAMP_MS", "timestamp", "timestamp_ntz"},
	} {
		for _, ntz := range []bool{false, true} {
			want := c.typ
			if ntz && c.ntz != "" {
				want = c.ntz
			}
			got, err := newSchema(columns("c", c.sql), ntz)
			if err != nil || got.Fields[0].Type.String() != want {
				t.Errorf("%s: %v %v, want %s", c.sql, got, err, want)
			}
		}
	}
	got, err := newSchema(columns("c", `STRUCT(a TIMESTAMP, b DECIMAL(5,1)[], m MAP(VARCHAR, TIMESTAMP))`), false)
	if err != nil || got.Has(schema.TimestampNTZ) || !got.Has(schema.Timestamp) {
		t.Errorf("%v %v", got, err)
	}
}

// TestC082: all bad columns are told at once, with better names.
func TestC082BadColumns(t *testing.T) {
	_, err := newSchema(columns("Code région", "VARCHAR", "a;b", "BIGINT", " lead", "BIGINT", "Id", "BIGINT", "id", "BIGINT", "my h", "HUGEINT", "t", "TIME", "n", "TIMESTAMP_NS", "z", `"NULL"`), false)
	f, ok := err.(*abi.Failure)
	if !ok {
		t.Fatalf("%v", err)
	}
	for _, want := range []string{`"Code région"`, `"a;b"`, `" lead"`, `"id" cannot be a column's: it differs from Id in case alone`, "column my h: ", "column t: ", "column n: ", "column z: "} {
		if !strings.Contains(f.Message, want) {
			t.Errorf("%s lacks %s", f.Message, want)
		}
	}
	for _, want := range []string{`"Code région" AS "Code_région"`, `"a;b" AS "a_b"`, `" lead" AS "lead"`, "CAST(\"my h\" AS DECIMAL(38,0))", "CAST(\"n\" AS TIMESTAMP)"} {
		if !strings.Contains(f.Hint, want) {
			t.Errorf("%s lacks %s", f.Hint, want)
		}
	}
}

// TestC097: columns are found by name, and what differs is told.
func TestC097Drift(t *testing.T) {
	table, err := newSchema(columns("id", "INTEGER", "v", "BIGINT", "s", "VARCHAR"), false)
	if err != nil {
		t.Fatal(err)
	}
	table.Fields[0].Nullable = false
	for _, c := range []struct {
		policy  string
		columns []abi.Column
		selects string
		added   string
		wrong   string
	}{
		{"", columns("s", "VARCHAR", "V", "INTEGER", "id", "SMALLINT"), `CAST("id" AS INTEGER) AS "id"|CAST("V" AS BIGINT) AS "v"|"s"`, "", ""},
		{"", columns("id", "INTEGER", "v", "BIGINT"), "", "", "- s string is not in the rows"},
		{"", columns("id", "INTEGER", "v", "BIGINT", "s", "VARCHAR", "new", "DATE"), "", "", "+ new DATE is not in the table"},
		{"", columns("id", "BIGINT", "v", "VARCHAR", "s", "VARCHAR"), "", "", "~ id is BIGINT in the rows and integer in the table; ~ v is VARCHAR in the rows and long in the table"},
		{"", columns("x", "BIGINT"), "", "", "+ x BIGINT is not in the table; - id integer is not in the rows; - v long is not in the rows; - s string is not in the rows"},
		{schemaAdd, columns("id", "INTEGER", "new", "DATE", "s", "VARCHAR"), `"id"|CAST(NULL AS BIGINT) AS "v"|"s"|"new"`, "new", ""},
		{schemaAdd, columns("v", "BIGINT", "s", "VARCHAR"), "", "", "- id integer is not in the rows, and cannot be NULL"},
		{schemaAdd, columns("id", "INTEGER", "v", "DOUBLE", "s", "VARCHAR"), "", "", "~ v is DOUBLE in the rows and long in the table"},
		{schemaAdd, columns("id", "INTEGER", "v", "BIGINT", "s", "VARCHAR", "a b", "DATE"), "", "", `the name "a b" cannot be a column's`},
	} {
		f, err := fit(table, c.columns, c.policy, false)
		if c.wrong != "" {
			if err == nil || !strings.HasSuffix(err.Error(), c.wrong) && !strings.Contains(err.Error(), c.wrong+":") || err.(*abi.Failure).Hint == "" {
				t.Errorf("%v: %v, want …%s", c.columns, err, c.wrong)
			}
			continue
		}
		if got := strings.Join(f.selects, "|"); err != nil || got != c.selects || strings.Join(f.added, " ") != c.added {
			t.Errorf("%v: %s %q %v", c.columns, got, f.added, err)
		}
	}
}

func TestHolds(t *testing.T) {
	for _, c := range []struct {
		table, rows string
		want        bool
	}{
		{"BIGINT", "INTEGER", true}, {"INTEGER", "BIGINT", false}, {"DOUBLE", "FLOAT", true}, {"DOUBLE", "INTEGER", true}, {"DOUBLE", "BIGINT", false},
		{"DECIMAL(20,2)", "DECIMAL(18,2)", true}, {"DECIMAL(18,2)", "DECIMAL(18,3)", false}, {"DECIMAL(18,2)", "BIGINT", false}, {"DECIMAL(38,2)", "BIGINT", true},
		{"TIMESTAMP WITH TIME ZONE", "TIMESTAMP", true}, {"TIMESTAMP", "TIMESTAMP WITH TIME ZONE", false}, {"VARCHAR", "BIGINT", false}, {"VARCHAR", "UUID", true},
		{"TIMESTAMP", "DATE", true}, {"DATE", "TIMESTAMP", false}, {"BIGINT[]", "INTEGER[]", true}, {"STRUCT(a BIGINT)", "STRUCT(A INTEGER)", true},
		{"STRUCT(a BIGINT)", "STRUCT(b INTEGER)", false}, {"STRUCT(a BIGINT, b DATE)", "STRUCT(a BIGINT)", false}, {"MAP(VARCHAR, BIGINT)", "MAP(VARCHAR, INTEGER)", true},
		{"BIGINT", "HUGEINT", false}, {"BOOLEAN", "INTEGER", false},
	} {
		typ, err := schema.FromSQL(c.table)
		if err != nil {
			t.Fatal(err)
		}
		if _, got := convert(abi.Column{Name: "c", Type: c.rows}, typ); got != c.want {
			t.Errorf("%s holds %s: %v", c.table, c.rows, got)
		}
	}
}
