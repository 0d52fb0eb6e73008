package computetest

import (
	"encoding/binary"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/ubunye-io/ubunye/engine/compute"
)

// utf16Text encodes a text, after a byte order mark if one is wanted.
func utf16Text(text string, order binary.AppendByteOrder, mark bool) string {
	var b []byte
	if mark {
		b = order.AppendUint16(b, 0xfeff)
	}
	for _, unit := range utf16.Encode([]rune(text)) {
		b = order.AppendUint16(b, unit)
	}
	return string(b)
}

// dialect is one text, the options that read it, and what it says.
type dialect struct {
	format, content, options, columns string // options as a=b;c=d; columns empty: inferred
	want                              []string
}

// everyWay reads a file by its name, by a glob and by its folder, compressed or not: the same options give the same rows.
func (f *fixture) everyWay(name string, d dialect) {
	f.t.Helper()
	for ending, text := range map[string]string{"": d.content, ".gz": gzipped(f.t, d.content), ".zst": zstded(f.t, d.content)} {
		in := name + strings.ReplaceAll(ending, ".", "_")
		p := f.write(filepath.Join(in, "x."+d.format+ending), text)
		for way, path := range map[string]string{"": p, "_glob": filepath.Join(filepath.Dir(p), "?."+d.format+"*"), "_folder": filepath.Dir(p)} {
			asked := compute.Input{Name: in + way, Format: d.format, Path: path, Options: optionsOf(d.options)}
			if d.columns != "" {
				asked.Columns = columns(d.columns)
			}
			r, _ := f.input(asked)
			f.wantRows(f.rows(r), d.want...)
		}
	}
}

// The same text gives the same rows in every encoding.
func textEncodings(t *testing.T, f *fixture) {
	const text = "id,näme\r\n1,\"Grüße, €\r\n\"\r\n2,\"\"\r\n3,Œuvre\r\n"
	const lines = "{\"id\":1,\"näme\":\"Grüße 🎉\"}\n{\"id\":2}\n"
	rows := []string{"1|Grüße, €\r\n", "2|NULL", "3|Œuvre"}
	western := strings.NewReplacer("ä", "\xe4", "ü", "\xfc", "ß", "\xdf", "€", "\x80", "Œ", "\x8c")
	const cols = "id bigint; näme varchar"
	for i, d := range []dialect{
		{"csv", text, "", cols, rows},
		{"csv", "\xef\xbb\xbf" + text, "encoding=utf-8", cols, rows},
		{"csv", utf16Text(text, binary.LittleEndian, true), "encoding=utf-16", cols, rows},
		{"csv", utf16Text(text, binary.BigEndian, true), "encoding=UTF-16", cols, rows},
		{"csv", utf16Text(text, binary.LittleEndian, false), "encoding=utf-16le", "", rows},
		{"csv", utf16Text(text, binary.LittleEndian, true), "encoding=utf-16le", cols, rows},
		{"csv", utf16Text(text, binary.BigEndian, false), "encoding=utf-16be", cols, rows},
		{"csv", western.Replace(text), "encoding=windows-1252", cols, rows},
		{"csv", western.Replace(text), "encoding=latin-1", cols, []string{"1|Grüße, \u0080\r\n", "2|NULL", "3|\u008cuvre"}},
		{"json", lines, "", "", []string{"1|Grüße 🎉", "2|NULL"}},
		{"json", "\xef\xbb\xbf" + lines, "", cols, []string{"1|Grüße 🎉", "2|NULL"}},
		{"json", "\xef\xbb\xbf[" + strings.ReplaceAll(strings.TrimSpace(lines), "}\n", "},\n") + "]", "", cols, []string{"1|Grüße 🎉", "2|NULL"}},
		{"json", utf16Text(lines, binary.LittleEndian, true), "encoding=utf-16", "", []string{"1|Grüße 🎉", "2|NULL"}},
		{"json", "\xef\xbb\xbf{\"id\":9007199254740993,\"näme\":\"1\"}\n{\"id\":-1.0}", "", cols, []string{"-1|NULL", "9007199254740993|1"}},
	} {
		f.everyWay(fmt.Sprint("text", i), d)
	}
	// Characters lie across the pieces in which a file is read.
	var long strings.Builder
	long.WriteString("id,s\n")
	for i := range 30_000 {
		fmt.Fprintf(&long, "%d,🎉é%d\n", i, i)
	}
	p := f.write("long.csv", utf16Text(long.String(), binary.BigEndian, true))
	f.input(compute.Input{Name: "long", Format: "csv", Path: p, Columns: columns("id bigint; s varchar"), Options: optionsOf("encoding=utf-16")})
	f.prepare("sums", compute.Step{Name: "sums", SQL: "SELECT count(*) AS n, sum(id) AS ids, count(*) FILTER (s = '🎉é' || id) AS right FROM long"})
	f.wantRows(f.rows("sums"), "30000|449985000|30000")
}

// Text that is not in the encoding is told with file, line and byte; nothing stands in for it.
func textEncodingMistakes(t *testing.T, f *fixture) {
	f.open()
	lines := strings.Repeat("x\n", 50_000)
	for i, tt := range []struct {
		format, content, options, want string
		line                           int64
	}{
		{"csv", "n\nEspec\xedfica\n", "", "byte 0xed at byte offset 7", 2},
		{"csv", "n\n" + lines + "\xff\n" + lines, "", "byte 0xff at byte offset 100002", 50_002},
		{"csv", "n\n\xd6\xd0\xb9\xfa\n", "", "byte 0xd6 at byte offset 2", 2},
		{"csv", "n\n\"a\nb\"\n\"c\nd\xc3\"\n", "", "byte offset 12", 4},
		{"csv", "n\n\x81\n", "encoding=windows-1252", "0x81 at byte offset 2 are not windows-1252", 2},
		{"csv", "n\x00\n\x00x\x00\n\x00\x00\xd8x\x00", "encoding=utf-16le", "0x00d8 at byte offset 8 are not utf-16le", 3},
		{"csv", "\xff\xfen\x00\n\x00x", "encoding=utf-16", "0x78 at byte offset 6 are not utf-16le: half of a character at the end", 2},
		{"csv", "n\x00\n\x00", "encoding=utf-16", "no byte order mark", 1},
		{"csv", "\xfe\xff\x00n", "encoding=utf-16le", "the byte order mark of utf-16be", 1},
		{"csv", "\xef\xbb\xbfn\nx\n", "encoding=latin-1", "the byte order mark of utf-8", 1},
		{"json", "{\"n\":\"\xed\"}\n", "", "not UTF-8", 1},
		{"json", "{\"n\":\"a\"}\n{\"n\":\"\\ud800\"}\n", "", `\u that is no character`, 2},
		{"json", "\xff\xfe{\x00}\x00", "", "it is UTF-16", 0},
	} {
		name := fmt.Sprint("wrong", i)
		p := f.write(name+"."+tt.format, tt.content)
		in := compute.Input{Name: name, Format: tt.format, Path: p, Columns: columns("n varchar"), Options: optionsOf(tt.options)}
		f.wantError(f.readAll(in), compute.Error{Kind: compute.InputInvalid, File: p, Line: tt.line, Message: tt.want})
		if in.Columns = nil; tt.line > 0 {
			in.Name += "inferred"
			f.wantError(f.readAll(in), compute.Error{Kind: compute.InputInvalid, File: p, Line: tt.line, Message: tt.want})
		}
	}
}

// readAll opens an input and reads all of its rows; the error of either.
func (f *fixture) readAll(in compute.Input) error {
	f.t.Helper()
	r, _, err := f.ses.Input(f.t.Context(), in)
	if err == nil {
		_, err = f.ses.Encode(f.t.Context(), compute.Encode{Relation: r, Format: "parquet", Dir: f.folder("out-" + in.Name)})
	}
	return err
}

// Each option says just what it is documented to say.
func csvDialects(t *testing.T, f *fixture) {
	for i, d := range []dialect{
		{"csv", "a;b;c\n1.234.567;1.234,50;-0,5\n12;,5;1.000\n", "delimiter=;;decimal=,;thousands=.", "a bigint; b decimal(9,2); c double", []string{"12|0.50|1000.0", "1234567|1234.50|-0.5"}},
		{"csv", "a;b;c\n1.234.567;1.234,50;-0,5\n12;1,5;1.000\n", "delimiter=;;decimal=,;thousands=.", "", []string{"12|1.5|1000.0", "1234567|1234.5|-0.5"}},
		{"csv", "a\n\"1,234\"\n\"999\"\n", "thousands=,", "", []string{"1234", "999"}},
		{"csv", "a\n\"1\u202f234,5\"\n", "thousands=\u202f;decimal=,", "a decimal(9,1)", []string{"1234.5"}},
		{"csv", "t\n2026-01-15 12:00:00\n2026-07-15 12:00:00\n2026-07-15 12:00:00Z\n2026-07-15T12:00:00+05:30\n1900-01-01\n", "time_zone=Europe/Paris", "t timestamptz",
			[]string{"1899-12-31 23:50:39+00", "2026-01-15 11:00:00+00", "2026-07-15 06:30:00+00", "2026-07-15 10:00:00+00", "2026-07-15 12:00:00+00"}},
		{"csv", "t\n15/07/2026 12:00\n", "time_zone=America/New_York;timestamp_format=%d/%m/%Y %H:%M", "t timestamptz", []string{"2026-07-15 16:00:00+00"}},
		{"csv", "t\n15/07/2026 12:00 +0200\n", "time_zone=America/New_York;timestamp_format=%d/%m/%Y %H:%M %z", "t timestamptz", []string{"2026-07-15 10:00:00+00"}},
		{"csv", "t,n\n2026-07-15 12:00:00,1\n", "time_zone=Europe/Paris", "t timestamp; n integer", []string{"2026-07-15 12:00:00|1"}},
		{"csv", "#made by hand\n#\na,b\n1,x\n#2,y\n3,\"a\n#b\"\n4,#no\n", "comment=#", "a bigint; b varchar", []string{"1|x", "3|a\n#b", "4|#no"}},
		{"csv", "junk\n-- c\na,b\n1,x\n-- 2,y\n", "comment=--;skip=1", "a bigint; b varchar", []string{"1|x"}},
		{"csv", "a,b,c\n1\n2,y\n3,\"z\n\"\n\n4,,\n", "ragged=pad", "a bigint; b varchar; c date", []string{"1|NULL|NULL", "2|y|NULL", "3|z\n|NULL", "4|NULL|NULL"}},
		{"csv", "a,b\n1,2,\n3,4,,,\n\n5,6", "", "a bigint; b bigint", []string{"1|2", "3|4", "5|6"}}, // nothing is lost with what is empty
		{"csv", "a\n1\n\n2\n", "", "a bigint", []string{"1", "2", "NULL"}},
		{"csv", "a||b\n1||x|y\n2||\"p||q\"\n", "delimiter=||", "a bigint; b varchar", []string{"1|x|y", "2|p||q"}},
		{"csv", `a,b` + "\n" + `1,"say \"hi\" \\"` + "\n", `escape=\`, "a bigint; b varchar", []string{`1|say "hi" \`}},
		{"csv", "a,b\n1,'it''s'\n2,'\"\"'\n", "quote='", "a bigint; b varchar", []string{"1|it's", `2|""`}}, // a quote escapes itself
		{"csv", "a,b\n+491701234567,1\n1,\" 5\"\n", "", "", []string{"+491701234567|1", "1| 5"}},
		{"csv", "a\nabcd\né\n", "max_field_bytes=4", "a varchar", []string{"abcd", "é"}},
		{"csv", "1,x\n2,y\n", "header=false", "a bigint; b varchar", []string{"1|x", "2|y"}},
		{"csv", "a,b\n", "", "a bigint; b varchar", nil},
		{"csv", "\xef\xbb\xbf\"a\",\"b\"\n1,x\n", "", "", []string{"1|x"}},
		{"json", "{\"t\":\"2026-07-15T12:00:00\",\"l\":[\"2026-01-15 12:00:00\"]}\n", "time_zone=Europe/Paris", "t timestamptz; l timestamptz[]", []string{"2026-07-15 10:00:00+00|['2026-01-15 11:00:00+00']"}},
	} {
		f.everyWay(fmt.Sprint("dialect", i), d)
	}
	// What the name says of compression counts less than the option.
	for _, tt := range []struct{ name, content, compression string }{
		{"plain.csv.gz", "a\n1\n", "none"}, {"gz.csv", gzipped(t, "a\n1\n"), "gzip"}, {"gz2.csv.zst", gzipped(t, "a\n1\n"), "gzip"}, {"zst.dat", zstded(t, "a\n1\n"), "zstd"}, {"j.json", gzipped(t, "{\"a\":1}\n"), "gzip"},
	} {
		format := map[bool]string{true: "json", false: "csv"}[strings.HasSuffix(tt.name, ".json")]
		r, _ := f.input(compute.Input{Name: tt.name, Format: format, Path: f.write(tt.name, tt.content), Options: optionsOf("compression=" + tt.compression), Columns: columns("a bigint")})
		f.wantRows(f.rows(r), "1")
	}
}

// What the options do not make right is an error with its place.
func csvDialectMistakes(t *testing.T, f *fixture) {
	f.open()
	for i, tt := range []struct {
		content, options, columns, want string
		line                            int64
	}{
		{"a\n1\n1.23\n", "thousands=.;decimal=,", "a bigint", `"1.23" is not a BIGINT`, 3},
		{"a\n1.2345\n", "thousands=.;decimal=,", "a decimal(9,2)", `"1.2345" is not a DECIMAL(9,2)`, 2},
		{"a\n.123\n", "thousands=.;decimal=,", "a bigint", `".123"`, 2},
		{"t\n2026-03-29 03:30:00\n2026-03-29 02:30:00\n", "time_zone=Europe/Paris", "t timestamptz", "a time that Europe/Paris does not have", 3},
		{"t\n2026-10-25 01:30:00\n2026-10-25 02:30:00\n", "time_zone=Europe/Paris", "t timestamptz", "has twice", 3},
		{"t\n2011-12-30 12:00:00\n", "time_zone=Pacific/Apia", "t timestamptz", "Pacific/Apia", 2},
		{"a,b\n1,2\n3\n", "comment=#", "a bigint; b bigint", "the line has 1 of 2 fields", 3},
		{"a,b\n1,2\n3,4,5\n", "ragged=pad", "a bigint; b bigint", "the line has 3 fields, more than 2", 3},
		{"a,b\n1,\"x\ny\"\n2,zzzzz\n", "max_field_bytes=4", "a bigint; b varchar", `"zzzzz" has 5 bytes, more than the 4 of the option max_field_bytes`, 4},
		{`a,b` + "\n" + `1,"x\ny"` + "\n", `escape=\`, "a bigint; b varchar", "the escape character stands before neither a quote nor itself", 2},
		{"a,b\r\n1,2\r\n3,4\n", "", "a bigint; b bigint", "the line ends in", 3},
		{"a,b\n1,2\n\"3\n", "", "a varchar; b bigint", "a quote is not closed", 3},
		{"a,b\n1,2\nd,\n", "", "a bigint; b bigint", `"d" is not a BIGINT`, 3},
	} {
		p := f.write(fmt.Sprintf("mistake%d.csv", i), tt.content)
		in := compute.Input{Name: fmt.Sprint("mistake", i), Format: "csv", Path: p, Columns: columns(tt.columns), Options: optionsOf(tt.options)}
		f.wantError(f.readAll(in), compute.Error{Kind: compute.InputInvalid, File: p, Line: tt.line, Message: tt.want})
	}
	for i, tt := range []struct{ options, want string }{
		{"encoding=ebcdic", "option encoding"}, {"compression=bzip2", "option compression"}, {"thousands=.", "option thousands"}, {"thousands=;decimal=x;;", "option decimal"},
		{"time_zone=Mars/Base", "is no time zone"}, {"ragged=skip", "error, pad or reject"}, {"ragged=reject", "it has none"}, {"comment=\"x", "option comment"}, {"max_field_bytes=-1", "option max_field_bytes"},
		{"empty_files=ok", "error or skip"}, {"delimiter=\"", "option quote"},
	} {
		in := compute.Input{Name: fmt.Sprint("option", i), Format: "csv", Path: f.write("o.csv", "a\n1\n"), Columns: columns("a bigint"), Options: optionsOf(tt.options)}
		f.wantError(f.readAll(in), compute.Error{Kind: compute.BadOption, Message: tt.want})
	}
}
