package engine

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/ubunye-io/ubunye/engine/compute"
	"github.com/ubunye-io/ubunye/engine/config"
	"github.com/ubunye-io/ubunye/engine/ledger"
	"github.com/ubunye-io/ubunye/engine/problem"
)

// askedFrom is an input that reads what another task wrote: exactly the files that its commit of this run claims, or that it added to
// a table, with the columns
// of the relation that was written. The folder is not listed; what else is in it is other batches'.
func (r *run) askedFrom(in config.Input, source *ledger.Finished) compute.Input {
	_, target := r.plan.Source(in)
	written := source.Outputs[in.From.Output]
	asked := compute.Input{Name: in.Name, Format: target.Format, Options: target.Options, Path: r.ledger.Folder(written),
		Files: append([]string{}, written.Claims...), Encoded: true}
	if target.Table { // its log says what the files hold
		asked.Options, asked.Encoded = nil, false
	}
	asked.Columns = computeColumns(written.Columns)
	return asked
}

// follow tells the ledger which slices the task reads of incremental tasks, so that a slice that was committed again replaces what
// the last commit made of it, and another one is added. Others' commits may have any range or none, which is not told.
func (b *batch) follow() {
	read := map[string]span{}
	for _, in := range b.task.Inputs {
		if in.From == nil {
			continue
		}
		if source := b.sources[in.From.Task]; source != nil && len(spansOf(source.Range)) > 0 {
			var text bytes.Buffer
			if json.Compact(&text, source.Range) != nil {
				continue // spansOf has read it
			}
			read[in.Name] = span{Follows: fmt.Sprintf("%x", sha256.Sum256(text.Bytes()))}
		}
	}
	if len(read) == 0 || !b.follows(b.task) {
		return
	}
	if slice, err := json.Marshal(read); err == nil {
		b.lease.Follow(slice)
	}
}

// stillFinished looks, when all is staged, whether what was read is still what its task committed last.
func (b *batch) stillFinished(ctx context.Context) error {
	var problems problem.List
	for _, in := range b.task.Inputs {
		if in.From == nil {
			continue
		}
		if err := b.stillThisRuns(ctx, in); err != nil {
			problems = append(problems, b.explain(err, b.task.Name)...)
		}
	}
	if len(problems) > 0 {
		return problems
	}
	return nil
}

// stillThisRuns refuses to read an output whose batch another run has committed since: what this run committed may be gone
// then, and what is there is not this run's. Its batch is not held any more when its task is done.
func (b *batch) stillThisRuns(ctx context.Context, in config.Input) error {
	task, _ := b.plan.Source(in)
	now, err := b.ledger.Look(ctx, ledgerBatch(task.Batch))
	if err != nil {
		return err
	}
	was := b.sources[in.From.Task]
	if now.Finished != nil && now.Finished.Run == was.Run && now.Finished.Epoch == was.Epoch {
		return nil
	}
	by := "nobody knows which run"
	if now.Finished != nil {
		by = fmt.Sprintf("run %s at %s", now.Finished.Run, when(now.Finished.At))
	}
	return &problem.Problem{Code: problem.InputSuperseded, Pos: in.PathPos, Task: b.task.Name, Data: nothing,
		Message: fmt.Sprintf("input %s: batch %s of task %s, which this run committed, was committed again by %s", in.Name, ledgerBatchText(ledgerBatch(task.Batch)), task.Name, by),
		Hint:    "from reads what the same run wrote: run both tasks in one start, as " + b.command("--rerun")}
}

// commits gives what a task committed, without the outputs that it left as they were.
func (b *batch) commits() *ledger.Finished {
	f := b.lease.Finished()
	if f == nil || f.Run != b.record.ID {
		return nil
	}
	own := *f
	own.Outputs = map[string]ledger.FinishedOutput{}
	for name := range b.staged {
		own.Outputs[name] = f.Outputs[name]
	}
	return &own
}

// thenReaders says that the tasks which read what a task writes cannot go on from what is finished: they read what the
// same run wrote.
func (r *run) thenReaders(task string) string {
	var readers []string
	for _, t := range r.plan.Tasks {
		if slices.ContainsFunc(t.Inputs, func(in config.Input) bool { return in.From != nil && in.From.Task == task }) {
			readers = append(readers, t.Name)
		}
	}
	switch len(readers) {
	case 0:
		return ""
	case 1:
		return " ; it is also what " + readers[0] + " needs, which reads what the same run wrote"
	}
	return " ; it is also what " + strings.Join(readers[:len(readers)-1], ", ") + " and " + readers[len(readers)-1] + " need, which read what the same run wrote"
}
