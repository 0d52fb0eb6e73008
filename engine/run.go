package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/ubunye-io/ubunye/engine/config"
	"github.com/ubunye-io/ubunye/engine/ledger"
	"github.com/ubunye-io/ubunye/engine/plan"
	"github.com/ubunye-io/ubunye/engine/problem"
	"github.com/ubunye-io/ubunye/engine/writer"
)

// cleanUp is how long a run that was told to stop may take to drop its staging and give its batches back.
const cleanUp = 10 * time.Second

// Result is what a run did.
type Result struct {
	Run   string // the run's id; empty when it was refused
	Tasks []TaskResult
}

// TaskResult is what became of one task.
type TaskResult struct {
	Task     string
	Batch    plan.Batch
	Outputs  []OutputResult
	Duration time.Duration
}

// OutputResult is what landed in one output.
type OutputResult struct {
	Output string
	Path   string // as written in the pipeline
	Class  string
	Rows   int64
	Files  int64
	Bytes  int64

	Replaced int64 // files of the batch's earlier commit that went
}

// run is one start of the program.
type run struct {
	*Engine
	options Options
	config  *config.Pipeline
	plan    *plan.Plan
	host    *writer.Host
	ledger  *ledger.Ledger
	record  *ledger.Run
	leases  []*ledger.Lease // in the order of plan.Tasks
	started time.Time
}

// Run does one start of the program: it holds the batches of all its tasks, or none, and then runs the
// tasks in order. A failed task does not stop those that do not depend on it. The error is a
// *problem.Problem or a problem.List, the worst of which gives the exit code.
func (e *Engine) Run(ctx context.Context, o Options) (Result, error) {
	r, err := e.load(o)
	if err != nil {
		return Result{}, err
	}
	if err := r.openLedger(ctx); err != nil {
		return Result{}, err
	}
	if err := r.lease(ctx); err != nil {
		return Result{}, err
	}
	result := Result{Run: r.record.ID}
	r.emit(Event{Kind: RunStarted, Message: r.config.Name})
	var problems problem.List
	for i, t := range r.plan.Tasks {
		done, failed := r.task(t, r.leases[i])
		if len(failed) > 0 {
			problems = append(problems, failed...)
			continue
		}
		result.Tasks = append(result.Tasks, done)
	}
	r.end(ctx, ended(problems))
	if r.options.LeaseOff {
		r.forgetLedger(problems)
	}
	if len(problems) > 0 {
		return result, problems
	}
	return result, nil
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
	requests := r.requests()
	for _, q := range requests {
		if err := r.ledger.Refusal(ctx, q); err != nil {
			return r.explain(told(ctx, err), q.Batch.Task)
		}
	}
	record, err := r.ledger.Begin(ctx, r.info())
	if err != nil {
		return r.explain(told(ctx, err), "")
	}
	r.record = record
	r.leases, err = record.Acquire(ctx, requests)
	if err != nil {
		r.end(ctx, ledger.Refused)
		return r.explain(told(ctx, err), "")
	}
	return nil
}

// told gives the wish to stop as the error, if it was that.
func told(ctx context.Context, err error) error {
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

func (r *run) warn(text string) { r.emit(Event{Kind: Warning, Message: text}) }

// finishCommitted carries out what earlier runs of the pipeline had committed and not landed.
func (r *run) finishCommitted(ctx context.Context) error {
	done, left, err := r.ledger.FinishCommitted(ctx, r.config.Name)
	if err != nil {
		return r.explain(told(ctx, err), "")
	}
	for _, d := range done {
		r.emit(Event{Kind: WorkFinished, Task: d.Batch.Task, Batch: variablesText(d.Batch.Variables, d.Batch.Profile), Reason: d.Run, Files: int64(d.Landed)})
		if d.Missing > 0 {
			r.warn(fmt.Sprintf("batch %s of task %s: %d files that run %s had committed are neither staged nor landed; somebody moved or removed them",
				ledgerBatchText(d.Batch), d.Batch.Task, d.Missing, d.Run))
		}
	}
	for _, l := range left {
		if r.ours(l.Batch) {
			continue // the start is refused for it, and says so
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
	info := ledger.RunInfo{Pipeline: r.config.Name}
	for _, t := range r.plan.Tasks {
		info.Batches = append(info.Batches, ledgerBatch(t.Batch))
		for _, o := range t.Targets {
			info.Targets = append(info.Targets, ledger.Target{Path: o.Path, Adds: o.Mode == modeAppend})
		}
	}
	return info
}

const modeAppend = "append"

// requests are what the run asks of the ledger, a batch a task.
func (r *run) requests() []ledger.Request {
	requests := make([]ledger.Request, len(r.plan.Tasks))
	for i, t := range r.plan.Tasks {
		q := ledger.Request{Batch: ledgerBatch(t.Batch), Rerun: r.options.Rerun, Anyway: r.options.RerunAnyway}
		for _, o := range t.Targets {
			q.Appends = q.Appends || o.Mode == modeAppend
		}
		requests[i] = q
	}
	return requests
}

func ledgerBatch(b plan.Batch) ledger.Batch {
	return ledger.Batch{Pipeline: b.Pipeline, Task: b.Task, Variables: b.Variables, Profile: b.Profile, Key: b.Key, Named: b.Named}
}

// task runs one task and tells how it went.
func (r *run) task(t plan.Task, lease *ledger.Lease) (TaskResult, problem.List) {
	started := r.Now()
	if r.record.Context().Err() == nil { // else its batch is only given back
		r.emit(Event{Kind: TaskStarted, Task: t.Name, Batch: batchText(t.Batch)})
	}
	b := &batch{run: r, task: t, lease: lease}
	outputs, err := b.execute(r.record.Context())
	took := r.Now().Sub(started)
	if err != nil {
		problems := r.explain(err, t.Name)
		for _, p := range problems {
			r.emit(Event{Kind: TaskFailed, Task: t.Name, Batch: batchText(t.Batch), Reason: string(p.Code), Message: p.Error(), Duration: took})
		}
		return TaskResult{}, problems
	}
	done := TaskResult{Task: t.Name, Batch: t.Batch, Outputs: outputs, Duration: took}
	r.emit(Event{Kind: TaskFinished, Task: t.Name, Batch: batchText(t.Batch), Duration: took})
	return done, nil
}
