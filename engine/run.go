package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ubunye-io/ubunye/engine/config"
	"github.com/ubunye-io/ubunye/engine/ledger"
	"github.com/ubunye-io/ubunye/engine/lockfile"
	"github.com/ubunye-io/ubunye/engine/plan"
	"github.com/ubunye-io/ubunye/engine/problem"
	"github.com/ubunye-io/ubunye/engine/report"
	"github.com/ubunye-io/ubunye/engine/writer"
)

// cleanUp is how long a run that was told to stop may take to drop its staging and give its batches back.
const cleanUp = 10 * time.Second

// run is one start of the program.
type run struct {
	*Engine
	options  Options
	config   *config.Pipeline
	plan     *plan.Plan
	host     *writer.Host
	lock     *lockfile.Lock // of the plugins
	formats  *formats
	ledger   *ledger.Ledger
	record   *ledger.Run
	leases   []*ledger.Lease          // in the order of plan.Tasks
	stuck    map[string][]ledger.Left // what is left of the run's own batches and cannot be finished, by batch
	early    *early
	versions versions // of the tables that it reads

	databases databases // that it reads
	scratch   string    // name of what the run keeps outside its ledger; "": there was no ledger yet

	left      bool                        // tasks are left that the ledger does not refuse
	completed map[string]*ledger.Finished // by task: committed by a run that died before it could say so
	standing  *standing                   // what the run state has to say; nil: none is kept
	keeper    *keeper                     // writes the run state; nil: none is kept
}

// Run does one start of the program: it holds the batches of all its tasks, or none, and then runs the
// tasks, in the order of the plan and several at once if the pipeline says so. A failed task cancels those that
// need what it writes, and no other. What landed is told by events. The error is a problem.List, the worst of which gives the exit code.
func (e *Engine) Run(ctx context.Context, o Options) error {
	r, err := e.load(ctx, o)
	if err != nil {
		return err
	}
	if err := r.openLedger(ctx); err != nil {
		return err
	}
	defer func() { r.early.close() }()
	for again := true; again; {
		if err := r.lease(ctx); err != nil {
			return err
		}
		if !r.allDone() {
			break
		}
		if again = r.conclude(ctx); !again {
			return nil
		}
	}
	r.emit(report.Event{Kind: report.RunStarted, Pipeline: r.config.Name})
	r.sayWarnings()
	r.tellCompleted()
	problems := r.tasks()
	r.keeper.finish()
	if len(problems) == 0 {
		r.haveTold(ctx)
	}
	r.end(ctx, ended(problems))
	if r.options.LeaseOff {
		r.forgetLedger(problems)
	}
	if len(problems) > 0 {
		return problems
	}
	return nil
}

// forgetLedger removes the ledger of a run with the lease off, unless something is committed that has not
// all landed: then it holds what a person needs.
func (r *run) forgetLedger(problems problem.List) {
	for _, p := range problems {
		if p.Code == problem.NotAllLanded || p.Code == problem.OutcomeUnknown {
			r.warn("what has not landed is kept in " + r.ledger.Path())
			return
		}
	}
	if err := r.FS.RemoveAll(r.ledger.Path()); err != nil {
		r.warn("the ledger of this run alone is left behind: " + err.Error())
	}
}

// ended is the status that a run's record keeps after these problems.
func ended(problems problem.List) ledger.Status {
	if len(problems) == 0 {
		return ledger.Succeeded
	}
	for _, p := range problems {
		switch p.Code {
		case problem.RunLeaseLost, problem.OutcomeUnknown, problem.Interrupted, problem.Terminated:
			return ledger.Interrupted
		}
	}
	return ledger.Failed
}

// told gives the wish to stop as the error, if it was that. A lease that was lost and a save of which
// nobody knows whether it counted are told all the same: the run did not drop its staging then.
func told(ctx context.Context, err error) error {
	if errors.As(err, new(*ledger.LostError)) || errors.As(err, new(*ledger.UnknownError)) {
		return err
	}
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// end closes the run's record. What it cannot do does not touch the data.
func (r *run) end(ctx context.Context, status ledger.Status) {
	if err := r.record.End(context.WithoutCancel(ctx), status); err != nil {
		r.warn("the record of run " + r.record.ID + " could not be closed; the data is not touched by that: " + err.Error())
	}
}

// sayWarnings tells what the plan found that is no mistake for certain.
func (r *run) sayWarnings() {
	for _, p := range r.plan.Warnings {
		r.emit(report.Event{Kind: report.Warning, Task: p.Task, Output: p.Output, Message: p.Error()})
	}
}

func (r *run) warn(text string) { r.emit(report.Event{Kind: report.Warning, Message: text}) }

// finishCommitted carries out what earlier runs, of the pipeline or into its targets, had committed and not landed.
func (r *run) finishCommitted(ctx context.Context) error {
	done, left, err := r.ledger.FinishCommitted(ctx, r.config.Name, r.targets()...)
	if err != nil {
		return r.explain(told(ctx, err), "")
	}
	for _, d := range done {
		for _, k := range d.Kept {
			if !r.ours(d.Batch) {
				r.warn(fmt.Sprintf("batch %s of task %s: output %s holds rows of run %s, which ended before its commit; the next run of that batch replaces them again",
					ledgerBatchText(d.Batch), d.Batch.Task, k.Output, k.Run))
			}
		}
		for _, p := range d.Pending {
			if !r.ours(d.Batch) {
				r.warn(fmt.Sprintf("batch %s of task %s: %s", ledgerBatchText(d.Batch), d.Batch.Task, r.pending(p)))
			}
		}
		if d.Landed+d.Removed+d.Dropped > 0 {
			r.emit(report.Event{Kind: report.WorkFinished, Task: d.Batch.Task, Batch: variablesText(d.Batch.Variables, d.Batch.Profile), Files: number(d.Landed)})
		}
		if d.Missing > 0 {
			r.warn(fmt.Sprintf("batch %s of task %s: %d files that run %s had committed are neither staged nor landed; somebody moved or removed them",
				ledgerBatchText(d.Batch), d.Batch.Task, d.Missing, d.Run))
		}
	}
	r.stuck = map[string][]ledger.Left{}
	for _, l := range left {
		if r.ours(l.Batch) { // the start is refused for it, and says so
			if l.Entry.Do != "" {
				r.stuck[l.Batch.Name()] = append(r.stuck[l.Batch.Name()], l)
			}
			continue
		}
		r.warn("earlier work cannot be finished now, and is tried again by every start: " + l.String())
	}
	return nil
}

// ours tells whether a batch is one of this start's.
func (r *run) ours(b ledger.Batch) bool {
	for _, t := range r.plan.Tasks {
		if ledgerBatch(t.Batch).Name() == b.Name() {
			return true
		}
	}
	return false
}

// info is what the run says of itself before it begins.
func (r *run) info() ledger.RunInfo {
	info := ledger.RunInfo{Pipeline: r.config.Name, State: r.stateName(), Targets: r.targets(), Wait: r.options.Wait, Waiting: r.waiting}
	for _, t := range r.plan.Tasks {
		info.Batches = append(info.Batches, ledgerBatch(t.Batch))
	}
	return info
}

// targets are the places that the run writes to. A mode that asks whether there is data counts as replacing:
// nobody else may write meanwhile.
func (r *run) targets() (targets []ledger.Target) {
	places := map[string][]int{}
	for _, t := range r.plan.Tasks {
		var after []int
		for _, a := range t.After {
			after = append(after, places[a.Task]...)
		}
		for _, o := range t.Targets {
			places[t.Name] = append(places[t.Name], len(targets))
			targets = append(targets, targetOf(o, after))
		}
		places[t.Name] = append(places[t.Name], after...)
	}
	return targets
}

// targetOf is an output as the ledger compares it with others. Commits to a table come one after the other whoever makes them,
// and each has seen those before it: nobody is to be kept out.
func targetOf(o plan.Target, after []int) ledger.Target {
	if o.Table {
		return ledger.Target{Path: o.Path, Adds: true, After: after}
	}
	return ledger.Target{Path: o.Path, Adds: o.Mode == modeAppend, Parts: o.Mode == modePartitions, After: after}
}

// The modes that the engine itself must tell apart.
const (
	modeAppend     = "append"
	modeOverwrite  = "overwrite"
	modePartitions = "overwrite_partitions"
	modeError      = "error_if_exists"
	modeIgnore     = "ignore"
)

// requests are what the run asks of the ledger: the batch of each task that is not done.
func (r *run) requests() (requests []ledger.Request) {
	for _, t := range r.plan.Tasks {
		if !r.done(t.Name) {
			requests = append(requests, r.request(t))
		}
	}
	return requests
}

func (r *run) request(t plan.Task) ledger.Request {
	q := ledger.Request{Batch: ledgerBatch(t.Batch), Rerun: r.options.Rerun, Anyway: r.options.RerunAnyway, Incremental: t.Incremental(), Follows: r.follows(t)}
	for _, o := range t.Targets {
		q.Appends = q.Appends || adds(o)
	}
	q.Replaces = replacing(t)
	return q
}

// adds tells whether running an output's batch again would add its rows a second time. An append with a condition replaces them (R73).
func adds(o plan.Target) bool { return o.Mode == modeAppend && o.Class != string(ledger.Replaces) }

// follows tells whether a task reads what an incremental one writes in the same run, itself or by way of others.
func (r *run) follows(t plan.Task) bool {
	for _, in := range t.Inputs {
		if in.From == nil {
			continue
		}
		if source, _ := r.plan.Source(in); source.Incremental() || r.follows(*source) {
			return true
		}
	}
	return false
}

// replacing names the outputs of a task that replace what is there.
func replacing(t plan.Task) (names []string) {
	for _, o := range t.Targets {
		if o.Class == string(ledger.Replaces) {
			names = append(names, o.Name)
		}
	}
	return names
}

func ledgerBatch(b plan.Batch) ledger.Batch {
	return ledger.Batch{Pipeline: b.Pipeline, Task: b.Task, Variables: b.Variables, Profile: b.Profile, Key: b.Key, Named: b.Named}
}
