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
	RunStarted     Kind = "run_started"       // The run holds all its batches and begins.
	RunContinued   Kind = "run_continued"     // The run goes on with an unfinished one, or keeps what others have finished.
	WorkFinished   Kind = "work_finished"     // What an earlier run had committed was landed, or removed.
	RunWaiting     Kind = "run_waiting"       // The run waits for what another one holds.
	BatchTaken     Kind = "batch_taken"       // A batch was taken over from a dead run.
	TaskStarted    Kind = "task_started"      // A task begins.
	StepStarted    Kind = "step_started"      // A step of a task begins.
	RangePinned    Kind = "range_pinned"      // What a task reads of an incremental input is settled, and noted in the ledger.
	InputRead      Kind = "input_read"        // An input with rejects was read: how many of its rows are as declared.
	Progress       Kind = "progress"          // A task is at work: how far it is. With --json it is told every 10 seconds.
	CheckDone      Kind = "check_done"        // A data check was made.
	OutputReplaces Kind = "output_replaces"   // An output is about to replace data that is there.
	OutputLanded   Kind = "output_landed"     // An output of the task is committed and its files are there.
	OutputFound    Kind = "output_found"      // Nothing was written to an output: its table holds the batch, by a commit of a run that died before it could say so.
	OutputSkipped  Kind = "output_skipped"    // Nothing was written to an output: the mode is ignore, and there is data.
	TaskFinished   Kind = "task_finished"     // A task is done and all its outputs have landed.
	TaskCompleted  Kind = "task_completed"    // A task counts as done: a run that died before it could say so had committed its batch.
	TaskSkipped    Kind = "task_skipped"      // A task wrote nothing: its incremental inputs have nothing new.
	TaskFailed     Kind = "task_failed"       // A task failed; there is one event for each of its problems.
	TaskCancelled  Kind = "task_cancelled"    // A task does not run, because of what became of another one.
	Problem        Kind = "problem"           // Something stops the run, or keeps it from starting.
	Warning        Kind = "warning"           // Something that a person should know; the run goes on.
	PluginLog      Kind = "plugin_log"        // A plugin says something, in its own words.
	BatchFinished  Kind = "batch_finished"    // Of a backfill: the run of one date has ended.
	BackfillDone   Kind = "backfill_finished" // A backfill has ended: what became of every date of the range.
	RunFinished    Kind = "run_finished"      // The program ends. It is always the last event.
)

// Event is something that happened. Fields that do not apply are zero and left out of JSON. The tag `in` says which
// kinds have a field, with a ? those that may be without it: schema and page of the events are made of it, and tests
// hold every event that is printed against the schema.
type Event struct {
	// when it happened
	Time time.Time `json:"time" in:"*"`
	// what happened
	Kind Kind `json:"event" in:"*"`
	// id of the run; absent while it has none, as when it is refused
	Run string `json:"run,omitempty" in:"run_started run_waiting? run_continued? batch_taken task_started step_started range_pinned input_read progress check_done output_replaces output_landed output_found output_skipped task_finished task_skipped task_failed task_cancelled task_completed? work_finished? problem? warning? plugin_log? batch_finished? run_finished?"`
	// name of the pipeline
	Pipeline string `json:"pipeline,omitempty" in:"run_started run_continued"`
	// name of the task
	Task string `json:"task,omitempty" in:"batch_taken task_started step_started range_pinned input_read progress check_done output_replaces output_landed output_found output_skipped task_completed task_finished task_skipped task_failed task_cancelled work_finished problem? warning? plugin_log?"`
	// the batch's variables, as dt=2026-01-01; absent: it has none
	Batch string `json:"batch,omitempty" in:"batch_taken? task_started? step_started? range_pinned? input_read? progress? check_done? output_replaces? output_landed? output_found? output_skipped? task_completed task_finished? task_skipped? task_failed? task_cancelled? work_finished? warning? plugin_log?"`
	// which one: ask, read, stage, commit or land
	Step string `json:"step,omitempty" in:"step_started progress"`
	// the input or step that the check is about; absent: it compares input and output
	Relation string `json:"relation,omitempty" in:"check_done?"`
	// the check, as in the pipeline
	Check string `json:"check,omitempty" in:"check_done"`
	// what it means if the check is broken: fail, warn or quarantine
	Severity string `json:"severity,omitempty" in:"check_done"`
	// whether the check is not broken
	Passed *bool `json:"passed,omitempty" in:"check_done"`
	// rows that break the check
	Broken *int64 `json:"broken,omitempty" in:"check_done?"`
	// name of the output; of a check: the one that takes the rows which break it
	Output string `json:"output,omitempty" in:"check_done? output_replaces output_landed output_found output_skipped task_failed? problem? warning? plugin_log?"`
	// the output's folder, as the pipeline file has it
	Path string `json:"path,omitempty" in:"output_replaces output_landed output_found output_skipped"`
	// delivery class: claims, once, replaces or named
	Class string `json:"class,omitempty" in:"output_replaces output_landed output_found output_skipped"`
	// the commit of a table that holds the batch, as "version 12"; absent: the output is no table
	Commit string `json:"commit,omitempty" in:"output_landed? output_found"`
	// the name by which the pipeline knows the plugin
	Plugin string `json:"plugin,omitempty" in:"plugin_log"`
	// how grave it is: debug, info, warn or error
	Level string `json:"level,omitempty" in:"plugin_log"`
	// what kind of problem it is; the exit code follows from it
	Reason problem.Code `json:"reason,omitempty" in:"task_failed problem batch_finished?"`
	// the task that failed, or wrote nothing
	Cause string `json:"cause,omitempty" in:"task_cancelled"`
	// what happened, for people, on one line
	Message string `json:"message,omitempty" in:"run_waiting run_continued batch_taken range_pinned check_done? output_found output_skipped task_completed task_skipped task_failed task_cancelled problem warning plugin_log?"`
	// number of the run in the run state
	StateRun int64 `json:"run_id,omitempty" in:"run_continued"`
	// number of the attempt of that run
	Attempt int64 `json:"attempt,omitempty" in:"run_continued"`
	// tasks that are not run again
	Carried []Carried `json:"carried,omitempty" in:"run_continued?"`
	// bytes of the files that the task reads, once they are listed
	Read *int64 `json:"read_bytes,omitempty" in:"progress?"`
	// name of the input
	Input string `json:"input,omitempty" in:"range_pinned input_read"`
	// rows read; each is one that is as declared, or rejected
	RowsRead *int64 `json:"rows_read,omitempty" in:"input_read"`
	// rows that are not as declared
	Rejected *int64 `json:"rejected,omitempty" in:"input_read"`
	// rows written; in progress: of the outputs that are staged whole; of a date: of all its outputs; of a check: rows that it looked at; of an input: that are as declared
	Rows *int64 `json:"rows,omitempty" in:"input_read check_done? output_landed output_skipped progress? batch_finished"`
	// bytes of the files written; in progress: so far
	Bytes *int64 `json:"bytes,omitempty" in:"output_landed output_skipped progress?"`
	// files written, or landed for an earlier run; in progress: so far
	Files *int64 `json:"files,omitempty" in:"output_landed output_skipped work_finished progress?"`
	// files of the batch's earlier commit that went; of output_replaces: files that are there and go
	Replaced int64 `json:"replaced,omitempty" in:"output_replaces output_landed?"`
	// folders below the output's that hold some of those files
	Partitions *int64 `json:"partitions,omitempty" in:"output_replaces"`
	// folders that were there and were replaced whole
	Folders *int64 `json:"folders,omitempty" in:"output_landed?"`
	// seconds since the task began; of a date: since its run was started; of a backfill and of the last event: since the program began
	Duration float64 `json:"duration,omitempty" in:"progress task_finished task_skipped task_failed batch_finished backfill_finished run_finished"`
	// of a backfill: the date whose run tells it, or is told of
	Date string `json:"date,omitempty" in:"*?"`
	// how the run of the date ended
	Outcome Outcome `json:"outcome,omitempty" in:"batch_finished"`
	// what became of every date
	Backfill *Backfill `json:"backfill,omitempty" in:"backfill_finished"`
	// exit code of the program
	Exit    *int             `json:"exit,omitempty" in:"run_finished"`
	Problem *problem.Problem `json:"-"`
}

// Carried is a task that is not run again.
type Carried struct {
	Task    string     `json:"task"`                  // name of the task
	State   string     `json:"state"`                 // what became of it, as the run state has it
	Run     int64      `json:"run_id"`                // number of the run that did it
	Attempt int64      `json:"attempt"`               // number of the attempt of that run
	At      *time.Time `json:"finished_at,omitempty"` // when it ended; absent: it is not known
}

// Reporter is told of every event, in order, from any goroutine.
type Reporter interface{ Report(Event) }
