package ledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ubunye-io/ubunye/engine/ledger/internal/tablelog"
	"github.com/ubunye-io/ubunye/engine/store"
	"github.com/ubunye-io/ubunye/engine/store/fsops"
)

// tableOf is the table of a test: its log is a folder of entries.
type tableOf struct {
	log      tablelog.Log
	replaces bool
}

func (w *world) table(s *Lease, j job) tableOf {
	log := tablelog.Log{FS: s.ledger.fs, Base: w.lake, Name: store.NewID, Bad: j.bad}
	if j.deaf {
		log.Deaf = func() bool { return true }
	}
	return tableOf{log, j.class == Replaces}
}

func keysOf(b TableBatch) []string {
	keys := []string{b.Key}
	for _, dead := range b.Pending {
		if !slices.Contains(keys, dead.Output.Key) {
			keys = append(keys, dead.Output.Key)
		}
	}
	return keys
}

func markOf(e tablelog.Entry) Mark {
	return Mark{Run: e.Run, Epoch: e.Epoch, Commit: fmt.Sprintf("version %d", e.Version)}
}

func (t tableOf) Look(_ context.Context, b TableBatch) (Mark, error) {
	e, _, err := t.log.Find(keysOf(b))
	if e.Epoch == 0 {
		return Mark{}, err
	}
	return markOf(e), err
}

func (t tableOf) Commit(_ context.Context, b TableBatch, files []string) (Answer, error) {
	e := tablelog.Entry{Keys: keysOf(b), Run: b.Run, Epoch: b.Epoch, Files: files, Replaces: t.replaces}
	outcome, at, err := t.log.Commit(e, b.After, b.Class == Once)
	return Answer{Outcome(outcome), markOf(at)}, err
}

func (t tableOf) Resolve(_ context.Context, _ TableBatch, dead Pending) ([]string, error) {
	return t.log.Named(dead.Output.Claims)
}

// writeTable is write for an output that is a table.
func (w *world) writeTable(s *Lease, j job) error {
	ctx := context.Background()
	name := cmp.Or(j.output, "clean")
	spec := OutputSpec{Name: name, Class: j.class, Mode: "append", Base: w.lake, Table: w.table(s, j)}
	if err := s.Prepare(ctx, []OutputSpec{spec}); err != nil {
		return err
	}
	if tables := s.Tables(); len(tables) == 0 {
		for i, row := range j.rows {
			dir := filepath.Join(s.Staging(name), fmt.Sprintf("p=%d", i))
			if err := os.Mkdir(dir, 0o777); err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(dir, "part-"+store.NewID()+".parquet"+stagedSuffix), []byte(row), 0o666); err != nil {
				return err
			}
		}
	} else if tables[0].Outcome != Found {
		return fmt.Errorf("before anything was staged: %+v", tables)
	}
	c, err := results(s, name)
	if err != nil {
		return err
	}
	if err := s.CommitTables(ctx, c); err != nil {
		return err
	}
	if j.fails {
		return errFails
	}
	if err := s.Commit(ctx, c); err != nil {
		return err
	}
	return s.Land(ctx)
}

// tableRows is what a reader of the table sees; every file that its log names must be there.
func (w *world) tableRows() []string {
	w.t.Helper()
	entries, err := tablelog.Read(w.lake)
	w.must(err)
	for _, e := range entries {
		for _, file := range e.Files {
			if _, err := os.Stat(filepath.Join(w.lake, file)); err != nil {
				w.t.Fatalf("the log names a file that is not there: %v", err)
			}
		}
	}
	rows := []string{}
	for _, file := range tablelog.Live(entries) {
		data, err := os.ReadFile(filepath.Join(w.lake, file))
		w.must(err)
		rows = append(rows, string(data))
	}
	slices.Sort(rows)
	return rows
}

// wantTable asserts what readers of the table see.
func (w *world) wantTable(what string, want ...string) {
	w.t.Helper()
	slices.Sort(want)
	if got := w.tableRows(); !slices.Equal(got, want) {
		w.t.Fatalf("%s: a reader sees %q, want %q", what, got, want)
	}
}

// noOrphans asserts that the table's folder holds no data file that its log does not name, and that no document is in
// doubt any more.
func (w *world) noOrphans(what string, batches ...Batch) {
	w.t.Helper()
	entries, err := tablelog.Read(w.lake)
	w.must(err)
	named := map[string]bool{}
	for _, e := range entries {
		for _, file := range e.Files {
			named[file] = true
		}
	}
	w.must(walkData(w.lake, func(name string) error {
		if !named[name] {
			w.t.Fatalf("%s: the table's folder holds %s, which its log has never named", what, name)
		}
		return nil
	}))
	for _, b := range batches {
		if d := w.document(b); len(d.Pending) > 0 || len(d.Todo) > 0 || d.Holder != nil {
			w.t.Fatalf("%s: %+v", what, d)
		}
	}
}

// keyedRun is what was there before a run of a table, and what is there after it.
type keyedRun struct {
	name   string
	before []job
	run    job
	old    []string
	new    []string
	every  bool // stopped in every way, not only killed
}

func keyedRuns() []keyedRun {
	d1, d2 := batch("2026-01-01"), batch("2026-01-02")
	once1 := job{batch: d1, rows: []string{"1a", "1b"}, class: Once}
	once2 := job{batch: d2, rows: []string{"2a", "2b"}, class: Once}
	again := job{batch: d1, rows: []string{"1c"}, class: Once, rerun: true}
	rep1 := job{batch: d1, rows: []string{"1a", "1b"}, class: Replaces, mode: wholeMode}
	rep2 := job{batch: d1, rows: []string{"1c", "1d"}, class: Replaces, mode: wholeMode}
	fails := once1
	fails.fails = true
	return []keyedRun{
		{"first once", nil, once1, nil, once1.rows, false},
		{"a late day", []job{once2}, once1, once2.rows, []string{"1a", "1b", "2a", "2b"}, true},
		{"rerun", []job{once1}, again, once1.rows, []string{"1a", "1b", "1c"}, false},
		{"replaces", []job{rep1, once2}, rep2, []string{"1a", "1b", "2a", "2b"}, []string{"1c", "1d", "2a", "2b"}, false},
		{"once, then the task fails", []job{once2}, fails, once2.rows, []string{"1a", "1b", "2a", "2b"}, false},
	}
}

// A run that commits to a table is stopped at every operation: killed there, the disk full there, the answer lost there,
// and so that the table cannot be read back. Whatever the instant: what the log names is there and stays (I3, I8), the
// batch is in the table or not, and the next clean run leaves it there once; its rerun adds it again.
func TestR70_TableStoppedAtEveryOperation(t *testing.T) {
	for _, sc := range keyedRuns() {
		t.Run(sc.name, sc.stoppedEverywhere)
	}
}

// R71: a late day after a later one is one of them.

func (sc keyedRun) setUp(t *testing.T) *world {
	w := newWorld(t)
	for _, j := range sc.before {
		w.must(w.once(w.open(nil), j))
	}
	return w
}

func (sc keyedRun) stoppedEverywhere(t *testing.T) {
	w := sc.setUp(t)
	trace := &fsops.Trace{}
	if err := w.once(w.open(trace), sc.run); sc.run.fails != (err != nil) {
		t.Fatal(err)
	}
	w.wantTable(sc.name, sc.new...)
	n := int64(len(trace.Ops()))
	t.Logf("%d operations", n)
	if n < 30 {
		t.Fatalf("only %d operations were seen", n)
	}
	kinds := []string{"kill"}
	if sc.every {
		kinds = append(kinds, "enospc", "full", "lost", "deaf")
	}
	everyStop(t, n, kinds, func(t *testing.T, kind string, hook fsops.Hook, k int64) { sc.stopped(t, hook, kind == "deaf", k > n) })
}

func (sc keyedRun) stopped(t *testing.T, hook fsops.Hook, deaf, mustWork bool) {
	w := sc.setUp(t)
	run := sc.run
	run.deaf = deaf
	err := w.once(w.mortal(hook), run)
	if mustWork && err != nil && !run.fails {
		t.Fatal(err)
	}
	seen := w.tableRows()
	if !slices.Equal(seen, sc.old) && !slices.Equal(seen, sc.new) && !(len(seen) == 0 && len(sc.old) == 0) {
		t.Fatalf("a reader sees %q, want %q or %q", seen, sc.old, sc.new)
	}
	landed := slices.Equal(seen, sc.new)
	d := w.document(run.batch)
	committed := d.Finished != nil && d.Holder == nil && d.Finished.Epoch > int64(countOf(sc.before, run.batch))
	switch {
	case committed && !landed:
		t.Fatal("committed, and not in the table")
	case err == nil && !committed:
		t.Fatal("the run said that all was well")
	}
	if _, left, err := w.open(nil).FinishCommitted(context.Background(), "sales"); err != nil || len(left) > 0 {
		t.Fatalf("the next start could not finish: %v, %v", left, err)
	}
	if got := w.tableRows(); !slices.Equal(got, seen) {
		t.Fatalf("a start that only finishes changed what readers see: %q, were %q", got, seen)
	}

	again := sc.run
	again.fails = false
	err = w.once(w.open(nil), again)
	switch {
	case committed && run.class == Once && !run.rerun:
		if !errors.As(err, new(*FinishedError)) {
			t.Fatalf("a finished batch was not refused: %v", err)
		}
	default:
		w.must(err)
	}
	if committed && run.rerun { // rerun twice
		w.wantTable("after a clean rerun", append(slices.Clone(sc.new), run.rows...)...)
	} else {
		w.wantTable("after a clean run", sc.new...)
	}
	w.noOrphans("after a clean run", run.batch)
	w.nothingStaged(t)
	if f := w.document(run.batch).Finished.Outputs["clean"]; f.Mark == nil || f.Key == "" || f.Mark.Epoch == 0 {
		t.Fatalf("%+v", f)
	}
}

// R27, R70: a run that commits to a table is paused at every operation, another takes over and runs wholly, the first
// goes on. The table has the batch once, or shows what the ledger says; what its log names is there.
func TestR70_TablePausedAtEveryOperation(t *testing.T) {
	for _, class := range []Class{Once, Replaces} {
		t.Run(string(class), func(t *testing.T) {
			t.Parallel()
			lost, late, found := 0, 0, 0
			for k := int64(1); ; k++ {
				w := newWorld(t)
				w.must(w.once(w.open(nil), job{batch: batch("d2"), rows: []string{"2a"}, class: class, mode: "x"}))
				first := job{batch: batch("d1"), rows: []string{"1a", "1b"}, class: class, mode: "x"}
				second := job{batch: batch("d1"), rows: []string{"1c", "1d"}, class: class, mode: "x", over: true}
				if class == Once {
					first.mode, second.mode = "", ""
				}
				came := false
				var err2 error
				_, err := w.pausedAt(k, first, nil, func() {
					came = true
					err2 = w.once(w.open(nil), second)
				})
				if !came {
					w.must(err)
					t.Logf("%d operations: %d lost the lease, %d had committed, %d commits of the paused were found", k-1, lost, late, found)
					if lost < 15 || late < 5 || class == Once && found == 0 {
						t.Fatal("too few")
					}
					return
				}
				d := w.document(batch("d1"))
				if err2 != nil && !errors.As(err2, new(*FinishedError)) {
					t.Fatalf("pause at %d: the taker: %v", k, err2)
				}
				want, last := second.rows, d.Finished.Outputs["clean"].Mark
				entries, readErr := tablelog.Read(w.lake)
				w.must(readErr)
				newest := tablelog.Newest(entries, []string{d.Finished.Outputs["clean"].Key})
				if newest.Run != last.Run || newest.Epoch != last.Epoch {
					t.Fatalf("pause at %d: the ledger says %+v, the table %+v", k, last, newest)
				}
				if data, _ := os.ReadFile(filepath.Join(w.lake, newest.Files[0])); slices.Contains(first.rows, string(data)) {
					want = first.rows
				}
				w.wantTable(fmt.Sprintf("pause at %d", k), append([]string{"2a"}, want...)...)
				switch {
				case err == nil:
					late++
				case class == Once && slices.Equal(want, first.rows):
					found++
					lost++
				default:
					lost++
				}
				w.must(w.once(w.open(nil), job{batch: batch("d9"), rows: []string{"9"}, class: class, mode: "x", over: true}))
				w.noOrphans(fmt.Sprintf("pause at %d", k), batch("d1"))
				w.nothingStrayed(t, k)
			}
		})
	}
}

// R74: the answer to the put is lost. It is read back, and nothing is deleted meanwhile; where it cannot be read back, the
// run ends without touching anything, and the next one finds what became of it.
func TestR74_AnswerToThePutIsLost(t *testing.T) {
	for _, deaf := range []bool{false, true} {
		w := newWorld(t)
		j := job{batch: batch("d1"), rows: []string{"1a", "1b"}, class: Once, deaf: deaf}
		err := w.once(w.mortal(&lostPut{}), j)
		if !deaf {
			w.must(err)
			w.wantTable("read back", j.rows...)
			continue
		}
		var unknown *UnknownError
		if !errors.As(err, &unknown) || unknown.Output != "clean" || !errors.Is(err, errNotAnswering) {
			t.Fatalf("got %v", err)
		}
		if d := w.document(j.batch); d.Holder == nil || d.Outputs["clean"].Phase != phaseCommitting || len(d.Todo) > 0 {
			t.Fatalf("something was changed after an unknown outcome: %+v", d)
		}
		r, err := w.open(nil).readRecord(w.holder(j.batch))
		if err != nil || r.Status != Interrupted || !slices.Equal(r.Doubtful, []string{"clean_orders.clean"}) {
			t.Fatalf("%+v, %v", r, err)
		}
		w.must(w.once(w.open(nil), j))
		w.wantTable("found", j.rows...)
		f := w.document(j.batch).Finished
		if m := f.Outputs["clean"].Mark; m.Run != r.Run || m.Epoch != 1 || m.Commit != "version 0" || f.Epoch != 2 || len(f.Outputs["clean"].Claims) != 2 {
			t.Fatalf("%+v, %+v", f, m)
		}
		w.noOrphans("found", j.batch)
	}
}

// lostPut loses the answer of every entry's rename.
type lostPut struct{}

func (lostPut) Before(fsops.Op) error { return nil }

func (lostPut) After(op fsops.Op, _ error) error {
	if op.Kind == "rename" && strings.Contains(op.To, "/_log/") {
		return errNotAnswering
	}
	return nil
}

var errNotAnswering = errors.New("no answer")
