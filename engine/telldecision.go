package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ubunye-io/ubunye/engine/config"
	"github.com/ubunye-io/ubunye/engine/ledger"
	"github.com/ubunye-io/ubunye/engine/plan"
	"github.com/ubunye-io/ubunye/engine/report"
	"github.com/ubunye-io/ubunye/engine/runstate"
)

// conclude ends a start that has nothing to run, because all tasks are done: it tells so, and brings the run state up to
// that. again: another start went on with the run meanwhile, so everything is to be looked at anew.
func (r *run) conclude(ctx context.Context) (again bool) {
	defer func() {
		if r.record != nil { // it held its batches when it turned out that all is done
			r.end(ctx, ledger.Succeeded)
			r.record = nil
		}
	}()
	d := r.standing.decision
	var err error
	if d.Recovery {
		if err = r.create(); errors.As(err, new(*runstate.TakenError)) {
			return true
		}
	} else if d.Finish != nil {
		err = r.stateFolder().FinishMove(d.Finish)
	}
	r.tellDecision(ctx)
	if err != nil {
		r.warn(fmt.Sprintf("that all is done could not be written to the run state: %v; the data is not touched by that, and the next start tries again", err))
	}
	r.keeper.finish()
	r.tellCompleted()
	r.haveTold(ctx)
	return false
}

// tellDecision tells what a start goes on with, and what it leaves.
func (r *run) tellDecision(ctx context.Context) {
	if r.standing == nil {
		return
	}
	s, d := r.standing.snapshot, r.standing.decision
	if text := r.continuedText(); text != "" {
		r.emit(report.Event{Kind: report.RunContinued, Pipeline: r.config.Name, StateRun: d.Run, Attempt: d.Attempt, Carried: r.carried(), Message: text})
	}
	switch x := d.Accepted; {
	case x == nil:
	case x.Document.Damaged():
		r.warn(fmt.Sprintf("run %d was given up, because its file could not be read: what it had done is not known", x.Run))
	case len(x.Document.Unfinished()) == 0:
	default:
		r.warn(fmt.Sprintf("run runId=%d attemptId=%d has unfinished actions (%s), but its state file is accepted", x.Run, x.Attempt, strings.Join(x.Document.Unfinished(), ", ")))
	}
	if x := d.Abandoned; x != nil {
		r.warn(fmt.Sprintf("run %d stays unfinished (%s), and this is run %d; to give it up: %s", x.Run, strings.Join(x.Document.Unfinished(), ", "), d.Run, r.acceptCommand(x.Run)))
	}
	if x := s.Latest; x != nil && x.Both {
		r.warn(fmt.Sprintf("run %d, attempt %d, has a state file in current/ and in succeeded/ of %s: the one in succeeded/ counts", x.Run, x.Attempt, r.config.State.Path))
	}
	if text := othersText(r.endOthers(ctx, s.Unfinished)); text != "" && r.options.Beside == 0 { // the dates of a backfill are told of by that
		r.warn(text)
	}
}

// mostNamed is how many of many things are named in one line.
const mostNamed = 5

// continuedText says which run goes on, and what is kept; "" if a run begins and nothing is.
func (r *run) continuedText() string {
	d := r.standing.decision
	var parts []string
	more := 0
	for _, t := range r.plan.Tasks {
		k, is := r.standing.kept[t.Name]
		switch {
		case !is || r.completed[t.Name] != nil: // told by itself
		case len(parts) == mostNamed:
			more++
		default:
			parts = append(parts, t.Name+" "+keptText(k.action, d.Run))
		}
	}
	if more > 0 {
		parts = append(parts, fmt.Sprintf("%s more are kept", report.Count(int64(more), "task")))
	}
	text := ""
	switch {
	case d.Recovery:
		text = fmt.Sprintf("continuing run %d as attempt %d", d.Run, d.Attempt)
	case len(parts) == 0:
		return ""
	default:
		text = fmt.Sprintf("run %d", d.Run)
	}
	if len(parts) > 0 {
		text += ": " + strings.Join(parts, ", ")
	}
	if len(d.Reconfigured) > 0 {
		text += "; not as they were in the attempt before: " + strings.Join(d.Reconfigured, ", ")
	}
	if r.allDone() {
		text += "; nothing is left to be done"
	}
	return text
}

// keptText says of a task that is kept what became of it, and in which attempt.
func keptText(a runstate.Action, run int64) string {
	by := fmt.Sprintf("attempt %d", a.Execution.Attempt)
	if a.Execution.Run != run {
		by = fmt.Sprintf("run %d, attempt %d", a.Execution.Run, a.Execution.Attempt)
	}
	switch {
	case a.Accepted != nil:
		return fmt.Sprintf("is left as it is, given up by %s", a.Accepted.Who)
	case a.State == runstate.Skipped:
		return "found nothing new in " + by
	case a.State == runstate.Cancelled:
		return "had nothing to do in " + by
	case a.End == nil:
		return "is kept as finished by " + by
	}
	return fmt.Sprintf("is kept as finished %s by %s", when(*a.End), by)
}

// carried lists the tasks that are kept.
func (r *run) carried() (all []report.Carried) {
	for _, t := range r.plan.Tasks {
		if k, is := r.standing.kept[t.Name]; is {
			c := report.Carried{Task: t.Name, State: string(k.action.State), Run: k.action.Execution.Run, Attempt: k.action.Execution.Attempt, At: k.action.End}
			all = append(all, c)
		}
	}
	return all
}

// endOthers has the state of other runs say that they have ended, which died before they could, and gives the rest. What it
// cannot read or write is left to a start with the variables of that run.
func (r *run) endOthers(ctx context.Context, all []*runstate.Found) (rest []*runstate.Found) {
	for _, x := range all {
		if ends := r.endOf(ctx, x); ends == nil || r.stateFolder().FinishMove(ends) != nil {
			rest = append(rest, x)
		}
	}
	return rest
}

// endOf is a run as one that has ended, if the ledger has commits of it for all its tasks; nil: it has not.
func (r *run) endOf(ctx context.Context, x *runstate.Found) *runstate.Found {
	if x.Alive || x.Document == nil {
		return nil
	}
	var tasks []runstate.Task
	for _, name := range x.Document.Unfinished() {
		t := plan.Task{Task: config.Task{Name: name}, Batch: plan.BatchOf(r.config.Name, name, x.Document.App.Variables, x.Document.App.Profile)}
		view, err := r.ledger.Look(ctx, ledgerBatch(t.Batch))
		if err != nil || view.Finished == nil {
			return nil
		}
		for output := range view.Finished.Outputs {
			t.Targets = append(t.Targets, plan.Target{Output: config.Output{Name: output}})
		}
		f := view.Finished
		tasks = append(tasks, runstate.Task{Name: name, Commit: &runstate.Commit{State: f.State, LedgerRun: f.Run, Action: r.actionOf(ctx, t, f, x)}})
	}
	return x.Ends(tasks)
}

// othersText names the unfinished runs of other variables, in one line. Those that are alive are not unfinished for want
// of somebody who goes on with them, and with those of another program no start does.
func othersText(all []*runstate.Found) string {
	var named []string
	more, ours := 0, false
	for _, x := range all {
		foreign := x.Document != nil && x.Document.Migrated != nil
		ours = ours || !x.Alive && !foreign
		switch {
		case x.Alive:
		case len(named) == mostNamed:
			more++
		case x.Document == nil:
			named = append(named, fmt.Sprintf("run %d (whose file cannot be read)", x.Run))
		case foreign:
			named = append(named, fmt.Sprintf("run %d (of Smart Data Lake Builder: finish it there, or accept it here)", x.Run))
		default:
			text := fmt.Sprintf("run %d", x.Run)
			if of := variablesText(x.Document.App.Variables, x.Document.App.Profile); of != "" {
				text += " of " + of
			}
			named = append(named, text)
		}
	}
	if len(named) == 0 {
		return ""
	}
	if more > 0 {
		named = append(named, fmt.Sprintf("%d more", more))
	}
	text := "unfinished: " + strings.Join(named, ", ")
	if ours {
		text += "; a start with the same variables goes on with what is left"
	}
	return text
}
