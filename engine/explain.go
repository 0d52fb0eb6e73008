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
	"unicode"
	"unicode/utf8"

	"github.com/ubunye-io/ubunye/engine/abi"
	"github.com/ubunye-io/ubunye/engine/compute"
	"github.com/ubunye-io/ubunye/engine/config"
	"github.com/ubunye-io/ubunye/engine/ledger"
	"github.com/ubunye-io/ubunye/engine/plan"
	"github.com/ubunye-io/ubunye/engine/problem"
	"github.com/ubunye-io/ubunye/engine/report"
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
	for _, explain := range []func(error, string) *problem.Problem{r.explainRefusal, r.explainLedger, r.explainCompute, r.explainWriter} {
		if p := explain(err, task); p != nil {
			return p
		}
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return &problem.Problem{Code: problem.Interrupted, Message: "the run was told to stop", Data: nothing}
	}
	return &problem.Problem{Code: problem.Failed, Message: err.Error(), Data: nothing}
}

// explainRefusal is for what stops a run before it read or wrote anything.
func (r *run) explainRefusal(err error, _ string) *problem.Problem {
	var held *ledger.HeldError
	var finished *ledger.FinishedError
	var missing *ledger.ClaimsMissingError
	var left *ledger.LeftError
	var target *ledger.TargetHeldError
	var twice *ledger.TargetTwiceError
	switch {
	case errors.As(err, &held):
		return r.explainHeld(held)
	case errors.As(err, &target):
		return r.explainTargetHeld(target)
	case errors.As(err, &twice):
		return &problem.Problem{Code: problem.ConfigInvalid, Message: "refused: " + twice.Error(), Data: untouched,
			Hint: "give each output a folder of its own"}
	case errors.As(err, &finished):
		return r.explainFinished(finished)
	case errors.As(err, &missing):
		return &problem.Problem{Code: problem.WorkLeft, Task: missing.Batch.Task, Output: missing.Output,
			Message: fmt.Sprintf("refused: %d of the %d files that batch %s landed in %s are gone (the first: %s), compacted or moved perhaps: replacing the batch might leave its old rows beside the new ones",
				missing.Missing, missing.Of, ledgerBatchText(missing.Batch), missing.Base, missing.Example),
			Data: untouched, Hint: "when the old rows are gone for good: " + r.command("--rerun=anyway")}
	case errors.As(err, &left):
		first := left.Left[0]
		return &problem.Problem{Code: problem.WorkLeft, Task: left.Batch.Task, Output: first.Entry.Output,
			Message: fmt.Sprintf("refused: what run %s left of batch %s cannot be finished: %s: %v", first.Entry.Run, ledgerBatchText(left.Batch), first.Path, first.Err),
			Data:    "nothing is lost: it stays on the list of the batch, and every start tries again", Hint: "make that path usable and run again"}
	}
	return nil
}

func (r *run) explainHeld(e *ledger.HeldError) *problem.Problem {
	who := fmt.Sprintf("run %s (host %s, process %d, since %s)", e.Holder.Run, e.Holder.Host, e.Holder.PID, when(e.Holder.Since))
	p := &problem.Problem{Code: problem.RunLeaseHeld, Task: e.Batch.Task, Data: untouched}
	if e.Gone {
		p.Message = fmt.Sprintf("refused: batch %s is held by %s, whose process is gone", ledgerBatchText(e.Batch), who)
		p.Hint = fmt.Sprintf("this version does not take over from the dead; do not delete its document %s: it says what that run left", e.Document)
		return p
	}
	p.Message = fmt.Sprintf("refused: batch %s is held by %s, whose last heartbeat was %s ago", ledgerBatchText(e.Batch), who, e.Age.Round(time.Second))
	p.Hint = fmt.Sprintf("wait for it to end, or stop it; do not delete its document %s: the batch could then land twice", e.Document)
	return p
}

// explainTargetHeld is for a run that another one excludes, because one of the two replaces the folder.
func (r *run) explainTargetHeld(e *ledger.TargetHeldError) *problem.Problem {
	who := fmt.Sprintf("run %s of pipeline %s (host %s, process %d, since %s", e.Other.Run, e.Other.Pipeline, e.Other.Host, e.Other.PID, when(e.Other.Since))
	p := &problem.Problem{Code: problem.RunLeaseHeld, Data: untouched, Hint: "wait for it to end, or stop it"}
	for _, t := range r.plan.Tasks {
		for _, o := range t.Targets {
			if o.Path == e.Path {
				p.Task, p.Output, p.Pos = t.Name, o.Name, o.PathPos
			}
		}
	}
	const why = "and one of the two replaces what is there"
	switch {
	case e.Gone:
		p.Message = fmt.Sprintf("refused: %s), which has ended, was writing to %s, %s; it still holds batch %s of task %s", who, e.Path, why, ledgerBatchText(e.Batch), e.Batch.Task)
		p.Hint = "this version does not take over from the dead; do not delete the documents of its batches: they say what it left"
	case e.Asking:
		p.Message = fmt.Sprintf("refused: %s) asks for %s too, %s, and it came first", who, e.Path, why)
	default:
		p.Message = fmt.Sprintf("refused: %s; last heartbeat %s ago) writes to %s too, %s", who, e.Age.Round(time.Second), e.Path, why)
	}
	return p
}

func (r *run) explainFinished(e *ledger.FinishedError) *problem.Problem {
	var rows, files int64
	for _, o := range e.Finished.Outputs {
		rows, files = rows+o.Rows, files+o.Files
	}
	for name, o := range e.Finished.Outputs {
		if o.Class == ledger.Replaces {
			return &problem.Problem{Code: problem.BatchFinished, Task: e.Batch.Task, Output: name,
				Message: fmt.Sprintf("refused: batch %s is finished since %s (run %s), which replaced what was in the folder; an append would add the batch a second time",
					ledgerBatchText(e.Batch), when(e.Finished.At), e.Finished.Run),
				Data: untouched,
				Hint: "what an overwrite wrote cannot be taken back: " + r.command("--rerun") + " would leave its rows and add these to them; to replace them, run with the mode that wrote them"}
		}
	}
	return &problem.Problem{Code: problem.BatchFinished, Task: e.Batch.Task,
		Message: fmt.Sprintf("refused: batch %s is finished since %s (run %s: %s in %s); running it again would add the batch twice",
			ledgerBatchText(e.Batch), when(e.Finished.At), e.Finished.Run, report.Count(rows, "row"), report.Count(files, "file")),
		Data: untouched,
		Hint: "to replace it: " + r.command("--rerun") + r.thenReaders(e.Batch.Task) + " ; if this is other data, declare a variable that differs for each load and give it with --var"}
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
	switch {
	case errors.As(err, &unwritable):
		return &problem.Problem{Code: problem.LedgerUnwritable, Pos: r.config.Ledger.Pos, Message: "refused: " + unwritable.Error(), Data: untouched,
			Hint: orMakeRoom(err, "make that folder writable or name another one as ledger: {path: …}; or set UBUNYE_RUN_LEASE=off to run without the promise that a batch lands once")}
	case errors.As(err, &unreadable):
		var pos problem.Pos
		if errors.Is(err, syscall.ENOTDIR) {
			pos = r.config.Ledger.Pos // no file of the ledger is at fault, but its place
		}
		return &problem.Problem{Code: problem.RecordUnreadable, Pos: pos, Message: "refused: " + unreadable.Error(), Data: "nothing is guessed and nothing was written",
			Hint: unreadableHint(unreadable.Err)}
	case errors.As(err, &elsewhere):
		return &problem.Problem{Code: problem.TargetElsewhere, Output: elsewhere.Output, Pos: r.outputPos(task, elsewhere.Output), Message: "refused: " + elsewhere.Error(), Data: r.soFar(),
			Hint: "name that ledger as ledger: {path: …}, or write into another folder"}
	case errors.As(err, &output):
		return &problem.Problem{Code: problem.OutputUnwritable, Output: output.Output, Pos: r.outputPos(task, output.Output), Message: unwritableText(output), Data: nothing,
			Hint: orMakeRoom(err, unwritableHint(output.Err))}
	case errors.As(err, &replace):
		return &problem.Problem{Code: problem.OutputUnwritable, Output: replace.Output, Pos: r.outputPos(task, replace.Output), Message: replace.Error(), Data: nothing,
			Hint: orMakeRoom(err, "what was staged is dropped; remove the cause and run again")}
	case errors.As(err, &lost):
		return &problem.Problem{Code: problem.RunLeaseLost, Task: lost.Batch.Task, Message: "the lease was lost: " + lost.Error(),
			Data: "this run made nothing visible", Hint: "nothing is to be done here: the other run has the batch"}
	case errors.As(err, &unknown):
		return &problem.Problem{Code: problem.OutcomeUnknown, Task: unknown.Batch.Task, Message: unknown.Error(),
			Data: "nothing was removed; the batch is committed or not, never half", Hint: "run it again when the disk answers: the document " + unknown.Document + " decides"}
	case errors.As(err, &landed):
		return r.explainLanded(landed)
	case errors.As(err, &silent):
		return &problem.Problem{Code: problem.RunLeaseLost, Message: silent.Error(), Data: nothing,
			Hint: "the run ended itself before others could judge it dead; run it again when the disk answers"}
	}
	return nil
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
	p := &problem.Problem{Code: problem.ComputeFailed, Message: e.Message, Hint: e.Hint, Data: nothing}
	switch e.Kind {
	case compute.InputInvalid:
		p.Code = problem.InputInvalid
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
	p.Pos = r.computePos(e, task)
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

// inputPos is the place in the pipeline of what is wrong with an input: its path, a column, or the whole of it.
func inputPos(in config.Input, e *compute.Error) problem.Pos {
	if e.Kind == compute.InputMissing || e.File != "" {
		return in.PathPos
	}
	for _, c := range in.Columns {
		if c.Name == e.Column {
			return c.Pos
		}
	}
	return in.Pos
}

// unreadableHint says what helps against something of a ledger that is there and cannot be used.
func unreadableHint(err error) string {
	switch {
	case errors.Is(err, syscall.ENOTDIR):
		return "a file is where a folder of the ledger must be: name another folder as ledger: {path: …}"
	case errors.Is(err, fs.ErrPermission):
		return "give this user the right to read it; it is never taken for absent"
	}
	return "restore the file, or use the program that wrote it; it is never taken for absent"
}

// unwritableText says why files cannot be landed; the name of what was tried there means nothing to people.
func unwritableText(e *ledger.OutputUnwritableError) string {
	var path *fs.PathError
	if errors.As(e.Err, &path) {
		return fmt.Sprintf("files cannot be landed in %s: %v in %s", e.Path, path.Err, filepath.Dir(path.Path))
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

// command is what the person typed, with one more flag, ready to be pasted into a shell.
func (r *run) command(flag string) string {
	words := append([]string(nil), r.options.Command...)
	if flag != "" {
		words = append(words, flag)
	}
	for i, w := range words {
		words[i] = shellQuote(w)
	}
	return strings.Join(words, " ")
}

// shellQuote quotes a word for the shells that people type into, if it needs it.
func shellQuote(word string) string {
	safe := func(r rune) bool {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("-_./:=,@%+", r)
	}
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !safe(r) }) < 0 {
		return word
	}
	if strings.ContainsFunc(word, unprintable) {
		return dollarQuote(word)
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// unprintable is for what a problem's line shows as something else.
func unprintable(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == utf8.RuneError
}

// dollarQuote quotes a word with characters that must not reach the line that shows it.
func dollarQuote(word string) string {
	var b strings.Builder
	for at, r := range word {
		switch {
		case r == '\'' || r == '\\':
			b.WriteString(`\` + string(r))
		case unprintable(r):
			_, size := utf8.DecodeRuneInString(word[at:])
			for _, c := range []byte(word[at : at+size]) {
				fmt.Fprintf(&b, `\%03o`, c)
			}
		default:
			b.WriteRune(r)
		}
	}
	return "$'" + b.String() + "'"
}

// batchText is a batch's variables as people write them.
func batchText(b plan.Batch) string { return variablesText(b.Variables, b.Profile) }

func ledgerBatchText(b ledger.Batch) string {
	if text := variablesText(b.Variables, b.Profile); text != "" {
		return text
	}
	return b.Task
}
