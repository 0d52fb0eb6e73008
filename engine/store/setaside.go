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
func (f *Folder) SetAside(ctx context.Context, name string, usable func(doc []byte, v Version) error, change func(doc []byte, before Version) ([]byte, error)) (damaged string, before Version, err error) {
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
	newDoc, now, err := f.read(path)
	switch {
	case err == nil && usable(newDoc, now) == nil:
		return "", before, ErrReadable
	case err != nil && (!errors.As(err, new(*UnreadableError)) || errors.Is(err, fs.ErrPermission)):
		return "", before, err
	}
	doc, before, err := f.lastUsable(dir, listed.generations[:len(listed.generations)-1], usable)
	if err != nil {
		return "", before, err
	}
	if doc, err = change(doc, before); err != nil {
		return "", before, err
	}
	// Without the id of the damaged one: whoever saved it, and asks whether that counted, finds that it did not.
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

// lastUsable reads the newest generation that can be used.
func (f *Folder) lastUsable(dir string, generations []int64, usable func([]byte, Version) error) ([]byte, Version, error) {
	for i := len(generations) - 1; i >= 0; i-- {
		doc, v, err := f.read(filepath.Join(dir, generationName(generations[i])))
		if err == nil && usable(doc, v) == nil {
			return doc, v, nil
		}
	}
	return nil, Version{}, &UnreadableError{Path: dir, Reason: "no generation of it can be used"}
}
