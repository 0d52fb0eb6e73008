package engine

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/ubunye-io/ubunye/engine/ledger"
	"github.com/ubunye-io/ubunye/engine/report"
)

// waiting tells what the run waits for before it can begin.
func (r *run) waiting(err error) {
	var held *ledger.HeldError
	var target *ledger.TargetHeldError
	message := ""
	switch {
	case errors.As(err, &held) && held.Looks > 0:
		message = watching(held.Holder.Run, held.Holder.Host, held.Holder.PID, held.Age, held.Looks)
	case errors.As(err, &target) && target.Looks > 0:
		message = watching(target.Other.Run, target.Other.Host, target.Other.PID, target.Age, target.Looks)
	case errors.As(err, &held) && held.Yields:
		message = fmt.Sprintf("waiting for batch %s of task %s: run %s (host %s, process %d) began after this one, writes to the same place and gives it back", ledgerBatchText(held.Batch), held.Batch.Task,
			held.Holder.Run, held.Holder.Host, held.Holder.PID)
	case errors.As(err, &held):
		message = fmt.Sprintf("waiting up to %s for batch %s of task %s, held by run %s (host %s, process %d)", r.options.Wait, ledgerBatchText(held.Batch), held.Batch.Task,
			held.Holder.Run, held.Holder.Host, held.Holder.PID)
	case errors.As(err, &target):
		message = fmt.Sprintf("waiting up to %s for %s, which run %s of pipeline %s (host %s, process %d) writes to", r.options.Wait, target.Path,
			target.Other.Run, target.Other.Pipeline, target.Other.Host, target.Other.PID)
	}
	r.emit(report.Event{Kind: report.RunWaiting, Message: message})
}

func watching(run, host string, pid int, age, looks time.Duration) string {
	return fmt.Sprintf("run %s (host %s, process %d) gave no sign for %s; if it gives none for %s more it is taken for dead",
		run, host, pid, age.Round(time.Second), looks.Round(time.Second))
}

// tellTakeovers tells which batches were taken over from dead runs, and what these left.
func (r *run) tellTakeovers() {
	for _, t := range r.record.Takeovers() {
		since := "dead"
		if !t.Beat.IsZero() {
			since += " since " + when(t.Beat)
		}
		why := "its process ended"
		if !t.Certain {
			why = "it gives no sign"
		}
		message := fmt.Sprintf("took over from run %s (host %s, process %d), %s: %s; what it had staged is dropped", t.Dead.Run, t.Dead.Host, t.Dead.PID, since, why)
		r.emit(report.Event{Kind: report.BatchTaken, Task: t.Batch.Task, Batch: variablesText(t.Batch.Variables, t.Batch.Profile), Message: message})
		for _, k := range t.Kept {
			next := r.afterKept(t.Batch, k)
			r.warn(fmt.Sprintf("batch %s of task %s: output %s was replaced by run %s, which did not commit; %s", ledgerBatchText(t.Batch), t.Batch.Task, k.Output, k.Run, next))
		}
		for _, p := range t.Pending {
			r.warn(fmt.Sprintf("batch %s of task %s: %s", ledgerBatchText(t.Batch), t.Batch.Task, r.pending(p)))
		}
		for _, l := range t.Left {
			if !r.ours(t.Batch) { // else the start is refused for it, and says so
				r.warn("earlier work cannot be finished now, and is tried again by every start: " + l.String())
			}
		}
	}
}

// afterKept says what becomes of an output that a dead run had replaced without a commit. It may have another mode or
// another folder by now.
func (r *run) afterKept(b ledger.Batch, k ledger.Kept) string {
	if !r.ours(b) {
		return "the next run of that batch replaces it again"
	}
	for _, t := range r.plan.Tasks {
		for _, o := range t.Targets {
			if t.Name != b.Task || o.Name != k.Output || o.Class != string(ledger.Replaces) {
				continue
			}
			if path, err := filepath.EvalSymlinks(o.Path); k.Base == "" || err == nil && path == k.Base {
				return "this run replaces it again"
			}
		}
	}
	return "this run does not replace it, and the rows stay"
}
