package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/ubunye-io/ubunye/engine/abi"
	"github.com/ubunye-io/ubunye/engine/compute"
	"github.com/ubunye-io/ubunye/engine/config"
	"github.com/ubunye-io/ubunye/engine/expect"
	"github.com/ubunye-io/ubunye/engine/ledger"
	"github.com/ubunye-io/ubunye/engine/plan"
	"github.com/ubunye-io/ubunye/engine/problem"
	"github.com/ubunye-io/ubunye/engine/writer"
)

// What became of the data, as people are told.
const (
	untouched = "nothing was read or written"
	nothing   = "nothing became visible"
)

// soFar is what became of the data when a start is refused now.
func (r *run) soFar() string {
	if r.record == nil {
		return untouched
	}
	return nothing
}

// outputError says at which output something failed.
type outputError struct {
	target plan.Target
	err    error
}

func (e *outputError) Error() string { return "output " + e.target.Name + ": " + e.err.Error() }
func (e *outputError) Unwrap() error { return e.err }

// explain turns an error of the packages below into what a person is told. What is a problem already
// stays one.
func (r *run) explain(err error, task string) problem.List {
	var kept *keptError
	if errors.As(err, &kept) {
		problems := r.explain(kept.err, task)
		for _, p := range problems {
			kept.say(p)
		}
		return problems
	}
	var list problem.List
	if errors.As(err, &list) {
		return list
	}
	var p *problem.Problem
	if errors.As(err, &p) {
		p = new(*p) // a signal's problem is told of every task
	} else {
		p = r.explainOne(err, task)
		p.Cause = err
	}
	if p.Task == "" {
		p.Task = task
	}
	var at *outputError
	if errors.As(err, &at) {
		if p.Output == "" {
			p.Output = at.target.Name
		}
		if p.Pos == (problem.Pos{}) {
			p.Pos = at.target.Pos
		}
	}
	return problem.List{p}
}

func (r *run) explainOne(err error, task string) *problem.Problem {
	for _, explain := range []func(error, string) *problem.Problem{r.explainState, r.explainRefusal, r.explainAccept, r.explainLedger, r.explainCompute, r.explainWriter} {
		if p := explain(err, task); p != nil {
			return p
		}
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return &problem.Problem{Code: problem.Interrupted, Message: "the run was told to stop", Data: nothing}
	}
	return &problem.Problem{Code: problem.Failed, Message: err.Error(), Data: nothing}
}

// explainLedger is for trouble with the ledger itself and for what happens on the way to the commit and after it.
func (r *run) explainLedger(err error, task string) *problem.Problem {
	var unwritable *ledger.UnwritableError
	var unreadable *ledger.UnreadableError
	var elsewhere *ledger.TargetElsewhereError
	var output *ledger.OutputUnwritableError
	var replace *ledger.ReplaceError
	var lost *ledger.LostError
	var unknown *ledger.UnknownError
	var landed *ledger.NotAllLandedError
	var silent *ledger.HeartbeatError
	var table *ledger.TableError
	switch {
	case errors.As(err, &table):
		return r.explainTable(table, task)
	case errors.As(err, &unwritable):
		return &problem.Problem{Code: problem.LedgerUnwritable, Pos: r.config.Ledger.Pos, Message: "refused: " + unwritable.Error(), Data: untouched,
			Hint: orMakeRoom(err, "make that folder writable or name another one as ledger: {path: …}; or set UBUNYE_RUN_LEASE=off to run without the promise that a batch lands once")}
	case errors.As(err, &unreadable):
		var pos problem.Pos
		if errors.Is(err, syscall.ENOTDIR) {
			pos = r.config.Ledger.Pos // no file of the ledger is at fault, but its place
		}
		return &problem.Problem{Code: problem.RecordUnreadable, Pos: pos, Message: "refused: " + unreadable.Error(), Data: "nothing is guessed and nothing was written",
			Hint: r.unreadableHint(unreadable)}
	case errors.As(err, &elsewhere):
		return &problem.Problem{Code: problem.TargetElsewhere, Output: elsewhere.Output, Pos: r.outputPos(task, elsewhere.Output), Message: "refused: " + elsewhere.Error(), Data: r.soFar(),
			Hint: "name that ledger as ledger: {path: …}, or write into another folder"}
	case errors.As(err, &output):
		return &problem.Problem{Code: problem.OutputUnwritable, Output: output.Output, Pos: r.outputPos(task, output.Output), Message: unwritableText(output), Data: nothing,
			Hint: orMakeRoom(err, unwritableHint(output.Err))}
	case errors.As(err, &replace):
		data := nothing
		if replace.Moved {
			data = "what had been moved was put back; if a warning says that it could not be, every start of the pipeline tries again"
		}
		return &problem.Problem{Code: problem.OutputUnwritable, Output: replace.Output, Pos: r.outputPos(task, replace.Output), Message: replace.Error(), Data: data,
			Hint: orMakeRoom(err, "what was staged is dropped; remove the cause and run again")}
	case errors.As(err, &lost):
		return &problem.Problem{Code: problem.RunLeaseLost, Task: lost.Batch.Task, Message: "the lease was lost: " + lost.Error(),
			Data: "this run made nothing visible", Hint: "nothing is to be done here: the other run has the batch"}
	case errors.As(err, &unknown):
		p := &problem.Problem{Code: problem.OutcomeUnknown, Task: unknown.Batch.Task, Output: unknown.Output, Message: unknown.Error(),
			Data: "nothing was removed; the batch is committed or not, never half", Hint: "run it again when the disk answers: the document " + unknown.Document + " decides"}
		if unknown.Output != "" {
			p.Pos, p.Hint = r.outputPos(task, unknown.Output), "run it again when the disk answers: the next run of the batch looks into the table's log"
		}
		return p
	case errors.As(err, &landed):
		return r.explainLanded(landed)
	case errors.As(err, &silent):
		return &problem.Problem{Code: problem.RunLeaseLost, Message: silent.Error(), Data: nothing,
			Hint: "the run ended itself before others could judge it dead; run it again when the disk answers"}
	}
	return nil
}

// explainTable is for a table that could not be asked, or was not committed to.
func (r *run) explainTable(e *ledger.TableError, task string) *problem.Problem {
	p := r.explainWriter(e.Err, task)
	var said *notCommitted
	switch {
	case errors.As(e.Err, &said):
		p = &problem.Problem{Code: problem.WriterFailed, Message: fmt.Sprintf("the table %s was not committed to: %s", e.Path, said.message), Hint: said.hint}
	case p == nil:
		p = &problem.Problem{Code: problem.OutputUnwritable, Message: e.Error(), Hint: orMakeRoom(e.Err, "remove the cause and run again")}
	}
	p.Output, p.Pos, p.Data = e.Output, r.outputPos(task, e.Output), nothing
	return p
}

// orMakeRoom is the hint for a folder that cannot be written: rights are no help where the disk is full.
func orMakeRoom(err error, otherwise string) string {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return "make room on that disk and run again"
	}
	return otherwise
}

// explainLanded says what readers see meanwhile.
func (r *run) explainLanded(e *ledger.NotAllLandedError) *problem.Problem {
	p := &problem.Problem{Code: problem.NotAllLanded, Task: e.Batch.Task,
		Message: fmt.Sprintf("batch %s is committed, and all of it landed, but that could not be written down: %v", ledgerBatchText(e.Batch), e.Err),
		Data:    "nothing is lost: every start of the pipeline goes on with it", Hint: "remove the cause and run the pipeline again"}
	if len(e.Left) == 0 {
		return p
	}
	left := e.Left[0]
	p.Output = left.Entry.Output
	p.Hint = "remove the cause; then any start of the pipeline goes on with it, or, without running anything: " + r.recoverCommand()
	p.Message = fmt.Sprintf("batch %s is committed, but not all of it landed: %s: %s: %v", ledgerBatchText(e.Batch), left.Entry.Do, left.Path, left.Err)
	if left.Entry.Do == ledger.Remove {
		p.Message = fmt.Sprintf("batch %s is committed and landed, but the files that it replaces could not be removed: %s: %v", ledgerBatchText(e.Batch), left.Path, left.Err)
		p.Data = "until they are, readers see the old rows beside the new ones; every start of the pipeline tries again"
	}
	return p
}

// explainCompute places what the compute engine says in the data file, the SQL or the pipeline.
func (r *run) explainCompute(err error, task string) *problem.Problem {
	var e *compute.Error
	if !errors.As(err, &e) {
		return nil
	}
	plain := *e // a relation that checks divide has another name for the compute engine
	plain.Input, plain.Step = expect.Plain(e.Input), expect.Plain(e.Step)
	p := computeProblem(&plain)
	p.Pos = r.computePos(&plain, task)
	return p
}

// computeProblem is what the compute engine says, but for its place in the pipeline.
func computeProblem(e *compute.Error) *problem.Problem {
	p := &problem.Problem{Code: problem.ComputeFailed, Message: e.Message, Hint: e.Hint, Data: nothing}
	switch e.Kind {
	case compute.InputInvalid:
		p.Code = problem.InputInvalid
	case compute.TooManyRejects:
		p.Code = problem.TooManyRejects
	case compute.InputMissing:
		p.Code = problem.InputMissing
		p.Message = e.File + ": " + p.Message // the position is that of the path in the pipeline
	case compute.QueryInvalid, compute.BadOption:
		p.Code = problem.ConfigInvalid
	case compute.OutputInvalid, compute.OutputFailed:
		p.Code = problem.WriterFailed
	}
	if e.Column != "" {
		p.Message = "column " + e.Column + ": " + p.Message
	}
	switch {
	case e.Input != "":
		p.Message = "input " + e.Input + ": " + p.Message
	case e.Step != "":
		p.Message = "step " + e.Step + ": " + p.Message
	}
	return p
}

// computePos is the place in the data file if there is one, else in the pipeline.
func (r *run) computePos(e *compute.Error, task string) problem.Pos {
	if e.File != "" && e.Kind != compute.InputMissing && e.Kind != compute.BadOption {
		return problem.Pos{File: e.File, Line: int(e.Line)}
	}
	for _, t := range r.plan.Tasks {
		if t.Name != task {
			continue
		}
		for _, in := range t.Inputs {
			if in.Name != e.Input {
				continue
			}
			return inputPos(in, e)
		}
		for _, s := range t.Steps {
			if s.Name == e.Step {
				return within(s, e)
			}
		}
	}
	return problem.Pos{}
}

// inputPos is the place in the pipeline of what is wrong with an input: its path, an option, a column, or the whole of it.
func inputPos(in config.Input, e *compute.Error) problem.Pos {
	if e.Kind == compute.InputMissing || e.File != "" {
		return in.PathPos
	}
	if at, ok := in.OptionsAt[e.Option]; ok {
		return at.Pos
	}
	for _, c := range in.Columns {
		if c.Name == e.Column {
			return c.Pos
		}
	}
	return in.Pos
}

// unreadableHint says what helps against something of a ledger that is there and cannot be used.
func (r *run) unreadableHint(e *ledger.UnreadableError) string {
	switch {
	case errors.Is(e.Err, syscall.ENOTDIR):
		return "a file is where a folder of the ledger must be: name another folder as ledger: {path: …}"
	case errors.Is(e.Err, fs.ErrPermission):
		return "give this user the right to read it; it is never taken for absent"
	case r.ledger != nil && e.Path == filepath.Join(r.ledger.Path(), "id"):
		return "write it back: 32 hex digits, which the file _ubunye-target in every folder that this pipeline wrote to has as ledger"
	}
	if key := r.keyOf(e.Path); key != "" {
		return "restore the file, or use the program that wrote it; if neither is possible, go on from the version before it: " + r.recoverCommand("--set-aside", key)
	}
	if r.ledger != nil && filepath.Dir(filepath.Dir(filepath.Dir(e.Path))) == filepath.Join(r.ledger.Path(), "batches") {
		return "restore the folder from a copy of the ledger; without one nobody can tell which rows of this batch are in the outputs: look there first, and then have it count as new by " +
			quoteAll([]string{"mv", e.Path, filepath.Join(r.ledger.Path(), filepath.Base(e.Path)+".lost")})
	}
	if dir, name := filepath.Split(e.Path); filepath.Base(dir) == "runs" {
		run := dir + strings.TrimSuffix(strings.TrimSuffix(name, ".json"), ".beat")
		return "restore the file, or use the program that wrote it; if neither is possible, and the run of that name has certainly ended: " +
			quoteAll([]string{"rm", "-f", run + ".json", run + ".beat"}) + " ; then " + r.recoverCommand() + " finishes what it left"
	}
	return "restore the file, or use the program that wrote it; it is never taken for absent"
}

// keyOf is the key of the batch whose document a path is a version of; "" if it is none.
func (r *run) keyOf(path string) string {
	if r.ledger == nil {
		return ""
	}
	rel, err := filepath.Rel(filepath.Join(r.ledger.Path(), "batches"), path)
	if words := strings.Split(filepath.ToSlash(rel), "/"); err == nil && len(words) == 4 && words[0] != ".." {
		return words[2]
	}
	return ""
}

// unwritableText says why files cannot be staged or landed; the name of what was tried there means nothing to people.
func unwritableText(e *ledger.OutputUnwritableError) string {
	var path *fs.PathError
	if errors.As(e.Err, &path) {
		return fmt.Sprintf("%s %s: %v in %s", e.Cannot(), e.Path, path.Err, filepath.Dir(path.Path))
	}
	return e.Error()
}

// unwritableHint says what helps against an output folder that cannot be made or written.
func unwritableHint(err error) string {
	switch {
	case errors.Is(err, syscall.ENOTDIR):
		return "a file is where a folder must be: remove it, or name another folder"
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return "make the folder writable for this user"
	}
	return "remove the cause, or name another folder"
}

// outputPos is the place of an output's path in the pipeline.
func (r *run) outputPos(task, output string) problem.Pos {
	for _, t := range r.plan.Tasks {
		for _, o := range t.Targets {
			if t.Name == task && o.Name == output {
				return o.PathPos
			}
		}
	}
	return problem.Pos{}
}

// within is the place of a line and column of a step's SQL: exact in a file of its own; in the pipeline
// file only the start of the text is known, since YAML may fold and indent it.
func within(s config.Step, e *compute.Error) problem.Pos {
	if s.File != "" && e.Line > 0 {
		return problem.Pos{File: s.File, Line: int(e.Line), Col: e.Col}
	}
	return s.Pos
}

func (r *run) explainWriter(err error, _ string) *problem.Problem {
	var e *writer.Error
	if !errors.As(err, &e) {
		return nil
	}
	p := &problem.Problem{Code: problem.WriterFailed, Message: e.Error(), Hint: e.Hint, Data: nothing}
	var reported *abi.Failure
	switch {
	case e.Kind == writer.Missing:
		p.Code = problem.PluginMissing
	case e.Kind == writer.Reported && errors.As(err, &reported) && reported.Code == abi.CodeInvalid:
		p.Code = problem.ConfigInvalid // the writer cannot do what the pipeline asks of it, whatever the rows are
	}
	var at *outputError
	if errors.As(err, &at) && p.Hint == "" {
		p.Hint = hintLimit(at.target.Plugin, e.Kind)
	}
	return p
}

// when prints a time as people read it, in UTC so that logs of several machines agree.
func when(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// batchText is a batch's variables as people write them.
func batchText(b plan.Batch) string { return variablesText(b.Variables, b.Profile) }

func ledgerBatchText(b ledger.Batch) string {
	if text := variablesText(b.Variables, b.Profile); text != "" {
		return text
	}
	return b.Task
}
