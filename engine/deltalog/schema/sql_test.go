package schema

import (
	"reflect"
	"testing"
)

func TestSQL(t *testing.T) {
	for text, want := range map[string]string{
		"BOOLEAN": "boolean", "TINYINT": "byte", "SMALLINT": "short", "INTEGER": "integer", "BIGINT": "long", "FLOAT": "float", "DOUBLE": "double", "VARCHAR": "string", "BLOB": "binary",
		"DATE": "date", "TIMESTAMP WITH TIME ZONE": "timestamp", "TIMESTAMP": "timestamp_ntz", "DECIMAL(38,18)": "decimal(38,18)",
	} {
		got, err := FromSQL(text)
		if err != nil || got.String() != want || got.SQL() != text {
			t.Errorf("%s: %s, %v; want %s; as SQL %s", text, got, err, want, got.SQL())
		}
	}
	const deep = `STRUCT("a" INTEGER[][], "b ""c, d)" MAP(VARCHAR, STRUCT("x" DECIMAL(18,2))), "t" TIMESTAMP WITH TIME ZONE)[]`
	got, err := FromSQL(deep)
	if err != nil || got.SQL() != deep {
		t.Fatalf("%s, %v; want %s", got.SQL(), err, deep)
	}
	inner := got.Element
	if got.Kind != Array || inner.Fields[0].Type.Element.Kind != Array || inner.Fields[1].Name != `b "c, d)` || inner.Fields[1].Type.Element.Fields[0].Type.Scale != 2 {
		t.Errorf("%+v", got)
	}
	if got, err := FromSQL("STRUCT(a INTEGER, b VARCHAR)"); err != nil || got.SQL() != `STRUCT("a" INTEGER, "b" VARCHAR)` {
		t.Errorf("%s, %v", got.SQL(), err)
	}
	for text, want := range map[string]string{
		"HUGEINT":            "no type of a Delta table holds HUGEINT",
		"UBIGINT":            "no type of a Delta table holds UBIGINT",
		"TIME":               "no type of a Delta table holds TIME",
		"INTERVAL":           "no type of a Delta table holds INTERVAL",
		"TIMESTAMP_NS":       "no type of a Delta table holds TIMESTAMP_NS",
		"UNION(a INTEGER)":   "no type of a Delta table holds UNION",
		"ENUM('a', 'b')":     "no type of a Delta table holds ENUM",
		"STRUCT(a UUID)":     "no type of a Delta table holds UUID",
		"INTEGER[3]":         "no type of a Delta table holds INTEGER[3]",
		"STRUCT(":            "no type of a Delta table holds STRUCT(",
		"MAP(VARCHAR)":       "no type of a Delta table holds MAP(VARCHAR)",
		"DECIMAL(39,0)":      "no type of a Delta table holds DECIMAL(39,0)",
		`STRUCT("a INTEGER)`: "no type of a Delta table holds STRUCT(\"a INTEGER)",
		"BIGINT)":            "no type of a Delta table holds BIGINT)",
	} {
		if _, err := FromSQL(text); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

func TestC082_AllBadNamesAtOnce(t *testing.T) {
	got := CheckNames([]string{"Code région", "a;b", " lead", "Id", "id", "ok", "é", "", "="})
	const signs = "it has one of the characters space ,;{}()= or a tab or line end"
	want := []BadName{{"Code région", signs, "Code_région"}, {"a;b", signs, "a_b"}, {" lead", signs, "lead"}, {"id", "it differs from Id in case alone", "id_2"}, {"", "it is empty", "column"}, {"=", signs, "column"}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
}

func TestReadStats(t *testing.T) {
	columns, err := Parse(`{"type":"struct","fields":[{"name":"n","type":"long","nullable":true,"metadata":{"delta.columnMapping.physicalName":"c1"}},{"name":"s","type":"string","nullable":true,"metadata":{}},` +
		`{"name":"d","type":"double","nullable":true,"metadata":{}},{"name":"t","type":"timestamp","nullable":true,"metadata":{}},{"name":"k","type":"decimal(20,2)","nullable":true,"metadata":{}},` +
		`{"name":"x","type":{"type":"struct","fields":[{"name":"y","type":"date","nullable":true,"metadata":{}}]},"nullable":true,"metadata":{}}]}`)
	if err != nil {
		t.Fatal(err)
	}
	s := ReadStats(columns, MappingName, `{"numRecords":3,"tightBounds":false,"minValues":{"c1":9007199254740993,"s":"","d":-1.5,"t":"2000-01-01T00:00:00.000-08:00","k":-0.50,"x":{"y":"2020-01-01"},"gone":1},`+
		`"maxValues":{"c1":9007199254740995,"s":"z","d":7,"t":"2000-01-01T00:00:00.000-08:00","k":12345678901234567.89,"x":{"y":"20200101"}},"nullCount":{"c1":0,"s":3,"d":1,"x":{"y":0}}}`)
	if s.Rows != 3 {
		t.Errorf("%d rows", s.Rows)
	}
	for _, c := range []struct {
		path             []string
		min, max         string
		noNulls, allNull bool
	}{
		{[]string{"n"}, "9007199254740993", "9007199254740995", true, false},
		{[]string{"s"}, "", "z", false, true},
		{[]string{"d"}, "-1.5", "NULL", false, false},
		{[]string{"t"}, "2000-01-01T08:00:00Z", "2000-01-01T08:00:00.000999Z", false, false},
		{[]string{"k"}, "-0.50", "12345678901234567.89", false, false},
		{[]string{"x", "y"}, "2020-01-01", "NULL", true, false},
		{[]string{"gone"}, "NULL", "NULL", false, false},
	} {
		r := s.Column(c.path...)
		text := func(v Value) string {
			if v.IsNull() {
				return "NULL"
			}
			return v.Text()
		}
		if text(r.Min) != c.min || text(r.Max) != c.max || r.NoNulls != c.noNulls || r.AllNulls != c.allNull {
			t.Errorf("%v: %s to %s, %+v", c.path, text(r.Min), text(r.Max), r)
		}
	}
	for _, bad := range []string{"", "{", "[]", `{"numRecords":"3"}`, `{"minValues":[1]}`} {
		if s := ReadStats(columns, MappingNone, bad); s.Rows != -1 || len(s.columns) != 0 {
			t.Errorf("%q: %+v", bad, s)
		}
	}
	few := ReadStats(columns, MappingNone, `{"minValues":{"n":1}}`)
	if r := few.Column("n"); r.NoNulls || r.AllNulls || r.Min.Text() != "1" {
		t.Errorf("%+v", r)
	}
}

// What is written is read back as bounds of the same values.
func TestStatsAreReadBack(t *testing.T) {
	for _, kind := range []Type{{Kind: Long}, {Kind: Decimal, Precision: 10, Scale: 2}, {Kind: Date}, {Kind: Timestamp}, {Kind: TimestampNTZ}} {
		texts := map[Kind][2]string{Long: {"-5", "7"}, Decimal: {"-0.01", "1.00"}, Date: {"1969-12-31", "2026-01-01"}, Timestamp: {"1969-12-31 23:59:59.123456", "2026-01-01 00:00:00.000001"},
			TimestampNTZ: {"1969-12-31 23:59:59.123456", "2026-01-01 00:00:00.000001"}}[kind.Kind]
		columns := Type{Kind: Struct, Fields: []Field{{Name: "c", Type: kind}}}
		r := ReadStats(columns, MappingNone, Stats(columns, nil, MappingNone, StatsRule{Leading: 32}, 2, []ColumnStats{{Path: []string{"c"}, Min: &texts[0], Max: &texts[1]}}))
		least, err1 := ParsePartition(kind, texts[0], nil)
		most, err2 := ParsePartition(kind, texts[1], nil)
		c := r.Column("c")
		if err1 != nil || err2 != nil || c.Min.IsNull() || c.Max.IsNull() || c.Min.Compare(least) > 0 || c.Max.Compare(most) < 0 {
			t.Errorf("%s: %s to %s", kind, c.Min.Text(), c.Max.Text())
		}
	}
}
