package ledger

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ubunye-io/ubunye/engine/store"
)

// A run that replaces a folder and any other run that writes to it exclude each other, whatever batches
// they are of. Each writes its record, durably, takes its batches, and only then lists runs/: of two that
// come at once, at least one sees the other. A record says asking until its run stages. A run that is
// running is not waited for; of two that ask, the one with the lower id stays and looks again until the
// other has stepped back, runs or is dead, and the higher one steps back.

// meets tells whether two targets are one place, or one lies in the other. Target ids tell folders apart
// that have one path on two machines; where one has none, paths must do.
func (t Target) meets(o Target) bool {
	switch {
	case t.ID != "" && t.ID == o.ID:
		return true
	case t.Path == o.Path:
		return t.ID == "" || o.ID == ""
	}
	return below(t.Path, o.Path) || below(o.Path, t.Path)
}

// excludes tells whether two runs with these targets may not run at once. Two that replace folders in one
// place may: each exchange is whole.
func (t Target) excludes(o Target) bool {
	return !(t.Adds && o.Adds) && !(t.Parts && o.Parts) && t.meets(o)
}

// below tells whether path a lies in folder b.
func below(a, b string) bool {
	return strings.HasPrefix(a, strings.TrimSuffix(b, string(filepath.Separator))+string(filepath.Separator))
}

// realTargets gives targets as records have them: real paths, and the ids of folders that have one.
func (l *Ledger) realTargets(targets []Target) []Target {
	all := slices.Clone(targets)
	for i := range all {
		all[i].Path = realPath(all[i].Path)
		if t, err := l.target(all[i].Path); err == nil {
			all[i].ID = t.ID
		}
	}
	return all
}

// twice finds two of a run's own targets that exclude each other, as one folder by two paths, unless one comes after the other.
func twice(targets []Target) error {
	for i, t := range targets {
		for j, o := range targets[:i] {
			if t.excludes(o) && !slices.Contains(t.After, j) && !slices.Contains(o.After, i) {
				return &TargetTwiceError{Path: o.Path, Other: t.Path}
			}
		}
	}
	return nil
}

// others is what is listed in runs/ beside one run: a run is there while its record or its heartbeat is.
type others struct {
	records []Record
	bad     []*UnreadableError
	beats   []string // heartbeats of runs that have no record
	mine    bool     // the one run has its record
}

func (l *Ledger) others(run string) (o others, err error) {
	records, bad, err := l.records()
	if err != nil {
		return o, err
	}
	o.bad = bad
	for _, r := range records {
		if r.Run == run {
			o.mine = true
			continue
		}
		o.records = append(o.records, r)
	}
	beats, err := filepath.Glob(filepath.Join(globLiteral(l.sub("runs")), "*.beat"))
	for _, beat := range beats {
		other := strings.TrimSuffix(filepath.Base(beat), ".beat")
		is, lookErr := there(l.recordPath(other))
		if err = cmp.Or(err, lookErr); !is && other != run {
			o.beats = append(o.beats, other)
		}
	}
	return o, err
}

// TargetRefusal tells why a run with these targets would be refused now, whatever its batches are; nil
// if it would not, or if that can only be told by asking. It only reads; Acquire decides.
func (l *Ledger) TargetRefusal(ctx context.Context, targets []Target) error {
	targets = l.realTargets(targets)
	if err := twice(targets); err != nil {
		return err
	}
	o, err := l.others("")
	if err != nil {
		return err
	}
	x := exclusion{ledger: l, targets: targets, now: l.cfg.Now()}
	_, err = x.look(ctx, o, false)
	return err
}

// exclude looks for runs that exclude this one and carries out what ended ones had committed. gone tells
// that the run's own record is not there any more: then others may not have seen it, and it must start over.
func (r *Run) exclude(ctx context.Context) (gone bool, err error) {
	wait := firstLook
	for {
		if err := r.check(); err != nil {
			return false, err
		}
		o, err := r.ledger.others(r.ID)
		if err != nil || !o.mine {
			return err == nil, err
		}
		x := exclusion{ledger: r.ledger, run: r.ID, targets: r.record.Targets, now: r.storeNow()}
		again, err := x.look(ctx, o, true)
		if err != nil || !again {
			return false, err
		}
		select {
		case <-ctx.Done():
			return false, context.Cause(ctx)
		case <-time.After(wait):
			wait = min(2*wait, lastLook)
		}
	}
}

// The time between two looks at a run that asks too.
const (
	firstLook = 20 * time.Millisecond
	lastLook  = time.Second
)

// exclusion is one look at the other runs.
type exclusion struct {
	ledger  *Ledger
	run     string // that looks; "": one that has no record yet
	targets []Target
	now     time.Time // by the clock that heartbeats are dated by
}

// look goes through the other runs. again: one that asks too must step back first. settle: what ended runs
// had committed is carried out.
func (x exclusion) look(ctx context.Context, o others, settle bool) (again bool, err error) {
	if len(x.targets) == 0 {
		return false, nil
	}
	for _, u := range o.bad { // whose it is and what it does cannot be told (I7)
		alive := x.age(strings.TrimSuffix(filepath.Base(u.Path), ".json")) < x.ledger.cfg.Timeout
		if alive || slices.ContainsFunc(x.targets, func(t Target) bool { return !t.Adds }) {
			return false, u
		}
	}
	for _, run := range o.beats {
		// A listing is no snapshot: its run may have ended, or begun, while it was made.
		if is, err := there(x.ledger.beatPath(run)); err == nil && !is {
			continue
		}
		if is, err := there(x.ledger.recordPath(run)); err == nil && is {
			again = true
			continue
		}
		if x.age(run) < x.ledger.cfg.Timeout {
			return false, &UnreadableError{Path: x.ledger.beatPath(run), Reason: "it is the heartbeat of a run that has no record, so that nobody knows what it writes"}
		}
	}
	for _, r := range o.records {
		t, is := x.excludedBy(r)
		if !is {
			continue
		}
		waits, err := x.judge(ctx, t, r, settle)
		if err != nil {
			return false, err
		}
		again = again || waits
	}
	return again, nil
}

// excludedBy finds a target of this run that another run excludes it from.
func (x exclusion) excludedBy(o Record) (Target, bool) {
	for _, t := range x.targets {
		if slices.ContainsFunc(o.Targets, t.excludes) {
			return t, true
		}
	}
	return Target{}, false
}

// judge tells what another run that excludes this one means for it: nothing, a refusal, or that it is to
// be looked at again.
func (x exclusion) judge(ctx context.Context, t Target, o Record, settle bool) (again bool, err error) {
	held := &TargetHeldError{Path: t.Path, Other: o, Age: x.age(o.Run), Asking: o.Status == Asking}
	live := o.Status == Asking || o.Status == Running
	switch {
	case !live || certainlyGone(procRoot, x.ledger.cfg.Identity, o.Identity):
		held.Gone = true
		return false, x.settle(ctx, t, held, settle)
	case o.Status == Running || x.run != "" && x.run > o.Run:
		return false, held
	case held.Age >= x.ledger.cfg.Timeout:
		return false, held
	}
	return true, nil
}

// age is the time since a run's last heartbeat; a run without one is as old as its record.
func (x exclusion) age(run string) time.Duration {
	then, err := store.ModTime(x.ledger.beatPath(run))
	if errors.Is(err, fs.ErrNotExist) {
		then, err = store.ModTime(x.ledger.recordPath(run))
	}
	if err != nil {
		return 0 // it cannot be told, so it may be alive
	}
	return x.now.Sub(then)
}

// settle looks at what a run that has ended left in the place that this run is going to write to. A batch
// that it still holds must be taken over first; what it committed is landed; what cannot be is in the way.
func (x exclusion) settle(ctx context.Context, t Target, held *TargetHeldError, carry bool) error {
	for _, b := range held.Other.Batches {
		d, _, err := x.ledger.load(ctx, b)
		if err != nil {
			return err
		}
		if d.Holder != nil && d.Holder.Run == held.Other.Run {
			held.Batch = d.Batch
			return held
		}
		if len(d.Todo) == 0 || !carry {
			continue
		}
		_, left, err := x.ledger.finishOne(ctx, b)
		if err != nil {
			return err
		}
		left = slices.DeleteFunc(left, func(l Left) bool { return !x.concerns(l.Entry, t) })
		if len(left) > 0 {
			return &LeftError{Batch: d.Batch, Left: left}
		}
	}
	return nil
}

// concerns tells whether an entry is about files in a target.
func (x exclusion) concerns(e Entry, t Target) bool {
	base, _ := x.ledger.find(e.Base)
	return Target{Path: base, ID: e.Target}.meets(t)
}

// enter says that this run stages from now on: who asks is refused.
func (r *Run) enter() error {
	r.record.Status = Running
	if err := r.ledger.writeRecord(r.record, false); err != nil {
		r.record.Status = Asking
		return r.ledger.unwritable(err)
	}
	return nil
}
