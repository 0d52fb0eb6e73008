package engine

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/ubunye-io/ubunye/engine/runstate"
)

// StateQuery chooses among the runs that a folder of run state knows.
type StateQuery struct {
	Name       string // of the pipeline, where no pipeline file is named; "": all
	Unfinished bool   // only those that did not end well and that nobody accepted
	Most       int    // how many of the newest; 0: all
}

// StateRun is a run of a pipeline as far as its run state tells: its last attempt.
type StateRun struct {
	Pipeline  string            `json:"pipeline"`             // name of the pipeline
	Run       int64             `json:"run"`                  // number of the run
	Attempt   int64             `json:"attempt"`              // number of its last attempt
	Batch     string            `json:"batch"`                // the variables that it was started with, as dt=2026-01-01; empty: none, or not known
	Variables map[string]string `json:"variables,omitempty"`  // the same, by name
	Profile   string            `json:"profile,omitempty"`    // name of the profile; absent: none
	Selected  []string          `json:"selected,omitempty"`   // the tasks that were selected; absent: all
	State     RunState          `json:"state"`                // what became of it
	Done      int               `json:"tasks_done"`           // how many tasks are completed
	Of        int               `json:"tasks_of"`             // how many tasks it has
	Begun     *time.Time        `json:"begun,omitempty"`      // when the attempt began; absent: not known
	Ended     *time.Time        `json:"ended,omitempty"`      // when it ended; absent: it has not, or it is not known
	Seconds   *float64          `json:"seconds,omitempty"`    // how long it took, or takes until now; absent: not known
	LedgerRun string            `json:"ledger_run,omitempty"` // id of the attempt in the ledger
	Path      string            `json:"path"`                 // of its state file
	Foreign   bool              `json:"foreign,omitempty"`    // it is another program's: its actions are no tasks of a pipeline
	Damaged   bool              `json:"damaged,omitempty"`    // it was given up because its file could not be read
	Problem   string            `json:"problem,omitempty"`    // why its file cannot be used; absent: it can
}

// RunState is what became of a run.
type RunState string

// The states of a run.
const (
	RunRunning     RunState = "running"     // its process is alive
	RunSucceeded   RunState = "succeeded"   // it has ended, and all of its tasks are completed
	RunAccepted    RunState = "accepted"    // a person gave up what it has not done
	RunFailed      RunState = "failed"      // it has ended, and not all of its tasks are completed: the next start goes on with it
	RunInterrupted RunState = "interrupted" // its process died before it could say how it ended: the next start goes on with it
	RunUnjudged    RunState = "unjudged"    // it has not said that it has ended, and its ledger, which tells whether it is alive, is not known
	RunUnreadable  RunState = "unreadable"  // its file is there and cannot be used
)

// StateList lists the runs that the run state of a pipeline, or a folder, knows: the newest first. It changes nothing. Variables
// that are given choose the runs that were started with these values.
func (e *Engine) StateList(ctx context.Context, o Options, q StateQuery) ([]StateRun, error) {
	s, err := e.openState(ctx, o, q.Name)
	if err != nil {
		return nil, err
	}
	unjudged := map[string]bool{}
	s.looking(unjudged)
	names := []string{s.name}
	if s.name == "" {
		if names, err = s.Pipelines(); err != nil {
			return nil, s.explain(err, "")
		}
	}
	runs := []StateRun{}
	for _, name := range names {
		found, err := s.List(ctx, name, q.Unfinished)
		if err != nil {
			return nil, s.explain(told(ctx, err), "")
		}
		for _, x := range found {
			run := s.stateRun(x, unjudged)
			if q.Unfinished && (run.State == RunSucceeded || run.State == RunAccepted) || !s.asked(run) {
				continue // it waits for its move alone
			}
			if runs = append(runs, run); q.Most > 0 && len(runs) == q.Most {
				return runs, nil
			}
		}
	}
	return runs, nil
}

// asked tells whether a run was started with the values of all variables that are given. Of one that cannot be read nobody knows.
func (s *stateDir) asked(run StateRun) bool {
	if run.State == RunUnreadable {
		return true
	}
	given := maps.Clone(s.options.Vars)
	if given == nil {
		given = map[string]string{}
	}
	for name, value := range map[string]*string{"dt": s.options.Dt, "dtf": s.options.Dtf} {
		if value != nil {
			given[name] = *value
		}
	}
	for _, v := range s.config.Variables {
		if v.Given { // in the one spelling of its type
			given[v.Name] = v.Value
		}
	}
	for name, value := range given {
		if is, there := run.Variables[name]; !there || is != value {
			return false
		}
	}
	return s.options.Profile == "" || run.Profile == s.options.Profile
}

// stateRun tells of one run.
func (s *stateDir) stateRun(x *runstate.Found, unjudged map[string]bool) StateRun {
	run := StateRun{Pipeline: x.Name, Run: x.Run, Attempt: x.Attempt, State: RunUnreadable, Path: x.Path}
	if x.Err != nil {
		run.Problem = x.Err.Error()
		return run
	}
	d := x.Document
	run.Batch, run.Variables, run.Profile, run.Selected = variablesText(d.App.Variables, d.App.Profile), d.App.Variables, d.App.Profile, d.App.Tasks
	run.State, run.Of, run.Done = stateOf(x, unjudged), len(d.Actions), len(d.Actions)-len(d.Unfinished())
	run.Begun, run.Ended, run.LedgerRun, run.Foreign = cmp.Or(d.AttemptStart, d.RunStart), lastEnd(d), d.LedgerRun, d.Migrated != nil && !d.Damaged()
	run.Damaged = d.Damaged()
	until := run.Ended
	if run.State == RunRunning {
		now := s.Now()
		until, run.Ended = &now, nil
	}
	if run.Begun != nil && until != nil {
		run.Seconds = seconds(until.Sub(*run.Begun))
	}
	return run
}

// stateOf tells what became of a run whose file can be read.
func stateOf(x *runstate.Found, unjudged map[string]bool) RunState {
	d := x.Document
	left := len(d.Unfinished()) > 0
	switch {
	case x.Alive:
		return RunRunning
	case d.Accepted != nil, x.Succeeded && left:
		return RunAccepted
	case x.Succeeded, d.Final && !left:
		return RunSucceeded
	case d.Final:
		return RunFailed
	case unjudged[d.LedgerRun]:
		return RunUnjudged
	}
	return RunInterrupted
}

// lastEnd is when an attempt ended, as far as is known: what it says itself, or its last task.
func lastEnd(d *runstate.Document) *time.Time {
	if d.RunEnd != nil {
		return d.RunEnd
	}
	var last *time.Time
	for _, a := range d.Actions {
		if a.Execution.Attempt == d.Attempt && a.End != nil && (last == nil || a.End.After(*last)) {
			last = a.End
		}
	}
	return last
}

func seconds(d time.Duration) *float64 {
	n := d.Seconds()
	return &n
}

// StateDetail is one run, as a person reads it.
type StateDetail struct {
	StateRun
	First    *time.Time  `json:"first_begun,omitempty"` // when its first attempt began; absent: not known
	Compute  string      `json:"compute,omitempty"`     // what made the rows
	Version  string      `json:"version"`               // of the program that wrote the file
	Origin   string      `json:"origin,omitempty"`      // of a file of another program: which one, and the version of its form
	Accepted *Acceptance `json:"accepted,omitempty"`    // who gave up what it has not done; absent: nobody
	Tasks    []StateTask `json:"tasks"`                 // its tasks, in the order in which they began
	Why      []string    `json:"why"`                   // why it is not finished, one line each
	Next     string      `json:"next"`                  // what the next start with the same variables would do, on one line
	Commands []string    `json:"commands"`              // the ways on, ready to be pasted into a shell
}

// Acceptance is the word of a person that what was not done is given up.
type Acceptance struct {
	Who    string    `json:"who"`    // who it was
	At     time.Time `json:"at"`     // when it was
	Reason string    `json:"reason"` // why, as that person says
}

// StateTask is one task of a run.
type StateTask struct {
	Task     string         `json:"task"`               // name of the task
	State    runstate.State `json:"state"`              // how far it is
	Done     bool           `json:"done"`               // nothing is left to be done of it
	Attempt  int64          `json:"attempt"`            // the attempt that did it
	Carried  bool           `json:"carried"`            // an earlier attempt did it, and it was kept
	Begun    *time.Time     `json:"begun,omitempty"`    // when it began
	Ended    *time.Time     `json:"ended,omitempty"`    // when it ended
	Seconds  *float64       `json:"seconds,omitempty"`  // how long it took
	Message  string         `json:"message,omitempty"`  // what went wrong, or why it did not run
	Outputs  []StateOutput  `json:"outputs,omitempty"`  // what it wrote
	Accepted *Acceptance    `json:"accepted,omitempty"` // who gave it up; absent: nobody
}

// StateOutput is what was written to one output.
type StateOutput struct {
	Output string `json:"output"`          // name of the output
	Class  string `json:"class,omitempty"` // delivery class
	Batch  string `json:"batch,omitempty"` // key of the batch in the ledger
	Rows   *int64 `json:"rows,omitempty"`  // rows written; absent: not known
	Files  *int64 `json:"files,omitempty"` // files written; absent: not known
	Bytes  *int64 `json:"bytes,omitempty"` // bytes of the files; absent: not known
}

// StateShow tells of one run. It changes nothing. The error of a run whose file cannot be used is a refusal that names it.
func (e *Engine) StateShow(ctx context.Context, o Options, name string, number int64) (StateDetail, error) {
	s, err := e.openState(ctx, o, name)
	if err != nil {
		return StateDetail{}, err
	}
	unjudged := map[string]bool{}
	s.looking(unjudged)
	if s.name, err = s.oneName(); err != nil {
		return StateDetail{}, err
	}
	x, err := s.Find(ctx, s.name, number)
	if err == nil {
		err = x.Err
	}
	if err != nil {
		return StateDetail{}, s.outcome(ctx, err)
	}
	d := x.Document
	detail := StateDetail{StateRun: s.stateRun(x, unjudged), First: d.RunStart, Compute: d.App.Compute, Version: d.Version.Version, Accepted: acceptance(d.Accepted),
		Tasks: tasksOf(d), Why: whyNot(x), Commands: []string{}}
	if detail.Foreign {
		detail.Origin = originText(d.Migrated)
	}
	return detail, s.foreseeStart(ctx, x, &detail)
}

func acceptance(a *runstate.Acceptance) *Acceptance {
	if a == nil {
		return nil
	}
	return &Acceptance{Who: a.Who, At: a.At, Reason: a.Reason}
}

// originText names the program whose file it was.
func originText(o *runstate.Origin) string {
	name := map[string]string{"sdlb": "Smart Data Lake Builder"}[o.Engine]
	if name == "" {
		return "a program that nobody knows"
	}
	if len(o.Format) == 0 {
		return name + ", without a version"
	}
	return name + ", version " + string(o.Format)
}

// tasksOf lists the tasks of a run in the order in which they began, then those that did not.
func tasksOf(d *runstate.Document) []StateTask {
	all := []StateTask{}
	for _, name := range slices.Sorted(maps.Keys(d.Actions)) {
		a := d.Actions[name]
		t := StateTask{Task: name, State: a.State, Done: a.Completed(), Attempt: a.Execution.Attempt, Begun: a.Start, Ended: a.End, Message: a.Message, Accepted: acceptance(a.Accepted)}
		t.Carried = t.Attempt != d.Attempt || a.Execution.Run != d.Run
		if took, ok := a.Took(); ok {
			t.Seconds = seconds(took)
		}
		if t.Message == "" && a.State == runstate.Cancelled {
			t.Message = string(a.Cause)
		}
		for _, r := range a.Results {
			rows, files, bytes := r.Written()
			t.Outputs = append(t.Outputs, StateOutput{Output: r.Output, Class: r.Class, Batch: r.Batch, Rows: rows, Files: files, Bytes: bytes})
		}
		all = append(all, t)
	}
	slices.SortStableFunc(all, func(a, b StateTask) int {
		switch {
		case a.Begun == nil && b.Begun == nil:
			return 0
		case a.Begun == nil:
			return 1
		case b.Begun == nil:
			return -1
		}
		return a.Begun.Compare(*b.Begun)
	})
	return all
}

// whyNot tells why a run is not finished.
func whyNot(x *runstate.Found) []string {
	why := []string{}
	for _, name := range x.Document.Unfinished() {
		a := x.Document.Actions[name]
		text := "task " + name + ": "
		switch {
		case a.State == runstate.Running && x.Alive:
			text += "it runs"
		case a.State == runstate.Running:
			text += "interrupted: its process ended before it did"
		case a.State == runstate.Pending:
			text += "it has not begun"
		case a.Message != "":
			text += a.Message
		case a.State == runstate.Cancelled && a.Cause == "":
			text += "it was cancelled"
		case a.State == runstate.Cancelled:
			text += "cancelled: " + string(a.Cause)
		default:
			text += "it ended as " + string(a.State)
		}
		why = append(why, text)
	}
	return why
}
