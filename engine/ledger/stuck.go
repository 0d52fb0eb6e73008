package ledger

import (
	"fmt"
	"path/filepath"
)

// stuck tells which entries of a document's list cannot be carried out now, as far as that can be told by looking:
// what carry refuses before it changes anything, a name that is taken, a folder that may not be written.
func (l *Ledger) stuck(d *Document) (stuck []Left) {
	mine, err := l.id()
	for _, e := range d.Todo {
		w := &work{ledger: l, mine: mine, entry: e, base: e.Base.Path}
		why := err
		if why == nil {
			why = w.hindered(d.Todo)
		}
		if why != nil {
			stuck = append(stuck, Left{Batch: d.Batch, Entry: e, Path: w.base, Err: why})
		}
	}
	return stuck
}

func (w *work) hindered(list []Entry) error {
	switch w.entry.Do {
	case Land:
		return w.landingHindered()
	case Remove:
		if err := w.mayRemove(list); err != nil {
			return err
		}
		return w.unwritableFolder(w.entry.Names)
	case Drop:
		w.base, w.here = w.ledger.find(w.entry.Base)
		staging := w.ledger.stagingPath(w.base, w.entry.Staging)
		if w.entry.Marker != "" {
			if err := w.mustBeFound(staging); err != nil {
				return err
			}
		}
		if is, err := there(staging); err != nil || !is {
			return err
		}
		return writable(filepath.Dir(staging))
	}
	return fmt.Errorf("a newer program asks for %q", w.entry.Do)
}

func (w *work) landingHindered() error {
	_, staging, err := w.mayLand()
	if err != nil {
		return err
	}
	anchor := w.base
	for range w.entry.Absent {
		anchor = filepath.Dir(anchor)
	}
	if is, err := there(w.base); err != nil {
		return err
	} else if !is {
		if err := w.mayMakeBase(staging, anchor); err != nil {
			return err
		}
		return writable(anchor)
	}
	var waiting []string
	for _, name := range w.entry.Names {
		staged, err := there(stagedPath(staging, name))
		if err != nil {
			return err
		}
		taken, err := there(w.final(name))
		switch {
		case err != nil:
			return err
		case staged && taken:
			return fmt.Errorf("its name is taken: %s", w.final(name))
		case staged:
			waiting = append(waiting, name)
		}
	}
	return w.unwritableFolder(waiting)
}

// unwritableFolder is why the folder of one of the names, or the nearest one above it that is there, cannot be changed.
func (w *work) unwritableFolder(names []string) error {
	seen := map[string]bool{}
	for _, name := range names {
		dir := filepath.Dir(w.final(name))
		for dir != w.base {
			if is, err := there(dir); err == nil && is {
				break
			}
			dir = filepath.Dir(dir)
		}
		if seen[dir] {
			continue
		}
		seen[dir] = true
		if err := writable(dir); err != nil {
			return err
		}
	}
	return nil
}
