// Package store keeps JSON documents that several processes, on several machines, change at once.
// It knows nothing of what they hold. A document is changed only by compare-and-swap: a Save names
// the version it was built on and counts only if that is still the newest one.
//
// Folder keeps them in a file system; an object store can take its place, and storetest is the suite
// that either must pass.
package store

import (
	"context"
	"errors"
	"fmt"
)

// Store loads and saves documents. A name is a slash-separated path of plain elements. A document is
// one JSON object; its members format, id and ancestors belong to the store, which adds them on Save
// and takes them off on Load.
type Store interface {
	// Load returns the newest version of a document. One that never was has the zero Version and no
	// error. One that is there and cannot be read is an *UnreadableError, never absent.
	Load(ctx context.Context, name string) ([]byte, Version, error)

	// Save writes doc as the version after v. It returns ErrConflict if v was not the newest: nothing
	// changed then. It returns ErrUnknown if that could not be found out, or if the document is there
	// but may not survive a power cut; the Version returned beside it holds the id that was tried.
	// Only a later Save of the caller's that succeeds settles it. After any other error the document
	// is as it was.
	Save(ctx context.Context, name string, doc []byte, v Version) (Version, error)

	// Settle makes sure that the version which Load last returned survives a power cut.
	Settle(ctx context.Context, name string) error

	// SetAside replaces a document whose newest version is there and cannot be used, because the store cannot read
	// it or usable gives an error: what change makes of the last version that can be used is saved as the one after
	// it. It returns where the damaged one is kept, and that version before it. It returns ErrReadable if the document
	// is not damaged, fs.ErrNotExist if there is none, and an *UnreadableError if no version can be used, or if the
	// newest one may be good: only the right to read it is missing.
	SetAside(ctx context.Context, name string, usable func(doc []byte, v Version) error, change func(doc []byte, before Version) ([]byte, error)) (damaged string, before Version, err error)

	// List returns the names of the documents under prefix, sorted; "" lists all.
	List(ctx context.Context, prefix string) ([]string, error)
}

// Version identifies one state of a document. The zero Version is a document that is not there.
type Version struct {
	Generation int64
	ID         string     // random; no two saves share one
	Ancestors  []Ancestor // the versions before it, newest first, at most 64
	Path       string     // where it is kept, for messages
}

// Ancestor is an earlier version of a document.
type Ancestor struct {
	Generation int64  `json:"generation"` // number of the save
	ID         string `json:"id"`         // its random id
}

// Absent tells whether the document is not there.
func (v Version) Absent() bool { return v.Generation == 0 }

// Includes tells whether id is this version or one that it was built on, as far back as it knows.
func (v Version) Includes(id string) bool {
	if v.ID == id {
		return true
	}
	for _, a := range v.Ancestors {
		if a.ID == id {
			return true
		}
	}
	return false
}

// Forgets tells whether a generation is older than those whose ids are known, so that nobody can say whose it was.
func (v Version) Forgets(generation int64) bool {
	oldest := v.Generation
	if n := len(v.Ancestors); n > 0 {
		oldest = v.Ancestors[n-1].Generation
	}
	return generation < oldest
}

// ErrConflict says that a save was built on a version that is not the newest one. Nothing changed.
var ErrConflict = errors.New("the document was changed by another process")

// ErrUnknown says that it could not be found out whether a save counted, or that it counted but may
// not survive a power cut.
var ErrUnknown = errors.New("the outcome of a save is unknown")

// UnreadableError is a file that is there and cannot be understood, or one that is gone and must have been there. It is
// never taken for one that never was: who knows what it said.
type UnreadableError struct {
	Path   string
	Reason string
	Gone   bool
	Err    error // may be nil
}

func (e *UnreadableError) Error() string {
	if e.Gone {
		return fmt.Sprintf("%s is gone: %s", e.Path, e.Reason)
	}
	return fmt.Sprintf("%s is there but cannot be used: %s", e.Path, e.Reason)
}

func (e *UnreadableError) Unwrap() error { return e.Err }

// NoExclusiveError is a file system on which no name can be taken exclusively, so that
// compare-and-swap is not possible.
type NoExclusiveError struct {
	Path       string
	FileSystem string // its type, as the system calls it
	Err        error
}

func (e *NoExclusiveError) Error() string {
	return fmt.Sprintf("%s lies on %s, which has neither hard links nor a rename that refuses to replace", e.Path, e.FileSystem)
}

func (e *NoExclusiveError) Unwrap() error { return e.Err }
