package ledger

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"
)

// An incremental task reads what it had not read yet. What that is, its range, is pinned before it is read and becomes the last
// commit's with the commit: that it was read and that it is there are one save. The ledger compares ranges and does not look into
// them. A range that is pinned stays, whatever becomes of the run, until a commit takes it or a person drops it.

// Range gives what the batch is to read where that is settled: the range that is pinned, or, of a rerun, the one of the last
// commit. nil: it is for the caller to say, by the last commit and by Marks.
func (s *Lease) Range() json.RawMessage {
	switch {
	case hasRange(s.doc.Range):
		return s.doc.Range
	case s.request.Rerun && s.doc.Finished != nil && hasRange(s.doc.Finished.Range):
		return s.doc.Finished.Range
	}
	return nil
}

// Marks gives, by input, the marks that a person has set since the last commit: they count instead of that one's.
func (s *Lease) Marks() map[string]json.RawMessage { return maps.Clone(s.doc.Marks) }

// Pin saves what an incremental batch is to read, before it is read: a JSON object that is not empty. Whoever takes the batch over
// reads the same. A range that is pinned already may be given again; another one is an error.
func (s *Lease) Pin(ctx context.Context, r json.RawMessage) error {
	if err := s.run.check(); err != nil {
		return err
	}
	switch {
	case len(s.prepared) > 0 || !s.request.Incremental || !hasRange(r):
		return fmt.Errorf("batch %s: a range is pinned after prepare, by a task that is not incremental, or is empty", s.request.Batch.Name())
	case sameRange(s.doc.Range, r):
		return nil
	case hasRange(s.doc.Range):
		return &PinnedError{Batch: s.request.Batch, Document: s.version.Path}
	}
	if err := s.stillThere(ctx, "pin"); err != nil {
		return err
	}
	return s.save(ctx, "pin", func(d *Document) { d.Range = r })
}

// Follow says which slices of incremental batches a batch with Follows reads: a JSON object that differs for each slice and is the
// same for one that is committed again. It is the commit's range, and is pinned nowhere: the batches that are read keep it.
func (s *Lease) Follow(slice json.RawMessage) { s.request.slice = slice }

// Reruns tells whether a commit of the batch, as things stand, replaces the last one: a named batch with Rerun; an incremental one
// exactly when what it is to read is what the last commit read, whoever pinned it, and one that follows such batches likewise: with
// Rerun too, it adds a slice that it had not read, and without it replaces one that was committed again.
func (s *Lease) Reruns() bool { return s.request.reruns(s.doc) }

func (q Request) reruns(d *Document) bool {
	switch {
	case d.Finished == nil:
		return false
	case q.Incremental:
		return hasRange(d.Range) && sameRange(d.Range, d.Finished.Range)
	case q.Follows:
		return hasRange(q.slice) && sameRange(q.slice, d.Finished.Range)
	}
	return q.Rerun && d.Batch.Named
}

// willRerun is reruns before anything is pinned.
func (q Request) willRerun(d *Document) bool {
	pins := q.Incremental && q.Rerun && !hasRange(d.Range) && d.Finished != nil && hasRange(d.Finished.Range)
	return pins || q.reruns(d)
}

// Decision is what a person has decided about a batch.
type Decision struct {
	Who    string    `json:"who"`    // who it was
	At     time.Time `json:"at"`     // when it was
	Did    string    `json:"did"`    // what was done, on one line
	Reason string    `json:"reason"` // why, as that person says
}

// keepDecisions bounds Document.Decisions.
const keepDecisions = 16

func (d *Document) decided(by Decision) {
	d.Decisions = append(slices.Clone(d.Decisions), by)
	d.Decisions = d.Decisions[max(0, len(d.Decisions)-keepDecisions):]
}

// SetMarks has these inputs go on from marks that a person gives. The error is a *PinnedError where the range that is to be read
// next is settled already, or cannot be known.
func (s *Lease) SetMarks(ctx context.Context, marks map[string]json.RawMessage, by Decision) error {
	if hasRange(s.doc.Range) || len(s.doc.Pending) > 0 {
		return &PinnedError{Batch: s.request.Batch, Pending: s.doc.Pending, Document: s.version.Path}
	}
	return s.save(ctx, "set marks", func(d *Document) {
		all := map[string]json.RawMessage{}
		maps.Copy(all, d.Marks)
		maps.Copy(all, marks)
		d.Marks = all
		d.decided(by)
	})
}

// DropRange forgets the range that is pinned, so that it is made anew. That is safe where nothing of the run that pinned it can be
// in a target: by is the person who says so, or nil where all outputs are of class Claims. The error is a *PinnedError while tables
// may hold what dead runs read.
func (s *Lease) DropRange(ctx context.Context, by *Decision) error {
	if len(s.doc.Pending) > 0 {
		return &PinnedError{Batch: s.request.Batch, Pending: s.doc.Pending, Document: s.version.Path}
	}
	return s.save(ctx, "drop the range", func(d *Document) {
		d.Range = nil
		if by != nil {
			d.decided(*by)
		}
	})
}

// hasRange tells whether there is a range.
func hasRange(r json.RawMessage) bool {
	text := bytes.TrimSpace(r)
	return len(text) > 0 && !bytes.Equal(text, []byte("{}")) && !bytes.Equal(text, []byte("null"))
}

// sameRange compares ranges by their text, which is written once and then copied.
func sameRange(a, b json.RawMessage) bool {
	one, err := json.Marshal(orEmpty(a))
	other, otherErr := json.Marshal(orEmpty(b))
	return err == nil && otherErr == nil && bytes.Equal(one, other)
}
