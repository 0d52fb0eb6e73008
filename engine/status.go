package engine

import (
	"context"
	"slices"
	"time"

	"github.com/ubunye-io/ubunye/engine/config"
	"github.com/ubunye-io/ubunye/engine/ledger"
)

// Status is what the ledger knows of a pipeline.
type Status struct {
	Ledger     string        `json:"ledger"`     // path of the ledger
	Exists     bool          `json:"exists"`     // there has been a run
	Batches    []BatchStatus `json:"batches"`    // every batch of the pipeline that has a document
	Runs       []RunStatus   `json:"runs"`       // runs that did not end well, or have not ended
	Unreadable []string      `json:"unreadable"` // files that are there and cannot be used, with the reason
	Stray      []string      `json:"stray"`      // staging folders that nothing names

	Missing []MissingDates `json:"missing,omitempty"` // for each task the dates of the range that are not finished, if a range was given
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
	Task     string          `json:"task"`               // name of the task
	Batch    string          `json:"batch"`              // the variables that make it, as dt=2026-01-01; empty: it has none
	Key      string          `json:"key"`                // key of the batch
	State    string          `json:"state"`              // one of free, held and finished
	Held     *HolderStatus   `json:"held,omitempty"`     // the run that holds it
	Finished *FinishedStatus `json:"finished,omitempty"` // its last commit
	Todo     int             `json:"todo"`               // entries of the to-do list that are left
	Failed   string          `json:"failed,omitempty"`   // why the last try failed; absent: it did not
	Kept     []string        `json:"kept,omitempty"`     // outputs that hold rows of a run that failed before its commit
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
}

// Life is what is thought of a run that holds a batch.
type Life string

// The judgements.
const (
	Alive  Life = "alive"  // its heartbeat is not too old
	Silent Life = "silent" // its heartbeat is too old: a start that sees it unchanged once more takes the batch over
	Dead   Life = "dead"   // the next start takes the batch over
)

func lifeOf(h *ledger.HeldError) Life {
	switch {
	case h.Dead:
		return Dead
	case h.Looks > 0:
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
}

// RunStatus is a run's record.
type RunStatus struct {
	Run      string    `json:"run"`                // id of the run
	Status   string    `json:"status"`             // how far it got, as in its record
	Host     string    `json:"host"`               // its host name
	PID      int       `json:"pid"`                // its process id
	Since    time.Time `json:"since"`              // when it began
	By       string    `json:"by,omitempty"`       // the run that took a batch over from it
	Doubtful []string  `json:"doubtful,omitempty"` // outputs that it had replaced without a commit, as task.output
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
	pipeline, err := config.Load(o.File, o.Options)
	if err != nil {
		return Status{}, err
	}
	r := &run{Engine: e, options: o, config: pipeline}
	if err := r.openLedger(ctx); err != nil {
		return Status{}, err
	}
	known, err := r.ledger.Status(ctx, pipeline.Name)
	if err != nil {
		return Status{}, r.explain(err, "")
	}
	s := Status{Missing: missing, Ledger: r.ledger.Path(), Exists: known.ID != "", Batches: []BatchStatus{}, Runs: []RunStatus{}, Unreadable: []string{}, Stray: append([]string{}, known.Stray...)}
	for _, v := range known.Batches {
		if r.chosen(v.Batch) && inRange(v.Batch) {
			s.Batches = append(s.Batches, batchStatus(v))
		}
	}
	for _, rec := range known.Records {
		s.Runs = append(s.Runs, RunStatus{Run: rec.Run, Status: string(rec.Status), Host: rec.Host, PID: rec.PID, Since: rec.Since, By: rec.By, Doubtful: rec.Doubtful})
	}
	for _, u := range known.Unreadable {
		s.Unreadable = append(s.Unreadable, u.Error())
	}
	return s, nil
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

func batchStatus(v ledger.View) BatchStatus {
	s := BatchStatus{Task: v.Batch.Task, Batch: variablesText(v.Batch.Variables, v.Batch.Profile), Key: v.Batch.Key, State: string(v.State), Todo: len(v.Todo)}
	if h := v.Held; h != nil {
		s.Held = &HolderStatus{Run: h.Holder.Run, Host: h.Holder.Host, PID: h.Holder.PID, Since: h.Holder.Since, Age: h.Age, Gone: h.Gone, Life: lifeOf(h)}
	}
	if f := v.Finished; f != nil {
		s.Finished = &FinishedStatus{Run: f.Run, At: f.At}
		for _, o := range f.Outputs {
			s.Finished.Rows += o.Rows
			s.Finished.Files += o.Files
			s.Finished.Bytes += o.Bytes
		}
	}
	for _, t := range v.Tried {
		for _, output := range t.Kept {
			if !slices.Contains(s.Kept, output) {
				s.Kept = append(s.Kept, output)
			}
		}
	}
	if n := len(v.Tried); n > 0 {
		s.Failed = v.Tried[n-1].Reason
	}
	return s
}
