package computetest

import (
	"encoding/binary"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ubunye-io/ubunye/engine/compute"
)

// csvPreambles: lines to skip are lines, whatever stands in them, and a file whose first record holds line ends has the rows that
// it has.
func csvPreambles(t *testing.T, f *fixture) {
	const rows = "id,v\n1,a\n2,\"b\nc\"\n"
	crlf := strings.ReplaceAll(rows, "\n", "\r\n")
	for i, tt := range []struct{ content, options, back string }{
		{"Report\n" + rows, "skip=1", "2|b\nc"},
		{"Report \"daily\n" + rows, "skip=1", "2|b\nc"},
		{"x,\"y\n" + rows, "skip=1", "2|b\nc"},
		{"\"x\n\n" + rows, "skip=2", "2|b\nc"},
		{"\"x\ny\n" + rows, "skip=2", "2|b\nc"},
		{"x\r\n" + rows, "skip=1", "2|b\nc"},
		{"x\r" + rows, "skip=1", "2|b\nc"},
		{"x\n" + crlf, "skip=1", "2|b\r\nc"},
		{"x\r" + crlf, "skip=1", "2|b\r\nc"},
		{"\xef\xbb\xbf\"x\n" + rows, "skip=1", "2|b\nc"},
		{"caf\xe9\n" + rows, "skip=1", "2|b\nc"},
		{"x,\"y\n" + strings.TrimPrefix(rows, "id,v\n"), "skip=1;header=false", "2|b\nc"},
		{"1,a\r\n2,\"b\nc\"\r\n", "header=false", "2|b\nc"},
		{"2,\"b\nc\"\r\n1,a\r\n", "header=false", "2|b\nc"},
		{"2,\"b\r\nc\"\n1,a\n", "header=false", "2|b\r\nc"},
	} {
		name := fmt.Sprint("preamble", i)
		p := f.write(name+".csv", tt.content)
		r, _ := f.input(compute.Input{Name: name, Format: "csv", Path: p, Columns: columns("id bigint; v varchar"), Options: optionsOf(tt.options)})
		f.wantRows(f.rows(r), "1|a", tt.back)
		good, bad, tally, err := f.rejecting(compute.Input{Name: name + "r", Format: "csv", Path: p, Columns: columns("id bigint; v varchar"), Options: optionsOf(tt.options)}, compute.Rejects{Rows: -1, Percent: -1})
		if err != nil || tally.Read != 2 || tally.Rows != 2 || len(bad.Rows) != 0 {
			t.Errorf("%s: %+v, %v rejected, %v", name, tally, bad.Rows, err)
		}
		f.wantRows(good, "1|a", tt.back)
	}
}

// fileMistakes: what a file is, and what it is not, is told with its place, and nothing of it is read.
func fileMistakes(t *testing.T, f *fixture) {
	f.open()
	const lines = "id,v\n1,a\n"
	for i, tt := range []struct {
		format, content, columns, options, want string
		line                                    int64
	}{
		{"csv", utf16Text(lines, binary.LittleEndian, false), "", "", "NUL, at byte offset 1 the first, as in UTF-16", 0},
		{"csv", utf16Text(lines, binary.BigEndian, false), "id varchar; v varchar", "header=false", "NUL, at byte offset 0 the first, as in UTF-16", 0},
		{"json", utf16Text(`{"v":"é"}`, binary.LittleEndian, false), "v varchar", "", "as in UTF-16", 0},
		{"csv", "\xff\xfe\x00\x00i\x00\x00\x00", "", "", "it is UTF-32", 0},
		{"csv", "\xff\xfe\x00\x00i\x00\x00\x00", "", "encoding=utf-16", "the byte order mark of utf-32", 1},
		{"csv", "id,v\x00w\n1,a\n", "", "", "the name of column 2 holds a NUL byte", 1},
		{"csv", "id,v\r\n1,a\n2,b\n", "id bigint; v varchar", "", `the line ends in "\n", and those before in "\r\n"`, 2},
		{"csv", "id,v\n1,a\r2,b\r", "id bigint; v varchar", "", `the line ends in "\r", and those before in "\n"`, 2},
		{"csv", "id,v\r\n1,a\r\n\n2,b\r\n", "id bigint; v varchar", "", `the line ends in "\n", and those before in "\r\n"`, 3},
		{"csv", "id,v\r\n1,a\r\n\n2,b\r\n", "", "", `the line ends in "\n", and those before in "\r\n"`, 3},
		{"csv", "", "", "empty_files=skip", "there is nothing to find columns by", 0},
		{"json", `{"":1}`, "", "", "a key is empty", 1},
		{"json", `{"a":{"":1}}`, "", "", "a key is empty", 1},
		{"json", `{"a":{"B":1,"b":2}}`, "", "", "the keys B and b differ only in case", 1},
		{"json", `{"a":` + strings.Repeat("[", 13) + "1" + strings.Repeat("]", 13) + "}", "", "", "it has more than 12 levels", 0},
		{"json", `{"a":` + strings.Repeat(`{"b":`, 60) + "1" + strings.Repeat("}", 60) + "}", "", "", "it has more than 12 levels", 0},
		{"json", "{\"s\":\"x\"}\n{\"s\":\"\ufdd0x\",\"n\":1.50}", "s varchar; n decimal(5,2)", "", "a string holds U+FDD0", 2},
		{"json", `{"s":"x\uFdD0"}`, "s varchar", "", "a string holds U+FDD0", 1},
		{"json", `{"s":{"\\\ufdd0":1}}`, "s json", "", "a string holds U+FDD0", 1},
		{"json", `{"s":"x","t":"\ufdd0"}`, "s varchar", "undeclared=ignore", "a string holds U+FDD0", 1},
	} {
		name := fmt.Sprint("file", i)
		p := f.write(name+"."+tt.format, tt.content)
		in := compute.Input{Name: name, Format: tt.format, Path: p, Options: optionsOf(tt.options)}
		if tt.columns != "" {
			in.Columns = columns(tt.columns)
		}
		f.wantError(f.readAll(in), compute.Error{Kind: compute.InputInvalid, Input: name, File: p, Line: tt.line, Message: tt.want})
	}
	// A backslash before a backslash begins no escape.
	r, _ := f.input(compute.Input{Name: "sign", Format: "json", Path: f.write("sign.json", `{"s":"\\ufdd0"}`), Columns: columns("s varchar")})
	f.wantRows(f.rows(r), `\ufdd0`)
	err := f.readAll(compute.Input{Name: "deep", Format: "json", Path: f.write("deep.json", `{"a":null}`), Columns: columns("a int" + strings.Repeat("[]", 13))})
	f.wantError(err, compute.Error{Kind: compute.BadOption, Input: "deep", Column: "a", Message: "a type of so many levels"})
}

// textsAsFormatted: what a pattern reads and the column's type does not hold is not dropped.
func textsAsFormatted(t *testing.T, f *fixture) {
	const nanos = "%Y-%m-%d %H:%M:%S.%n"
	for i, tt := range []struct{ typ, options, text, want string }{ // want empty: it is refused
		{"date", "date_format=%d/%m/%Y %H:%M", "01/02/2026 00:00", "2026-02-01"},
		{"date", "date_format=%d/%m/%Y %H:%M", "01/02/2026 13:45", ""},
		{"date", "date_format=%d/%m/%Y %z", "01/02/2026 +0200", ""},
		{"date", "date_format=%d %%H %Y %m", "01 %H 2026 02", "2026-02-01"},
		{"timestamp", "timestamp_format=" + nanos, "2026-01-01 00:00:00.123456000", "2026-01-01 00:00:00.123456"},
		{"timestamp", "timestamp_format=" + nanos, "2026-01-01 00:00:00.123456789", ""},
		{"timestamptz", "timestamp_format=" + nanos, "2026-01-01 00:00:00.123456789", ""},
		{"timestamptz", "time_zone=Europe/Paris;timestamp_format=" + nanos, "2026-01-01 00:00:00.123456000", "2025-12-31 23:00:00.123456+00"},
		{"timestamptz", "time_zone=Europe/Paris;timestamp_format=" + nanos, "2026-01-01 00:00:00.123456789", ""},
		{"timestamptz", "", "2026-01-01 00:00:00-00:30", "2026-01-01 00:30:00+00"},
		{"timestamptz", "", "2026-01-01 00:00:00+23:59", "2025-12-31 00:01:00+00"},
		{"timestamptz", "", "2026-01-01 00:00:00+25", ""},
		{"timestamptz", "", "2026-01-01 00:00:00+05:60", ""},
		{"double", "", "Infinity", "inf"},
		{"double", "", "1e400", ""},
		{"double", "", "-1e400", ""},
		{"float", "", "1e39", ""},
		{"decimal(9,3)", "decimal=,;thousands=.", "1.123", "1123.000"},
		{"decimal(9,3)", "decimal=,;thousands=.", "0.123", ""},
		{"decimal(9,3)", "decimal=,;thousands=.", "01.123", ""},
	} {
		for format, content := range map[string]string{"csv": "x\n\"" + tt.text + "\"\n", "json": `{"x":"` + tt.text + "\"}\n"} {
			if format == "json" && strings.Contains(tt.options, "thousands") {
				continue
			}
			name := fmt.Sprint(format, i)
			p := f.write(name+"."+format, content)
			in := compute.Input{Name: name, Format: format, Path: p, Columns: columns("x " + tt.typ), Options: optionsOf(tt.options)}
			if tt.want == "" {
				f.open()
				f.wantError(f.readAll(in), compute.Error{Kind: compute.InputInvalid, Input: name, File: p, Line: map[string]int64{"csv": 2, "json": 1}[format], Column: "x", Message: fmt.Sprintf("%q is not ", tt.text)})
				continue
			}
			r, _ := f.input(in)
			f.wantRows(f.rows(r), tt.want)
		}
	}
}

// folderValues: a declared column that stands in the names of folders holds just what they say, or nothing is read.
func folderValues(t *testing.T, f *fixture) {
	f.prepare("one", compute.Step{Name: "one", SQL: "SELECT CAST(1 AS INTEGER) AS id"})
	for i, tt := range []struct{ typ, folder, want string }{
		{"integer", "007", "7"}, {"integer", "1.5", ""}, {"date", "2026-01-31", "2026-01-31"}, {"date", "2026-01-31%2012%3A00%3A00", ""}, {"date", "x", ""},
		{"decimal(9,2)", "1.5", "1.50"}, {"decimal(9,2)", "1.005", ""}, {"varchar", "100%", "100%"}, {"time", "01%3A02%3A03", "01:02:03"},
	} {
		for _, format := range []string{"csv", "json", "parquet"} {
			name := fmt.Sprint(format, i)
			folder := f.folder(filepath.Join(name, "p="+tt.folder))
			files := f.encode(compute.Encode{Relation: "one", Format: format, Dir: folder})
			in := compute.Input{Name: name, Format: format, Path: filepath.Dir(folder), Columns: columns("id integer; p " + tt.typ), Options: map[string]string{"partitions": "true"}}
			if tt.want == "" {
				f.wantError(f.readAll(in), compute.Error{Kind: compute.InputInvalid, Input: name, File: filepath.Join(folder, files[0].Name), Column: "p", Message: "in the name of its folder, is not a"})
				continue
			}
			r, _ := f.input(in)
			f.wantRows(f.rows(r), "1|"+tt.want)
		}
	}
}

// singleColumn: a csv file of one column has a line that is not empty for each row, because readers leave out those that are.
func singleColumn(t *testing.T, f *fixture) {
	f.prepare("texts blobs", compute.Step{Name: "texts", SQL: "SELECT * FROM (VALUES (''), ('NA'), ('x'), (NULL)) AS t(v)"},
		compute.Step{Name: "blobs", SQL: "SELECT CAST(v AS BLOB) AS v FROM (VALUES (''), ('x'), (NULL)) AS t(v)"})
	options := map[string]string{"null": "NA"}
	for relation, want := range map[string]string{"texts": "\"v\"\n\"\"\n\"NA\"\n\"x\"\nNA\n", "blobs": "\"v\"\n\"\"\n\"eA==\"\nNA\n"} {
		dir := f.folder("out-" + relation)
		files := f.encode(compute.Encode{Relation: compute.Relation(relation), Format: "csv", Dir: dir, Options: options, OrderBy: []string{"v"}})
		if text := plain(t, dir, files[0]); text != want {
			t.Errorf("%s: %q, want %q", relation, text, want)
		}
		in := compute.Input{Name: "back of " + relation, Format: "csv", Path: dir, Options: map[string]string{"null": "NA", "quoted_null": "false"}}
		in.Columns = columns(map[string]string{"texts": "v varchar", "blobs": "v blob"}[relation])
		back, _ := f.input(in)
		f.same(compute.Relation(relation), back)
	}
}

// csvLongValues: a quoted value whose lines look like rows is one value, wherever in a large file it stands.
func csvLongValues(t *testing.T, f *fixture) {
	const row, before = "1,abcdefgh,2\n", 7_950_000 // an engine that reads pieces of 8 MB side by side begins one within the value
	value := strings.Repeat("7,q,8\n", 16_000)
	text := "a,b,c\n" + strings.Repeat(row, before/len(row)) + "3,\"" + value + "\",4\n" + strings.Repeat(row, 60_000)
	want := fmt.Sprintf("%d|%d|%d", before/len(row)+60_000+1, len(value), before/len(row)+60_000+3)
	for name, content := range map[string]string{"plain.csv": text, "packed.csv.gz": gzipped(t, text), "crlf.csv": strings.ReplaceAll(text, "\n", "\r\n")} {
		in := strings.ReplaceAll(name, ".", "_")
		for way, cols := range map[string][]compute.Column{"": columns("a bigint; b varchar; c bigint"), "_found": nil} {
			f.input(compute.Input{Name: in + way, Format: "csv", Path: f.write(name, content), Columns: cols})
			sums := in + way + "_sums"
			f.prepare(sums, compute.Step{Name: sums, SQL: "SELECT count(*) AS n, max(length(replace(b, chr(13), ''))) AS longest, sum(a) AS a FROM " + in + way})
			f.wantRows(f.rows(compute.Relation(sums)), want)
		}
	}
}
