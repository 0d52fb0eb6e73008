package computetest

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ubunye-io/ubunye/engine/compute"
)

// Exactly the files that are pinned are read, as they were; what is between the folder of the path and them is as ever.
func pinnedFiles(t *testing.T, f *fixture) {
	for _, name := range []string{"in/p=1/a.csv", "in/p=2/b.csv", "in/p=3/c.csv"} {
		f.write(name, "id\n"+name[5:6]+"\n")
	}
	in := compute.Input{Name: "all", Format: "csv", Path: filepath.Join(f.dir, "in", "*", "*.csv"), Options: map[string]string{"partitions": "true"}}
	_, files := f.input(in)
	in.Name, in.Pinned = "some", []compute.File{files[0], files[2]}
	some, read := f.input(in)
	if len(read) != 2 || read[1] != files[2] {
		t.Errorf("read %v", read)
	}
	f.prepare("some")
	f.wantRows(f.rows(some), "1|1", "3|3")

	in.Name, in.Pinned = "none", []compute.File{}
	_, _, err := f.ses.Input(t.Context(), in)
	f.wantError(err, compute.Error{Kind: compute.BadOption, Input: "none", Message: "none of its files is to be read"})
	in.Known = known("id BIGINT; p BIGINT", "id VARCHAR")
	none, _ := f.input(in)
	f.count(none, 0)
	f.wantTypes(f.schema(none), "id BIGINT; p BIGINT")
	in.Name, in.Known, in.Columns, in.Rejects = "none rejected", nil, columns("id BIGINT; p BIGINT"), &compute.Rejects{Relation: "rejected", Rows: -1, Percent: -1}
	none, _ = f.input(in)
	f.count(none, 0)
	f.count("rejected", 0)

	in = compute.Input{Name: "again", Format: "csv", Path: in.Path, Pinned: files}
	if err := os.Chtimes(files[1].Path, time.Time{}, files[1].ModTime.Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	_, _, err = f.ses.Input(t.Context(), in)
	f.wantError(err, compute.Error{Kind: compute.InputInvalid, Input: "again", File: files[1].Path, Message: "written again"})
	if err := os.Remove(files[1].Path); err != nil {
		t.Fatal(err)
	}
	_, _, err = f.ses.Input(t.Context(), in)
	f.wantError(err, compute.Error{Kind: compute.InputMissing, Input: "again", File: files[1].Path, Message: "the file is gone"})
}

// The greatest value of a column comes as a text that makes the same value again, and a window has the rows above one and up to
// another, exactly.
func windows(t *testing.T, f *fixture) {
	for i, tt := range []struct{ typ, low, after, high string }{
		{"TINYINT", "-128", "-128", "127"},
		{"BIGINT", "9007199254740992", "9007199254740992", "9007199254740993"},
		{"UBIGINT", "18446744073709551614", "18446744073709551614", "18446744073709551615"},
		{"HUGEINT", "-170141183460469231731687303715884105727", "-170141183460469231731687303715884105727", "170141183460469231731687303715884105727"},
		{"DECIMAL(38,3)", "0.1", "0.100", "99999999999999999999999999999999999.999"},
		{"DOUBLE", "0.1", "0.1", "0.30000000000000004"},
		{"VARCHAR", "Z", "Z", "a'\"\n é"},
		{"DATE", "0001-01-01", "0001-01-01", "9999-12-31"},
		{"TIMESTAMP", "1969-12-31T23:59:59.999999", "1969-12-31 23:59:59.999999", "1970-01-01 00:00:00.000001"},
		{"TIMESTAMP WITH TIME ZONE", "2026-06-01T10:00:00+02:00", "2026-06-01 08:00:00+00", "2026-06-01 08:00:00.000001+00"},
	} {
		quoted := `"` + doubled(tt.high) + `"`
		p := f.write("w"+tt.typ[:4]+".csv", "k,n\n"+tt.low+",1\n"+quoted+",2\n"+tt.low+",3\n")
		in := compute.Input{Name: "w " + tt.typ, Format: "csv", Path: p, Columns: columns("k " + tt.typ + "; n BIGINT")}
		r, _ := f.input(in)
		g := f.greatest(r, "K", nil)
		if g.Text == nil || *g.Text != tt.high || g.Type != tt.typ || g.Nulls != 0 || !g.Above {
			t.Errorf("%s: %+v", tt.typ, g)
			continue
		}
		if g := f.greatest(r, "k", &compute.Value{Text: tt.low}); g.After == nil || *g.After != tt.after || !g.Above {
			t.Errorf("%s after the least: %+v", tt.typ, g)
		}
		if g := f.greatest(r, "k", &compute.Value{Type: tt.typ, Text: tt.high}); g.Above {
			t.Errorf("%s after the greatest: %+v", tt.typ, g)
		}
		f.narrow(r, compute.Window{Column: "k", Type: tt.typ, After: &tt.after, UpTo: g.Text})
		n := fmt.Sprintf("n%d", i)
		f.prepare(n, compute.Step{Name: n, SQL: `SELECT n FROM "` + in.Name + `"`})
		f.wantRows(f.rows(compute.Relation(n)), "2")
		for name, w := range map[string]compute.Window{"first": {UpTo: &tt.after}, "none": {}, "empty": {After: g.Text, UpTo: g.Text}} {
			in.Name, w.Column, w.Type = name+" "+tt.typ, "k", tt.typ
			r, _ := f.input(in)
			f.narrow(r, w)
			f.count(r, map[string]int64{"first": 2}[name])
		}
	}
}

func doubled(text string) (out string) {
	for _, r := range text {
		if r == '"' {
			out += `"`
		}
		out += string(r)
	}
	return out
}

// A column that nothing can be read on by is refused.
func windowMistakes(t *testing.T, f *fixture) {
	p := f.write("m.csv", "k,b,x,n\n1,true,nan,\n2,false,1.5,7\n")
	in := compute.Input{Name: "m", Format: "csv", Path: p, Columns: columns("k BIGINT; b BOOLEAN; x DOUBLE; n BIGINT")}
	r, _ := f.input(in)
	for _, tt := range []struct {
		column string
		after  *compute.Value
		want   compute.Error
	}{
		{"kk", nil, compute.Error{Kind: compute.BadOption, Input: "m", Column: "kk", Message: "there is no such column"}},
		{"b", nil, compute.Error{Kind: compute.BadOption, Input: "m", Column: "b", Message: "no order"}},
		{"x", nil, compute.Error{Kind: compute.InputInvalid, Input: "m", Column: "x", Message: "nan: nothing could come after it"}},
		{"k", &compute.Value{Text: "soon"}, compute.Error{Kind: compute.BadOption, Input: "m", Column: "k", Message: `"soon", where reading is to go on, is no BIGINT`}},
		{"k", &compute.Value{Text: "1\x00"}, compute.Error{Kind: compute.BadOption, Input: "m", Column: "k", Message: "is no BIGINT"}},
	} {
		_, err := f.ses.Greatest(t.Context(), r, tt.column, tt.after)
		f.wantError(err, tt.want)
	}
	if g := f.greatest(r, "n", nil); g.Nulls != 1 || g.Text == nil || *g.Text != "7" {
		t.Errorf("%+v", g)
	}
	if g := f.greatest(r, "k", &compute.Value{Type: "VARCHAR", Text: "1"}); g.After != nil || g.Type != "BIGINT" {
		t.Errorf("after a value of another type: %+v", g)
	}
	two := "2"
	err := f.ses.Narrow(t.Context(), r, compute.Window{Column: "k", Type: "INTEGER", UpTo: &two})
	f.wantError(err, compute.Error{Kind: compute.BadOption, Input: "m", Column: "k", Message: "it is a BIGINT, and was a INTEGER"})
	f.prepare("m")
	err = f.ses.Narrow(t.Context(), r, compute.Window{Column: "k", Type: "BIGINT", UpTo: &two})
	f.wantError(err, compute.Error{Kind: compute.QueryInvalid, Message: "nothing has read yet"})
	empty := f.write("e.csv", "k\n")
	r, _ = f.input(compute.Input{Name: "e", Format: "csv", Path: empty, Columns: columns("k BIGINT")})
	if g := f.greatest(r, "k", nil); g.Text != nil || g.Above {
		t.Errorf("of no rows: %+v", g)
	}
}

func (f *fixture) greatest(r compute.Relation, column string, after *compute.Value) compute.Greatest {
	f.t.Helper()
	g, err := f.ses.Greatest(f.t.Context(), r, column, after)
	if err != nil {
		f.t.Fatal(err)
	}
	return g
}

func (f *fixture) narrow(r compute.Relation, w compute.Window) {
	f.t.Helper()
	if err := f.ses.Narrow(f.t.Context(), r, w); err != nil {
		f.t.Fatal(err)
	}
}
