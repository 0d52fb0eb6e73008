package engine

import (
	"errors"
	"fmt"

	"github.com/ubunye-io/ubunye/engine/ledger"
	"github.com/ubunye-io/ubunye/engine/plan"
	"github.com/ubunye-io/ubunye/engine/report"
	"github.com/ubunye-io/ubunye/engine/runstate"
)

// keeper writes down how far the run is, as it goes. It is used by one goroutine; nil keeps nothing. What it cannot write does
// not touch the data: it says so once, and the next start finds out from the ledger.
type keeper struct {
	*run
	file    *runstate.Run
	doc     *runstate.Document
	changed bool // since the last save
	told    bool // that a save failed
	lost    bool // the file is not this run's any more
}

// create takes the run's number and writes its first document: the tasks that begin at once are running in it, all others
// that run are pending. The error is a *runstate.TakenError if another start was first.
func (r *run) create() error {
	s := r.standing
	if s.decision.Finish != nil {
		if err := r.stateFolder().FinishMove(s.decision.Finish); err != nil {
			return &stateError{err: err}
		}
	}
	id := ""
	if r.record != nil {
		if err := r.record.Numbered(r.stateName()); err != nil {
			return err
		}
		id = r.record.ID
	}
	app := runstate.AppConfig{Name: r.config.Name, Configuration: []string{r.config.File}, Compute: r.config.Engine.Kind}
	k := &keeper{run: r, doc: s.decision.Document(app, id, r.Now())}
	for _, t := range r.first() {
		k.begins(t)
	}
	file, err := r.stateFolder().Create(s.snapshot, k.doc)
	if file == nil {
		return &stateError{err: err}
	}
	k.file, k.changed, r.keeper = file, false, k
	if err != nil {
		k.failed(err)
	}
	return nil
}

// first are the tasks that begin at once.
func (r *run) first() (tasks []plan.Task) {
	for _, t := range r.plan.Tasks {
		waits := false
		for _, a := range t.After {
			waits = waits || !r.done(a.Task)
		}
		if !waits && !r.done(t.Name) && len(tasks) < r.config.Parallel {
			tasks = append(tasks, t)
		}
	}
	return tasks
}

// begins notes that a task begins.
func (k *keeper) begins(t plan.Task) {
	if k == nil || k.doc.Actions[t.Name].State == runstate.Running {
		return
	}
	a := k.doc.Actions[t.Name]
	now := k.Now().UTC()
	a.State, a.Start = runstate.Running, &now
	a.Reads, a.Writes = namesOf(t)
	k.set(t.Name, a)
}

// neverBegan notes that a task does not begin after all.
func (k *keeper) neverBegan(task string) {
	if k == nil {
		return
	}
	a := k.doc.Actions[task]
	a.State, a.Start = runstate.Pending, nil
	k.set(task, a)
}

// ended notes how a task ended.
func (k *keeper) ended(o *outcome) {
	if k == nil {
		return
	}
	a := k.doc.Actions[o.task]
	now := k.Now().UTC()
	a.End = &now
	if a.Start != nil {
		a.Duration = runstate.DurationText(now.Sub(*a.Start))
	}
	if o.objects != nil {
		a.Objects = o.objects
	}
	if o.commit != nil {
		a.Inputs, a.Results = o.commit.Inputs, k.resultsOf(o)
	}
	a.State = runstate.Succeeded
	if o.skipped {
		a.State = runstate.Skipped
	}
	if o.failed {
		a.State = runstate.Failed
	}
	if o.cancelled {
		a.State, a.Cause = runstate.Cancelled, runstate.PredecessorSkipped
		if o.failed {
			a.Cause = runstate.PredecessorFailed
		}
	}
	a.Message = o.message
	if len(o.problems) > 0 {
		a.Message = report.Line(o.problems[0].Error())
	}
	k.set(o.task, a)
}

func (k *keeper) resultsOf(o *outcome) []runstate.Result {
	for _, t := range k.plan.Tasks {
		if t.Name == o.task {
			return results(t, o.commit)
		}
	}
	return nil
}

func (k *keeper) set(task string, a runstate.Action) {
	k.doc.Actions[task] = a
	k.changed = true
}

// save writes down what changed since it was called last.
func (k *keeper) save() {
	if k == nil || !k.changed || k.lost {
		return
	}
	k.changed = false
	if err := k.file.Save(k.doc); err != nil {
		k.failed(err)
	}
}

// finish writes down that the run has ended.
func (k *keeper) finish() {
	if k == nil || k.lost {
		return
	}
	if err := k.file.Finish(k.doc); err != nil {
		k.failed(err)
	}
}

// failed tells, once, that the state could not be written.
func (k *keeper) failed(err error) {
	var lost *runstate.LostError
	switch {
	case errors.As(err, &lost):
		k.lost = true
		k.warn(fmt.Sprintf("run %d: its state file %s is not there any more: somebody accepted the run, or another attempt went on with it; the data is not touched by that", k.doc.Run, lost.Path))
	case !k.told:
		k.warn(fmt.Sprintf("run %d: its state could not be written down: %v; the data is not touched by that, and the next start finds out what was done from the ledger", k.doc.Run, err))
	}
	k.told = true
}

// results is what a commit wrote, for each output that it did not leave as it was.
func results(t plan.Task, f *ledger.Finished) (all []runstate.Result) {
	for _, target := range t.Targets {
		o, wrote := f.Outputs[target.Name]
		if !wrote {
			continue
		}
		rows, files, bytes := o.Rows, o.Files, o.Bytes
		all = append(all, runstate.Result{Output: target.Name, Class: string(o.Class), Batch: t.Batch.Key, Rows: &rows, Files: &files, Bytes: &bytes})
	}
	return all
}

// namesOf are the names of a task's inputs and outputs.
func namesOf(t plan.Task) (inputs, outputs []string) {
	for _, in := range t.Inputs {
		inputs = append(inputs, in.Name)
	}
	for _, o := range t.Targets {
		outputs = append(outputs, o.Name)
	}
	return inputs, outputs
}
