package computetest

import (
	"encoding/binary"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ubunye-io/ubunye/engine/compute"
)

// Files that somebody may still be writing are left out of folders and globs, or told; never taken for fewer rows.
func unfinishedFiles(t *testing.T, f *fixture) {
	f.open()
	for _, name := range []string{"b.csv.part", "c.tmp", "d.csv.crdownload", "e.csv.filepart", "f.csv~", ".g.csv", "_h.csv", "i.csv.PARTIAL", "j.csv.swp", ".k.csv.tmp"} {
		f.write("in/"+name, "id\n99\n")
	}
	f.write("in/a.csv", "id\n1\n")
	f.write("in/p=x.tmp/a.part-1.csv", "id\n2\n") // of a folder the name may be a value
	id := columns("id bigint")
	for name, path := range map[string]string{"folder": "in", "glob": "in/**", "star": "in/*"} {
		r, files := f.input(compute.Input{Name: name, Format: "csv", Path: filepath.Join(f.dir, filepath.FromSlash(path)), Columns: id})
		want := map[bool][]string{true: {"1"}, false: {"1", "2"}}[name == "star"]
		if f.wantRows(f.rows(r), want...); len(files) != len(want) {
			t.Errorf("%s: files %v", path, files)
		}
	}
	for name, path := range map[string]string{"spelled": "in/*.part", "named": "in/b.csv.part"} {
		r, _ := f.input(compute.Input{Name: name, Format: "csv", Path: filepath.Join(f.dir, filepath.FromSlash(path)), Columns: id})
		f.wantRows(f.rows(r), "99")
	}
	for _, tt := range []struct{ name, format, want string }{
		{"empty.csv", "csv", "it is empty: it has 0 bytes"}, {"empty.json", "json", "it is empty: it has 0 bytes"}, {"empty.csv.gz", "csv", "it is empty"}, {"empty.parquet", "parquet", ""},
	} {
		f.write("of "+tt.name+"/a."+strings.SplitN(tt.name, ".", 2)[1], "")
		p := filepath.Join(f.dir, "of "+tt.name, "a."+strings.SplitN(tt.name, ".", 2)[1])
		err := f.readAll(compute.Input{Name: tt.name, Format: tt.format, Path: filepath.Dir(p), Columns: id})
		f.wantError(err, compute.Error{Kind: compute.InputInvalid, File: p, Message: tt.want})
	}
	for _, format := range []string{"csv", "json"} {
		f.write(format+"/1."+format, "")
		f.write(format+"/2."+format, map[string]string{"csv": "id\n1\n", "json": `{"id":1}`}[format])
		r, _ := f.input(compute.Input{Name: format, Format: format, Path: filepath.Join(f.dir, format), Columns: id, Options: optionsOf("empty_files=skip")})
		f.wantRows(f.rows(r), "1")
		r, _ = f.input(compute.Input{Name: format + " none", Format: format, Path: filepath.Join(f.dir, format, "1."+format), Columns: id, Options: optionsOf("empty_files=skip")})
		f.wantRows(f.rows(r))
	}
}

// rejecting opens an input with rejects called bad, and gives its rows, those of bad, and the counts.
func (f *fixture) rejecting(in compute.Input, allow compute.Rejects) (good, bad Table, tally compute.Tally, err error) {
	f.t.Helper()
	allow.Relation = "bad " + in.Name
	in.Rejects = &allow
	r, _, err := f.ses.Input(f.t.Context(), in)
	if err != nil {
		return good, bad, tally, err
	}
	if tally, err = f.ses.Tally(f.t.Context(), r); err != nil {
		f.t.Fatal(err)
	}
	f.wantTypes(f.schema(compute.Relation(allow.Relation)), "file VARCHAR; line BIGINT; column VARCHAR; reason VARCHAR; text VARCHAR")
	return f.rows(r), f.rows(compute.Relation(allow.Relation)), tally, nil
}

var anyNumber = compute.Rejects{Rows: -1, Percent: -1}

// Every row that is not as declared is a reject, with its place and text, and no other is.
func rejects(t *testing.T, f *fixture) {
	f.open()
	const many = 3000 // more than a vector of rows
	var long strings.Builder
	long.WriteString("id,s,d\n")
	for i := range many {
		fmt.Fprintf(&long, "%d,\"two\nlines\",2026-01-01\n", i)
		if i%1000 == 999 {
			fmt.Fprintf(&long, "x%d,y,2026-01-01\n", i)
		}
	}
	const cols = "id bigint; s varchar; d date"
	for i, tt := range []struct {
		format, content, options, columns string
		good, bad                         []string // of bad without the file
		read                              int64
	}{
		{"csv", "id,s,d\n1,a,2026-01-01\n", "", cols, []string{"1|a|2026-01-01"}, nil, 1},
		{"csv", "id,s,d\n1,a,2026-01-01\none,\"b\nb\",x\n3,c\n4,d,2026-01-04,5\n\"5\"x,e,2026-01-05\n\n6,\xff,2026-01-06\n7,\"f\n8,g,2026-01-08", "", cols, []string{"1|a|2026-01-01", "8|g|2026-01-08"}, []string{
			`3|id|"one" is not a BIGINT|one,"b` + "\nb\",x", `5|NULL|the line has 2 of 3 fields: "3,c"|3,c`, `6|NULL|the line has 4 fields, more than 3 fields: "4,d,2026-01-04,5"|4,d,2026-01-04,5`,
			`7|id|text follows the closing quote: "\"5\"x,e,2026-01-05"|"5"x,e,2026-01-05`, `9|s|the line is not UTF-8: the byte 0xff at byte offset 76 of the text: "6,\xff,2026-01-06"|6,\xff,2026-01-06`,
			`10|s|a quote is not closed: "7,\"f"|7,"f`}, 8},
		{"csv", "d;id;s\n31/01/2026;1,5;x\n2026;1;y\n01/02/2026;2,0;z\n", "delimiter=;;decimal=,;date_format=%d/%m/%Y", cols, []string{"2|z|2026-02-01"},
			[]string{`2|id|"1,5" is not a BIGINT|31/01/2026;1,5;x`, `3|d|"2026" is not a DATE|2026;1;y`}, 3},
		{"csv", "id,s,d\n1\n2,b\nx\n", "ragged=pad", cols, []string{"1|NULL|NULL", "2|b|NULL"}, []string{`4|id|"x" is not a BIGINT|x`}, 3},
		{"csv", utf16Text("id,s,d\n1,ä\nb,ü,\n3,é,\n", binary.LittleEndian, true), "encoding=utf-16;ragged=reject", cols, []string{"3|é|NULL"},
			[]string{`2|NULL|the line has 2 of 3 fields: "1,ä"|1,ä`, `3|id|"b" is not a BIGINT|b,ü,`}, 3},
		{"csv", "id,s,d\r\n1,a,\n2,b,\r\n3\n", "", cols, []string{"1|a|NULL", "2|b|NULL"}, []string{`4|NULL|the line has 1 of 3 fields: "3"|3`}, 3},
		{"csv", "1,a,\n2\n", "header=false", cols, []string{"1|a|NULL"}, []string{`2|NULL|the line has 1 of 3 fields: "2"|2`}, 2},
		{"csv", long.String(), "", cols, nil, []string{`2002|id|"x999" is not a BIGINT|x999,y,2026-01-01`, `4003|id|"x1999" is not a BIGINT|x1999,y,2026-01-01`, `6004|id|"x2999" is not a BIGINT|x2999,y,2026-01-01`}, many + 3},
		{"json", "{\"id\":1,\"s\":\"a\"}\n{\"id\":\"x\"}\n\n{\"id\":\n[]\n{\"id\":2,\"zz\":1}\n{\"id\":3,\"id\":3}\n{\"id\":7,\"d\":\"2026-02-30\"}\n{\"id\":4,\"s\":{}}\n{\"id\":2.0}\n", "", cols,
			[]string{"1|a|NULL", "2|NULL|NULL"}, []string{`2|id|"x" is not a BIGINT|{"id":"x"}`, `4|NULL|it ends in the middle of a value|{"id":`, `5|NULL|"[]" is no object|[]`,
				`6|NULL|the object has a key that is not declared: "zz"|{"id":2,"zz":1}`, `7|NULL|the key "id" occurs twice in an object|{"id":3,"id":3}`, `8|d|"2026-02-30" is not a DATE|{"id":7,"d":"2026-02-30"}`, `9|s|an object stands where a VARCHAR was declared|{"id":4,"s":{}}`}, 9},
		{"json", "[{\"id\":1},\n{\"id\":\n\"x\"},{\"id\":2,\"s\":\"b\"}]", "", cols, []string{"1|NULL|NULL", "2|b|NULL"}, []string{`2|id|"x" is not a BIGINT|{"id":` + "\n" + `"x"}`}, 3},
		{"json", "\xef\xbb\xbf{\"id\":1}\n{\"id\":true}\n", "", cols, []string{"1|NULL|NULL"}, []string{`2|id|"true" is not a BIGINT|{"id":true}`}, 2},
	} {
		for ending, content := range map[string]string{"": tt.content, ".gz": gzipped(t, tt.content)} {
			name := fmt.Sprint("in", i, len(ending))
			p := f.write(name+"."+tt.format+ending, content)
			good, bad, tally, err := f.rejecting(compute.Input{Name: name, Format: tt.format, Path: p, Columns: columns(tt.columns), Options: optionsOf(tt.options)}, anyNumber)
			if err != nil {
				t.Errorf("%q: %v", tt.content[:min(80, len(tt.content))], err)
				continue
			}
			if tt.good != nil {
				f.wantRows(good, tt.good...)
			}
			f.wantRejects(bad, p, tt.bad)
			if want := (compute.Tally{Read: tt.read, Rows: tt.read - int64(len(tt.bad)), Rejected: int64(len(tt.bad))}); tally != want || int64(len(good.Rows)) != want.Rows {
				t.Errorf("%s: %+v and %d rows, want %+v", name, tally, len(good.Rows), want)
			}
		}
	}
	f.rejectsOfSeveralFiles()
}

// wantRejects compares rejects of one file, in the order of their lines.
func (f *fixture) wantRejects(got Table, file string, want []string) {
	f.t.Helper()
	var all []string
	for _, w := range want {
		all = append(all, file+"|"+w)
	}
	slices.SortFunc(all, func(a, b string) int { return slices.Compare(strings.Split(a, "|"), strings.Split(b, "|")) })
	f.wantRows(got, all...)
}

// Columns are found by name in every file, the folder's too, and rejects name the file.
func (f *fixture) rejectsOfSeveralFiles() {
	a := f.write("several/p=1/a.csv", "id,s\n1,a\nx,b\n")
	b := f.write("several/p=2/b.csv", "s,id\nc,y\nd,2\ne\n")
	good, bad, tally, err := f.rejecting(compute.Input{Name: "several", Format: "csv", Path: filepath.Join(f.dir, "several"), Columns: columns("id bigint; s varchar; p integer"), Options: optionsOf("partitions=true")}, anyNumber)
	if err != nil {
		f.t.Fatal(err)
	}
	f.wantRows(good, "1|a|1", "2|d|2")
	f.wantRows(bad, a+`|3|id|"x" is not a BIGINT|x,b`, b+`|2|id|"y" is not a BIGINT|c,y`, b+`|4|NULL|the line has 1 of 2 fields: "e"|e`)
	if (tally != compute.Tally{Read: 5, Rows: 2, Rejected: 3}) {
		f.t.Errorf("%+v", tally)
	}
}

// More rejects than are allowed end the reading, and name the first; so does what is wrong with a file and not with a row.
func rejectsLimits(t *testing.T, f *fixture) {
	f.open()
	p := f.write("in.csv", "id\n1\nx\n2\ny\n3\nz\n4\nw\n5\n6\n") // 4 of 10
	for i, tt := range []struct {
		rows    int64
		percent float64
		says    string // empty: enough
	}{
		{-1, -1, ""}, {4, -1, ""}, {3, -1, "max_rejects is 3"}, {0, -1, "max_rejects is 0"}, {-1, 40, ""}, {-1, 39.9, "max_rejects is 39.9%"}, {-1, 0, "max_rejects is 0%"},
	} {
		_, _, tally, err := f.rejecting(compute.Input{Name: fmt.Sprint("r", i), Format: "csv", Path: p, Columns: columns("id bigint")}, compute.Rejects{Rows: tt.rows, Percent: tt.percent})
		if tt.says == "" {
			if err != nil || tally.Rejected != 4 {
				t.Errorf("%+v: %+v, %v", tt, tally, err)
			}
			continue
		}
		e := f.wantError(err, compute.Error{Kind: compute.TooManyRejects, Input: fmt.Sprint("r", i), Message: "4 of 10 rows that were read are not as declared, and " + tt.says})
		if !strings.Contains(e.Message, `the first: `+p+`:3: column id: "x" is not a BIGINT; `+p+":5:") {
			t.Errorf("the first are not named: %s", e.Message)
		}
	}
	all := f.write("all.csv", "id\nx\n")
	_, _, _, err := f.rejecting(compute.Input{Name: "all", Format: "csv", Path: all, Columns: columns("id bigint")}, anyNumber)
	f.wantError(err, compute.Error{Kind: compute.TooManyRejects, Message: "1 of 1 rows that were read"})
	_, _, _, err = f.rejecting(compute.Input{Name: "hundred", Format: "csv", Path: all, Columns: columns("id bigint")}, compute.Rejects{Rows: -1, Percent: 100})
	if err != nil {
		t.Error(err)
	}
	for i, tt := range []struct {
		in   compute.Input
		want compute.Error
	}{
		{compute.Input{Format: "csv", Path: f.write("h.csv", "other\n1\n"), Columns: columns("id bigint")}, compute.Error{Kind: compute.InputInvalid, Message: "it has no column id"}},
		{compute.Input{Format: "csv", Path: f.write("r.csv", "id,x\n1\n2,3\n"), Columns: columns("id bigint; x bigint"), Options: optionsOf("ragged=error")}, compute.Error{Kind: compute.InputInvalid, Line: 2, Message: "the line has 1 of 2 fields"}},
		{compute.Input{Format: "csv", Path: f.write("u.csv", "i\x00d\x00\n\x00\x00\xdc"), Columns: columns("id bigint"), Options: optionsOf("encoding=utf-16le")}, compute.Error{Kind: compute.InputInvalid, Line: 2}},
		{compute.Input{Format: "json", Path: f.write("u.json", "{\x00}\x00\n\x00\x00\xdc"), Columns: columns("id bigint"), Options: optionsOf("encoding=utf-16le")}, compute.Error{Kind: compute.InputInvalid, Line: 2}},
		{compute.Input{Format: "json", Path: f.write("a.json", `[{"id":1} {"id":2}]`), Columns: columns("id bigint")}, compute.Error{Kind: compute.InputInvalid, Line: 1, Message: "a comma or ] is missing"}},
		{compute.Input{Format: "csv", Path: p}, compute.Error{Kind: compute.BadOption, Message: "declare the columns"}},
		{compute.Input{Format: "parquet", Path: p, Columns: columns("id bigint")}, compute.Error{Kind: compute.BadOption, Message: "a parquet file has no rows"}},
	} {
		tt.in.Name = fmt.Sprint("whole", i)
		_, _, _, err := f.rejecting(tt.in, anyNumber)
		f.wantError(err, tt.want)
	}
}
