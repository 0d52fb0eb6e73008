package ledger

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ubunye-io/ubunye/engine/store"
	"github.com/ubunye-io/ubunye/engine/store/fsops"
)

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

// A run that is taken over before it makes its staging makes it all the same when it wakes up: nobody but
// itself knows of it then.
func TestI2_ALostRunRemovesTheStagingThatItMadeLate(t *testing.T) {
	for _, mode := range []string{"", wholeMode} {
		w := newWorld(t)
		wakes := &atOp{kind: "mkdir", suffix: "/clean"}
		_, s := w.begin(w.open(wakes), Request{Batch: batch("d1")})
		wakes.do = func() {
			w.takeover(batch("d1"))
			w.change(batch("d1"), func(d *Document) { d.Todo = nil }) // it looked, and found nothing
		}
		w.must(s.Prepare(context.Background(), w.specOf(mode)))
		w.must(stage(s, []string{"1"}))
		c := must(results(s, "clean"))
		err := s.Replace(context.Background(), c)
		if err == nil {
			err = s.Commit(context.Background(), c)
		}
		if !wakes.done || !errors.As(err, new(*LostError)) {
			t.Fatalf("%q: %v", mode, err)
		}
		if st := must(w.open(nil).Status(context.Background(), "")); len(st.Stray) > 0 {
			t.Errorf("%q: %v are left", mode, st.Stray)
		}
		w.wantRows("lost")
	}
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

// C027: the document of a batch that a run holds is deleted, by a person or a clean-up. Nothing of the run is seen after that,
// and it does not make the document again: whoever deleted it, or began anew since, need not know of it.
func TestC027_ADeletedDocumentIsNotMadeAgain(t *testing.T) {
	for _, mode := range []string{"", wholeMode} {
		for _, folder := range []bool{false, true} {
			w := newWorld(t)
			w.must(w.once(w.open(nil), old))
			ctx := context.Background()
			run, s := w.begin(w.open(nil), Request{Batch: batch("d1")})
			w.must(s.Prepare(ctx, w.specOf(mode)))
			w.must(stage(s, []string{"1a"}))
			dir := filepath.Dir(s.version.Path)
			all, err := filepath.Glob(dir + "/*.json")
			w.must(err)
			for _, file := range all {
				w.must(os.Remove(file))
			}
			if folder {
				w.must(os.Remove(dir))
			}
			cm, err := results(s, "clean")
			w.must(err)
			if mode != "" {
				err = s.Replace(ctx, cm)
			} else {
				err = s.Commit(ctx, cm)
			}
			if !errors.As(err, new(*UnknownError)) && !errors.As(err, new(*LostError)) {
				t.Errorf("%q, folder %v: got %v", mode, folder, err)
			}
			w.must(run.End(ctx, Interrupted))
			w.wantRows("the old ones", "2a", "2b")
			if made, _ := filepath.Glob(dir + "/*"); len(made) > 0 {
				t.Errorf("%q, folder %v: made again: %v", mode, folder, made)
			}
		}
	}
}
