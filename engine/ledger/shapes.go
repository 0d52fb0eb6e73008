package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/ubunye-io/ubunye/engine/store"
)

// Shape is the columns with which an input was read for a commit.
type Shape struct {
	Columns   []Column          `json:"columns"` // as the files of that day had them
	Run       string            `json:"run"`     // the first whose commit had them
	Variables map[string]string `json:"variables,omitempty"`
	At        time.Time         `json:"at"`
}

// shapesFile is <ledger>/shapes/<pipeline>/<task>.json, or <task>.<profile>.json: names have no dot. It is advice about what
// the documents of the task's batches say, so that a start need not read them all: nothing is lost with it.
type shapesFile struct {
	Inputs map[string]Shape `json:"inputs"`
}

func (l *Ledger) shapesPath(b Batch) string {
	name := b.Task
	if b.Profile != "" {
		name += "." + b.Profile
	}
	return l.sub("shapes", b.Pipeline, name+".json")
}

// Shapes gives the columns that the inputs of a batch's task had in its last commit, of whatever batch with this profile. found is
// false if nothing is written down. One that is written down and cannot be read is an *UnreadableError.
func (l *Ledger) Shapes(b Batch) (shapes map[string]Shape, found bool, err error) {
	path := l.shapesPath(b)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	var file shapesFile
	if err == nil {
		err = json.Unmarshal(data, &file)
	}
	if err == nil && file.Inputs == nil {
		err = errors.New("it names no inputs")
	}
	if err != nil {
		return nil, false, &UnreadableError{Path: path, Reason: err.Error(), Err: err}
	}
	return file.Inputs, true, nil
}

// KeepShapes writes down what Shapes is to give, after the commit that had it. A run that dies before it leaves what was there.
func (l *Ledger) KeepShapes(b Batch, shapes map[string]Shape) error {
	path := l.shapesPath(b)
	data, err := json.MarshalIndent(shapesFile{Inputs: shapes}, "", "  ")
	if err != nil {
		return err
	}
	if err := store.MakeFolder(l.fs, l.path, filepath.Dir(path)); err != nil {
		return err
	}
	return l.fs.Replace(l.sub("tmp", store.NewID()), path, append(data, '\n'), 0o666)
}

// Newest gives the newest commit of any batch of a batch's task with its profile, and that batch; nil: there is none that can be
// read. It reads every document of the task.
func (l *Ledger) Newest(ctx context.Context, b Batch) (*Finished, Batch, error) {
	names, err := l.docs.List(ctx, b.Pipeline+"/"+b.Task)
	if err != nil {
		return nil, b, err
	}
	var newest *Finished
	for _, name := range names {
		d, _, err := l.loadName(ctx, name)
		var bad *UnreadableError
		switch {
		case errors.As(err, &bad):
		case err != nil:
			return nil, b, err
		case d.Finished != nil && d.Batch.Profile == b.Profile && (newest == nil || d.Finished.At.After(newest.At)):
			newest, b = d.Finished, d.Batch
		}
	}
	return newest, b, nil
}
