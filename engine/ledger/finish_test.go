package ledger

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// Records of other pipelines are not this start's business.
func TestFinishOnlyTheOwnPipeline(t *testing.T) {
	w := committed(t)
	done, left, err := w.open(nil).FinishCommitted(context.Background(), "other")
	if err != nil || len(done)+len(left) > 0 {
		t.Fatal(done, left, err)
	}
	w.wantRows("another pipeline")
}

// But whoever writes to the same folder finishes them, by whatever name it calls the folder.
func TestFinishWhatOthersCommittedForTheSameFolder(t *testing.T) {
	for _, name := range []string{"the path", "a link to it"} {
		w := newWorld(t)
		ctx := context.Background()
		run, err := w.open(nil).Begin(ctx, RunInfo{Pipeline: "sales", Batches: []Batch{batch("d1")}, Targets: []Target{{Path: w.lake, Adds: true}}})
		w.must(err)
		leases, err := run.Acquire(ctx, []Request{{Batch: batch("d1")}})
		w.must(err)
		w.must(leases[0].Prepare(ctx, w.spec()))
		w.must(stage(leases[0], []string{"1a", "1b"}))
		w.must(commit(leases[0], "clean"))
		target := w.lake
		if name == "a link to it" {
			w.must(os.Symlink(w.dir, filepath.Join(w.dir, "link")))
			target = filepath.Join(w.dir, "link", "lake", "orders")
		}
		for _, other := range []string{filepath.Join(w.dir, "lake", "order"), target + "2"} {
			if done, left, err := w.open(nil).FinishCommitted(ctx, "other", Target{Path: other}); err != nil || len(done)+len(left) > 0 {
				t.Fatal(done, left, err)
			}
		}
		w.wantRows("another folder")
		done, left, err := w.open(nil).FinishCommitted(ctx, "other", Target{Path: target})
		if err != nil || len(left) > 0 || len(done) != 1 || done[0].Landed != 2 || done[0].Run != run.ID {
			t.Fatalf("%s: %v, %v, %v", name, done, left, err)
		}
		w.wantRows(name, "1a", "1b")
	}
}

// A record that cannot be read is named once, with its file, and nothing else is made up.
func TestAnUnreadableRecordIsNamedOnce(t *testing.T) {
	w := committed(t)
	path := filepath.Join(w.dir, ".ubunye", "runs", "x.json")
	w.must(os.WriteFile(path, nil, 0o666))
	_, left := w.finish()
	if len(left) != 1 || !strings.HasPrefix(left[0].String(), path+" is there but cannot be used: ") || strings.Count(left[0].String(), path) != 1 {
		t.Fatalf("%q", left)
	}
	w.wantRows("what others had committed is landed all the same", "1a", "1b")
}

// R21: each file once, whoever else is doing it at the same time.
func TestR21_ManyFinishAtOnce(t *testing.T) {
	for range 10 {
		w := newWorld(t)
		w.must(w.once(w.open(nil), job{batch: batch("d1"), rows: []string{"old"}}))
		run, s := w.commit(job{batch: batch("d1"), rows: []string{"1a", "1b"}, rerun: true})
		var all sync.WaitGroup
		for range 6 {
			all.Go(func() {
				if _, left, err := w.open(nil).FinishCommitted(context.Background(), "sales"); err != nil || len(left) > 0 {
					t.Error(left, err)
				}
			})
		}
		all.Go(func() {
			if err := s.Land(context.Background()); err != nil {
				t.Error(err)
			}
		})
		all.Wait()
		w.must(run.End(context.Background(), Succeeded))
		w.wantRows("many at once", "1a", "1b")
		if d := w.document(batch("d1")); len(d.Todo) > 0 {
			t.Fatalf("%+v", d.Todo)
		}
		w.nothingStaged(t)
	}
}

// A held document's list is carried out and left to its holder to empty.
func TestAHeldListIsDoneAndNotEmptied(t *testing.T) {
	w := committed(t)
	w.change(batch("d1"), func(d *Document) { d.Holder, d.Epoch = &Holder{Run: "20260101T000000Z-00000000"}, d.Epoch+1 })
	w.finish()
	w.wantRows("held", "1a", "1b")
	if d := w.document(batch("d1")); len(d.Todo) != 1 || d.Holder == nil {
		t.Fatalf("%+v", d)
	}
}
