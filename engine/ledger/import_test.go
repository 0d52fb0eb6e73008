package ledger

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ubunye-io/ubunye/engine/store/fsops"
)

var took = time.Date(2025, 12, 31, 23, 0, 0, 0, time.UTC)

// foreign writes the files of a batch as another program does, one row each, and gives what it says of it.
func (w *world) foreign(rows ...string) Import {
	w.t.Helper()
	im := Import{Origin: Origin{Program: "other", Run: "r/1", Note: "/notes/1.json"}, At: took, Outputs: map[string]ImportedOutput{}}
	out := ImportedOutput{Base: w.lake}
	for _, row := range rows {
		name := "dt=x/part-" + row + ".parquet"
		w.must(os.MkdirAll(filepath.Join(w.lake, "dt=x"), 0o777))
		w.must(os.WriteFile(filepath.Join(w.lake, name), []byte(row), 0o666))
		out.Files = append(out.Files, name)
	}
	im.Outputs["clean"] = out
	return im
}

// takeOver is an import as the engine makes it.
func (w *world) takeOver(l *Ledger, b Batch, im Import) (missing []string, err error) {
	ctx := context.Background()
	run, err := l.Begin(ctx, RunInfo{Pipeline: b.Pipeline, Batches: []Batch{b}, Targets: []Target{{Path: w.lake, Adds: true}}})
	if err != nil {
		return nil, err
	}
	leases, err := run.Acquire(ctx, []Request{{Batch: b, Appends: true}})
	if err != nil {
		run.End(ctx, Refused)
		return nil, err
	}
	if missing, err = leases[0].Import(ctx, im); err != nil {
		leases[0].Release(ctx)
		run.End(ctx, Failed)
		return nil, err
	}
	return missing, run.End(ctx, Succeeded)
}

// What another program finished is refused like what a run finished, and a rerun replaces its files.
func TestAnImportedBatchIsFinished(t *testing.T) {
	w := newWorld(t)
	b := batch("d1")
	im := w.foreign("1a", "1b")
	before := tree(t, w.lake)
	if missing, err := w.takeOver(w.open(nil), b, im); err != nil || len(missing) > 0 {
		t.Fatal(missing, err)
	}
	if after := tree(t, w.lake); !slices.Equal(paths(before), paths(after)) {
		t.Errorf("the files were %q and are %q", before, after)
	}
	f := w.document(b).Finished
	if f == nil || f.Imported == nil || f.Imported.Run != "r/1" || !f.At.Equal(took) || f.Outputs["clean"].Bytes != 4 || f.Outputs["clean"].Files != 2 || w.document(b).Holder != nil {
		t.Fatalf("%+v", f)
	}
	if runs := w.runs(); len(runs) > 0 {
		t.Errorf("the import has left %v", runs)
	}
	var finished *FinishedError
	if err := w.once(w.open(nil), job{batch: b, rows: []string{"x"}}); !errors.As(err, &finished) || finished.Finished.Imported == nil {
		t.Fatalf("a run of it: %v", err)
	}
	if _, err := w.takeOver(w.open(nil), b, im); !errors.As(err, &finished) {
		t.Fatalf("imported again: %v", err)
	}
	w.must(w.once(w.open(nil), job{batch: batch("d2"), rows: []string{"2"}}))
	w.must(w.once(w.open(nil), job{batch: b, rows: []string{"1c"}, rerun: true}))
	w.wantRows("after a rerun", "1c", "2")
	if f := w.document(b).Finished; f.Imported != nil {
		t.Errorf("a rerun still says that it was imported: %+v", f.Imported)
	}
}

// A claimed file that is gone is told, and claimed: a rerun is refused until somebody says that its rows are gone (R48).
func TestR48_AnImportedFileThatIsGoneIsTold(t *testing.T) {
	w := newWorld(t)
	b := batch("d1")
	im := w.foreign("1a", "1b")
	gone := filepath.Join(w.lake, "dt=x", "part-1b.parquet")
	w.must(os.Remove(gone))
	missing, err := w.takeOver(w.open(nil), b, im)
	if err != nil || !slices.Equal(missing, []string{gone}) {
		t.Fatal(missing, err)
	}
	again := job{batch: b, rows: []string{"1c"}, rerun: true}
	var claims *ClaimsMissingError
	if err := w.once(w.open(nil), again); !errors.As(err, &claims) || claims.Missing != 1 || claims.Of != 2 {
		t.Fatal(err)
	}
	again.anyway = true
	w.must(w.once(w.open(nil), again))
	w.wantRows("after --rerun=anyway", "1c")
}

func TestWhatCannotBeImported(t *testing.T) {
	for name, c := range map[string]struct {
		change func(w *world, im *Import)
		want   any
		say    string
	}{
		"a folder": {func(w *world, im *Import) { w.files(im, "dt=x") }, new(*ImportError), "directory"},
		"a link": {func(w *world, im *Import) {
			w.must(os.Symlink("part-1a.parquet", filepath.Join(w.lake, "dt=x", "link.parquet")))
			w.files(im, "dt=x/link.parquet")
		}, new(*ImportError), "is no file"},
		"outside":           {func(w *world, im *Import) { w.files(im, "../orders.csv") }, new(*ImportError), "not below"},
		"the folder itself": {func(w *world, im *Import) { w.files(im, ".") }, new(*ImportError), "not below"},
		"of another ledger": {func(w *world, im *Import) {
			w.must(os.WriteFile(filepath.Join(w.lake, targetName), []byte(`{"target":"t","ledger":"other"}`), 0o666))
		}, new(*TargetElsewhereError), "other"},
		"a file for a folder": {func(w *world, im *Import) { w.must(os.RemoveAll(w.lake)); w.must(os.WriteFile(w.lake, nil, 0o666)) }, new(*ImportError), "output folder"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			im := w.foreign("1a")
			c.change(w, &im)
			if _, err := w.takeOver(w.open(nil), batch("d1"), im); !errors.As(err, c.want) || !strings.Contains(err.Error(), c.say) {
				t.Fatalf("got %v", err)
			}
			if d := w.document(batch("d1")); d.Finished != nil || d.Holder != nil {
				t.Errorf("%+v", d)
			}
		})
	}
}

func (w *world) files(im *Import, files ...string) {
	im.Outputs["clean"] = ImportedOutput{Base: w.lake, Files: files}
}

// Stopped at every operation and repeated, the batch is finished once and its files are as they were; at no time does a run
// that comes between find it half imported.
func TestI6_AnImportStoppedAtEveryOperation(t *testing.T) {
	trace := &fsops.Trace{}
	first := newWorld(t)
	_, err := first.takeOver(first.open(trace), batch("d1"), first.foreign("1a", "1b"))
	first.must(err)
	n := int64(len(trace.Ops()))
	if n < 10 {
		t.Fatalf("only %d operations were seen", n)
	}
	everyStop(t, n, []string{"kill", "enospc", "full", "lost"}, func(t *testing.T, _ string, hook fsops.Hook, k int64) {
		w := newWorld(t)
		b, im := batch("d1"), w.foreign("1a", "1b")
		_, err := w.takeOver(w.mortal(hook), b, im)
		if k > n && err != nil {
			t.Fatal(err)
		}
		committed := w.document(b).Finished != nil
		if _, left, err := w.open(nil).FinishCommitted(context.Background(), "sales"); err != nil || len(left) > 0 {
			t.Fatalf("the next start could not finish: %v, %v", left, err)
		}
		_, err = w.takeOver(w.open(nil), b, im)
		if again := errors.As(err, new(*FinishedError)); again != committed || !again && err != nil {
			t.Fatalf("committed: %v; repeated: %v", committed, err)
		}
		if err := w.once(w.open(nil), job{batch: b, rows: []string{"x"}}); !errors.As(err, new(*FinishedError)) {
			t.Fatalf("a run of it: %v", err)
		}
		w.wantRows("imported", "1a", "1b")
		w.must(w.once(w.open(nil), job{batch: b, rows: []string{"1c"}, rerun: true}))
		w.wantRows("after a rerun", "1c")
	})
}
