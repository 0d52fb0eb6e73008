package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ubunye-io/ubunye/engine/store"
)

// Takeover is a batch that a run took from a dead one: what that had staged is removed, the batch is free.
type Takeover struct {
	Batch   Batch
	Dead    Holder
	Beat    time.Time // its last heartbeat; zero: it could not be read
	Certain bool      // it has certainly ended; else it gave no sign for the timeout
	Kept    []Kept    // what it, or an earlier dead run, had replaced without a commit: that stays until the batch is run again
	Pending []Pending // tables that it had begun to commit to, or may have: the next run of the batch finds out
	Dropped int       // staging folders that were removed
	Left    []Left    // what could not be removed: it stays on the batch's list
}

// takeOver is the change that takes a batch from its dead holder, which held describes: what that staged is to
// be dropped, and its pinned range stays.
func takeOver(d *Document, held *HeldError, by string, now time.Time) *Takeover {
	dead := *d.Holder
	reason := "its process ended"
	if !held.Gone {
		reason = fmt.Sprintf("it gave no sign for %s", held.Age.Round(time.Second))
	}
	d.Todo = append(d.Todo, drops(d, dead.Run)...)
	pending := pendings(d, dead.Run)
	d.Pending = append(d.Pending, pending...)
	d.try(Try{Run: dead.Run, Epoch: d.Epoch, At: now.UTC().Truncate(time.Second), Reason: reason + " before it committed", By: by})
	d.Outputs = nil
	return &Takeover{Batch: d.Batch, Dead: dead, Beat: held.Beat, Certain: held.Gone, Pending: pending}
}

// tookOver notes a takeover when its list has been gone through.
func (r *Run) tookOver(t *Takeover, done carried) {
	if t == nil {
		return
	}
	t.Left, t.Kept, t.Dropped = done.left, done.kept, done.dropped
	r.mu.Lock()
	defer r.mu.Unlock()
	r.takeovers = append(r.takeovers, *t)
}

// Takeovers lists the batches that the run has taken from dead ones, also if its Acquire was refused then.
func (r *Run) Takeovers() []Takeover {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.takeovers)
}

// judgeHolder is that of the ledger, by the store's own clock; runs that a person declared dead are.
func (r *Run) judgeHolder(d *Document, v store.Version) *HeldError {
	held := r.ledger.judgeHolder(d, v, r.storeNow())
	if held != nil && slices.Contains(r.declared, held.Holder.Run) {
		held.Dead, held.Looks = true, 0
	}
	return held
}

// errNotHeld is a batch that a dead run does not hold any more.
var errNotHeld = errors.New("the dead run does not hold the batch")

// clear takes a batch that a dead run holds, drops what that staged, and gives the batch back. What cannot be
// dropped stays on the batch's list. The error is errNotHeld if the dead run holds it no more.
func (r *Run) clear(ctx context.Context, b Batch, dead string) ([]Left, error) {
	s := &Lease{run: r, ledger: r.ledger, request: Request{Batch: b}, from: dead}
	err := s.takeAndDrain(ctx)
	var left *LeftError
	switch {
	case errors.Is(err, errNotHeld):
		return nil, err
	case err != nil && !errors.As(err, &left):
		r.giveBack(ctx, []*Lease{s})
		return nil, err
	}
	if err := s.Release(context.WithoutCancel(ctx)); err != nil {
		return nil, err
	}
	if left != nil {
		return left.Left, nil
	}
	return nil, nil
}
