package ledger

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
)

// Untold gives the last commit of a batch if the run that made it died before it could say so: its record says
// that it runs, or that another start landed what it had committed. nil: there is no such commit, it was incremental, or whoever
// started that run has been told how it ended, or files that it landed are not there. left is how much of the to-do list is still to be carried out.
//
// To whoever starts the batch again, this is the same run as long as nothing has changed since: that is for the caller
// to find out. Taking a run for dead that lives does no harm here, as its commit is what it is.
func (l *Ledger) Untold(ctx context.Context, b Batch) (f *Finished, left int, err error) {
	d, _, err := l.load(ctx, b)
	if err != nil || d.Finished == nil || d.Holder != nil || !d.Batch.Named || hasRange(d.Finished.Range) {
		return nil, 0, err
	}
	r, err := l.readRecord(d.Finished.Run)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	if r.Status != Running && r.Status != Landed {
		return nil, 0, nil
	}
	if j := l.judge(r.Run, r.Identity, l.recordPath(r.Run), l.cfg.Now()); !j.dead && j.age < l.cfg.Timeout {
		return nil, 0, nil
	}
	if len(d.Todo) == 0 && (l.missingClaims(d) != nil || l.missingParts(d)) { // removed since, or where it was staged
		return nil, 0, nil
	}
	return d.Finished, len(d.Todo), nil
}

// missingParts tells whether a folder that the last commit replaced is gone. One that another run has replaced since is there.
func (l *Ledger) missingParts(d *Document) bool {
	for _, out := range d.Finished.Outputs {
		base, _ := l.find(out.Base)
		for _, part := range out.Parts {
			if is, err := there(filepath.Join(base, filepath.FromSlash(part))); err != nil || !is {
				return true
			}
		}
	}
	return false
}

// Told removes the record of a dead run when all that it tells is that it committed these batches, and they have
// been told of: the next start finds them finished like any other.
func (l *Ledger) Told(ctx context.Context, run string, batches []Batch) error {
	r, err := l.readRecord(run)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, b := range r.Batches {
		if !slices.ContainsFunc(batches, func(told Batch) bool { return told.Name() == b.Name() }) {
			return nil
		}
	}
	t, err := l.traces(ctx, r)
	if err != nil || t.held || t.todo || t.tried || t.doubtful != nil {
		return err
	}
	return l.removeRecord(run)
}
