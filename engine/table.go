package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/ubunye-io/ubunye/engine/abi"
	"github.com/ubunye-io/ubunye/engine/ledger"
	"github.com/ubunye-io/ubunye/engine/plan"
	"github.com/ubunye-io/ubunye/engine/report"
	"github.com/ubunye-io/ubunye/engine/writer"
)

// table is the target of an output whose writer makes commits of its own: what the ledger asks of it, the writer is asked.
type table struct {
	batch  *batch
	target plan.Target
	files  *targetFiles              // what the writer may do
	staged map[string]abi.StagedFile // by final name
	state  abi.JSON                  // of the answer to stage
}

// tableOf is that of an output.
func (b *batch) tableOf(t plan.Target) *table {
	if b.tables[t.Name] == nil {
		if b.tables == nil {
			b.tables = map[string]*table{}
		}
		b.tables[t.Name] = &table{batch: b, target: t, files: &targetFiles{batch: b, root: t.Path, staging: func() string { return b.lease.Staging(t.Name) }}, staged: map[string]abi.StagedFile{}}
	}
	return b.tables[t.Name]
}

// abiBatch is what a writer is told of the batch. Without a ledger nothing is looked for, and nothing carried.
func (t *table) abiBatch(b ledger.TableBatch) abi.Batch {
	said := abi.Batch{Key: b.Key, Run: b.Run, Epoch: b.Epoch, After: b.After, Class: abi.Class(b.Class), Range: abi.JSON(b.Range)}
	if t.batch.options.LeaseOff {
		said.Key = ""
		return said
	}
	for _, dead := range b.Pending {
		if key := dead.Output.Key; key != b.Key && !slices.Contains(said.OtherKeys, key) {
			said.OtherKeys = append(said.OtherKeys, key)
		}
	}
	return said
}

func markOf(m abi.Mark) ledger.Mark {
	return ledger.Mark{Run: m.Run, Epoch: m.Epoch, Commit: m.Commit}
}

func (t *table) session() *writer.Session { return t.batch.writers[t.target.Name] }

// Look upholds ledger.Table.
func (t *table) Look(ctx context.Context, b ledger.TableBatch) (ledger.Mark, error) {
	if t.batch.options.LeaseOff {
		return ledger.Mark{}, nil
	}
	answer, err := t.resolve(ctx, b, nil)
	return markOf(answer.Mark), err
}

// Resolve upholds ledger.Table. Only the dead run's own commit can have named its files, and that has its epoch.
func (t *table) Resolve(ctx context.Context, b ledger.TableBatch, dead ledger.Pending) (named []string, err error) {
	b.Run, b.Epoch = dead.Run, dead.Epoch
	answer, err := t.resolve(ctx, b, dead.Output.Claims)
	return answer.Named, err
}

// resolve asks what the log holds, and makes what the ledger is going to rely on durable.
func (t *table) resolve(ctx context.Context, b ledger.TableBatch, files []string) (abi.ResolveAnswer, error) {
	req := abi.ResolveRequest{Output: t.batch.abiOutput(t.target), Batch: t.abiBatch(b), Files: files, Time: t.batch.now()}
	answer, err := t.session().Resolve(ctx, req)
	if err == nil && answer.Mark.Epoch > b.After {
		err = t.files.durable()
	}
	return answer, err
}

// notCommitted says why a table does not hold a commit, in its writer's words.
type notCommitted struct{ message, hint string }

func (e *notCommitted) Error() string { return e.message }

// Commit upholds ledger.Table.
func (t *table) Commit(ctx context.Context, b ledger.TableBatch, files []string) (ledger.Answer, error) {
	req := abi.CommitRequest{Output: t.batch.abiOutput(t.target), Batch: t.abiBatch(b), Files: []abi.StagedFile{}, State: t.state, Time: t.batch.now()}
	for _, name := range files {
		req.Files = append(req.Files, t.staged[name])
	}
	answer, err := t.session().Commit(ctx, req)
	if err == nil && answer.Message != "" {
		err = &notCommitted{answer.Message, answer.Hint}
	}
	switch answer.Outcome {
	case abi.OutcomeDone, abi.OutcomeFound:
		if answer.Outcome == abi.OutcomeFound || t.files.unsure {
			if err := t.files.durable(); err != nil {
				return ledger.Answer{Outcome: ledger.Unknown}, err
			}
		}
		outcome := map[abi.CommitOutcome]ledger.Outcome{abi.OutcomeDone: ledger.Done, abi.OutcomeFound: ledger.Found}[answer.Outcome]
		return ledger.Answer{Outcome: outcome, Mark: markOf(answer.Mark)}, nil
	case abi.OutcomeFenced:
		return ledger.Answer{Outcome: ledger.Fenced, Mark: markOf(answer.Mark)}, nil
	case abi.OutcomeNotDone:
		return ledger.Answer{Outcome: ledger.NotDone}, err
	}
	return t.lookAgain(ctx, b, err)
}

// lookAgain asks a new instance of the writer for a commit of which the old one could not tell, or that it died after. What is not
// there may still come, so that only a commit which is there settles it.
func (t *table) lookAgain(ctx context.Context, b ledger.TableBatch, cause error) (ledger.Answer, error) {
	unknown := ledger.Answer{Outcome: ledger.Unknown}
	if t.batch.options.LeaseOff {
		return unknown, cause
	}
	if err := t.batch.restart(ctx, t.target); err != nil {
		return unknown, errors.Join(cause, err)
	}
	answer, err := t.resolve(ctx, b, nil)
	if err != nil {
		return unknown, errors.Join(cause, err)
	}
	if answer.Mark.Epoch == b.Epoch && answer.Mark.Run == b.Run {
		return ledger.Answer{Outcome: ledger.Done, Mark: markOf(answer.Mark)}, nil
	}
	return unknown, cause
}

// restart ends the instance of an output's writer and starts another one.
func (b *batch) restart(ctx context.Context, t plan.Target) error {
	b.writers[t.Name].Close()
	s, err := b.prepareWriter(ctx, t)
	if err != nil {
		return err
	}
	s.Begin(b.grants(t))
	b.writers[t.Name] = s
	return nil
}

// keep notes what was staged, by the names that it is going to have in the table.
func (t *table) keep(answer abi.StageAnswer) {
	t.state = answer.State
	for _, f := range answer.Files {
		f.Name = f.Name[:len(f.Name)-len(stagedSuffix)]
		t.staged[f.Name] = f
	}
}

// found tells of an output whose table holds the batch already, by a dead run's commit.
func (b *batch) found(name string) (ledger.TableOutcome, bool) {
	for _, o := range b.lease.Tables() {
		if o.Output == name && o.Outcome == ledger.Found {
			return o, true
		}
	}
	return ledger.TableOutcome{}, false
}

// tellFound says of what is not written whose commit holds it, and how to replace it all the same (R72).
func (b *batch) tellFound(t plan.Target, o ledger.TableOutcome) {
	b.emit(report.Event{Kind: report.OutputFound, Task: b.task.Name, Batch: batchText(b.task.Batch), Output: t.Name, Path: t.Written, Class: t.Class, Commit: o.Mark.Commit, Message: fmt.Sprintf(
		"the table holds the batch already: run %s committed it as %s and ended before it could say so; to replace those rows, take them out of the table and run %s (replace_where would replace them each time)",
		o.Mark.Run, o.Mark.Commit, b.command("--rerun"))})
}
