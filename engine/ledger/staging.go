package ledger

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// StagedFile is a file that was found in a staging folder.
type StagedFile struct {
	Name  string // its final name, relative to the output folder, with slashes
	Bytes int64
}

// Staging returns the absolute path of the folder that an output is staged in. Files there are named
// <final name>.staged; folders below it are made one at a time.
func (s *Lease) Staging(output string) string { return s.prepared[output].data() }

// Staged lists what an output's staging folder holds, sorted. What is found there counts, not what a
// writer reports (I5). Anything but plain files with staged names is a *StagedError.
func (s *Lease) Staged(output string) ([]StagedFile, error) {
	p, is := s.prepared[output]
	if !is {
		return nil, fmt.Errorf("batch %s: output %s was not prepared", s.request.Batch.Name(), output)
	}
	var files []StagedFile
	root := p.data()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path == filepath.Join(root, stagingMarker) {
			return err
		}
		name, staged := strings.CutSuffix(d.Name(), stagedSuffix)
		switch {
		case !d.Type().IsRegular():
			return &StagedError{Output: output, Path: path, Reason: "only plain files can be staged"}
		case !staged || name == "":
			return &StagedError{Output: output, Path: path, Reason: "the names of staged files must end in " + stagedSuffix}
		case name == successName || strings.HasPrefix(name, "_ubunye"):
			return &StagedError{Output: output, Path: path, Reason: "this name is the ledger's own"}
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		files = append(files, StagedFile{Name: filepath.ToSlash(strings.TrimSuffix(rel, stagedSuffix)), Bytes: info.Size()})
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &StagedError{Output: output, Path: root, Reason: "the staging folder, or a file in it, is gone"}
	}
	slices.SortFunc(files, func(a, b StagedFile) int { return cmp.Compare(a.Name, b.Name) })
	return files, err
}

// stagingName is that of a staging folder inside an output, or beside one that is replaced.
var stagingName = regexp.MustCompile(`^(_ubunye-[0-9a-f]{12}|\.[0-9a-f]{12}\.ubunye)$`)

const droppedSuffix = ".drop"

// stagingOf gives the name that a staging folder had before it was dropped.
func stagingOf(name string) string {
	return strings.TrimSuffix(strings.TrimSuffix(name, droppedSuffix), goneSuffix)
}

// dropStaging removes a staging folder: it is grabbed first, then looked into, then removed. Another
// process may do the same at any moment: either name absent is fine. look may be nil; an error of it
// leaves the folder as it is, grabbed.
func (l *Ledger) dropStaging(staging string, look func(grabbed string) error) error {
	dropped := staging + droppedSuffix
	if err := l.grab(staging, dropped, look); err != nil {
		if is, lookErr := there(staging); is || lookErr != nil {
			return err
		}
	}
	if err := l.clear(dropped, look); err != nil {
		return err
	}
	l.tidy(staging)
	return nil
}

// grab takes a staging folder away from its run: it is renamed, always, before it is removed, so that a paused
// owner's exchange, rename or mkdir below the old name fails.
func (l *Ledger) grab(staging, dropped string, look func(string) error) error {
	if is, err := there(staging); !is || err != nil {
		return err
	}
	if err := l.ours(staging); err != nil {
		return err
	}
	if err := l.clear(dropped, look); err != nil { // of an earlier try
		return err
	}
	return l.fs.Rename(staging, dropped)
}

// clear looks into a grabbed folder and removes it.
func (l *Ledger) clear(dropped string, look func(string) error) error {
	is, err := there(dropped)
	if err != nil || !is {
		return err
	}
	if look != nil {
		if err := look(dropped); err != nil {
			return err
		}
	}
	return l.removeAll(dropped)
}

// removeAll tries twice: an answer may be lost.
func (l *Ledger) removeAll(path string) error {
	if l.fs.RemoveAll(path) == nil {
		return nil
	}
	return l.fs.RemoveAll(path)
}

// ours makes sure that a folder which is about to be removed is a staging folder of this ledger: it
// is named like one and holds the marker, or nothing yet.
func (l *Ledger) ours(staging string) error {
	rel, err := filepath.Rel(l.sub(stagingFolder), staging)
	below := err == nil && filepath.IsLocal(rel) && strings.Count(rel, string(filepath.Separator)) == 2
	if !below && !stagingName.MatchString(filepath.Base(staging)) {
		return &StagedError{Path: staging, Reason: "this is not the name of a staging folder"}
	}
	entries, err := os.ReadDir(staging)
	if err != nil || len(entries) == 0 {
		return err
	}
	data, err := os.ReadFile(filepath.Join(staging, stagingMarker))
	if below && errors.Is(err, fs.ErrNotExist) {
		return nil // its place says it, and a power cut may have taken the marker's name
	}
	if err != nil {
		return &StagedError{Path: staging, Reason: "it has no marker file of this ledger, so it is not removed"}
	}
	id, err := l.id()
	if err != nil {
		return err
	}
	var m marker
	cut := len(entries) == 1 // its maker died while it wrote the marker
	if err := json.Unmarshal(data, &m); (err != nil || m.Ledger != id) && !cut {
		return &StagedError{Path: staging, Reason: "its marker file is not of this ledger, so it is not removed"}
	}
	return nil
}

// tidy removes the folders of a run below the ledger's staging folder when they are empty.
func (l *Ledger) tidy(staging string) {
	root := l.sub(stagingFolder)
	for dir := filepath.Dir(staging); dir != root && strings.HasPrefix(dir, root+string(filepath.Separator)); dir = filepath.Dir(dir) {
		entries, err := os.ReadDir(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue // its run died before it made this one
		}
		if err != nil || len(entries) > 0 || l.fs.Remove(dir) != nil {
			return
		}
	}
}
