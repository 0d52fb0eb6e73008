package ledger

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ubunye-io/ubunye/engine/store"
	"github.com/ubunye-io/ubunye/engine/store/fsops"
)

// The run's context ends when its beats have failed for half the timeout, and not before.
func TestTheRunEndsBeforeOthersMayJudgeItDead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		var fail atomic.Bool
		ctx, cancel := context.WithCancelCause(context.Background())
		h := &heart{
			path: "beat", every: 30 * time.Second, limit: 450 * time.Second, end: cancel,
			elapsed: func() time.Duration { return time.Since(begun) },
			beat: func() error {
				if fail.Load() {
					return syscall.EIO
				}
				return nil
			},
		}
		if err := h.start(); err != nil {
			t.Fatal(err)
		}
		defer h.stop()
		time.Sleep(time.Hour) // of the bubble's clock
		if err := ctx.Err(); err != nil {
			t.Fatal("ended although every beat succeeded")
		}
		fail.Store(true)
		failed := time.Now()
		<-ctx.Done()
		var dead *HeartbeatError
		if !errors.As(context.Cause(ctx), &dead) || !errors.Is(dead, syscall.EIO) || dead.For < 450*time.Second {
			t.Fatalf("got %v", context.Cause(ctx))
		}
		if took := time.Since(failed); took < 420*time.Second || took > 480*time.Second {
			t.Fatalf("ended after %s", took)
		}
	})
}

// A beat that hangs counts as failed.
func TestAHangingBeatEndsTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		hang := make(chan struct{})
		var beats atomic.Int32
		ctx, cancel := context.WithCancelCause(context.Background())
		h := &heart{
			every: 30 * time.Second, limit: 450 * time.Second, end: cancel,
			elapsed: func() time.Duration { return time.Since(begun) },
			beat: func() error {
				if beats.Add(1) == 1 {
					return nil
				}
				<-hang
				return nil
			},
		}
		if err := h.start(); err != nil {
			t.Fatal(err)
		}
		<-ctx.Done()
		if took := time.Since(begun); took != 450*time.Second {
			t.Fatalf("ended after %s", took)
		}
		close(hang)
		h.stop()
	})
}

// Time that passes in suspend counts, although timers stand still in it: the first step after waking
// up is refused.
func TestASuspendedRunTakesNoFurtherStep(t *testing.T) {
	w := newWorld(t)
	var elapsed time.Duration
	cfg := w.config(nil)
	cfg.Elapsed = func() time.Duration { return elapsed }
	l, err := Open(context.Background(), cfg)
	w.must(err)
	run, err := l.Begin(context.Background(), RunInfo{Pipeline: "sales"})
	w.must(err)
	leases, err := run.Acquire(context.Background(), []Request{{Batch: batch("d1")}})
	w.must(err)
	elapsed = cfg.Timeout/2 - 1
	w.must(leases[0].Prepare(context.Background(), w.spec()))
	elapsed = cfg.Timeout / 2
	if err := commit(leases[0], "clean"); !errors.As(err, new(*HeartbeatError)) || !strings.Contains(err.Error(), "suspended") {
		t.Fatalf("got %v", err)
	}
	w.must(leases[0].Fail(context.Background(), "suspended"))
	w.must(run.End(context.Background(), Failed))
	if run.Context().Err() == nil {
		t.Fatal("the context goes on after the end")
	}
}

func TestABeatThatFindsItsFileGoneMakesItAgain(t *testing.T) {
	w := newWorld(t)
	l := w.open(nil)
	run, err := l.Begin(context.Background(), RunInfo{Pipeline: "sales"})
	w.must(err)
	w.must(os.Remove(l.beatPath(run.ID)))
	w.must(run.heart.once())
	if _, err := store.ModTime(l.beatPath(run.ID)); err != nil {
		t.Fatal(err)
	}
	w.must(run.End(context.Background(), Succeeded))
}

func TestTimeoutIsAtLeastSixHeartbeats(t *testing.T) {
	_, err := Open(context.Background(), Config{Path: t.TempDir(), Heartbeat: time.Minute, Timeout: 5 * time.Minute})
	if err == nil {
		t.Fatal("five heartbeats were taken")
	}
}

func TestARefusedAcquireChangesNothing(t *testing.T) {
	w := newWorld(t)
	trace := &fsops.Trace{}
	run, _ := w.begin(w.open(nil), Request{Batch: batch("d1")})
	l := w.open(trace)
	other, err := l.Begin(context.Background(), RunInfo{Pipeline: "sales"})
	w.must(err)
	n := len(trace.Ops())
	if _, err := other.Acquire(context.Background(), []Request{{Batch: batch("d1")}}); !errors.As(err, new(*HeldError)) {
		t.Fatal(err)
	}
	if ops := trace.Ops()[n:]; len(ops) > 0 {
		t.Fatalf("a refusal made changes: %v", ops)
	}
	w.must(run.End(context.Background(), Failed))
}
