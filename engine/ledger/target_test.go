package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/ubunye-io/ubunye/engine/store/fsops"
)

func TestR24_EntriesResolveUnderAnotherMountPoint(t *testing.T) {
	w := committed(t, job{batch: batch("d0"), rows: []string{"0"}})
	moved := scratch(t)
	w.must(os.Remove(moved))
	w.must(os.Rename(w.dir, moved))
	w.dir, w.lake = moved, filepath.Join(moved, "lake", "orders")
	if _, left := w.finish(); len(left) > 0 {
		t.Fatal(left)
	}
	w.wantRows("moved", "0", "1a", "1b")
}

// A folder that is not there now, or is an empty one in its place, proves nothing: no entry is taken
// for done, and nothing is made there.
func TestR31_AnEmptyMountPointForgetsNothing(t *testing.T) {
	for _, empty := range []bool{false, true} {
		w := committed(t, job{batch: batch("d0"), rows: []string{"0"}})
		w.must(os.Rename(filepath.Join(w.dir, ".ubunye", "staging"), filepath.Join(w.dir, "staging.away")))
		w.must(os.Rename(w.lake, w.lake+".away"))
		if empty {
			w.must(os.Mkdir(w.lake, 0o777))
		}
		w.wantLeft(Land, "right disk")
		if empty {
			if entries, _ := os.ReadDir(w.lake); len(entries) > 0 {
				t.Fatal("something was made in the empty folder")
			}
			w.must(os.Remove(w.lake))
		}
		w.must(os.RemoveAll(filepath.Join(w.dir, ".ubunye", "staging"))) // made again by the start that was refused
		w.must(os.Rename(filepath.Join(w.dir, "staging.away"), filepath.Join(w.dir, ".ubunye", "staging")))
		w.must(os.Rename(w.lake+".away", w.lake))
		if _, left := w.finish(); len(left) > 0 {
			t.Fatal(left)
		}
		w.wantRows("the disk is back", "0", "1a", "1b")
	}
}

// The output's folder is gone but the staging is there: the base was there at prepare, so it is not
// made again.
func TestR31_AFolderThatWasThereIsNotMadeAgain(t *testing.T) {
	w := committed(t, job{batch: batch("d0"), rows: []string{"0"}})
	w.must(os.Rename(w.lake, w.lake+".away"))
	w.wantLeft(Land, "is gone")
	if _, err := os.Stat(w.lake); !errors.Is(err, os.ErrNotExist) {
		t.Fatal("the folder was made")
	}
	w.must(os.Rename(w.lake+".away", w.lake))
	w.finish()
	w.wantRows("the disk is back", "0", "1a", "1b")
}

func TestRemovedFilesStayNamedWhileTheirFolderIsAway(t *testing.T) {
	w := newWorld(t)
	w.must(w.once(w.open(nil), job{batch: batch("d1"), rows: []string{"old"}}))
	oldLake := w.lake
	w.lake = filepath.Join(w.dir, "lake", "elsewhere") // the pipeline's path was changed
	run, s := w.commit(job{batch: batch("d1"), rows: []string{"new"}, rerun: true})
	w.must(os.Rename(oldLake, oldLake+".away"))
	var not *NotAllLandedError
	if err := s.Land(context.Background()); !errors.As(err, &not) || len(not.Left) != 1 || not.Left[0].Entry.Do != Remove {
		t.Fatalf("got %v", err)
	}
	w.must(run.End(context.Background(), Succeeded))
	w.wantRows("landed", "new")
	w.wantLeft(Remove, "right disk")
	w.must(os.Rename(oldLake+".away", oldLake))
	w.finish()
	if left, _ := filepath.Glob(filepath.Join(oldLake, "*", "*.parquet")); len(left) > 0 || len(w.document(batch("d1")).Todo) > 0 {
		t.Fatalf("%v", left)
	}
}

// With the right target file in place absent names are absent: landed before, and moved since.
func TestNamesThatAreGoneFromTheRightDiskAreDone(t *testing.T) {
	w := committed(t, job{batch: batch("d0"), rows: []string{"0"}})
	w.must(os.RemoveAll(filepath.Join(w.dir, ".ubunye", "staging")))
	w.must(os.Mkdir(filepath.Join(w.dir, ".ubunye", "staging"), 0o777))
	done, left := w.finish()
	if len(left) > 0 || len(done) != 1 || done[0].Missing != 2 || done[0].Landed != 0 {
		t.Fatalf("%+v, %v", done, left)
	}
	if len(w.document(batch("d1")).Todo) > 0 {
		t.Fatal("the list is not empty")
	}
}

func TestATargetOfAnotherLedgerIsRefused(t *testing.T) {
	w := newWorld(t)
	w.must(w.once(w.open(nil), job{batch: batch("d1"), rows: []string{"1"}}))
	target, err := readTarget(w.lake)
	if err != nil || target.ID != w.document(batch("d1")).Finished.Outputs["clean"].Target {
		t.Fatalf("%+v, %v", target, err)
	}
	other := &world{t: t, dir: filepath.Join(w.dir, "other"), lake: w.lake}
	before := tree(t, w.lake)
	var elsewhere *TargetElsewhereError
	err = other.once(other.open(nil), job{batch: batch("d1"), rows: []string{"x"}})
	if !errors.As(err, &elsewhere) || elsewhere.Ledger != target.Ledger || elsewhere.Path != filepath.Join(w.lake, targetName) || elsewhere.Output != "clean" {
		t.Fatalf("got %v", err)
	}
	if !slices.Equal(before, tree(t, w.lake)) {
		t.Fatal("a refused run changed the folder")
	}
	fresh := &world{t: t, dir: filepath.Join(w.dir, "fresh")}
	for l, mine := range map[*Ledger]string{other.open(nil): elsewhere.Mine, fresh.open(nil): ""} {
		var looked *TargetElsewhereError
		if err := l.CheckTarget("clean", w.lake); !errors.As(err, &looked) || looked.Mine != mine || looked.Ledger != target.Ledger || looked.Path != elsewhere.Path {
			t.Fatalf("looking only: %v", err)
		}
		w.must(l.CheckTarget("clean", w.lake+"2"))
	}
	w.must(w.open(nil).CheckTarget("clean", w.lake))
	if d := other.document(batch("d1")); d.Holder != nil {
		t.Fatal("the batch was not given back")
	}
	for _, text := range []string{"", "{}", "x", `{"target":"a"}`} {
		w.must(os.WriteFile(filepath.Join(w.lake, targetName), []byte(text), 0o666))
		if err := w.once(w.open(nil), job{batch: batch("d2"), rows: []string{"2"}}); !errors.As(err, new(*UnreadableError)) {
			t.Fatalf("target file %q: %v", text, err)
		}
	}
	// between the commit and the landing another ledger marked the folder
	w = committed(t)
	w.must(os.MkdirAll(w.lake, 0o777))
	w.must(os.WriteFile(filepath.Join(w.lake, targetName), must(json.Marshal(targetFile{ID: "t", Ledger: "other"})), 0o666))
	w.wantLeft(Land, "belongs to ledger other")
}

// Two batches find a new folder; the second to land takes over the id that the first one gave it.
func TestTwoFirstBatchesOfOneFolderAgreeOnItsID(t *testing.T) {
	w := newWorld(t)
	_, a := w.commit(job{batch: batch("d1"), rows: []string{"1"}})
	_, b := w.commit(job{batch: batch("d2"), rows: []string{"2"}})
	w.must(a.Land(context.Background()))
	w.must(b.Land(context.Background()))
	w.wantRows("both", "1", "2")
	for _, dt := range []string{"d1", "d2"} {
		if got := w.document(batch(dt)).Finished.Outputs["clean"].Target; got != must(readTarget(w.lake)).ID {
			t.Fatalf("%s has target id %s", dt, got)
		}
		w.must(w.once(w.open(nil), job{batch: batch(dt), rows: []string{dt}, rerun: true}))
	}
	w.wantRows("rerun", "d1", "d2")
}

// An absolute path of another machine is acted on only where one of its names is found.
func TestAnotherMachinesPath(t *testing.T) {
	w := newWorld(t)
	w.lake = filepath.Join(w.otherDisk(), "orders")
	run, s := w.begin(w.open(nil), Request{Batch: batch("d1")})
	w.must(s.Prepare(context.Background(), w.spec()))
	w.must(commit(s, "clean"))
	w.must(os.RemoveAll(s.Staging("clean")))
	cfg := w.config(nil)
	cfg.Identity = Identity{Machine: "another", PID: 1}
	l, err := Open(context.Background(), cfg)
	w.must(err)
	_, left, err := l.FinishCommitted(context.Background(), "sales")
	if err != nil || len(left) != 1 {
		t.Fatal(left, err)
	}
	if _, err := os.Stat(w.lake); !errors.Is(err, os.ErrNotExist) {
		t.Fatal("a folder was made for another machine")
	}
	w.must(run.End(context.Background(), Interrupted))
}

// A ledger whose id is gone is damaged, not new (I7): with a new id its outputs would be another ledger's. One that has no document is new.
func TestI7_ALedgerWhoseIDIsGone(t *testing.T) {
	w := newWorld(t)
	w.must(w.once(w.open(nil), old))
	l := w.open(nil)
	id, err := l.id()
	w.must(err)
	w.must(os.Remove(l.sub("id")))
	var bad *UnreadableError
	if err := w.once(w.open(nil), job{batch: batch("d1"), rows: []string{"1a"}}); !errors.As(err, &bad) || bad.Path != l.sub("id") || !bad.Gone {
		t.Fatalf("a run: %v", err)
	}
	if _, err := l.Recover(context.Background(), Recovery{Pipeline: "sales"}); !errors.As(err, &bad) {
		t.Fatalf("recover: %v", err)
	}
	if _, err := l.Status(context.Background(), "sales"); !errors.As(err, &bad) {
		t.Fatalf("status: %v", err)
	}
	if is, err := there(l.sub("id")); err != nil || is {
		t.Fatalf("it was made again: %v", err)
	}
	w.must(os.WriteFile(l.sub("id"), []byte(id+"\n"), 0o666))
	w.must(w.once(w.open(nil), job{batch: batch("d1"), rows: []string{"1a"}}))

	w = newWorld(t)
	w.must(os.MkdirAll(filepath.Join(w.dir, ".ubunye", "batches"), 0o777))
	w.must(w.once(w.open(nil), job{batch: batch("d1"), rows: []string{"1a"}}))
}

// lostRename loses the answer to the rename that marks the output folder, and notes which folders are synced after it.
type lostRename struct {
	lost   bool
	synced []string
}

func (h *lostRename) Before(op fsops.Op) error {
	if h.lost && op.Kind == "syncdir" {
		h.synced = append(h.synced, op.Path)
	}
	return nil
}

func (h *lostRename) After(op fsops.Op, err error) error {
	if h.lost || op.Kind != "rename" || filepath.Base(op.To) != targetName {
		return nil
	}
	h.lost = true
	return errors.New("the answer is lost")
}

// R64: the folder above a new output folder is synced before the list is emptied, also if the answer to the rename that marks the folder was lost.
func TestR64_TheFolderAboveANewOneIsSynced(t *testing.T) {
	w := newWorld(t)
	hook := &lostRename{}
	w.must(w.once(w.open(hook), job{batch: batch("d1"), rows: []string{"1a"}}))
	if !hook.lost || !slices.Contains(hook.synced, filepath.Dir(w.lake)) {
		t.Fatalf("lost %v, synced %q", hook.lost, hook.synced)
	}
}
