package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// A start waits in two cases. A holder whose heartbeat is too old is watched, for one and a half of its
// intervals, before it counts as dead; every start does so. And a start that was told to wait asks again until
// what it wants is free, or its holder dead. While it waits it holds nothing, and its record says so: others
// need not step back for it.

// The time between two tries of a start that waits.
const (
	firstTry = 50 * time.Millisecond
	lastTry  = 2 * time.Second
)

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
	begun, pause, told := r.ledger.cfg.Elapsed(), firstTry, ""
	for {
		if err := r.check(); err != nil {
			return nil, err
		}
		leases, err := try()
		who, looks := inTheWay(err)
		waited := r.ledger.cfg.Elapsed() - begun
		switch {
		case who == "" || looks == 0 && r.info.Wait == 0:
			return leases, err
		case looks == 0 && waited >= r.info.Wait:
			return nil, &WaitedError{For: waited, Err: err}
		}
		if err := r.standBack(); err != nil {
			return nil, err
		}
		if who != told && r.info.Waiting != nil {
			r.info.Waiting(err)
			told = who
		}
		if looks == 0 {
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
