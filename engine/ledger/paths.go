package ledger

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// resolve follows the symbolic links of an absolute path as far as it exists, and tells how many of
// its last elements do not. A link that points nowhere is an error: what it stands for cannot be told.
func resolve(path string) (real string, absent int, err error) {
	rest := ""
	for at := path; ; {
		real, err = filepath.EvalSymlinks(at)
		if err == nil {
			return filepath.Join(real, rest), absent, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", 0, err
		}
		if info, lerr := os.Lstat(at); lerr == nil && info.Mode()&fs.ModeSymlink != 0 {
			return "", 0, &fs.PathError{Op: "open", Path: at, Err: errors.New("symbolic link to a place that is not there")}
		}
		rest = filepath.Join(filepath.Base(at), rest)
		absent++
		if at = filepath.Dir(at); at == filepath.Dir(at) && absent > 255 {
			return "", 0, err
		}
	}
}

// realPath is an absolute path with its symbolic links followed; where that cannot be done, the path itself.
func realPath(path string) string {
	if real, _, err := resolve(path); err == nil {
		return real
	}
	return path
}

// place says where a resolved path is, so that it is found again from elsewhere.
func (l *Ledger) place(path string) Place {
	if rel, err := filepath.Rel(l.parent, path); err == nil && filepath.IsLocal(rel) {
		return Place{Path: filepath.ToSlash(rel), RelativeTo: "ledger"}
	}
	return Place{Path: path, Machine: l.cfg.Identity.Machine}
}

// find is the way back. here is false for an absolute path that was written on another machine, or
// on one that could not be told: the same path may be another folder.
func (l *Ledger) find(p Place) (path string, here bool) {
	if p.RelativeTo != "" {
		return filepath.Join(l.parent, filepath.FromSlash(p.Path)), true
	}
	return p.Path, p.Machine != "" && p.Machine == l.cfg.Identity.Machine
}

// At tells whether a place that a document names is the folder at path, or would be.
func (l *Ledger) At(p Place, path string) bool {
	folder, _ := l.find(p)
	return folder == realPath(path)
}

// stagingPath gives the folder that a document's "staging" stands for: below the ledger's own folder
// if it begins with staging/, otherwise relative to the output's base.
func (l *Ledger) stagingPath(base, staging string) string {
	if inLedger(staging) {
		return l.sub(filepath.FromSlash(staging))
	}
	return filepath.Join(base, filepath.FromSlash(staging))
}

// inLedger tells whether a document's "staging" lies in the ledger's own folder.
func inLedger(staging string) bool { return strings.HasPrefix(staging, stagingFolder+"/") }

// there tells whether a name exists. Before that is denied the folder is opened anew: a network
// disk's client then asks the server.
func there(path string) (bool, error) {
	for range 2 {
		_, err := os.Lstat(path)
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, syscall.ENOTDIR):
			return false, nil
		case !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ESTALE):
			return false, err
		}
		if dir, err := os.Open(filepath.Dir(path)); err == nil {
			dir.Close()
		}
	}
	return false, nil
}

// Folder gives the folder of an output that was committed, as it is found from here.
func (l *Ledger) Folder(o FinishedOutput) string {
	base, _ := l.find(o.Base)
	return base
}
