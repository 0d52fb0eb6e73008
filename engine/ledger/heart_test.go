package ledger

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
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

// procDir makes what certainlyGone reads of a proc(5) file system.
func procDir(t *testing.T, mounts string, stats map[string]string) string {
	dir := t.TempDir()
	if err := os.Symlink("7", filepath.Join(dir, "self")); err != nil {
		t.Fatal(err)
	}
	write := func(pid, name, text string) {
		if err := os.MkdirAll(filepath.Join(dir, pid), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, pid, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write("7", "mounts", mounts)
	for pid, text := range stats {
		write(pid, "stat", text)
	}
	return dir
}

// table is the process table that a proc(5) file system shows to the process me.
func table(proc string, me int) func(int) process {
	return func(pid int) process { return readProcess(proc, me, pid) }
}

func stat(state, started string) string {
	return "1 (a) b) c) " + state + " 1 1 1 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 " + started + " 1000 200 18446744073709551615\n"
}

// R08 and R09: a process is certainly gone only where this one can look, and looking is reading.
func TestR09_JudgingReadsAndNeverSignals(t *testing.T) {
	const mounts = "proc /proc proc rw,relatime 0 0\n"
	me := Identity{Machine: "m", Boot: "b", PIDNamespace: 1, PID: 7, Started: "50"}
	other := Identity{Machine: "m", Boot: "b", PIDNamespace: 1, PID: 8, Started: "99"}
	with := func(edit func(*Identity)) Identity { o := other; edit(&o); return o }
	for _, c := range []struct {
		what   string
		other  Identity
		mounts string
		stats  map[string]string
		want   bool
	}{
		{"its pid is free", other, mounts, nil, true},
		{"running", other, mounts, map[string]string{"8": stat("R", "99")}, false},
		{"stopped", other, mounts, map[string]string{"8": stat("T", "99")}, false},
		{"zombie", other, mounts, map[string]string{"8": stat("Z", "99")}, true},
		{"ended", other, mounts, map[string]string{"8": stat("X", "99")}, true},
		{"its pid was used again", other, mounts, map[string]string{"8": stat("S", "100")}, true},
		{"another machine", with(func(o *Identity) { o.Machine = "n" }), mounts, nil, false},
		{"no machine id", with(func(o *Identity) { o.Machine = "" }), mounts, nil, false},
		{"another boot", with(func(o *Identity) { o.Boot = "c" }), mounts, nil, false},
		{"no boot id", with(func(o *Identity) { o.Boot = "" }), mounts, nil, false},
		{"another pid namespace", with(func(o *Identity) { o.PIDNamespace = 2 }), mounts, nil, false},
		{"no pid", with(func(o *Identity) { o.PID = 0 }), mounts, nil, false},
		{"no start time", with(func(o *Identity) { o.Started = "" }), mounts, nil, false},
		{"others' processes are hidden", other, "proc /proc proc rw,hidepid=2 0 0\n", nil, false},
		{"others' processes are hidden by name", other, "proc /proc proc rw,hidepid=invisible 0 0\n", nil, false},
		{"hidepid off", other, "proc /proc proc rw,hidepid=0 0 0\n", nil, true},
		{"stat of another form", other, mounts, map[string]string{"8": "8 (x) R\n"}, false},
	} {
		if got := certainlyGone(table(procDir(t, c.mounts, c.stats), me.PID), me, c.other); got != c.want {
			t.Errorf("%s: %v, want %v", c.what, got, c.want)
		}
	}
	elsewhere := me
	elsewhere.PID = 70 // proc is of another pid namespace
	if certainlyGone(table(procDir(t, mounts, nil), elsewhere.PID), elsewhere, other) {
		t.Error("a proc of another namespace was believed")
	}
	empty := other
	empty.Machine, me.Machine = "", ""
	if certainlyGone(table(procDir(t, mounts, nil), me.PID), me, empty) {
		t.Error("two unknown machines were taken for one")
	}
}

func TestThisProcess(t *testing.T) {
	me := ThisProcess()
	if me.PID != os.Getpid() || me.Host == "" {
		t.Fatalf("%+v", me)
	}
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("no /proc")
	}
	state, started, err := processStat(procRoot, strconv.Itoa(os.Getpid()))
	if err != nil || started != me.Started || state == "" || me.Boot == "" || me.PIDNamespace == 0 {
		t.Fatalf("%+v, %s, %v", me, started, err)
	}
	if certainlyGone(lookUpProcess, me, me) {
		t.Fatal("this process is taken for gone")
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
