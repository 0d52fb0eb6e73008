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
// other has stepped back, runs or is dead, and the higher one steps back. The lower one also waits for a batch
// that the higher one took first: see wait.go.

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
	var held *TargetHeldError
	if errors.As(err, &held) && !l.fresh(held.Age) { // only the store's clock can tell
		return nil
	}
	return err
}

// exclusion begins a look of this run at the others.
func (r *Run) exclusion() exclusion {
	return exclusion{ledger: r.ledger, by: r, run: r.ID, targets: r.record.Targets, now: r.storeNow()}
}

// exclude looks for runs that exclude this one; what ended and dead ones left in its targets is carried out,
// dropped and grabbed, before this run stages. gone tells
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
		again, err := r.exclusion().look(ctx, o, true)
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
	by      *Run   // that looks; nil: one that has not begun
	run     string // its id
	targets []Target
	now     time.Time // by the clock that heartbeats are dated by
}

// look goes through the other runs. again: one that asks too must step back first. settle: what dead runs left
// is settled.
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
	if o.Status == Waiting {
		return false, nil // it holds nothing, and will look itself
	}
	j := x.life(o)
	held := &TargetHeldError{Path: t.Path, Other: o, Age: j.age, Looks: j.looks, Asking: o.Status == Asking}
	switch {
	case j.dead && settle:
		return false, x.settle(ctx, t, o)
	case j.dead:
		return false, nil
	case o.Status != Asking || j.looks > 0 || x.run != "" && x.run > o.Run:
		return false, held
	}
	return true, nil
}

// life judges a run by its record.
func (x exclusion) life(o Record) life {
	j := x.ledger.judge(o.Run, o.Identity, x.ledger.recordPath(o.Run), x.now)
	if x.by != nil && slices.Contains(x.by.declared, o.Run) {
		j.dead, j.looks = true, 0
	}
	return j
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

// settle finishes what a dead run left in the place that this run is going to write to, before it stages. A
// batch that it still holds is taken over: its staging is grabbed, so that it exchanges nothing when it wakes
// up. What it committed is landed. What cannot be done is in the way.
func (x exclusion) settle(ctx context.Context, t Target, o Record) error {
	for _, b := range o.Batches {
		left, err := x.settleBatch(ctx, b, o.Run)
		if err != nil {
			return err
		}
		left = slices.DeleteFunc(left, func(l Left) bool { return !x.concerns(l.Entry, t) })
		if len(left) > 0 {
			return &LeftError{Batch: b, Left: left}
		}
	}
	return nil
}

// settleBatch takes a batch from a dead run, or carries out what that left. The run may only have been paused, and
// commit just now: then it holds the batch no more, and what it landed by half would be lost to an exchange.
func (x exclusion) settleBatch(ctx context.Context, b Batch, dead string) ([]Left, error) {
	var err error
	for range maxConflicts {
		var d *Document
		if d, _, err = x.ledger.load(ctx, b); err != nil {
			return nil, err
		}
		var left []Left
		switch {
		case d.Holder != nil && d.Holder.Run == dead:
			if left, err = x.by.clear(ctx, b, dead); errors.Is(err, errNotHeld) {
				continue
			}
		case len(d.Todo) > 0:
			_, left, err = x.ledger.finishOne(ctx, b)
		}
		return left, err
	}
	return nil, err
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
