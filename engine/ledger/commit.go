package ledger

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"
)

// Commit is what a run says of a batch that it has staged.
type Commit struct {
	State   string          // the run in the run state, <app>.<runId>
	Config  string          // hash of the task's configuration
	Inputs  json.RawMessage // fingerprint of what was read
	Outputs map[string]Result
	Checks  []Check           // how the data checks went
	Skipped map[string]string // outputs that were not written, to their folders: what the last commit says of them stays
}

// Result is what an output holds.
type Result struct {
	Claims []string // final names, as Staged gives them
	Slice  string   // of OutputSpec.Parts: folders that are replaced whole, also if nothing is staged in them, as "*/dt=1"; "": none
	Rows   int64
	Files  int64
	Bytes  int64 // of all claims together: what is staged must still have as many

	Columns []Column // of the relation that was written
}

// Commit makes the staged files durable, looks every one of them up, and makes the batch this run's
// by one save (I4). Before it no file of class Claims is visible (I1); after it the files will land,
// whoever does it. What replaces folders must have done so by Replace, what has a commit of its own made that by
// CommitTables.
func (s *Lease) Commit(ctx context.Context, c Commit) error {
	if err := s.ready(c); err != nil {
		return err
	}
	if err := s.tablesDone(); err != nil {
		return err
	}
	if err := s.seal(ctx, c); err != nil {
		return err
	}
	if err := s.lookUpAll(c); err != nil { // syncing takes its time, and so does replacing
		return err
	}
	if err := s.stillThere(ctx, "commit"); err != nil {
		return err
	}
	present := s.claimsPresent()
	at := s.ledger.cfg.Now().UTC().Truncate(time.Second)
	if err := s.save(ctx, "commit", func(d *Document) { s.finish(d, c, at, present) }); err != nil {
		return err
	}
	s.committed = true
	return nil
}

// stillThere refuses a step that others will see if the document that says that the batch is this run's has been
// deleted, by a person or a clean-up: the save would make it again. Where it is gone because others have saved since, the
// save finds that out.
func (s *Lease) stillThere(ctx context.Context, step string) error {
	if is, err := there(s.version.Path); is || err != nil {
		return nil
	}
	now, v, err := s.ledger.load(ctx, s.request.Batch)
	switch {
	case err != nil:
		return s.unknown(step, err)
	case !now.heldBy(s.run.ID, s.epoch):
		return s.lost(ctx, now, v)
	}
	return nil
}

// ready refuses a step towards the commit that is out of order, or of a run that others may judge dead.
func (s *Lease) ready(c Commit) error {
	if err := s.run.check(); err != nil {
		return err
	}
	if s.committed || s.ended || len(c.Outputs) != len(s.prepared) {
		return fmt.Errorf("batch %s: commit of %d outputs where %d are prepared", s.request.Batch.Name(), len(c.Outputs), len(s.prepared))
	}
	return nil
}

// seal makes of what is staged what is to land, and makes that durable, once: all outputs, before any of
// them becomes visible. What is staged is looked up before a folder is replaced; else Commit does that alone.
func (s *Lease) seal(ctx context.Context, c Commit) error {
	if s.sealed {
		return nil
	}
	if s.replacesAny() {
		if err := s.lookUpAll(c); err != nil {
			return err
		}
	}
	var all []names
	for _, name := range sortedKeys(s.prepared) {
		suffix, claims := stagedSuffix, c.Outputs[name].Claims
		if s.prepared[name].keyed() {
			continue // these are made durable whatever the batch risks
		}
		if s.prepared[name].exchanged() {
			if err := s.furnish(name, c.Outputs[name]); err != nil {
				return err
			}
			suffix, claims = "", s.prepared[name].stagedNames()
		}
		all = append(all, s.staged(s.prepared[name], claims, suffix))
	}
	if err := s.ledger.durable(namedFirst, false, s.stagedForTables(c)...); err != nil {
		return err
	}
	if err := s.ledger.durable(stagedFirst, s.ledger.cfg.Fast, all...); err != nil {
		if !s.replacesAny() {
			err = cmp.Or(s.lookUpAll(c), err) // it may be a file that is gone
		}
		return err
	}
	s.sealed = true
	return ctx.Err()
}

func (s *Lease) replacesAny() bool {
	for _, p := range s.prepared {
		if p.Class == Replaces {
			return true
		}
	}
	return false
}

// finish is the change that commits: see the table in doc.go.
func (s *Lease) finish(d *Document, c Commit, at time.Time, present map[string]bool) {
	replaced, reruns := d.Finished, s.request.reruns(d)
	if !s.request.Incremental {
		d.Range = s.request.slice // one that is pinned was to be read by a task that is another one now, and all was read
	}
	f := &Finished{
		Run: s.run.ID, State: c.State, Epoch: s.epoch, At: at, Config: c.Config,
		Range: orEmpty(d.Range), Inputs: orEmpty(c.Inputs), Outputs: map[string]FinishedOutput{}, Checks: c.Checks,
	}
	for _, name := range sortedKeys(s.prepared) {
		p, r := s.prepared[name], c.Outputs[name]
		if p.keyed() {
			s.finishTable(d, f, p, r)
			continue
		}
		claims := slices.Concat([]string{}, r.Claims)
		f.Outputs[name] = FinishedOutput{
			Class: p.Class, Base: p.Base, Target: p.Target, Claims: claims, Parts: p.Parts, Columns: r.Columns, Rows: r.Rows, Files: r.Files, Bytes: r.Bytes,
		}
		e := Entry{Do: Land, Run: s.run.ID, Output: name, Base: p.Base, Absent: p.Absent, Target: p.Target, Staging: p.Staging, Success: p.Success, Fast: s.ledger.cfg.Fast}
		if p.exchanged() {
			e.Do, e.Committed, e.Marker, e.Parts, e.Renames, e.Moved = Drop, true, p.Marker, p.Parts, p.Renames, p.Moved
			e.Success = p.Success && (p.Moved != nil || p.parts && len(p.Parts) > 0) // else it came with the folder
		} else {
			e.Names = claims
		}
		d.Todo = append(d.Todo, e)
	}
	for name, base := range c.Skipped {
		f.Outputs[name] = FinishedOutput{Class: Claims, Base: s.ledger.place(base), Claims: []string{}}
		if replaced != nil && replaced.Outputs[name].Class != "" {
			f.Outputs[name] = replaced.Outputs[name]
		}
	}
	if reruns {
		for _, name := range sortedKeys(replaced.Outputs) {
			out := replaced.Outputs[name]
			if _, skipped := c.Skipped[name]; skipped {
				continue
			}
			names := slices.DeleteFunc(slices.Clone(out.Claims), func(claim string) bool { return !present[path.Join(name, claim)] })
			if out.Class == Claims && len(names) > 0 {
				d.Todo = append(d.Todo, Entry{Do: Remove, Run: replaced.Run, Output: name, Base: out.Base, Target: out.Target, Names: names})
			}
		}
	}
	s.settlePending(d)
	if !reruns {
		d.Marks = nil // the new range begins at them
	}
	d.Finished, d.Holder, d.Outputs, d.Tried, d.Range = f, nil, nil, nil, nil
}

// claimsPresent tells which files of the batch that is replaced are there. Without Anyway all are:
// Acquire refuses otherwise. With it, those that are missing have been given up.
func (s *Lease) claimsPresent() map[string]bool {
	present := map[string]bool{}
	if s.doc.Finished == nil {
		return present
	}
	for name, out := range s.doc.Finished.Outputs {
		if out.Class != Claims {
			continue
		}
		base, _ := s.ledger.find(out.Base)
		for _, claim := range out.Claims {
			_, err := os.Lstat(filepath.Join(base, filepath.FromSlash(claim)))
			present[path.Join(name, claim)] = err == nil || !s.request.Anyway
		}
	}
	return present
}

func (s *Lease) lookUpAll(c Commit) error {
	for _, name := range sortedKeys(s.prepared) {
		if t := s.tables[name]; t != nil && (s.moved || t.Outcome == Found || s.prepared[name].staging == "") {
			continue // its files are the table's, or not wanted, or there are none
		}
		if s.prepared[name].exchanged() && s.sealed {
			if !s.exchanged {
				return fmt.Errorf("batch %s: commit before output %s was replaced", s.request.Batch.Name(), name)
			}
			continue // it is in its place, and the old data where it was staged
		}
		if err := s.lookUp(name, c.Outputs[name]); err != nil {
			return err
		}
	}
	return nil
}

// lookUp compares what is claimed with what is staged: a file that is gone would be missing, one that
// nobody claims would be lost, and one that was cut would land damaged.
func (s *Lease) lookUp(output string, r Result) error {
	staged, err := s.Staged(output)
	if err != nil {
		return err
	}
	found, bytes := map[string]bool{}, int64(0)
	for _, f := range staged {
		found[f.Name] = true
		bytes += f.Bytes
	}
	for _, name := range r.Claims {
		if !found[name] {
			return &StagedError{Output: output, Path: stagedPath(s.prepared[output].data(), name), Reason: "the staged file is gone"}
		}
		delete(found, name)
	}
	for name := range found {
		return &StagedError{Output: output, Path: stagedPath(s.prepared[output].data(), name), Reason: "the file is staged and not claimed"}
	}
	if bytes != r.Bytes {
		return &StagedError{Output: output, Path: s.prepared[output].staging,
			Reason: fmt.Sprintf("the staged files have %d bytes, and had %d when they were written", bytes, r.Bytes)}
	}
	return nil
}

// Land carries out the list that Commit wrote: the batch becomes visible, the files that it replaces
// go. It returns a *NotAllLandedError if something is left; the next start of the pipeline goes on
// with it.
func (s *Lease) Land(ctx context.Context) error {
	if !s.committed || s.ended {
		return fmt.Errorf("batch %s: land before the commit", s.request.Batch.Name())
	}
	s.ended = true
	done, err := s.mop(ctx)
	switch {
	case err != nil || len(done.left) > 0:
		return &NotAllLandedError{Batch: s.request.Batch, Left: done.left, Err: err}
	case done.missing > 0:
		return &NotAllLandedError{Batch: s.request.Batch, Err: fmt.Errorf("%d of its staged files vanished after they were looked up", done.missing)}
	}
	return nil
}
