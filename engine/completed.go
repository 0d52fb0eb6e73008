package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"

	"github.com/ubunye-io/ubunye/engine/ledger"
	"github.com/ubunye-io/ubunye/engine/plan"
	"github.com/ubunye-io/ubunye/engine/problem"
	"github.com/ubunye-io/ubunye/engine/report"
)

// A scheduler that sees a run die starts it again, and means the same run. If that had committed a batch, and neither the
// task nor its inputs have changed since, the batch is done: the start counts the task as done instead of refusing to add
// the batch twice. Whatever cannot be proved to be the same is an ordinary finished batch.

// complete finds the tasks whose batches a dead run committed and could not say so. settled: what that run had left
// to land must have been landed.
func (r *run) complete(ctx context.Context, settled bool) problem.List {
	r.completed = map[string]*ledger.Finished{}
	if r.options.Rerun || r.options.LeaseOff {
		return nil
	}
	for _, t := range r.plan.Tasks {
		if !t.Batch.Named || t.Incremental() { // an incremental one reads what is new
			continue
		}
		f, left, err := r.ledger.Untold(ctx, ledgerBatch(t.Batch))
		if err != nil {
			return r.explain(told(ctx, err), t.Name)
		}
		if f != nil && (left == 0 || !settled) && f.Config == configHash(t.Config) && r.samePlaces(t, f) && r.sameInputs(ctx, t, f) {
			r.completed[t.Name] = f
		}
	}
	return nil
}

// samePlaces tells whether a commit landed where the task's outputs are. A ledger that was moved without them, or they
// without it, finds other folders by the same words.
func (r *run) samePlaces(t plan.Task, f *ledger.Finished) bool {
	for _, o := range t.Targets {
		if out := f.Outputs[o.Name]; out.Base.Path != "" && !r.ledger.At(out.Base, o.Path) {
			return false
		}
	}
	return true
}

// sameInputs tells whether a task would read what it read for a commit, as far as names, sizes and times tell.
func (r *run) sameInputs(ctx context.Context, t plan.Task, f *ledger.Finished) bool {
	was, now := map[string]inputPrint{}, map[string]inputPrint{}
	if json.Unmarshal(f.Inputs, &was) != nil {
		return false
	}
	for _, in := range t.Inputs {
		if isDatabase(in) || in.From != nil && r.completed[in.From.Task] == nil {
			return false
		}
		asked, err := r.settled(ctx, r.asked(in, r.completed))
		if err != nil {
			return false
		}
		files, err := r.Compute.Files(ctx, asked)
		if err != nil {
			return false
		}
		now[in.Name] = fingerprint(files)
	}
	return maps.EqualFunc(was, now, inputPrint.sameFiles)
}

// tellCompleted tells which tasks count as done.
func (r *run) tellCompleted() {
	for _, t := range r.plan.Tasks {
		f := r.completed[t.Name]
		if f == nil {
			continue
		}
		r.emit(report.Event{Kind: report.TaskCompleted, Task: t.Name, Batch: batchText(t.Batch), Message: completedText(f)})
	}
}

func completedText(f *ledger.Finished) string {
	var rows, files int64
	for _, o := range f.Outputs {
		rows, files = rows+o.Rows, files+o.Files
	}
	return fmt.Sprintf("run %s had committed it at %s (%s in %s) and died before it could say so; nothing has changed since",
		f.Run, when(f.At), report.Count(rows, "row"), report.Count(files, "file"))
}

// haveTold notes that the person who started the run has heard of what was completed: the next start finds these
// batches finished like any other.
func (r *run) haveTold(ctx context.Context) {
	batches := map[string][]ledger.Batch{}
	for _, t := range r.plan.Tasks {
		if f := r.completed[t.Name]; f != nil {
			batches[f.Run] = append(batches[f.Run], ledgerBatch(t.Batch))
		}
	}
	for run, of := range batches {
		if err := r.ledger.Told(ctx, run, of); err != nil {
			r.warn("the record of run " + run + " could not be removed; the data is not touched by that: " + err.Error())
		}
	}
}
