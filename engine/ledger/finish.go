package ledger

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/ubunye-io/ubunye/engine/store"
)

// Completed is work of earlier runs that FinishCommitted carried out.
type Completed struct {
	Batch   Batch
	Run     string    // the run that had committed it; "" if only the staging of failed runs was removed
	Landed  int       // files at their final names
	Removed int       // files of the batch that it replaced
	Missing int       // files that were neither staged nor landed: somebody moved or removed them
	Dropped int       // staging folders, and old data that was replaced
	Pending []Pending // tables that runs which did not commit may have written to: the next run of the batch finds out
	Kept    []Kept    // what runs that did not commit had replaced, as they said or as was found when their staging was removed
}

// FinishCommitted carries out the to-do lists of every batch that a run record of the pipeline names, or one
// of a run with a target in the same place, whatever the run's status. That needs no judgement: what is committed must land, and doing it twice,
// or while another process does it, is safe. A list is emptied only where nobody holds the batch. The records of
// runs that have certainly ended say then what became of them.
//
// What cannot be carried out is returned as left; so is a record or a document that cannot be read,
// with an *UnreadableError. The error is nil unless the records could not be listed.
func (l *Ledger) FinishCommitted(ctx context.Context, pipeline string, targets ...Target) ([]Completed, []Left, error) {
	return l.finish(ctx, pipeline, targets, nil)
}

// finish is FinishCommitted for the batches of these names too.
func (l *Ledger) finish(ctx context.Context, pipeline string, targets []Target, names []string) ([]Completed, []Left, error) {
	records, bad, err := l.records()
	if err != nil {
		return nil, nil, err
	}
	var left []Left
	for _, e := range bad {
		left = append(left, Left{Path: e.Path, Err: e})
	}
	batches := map[string]Batch{}
	for _, name := range names {
		if parts := strings.Split(name, "/"); len(parts) == 3 {
			batches[name] = Batch{Pipeline: parts[0], Task: parts[1], Key: parts[2]}
		}
	}
	targets = l.realTargets(targets)
	records = slices.DeleteFunc(records, func(r Record) bool { return !r.of(pipeline) && !r.meets(targets) })
	for _, r := range records {
		for _, b := range r.Batches {
			batches[b.Name()] = b
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
	now := l.cfg.Now()
	for _, r := range records {
		if j := l.judge(r.Run, r.Identity, l.recordPath(r.Run), now); j.gone {
			l.mend(ctx, r.Run, j, now) // what cannot be written down now is by the next start
		}
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
	if err != nil {
		return nil, nil, err
	}
	c := &Completed{Batch: d.Batch, Kept: keptByTries(d), Pending: d.Pending}
	told := len(c.Kept) + len(c.Pending)
	if len(d.Todo) == 0 {
		if told == 0 {
			c = nil
		}
		return c, nil, nil
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
	if !done.any() && told == 0 {
		return nil, done.left, err
	}
	c.Landed, c.Removed, c.Missing, c.Dropped = done.landed, done.removed, done.missing, done.dropped
	for _, k := range done.kept {
		if !slices.ContainsFunc(c.Kept, func(known Kept) bool { return known.Run == k.Run && known.Output == k.Output }) {
			c.Kept = append(c.Kept, k)
		}
	}
	if d.Finished != nil && d.landsFor(d.Finished.Run) {
		c.Run = d.Finished.Run
	}
	return c, done.left, err
}

// keptByTries lists what runs that failed since the last commit had replaced, as they said themselves.
func keptByTries(d *Document) (kept []Kept) {
	for _, t := range d.Tried {
		for _, output := range t.Kept {
			kept = append(kept, Kept{Run: t.Run, Output: output})
		}
	}
	return kept
}
