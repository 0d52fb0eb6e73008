package runstate

import (
	"fmt"
	"strings"

	"github.com/ubunye-io/ubunye/engine/store"
)

// UnreadableError is a file of the run state that is there and cannot be understood. It is never taken for absent.
type UnreadableError = store.UnreadableError

// NewerError is a file that a newer program wrote. Nothing was changed.
type NewerError struct {
	Path    string
	Version string // of the file
	Known   int    // the newest one that is understood
	SDLB    bool   // the file is Smart Data Lake Builder's
}

func (e *NewerError) Error() string {
	of := "run state format"
	if e.SDLB {
		of = "Smart Data Lake Builder's run state format"
	}
	return fmt.Sprintf("%s has %s %s, and this program knows formats up to %d", e.Path, of, e.Version, e.Known)
}

// NameError is the name of a pipeline that cannot be a part of the name of a file.
type NameError struct{ Name string }

func (e *NameError) Error() string {
	return fmt.Sprintf("%q cannot name a run state: it is empty, or has a dot, a slash or white space in it", e.Name)
}

// TakenError is a number of a run and an attempt that another start took first. Nothing was changed: read the state
// again and decide anew.
type TakenError struct {
	Path string // the file that has the number
}

func (e *TakenError) Error() string { return e.Path + " was made by another start" }

// LostError is a run whose state file is not where it wrote it: it was accepted, or another attempt took it over. It
// writes no more state.
type LostError struct{ Path string }

func (e *LostError) Error() string { return e.Path + " is not there any more" }

// AliveError is a run whose process is alive. Nothing was changed.
type AliveError struct {
	Name    string // of the pipeline
	Run     int64
	Attempt int64
	ID      string // its id in the ledger
	Path    string
}

func (e *AliveError) Error() string {
	return fmt.Sprintf("run %d of %s, attempt %d, is alive (ledger run %s)", e.Run, e.Name, e.Attempt, e.ID)
}

// AbsentError is a run of which there is no state file.
type AbsentError struct {
	Folder string
	Name   string // of the pipeline
	Run    int64
}

func (e *AbsentError) Error() string {
	return fmt.Sprintf("there is no run %d of %s in %s", e.Run, e.Name, e.Folder)
}

// DoneError is a run that cannot be accepted, because nothing of it is left to be done.
type DoneError struct {
	Path string
	Task string // the task that is completed; empty: the whole run
}

func (e *DoneError) Error() string {
	if e.Task != "" {
		return fmt.Sprintf("task %s is completed in %s", e.Task, e.Path)
	}
	return e.Path + " has no unfinished actions, or is accepted already"
}

// UnknownTaskError is a task that a run does not have.
type UnknownTaskError struct {
	Path  string
	Task  string
	Known []string
}

func (e *UnknownTaskError) Error() string {
	return fmt.Sprintf("%s has no task %s (it has %s)", e.Path, e.Task, strings.Join(e.Known, ", "))
}

// ForeignError is an unfinished run of Smart Data Lake Builder: its actions are not tasks of ours. The ways on are to
// accept it, and a new run.
type ForeignError struct {
	Path       string
	Run        int64
	Attempt    int64
	Unfinished []string
}

func (e *ForeignError) Error() string {
	return fmt.Sprintf("run %d, attempt %d, of Smart Data Lake Builder is unfinished (%s): %s", e.Run, e.Attempt,
		orNone(e.Unfinished), e.Path)
}

// DifferError is an unfinished run that was started with other parameters, so that it cannot be gone on with.
type DifferError struct {
	Path        string
	Run         int64
	Attempt     int64
	Differences []Difference
}

// Difference is one parameter of an unfinished run that is another one now.
type Difference struct {
	What string // as "variable dt", "selected tasks", "configuration of task clean"
	Was  string // "" stands for none
	Now  string

	Parts []string // of a configuration, whose Was and Now are hashes: what of it changed; none: that is not known
}

func (d Difference) String() string {
	if len(d.Parts) > 0 {
		return d.What + ": changed are " + strings.Join(d.Parts, ", ")
	}
	return fmt.Sprintf("%s: was %s, now %s", d.What, orNothing(d.Was), orNothing(d.Now))
}

func (e *DifferError) Error() string {
	all := make([]string, len(e.Differences))
	for i, d := range e.Differences {
		all[i] = d.String()
	}
	return fmt.Sprintf("run %d, attempt %d, is unfinished and was started with other parameters: %s", e.Run, e.Attempt, strings.Join(all, "; "))
}

// UnprovenError is a recovery in which finished appends can neither be kept nor written again without being told to.
type UnprovenError struct {
	Path    string
	Run     int64
	Attempt int64 // the attempt that would be continued
	Tasks   []Unproven
}

// Unproven is one task that appended, of which nobody can prove that keeping its rows loses none.
type Unproven struct {
	Task string
	Why  string // what changed or cannot be known
}

func (e *UnprovenError) Error() string {
	all := make([]string, len(e.Tasks))
	for i, t := range e.Tasks {
		all[i] = t.Task + ": " + t.Why
	}
	return fmt.Sprintf("run %d, attempt %d, is unfinished, and what it has appended may not be all: %s", e.Run, e.Attempt, strings.Join(all, "; "))
}

// UnreadSliceError is a new run that would leave the last slice of an incremental task unread for ever.
type UnreadSliceError struct {
	Path     string
	Run      int64
	Task     string // the incremental task, which is finished
	Consumer string // the task that reads its output, which is not
}

func (e *UnreadSliceError) Error() string {
	return fmt.Sprintf("task %s has not read what the incremental task %s wrote in run %d; no later run would read it", e.Consumer, e.Task, e.Run)
}

// ChangedError is a file that was changed by another program while the folder was migrated. It was left as it is.
type ChangedError struct{ Path string }

func (e *ChangedError) Error() string {
	return e.Path + " was changed by another program meanwhile"
}

// NoExclusiveError is a file system on which no name can be taken exclusively.
type NoExclusiveError struct {
	Path string
	Err  error
}

func (e *NoExclusiveError) Error() string {
	return fmt.Sprintf("%s lies on a file system that has neither hard links nor a rename that refuses to replace: %v", e.Path, e.Err)
}
func (e *NoExclusiveError) Unwrap() error { return e.Err }

func orNothing(text string) string {
	if text == "" {
		return "none"
	}
	return text
}

func orNone(names []string) string {
	if len(names) == 0 {
		return "it has not ended"
	}
	return strings.Join(names, ", ")
}
