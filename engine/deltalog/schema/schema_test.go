package schema

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"
)

const everything = `{"type":"struct","fields":[` +
	`{"name":"a","type":"string","nullable":false,"metadata":{"delta.columnMapping.id":1,"delta.columnMapping.physicalName":"c1","comment":"ü","big":9007199254740993},"fromTheFuture":[1,{"x":1.50}]},` +
	`{"name":"d","type":"decimal(38,18)","nullable":true,"metadata":{}},` +
	`{"name":"s","type":{"type":"struct","fields":[{"name":"a","type":"timestamp_ntz","nullable":true,"metadata":{}}]},"nullable":true,"metadata":{}},` +
	`{"name":"l","type":{"type":"array","elementType":{"type":"array","elementType":"byte","containsNull":false},"containsNull":true},"nullable":true,"metadata":{}},` +
	`{"name":"m","type":{"type":"map","keyType":"date","valueType":{"type":"struct","fields":[]},"valueContainsNull":false},"nullable":true,"metadata":{}}]}`

func TestParse(t *testing.T) {
	got, err := Parse(everything)
	if err != nil {
		t.Fatal(err)
	}
	if again := Encode(got); again != everything {
		t.Errorf("written as %s, want %s", again, everything)
	}
	f := got.Fields[0]
	if id, ok := f.ID(); id != 1 || !ok || f.Nullable || f.Physical(MappingName) != "c1" || f.Physical(MappingID) != "c1" || f.Physical(MappingNone) != "a" {
		t.Errorf("%+v", f)
	}
	if d := got.Fields[1].Type; d.Kind != Decimal || d.Precision != 38 || d.Scale != 18 {
		t.Errorf("%+v", d)
	}
	if m := got.Fields[4].Type; m.Kind != Map || m.Nulls || m.Key.Kind != Date || m.Element.Kind != Struct {
		t.Errorf("%+v", m)
	}
	if !got.Has(TimestampNTZ) || !got.Has(Byte) || got.Has(Timestamp) {
		t.Error("Has")
	}
	if f, ok := got.Field("S"); !ok || f.Name != "s" {
		t.Errorf("%+v", f)
	}
}

func TestParseInAnyOrder(t *testing.T) {
	got, err := Parse(`{"fields":[{"metadata":{},"nullable":true,"type":{"containsNull":true,"elementType":"void","type":"array"},"name":"x"}],"type":"struct"}`)
	if err != nil || len(got.Fields) != 1 || got.Fields[0].Type.Element.Kind != Void {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestSchemasThatAreRefused(t *testing.T) {
	field := func(name, typ string) string {
		return `{"name":"` + name + `","type":` + typ + `,"nullable":true,"metadata":{}}`
	}
	of := func(fields ...string) string {
		return `{"type":"struct","fields":[` + strings.Join(fields, ",") + `]}`
	}
	for text, want := range map[string]string{
		of(field("v", `"variant"`)): "column v: the type variant is not supported",
		of(field("s", of(field("l", `{"type":"array","elementType":"interval","containsNull":true}`)))): "column s.l.element: the type interval is not supported",
		of(field("m", `{"type":"map","keyType":"geometry","valueType":"long"}`)):                        "column m.key: the type geometry is not supported",
		of(field("u", `{"type":"udt"}`)):                               "column u: the type udt is not supported",
		of(field("d", `"decimal(39,0)"`)):                              "column d: the type decimal(39,0) is none: a decimal has 1 to 38 digits",
		of(`{"name":"x"}`):                                             "column x: it has no type",
		of(field("d", `"decimal(2,3)"`)):                               "column d: the type decimal(2,3) is none: a decimal has 1 to 38 digits",
		of(field("l", `{"type":"array"}`)):                             "column l: the array does not say what it holds",
		of(field("Id", `"long"`), field("id", `"long"`)):               "two columns are named Id and id",
		of(field("s", of(field("a", `"long"`), field("A", `"long"`)))): "column s: two columns are named a and A",
		`"string"`:      "the schema is a string, not a struct",
		`{"type":"stru`: "the schema cannot be read: the JSON ends early",
		of() + "x":      "the schema cannot be read: something follows the end at byte 29",
		``:              "the schema cannot be read: the JSON ends early",
	} {
		_, err := Parse(text)
		if err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	var e *Error
	if _, err := Parse(of(field("v", `"variant"`))); !errors.As(err, &e) || !e.Unsupported || !reflect.DeepEqual(e.Path, []string{"v"}) {
		t.Errorf("%+v", e)
	}
}

func TestMapping(t *testing.T) {
	mapped := func(metadata string) Type {
		parsed, err := Parse(`{"type":"struct","fields":[{"name":"s","type":{"type":"struct","fields":[{"name":"a","type":"long","nullable":true,"metadata":` + metadata +
			`}]},"nullable":true,"metadata":{"delta.columnMapping.id":1,"delta.columnMapping.physicalName":"c1"}}]}`)
		if err != nil {
			t.Fatal(err)
		}
		return parsed
	}
	for metadata, want := range map[string][2]string{
		`{"delta.columnMapping.id":2,"delta.columnMapping.physicalName":"c2"}`: {"", ""},
		`{"delta.columnMapping.physicalName":"c2"}`:                            {"", "column s.a: the column has no id, which the table's column mapping needs"},
		`{"delta.columnMapping.id":2}`:                                         {"column s.a: the column has no physical name, which the table's column mapping needs", "column s.a: the column has no physical name, which the table's column mapping needs"},
		`{"delta.columnMapping.id":1,"delta.columnMapping.physicalName":"c2"}`: {"column s.a: the column has the same id as s", "column s.a: the column has the same id as s"},
	} {
		for i, mapping := range []Mapping{MappingName, MappingID} {
			got := ""
			if err := CheckMapping(mapped(metadata), mapping); err != nil {
				got = err.Error()
			}
			if got != want[i] {
				t.Errorf("%s by %s: %s, want %s", metadata, mapping, got, want[i])
			}
		}
	}
	if err := CheckMapping(mapped(`{}`), "magic"); err == nil {
		t.Error("an unknown mapping is taken")
	}
	if err := CheckMapping(mapped(`{}`), MappingNone); err != nil {
		t.Error(err)
	}
}

func TestTypeChanges(t *testing.T) {
	parse := func(typ, changes string) error {
		parsed, err := Parse(`{"type":"struct","fields":[{"name":"e","type":` + typ + `,"nullable":true,"metadata":{"delta.typeChanges":` + changes + `}}]}`)
		if err != nil {
			t.Fatal(err)
		}
		if err := CheckChanges(parsed); err != nil {
			return err
		}
		got, err := parsed.Fields[0].Changes()
		if err == nil && len(got) == 0 {
			t.Errorf("%s: no changes", changes)
		}
		return err
	}
	if err := parse(`"long"`, `[{"fromType":"short","toType":"integer","tableVersion":2},{"fromType":"integer","toType":"long"}]`); err != nil {
		t.Error(err)
	}
	if err := parse(`{"type":"array","elementType":"double","containsNull":true}`, `[{"fromType":"float","toType":"double","fieldPath":"element"}]`); err != nil {
		t.Error(err)
	}
	for changes, want := range map[string]string{
		`[{"fromType":"long","toType":"integer"}]`:                               "column e: the change of type from long to integer is not supported",
		`[{"fromType":"string","toType":"integer","fieldPath":"element.value"}]`: "column e.element.value: the change of type from string to integer is not supported",
		`[{"fromType":"variant","toType":"integer"}]`:                            "column e: the type variant is not supported",
		`[{"fromType":"decimal(10,2)","toType":"decimal(11,4)"}]`:                "column e: the change of type from decimal(10,2) to decimal(11,4) is not supported",
		`{"x":1}`: "column e: its type changes cannot be read: the JSON has no [ at byte 0",
	} {
		if err := parse(`"long"`, changes); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", changes, err, want)
		}
	}
}

func TestWidens(t *testing.T) {
	typ := func(name string) Type {
		p := &parser{}
		return p.named(name)
	}
	ok := []string{"byte short", "byte long", "integer long", "float double", "byte double", "integer double", "date timestamp_ntz", "decimal(6,2) decimal(10,4)", "decimal(6,2) decimal(7,2)",
		"integer decimal(10,0)", "short decimal(12,2)", "long decimal(20,0)", "long decimal(22,2)"}
	bad := []string{"long integer", "long double", "integer integer", "double float", "integer float", "date timestamp", "decimal(6,2) decimal(6,2)", "decimal(6,2) decimal(7,4)",
		"decimal(6,2) decimal(8,1)", "integer decimal(9,0)", "integer decimal(11,2)", "long decimal(19,0)", "string long", "boolean byte"}
	for i, list := range [][]string{ok, bad} {
		for _, pair := range list {
			from, to, _ := strings.Cut(pair, " ")
			if Widens(typ(from), typ(to)) != (i == 0) {
				t.Errorf("%s: %v", pair, i != 0)
			}
		}
	}
}

func TestPartitionValues(t *testing.T) {
	decimal := Type{Kind: Decimal, Precision: 5, Scale: 2}
	la, err := time.LoadLocation("America/Los_Angeles")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		typ        Type
		text, want string // want: "error" or the value's text
	}{
		{Type{Kind: Long}, "9223372036854775807", "9223372036854775807"},
		{Type{Kind: Long}, "9223372036854775808", "error"},
		{Type{Kind: Byte}, "-128", "-128"},
		{Type{Kind: Byte}, "128", "error"},
		{Type{Kind: Short}, "32768", "error"},
		{Type{Kind: Integer}, "2147483648", "error"},
		{Type{Kind: Integer}, "1.0", "error"},
		{Type{Kind: Integer}, "__HIVE_DEFAULT_PARTITION__", "error"},
		{Type{Kind: Float}, "0.1", "0.1"},
		{Type{Kind: Double}, "1.0E10", "1e+10"},
		{Type{Kind: Double}, "NaN", "NaN"},
		{Type{Kind: Double}, "-Infinity", "-Infinity"},
		{Type{Kind: Double}, "x", "error"},
		{decimal, "1.5", "1.50"},
		{decimal, "-0.05", "-0.05"},
		{decimal, "0E-18", "0.00"},
		{decimal, "1E+2", "100.00"},
		{decimal, "-0", "0.00"},
		{decimal, "999.99", "999.99"},
		{decimal, "1000", "error"},
		{decimal, "1.555", "error"},
		{decimal, "1.5500", "1.55"},
		{decimal, "1e9999", "error"},
		{decimal, "", "NULL"},
		{decimal, "-", "error"},
		{Type{Kind: Decimal, Precision: 38}, "99999999999999999999999999999999999999", "99999999999999999999999999999999999999"},
		{Type{Kind: Boolean}, "true", "true"},
		{Type{Kind: Boolean}, "False", "false"},
		{Type{Kind: Boolean}, "1", "error"},
		{Type{Kind: String}, "null", "null"},
		{Type{Kind: String}, " a ", " a "},
		{Type{Kind: String}, "", "NULL"},
		{Type{Kind: Binary}, "\x01\x02", "\x01\x02"},
		{Type{Kind: Date}, "2024-02-29", "2024-02-29"},
		{Type{Kind: Date}, "2023-02-29", "error"},
		{Type{Kind: Date}, "0001-01-01", "0001-01-01"},
		{Type{Kind: Date}, "12345-01-01", "12345-01-01"},
		{Type{Kind: Date}, "-0044-03-15", "-0044-03-15"},
		{Type{Kind: Date}, "+2024-03-15", "2024-03-15"},
		{Type{Kind: Date}, "2024-3", "error"},
		{Type{Kind: Date}, "2024-0x1-01", "error"},
		{Type{Kind: Date}, "2024-13-01", "error"},
		{Type{Kind: Timestamp}, "2021-09-08 11:11:11", "2021-09-08T18:11:11Z"},
		{Type{Kind: Timestamp}, "2021-01-08 11:11:11.5", "2021-01-08T19:11:11.500000Z"},
		{Type{Kind: Timestamp}, "2021-09-08T11:11:11.000001Z", "2021-09-08T11:11:11.000001Z"},
		{Type{Kind: Timestamp}, "1969-12-31 16:00:00-08:00", "1970-01-01T00:00:00Z"},
		{Type{Kind: Timestamp}, "1969-12-31T23:59:59.999999Z", "1969-12-31T23:59:59.999999Z"},
		{Type{Kind: Timestamp}, "2021-09-08", "2021-09-08T07:00:00Z"},
		{Type{Kind: Timestamp}, "2021-09-08 24:00:00", "error"},
		{Type{Kind: Timestamp}, "2021-09-08 00:00:00+05:30", "2021-09-07T18:30:00Z"},
		{Type{Kind: Timestamp}, "2021-09-08 00:00:00+05", "2021-09-07T19:00:00Z"},
		{Type{Kind: Timestamp}, "2021-09-08 00:00:00+5", "error"},
		{Type{Kind: Timestamp}, "2021-09-08 00:00:00+99:00", "error"},
		{Type{Kind: Timestamp}, "2021-09-08 11:11:11.", "error"},
		{Type{Kind: TimestampNTZ}, "2021-09-08 11:11:11.123456", "2021-09-08 11:11:11.123456"},
		{Type{Kind: TimestampNTZ}, "2021-09-08 11:11:11Z", "error"},
		{Type{Kind: Void}, "x", "NULL"},
		{Type{Kind: Array}, "[]", "error"},
	} {
		v, err := ParsePartition(c.typ, c.text, la)
		got := v.Text()
		if v.IsNull() {
			got = "NULL"
		}
		if err != nil {
			got = "error"
		}
		if got != c.want {
			t.Errorf("%s %q: %s (%v), want %s", c.typ, c.text, got, err, c.want)
		}
	}
	if v, err := ParsePartition(Type{Kind: Timestamp}, "2021-09-08 11:11:11", nil); err != nil || v.Text() != "2021-09-08T11:11:11Z" {
		t.Errorf("without a zone: %s, %v", v.Text(), err)
	}
}

func TestCompare(t *testing.T) {
	for _, c := range []struct {
		typ   Type
		order []string // ascending
	}{
		{Type{Kind: Long}, []string{"", "-9223372036854775808", "-1", "0", "9223372036854775807"}},
		{Type{Kind: Double}, []string{"", "-Infinity", "-1.5", "0", "1e300", "Infinity", "NaN"}},
		{Type{Kind: Decimal, Precision: 20, Scale: 2}, []string{"", "-10.01", "-10", "-9.99", "-0.01", "0", "0.01", "9", "10.5", "100"}},
		{Type{Kind: String}, []string{"", "A", "a", "aa", "b", "é", "\uffff", "🙂"}},
		{Type{Kind: Date}, []string{"", "-0001-01-01", "0001-01-01", "1969-12-31", "1970-01-01", "10000-01-01"}},
		{Type{Kind: Boolean}, []string{"", "false", "true"}},
	} {
		for i, a := range c.order {
			for j, b := range c.order {
				v, err1 := ParsePartition(c.typ, a, nil)
				w, err2 := ParsePartition(c.typ, b, nil)
				if err1 != nil || err2 != nil {
					t.Fatal(err1, err2)
				}
				want := 0
				if i < j {
					want = -1
				} else if i > j {
					want = 1
				}
				if got := v.Compare(w); got != want {
					t.Errorf("%s: %q and %q: %d, want %d", c.typ, a, b, got, want)
				}
			}
		}
	}
}

func p(s string) *string { return &s }

func statsOf(t *testing.T, kind Type, low, high *string) (text string, parsed map[string]map[string]json.RawMessage) {
	t.Helper()
	columns := Type{Kind: Struct, Fields: []Field{{Name: "c", Type: kind}}}
	text = Stats(columns, nil, MappingNone, StatsRule{Leading: 32}, 7, []ColumnStats{{Path: []string{"c"}, Nulls: 2, Min: low, Max: high}})
	var all map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	parsed = map[string]map[string]json.RawMessage{}
	for name, raw := range all {
		if name == "numRecords" {
			if string(raw) != "7" {
				t.Errorf("numRecords %s", raw)
			}
			continue
		}
		var members map[string]json.RawMessage
		if err := json.Unmarshal(raw, &members); err != nil {
			t.Fatal(err)
		}
		parsed[name] = members
	}
	return text, parsed
}

func TestBounds(t *testing.T) {
	face, high := strings.Repeat("🙂", 32), strings.Repeat("\U0010ffff", 33)
	for name, c := range map[string]struct {
		typ       Type
		min, max  *string
		low, high string // as JSON; empty: none
	}{
		"integers":                      {Type{Kind: Long}, p("-9007199254740993"), p("9007199254740993"), "-9007199254740993", "9007199254740993"},
		"C076 decimals":                 {Type{Kind: Decimal, Precision: 38, Scale: 2}, p("-1"), p("123456789012345678901234567890123456.78"), "-1.00", "123456789012345678901234567890123456.78"},
		"floats":                        {Type{Kind: Double}, p("-1.5"), p("1e300"), "-1.5", "1e+300"},
		"NaN is left out":               {Type{Kind: Double}, p("1"), p("nan"), "1", ""},
		"infinities are left out":       {Type{Kind: Float}, p("-inf"), p("2"), "", "2"},
		"unknown":                       {Type{Kind: Long}, nil, p("3"), "", "3"},
		"what cannot be read":           {Type{Kind: Long}, p("x"), p("3"), "", "3"},
		"dates":                         {Type{Kind: Date}, p("0001-01-01"), p("2026-01-31"), `"0001-01-01"`, `"2026-01-31"`},
		"instants are rounded outwards": {Type{Kind: Timestamp}, p("2026-01-01 00:00:00.123999+00"), p("2026-01-01 00:00:00.123001+00"), `"2026-01-01T00:00:00.123Z"`, `"2026-01-01T00:00:00.124Z"`},
		"before 1970":                   {Type{Kind: Timestamp}, p("1969-12-31 23:59:59.999999+00"), p("1969-12-31 23:59:59.999001+00"), `"1969-12-31T23:59:59.999Z"`, `"1970-01-01T00:00:00.000Z"`},
		"zeros":                         {Type{Kind: Double}, p("0"), p("-0.0"), "-0.0", "0.0"},
		"the last millisecond of 9999":  {Type{Kind: Timestamp}, p("9999-12-31 23:59:59.999001+00"), p("9999-12-31 23:59:59.999999+00"), `"9999-12-31T23:59:59.999Z"`, `"9999-12-31T23:59:59.999Z"`},
		"years of other than 4 digits":  {Type{Kind: Timestamp}, p("0000-12-31 23:59:59.999999+00"), p("10000-01-01 00:00:00+00"), "", ""},
		"days of such years":            {Type{Kind: Date}, p("-0001-01-01"), p("10000-01-01"), "", ""},
		"wall clocks":                   {Type{Kind: TimestampNTZ}, p("2026-01-01 00:00:00"), p("2026-01-01 00:00:00.5"), `"2026-01-01T00:00:00.000"`, `"2026-01-01T00:00:00.500"`},
		"texts":                         {Type{Kind: String}, p(""), p(strings.Repeat("z", 32)), `""`, `"` + strings.Repeat("z", 32) + `"`},
		"long texts":                    {Type{Kind: String}, p(strings.Repeat("a", 40)), p(strings.Repeat("a", 40)), `"` + strings.Repeat("a", 32) + `"`, `"` + strings.Repeat("a", 31) + `b"`},
		"C085 emoji":                    {Type{Kind: String}, p(face), p(face + "x"), `"` + face + `"`, `"` + strings.Repeat("🙂", 31) + "🙃" + `"`},
		"before the surrogates":         {Type{Kind: String}, p("a"), p(strings.Repeat("\ud7ff", 33)), `"a"`, `"` + strings.Repeat("\ud7ff", 31) + "\ue000" + `"`},
		"no greater character":          {Type{Kind: String}, p(high), p(high), `"` + strings.Repeat("\U0010ffff", 32) + `"`, `"` + high + `"`},
		"the last but one is greater":   {Type{Kind: String}, p("a"), p("b" + high), `"a"`, `"c"`},
		"no UTF-8":                      {Type{Kind: String}, p("\xff"), p("\xff"), "", ""},
		"booleans":                      {Type{Kind: Boolean}, p("false"), p("true"), "", ""},
		"binary":                        {Type{Kind: Binary}, p("a"), p("b"), "", ""},
		"arrays":                        {Type{Kind: Array, Element: &Type{Kind: Long}}, p("[1]"), p("[2]"), "", ""},
	} {
		text, got := statsOf(t, c.typ, c.min, c.max)
		if low, high := string(got["minValues"]["c"]), string(got["maxValues"]["c"]); low != c.low || high != c.high || string(got["nullCount"]["c"]) != "2" {
			t.Errorf("%s: %s; want %s and %s", name, text, c.low, c.high)
		}
		if c.typ.Kind == String && c.max != nil && c.high != "" {
			var bound string
			if err := json.Unmarshal(got["maxValues"]["c"], &bound); err != nil || bound < *c.max {
				t.Errorf("%s: %q is no upper bound", name, bound)
			}
		}
	}
}

func TestWhichColumnsHaveStatistics(t *testing.T) {
	var fields []Field
	var all []ColumnStats
	inner := Type{Kind: Struct, Fields: []Field{{Name: "a", Type: Type{Kind: Long}}, {Name: "b", Type: Type{Kind: Long}}}}
	fields = append(fields, Field{Name: "p", Type: Type{Kind: Date}}, Field{Name: "s", Type: inner})
	for _, name := range []string{"c", "d", "v"} {
		fields = append(fields, Field{Name: name, Type: Type{Kind: Long}, Metadata: Metadata{{keyPhysical, []byte(`"x-` + name + `"`)}}})
	}
	fields[4].Type = Type{Kind: Void}
	for _, path := range [][]string{{"p"}, {"s", "a"}, {"s", "b"}, {"c"}, {"d"}, {"v"}} {
		all = append(all, ColumnStats{Path: path, Min: p("1"), Max: p("2")})
	}
	columns := Type{Kind: Struct, Fields: fields}
	for name, c := range map[string]struct {
		rule    StatsRule
		mapping Mapping
		want    string
	}{
		"three":  {StatsRule{Leading: 3}, MappingNone, `{"s":{"a":1,"b":1},"c":1}`},
		"two":    {StatsRule{Leading: 2}, MappingNone, `{"s":{"a":1,"b":1}}`},
		"none":   {StatsRule{}, MappingNone, `{}`},
		"all":    {StatsRule{Leading: -1}, MappingNone, `{"s":{"a":1,"b":1},"c":1,"d":1}`},
		"named":  {StatsRule{Leading: 1, Columns: []string{"`D`", "s.b"}}, MappingNone, `{"s":{"b":1},"d":1}`},
		"struct": {StatsRule{Columns: []string{"s"}}, MappingNone, `{"s":{"a":1,"b":1}}`},
		"mapped": {StatsRule{Leading: 3}, MappingName, `{"s":{"a":1,"b":1},"x-c":1}`},
	} {
		got := Stats(columns, []string{"P"}, c.mapping, c.rule, 1, all)
		want := `{"numRecords":1,"minValues":` + c.want + `,"maxValues":` + strings.ReplaceAll(c.want, ":1", ":2") + `,"nullCount":` + strings.ReplaceAll(c.want, ":1", ":0") + `}`
		if got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

func TestWalk(t *testing.T) {
	parsed, err := Parse(`{"type":"struct","fields":[{"name":"l","type":{"type":"array","elementType":{"type":"struct","fields":[{"name":"a","type":"long"}]}}},` +
		`{"name":"m","type":{"type":"map","keyType":{"type":"struct","fields":[{"name":"k","type":"long"}]},"valueType":{"type":"struct","fields":[{"name":"v","type":"long"}]}}}]}`)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	stop := errors.New("enough")
	err = parsed.Walk(func(path []string, f Field) error {
		if all = append(all, strings.Join(path, ".")+" "+f.Type.String()); f.Name == "v" {
			return stop
		}
		return nil
	})
	if want := []string{"l array", "l.element.a long", "m map", "m.key.k long", "m.value.v long"}; !reflect.DeepEqual(all, want) || !errors.Is(err, stop) {
		t.Errorf("%q, %v", all, err)
	}
	if _, ok := parsed.Field("x"); ok {
		t.Error("a field is found that is not there")
	}
}

func TestInvariant(t *testing.T) {
	f := Field{Name: "x", Metadata: Metadata{{keyInvariants, []byte(`"{\"expression\": { \"expression\": \"x > 3\"} }"`)}}}
	if sql, err := f.Invariant(); sql != "x > 3" || err != nil {
		t.Errorf("%q, %v", sql, err)
	}
	if sql, err := (Field{}).Invariant(); sql != "" || err != nil {
		t.Errorf("%q, %v", sql, err)
	}
}

// Whatever a schema's text is, what is read of it is the same after it was written.
func FuzzParse(f *testing.F) {
	f.Add(everything)
	f.Add(`{"type":"struct","fields":[{"name":"a","type":"variant"}]}`)
	f.Add(`{"type":"struct","fields":[{"name":"a","type":{"type":"array"}}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		first, err := Parse(text)
		if err != nil {
			return
		}
		again := Encode(first)
		second, err := Parse(again)
		if err != nil || Encode(second) != again {
			t.Fatalf("%s was written as %s: %v", text, again, err)
		}
	})
}
