package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"testing"

	"github.com/ubunye-io/ubunye/engine/store/fsops"
)

// part is a range of a test: the rows of a source from one on and before another.
type part struct{ From, To int }

func partOf(r json.RawMessage) (p part) {
	_ = json.Unmarshal(r, &p)
	return p
}

func rangeOf(from, to int) json.RawMessage {
	r, _ := json.Marshal(part{from, to})
	return r
}

// grow is a run of an incremental task as the engine makes it: it reads what is new of a source. It tells whether anything was.
func (w *world) grow(l *Ledger, b Batch, source []string, rerun bool) (read bool, err error) {
	ctx := context.Background()
	if _, _, err := l.FinishCommitted(ctx, b.Pipeline); err != nil {
		return false, err
	}
	run, err := l.Begin(ctx, RunInfo{Pipeline: b.Pipeline, Batches: []Batch{b}, Targets: []Target{{Path: w.lake, Adds: true}}})
	if err != nil {
		return false, err
	}
	leases, err := run.Acquire(ctx, []Request{{Batch: b, Appends: true, Rerun: rerun, Incremental: true}})
	if err != nil {
		run.End(ctx, Refused)
		return false, err
	}
	s := leases[0]
	r := s.Range()
	if r == nil {
		from := 0
		if f := s.Finished(); f != nil {
			from = partOf(f.Range).To
		}
		if from == len(source) {
			return false, errors.Join(s.Release(ctx), run.End(ctx, Succeeded))
		}
		r = rangeOf(from, len(source))
	}
	err = s.Pin(ctx, r)
	if err == nil {
		err = w.write(s, job{batch: b, rows: source[partOf(r).From:partOf(r).To]})
	}
	if err != nil {
		s.Fail(ctx, err.Error())
		run.End(ctx, Failed)
		return true, err
	}
	return true, run.End(ctx, Succeeded)
}

// unnamed is a batch without variables, as an incremental task has it as a rule.
func unnamed() Batch {
	b := batch("none")
	b.Variables, b.Named = map[string]string{}, false
	return b
}

// R50, R66: a run of an incremental task is stopped at every operation: a first one, one that follows another, and a rerun. The
// next start, which reads more by then, and the one after it leave every row there once.
func TestR50R66_AnIncrementalTaskStoppedAtEveryOperation(t *testing.T) {
	before, source, later := []string{"1a", "1b"}, []string{"1a", "1b", "2a"}, []string{"1a", "1b", "2a", "3a"}
	for _, c := range []struct {
		name  string
		first bool
		rerun bool
	}{{"first", true, false}, {"second", false, false}, {"rerun", false, true}} {
		t.Run(c.name, func(t *testing.T) {
			setUp := func(t *testing.T) *world {
				w := newWorld(t)
				if !c.first {
					_, err := w.grow(w.open(nil), unnamed(), before, false)
					w.must(err)
				}
				return w
			}
			w, trace := setUp(t), &fsops.Trace{}
			_, err := w.grow(w.open(trace), unnamed(), source, c.rerun)
			w.must(err)
			want := source
			if c.rerun {
				want = before
			}
			w.wantRows("undisturbed", slices.Clone(want)...)
			everyStop(t, int64(len(trace.Ops())), []string{"kill", "enospc", "full", "lost"}, func(t *testing.T, _ string, hook fsops.Hook, _ int64) {
				w := setUp(t)
				w.grow(w.mortal(hook), unnamed(), source, c.rerun)
				for range 3 { // what was pinned, what is new, and nothing
					_, err := w.grow(w.open(nil), unnamed(), later, false)
					w.must(err)
				}
				read, err := w.grow(w.open(nil), unnamed(), later, false)
				if w.must(err); read {
					t.Fatal("a slice is left that was not read")
				}
				w.wantRows("after three starts", slices.Clone(later)...)
				w.nothingStaged(t)
			})
		})
	}
}

// What is to be read is in the document before the run goes on, and stays there whatever becomes of the run, until it is committed:
// then it is the commit's.
func TestR50_ThePinnedRangeStays(t *testing.T) {
	w, b, ctx := newWorld(t), unnamed(), context.Background()
	q := Request{Batch: b, Appends: true, Incremental: true}
	want := func(what, pinned, finished string) {
		t.Helper()
		d := w.document(b)
		is := "{}"
		if d.Finished != nil {
			is = string(d.Finished.Range)
		}
		if string(orEmpty(d.Range)) != pinned || is != finished {
			t.Fatalf("%s: pinned %s, finished %s", what, d.Range, is)
		}
	}
	run, s := w.begin(w.open(nil), q)
	if s.Range() != nil {
		t.Fatalf("a range before any was pinned: %s", s.Range())
	}
	w.must(s.Pin(ctx, rangeOf(0, 1)))
	const first, second = `{"From":0,"To":1}`, `{"From":1,"To":2}`
	want("pinned", first, "{}")
	w.must(s.Pin(ctx, rangeOf(0, 1)))
	if err := s.Pin(ctx, rangeOf(0, 2)); !errors.As(err, new(*PinnedError)) {
		t.Fatalf("another range was pinned: %v", err)
	}
	w.must(s.Prepare(ctx, w.spec()))
	w.must(s.Fail(ctx, "it failed"))
	w.must(run.End(ctx, Failed))
	want("after a failure", first, "{}")

	w.begin(w.mortal(nil), q)
	run, s = w.begin(w.open(nil), q) // takes over
	want("after a takeover", first, "{}")
	if string(s.Range()) != first {
		t.Fatalf("the next run reads %s", s.Range())
	}
	w.must(s.Release(ctx))
	w.must(run.End(ctx, Succeeded))
	want("given back", first, "{}")
	_, err := w.grow(w.open(nil), b, []string{"1"}, false)
	w.must(err)
	want("committed", "{}", first)

	run, s = w.begin(w.open(nil), q)
	w.must(s.Pin(ctx, rangeOf(1, 2)))
	w.must(s.Fail(ctx, "it failed"))
	w.must(run.End(ctx, Failed))
	want("the second", second, first)
	if _, err := w.grow(w.open(nil), b, []string{"1", "2"}, true); !errors.As(err, new(*PinnedError)) {
		t.Fatalf("a rerun while another range is pinned: %v", err)
	}
	want("after a rerun was refused", second, first)
	_, err = w.grow(w.open(nil), b, []string{"1", "2"}, false)
	w.must(err)
	want("the second committed", "{}", second)
	w.wantRows("rows", "1", "2")
	_, err = w.grow(w.open(nil), b, []string{"1", "2"}, true)
	w.must(err)
	want("rerun", "{}", second)
	w.wantRows("rows after a rerun", "1", "2")
}

// Whatever flags a start has: it replaces the last slice exactly when what it reads is that slice. If files of it are gone it is
// refused, like any rerun.
func TestR66_ARerunIsARangeThatIsReadAgain(t *testing.T) {
	w, b, ctx := newWorld(t), unnamed(), context.Background()
	_, err := w.grow(w.open(nil), b, []string{"1"}, false)
	w.must(err)
	q := Request{Batch: b, Appends: true, Incremental: true}
	run, s := w.begin(w.open(nil), q)
	w.must(s.Pin(ctx, rangeOf(0, 1)))
	if !s.Reruns() {
		t.Fatal("the last slice is pinned, and it is no rerun")
	}
	w.must(s.Fail(ctx, "it failed"))
	w.must(run.End(ctx, Failed))
	claims := w.document(b).Finished.Outputs["clean"].Claims
	w.must(os.Rename(w.lake+"/"+claims[0], w.lake+"/away"))
	var missing *ClaimsMissingError
	if _, err := w.grow(w.open(nil), b, []string{"1", "2"}, false); !errors.As(err, &missing) || missing.Missing != 1 {
		t.Fatalf("its files are gone, and it goes on: %v", err)
	}
	w.must(os.Rename(w.lake+"/away", w.lake+"/"+claims[0]))
	_, err = w.grow(w.open(nil), b, []string{"1", "2"}, false)
	w.must(err)
	w.wantRows("rows of the slice", "1")
	_, err = w.grow(w.open(nil), b, []string{"1", "2"}, false)
	w.must(err)
	w.wantRows("rows", "1", "2")
}

// Marks that a person sets last until the next slice is committed, and not a rerun; they cannot be set while what is read next is
// settled, or a table may hold it.
func TestR50_MarksThatAPersonSets(t *testing.T) {
	w, b, ctx := newWorld(t), unnamed(), context.Background()
	marks := map[string]json.RawMessage{"raw": json.RawMessage(`{"from":1}`)}
	change := func(do func(*Lease) error) error {
		t.Helper()
		run, s := w.begin(w.open(nil), Request{Batch: b})
		err := do(s)
		w.must(s.Release(ctx))
		w.must(run.End(ctx, Succeeded))
		return err
	}
	set := func(s *Lease) error {
		return s.SetMarks(ctx, marks, Decision{Who: "somebody", Did: "set", Reason: "so"})
	}
	w.must(change(set))
	if d := w.document(b); string(d.Marks["raw"]) != `{"from":1}` || len(d.Decisions) != 1 || d.Decisions[0].Reason != "so" {
		t.Fatalf("%+v", d)
	}
	_, err := w.grow(w.open(nil), b, []string{"1"}, false)
	w.must(err)
	if d := w.document(b); len(d.Marks) != 0 || len(d.Decisions) != 1 {
		t.Fatalf("after a commit: %+v", d)
	}
	w.must(change(set))
	_, err = w.grow(w.open(nil), b, []string{"1"}, true)
	w.must(err)
	if d := w.document(b); len(d.Marks) != 1 {
		t.Fatalf("a rerun takes the mark away: %+v", d)
	}
	w.change(b, func(d *Document) { d.Range = rangeOf(1, 2) })
	var pinned *PinnedError
	if err := change(set); !errors.As(err, &pinned) || len(pinned.Pending) != 0 {
		t.Fatalf("a mark was set while a range is pinned: %v", err)
	}
	w.must(change(func(s *Lease) error { return s.DropRange(ctx, &Decision{Who: "somebody", Reason: "gone"}) }))
	if d := w.document(b); hasRange(d.Range) || len(d.Decisions) != 3 {
		t.Fatalf("after the range was dropped: %+v", d)
	}
	w.change(b, func(d *Document) {
		d.Pending = []Pending{{Run: "r", Epoch: 1, Name: "clean", Output: Output{Class: Once, Key: "k", Phase: phaseCommitting}}}
	})
	for _, do := range []func(*Lease) error{set, func(s *Lease) error { return s.DropRange(ctx, nil) }} {
		if err := change(do); !errors.As(err, &pinned) || len(pinned.Pending) != 1 {
			t.Fatalf("a table may hold the slice: %v", err)
		}
	}
}

// R30: a commit of an incremental batch is never one that a retry means.
func TestR30_AnIncrementalCommitIsNotUntold(t *testing.T) {
	for _, incremental := range []bool{false, true} {
		w := newWorld(t)
		b := batch("2026-01-01")
		_, s := w.begin(w.mortal(nil), Request{Batch: b, Appends: true, Incremental: incremental})
		ctx := context.Background()
		if incremental {
			w.must(s.Pin(ctx, rangeOf(0, 1)))
		}
		w.must(s.Prepare(ctx, w.spec()))
		w.must(stage(s, []string{"1"}))
		w.must(commit(s, "clean"))
		w.must(s.Land(ctx))
		f, _, err := w.open(nil).Untold(ctx, b)
		if err != nil || (f != nil) == incremental {
			t.Fatalf("incremental %t: %v, %v", incremental, f, err)
		}
	}
}

// A table is told what an incremental batch has read, to note it with its commit.
func TestR50_ATableIsToldTheRange(t *testing.T) {
	w, b, ctx := newWorld(t), unnamed(), context.Background()
	var asked TableBatch
	_, s := w.begin(w.open(nil), Request{Batch: b, Appends: true, Incremental: true})
	w.must(s.Pin(ctx, rangeOf(0, 2)))
	w.must(s.Prepare(ctx, []OutputSpec{{Name: "clean", Class: Once, Mode: "append", Base: w.lake, Table: &answers{asked: func(b TableBatch) { asked = b }}}}))
	if string(asked.Range) != `{"From":0,"To":2}` {
		t.Fatalf("the table was told %s", asked.Range)
	}
}
