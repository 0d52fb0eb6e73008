package engine

import (
	"context"
	"fmt"

	"github.com/ubunye-io/ubunye/engine/abi"
	"github.com/ubunye-io/ubunye/engine/ledger"
	"github.com/ubunye-io/ubunye/engine/plan"
	"github.com/ubunye-io/ubunye/engine/problem"
	"github.com/ubunye-io/ubunye/engine/report"
	"github.com/ubunye-io/ubunye/engine/writer"
)

// ask does step 5: every writer looks at its output before any input is read, and says what is wrong
// with it. All of them are asked, so that a person hears of everything at once.
func (b *batch) ask(ctx context.Context) error {
	b.step("ask")
	b.reads = map[string]int{}
	var problems problem.List
	for _, t := range b.task.Targets {
		answer, err := b.writers[t.Name].Plan(ctx, abi.PlanRequest{Output: b.abiOutput(t), Epoch: b.lease.Epoch(), Batch: b.toCommit(t), Time: b.now()})
		if err != nil {
			return &outputError{target: t, err: err}
		}
		for _, p := range answer.Problems {
			problems = append(problems, b.writerProblem(t, p))
		}
		for _, text := range answer.Warnings {
			b.warn(fmt.Sprintf("task %s, output %s: %s", b.task.Name, t.Name, text))
		}
		if len(answer.Problems) > 0 {
			continue
		}
		if t.Class, err = b.deliveredAs(t, answer); err != nil {
			return &outputError{target: t, err: err}
		}
		b.reads[t.Name] = min(answer.Reads, mostReads)
		problems = append(problems, b.lookForData(t, answer)...)
	}
	if len(problems) > 0 {
		return problems
	}
	b.sayAddsAgain()
	return nil
}

// mostReads is as often as it makes a difference how often a writer reads its rows.
const mostReads = 2

// sayAddsAgain says of a rerun what it will not replace.
func (b *batch) sayAddsAgain() {
	f := b.lease.Finished()
	if f == nil || !b.lease.Reruns() {
		return
	}
	for _, t := range b.targets {
		if had := f.Outputs[t.Name]; t.Table && t.Class != string(ledger.Replaces) && had.Mark != nil {
			b.warn(fmt.Sprintf("task %s, output %s: the table %s keeps what run %s added to it as %s, and this rerun adds the batch again: unless its rows were taken out, they will be there twice (with replace_where every run replaces its own)",
				b.task.Name, t.Name, t.Written, had.Mark.Run, had.Mark.Commit))
		}
	}
}

// toCommit is what the writer of a table is going to commit; nil: the writer makes no commits.
func (b *batch) toCommit(t plan.Target) *abi.Batch {
	if !t.Table {
		return nil
	}
	return new(b.tableOf(t).abiBatch(b.lease.TableBatch(t.Name, ledger.Class(t.Class))))
}

// deliveredAs is the class of an output as its writer says when it has looked at the target: that of its description, or what the
// engine counts on; or named, where a table does not let it keep what it promises.
func (b *batch) deliveredAs(t plan.Target, answer abi.PlanAnswer) (string, error) {
	class := string(answer.Class)
	described, _ := b.formats.writers[t.Format].Class(t.Mode, t.Deciding())
	switch {
	case class == t.Class, class == string(described):
		return t.Class, nil
	case t.Table && answer.Class == abi.ClassNamed:
		return class, nil
	}
	return "", untrue(t, abi.CallPlan, "it delivers as %s, but is described as %s", answer.Class, described)
}

// lookForData does what the modes say that ask whether there is data in an output already. No other run
// writes there meanwhile: these modes count as replacing. What is in a table its writer tells.
func (b *batch) lookForData(t plan.Target, answer abi.PlanAnswer) problem.List {
	if t.Mode != modeError && t.Mode != modeIgnore {
		b.targets = append(b.targets, t)
		return nil
	}
	found, err := answer.Exists, error(nil)
	if !t.Table {
		found, err = b.lease.Occupied(t.Path)
	}
	switch {
	case err != nil:
		return problem.List{{Code: problem.OutputUnwritable, Pos: t.PathPos, Task: b.task.Name, Output: t.Name, Cause: err,
			Message: fmt.Sprintf("whether there is data in %s cannot be told: %v", t.Written, err), Data: nothing, Hint: "make the folder readable for this user"}}
	case found == "":
		b.targets = append(b.targets, t)
	case t.Mode == modeError:
		return problem.List{{Code: problem.OutputExists, Pos: t.ModePos, Task: b.task.Name, Output: t.Name,
			Message: fmt.Sprintf("%s holds data already (%s)", t.Written, found), Data: nothing,
			Hint: "the mode is error_if_exists; append would add to it, overwrite would replace it, ignore would leave it"}}
	default:
		if b.skipped == nil {
			b.skipped = map[string]string{}
		}
		b.skipped[t.Name] = t.Path
		b.emit(report.Event{Kind: report.OutputSkipped, Task: b.task.Name, Batch: batchText(b.task.Batch), Output: t.Name, Path: t.Written, Class: t.Class,
			Rows: number(0), Files: number(0), Bytes: number(0), Message: "it holds data already (" + found + "), and the mode is ignore"})
	}
	return nil
}

// untrue says that a writer's answer is not what is so.
func untrue(t plan.Target, call abi.Call, format string, args ...any) *writer.Error {
	return &writer.Error{Plugin: t.Format, Call: string(call), Kind: writer.Output, Message: fmt.Sprintf(format, args...)}
}

// writerProblem places what a writer says of a field of its output.
func (b *batch) writerProblem(t plan.Target, p abi.Problem) *problem.Problem {
	pos := t.Pos
	switch p.Field {
	case "mode":
		pos = t.ModePos
	case "format":
		pos = t.FormatPos
	case "path":
		pos = t.PathPos
	}
	return &problem.Problem{Code: problem.ConfigInvalid, Pos: pos, Task: b.task.Name, Output: t.Name,
		Message: p.Field + ": " + p.Message, Hint: p.Hint, Data: nothing}
}

// abiOutput is what a writer is told of an output.
func (b *batch) abiOutput(t plan.Target) abi.Output {
	out := abi.Output{Name: t.Name, Mode: t.Mode, Target: t.Path, PartitionBy: t.PartitionBy, SortBy: t.SortBy,
		TargetFileSize: t.TargetFileSize, Options: t.Options, Keys: t.Keys, ReplaceWhere: t.ReplaceWhere, Schema: t.Schema}
	if t.Mode == modePartitions {
		out.Slice = fixed(t, b.task.Batch)
	}
	return out
}
