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
	set := map[string]bool{}
	for _, claim := range r.Claims {
		part := path.Dir(claim)
		if part == r.Slice || r.Slice != "" && strings.HasPrefix(part, r.Slice+"/") {
			part = r.Slice
		}
		if part == wholeFolder {
			return nil, bad(claim, "the file lies in no folder of its own that could be replaced")
		}
		set[part] = true
	}
	if r.Slice != "" && !set[r.Slice] {
		if !filepath.IsLocal(filepath.FromSlash(r.Slice)) || r.Slice == wholeFolder {
			return nil, fmt.Errorf("output %s: the slice %q is not below the folder", p.name, r.Slice)
		}
		is, err := there(filepath.Join(p.base, filepath.FromSlash(r.Slice)))
		if err != nil {
			return nil, err
		}
		if is { // an empty slice that is not there needs no replacing
			set[r.Slice] = true
		}
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
// it: in the ledger's own folder if folders can be moved from there, else beside the output, never in it.
// renames tells that the file system cannot exchange.
func (s *Lease) chooseReplacing(spec OutputSpec, base string, absent int) (staging string, renames bool, err error) {
	anchor := base // the folder in which names are to be swapped, or the deepest one above it that exists
	for range absent {
		anchor = filepath.Dir(anchor)
	}
	if !spec.Parts && absent == 0 {
		if anchor = filepath.Dir(base); anchor == base || isMountPoint(base) {
			return "", false, fmt.Errorf("it is a mount point, so that it cannot be replaced as a whole: %w", syscall.EBUSY)
		}
	}
	probe := s.probeName(spec.Name)
	inLedger := s.ledger.sub(stagingFolder)
	if absent == 0 || sameInheritance(inLedger, anchor) {
		if renames, err = s.ledger.probeSwap(filepath.Join(inLedger, probe), filepath.Join(anchor, probe)); err == nil {
			return path.Join(stagingFolder, s.run.ID, s.request.Batch.Key, spec.Name), renames, nil
		}
	}
	beside := anchor
	if spec.Parts && absent == 0 {
		beside = filepath.Dir(base)
	}
	if renames, err = s.ledger.probeSwap(filepath.Join(beside, probe+".from"), filepath.Join(anchor, probe)); err != nil {
		return "", false, err
	}
	rel, err := filepath.Rel(base, filepath.Join(beside, besideName()))
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

// makeNew makes the folder that is to come, and gives it what the old one has before anything is made in
// it: files in it then inherit what they would in the output.
func (s *Lease) makeNew(p preparedOutput) error {
	if err := s.ledger.fs.Mkdir(p.data(), 0o777); err != nil {
		return err
	}
	return s.copyAttributes(p.base, p.data())
}
