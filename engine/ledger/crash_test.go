package ledger

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/ubunye-io/ubunye/engine/store/fsops"
)

var errKilled = errors.New("the process is dead")

// killed refuses every change from one operation on: the disk is then as after a SIGKILL.
type killed struct{ at int64 }

func (k killed) Before(op fsops.Op) error {
	if op.N >= k.at {
		return errKilled
	}
	return nil
}

func (k killed) After(fsops.Op, error) error { return nil }

// scenario is what was there before the run that is killed, and what must be there after it.
type scenario struct {
	name   string
	before []job
	run    job
	old    []string // what readers see if the run did not commit
	new    []string // and if it did
	disk   bool     // the output is on another disk than the ledger, and so is the staging
}

func scenarios() []scenario {
	day1, day2 := batch("2026-01-01"), batch("2026-01-02")
	first := job{batch: day1, rows: []string{"1a", "1b"}}
	return []scenario{
		{"first append", nil, first, nil, []string{"1a", "1b"}, false},
		{"second append", []job{first}, job{batch: day2, rows: []string{"2a", "2b"}}, []string{"1a", "1b"}, []string{"1a", "1b", "2a", "2b"}, false},
		{"rerun", []job{first}, job{batch: day1, rows: []string{"1a", "1c"}, rerun: true}, []string{"1a", "1b"}, []string{"1a", "1c"}, false},
		{"first append on another disk", nil, first, nil, []string{"1a", "1b"}, true},
	}
}

// setUp makes the world as it was before the run, with files in it that are nobody's business.
func (sc scenario) setUp(t *testing.T) (*world, func()) {
	w := newWorld(t)
	if sc.disk {
		w.lake = filepath.Join(w.otherDisk(), "lake", "orders")
		w.must(os.MkdirAll(filepath.Dir(w.lake), 0o777))
	}
	for _, j := range sc.before {
		w.must(w.once(w.open(nil), j))
	}
	strangers := map[string]string{
		filepath.Join(filepath.Dir(w.lake), "stranger.txt"):                     "s",
		filepath.Join(filepath.Dir(w.lake), "_ubunye-0123456789ab", "x.staged"): "s",
	}
	if len(sc.before) > 0 {
		strangers[filepath.Join(w.dir, ".ubunye", "staging", "r", "k", "o", "stray")] = "s"
		strangers[filepath.Join(w.lake, "p=0", "part-like.csv")] = "s"
		strangers[filepath.Join(w.lake, "_ubunye-0123456789ab", "x.staged")] = "s"
	}
	for path, text := range strangers {
		w.must(os.MkdirAll(filepath.Dir(path), 0o777))
		w.must(os.WriteFile(path, []byte(text), 0o666))
	}
	return w, func() {
		t.Helper()
		for path, text := range strangers {
			if data, err := os.ReadFile(path); err != nil || string(data) != text {
				t.Fatalf("a stranger's file is not as it was: %s: %q, %v", path, data, err)
			}
		}
	}
}

// The run is stopped at every operation, in three ways: killed there, the disk full there, the answer
// lost there. Whatever the instant: nothing uncommitted is ever visible (I1); what is committed is
// whole once the next start has finished it, without help (I6); old files go only after the new ones
// are there (I3); strangers' files stay. Then the next clean run lands the batch once.
func TestI6_StoppedAtEveryOperation(t *testing.T) {
	for _, sc := range scenarios() {
		t.Run(sc.name, sc.stoppedEverywhere)
	}
}

func (sc scenario) stoppedEverywhere(t *testing.T) {
	w, _ := sc.setUp(t)
	trace := &fsops.Trace{}
	w.must(w.once(w.open(trace), sc.run))
	w.wantRows(sc.name, sc.new...)
	n := int64(len(trace.Ops()))
	t.Logf("%d operations", n)
	if n < 25 {
		t.Fatalf("only %d operations were seen", n)
	}
	everyStop(t, n, []string{"kill", "enospc", "full", "lost"}, func(t *testing.T, _ string, hook fsops.Hook, k int64) { sc.stopped(t, hook, k > n) })
}

// everyStop runs a test for each operation of a run, 1 to n+1, at which it is stopped in each of these ways; "deaf" is "lost" for those who
// tell the two apart.
func everyStop(t *testing.T, n int64, kinds []string, stopped func(t *testing.T, kind string, hook fsops.Hook, k int64)) {
	for k := 1 + rand.Int64N(stopsEvery); k <= n+1; k += stopsEvery {
		ways := map[string]fsops.Hook{
			"kill": killed{at: k}, "enospc": &fsops.Fault{Kind: fsops.NoRoom, At: k}, "full": full{from: k},
			"lost": &fsops.Fault{Kind: fsops.Lost, At: k}, "deaf": &fsops.Fault{Kind: fsops.Lost, At: k},
		}
		for _, kind := range kinds {
			t.Run(fmt.Sprintf("%s/%d", kind, k), func(t *testing.T) {
				t.Parallel()
				stopped(t, kind, ways[kind], k)
			})
		}
	}
}

// full is a disk without room from one operation on: nothing can be made or written, but renamed and
// removed.
type full struct{ from int64 }

func (f full) Before(op fsops.Op) error {
	if op.N >= f.from && (op.Kind == "create" || op.Kind == "write" || op.Kind == "mkdir") {
		return syscall.ENOSPC
	}
	return nil
}

func (f full) After(fsops.Op, error) error { return nil }

func (sc scenario) stopped(t *testing.T, hook fsops.Hook, mustWork bool) {
	w, strangers := sc.setUp(t)
	err := w.once(w.mortal(hook), sc.run)
	if mustWork && err != nil {
		t.Fatal(err)
	}
	d := w.document(sc.run.batch)
	committed := d.Finished != nil && !slices.ContainsFunc(sc.before, func(j job) bool {
		return j.batch.Key == sc.run.batch.Key && d.Finished.Epoch == 1
	})
	if !committed {
		w.wantRows("not committed", sc.old...)
	} else if sc.run.rerun { // new ones come before old ones go
		for _, row := range sc.new {
			if seen := slices.Contains(w.rows(), "1b"); !seen && !slices.Contains(w.rows(), row) {
				t.Fatalf("old files went before the new ones were there: %q", w.rows())
			}
		}
	}
	strangers()

	l := w.open(nil)
	_, left, finishErr := l.FinishCommitted(context.Background(), "sales")
	if finishErr != nil || len(left) > 0 {
		t.Fatalf("the next start could not finish: %v, %v", left, finishErr)
	}
	if committed {
		w.wantRows("committed and finished", sc.new...)
		if d := w.document(sc.run.batch); len(d.Todo) > 0 || d.Holder != nil {
			t.Fatalf("the list is not empty: %+v", d)
		}
	} else {
		if err == nil {
			t.Fatal("the run said that all was well")
		}
		w.wantRows("not committed", sc.old...)
	}
	strangers()

	dead := w.holder(sc.run.batch)
	err = w.once(w.open(nil), sc.run)
	if committed && !sc.run.rerun {
		if !errors.As(err, new(*FinishedError)) {
			t.Fatalf("a finished batch was not refused: %v", err)
		}
	} else {
		w.must(err)
	}
	w.wantRows("after a clean run", sc.new...)
	strangers()
	w.nothingStaged(t)
	w.endedRecord(t, dead)
}

// holder is the run that holds a batch; "" if nobody does.
func (w *world) holder(b Batch) string {
	w.t.Helper()
	if h := w.document(b).Holder; h != nil {
		return h.Run
	}
	return ""
}

// endedRecord asserts that the record of a run that was taken over says so (R22), and that there is none of a
// run that left nothing.
func (w *world) endedRecord(t *testing.T, taken string) {
	t.Helper()
	records, bad, err := w.open(nil).records()
	if err != nil || len(bad) > 0 {
		t.Fatal(bad, err)
	}
	for _, r := range records {
		switch {
		case !r.Status.ended():
			t.Fatalf("run %s is dead, and its record says %s", r.Run, r.Status)
		case r.Run == taken && (r.Status != Interrupted || r.By == "" || r.By == taken):
			t.Fatalf("the record of the run that was taken over: %+v", r)
		}
	}
	if taken != "" && !slices.ContainsFunc(records, func(r Record) bool { return r.Run == taken }) {
		t.Fatalf("the record of the run that was taken over is gone")
	}
}

// nothingStaged asserts that no staging is left but the strangers' and what no document can name: the
// probe's empty file, and a temporary file.
func (w *world) nothingStaged(t *testing.T) {
	t.Helper()
	st, err := w.open(nil).Status(context.Background(), "")
	w.must(err)
	for _, s := range st.Stray {
		if !strings.Contains(s.Path, "/r/k/o") && !strings.Contains(s.Path, "_ubunye-0123456789ab") {
			t.Fatalf("staging is left that no document names: %s", s.Path)
		}
	}
	for _, b := range st.Batches {
		if len(b.Todo) > 0 || b.State == StateHeld {
			t.Fatalf("%+v", b)
		}
	}
}
