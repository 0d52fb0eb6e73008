package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
)

// ErrReadable says that a document is not damaged, so that nothing is to be set aside.
var ErrReadable = errors.New("the document can be read")

// SetAside upholds Store. The new generation comes first: until it is there the damaged one is the newest, and
// nobody takes the one before it for the document.
func (f *Folder) SetAside(ctx context.Context, name string, change func(doc []byte, before Version) ([]byte, error)) (damaged string, before Version, err error) {
	dir := f.dir(name)
	listed, err := list(dir)
	if err != nil {
		return "", before, err
	}
	newest := listed.newest()
	if newest == 0 {
		return "", before, fmt.Errorf("%s: %w", dir, fs.ErrNotExist)
	}
	path := filepath.Join(dir, generationName(newest))
	_, _, err = f.read(path)
	switch {
	case err == nil:
		return "", before, ErrReadable
	case !errors.As(err, new(*UnreadableError)):
		return "", before, err
	}
	doc, before, err := f.lastReadable(dir, listed.generations[:len(listed.generations)-1])
	if err != nil {
		return "", before, err
	}
	if doc, err = change(doc, before); err != nil {
		return "", before, err
	}
	base := Version{Generation: newest, Ancestors: append([]Ancestor{{before.Generation, before.ID}}, before.Ancestors...)}
	if _, err = f.Save(ctx, name, doc, base); err != nil {
		return "", before, err
	}
	damaged = path + ".damaged"
	if err := f.FS.RenameNoReplace(path, damaged); err != nil {
		return path, before, nil // it is no document any more, and only kept for people
	}
	return damaged, before, f.FS.SyncDir(dir)
}

// lastReadable reads the newest generation that can be read.
func (f *Folder) lastReadable(dir string, generations []int64) ([]byte, Version, error) {
	for i := len(generations) - 1; i >= 0; i-- {
		doc, v, err := f.read(filepath.Join(dir, generationName(generations[i])))
		if err == nil {
			return doc, v, nil
		}
	}
	return nil, Version{}, &UnreadableError{Path: dir, Reason: "no generation of it can be read"}
}
