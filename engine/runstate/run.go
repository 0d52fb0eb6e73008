package runstate

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"slices"
)

// Run is one attempt, whose state file this process writes. Its methods are called one at a time.
type Run struct {
	folder   *Folder
	number   Number
	name     string
	path     string
	finished bool
}

// Path is the state file, in current/ until the run has succeeded.
func (r *Run) Path() string { return r.path }

// Create takes the number that the decision chose and writes the first document, before the first task starts. s must
// be the look that the decision rests on, made again after the leases were taken. A *TakenError tells that another
// start was first: look again.
//
//	change                                     a kill after it leaves
//	the hints of other variables, if missing   hints
//	the hint of these variables                a hint that names no file, and the number before it
//	the temporary file, and its link           the file: the next start recovers the run
//	the hint of the newest run                 the same
//	the file of the attempt before             the same; that says RUNNING of what was interrupted
//
// A run that is returned beside an error has its number, and what failed after it is mended by later starts.
func (f *Folder) Create(s *Snapshot, d *Document) (*Run, error) {
	n := Number{d.Run, d.Attempt}
	if err := f.make(tmpDir, currentDir, succeededDir, hintsDir+"/"+s.name); err != nil {
		return nil, err
	}
	f.sweep()
	if err := f.writeHints(s); err != nil {
		return nil, err
	}
	if err := f.writeHint(s.name, s.key, s.ownHint(n, d.App)); err != nil {
		return nil, err
	}
	if err := f.FS.SyncDir(f.sub(hintsDir, s.name)); err != nil { // what is carried on from run to run is found by it
		return nil, err
	}
	r := &Run{folder: f, number: n, name: s.name, path: f.sub(currentDir, n.file(s.name))}
	data, err := f.encode(d)
	if err != nil {
		return nil, err
	}
	if err := f.take(r.path, data); errors.Is(err, fs.ErrExist) {
		return nil, &TakenError{r.path}
	} else if err != nil {
		return nil, err
	}
	// Who had this number and has succeeded meanwhile has left current/ free.
	if taken, err := f.is(succeededDir, s.name, n); err != nil {
		return nil, err
	} else if taken {
		// the hint of the newest run was wrong: without it the next look lists the folders
		return nil, errors.Join(&TakenError{f.sub(succeededDir, n.file(s.name))}, f.forget(r.path), f.forget(f.hintPath(s.name, "")))
	}
	if s.newest.less(n) {
		s.newest = n
	}
	if err := f.writeHint(s.name, "", hint{Number: s.newest}); err != nil {
		return r, err
	}
	return r, f.mend(s.Latest, r, d)
}

// ownHint is what the hint of these variables says once a number is taken. An older run that goes on leaves it at the
// newest: of a run that goes on the file is met in current/, and how far inputs were read is told by the newest.
func (s *Snapshot) ownHint(n Number, app AppConfig) hint {
	h := hint{Number: n, Before: s.before(), Variables: app.Variables, Profile: app.Profile}
	if x := s.marks; x != nil && x.key() == s.key && n.less(x.Number) {
		h.Number, h.Before = x.Number, nil
	}
	return h
}

// before is the latest number of these variables, 0 if there is none; nil if it is not known, because another run counts.
func (s *Snapshot) before() *Number {
	x := s.marks
	switch {
	case x == nil:
		return &Number{}
	case x.key() != s.key && x.key() != anyKey:
		return nil
	}
	return &x.Number
}

// mend notes in the file of the attempt before that its tasks were interrupted. Nobody decides by that file any more.
func (f *Folder) mend(x *Found, r *Run, d *Document) error {
	if x == nil || x.Document == nil || x.Succeeded || x.Run != r.number.Run || !x.less(r.number) {
		return nil
	}
	by := d.LedgerRun
	if by == "" {
		by = StateName(r.name, d.Run)
	}
	was := *x.Document
	was.Actions = maps.Clone(was.Actions)
	if !was.interrupted(by) {
		return nil
	}
	return f.put(x.Path, &was)
}

// forget removes a file, durably; one that is not there is fine.
func (f *Folder) forget(path string) error {
	if err := f.FS.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Save writes the document after a change. After an error the file is as it was, or as it was to be: it is a report,
// which the next start mends by what the ledger says.
func (r *Run) Save(d *Document) error {
	if r.finished {
		return &LostError{r.path}
	}
	if _, err := os.Lstat(r.path); errors.Is(err, fs.ErrNotExist) {
		return &LostError{r.path} // somebody accepted it: it must not come back
	}
	d.Run, d.Attempt = r.number.Run, r.number.Attempt
	if err := r.folder.put(r.path, d); err != nil {
		return err
	}
	// It may have been moved since it was looked for: by whoever took this attempt over, while this process was paused.
	if moved, err := r.folder.is(succeededDir, r.name, r.number); err != nil || !moved {
		return err
	}
	return errors.Join(&LostError{r.path}, r.folder.forget(r.path))
}

// Finish ends the attempt. If every task is completed, the run's files move to succeeded/; otherwise they stay, and the
// next start goes on with the run.
func (r *Run) Finish(d *Document) error {
	now := r.folder.Now().UTC()
	d.Final, d.RunEnd = true, &now
	if err := r.Save(d); err != nil {
		return err
	}
	r.finished = true
	if !d.done() {
		return nil
	}
	if err := r.folder.moveAll(r.name, r.number, d); err != nil {
		return err
	}
	r.path = r.folder.sub(succeededDir, r.number.file(r.name))
	return nil
}

// FinishMove moves the files of a run whose last attempt died when all was done, before they were moved. That it had
// ended is written down first, if it could not say so.
func (f *Folder) FinishMove(x *Found) error {
	if x.mended {
		switch is, err := f.is(currentDir, x.Name, x.Number); {
		case err != nil || !is: // somebody has moved it
			return err
		}
		if err := f.make(tmpDir); err != nil {
			return err
		}
		if err := f.put(x.Path, x.Document); err != nil {
			return err
		}
	}
	return f.moveAll(x.Name, x.Number, x.Document)
}

// moveAll moves the files of a run to succeeded/, one rename each, the newest last: as long as that is in current/, the
// run is there, and the next start finishes the move. A file whose number is taken in succeeded/ stays: that one counts.
func (f *Folder) moveAll(app string, newest Number, d *Document) error {
	if err := f.make(succeededDir); err != nil {
		return err
	}
	listed, err := f.list(currentDir, app)
	if err != nil {
		return err
	}
	var older []Number
	for _, n := range listed[app] {
		if n.Run == newest.Run && n.less(newest) {
			older = append(older, n)
		}
	}
	slices.SortFunc(older, Number.compare)
	for _, n := range older {
		if err := f.moveOne(app, n); err != nil {
			return err
		}
	}
	if len(older) > 0 { // else a power cut might keep the last move and lose these
		if err := f.FS.SyncDir(f.sub(succeededDir)); err != nil {
			return err
		}
	}
	if f.Index && d != nil {
		if err := f.addToIndex(d); err != nil {
			return err
		}
	}
	return f.moveOne(app, newest) // undone by a power cut, it is made again by the next start: what the file says is durable
}

func (f *Folder) moveOne(app string, n Number) error {
	err := f.FS.RenameNoReplace(f.sub(currentDir, n.file(app)), f.sub(succeededDir, n.file(app)))
	if errors.Is(err, fs.ErrExist) || errors.Is(err, fs.ErrNotExist) {
		return nil // it is moved already, by hand or by another start
	}
	return err
}
