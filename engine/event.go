package engine

import "time"

// EventKind names what an Event reports.
type EventKind string

// The kinds of Event.
const (
	RunStarted   EventKind = "run_started"
	WorkFinished EventKind = "work_finished" // a dead run's commit was landed
	TaskStarted  EventKind = "task_started"
	StepStarted  EventKind = "step_started"
	OutputLanded EventKind = "output_landed"
	TaskFinished EventKind = "task_finished"
	TaskFailed   EventKind = "task_failed"
	Warning      EventKind = "warning"
	PluginLog    EventKind = "plugin_log"
)

// Event is something that happened in a run. Fields that do not apply are zero.
type Event struct {
	Time     time.Time
	Kind     EventKind
	Run      string
	Task     string
	Batch    string // the batch's variables, as "dt=2026-01-01"
	Step     string // ask, read, stage, commit, land
	Output   string
	Path     string
	Class    string // delivery class
	Reason   string // code of a problem
	Message  string
	Rows     int64
	Bytes    int64
	Files    int64
	Replaced int64 // files of the batch's earlier commit that went
	Duration time.Duration
}

// Observer is told of every event, from the goroutine it happened on.
type Observer func(Event)
