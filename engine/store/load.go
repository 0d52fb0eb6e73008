package store

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"syscall"
)

// Load upholds Store. It lists until two listings name the same newest generation and that one could
// be read: a listing is not a snapshot, and the sweep may take a name away between the two.
func (f *Folder) Load(ctx context.Context, name string) ([]byte, Version, error) {
	doc, v, err := f.load(ctx, name)
	if err == nil && !v.Absent() {
		f.remember(name, v.Generation)
	}
	return doc, v, err
}

func (f *Folder) load(ctx context.Context, name string) ([]byte, Version, error) {
	dir := f.dir(name)
	var doc []byte
	var last Version // what the previous listing named, read
	lacking := 0
	var vanished int64 // the generation that was listed and not there, times in a row
	times := 0
	for {
		if err := ctx.Err(); err != nil {
			return nil, Version{}, err
		}
		listed, err := list(dir)
		if err != nil {
			return nil, Version{}, err
		}
		newest := listed.newest()
		if newest > 0 && newest == last.Generation {
			return doc, last, nil
		}
		last = Version{}
		if newest > 0 {
			doc, last, err = f.read(filepath.Join(dir, generationName(newest)))
			if gone(err) {
				if newest != vanished {
					vanished, times = newest, 0
				}
				if times++; times == maxVanished {
					path := filepath.Join(dir, generationName(newest))
					return nil, Version{}, &UnreadableError{Path: path, Reason: "it is listed and is not there", Err: err}
				}
				last = Version{}
				continue
			}
			if err != nil {
				return nil, Version{}, err
			}
		}
		if newest > 0 && newest >= f.newestSeen(name) {
			continue
		}
		last = Version{}
		switch lacking++; {
		case lacking < 3: // a listing that missed it, perhaps
		case newest > 0 || listed.had || f.newestSeen(name) > 0:
			return nil, Version{}, &UnreadableError{Path: dir, Reason: "its newest generation is gone: somebody removed it"}
		default:
			return nil, Version{}, nil
		}
	}
}

// maxVanished is how often one generation may be listed and not be there. Where the sweep took it, a newer
// one is listed soon; a name that stays leads nowhere.
const maxVanished = 100

// gone tells whether a name that was listed is not there any more. ESTALE is how NFS says it.
func gone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESTALE)
}

// read opens one generation by name. It returns fs.ErrNotExist if it is gone and an *UnreadableError
// if it is there and cannot be understood.
func (f *Folder) read(path string) ([]byte, Version, error) {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		return nil, Version{}, &UnreadableError{Path: path, Reason: "it is not a regular file"}
	}
	var data []byte
	if err == nil {
		data, err = os.ReadFile(path)
	}
	if gone(err) {
		return nil, Version{}, err
	}
	if err != nil {
		return nil, Version{}, &UnreadableError{Path: path, Reason: reason(err), Err: err}
	}
	doc, e, err := unseal(data, f.Format)
	if err != nil {
		return nil, Version{}, &UnreadableError{Path: path, Reason: err.Error(), Err: err}
	}
	number, _ := strconv.ParseInt(strings.TrimSuffix(filepath.Base(path), ".json"), 10, 64)
	return doc, Version{Generation: number, ID: e.ID, Ancestors: e.Ancestors, Path: path}, nil
}

// reason is err without the path, which the message names already.
func reason(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}

// listing is what a document's folder holds.
type listing struct {
	generations []int64 // ascending
	had         bool    // there are traces of a generation: the folder has had one
}

func (l listing) newest() int64 {
	if len(l.generations) == 0 {
		return 0
	}
	return l.generations[len(l.generations)-1]
}

var generationFile = regexp.MustCompile(`^([0-9]{8,18})\.json(\..*)?$`)

// list reads the folder of a document, opening it anew. A folder that is not there is empty.
func list(dir string) (listing, error) {
	var l listing
	entries, err := os.ReadDir(dir)
	if gone(err) {
		return l, nil
	}
	if err != nil {
		return l, &UnreadableError{Path: dir, Reason: reason(err), Err: err}
	}
	for _, e := range entries {
		m := generationFile.FindStringSubmatch(e.Name())
		if m == nil {
			continue
		}
		l.had = true
		if n, err := strconv.ParseInt(m[1], 10, 64); err == nil && n > 0 && m[2] == "" && generationName(n) == e.Name() {
			l.generations = append(l.generations, n)
		}
	}
	slices.Sort(l.generations)
	return l, nil
}

// List upholds Store.
func (f *Folder) List(ctx context.Context, prefix string) ([]string, error) {
	var names []string
	err := filepath.WalkDir(f.dir(prefix), func(path string, d fs.DirEntry, err error) error {
		if gone(err) {
			return nil
		}
		if err != nil {
			return &UnreadableError{Path: path, Reason: reason(err), Err: err}
		}
		if err := ctx.Err(); err != nil || !d.IsDir() {
			return err
		}
		l, err := list(path)
		if err != nil || !l.had {
			return err
		}
		rel, err := filepath.Rel(f.Root, path)
		if err != nil {
			return err
		}
		names = append(names, filepath.ToSlash(rel))
		return fs.SkipDir
	})
	sort.Strings(names)
	return names, err
}
