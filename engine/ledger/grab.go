package ledger

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
)

// Kept is an output of which folders were put in place by a run that did not commit. They are never taken
// back (I3): the next run of the batch replaces them again.
type Kept struct {
	Run    string
	Output string
	Base   string // the output folder; "" if only the run's own word is known
	Parts  int    // folders that were put in place
	Of     int    // that were to be; 0: not known
}

// drops gives the entries that remove what the document records as staged for its holder: for a run that
// fails, and for a dead one whose batch is taken over.
func drops(d *Document, run string) []Entry {
	var list []Entry
	for _, name := range sortedKeys(d.Outputs) {
		out := d.Outputs[name]
		if out.Staging == "" || out.keyed() && out.Key == "" {
			continue // no files, or a newer program's, of which it alone knows what may go
		}
		list = append(list, Entry{
			Do: Drop, Run: run, Output: name, Base: out.Base, Absent: out.Absent, Target: out.Target, Staging: out.Staging,
			Marker: out.Marker, Parts: out.Parts, Renames: out.Renames, Moved: out.Moved,
		})
	}
	return list
}

// drop removes a staging folder. That of an output which replaces folders is grabbed, then the verdict is
// found, then it is removed: before the exchange it holds the new data of a run that is given up, after
// it the old data. Either may go. What must not go is old data that has not been replaced: it is put
// back, or the entry stays.
func (w *work) drop(ctx context.Context) error {
	w.base, w.here = w.ledger.find(w.entry.Base)
	staging := w.ledger.stagingPath(w.base, w.entry.Staging)
	if w.entry.Marker == "" {
		return w.ledger.dropStaging(staging, nil)
	}
	for _, part := range w.entry.Parts {
		if !filepath.IsLocal(filepath.FromSlash(part)) {
			return fmt.Errorf("the list names %q, which is not below the folder", part)
		}
	}
	if w.entry.Moved != nil {
		if err := w.entry.Moved.local(); err != nil {
			return err
		}
	}
	if err := w.mustBeFound(staging); err != nil {
		return err
	}
	w.dirs = map[string]bool{}
	looked := false
	err := w.ledger.dropStaging(staging, func(grabbed string) error { looked = true; return w.lookInside(ctx, grabbed) })
	if err == nil && !looked { // it was removed before, by a process that may have died before it could say what it saw
		err = w.lookInside(ctx, staging+droppedSuffix)
	}
	if err == nil && w.entry.Moved != nil {
		err = w.ledger.removeAll(staging + goneSuffix)
		w.ledger.tidy(staging)
	}
	if err != nil {
		return err
	}
	if w.entry.Committed {
		return w.finishReplacing(ctx)
	}
	return nil
}

// mustBeFound refuses to take an absent staging folder for a removed one where that may be a disk which
// is not there, and what lies on it would be missed: beside an output that is not there either.
func (w *work) mustBeFound(staging string) error {
	e := w.entry
	if inLedger(e.Staging) || !e.Committed && e.Moved == nil && (!e.Renames || e.Absent > 0) || len(e.Parts) == 0 {
		return nil
	}
	for _, path := range []string{staging, staging + droppedSuffix, staging + goneSuffix} {
		if is, err := there(path); is || err != nil {
			return err
		}
	}
	t, err := w.ledger.target(w.base)
	if err == nil && (t.ID == "" || t.ID != e.Target) && !w.ledger.cfg.Detached {
		err = fmt.Errorf("its staging folder is not there, and no target file says that this is the right disk")
	}
	return err
}

// lookInside finds the verdict on each part of a grabbed folder: in the output, by the marker, which is
// there if and only if the part was put in place and not replaced since. The grabbed folder itself
// cannot tell: another process may have removed half of it.
func (w *work) lookInside(ctx context.Context, grabbed string) error {
	if w.entry.Moved != nil {
		return w.lookAtMoved(grabbed)
	}
	kept := Kept{Run: w.entry.Run, Output: w.entry.Output, Base: w.base, Of: len(w.entry.Parts)}
	dirs := map[string]bool{}
	for _, part := range w.entry.Parts {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := w.putBack(grabbed, part); err != nil {
			return err
		}
		path := filepath.FromSlash(part)
		happened, err := there(filepath.Join(w.base, path, w.entry.Marker))
		if err != nil {
			return err
		}
		if happened {
			kept.Parts++
		}
		undone, err := there(filepath.Join(grabbed, newFolder, path, w.entry.Marker))
		if err != nil {
			return err
		}
		if undone && w.entry.Committed {
			return fmt.Errorf("%s was replaced and committed, but holds the old data again, as after a power cut on a disk that forgets; the new data is in %s",
				filepath.Join(w.base, path), filepath.Join(grabbed, newFolder, path))
		}
		dirs[filepath.Dir(filepath.Join(w.base, path))] = true
		dirs[filepath.Dir(filepath.Join(grabbed, newFolder, path))] = true
	}
	if !w.entry.Committed && kept.Parts > 0 {
		w.carried.kept = append(w.carried.kept, kept)
	}
	// what was put in place or back must survive a power cut before the only other copy goes
	return w.ledger.durable(keptFirst, w.entry.Fast, names{disk: w.base, dirs: dirs})
}

// putBack undoes the first of two renames where the second did not follow: the old data is in the grabbed
// folder, the new one beside it, and readers find none.
func (w *work) putBack(grabbed, part string) error {
	path := filepath.FromSlash(part)
	old, to := filepath.Join(grabbed, oldFolder, path), filepath.Join(w.base, path)
	for _, name := range []string{old, filepath.Join(grabbed, newFolder, path)} {
		if is, err := there(name); err != nil || !is {
			return err
		}
	}
	err := w.ledger.fs.RenameNoReplace(old, to)
	if err == nil {
		return nil
	}
	if is, lookErr := there(old); is || lookErr != nil { // else another process did it, or the answer was lost
		return cmp.Or(lookErr, fmt.Errorf("the old data of %s is in %s and cannot be put back: %w", to, old, err))
	}
	return nil
}

// finishReplacing does what is due after the old data of a committed output is gone.
func (w *work) finishReplacing(ctx context.Context) error {
	if !w.entry.Success || ctx.Err() != nil {
		return ctx.Err()
	}
	if is, err := there(w.base); err != nil || !is { // moved away since
		return err
	}
	if err := w.makeSuccess(); err != nil {
		return err
	}
	return w.ledger.durable(landedFirst, w.entry.Fast, folder(w.base))
}
