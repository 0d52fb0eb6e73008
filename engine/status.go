package engine

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/ubunye-io/ubunye/engine/ledger"
	"github.com/ubunye-io/ubunye/engine/plan"
)

// Status is what the ledger knows of a pipeline.
type Status struct {
	Ledger     string             `json:"ledger"`     // path of the ledger
	Exists     bool               `json:"exists"`     // there has been a run
	Batches    []BatchStatus      `json:"batches"`    // every batch of the pipeline that has a document
	Runs       []RunStatus        `json:"runs"`       // runs that did not end well, or have not ended
	Unreadable []UnreadableStatus `json:"unreadable"` // files that are there and cannot be used
	Stray      []StrayStatus      `json:"stray"`      // staging folders that nothing names
	Recover    string             `json:"recover"`    // the command that finishes or drops what dead runs left

	Unfinished []UnfinishedStatus `json:"unfinished,omitempty"` // runs in the run state that did not end well, or have not ended; absent: there is none

	Missing []MissingDates `json:"missing,omitempty"` // for each task the dates of the range that are not finished, if a range was given
}

// UnfinishedStatus is a run of the run state that did not end well, or has not ended.
type UnfinishedStatus struct {
	Run     int64    `json:"run_id"`        // number of the run
	Attempt int64    `json:"attempt"`       // number of its newest attempt
	Batch   string   `json:"batch"`         // the variables that make its batches, as dt=2026-01-01; empty: it has none, or they are not known
	Alive   bool     `json:"alive"`         // its process is alive
	Done    []string `json:"done"`          // tasks that are completed
	Left    []string `json:"left"`          // tasks that are not
	Path    string   `json:"path"`          // its state file
	Bad     string   `json:"bad,omitempty"` // why the file cannot be used; absent: it can
}

// MissingDates are the dates of a range whose batch of a task is not finished.
type MissingDates struct {
	Task     string   `json:"task"`     // name of the task
	Variable string   `json:"variable"` // the variable that the dates are values of
	All      []string `json:"-"`        // the range
	Of       int      `json:"of"`       // how many dates the range has
	Dates    []string `json:"missing"`  // those whose batch was never committed, in order
	Unknown  []string `json:"unknown"`  // those of which nobody knows, because the document cannot be read
}

// BatchStatus is one batch. Several of the parts may be there at once.
type BatchStatus struct {
	Task     string            `json:"task"`               // name of the task
	Batch    string            `json:"batch"`              // the variables that make it, as dt=2026-01-01; empty: it has none
	Key      string            `json:"key"`                // key of the batch
	State    string            `json:"state"`              // one of free, held and finished
	Held     *HolderStatus     `json:"held,omitempty"`     // the run that holds it
	Finished *FinishedStatus   `json:"finished,omitempty"` // its last commit
	Todo     []WorkStatus      `json:"todo"`               // what earlier runs left to be done: the next start does it, and recover
	Inputs   []MarkStatus      `json:"inputs,omitempty"`   // of an incremental task: how far its inputs were read
	Decided  []ledger.Decision `json:"decided,omitempty"`  // what persons have set of them by hand, the last 16
	Failed   string            `json:"failed,omitempty"`   // why the last try failed; absent: it did not
	Doubtful []DoubtfulStatus  `json:"doubtful,omitempty"` // outputs that hold rows of a run that ended before its commit
}

// MarkStatus is how far an incremental input was read.
type MarkStatus struct {
	Input  string `json:"input"`            // name of the input
	Mark   string `json:"mark,omitempty"`   // what was read, by the last commit
	Pinned string `json:"pinned,omitempty"` // what is read next, because a run has noted it; absent: what is new then
	Set    string `json:"set,omitempty"`    // where a person has had it go on since the last commit
}

// WorkStatus is work on files that a run left.
type WorkStatus struct {
	Do     string `json:"do"`               // land, remove or drop: of staged files, of those that were replaced, of a staging folder
	Run    string `json:"run"`              // id of the run that left it
	Output string `json:"output"`           // name of the output
	Path   string `json:"path"`             // the output folder; of drop, the staging folder
	Files  int    `json:"files"`            // how many files are to be landed or removed
	Stuck  string `json:"stuck,omitempty"`  // why it cannot be done now; absent: nothing is known to be in the way
	Forget string `json:"forget,omitempty"` // the command that gives it up, if it is stuck
}

// UnreadableStatus is a file of the ledger that is there and cannot be used.
type UnreadableStatus struct {
	Path   string `json:"path"`   // path of the file
	Reason string `json:"reason"` // what is wrong with it
	Hint   string `json:"hint"`   // what helps
}

// StrayStatus is a staging folder that no document names.
type StrayStatus struct {
	Path string `json:"path"`          // path of the folder
	Run  string `json:"run,omitempty"` // id of the run that made it; absent: it cannot be told
	Dead bool   `json:"dead"`          // that run is dead, so recover removes the folder
}

// HolderStatus is a run that holds a batch.
type HolderStatus struct {
	Run   string        `json:"run"`              // id of the run
	Host  string        `json:"host"`             // its host name
	PID   int           `json:"pid"`              // its process id
	Since time.Time     `json:"since"`            // when it took the batch
	Age   time.Duration `json:"heartbeat_age_ns"` // nanoseconds since its last heartbeat
	Gone  bool          `json:"gone"`             // it has certainly ended: its process, or as its record says
	Life  Life          `json:"life"`             // what is thought of it
	Looks time.Duration `json:"watched_for_ns"`   // of a silent run: nanoseconds without a sign after which it counts as dead

	Staged []WorkStatus `json:"staged,omitempty"` // of one that is not alive: what is dropped when the batch is taken from it
}

// Life is what is thought of a run.
type Life string

// The judgements.
const (
	Alive  Life = "alive"  // its heartbeat is not too old
	Silent Life = "silent" // its heartbeat is too old: a start that sees it unchanged once more takes the batch over
	Dead   Life = "dead"   // the next start takes the batch over
)

func lifeOf(dead bool, looks time.Duration) Life {
	switch {
	case dead:
		return Dead
	case looks > 0:
		return Silent
	}
	return Alive
}

// FinishedStatus is a batch's last commit.
type FinishedStatus struct {
	Run   string    `json:"run"`   // id of the run
	At    time.Time `json:"at"`    // when it committed
	Rows  int64     `json:"rows"`  // rows written
	Files int64     `json:"files"` // files written
	Bytes int64     `json:"bytes"` // bytes of the files

	// of a batch that was taken over from another program: which one, and its run there; how many rows it has is not known
	Imported string `json:"imported,omitempty"`
}

// RunStatus is a run's record.
type RunStatus struct {
	Run      string    `json:"run"`                // id of the run
	Status   string    `json:"status"`             // how far it got, as in its record
	Life     Life      `json:"life"`               // what is thought of it; one whose record says that it has ended is dead
	Gone     bool      `json:"gone"`               // it has certainly ended: its process, or as its record says
	Host     string    `json:"host"`               // its host name
	PID      int       `json:"pid"`                // its process id
	Since    time.Time `json:"since"`              // when it began
	By       string    `json:"by,omitempty"`       // the run that took a batch over from it
	Doubtful []string  `json:"doubtful,omitempty"` // outputs that it had replaced without a commit, as task.output

	Age time.Duration `json:"heartbeat_age_ns"` // nanoseconds since its last heartbeat, or since its record was written
}

// Status reads the ledger of a pipeline. It changes nothing and needs no variables; those that are given
// choose the batches that have these values, and so does a range, if there is one: then variables that have no value
// are missed.
func (e *Engine) Status(ctx context.Context, o Options, rg *Range) (Status, error) {
	var missing []MissingDates
	inRange := func(ledger.Batch) bool { return true }
	if rg != nil {
		d, err := e.datesOf(o, *rg)
		if err != nil {
			return Status{}, err
		}
		if missing, err = d.missing(ctx); err != nil {
			return Status{}, err
		}
		o.Varying = d.variable.Name
		values := map[string]bool{}
		for _, v := range d.values {
			values[v] = true
		}
		inRange = func(b ledger.Batch) bool { return values[b.Variables[d.variable.Name]] }
	}
	o.AllowUnset = true
	pipeline, err := loadPipeline(o)
	if err != nil {
		return Status{}, err
	}
	r := &run{Engine: e, options: o, config: pipeline, plan: &plan.Plan{}}
	if err := r.openLedger(ctx); err != nil {
		return Status{}, err
	}
	known, err := r.ledger.Status(ctx, pipeline.Name)
	if err != nil {
		return Status{}, r.explain(err, "")
	}
	s := Status{Missing: missing, Ledger: r.ledger.Path(), Exists: known.ID != "", Batches: []BatchStatus{}, Runs: r.runStatuses(known), Unreadable: r.unreadable(known),
		Stray: strays(known), Recover: r.recoverCommand()}
	chosen := func(b ledger.Batch) bool { return r.chosen(b) && inRange(b) }
	for _, v := range known.Batches {
		if chosen(v.Batch) {
			s.Batches = append(s.Batches, r.batchStatus(v))
		}
	}
	s.Unfinished, err = r.unfinished(ctx, chosen)
	return s, err
}

// unfinished lists the runs of the run state that are not finished.
func (r *run) unfinished(ctx context.Context, chosen func(ledger.Batch) bool) (all []UnfinishedStatus, err error) {
	if r.options.LeaseOff {
		return nil, nil
	}
	found, err := r.stateFolder().List(ctx, r.config.Name, true)
	if err != nil {
		return nil, r.explain(&stateError{err: told(ctx, err)}, "")
	}
	for _, x := range found {
		s := UnfinishedStatus{Run: x.Run, Attempt: x.Attempt, Alive: x.Alive, Path: x.Path, Done: []string{}, Left: []string{}}
		if x.Document == nil {
			s.Bad = x.Err.Error()
			all = append(all, s)
			continue
		}
		of := x.Document.App
		s.Batch, s.Left = variablesText(of.Variables, of.Profile), append(s.Left, x.Document.Unfinished()...)
		for _, task := range slices.Sorted(maps.Keys(x.Document.Actions)) {
			if x.Document.Actions[task].Completed() {
				s.Done = append(s.Done, task)
			}
		}
		if !x.Ended() && chosen(ledger.Batch{Variables: of.Variables, Profile: of.Profile}) {
			all = append(all, s)
		}
	}
	return all, nil
}

func (r *run) runStatuses(st ledger.LedgerStatus) []RunStatus {
	all := []RunStatus{}
	for _, rec := range st.Records {
		all = append(all, RunStatus{Run: rec.Run, Status: string(rec.Status), Host: rec.Host, PID: rec.PID, Since: rec.Since, By: rec.By, Doubtful: rec.Doubtful,
			Life: lifeOf(rec.Dead, rec.Looks), Gone: rec.Gone, Age: rec.Age})
	}
	return all
}

func (r *run) unreadable(st ledger.LedgerStatus) []UnreadableStatus {
	all := []UnreadableStatus{}
	for _, u := range st.Unreadable {
		all = append(all, UnreadableStatus{Path: u.Path, Reason: u.Reason, Hint: r.unreadableHint(u)})
	}
	return all
}

func strays(st ledger.LedgerStatus) []StrayStatus {
	all := []StrayStatus{}
	for _, d := range st.Stray {
		all = append(all, StrayStatus{Path: d.Path, Run: d.Run, Dead: d.Dead})
	}
	return all
}

// chosen tells whether a batch has the values of all variables that were given.
func (r *run) chosen(b ledger.Batch) bool {
	for _, v := range r.config.Variables {
		if v.Given && b.Variables[v.Name] != v.Value {
			return false
		}
	}
	return true
}

func (r *run) batchStatus(v ledger.View) BatchStatus {
	s := BatchStatus{Task: v.Batch.Task, Batch: variablesText(v.Batch.Variables, v.Batch.Profile), Key: v.Batch.Key, State: string(v.State), Todo: []WorkStatus{}}
	for _, e := range v.Todo {
		w := r.workStatus(e)
		for _, l := range v.Stuck {
			if w.Stuck == "" && l.Entry.Do == e.Do && l.Entry.Run == e.Run && l.Entry.Output == e.Output {
				w.Stuck, w.Forget = l.Err.Error(), r.recoverCommand("--forget", e.Run)
			}
		}
		s.Todo = append(s.Todo, w)
	}
	if h := v.Held; h != nil {
		held := holderStatus(h)
		s.Held = &held
		if s.Held.Life != Alive {
			for _, e := range v.Drops {
				s.Held.Staged = append(s.Held.Staged, r.workStatus(e))
			}
		}
	}
	if f := v.Finished; f != nil {
		s.Finished = finishedStatus(f)
	}
	s.Inputs, s.Decided = markStatus(v), v.Decisions
	for _, t := range v.Tried {
		for _, output := range t.Kept {
			s.Doubtful = doubted(s.Doubtful, DoubtfulStatus{Output: output, Run: t.Run})
		}
	}
	for _, p := range v.Pending {
		if s.Held == nil || s.Held.Run != p.Run || s.Held.Life != Alive { // one that lives is at it
			s.Doubtful = doubted(s.Doubtful, r.pending(p))
		}
	}
	if n := len(v.Tried); n > 0 {
		s.Failed = v.Tried[n-1].Reason
	}
	return s
}

// workStatus describes an entry of a to-do list.
func (r *run) workStatus(e ledger.Entry) WorkStatus {
	folder, staging := r.ledger.Paths(e)
	w := WorkStatus{Do: string(e.Do), Run: e.Run, Output: e.Output, Path: folder, Files: len(e.Names)}
	if e.Do == ledger.Drop {
		w.Path = staging
	}
	return w
}

func holderStatus(h *ledger.HeldError) HolderStatus {
	return HolderStatus{Run: h.Holder.Run, Host: h.Holder.Host, PID: h.Holder.PID, Since: h.Holder.Since, Age: h.Age, Gone: h.Gone, Life: lifeOf(h.Dead, h.Looks), Looks: h.Looks}
}

func finishedStatus(f *ledger.Finished) *FinishedStatus {
	s := &FinishedStatus{Run: f.Run, At: f.At, Imported: importedText(f)}
	for _, o := range f.Outputs {
		s.Rows += o.Rows
		s.Files += o.Files
		s.Bytes += o.Bytes
	}
	return s
}

// markStatus tells how far the inputs of an incremental batch were read.
func markStatus(v ledger.View) (all []MarkStatus) {
	inputs := map[string]*MarkStatus{}
	of := func(name string) *MarkStatus {
		if inputs[name] == nil {
			inputs[name] = &MarkStatus{Input: name}
		}
		return inputs[name]
	}
	if v.Finished != nil {
		for name, s := range spansOf(v.Finished.Range) {
			if s.Follows != "" {
				continue // the task that it reads from tells how far that is
			}
			of(name).Mark = s.markText()
		}
	}
	for name, s := range spansOf(v.Range) {
		of(name).Pinned = s.text()
	}
	for name, data := range v.Marks {
		var m mark
		if json.Unmarshal(data, &m) == nil {
			of(name).Set = m.text()
		}
	}
	for _, name := range slices.Sorted(maps.Keys(inputs)) {
		all = append(all, *inputs[name])
	}
	return all
}
