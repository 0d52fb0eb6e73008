package ledger

import (
	"context"
	"os"
	"testing"
	"time"
)

// A run that is cleaned up after is one that has certainly ended. What is only silent is left alone where nothing
// is in the way.
func TestOnlyCertainlyDeadRunsAreCleanedUpAfter(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	silent := w.config(nil)
	silent.Identity.Machine = "n"
	a, _ := w.begin(w.openAs(silent), Request{Batch: batch("d1")})
	gone, _ := w.begin(w.mortal(nil), Request{Batch: batch("d2")})
	then := time.Now().Add(-24 * time.Hour)
	w.must(os.Chtimes(w.open(nil).beatPath(a.ID), then, then))
	run, _ := w.begin(w.open(nil), Request{Batch: batch("d3")})
	if w.holder(batch("d1")) != a.ID || w.holder(batch("d2")) != "" {
		t.Fatalf("held by %q and %q", w.holder(batch("d1")), w.holder(batch("d2")))
	}
	if r, err := w.open(nil).readRecord(gone.ID); err != nil || r.Status != Interrupted || r.By != run.ID {
		t.Fatalf("%+v, %v", r, err)
	}
	w.must(run.End(ctx, Failed))
}

// The records of runs that documents name nothing of are removed: at once, or after 30 days if they tell of a
// failure.
func TestRecordsThatAreNotNeededAreRemoved(t *testing.T) {
	for _, c := range []struct {
		status Status
		age    time.Duration
		stays  bool
	}{
		{Succeeded, 0, false}, {Landed, 0, false}, {Waiting, 0, true}, {Running, 0, true}, // this process lives
		{Failed, 29 * 24 * time.Hour, true}, {Failed, 31 * 24 * time.Hour, false},
		{Interrupted, 29 * 24 * time.Hour, true}, {Interrupted, 31 * 24 * time.Hour, false},
	} {
		w := newWorld(t)
		w.other(lowest, Running, "", batch("d1"))
		w.record(lowest, func(r *Record) { r.Status, r.Pipeline = c.status, "sales" })
		path := w.open(nil).recordPath(lowest)
		then := time.Now().Add(-c.age)
		w.must(os.Chtimes(path, then, then))
		w.must(w.once(w.open(nil), job{batch: batch("d2"), rows: []string{"1"}}))
		_, err := os.Stat(path)
		_, beat := os.Stat(w.open(nil).beatPath(lowest))
		if c.stays != (err == nil) || !c.stays && beat == nil {
			t.Errorf("%s, %s old: %v, heartbeat %v", c.status, c.age, err, beat)
		}
	}
}
