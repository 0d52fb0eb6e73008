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
}

// FinishCommitted carries out the to-do lists of every batch that is named by a run record of the pipeline
// or of one of the targets (absolute paths of output folders), whatever the run's status. That needs no judgement: what is committed must land, and doing it twice,
// or while another process does it, is safe. A list is emptied only where nobody holds the batch.
//
// What cannot be carried out is returned as left; so is a record or a document that cannot be read,
// with an *UnreadableError. The error is nil unless the records could not be listed.
func (l *Ledger) FinishCommitted(ctx context.Context, pipeline string, targets ...string) ([]Completed, []Left, error) {
	records, bad, err := l.records()
	if err != nil {
		return nil, nil, err
	}
	var left []Left
	for _, e := range bad {
		left = append(left, Left{Path: e.Path, Err: e})
	}
	batches, places := map[string]Batch{}, map[string]bool{}
	for _, path := range targets {
		places[realPath(path)] = true
	}
	for _, r := range records {
		if r.of(pipeline) || slices.ContainsFunc(r.Targets, func(t Target) bool { return places[realPath(t.Path)] }) {
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
			err = nil        // who changed it saw the list, and does it too
			done.missing = 0 // as far as a later commit replaced them meanwhile
		}
	}
	if !done.any() {
		return nil, done.left, err
	}
	c := &Completed{Batch: d.Batch, Landed: done.landed, Removed: done.removed, Missing: done.missing}
	if d.Finished != nil && d.landsFor(d.Finished.Run) {
		c.Run = d.Finished.Run
	}
	return c, done.left, err
}
