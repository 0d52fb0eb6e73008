package computetest

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/ubunye-io/ubunye/engine/compute"
)

func csvValues(t *testing.T, f *fixture) {
	p := f.write("a.csv", "id,amount,dt,ts,ok,txt,x\n"+
		"9007199254740993,12345678901234.56,2026-01-31,2026-01-31 23:59:59.123456,true,Grüße 🎉,0.1\n"+
		"-9223372036854775808,-0.01,1999-12-31,1970-01-01T00:00:00,false,'quoted',1e300\n"+
		",,,,,,\n")
	r, files := f.input(compute.Input{Name: "raw", Format: "csv", Path: p,
		Columns: columns("id bigint; amount decimal(18,2); dt date; ts timestamp; ok boolean; txt varchar; x double")})
	if len(files) != 1 || files[0].Path != p || files[0].Size == 0 || files[0].ModTime.IsZero() {
		t.Errorf("pinned files: %+v", files)
	}
	f.wantTypes(f.schema(r), "id BIGINT; amount DECIMAL(18,2); dt DATE; ts TIMESTAMP; ok BOOLEAN; txt VARCHAR; x DOUBLE")
	got := f.rows(r)
	f.wantTypes(got.Columns, "id BIGINT; amount DECIMAL(18,2); dt DATE; ts TIMESTAMP; ok BOOLEAN; txt VARCHAR; x DOUBLE")
	f.wantRows(got,
		"-9223372036854775808|-0.01|1999-12-31|1970-01-01 00:00:00|false|'quoted'|1e+300",
		"9007199254740993|12345678901234.56|2026-01-31|2026-01-31 23:59:59.123456|true|Grüße 🎉|0.1",
		"NULL|NULL|NULL|NULL|NULL|NULL|NULL")
	f.count(r, 3)
}

func gzipped(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	return pressed(t, text, &b, gzip.NewWriter(&b))
}

func zstded(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	z, err := zstd.NewWriter(&b)
	if err != nil {
		t.Fatal(err)
	}
	return pressed(t, text, &b, z)
}

func pressed(t *testing.T, text string, into *bytes.Buffer, z io.WriteCloser) string {
	t.Helper()
	if _, err := z.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return into.String()
}

// Columns are found by name: files whose columns stand in another order give the same relation.
func csvByName(t *testing.T, f *fixture) {
	f.write("a1.csv", "id,name\n1,one\n")
	f.write("a2.csv", "NAME,id\ntwo,2\n")
	r, files := f.input(compute.Input{Name: "raw", Format: "csv", Path: filepath.Join(f.dir, "a*.csv"), Columns: columns("name varchar; id integer")})
	if len(files) != 2 {
		t.Errorf("files: %v", files)
	}
	f.wantRows(f.rows(r), "one|1", "two|2")
}

// A compressed file that was cut off or damaged is an error, never fewer rows.
func csvCompressedMistakes(t *testing.T, f *fixture) {
	f.open()
	var rows strings.Builder
	rows.WriteString("id\n")
	for i := range 20_000 {
		fmt.Fprintln(&rows, i*7919%10_007)
	}
	whole := gzipped(t, rows.String())
	two := gzipped(t, "id\n1\n") + gzipped(t, "2\n")
	wrong := []byte(whole)
	wrong[len(wrong)-8] ^= 1 // the checksum
	for _, tt := range []struct{ name, content, want string }{
		{"half", whole[:len(whole)/2], "cut short"},
		{"without_its_end", whole[:len(whole)-8], "cut short"},
		{"without_its_last_byte", whole[:len(whole)-1], "cut short"},
		{"second_part", two[:len(two)-9], "cut short"},
		{"checksum", string(wrong), "damaged"},
		{"plain", "id\n1\n", "it is not compressed by gzip"},
		{"nothing", "", "it is empty"},
	} {
		p := f.write(tt.name+".csv.gz", tt.content)
		_, _, err := f.ses.Input(t.Context(), compute.Input{Name: tt.name, Format: "csv", Path: p, Columns: columns("id bigint")})
		f.wantError(err, compute.Error{Kind: compute.InputInvalid, Input: tt.name, File: p, Message: tt.want})
	}
	r, _ := f.input(compute.Input{Name: "parts", Format: "csv", Path: f.write("parts.csv.gz", two), Columns: columns("id bigint")})
	f.wantRows(f.rows(r), "1", "2")
}

func csvGlobAndGzip(t *testing.T, f *fixture) {
	f.write("in/2026/01/a.csv", "id\n1\n")
	f.write("in/2026/02/b.csv.gz", gzipped(t, "id\n2\n"))
	f.write("in/2026/02/c[1].csv", "id\n3\n")
	f.write("in/2026/03/d.csv.zst", zstded(t, "id\n4\n"))
	f.write("in/2026/_tmp/d.csv", "id\n99\n")
	f.write("in/2026/01/.e.csv", "id\n99\n")
	f.write("in/2026/01/_f.csv", "id\n99\n")
	f.write("in/2026/01/g.csv.staged", "id\n99\n")
	f.write("in/2026/01/h.txt", "id\n99\n")
	one := columns("id bigint")
	for _, tt := range []struct {
		name, glob string
		files      int
		want       []string
	}{
		{"deep", "in/**/*.csv*", 4, []string{"1", "2", "3", "4"}},
		{"one", "in/2026/01/?.csv", 1, []string{"1"}},
		{"set", "in/2026/0[2-3]/*", 3, []string{"2", "3", "4"}},
		{"not", "in/2026/0[!1]/*", 3, []string{"2", "3", "4"}},
		{"literal", "in/2026/02/c[1].csv", 1, []string{"3"}},
		{"spelled", "in/2026/01/_*.csv", 1, []string{"99"}},
		{"middle", "in/*/02/b.csv.gz", 1, []string{"2"}},
	} {
		r, files := f.input(compute.Input{Name: tt.name, Format: "csv", Path: filepath.Join(f.dir, filepath.FromSlash(tt.glob)), Columns: one})
		if len(files) != tt.files {
			t.Errorf("%s: files are %v", tt.glob, files)
		}
		f.wantRows(f.rows(r), tt.want...)
	}
}

func csvQuotesAndNulls(t *testing.T, f *fixture) {
	p := f.write("q.csv", "\xef\xbb\xbfa,b,c\r\n1,\"x,\"\"y\"\"\r\nz\",\r\n2,NA,\"\"\r\n")
	cols := columns("a integer; b varchar; c varchar")
	r, _ := f.input(compute.Input{Name: "plain", Format: "csv", Path: p, Columns: cols})
	f.wantRows(f.rows(r), "1|x,\"y\"\r\nz|NULL", "2|NA|NULL")
	r, _ = f.input(compute.Input{Name: "na", Format: "csv", Path: p, Columns: cols, Options: map[string]string{"null": "NA"}})
	f.wantRows(f.rows(r), "1|x,\"y\"\r\nz|", "2|NULL|")
	r, _ = f.input(compute.Input{Name: "unquoted", Format: "csv", Path: p, Columns: cols, Options: map[string]string{"quoted_null": "false"}})
	f.wantRows(f.rows(r), "1|x,\"y\"\r\nz|NULL", "2|NA|")
}

// The types of columns that are not declared come from every value of every file.
func csvInferredTypes(t *testing.T, f *fixture) {
	var b strings.Builder
	b.WriteString("i,big,f,d,ts,zip,mixed,none,b,tz\n")
	for range 30000 {
		b.WriteString("1,9007199254740993,1.5,2026-01-01,2026-01-01 10:00:00,00123,1,,true,2026-01-01T10:00:00Z\n")
	}
	b.WriteString("-2,2,3,2026-01-02,2026-01-02 10:00:00.5,4,last,,false,2026-01-01T10:00:00+02:00\n")
	p := f.write("x.csv", b.String())
	r, _ := f.input(compute.Input{Name: "raw", Format: "csv", Path: p})
	f.wantTypes(f.schema(r), "i BIGINT; big BIGINT; f DOUBLE; d DATE; ts TIMESTAMP; zip VARCHAR; mixed VARCHAR; none VARCHAR; b BOOLEAN; tz TIMESTAMP WITH TIME ZONE")
	f.prepare("few", compute.Step{Name: "few", SQL: "SELECT DISTINCT * FROM raw"})
	f.wantRows(f.rows("few"),
		"-2|2|3.0|2026-01-02|2026-01-02 10:00:00.5|4|last|NULL|false|2026-01-01 08:00:00+00",
		"1|9007199254740993|1.5|2026-01-01|2026-01-01 10:00:00|00123|1|NULL|true|2026-01-01 10:00:00+00")
}

func csvOptions(t *testing.T, f *fixture) {
	p := f.write("o.csv", "made by hand\n1;'a;b';1,50;31/12/2025;31/12/2025 08:15\n2;'it\\'s';-0,05;01/02/2026;01/02/2026 23:59\n")
	r, _ := f.input(compute.Input{Name: "raw", Format: "csv", Path: p, Columns: columns("id integer; s varchar; n decimal(9,2); d date; ts timestamp"),
		Options: map[string]string{"delimiter": ";", "quote": "'", "escape": `\`, "decimal": ",", "header": "false", "skip": "1", "date_format": "%d/%m/%Y", "timestamp_format": "%d/%m/%Y %H:%M"}})
	f.wantRows(f.rows(r), "1|a;b|1.50|2025-12-31|2025-12-31 08:15:00", "2|it's|-0.05|2026-02-01|2026-02-01 23:59:00")
}

func csvHeaderMistakes(t *testing.T, f *fixture) {
	f.open()
	for _, tt := range []struct{ name, content, declared, want, hint string }{
		{"absent", "id,amont\n1,2\n", "id bigint; amount bigint", `it has no column amount, and has a column that is not declared: "amont"`, ""},
		{"unknown", "id,amount,more\n1,2,3\n", "id bigint; amount bigint", `"more"`, ""},
		{"twice", "id,ID\n1,2\n", "id bigint", `columns 1 and 2 are called "id" and "ID", which differ only in case`, ""},
		{"empty", "", "id bigint", "it is empty", ""},
		{"unnamed", "id,\n1,2\n", "", "column 2 has no name", ""},
		{"delimited", "id;v\n1;2\n", "", `its only column would be "id;v"`, `set the option delimiter, as ";"`},
		{"tabs", "id\tv\n1\t2\n", "id bigint; v bigint", "it has no column id, v", `set the option delimiter, as "\t"`},
		{"pressed", gzipped(t, "id,v\n1,2\n"), "", "it is compressed by gzip", ".gz"},
		{"zstded", zstded(t, "id,v\n1,2\n"), "id bigint; v bigint", "it is compressed by zstd", ".zst"},
		{"workbook", "PK\x03\x04\x14\x00", "", "it is a zip archive, or a workbook", "save it as CSV"},
		{"wide", "\xff\xfei\x00d\x00", "", "it is UTF-16", "set the option encoding to utf-16"},
	} {
		p := f.write(tt.name+".csv", tt.content)
		var cols []compute.Column
		if tt.declared != "" {
			cols = columns(tt.declared)
		}
		_, _, err := f.ses.Input(t.Context(), compute.Input{Name: tt.name, Format: "csv", Path: p, Columns: cols})
		f.wantError(err, compute.Error{Kind: compute.InputInvalid, Input: tt.name, File: p, Message: tt.want, Hint: tt.hint})
	}
	one := f.write("one.csv", "a;b\nx;y\n")
	r, _ := f.input(compute.Input{Name: "one", Format: "csv", Path: one, Columns: []compute.Column{{Name: "a;b", Type: "VARCHAR"}}})
	f.wantRows(f.rows(r), "x;y") // a declared name is taken at its word
	f.write("two/a.csv", "id,x\n1,2\n")
	second := f.write("two/b.csv", "id,y\n1,2\n")
	_, _, err := f.ses.Input(t.Context(), compute.Input{Name: "two", Format: "csv", Path: filepath.Join(f.dir, "two", "*.csv")})
	f.wantError(err, compute.Error{Kind: compute.InputInvalid, File: second, Line: 1, Message: "it has no column x"})
}

// A value that its declared type cannot hold exactly is an error that names its file, physical line and column.
func csvValueMistakes(t *testing.T, f *fixture) {
	f.open()
	for _, tt := range []struct{ name, typ, value string }{
		{"text", "bigint", "abc"},
		{"rounded_integer", "bigint", "1.5"},
		{"too_large", "integer", "2147483648"},
		{"rounded_decimal", "decimal(18,2)", "1.505"},
		{"wide_decimal", "decimal(4,2)", "123.45"},
		{"date", "date", "31/12/2026"},
		{"no_such_date", "date", "2026-02-30"},
		{"date_with_time", "date", "2026-01-01 10:00:00"},
		{"nanoseconds", "timestamp", "2026-01-01 10:00:00.123456789"},
		{"dropped_offset", "timestamp", "2026-01-01 10:00:00+02:00"},
		{"boolean", "boolean", "maybe"},
		{"number", "double", "1,5"},
	} {
		p := f.write(tt.name+".csv", "id,txt,v\n1,\"two\nlines\",\n2,x,\n3,\"more\r\nlines\",\""+tt.value+"\"\n4,x,\n")
		r, _, err := f.ses.Input(t.Context(), compute.Input{Name: tt.name, Format: "csv", Path: p, Columns: columns("id bigint; txt varchar; v " + tt.typ)})
		if err != nil {
			t.Fatal(err)
		}
		_, err = f.ses.Encode(t.Context(), compute.Encode{Relation: r, Format: "parquet", Dir: f.folder("out-" + tt.name)})
		e := f.wantError(err, compute.Error{Kind: compute.InputInvalid, Input: tt.name, File: p, Line: 6, Column: "v", Message: `"` + tt.value + `" is not a`})
		if !strings.Contains(strings.ToLower(e.Message), strings.ToLower(tt.typ)) {
			t.Errorf("%s: the declared type is not in the message %q", tt.name, e.Message)
		}
	}
}

func csvLineMistakes(t *testing.T, f *fixture) {
	f.open()
	head := "id,txt,v\n1,\"two\nlines\",1\n2,x,2\n"
	for _, tt := range []struct{ name, line, want string }{
		{"short", "3,x", "the line has 2 of 3 fields"},
		{"long", "3,x,3,4", "more than 3 fields"},
		{"quote", "3,\"x\"y,3", "quote"},
		{"open_quote", "3,\"x", "a quote is not closed"},
		{"encoding", "3,\xff\xfe,3", "not UTF-8"},
	} {
		for _, ending := range []string{"", ".gz", ".zst"} {
			name, content := tt.name+".csv"+ending, head+tt.line+"\n"
			switch ending {
			case ".gz":
				content = gzipped(t, content)
			case ".zst":
				content = zstded(t, content)
			}
			p := f.write(name, content)
			in := strings.ReplaceAll(name, ".", "_")
			r, _, err := f.ses.Input(t.Context(), compute.Input{Name: in, Format: "csv", Path: p, Columns: columns("id bigint; txt varchar; v bigint")})
			if err != nil {
				t.Fatal(err)
			}
			_, err = f.ses.Encode(t.Context(), compute.Encode{Relation: r, Format: "parquet", Dir: f.folder("out-" + in)})
			f.wantError(err, compute.Error{Kind: compute.InputInvalid, Input: in, File: p, Line: 5, Message: tt.want})
		}
	}
}

func inputMissing(t *testing.T, f *fixture) {
	f.write("in/a.csv", "id\n1\n")
	f.folder("none")
	f.open()
	for _, tt := range []struct{ path, want string }{
		{"in/b.csv", "the folder " + filepath.Join(f.dir, "in") + " exists"},
		{"in/*.txt", "no file matches; the folder " + filepath.Join(f.dir, "in") + " exists"},
		{"in/deep/er/*.csv", "the folder " + filepath.Join(f.dir, "in", "deep", "er") + " does not exist, " + filepath.Join(f.dir, "in") + " does"},
		{"in/a.csv/x.csv", "there is no such file"},
		{"none", "the folder holds no file"},
	} {
		p := filepath.Join(f.dir, filepath.FromSlash(tt.path))
		_, _, err := f.ses.Input(t.Context(), compute.Input{Name: "raw", Format: "csv", Path: p})
		f.wantError(err, compute.Error{Kind: compute.InputMissing, Input: "raw", File: p, Message: tt.want})
		_, err = f.h.New(t).Files(t.Context(), compute.Input{Name: "raw", Format: "csv", Path: p})
		f.wantError(err, compute.Error{Kind: compute.InputMissing, Input: "raw", File: p, Message: tt.want})
	}
}

func inputBadOptions(t *testing.T, f *fixture) {
	p := f.write("a.csv", "id\n1\n")
	f.open()
	for _, tt := range []struct {
		in   compute.Input
		want string
	}{
		{compute.Input{Format: "csvv"}, "did you mean csv?"},
		{compute.Input{Format: "csv", Options: map[string]string{"delimeter": ";"}}, "did you mean delimiter?"},
		{compute.Input{Format: "csv", Options: map[string]string{"header": "yes"}}, `option header: "yes" is not true or false`},
		{compute.Input{Format: "csv", Options: map[string]string{"delimiter": ""}}, "option delimiter"},
		{compute.Input{Format: "csv", Options: map[string]string{"escape": ","}}, "option escape"},
		{compute.Input{Format: "csv", Options: map[string]string{"quote": "\n"}}, "option quote"},
		{compute.Input{Format: "csv", Options: map[string]string{"comment": ","}}, "option comment"},
		{compute.Input{Format: "csv", Options: map[string]string{"date_format": "%Q"}}, `option date_format: "%Q" is no pattern`},
		{compute.Input{Format: "json", Options: map[string]string{"timestamp_format": "%d/%m %H:%M"}}, `option timestamp_format: "%d/%m %H:%M" reads no year`},
		{compute.Input{Format: "csv", Columns: columns("id bigin")}, "did you mean bigint?"},
		{compute.Input{Format: "csv", Columns: []compute.Column{{Name: "id", Type: "int), (SELECT 1"}}}, "is not a type"},
		{compute.Input{Format: "csv", Columns: []compute.Column{{Name: "id", Type: "int) FROM range(3"}}}, "is not a type"},
		{compute.Input{Format: "csv", Columns: columns("id bigint; ID varchar")}, "the same name"},
	} {
		tt.in.Name, tt.in.Path = "raw", p
		_, _, err := f.ses.Input(t.Context(), tt.in)
		f.wantError(err, compute.Error{Kind: compute.BadOption, Input: "raw", Message: tt.want})
	}
	// The name is free after a failure, and taken after a success.
	f.input(compute.Input{Name: "raw", Format: "csv", Path: p})
	_, _, err := f.ses.Input(t.Context(), compute.Input{Name: "RAW", Format: "csv", Path: p})
	f.wantError(err, compute.Error{Kind: compute.QueryInvalid, Message: "taken"})
}

// Each value of a declared column is read as just what it says, or refused; which way it is written in does not matter.
func csvUnusualTexts(t *testing.T, f *fixture) {
	for i, c := range []struct{ typ, read, refused string }{
		{"bigint", `007=7;+1=1;" 1"=1;"1"=1;-0=0;1.0=1;9007199254740993=9007199254740993;9223372036854775807=9223372036854775807;-9223372036854775808=-9223372036854775808;=NULL`,
			`9223372036854775808;1_000;1e3;1.5;0x10;é`},
		{"utinyint", `255=255;"0"=0;00=0`, `256;-1;1e2`},
		{"decimal(5,2)", `1=1.00;1.5=1.50;1.50=1.50;1.500=1.50;"-0.01"=-0.01;999.99=999.99;.5=0.50;-0.00=0.00`, `1.005;1000.00;1e2;1_0`},
		{"double", `0.1=0.1;4.35=4.35;-0=-0.0;1e300=1e+300;007=7.0;9007199254740992=9007199254740992.0;.5=0.5`, `1_000;0x10;1.5.5`},
		{"date", `2024-02-29=2024-02-29;"2024-2-3"=2024-02-03;2024-01-31 00:00:00=2024-01-31`, `2023-02-29;2024-13-01;2024/01/01;2024-01-31 00:00:01;infinity`},
		{"timestamp", `2024-02-29 23:59:59=2024-02-29 23:59:59;2024-02-29T23:59:59=2024-02-29 23:59:59;1969-12-31 23:59:59=1969-12-31 23:59:59;2024-2-3=2024-02-03 00:00:00`,
			`2024-02-29 24:00:01;2024-02-29 23:59:59+01;2023-02-29 00:00:00`},
	} {
		// In a file of their own, and each many times: more rows than one vector.
		for j, pair := range strings.Split(c.read, ";") {
			text, want, _ := strings.Cut(pair, "=")
			p := f.write(fmt.Sprintf("read-%d-%d.csv", i, j), "x,y\n"+strings.Repeat(text+",1\n", 3000))
			r, _ := f.input(compute.Input{Name: fmt.Sprintf("r%d_%d", i, j), Format: "csv", Path: p, Columns: columns("x " + c.typ + "; y integer")})
			got := f.rows(r)
			for _, row := range got.Rows {
				if row[0] != want {
					t.Errorf("%s: %s is read as %s, want %s", c.typ, text, row[0], want)
					break
				}
			}
			if len(got.Rows) != 3000 {
				t.Errorf("%s: %s: %d rows", c.typ, text, len(got.Rows))
			}
		}
		for j, text := range strings.Split(c.refused, ";") {
			p := f.write(fmt.Sprintf("refused-%d-%d.csv", i, j), "x\n"+text+"\n")
			r, _ := f.input(compute.Input{Name: fmt.Sprintf("n%d_%d", i, j), Format: "csv", Path: p, Columns: columns("x " + c.typ)})
			_, err := f.ses.Encode(t.Context(), compute.Encode{Relation: r, Format: "parquet", Dir: f.folder(fmt.Sprintf("none-%d-%d", i, j))})
			f.wantError(err, compute.Error{Kind: compute.InputInvalid, File: p, Line: 2, Column: "x", Message: fmt.Sprintf("%q is not a", text)})
		}
	}
}
