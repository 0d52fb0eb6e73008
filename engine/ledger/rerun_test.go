package ledger

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestR41_RerunReplacesAgainAndAgain(t *testing.T) {
	w := newWorld(t)
	w.must(w.once(w.open(nil), job{batch: batch("d1"), rows: []string{"1a", "1b"}}))
	w.must(w.once(w.open(nil), job{batch: batch("d2"), rows: []string{"2"}}))
	for range 3 {
		old := w.document(batch("d1")).Finished.Outputs["clean"].Claims
		w.must(w.once(w.open(nil), job{batch: batch("d1"), rows: []string{"1a", "1b"}, rerun: true}))
		w.wantRows("rerun", "1a", "1b", "2")
		for _, name := range old {
			if _, err := os.Stat(filepath.Join(w.lake, name)); !errors.Is(err, os.ErrNotExist) {
				t.Fatalf("%s of the old batch is left", name)
			}
		}
	}
}

func TestR42_AFailingRerunLeavesTheOldBatch(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	w.must(w.once(w.open(nil), job{batch: batch("d1"), rows: []string{"1a", "1b"}}))
	before, files := w.document(batch("d1")), tree(t, w.lake)
	run, s := w.begin(w.open(nil), Request{Batch: batch("d1"), Appends: true, Rerun: true})
	w.must(s.Prepare(ctx, w.spec()))
	w.must(stage(s, []string{"x"}))
	w.must(s.Fail(ctx, "failed"))
	w.must(run.End(ctx, Failed))
	d := w.document(batch("d1"))
	if got, want := must(d.Finished.MarshalJSON()), must(before.Finished.MarshalJSON()); string(got) != string(want) {
		t.Fatalf("finished was %s and is %s", want, got)
	}
	if after := tree(t, w.lake); !slices.Equal(paths(files), paths(after)) {
		t.Fatalf("the files were %q and are %q", files, after)
	}
	w.wantRows("failed rerun", "1a", "1b")
}

func TestR48_MissingClaimsAreNamed(t *testing.T) {
	w := newWorld(t)
	w.must(w.once(w.open(nil), job{batch: batch("d1"), rows: []string{"1a", "1b"}}))
	gone := w.document(batch("d1")).Finished.Outputs["clean"].Claims[0]
	w.must(os.Remove(filepath.Join(w.lake, gone)))
	before := tree(t, w.dir)
	again := job{batch: batch("d1"), rows: []string{"1a", "1b"}, rerun: true}
	var missing *ClaimsMissingError
	if err := w.once(w.open(nil), again); !errors.As(err, &missing) || missing.Missing != 1 || missing.Of != 2 ||
		missing.Example != gone || missing.Base != w.lake {
		t.Fatalf("got %v", err)
	}
	if after := tree(t, w.dir); !slices.Equal(paths(before), paths(after)) {
		t.Fatal("a refused rerun changed something")
	}
	again.anyway = true
	w.must(w.once(w.open(nil), again))
	w.wantRows("anyway", "1a", "1b")

	// the whole folder is gone: given up with --rerun=anyway, and not in the way of later runs
	w.must(os.RemoveAll(w.lake))
	w.must(w.once(w.open(nil), again))
	w.wantRows("anyway", "1a", "1b")
	again.anyway = false
	w.must(w.once(w.open(nil), again))
	w.wantRows("rerun", "1a", "1b")

	// the same after the output's path was changed
	w.must(os.RemoveAll(w.lake))
	w.lake = filepath.Join(w.dir, "lake", "elsewhere")
	again.anyway = true
	w.must(w.once(w.open(nil), again))
	w.wantRows("elsewhere", "1a", "1b")
}
