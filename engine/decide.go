package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/ubunye-io/ubunye/engine/compute"
	"github.com/ubunye-io/ubunye/engine/ledger"
	"github.com/ubunye-io/ubunye/engine/plan"
	"github.com/ubunye-io/ubunye/engine/problem"
	"github.com/ubunye-io/ubunye/engine/report"
	"github.com/ubunye-io/ubunye/engine/runstate"
)

// standing is what the run state has to say to a start: the run that is, what was decided, and the tasks that are kept.
type standing struct {
	snapshot *runstate.Snapshot
	decision *runstate.Decision // nil: a living run is waited for
	kept     map[string]kept
}

// kept is a task that is not run again, because an earlier attempt did it or a person gave it up.
type kept struct {
	action runstate.Action
	commit *ledger.Finished // what tasks that read from it read; nil: there is nothing
	why    string           // there is nothing
}

// stateError says that something is wrong with the run state, or refused because of it.
type stateError struct {
	latest *runstate.Found // the run that it is about; nil: there is none
	err    error
}

func (e *stateError) Error() string { return e.err.Error() }
func (e *stateError) Unwrap() error { return e.err }

// decide looks at the run state and decides what this start does: it begins a run, or goes on with an unfinished one. It
// changes nothing. If the run is one that lives, and is to be waited for, nothing is decided.
func (r *run) decide(ctx context.Context) problem.List {
	if r.options.LeaseOff {
		return r.withoutState()
	}
	q := r.wanted()
	s, err := r.stateFolder().Look(ctx, r.config.Name, q.Params, r.config.State.Strict)
	if err != nil {
		return r.explain(&stateError{err: told(ctx, err)}, "")
	}
	if now := r.standing; now != nil && now.decision != nil && now.snapshot.Same(s) {
		return nil
	}
	finished, err := r.facts(ctx, s, &q)
	if err != nil {
		return r.explain(told(ctx, err), "")
	}
	r.standing = &standing{snapshot: s}
	d, err := runstate.Decide(s, q)
	if r.options.Wait > 0 && errors.As(err, new(*runstate.AliveError)) {
		return nil
	}
	if err != nil {
		return r.explain(&stateError{latest: s.Latest, err: err}, "")
	}
	r.addCompleted(ctx, d)
	r.standing.decision = d
	return r.keep(finished)
}

// withoutState refuses what cannot be asked for where no run state is kept.
func (r *run) withoutState() problem.List {
	for flag, given := range map[string]bool{"--resume": r.options.Resume, "--new-run": r.options.NewRun} {
		if given {
			return problem.List{{Code: problem.Usage, Message: "UBUNYE_RUN_LEASE=off: without a ledger nobody knows what earlier runs did, so " + flag + " has no meaning",
				Data: untouched, Hint: "unset it, or leave out " + flag}}
		}
	}
	return nil
}

// wanted is what this start was asked for, with what is known of its tasks without the ledger.
func (r *run) wanted() runstate.Start {
	q := runstate.Start{Recover: runstate.Recover(r.config.State.Recover), Resume: r.options.Resume, Rerun: r.options.Rerun, NewRun: r.options.NewRun}
	q.Variables, q.Profile, q.Selected = r.batchVariables(), r.config.Profile, r.selected()
	for _, t := range r.plan.Tasks {
		task := runstate.Task{Name: t.Name, Config: configHash(t.Config), Parts: configParts(t.Config), Appends: r.request(t).Appends, Named: t.Batch.Named, Incremental: t.Incremental() || r.follows(t)}
		for _, in := range t.Inputs {
			if in.From != nil {
				task.From = append(task.From, in.From.Task)
			}
		}
		q.Tasks = append(q.Tasks, task)
	}
	return q
}

// batchVariables are the values that make the batches: those of all tasks are the same.
func (r *run) batchVariables() map[string]string {
	if len(r.plan.Tasks) == 0 {
		return nil
	}
	return maps.Clone(r.plan.Tasks[0].Batch.Variables)
}

// selected names the tasks that were selected; nil: all of the pipeline, whichever way that was said.
func (r *run) selected() (names []string) {
	if len(r.plan.Tasks) == len(r.config.Tasks) {
		return nil
	}
	for _, t := range r.plan.Tasks {
		names = append(names, t.Name)
	}
	return names
}

// facts adds to the tasks what the ledger and the inputs say of them, as far as the decision may depend on it. It gives the
// last commits of their batches.
func (r *run) facts(ctx context.Context, s *runstate.Snapshot, q *runstate.Start) (map[string]*ledger.Finished, error) {
	x := s.Latest
	unfinished := x != nil && !x.Succeeded && !x.Alive && x.Document != nil
	if !unfinished && !q.Resume {
		return nil, nil
	}
	finished := map[string]*ledger.Finished{}
	for i, t := range r.plan.Tasks {
		view, err := r.ledger.Look(ctx, ledgerBatch(t.Batch))
		if err != nil {
			return nil, err
		}
		f := view.Finished
		if f != nil {
			finished[t.Name] = f
			q.Tasks[i].Commit = &runstate.Commit{State: f.State, LedgerRun: f.Run, Action: r.actionOf(ctx, t, f, x)}
		}
		if unfinished && f != nil && f.State == runstate.StateName(r.config.Name, x.Run) {
			if q.Tasks[i].Gone, err = r.ledger.Gone(ctx, ledgerBatch(t.Batch)); err != nil {
				return nil, err
			}
		}
		if task := q.Tasks[i]; unfinished && task.Appends && !task.Incremental && r.completed[t.Name] == nil && q.Recover == runstate.Proof && !q.Resume && !q.Rerun && !q.NewRun {
			q.Tasks[i].Changed = r.changedSince(ctx, t, f, runstate.StateName(r.config.Name, x.Run))
		}
	}
	return finished, nil
}

// actionOf is a commit as the run state has it. A commit of an earlier run is told by the attempt that did it.
func (r *run) actionOf(ctx context.Context, t plan.Task, f *ledger.Finished, latest *runstate.Found) runstate.Action {
	at := f.At
	a := runstate.Action{State: runstate.Succeeded, End: &at, Config: f.Config, Inputs: f.Inputs, Results: results(t, f)}
	a.Reads, a.Writes = namesOf(t)
	run, known := runstate.RunOf(r.config.Name, f.State)
	x := latest
	if known && (x == nil || x.Run != run) {
		x, _ = r.stateFolder().Find(ctx, r.config.Name, run) // it may be pruned
	}
	if known && x != nil && x.Document != nil {
		a.Execution = x.Document.Actions[t.Name].Execution
	}
	return a
}

// changedSince tells what a task would read now that it did not read for a commit, as far as names, sizes and times tell, or why that
// is not known; "": it is unchanged. What it reads of other tasks is not looked at: it is unchanged if they are kept.
func (r *run) changedSince(ctx context.Context, t plan.Task, f *ledger.Finished, state string) string {
	was := map[string]inputPrint{}
	switch {
	case f == nil || f.State != state:
		return "the ledger has no commit of it by this run"
	case json.Unmarshal(f.Inputs, &was) != nil:
		return "the ledger does not tell what it read"
	case !r.samePlaces(t, f):
		return "its output is not in the folder that it wrote to"
	}
	for _, in := range t.Inputs {
		if in.From != nil {
			continue
		}
		if isDatabase(in) {
			return "input " + in.Name + " reads a database, which does not tell whether its rows are what they were"
		}
		var files []compute.File
		asked, err := r.settled(ctx, r.asked(in, nil))
		if err == nil {
			files, err = r.Compute.Files(ctx, asked)
		}
		if err != nil {
			return fmt.Sprintf("input %s cannot be compared with what it was: %v", in.Name, err)
		}
		now, then := fingerprint(files), was[in.Name]
		switch {
		case asked.Version != nil && then.Version != nil && *asked.Version != *then.Version:
			return fmt.Sprintf("input %s was version %d of its table and is version %d now", in.Name, *then.Version, *asked.Version)
		case now.Files != then.Files || now.Bytes != then.Bytes:
			return fmt.Sprintf("input %s was %s and is %s now", in.Name, sized(then), sized(now))
		case !now.sameFiles(then):
			return fmt.Sprintf("input %s was written again since (%s, as before)", in.Name, sized(now))
		}
	}
	return ""
}

func sized(p inputPrint) string {
	return fmt.Sprintf("%s of %d bytes", report.Count(int64(p.Files), "file"), p.Bytes)
}

// addCompleted adds to what is carried the tasks that count as done without the run state (R30).
func (r *run) addCompleted(ctx context.Context, d *runstate.Decision) {
	for _, t := range r.plan.Tasks {
		f := r.completed[t.Name]
		if _, carried := d.Carried[t.Name]; f == nil || carried {
			continue
		}
		a := r.actionOf(ctx, t, f, r.standing.snapshot.Latest)
		if a.Execution.Run == 0 {
			a.Execution = runstate.Execution{Run: d.Run, Attempt: d.Attempt}
		}
		d.Carried[t.Name] = a
		d.Tasks = slices.DeleteFunc(d.Tasks, func(name string) bool { return name == t.Name })
	}
}

// keep finds what the tasks that are carried over have for those that read from them. What is left of one must have
// landed, and what one of them wrote must still be there to be read, or the start is refused.
func (r *run) keep(finished map[string]*ledger.Finished) problem.List {
	d := r.standing.decision
	r.standing.kept = map[string]kept{}
	for _, t := range r.plan.Tasks {
		a, carried := d.Carried[t.Name]
		if !carried {
			if lost := r.lostSource(t); lost != nil {
				return problem.List{lost}
			}
			continue
		}
		b := ledgerBatch(t.Batch)
		if left := r.stuck[b.Name()]; len(left) > 0 {
			return r.explain(&ledger.LeftError{Batch: b, Left: left}, t.Name)
		}
		k := kept{action: a}
		switch f := finished[t.Name]; {
		case r.completed[t.Name] != nil:
			k.commit = r.completed[t.Name]
		case a.State != runstate.Succeeded || len(a.Results) == 0:
			k.why = nothingOf(a)
		case f != nil && (r.options.Resume || f.State == runstate.StateName(r.config.Name, d.Run)):
			k.commit = onlyOutputs(f, a)
		}
		r.standing.kept[t.Name] = k
	}
	return nil
}

// lostSource refuses a task that would read what a task that is kept wrote, and that is not there to be read.
func (r *run) lostSource(t plan.Task) *problem.Problem {
	for _, in := range t.Inputs {
		if in.From == nil {
			continue
		}
		k, is := r.standing.kept[in.From.Task]
		if !is || k.commit != nil || k.why != "" {
			continue
		}
		return &problem.Problem{Code: problem.RunUnfinished, Pos: in.PathPos, Task: t.Name, Data: untouched,
			Message: fmt.Sprintf("refused: input %s reads what task %s wrote in run %d, which is unfinished, and what the ledger has of that batch now is not of this run",
				in.Name, in.From.Task, r.standing.decision.Run),
			Hint: "to write all of it again: " + r.commandWith("--rerun")}
	}
	return nil
}

// nothingOf says why a task that is kept has nothing for those that read from it.
func nothingOf(a runstate.Action) string {
	switch {
	case a.State == runstate.Skipped:
		return foundNothing
	case a.Accepted != nil:
		return fmt.Sprintf(", whose output it depends on, was given up by %s (%s)", a.Accepted.Who, a.Accepted.Reason)
	case a.State == runstate.Cancelled:
		return ", whose output it depends on, did not run"
	}
	return leftAsItWas
}

// onlyOutputs is a commit without the outputs that it left as they were.
func onlyOutputs(f *ledger.Finished, a runstate.Action) *ledger.Finished {
	own := *f
	own.Outputs = map[string]ledger.FinishedOutput{}
	for _, result := range a.Results {
		if o, is := f.Outputs[result.Output]; is {
			own.Outputs[result.Output] = o
		}
	}
	return &own
}

// done tells whether a task is not run, because it is: see completed and standing.
func (r *run) done(task string) bool {
	if r.completed[task] != nil {
		return true
	}
	if r.standing == nil {
		return false
	}
	_, kept := r.standing.kept[task]
	return kept
}

func (r *run) allDone() bool {
	return !slices.ContainsFunc(r.plan.Tasks, func(t plan.Task) bool { return !r.done(t.Name) })
}

// differs tells whether two decisions are not the same: then other batches are needed, or another person's word. That the
// numbers differ alone is nothing: other batches of the pipeline are started all the time.
func (s *standing) differs(o *standing) bool {
	if s == nil || o == nil || s.decision == nil || o.decision == nil {
		return s != o && (s == nil || o == nil || s.decision != o.decision)
	}
	a, b := s.decision, o.decision
	return a.Recovery != b.Recovery || !slices.Equal(a.Tasks, b.Tasks)
}

// stateName is how the ledger names this run; "": no run state is kept.
func (r *run) stateName() string {
	if r.standing == nil || r.standing.decision == nil {
		return ""
	}
	return runstate.StateName(r.config.Name, r.standing.decision.Run)
}
