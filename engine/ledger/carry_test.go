package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
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

func TestAnEmptyOutputIsAFolderWithSuccess(t *testing.T) {
	w := newWorld(t)
	w.must(w.once(w.open(nil), job{batch: batch("d1")}))
	entries, err := os.ReadDir(w.lake)
	if err != nil || len(entries) != 2 || entries[0].Name() != successName || entries[1].Name() != targetName {
		t.Fatalf("%v, %v", entries, err)
	}
}

// otherDisk returns a folder on another file system than the world's.
func (w *world) otherDisk() string {
	dir := must(filepath.EvalSymlinks(w.t.TempDir()))
	if sameDisk(dir, w.dir) {
		w.t.Skip("there is one file system only")
	}
	return dir
}

// R63: an output on another disk than the ledger is staged on its own disk, and a folder that is absent
// stays absent until landing.
func TestR63_OutputOnAnotherDisk(t *testing.T) {
	w := newWorld(t)
	disk := w.otherDisk()
	w.lake = filepath.Join(disk, "deep", "orders")
	run, s := w.begin(w.open(nil), Request{Batch: batch("d1")})
	w.must(s.Prepare(context.Background(), w.spec()))
	if dir := s.Staging("clean"); filepath.Dir(dir) != disk || !stagingName.MatchString(filepath.Base(dir)) {
		t.Fatalf("staged in %s", dir)
	}
	w.must(stage(s, []string{"1"}))
	if entries, _ := os.ReadDir(disk); len(entries) != 1 {
		t.Fatalf("%v", entries)
	}
	w.must(s.Fail(context.Background(), "x"))
	w.must(run.End(context.Background(), Failed))
	if entries, _ := os.ReadDir(disk); len(entries) != 0 {
		t.Fatalf("a failed first append left %v", entries)
	}
	w.must(w.once(w.open(nil), job{batch: batch("d1"), rows: []string{"1"}}))
	w.must(w.once(w.open(nil), job{batch: batch("d2"), rows: []string{"2"}}))
	w.must(w.once(w.open(nil), job{batch: batch("d1"), rows: []string{"3"}, rerun: true}))
	w.wantRows("another disk", "2", "3")
	w.nothingStaged(t)
	if place := w.document(batch("d1")).Finished.Outputs["clean"].Base; place.Path != w.lake || place.RelativeTo != "" {
		t.Fatalf("%+v", place)
	}
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

func TestR63_OutputBehindASymbolicLink(t *testing.T) {
	w := newWorld(t)
	w.must(os.MkdirAll(filepath.Join(w.dir, "real"), 0o777))
	w.must(os.MkdirAll(filepath.Dir(w.lake), 0o777))
	w.must(os.Symlink(filepath.Join(w.dir, "real"), w.lake))
	w.must(w.once(w.open(nil), job{batch: batch("d1"), rows: []string{"1"}}))
	if base := w.document(batch("d1")).Finished.Outputs["clean"].Base; base.Path != "real" || base.RelativeTo != "ledger" {
		t.Fatalf("%+v", base)
	}
	w.must(os.Remove(w.lake))
	w.must(os.Symlink("nowhere", w.lake))
	if err := w.once(w.open(nil), job{batch: batch("d2"), rows: []string{"2"}}); !errors.As(err, new(*OutputUnwritableError)) {
		t.Fatalf("got %v", err)
	}
}

func TestR63_LongNames(t *testing.T) {
	w := newWorld(t)
	long := strings.Repeat("x", 240)
	w.lake = filepath.Join(w.dir, long, long)
	b := batch("1")
	b.Pipeline, b.Task = long, long
	w.must(w.once(w.open(nil), job{batch: b, rows: []string{"1"}}))
	w.wantRows("long names", "1")
}

func TestAFolderWithAnotherGroupIsStagedInItself(t *testing.T) {
	w := newWorld(t)
	w.must(os.MkdirAll(w.lake, 0o777))
	if err := os.Chown(w.lake, -1, 12345); err != nil {
		t.Skip("only root may give a folder to another group")
	}
	w.must(os.Chmod(w.lake, 0o777|os.ModeSetgid))
	_, s := w.begin(w.open(nil), Request{Batch: batch("d1")})
	w.must(s.Prepare(context.Background(), w.spec()))
	if filepath.Dir(s.Staging("clean")) != w.lake {
		t.Fatalf("staged in %s", s.Staging("clean"))
	}
	w.must(stage(s, []string{"1"}))
	w.wantRows("staged")
	w.must(commit(s, "clean"))
	w.must(s.Land(context.Background()))
	info := must(os.Stat(filepath.Join(w.lake, w.document(batch("d1")).Finished.Outputs["clean"].Claims[0])))
	if _, gid := ownerOf(info); gid != 12345 {
		t.Fatal("a landed file has not the folder's group")
	}
}

// An output in which nothing can be landed is refused before anything is staged, and the probe leaves
// nothing behind, whichever of its steps fails.
func TestAnOutputThatCannotBeWritten(t *testing.T) {
	file := filepath.Join(scratch(t), "file")
	for _, kind := range []string{"a file", "below a file", "rename", "create"} {
		w := newWorld(t)
		var hook fsops.Hook
		w.must(os.MkdirAll(filepath.Dir(w.lake), 0o777))
		switch kind {
		case "a file":
			w.must(os.WriteFile(w.lake, nil, 0o666))
		case "below a file":
			w.must(os.WriteFile(file, nil, 0o666))
			w.lake = filepath.Join(file, "orders")
		default:
			w.must(os.Mkdir(w.lake, 0o777))
			hook = refuseProbe(kind)
		}
		run, s := w.begin(w.open(hook), Request{Batch: batch("d1")})
		before := tree(t, w.dir)
		var not *OutputUnwritableError
		if err := s.Prepare(context.Background(), w.spec()); !errors.As(err, &not) || not.Output != "clean" || not.Path != w.lake {
			t.Fatalf("%s: %v", kind, err)
		}
		if after := tree(t, w.dir); !slices.Equal(paths(before), paths(after)) {
			t.Fatalf("%s: the probe left something: %q", kind, after)
		}
		w.must(s.Release(context.Background()))
		w.must(run.End(context.Background(), Refused))
	}
}

type refuseProbe string

func (kind refuseProbe) Before(op fsops.Op) error {
	if op.Kind == string(kind) && strings.Contains(fmt.Sprint(op.Path, op.To), "probe") {
		return syscall.EACCES
	}
	return nil
}
func (refuseProbe) After(fsops.Op, error) error { return nil }

// A folder that does not look like a staging folder of this ledger is not removed, whatever a list says.
func TestOnlyStagingFoldersAreDropped(t *testing.T) {
	w := newWorld(t)
	w.must(w.once(w.open(nil), job{batch: batch("d1"), rows: []string{"1"}}))
	l := w.open(nil)
	inLake := filepath.Join(w.lake, "_ubunye-0123456789ab")
	for _, dir := range []string{w.lake, filepath.Join(w.lake, "p=0"), l.sub("runs"), l.sub("staging"), l.sub("staging", "x"), inLake} {
		w.must(os.MkdirAll(dir, 0o777))
		w.must(os.WriteFile(filepath.Join(dir, "theirs"), nil, 0o666))
		if err := l.dropStaging(dir, nil); err == nil {
			t.Errorf("%s was dropped", dir)
		}
		if _, err := os.Stat(filepath.Join(dir, "theirs")); err != nil {
			t.Error(err)
		}
	}
	w.must(os.WriteFile(filepath.Join(inLake, stagingMarker), []byte(`{"ledger":"another"}`), 0o666))
	if err := l.dropStaging(inLake, nil); err == nil {
		t.Error("another ledger's staging was dropped")
	}
	w.must(os.WriteFile(filepath.Join(inLake, stagingMarker), must(json.Marshal(marker{Ledger: must(l.id())})), 0o666))
	w.must(l.dropStaging(inLake, nil))
	w.must(l.dropStaging(inLake, nil))
	unmarked := l.sub("staging", "r", "k", "clean") // as after a power cut
	w.must(os.MkdirAll(filepath.Join(unmarked, "p=0"), 0o777))
	w.must(l.dropStaging(unmarked, nil))
	if is, err := there(l.sub("staging", "r")); is || err != nil {
		t.Errorf("a staging folder of the ledger's own whose marker was lost is left: %v", err)
	}
	for _, name := range []string{"../../x", "/etc/passwd"} {
		w.change(batch("d1"), func(d *Document) {
			d.Todo = []Entry{{Do: Remove, Run: "r", Base: d.Finished.Outputs["clean"].Base, Names: []string{name}}}
		})
		run, err := w.open(nil).Begin(context.Background(), RunInfo{Pipeline: "sales", Batches: []Batch{batch("d1")}})
		w.must(err)
		if _, left := w.finish(); len(left) != 1 || !strings.Contains(left[0].Err.Error(), "not below") {
			t.Errorf("%s: %v", name, left)
		}
		w.must(run.End(context.Background(), Refused))
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
