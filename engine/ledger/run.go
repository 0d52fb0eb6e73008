package ledger

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"slices"
	"sync"
	"time"

	"github.com/ubunye-io/ubunye/engine/store"
)

// RunInfo is what a run says of itself before it begins.
type RunInfo struct {
	ID       string // as NewRunID gives it; "": a new one
	Pipeline string
	State    string // the run in the run state, <app>.<runId>
	Batches  []Batch
	Targets  []Target

	Wait    time.Duration // how long Acquire waits for what living runs hold; 0: it is refused at once
	Waiting func(error)   // told why, when Acquire begins to wait; may be nil
}

// Run is one start of the program that writes: its record, its heartbeat, its leases. There is one in
// a process at a time.
type Run struct {
	ID string // <UTC yyyymmddThhmmssZ>-<8 hex>

	ledger   *Ledger
	id       string // the ledger's
	info     RunInfo
	declared []string // runs that a person declared dead
	record   Record
	heart    *heart
	ctx      context.Context
	cancel   context.CancelCauseFunc

	mu        sync.Mutex
	leases    []*Lease // every one that was taken, or may have been
	takeovers []Takeover
	lostBy    string // the run that took a batch over from this one
}

// Begin begins a run: it makes the ledger if it is not there, writes the run's record, durably, and
// starts its heartbeat. End ends it. The error is an *UnwritableError if the ledger cannot be written,
// an *UnreadableError if it cannot be understood, a *TargetTwiceError; nothing of the run is left then.
func (l *Ledger) Begin(ctx context.Context, info RunInfo) (*Run, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	targets := l.realTargets(info.Targets)
	if err := twice(targets); err != nil {
		return nil, err
	}
	id, err := l.create()
	if err != nil {
		return nil, l.unwritable(err)
	}
	r := &Run{ID: cmp.Or(info.ID, l.NewRunID()), ledger: l, id: id, info: info}
	now := l.cfg.Now().UTC()
	r.record = Record{
		Format: format, Run: r.ID, Pipeline: info.Pipeline, State: info.State, Identity: l.cfg.Identity,
		Since: now, Batches: info.Batches, Targets: targets, Status: Asking,
	}
	if err := l.writeRecord(r.record, true); err != nil {
		r.forget()
		return nil, l.unwritable(err)
	}
	r.ctx, r.cancel = context.WithCancelCause(ctx)
	r.heart = &heart{
		path:    l.beatPath(r.ID),
		beat:    func() error { return l.fs.Beat(l.beatPath(r.ID)) },
		elapsed: l.cfg.Elapsed,
		every:   l.cfg.Heartbeat,
		limit:   l.cfg.Timeout / 2,
		end:     r.cancel,
	}
	if err := r.heart.start(); err != nil {
		r.cancel(err)
		r.forget()
		return nil, l.unwritable(err)
	}
	return r, nil
}

// NewRunID returns an id for a run that is about to begin: <UTC yyyymmddThhmmssZ>-<8 hex>.
func (l *Ledger) NewRunID() string {
	return l.cfg.Now().UTC().Format("20060102T150405Z") + "-" + store.NewID()[:8]
}

func (l *Ledger) unwritable(err error) error {
	if errors.As(err, new(*UnreadableError)) {
		return err
	}
	return &UnwritableError{Path: l.path, Err: err}
}

// Context ends when the context that Begin was given ends, when End is called, or when the run could
// not touch its heartbeat for half the timeout: then its cause is a *HeartbeatError.
func (r *Run) Context() context.Context { return r.ctx }

// check refuses a step of a run that others may judge dead: after a suspend the run may be awake
// before its context ends.
func (r *Run) check() error { return r.heart.check() }

// storeNow is the time by the store's own clock: when this run's heartbeat was last touched, and what
// has passed since.
func (r *Run) storeNow() time.Time {
	beat, err := store.ModTime(r.ledger.beatPath(r.ID))
	if err != nil {
		return r.ledger.cfg.Now()
	}
	return beat.Add(r.heart.sinceLast())
}

// Now is the time by the clock of the ledger's disk.
func (r *Run) Now() time.Time { return r.storeNow() }

func (r *Run) remember(s *Lease) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.leases = append(r.leases, s)
}

// lostTo notes who took a batch over from this run.
func (r *Run) lostTo(by string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lostBy = by
}

// leaves tells whether a document may still name something of this run.
func (r *Run) leaves() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(r.leases, func(s *Lease) bool { return !s.clean })
}

// doubtful lists the outputs that hold rows of this run although their batches are not its own.
func (r *Run) doubtful() (outputs []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.leases {
		if s.committed {
			continue
		}
		for _, name := range sortedKeys(s.replaced) {
			outputs = append(outputs, s.request.Batch.Task+"."+name)
		}
		for _, name := range sortedKeys(s.tables) {
			if s.tables[name].doubtful() {
				outputs = append(outputs, s.request.Batch.Task+"."+name)
			}
		}
	}
	return outputs
}

// End stops the heartbeat. The record is removed if the run succeeded or was refused and no document
// names anything of it any more; otherwise it stays and says how the run ended, so that the next start
// finds what is left.
func (r *Run) End(ctx context.Context, status Status) error {
	r.heart.stop()
	r.cancel(context.Canceled)
	if (status == Succeeded || status == Refused) && !r.leaves() {
		return r.forget()
	}
	r.record.Status, r.record.Doubtful = status, r.doubtful()
	if r.lostBy != "" {
		r.record.Status, r.record.By = Interrupted, r.lostBy
	}
	return errors.Join(r.ledger.writeRecord(r.record, false), remove(r.ledger, r.ledger.beatPath(r.ID)))
}

// forget removes the record and the heartbeat.
func (r *Run) forget() error { return r.ledger.removeRecord(r.ID) }

// remove removes a file; one that is gone is fine.
func remove(l *Ledger, path string) error {
	if err := l.fs.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		if still, lookErr := there(path); still || lookErr != nil {
			return err
		}
	}
	return nil
}

// holder is what this run writes into a document that it takes.
func (r *Run) holder(now time.Time) *Holder {
	return &Holder{Run: r.ID, Identity: r.ledger.cfg.Identity, Since: now.UTC()}
}
