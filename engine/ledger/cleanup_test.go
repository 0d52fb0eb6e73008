package ledger

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/ubunye-io/ubunye/engine/store/fsops"
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

// R30: the record of a run that died after its commit, before it could say so, says landed, also after starts that are
// refused: its batch's next start can tell. It goes when the batch is committed anew.
func TestR30_ARunThatDiedBeforeItCouldSaySo(t *testing.T) {
	for _, landed := range []bool{false, true} {
		w := newWorld(t)
		j := job{batch: batch("d1"), rows: []string{"1a", "1b"}}
		w.dies(j, &killBefore{match: func(op fsops.Op) bool {
			if landed {
				return op.Kind == "remove" && strings.HasSuffix(op.Path, ".beat")
			}
			return op.Kind == "rename" && strings.Contains(op.To, w.lake+"/p=")
		}})
		run := w.document(j.batch).Finished.Run
		for range 2 {
			if err := w.once(w.open(nil), j); !errors.As(err, new(*FinishedError)) {
				t.Fatal(err)
			}
			if r, err := w.open(nil).readRecord(run); err != nil || r.Status != Landed || r.By != "" {
				t.Fatalf("landed before %v: %+v, %v", landed, r, err)
			}
		}
		w.wantRows("landed", "1a", "1b")
		j.rerun = true
		w.must(w.once(w.open(nil), j))
		w.must(w.once(w.open(nil), job{batch: batch("d2"), rows: []string{"2"}}))
		if ids := w.runs(); len(ids) != 0 {
			t.Fatalf("left: %q", ids)
		}
	}
}
