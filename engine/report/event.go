// Package report tells what happens in a run: events, and the ways to show them to people and programs.
package report

import (
	"time"

	"github.com/ubunye-io/ubunye/engine/problem"
)

// Kind names what an Event reports. Kinds are part of the program's interface (`--json`).
type Kind string

// The kinds of Event.
const (
	RunStarted    Kind = "run_started"   // its batches are held
	WorkFinished  Kind = "work_finished" // what an earlier run had committed was landed
	TaskStarted   Kind = "task_started"
	StepStarted   Kind = "step_started"
	OutputLanded  Kind = "output_landed"  // its files are there
	OutputSkipped Kind = "output_skipped" // mode ignore, and there is data
	TaskFinished  Kind = "task_finished"
	TaskFailed    Kind = "task_failed" // one for each problem
	TaskCancelled Kind = "task_cancelled"
	Problem       Kind = "problem" // what stops a run, or keeps it from starting
	Warning       Kind = "warning"
	PluginLog     Kind = "plugin_log"
	BatchFinished Kind = "batch_finished" // of a backfill: the run of one date has ended
	BackfillDone  Kind = "backfill_finished"
	RunFinished   Kind = "run_finished" // always the last
)

// Event is something that happened. Fields that do not apply are zero and left out of JSON.
type Event struct {
	Time     time.Time        `json:"time"`
	Kind     Kind             `json:"event"`
	Run      string           `json:"run,omitempty"`
	Task     string           `json:"task,omitempty"`
	Batch    string           `json:"batch,omitempty"` // its variables, as "dt=2026-01-01"
	Step     string           `json:"step,omitempty"`  // ask, read, stage, commit or land
	Output   string           `json:"output,omitempty"`
	Path     string           `json:"path,omitempty"`
	Class    string           `json:"class,omitempty"`  // delivery class
	Reason   problem.Code     `json:"reason,omitempty"` // of a problem
	Cause    string           `json:"cause,omitempty"`  // of a task that was cancelled: the task that failed, or wrote nothing
	Level    string           `json:"level,omitempty"`  // of a plugin's log: debug, info, warn or error
	Message  string           `json:"message,omitempty"`
	Rows     *int64           `json:"rows,omitempty"`
	Bytes    *int64           `json:"bytes,omitempty"`
	Files    *int64           `json:"files,omitempty"`
	Replaced int64            `json:"replaced,omitempty"` // files of the batch's earlier commit that went
	Folders  *int64           `json:"folders,omitempty"`  // that were there and were replaced whole
	Duration float64          `json:"duration,omitempty"` // seconds
	Exit     *int             `json:"exit,omitempty"`     // exit code of the program
	Date     string           `json:"date,omitempty"`     // of a backfill: the date whose run it is about
	Outcome  Outcome          `json:"outcome,omitempty"`  // of that run
	Backfill *Backfill        `json:"backfill,omitempty"` // the whole of a backfill
	Problem  *problem.Problem `json:"-"`
}

// Reporter is told of every event, in order, from any goroutine.
type Reporter interface{ Report(Event) }
