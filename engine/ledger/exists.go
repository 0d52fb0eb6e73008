package ledger

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// Occupied looks for a data file in an output folder, at any depth, and returns the first one's name
// relative to it; "" if there is none, or no folder. Files that this run replaces, because it is a rerun
// of the batch that landed them, do not count.
func (s *Lease) Occupied(base string) (string, error) {
	real, _, err := resolve(base)
	if err != nil {
		return "", err
	}
	mine := map[string]bool{}
	if f := s.doc.Finished; f != nil && (s.Reruns() || s.request.Rerun && s.request.Incremental && s.doc.Batch.Named) {
		for _, out := range f.Outputs {
			at, _ := s.ledger.find(out.Base)
			for _, claim := range out.Claims {
				mine[filepath.Join(at, filepath.FromSlash(claim))] = out.Class == Claims
			}
		}
	}
	found := ""
	err = walkData(real, func(name string) error {
		if mine[filepath.Join(real, filepath.FromSlash(name))] {
			return nil
		}
		found = name
		return fs.SkipAll
	})
	return found, err
}

// CountData counts the data files in an output folder and the folders in it that hold some directly; with a
// slice (as in Result.Slice) only those in the slice. A folder that is not there holds none.
func CountData(folder, slice string) (files, folders int64, err error) {
	in, err := patternOf(slice)
	if err != nil {
		return 0, 0, err
	}
	real, _, err := resolve(folder)
	if err != nil {
		return 0, 0, err
	}
	seen := map[string]bool{}
	err = walkData(real, func(name string) error {
		dir := path.Dir(name)
		if !in.holds(dir) {
			return nil
		}
		if files++; dir != "." {
			seen[dir] = true
		}
		return nil
	})
	return files, int64(len(seen)), err
}

// CountReplaced is CountData of the folders in an output's one that a result puts others in place of.
func CountReplaced(folder string, r Result) (files, folders int64, err error) {
	slice, err := patternOf(r.Slice)
	if err != nil {
		return 0, 0, err
	}
	real, _, err := resolve(folder)
	if err != nil {
		return 0, 0, err
	}
	parts, err := slice.find(real)
	if err != nil {
		return 0, 0, err
	}
	set := map[string]bool{}
	for _, part := range parts {
		set[part] = true
	}
	for _, claim := range r.Claims {
		set[slice.widen(path.Dir(claim))] = true
	}
	for _, part := range sortedKeys(set) {
		n, deeper, err := CountData(filepath.Join(real, filepath.FromSlash(part)), "")
		if err != nil {
			return 0, 0, err
		}
		if files += n; n > 0 {
			folders += max(deeper, 1)
		}
	}
	return files, folders, nil
}

// StagesBeside tells whether an output that replaces its folder would be staged beside it, because the
// ledger lies on another disk: readers of ** above the folder can then see its files under two names.
func (l *Ledger) StagesBeside(folder string) bool {
	real, _, err := resolve(folder)
	return err == nil && !sameDisk(existing(filepath.Join(l.path, "x")), existing(real))
}

// IsMountPoint tells whether a disk is mounted at a folder, so that the folder itself cannot be replaced; false
// where that cannot be told beforehand.
func IsMountPoint(folder string) bool {
	real, absent, err := resolve(folder)
	return err == nil && absent == 0 && isMountPoint(real)
}

// walkData calls visit for the data files in a folder, by their names relative to it: all files but those
// which readers pass over.
func walkData(folder string, visit func(name string) error) error {
	err := filepath.WalkDir(folder, func(at string, d fs.DirEntry, err error) error {
		if err != nil {
			if at != folder && errors.Is(err, fs.ErrNotExist) {
				return nil // removed meanwhile
			}
			return err
		}
		switch {
		case at == folder:
			return nil
		case passedOver(d.Name()) && d.IsDir():
			return fs.SkipDir
		case passedOver(d.Name()) || d.IsDir():
			return nil
		}
		rel, err := filepath.Rel(folder, at)
		if err != nil {
			return err
		}
		return visit(filepath.ToSlash(rel))
	})
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// passedOver tells whether readers take a name for no data: hidden ones, and those with "_" in front but
// for partitions of a column that is named so (as Spark does).
func passedOver(name string) bool {
	return strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") && !strings.Contains(name, "=")
}
