package ledger

import (
	"context"
	"encoding/json"
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
	d.Pending = append(d.Pending, pendings(d, dead.Run)...)
	d.try(Try{Run: dead.Run, Epoch: d.Epoch, At: now.UTC().Truncate(time.Second), Reason: reason + " before it committed", By: by})
	d.Outputs = nil
	return &Takeover{Batch: d.Batch, Dead: dead, Beat: held.Beat, Certain: held.Gone}
}

// keyed tells whether an output's target has a log of its own, in which the batch's key is looked up: its
// files may be the table's already, so that nothing of it may be removed before the log was read.
func (o Output) keyed() bool { return o.Class != Claims && o.Marker == "" }

// pendings gives what is to be looked up of the keyed outputs that the document records for its holder.
func pendings(d *Document, run string) (list []json.RawMessage) {
	for _, name := range sortedKeys(d.Outputs) {
		if !d.Outputs[name].keyed() {
			continue
		}
		data, err := json.Marshal(struct {
			Run    string `json:"run"`
			Epoch  int64  `json:"epoch"`
			Name   string `json:"name"`
			Output Output `json:"output"`
		}{run, d.Epoch, name, d.Outputs[name]})
		if err == nil { // an Output came from JSON, or is made of text and numbers
			list = append(list, data)
		}
	}
	return list
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
