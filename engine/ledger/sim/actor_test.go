package sim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/ubunye-io/ubunye/engine/ledger"
	"github.com/ubunye-io/ubunye/engine/store/fsops"
)

// fate is what happens to one change of an actor.
type fate int

const (
	happens  fate = iota
	answered      // it happens, and the caller is told that it failed
	refused       // it does not happen, and the caller is told an error that proves nothing
	noRoom        // it does not happen: no space left
	missing       // it does not happen: the file system cannot do it
	noLinks       // it does not happen: the file system has no hard links
	dies          // the process dies before it
	diesLate      // the process is dead, and this one change, which was on its way, is made all the same
)

// point is a change that an actor is about to make, and waits for its turn.
type point struct {
	op   fsops.Op
	turn chan fate
}

func (p *point) isBeat() bool { return strings.HasSuffix(p.op.Path, ".beat") && p.op.Kind != "remove" }

// actor is a process: one start of the program.
type actor struct {
	w     *world
	n     int
	name  string
	job   job
	plan  []fault
	fsys  *fsops.FS
	ident ledger.Identity

	waiting   []*point    // at most its own and that of a heartbeat
	running   bool        // started, and its goroutine has not ended
	dead      atomic.Bool // no change of it counts any more
	paused    bool
	wake      func() bool // tells whether a paused one goes on
	slept     time.Duration
	since     time.Time       // when it was paused
	gone      bool            // the table of processes says so
	late      bool            // it is dead, and one change of it is on its way
	disturbed int             // changes of others below its staging while it is paused
	doomed    *fault          // what befalls it before its next change
	fates     map[int64]fate  // of changes that are being made
	ops       int             // changes so far, heartbeats not counted
	run       *ledger.Run     // while it is not ended
	id        string          // of the run, also when it has ended
	staged    map[string]bool // what it has staged, by name
	told      map[string]bool // the batches that it was told are committed
	err       error
}

// errDead is what a dead process's changes come to while it unwinds.
var errDead = errors.New("the process is dead")

// Before upholds fsops.Hook: the actor waits for its turn.
func (a *actor) Before(op fsops.Op) error {
	if a.dead.Load() {
		return errDead
	}
	p := &point{op, make(chan fate)}
	a.w.park(a, p)
	what := <-p.turn
	if what == dies {
		return a.die()
	}
	a.w.begin(a, op, what)
	switch what {
	case refused:
		return syscall.EIO
	case noRoom:
		return syscall.ENOSPC
	case missing:
		return errors.ErrUnsupported
	case noLinks:
		return syscall.EPERM
	}
	return nil
}

// After upholds fsops.Hook.
func (a *actor) After(op fsops.Op, err error) error {
	what := a.w.made(a, op, err)
	switch what {
	case diesLate:
		return a.die()
	case answered:
		return syscall.EIO
	}
	return nil
}

// die ends the goroutine. That of a recovery must go on, for its heartbeat is its own to end: nothing that it
// tries counts.
func (a *actor) die() error {
	a.dead.Store(true)
	if a.job.kind != recovers {
		runtime.Goexit()
	}
	return errDead
}

// elapsed is a clock that stands still while the actor is paused, where the seed wants it so: then it wakes up
// and does not know for how long it was away.
func (a *actor) elapsed() time.Duration {
	since := time.Since(epoch)
	if !a.job.naive {
		return since
	}
	a.w.mu.Lock()
	defer a.w.mu.Unlock()
	if a.paused {
		since -= time.Since(a.since)
	}
	return since - a.slept
}

func (a *actor) config() ledger.Config {
	return ledger.Config{
		Path: filepath.Join(a.w.dir, ".ubunye"), FS: a.fsys, Identity: a.ident, Elapsed: a.elapsed,
		Heartbeat: heartbeat, Timeout: timeout, Processes: a.w.lookUp,
	}
}

// live is the life of the process.
func (a *actor) live() {
	defer func() {
		if a.run != nil { // it died: nothing it does counts, but its goroutines must end
			a.dead.Store(true)
			a.run.End(context.Background(), ledger.Interrupted)
		}
		a.w.ended(a)
	}()
	a.err = a.start(context.Background())
}

// start is what the engine does at a start, in its order.
func (a *actor) start(ctx context.Context) error {
	l, err := ledger.Open(ctx, a.config())
	if err != nil {
		return err
	}
	targets := a.targets()
	_, left, err := l.FinishCommitted(ctx, pipeline, targets...)
	if err == nil && a.job.kind == finishes && len(left) > 0 {
		err = fmt.Errorf("work is left: %s", left[0])
	}
	if err != nil || a.job.kind == finishes {
		return err
	}
	if a.job.kind == recovers {
		return a.recover(ctx, l)
	}
	requests := a.requests()
	if err := a.look(ctx, l, requests, targets); err != nil {
		return err
	}
	info := ledger.RunInfo{Pipeline: pipeline, State: pipeline + ".1", Targets: targets, Wait: a.job.wait}
	for _, b := range a.job.batches {
		info.Batches = append(info.Batches, b.batch)
	}
	run, err := l.Begin(ctx, info)
	if err != nil {
		return err
	}
	a.run, a.id = run, run.ID
	leases, err := run.Acquire(run.Context(), requests)
	if err != nil {
		a.end(ctx, ledger.Refused)
		return err
	}
	status := ledger.Succeeded
	for i, s := range leases {
		if e := a.execute(ctx, s, a.job.batches[i]); e != nil {
			err = errors.Join(err, e)
			status = ledger.Failed
			if errors.As(e, new(*ledger.LostError)) || errors.As(e, new(*ledger.UnknownError)) {
				status = ledger.Interrupted
			}
		}
	}
	return errors.Join(err, a.end(ctx, status))
}

// look tells why a start is refused that needs nothing but reading for it.
func (a *actor) look(ctx context.Context, l *ledger.Ledger, requests []ledger.Request, targets []ledger.Target) error {
	for _, q := range requests {
		if err := l.Refusal(ctx, q); err != nil {
			return err
		}
	}
	for _, b := range a.job.batches {
		for _, o := range b.outputs {
			if err := l.CheckTarget(o.name, o.dir); err != nil {
				return err
			}
		}
	}
	return l.TargetRefusal(ctx, targets)
}

// recover is what ubunye recover does; perhaps somebody says that runs are dead which live.
func (a *actor) recover(ctx context.Context, l *ledger.Ledger) error {
	q := ledger.Recovery{Pipeline: pipeline}
	for _, other := range a.w.actors {
		if a.job.declares && other != a && other.running && other.id != "" {
			q.Dead = append(q.Dead, other.id)
			a.w.saw(declaredDead)
		}
	}
	_, err := l.Recover(ctx, q)
	return err
}

func (a *actor) end(ctx context.Context, status ledger.Status) error {
	run := a.run
	a.run = nil
	return run.End(ctx, status)
}

func (a *actor) targets() (targets []ledger.Target) {
	for _, b := range a.job.batches {
		for _, o := range b.outputs {
			targets = append(targets, ledger.Target{Path: o.dir, Adds: o.table || b.modeIn(o) == appends, Parts: b.modeIn(o) == parts})
		}
	}
	return targets
}

func (a *actor) requests() (requests []ledger.Request) {
	for _, b := range a.job.batches {
		q := ledger.Request{Batch: b.batch, Rerun: a.job.rerun, Anyway: a.job.anyway, Incremental: b.incremental}
		for _, o := range b.outputs {
			q.Appends = q.Appends || b.modeIn(o) == appends
		}
		requests = append(requests, q)
	}
	return requests
}

// execute is the path of one batch.
func (a *actor) execute(ctx context.Context, s *ledger.Lease, b *simBatch) error {
	early := a.run.Context()
	if a.job.naive {
		early = ctx // it is awake before its context has ended
	}
	err := a.pin(early, s, b)
	if err == nil {
		err = a.write(early, s, b)
	}
	if err == nil && a.job.fails {
		err = errFails
	}
	if err == nil {
		err = a.commit(ctx, s, b)
	}
	if err != nil {
		if failed := s.Fail(ctx, err.Error()); errors.As(failed, new(*ledger.LostError)) {
			err = failed
		}
	}
	if errors.As(err, new(*ledger.LostError)) {
		a.w.oracle.lost(a, b)
	}
	return err
}

// pin settles what an incremental batch reads: a slice that begins where the last commit's ends, and ends elsewhere for each process.
func (a *actor) pin(ctx context.Context, s *ledger.Lease, b *simBatch) error {
	if !b.incremental {
		return nil
	}
	r := s.Range()
	if r == nil {
		from := int64(0)
		if f := s.Finished(); f != nil {
			from = sliceOf(f.Range).To
		}
		r, _ = json.Marshal(slice{from, from + 1 + int64(a.n)}) // it is made of numbers
	}
	if err := s.Pin(ctx, r); err != nil {
		return err
	}
	a.w.oracle.reads(a, b)
	return nil
}

var (
	errFails    = errors.New("the task fails")
	errOccupied = errors.New("there is data")
)

// write stages every output, as writers do: folders one at a time, names that end in .staged.
func (a *actor) write(ctx context.Context, s *ledger.Lease, b *simBatch) error {
	var specs []ledger.OutputSpec
	for _, o := range b.outputs {
		mode := b.modeIn(o)
		if mode == ifNone {
			if found, err := s.Occupied(o.dir); err != nil || found != "" {
				return errors.Join(err, errOccupied)
			}
		}
		spec := ledger.OutputSpec{Name: o.name, Class: b.classIn(o), Mode: mode, Base: o.dir, Success: o.success, Parts: mode == parts}
		if o.table {
			spec.Table = a.table(o)
		}
		specs = append(specs, spec)
	}
	if err := s.Prepare(ctx, specs); err != nil {
		return err
	}
	for _, o := range b.outputs {
		if found(s, o) {
			continue
		}
		made := map[string]bool{}
		for _, f := range a.w.filesOf(a, b, o) {
			at := filepath.Join(s.Staging(o.name), f.part)
			if !made[at] {
				if err := a.fsys.Mkdir(at, 0o777); err != nil {
					return err
				}
				made[at] = true
			}
			if err := a.stage(filepath.Join(at, f.name+".staged"), f.text()); err != nil {
				return err
			}
		}
	}
	return ctx.Err()
}

// stage writes one file and does not sync it.
func (a *actor) stage(path, text string) error {
	file, err := a.fsys.Create(path, 0o666)
	if err != nil {
		return err
	}
	_, err = file.Write([]byte(text))
	return errors.Join(err, file.Close())
}

func (a *actor) commit(ctx context.Context, s *ledger.Lease, b *simBatch) error {
	c := ledger.Commit{State: pipeline + ".1", Config: "c", Outputs: map[string]ledger.Result{}}
	for _, o := range b.outputs {
		staged, err := s.Staged(o.name)
		if err != nil {
			return err
		}
		r := ledger.Result{Claims: []string{}}
		for _, f := range staged {
			r.Claims = append(r.Claims, f.Name)
			r.Rows, r.Files, r.Bytes = r.Rows+1, r.Files+1, r.Bytes+f.Bytes
		}
		if want := len(a.w.filesOf(a, b, o)); len(staged) != want && !found(s, o) {
			return fmt.Errorf("%d files are staged, %d were written", len(staged), want)
		}
		c.Outputs[o.name] = r
	}
	if err := s.CommitTables(ctx, c); err != nil {
		return err
	}
	if err := s.Replace(ctx, c); err != nil {
		return err
	}
	if err := s.Commit(ctx, c); err != nil {
		return err
	}
	a.w.oracle.told(a, b)
	if err := s.Land(ctx); err != nil {
		return err
	}
	a.w.oracle.landed(a, b)
	return nil
}

// existsNot tells whether an error says that a name is not there.
func existsNot(err error) bool { return errors.Is(err, fs.ErrNotExist) }
