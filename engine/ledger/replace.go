package ledger

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
)

// Replaced tells what of an output a run has put in place before its commit.
type Replaced struct {
	Output  string
	Base    string   // the output folder
	Parts   []string // the folders that were put in place, relative to Base; "." is Base itself
	Of      int      // how many were to be
	Old     int      // how many of Parts took the place of a folder that was there
	Renames bool     // they could not be exchanged: for a moment readers could find none
	Moved   bool     // Base could not be renamed: for a moment readers could see a part of its new files, or of the old ones
}

// Replaced lists the outputs of which folders were put in place, in order of their names: if the run ends
// without a commit they stay as they are (I3), and the next run of the batch replaces them again.
func (s *Lease) Replaced() []Replaced {
	var all []Replaced
	for _, name := range sortedKeys(s.replaced) {
		p := s.prepared[name]
		all = append(all, Replaced{Output: name, Base: p.base, Parts: s.replaced[name], Of: len(p.Parts), Old: s.existed[name], Renames: p.Renames && p.Moved == nil, Moved: p.Moved != nil})
	}
	return all
}

// Replace puts the staged folders of outputs of class Replaces in place of those that are there: one
// exchange a folder. It is the target's own commit: readers see it a moment before the document says so.
// Whatever can fail is done before the first exchange, for all outputs; then the phase is saved, so that
// whoever takes over knows what to look for; after it nothing is taken back (I3).
//
// Every output must be staged and checked. Commit must follow. Without such outputs it does nothing.
func (s *Lease) Replace(ctx context.Context, c Commit) error {
	if err := s.ready(c); err != nil {
		return err
	}
	names := slices.DeleteFunc(sortedKeys(s.prepared), func(name string) bool { return !s.prepared[name].exchanged() })
	if len(names) == 0 {
		return nil
	}
	if err := s.seal(ctx, c); err != nil {
		return err
	}
	if err := s.stillThere(ctx, phaseCommitting); err != nil {
		return err
	}
	if err := s.savePhase(ctx, names, phaseCommitting); err != nil {
		return err
	}
	s.replaced, s.existed = map[string][]string{}, map[string]int{}
	for _, name := range names {
		if err := s.exchangeAll(ctx, name); err != nil {
			return &ReplaceError{Output: name, Path: s.prepared[name].base, Moved: s.prepared[name].Moved != nil, Err: err}
		}
	}
	s.exchanged = true
	return s.savePhase(ctx, names, phaseDone)
}

// savePhase saves how far outputs are, with what they claim.
func (s *Lease) savePhase(ctx context.Context, names []string, phase string) error {
	for _, name := range names {
		p := s.prepared[name]
		p.Phase = phase
		s.prepared[name] = p
	}
	return s.save(ctx, phase, func(d *Document) {
		for _, name := range names {
			d.Outputs[name] = s.prepared[name].Output
		}
	})
}

// furnish makes the staged folders of an output what they are to be in their place: files under their
// final names, the marker by which the folder is told, and what the old folder granted to whom.
func (s *Lease) furnish(name string, r Result) error {
	p := s.prepared[name]
	var err error
	if p.Parts, err = s.partsOf(p, r); err != nil {
		return err
	}
	p.Claims = slices.Concat([]string{}, r.Claims)
	s.prepared[name] = p
	for _, claim := range r.Claims {
		if p.stays && path.Dir(claim) == wholeFolder {
			continue // it gets its name when it is moved: ** over the output finds what is staged in it
		}
		if err := s.finalName(p, claim); err != nil {
			return err
		}
	}
	for _, part := range p.Parts {
		dir := filepath.Join(p.data(), filepath.FromSlash(part))
		if err := s.ledger.makeBelow(p.data(), dir); err != nil {
			return err
		}
		if err := s.copyAttributes(filepath.Join(p.base, filepath.FromSlash(part)), dir); err != nil {
			return &OutputUnwritableError{Output: name, Path: dir, Staging: true, Err: err}
		}
		if err := s.writeMarker(p, filepath.Join(dir, p.Marker)); err != nil {
			return err
		}
	}
	if !p.parts {
		if err := s.furnishWhole(p); err != nil {
			return err
		}
	}
	if p.stays {
		if p.Moved, err = s.list(p); err != nil {
			return &OutputUnwritableError{Output: name, Path: p.base, Err: err}
		}
		s.prepared[name] = p
	}
	return nil
}

// finalName takes the suffix off a staged file's name. Nobody reads there yet, but a reader of ** above
// might look: it sees whole files only, and these only from now on.
func (s *Lease) finalName(p preparedOutput, claim string) error {
	final := filepath.Join(p.data(), filepath.FromSlash(claim))
	err := s.ledger.fs.RenameNoReplace(final+stagedSuffix, final)
	if err == nil {
		return nil
	}
	if staged, lookErr := there(final + stagedSuffix); staged || lookErr != nil {
		return err
	}
	if is, lookErr := there(final); !is || lookErr != nil { // else the answer was lost
		return err
	}
	return nil
}

// copyAttributes gives a new folder what the one that it replaces has, if there is one.
func (s *Lease) copyAttributes(old, dir string) error {
	is, err := there(old)
	if err != nil || !is {
		return err
	}
	return s.ledger.fs.CopyAttributes(old, dir)
}

// writeMarker writes the file by which a folder of this run is told.
func (s *Lease) writeMarker(p preparedOutput, path string) error {
	data, err := json.Marshal(marker{s.run.id, s.run.ID, s.request.Batch.Name(), p.name})
	if err != nil {
		return err
	}
	return s.ledger.fs.WriteNew(path, append(data, '\n'), 0o666)
}

// furnishWhole adds what every output folder has.
func (s *Lease) furnishWhole(p preparedOutput) error {
	data, err := json.Marshal(targetFile{ID: p.Target, Ledger: s.run.id})
	data = append(data, '\n')
	if s.ledger.cfg.Detached { // whose folder it is stays as it was
		data, err = os.ReadFile(filepath.Join(p.base, targetName))
		if errors.Is(err, fs.ErrNotExist) {
			data, err = nil, nil
		}
	}
	if err == nil && data != nil {
		err = s.ledger.fs.WriteNew(filepath.Join(p.data(), targetName), data, 0o666)
	}
	if err != nil || !p.Success {
		return err
	}
	file, err := s.ledger.fs.Create(filepath.Join(p.data(), successName), 0o666)
	if err != nil {
		return err
	}
	return file.Close()
}

// exchangeAll puts the folders of one output in place and makes that durable.
func (s *Lease) exchangeAll(ctx context.Context, name string) error {
	if len(s.prepared[name].Parts) == 0 {
		return nil
	}
	dirs, err := s.makeRoom(name)
	if err != nil {
		return err
	}
	p := s.prepared[name]
	for _, part := range p.Parts {
		if err := s.run.check(); err != nil {
			return err
		}
		old, err := s.putInPlace(ctx, name, part)
		if err != nil {
			return err
		}
		p = s.prepared[name]
		s.replaced[name] = append(s.replaced[name], part)
		if old {
			s.existed[name]++
		}
		if p.Moved != nil {
			dirs[p.base], dirs[p.data()] = true, true
			continue
		}
		to := filepath.Join(p.base, filepath.FromSlash(part))
		for dir := filepath.Dir(to); ; dir = filepath.Dir(dir) {
			if dirs[dir] = true; len(dir) <= len(p.base) {
				break
			}
		}
		dirs[filepath.Dir(filepath.Join(p.data(), filepath.FromSlash(part)))] = true
		dirs[filepath.Dir(filepath.Join(p.staging, oldFolder, filepath.FromSlash(part)))] = true
	}
	return s.ledger.durable(exchangedFirst, s.ledger.cfg.Fast, names{disk: p.staging, dirs: dirs})
}

// putInPlace puts one folder in place, by the way that there is. It tells whether there was another.
func (s *Lease) putInPlace(ctx context.Context, name, part string) (old bool, err error) {
	p := s.prepared[name]
	if p.Moved == nil {
		old, err = s.exchange(p, part)
		if !old || part != wholeFolder || !cannotRename(err) {
			return old, err
		}
		if p.Moved, err = s.list(p); err != nil { // that it cannot be renamed is known only now
			return old, err
		}
		s.prepared[name] = p
		if err := s.savePhase(ctx, []string{name}, phaseCommitting); err != nil {
			return old, err
		}
		if err := s.markBase(name); err != nil {
			return old, err
		}
	}
	return true, s.moveAll(ctx, name)
}

// makeRoom makes the folders that are missing above those which are put in place, and no more of them
// than were missing at prepare: another one is a disk that is not there. It returns the folders whose
// names may have changed.
func (s *Lease) makeRoom(name string) (map[string]bool, error) {
	p, dirs := s.prepared[name], map[string]bool{}
	above, missing := p.base, p.Absent
	if !p.parts && !p.keyed() {
		above, missing = filepath.Dir(p.base), p.Absent-1
	}
	if missing > 0 {
		anchor := above
		for range missing {
			anchor = filepath.Dir(anchor)
			dirs[anchor] = true
		}
		if is, err := there(anchor); err != nil || !is {
			return nil, cmp.Or(err, fmt.Errorf("the folder %s is gone; is its disk mounted?", anchor))
		}
		if err := s.ledger.makeBelow(anchor, above); err != nil {
			return nil, err
		}
	}
	if !p.parts && !p.keyed() && p.Moved == nil { // the target file comes with the folder
		return dirs, nil
	}
	dirs[p.base] = true
	return dirs, s.markBase(name)
}

// markBase gives an output folder that stays its target file, if it has none.
func (s *Lease) markBase(name string) error {
	p := s.prepared[name]
	t, err := s.ledger.target(p.base)
	if err != nil {
		return err
	}
	w := &work{ledger: s.ledger, mine: s.run.id, base: p.base, entry: Entry{Output: p.name, Base: p.Base, Target: p.Target}}
	if t, err = w.markTarget(p.staging, t); err != nil {
		return err
	}
	p.Target = t.ID // another batch may have been first
	s.prepared[name] = p
	return nil
}

// maxSwaps is how often an exchange is tried again because the folder came or went meanwhile.
const maxSwaps = 3

// exchange puts one folder in place, and tells whether there was another. Whatever a call says, the marker
// tells whether it happened.
func (s *Lease) exchange(p preparedOutput, part string) (old bool, err error) {
	from, to := filepath.Join(p.data(), filepath.FromSlash(part)), filepath.Join(p.base, filepath.FromSlash(part))
	fsys := s.ledger.fs
	for range maxSwaps {
		if old, err = there(to); err != nil {
			return old, err
		}
		switch {
		case old && p.Renames:
			err = s.twoRenames(from, to, filepath.Join(p.staging, oldFolder, filepath.FromSlash(part)), p)
		case old:
			err = fsys.Exchange(from, to)
		case part != wholeFolder:
			if err = s.ledger.makeBelow(p.base, filepath.Dir(to)); err == nil {
				err = fsys.RenameNoReplace(from, to)
			}
		default:
			err = fsys.RenameNoReplace(from, to)
		}
		if err == nil {
			return old, nil
		}
		if is, lookErr := there(filepath.Join(to, p.Marker)); is || lookErr != nil {
			return old, lookErr // it happened, and the answer was lost
		}
		if is, lookErr := there(from); !is || lookErr != nil {
			return old, cmp.Or(lookErr, error(&StagedError{Output: p.name, Path: from, Reason: "the staged folder was taken away"}))
		}
		if !errors.Is(err, fs.ErrExist) && !errors.Is(err, fs.ErrNotExist) {
			return old, err
		}
	}
	return old, err
}

// twoRenames is for file systems that cannot exchange: between the two, readers find no folder. What is
// moved away is put back if the second one fails; after a crash whoever grabs the staging does that.
func (s *Lease) twoRenames(from, to, old string, p preparedOutput) error {
	fsys := s.ledger.fs
	if err := s.ledger.makeBelow(p.staging, filepath.Dir(old)); err != nil {
		return err
	}
	err := fsys.RenameNoReplace(to, old)
	if away, lookErr := there(old); err != nil && (!away || lookErr != nil) {
		return cmp.Or(err, lookErr)
	}
	if err = fsys.RenameNoReplace(from, to); err == nil {
		return nil
	}
	if is, lookErr := there(filepath.Join(to, p.Marker)); is || lookErr != nil {
		return lookErr
	}
	return errors.Join(err, fsys.RenameNoReplace(old, to))
}
