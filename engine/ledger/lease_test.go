package ledger

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/ubunye-io/ubunye/engine/store"
	"github.com/ubunye-io/ubunye/engine/store/fsops"
)

func TestI1_NothingIsVisibleBeforeTheCommit(t *testing.T) {
	w := newWorld(t)
	_, s := w.begin(w.open(nil), Request{Batch: batch("d1")})
	w.must(s.Prepare(context.Background(), w.spec()))
	w.must(stage(s, []string{"1a", "1b"}))
	w.wantRows("staged")
	if _, err := os.Stat(w.lake); !errors.Is(err, os.ErrNotExist) {
		t.Fatal("the output folder was made before the commit")
	}
	if err := s.Land(context.Background()); err == nil {
		t.Fatal("landed before the commit")
	}
	w.must(commit(s, "clean"))
	w.wantRows("committed, not landed")
	w.must(s.Land(context.Background()))
	w.wantRows("landed", "1a", "1b")
	if _, err := os.Stat(filepath.Join(w.lake, successName)); err != nil {
		t.Fatal(err)
	}
}

// takeover makes another run the holder, as judging this one dead would.
func (w *world) takeover(b Batch) {
	w.change(b, func(d *Document) {
		d.Todo = append(d.Todo, drops(d, d.Holder.Run)...)
		d.Outputs, d.Epoch = nil, d.Epoch+1
		d.Holder = &Holder{Run: "20260101T000000Z-00000000"}
	})
}

// A run whose lease was taken over writes nothing more, at whichever save it finds out, and removes
// only the staging that the document records for it.
func TestI2_ALostRunWritesNothingMore(t *testing.T) {
	for _, step := range []string{"prepare", "commit", "fail", "release"} {
		t.Run(step, func(t *testing.T) {
			w := newWorld(t)
			run, s := w.begin(w.open(nil), Request{Batch: batch("d1")})
			ctx := context.Background()
			if step == "commit" || step == "fail" {
				w.must(s.Prepare(ctx, w.spec()))
				w.must(stage(s, []string{"1"}))
			}
			w.takeover(batch("d1"))
			before := w.document(batch("d1"))
			var err error
			switch step {
			case "prepare":
				err = s.Prepare(ctx, w.spec())
			case "commit":
				err = commit(s, "clean")
			case "fail":
				err = s.Fail(ctx, "x")
			case "release":
				err = s.Release(ctx)
			}
			var lost *LostError
			if !errors.As(err, &lost) || lost.By != "20260101T000000Z-00000000" || lost.Document == "" {
				t.Fatalf("got %v", err)
			}
			after := w.document(batch("d1"))
			if got, want := must(after.encode()), must(before.encode()); string(got) != string(want) {
				t.Fatalf("the document was changed:\n%s\n%s", got, want)
			}
			if _, err := os.Stat(s.Staging("clean")); step != "release" && s.Staging("clean") != "" && !errors.Is(err, os.ErrNotExist) {
				t.Fatal("its staging is left")
			}
			w.wantRows("lost")
			for what, call := range map[string]func() error{
				"commit": func() error { return commit(s) }, "land": func() error { return s.Land(ctx) },
				"release": func() error { return s.save(ctx, "x", func(*Document) {}) },
			} {
				if call() == nil {
					t.Errorf("%s after the lease was lost", what)
				}
			}
			w.must(run.End(ctx, Interrupted))
			st, err := w.open(nil).Status(ctx, "sales")
			w.must(err)
			if len(st.Records) != 1 || st.Records[0].Status != Interrupted || st.Records[0].Run != run.ID {
				t.Fatalf("%+v", st.Records)
			}
		})
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// A change of the document that does not take the batch away is no loss: the save is made again.
func TestASaveIsMadeAgainWhileTheBatchIsStillHeld(t *testing.T) {
	w := newWorld(t)
	run, s := w.begin(w.open(nil), Request{Batch: batch("d1")})
	ctx := context.Background()
	w.must(s.Prepare(ctx, w.spec()))
	w.must(stage(s, []string{"1"}))
	w.change(batch("d1"), func(d *Document) { d.Tried = []Try{{Run: "x", Reason: "seen by another"}} })
	w.must(commit(s, "clean"))
	w.must(s.Land(ctx))
	w.must(run.End(ctx, Succeeded))
	w.wantRows("landed", "1")
}

func TestI5_StagingIsWhatCounts(t *testing.T) {
	ctx := context.Background()
	for _, c := range []struct {
		name  string
		spoil func(w *world, dir string)
		want  string
	}{
		{"not staged by name", func(w *world, dir string) { w.must(os.WriteFile(filepath.Join(dir, "x.parquet"), nil, 0o666)) }, "must end in"},
		{"symbolic link", func(w *world, dir string) { w.must(os.Symlink("/etc/passwd", filepath.Join(dir, "x.staged"))) }, "only plain files"},
		{"named pipe", func(w *world, dir string) { w.must(makePipe(filepath.Join(dir, "x.staged"))) }, "only plain files"},
		{"success file", func(w *world, dir string) { w.must(os.WriteFile(filepath.Join(dir, "_SUCCESS.staged"), nil, 0o666)) }, "ledger's own"},
		{"target file", func(w *world, dir string) {
			w.must(os.WriteFile(filepath.Join(dir, "_ubunye-target.staged"), nil, 0o666))
		}, "ledger's own"},
		{"folder gone", func(w *world, dir string) { w.must(os.RemoveAll(dir)) }, "gone"},
	} {
		w := newWorld(t)
		_, s := w.begin(w.open(nil), Request{Batch: batch("d1")})
		w.must(s.Prepare(ctx, w.spec()))
		w.must(stage(s, []string{"1"}))
		c.spoil(w, s.Staging("clean"))
		var bad *StagedError
		if _, err := s.Staged("clean"); !errors.As(err, &bad) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	w := newWorld(t)
	_, s := w.begin(w.open(nil), Request{Batch: batch("d1")})
	w.must(s.Prepare(ctx, w.spec()))
	w.must(stage(s, []string{"abc", "de"}))
	files, err := s.Staged("clean")
	if err != nil || len(files) != 2 || !strings.HasPrefix(files[0].Name, "p=0/part-") || files[0].Bytes != 3 || files[1].Bytes != 2 {
		t.Fatalf("%+v, %v", files, err)
	}
	names := []string{files[0].Name, files[1].Name}
	for what, claims := range map[string][]string{"one too few": names[:1], "one too many": append(slices.Clone(names), "p=2/x"), "none": nil} {
		err := s.Commit(ctx, Commit{Outputs: map[string]Result{"clean": {Claims: claims, Bytes: 5}}})
		if !errors.As(err, new(*StagedError)) || w.document(batch("d1")).Finished != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := s.Commit(ctx, Commit{}); err == nil {
		t.Error("an output was left out")
	}
	whole := Commit{Outputs: map[string]Result{"clean": {Claims: names, Bytes: 5}}}
	file := stagedPath(s.Staging("clean"), names[0])
	w.must(os.Truncate(file, 2))
	if err := s.Commit(ctx, whole); !errors.As(err, new(*StagedError)) || !strings.Contains(err.Error(), "4 bytes, and had 5") || w.document(batch("d1")).Finished != nil {
		t.Errorf("a staged file was cut: %v", err)
	}
	w.must(os.WriteFile(file, []byte("abc"), 0o666))
	w.must(s.Commit(ctx, whole))
}

// While it is unknown whether the commit counted, nothing lands and nothing is removed. The next start
// finds out.
func TestI8_NothingIsDeletedWhileAnOutcomeIsUnknown(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	armed := false
	hook := &refuseWhile{match: func(op fsops.Op) bool {
		return armed && op.Kind == "syncdir" && strings.Contains(op.Path, batch("d1").Key)
	}}
	run, s := w.begin(w.open(hook), Request{Batch: batch("d1")})
	w.must(s.Prepare(ctx, w.spec()))
	w.must(stage(s, []string{"1a", "1b"}))
	files, err := s.Staged("clean")
	w.must(err)
	armed = true
	err = s.Commit(ctx, Commit{Outputs: map[string]Result{"clean": {Claims: []string{files[0].Name, files[1].Name}, Bytes: files[0].Bytes + files[1].Bytes}}})
	var unknown *UnknownError
	if !errors.As(err, &unknown) || unknown.Step != "commit" || unknown.Document == "" {
		// the staging folder's path holds the key too
		t.Fatalf("got %v", err)
	}
	w.must(s.Fail(ctx, "unknown")) // the engine's error path must not remove anything either
	if err := s.Land(ctx); err == nil {
		t.Fatal("landed while the commit is unknown")
	}
	w.wantRows("unknown")
	for _, f := range files {
		if _, err := os.Stat(stagedPath(s.Staging("clean"), f.Name)); err != nil {
			t.Fatal(err)
		}
	}
	w.must(run.End(ctx, Interrupted))
	_, left, err := w.open(nil).FinishCommitted(ctx, "sales")
	if err != nil || len(left) > 0 {
		t.Fatal(left, err)
	}
	w.wantRows("it had counted", "1a", "1b")
}

type refuseWhile struct{ match func(fsops.Op) bool }

func (h *refuseWhile) Before(op fsops.Op) error {
	if h.match(op) && strings.Contains(op.Path, "batches") {
		return syscall.EIO
	}
	return nil
}
func (h *refuseWhile) After(fsops.Op, error) error { return nil }

// A save that counted although its answer was lost, or whose durability was unknown until the next one,
// is made once: nothing of it is there twice.
func TestASaveWithALostAnswerCountsOnce(t *testing.T) {
	for _, kind := range []string{"link", "syncdir"} {
		for _, step := range []string{"commit", "fail"} {
			w := newWorld(t)
			ctx := context.Background()
			armed := false
			lose := &loseFirst{match: func(op fsops.Op) bool {
				return armed && op.Kind == kind && strings.Contains(op.Path+op.To, "batches")
			}}
			run, s := w.begin(w.open(lose), Request{Batch: batch("d1")})
			w.must(s.Prepare(ctx, w.spec()))
			w.must(stage(s, []string{"1"}))
			armed = true
			if step == "fail" {
				w.must(s.Fail(ctx, "x"))
				if d := w.document(batch("d1")); len(d.Tried) != 1 || len(d.Todo) > 0 || d.Holder != nil {
					t.Fatalf("%s: %+v", kind, d)
				}
				continue
			}
			w.must(commit(s, "clean"))
			d := w.document(batch("d1"))
			if !lose.done || len(d.Todo) != 1 || !d.committedBy(run.ID, s.Epoch()) {
				t.Fatalf("%s: %+v", kind, d)
			}
			w.must(s.Land(ctx))
			w.must(run.End(ctx, Succeeded))
			w.wantRows(kind, "1")
			if left, _ := filepath.Glob(filepath.Join(w.dir, ".ubunye", "runs", "*")); len(left) > 0 {
				t.Fatalf("%s: all is well, and yet %v is left", kind, left)
			}
		}
	}
}

// Whether the commit survives a power cut is unknown, and before this run could make sure another one
// went on from it: nothing of that run's lease is touched.
func TestI2_ACommitThatOthersBuiltUpon(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	var other *Run
	hook := &loseFirst{match: func(op fsops.Op) bool { return false }}
	run, s := w.begin(w.open(hook), Request{Batch: batch("d1")})
	w.must(s.Prepare(ctx, w.spec()))
	w.must(stage(s, []string{"1"}))
	hook.match = func(op fsops.Op) bool {
		if op.Kind != "syncdir" || !strings.Contains(op.Path, "batches") {
			return false
		}
		other, _ = w.begin(w.open(nil), Request{Batch: batch("d1"), Rerun: true})
		return true
	}
	if err := commit(s, "clean"); !errors.As(err, new(*UnknownError)) {
		t.Fatalf("got %v", err)
	}
	d := w.document(batch("d1"))
	if !d.heldBy(other.ID, 2) || d.Finished.Run != run.ID {
		t.Fatalf("%+v", d)
	}
	w.wantRows("the other run landed it", "1")
}

// The run slept after its commit for so long that the document does not remember it any more: it counted, but
// that can no longer be told, so that the run must not say that somebody else has the batch.
func TestI4_ACommitThatIsForgottenIsUnknown(t *testing.T) {
	w := newWorld(t)
	hook := &loseFirst{match: func(op fsops.Op) bool { return false }}
	_, s := w.begin(w.open(hook), Request{Batch: batch("d1")})
	w.must(s.Prepare(context.Background(), w.spec()))
	w.must(stage(s, []string{"1"}))
	hook.match = func(op fsops.Op) bool {
		if op.Kind != "syncdir" || !strings.Contains(op.Path, "batches") {
			return false
		}
		w.must(w.once(w.open(nil), job{batch: batch("d1"), rerun: true, rows: []string{"2"}}))
		for range 64 {
			w.change(batch("d1"), func(d *Document) { d.Epoch++ })
		}
		return true
	}
	if err := commit(s, "clean"); !errors.As(err, new(*UnknownError)) {
		t.Fatalf("got %v", err)
	}
	w.wantRows("the other run landed the commit, and replaced it", "2")
}

// A run that lost its lease after its batch was committed for it removes no staging: it will land.
func TestI8_ALostRunWhoseBatchIsCommittedRemovesNothing(t *testing.T) {
	for _, by := range []string{"finished", "land"} {
		w := newWorld(t)
		run, s := w.begin(w.open(nil), Request{Batch: batch("d1")})
		w.must(s.Prepare(context.Background(), w.spec()))
		w.must(stage(s, []string{"1"}))
		epoch := s.Epoch()
		w.takeover(batch("d1"))
		w.change(batch("d1"), func(d *Document) {
			if by == "finished" {
				d.Finished = &Finished{Run: run.ID, Epoch: epoch}
			} else {
				d.Todo = append(d.Todo, Entry{Do: Land, Run: run.ID})
			}
		})
		if err := commit(s, "clean"); !errors.As(err, new(*LostError)) {
			t.Fatalf("got %v", err)
		}
		if _, err := s.Staged("clean"); err != nil {
			t.Fatalf("%s: %v", by, err)
		}
	}
}

func TestR25_TheFolderOfAFailedFirstAppendIsAsItWas(t *testing.T) {
	for _, exists := range []bool{false, true} {
		w := newWorld(t)
		w.must(os.MkdirAll(filepath.Dir(w.lake), 0o777))
		if exists {
			w.must(os.MkdirAll(w.lake, 0o777))
			w.must(os.WriteFile(filepath.Join(w.lake, "theirs.parquet"), []byte("t"), 0o666))
		}
		before := tree(t, filepath.Dir(w.lake))
		run, s := w.begin(w.open(nil), Request{Batch: batch("d1")})
		w.must(s.Prepare(context.Background(), w.spec()))
		w.must(stage(s, []string{"1"}))
		w.must(s.Fail(context.Background(), "a check failed"))
		w.must(run.End(context.Background(), Failed))
		if after := tree(t, filepath.Dir(w.lake)); !slices.Equal(before, after) {
			t.Fatalf("the output's folder was %q and is %q", before, after)
		}
		d := w.document(batch("d1"))
		if d.Holder != nil || len(d.Todo) > 0 || len(d.Outputs) > 0 || len(d.Tried) != 1 || d.Tried[0].Run != run.ID || d.Tried[0].Reason != "a check failed" {
			t.Fatalf("%+v", d)
		}
	}
}

// _SUCCESS comes after the files, and never without them.
func TestR25_SuccessComesAfterLanding(t *testing.T) {
	w := newWorld(t)
	seen := 0
	hook := &at{match: func(op fsops.Op) bool { return op.Kind == "create" && filepath.Base(op.Path) == successName }}
	hook.do = func() {
		seen++
		w.wantRows("when _SUCCESS is made", "1a", "1b")
	}
	w.must(w.once(w.open(hook), job{batch: batch("d1"), rows: []string{"1a", "1b"}}))
	if seen != 1 {
		t.Fatal("_SUCCESS was not made")
	}
}

func TestR28_AFailingRunDropsItsOwnStagingOnly(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	w.must(w.once(w.open(nil), job{batch: batch("d0"), rows: []string{"0"}}))
	stray := filepath.Join(w.dir, ".ubunye", "staging", "other", "key", "clean", "x.staged")
	w.must(os.MkdirAll(filepath.Dir(stray), 0o777))
	w.must(os.WriteFile(stray, nil, 0o666))

	refuse := false
	hook := &refuseRemoves{on: &refuse}
	run, s := w.begin(w.open(hook), Request{Batch: batch("d1")})
	w.must(s.Prepare(ctx, w.spec()))
	w.must(stage(s, []string{"1"}))
	refuse = true
	err := s.Fail(ctx, "the run's own error")
	var left *StagingLeftError
	if !errors.As(err, &left) || len(left.Left) != 1 || left.Left[0].Entry.Do != Drop {
		t.Fatalf("got %v", err)
	}
	d := w.document(batch("d1"))
	if d.Holder != nil || len(d.Todo) != 1 || d.Tried[0].Reason != "the run's own error" {
		t.Fatalf("%+v", d)
	}
	w.must(run.End(ctx, Failed))

	refuse = false
	done, stuck, err := w.open(nil).FinishCommitted(ctx, "sales")
	if err != nil || len(stuck) > 0 || len(done) != 1 || done[0].Run != "" {
		t.Fatal(done, stuck, err)
	}
	if _, err := os.Stat(s.Staging("clean") + ".drop"); !errors.Is(err, os.ErrNotExist) {
		t.Fatal("its staging is left")
	}
	if _, err := os.Stat(stray); err != nil {
		t.Fatal(err)
	}
	st, err := w.open(nil).Status(ctx, "")
	if err != nil || len(st.Stray) != 1 || st.Stray[0].Path != filepath.Dir(stray) {
		t.Fatalf("%+v, %v", st.Stray, err)
	}
	w.wantRows("failed", "0")
}

type refuseRemoves struct{ on *bool }

func (h *refuseRemoves) Before(op fsops.Op) error {
	if *h.on && op.Kind == "remove" && strings.Contains(op.Path, "staging") {
		return syscall.EACCES
	}
	return nil
}
func (h *refuseRemoves) After(fsops.Op, error) error { return nil }

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

func TestR49_TwoOutputsOfWhichOneFails(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	_, s := w.begin(w.open(nil), Request{Batch: batch("d1")})
	second := OutputSpec{Name: "rest", Class: Claims, Mode: "append", Base: filepath.Join(w.dir, "rest")}
	w.must(s.Prepare(ctx, append(w.spec(), second)))
	w.must(stage(s, []string{"1"}))
	w.must(s.Fail(ctx, "the second output"))
	w.wantRows("failed")
	if len(w.document(batch("d1")).Todo) > 0 || s.Staging("clean") == s.Staging("rest") {
		t.Fatal("staging is left")
	}
}

// A full disk does not keep a failing run from giving its batch back: what it staged makes the room.
func TestFailOnAFullDisk(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	hook := &fullUntilRemoved{}
	run, s := w.begin(w.open(hook), Request{Batch: batch("d1")})
	w.must(s.Prepare(ctx, w.spec()))
	w.must(stage(s, []string{"1"}))
	hook.full = true
	if err := commit(s, "clean"); !errors.As(err, new(*SaveError)) {
		t.Fatalf("got %v", err)
	}
	w.must(s.Fail(ctx, "no space left on device"))
	w.must(run.End(ctx, Failed))
	if d := w.document(batch("d1")); d.Holder != nil || len(d.Todo) > 0 || d.Finished != nil {
		t.Fatalf("%+v", d)
	}
}

type fullUntilRemoved struct{ full bool }

func (h *fullUntilRemoved) Before(op fsops.Op) error {
	if op.Kind == "remove" && strings.Contains(op.Path, stagedSuffix) {
		h.full = false
	}
	if h.full && (op.Kind == "create" || op.Kind == "write") {
		return syscall.ENOSPC
	}
	return nil
}
func (h *fullUntilRemoved) After(fsops.Op, error) error { return nil }

// Everything staged is durable before the commit, and everything landed before the list is emptied.
func TestOrderOfDurability(t *testing.T) {
	for _, files := range []int{2, many + 1} {
		w := newWorld(t)
		w.must(os.MkdirAll(filepath.Dir(w.lake), 0o777))
		trace := &fsops.Trace{}
		rows := make([]string, files)
		w.must(w.once(w.open(trace), job{batch: batch("d1"), rows: rows}))
		dirty := map[string]bool{} // folders with names that are not durable
		saves, landed := 0, 0
		for _, op := range trace.Ops() {
			switch {
			case op.Kind == "rename" && strings.HasSuffix(op.To, ".parquet"):
				landed++
				dirty[filepath.Dir(op.To)], dirty[filepath.Dir(filepath.Dir(op.To))] = true, true
			case op.Kind == "mkdir" && strings.HasPrefix(op.Path, w.lake):
				dirty[filepath.Dir(op.Path)] = true
			case op.Kind == "syncdir":
				delete(dirty, op.Path)
			case op.Kind == "syncfs":
				clear(dirty)
			case op.Kind == "link":
				if saves++; len(dirty) > 0 {
					t.Fatalf("save %d before %v are durable", saves, dirty)
				}
			}
		}
		if saves != 4 || landed != files {
			t.Fatalf("%d saves, %d files landed", saves, landed)
		}
	}
}

// A save that certainly did not happen leaves the lease as it was.
func TestASaveThatDidNotHappenCanBeTriedAgain(t *testing.T) {
	w := newWorld(t)
	_, s := w.begin(w.open(&fsops.Fault{Kind: fsops.NoRoom, At: 1 << 40}), Request{Batch: batch("d1")})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var save *SaveError
	if err := s.Prepare(ctx, w.spec()); !errors.As(err, &save) || !errors.Is(err, context.Canceled) || save.Step != "prepare" {
		t.Fatalf("got %v", err)
	}
	w.must(s.Fail(context.Background(), "cancelled"))
	if d := w.document(batch("d1")); d.Holder != nil || errors.Is(save, store.ErrUnknown) {
		t.Fatalf("%+v", d)
	}
}

// A staging folder is dropped by all who come, at once: none of them takes the work of another for damage.
func TestR21_ManyDropAtOnce(t *testing.T) {
	w := newWorld(t)
	_, s := w.begin(w.open(nil), Request{Batch: batch("d1")})
	w.must(s.Prepare(context.Background(), w.spec()))
	mark, err := os.ReadFile(filepath.Join(s.Staging("clean"), stagingMarker))
	w.must(err)
	l := w.open(nil)
	for i := range 200 {
		staging := filepath.Join(w.dir, ".ubunye", stagingFolder, "r", fmt.Sprint(i), "clean")
		w.must(os.MkdirAll(staging, 0o777))
		w.must(os.WriteFile(filepath.Join(staging, stagingMarker), mark, 0o666))
		start := make(chan struct{})
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				<-start
				if err := l.dropStaging(staging, nil); err != nil {
					t.Error(err)
				}
			})
		}
		close(start)
		all.Wait()
		for _, path := range []string{staging, staging + ".drop"} {
			if is, err := there(path); is || err != nil {
				t.Fatalf("%s is left: %v", path, err)
			}
		}
	}
}
