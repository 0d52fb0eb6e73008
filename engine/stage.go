package engine

import (
	"context"
	"strconv"
	"time"

	"github.com/ubunye-io/ubunye/engine/abi"
	"github.com/ubunye-io/ubunye/engine/ledger"
	"github.com/ubunye-io/ubunye/engine/plan"
	"github.com/ubunye-io/ubunye/engine/report"
)

// stage does step 7: the data checks are made, and every output is staged where no reader looks.
func (b *batch) stage(ctx context.Context) error {
	b.step("stage")
	if err := b.check(ctx); err != nil {
		return err
	}
	outputs := make([]ledger.OutputSpec, len(b.targets))
	for i, t := range b.targets {
		outputs[i] = ledger.OutputSpec{Name: t.Name, Class: ledger.Class(t.Class), Mode: t.Mode, Base: t.Path, Success: t.SuccessFile, Parts: t.Mode == modePartitions}
		if t.Table {
			outputs[i].Table, outputs[i].Success, outputs[i].Parts = b.tableOf(t), false, false
		}
	}
	if err := b.lease.Prepare(ctx, outputs); err != nil {
		return err
	}
	b.staged = map[string]ledger.Result{}
	for _, t := range b.targets {
		if _, is := b.found(t.Name); is {
			b.staged[t.Name] = ledger.Result{} // it is there
			continue
		}
		b.progress.stages(b.lease.Staging(t.Name))
		result, err := b.stageOne(ctx, t)
		if err != nil {
			return &outputError{target: t, err: err}
		}
		b.staged[t.Name] = result
		b.progress.hasStaged(result)
	}
	return b.reconcile(ctx)
}

// stageOne has one writer stage its output and then looks into the staging folder itself: what is
// found there counts, not what the writer reports (I5). A difference between the two is an error.
func (b *batch) stageOne(ctx context.Context, t plan.Target) (ledger.Result, error) {
	schema, err := b.session.Schema(ctx, written(t))
	if err != nil {
		return ledger.Result{}, err
	}
	columns := make([]abi.Column, len(schema))
	for i, c := range schema {
		columns[i] = abi.Column{Name: c.Name, Type: c.Type}
	}
	answer, err := b.writers[t.Name].Stage(ctx, abi.StageRequest{Output: b.abiOutput(t), Relation: string(written(t)), Schema: columns, Epoch: b.lease.Epoch(), Batch: b.toCommit(t), Time: b.now()})
	if err != nil {
		return ledger.Result{}, err
	}
	found, err := b.lease.Staged(t.Name)
	if err != nil {
		return ledger.Result{}, err
	}
	reported := map[string]int64{}
	for _, f := range answer.Files {
		reported[f.Name] = f.Bytes
	}
	if want, known := b.counted[string(written(t))]; known && answer.Rows != want {
		return ledger.Result{}, untrue(t, abi.CallStage, "it reported %d rows of %s, which has %d", answer.Rows, t.From, want)
	}
	result := ledger.Result{Rows: answer.Rows, Files: int64(len(found))}
	for _, c := range schema {
		result.Columns = append(result.Columns, ledger.Column{Name: c.Name, Type: c.Type})
	}
	if t.Table {
		b.tableOf(t).keep(answer)
	} else if t.Mode == modePartitions {
		result.Slice = sliceOf(t, b.task.Batch, columns)
	}
	for _, f := range found {
		if size, ok := reported[f.Name+stagedSuffix]; !ok || size != f.Bytes {
			return ledger.Result{}, untrue(t, abi.CallStage, "its report does not agree with its staging folder: %s has %d bytes, reported %s", f.Name, f.Bytes, reportedSize(size, ok))
		}
		result.Claims = append(result.Claims, f.Name)
		result.Bytes += f.Bytes
	}
	if len(found) != len(reported) {
		return ledger.Result{}, untrue(t, abi.CallStage, "it reported %d files, its staging folder holds %d", len(reported), len(found))
	}
	return result, nil
}

func reportedSize(size int64, ok bool) string {
	if !ok {
		return "nothing"
	}
	return strconv.FormatInt(size, 10)
}

// stagedSuffix ends the name of every file that is staged; without it, it is the final name.
const stagedSuffix = ".staged"

// now is the time that a writer is told.
func (b *batch) now() string { return b.Now().UTC().Format(time.RFC3339Nano) }

func (b *batch) step(name string) {
	b.progress.begin(name)
	b.emit(report.Event{Kind: report.StepStarted, Task: b.task.Name, Batch: batchText(b.task.Batch), Step: name})
}
