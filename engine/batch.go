package engine

import (
	"context"
	"encoding/json"

	"github.com/ubunye-io/ubunye/engine/compute"
	"github.com/ubunye-io/ubunye/engine/ledger"
	"github.com/ubunye-io/ubunye/engine/plan"
	"github.com/ubunye-io/ubunye/engine/report"
	"github.com/ubunye-io/ubunye/engine/writer"
)

// batch is the work of one task for one batch, while it lasts.
type batch struct {
	*run
	task     plan.Task
	lease    *ledger.Lease
	session  compute.Session
	writers  map[string]*writer.Session       // by output
	inputs   json.RawMessage                  // what was read, by input
	pinned   map[string][]compute.File        // the files of it, by input
	staged   map[string]ledger.Result         // by output
	replaces map[string]ledger.FinishedOutput // what goes when this batch has landed, by output
	derived  int                              // relations that writers made
}

// execute is the path of one batch, a call a step; steps 1 to 4 were done for the whole run. Whatever
// fails before the commit leaves nothing to be seen: the staging is dropped and the batch given back.
// From the commit on the batch is this run's and only forward leads out, so a wish to stop no longer counts.
func (b *batch) execute(ctx context.Context) error {
	defer b.close()
	if err := b.prepare(ctx); err != nil {
		return b.giveUp(ctx, err)
	}
	ctx = context.WithoutCancel(ctx)
	if err := b.commit(ctx); err != nil {
		return b.giveUp(ctx, err)
	}
	return b.land(ctx)
}

// prepare does the steps before the commit: nothing of them is visible.
func (b *batch) prepare(ctx context.Context) error {
	if stopped := context.Cause(ctx); stopped != nil {
		return stopped
	}
	if err := b.start(ctx); err != nil {
		return err
	}
	if err := b.ask(ctx); err != nil { // 5
		return err
	}
	if err := b.read(ctx); err != nil { // 6
		return err
	}
	if err := b.stage(ctx); err != nil { // 7
		return err
	}
	if err := b.unchanged(); err != nil {
		return err
	}
	return context.Cause(ctx)
}

// giveUp drops what was staged and gives the batch back, within a time of its own: the wish to stop
// that may have ended the run must not end its cleaning up. The run's own error is the one that is told.
func (b *batch) giveUp(ctx context.Context, cause error) error {
	cause = told(ctx, cause)
	b.close() // nobody may write into the staging that is dropped now
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), cleanUp)
	defer stop()
	if err := b.lease.Fail(ctx, cause.Error()); err != nil {
		b.emit(report.Event{Kind: report.Warning, Task: b.task.Name, Message: "giving the batch back failed too: " + err.Error()})
	}
	return cause
}

// start starts the writers first: they load while the compute engine opens.
func (b *batch) start(ctx context.Context) error {
	b.writers = map[string]*writer.Session{}
	for _, t := range b.task.Targets {
		module, limits := b.module(t.Format)
		s, err := b.host.Start(ctx, module, limits, b.grants(t))
		if err != nil {
			return &outputError{target: t, err: err}
		}
		b.writers[t.Name] = s
	}
	if err := b.makeSpill(); err != nil {
		return err
	}
	session, err := b.Compute.Open(ctx, compute.Settings{
		Memory:    b.config.Engine.Memory,
		Threads:   b.config.Engine.Threads,
		Spill:     b.spillFolder(b.task.Name),
		Variables: b.variables(),
		Rename:    b.FS.RenameNoReplace,
	})
	if err != nil {
		return err
	}
	b.session = session
	return nil
}

// commit does step 9: the one save after which the batch is this run's (I4).
func (b *batch) commit(ctx context.Context) error {
	b.step("commit")
	if f := b.lease.Finished(); f != nil && b.options.Rerun && b.task.Batch.Named {
		b.replaces = f.Outputs
	}
	return b.lease.Commit(ctx, ledger.Commit{Config: configHash(b.task.Config), Inputs: b.inputs, Outputs: b.staged})
}

// land does step 10: what is committed becomes visible.
func (b *batch) land(ctx context.Context) error {
	b.step("land")
	if err := b.lease.Land(ctx); err != nil {
		return err
	}
	for _, t := range b.task.Targets {
		o := b.staged[t.Name]
		b.emit(report.Event{Kind: report.OutputLanded, Task: b.task.Name, Batch: batchText(b.task.Batch), Output: t.Name, Path: t.Written, Class: t.Class,
			Rows: number(o.Rows), Files: number(o.Files), Bytes: number(o.Bytes), Replaced: b.replaces[t.Name].Files})
	}
	return nil
}

// close gives back what the steps opened. It may be called again.
func (b *batch) close() {
	for _, s := range b.writers {
		s.Close()
	}
	b.writers = nil
	if b.session != nil {
		b.session.Close()
		b.session = nil
	}
}
