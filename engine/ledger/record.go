package ledger

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ubunye-io/ubunye/engine/store"
)

// Status tells how far a run got.
type Status string

// The states of a run record. A run that succeeded and left nothing has no record any more, nor has
// one that was refused.
const (
	Asking      Status = "asking"      // for its batches and targets: it has staged nothing yet
	Waiting     Status = "waiting"     // until others give them back: it holds nothing, and will ask again
	Running     Status = "running"     // it stages, commits or lands
	Landed      Status = "landed"      // dead; another start finished what it had committed
	Succeeded   Status = "succeeded"   // it did all of it; work of it may be left to be done
	Failed      Status = "failed"      // a task failed
	Interrupted Status = "interrupted" // it was stopped, or lost a batch
	Refused     Status = "refused"     // it did not get its batches
)

// Record is what a run leaves in runs/ from before its first acquire until it has ended well: through
// it every later start finds the documents that the run may have left work in.
type Record struct {
	Format   int    `json:"format"`   // number of the form of the file; programs refuse a higher one than they know
	Run      string `json:"run"`      // id of the run
	Pipeline string `json:"pipeline"` // name of the pipeline
	State    string `json:"state"`    // the run in the run state, as sales.5; empty: none is kept
	Identity
	Since    time.Time `json:"since"`              // when the run began
	Batches  []Batch   `json:"batches"`            // the batches of its tasks
	Targets  []Target  `json:"targets"`            // the places that it writes to
	Status   Status    `json:"status"`             // how far it got
	By       string    `json:"by,omitempty"`       // the run that took its batches over
	Doubtful []string  `json:"doubtful,omitempty"` // outputs of which nobody can tell whether they were written

	extra unknown
}

// Target is a place that a run writes to.
type Target struct {
	Path  string `json:"path"`            // real path of a folder, or a table
	ID    string `json:"id,omitempty"`    // id in the folder's target file, if it has one
	Adds  bool   `json:"adds"`            // true: it adds to what is there; false: it replaces that
	Parts bool   `json:"parts,omitempty"` // it replaces folders in it, not the folder itself

	// After are the places, among the run's own targets, of those that it is done with before it begins this one.
	After []int `json:"-"`
}

// MarshalJSON upholds json.Marshaler.
func (x Record) MarshalJSON() ([]byte, error) {
	type plain Record
	return encodeKeeping(plain(x), x.extra)
}

// UnmarshalJSON upholds json.Unmarshaler.
func (x *Record) UnmarshalJSON(data []byte) (err error) {
	type plain Record
	x.extra, err = decodeKeeping(data, (*plain)(x))
	return err
}

func (l *Ledger) recordPath(run string) string { return l.sub("runs", run+".json") }
func (l *Ledger) beatPath(run string) string   { return l.sub("runs", run+".beat") }

// writeRecord puts a record in place, whole and durable. first: its run's id must not be taken.
func (l *Ledger) writeRecord(r Record, first bool) error {
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	tmp := l.sub("tmp", store.NewID()+".json")
	if !first {
		return l.fs.Replace(tmp, l.recordPath(r.Run), append(data, '\n'), 0o666)
	}
	if err = l.fs.WriteNew(tmp, append(data, '\n'), 0o666); err == nil {
		err = l.fs.RenameNoReplace(tmp, l.recordPath(r.Run))
	}
	if err != nil {
		l.fs.Remove(tmp)
		return err
	}
	return l.durable(recordFirst, false, folder(l.sub("runs")))
}

// records reads every run record; those that cannot be read are named in bad.
func (l *Ledger) records() (good []Record, bad []*UnreadableError, err error) {
	entries, err := os.ReadDir(l.sub("runs"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, &UnreadableError{Path: l.sub("runs"), Reason: err.Error(), Err: err}
	}
	for _, e := range entries {
		run, is := strings.CutSuffix(e.Name(), ".json")
		if !is {
			continue
		}
		r, err := l.readRecord(run)
		var unreadable *UnreadableError
		switch {
		case errors.Is(err, fs.ErrNotExist): // its run ended meanwhile
		case errors.As(err, &unreadable):
			bad = append(bad, unreadable)
		default:
			good = append(good, r)
		}
	}
	return good, bad, nil
}

// readRecord reads one record. The error is fs.ErrNotExist or an *UnreadableError.
func (l *Ledger) readRecord(run string) (r Record, err error) {
	path := l.recordPath(run)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return r, fs.ErrNotExist
	}
	if err == nil {
		err = json.Unmarshal(data, &r)
	}
	switch {
	case err != nil:
		return r, &UnreadableError{Path: path, Reason: err.Error(), Err: err}
	case r.Format > format:
		return r, &UnreadableError{Path: path, Reason: "a newer program wrote it"}
	case r.Run != run:
		return r, &UnreadableError{Path: path, Reason: "it is not the record of " + run}
	}
	return r, nil
}

// create makes the ledger if it is not there and returns its id. The id comes last: who sees it finds
// the folders.
func (l *Ledger) create() (string, error) {
	for _, dir := range []string{"batches", "runs", stagingFolder, "tmp"} {
		if info, err := os.Stat(l.sub(dir)); err == nil && info.IsDir() {
			continue
		}
		if err := store.MakeFolder(l.fs, existing(l.path), l.sub(dir)); err != nil {
			return "", err
		}
	}
	id, err := l.id()
	if err != nil {
		return "", err
	}
	if id == "" {
		tmp := l.sub("tmp", store.NewID())
		if err := l.fs.WriteNew(tmp, []byte(store.NewID()+"\n"), 0o666); err != nil {
			l.fs.Remove(tmp)
			return "", err
		}
		err := l.fs.RenameExclusive(tmp, l.sub("id"))
		if errors.Is(err, errors.ErrUnsupported) {
			err = l.fs.Link(tmp, l.sub("id"))
		}
		l.fs.Remove(tmp)
		if id, readErr := l.id(); id == "" { // another start may have been first, or the answer lost
			return "", errors.Join(err, readErr)
		}
		return l.create()
	}
	// whoever made the id may have died before this
	return id, l.durable(ledgerFirst, false, folder(l.path))
}

// existing returns the deepest folder above path that exists, or path's parent.
func existing(path string) string {
	dir := filepath.Dir(path)
	for dir != filepath.Dir(dir) {
		if _, err := os.Stat(dir); err == nil {
			return dir
		}
		dir = filepath.Dir(dir)
	}
	return dir
}

// of tells whether the record is of a run of this pipeline; "" is every pipeline.
func (r Record) of(pipeline string) bool {
	return pipeline == "" || r.Pipeline == pipeline ||
		slices.ContainsFunc(r.Batches, func(b Batch) bool { return b.Pipeline == pipeline })
}

// meets tells whether the record is of a run that writes to one of these places.
func (r Record) meets(targets []Target) bool {
	return slices.ContainsFunc(r.Targets, func(t Target) bool { return slices.ContainsFunc(targets, t.meets) })
}
