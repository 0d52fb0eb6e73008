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
	"testing"
	"time"

	"github.com/ubunye-io/ubunye/engine/store/fsops"
)

func TestExcludes(t *testing.T) {
	adds := Target{Path: "/lake/orders", Adds: true}
	replaces := Target{Path: "/lake/orders"}
	parts := Target{Path: "/lake/orders", Parts: true}
	with := func(t Target, path, id string) Target { t.Path, t.ID = path, id; return t }
	for _, c := range []struct {
		name string
		a, b Target
		want bool
	}{
		{"two appends", adds, adds, false},
		{"an append and an overwrite", adds, replaces, true},
		{"an append and partitions", adds, parts, true},
		{"two overwrites", replaces, replaces, true},
		{"an overwrite and partitions", replaces, parts, true},
		{"partitions and partitions", parts, parts, false},
		{"other folders", replaces, with(adds, "/lake/orders2", ""), false},
		{"a folder in it", replaces, with(adds, "/lake/orders/x", ""), true},
		{"a folder around it", with(replaces, "/lake", ""), adds, true},
		{"the root", with(replaces, "/", ""), adds, true},
		{"the same id by another path", with(replaces, "/mnt/orders", "t"), with(adds, "/lake/orders", "t"), true},
		{"another id by the same path: another machine's disk", with(replaces, "/lake/orders", "t"), with(adds, "/lake/orders", "u"), false},
		{"one without an id yet", with(replaces, "/lake/orders", "t"), adds, true},
	} {
		if c.a.excludes(c.b) != c.want || c.b.excludes(c.a) != c.want {
			t.Errorf("%s: %v and %v, want %v", c.name, c.a.excludes(c.b), c.b.excludes(c.a), c.want)
		}
	}
}

// info is what a run of a mode says of itself.
func (w *world) info(b Batch, mode string) RunInfo {
	return RunInfo{Pipeline: "sales", Batches: []Batch{b}, Targets: []Target{{Path: w.lake, Adds: mode == "", Parts: mode == partsMode}}}
}

// R65 in part: two live runs exclude each other when one of them replaces, whatever their batches are;
// the refused one changes nothing that is seen, and gives back what it had taken.
func TestR65_TwoLiveRunsExcludeEachOther(t *testing.T) {
	for _, c := range []struct {
		first, second string
		excluded      bool
	}{
		{wholeMode, "", true}, {"", wholeMode, true}, {wholeMode, wholeMode, true}, {wholeMode, partsMode, true},
		{partsMode, "", true}, {"", partsMode, true}, {partsMode, partsMode, false}, {"", "", false},
	} {
		t.Run(fmt.Sprintf("%q and %q", c.first, c.second), func(t *testing.T) {
			w := newWorld(t)
			ctx := context.Background()
			l := w.open(nil)
			run, err := l.Begin(ctx, w.info(batch("d1"), c.first))
			w.must(err)
			leases, err := run.Acquire(ctx, []Request{{Batch: batch("d1")}})
			w.must(err)
			w.must(leases[0].Prepare(ctx, w.specOf(c.first)))
			w.must(stage(leases[0], []string{"1a"}))

			j := job{batch: batch("d2"), rows: []string{"2b"}, mode: c.second}
			targets := w.info(j.batch, j.mode).Targets
			var held *TargetHeldError
			before := l.TargetRefusal(ctx, targets)
			err = w.once(w.open(nil), j)
			if !c.excluded {
				if before != nil {
					t.Fatal(before)
				}
				w.must(err)
			} else if !errors.As(before, &held) || !errors.As(err, &held) || held.Other.Run != run.ID || held.Asking || held.Path != w.lake {
				t.Fatalf("got %v and %v", before, err)
			} else if d := w.document(j.batch); d.Holder != nil || d.Finished != nil {
				t.Fatalf("%+v", d)
			}

			cm, err := results(leases[0], "clean")
			w.must(err)
			w.must(leases[0].Replace(ctx, cm))
			w.must(leases[0].Commit(ctx, cm))
			w.must(leases[0].Land(ctx))
			w.must(run.End(ctx, Succeeded))
			if c.excluded {
				w.wantRows("the first alone", "1a")
				w.must(w.once(w.open(nil), j)) // and now the way is free
			}
		})
	}
}

// other puts the record of a run into the ledger, as another process of this machine that lives.
func (w *world) other(id string, status Status, mode string, b ...Batch) {
	w.t.Helper()
	l := w.open(nil)
	_, err := l.create()
	w.must(err)
	r := Record{Format: format, Run: id, Pipeline: "other", Identity: l.cfg.Identity, Since: time.Now(), Status: status,
		Batches: b, Targets: l.realTargets(w.info(batch("x"), mode).Targets)}
	if _, err := os.Stat(l.recordPath(id)); err == nil {
		w.must(l.writeRecord(r, false))
		return
	}
	w.must(l.writeRecord(r, true))
	w.must(l.fs.Beat(l.beatPath(id)))
}

const (
	lowest  = "00000101T000000Z-00000000"
	highest = "99991231T000000Z-ffffffff"
)

// Of two that ask, the one with the higher id steps back.
func TestTheHigherRunThatAsksStepsBack(t *testing.T) {
	w := newWorld(t)
	w.other(lowest, Asking, wholeMode)
	var held *TargetHeldError
	err := w.once(w.open(nil), whole)
	if !errors.As(err, &held) || !held.Asking || held.Other.Run != lowest {
		t.Fatalf("got %v", err)
	}
	if d := w.document(batch("d1")); d.Holder != nil {
		t.Fatalf("%+v", d)
	}
	if files, _ := filepath.Glob(filepath.Join(w.dir, ".ubunye", "runs", "*")); len(files) != 2 {
		t.Fatalf("its record is left: %q", files)
	}
}

// The one with the lower id stays and looks again: until the other has stepped back, or runs.
func TestTheLowerRunThatAsksLooksAgain(t *testing.T) {
	for what, then := range map[string]func(w *world, l *Ledger){
		"has stepped back": func(w *world, l *Ledger) {
			w.must(l.fs.Remove(l.beatPath(highest)))
			w.must(l.fs.Remove(l.recordPath(highest)))
		},
		"has failed": func(w *world, l *Ledger) { w.other(highest, Failed, wholeMode) },
		"runs":       func(w *world, l *Ledger) { w.other(highest, Running, wholeMode) },
	} {
		t.Run(what, func(t *testing.T) {
			w := newWorld(t)
			w.other(highest, Asking, wholeMode)
			taken := make(chan struct{})
			var once sync.Once
			hook := &atOp{kind: "remove", suffix: ".json", do: func() { once.Do(func() { close(taken) }) }} // the temporary file of the save
			done := make(chan error)
			go func() { done <- w.once(w.open(hook), whole) }()
			<-taken
			then(w, w.open(nil))
			err := <-done
			var held *TargetHeldError
			if what == "runs" {
				if !errors.As(err, &held) || held.Asking {
					t.Fatalf("got %v", err)
				}
				return
			}
			w.must(err)
			w.wantRows("alone", "1a", "1b")
		})
	}
}

// A wish to stop ends the waiting.
func TestWaitingForAnotherEndsWithTheContext(t *testing.T) {
	w := newWorld(t)
	w.other(highest, Asking, wholeMode)
	ctx, stop := context.WithCancelCause(context.Background())
	enough := errors.New("enough")
	hook := &atOp{kind: "link", do: func() { stop(enough) }} // when it takes its batch
	run, err := w.open(hook).Begin(ctx, w.info(batch("d1"), wholeMode))
	w.must(err)
	if _, err := run.Acquire(run.Context(), []Request{{Batch: batch("d1")}}); !errors.Is(err, enough) {
		t.Fatalf("got %v", err)
	}
	if d := w.document(batch("d1")); d.Holder != nil {
		t.Fatalf("%+v", d)
	}
}

// A run whose record is taken away while it asks starts over: others may not have seen it.
func TestARunWhoseRecordIsGoneStartsOver(t *testing.T) {
	for times := 1; times <= maxStarts; times++ {
		w := newWorld(t)
		n := 0
		hook := &eachOp{kind: "link", do: func() {
			files, _ := filepath.Glob(filepath.Join(w.dir, ".ubunye", "runs", "*.json"))
			if n++; len(files) == 1 && n < 2*times { // acquire, release, acquire, …
				w.must(os.Remove(files[0]))
			}
		}}
		err := w.once(w.open(hook), whole)
		if times == maxStarts {
			if !errors.As(err, new(*UnwritableError)) {
				t.Fatalf("got %v", err)
			}
			continue
		}
		w.must(err)
		w.wantRows("started over", "1a", "1b")
	}
}

// eachOp calls do before every operation of a kind.
type eachOp struct {
	kind string
	do   func()
}

func (e *eachOp) Before(op fsops.Op) error {
	if op.Kind == e.kind {
		e.do()
	}
	return nil
}

func (e *eachOp) After(fsops.Op, error) error { return nil }

// A record that cannot be read may be anybody's (I7): who replaces is refused, and who appends if its run
// may live.
func TestI7_ARecordThatCannotBeReadIsInTheWay(t *testing.T) {
	w := newWorld(t)
	l := w.open(nil)
	_, err := l.create()
	w.must(err)
	for _, c := range []struct {
		name   string
		record bool
		beat   time.Duration // age of its heartbeat; 0: it has none
		mode   string
		pass   bool
	}{
		{"replace", true, 0, wholeMode, false},
		{"append, no heartbeat, record fresh", true, 0, "", false},
		{"append, fresh heartbeat", true, time.Minute, "", false},
		{"append, old heartbeat", true, 100 * time.Hour, "", true},
		{"replace, old heartbeat", true, 100 * time.Hour, wholeMode, false},
		{"replace, heartbeat alone", false, time.Minute, wholeMode, false},
		{"append, heartbeat alone", false, time.Minute, "", false},
		{"replace, old heartbeat alone", false, 100 * time.Hour, wholeMode, true},
	} {
		record, beat := l.recordPath(lowest), l.beatPath(lowest)
		os.Remove(record)
		os.Remove(beat)
		if c.record {
			w.must(os.WriteFile(record, []byte("{"), 0o666))
		}
		if c.beat > 0 {
			w.must(os.WriteFile(beat, nil, 0o666))
			then := time.Now().Add(-c.beat)
			w.must(os.Chtimes(beat, then, then))
		}
		err := w.once(w.open(nil), job{batch: batch(c.name), rows: []string{"1"}, mode: c.mode})
		var bad *UnreadableError
		if c.pass != (err == nil) || !c.pass && (!errors.As(err, &bad) || !strings.Contains(bad.Path, lowest)) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// What a run that is gone had committed is landed before its folder is replaced, also if it was of
// another pipeline: half an append is never lost to an exchange.
func TestACommittedListIsCarriedOutBeforeTheFolderIsReplaced(t *testing.T) {
	w := newWorld(t)
	other := batch("d1")
	other.Pipeline = "other"
	ctx := context.Background()
	run, err := w.mortal(nil).Begin(ctx, RunInfo{Pipeline: "other", Batches: []Batch{other}, Targets: []Target{{Path: w.lake, Adds: true}}})
	w.must(err)
	leases, err := run.Acquire(ctx, []Request{{Batch: other}})
	w.must(err)
	w.must(leases[0].Prepare(ctx, w.spec()))
	w.must(stage(leases[0], []string{"1a", "1b"}))
	w.must(commit(leases[0], "clean"))

	var rows []string
	look := &eachOp{kind: "exchange", do: func() { rows = w.rows() }}
	w.must(w.once(w.open(look), job{batch: batch("d2"), rows: []string{"2"}, mode: wholeMode}))
	if !slices.Equal(rows, []string{"1a", "1b"}) {
		t.Fatalf("before the exchange a reader sees %q", rows)
	}
	w.wantRows("replaced", "2")
	if d := w.document(other); len(d.Todo) > 0 {
		t.Fatalf("%+v", d.Todo)
	}
	// a start of one pipeline looks at the records of runs that write to its targets
	done, left, err := w.open(nil).FinishCommitted(ctx, "sales", Target{Path: w.lake})
	if err != nil || len(done)+len(left) != 0 {
		t.Fatalf("%v %v %v", done, left, err)
	}
}

// R32: an entry that cannot be carried out is in the way of who would replace the folder, and not of who
// appends to it.
func TestR32_AnEntryThatIsLeftIsInTheWayOfAnOverwrite(t *testing.T) {
	w := newWorld(t)
	run, s := w.commit(job{batch: batch("d1"), rows: []string{"1a"}})
	w.must(run.End(context.Background(), Failed))
	claim := w.document(batch("d1")).Finished.Outputs["clean"].Claims[0]
	staged := stagedPath(s.Staging("clean"), claim)
	w.must(os.MkdirAll(filepath.Join(w.lake, claim), 0o777)) // its name is taken
	w.record(run.ID, func(r *Record) { r.Targets = []Target{{Path: w.lake, Adds: true}} })

	var left *LeftError
	if err := w.once(w.open(nil), job{batch: batch("d2"), rows: []string{"2"}, mode: wholeMode}); !errors.As(err, &left) || left.Batch.Key != batch("d1").Key {
		t.Fatalf("got %v", err)
	}
	if _, err := os.Stat(staged); err != nil {
		t.Fatal(err)
	}
	w.must(w.once(w.open(nil), job{batch: batch("d3"), rows: []string{"3"}}))
}

// record edits a run's record.
func (w *world) record(run string, edit func(*Record)) {
	w.t.Helper()
	l := w.open(nil)
	all, _, err := l.records()
	w.must(err)
	i := slices.IndexFunc(all, func(r Record) bool { return r.Run == run })
	if i < 0 {
		w.t.Fatalf("no record of %s", run)
	}
	edit(&all[i])
	w.must(l.writeRecord(all[i], false))
}

// One folder by two paths, of which one replaces it, is refused before anything is written.
func TestOneFolderByTwoPaths(t *testing.T) {
	w := newWorld(t)
	w.must(os.MkdirAll(w.lake, 0o777))
	link := filepath.Join(w.dir, "link")
	w.must(os.Symlink(filepath.Dir(w.lake), link))
	info := w.info(batch("d1"), wholeMode)
	info.Targets = append(info.Targets, Target{Path: filepath.Join(link, "orders"), Adds: true})
	var twice *TargetTwiceError
	if err := w.open(nil).TargetRefusal(context.Background(), info.Targets); !errors.As(err, &twice) {
		t.Fatalf("got %v", err)
	}
	if _, err := w.open(nil).Begin(context.Background(), info); !errors.As(err, &twice) {
		t.Fatalf("got %v", err)
	}
	// One that is begun when the other is done does not meet it.
	for i := range info.Targets {
		ordered := slices.Clone(info.Targets)
		ordered[i].After = []int{1 - i}
		w.must(w.open(nil).TargetRefusal(context.Background(), ordered))
	}
	info.Targets[1].After = []int{1} // itself, which says nothing
	if err := w.open(nil).TargetRefusal(context.Background(), info.Targets); !errors.As(err, &twice) {
		t.Fatalf("got %v", err)
	}
	info.Targets[0].Adds = true
	w.must(w.open(nil).TargetRefusal(context.Background(), info.Targets))
}

// Many runs of many batches at once, appends and overwrites: each append is there whole or not at all, as
// a later overwrite or none decided, and no run fails but by a refusal.
func TestR65_ManyAtOnce(t *testing.T) {
	w := newWorld(t)
	var all sync.WaitGroup
	errs := make([]error, 16)
	jobs := make([]job, len(errs))
	for i := range errs {
		jobs[i] = job{batch: batch(fmt.Sprint("d", i)), rows: []string{fmt.Sprintf("%02da", i), fmt.Sprintf("%02db", i)}}
		if i%4 == 0 {
			jobs[i].mode = wholeMode
		}
		all.Go(func() { errs[i] = w.once(w.open(nil), jobs[i]) })
	}
	all.Wait()
	rows := w.rows()
	ran := 0
	for i, err := range errs {
		here := slices.Contains(rows, jobs[i].rows[0])
		if here != slices.Contains(rows, jobs[i].rows[1]) {
			t.Errorf("run %d is there by half: %q", i, rows)
		}
		switch {
		case err == nil:
			ran++
		case !errors.As(err, new(*TargetHeldError)):
			t.Errorf("run %d: %v", i, err)
		case here:
			t.Errorf("run %d was refused, and is there: %q", i, rows)
		}
	}
	if t.Logf("%d of %d ran", ran, len(errs)); ran == 0 || len(rows) == 0 {
		t.Fatalf("%d ran, %q", ran, rows)
	}
}
