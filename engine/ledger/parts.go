package ledger

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/ubunye-io/ubunye/engine/store"
)

// wholeFolder is the part that stands for the output folder itself.
const wholeFolder = "."

// partsOf tells which folders of an output are put in place: the output folder itself, or in it the
// folders that files were staged in, and the declared slice.
func (s *Lease) partsOf(p preparedOutput, r Result) ([]string, error) {
	if !p.parts {
		return []string{wholeFolder}, nil
	}
	bad := func(part, reason string) error {
		return &StagedError{Output: p.name, Path: filepath.Join(p.data(), filepath.FromSlash(part)), Reason: reason}
	}
	slice, err := patternOf(r.Slice)
	if err != nil {
		return nil, fmt.Errorf("output %s: %w", p.name, err)
	}
	set := map[string]bool{}
	for _, claim := range r.Claims {
		part := path.Dir(claim)
		if part == wholeFolder {
			return nil, bad(claim, "the file lies in no folder of its own that could be replaced")
		}
		set[slice.widen(part)] = true
	}
	existing, err := slice.find(p.base) // in which there may be nothing new
	if err != nil {
		return nil, &OutputUnwritableError{Output: p.name, Path: p.base, Err: err}
	}
	for _, part := range existing {
		set[part] = true
	}
	parts := sortedKeys(set)
	for _, part := range parts {
		for above := path.Dir(part); above != wholeFolder; above = path.Dir(above) {
			if set[above] {
				return nil, bad(part, "the folder lies in another one that is replaced too")
			}
		}
		if err := mustBePlain(p, part); err != nil {
			return nil, err
		}
	}
	return parts, nil
}

// pattern is a declared slice: the names of folders below each other, each a name or anyFolder.
type pattern []string

const anyFolder = "*"

func patternOf(slice string) (pattern, error) {
	if slice == "" {
		return nil, nil
	}
	if !filepath.IsLocal(filepath.FromSlash(slice)) || path.Clean(slice) != slice || slice == wholeFolder {
		return nil, fmt.Errorf("the slice %q is not below the folder", slice)
	}
	return strings.Split(slice, "/"), nil
}

// holds tells whether a folder lies in the slice.
func (s pattern) holds(part string) bool {
	elements := strings.Split(part, "/")
	if len(elements) < len(s) {
		return false
	}
	for i, want := range s {
		if want != anyFolder && want != elements[i] {
			return false
		}
	}
	return true
}

// widen gives the folder of the slice that a folder lies in, or the folder itself if it lies in none.
func (s pattern) widen(part string) string {
	if len(s) == 0 || !s.holds(part) {
		return part
	}
	return path.Join(strings.Split(part, "/")[:len(s)]...)
}

// find lists the slice's folders that are there.
func (s pattern) find(base string) (found []string, err error) {
	if len(s) == 0 {
		return nil, nil
	}
	found = []string{wholeFolder}
	for _, want := range s {
		var deeper []string
		for _, dir := range found {
			names := []string{want}
			if want == anyFolder {
				if names, err = folders(filepath.Join(base, filepath.FromSlash(dir))); err != nil {
					return nil, err
				}
			}
			for _, name := range names {
				is, err := there(filepath.Join(base, filepath.FromSlash(dir), name))
				if err != nil {
					return nil, err
				}
				if is {
					deeper = append(deeper, path.Join(dir, name))
				}
			}
		}
		found = deeper
	}
	return found, nil
}

// folders lists the folders in one that readers do not pass over.
func folders(dir string) (names []string, err error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		if e.IsDir() && !passedOver(e.Name()) {
			names = append(names, e.Name())
		}
	}
	return names, err
}

// mustBePlain refuses to replace what is no folder, or stands in another place.
func mustBePlain(p preparedOutput, part string) error {
	at := p.base
	for elem := range strings.SplitSeq(part, "/") {
		at = filepath.Join(at, elem)
		info, err := os.Lstat(at)
		switch {
		case err != nil:
			return nil // not there yet
		case info.Mode()&fs.ModeSymlink != 0:
			return &OutputUnwritableError{Output: p.name, Path: at, Err: fmt.Errorf("it is a symbolic link, which is not replaced")}
		case !info.IsDir():
			return &OutputUnwritableError{Output: p.name, Path: at, Err: syscall.ENOTDIR}
		}
	}
	return nil
}

// chooseReplacing returns the staging folder of an output that replaces folders, as the document names
// it: in the ledger's own folder if folders can be moved from there, else beside the output; in it only if
// a disk is mounted there: what is beside it is then on another one. renames tells that the file system cannot exchange.
func (s *Lease) chooseReplacing(spec OutputSpec, base string, absent int) (staging string, renames bool, err error) {
	anchor := base // the folder in which names are to be swapped, or the deepest one above it that exists
	for range absent {
		anchor = filepath.Dir(anchor)
	}
	mounted := absent == 0 && isMountPoint(base)
	if !spec.Parts && absent == 0 && !mounted {
		anchor = filepath.Dir(base)
	}
	probe := s.ledger.probeName(s.run.ID, s.request.Batch, base)
	inLedger := s.ledger.sub(stagingFolder)
	if absent == 0 || sameInheritance(inLedger, anchor) {
		if renames, err = s.ledger.probeSwap(filepath.Join(inLedger, probe), filepath.Join(anchor, probe)); err == nil {
			return path.Join(stagingFolder, s.run.ID, s.request.Batch.Key, spec.Name), renames, nil
		}
	}
	beside, name := anchor, besideName()
	switch {
	case mounted:
		name = insideName()
	case spec.Parts && absent == 0:
		beside = filepath.Dir(base)
	}
	if renames, err = s.ledger.probeSwap(filepath.Join(beside, probe+probeFrom), filepath.Join(anchor, probe)); err != nil {
		return "", false, err
	}
	rel, err := filepath.Rel(base, filepath.Join(beside, name))
	return filepath.ToSlash(rel), renames, err
}

// probeSwap does what replacing will do, with two empty folders. renames tells that they could not be
// exchanged, only renamed.
func (l *Ledger) probeSwap(from, to string) (renames bool, err error) {
	for _, dir := range []string{from, to} {
		if err == nil {
			err = l.fs.Mkdir(dir, 0o777)
		}
	}
	if err == nil {
		err = l.fs.Exchange(from, to)
		if renames = errors.Is(err, errors.ErrUnsupported); renames {
			if err = l.fs.Remove(to); err == nil {
				err = l.fs.RenameNoReplace(from, to)
			}
		}
	}
	return renames, errors.Join(err, remove(l, from), remove(l, to))
}

// besideName is a new name of a staging folder beside an output.
func besideName() string { return "." + store.NewID()[:12] + ".ubunye" }

// insideName is a new name of a staging folder inside an output.
func insideName() string { return "_ubunye-" + store.NewID()[:12] }

// makeNew makes the folder that is to come, and gives it what the old one has before anything is made in
// it: files in it then inherit what they would in the output.
func (s *Lease) makeNew(p preparedOutput) error {
	if err := s.ledger.fs.Mkdir(p.data(), 0o777); err != nil {
		return err
	}
	return s.copyAttributes(p.base, p.data())
}
