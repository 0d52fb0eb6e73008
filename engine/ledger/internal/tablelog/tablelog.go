// Package tablelog is the smallest table with a log of its own that there can be, for tests of the ledger. Its log is
// a folder of entries 00000000.json, 00000001.json, …, each made only if it is not there; readers see the files
// that entries name, and no others. A file is never taken off it.
package tablelog

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/ubunye-io/ubunye/engine/store/fsops"
)

// Log is the log of the table in a folder.
type Log struct {
	FS   *fsops.FS
	Base string        // the table's folder
	Name func() string // gives names that are used once
	Deaf func() bool   // tells whether it cannot be read back after a failed put; nil: it always can
	Bad  Fault
}

// Fault is a deliberate mistake of a writer, for tests that must find it.
type Fault string

// The faults.
const (
	None         Fault = ""
	LookOnce     Fault = "after a lost race for a place in the log it is not looked at again"
	EpochIgnored Fault = "commits of later runs do not fence"
	NamesNothing Fault = "it says that the log has named no file of a dead run"
)

// Entry is one commit.
type Entry struct {
	Keys  []string
	Run   string
	Epoch int64
	Files []string

	Replaces bool // the files of earlier entries with one of its keys are not the table's any more

	Version int `json:"-"`
}

// Folder is where the entries of the table in a folder are.
func Folder(base string) string { return filepath.Join(base, "_log") }

// Read gives the entries of the table in a folder, in order.
func Read(base string) (entries []Entry, err error) {
	for {
		data, err := os.ReadFile(name(base, len(entries)))
		if errors.Is(err, fs.ErrNotExist) {
			return entries, nil
		}
		e := Entry{Version: len(entries)}
		if err == nil {
			err = json.Unmarshal(data, &e)
		}
		if err != nil {
			return nil, err
		}
		entries = append(entries, e)
	}
}

func name(base string, version int) string {
	return filepath.Join(Folder(base), fmt.Sprintf("%08d.json", version))
}

// Newest is the entry that carries one of the keys and has the highest epoch; its epoch is 0 if there is none.
func Newest(entries []Entry, keys []string) (newest Entry) {
	for _, e := range entries {
		if e.Epoch > newest.Epoch && slices.ContainsFunc(e.Keys, func(key string) bool { return slices.Contains(keys, key) }) {
			newest = e
		}
	}
	return newest
}

// Live are the files that readers see.
func Live(entries []Entry) (files []string) {
	for i, e := range entries {
		replaced := slices.ContainsFunc(entries[i+1:], func(later Entry) bool {
			return later.Replaces && slices.ContainsFunc(later.Keys, func(key string) bool { return slices.Contains(e.Keys, key) })
		})
		if !replaced {
			files = append(files, e.Files...)
		}
	}
	return files
}

// Find reads the log for the newest entry with one of the keys, and makes what it has read durable.
func (l *Log) Find(keys []string) (newest Entry, versions int, err error) {
	entries, err := Read(l.Base)
	if err != nil {
		return newest, 0, err
	}
	newest = Newest(entries, keys)
	if len(entries) > 0 { // also so that no later entry outlives one before it
		err = l.FS.SyncDir(Folder(l.Base))
	}
	return newest, len(entries), err
}

// maxTries bounds the tries of a commit.
const maxTries = 6

// Commit does what ledger.Table asks for; the outcomes are those of its package. after is the epoch above which an
// entry is that of a dead run; once tells whether the batch is then not committed again.
func (l *Log) Commit(e Entry, after int64, once bool) (outcome string, at Entry, err error) {
	failed := false // a put that may have happened all the same
	for range maxTries {
		found, versions, lookErr := l.Find(e.Keys)
		if failed && l.Deaf != nil && l.Deaf() {
			lookErr = errDeaf
		}
		switch {
		case lookErr != nil && failed || lookErr != nil && found.Run == e.Run:
			return "", at, errors.Join(lookErr, err)
		case lookErr != nil:
			err = lookErr
			continue
		case found.Run == e.Run && found.Epoch == e.Epoch:
			return "done", found, nil
		case found.Epoch >= e.Epoch && l.Bad != EpochIgnored:
			return "fenced", found, nil
		case once && found.Epoch > after:
			return "found", found, nil
		}
		for {
			err = l.put(versions, e)
			if l.Bad == LookOnce && errors.Is(err, fs.ErrExist) {
				versions++
				continue
			}
			break
		}
		if err == nil {
			e.Version = versions
			return "done", e, nil
		}
		failed = !errors.Is(err, fs.ErrExist)
	}
	if failed {
		return "", at, err
	}
	return "not done", at, err
}

var errDeaf = errors.New("the table does not answer")

// put makes the entry at one place in the log, if that is free.
func (l *Log) put(version int, e Entry) error {
	if version == 0 { // who died before may have made it, and not synced
		if err := l.FS.Mkdir(Folder(l.Base), 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		if err := l.FS.SyncDir(l.Base); err != nil {
			return err
		}
	}
	data, err := json.Marshal(e)
	if err != nil {
		return err
	}
	tmp := filepath.Join(Folder(l.Base), l.Name()+".tmp")
	if err := l.FS.WriteNew(tmp, data, 0o666); err != nil {
		return err
	}
	if err := l.FS.RenameExclusive(tmp, name(l.Base, version)); err != nil {
		l.FS.Remove(tmp)
		return err
	}
	return l.FS.SyncDir(Folder(l.Base))
}

// Named gives the names of these that an entry names.
func (l *Log) Named(files []string) (named []string, err error) {
	entries, err := Read(l.Base)
	if err != nil || l.Bad == NamesNothing {
		return nil, err
	}
	for _, e := range entries {
		for _, file := range e.Files {
			if slices.Contains(files, file) {
				named = append(named, file)
			}
		}
	}
	return named, nil
}
