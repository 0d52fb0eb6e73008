package ledger

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestOccupied(t *testing.T) {
	for _, c := range []struct {
		files []string
		want  string
	}{
		{nil, ""},
		{[]string{"_SUCCESS", "_ubunye-target", ".hidden", "_temporary/0/part.parquet", ".x.ubunye/new/part.parquet"}, ""},
		{[]string{"_SUCCESS", "part.parquet"}, "part.parquet"},
		{[]string{"p=0/.part.parquet.crc", "p=1/part.parquet"}, "p=1/part.parquet"},
		{[]string{"_p=1/part.parquet"}, "_p=1/part.parquet"},
	} {
		w := newWorld(t)
		for _, name := range c.files {
			w.must(os.MkdirAll(filepath.Dir(filepath.Join(w.lake, name)), 0o777))
			w.must(os.WriteFile(filepath.Join(w.lake, name), nil, 0o666))
		}
		_, s := w.begin(w.open(nil), Request{Batch: batch("d1")})
		if got, err := s.Occupied(w.lake); err != nil || got != c.want {
			t.Errorf("%q: %q, %v, want %q", c.files, got, err, c.want)
		}
		w.must(s.Release(context.Background()))
	}
	w := newWorld(t)
	w.must(os.MkdirAll(filepath.Dir(w.lake), 0o777))
	w.must(os.Symlink("nowhere", w.lake))
	_, s := w.begin(w.open(nil), Request{Batch: batch("d1")})
	if _, err := s.Occupied(w.lake); err == nil {
		t.Error("a link that points nowhere was taken for an empty folder")
	}
}

// The files that a rerun replaces are not in its way; those of others are.
func TestOccupiedByTheBatchItself(t *testing.T) {
	w := newWorld(t)
	w.must(w.once(w.open(nil), job{batch: batch("d1"), rows: []string{"1"}}))
	for _, c := range []struct{ rerun, want bool }{{false, true}, {true, false}} {
		run, s := w.begin(w.open(nil), Request{Batch: batch("d1"), Rerun: c.rerun})
		if got, err := s.Occupied(w.lake); err != nil || (got != "") != c.want {
			t.Errorf("rerun %v: %q, %v", c.rerun, got, err)
		}
		w.must(s.Release(context.Background()))
		w.must(run.End(context.Background(), Refused))
	}
	w.must(w.once(w.open(nil), job{batch: batch("d2"), rows: []string{"2"}}))
	_, s := w.begin(w.open(nil), Request{Batch: batch("d1"), Rerun: true})
	if got, err := s.Occupied(w.lake); err != nil || got == "" {
		t.Errorf("%q, %v", got, err)
	}
}

// An output that a run skips keeps what the last commit said of it, and a rerun of the others
// removes nothing of it.
func TestAnOutputThatIsSkippedKeepsItsClaims(t *testing.T) {
	w := newWorld(t)
	w.must(w.once(w.open(nil), job{batch: batch("d1"), rows: []string{"1"}}))
	before := w.document(batch("d1")).Finished.Outputs["clean"]
	ctx := context.Background()
	run, s := w.begin(w.open(nil), Request{Batch: batch("d1"), Rerun: true})
	w.must(s.Prepare(ctx, []OutputSpec{{Name: "other", Class: Claims, Base: filepath.Join(w.dir, "lake", "other")}}))
	w.must(s.Commit(ctx, Commit{Outputs: map[string]Result{"other": {}}, Skipped: map[string]string{"clean": w.lake, "third": filepath.Join(w.dir, "third")}}))
	w.must(s.Land(ctx))
	w.must(run.End(ctx, Succeeded))
	w.wantRows("skipped", "1")
	f := w.document(batch("d1")).Finished
	if got := f.Outputs["clean"]; len(got.Claims) != 1 || got.Claims[0] != before.Claims[0] || got.Rows != before.Rows {
		t.Fatalf("%+v, was %+v", got, before)
	}
	if got := f.Outputs["third"]; got.Class != Claims || got.Rows != 0 || got.Base.Path != "third" {
		t.Fatalf("%+v", got)
	}
}

func TestCountData(t *testing.T) {
	w := newWorld(t)
	if n, m, err := CountData(w.lake, ""); n != 0 || m != 0 || err != nil {
		t.Fatalf("%d %d %v", n, m, err)
	}
	w.must(w.once(w.open(nil), job{batch: batch("d1"), rows: []string{"1", "2"}}))
	w.must(os.WriteFile(filepath.Join(w.lake, "flat"), nil, 0o666))
	if n, m, err := CountData(w.lake, ""); n != 3 || m != 2 || err != nil {
		t.Fatalf("%d %d %v", n, m, err)
	}
	if n, m, err := CountData(w.lake, "p=1"); n != 1 || m != 1 || err != nil {
		t.Fatalf("%d %d %v", n, m, err)
	}
	for _, c := range []struct {
		r              Result
		files, folders int64
	}{
		{Result{}, 0, 0}, {Result{Claims: []string{"p=1/new", "p=9/new"}}, 1, 1}, {Result{Claims: []string{"p=1/new", "p=1/more", "p=0/new"}}, 2, 2},
		{Result{Claims: []string{"p=1/q=x/new"}}, 0, 0}, {Result{Slice: "p=1"}, 1, 1}, {Result{Slice: "p=1", Claims: []string{"p=1/q=x/new", "p=0/new"}}, 2, 2},
	} {
		if n, m, err := CountReplaced(w.lake, c.r); n != c.files || m != c.folders || err != nil {
			t.Errorf("%+v: %d %d %v", c.r, n, m, err)
		}
	}
	if os.Getuid() != 0 {
		w.must(os.Chmod(w.lake, 0))
		if _, _, err := CountData(w.lake, ""); !errors.Is(err, os.ErrPermission) {
			t.Fatal(err)
		}
	}
}
