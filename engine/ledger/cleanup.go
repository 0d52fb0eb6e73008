package ledger

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/ubunye-io/ubunye/engine/store"
)

// whom tells of which dead runs the uncommitted work is cleaned up.
type whom int

const (
	certain whom = iota // those that have certainly ended: any start does that
	dead                // all that count as dead: a start that is there for nothing else
)

// cleanUp goes through the records of other runs of the pipeline, or with a target in the same place. Batches
// that dead runs hold are taken from them and given back free; their records say what became of them. Nothing
// hangs on it: what cannot be done now is tried again by the next start. It returns the batches that could not be taken.
func (r *Run) cleanUp(ctx context.Context, of whom) (left []Left) {
	records, _, err := r.ledger.records()
	if err != nil {
		return nil // the next start says so
	}
	x := r.exclusion()
	for _, o := range records {
		if o.Run == r.ID || !o.of(r.record.Pipeline) && !o.meets(r.record.Targets) || ctx.Err() != nil || r.check() != nil {
			continue
		}
		j := x.life(o)
		if j.gone || of == dead && j.dead {
			for _, b := range o.Batches {
				if _, err := r.clear(ctx, b, o.Run); err != nil && !errors.Is(err, errNotHeld) {
					left = append(left, Left{Batch: b, Path: pathOf(err, b.Name()), Err: err})
				}
			}
		}
		r.ledger.mend(ctx, o.Run, j, x.now)
	}
	return left
}

// keepRecords is how long a record is kept of which nothing is left but what it tells.
const keepRecords = 30 * 24 * time.Hour

// mend makes the record of another run say what became of it, as the documents of its batches tell; or removes
// it, with the heartbeat, when they name nothing of the run any more. The record is read again, because a run
// that ended well removes its own before its process is gone.
func (l *Ledger) mend(ctx context.Context, run string, j life, now time.Time) error {
	o, err := l.readRecord(run)
	if err != nil {
		return err
	}
	t, err := l.traces(ctx, o)
	if err != nil {
		return err
	}
	switch {
	case t.by != "" && !o.Status.ended(): // whoever took over may have died before it could say so
		o.Status, o.By, o.Doubtful = Interrupted, t.by, t.doubtful
	case t.held || t.todo || !j.dead:
		return nil
	case t.committed && !o.Status.ended():
		o.Status = Landed
	case t.tried && !o.Status.ended(): // it died after it had given the batch back
		o.Status, o.Doubtful = Failed, t.doubtful
	case t.doubtful != nil, tells(o, t) && l.recent(o, now):
		return nil
	default:
		return l.removeRecord(o.Run)
	}
	if err := l.writeRecord(o, false); err != nil {
		return err
	}
	return remove(l, l.beatPath(o.Run))
}

// tells tells whether people, or a start that finds the batch finished, may want to know how a run ended.
func tells(o Record, t traces) bool {
	return o.Status == Failed || o.Status == Interrupted || o.Status == Landed && t.committed
}

func (l *Ledger) recent(o Record, now time.Time) bool {
	then, err := store.ModTime(l.recordPath(o.Run))
	return err != nil || now.Sub(then) < keepRecords
}

// traces is what the documents of a run's batches say of it.
type traces struct {
	held      bool     // it is a holder
	todo      bool     // work is left, which is found through the record
	committed bool     // it is the last that committed
	tried     bool     // it failed or died since the last commit
	by        string   // who took a batch over from it
	doubtful  []string // outputs that hold rows of it although it did not commit, as task.output
}

func (l *Ledger) traces(ctx context.Context, o Record) (t traces, err error) {
	for _, b := range o.Batches {
		d, _, err := l.load(ctx, b)
		if err != nil {
			return t, err
		}
		t.held = t.held || d.Holder != nil && d.Holder.Run == o.Run
		t.todo = t.todo || len(d.Todo) > 0
		for _, p := range d.Pending {
			if p.Run == o.Run {
				t.todo, t.doubtful = true, append(t.doubtful, b.Task+"."+p.Name)
			}
		}
		t.committed = t.committed || d.Finished != nil && d.Finished.Run == o.Run
		for _, try := range d.Tried {
			if try.Run != o.Run {
				continue
			}
			t.tried, t.by = true, cmp.Or(t.by, try.By)
			for _, output := range try.Kept {
				t.doubtful = append(t.doubtful, b.Task+"."+output)
			}
		}
	}
	return t, nil
}

// removeRecord removes a record and its heartbeat. The heartbeat goes first: a run is there as long as either
// is, and the record says whose it is.
func (l *Ledger) removeRecord(run string) error {
	if err := remove(l, l.beatPath(run)); err != nil {
		return err
	}
	return remove(l, l.recordPath(run))
}
