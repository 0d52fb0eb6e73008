package ledger

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ubunye-io/ubunye/engine/store/fsops"
)

// dies runs a job that is killed at an operation, and returns the run that holds the batch then.
func (w *world) dies(j job, hook fsops.Hook) string {
	w.t.Helper()
	if w.once(w.mortal(hook), j) == nil {
		w.t.Fatal("the run was not killed")
	}
	return w.holder(j.batch)
}

// R20, R22: one save takes a batch from a dead run. What that had staged goes, nothing else does; the document
// and the record say what happened, and by whom.
func TestR22_TakeoverInOneSave(t *testing.T) {
	w := newWorld(t)
	dead, s := w.begin(w.mortal(nil), Request{Batch: batch("d1")})
	ctx := context.Background()
	w.must(s.Prepare(ctx, w.spec()))
	w.must(stage(s, []string{"1a"}))
	pinned := []byte(`{"raw":{"to":"7"}}`)
	w.change(batch("d1"), func(d *Document) {
		d.Range = pinned
		d.Outputs["table"] = Output{Class: "later", Mode: "append", Staging: "staging/x/y/table", Phase: phaseStaging}
	})
	stray := filepath.Join(w.dir, ".ubunye", "staging", dead.ID, "0000000000000000", "clean")
	w.must(os.MkdirAll(stray, 0o777))

	var saved []*Document
	watch := &eachOp{kind: "link", do: func() { saved = append(saved, w.document(batch("d1"))) }}
	run, now := w.begin(w.open(watch), Request{Batch: batch("d1")})
	saved = append(saved, w.document(batch("d1")))
	if len(saved) != 3 { // before the takeover, after it, after the drain
		t.Fatalf("%d saves", len(saved))
	}
	d := saved[1]
	if !d.heldBy(run.ID, 2) || len(d.Outputs) != 0 || string(d.Range) != string(pinned) || len(d.Todo) != 1 || d.Todo[0].Do != Drop || d.Todo[0].Run != dead.ID {
		t.Fatalf("%+v", d)
	}
	if try := d.Tried[0]; len(d.Tried) != 1 || try.Run != dead.ID || try.By != run.ID || try.Epoch != 1 || try.Reason != "its process ended before it committed" {
		t.Fatalf("%+v", d.Tried)
	}
	if len(d.Pending) != 1 || d.Pending[0].Run != dead.ID || d.Pending[0].Epoch != 1 || d.Pending[0].Name != "table" || d.Pending[0].Output.Class != "later" {
		t.Fatalf("%+v", d.Pending)
	}
	if d := saved[2]; len(d.Todo) != 0 || len(d.Pending) != 1 || string(d.Range) != string(pinned) {
		t.Fatalf("after the drain: %+v", d)
	}
	if _, err := os.Stat(s.Staging("clean")); !errors.Is(err, os.ErrNotExist) {
		t.Fatal("its staging is left")
	}
	if _, err := os.Stat(stray); err != nil {
		t.Fatal("a folder that no document names went too")
	}
	r, err := w.open(nil).readRecord(dead.ID)
	if err != nil || r.Status != Interrupted || r.By != run.ID || !slices.Equal(r.Doubtful, []string{"clean_orders.table"}) {
		t.Fatalf("%+v, %v", r, err)
	}
	if _, err := os.Stat(w.open(nil).beatPath(dead.ID)); !errors.Is(err, os.ErrNotExist) {
		t.Fatal("the heartbeat of a dead run is left")
	}
	taken := run.Takeovers()
	if len(taken) != 1 || taken[0].Dead.Run != dead.ID || !taken[0].Certain || taken[0].Beat.IsZero() || taken[0].Batch.Key != batch("d1").Key {
		t.Fatalf("%+v", taken)
	}
	w.must(now.Release(ctx))
}

// R22: what a dead run had put in place is named, in its record and the document, until the batch is run again.
func TestR22_DoubtfulOutputsAreNamed(t *testing.T) {
	w := newWorld(t)
	w.must(w.once(w.open(nil), old))
	exchanged := false
	dead := w.dies(whole, hooks{&atOp{kind: "exchange", suffix: "/lake/orders", do: func() { exchanged = true }}, &killAfter{kind: "exchange", suffix: "/lake/orders"}})
	if !exchanged || dead == "" {
		t.Fatal("it did not die after its exchange")
	}
	w.wantRows("exchanged", "1a", "1b")
	w.must(w.once(w.open(nil), parts2)) // another batch, which takes over because it shares the folder
	r, err := w.open(nil).readRecord(dead)
	if err != nil || r.Status != Interrupted || !slices.Equal(r.Doubtful, []string{"clean_orders.clean"}) {
		t.Fatalf("%+v, %v", r, err)
	}
	if d := w.document(batch("d1")); d.Holder != nil || !slices.Equal(d.Tried[0].Kept, []string{"clean"}) {
		t.Fatalf("%+v", d)
	}
	done, left := w.finish()
	if len(left) > 0 || len(done) != 1 || len(done[0].Kept) != 1 || done[0].Kept[0].Run != dead {
		t.Fatalf("a start does not name what is kept: %+v %v", done, left)
	}
	w.must(w.once(w.open(nil), whole))
	if done, _ := w.finish(); len(done) != 0 {
		t.Fatalf("still named after the batch was run: %+v", done)
	}
}

var parts2 = job{batch: batch("d2"), rows: []string{"2a"}, mode: partsMode}

// killAfter is a process that dies after its first operation of a kind whose path or new path ends in a text.
type killAfter struct {
	kind, suffix string
	dead         bool
}

func (k *killAfter) Before(fsops.Op) error {
	if k.dead {
		return errKilled
	}
	return nil
}

func (k *killAfter) After(op fsops.Op, err error) error {
	k.dead = k.dead || op.Kind == k.kind && (strings.HasSuffix(op.Path, k.suffix) || strings.HasSuffix(op.To, k.suffix))
	return nil
}

// R26: a run dies, and who takes over from it is killed at every operation of that. The next one finishes it: the
// batch is there once, nothing is left, and both records say how their runs ended.
func TestR26_TheTakerIsKilledAtEveryOperation(t *testing.T) {
	for _, c := range []struct {
		name   string
		before []job
		job    job
		die    fsops.Hook
	}{
		{"append", nil, job{batch: batch("d1"), rows: []string{"1a", "1b"}}, &killBefore{match: func(op fsops.Op) bool { return op.Kind == "sync" && strings.Contains(op.Path, stagedSuffix) }}},
		{"overwrite, staged", []job{old}, whole, &killBefore{match: func(op fsops.Op) bool { return op.Kind == "exchange" && strings.HasSuffix(op.To, "/lake/orders") }}},
		{"overwrite, exchanged", []job{old}, whole, &killAfter{kind: "exchange", suffix: "/lake/orders"}},
		{"overwrite, between two renames", []job{old}, whole, hooks{noExchange{}, &killAfter{kind: "rename", suffix: "/old"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for k := int64(1); ; k++ {
				w := newWorld(t)
				for _, j := range c.before {
					w.must(w.once(w.open(nil), j))
				}
				dead := w.dies(c.job, reset(c.die))
				seen := w.rows()
				err := w.once(w.mortal(killed{at: k}), c.job)
				now := w.rows()
				if len(now) < len(seen) || err != nil && len(seen) > 0 && !slices.Equal(now, seen) && !slices.Equal(now, c.job.rows) && len(seen) >= len(c.job.rows) {
					t.Fatalf("kill at %d: readers see %q, saw %q", k, now, seen)
				}
				taker := w.holder(c.job.batch)
				again := w.once(w.open(nil), c.job)
				if w.document(c.job.batch).Finished == nil || again != nil && !errors.As(again, new(*FinishedError)) {
					t.Fatalf("kill at %d: %v", k, again)
				}
				w.wantRows(fmt.Sprintf("kill at %d", k), c.job.rows...)
				w.nothingStaged(t)
				w.endedRecord(t, dead)
				if taker != dead {
					w.endedRecord(t, taker)
				}
				if err == nil {
					t.Logf("%d operations", k-1)
					if k < 40 {
						t.Fatalf("only %d operations", k-1)
					}
					return
				}
			}
		})
	}
}

// R26: who grabbed a dead run's staging, saw what that had replaced, and died before it could write that down: the
// next one sees it too.
func TestR26_TheVerdictOutlivesWhoFoundIt(t *testing.T) {
	w := newWorld(t)
	w.must(w.once(w.open(nil), old))
	dead := w.dies(whole, &killAfter{kind: "exchange", suffix: "/lake/orders"})
	removed := false
	taker := w.dies(whole, &killBefore{match: func(op fsops.Op) bool {
		removed = removed || op.Kind == "remove" && strings.HasSuffix(op.Path, droppedSuffix)
		return removed && op.Kind == "link"
	}})
	if taker == dead || len(w.document(batch("d1")).Todo) != 1 {
		t.Fatalf("the taker did not die between: %+v", w.document(batch("d1")))
	}
	kept := w.takeAway(w.open(nil), batch("d1"))
	if len(kept) != 1 || kept[0].Run != dead || kept[0].Parts != 1 {
		t.Fatalf("%+v", kept)
	}
	if r, err := w.open(nil).readRecord(dead); err != nil || !slices.Equal(r.Doubtful, []string{"clean_orders.clean"}) || r.By != taker {
		t.Fatalf("%+v, %v", r, err)
	}
}

// reset gives a hook that kills as it was before it did.
func reset(h fsops.Hook) fsops.Hook {
	switch h := h.(type) {
	case *killBefore:
		return &killBefore{match: h.match}
	case *killAfter:
		return &killAfter{kind: h.kind, suffix: h.suffix}
	case hooks:
		all := hooks{}
		for _, one := range h {
			all = append(all, reset(one))
		}
		return all
	}
	return h
}

// killBefore is a process that dies before its first operation that matches.
type killBefore struct {
	match func(fsops.Op) bool
	dead  bool
}

func (k *killBefore) Before(op fsops.Op) error {
	if k.dead = k.dead || k.match(op); k.dead {
		return errKilled
	}
	return nil
}

func (k *killBefore) After(fsops.Op, error) error { return nil }
