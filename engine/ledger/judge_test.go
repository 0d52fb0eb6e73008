package ledger

import (
	"errors"
	"os"
	"testing"
	"time"
)

// R07, R08: every way in which a run is alive or dead, by one look.
func TestR08_Judging(t *testing.T) {
	w := newWorld(t)
	cfg := w.config(nil)
	cfg.Heartbeat, cfg.Timeout = 30*time.Second, 15*time.Minute
	l := w.openAs(cfg)
	_, err := l.create()
	w.must(err)
	here := cfg.Identity
	with := func(edit func(*Identity)) Identity { o := here; edit(&o); return o }
	const run = "20260101T000000Z-00000000"
	for _, c := range []struct {
		what  string
		other Identity
		age   time.Duration
		dead  bool
		looks time.Duration
	}{
		{"this process, fresh", here, 0, false, 0},
		{"this process, silent for longer than the timeout", here, time.Hour, false, 45 * time.Second},
		{"its process is gone", with(func(o *Identity) { o.PID = goner }), 0, true, 0},
		{"its pid is another process's", with(func(o *Identity) { o.Started = "49" }), 0, true, 0},
		{"the same host name on another machine, its pid free here", with(func(o *Identity) { o.Machine, o.PID = "n", goner }), 0, false, 0},
		{"another machine, almost too old", with(func(o *Identity) { o.Machine, o.PID = "n", goner }), 15*time.Minute - time.Second, false, 0},
		{"another machine, too old", with(func(o *Identity) { o.Machine = "n" }), 15 * time.Minute, false, 45 * time.Second},
		{"another pid namespace of this machine, its pid free here", with(func(o *Identity) { o.PIDNamespace, o.PID = 2, goner }), 0, false, 0},
		{"this machine before it was started anew", with(func(o *Identity) { o.Boot = "a" }), 91 * time.Second, true, 0},
		{"a clone of this machine that beats", with(func(o *Identity) { o.Boot = "a" }), 89 * time.Second, false, 0},
		{"a machine without an id, started anew perhaps", with(func(o *Identity) { o.Machine, o.Boot = "", "a" }), 91 * time.Second, false, 0},
		{"a boot that is not known", with(func(o *Identity) { o.Boot = "" }), 91 * time.Second, false, 0},
		{"a heartbeat dated in the future", with(func(o *Identity) { o.Machine = "n" }), -time.Hour, false, 0},
		{"a heartbeat dated in the future, its process gone", with(func(o *Identity) { o.PID = goner }), -time.Hour, true, 0},
	} {
		now := time.Now()
		w.must(l.fs.Beat(l.beatPath(run)))
		w.must(os.Chtimes(l.beatPath(run), now.Add(-c.age), now.Add(-c.age)))
		l.sights = sights{}
		j := l.judge(run, c.other, "", now)
		if j.dead != c.dead || j.looks != c.looks || j.age.Round(time.Millisecond) != c.age {
			t.Errorf("%s: %+v, want dead %v, looks %s", c.what, j, c.dead, c.looks)
		}
	}
}

// R07: by age alone a run is dead only when its heartbeat was seen unchanged twice, one and a half intervals
// apart; one dated in the future, when it was unchanged for a whole timeout of this process's clock.
func TestR07_TheSecondLook(t *testing.T) {
	w := newWorld(t)
	var elapsed time.Duration
	cfg := w.config(nil)
	cfg.Heartbeat, cfg.Timeout = 30*time.Second, 15*time.Minute
	cfg.Elapsed = func() time.Duration { return elapsed }
	l := w.openAs(cfg)
	_, err := l.create()
	w.must(err)
	other := Identity{Machine: "n", PID: 1}
	const run = "20260101T000000Z-00000000"
	now := time.Now()
	beat := func(age time.Duration) {
		w.must(l.fs.Beat(l.beatPath(run)))
		w.must(os.Chtimes(l.beatPath(run), now.Add(-age), now.Add(-age)))
	}
	look := func(what string, dead bool, looks time.Duration) {
		t.Helper()
		if j := l.judge(run, other, "", now); j.dead != dead || j.looks != looks {
			t.Fatalf("%s: %+v, want dead %v, looks %s", what, j, dead, looks)
		}
	}
	beat(time.Hour)
	look("first look", false, 45*time.Second)
	elapsed += 44 * time.Second
	look("too soon", false, time.Second)
	beat(time.Hour - time.Second) // it did beat, by a clock that lags
	look("it beats", false, 45*time.Second)
	elapsed += 45 * time.Second
	look("second look", true, 0)

	beat(-time.Hour)
	look("in the future", false, 0)
	elapsed += cfg.Timeout - 1
	look("for almost a timeout", false, 0)
	elapsed++
	look("for a timeout", true, 0)
}

// A holder without a heartbeat is as old as its document.
func TestAMissingHeartbeatHasTheAgeOfTheDocument(t *testing.T) {
	w := newWorld(t)
	l := w.open(nil)
	run, s := w.begin(l, Request{Batch: batch("d1")})
	w.must(os.Remove(l.beatPath(run.ID)))
	then := time.Now().Add(-3 * time.Hour)
	w.must(os.Chtimes(s.version.Path, then, then))
	held := l.judgeHolder(s.doc, s.version, time.Now())
	if held.Age.Round(time.Minute) != 3*time.Hour || !held.Beat.Equal(then.Truncate(time.Nanosecond)) {
		t.Fatalf("%+v", held)
	}
	other := s.doc.Holder.Identity
	other.Machine = "n"
	if j := l.judge(run.ID, other, s.version.Path, time.Now()); j.dead || j.looks != 0 {
		t.Fatalf("younger than the timeout: %+v", j)
	}
	then = time.Now().Add(-6 * time.Hour)
	w.must(os.Chtimes(s.version.Path, then, then))
	if j := l.judge(run.ID, other, s.version.Path, time.Now()); j.looks == 0 {
		t.Fatalf("older than the timeout: %+v", j)
	}
}

// A dead run without a heartbeat is looked at by its document and by its record in turn, which are not of one
// age: each look counts for its own file, or it would be watched for ever.
func TestR07_TheSecondLookWithoutAHeartbeat(t *testing.T) {
	w := newWorld(t)
	var elapsed time.Duration
	cfg := w.config(nil)
	cfg.Heartbeat, cfg.Timeout = 30*time.Second, 15*time.Minute
	cfg.Elapsed = func() time.Duration { return elapsed }
	l := w.openAs(cfg)
	run, s := w.begin(l, Request{Batch: batch("d1")})
	w.must(os.Remove(l.beatPath(run.ID)))
	now := time.Now()
	files := []string{s.version.Path, l.recordPath(run.ID)}
	for i, file := range files {
		then := now.Add(-time.Duration(i+1) * time.Hour)
		w.must(os.Chtimes(file, then, then))
	}
	other := s.doc.Holder.Identity
	other.Machine = "n"
	for _, dead := range []bool{false, true} {
		for _, file := range files {
			if j := l.judge(run.ID, other, file, now); j.dead != dead {
				t.Errorf("by %s after %s: %+v, want dead %v", file, elapsed, j, dead)
			}
		}
		elapsed += secondLook(cfg.Heartbeat)
	}
}

// A run whose own record says that it has ended is dead whatever its process does. That another run took a batch
// over from it proves nothing while it still beats.
func TestARecordThatSaysEnded(t *testing.T) {
	for _, c := range []struct {
		status Status
		by     string
		beats  bool
		dead   bool
	}{
		{Running, "", true, false}, {Asking, "", true, false}, {Waiting, "", true, false},
		{Interrupted, "", true, true}, {Failed, "", true, true}, {"of a newer program", "", true, false},
		{Interrupted, "x", true, false}, {Interrupted, "x", false, true},
	} {
		w := newWorld(t)
		w.forged = true
		l := w.open(nil)
		w.other(lowest, Running, "")
		w.record(lowest, func(r *Record) { r.Status, r.By = c.status, c.by })
		if !c.beats {
			w.must(os.Remove(l.beatPath(lowest)))
		}
		if j := l.judge(lowest, l.cfg.Identity, l.recordPath(lowest), time.Now()); j.dead != c.dead {
			t.Errorf("%+v: %+v", c, j)
		}
		alive, err := l.Alive(lowest)
		w.must(err)
		if alive == c.dead {
			t.Errorf("%+v: alive %v", c, alive)
		}
	}
}

// The run state asks about runs of long ago, too: they have no record any more. One that cannot be read is no proof.
func TestAliveWithoutARecord(t *testing.T) {
	w := newWorld(t)
	l := w.open(nil)
	if alive, err := l.Alive(lowest); alive || err != nil {
		t.Error(alive, err)
	}
	w.other(lowest, Running, "")
	w.must(os.WriteFile(l.recordPath(lowest), []byte("{"), 0o666))
	if alive, err := l.Alive(lowest); !errors.As(err, new(*UnreadableError)) {
		t.Error(alive, err)
	}
}

// C024: clocks of machines differ by three quarters of an hour, in either direction, and the timeout is a quarter. Ages are
// told by the disk's clock alone: a holder that beats is not taken over, whoever's clock is wrong, and a dead one is.
func TestC024_ClocksThatAreWrong(t *testing.T) {
	const wrong = 45 * time.Minute
	for _, c := range []struct {
		name          string
		holder, taker time.Duration
	}{{"the taker's is fast", 0, wrong}, {"the taker's is slow", 0, -wrong}, {"the holder's is fast", wrong, 0}, {"the holder's is slow", -wrong, 0}} {
		for _, dead := range []bool{false, true} {
			w := newWorld(t)
			var elapsed clock
			open := func(machine string, off time.Duration) *Ledger {
				cfg := w.config(nil)
				cfg.Identity.Machine, cfg.Timeout, cfg.Heartbeat = machine, 15*time.Minute, time.Minute
				cfg.Now = func() time.Time { return time.Now().Add(off) }
				cfg.Elapsed = elapsed.elapsed
				return w.openAs(cfg)
			}
			holder, _ := w.begin(open("n", c.holder), Request{Batch: batch("d1")})
			if dead {
				w.age(open("n", 0).beatPath(holder.ID))
			}
			taker := open("m", c.taker)
			if err := taker.Refusal(t.Context(), Request{Batch: batch("d1")}); dead && err != nil {
				t.Fatalf("%s: refused by a dead run: %v", c.name, err)
			}
			run, err := taker.Begin(t.Context(), RunInfo{Pipeline: "sales", Waiting: func(error) { elapsed.pass(secondLook(time.Minute)) }})
			w.must(err)
			_, err = run.Acquire(t.Context(), []Request{{Batch: batch("d1")}})
			var held *HeldError
			switch {
			case dead && err != nil:
				t.Errorf("%s: the dead holder is not taken over: %v", c.name, err)
			case !dead && (!errors.As(err, &held) || held.Dead || held.Age < 0 || held.Age > time.Minute):
				t.Errorf("%s: the live holder: %+v, %v", c.name, held, err)
			}
			if want := map[bool]string{false: holder.ID, true: run.ID}[dead]; w.holder(batch("d1")) != want {
				t.Errorf("%s, dead %v: held by %s", c.name, dead, w.holder(batch("d1")))
			}
		}
	}
}
