package runstate

import (
	"context"
	"errors"
	"os"
)

// Accept gives up what a run has not done, by the word of a person: who, when and why are written into its newest file,
// and its files move to succeeded/. With a task only that task is given up: the run goes on at the next start without
// it. A run whose process is alive is refused with an *AliveError. A file that cannot be read is kept beside the one that
// takes its place, and named in it; one of a newer program is refused.
//
// A plain mv of the newest file from current/ to succeeded/ means the same for the run.
func (f *Folder) Accept(ctx context.Context, app string, run int64, task string, a Acceptance) (*Found, error) {
	x, err := f.Find(ctx, app, run)
	if err != nil {
		return nil, err
	}
	if x.Alive {
		return nil, x.aliveError()
	}
	if err := f.make(tmpDir, succeededDir); err != nil {
		return nil, err
	}
	a.At = f.Now().UTC()
	var unreadable *UnreadableError
	switch {
	case errors.As(x.Err, &unreadable) && task == "":
		return f.acceptDamaged(x, a)
	case x.Err != nil:
		return nil, x.Err
	case task != "":
		return x, f.acceptTask(x, task, a)
	}
	d := x.Document
	if d.done() || x.Succeeded && d.Accepted != nil {
		return nil, &DoneError{Path: x.Path}
	}
	d.Accepted = &a
	if err := f.put(x.Path, d); err != nil {
		return nil, err
	}
	if !x.Succeeded {
		err = f.moveAll(app, x.Number, d)
		x.Path, x.Succeeded = f.sub(succeededDir, x.Number.file(app)), true
	}
	return x, err
}

func (f *Folder) acceptTask(x *Found, task string, a Acceptance) error {
	action, there := x.Document.Actions[task]
	switch {
	case !there:
		return &UnknownTaskError{Path: x.Path, Task: task, Known: sortedKeys(x.Document.Actions)}
	case x.Succeeded, action.Completed():
		return &DoneError{Path: x.Path, Task: task}
	}
	action.Accepted = &a
	x.Document.Actions[task] = action
	return f.put(x.Path, x.Document)
}

// acceptDamaged puts a document in the place of one that cannot be read: it says no more than that the run is given up.
// The damaged file is copied first, so that at no time there is none.
func (f *Folder) acceptDamaged(x *Found, a Acceptance) (*Found, error) {
	kept := f.sub(succeededDir, x.Number.file(x.Name)+".damaged")
	if _, err := os.Lstat(kept); err != nil {
		data, err := os.ReadFile(x.Path)
		if err != nil {
			return nil, err // as long as it cannot be copied it stays
		}
		if err := f.FS.Replace(f.tmp(), kept, data, 0o666); err != nil {
			return nil, err
		}
	}
	a.Damaged = x.Number.file(x.Name) + ".damaged"
	x.Document = &Document{App: AppConfig{Name: x.Name}, Run: x.Run, Attempt: x.Attempt, Actions: map[string]Action{},
		Accepted: &a, Migrated: &Origin{Engine: "unknown"}}
	if err := f.put(x.Path, x.Document); err != nil {
		return nil, err
	}
	x.Err = nil
	if x.Succeeded {
		return x, nil
	}
	err := f.moveAll(x.Name, x.Number, x.Document)
	x.Path, x.Succeeded = f.sub(succeededDir, x.Number.file(x.Name)), true
	return x, err
}
