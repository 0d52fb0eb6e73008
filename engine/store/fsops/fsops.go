// Package fsops is the only place of the program that changes a file system. Every change is one
// numbered operation, so that a test can stop the program, fill the disk or lose an answer at
// operation k, for every k. Reading needs nothing from here.
//
// A method does exactly one change unless its comment says otherwise; those that do several are made
// of the others, so each step is counted. A rename that is refused for a moment is tried again: see patience.go.
package fsops

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"
)

// Op is one change about to be made.
type Op struct {
	N    int64  // counts from 1 in each FS
	Kind string // "mkdir", "create", "write", "sync", "syncdir", "syncfs", "rename", "exchange", "link", "remove", "times", "attributes"
	Path string
	To   string // second name of rename, exchange and link
}

// Hook sees every change. Before may refuse it (nothing happens then); After may turn what happened
// into an error, as a lost answer does. It is called from any goroutine.
type Hook interface {
	Before(Op) error
	After(Op, error) error
}

// FS makes changes. The zero value is ready and makes them plainly.
type FS struct {
	hook   Hook
	n      atomic.Int64
	waited atomic.Int64        // nanoseconds, for renames that were refused all the same
	sleep  func(time.Duration) // nil: time.Sleep
}

// New returns an FS whose changes pass through hook; nil: plainly.
func New(hook Hook) *FS { return &FS{hook: hook} }

// do makes one change under the hook.
func (f *FS) do(kind, path, to string, change func() error) error {
	op := Op{N: f.n.Add(1), Kind: kind, Path: path, To: to}
	if f.hook == nil {
		return change()
	}
	if err := f.hook.Before(op); err != nil {
		return &fs.PathError{Op: kind, Path: path, Err: err}
	}
	err := change()
	if lost := f.hook.After(op, err); lost != nil && err == nil {
		return &fs.PathError{Op: kind, Path: path, Err: lost}
	}
	return err
}

// Mkdir makes one folder; it fails with fs.ErrExist if the name is taken.
func (f *FS) Mkdir(path string, perm fs.FileMode) error {
	return f.do("mkdir", path, "", func() error { return os.Mkdir(path, perm) })
}

// MkdirAll makes a folder and those above it that are missing: one change each, from the top.
func (f *FS) MkdirAll(path string, perm fs.FileMode) error {
	info, err := os.Stat(path)
	if err == nil {
		if info.IsDir() {
			return nil
		}
		return &fs.PathError{Op: "mkdir", Path: path, Err: errNotFolder}
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if parent := filepath.Dir(path); parent != path {
		if err := f.MkdirAll(parent, perm); err != nil {
			return err
		}
	}
	if err := f.Mkdir(path, perm); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// Rename renames, replacing what is there as rename(2) does.
func (f *FS) Rename(from, to string) error {
	return f.patiently("rename", from, to, func() error { return os.Rename(from, to) })
}

// RenameNoReplace renames; it fails with fs.ErrExist if the new name is taken. Where the file system
// cannot refuse in one step (NFS), the new name is looked up first: callers use names that are never
// used twice (they hold a fresh UUID), so nothing can come between.
func (f *FS) RenameNoReplace(from, to string) error {
	return f.patiently("rename", from, to, func() error {
		err := renameNoReplace(from, to)
		if !errors.Is(err, errors.ErrUnsupported) {
			return err
		}
		if _, err := os.Lstat(to); err == nil {
			return &os.LinkError{Op: "rename", Old: from, New: to, Err: fs.ErrExist}
		} else if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return os.Rename(from, to)
	})
}

// RenameExclusive renames; it fails with fs.ErrExist if the new name is taken, and with
// errors.ErrUnsupported where the file system cannot refuse that in the same step. It is for names
// that several processes may want at once.
func (f *FS) RenameExclusive(from, to string) error {
	return f.patiently("rename", from, to, func() error { return renameNoReplace(from, to) })
}

// Exchange swaps what two names stand for, in one step: whoever looks a name up finds what was there or
// what comes there, never nothing. Both must exist, on one file system. The error is
// errors.ErrUnsupported where the file system cannot.
func (f *FS) Exchange(a, b string) error {
	return f.patiently("exchange", a, b, func() error { return exchange(a, b) })
}

// Link gives a file a second name; it fails with fs.ErrExist if that name is taken.
func (f *FS) Link(from, to string) error {
	return f.do("link", from, to, func() error { return os.Link(from, to) })
}

// Remove removes a file or an empty folder.
func (f *FS) Remove(path string) error {
	return f.do("remove", path, "", func() error { return os.Remove(path) })
}

// RemoveAll removes a folder and what is in it, one change each, depth first. It never follows a
// symbolic link. What is gone already is fine.
func (f *FS) RemoveAll(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return gone(f.Remove(path))
	}
	return f.removeFolder(path)
}

// removeFolder empties a folder and removes it.
func (f *FS) removeFolder(path string) error {
	entries, err := os.ReadDir(path)
	if gone(err) != nil {
		return err
	}
	for _, e := range entries {
		below := filepath.Join(path, e.Name())
		switch {
		case !e.IsDir():
			err = gone(f.Remove(below))
		case gone(f.removeEmpty(below)) == nil: // of many folders most are empty, and need not be listed
			err = nil
		default:
			err = f.removeFolder(below)
		}
		if err != nil {
			return err
		}
	}
	return gone(f.removeEmpty(path))
}

func (f *FS) removeEmpty(path string) error {
	return f.do("remove", path, "", func() error { return removeEmpty(path) })
}

// gone is an error of removing: what is gone already is fine.
func gone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// SyncFile makes the contents of a file durable.
func (f *FS) SyncFile(path string) error { return f.sync("sync", path) }

// SyncDir makes the names in a folder durable.
func (f *FS) SyncDir(path string) error { return f.sync("syncdir", path) }

func (f *FS) sync(kind, path string) error {
	return f.do(kind, path, "", func() error {
		file, err := os.Open(path)
		if err != nil {
			return err
		}
		err = file.Sync()
		return errors.Join(err, file.Close())
	})
}

// SyncFS makes everything written so far to the file system that holds path durable; cheaper than
// many single calls.
func (f *FS) SyncFS(path string) error {
	return f.do("syncfs", path, "", func() error { return syncFS(path) })
}

// Beat touches a heartbeat: one byte is written (some network disks take "now" from the client
// otherwise) and the time set to the disk's own now. A file that is gone is made again. Two changes.
func (f *FS) Beat(path string) error {
	err := f.do("write", path, "", func() error {
		file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o666)
		if err != nil {
			return err
		}
		_, err = file.WriteAt([]byte{'\n'}, 0)
		return errors.Join(err, file.Close())
	})
	if err != nil {
		return err
	}
	return f.do("times", path, "", func() error { return touchNow(path) })
}
