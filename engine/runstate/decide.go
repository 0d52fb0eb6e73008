package runstate

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Params are what a run is started with, as far as an unfinished run must have been started with the same.
type Params struct {
	Variables map[string]string // the values that make the batches
	Profile   string            // empty: none
	Selected  []string          // the tasks that were asked for; none: all
}

// Recover tells how much proof it takes to carry a finished append over to the next attempt.
type Recover string

// The rules.
const (
	Proof Recover = "proof" // that what it read is unchanged, or that it reads incrementally
	Auto  Recover = "auto"  // none
	Ask   Recover = "ask"   // the word of a person
)

// Start is what a start knows and was asked for.
type Start struct {
	Params
	Tasks   []Task // the selected tasks, each after those that it reads from
	Recover Recover

	Resume bool // what is finished is carried over, the rest runs
	Rerun  bool // nothing is carried over: finished batches are replaced
	NewRun bool // an unfinished run is left as it is
}

// Task is what a start knows of one task beside the run state.
type Task struct {
	Name        string
	Config      string            // hash of its configuration
	Parts       map[string]string // hash of each part of it, by a name that people know
	From        []string          // tasks whose output of this run it reads
	Appends     bool              // it adds to what is there: rows that it did not read before are lost if it is carried over
	Incremental bool              // it reads what it had not read yet, so that nothing is lost
	Named       bool              // its batch is named by variables: a finished one is refused
	Changed     string            // what it read and is another now, or cannot be known; empty: it is certainly unchanged
	Gone        string            // what it wrote that is not there any more; empty: all of it is there, as far as is known
	Commit      *Commit           // the last commit of its batch in the ledger; nil: none
}

// Commit is what the ledger says of a finished batch.
type Commit struct {
	State     string // the run in the run state whose commit it is, as sales.5; empty: none was kept
	LedgerRun string // the attempt whose commit it is, by its id in the ledger
	Action    Action // what it wrote, as an action
}

// Decision is what a start does.
type Decision struct {
	Number
	Recovery bool              // the run of the latest file goes on; else a new one begins
	Carried  map[string]Action // tasks that are not run again, with what an earlier attempt did
	Tasks    []string          // those that run, in order

	Reconfigured []string // tasks that run, whose configuration is another than in the attempt before
	Finish       *Found   // a run whose files must be moved first (FinishMove)
	Accepted     *Found   // the latest run has unfinished actions and was accepted
	Abandoned    *Found   // an unfinished run that stays in current/, by the word of a person

	previous *Document // what is carried on is in it; nil: there is nothing
	start    Start
}

// Decide tells what a start does, by what it found. It changes nothing. The error is a refusal: an *AliveError,
// *UnreadableError, *NewerError, *ForeignError, *DifferError, *UnprovenError or *UnreadSliceError.
func Decide(s *Snapshot, q Start) (*Decision, error) {
	x := s.Latest
	d := &Decision{Number: Number{s.Highest + 1, 1}, start: q}
	switch {
	case x == nil:
		if s.marks != nil {
			d.previous = s.marks.Document
		}
		return d.begin(s.name)
	case x.Alive:
		return nil, x.aliveError()
	case x.Err != nil:
		return nil, x.Err
	}
	d.previous = x.Document
	unfinished := x.Document.Unfinished()
	switch {
	case x.Succeeded:
		if len(unfinished) > 0 || x.Document.Accepted != nil {
			d.Accepted = x
		}
		return d.begin(s.name)
	case x.Document.Accepted != nil: // who accepted it died before the move
		d.Accepted, d.Finish = x, x
		return d.begin(s.name)
	case x.Document.done():
		if !x.Document.foreign() { // the other program may be about to move it
			d.Finish = x
		}
		return d.begin(s.name)
	case q.NewRun:
		if err := d.unread(x); err != nil {
			return nil, err
		}
		d.Abandoned = x
		return d.begin(s.name)
	case x.Document.foreign():
		return nil, &ForeignError{Path: x.Path, Run: x.Run, Attempt: x.Attempt, Unfinished: unfinished}
	}
	return d.recover(s, x)
}

// begin decides what a new run carries: with Resume the tasks whose named batch is finished, by whatever run.
func (d *Decision) begin(app string) (*Decision, error) {
	d.Carried = map[string]Action{}
	for _, t := range d.start.Tasks {
		if d.start.Resume && t.resumes(StateName(app, d.Run)) {
			d.Carried[t.Name] = t.committed(d.Number)
		} else {
			d.Tasks = append(d.Tasks, t.Name)
		}
	}
	return d, nil
}

// recover decides how an unfinished run goes on.
func (d *Decision) recover(s *Snapshot, x *Found) (*Decision, error) {
	d.Recovery, d.Number = true, Number{x.Run, x.Attempt + 1}
	d.previous = reconciled(x.Document, d.start.Tasks)
	diff := d.differences()
	unproven := d.carry()
	over := len(d.previous.Unfinished()) == 0 && len(d.previous.Actions) > 0
	switch {
	case len(diff)+len(unproven) == 0 && !(over && d.readsOn()):
		return d, nil
	case over && (d.start.Recover != Ask || len(unproven) == 0):
		return d.afterAll(s, x)
	case len(diff) > 0:
		return nil, &DifferError{Path: x.Path, Run: x.Run, Attempt: x.Attempt, Differences: diff}
	}
	return nil, &UnprovenError{Path: x.Path, Run: x.Run, Attempt: x.Attempt, Tasks: unproven}
}

// readsOn tells whether a new run has something to do where one is over of which nothing has changed: an incremental task may
// find what is new.
func (d *Decision) readsOn() bool {
	return !d.start.Rerun && slices.ContainsFunc(d.start.Tasks, func(t Task) bool { return t.Incremental })
}

// afterAll decides on a new run after one that died when nothing of it was left to be done but to say so: there is
// nothing to go on with, and whatever is another now is for a run of its own.
func (d *Decision) afterAll(s *Snapshot, x *Found) (*Decision, error) {
	next := &Decision{Number: Number{s.Highest + 1, 1}, start: d.start, previous: d.previous, Finish: x.Ends(d.start.Tasks)}
	return next.begin(s.name)
}

// Ends gives a run that died when nothing of it was left to be done, by what the ledger says of its tasks, as one that has
// ended: FinishMove writes that down. nil: it lives, or something is left, or it has ended.
func (x *Found) Ends(tasks []Task) *Found {
	if x.Alive || x.Succeeded || x.Document == nil || x.Ended() || x.Document.foreign() || len(x.Document.Actions) == 0 {
		return nil
	}
	ended := *x
	ended.Document, ended.mended = reconciled(x.Document, tasks), true
	if len(ended.Document.Unfinished()) > 0 {
		return nil
	}
	ended.Document.Final = true
	return &ended
}

// StateName is how the ledger names a run of the run state, as sales.5.
func StateName(app string, run int64) string {
	return strings.TrimSuffix(Number{run, 1}.file(app), ".1.json")
}

// RunOf is the number of a run that StateName has named; ok is false for a name of another pipeline, or of none.
func RunOf(app, name string) (run int64, ok bool) {
	got, n, ok := parseName(name + ".1.json")
	return n.Run, ok && got == app
}

// resumes tells whether --resume carries a task because of its batch: a named one that is finished by whatever run, an
// unnamed or incremental one that is finished by this run.
func (t Task) resumes(run string) bool {
	return t.Commit != nil && (t.Named && !t.Incremental || t.Commit.State == run)
}

// committed is the action of a task by what the ledger says.
func (t Task) committed(n Number) Action {
	a := t.Commit.Action
	a.State, a.Cause, a.Message = Succeeded, "", ""
	if a.Execution.Run == 0 {
		a.Execution.Run, a.Execution.Attempt = n.Run, n.Attempt
	}
	return a
}

// reconciled is the document by what the ledger says: it wins. A task whose commit is this run's has succeeded, also if
// the process died before it could write that down; only a commit of an earlier attempt says nothing of one that was to
// write the batch again. A task of the dead attempt that says RUNNING has failed.
func reconciled(was *Document, tasks []Task) *Document {
	d := *was
	d.Actions = maps.Clone(was.Actions)
	run := StateName(d.App.Name, d.Run)
	for _, t := range tasks {
		a, there := d.Actions[t.Name]
		if !there || a.Completed() || t.Commit == nil || t.Commit.State != run || d.Rerun && t.Commit.LedgerRun != d.LedgerRun {
			continue
		}
		done := t.committed(Number{d.Run, d.Attempt})
		if done.Objects == nil {
			done.Objects = a.Objects
		}
		if done.Config == a.Config {
			done.Parts = a.Parts
		}
		d.Actions[t.Name] = done
	}
	return &d
}

// differences lists the parameters that must match and do not. With Rerun nothing is carried, so that only what makes
// the run matters. A changed configuration of a task that has still to run is normal: somebody mended it.
func (d *Decision) differences() (all []Difference) {
	was, now := d.previous.App, d.start.Params
	names := map[string]bool{}
	for _, m := range []map[string]string{was.Variables, now.Variables} {
		for name := range m {
			names[name] = true
		}
	}
	for _, name := range sortedKeys(names) {
		before, had := was.Variables[name]
		after, has := now.Variables[name]
		if before != after || had != has {
			all = append(all, Difference{What: "variable " + name, Was: before, Now: after})
		}
	}
	if was.Profile != now.Profile {
		all = append(all, Difference{What: "profile", Was: was.Profile, Now: now.Profile})
	}
	wasSelected, isSelected := selection(was.Tasks), selection(now.Selected)
	if wasSelected != isSelected {
		all = append(all, Difference{What: "selected tasks", Was: wasSelected, Now: isSelected})
	}
	known := map[string]bool{}
	for _, t := range d.start.Tasks {
		known[t.Name] = true
		a, there := d.previous.Actions[t.Name]
		switch {
		case !there || a.Config == t.Config:
		case a.Completed() && a.Config != "" && !d.start.Rerun:
			all = append(all, Difference{What: "configuration of task " + t.Name, Was: a.Config, Now: t.Config, Parts: changedParts(a.Parts, t.Parts)})
		default:
			d.Reconfigured = append(d.Reconfigured, t.Name)
		}
	}
	for _, name := range sortedKeys(d.previous.Actions) {
		if a := d.previous.Actions[name]; !known[name] && a.Completed() && !d.start.Rerun && wasSelected == isSelected {
			all = append(all, Difference{What: "task " + name, Was: fmt.Sprintf("finished by attempt %d", a.Execution.Attempt)})
		}
	}
	return all
}

// changedParts names the parts of a configuration that are not what they were; none if they are not known of both.
func changedParts(was, now map[string]string) (names []string) {
	if len(was) == 0 || len(now) == 0 {
		return nil
	}
	for _, name := range sortedKeys(now) {
		if was[name] != now[name] {
			names = append(names, name)
		}
	}
	for _, name := range sortedKeys(was) {
		if _, is := now[name]; !is {
			names = append(names, name+" (removed)")
		}
	}
	return names
}

// selection is a selection of tasks as one text; they are run in their own order, whatever that of the selection.
func selection(tasks []string) string {
	if len(tasks) == 0 {
		return "all"
	}
	return strings.Join(slices.Compact(slices.Sorted(slices.Values(tasks))), ", ")
}

// unread refuses to leave an unfinished run in which a finished incremental task has a consumer that has not read what
// it wrote: the slice is read once, and no later run would pass it on.
func (d *Decision) unread(x *Found) error {
	if x.Document.foreign() {
		return nil
	}
	done := reconciled(x.Document, d.start.Tasks).Actions
	incremental := map[string]bool{}
	for _, t := range d.start.Tasks {
		incremental[t.Name] = t.Incremental
	}
	for _, t := range d.start.Tasks {
		a, there := done[t.Name]
		if !there || a.Completed() {
			continue
		}
		for _, from := range t.From {
			if incremental[from] && done[from].State == Succeeded {
				return &UnreadSliceError{Path: x.Path, Run: x.Run, Task: from, Consumer: t.Name}
			}
		}
	}
	return nil
}
