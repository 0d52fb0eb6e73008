package ledger

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ubunye-io/ubunye/engine/store"
)

// carried is what became of a to-do list.
type carried struct {
	done    map[string]bool   // entries that are done, by their JSON
	left    []Left            // entries that could not be carried out
	targets map[string]string // per output that landed: the id that its folder has
	landed  int               // files at their final names, whoever moved them
	removed int
	missing int // files that are neither staged nor landed
	dropped int // staging folders
	kept    []Kept
}

func (c carried) any() bool { return len(c.done) > 0 }

// apply takes what is done off a document's list.
func (c carried) apply(d *Document) {
	d.Todo = slices.DeleteFunc(d.Todo, func(e Entry) bool { return c.done[entryID(e)] })
	for _, k := range c.kept {
		d.keeps(k)
	}
	if d.Finished == nil {
		return
	}
	for name, id := range c.targets {
		out, is := d.Finished.Outputs[name]
		if is && out.Target != id { // another batch landed first in a folder that was new to both
			out.Target = id
			d.Finished.Outputs[name] = out
		}
	}
}

func entryID(e Entry) string {
	data, _ := json.Marshal(e) // an Entry came from JSON, or is made of text and numbers
	return string(data)
}

// carry does what the document's list says: first land, then remove what was replaced, then drop.
// It may be done by several processes at once and any number of times. The document must be durable:
// either this process saved it, or it called Settle.
//
// An entry that cannot be carried out stays (I6: the next start tries again), and old files go only
// after the new ones are there (I3).
func (l *Ledger) carry(ctx context.Context, d *Document) carried {
	c := carried{done: map[string]bool{}, targets: map[string]string{}}
	order := []Do{Land, Remove, Drop}
	list := slices.Clone(d.Todo)
	slices.SortStableFunc(list, func(a, b Entry) int {
		return cmp.Compare(slices.Index(order, a.Do), slices.Index(order, b.Do))
	})
	mine, err := l.id()
	for _, e := range list {
		w := &work{ledger: l, mine: mine, entry: e, carried: &c, base: e.Base.Path}
		stop := cmp.Or(ctx.Err(), err)
		switch {
		case stop != nil:
		case e.Do == Land:
			stop = w.land(ctx)
		case e.Do == Remove && len(c.left) > 0:
			stop = errors.New("what replaces these files has not all landed")
		case e.Do == Remove:
			stop = w.remove(ctx, d.Todo)
		case e.Do == Drop:
			if stop = w.drop(ctx); stop == nil {
				c.dropped++
			}
		default:
			stop = fmt.Errorf("a newer program asks for %q", e.Do)
		}
		if stop != nil {
			c.left = append(c.left, Left{Batch: d.Batch, Entry: e, Path: w.base, Err: stop})
			continue
		}
		c.done[entryID(e)] = true
	}
	return c
}

// empty saves the document with what is done taken off its list.
func (l *Ledger) empty(ctx context.Context, d *Document, v store.Version, done carried) error {
	if !done.any() {
		return nil
	}
	next, err := d.clone()
	if err != nil {
		return err
	}
	done.apply(next)
	_, err = l.saveDocument(ctx, next, v)
	return err
}

// work is one entry being carried out.
type work struct {
	ledger  *Ledger
	mine    string // the ledger's id
	entry   Entry
	carried *carried
	base    string          // the output folder, as found from here
	here    bool            // base means on this machine what it meant where it was written
	dirs    map[string]bool // folders whose names changed, or would have
}

// locate finds the output folder and tells whether it has this ledger's target file.
func (w *work) locate() (targetFile, error) {
	w.base, w.here = w.ledger.find(w.entry.Base)
	w.dirs = map[string]bool{w.base: true}
	for _, name := range w.entry.Names {
		if !filepath.IsLocal(filepath.FromSlash(name)) {
			return targetFile{}, fmt.Errorf("the list names %q, which is not below the folder", name)
		}
		for dir := filepath.Dir(w.final(name)); !w.dirs[dir]; dir = filepath.Dir(dir) { // up to base, which is there
			w.dirs[dir] = true
		}
	}
	return w.targetThere()
}

// targetThere reads the output folder's target file, which must be this ledger's, if there is one.
func (w *work) targetThere() (targetFile, error) {
	t, err := w.ledger.target(w.base)
	if err == nil {
		err = elsewhere(w.entry.Output, w.base, t, w.mine)
	}
	return t, err
}

func (w *work) final(name string) string { return filepath.Join(w.base, filepath.FromSlash(name)) }

// trusted tells whether the folder is the one that the entry means, so that what is absent there is
// absent: one of the names is found, or the target file has the right id. Otherwise it may be an empty
// mount point, or another machine's disk, and proves nothing.
func (w *work) trusted(found bool, t targetFile) error {
	switch {
	case found || t.ID != "" && t.ID == w.entry.Target:
		return nil
	case len(w.entry.Names) == 0 && w.here: // nothing to look for: only _SUCCESS is wanted
		return nil
	}
	return fmt.Errorf("none of its %d files is there, and no target file says that this is the right disk", len(w.entry.Names))
}

// land renames each staged file to its final name. Names are resolved each time and nothing is kept
// open: a folder that was renamed meanwhile must not be written through an old handle.
func (w *work) land(ctx context.Context) error {
	t, staging, err := w.mayLand()
	if err != nil {
		return err
	}
	if err := w.makeBase(staging); err != nil {
		return err
	}
	if t, err = w.markTarget(staging, t); err != nil {
		return err
	}
	for _, name := range w.entry.Names {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := w.landOne(stagedPath(staging, name), w.final(name)); err != nil {
			return err
		}
	}
	if w.entry.Success {
		if err := w.makeSuccess(); err != nil {
			return err
		}
	}
	if err := w.sync(landedFirst); err != nil {
		return err
	}
	w.carried.targets[w.entry.Output] = t.ID
	return w.ledger.dropStaging(staging, nil)
}

// mayLand finds the staging folder, and refuses to land if nothing tells that this is the right disk.
func (w *work) mayLand() (t targetFile, staging string, err error) {
	if t, err = w.locate(); err != nil {
		return t, "", err
	}
	staging = w.ledger.stagingPath(w.base, w.entry.Staging)
	stagingThere, err := there(staging)
	if err != nil {
		return t, "", err
	}
	found := stagingThere && len(w.entry.Names) == 0
	for _, name := range w.entry.Names {
		staged, err := there(stagedPath(staging, name))
		landed, err2 := there(w.final(name))
		if err := errors.Join(err, err2); err != nil {
			return t, "", err
		}
		if found = staged || landed; found {
			break // one is enough; landOne looks for each of the others
		}
	}
	return t, staging, w.trusted(found, t)
}

// makeBase makes the output folder if it was absent when the run prepared, and only the part of its
// path that was: a folder missing above that is a disk that is not there. The folders above are synced
// also if it is there: who made it may have died before.
func (w *work) makeBase(staging string) error {
	anchor := w.base
	for range w.entry.Absent {
		anchor = filepath.Dir(anchor)
		w.dirs[anchor] = true
	}
	if is, err := there(w.base); err != nil || is {
		return err
	}
	if err := w.mayMakeBase(staging, anchor); err != nil {
		return err
	}
	return w.ledger.makeBelow(anchor, w.base)
}

// mayMakeBase refuses if the folders above the part that was absent are not there, or not the ones they were.
func (w *work) mayMakeBase(staging, anchor string) error {
	if is, err := there(anchor); err != nil || !is || anchor == w.base {
		return cmp.Or(err, fmt.Errorf("the folder %s is gone; is its disk mounted?", anchor))
	}
	if !sameDisk(staging, anchor) {
		return fmt.Errorf("%s lies on another disk than when it was chosen; is the right one mounted?", anchor)
	}
	return nil
}

// makeBelow makes the folders from below anchor down to path.
func (l *Ledger) makeBelow(anchor, path string) error {
	rel, err := filepath.Rel(anchor, path)
	if err != nil || rel == "." {
		return err
	}
	at := anchor
	for _, elem := range strings.Split(rel, string(filepath.Separator)) {
		at = filepath.Join(at, elem)
		if info, err := os.Stat(at); err == nil && info.IsDir() {
			continue
		}
		if err := l.fs.Mkdir(at, 0o777); err != nil {
			if info, statErr := os.Stat(at); statErr != nil || !info.IsDir() {
				return err
			}
		}
	}
	return nil
}

// landOne moves one file. Whatever the rename says, the two names tell how it stands.
func (w *work) landOne(src, dst string) error {
	if err := w.ledger.makeBelow(w.base, filepath.Dir(dst)); err != nil {
		return err
	}
	err := w.ledger.fs.RenameNoReplace(src, dst)
	if err == nil {
		w.carried.landed++
		return nil
	}
	staged, err1 := there(src)
	landed, err2 := there(dst)
	switch {
	case err1 != nil || err2 != nil:
		return errors.Join(err, err1, err2)
	case !staged && landed: // another process did it, or the answer was lost
		w.carried.landed++
		return nil
	case !staged: // landed before and gone since, or lost with its staging
		w.carried.missing++
		return nil
	}
	return err
}

// makeSuccess writes _SUCCESS, after everything else is there.
func (w *work) makeSuccess() error {
	path := filepath.Join(w.base, successName)
	if is, err := there(path); is || err != nil {
		return err
	}
	file, err := w.ledger.fs.Create(path, 0o666)
	if err == nil {
		return file.Close()
	}
	if is, _ := there(path); is {
		return nil
	}
	return err
}

// remove removes the files of a batch that was replaced. list is the whole to-do list: names that it
// landed in the same folder prove that the folder is the right one.
func (w *work) remove(ctx context.Context, list []Entry) error {
	if err := w.mayRemove(list); err != nil {
		return err
	}
	for _, name := range w.entry.Names {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := remove(w.ledger, w.final(name)); err != nil {
			return err
		}
		w.carried.removed++
	}
	return w.sync(removedFirst)
}

// mayRemove refuses if nothing tells that this is the right disk.
func (w *work) mayRemove(list []Entry) error {
	t, err := w.locate()
	if err != nil {
		return err
	}
	names := slices.Clone(w.entry.Names)
	for _, e := range list {
		if e.Do == Land && e.Base.Path == w.entry.Base.Path && e.Base.RelativeTo == w.entry.Base.RelativeTo {
			names = append(names, e.Names...)
		}
	}
	found := false
	for _, name := range names {
		is, err := there(w.final(name))
		if err != nil {
			return err
		}
		found = found || is
	}
	return w.trusted(found, t)
}

// sync makes every name durable that the entry changed, also where another process did the work.
func (w *work) sync(why reason) error {
	return w.ledger.durable(why, w.entry.Fast, names{disk: w.base, dirs: w.dirs})
}

func stagedPath(staging, name string) string {
	return filepath.Join(staging, filepath.FromSlash(path.Clean(name)+stagedSuffix))
}
