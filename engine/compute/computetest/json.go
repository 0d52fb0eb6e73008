package computetest

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ubunye-io/ubunye/engine/compute"
)

func jsonValues(t *testing.T, f *fixture) {
	lines := `{"id":9007199254740993,"amount":12345678901234567.89,"dt":"2026-01-31","ts":"2026-01-31T23:59:59.123456","ok":true,"txt":"Grüße \ud83c\udf89\n","x":0.1,"tz":"2026-01-31T01:00:00+02:00","bin":"AP8=","more":null}` + "\n\n" +
		`{"x":1e300,"id":"-9223372036854775808","amount":"-0.010","txt":1.50,"ok":"false","dt":"1999-12-31","ts":"1970-01-01 00:00:00Z"}` + "\r\n" +
		`{}`
	cols := columns("id bigint; amount decimal(19,2); dt date; ts timestamp; ok boolean; txt varchar; x double; tz timestamptz; bin blob; more integer")
	want := []string{
		`-9223372036854775808|-0.01|1999-12-31|1970-01-01 00:00:00|false|1.50|1e+300|NULL|NULL|NULL`,
		"9007199254740993|12345678901234567.89|2026-01-31|2026-01-31 23:59:59.123456|true|Grüße 🎉\n|0.1|2026-01-30 23:00:00+00|\\x00\\xFF|NULL",
		"NULL|NULL|NULL|NULL|NULL|NULL|NULL|NULL|NULL|NULL"}
	array := "\xef\xbb\xbf [\n" + strings.Join(strings.Split(strings.ReplaceAll(lines, "\n\n", "\n"), "\n"), ",\n") + "\n]\n"
	f.write("a.json", lines)
	f.write("b.json", array)
	f.write("c.json.gz", gzipped(t, lines))
	f.write("d.json.zst", zstded(t, array))
	for _, name := range []string{"a.json", "b.json", "c.json.gz", "d.json.zst"} {
		r, files := f.input(compute.Input{Name: "r_" + name[:1], Format: "json", Path: filepath.Join(f.dir, name), Columns: cols})
		if len(files) != 1 {
			t.Errorf("files: %v", files)
		}
		f.wantRows(f.rows(r), want...)
	}
	r, files := f.input(compute.Input{Name: "all", Format: "json", Path: filepath.Join(f.dir, "*.json*"), Columns: cols})
	if len(files) != 4 {
		t.Errorf("files: %v", files)
	}
	f.count(r, 12)
	f.input(compute.Input{Name: "chosen", Format: "json", Path: filepath.Join(f.dir, "*.json*"), Columns: columns("more integer; id bigint"), Options: map[string]string{"undeclared": "ignore"}})
	f.prepare("ids", compute.Step{Name: "ids", SQL: "SELECT DISTINCT * FROM chosen"})
	f.wantRows(f.rows("ids"), "NULL|-9223372036854775808", "NULL|9007199254740993", "NULL|NULL")
}

// Nested values, and any JSON, are read as they were declared.
func jsonNested(t *testing.T, f *fixture) {
	p := f.write("n.json", `{"st":{"zip":"00123","n":12345678901234567.890},"l":[1,null,3],"ll":[["a"],[],null],"m":{"x y":1.50,"z":null},"any":{ "a" : [1.50, 12345678901234567.89, "1.50"] }}
{"st":{"n":2},"l":[],"ll":null,"m":{},"any":1e2}
{"st":null,"any":"text"}
{"any":null}
`)
	r, _ := f.input(compute.Input{Name: "n", Format: "json", Path: p, Columns: columns("st struct(zip varchar, n decimal(20,3)); l integer[]; ll varchar[][]; m map(varchar, decimal(9,2)); any json")})
	f.wantRows(f.rows(r),
		"{'zip': 00123, 'n': 12345678901234567.890}|[1, NULL, 3]|[[a], [], NULL]|{x y=1.50, z=NULL}|"+`{"a":[1.50,12345678901234567.89,"1.50"]}`,
		"{'zip': NULL, 'n': 2.000}|[]|NULL|{}|1e2", `NULL|NULL|NULL|NULL|"text"`, "NULL|NULL|NULL|NULL|NULL")
}

// The types of columns that are not declared come from every value of every file.
func jsonInferredTypes(t *testing.T, f *fixture) {
	var b strings.Builder
	for range 30000 {
		b.WriteString(`{"i":1,"big":9007199254740993,"f":1.5,"d":"2026-01-01","ts":"2026-01-01T10:00:00","zip":"00123","none":null,"b":true,"tz":"2026-01-01T10:00:00Z","st":{"a":1},"l":[]}` + "\n")
	}
	b.WriteString(`{"late":"x","i":-2,"big":18446744073709551616,"f":3,"d":"2026-01-02","ts":"2026-01-02 10:00:00.5","zip":"4","b":false,"tz":"2026-01-01T10:00:00+02:00","st":{"b":[{"c":0.25}]},"l":[1,null]}`)
	p := f.write("x.json", b.String())
	r, _ := f.input(compute.Input{Name: "raw", Format: "json", Path: p})
	f.wantTypes(f.schema(r), "i BIGINT; big DECIMAL(38,0); f DOUBLE; d DATE; ts TIMESTAMP; zip VARCHAR; none VARCHAR; b BOOLEAN; tz TIMESTAMP WITH TIME ZONE; st STRUCT(a BIGINT, b STRUCT(c DOUBLE)[]); l BIGINT[]; late VARCHAR")
	f.prepare("few", compute.Step{Name: "few", SQL: "SELECT DISTINCT * FROM raw"})
	f.wantRows(f.rows("few"),
		"-2|18446744073709551616|3.0|2026-01-02|2026-01-02 10:00:00.5|4|NULL|false|2026-01-01 08:00:00+00|{'a': NULL, 'b': [{'c': 0.25}]}|[1, NULL]|x",
		"1|9007199254740993|1.5|2026-01-01|2026-01-01 10:00:00|00123|NULL|true|2026-01-01 10:00:00+00|{'a': 1, 'b': NULL}|[]|NULL")
	odd := f.write("odd.json", `[{"a":"2026-1-1","b":"2026-02-30","c":"2026-01-01","d":"2026-01-01T10:00:00.1234567","e":{},"f":0.30000000000000004,"g":[{}],"h":"true"},{"c":"2026-01-01T00:00:00"}]`)
	r, _ = f.input(compute.Input{Name: "odd", Format: "json", Path: odd})
	f.wantTypes(f.schema(r), "a VARCHAR; b VARCHAR; c VARCHAR; d VARCHAR; e JSON; f DOUBLE; g JSON[]; h VARCHAR")
	f.count(r, 2)
}

// What cannot be inferred without losing something is an error that says where.
func jsonInferredMistakes(t *testing.T, f *fixture) {
	f.open()
	for _, tt := range []struct{ name, content, want, column string }{
		{"mixed", `{"v":1}` + "\n\n" + `{"v":"x"}`, "line 3", ""},
		{"nested", `{"v":[{"w":[1]}]}` + "\n" + `{"v":[{"w":[true]}]}`, "true or false here and a number at", ""},
		{"shape", `{"v":[1]}` + "\n" + `{"v":{"a":1}}`, "an object here and an array at", ""},
		{"digits", `{"v":0.12345678901234567891}`, "a DOUBLE would lose digits of \"0.12345678901234567891\"", "v"},
		{"integers", `{"v":[9007199254740993]}` + "\n" + `{"v":[0.5]}`, "a DOUBLE would lose digits of \"9007199254740993\"", "v[]"},
		{"large", `{"v":{"w":123456789012345678901234567890123456789}}`, "no type of numbers holds", "v.w"},
		{"overflow", `{"v":1e400}`, "a DOUBLE would lose digits of", "v"},
		{"case", `{"id":1}` + "\n" + `{"ID":1}`, "differ only in case", "ID"},
		{"nothing", "", "it is empty: it has 0 bytes", ""},
		{"blank", "\n", "it holds no object with a key", ""},
		{"keyless", "{}\n{}", "it holds no object with a key", ""},
	} {
		p := f.write(tt.name+".json", tt.content)
		_, _, err := f.ses.Input(t.Context(), compute.Input{Name: tt.name, Format: "json", Path: p})
		e := f.wantError(err, compute.Error{Kind: compute.InputInvalid, Input: tt.name, File: p, Column: tt.column})
		if !strings.Contains(e.Error(), tt.want) && !strings.Contains(strings.ReplaceAll(e.Error(), ".json:", " line "), tt.want) {
			t.Errorf("%s: %v; want %q", tt.name, e, tt.want)
		}
		if strings.Contains(e.Hint, "must be one") {
			t.Errorf("%s: each line is an object, and the hint is %q", tt.name, e.Hint)
		}
	}
}

// A value that its declared type cannot hold exactly is an error that names its file, physical line and place in the object.
func jsonValueMistakes(t *testing.T, f *fixture) {
	f.open()
	for _, tt := range []struct{ name, typ, value, column, want string }{
		{"text", "bigint", `"abc"`, "v", `"abc" is not a BIGINT`},
		{"rounded_integer", "bigint", `1.5`, "v", `"1.5" is not a BIGINT`},
		{"lost_integer", "bigint", `9007199254740993.5`, "v", `"9007199254740993.5" is not a BIGINT`},
		{"too_large", "integer", `2147483648`, "v", "is not an INTEGER"},
		{"rounded_decimal", "decimal(18,2)", `1.505`, "v", "is not a DECIMAL(18,2)"},
		{"hidden_decimal", "decimal(18,2)", `0.1000000000000000055`, "v", `"0.1000000000000000055" is not a DECIMAL(18,2)`},
		{"wide_decimal", "decimal(4,2)", `"123.45"`, "v", "is not a DECIMAL(4,2)"},
		{"empty", "integer", `""`, "v", `"" is not an INTEGER`},
		{"date", "date", `"31/12/2026"`, "v", "is not a DATE"},
		{"dropped_offset", "timestamp", `"2026-01-01T10:00:00+02:00"`, "v", "is not a TIMESTAMP"},
		{"object", "varchar", `{"a":1}`, "v", "an object stands where a VARCHAR was declared"},
		{"array", "bigint", `[1]`, "v", "an array stands where a BIGINT was declared"},
		{"no_array", "bigint[]", `1`, "v", `"1" stands where an array was declared`},
		{"in_array", "bigint[]", `[1,"x"]`, "v[]", `"x" is not a BIGINT`},
		{"in_struct", "struct(a integer,b struct(c date[]))", `{"b":{"c":["2026-02-30"]}}`, "v.b.c[]", `"2026-02-30" is not a DATE`},
		{"in_map", "map(varchar,integer)", `{"k":1.5}`, "v.*", `"1.5" is not an INTEGER`},
		{"undeclared", "struct(a integer)", `{"a":1,"bb":2}`, "v", `a key that is not declared: "bb"`},
		{"binary", "blob", `"A"`, "v", "is not a BLOB"},
	} {
		for _, array := range []bool{false, true} {
			content := "{\"id\":1,\"v\":null}\n{\"id\":2}\n\n{\"id\":3, \"v\": " + tt.value + "}\n{\"id\":4}\n"
			in := tt.name
			if array {
				content, in = "[{\"id\":1,\"v\":null},\n{\"id\":2},{\n\"id\":3, \"v\": "+tt.value+"}\n,{\"id\":4}]", tt.name+"_array"
			}
			p := f.write(in+".json", content)
			r, _, err := f.ses.Input(t.Context(), compute.Input{Name: in, Format: "json", Path: p, Columns: []compute.Column{{Name: "id", Type: "bigint"}, {Name: "v", Type: tt.typ}}})
			if err != nil {
				t.Fatal(err)
			}
			_, err = f.ses.Encode(t.Context(), compute.Encode{Relation: r, Format: "parquet", Dir: f.folder("out-" + in)})
			f.wantError(err, compute.Error{Kind: compute.InputInvalid, Input: in, File: p, Line: map[bool]int64{false: 4, true: 3}[array], Column: tt.column, Message: tt.want})
		}
	}
}

func jsonLineMistakes(t *testing.T, f *fixture) {
	f.open()
	head := "{\"id\":1,\"txt\":\"two\\nlines\"}\n\n{\"id\":2}\n"
	for _, tt := range []struct {
		name, text, want string
		line             int64
	}{
		{"cut", `{"id":3`, "it ends in the middle of an object", 4},
		{"two", `{"id":3}{"id":4}`, "follows the object", 4},
		{"comma", `{"id":3},`, "follows the object", 4},
		{"number", `3`, "is no object", 4},
		{"null", `null`, "is no object", 4},
		{"string", `{"txt":"x`, "a string is not closed", 4},
		{"bare", `{"txt":x}`, `"x" is no JSON value`, 4},
		{"zero", `{"id":03}`, `"03" is no JSON value`, 4},
		{"single", `{'id':3}`, "stands where a key should", 4},
		{"colon", `{"id" 3}`, "no colon follows", 4},
		{"missing", `{"id":3 "txt":"x"}`, "a comma is missing", 4},
		{"twice", `{"id":3,"id":4}`, `the key "id" occurs twice`, 4},
		{"unknown", `{"id":3,"tx":"y"}`, `a key that is not declared: "tx"`, 4},
		{"control", "{\"txt\":\"a\tb\"}", "control character", 4},
		{"escape", `{"txt":"\x"}`, "unknown escape", 4},
		{"surrogate", `{"txt":"\ud83c"}`, "no character", 4},
		{"encoding", "{\"txt\":\"\xff\"}", "not UTF-8", 4},
		{"split", "{\"id\":3,\n\"txt\":\"x\"}", "it ends in the middle of an object", 4},
	} {
		for _, ending := range []string{"", ".gz", ".zst"} {
			content := head + tt.text + "\n"
			switch ending {
			case ".gz":
				content = gzipped(t, content)
			case ".zst":
				content = zstded(t, content)
			}
			in := strings.ReplaceAll(tt.name+ending, ".", "_")
			p := f.write(tt.name+".json"+ending, content)
			r, _, err := f.ses.Input(t.Context(), compute.Input{Name: in, Format: "json", Path: p, Columns: columns("id bigint; txt varchar")})
			if err != nil {
				t.Fatal(err)
			}
			_, err = f.ses.Encode(t.Context(), compute.Encode{Relation: r, Format: "parquet", Dir: f.folder("out-" + in)})
			f.wantError(err, compute.Error{Kind: compute.InputInvalid, Input: in, File: p, Line: tt.line, Message: tt.want})
			if ending == "" {
				_, _, err = f.ses.Input(t.Context(), compute.Input{Name: in + "_inferred", Format: "json", Path: p})
				if tt.name != "unknown" {
					f.wantError(err, compute.Error{Kind: compute.InputInvalid, File: p, Line: tt.line, Message: tt.want})
				}
			}
		}
	}
	for _, tt := range []struct {
		name, text, want string
		line             int64
	}{
		{"array_cut", "[{\"id\":1},\n{\"id\":2}", "the file ends before the array does", 2},
		{"array_open", "[{\"id\":1},\n{\"id\":2", "the file ends before the array does", 2},
		{"array_comma", "[{\"id\":1}\n{\"id\":2}]", "a comma or ] is missing", 2},
		{"array_more", "[{\"id\":1}]\n\n[]", `"[" follows the array`, 3},
		{"array_number", "[{\"id\":1},\n\n5]", `"5" is no object`, 3},
		{"array_array", "[{\"id\":1},\n[{\"id\":1}]]", "is no object", 2},
	} {
		p := f.write(tt.name+".json", tt.text)
		r, _, err := f.ses.Input(t.Context(), compute.Input{Name: tt.name, Format: "json", Path: p, Columns: columns("id bigint; txt varchar")})
		if err != nil {
			t.Fatal(err)
		}
		_, err = f.ses.Encode(t.Context(), compute.Encode{Relation: r, Format: "parquet", Dir: f.folder("out-" + tt.name)})
		f.wantError(err, compute.Error{Kind: compute.InputInvalid, Input: tt.name, File: p, Line: tt.line, Message: tt.want})
	}
}

func jsonOptions(t *testing.T, f *fixture) {
	p := f.write("o.json", "[\n"+`{"d":"31/12/2025","ts":"31/12/2025 08:15","x":{"a":1,"b":2},"more":[{"deep":1}]}`+"\n]")
	cols := columns("d date; ts timestamp; x struct(a integer)")
	r, _ := f.input(compute.Input{Name: "raw", Format: "json", Path: p, Columns: cols, Options: map[string]string{"layout": "array", "undeclared": "ignore", "date_format": "%d/%m/%Y", "timestamp_format": "%d/%m/%Y %H:%M"}})
	f.wantRows(f.rows(r), "2025-12-31|2025-12-31 08:15:00|{'a': 1}")
	for options, want := range map[string]string{"layout": "lines, array or auto", "undeclared": "error or ignore", "max_object_size": "a number from 16777216", "delimiter": "json has no option delimiter"} {
		_, _, err := f.ses.Input(t.Context(), compute.Input{Name: "bad", Format: "json", Path: p, Columns: cols, Options: map[string]string{options: "x"}})
		f.wantError(err, compute.Error{Kind: compute.BadOption, Input: "bad", Message: want})
	}
	for typ, want := range map[string]string{"interval": "json cannot be read as this type", "map(integer, varchar)": "a map with keys that are no text", "struct(a time with time zone)": "this type"} {
		_, _, err := f.ses.Input(t.Context(), compute.Input{Name: "bad", Format: "json", Path: p, Columns: []compute.Column{{Name: "d", Type: typ}}})
		f.wantError(err, compute.Error{Kind: compute.BadOption, Input: "bad", Column: "d", Message: want})
	}
	// A line of a file that is to be an array, and an array where lines were declared.
	r, _ = f.input(compute.Input{Name: "lines", Format: "json", Path: p, Columns: cols, Options: map[string]string{"layout": "lines"}})
	_, err := f.ses.Encode(t.Context(), compute.Encode{Relation: r, Format: "parquet", Dir: f.folder("lines")})
	f.wantError(err, compute.Error{Kind: compute.InputInvalid, Input: "lines", File: p, Line: 1, Message: `"[" is no object`})
	// An object larger than allowed is named, not cut.
	large := f.write("large.json", "{\"d\":null}\n{\"d\":null,\"more\":\""+strings.Repeat("x", 40_000_000)+"\"}\n")
	r, _ = f.input(compute.Input{Name: "large", Format: "json", Path: large, Columns: cols, Options: map[string]string{"undeclared": "ignore"}})
	_, err = f.ses.Encode(t.Context(), compute.Encode{Relation: r, Format: "parquet", Dir: f.folder("large")})
	f.wantError(err, compute.Error{Kind: compute.InputInvalid, Input: "large", File: large, Line: 2, Message: "raise the option max_object_size"})
}

// Numbers come as they are written, whatever stands around them.
func jsonNumbersAsWritten(t *testing.T, f *fixture) {
	random := rand.New(rand.NewPCG(3, 4))
	digits := func(most int) string {
		b := make([]byte, 1+random.IntN(most))
		for i := range b {
			b[i] = "0001234567899"[random.IntN(13)]
		}
		return string(b)
	}
	number := func() string {
		n := strings.TrimLeft(digits(20), "0")
		if n == "" || random.IntN(4) == 0 {
			n = "0"
		}
		if random.IntN(2) == 0 {
			n += "." + digits(20)
		}
		if random.IntN(6) == 0 {
			n += []string{"e", "E"}[random.IntN(2)] + []string{"", "+", "-"}[random.IntN(3)] + digits(3)
		}
		if random.IntN(3) == 0 {
			n = "-" + n
		}
		return n
	}
	space := []string{"", "", " ", "\t"}
	var lines, want strings.Builder
	for range 5000 {
		n, m := number(), number()
		at := space[random.IntN(len(space))]
		fmt.Fprintf(&lines, `{"s":"1.50 e5 \"-0.0","n":%s%s%s,"l":[%s%s%s,"%s"]}`+"\n", at, n, at, at, m, at, n)
		fmt.Fprintf(&want, "%s,%s,%s\n", n, m, n)
	}
	p := f.write("n.json", lines.String())
	f.input(compute.Input{Name: "raw", Format: "json", Path: p, Columns: columns("s varchar; n varchar; l varchar[]")})
	f.prepare("got", compute.Step{Name: "got", SQL: "SELECT n, l[1] AS m, l[2] AS text, s = '1.50 e5 \"-0.0' AS same FROM raw"})
	p = f.write("want.csv", "n,m,text\n"+want.String())
	f.input(compute.Input{Name: "want", Format: "csv", Path: p, Columns: columns("n varchar; m varchar; text varchar")})
	f.prepare("want_same", compute.Step{Name: "want_same", SQL: "SELECT *, true AS same FROM want"})
	f.same("got", "want_same")
}

// Columns that stand in the names of folders are read when it is asked for, by the same rules for csv and json.
func textPartitions(t *testing.T, f *fixture) {
	f.write("x=0/csv/dt=2026-01-01/p q=a%2Fb/1.csv", "id\n1\n")
	f.write("x=0/csv/dt=2026-01-02/p q=__HIVE_DEFAULT_PARTITION__/2.csv", "id\n2\n")
	f.write("x=0/json/dt=2026-01-01/p q=a%2Fb/1.json", `{"id":1}`)
	f.write("x=0/json/dt=2026-01-02/p q=__HIVE_DEFAULT_PARTITION__/2.json", `[{"id":2}]`)
	on := map[string]string{"partitions": "true"}
	for _, format := range []string{"csv", "json"} {
		dir := filepath.Join(f.dir, "x=0", format)
		r, _ := f.input(compute.Input{Name: format, Format: format, Path: dir, Options: on})
		f.wantTypes(f.schema(r), "id BIGINT; dt DATE; p q VARCHAR")
		f.wantRows(f.rows(r), "1|2026-01-01|a/b", "2|2026-01-02|NULL")
		r, _ = f.input(compute.Input{Name: format + "_declared", Format: format, Path: dir, Options: on, Columns: columns("dt varchar; id integer")})
		f.wantTypes(f.schema(r), "dt VARCHAR; id INTEGER")
		f.wantRows(f.rows(r), "2026-01-01|1", "2026-01-02|2")
		r, _ = f.input(compute.Input{Name: format + "_off", Format: format, Path: dir})
		f.wantTypes(f.schema(r), "id BIGINT")
		_, _, err := f.ses.Input(t.Context(), compute.Input{Name: format + "_only", Format: format, Path: dir, Options: on, Columns: columns("dt date")})
		f.wantError(err, compute.Error{Kind: compute.BadOption, Message: "every one stands in the names of folders"})
	}
	both := f.write("both/id=7/1.csv", "id\n1\n")
	_, _, err := f.ses.Input(t.Context(), compute.Input{Name: "both", Format: "csv", Path: filepath.Join(f.dir, "both"), Options: on})
	f.wantError(err, compute.Error{Kind: compute.InputInvalid, File: both, Column: "id", Message: "it stands in the files and in the folders' names"})
	whole := gzipped(t, `{"id":1}`+"\n"+`{"id":2}`+"\n")
	cut := f.write("cut.json.gz", whole[:len(whole)-9])
	_, _, err = f.ses.Input(t.Context(), compute.Input{Name: "cut", Format: "json", Path: cut, Columns: columns("id bigint")})
	f.wantError(err, compute.Error{Kind: compute.InputInvalid, File: cut, Message: "cut short"})
}
