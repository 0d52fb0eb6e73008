// Package problem holds what a person is told when something cannot go on: a code that
// programs can rely on, the position in the pipeline file, what happened, what it means for the
// data, and what to do next. The exit code of the program follows from the code alone.
//
// Other packages return typed errors; package engine turns those into problems at its edge.
package problem

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
)

// Code names a kind of problem. Codes are part of the program's interface (`--json` prints them as
// "reason"); they are never renamed.
type Code string

// The codes, by the exit code that they lead to.
const (
	// Exit 1: the run was refused; nothing was read and nothing was written.
	RunLeaseHeld     Code = "RunLeaseHeld"     // another run holds the batch
	WaitTimedOut     Code = "WaitTimedOut"     // it was waited for, and is still held
	BatchFinished    Code = "BatchFinished"    // the batch is finished and the task appends
	RecordUnreadable Code = "RecordUnreadable" // a ledger document cannot be read, or is newer than this program
	LedgerUnwritable Code = "LedgerUnwritable" // the ledger folder cannot be written
	TargetElsewhere  Code = "TargetElsewhere"  // the output folder belongs to another ledger
	WorkLeft         Code = "WorkLeft"         // an earlier commit's to-do list cannot be carried out
	RunUnfinished    Code = "RunUnfinished"    // an earlier run is unfinished, and this start cannot go on with it
	RecoveryUnproven Code = "RecoveryUnproven" // an earlier run is unfinished, and what it has appended may not be all
	StateUnwritable  Code = "StateUnwritable"  // the folder of the run state cannot be used
	NothingLeft      Code = "NothingLeft"      // of the run that is to be accepted nothing is left to be done

	// Exit 2: usage or configuration.
	Usage         Code = "Usage"         // the command line is wrong
	ConfigInvalid Code = "ConfigInvalid" // the pipeline file is wrong
	PluginMissing Code = "PluginMissing" // no writer has that name, or its module is not there

	// What the run wrote for an input that reads it by from was committed again by another run.
	InputSuperseded Code = "InputSuperseded"

	// Exit 3: the data is not as it must be; nothing landed.
	CheckFailed    Code = "CheckFailed"    // rows are not as expect or reconcile say
	TooManyRejects Code = "TooManyRejects" // more rows of an input are not as declared than max_rejects allows
	SchemaDiffers  Code = "SchemaDiffers"  // an input has other columns than in the last commit, and its schema does not allow that

	// Exit 4: reading, transforming or writing failed.
	InputMissing  Code = "InputMissing"  // an input has no file, or no rows and on_empty is fail
	InputInvalid  Code = "InputInvalid"  // a data file is not as declared
	ComputeFailed Code = "ComputeFailed" // a query failed, or ran out of memory or disk
	WriterFailed  Code = "WriterFailed"  // a writer failed, or was ended

	ConnectionFailed Code = "ConnectionFailed" // a database cannot be reached, or does not let the user in or read

	OutputUnwritable Code = "OutputUnwritable" // files cannot be staged for the output folder, or landed in it
	OutputExists     Code = "OutputExists"     // mode error_if_exists, and there is data

	NotAllLanded Code = "NotAllLanded" // committed, but its to-do list could not be emptied
	Failed       Code = "Failed"       // anything that has no code of its own

	// Exit 5.
	RunLeaseLost   Code = "RunLeaseLost"   // the batch was lost to another run; this one made nothing visible
	OutcomeUnknown Code = "OutcomeUnknown" // nobody knows whether a save counted; nothing was removed

	// Exit 130 and 143.
	Interrupted Code = "Interrupted" // by SIGINT; exit 130
	Terminated  Code = "Terminated"  // by SIGTERM or SIGHUP; exit 143
)

// Exit codes of the program.
const (
	ExitOK          = 0
	ExitRefused     = 1
	ExitUsage       = 2
	ExitCheck       = 3
	ExitFailed      = 4
	ExitLost        = 5
	ExitInterrupted = 130
	ExitTerminated  = 143
)

// Exit returns the exit code of the program for c; an unknown code is a failure (4).
func (c Code) Exit() int {
	switch c {
	case RunLeaseHeld, WaitTimedOut, BatchFinished, RecordUnreadable, LedgerUnwritable, TargetElsewhere, WorkLeft, RunUnfinished, RecoveryUnproven, StateUnwritable, NothingLeft:
		return ExitRefused
	case Usage, ConfigInvalid, PluginMissing, InputSuperseded:
		return ExitUsage
	case CheckFailed, TooManyRejects, SchemaDiffers:
		return ExitCheck
	case RunLeaseLost, OutcomeUnknown:
		return ExitLost
	case Interrupted:
		return ExitInterrupted
	case Terminated:
		return ExitTerminated
	}
	return ExitFailed
}

// Pos is a place in a text file. Line and Col count from 1, Col in bytes; 0 means unknown.
type Pos struct {
	File string
	Line int
	Col  int
}

// String gives file:line:col, leaving out what is not known.
func (p Pos) String() string {
	switch {
	case p.File == "":
		return ""
	case p.Line == 0:
		return p.File
	case p.Col == 0:
		return fmt.Sprintf("%s:%d", p.File, p.Line)
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Col)
}

// Problem is one thing that a person is told. Its text is one line.
type Problem struct {
	Code    Code
	Pos     Pos    // where in a file, if anywhere
	Task    string // the task, if any
	Output  string // the output of the task, if any
	Message string // what happened
	Data    string // what it means for the data; empty when nothing was read or written
	Hint    string // what to do next
	Cause   error  // the error it was made from, for errors.Is and errors.As
}

// Error gives the whole problem as one line: position, task and output, message; data (hint).
func (p *Problem) Error() string {
	var b strings.Builder
	if s := p.Pos.String(); s != "" {
		b.WriteString(s + ": ")
	}
	switch {
	case p.Task != "" && p.Output != "":
		fmt.Fprintf(&b, "task %s, output %s: ", p.Task, p.Output)
	case p.Task != "":
		fmt.Fprintf(&b, "task %s: ", p.Task)
	}
	b.WriteString(p.Message)
	if p.Data != "" {
		b.WriteString("; " + p.Data)
	}
	line := strings.Join(strings.Fields(printable(b.String())), " ")
	if p.Hint != "" { // its spaces stay as they are: a command in it is pasted into a shell
		line += " (" + printable(p.Hint) + ")"
	}
	return line
}

// printable makes a text, of which parts may come from data, one that a terminal can be given: valid UTF-8 without
// control characters, those included that turn the direction of what follows.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
}

// Unwrap gives the error that the problem was made from.
func (p *Problem) Unwrap() error { return p.Cause }

// List is several problems found at once, such as all mistakes of a pipeline file.
type List []*Problem

// Error gives one line a problem.
func (l List) Error() string {
	lines := make([]string, len(l))
	for i, p := range l {
		lines[i] = p.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap lets errors.Is and errors.As look into each problem.
func (l List) Unwrap() []error {
	errs := make([]error, len(l))
	for i, p := range l {
		errs[i] = p
	}
	return errs
}

// Exit returns the exit code of the program for err: the worst of its problems (130 and 143 stand
// above all others), 4 for an error that is none, 0 for nil.
func Exit(err error) int {
	if err == nil {
		return ExitOK
	}
	var list List
	if errors.As(err, &list) && len(list) > 0 {
		worst := 0
		for _, p := range list {
			worst = max(worst, p.Code.Exit())
		}
		return worst
	}
	var p *Problem
	if errors.As(err, &p) {
		return p.Code.Exit()
	}
	return ExitFailed
}
