package store

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/ubunye-io/ubunye/engine/store/fsops"
)

// Folder keeps each document in a folder of its own under Root, as files 00000007.json: the
// generations. The newest one is the document. A save links a finished, synced temporary file to the
// next generation's name, which fails if somebody else took it: link(2) is atomic on local disks and
// on NFS. flock is not used, because some shared disks grant it to everybody.
//
// ledger/model/store.pml checks the protocol for writers that pause or die between any two steps.
type Folder struct {
	FS     *fsops.FS
	Root   string // the folders of the documents
	Tmp    string // temporary files; on the same file system
	Format int    // the newest format that is understood, and the one written
	// Keep tells how many generations stay after this document was saved; never fewer than two,
	// because a saver tells by the generation it was built on whether it counted.
	Keep func(doc []byte) int

	mu   sync.Mutex
	seen map[string]int64 // the newest generation met of each document
}

var _ Store = (*Folder)(nil)

func (f *Folder) dir(name string) string { return filepath.Join(f.Root, filepath.FromSlash(name)) }

func generationName(n int64) string { return fmt.Sprintf("%08d.json", n) }

// Save upholds Store.
func (f *Folder) Save(ctx context.Context, name string, doc []byte, v Version) (Version, error) {
	if err := ctx.Err(); err != nil {
		return v, err
	}
	dir := f.dir(name)
	next := Version{
		Generation: v.Generation + 1,
		ID:         NewID(),
		Path:       filepath.Join(dir, generationName(v.Generation+1)),
	}
	if !v.Absent() {
		next.Ancestors = append(next.Ancestors, Ancestor{v.Generation, v.ID})
	}
	next.Ancestors = append(next.Ancestors, v.Ancestors...)
	next.Ancestors = next.Ancestors[:min(len(next.Ancestors), keepAncestors)]
	data, err := seal(doc, envelope{f.Format, next.ID, next.Ancestors})
	if err != nil {
		return v, err
	}
	if v.Absent() {
		if err := MakeFolder(f.FS, filepath.Dir(f.Root), dir); err != nil {
			return v, err
		}
	}
	tmp := filepath.Join(f.Tmp, next.ID+".json")
	if err := f.FS.WriteNew(tmp, data, 0o666); err != nil {
		f.FS.Remove(tmp) // a part of it may be there
		return v, err
	}
	if err := f.take(tmp, next); err != nil {
		f.FS.Remove(tmp) // not the document: that has a name of its own by now, or never got one
		if errors.Is(err, ErrUnknown) {
			return next, err
		}
		return v, err
	}
	syncErr := f.FS.SyncDir(dir)
	f.FS.Remove(tmp)
	if err := f.verdict(name, v, next); err != nil {
		return next, err
	}
	if syncErr != nil {
		return next, fmt.Errorf("%w: %s is written but may not survive a power cut: %w", ErrUnknown, next.Path, syncErr)
	}
	f.remember(name, next.Generation)
	f.sweep(dir, next.Generation, doc)
	return next, nil
}

// take gives the temporary file the name of its generation, or tells why not. An error of the call
// proves nothing by itself (answers get lost): the name is looked at.
func (f *Folder) take(tmp string, next Version) error {
	err := f.FS.Link(tmp, next.Path)
	if noHardLinks(err) {
		if err = f.FS.RenameExclusive(tmp, next.Path); errors.Is(err, errors.ErrUnsupported) {
			return &NoExclusiveError{Path: filepath.Dir(next.Path), FileSystem: fileSystemType(filepath.Dir(next.Path)), Err: err}
		}
	}
	if err == nil {
		return nil
	}
	_, there, readErr := f.read(next.Path)
	switch {
	case readErr == nil && there.ID == next.ID:
		return nil
	case readErr == nil || errors.As(readErr, new(*UnreadableError)):
		return ErrConflict // somebody else's
	case errors.Is(err, fs.ErrExist):
		return ErrConflict // somebody else's, and swept meanwhile: more have followed it
	case refused(err) && errors.Is(readErr, fs.ErrNotExist):
		return err
	}
	return fmt.Errorf("%w: %s: %w", ErrUnknown, next.Path, err)
}

// refused tells whether a call that failed so certainly changed nothing.
func refused(err error) bool {
	for _, e := range []syscall.Errno{syscall.ENOSPC, syscall.EDQUOT, syscall.EROFS, syscall.EACCES, syscall.EPERM,
		syscall.ENOENT, syscall.ENOTDIR, syscall.ENAMETOOLONG, syscall.EXDEV, syscall.EMLINK} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// noHardLinks tells whether link(2) failed because the file system has none: EPERM says FAT, the
// others network and user-space file systems. A folder that may not be written gives EACCES.
func noHardLinks(err error) bool {
	return errors.Is(err, syscall.EPERM) || errors.Is(err, errors.ErrUnsupported)
}

// verdict tells whether a save whose name was taken counted. It did if the generation it was built on
// is still there with the id that was loaded: the sweep goes from old to new, so the next one had
// never been there before. Otherwise the newest generation's ancestors say whose the entry is.
// A file of a save that did not count is left to the sweep: nobody else removes a generation.
func (f *Folder) verdict(name string, base, next Version) error {
	if !base.Absent() {
		_, there, err := f.read(filepath.Join(f.dir(name), generationName(base.Generation)))
		if err == nil && there.ID == base.ID {
			return nil
		}
	}
	_, newest, err := f.load(context.Background(), name)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	if newest.ID == next.ID {
		return nil
	}
	for _, a := range newest.Ancestors {
		if a.Generation == next.Generation {
			if a.ID == next.ID {
				return nil
			}
			return ErrConflict
		}
	}
	return fmt.Errorf("%w: %s does not reach back to generation %d", ErrUnknown, newest.Path, next.Generation)
}

// sweep removes what is older than the newest generations, from old to new; verdict relies on the
// order, so the first that cannot be removed ends it. It is done again after the next save.
func (f *Folder) sweep(dir string, newest int64, doc []byte) {
	keep := 2
	if f.Keep != nil {
		keep = max(keep, f.Keep(doc))
	}
	listed, err := list(dir)
	if err != nil {
		return
	}
	for _, n := range listed.generations {
		if n > newest-int64(keep) {
			return
		}
		if err := f.FS.Remove(filepath.Join(dir, generationName(n))); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return
		}
	}
}

// Settle upholds Store.
func (f *Folder) Settle(ctx context.Context, name string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	err := f.FS.SyncDir(f.dir(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // nothing was loaded from there
	}
	return err
}

func (f *Folder) remember(name string, generation int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.seen == nil {
		f.seen = map[string]int64{}
	}
	f.seen[name] = max(f.seen[name], generation)
}

func (f *Folder) newestSeen(name string) int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.seen[name]
}

// NewID returns 32 random hex digits.
func NewID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails: crypto/rand ends the program instead
	return hex.EncodeToString(b[:])
}

// MakeFolder makes a folder and those above it that are missing, durably: every folder from within
// down is synced, also where it was there, because whoever made it may have died before syncing.
func MakeFolder(f *fsops.FS, within, path string) error {
	if err := f.MkdirAll(path, 0o777); err != nil {
		if info, statErr := os.Stat(path); statErr != nil || !info.IsDir() {
			return err
		}
	}
	rel, err := filepath.Rel(within, path)
	if err != nil || !filepath.IsLocal(rel) {
		return fmt.Errorf("%s is not below %s", path, within)
	}
	for dir := path; dir != within; {
		dir = filepath.Dir(dir)
		if err := f.SyncDir(dir); err != nil {
			return err
		}
	}
	return nil
}
