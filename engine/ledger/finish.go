package ledger

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/ubunye-io/ubunye/engine/store"
)

// Completed is work of earlier runs that FinishCommitted carried out.
type Completed struct {
	Batch   Batch
	Run     string // the run that had committed it; "" if only the staging of failed runs was removed
	Landed  int    // files at their final names
	Removed int    // files of the batch that it replaced
	Missing int    // files that were neither staged nor landed: somebody moved or removed them
	Kept    []Kept // what runs that did not commit had replaced, as was found when their staging was removed
}

// FinishCommitted carries out the to-do lists of every batch that a run record of the pipeline names, or one
// of a run with a target in the same place, whatever the run's status. That needs no judgement: what is committed must land, and doing it twice,
// or while another process does it, is safe. A list is emptied only where nobody holds the batch.
//
// What cannot be carried out is returned as left; so is a record or a document that cannot be read,
// with an *UnreadableError. The error is nil unless the records could not be listed.
func (l *Ledger) FinishCommitted(ctx context.Context, pipeline string, targets ...Target) ([]Completed, []Left, error) {
	records, bad, err := l.records()
	if err != nil {
		return nil, nil, err
	}
	var left []Left
	for _, e := range bad {
		left = append(left, Left{Path: e.Path, Err: e})
	}
	batches := map[string]Batch{}
	targets = l.realTargets(targets)
	for _, r := range records {
		if r.of(pipeline) || r.meets(targets) {
			for _, b := range r.Batches {
				batches[b.Name()] = b
			}
		}
	}
	var completed []Completed
	for _, name := range slices.Sorted(maps.Keys(batches)) {
		done, stuck, err := l.finishOne(ctx, batches[name])
		if done != nil {
			completed = append(completed, *done)
		}
		if err != nil {
			stuck = append(stuck, Left{Batch: batches[name], Path: pathOf(err, name), Err: err})
		}
		left = append(left, stuck...)
	}
	return completed, left, nil
}

func pathOf(err error, otherwise string) string {
	var bad *UnreadableError
	if errors.As(err, &bad) {
		return bad.Path
	}
	return otherwise
}

// finishOne carries out the list of one batch.
func (l *Ledger) finishOne(ctx context.Context, b Batch) (*Completed, []Left, error) {
	d, v, err := l.load(ctx, b)
	if err != nil || len(d.Todo) == 0 {
		return nil, nil, err
	}
	if err := l.docs.Settle(ctx, b.Name()); err != nil {
		return nil, nil, err
	}
	done := l.carry(ctx, d)
	if d.Holder == nil {
		if err = l.empty(ctx, d, v, done); errors.Is(err, store.ErrConflict) {
			err = nil // who changed it saw the list, and does it too
		}
	}
	if !done.any() {
		return nil, done.left, err
	}
	c := &Completed{Batch: d.Batch, Landed: done.landed, Removed: done.removed, Missing: done.missing, Kept: done.kept}
	if d.Finished != nil && d.landsFor(d.Finished.Run) {
		c.Run = d.Finished.Run
	}
	return c, done.left, err
}
