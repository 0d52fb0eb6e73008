package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/ubunye-io/ubunye/engine/compute"
	"github.com/ubunye-io/ubunye/engine/expect"
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
	sources  map[string]*ledger.Finished // what the tasks that it reads from committed, by task
	session  compute.Session
	targets  []plan.Target              // those of task.Targets that are written
	skipped  map[string]string          // the folders of the others, by output
	writers  map[string]*writer.Session // by output
	inputs   json.RawMessage            // what was read, by input
	pinned   map[string][]compute.File  // the files of it, by input
	opened   map[string]*openedInput    // inputs that had to be read to know what is new in them
	spans    map[string]span            // what incremental inputs are to read
	left     map[string]string          // what is left of them for later runs, as people are told
	shapes   *shapes                    // that its inputs had
	drifts   map[string]drift           // what the comparison with them has found, by input
	counted  map[string]int64           // rows of relations that were counted when they were read
	staged   map[string]ledger.Result   // by output
	tables   map[string]*table          // of outputs whose writers make commits of their own
	checks   *expect.Set
	checked  []ledger.Check                   // how its checks went
	replaces map[string]ledger.FinishedOutput // what goes when this batch has landed, by output
	derived  int                              // relations that writers made
	reads    map[string]int                   // how often a writer reads the rows of its output, if it has said so
	progress progress
	closing  chan struct{} // closed when what only staging needs is closed; nil: nobody closes it yet
}

// execute is the path of one batch, a call a step; steps 1 to 4 were done for the whole run. Whatever
// fails before the target commits leaves nothing to be seen: the staging is dropped and the batch given
// back. From there on only forward leads out, so a wish to stop no longer counts; what fails between a
// target's own commit and that of the batch is kept, and said.
func (b *batch) execute(ctx context.Context) error {
	defer b.close()
	err := b.prepare(ctx)
	if errors.As(err, new(*nothingNew)) {
		return cmp.Or(b.lease.Release(context.WithoutCancel(ctx)), err)
	}
	if err != nil {
		return b.giveUp(ctx, err)
	}
	if len(b.targets) == 0 {
		return b.lease.Release(context.WithoutCancel(ctx)) // every output stays as it is
	}
	ctx = context.WithoutCancel(ctx)
	if err := b.commit(ctx); err != nil {
		return b.giveUp(ctx, err)
	}
	err = b.land(ctx)
	b.keepShapes()
	return err
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
	if len(b.targets) == 0 {
		return context.Cause(ctx)
	}
	err := b.read(ctx) // 6
	if err == nil {
		err = b.stage(ctx) // 7
	}
	if still := b.stillFinished(ctx); still != nil && context.Cause(ctx) == nil {
		return still // that is why a file that was read may be gone
	}
	if err != nil {
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
	err := b.lease.Fail(ctx, cause.Error())
	switch {
	case errors.As(err, new(*ledger.LostError)):
		cause = err // whatever went wrong: the batch is another run's, and what was staged may be gone because of that
	case err != nil:
		b.emit(report.Event{Kind: report.Warning, Task: b.task.Name, Batch: batchText(b.task.Batch), Message: "giving the batch back failed too: " + err.Error()})
	}
	if kept := (&keptError{kept: b.lease.Replaced(), tables: b.keptTables(), err: cause}); len(kept.kept)+len(kept.tables) > 0 {
		cause = kept
	}
	return cause
}

// start starts the writers first: they load while the compute engine opens.
func (b *batch) start(ctx context.Context) error {
	e := b.early.take(b.task.Name)
	err := b.startWriters(ctx, e)
	if err == nil {
		err = b.makeSpill()
	}
	if err != nil && e == nil {
		return err
	}
	if opening := b.openCompute(ctx, e); err == nil {
		err = opening
	}
	return err
}

// commit does step 8, the targets' own commits, and step 9, the one save after which the batch is this run's (I4).
func (b *batch) commit(ctx context.Context) error {
	b.step("commit")
	if f := b.lease.Finished(); f != nil && b.lease.Reruns() {
		b.replaces = f.Outputs
	}
	c := ledger.Commit{State: b.stateName(), Config: configHash(b.task.Config), Inputs: b.inputs, Outputs: b.staged, Checks: b.checked, Skipped: b.skipped}
	if err := b.sayReplaces(); err != nil {
		return err
	}
	if err := b.lease.CommitTables(ctx, c); err != nil { // 8
		return err
	}
	b.closeSoon()
	if err := b.lease.Replace(ctx, c); err != nil {
		return err
	}
	for _, r := range b.lease.Replaced() {
		switch {
		case r.Moved:
			b.warn(fmt.Sprintf("task %s, output %s: the folder %s cannot itself be replaced (%s), so what is in it was moved name by name: for a moment readers could see a part of the old files, or of the new ones", b.task.Name, r.Output, r.Base, whyMoved))
		case r.Renames:
			b.warn(fmt.Sprintf("task %s, output %s: the file system of %s cannot exchange folders, so for a moment readers could find none there", b.task.Name, r.Output, r.Base))
		}
	}
	return b.lease.Commit(ctx, c) // 9
}

// sayReplaces says how much of what is there goes, before it does.
func (b *batch) sayReplaces() error {
	for _, t := range b.targets {
		if t.Class != string(ledger.Replaces) || t.Table {
			continue // of a table its writer tells
		}
		var files, folders int64
		var err error
		if t.Mode == modePartitions {
			files, folders, err = ledger.CountReplaced(t.Path, b.staged[t.Name])
		} else {
			files, folders, err = ledger.CountData(t.Path, "")
		}
		if err != nil {
			return &outputError{target: t, err: err}
		}
		if files > 0 {
			b.emit(report.Event{Kind: report.OutputReplaces, Task: b.task.Name, Batch: batchText(b.task.Batch), Output: t.Name, Path: t.Written, Class: t.Class,
				Replaced: files, Partitions: number(folders)})
		}
	}
	return nil
}

// whyMoved says why a folder cannot be renamed.
const whyMoved = "a disk is mounted there, or it lies in a lower layer of an overlay"

// land does step 10: what is committed becomes visible.
func (b *batch) land(ctx context.Context) error {
	b.step("land")
	if err := b.lease.Land(ctx); err != nil {
		return err
	}
	replaced := map[string]ledger.Replaced{}
	for _, r := range b.lease.Replaced() {
		replaced[r.Output] = r
	}
	commits := map[string]ledger.TableOutcome{}
	for _, o := range b.lease.Tables() {
		commits[o.Output] = o
	}
	for _, t := range b.targets {
		o := b.staged[t.Name]
		if commits[t.Name].Outcome == ledger.Found {
			b.tellFound(t, commits[t.Name])
			continue
		}
		e := report.Event{Kind: report.OutputLanded, Task: b.task.Name, Batch: batchText(b.task.Batch), Output: t.Name, Path: t.Written, Class: t.Class,
			Rows: number(o.Rows), Files: number(o.Files), Bytes: number(o.Bytes), Replaced: b.replaces[t.Name].Files, Commit: commits[t.Name].Mark.Commit}
		if t.Table {
			e.Replaced = 0 // what a table holds stays the table's
		} else if t.Class == string(ledger.Replaces) {
			e.Replaced, e.Folders = 0, number(replaced[t.Name].Old)
		}
		b.emit(e)
		b.sayEmpty(t, o.Rows, replaced[t.Name])
		b.sayOutside(t, o.Slice, replaced[t.Name].Parts)
	}
	return nil
}

// sayEmpty says what an output without rows has come to, where that is not to be seen in a file.
func (b *batch) sayEmpty(t plan.Target, rows int64, replaced ledger.Replaced) {
	if rows > 0 || len(t.PartitionBy) == 0 || t.Table {
		return
	}
	did := "holds no rows of it"
	switch {
	case t.Mode == modeOverwrite:
		did = "is empty now"
	case t.Mode == modePartitions && len(replaced.Parts) > 0:
		did = "has no rows any more in the slice that the variables declare"
	case t.Mode == modePartitions:
		did = "was not touched: without rows there are no partitions to replace"
	}
	b.warn(fmt.Sprintf("task %s, output %s: the result has no rows; %s %s", b.task.Name, t.Name, t.Written, did))
}

// sayOutside says which partitions were replaced although the variables of the batch name others: a row with the value of
// another day replaces that day.
func (b *batch) sayOutside(t plan.Target, slice string, parts []string) {
	var outside []string
	for _, part := range parts {
		if !inSlice(slice, part) {
			outside = append(outside, part)
		}
	}
	if t.Mode != modePartitions || len(outside) == 0 {
		return
	}
	named := strings.Join(outside[:min(mostNamed, len(outside))], ", ")
	if more := len(outside) - mostNamed; more > 0 {
		named += fmt.Sprintf(", %d more", more)
	}
	b.warn(fmt.Sprintf("task %s, output %s: %s outside the slice %s, which the variables declare, had rows in the result, and was replaced too: %s",
		b.task.Name, t.Name, report.Count(int64(len(outside)), "partition"), slice, named))
}

// warn is that of the run, for the task: events of tasks side by side are told apart by it.
func (b *batch) warn(text string) {
	b.emit(report.Event{Kind: report.Warning, Task: b.task.Name, Batch: batchText(b.task.Batch), Message: text})
}

// close gives back what the steps opened. It may be called again.
func (b *batch) close() {
	if b.closing != nil {
		<-b.closing
	}
	for _, s := range b.writers {
		s.Close()
	}
	b.writers = nil
	if b.session != nil {
		b.session.Close()
		b.session = nil
	}
}
