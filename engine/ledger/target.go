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

// CheckTarget tells whether an output folder (an absolute path, which need not exist) belongs to another
// ledger: a *TargetElsewhereError, or an *UnreadableError if that cannot be told. It only reads, so that a
// start can be refused before it holds anything; Prepare decides.
func (l *Ledger) CheckTarget(output, path string) error {
	base := realPath(path)
	t, err := l.target(base)
	if err != nil || t.Ledger == "" {
		return err
	}
	mine, err := l.id()
	if err != nil {
		return err
	}
	return elsewhere(output, base, t, mine)
}

// elsewhere is the refusal of a folder whose target file names another ledger than mine; nil if it does not.
func elsewhere(output, base string, t targetFile, mine string) error {
	if t.Ledger == "" || t.Ledger == mine {
		return nil
	}
	return &TargetElsewhereError{Output: output, Path: filepath.Join(base, targetName), Ledger: t.Ledger, Mine: mine}
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
	fsys.Remove(tmp)                // or the staging's drop will
	now, readErr := w.targetThere() // not locate, which would forget the folders that are to be synced
	if readErr != nil {
		return now, readErr
	}
	if now.ID == "" {
		return now, err
	}
	return now, nil
}
