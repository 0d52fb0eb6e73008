package runstate

import (
	"encoding/json"
	"time"

	"github.com/ubunye-io/ubunye/engine/store"
)

// Format is the version of the document that this package writes. It goes on from the versions of Smart Data Lake
// Builder (SDLB), which ended at 7.
const Format = 8

// engineName is what Document.Engine says in every file that is written.
const engineName = "ubunye"

// Document is how far one attempt of a run got, with what earlier attempts of the run did: the newest one of a run is
// the complete picture.
type Document struct {
	Engine  string    `json:"engine"`                // "ubunye"; files without it are of Smart Data Lake Builder
	Format  int       `json:"runStateFormatVersion"` // number of the form of the file; programs refuse a higher one than they know
	App     AppConfig `json:"appConfig"`             // what was run
	Run     int64     `json:"runId"`                 // number of the run, from 1
	Attempt int64     `json:"attemptId"`             // number of the attempt, from 1

	RunStart     *time.Time `json:"runStartTime,omitempty"`     // when the first attempt began; absent: not known
	AttemptStart *time.Time `json:"attemptStartTime,omitempty"` // when this attempt began; absent: not known
	RunEnd       *time.Time `json:"runEndTime,omitempty"`       // when this attempt ended; absent: it has not, or it is not known

	LedgerRun string            `json:"ledgerRunId,omitempty"` // id that the attempt has in the ledger, which tells whether it is alive
	Rerun     bool              `json:"rerun,omitempty"`       // the attempt was to write finished batches again
	Actions   map[string]Action `json:"actionsState"`          // what became of each task
	Final     bool              `json:"isFinal"`               // the attempt has ended, and said so

	// the incremental state of tasks that are not in actionsState, carried on from earlier runs
	Others map[string][]ObjectState `json:"otherDataObjectsState,omitempty"`

	Accepted   *Acceptance   `json:"accepted,omitempty"`       // a person gave up what the run has not done
	Migrated   *Origin       `json:"migratedFrom,omitempty"`   // the file was Smart Data Lake Builder's
	Version    VersionInfo   `json:"ubunyeVersionInfo"`        // the program that wrote the file
	AppVersion *VersionInfo  `json:"appVersionInfo,omitempty"` // the version of what was run, if it has one
	extra      store.Unknown // members that this program does not know
}

// AppConfig is what was run.
type AppConfig struct {
	Name          string            `json:"applicationName"`          // name of the pipeline
	Configuration []string          `json:"configuration,omitzero"`   // the configuration files
	Variables     map[string]string `json:"variables,omitzero"`       // the values that make the batches
	Profile       string            `json:"profile,omitempty"`        // name of the profile; absent: none
	Tasks         []string          `json:"selectedActions,omitzero"` // the tasks that were selected; absent: all
	Compute       string            `json:"compute,omitempty"`        // what made the rows
	extra         store.Unknown
}

// Action is what became of one task.
type Action struct {
	Execution Execution `json:"executionId"`     // the attempt that did it
	State     State     `json:"state"`           // how far it is
	Cause     Cause     `json:"cause,omitempty"` // of CANCELLED: why

	Start    *time.Time `json:"startTstmp,omitempty"` // when it began
	End      *time.Time `json:"endTstmp,omitempty"`   // when it ended
	Duration string     `json:"duration,omitempty"`   // how long it took, as ISO 8601 has it: PT1M3.5S
	Message  string     `json:"msg,omitempty"`        // of one that did not succeed: what went wrong

	Config  string            `json:"configHash,omitempty"`      // hash of the task's configuration
	Parts   map[string]string `json:"configParts,omitempty"`     // hash of each part of it, as inputs.raw, so that a change can be told by name
	Inputs  json.RawMessage   `json:"inputs,omitempty"`          // fingerprint of what was read
	Results []Result          `json:"results,omitzero"`          // what was written, for each output
	Objects []ObjectState     `json:"dataObjectsState,omitzero"` // how far each incremental input was read
	Reads   []string          `json:"inputIds,omitzero"`         // names of the inputs
	Writes  []string          `json:"outputIds,omitzero"`        // names of the outputs

	Accepted *Acceptance `json:"accepted,omitempty"` // a person gave up the task: it counts as completed
	extra    store.Unknown
}

// Execution names an attempt of a run.
type Execution struct {
	Run     int64 `json:"runId"`     // number of the run
	Attempt int64 `json:"attemptId"` // number of the attempt
	extra   store.Unknown
}

// Result is what was written to one output.
type Result struct {
	Output string `json:"dataObjectId,omitempty"` // name of the output
	Class  string `json:"class,omitempty"`        // delivery class
	Batch  string `json:"batchKey,omitempty"`     // key of the batch in the ledger
	Rows   *int64 `json:"rows,omitempty"`         // rows written; absent: not known
	Files  *int64 `json:"files,omitempty"`        // files written; absent: not known
	Bytes  *int64 `json:"bytes,omitempty"`        // bytes of the files; absent: not known
	extra  store.Unknown
}

// ObjectState is how far an incremental input was read: a copy of what the ledger has.
type ObjectState struct {
	Object string          `json:"dataObjectId"` // name of the input
	State  json.RawMessage `json:"state"`        // the pinned range and the mark
	extra  store.Unknown
}

// VersionInfo names a version of a program.
type VersionInfo struct {
	Version string `json:"version"` // its version
	extra   store.Unknown
}

// Acceptance says that a person gave up what was not done.
type Acceptance struct {
	Who     string    `json:"who"`               // who it was
	At      time.Time `json:"at"`                // when it was
	Reason  string    `json:"reason"`            // why, as that person says
	Damaged string    `json:"damaged,omitempty"` // where the file is kept that could not be read, beside this one
	extra   store.Unknown
}

// Origin tells what a file was before it was brought to this format. Its actions are those of another program: no
// task of ours can finish them.
type Origin struct {
	Engine string          `json:"engine"`                          // the program: sdlb; unknown: the file was damaged
	Format json.RawMessage `json:"runStateFormatVersion,omitempty"` // its version, as it stood in the file; absent: it had none
	Zone   string          `json:"timeZone,omitempty"`              // the zone that its times were taken to be in; absent: they had one
	extra  store.Unknown
}

// State tells how far a task is. Files may hold others than these; they are kept, and count as not completed.
//
//schema:open
type State string

// The states. STARTED, PREPARED, INITIALIZED and STREAMING are Smart Data Lake Builder's, read and never written anew.
const (
	Pending     State = "PENDING"     // it has not begun
	Running     State = "RUNNING"     // it has begun; of a dead run: it was interrupted
	Succeeded   State = "SUCCEEDED"   // its batch is finished
	Failed      State = "FAILED"      // it failed, or was interrupted
	Cancelled   State = "CANCELLED"   // it did not run because of a task before it; cause tells which way
	Skipped     State = "SKIPPED"     // it found nothing new to read
	Started     State = "STARTED"     // it was being executed
	Prepared    State = "PREPARED"    // its preparation had ended
	Initialized State = "INITIALIZED" // its initialisation had ended
	Streaming   State = "STREAMING"   // it runs for ever
)

// Cause tells why a task was cancelled.
//
//schema:open
type Cause string

// The causes.
const (
	PredecessorFailed  Cause = "predecessor failed"  // a task before it failed, or was cancelled for that
	PredecessorSkipped Cause = "predecessor skipped" // a task before it found nothing new, or was cancelled for that
)

// Completed tells whether nothing is left to be done of a task. It is the one predicate for it: the decision at start and
// what is left to do both ask it.
func (a Action) Completed() bool {
	switch a.State {
	case Succeeded, Skipped, Streaming:
		return true
	case Cancelled:
		return a.Cause == PredecessorSkipped || a.Accepted != nil
	}
	return a.Accepted != nil
}

// Written is what was written as far as the result tells, in its own members or in the metrics of Smart Data Lake Builder;
// nil: it does not.
func (r Result) Written() (rows, files, bytes *int64) {
	rows, files, bytes = r.Rows, r.Files, r.Bytes
	var metrics map[string]json.RawMessage
	if json.Unmarshal(r.extra["metrics"], &metrics) != nil {
		return rows, files, bytes
	}
	for _, m := range []struct {
		into **int64
		name string
	}{{&rows, "records_written"}, {&files, "files_written"}, {&files, "num_files"}, {&bytes, "bytes_written"}} {
		if *m.into == nil {
			_ = json.Unmarshal(metrics[m.name], m.into) // what is no whole number is not known
		}
	}
	return rows, files, bytes
}

// Took is how long the action took; not ok: it is not known.
func (a Action) Took() (d time.Duration, ok bool) {
	if d, err := parseDuration(a.Duration); err == nil {
		return d, true
	}
	if a.Start == nil || a.End == nil {
		return 0, false
	}
	return a.End.Sub(*a.Start), true
}

// Unfinished names the tasks that are not completed, sorted.
func (d *Document) Unfinished() []string {
	var names []string
	for _, name := range sortedKeys(d.Actions) {
		if !d.Actions[name].Completed() {
			names = append(names, name)
		}
	}
	return names
}

// done tells whether the run has ended and left nothing: it belongs into succeeded/.
func (d *Document) done() bool { return d.Final && len(d.Unfinished()) == 0 }

// Damaged tells of a run that was given up because its file could not be read: what it had done is not known.
func (d *Document) Damaged() bool { return d.Accepted != nil && d.Accepted.Damaged != "" }

// foreign tells whether the file was another program's.
func (d *Document) foreign() bool { return d.Migrated != nil }
