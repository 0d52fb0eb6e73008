package ledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"
)

// Moved lists the names at the top of an output folder that can itself not be renamed (a disk is mounted
// there): what is in it is moved name by name. It is saved before the first name is moved, so that
// whoever finds half of them moved can put them back.
type Moved struct {
	Out    []string `json:"out"`    // what was there, in the order in which it is moved to old/ below the staging folder, with .staged added unless the name would be too long
	In     []string `json:"in"`     // what comes from new/ below the staging folder
	Staged []string `json:"staged"` // files that come from there too, where their names end in .staged
}

// move is one name of a Moved.
type move struct{ from, to string }

// comes gives the moves that put the new entries in place. The marker is none of them: it is the last one.
func (m *Moved) comes(base, staging string) (all []move) {
	for _, name := range m.In {
		all = append(all, move{filepath.Join(staging, newFolder, name), filepath.Join(base, name)})
	}
	for _, name := range m.Staged {
		all = append(all, move{filepath.Join(staging, newFolder, name+stagedSuffix), filepath.Join(base, name)})
	}
	return all
}

// goes gives the moves that take the old entries away.
func (m *Moved) goes(base, staging string) (all []move) {
	for _, name := range m.Out {
		all = append(all, move{filepath.Join(base, name), filepath.Join(staging, oldFolder, awayName(name))})
	}
	return all
}

// awayName is the name of an old entry while it is away: one that readers of ** do not take for data.
func awayName(name string) string {
	if len(name)+len(stagedSuffix) > 255 { // NAME_MAX
		return name
	}
	return name + stagedSuffix
}

// local refuses a list that names what does not lie at the top of the folder.
func (m *Moved) local() error {
	for _, name := range slices.Concat(m.Out, m.In, m.Staged) {
		if name == wholeFolder || !filepath.IsLocal(name) || filepath.Base(name) != name {
			return fmt.Errorf("the list names %q, which is not at the top of the folder", name)
		}
	}
	return nil
}

// cannotRename tells whether an error means that the folder itself stands in the way, not what is in it: a
// disk is mounted there (EBUSY), or it lies in a lower layer of an overlay (EXDEV).
func cannotRename(err error) bool {
	return errors.Is(err, syscall.EBUSY) || errors.Is(err, syscall.EXDEV)
}

// movable lists what is replaced in an output folder that stays: all but what readers pass over and is not
// about the data. Hidden names are the file system's or a person's (.snapshot, .Trash-1000); those with "_"
// in front go (_metadata and _delta_log tell of files that go), unless they are the ledger's.
// _SUCCESS comes first: who waits for it must not take what follows for whole.
func movable(base string) (names []string, err error) {
	entries, err := os.ReadDir(base)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		name := e.Name()
		stays := name == targetName || name == lostAndFound || strings.HasPrefix(name, ".") ||
			strings.HasPrefix(name, probePrefix) || stagingName.MatchString(stagingOf(name))
		switch {
		case stays:
		case !utf8.ValidString(name):
			return nil, fmt.Errorf("the name %q in %s is no UTF-8, so that it cannot be written down before it is moved", name, base)
		case name == successName:
			names = slices.Insert(names, 0, name)
		default:
			names = append(names, name)
		}
	}
	return names, nil
}

// lostAndFound is the file system's own, at the top of a disk.
const lostAndFound = "lost+found"

// list writes down what will be moved.
func (s *Lease) list(p preparedOutput) (*Moved, error) {
	m := &Moved{In: []string{}, Staged: []string{}}
	var err error
	if m.Out, err = movable(p.base); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(p.data())
	for _, e := range entries {
		switch name := e.Name(); {
		case name == p.Marker || name == targetName || name == successName:
		case p.stays && !e.IsDir():
			m.Staged = append(m.Staged, strings.TrimSuffix(name, stagedSuffix))
		default:
			m.In = append(m.In, name)
		}
	}
	return m, err
}

// moveAll replaces what is in an output folder that cannot itself be renamed: the old entries are moved
// away, then the new ones come, then the marker, which is the moment at which it has happened. Readers
// can see a part of either meanwhile. Every name is durable before the marker is moved.
func (s *Lease) moveAll(ctx context.Context, name string) error {
	if err := s.moveOld(ctx, name); err != nil {
		return err
	}
	p := s.prepared[name]
	for _, m := range p.Moved.comes(p.base, p.staging) {
		if err := s.moveOne(p, m); err != nil {
			return err
		}
	}
	dirs := map[string]bool{p.base: true, p.staging: true, p.data(): true, filepath.Join(p.staging, oldFolder): true}
	if err := s.ledger.durable(movedFirst, s.ledger.cfg.Fast, names{disk: p.staging, dirs: dirs}); err != nil {
		return err
	}
	return s.moveOne(p, move{filepath.Join(p.data(), p.Marker), filepath.Join(p.base, p.Marker)})
}

// moveOld moves the old entries away. What others put there since the list was saved goes too: the list is
// saved again until it is what was moved, so that it can be put back exactly.
func (s *Lease) moveOld(ctx context.Context, name string) error {
	p := s.prepared[name]
	if err := s.ledger.makeBelow(p.staging, filepath.Join(p.staging, oldFolder)); err != nil {
		return err
	}
	for range maxSwaps {
		away := []string{}
		for i, m := range p.Moved.goes(p.base, p.staging) {
			if err := s.moveOne(p, m); err != nil {
				return err
			}
			is, err := there(m.to)
			if err != nil {
				return err
			}
			if is {
				away = append(away, p.Moved.Out[i])
			}
		}
		more, err := movable(p.base)
		if err != nil {
			return err
		}
		if len(more) == 0 && len(away) == len(p.Moved.Out) {
			return nil
		}
		more = slices.DeleteFunc(more, func(name string) bool { return slices.Contains(away, name) }) // it cannot go twice
		p.Moved = &Moved{Out: slices.Concat(away, more), In: p.Moved.In, Staged: p.Moved.Staged}
		s.prepared[name] = p
		if err := s.savePhase(ctx, []string{name}, phaseCommitting); err != nil {
			return err
		}
	}
	return fmt.Errorf("others put files into %s while it is replaced", p.base)
}

// moveOne moves one entry. Whatever the rename says, the two names tell how it stands.
func (s *Lease) moveOne(p preparedOutput, m move) error {
	if err := s.run.check(); err != nil {
		return err
	}
	err := s.ledger.fs.RenameNoReplace(m.from, m.to)
	if err == nil {
		return nil
	}
	from, err1 := there(m.from)
	to, err2 := there(m.to)
	switch {
	case err1 != nil || err2 != nil:
		return errors.Join(err, err1, err2)
	case from:
		return err
	case to: // it happened, and the answer was lost
		return nil
	}
	staged, lookErr := there(p.staging)
	if lookErr != nil || !staged || filepath.Dir(m.to) == p.base {
		return cmp.Or(lookErr, error(&StagedError{Output: p.name, Path: m.from, Reason: "what was staged was taken away"}))
	}
	return nil // an old entry that somebody else removed
}

// goneSuffix is that of a staging folder which is being removed, with nothing in it that anybody moves.
const goneSuffix = ".gone"

// lookAtMoved is lookInside for an output of which entries were to be moved.
func (w *work) lookAtMoved(grabbed string) error {
	happened, err := w.putMovedBack(grabbed)
	if err != nil {
		return err
	}
	if happened && !w.entry.Committed {
		w.carried.kept = append(w.carried.kept, Kept{Run: w.entry.Run, Output: w.entry.Output, Base: w.base, Parts: 1, Of: 1})
	}
	dirs := map[string]bool{w.base: true, filepath.Join(grabbed, newFolder): true, filepath.Join(grabbed, oldFolder): true}
	if err := w.ledger.durable(keptFirst, w.entry.Fast, names{disk: w.base, dirs: dirs}); err != nil {
		return err
	}
	if is, err := there(grabbed); err != nil || !is { // it was removed before
		return err
	}
	gone := strings.TrimSuffix(grabbed, droppedSuffix) + goneSuffix
	if err = w.ledger.removeAll(gone); err == nil {
		err = w.ledger.fs.Rename(grabbed, gone)
	}
	if still, lookErr := there(grabbed); still || lookErr != nil {
		return cmp.Or(err, lookErr)
	}
	return nil
}

// putMovedBack finds the verdict on an output whose entries were to be moved, and undoes what is half done.
// The marker tells: in the output, everything is there; in new/, not everything is, and nothing was
// committed. Moves back go by name and never replace, as the moves did, and what is left is removed under
// another name than the one they lead to: a process that comes late moves nothing.
func (w *work) putMovedBack(grabbed string) (happened bool, err error) {
	m := w.entry.Moved
	here, err := there(filepath.Join(w.base, w.entry.Marker))
	if err != nil {
		return here, err
	}
	staged, err := there(filepath.Join(grabbed, newFolder, w.entry.Marker))
	if err != nil {
		return here, err
	}
	still, err := there(grabbed)
	switch {
	case err != nil:
		return here, err
	case !still || here && !staged: // another process is further than this one
		return here, nil
	case w.entry.Committed && !staged: // and replaced since
		return false, nil
	case w.entry.Committed:
		return here, fmt.Errorf("what is in %s was replaced and committed, but the new data is not there, as after a power cut on a disk that forgets: it is in %s",
			w.base, filepath.Join(grabbed, newFolder))
	case here || !staged:
		return here, fmt.Errorf("nobody can tell whether what is in %s was replaced, because its marker file is in two places or in none; what was there is in %s",
			w.base, filepath.Join(grabbed, oldFolder))
	}
	if err := w.undo(grabbed, m); err != nil {
		if still, lookErr := there(grabbed); still || lookErr != nil {
			return false, err
		}
	}
	return false, nil
}

// undo moves new entries out of the output and old ones back into it.
func (w *work) undo(grabbed string, m *Moved) error {
	comes, goes := m.comes(w.base, grabbed), m.goes(w.base, grabbed)
	slices.Reverse(goes) // _SUCCESS last
	away := map[string]bool{}
	for _, g := range goes {
		is, err := there(g.to)
		if err != nil {
			return err
		}
		away[g.from] = is
	}
	for _, c := range comes {
		if is, shared := away[c.to]; shared && !is {
			continue // what has this name is the old entry, which was not moved yet, or is back
		}
		if staged, err := there(c.from); staged || err != nil {
			if err != nil {
				return err
			}
			continue // it was not moved yet, or is back
		}
		if err := w.moveBack(c); err != nil {
			if back, lookErr := there(c.from); !back || lookErr != nil {
				return err
			}
		}
	}
	var stuck error
	for _, g := range goes {
		if err := w.moveBack(g); err != nil {
			stuck = errors.Join(stuck, fmt.Errorf("the old data of %s is in %s and cannot be put back: %w", g.from, g.to, err))
		}
	}
	if stuck != nil {
		return stuck
	}
	if left, err := os.ReadDir(filepath.Join(grabbed, oldFolder)); len(left) > 0 {
		return cmp.Or(err, fmt.Errorf("%s holds what no list names, %s first", filepath.Join(grabbed, oldFolder), left[0].Name()))
	}
	return nil
}

// moveBack undoes one move. What another process did, or nobody had done, is done.
func (w *work) moveBack(m move) error {
	is, err := there(m.to)
	if err != nil || !is {
		return err
	}
	if err = w.ledger.fs.RenameNoReplace(m.to, m.from); err == nil {
		return nil
	}
	if is, lookErr := there(m.to); !is || lookErr != nil {
		return lookErr
	}
	return err
}
