package ledger

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"
)

// A start waits in three cases. A holder whose heartbeat is too old is watched, for one and a half of its
// intervals, before it counts as dead; every start does so. A start that was told to wait asks again until
// what it wants is free, or its holder dead. While it waits in these two it holds nothing, and its record says so: others
// need not step back for it. And where others must, because of two that ask this one has the lower id (see exclude.go), it
// goes on asking until the batch that the other took first is given back. Who is lowest of all that ask is so
// refused only for one that runs.

// The time between two tries of a start that waits.
const (
	firstTry = 50 * time.Millisecond
	lastTry  = 2 * time.Second
)

// staysLong is the pause from which on it is told that another run is to step back: mostly it has done so, or runs, long before.
const staysLong = time.Second

// WaitedError is a refusal that was still one after the time that the run was to wait.
type WaitedError struct {
	For time.Duration
	Err error // a *HeldError or *TargetHeldError
}

func (e *WaitedError) Error() string {
	return fmt.Sprintf("waited %s: %v", e.For.Round(time.Second), e.Err)
}
func (e *WaitedError) Unwrap() error { return e.Err }

// patiently tries until it succeeds, or is refused for something that waiting does not help against.
func (r *Run) patiently(ctx context.Context, try func() ([]*Lease, error)) ([]*Lease, error) {
	begun, pause, told, seen := r.ledger.cfg.Elapsed(), firstTry, "", ""
	for {
		if err := r.check(); err != nil {
			return nil, err
		}
		leases, err := try()
		who, looks := inTheWay(err)
		waited := r.ledger.cfg.Elapsed() - begun
		if r.over(err, &seen) {
			continue
		}
		stays := looks == 0 && r.stays(err)
		switch {
		case stays:
		case who == "" || looks == 0 && r.info.Wait == 0:
			return leases, err
		case looks == 0 && waited >= r.info.Wait:
			return nil, &WaitedError{For: waited, Err: err}
		}
		if !stays {
			if err := r.standBack(); err != nil {
				return nil, err
			}
		}
		if who != told && r.info.Waiting != nil && (!stays || pause >= staysLong) {
			r.info.Waiting(err)
			told = who
		}
		if looks == 0 && !stays {
			pause = min(pause, r.info.Wait-waited)
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(pause):
			pause = min(2*pause, lastTry)
		}
	}
}

// over tells whether the holder that a refusal names is over since its document was read: its record is gone. That
// is looked at once more; seen is the document that was last found so.
func (r *Run) over(refusal error, seen *string) bool {
	var held *HeldError
	if !errors.As(refusal, &held) || held.Document == *seen {
		return false
	}
	if _, err := r.ledger.readRecord(held.Holder.Run); !errors.Is(err, fs.ErrNotExist) {
		return false
	}
	*seen = held.Document
	return true
}

// stays tells whether this run goes on asking for a batch: its holder asks too, and steps back for this one.
func (r *Run) stays(refusal error) bool {
	var held *HeldError
	if !errors.As(refusal, &held) {
		return false
	}
	other, err := r.ledger.readRecord(held.Holder.Run)
	_, excluded := r.exclusion().excludedBy(other)
	held.Yields = err == nil && excluded && other.Status == Asking && r.ID < other.Run
	return held.Yields
}

// inTheWay tells which run a refusal is for, and how long that must still be watched; "" if waiting is no help.
func inTheWay(err error) (run string, looks time.Duration) {
	var held *HeldError
	var target *TargetHeldError
	switch {
	case errors.As(err, &held):
		return held.Holder.Run, held.Looks
	case errors.As(err, &target):
		return target.Other.Run, target.Looks
	}
	return "", 0
}

// standBack says that this run holds nothing and waits.
func (r *Run) standBack() error { return r.say(Waiting) }

// ask says that this run asks for its batches and targets again.
func (r *Run) ask() error { return r.say(Asking) }

func (r *Run) say(status Status) error {
	if r.record.Status == status {
		return nil
	}
	r.record.Status = status
	if err := r.ledger.writeRecord(r.record, false); err != nil {
		return r.ledger.unwritable(err)
	}
	return nil
}
