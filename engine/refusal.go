package engine

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/ubunye-io/ubunye/engine/ledger"
	"github.com/ubunye-io/ubunye/engine/problem"
	"github.com/ubunye-io/ubunye/engine/report"
)

// explainRefusal is for what stops a run before it read or wrote anything.
func (r *run) explainRefusal(err error, _ string) *problem.Problem {
	var held *ledger.HeldError
	var finished *ledger.FinishedError
	var kept *ledger.KeptError
	var missing *ledger.ClaimsMissingError
	var left *ledger.LeftError
	var target *ledger.TargetHeldError
	var twice *ledger.TargetTwiceError
	var pinned *ledger.PinnedError
	switch {
	case errors.As(err, &pinned):
		return r.explainPinned(pinned)
	case errors.As(err, &held):
		return waitedFor(err, r.explainHeld(held))
	case errors.As(err, &target):
		return waitedFor(err, r.explainTargetHeld(target))
	case errors.As(err, &twice):
		return &problem.Problem{Code: problem.ConfigInvalid, Message: "refused: " + twice.Error(), Data: untouched,
			Hint: "give each output a folder of its own"}
	case errors.As(err, &finished):
		return r.explainFinished(finished)
	case errors.As(err, &kept):
		return &problem.Problem{Code: problem.WorkLeft, Task: kept.Batch.Task, Output: kept.Output,
			Message: fmt.Sprintf("refused: run %s had replaced this output with the rows of batch %s, and ended before its commit; an append would add the batch a second time",
				kept.Run, ledgerBatchText(kept.Batch)),
			Data: untouched,
			Hint: "to replace those rows, run with the mode that wrote them; if they are gone: " + r.command("--rerun") + " adds to what is there"}
	case errors.As(err, &missing):
		return &problem.Problem{Code: problem.WorkLeft, Task: missing.Batch.Task, Output: missing.Output,
			Message: fmt.Sprintf("refused: %d of the %d files that batch %s landed in %s are gone (the first: %s), compacted or moved perhaps: replacing the batch might leave its old rows beside the new ones",
				missing.Missing, missing.Of, ledgerBatchText(missing.Batch), missing.Base, missing.Example),
			Data: untouched, Hint: "when the old rows are gone for good: " + r.command("--rerun=anyway")}
	case errors.As(err, &left):
		first := left.Left[0]
		return &problem.Problem{Code: problem.WorkLeft, Task: left.Batch.Task, Output: first.Entry.Output,
			Message: fmt.Sprintf("refused: what run %s left of batch %s cannot be finished: %s: %v", first.Entry.Run, ledgerBatchText(left.Batch), first.Path, first.Err),
			Data:    "nothing is lost: it stays on the list of the batch, and every start tries again",
			Hint:    "make that path usable and run again; if that can never be, give it up: " + r.recoverCommand("--forget", first.Entry.Run)}
	}
	return nil
}

func (r *run) explainHeld(e *ledger.HeldError) *problem.Problem {
	who := fmt.Sprintf("run %s (host %s, process %d, since %s)", e.Holder.Run, e.Holder.Host, e.Holder.PID, when(e.Holder.Since))
	p := &problem.Problem{Code: problem.RunLeaseHeld, Task: e.Batch.Task, Data: untouched}
	p.Message = fmt.Sprintf("refused: batch %s is held by %s, %s; after %s without one it is taken for dead", ledgerBatchText(e.Batch), who, lastSign(e.Age), r.config.Ledger.Timeout)
	p.Hint = r.waitHint(e.Holder.Run, e.Age) + fmt.Sprintf(" ; do not delete its document %s: the batch could then land twice", e.Document)
	return p
}

// waitHint is the way on where another run is in the way. That it may be declared dead is said only of one that
// should have given a sign by now: most are alive.
func (r *run) waitHint(other string, age time.Duration) string {
	hint := "stop it, or wait for it to end: "
	if r.options.Wait > 0 {
		hint += "with a longer --wait"
	} else {
		hint += r.command("--wait=10m")
	}
	if age.Abs() > 3*r.config.Ledger.Heartbeat { // one from the future says no more than an old one
		hint += " ; if you know that it is dead: " + r.recoverCommand("--dead", other)
	}
	return hint
}

// waitedFor says so if the run had waited before it was refused.
func waitedFor(err error, p *problem.Problem) *problem.Problem {
	var waited *ledger.WaitedError
	if errors.As(err, &waited) {
		p.Code = problem.WaitTimedOut
		p.Message += fmt.Sprintf("; waited %s for it", waited.For.Round(time.Second))
	}
	return p
}

// lastSign says how old a heartbeat is.
func lastSign(age time.Duration) string {
	if age <= -time.Second {
		return "whose last heartbeat is " + report.Ago(age) + ": the clock of the ledger's disk was set back"
	}
	return "whose last heartbeat was " + report.Ago(age)
}

// explainTargetHeld is for a run that another one excludes, because one of the two replaces the folder.
func (r *run) explainTargetHeld(e *ledger.TargetHeldError) *problem.Problem {
	who := fmt.Sprintf("run %s of pipeline %s (host %s, process %d, since %s", e.Other.Run, e.Other.Pipeline, e.Other.Host, e.Other.PID, when(e.Other.Since))
	p := &problem.Problem{Code: problem.RunLeaseHeld, Data: untouched, Hint: r.waitHint(e.Other.Run, e.Age)}
	for _, t := range r.plan.Tasks {
		for _, o := range t.Targets {
			if o.Path == e.Path {
				p.Task, p.Output, p.Pos = t.Name, o.Name, o.PathPos
			}
		}
	}
	const why = "and one of the two replaces what is there"
	switch {
	case e.Asking:
		p.Message = fmt.Sprintf("refused: %s) asks for %s too, %s, and it came first", who, e.Path, why)
	default:
		p.Message = fmt.Sprintf("refused: %s; last heartbeat %s) writes to %s too, %s", who, report.Ago(e.Age), e.Path, why)
	}
	return p
}

func (r *run) explainFinished(e *ledger.FinishedError) *problem.Problem {
	var rows, files int64
	for _, o := range e.Finished.Outputs {
		rows, files = rows+o.Rows, files+o.Files
	}
	if name := r.cannotTakeBack(e); name != "" {
		return &problem.Problem{Code: problem.BatchFinished, Task: e.Batch.Task, Output: name,
			Message: fmt.Sprintf("refused: batch %s is finished since %s (run %s), which replaced what was in the folder; an append would add the batch a second time",
				ledgerBatchText(e.Batch), when(e.Finished.At), e.Finished.Run),
			Data: untouched,
			Hint: "what an overwrite wrote cannot be taken back: " + r.command("--rerun") + " would leave its rows and add these to them; to replace them, run with the mode that wrote them"}
	}
	if name := appended(e.Finished); name != "" {
		return r.explainAppended(e, name)
	}
	what := fmt.Sprintf("run %s: %s in %s", e.Finished.Run, report.Count(rows, "row"), report.Count(files, "file"))
	if from := importedText(&e.Finished); from != "" {
		what = from + ": " + report.Count(files, "file")
	}
	return &problem.Problem{Code: problem.BatchFinished, Task: e.Batch.Task,
		Message: fmt.Sprintf("refused: batch %s is finished since %s (%s); running it again would add the batch twice", ledgerBatchText(e.Batch), when(e.Finished.At), what),
		Data:    untouched,
		Hint:    "to replace it: " + r.command("--rerun") + r.thenReaders(e.Batch.Task) + r.keepAndRunTheRest() + " ; if this is other data, declare a variable that differs for each load and give it with --var"}
}

// appended names an output that is a table which the batch was added to: a rerun replaces nothing there. Empty: there is none.
func appended(f ledger.Finished) string {
	for _, name := range slices.Sorted(maps.Keys(f.Outputs)) {
		if o := f.Outputs[name]; o.Mark != nil && o.Class != ledger.Replaces {
			return name
		}
	}
	return ""
}

// explainAppended refuses a finished batch whose rows a table has for good.
func (r *run) explainAppended(e *ledger.FinishedError, output string) *problem.Problem {
	return &problem.Problem{Code: problem.BatchFinished, Task: e.Batch.Task, Output: output, Data: untouched,
		Message: fmt.Sprintf("refused: batch %s is finished since %s (run %s, in the table as %s); running it again would add the batch twice", ledgerBatchText(e.Batch), when(e.Finished.At), e.Finished.Run,
			e.Finished.Outputs[output].Mark.Commit),
		Hint: "a table keeps what was added to it: to replace the rows, take them out of it and run " + r.command("--rerun") + ", which adds them again; with replace_where every run replaces its own" +
			r.thenReaders(e.Batch.Task) + r.keepAndRunTheRest() + " ; if this is other data, declare a variable that differs for each load and give it with --var"}
}

// keepAndRunTheRest is the way on where other tasks have still to run.
func (r *run) keepAndRunTheRest() string {
	if !r.left || r.options.Resume {
		return ""
	}
	return " ; to keep what is finished and run the rest: " + r.commandWith("--resume")
}

// cannotTakeBack names an output that replaced its folder when the batch finished, and that does so no more: a rerun
// would leave those rows (R45). Empty: there is none, and a rerun replaces the batch.
func (r *run) cannotTakeBack(e *ledger.FinishedError) string {
	var replaces []string
	for _, t := range r.plan.Tasks {
		if t.Name == e.Batch.Task {
			replaces = replacing(t)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(e.Finished.Outputs)) {
		if e.Finished.Outputs[name].Class == ledger.Replaces && !slices.Contains(replaces, name) {
			return name
		}
	}
	return ""
}
