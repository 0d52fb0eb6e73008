package ledger

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/ubunye-io/ubunye/engine/store"
)

// Request asks for one batch.
type Request struct {
	Batch   Batch
	Appends bool // an output has mode append: a finished, named batch is refused
	Rerun   bool // replace what a finished, named batch holds
	Anyway  bool // with Rerun: also if files of the old batch are missing

	// Incremental says that the batch reads what it had not read yet: it is never refused as finished, and Rerun replaces what the
	// last commit read.
	Incremental bool

	// Follows says that the batch reads what incremental ones commit in the same run, so that what it adds is new as often as it
	// runs: it is not refused as finished. What it reads is told by Lease.Follow.
	Follows bool
	slice   json.RawMessage // what Follow was told

	// Replaces names the outputs that replace what is there: with Appends, what a run that did not commit has
	// replaced in any other output is not appended to, unless Rerun says so.
	Replaces []string
}

// Acquire takes all batches, in the order of their names, or none: if one is refused the others are
// given back as they were. A batch that a dead run holds is taken over. What earlier runs left to do in them
// is done first. Then it makes sure that no other run is there which excludes this one: see exclude.go. Last,
// it cleans up after runs that are certainly dead. The leases come in the order of the requests.
//
// A holder whose heartbeat is too old is watched before it counts as dead, and one that lives is waited
// for as long as RunInfo says: see wait.go.
//
// A refusal is a *HeldError, *TargetHeldError, *FinishedError, *KeptError, *ClaimsMissingError, *LeftError, *PinnedError,
// *UnreadableError or *UnwritableError; a *WaitedError holds the refusal that outlasted the wait. If ctx ends
// while another run is waited for, that is the error.
func (r *Run) Acquire(ctx context.Context, requests []Request) ([]*Lease, error) {
	order := make([]int, len(requests))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Compare(requests[a].Batch.Name(), requests[b].Batch.Name())
	})
	leases, err := r.patiently(ctx, func() ([]*Lease, error) { return r.tryAcquire(ctx, requests, order) })
	if err == nil {
		r.collect()
		r.cleanUp(ctx, certain)
	}
	return leases, err
}

// tryAcquire takes all batches or is refused.
func (r *Run) tryAcquire(ctx context.Context, requests []Request, order []int) ([]*Lease, error) {
	if err := r.lookFirst(ctx, requests, order); err != nil {
		return nil, err
	}
	if err := r.ask(); err != nil {
		return nil, err
	}
	for range maxStarts {
		leases, err := r.acquireAll(ctx, requests, order)
		if err != nil {
			return nil, err
		}
		gone, err := r.exclude(ctx)
		if err == nil && !gone {
			err = r.enter()
		}
		if err == nil && !gone {
			return leases, nil
		}
		r.giveBack(ctx, leases)
		if err != nil {
			return nil, err
		}
		if err := r.ledger.writeRecord(r.record, true); err != nil {
			return nil, r.ledger.unwritable(err)
		}
	}
	return nil, &UnwritableError{Path: r.ledger.path, Err: fmt.Errorf("the record of this run, %s, vanishes again and again", r.ledger.recordPath(r.ID))}
}

// lookFirst refuses what can be seen by reading: a start that is refused takes nothing.
func (r *Run) lookFirst(ctx context.Context, requests []Request, order []int) error {
	for _, i := range order {
		d, v, err := r.ledger.load(ctx, requests[i].Batch)
		if err == nil {
			err = r.ledger.refusal(d, r.judgeHolder(d, v), v, requests[i])
		}
		if err != nil {
			return err
		}
	}
	o, err := r.ledger.others(r.ID)
	if err != nil {
		return err
	}
	_, err = r.exclusion().look(ctx, o, false)
	return err
}

// maxStarts is how often a run starts over because its record is gone.
const maxStarts = 3

// acquireAll takes all batches or none.
func (r *Run) acquireAll(ctx context.Context, requests []Request, order []int) ([]*Lease, error) {
	leases := make([]*Lease, len(requests))
	for _, i := range order {
		lease, err := r.acquire(ctx, requests[i])
		if err != nil {
			r.giveBack(ctx, leases)
			return nil, err
		}
		leases[i] = lease
	}
	return leases, nil
}

// giveBack releases what was taken. A release that fails leaves a holder that the next start judges;
// the refusal is what the person must hear of.
func (r *Run) giveBack(ctx context.Context, leases []*Lease) {
	for _, s := range leases {
		if s != nil {
			s.Release(context.WithoutCancel(ctx))
		}
	}
}

// Refusal tells why a request would certainly be refused now; nil if it would not, or if only Acquire can
// tell. It only reads, so that a start that is refused costs nothing and changes nothing. For that the
// heartbeat of a holder must be fresh by this machine's clock: an older one is judged by the store's. And the
// holder must be past asking: else it may step back, see wait.go.
func (l *Ledger) Refusal(ctx context.Context, req Request) error {
	d, v, err := l.load(ctx, req.Batch)
	if err != nil {
		return err
	}
	err = l.refusal(d, l.judgeHolder(d, v, l.cfg.Now()), v, req)
	var held *HeldError
	if errors.As(err, &held) && (!l.fresh(held.Age) || l.asks(held.Holder.Run)) {
		return nil
	}
	return err
}

// asks tells whether a run's record says that it asks yet, or is gone, so that what it was seen to hold is not its own by now.
func (l *Ledger) asks(run string) bool {
	r, err := l.readRecord(run)
	return errors.Is(err, fs.ErrNotExist) || err == nil && r.Status == Asking
}

// refusal tells why the batch cannot be taken as the document stands; nil if it can, perhaps from a dead run.
func (l *Ledger) refusal(d *Document, held *HeldError, v store.Version, req Request) error {
	if held != nil && !held.Dead {
		return held
	}
	switch {
	case !d.Batch.Named && !req.Incremental:
		return nil
	case d.Finished == nil && !d.Batch.Named:
		return nil
	case d.Finished == nil:
		return keptRefusal(d, req)
	case req.Incremental && req.Rerun && hasRange(d.Range) && !sameRange(d.Range, d.Finished.Range):
		return &PinnedError{Batch: d.Batch, Document: v.Path}
	case req.Appends && !req.Rerun && !req.Incremental && !req.Follows:
		return &FinishedError{Batch: d.Batch, Finished: *d.Finished, Document: v.Path}
	}
	rerun := req.Rerun && !req.Incremental || req.willRerun(d)
	if rerun && !req.Anyway && len(d.Todo) == 0 { // else asked again when the list is done
		return l.missingClaims(d)
	}
	return nil
}

// keptRefusal refuses an append where a run that did not commit had replaced the folder, when the output's mode or
// name was another: its rows are the batch's, and nothing would take them away (I3).
func keptRefusal(d *Document, req Request) error {
	if !req.Appends || req.Rerun {
		return nil
	}
	for _, k := range keptByTries(d) {
		if !slices.Contains(req.Replaces, k.Output) {
			return &KeptError{Batch: d.Batch, Run: k.Run, Output: k.Output}
		}
	}
	return nil
}

// acquire takes one batch and does what its to-do list says.
func (r *Run) acquire(ctx context.Context, req Request) (*Lease, error) {
	s := &Lease{run: r, ledger: r.ledger, request: req}
	err := s.takeAndDrain(ctx)
	if err == nil {
		err = r.ledger.refusal(s.doc, nil, s.version, req)
	}
	if err == nil {
		return s, nil
	}
	if given := s.Release(context.WithoutCancel(ctx)); errors.As(given, new(*LostError)) {
		err = given // the batch is another run's, which may be why files are gone that were there
	}
	return nil, err
}

// takeAndDrain makes this run the holder, from a dead one perhaps, and does what the to-do list says. After an
// error other than a *LeftError the batch is not held.
func (s *Lease) takeAndDrain(ctx context.Context) error {
	err := s.take(ctx)
	if err != nil {
		s.ended = true
	}
	s.clean = err != nil && !errors.As(err, new(*UnknownError))
	s.run.remember(s)
	if err == nil {
		err = s.drain(ctx)
	}
	return err
}

// take makes this run the holder.
func (s *Lease) take(ctx context.Context) error {
	r, batch := s.run, s.request.Batch
	var unknown []store.Version
	for range maxConflicts {
		if err := r.check(); err != nil && len(unknown) == 0 {
			return err
		}
		if len(unknown) > 0 {
			ctx = context.WithoutCancel(ctx) // what became of a save is found out all the same
		}
		d, v, fate, err := r.ledger.settle(ctx, batch, unknown)
		if err != nil && len(unknown) > 0 {
			return s.unknown("acquire", err)
		}
		if err != nil {
			return err
		}
		if fate != notTaken {
			if s.doc, s.version = d, v; fate == taken && d.heldBy(r.ID, s.epoch) {
				return nil
			}
			return s.unknown("acquire", nil)
		}
		held := r.judgeHolder(d, v)
		if err := s.mayTake(d, held, v); err != nil {
			return err
		}
		now := r.ledger.cfg.Now()
		s.took = nil
		if held != nil {
			s.took = takeOver(d, held, r.ID, now)
		}
		d.Batch = batch.carrying(d.Batch)
		d.Epoch++
		d.Holder = r.holder(now)
		next, err := r.ledger.saveDocument(ctx, d, v)
		switch {
		case err == nil:
			s.doc, s.version, s.epoch = d, next, d.Epoch
			return nil
		case errors.Is(err, store.ErrUnknown):
			unknown, s.epoch = append(unknown, next), d.Epoch
		case !errors.Is(err, store.ErrConflict) && len(unknown) > 0:
			return s.unknown("acquire", err)
		case ctx.Err() != nil:
			return ctx.Err()
		case !errors.Is(err, store.ErrConflict): // nothing was read or written yet: the ledger cannot be used
			return &UnwritableError{Path: r.ledger.path, Err: err}
		}
	}
	if len(unknown) > 0 {
		return s.unknown("acquire", nil)
	}
	return s.saveError("acquire", store.ErrConflict)
}

// carrying keeps what a newer program wrote into the batch that this run names.
func (b Batch) carrying(old Batch) Batch {
	b.extra = old.extra
	return b
}

// mayTake tells why the batch cannot be taken as the document stands.
func (s *Lease) mayTake(d *Document, held *HeldError, v store.Version) error {
	switch {
	case s.from == "":
		return s.ledger.refusal(d, held, v, s.request)
	case held == nil || held.Holder.Run != s.from:
		return errNotHeld
	case !held.Dead:
		return held
	}
	return nil
}

// drain does what the to-do list says and empties it. The list is carried out under the generation
// that this run just made durable.
func (s *Lease) drain(ctx context.Context) error {
	var done carried
	if len(s.doc.Todo) > 0 {
		done = s.ledger.carry(ctx, s.doc)
	}
	if done.any() {
		if err := s.save(ctx, "drain", done.apply); err != nil {
			return err
		}
	}
	s.run.tookOver(s.took, done)
	if len(done.left) > 0 {
		return &LeftError{Batch: s.doc.Batch, Left: done.left}
	}
	return nil
}

// missingClaims refuses to replace a batch some of whose files are gone: they may have been compacted
// into files that no ledger knows, and the rows would then be there twice.
func (l *Ledger) missingClaims(d *Document) error {
	for name, out := range d.Finished.Outputs {
		if out.Class != Claims {
			continue
		}
		base, _ := l.find(out.Base)
		e := &ClaimsMissingError{Batch: d.Batch, Output: name, Base: base, Of: len(out.Claims)}
		for _, claim := range out.Claims {
			_, err := os.Lstat(filepath.Join(base, filepath.FromSlash(claim)))
			if err == nil {
				continue
			}
			if e.Missing++; e.Missing == 1 {
				e.Example = claim
			}
		}
		if e.Missing > 0 {
			return e
		}
	}
	return nil
}
