package engine

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ubunye-io/ubunye/engine/compute"
	"github.com/ubunye-io/ubunye/engine/config"
	"github.com/ubunye-io/ubunye/engine/problem"
	"github.com/ubunye-io/ubunye/engine/report"
)

// filesSpan are the files that an input reads for one commit, and those that it has read by then.
type filesSpan struct {
	Read []readFile `json:"read"`
	seenSet
}

// readFile is a file that is read.
type readFile struct {
	Name    string    `json:"name"` // path, from the folder of the pipeline file on if it lies there
	Size    int64     `json:"size"`
	ModTime time.Time `json:"time"`
}

// seenSet are files that were read. Each is known by 96 bits of a hash of its name, size and time, so that a hundred thousand of
// them are 1.6 megabytes of text; that one of so many is taken for another has a probability of 10^-24.
//
// Files that are gone are remembered, the last ones, because they may come back: a disk that was not there, a folder that is
// restored.
type seenSet struct {
	Present string `json:"present"`        // 16 characters each, sorted
	Gone    string `json:"gone,omitempty"` // those that were not there when the last were read, the oldest first
}

// The width of a file in a seenSet, and how many that are gone are remembered.
const (
	fileWidth = 16
	keepGone  = 100_000
)

func (s seenSet) count() int { return (len(s.Present) + len(s.Gone)) / fileWidth }

// files gives the set as a map.
func (s seenSet) files() map[string]bool {
	all := make(map[string]bool, s.count())
	for _, text := range []string{s.Present, s.Gone} {
		for ; len(text) >= fileWidth; text = text[fileWidth:] {
			all[text[:fileWidth]] = true
		}
	}
	return all
}

// among counts those of some files that are in the set.
func (s seenSet) among(files []readFile) (n int) {
	known := s.files()
	for _, f := range files {
		if known[f.key()] {
			n++
		}
	}
	return n
}

// then gives the set when these are the files that are there.
func (s seenSet) then(present []string) seenSet {
	slices.Sort(present)
	is := make(map[string]bool, len(present))
	for _, file := range present {
		is[file] = true
	}
	var gone []byte
	for _, text := range []string{s.Gone, s.Present} {
		for ; len(text) >= fileWidth; text = text[fileWidth:] {
			if !is[text[:fileWidth]] {
				gone = append(gone, text[:fileWidth]...)
			}
		}
	}
	gone = gone[max(0, len(gone)-keepGone*fileWidth):]
	all := make([]byte, 0, len(present)*fileWidth)
	for _, file := range present {
		all = append(all, file...)
	}
	return seenSet{Present: string(all), Gone: string(gone)}
}

// key is a file as a seenSet knows it.
func (f readFile) key() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%d\x00%d", f.Name, f.Size, f.ModTime.UnixNano()))
	return base64.RawURLEncoding.EncodeToString(sum[:fileWidth*6/8])
}

// named gives a file the name that it is remembered by. A project that is moved as a whole keeps its files.
func (r *run) named(f compute.File) readFile {
	name := f.Path
	if rel, err := filepath.Rel(r.config.Dir, f.Path); err == nil && filepath.IsLocal(rel) {
		name = filepath.ToSlash(rel)
	}
	return readFile{Name: name, Size: f.Size, ModTime: f.ModTime.UTC()}
}

// fileOf is the file of a name.
func (r *run) fileOf(f readFile) compute.File {
	path := filepath.FromSlash(f.Name)
	if !filepath.IsAbs(path) {
		path = filepath.Join(r.config.Dir, path)
	}
	return compute.File{Path: path, Size: f.Size, ModTime: f.ModTime}
}

func fileThere(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// newFiles finds the files of an input that were not read yet. left says what may not be whole yet, and is left for a later run.
func (r *run) newFiles(ctx context.Context, task string, in config.Input, seen seenSet, now time.Time) (s *filesSpan, left string, err error) {
	files, err := r.filesOf(ctx, task, in, seen.count() == 0)
	if err != nil {
		return nil, "", err
	}
	known := seen.files()
	s = &filesSpan{Read: []readFile{}}
	var present []string
	young, ahead := 0, 0
	for _, f := range files {
		file := r.named(f)
		key := file.key()
		switch age := now.Sub(file.ModTime); {
		case known[key]:
		case age < -in.Incremental.Settle:
			ahead++
			continue
		case age < in.Incremental.Settle:
			young++
			continue
		default:
			s.Read = append(s.Read, file)
		}
		present = append(present, key)
	}
	s.seenSet = seen.then(present)
	if young > 0 {
		left = fmt.Sprintf("; %s younger than %s, left for a later run", are(young), in.Incremental.Settle)
	}
	if ahead > 0 {
		left += fmt.Sprintf("; %s dated in the future, left until then", are(ahead))
	}
	return s, left, nil
}

func are(files int) string {
	if files == 1 {
		return "1 file is"
	}
	return report.Count(int64(files), "file") + " are"
}

// filesOf lists the files of an input. None at all is nothing new where the folder is there: they are moved away when they were read,
// perhaps; but a path that has never had one may be a slip, which a warning tells.
func (r *run) filesOf(ctx context.Context, task string, in config.Input, never bool) ([]compute.File, error) {
	files, err := r.Compute.Files(ctx, r.asked(in, nil))
	var e *compute.Error
	if !errors.As(err, &e) || e.Kind != compute.InputMissing {
		return files, err
	}
	if _, there := os.Stat(staticFolder(in.Path)); there != nil || in.OnEmpty == "fail" {
		return nil, err
	}
	if never && in.OnEmpty == "warn" {
		p := &problem.Problem{Message: fmt.Sprintf("input %s: %s (on_empty: ok would not say so, fail would end the task)", in.Name, e.Error())}
		r.emit(report.Event{Kind: report.Warning, Task: task, Message: p.Error()})
	}
	return nil, nil
}

// staticFolder is the folder above the first part of a path that is a pattern.
func staticFolder(path string) string {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return path
	}
	dir := filepath.Dir(path)
	for strings.ContainsAny(dir, `*?[`) {
		dir = filepath.Dir(dir)
	}
	return dir
}
