package ledger

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ubunye-io/ubunye/engine/store/fsops"
)

// committed makes a world with a batch that is committed and not landed: its run died in between.
func committed(t *testing.T, before ...job) *world {
	w := newWorld(t)
	for _, j := range before {
		w.must(w.once(w.open(nil), j))
	}
	w.commit(job{batch: batch("d1"), rows: []string{"1a", "1b"}})
	return w
}

func (w *world) commit(j job) (*Run, *Lease) {
	w.t.Helper()
	run, s := w.begin(w.open(nil), Request{Batch: j.batch, Rerun: j.rerun})
	w.must(s.Prepare(context.Background(), w.spec()))
	w.must(stage(s, j.rows))
	w.must(commit(s, "clean"))
	return run, s
}

func (w *world) finish() ([]Completed, []Left) {
	w.t.Helper()
	done, left, err := w.open(nil).FinishCommitted(context.Background(), "sales")
	w.must(err)
	return done, left
}

// wantLeft asserts that the start names one entry that it cannot carry out, that the entry stays, and
// that it refuses its own batch and no other.
func (w *world) wantLeft(do Do, text string) {
	w.t.Helper()
	for range 2 {
		_, left := w.finish()
		if len(left) == 0 || left[0].Entry.Do != do || !strings.Contains(left[0].String(), text) {
			w.t.Fatalf("left %v, want a %s with %q", left, do, text)
		}
	}
	if len(w.document(batch("d1")).Todo) == 0 {
		w.t.Fatal("the list was forgotten")
	}
	err := w.once(w.open(nil), job{batch: batch("d1"), rerun: true, anyway: true})
	if !errors.As(err, new(*LeftError)) {
		w.t.Fatalf("its own batch was not refused: %v", err)
	}
	if d := w.document(batch("d1")); d.Holder != nil {
		w.t.Fatal("the refused run did not give the batch back")
	}
}

func TestI4_CommittedMeansLandedByWhoeverComes(t *testing.T) {
	w := committed(t)
	w.wantRows("committed")
	run, err := w.open(nil).Begin(context.Background(), RunInfo{Pipeline: "sales"})
	w.must(err)
	w.must(run.End(context.Background(), Refused))
	done, left := w.finish()
	if len(left) > 0 || len(done) != 1 || done[0].Landed != 2 || done[0].Run == "" || done[0].Missing != 0 || done[0].Batch.Key != batch("d1").Key {
		t.Fatalf("%+v, %v", done, left)
	}
	w.wantRows("finished", "1a", "1b")
	if done, left := w.finish(); len(done)+len(left) > 0 {
		t.Fatalf("a second time: %v, %v", done, left)
	}
	if d := w.document(batch("d1")); len(d.Todo) > 0 || d.Finished == nil {
		t.Fatalf("%+v", d)
	}
}

// A list is carried out only under a document that survives a power cut; and a lost answer of a rename
// is no loss.
func TestAListIsCarriedOutUnderADurableDocument(t *testing.T) {
	w := committed(t)
	var order []string
	lose := &loseFirst{match: func(op fsops.Op) bool {
		if op.Kind == "syncdir" && strings.Contains(op.Path, "batches") {
			order = append(order, "sync")
		}
		if op.Kind == "rename" && strings.HasSuffix(op.To, ".parquet") {
			order = append(order, "land")
			return true
		}
		return false
	}}
	done, left, err := w.open(lose).FinishCommitted(context.Background(), "sales")
	if err != nil || len(left) > 0 || len(done) != 1 || done[0].Landed != 2 || done[0].Missing != 0 {
		t.Fatal(done, left, err)
	}
	if order[0] != "sync" || order[1] != "land" {
		t.Fatalf("%v", order)
	}
	w.wantRows("landed", "1a", "1b")
}

// The owner sleeps between commit and landing; meanwhile another start lands the batch and replaces
// it. When the owner wakes up, nothing comes back, and it is told that all is well.
func TestAnOwnerThatWakesUpAfterItsBatchWasReplaced(t *testing.T) {
	w := newWorld(t)
	_, s := w.commit(job{batch: batch("d1"), rows: []string{"1a", "1b"}})
	w.must(w.once(w.open(nil), job{batch: batch("d1"), rows: []string{"new"}, rerun: true}))
	w.wantRows("replaced", "new")
	w.must(s.Land(context.Background()))
	w.wantRows("woken", "new")
}

func TestR32_AnEntryThatCannotBeCarriedOutHindersItsOwnBatchOnly(t *testing.T) {
	w := committed(t)
	name := w.document(batch("d1")).Todo[0].Names[1]
	w.must(os.MkdirAll(filepath.Dir(filepath.Join(w.lake, name)), 0o777))
	w.must(os.WriteFile(filepath.Join(w.lake, name), []byte("stranger"), 0o666))
	w.wantLeft(Land, name)
	if data, _ := os.ReadFile(filepath.Join(w.lake, name)); string(data) != "stranger" {
		t.Fatal("a stranger's file was replaced")
	}
	w.must(w.once(w.open(nil), job{batch: batch("d2"), rows: []string{"2"}}))
	w.must(os.Remove(filepath.Join(w.lake, name)))
	w.finish()
	w.wantRows("the name is free again", "1a", "1b", "2")
}

// The owner itself is not satisfied with that.
func TestStagedFilesThatVanishAfterTheCommit(t *testing.T) {
	w := newWorld(t)
	w.must(w.once(w.open(nil), job{batch: batch("d0"), rows: []string{"0"}}))
	_, s := w.commit(job{batch: batch("d1"), rows: []string{"1a", "1b"}})
	w.must(os.RemoveAll(filepath.Join(s.Staging("clean"), "p=1")))
	if err := s.Land(context.Background()); !errors.As(err, new(*NotAllLandedError)) || !strings.Contains(err.Error(), "1 of its staged files") {
		t.Fatalf("got %v", err)
	}
}

func TestAnEmptyOutputIsAFolderWithSuccess(t *testing.T) {
	w := newWorld(t)
	w.must(w.once(w.open(nil), job{batch: batch("d1")}))
	entries, err := os.ReadDir(w.lake)
	if err != nil || len(entries) != 2 || entries[0].Name() != successName || entries[1].Name() != targetName {
		t.Fatalf("%v, %v", entries, err)
	}
}

// Whoever empties a list makes every name durable that it needs, also where it finds the work done: its
// maker may have died between the change and the sync.
func TestWhoeverEmptiesAListSyncsEveryFolder(t *testing.T) {
	deep := filepath.Join("year=2026", "month=01", "day=01")
	newLake := func(t *testing.T, hook fsops.Hook) *world {
		w := newWorld(t)
		_, s := w.begin(w.open(hook), Request{Batch: batch("d1")})
		w.must(s.Prepare(context.Background(), w.spec()))
		w.must(os.MkdirAll(filepath.Join(s.Staging("clean"), deep), 0o777))
		w.must(os.WriteFile(filepath.Join(s.Staging("clean"), deep, "part-1.parquet"+stagedSuffix), []byte("1"), 0o666))
		w.must(commit(s, "clean"))
		return w
	}
	count := &fsops.Trace{}
	w := newLake(t, nil)
	if _, left, err := w.open(count).FinishCommitted(context.Background(), "sales"); err != nil || len(left) > 0 {
		t.Fatal(left, err)
	}
	for k := range int64(len(count.Ops())) {
		w := newLake(t, nil)
		w.open(killed{at: k + 1}).FinishCommitted(context.Background(), "sales")
		if len(w.document(batch("d1")).Todo) == 0 {
			continue // the list is empty already: the killed one had synced
		}
		trace := &fsops.Trace{}
		if _, left, err := w.open(trace).FinishCommitted(context.Background(), "sales"); err != nil || len(left) > 0 {
			t.Fatal(left, err)
		}
		synced := map[string]bool{}
		for _, op := range trace.Ops() {
			if op.Kind == "link" {
				break // the save that empties the list
			}
			synced[op.Path] = synced[op.Path] || op.Kind == "syncdir"
		}
		for dir := filepath.Join(w.lake, deep); dir != filepath.Dir(w.dir); dir = filepath.Dir(dir) {
			if !synced[dir] {
				t.Fatalf("after a death at operation %d the list was emptied before %s was durable", k+1, dir)
			}
		}
		w.wantRows("landed", "1")
	}
}
