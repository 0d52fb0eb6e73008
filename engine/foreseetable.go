package engine

import (
	"context"
	"slices"

	"github.com/ubunye-io/ubunye/engine/abi"
	"github.com/ubunye-io/ubunye/engine/ledger"
	"github.com/ubunye-io/ubunye/engine/plan"
	"github.com/ubunye-io/ubunye/engine/writer"
)

// foreseeTables has the writers of tables look at their targets, as a run would have them before it reads: what they would refuse is
// refused here too.
func (r *run) foreseeTables(ctx context.Context, task *PlannedTask, t plan.Task, view ledger.View) error {
	if !slices.ContainsFunc(t.Targets, func(o plan.Target) bool { return o.Table }) {
		return nil
	}
	settings := r.computeSettings(t.Name)
	settings.Spill = r.spillFolder("plan")
	session, err := r.Compute.Open(ctx, settings)
	if err != nil {
		return err
	}
	b := &batch{run: r, task: t, session: session}
	defer b.session.Close()
	for i, o := range t.Targets {
		if !o.Table {
			continue
		}
		if err := b.foreseeTable(ctx, task, &task.Outputs[i], o, view); err != nil {
			return &outputError{target: o, err: err}
		}
	}
	return nil
}

func (b *batch) foreseeTable(ctx context.Context, task *PlannedTask, out *PlannedOutput, o plan.Target, view ledger.View) error {
	s, err := b.prepareWriter(ctx, o)
	if err != nil {
		return err
	}
	defer s.Close()
	s.Begin(writer.Grants{Table: b.tableOf(o).files, Log: b.pluginLog(o)})
	said := &abi.Batch{Epoch: 1, Class: abi.Class(o.Class)}
	if !b.options.LeaseOff {
		said.Key = ledger.TableKey(ledgerBatch(b.task.Batch), o.Name)
	}
	if view.Finished != nil {
		said.After, said.Epoch = view.Finished.Epoch, view.Finished.Epoch+1
	}
	answer, err := s.Plan(ctx, abi.PlanRequest{Output: b.abiOutput(o), Epoch: said.Epoch, Batch: said, Time: b.now()})
	if err != nil {
		return err
	}
	for _, p := range answer.Problems {
		task.refuse(b.writerProblem(o, p))
	}
	if len(answer.Problems) > 0 {
		return nil
	}
	class, err := b.deliveredAs(o, answer)
	if err != nil {
		return err
	}
	out.Class, out.Will, out.Warnings = class, answer.Will, answer.Warnings
	if answer.Exists != "" && (o.Mode == modeError || o.Mode == modeIgnore) {
		out.Will = "would " + map[string]string{modeError: "fail", modeIgnore: "write nothing"}[o.Mode] + ": there is data already, " + answer.Exists
	}
	return nil
}
