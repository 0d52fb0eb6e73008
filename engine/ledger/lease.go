package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ubunye-io/ubunye/engine/store"
)

// maxConflicts is how often a save is tried again when somebody else changed the document without
// taking the batch.
const maxConflicts = 4

// Lease is a batch that a run holds. Its methods are called one after the other: Prepare, Staging and
// Staged as often as there are outputs, then CommitTables, Replace, Commit and Land; or Fail, or Release, at any point before
// Commit. A method that returns a *LostError or an *UnknownError ends the lease: nothing more may be
// called.
type Lease struct {
	run     *Run
	ledger  *Ledger
	request Request

	from string // if not "": only a batch that this dead run holds is wanted, to clean up after it

	doc     *Document
	version store.Version
	epoch   int64
	took    *Takeover // of a batch that a dead run held

	prepared  map[string]preparedOutput
	sealed    bool                // what is staged was looked up and made durable
	replaced  map[string][]string // per output: the folders that were put in place
	existed   map[string]int      // per output: how many of them took the place of another
	exchanged bool                // all of them
	tables    map[string]*tabled  // per output whose target has a commit of its own
	moved     bool                // files may be in the tables' folders
	settled   map[string]settlement
	committed bool
	ended     bool
	clean     bool // no document names anything of it any more
}

// Batch returns the batch that is held.
func (s *Lease) Batch() Batch { return s.request.Batch }

// Epoch returns the number of this lease: higher than that of every earlier one of the batch.
func (s *Lease) Epoch() int64 { return s.epoch }

// Finished returns the last commit of the batch, nil if there was none.
func (s *Lease) Finished() *Finished { return s.doc.Finished }

// save changes the document under the lease, in one compare-and-swap. Somebody else may change a
// document without taking it; then the same change is made again. change must depend on nothing but
// the document it is given.
func (s *Lease) save(ctx context.Context, step string, change func(*Document)) error {
	if s.ended {
		return fmt.Errorf("batch %s: %s after the lease has ended", s.request.Batch.Name(), step)
	}
	var unknown []store.Version // saves whose outcome is not known yet
	for range maxConflicts {
		d, err := s.doc.clone()
		if err != nil {
			return s.saveError(step, err)
		}
		change(d)
		next, err := s.ledger.saveDocument(ctx, d, s.version)
		switch {
		case err == nil:
			s.doc, s.version = d, next
			return nil
		case errors.Is(err, store.ErrUnknown):
			unknown = append(unknown, next)
		case !errors.Is(err, store.ErrConflict) && len(unknown) > 0:
			return s.unknown(step, err)
		case !errors.Is(err, store.ErrConflict):
			return s.saveError(step, err)
		}
		// what became of a save is found out also when the run is being stopped: else nobody knew
		now, next, fate, err := s.ledger.settle(context.WithoutCancel(ctx), s.request.Batch, unknown)
		switch {
		case err != nil || fate == builtUpon:
			return s.unknown(step, err)
		case fate == notTaken && !now.heldBy(s.run.ID, s.epoch):
			return s.lost(ctx, now, next)
		}
		s.doc, s.version = now, next
		if fate == taken {
			return nil
		}
	}
	if len(unknown) > 0 {
		return s.unknown(step, nil)
	}
	return s.saveError(step, store.ErrConflict)
}

func (s *Lease) saveError(step string, err error) error {
	return &SaveError{Batch: s.request.Batch, Step: step, Err: err}
}

// unknown ends the lease without touching anything (I8).
func (s *Lease) unknown(step string, err error) error {
	s.ended = true
	if err == nil {
		err = store.ErrUnknown
	}
	return &UnknownError{Batch: s.request.Batch, Step: step, Document: s.version.Path, Err: err}
}

// lost ends a lease that was taken over. The run writes nothing more (I2) and removes only its
// staging: what the document itself records of it, and what nobody can have recorded. Not even that if the
// document says that the batch is this run's after all.
func (s *Lease) lost(ctx context.Context, now *Document, v store.Version) error {
	s.ended = true
	err := &LostError{Batch: s.request.Batch, Document: v.Path}
	if now.Holder != nil {
		err.By = now.Holder.Run
	} else if now.Finished != nil {
		err.By = now.Finished.Run
	}
	s.run.lostTo(err.By)
	if now.committedBy(s.run.ID, s.epoch) || now.landsFor(s.run.ID) {
		return err
	}
	if s.ledger.docs.Settle(ctx, s.request.Batch.Name()) != nil {
		return err
	}
	mine := *now
	mine.Todo = slices.DeleteFunc(slices.Clone(now.Todo), func(e Entry) bool { return e.Do != Drop || e.Run != s.run.ID })
	s.ledger.carry(ctx, &mine) // what is left stays in the document for the run that took over
	s.dropLate()
	return err
}

// dropLate removes staging folders that the run made after it was taken over: whoever did that looked for them
// before they were there, and no document names them any more. Folders that were put in place, or may have been,
// are not among them.
func (s *Lease) dropLate() {
	for _, name := range sortedKeys(s.prepared) {
		if p := s.prepared[name]; p.staging != "" && (!p.exchanged() || s.replaced == nil) {
			s.ledger.dropStaging(p.staging, nil) // what is left is named by Status
		}
	}
}

// fate is what became of a save whose outcome was unknown.
type fate int

const (
	notTaken  fate = iota // the document is not what was saved, nor built on it
	taken                 // it counted, and a later save of the same contents made it durable
	builtUpon             // it counted, or may have, and others have gone on from it
)

// settle finds out what became of the saves that were tried; with none it only loads. If one of them is the
// document now, the same contents are saved once more: only a save that succeeds tells that it
// survives a power cut. One that is older than what the document remembers may have counted.
func (l *Ledger) settle(ctx context.Context, b Batch, tried []store.Version) (*Document, store.Version, fate, error) {
	for range maxConflicts {
		d, v, err := l.load(ctx, b)
		if err != nil {
			return nil, v, notTaken, err
		}
		if !slices.ContainsFunc(tried, func(t store.Version) bool { return t.ID == v.ID }) {
			if slices.ContainsFunc(tried, func(t store.Version) bool { return v.Includes(t.ID) || v.Forgets(t.Generation) }) {
				return d, v, builtUpon, nil
			}
			return d, v, notTaken, nil
		}
		next, err := l.saveDocument(ctx, d, v)
		switch {
		case err == nil:
			return d, next, taken, nil
		case errors.Is(err, store.ErrConflict):
		case errors.Is(err, store.ErrUnknown):
			tried = append(tried, next)
		default:
			return nil, v, notTaken, err
		}
	}
	return nil, store.Version{}, notTaken, store.ErrUnknown
}

// Release gives back a batch for which nothing was prepared: the holder goes, nothing else changes.
func (s *Lease) Release(ctx context.Context) error {
	if s.ended || len(s.prepared) > 0 {
		return fmt.Errorf("batch %s: release of a lease that has ended, or after prepare", s.request.Batch.Name())
	}
	err := s.save(ctx, "release", func(d *Document) { d.Holder = nil })
	s.ended, s.clean = true, err == nil
	return err
}

// Fail ends a lease whose run cannot go on. Nothing of it had become visible but the folders that
// Replaced names and the commits that Tables names, which stay. The document says so before anything is removed (I8); then the staging
// goes, and what it holds of folders that were replaced. The error is only about that: the caller has the
// run's own.
func (s *Lease) Fail(ctx context.Context, reason string) error {
	if s.committed || s.ended {
		return nil // what is left is the document's to say
	}
	try := Try{Run: s.run.ID, Epoch: s.epoch, At: s.ledger.cfg.Now().UTC().Truncate(time.Second), Reason: reason, Kept: sortedKeys(s.replaced)}
	change := func(d *Document) {
		d.Holder = nil
		d.Todo = append(d.Todo, drops(d, s.run.ID)...)
		d.Pending = append(d.Pending, pendings(d, s.run.ID)...)
		d.Outputs = nil
		d.try(try)
	}
	err := s.save(ctx, "fail", change)
	if errors.As(err, new(*SaveError)) && s.dropOwn(ctx) {
		// the disk may have been full: the lease is still this run's, what was staged made the room
		err = s.save(ctx, "fail", change)
	}
	s.ended = true
	if err != nil {
		return err
	}
	if done, err := s.mop(ctx); err != nil || len(done.left) > 0 {
		return &StagingLeftError{Batch: s.request.Batch, Left: done.left, Err: err}
	}
	return nil
}

// dropOwn removes this run's staging while the document still names it as holder; false if there was
// nothing.
func (s *Lease) dropOwn(ctx context.Context) bool {
	own := *s.doc
	if own.Todo = drops(s.doc, s.run.ID); len(own.Todo) == 0 {
		return false
	}
	return len(s.ledger.carry(ctx, &own).left) < len(own.Todo)
}

// mop carries out the list that the last save of this run wrote, and empties it. Nobody holds the
// batch then. Who changed the document meanwhile has seen the list and does it as well, so that is no
// error; what this run could not do counts only if the document still says so.
func (s *Lease) mop(ctx context.Context) (carried, error) {
	done := s.ledger.carry(ctx, s.doc)
	err := s.ledger.empty(ctx, s.doc, s.version, done)
	if errors.Is(err, store.ErrConflict) {
		var now *Document
		if now, _, err = s.ledger.load(ctx, s.request.Batch); err == nil {
			done.missing = 0
			done.left = slices.DeleteFunc(done.left, func(l Left) bool {
				return !slices.ContainsFunc(now.Todo, func(e Entry) bool { return entryID(e) == entryID(l.Entry) })
			})
		}
	}
	s.clean = err == nil && len(done.left) == 0
	return done, err
}
