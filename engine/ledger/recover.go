package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Recovery asks for what dead runs left to be finished, dropped and written down, without running anything.
type Recovery struct {
	Pipeline string
	Dead     []string    // runs that a person declares dead; judging wrongly is safe
	Waiting  func(error) // told of each run that is watched before it counts as dead; may be nil
}

// Recovered is what Recover did, and what it could not do.
type Recovered struct {
	Completed []Completed
	Takeovers []Takeover
	Stray     []string     // staging folders of dead runs that no document named, removed now
	Held      []*HeldError // batches of living runs
	Left      []Left
}

// Recover does for the pipeline what every start does, by the same code, and for all dead runs what a start
// does for those that are in its way: batches that they hold become free, what they had staged goes, what they
// had committed lands. It removes their staging folders that no document names. A ledger that is not there stays
// away.
func (l *Ledger) Recover(ctx context.Context, q Recovery) (Recovered, error) {
	var did Recovered
	id, err := l.id()
	if err != nil || id == "" {
		return did, err
	}
	// Also of batches that no record leads to: somebody may have removed it.
	names, err := l.docs.List(ctx, q.Pipeline)
	if err != nil {
		return did, err
	}
	if did.Completed, did.Left, err = l.finish(ctx, q.Pipeline, nil, names); err != nil {
		return did, err
	}
	run, err := l.Begin(ctx, RunInfo{Pipeline: q.Pipeline, Waiting: q.Waiting})
	if err != nil {
		return did, err
	}
	run.declared = q.Dead
	err = run.watchSilent(ctx)
	if err == nil {
		run.collect()
		did.Left = append(did.Left, run.cleanUp(ctx, dead)...)
		err = run.lookAround(ctx, &did)
		did.Takeovers = run.Takeovers()
	}
	return did, errors.Join(err, run.End(ctx, Succeeded))
}

// watchSilent looks at the runs whose heartbeat is too old until each is dead or alive.
func (r *Run) watchSilent(ctx context.Context) error {
	told := map[string]bool{}
	for pause := firstTry; ; pause = min(2*pause, lastTry) {
		if err := r.check(); err != nil {
			return err
		}
		records, _, err := r.ledger.records()
		if err != nil {
			return err
		}
		x, again := r.exclusion(), false
		for _, o := range records {
			if o.Run == r.ID || !o.of(r.record.Pipeline) {
				continue
			}
			j := x.life(o)
			if j.looks == 0 {
				continue
			}
			again = true
			if !told[o.Run] && r.info.Waiting != nil {
				told[o.Run] = true
				r.info.Waiting(&TargetHeldError{Other: o, Age: j.age, Looks: j.looks})
			}
		}
		if !again {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(pause):
		}
	}
}

// lookAround looks at the whole ledger for what no record leads to: batches whose holder has none are taken from it
// if it is dead, and staging folders of dead runs that no document names are removed. It lists what living runs hold.
func (r *Run) lookAround(ctx context.Context, did *Recovered) error {
	st, err := r.ledger.Status(ctx, "")
	if err != nil {
		return err
	}
	for _, b := range st.Batches {
		if b.Held == nil || b.Batch.Pipeline != r.record.Pipeline {
			continue
		}
		if _, err := r.ledger.readRecord(b.Held.Holder.Run); errors.Is(err, fs.ErrNotExist) {
			_, err = r.clear(ctx, b.Batch, b.Held.Holder.Run)
			if err == nil || errors.Is(err, errNotHeld) {
				continue
			}
			if !errors.As(err, new(*HeldError)) {
				did.Left = append(did.Left, Left{Batch: b.Batch, Path: pathOf(err, b.Document), Err: err})
			}
		}
		did.Held = append(did.Held, b.Held)
	}
	if len(st.Unreadable) > 0 {
		return nil // what an unreadable document names cannot be told from what none names (I7)
	}
	x := r.exclusion()
	for _, s := range st.Stray {
		if s.Run == "" || !r.ended(x, s.Run) {
			continue
		}
		if err := r.ledger.dropStaging(strings.TrimSuffix(s.Path, droppedSuffix), nil); err != nil {
			did.Left = append(did.Left, Left{Path: s.Path, Err: err})
			continue
		}
		did.Stray = append(did.Stray, s.Path)
	}
	return nil
}

// ended tells whether a run is dead, or has no record and no heartbeat any more.
func (r *Run) ended(x exclusion, run string) bool {
	o, err := r.ledger.readRecord(run)
	if err == nil {
		return x.life(o).dead
	}
	return r.ledger.vanished(run, err)
}

// vanished tells whether a run has no heartbeat either, where the error is that of reading its record.
func (l *Ledger) vanished(run string, err error) bool {
	beat, lookErr := there(l.beatPath(run))
	return errors.Is(err, fs.ErrNotExist) && lookErr == nil && !beat
}

// stagedBy tells which run made a staging folder: by its place, or by the marker that is in it; dir is its name
// now. It is "" for one that is not this ledger's, or if it cannot be told.
func (l *Ledger) stagedBy(dir string) string {
	if rel, err := filepath.Rel(l.sub(stagingFolder), dir); err == nil && filepath.IsLocal(rel) {
		run, _, _ := strings.Cut(rel, string(filepath.Separator))
		return run
	}
	data, err := os.ReadFile(filepath.Join(dir, stagingMarker))
	if err != nil {
		return ""
	}
	id, err := l.id()
	var m marker
	if err != nil || json.Unmarshal(data, &m) != nil || m.Ledger != id {
		return ""
	}
	return m.Run
}

// Forget takes off the lists of all batches what is left of a run and cannot be carried out, and the outputs
// that it had replaced without a commit; files of it that a table may name stay where they are. It returns what was given up, entry by entry: whose names they are is a
// person's business from now on. What can be carried out is, first. A batch that a living run holds is a
// *HeldError.
func (l *Ledger) Forget(ctx context.Context, run string) ([]Left, error) {
	names, err := l.docs.List(ctx, "")
	if err != nil {
		return nil, err
	}
	var given []Left
	for _, name := range names {
		left, err := l.forgetIn(ctx, name, run)
		given = append(given, left...)
		if err != nil {
			return given, err
		}
	}
	if o, err := l.readRecord(run); err == nil {
		now := l.cfg.Now()
		l.mend(ctx, run, l.judge(run, o.Identity, l.recordPath(run), now), now) // else the next start does
	}
	return given, nil
}

// errNotLookedUp is why files of a dead run that lie in a table are given up.
var errNotLookedUp = errors.New("whether the table names these files was not found out yet: those that it does not name are nobody's")

func (l *Ledger) forgetIn(ctx context.Context, name, run string) ([]Left, error) {
	d, v, err := l.loadName(ctx, name)
	if errors.As(err, new(*UnreadableError)) {
		return nil, nil // it has to be set aside before anything in it can be forgotten
	}
	if err != nil {
		return nil, err
	}
	of := func(e Entry) bool { return e.Run == run }
	kept := slices.ContainsFunc(d.Tried, func(t Try) bool { return t.Run == run && len(t.Kept) > 0 })
	doubted := func(p Pending) bool { return p.Run == run }
	if !slices.ContainsFunc(d.Todo, of) && !kept && !slices.ContainsFunc(d.Pending, doubted) {
		return nil, nil
	}
	if held := l.judgeHolder(d, v, l.cfg.Now()); held != nil {
		return nil, held
	}
	if err := l.docs.Settle(ctx, name); err != nil {
		return nil, err
	}
	done := l.carry(ctx, d)
	given := slices.DeleteFunc(done.left, func(left Left) bool { return !of(left.Entry) })
	done.apply(d)
	d.Todo = slices.DeleteFunc(d.Todo, of)
	for _, p := range d.Pending {
		if doubted(p) {
			base, _ := l.find(p.Output.Base)
			given = append(given, Left{Batch: d.Batch, Path: base, Err: errNotLookedUp,
				Entry: Entry{Do: "keep", Run: run, Output: p.Name, Base: p.Output.Base, Target: p.Output.Target, Names: p.Output.Claims}})
		}
	}
	d.Pending = slices.DeleteFunc(d.Pending, doubted)
	for i := range d.Tried {
		if d.Tried[i].Run == run {
			d.Tried[i].Kept = nil
		}
	}
	_, err = l.saveDocument(ctx, d, v)
	return given, err
}
