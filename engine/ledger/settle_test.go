package ledger

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"
)

// R65: a run that was taken for dead and only paused may commit at the moment at which its batch is taken from it, so that whoever
// wants to replace its folder finds the batch free. What it had committed lands before the folder is replaced: half an append is
// never lost to an exchange. It commits whenever the clock is looked at, which is between any two steps of judging.
func TestR65_ARunThatCommitsWhileItIsJudged(t *testing.T) {
	const looks = 80
	hit := 0
	for k := range int64(looks) {
		w := newWorld(t)
		w.must(w.once(w.open(nil), job{batch: batch("d3"), rows: []string{"3a", "3b"}}))
		ctx := context.Background()
		run, err := w.mortal(nil).Begin(ctx, RunInfo{Pipeline: "sales", Batches: []Batch{old.batch}, Targets: []Target{{Path: w.lake, Adds: true}}})
		w.must(err)
		leases, err := run.Acquire(ctx, []Request{{Batch: old.batch, Appends: true}})
		w.must(err)
		paused := leases[0]
		w.must(paused.Prepare(ctx, w.spec()))
		w.must(stage(paused, old.rows))
		c := must(results(paused, "clean"))

		var n atomic.Int64
		committed := false
		exchanged := false
		exchange := &atOp{kind: "exchange", suffix: "/new", do: func() {
			exchanged = true
			if d := w.document(old.batch); committed && (len(d.Todo) > 0 || !slices.Contains(w.rows(), "2a") || !slices.Contains(w.rows(), "2b")) {
				t.Errorf("at look %d: the folder is replaced while what was committed for it is not there", k)
			}
		}}
		cfg := w.config(exchange)
		cfg.Elapsed = func() time.Duration {
			if n.Add(1) == k+1 {
				committed = paused.Commit(ctx, c) == nil
			}
			return bootTime()
		}
		l, err := Open(ctx, cfg)
		w.must(err)
		w.must(w.once(l, whole))
		if !exchanged {
			t.Fatal("nothing was replaced")
		}
		if !committed { // it was taken over before
			break
		}
		hit++
		if err := paused.Land(ctx); err != nil && !errors.As(err, new(*NotAllLandedError)) {
			t.Errorf("at look %d: landing: %v", k, err)
		}
		w.wantRows("replaced", "1a", "1b")
	}
	if hit < 2 || hit == looks {
		t.Errorf("of %d looks %d found the run before it was taken over", looks, hit)
	}
}
