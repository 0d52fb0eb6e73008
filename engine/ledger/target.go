package ledger

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/ubunye-io/ubunye/engine/store"
)

const (
	// targetName is the file that every output folder gets, made without replacing before the first
	// file lands. It tells this folder from an empty mount point, and whose ledger answers for it.
	targetName  = "_ubunye-target"
	successName = "_SUCCESS"
)

type targetFile struct {
	ID     string `json:"target"`
	Ledger string `json:"ledger"`
}

// target reads the target file of a folder; a detached ledger looks at none.
func (l *Ledger) target(base string) (targetFile, error) {
	if l.cfg.Detached {
		return targetFile{}, nil
	}
	return readTarget(base)
}

// readTarget reads the target file of a folder; zero if it has none.
func readTarget(base string) (targetFile, error) {
	var t targetFile
	path := filepath.Join(base, targetName)
	if is, err := there(path); err == nil && !is {
		return t, nil
	}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return t, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &t)
	}
	if err == nil && (t.ID == "" || t.Ledger == "") {
		err = errors.New("it names no target or no ledger")
	}
	if err != nil {
		return targetFile{}, &UnreadableError{Path: path, Reason: err.Error(), Err: err}
	}
	return t, nil
}

// markTarget gives the output folder its target file if it has none, with the id chosen at prepare.
// Another batch of this ledger may be first: its id counts then.
func (w *work) markTarget(staging string, t targetFile) (targetFile, error) {
	if t.ID != "" {
		return t, nil
	}
	mine := targetFile{ID: w.entry.Target, Ledger: w.mine}
	if w.ledger.cfg.Detached {
		return mine, nil
	}
	if is, err := there(staging); err != nil || !is {
		return mine, err // everything had landed, and somebody took the file away since
	}
	data, err := json.Marshal(mine)
	if err != nil {
		return t, err
	}
	fsys, tmp := w.ledger.fs, filepath.Join(staging, targetName+"-"+store.NewID())
	if err = fsys.WriteNew(tmp, append(data, '\n'), 0o666); err == nil {
		err = fsys.RenameNoReplace(tmp, filepath.Join(w.base, targetName))
	}
	if err == nil {
		return mine, nil
	}
	fsys.Remove(tmp) // or the staging's drop will
	now, readErr := w.locate()
	if readErr != nil {
		return now, readErr
	}
	if now.ID == "" {
		return now, err
	}
	return now, nil
}
