package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ubunye-io/ubunye/engine/config"
	"github.com/ubunye-io/ubunye/engine/ledger"
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
	formats  *formats
	ledger   *ledger.Ledger
	record   *ledger.Run
	leases   []*ledger.Lease          // in the order of plan.Tasks
	stuck    map[string][]ledger.Left // what is left of the run's own batches and cannot be finished, by batch
	early    *early
	versions versions // of the tables that it reads
	scratch  string   // name of what the run keeps outside its ledger; "": there was no ledger yet

	completed map[string]*ledger.Finished // by task: committed by a run that died before it could say so
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
	if err := r.lease(ctx); err != nil {
		return err
	}
	if len(r.completed) == len(r.plan.Tasks) {
		r.tellCompleted()
		r.haveTold(ctx)
		return nil
	}
	r.emit(report.Event{Kind: report.RunStarted, Pipeline: r.config.Name})
	r.sayWarnings()
	r.tellCompleted()
	problems := r.tasks()
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

// lease does step 4: every batch of the run, or a refusal. What a dead run had committed is finished
// first, also by a start that is then refused. A refusal that can be seen by reading writes nothing.
func (r *run) lease(ctx context.Context) error {
	if err := r.finishCommitted(ctx); err != nil {
		return err
	}
	if problems := r.complete(ctx, true); problems != nil {
		return problems
	}
	if len(r.completed) == len(r.plan.Tasks) {
		return nil
	}
	requests := r.requests()
	for _, q := range requests {
		if err := orLeft(r.ledger.Refusal(ctx, q), q.Batch, r.stuck[q.Batch.Name()]); err != nil && !r.waitsFor(err) {
			return r.explain(told(ctx, err), q.Batch.Task)
		}
	}
	for _, t := range r.plan.Tasks {
		for _, o := range t.Targets {
			if err := r.ledger.CheckTarget(o.Name, o.Path); err != nil {
				return r.explain(told(ctx, &outputError{target: o, err: err}), t.Name)
			}
		}
	}
	if err := r.ledger.TargetRefusal(ctx, r.targets()); err != nil && !r.waitsFor(err) {
		return r.explain(told(ctx, err), "")
	}
	info := r.info()
	info.ID = r.ledger.NewRunID()
	r.scratch = r.ledger.ScratchName(info.ID)
	r.early = r.openEarly(ctx)
	record, err := r.ledger.Begin(ctx, info)
	if err != nil {
		return r.explain(told(ctx, err), "")
	}
	r.record = record
	leases, err := record.Acquire(ctx, requests)
	for _, t := range r.plan.Tasks {
		var lease *ledger.Lease // of a task that is done there is none
		if r.completed[t.Name] == nil && err == nil {
			lease, leases = leases[0], leases[1:]
		}
		r.leases = append(r.leases, lease)
	}
	r.tellTakeovers()
	if err != nil {
		r.end(ctx, ledger.Refused)
		return r.beforeItBegan(r.explain(told(ctx, err), ""))
	}
	r.collectSpill()
	return nil
}

// orLeft is the refusal of a finished batch; but where what it committed has not all landed, that is what is told.
func orLeft(refusal error, b ledger.Batch, left []ledger.Left) error {
	if len(left) > 0 && errors.As(refusal, new(*ledger.FinishedError)) {
		return &ledger.LeftError{Batch: b, Left: left}
	}
	return refusal
}

// beforeItBegan says of a start that was told to stop while it waited that nothing had happened yet.
func (r *run) beforeItBegan(list problem.List) problem.List {
	for _, p := range list {
		if p.Code == problem.Interrupted || p.Code == problem.Terminated {
			p.Data, p.Hint = untouched, "run it again"
		}
	}
	return list
}

// waitsFor tells whether a refusal is one that the run was told to wait out.
func (r *run) waitsFor(err error) bool {
	return r.options.Wait > 0 && (errors.As(err, new(*ledger.HeldError)) || errors.As(err, new(*ledger.TargetHeldError)))
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
	info := ledger.RunInfo{Pipeline: r.config.Name, Targets: r.targets(), Wait: r.options.Wait, Waiting: r.waiting}
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
			targets = append(targets, ledger.Target{Path: o.Path, Adds: o.Mode == modeAppend, Parts: o.Mode == modePartitions, After: after})
		}
		places[t.Name] = append(places[t.Name], after...)
	}
	return targets
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
		if r.completed[t.Name] == nil {
			requests = append(requests, r.request(t))
		}
	}
	return requests
}

func (r *run) request(t plan.Task) ledger.Request {
	q := ledger.Request{Batch: ledgerBatch(t.Batch), Rerun: r.options.Rerun, Anyway: r.options.RerunAnyway, Incremental: t.Incremental(), Follows: r.follows(t)}
	for _, o := range t.Targets {
		q.Appends = q.Appends || o.Mode == modeAppend
	}
	q.Replaces = replacing(t)
	return q
}

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
