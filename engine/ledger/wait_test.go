package ledger

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// clock is what runs during suspend, set by a test.
type clock struct{ now atomic.Int64 }

func (c *clock) elapsed() time.Duration  { return time.Duration(c.now.Load()) }
func (c *clock) pass(time time.Duration) { c.now.Add(int64(time)) }

// silent makes a run of another machine hold a batch, whose heartbeat is older than the timeout.
func (w *world) silent(b Batch) (*Run, string) {
	w.t.Helper()
	c := w.config(nil)
	c.Identity.Machine = "n"
	l := w.openAs(c)
	run, _ := w.begin(l, Request{Batch: b})
	w.age(l.beatPath(run.ID))
	return run, l.beatPath(run.ID)
}

func (w *world) age(beat string) {
	w.t.Helper()
	then := time.Now().Add(-24 * time.Hour)
	w.must(os.Chtimes(beat, then, then))
}

// R07: a holder that looks too old is watched, which is told, and then taken over; if it gives a sign meanwhile it
// is refused like any other. Meanwhile this run holds nothing and does not stand in anybody's way.
func TestR07_ASilentHolderIsWatched(t *testing.T) {
	for _, beats := range []bool{false, true} {
		w := newWorld(t)
		holder, beat := w.silent(batch("d2"))
		c := w.config(nil)
		var time clock
		c.Elapsed = time.elapsed
		l := w.openAs(c)
		if err := l.Refusal(context.Background(), Request{Batch: batch("d2")}); err != nil {
			t.Fatalf("refused before it could be watched: %v", err)
		}
		told := 0
		var begun *Run
		info := RunInfo{Pipeline: "sales", Waiting: func(err error) {
			told++
			var held *HeldError
			if !errors.As(err, &held) || held.Holder.Run != holder.ID || held.Looks != secondLook(c.Heartbeat) {
				t.Errorf("%+v", err)
			}
			if d := w.document(batch("d1")); d.Holder != nil {
				t.Errorf("it holds %+v while it waits", d)
			}
			if r, err := w.open(nil).readRecord(begun.ID); err != nil || r.Status != Waiting {
				t.Errorf("%+v, %v", r, err)
			}
			if beats {
				w.must(w.open(nil).fs.Beat(beat))
			}
			time.pass(secondLook(c.Heartbeat))
		}}
		begun, err := l.Begin(context.Background(), info)
		w.must(err)
		leases, err := begun.Acquire(context.Background(), []Request{{Batch: batch("d1")}, {Batch: batch("d2")}})
		if told != 1 {
			t.Fatalf("told %d times", told)
		}
		if beats {
			var held *HeldError
			if !errors.As(err, &held) || held.Dead || held.Holder.Run != holder.ID || errors.As(err, new(*WaitedError)) {
				t.Fatalf("got %v", err)
			}
			continue
		}
		w.must(err)
		taken := begun.Takeovers()
		if len(leases) != 2 || len(taken) != 1 || taken[0].Certain || w.holder(batch("d2")) != begun.ID {
			t.Fatalf("%+v", taken)
		}
		if d := w.document(batch("d2")); !strings.HasPrefix(d.Tried[0].Reason, "it gave no sign for 2") { // a day and more
			t.Fatalf("%+v", d.Tried)
		}
		if r, err := l.readRecord(begun.ID); err != nil || r.Status != Running {
			t.Fatalf("%+v, %v", r, err)
		}
	}
}

// R12: a start that was told to wait gets the batch when its holder gives it back, and takes it over when the holder
// dies meanwhile; when the time is over it is refused.
func TestR12_Waiting(t *testing.T) {
	for _, c := range []struct {
		name string
		then func(w *world, holder *Run, s *Lease, time *clock, l *Ledger)
		err  bool
		took int
	}{
		{"the holder ends", func(w *world, holder *Run, s *Lease, _ *clock, _ *Ledger) {
			w.must(s.Release(context.Background()))
			w.must(holder.End(context.Background(), Succeeded))
		}, false, 0},
		{"the holder dies", func(_ *world, _ *Run, _ *Lease, _ *clock, l *Ledger) {
			l.processes = func(int) process { return process{known: true} }
		}, false, 1},
		{"the time is over", func(_ *world, _ *Run, _ *Lease, time *clock, l *Ledger) { time.pass(l.cfg.Timeout / 3) }, true, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			holder, s := w.begin(w.open(nil), Request{Batch: batch("d1")})
			cfg := w.config(nil)
			var time clock
			cfg.Elapsed = time.elapsed
			l := w.openAs(cfg)
			told := 0
			run, err := l.Begin(context.Background(), RunInfo{Pipeline: "sales", Wait: cfg.Timeout / 3, Waiting: func(err error) {
				if told++; !errors.As(err, new(*HeldError)) {
					t.Errorf("told of %v", err)
				}
				c.then(w, holder, s, &time, l)
			}})
			w.must(err)
			leases, err := run.Acquire(context.Background(), []Request{{Batch: batch("d1")}})
			if told != 1 || len(run.Takeovers()) != c.took {
				t.Fatalf("told %d times, took over %+v", told, run.Takeovers())
			}
			var waited *WaitedError
			if c.err {
				if !errors.As(err, &waited) || waited.For != cfg.Timeout/3 || !errors.As(err, new(*HeldError)) {
					t.Fatalf("got %v", err)
				}
				return
			}
			w.must(err)
			w.must(leases[0].Prepare(context.Background(), w.spec()))
		})
	}
}

// R12: the same for a folder that another run replaces; the one that waits holds nothing, so others pass it.
func TestR12_WaitingForATarget(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	first, err := w.open(nil).Begin(ctx, w.info(batch("d1"), wholeMode))
	w.must(err)
	leases, err := first.Acquire(ctx, []Request{{Batch: batch("d1")}})
	w.must(err)
	info := w.info(batch("d2"), "")
	info.Wait = time.Hour
	info.Waiting = func(err error) {
		if !errors.As(err, new(*TargetHeldError)) || w.holder(batch("d2")) != "" {
			t.Errorf("told of %v, held by %q", err, w.holder(batch("d2")))
		}
		w.must(leases[0].Release(ctx))
		w.must(first.End(ctx, Succeeded))
		w.must(w.once(w.open(nil), job{batch: batch("d3"), rows: []string{"3"}, mode: wholeMode}))
	}
	second, err := w.open(nil).Begin(ctx, info)
	w.must(err)
	if _, err := second.Acquire(ctx, []Request{{Batch: batch("d2"), Appends: true}}); err != nil {
		t.Fatal(err)
	}
	w.wantRows("the third passed", "3")
}

// A wish to stop ends the waiting, and the run leaves nothing.
func TestR12_AWishToStopEndsTheWaiting(t *testing.T) {
	w := newWorld(t)
	w.begin(w.open(nil), Request{Batch: batch("d1")})
	ctx, stop := context.WithCancelCause(context.Background())
	enough := errors.New("enough")
	run, err := w.open(nil).Begin(ctx, RunInfo{Pipeline: "sales", Wait: time.Hour, Waiting: func(error) { stop(enough) }})
	w.must(err)
	if _, err := run.Acquire(run.Context(), []Request{{Batch: batch("d1")}}); !errors.Is(err, enough) {
		t.Fatalf("got %v", err)
	}
	w.must(run.End(context.Background(), Refused))
	if ids := w.runs(); len(ids) != 2 { // the holder's record and heartbeat
		t.Fatalf("left: %q", ids)
	}
}

// C032: of two runs that ask for one batch and write to one place, the lower goes on asking when the higher one took the batch first:
// that steps back for it. If both were refused, any number of starts could refuse each other.
func TestC032_TheLowerRunWaitsForTheBatchOfAHigherOneThatAsks(t *testing.T) {
	for _, runs := range []bool{false, true} {
		w := newWorld(t)
		ctx := context.Background()
		info := w.info(batch("d1"), wholeMode)
		info.ID = highest
		high, err := w.open(nil).Begin(ctx, info)
		w.must(err)
		leases, err := high.acquireAll(ctx, []Request{{Batch: batch("d1")}}, []int{0})
		w.must(err)

		l := w.open(nil)
		w.must(l.Refusal(ctx, Request{Batch: batch("d1")})) // it cannot be told yet
		var low *Run
		told := 0
		info = w.info(batch("d1"), wholeMode)
		info.Waiting = func(err error) {
			var held *HeldError
			if told++; !errors.As(err, &held) || !held.Yields || held.Holder.Run != highest {
				t.Errorf("%+v", err)
			}
			if r, err := l.readRecord(low.ID); err != nil || r.Status != Asking {
				t.Errorf("%+v, %v", r, err)
			}
			if runs {
				w.must(high.enter())
				return
			}
			var target *TargetHeldError
			if _, err := high.exclude(ctx); !errors.As(err, &target) || target.Other.Run != low.ID {
				t.Errorf("the higher one: %v", err)
			}
			high.giveBack(ctx, leases)
			w.must(high.End(ctx, Refused))
		}
		low, err = l.Begin(ctx, info)
		w.must(err)
		leases, err = low.Acquire(ctx, []Request{{Batch: batch("d1")}})
		var held *HeldError
		switch {
		case told != 1:
			t.Fatalf("told %d times", told)
		case runs && (!errors.As(err, &held) || held.Holder.Run != highest || held.Yields):
			t.Fatalf("got %v", err)
		case !runs && (err != nil || !w.document(batch("d1")).heldBy(low.ID, leases[0].Epoch())):
			t.Fatalf("got %v", err)
		}
	}
}

// A holder that is over since its document was read is no holder: the refusal is looked at once more, and only once if
// nothing has changed.
func TestAHolderThatIsOverIsLookedAtAgain(t *testing.T) {
	for _, given := range []bool{true, false} {
		w := newWorld(t)
		ctx := context.Background()
		holder, lease := w.begin(w.open(nil), Request{Batch: batch("d1")})
		l := w.open(nil)
		run, err := l.Begin(ctx, w.info(batch("d1"), wholeMode))
		w.must(err)
		tries := 0
		_, err = run.patiently(ctx, func() ([]*Lease, error) {
			tries++
			refusal := run.lookFirst(ctx, []Request{{Batch: batch("d1")}}, []int{0})
			if tries == 1 {
				if given {
					holder.giveBack(ctx, []*Lease{lease})
				}
				w.must(holder.forget())
			}
			return nil, refusal
		})
		var held *HeldError
		if tries != 2 || given != (err == nil) || !given && (!errors.As(err, &held) || held.Holder.Run != holder.ID) {
			t.Fatalf("given back %v: %d tries, %v", given, tries, err)
		}
	}
}
