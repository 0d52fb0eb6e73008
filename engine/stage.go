package engine

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/ubunye-io/ubunye/engine/abi"
	"github.com/ubunye-io/ubunye/engine/compute"
	"github.com/ubunye-io/ubunye/engine/config"
	"github.com/ubunye-io/ubunye/engine/ledger"
	"github.com/ubunye-io/ubunye/engine/plan"
	"github.com/ubunye-io/ubunye/engine/problem"
	"github.com/ubunye-io/ubunye/engine/report"
	"github.com/ubunye-io/ubunye/engine/store/fsops"
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

// read does step 6: inputs and steps become relations. What is read is pinned here; rows are computed
// when a writer has them encoded.
func (b *batch) read(ctx context.Context) error {
	b.step("read")
	b.pinned, b.opened = map[string][]compute.File{}, map[string]*openedInput{}
	b.checks = checksOf(b.task.Task)
	inputs := map[string]inputPrint{}
	b.drifts = map[string]drift{}
	var err error
	if b.shapes, err = b.shapesOf(ctx, b.task, b.lease.Finished()); err != nil {
		return err
	}
	if err = b.pin(ctx); err != nil {
		return err
	}
	var steps []compute.Step
	var refused problem.List
	for _, in := range b.task.Inputs {
		steps = append(steps, b.checks.Divided(in.Name)...)
		d, err := b.readInput(ctx, in, inputs)
		if err != nil {
			return err
		}
		refused = append(refused, d.refused...)
	}
	if len(refused) > 0 {
		return refused
	}
	data, err := json.Marshal(inputs)
	if err != nil {
		return err
	}
	b.inputs = data
	for _, s := range b.task.Steps {
		steps = append(steps, compute.Step{Name: b.checks.Whole(s.Name), SQL: s.SQL})
		steps = append(steps, b.checks.Divided(s.Name)...)
	}
	consumed := slices.Concat(b.checks.Consumed(), b.summedUp())
	for _, t := range b.targets {
		for range max(1, b.reads[t.Name]) {
			consumed = append(consumed, written(t))
		}
	}
	return b.checkError(b.checks.Blame(b.session.Prepare(ctx, steps, consumed)))
}

// readInput opens one input, pins its files, and notes in prints what was read.
func (b *batch) readInput(ctx context.Context, in config.Input, prints map[string]inputPrint) (d drift, err error) {
	o, err := b.open(ctx, in)
	if err != nil {
		return d, err
	}
	asked, relation, files := o.asked, o.relation, o.files
	if err := b.narrow(ctx, in, relation); err != nil {
		return d, err
	}
	b.pinned[in.Name] = files
	b.progress.listed(files)
	read := fingerprint(files)
	read.Version = asked.Version
	if s := b.spans[in.Name]; hasShape(in) && (s.Files == nil || !s.empty()) {
		if d, err = b.drifted(ctx, b.session, b.task.Name, in, asked, relation, files, b.shapes); err != nil {
			return d, err
		}
		for _, text := range d.told {
			b.warn("task " + b.task.Name + ", " + text)
		}
		read.Columns, b.drifts[in.Name] = d.columns, d
	}
	if asked.Rejects != nil {
		if err := b.tally(ctx, in, relation, &read); err != nil {
			return d, err
		}
	}
	prints[in.Name] = read
	if s, ok := b.spans[in.Name]; ok && s.empty() {
		return d, nil // that it has nothing new was told
	}
	return d, b.lookForRows(ctx, in, relation)
}

// open opens an input, once.
func (b *batch) open(ctx context.Context, in config.Input) (*openedInput, error) {
	if o, ok := b.opened[in.Name]; ok {
		return o, nil
	}
	if isDatabase(in) {
		return b.openDatabase(ctx, in)
	}
	asked, err := b.input(ctx, in)
	if err != nil {
		return nil, err
	}
	asked.Name, asked.Known = b.checks.Whole(in.Name), b.shapes.known(in)
	if s := b.spans[in.Name]; s.Files != nil {
		asked.Pinned = []compute.File{}
		for _, f := range s.Files.Read {
			asked.Pinned = append(asked.Pinned, b.fileOf(f))
		}
	}
	relation, files, err := b.session.Input(ctx, asked)
	if err != nil {
		return nil, err
	}
	return &openedInput{asked, relation, files}, nil
}

// input is what the compute engine is asked to read.
func (b *batch) input(ctx context.Context, in config.Input) (compute.Input, error) {
	if in.From != nil {
		if err := b.stillThisRuns(ctx, in); err != nil {
			return compute.Input{}, err
		}
		return b.asked(in, b.sources), nil // of a table: the newest version, which has what was written since others were settled
	}
	return b.settled(ctx, b.asked(in, b.sources))
}

// asked is what the compute engine is asked to read. sources are the commits, by task, that from reads.
func (r *run) asked(in config.Input, sources map[string]*ledger.Finished) compute.Input {
	if in.From != nil {
		return r.askedFrom(in, sources[in.From.Task])
	}
	columns := make([]compute.Column, len(in.Columns))
	for i, c := range in.Columns {
		columns[i] = compute.Column{Name: c.Name, Type: c.Type}
	}
	asked := compute.Input{Name: in.Name, Format: in.Format, Path: in.Path, Columns: columns, Options: in.Options}
	if r := in.Rejects; r != nil {
		asked.Rejects = &compute.Rejects{Relation: r.Name, Rows: r.Rows, Percent: r.Percent}
	}
	return asked
}

// tally tells how many rows of an input with rejects were read and how many are not as declared, and keeps it: for the record of
// the commit, and to be held against outputs that write just these rows.
func (b *batch) tally(ctx context.Context, in config.Input, relation compute.Relation, read *inputPrint) error {
	t, err := b.session.Tally(ctx, relation)
	if err != nil {
		return err
	}
	read.Rows, read.Rejected = number(t.Read), number(t.Rejected)
	if b.counted == nil {
		b.counted = map[string]int64{}
	}
	b.counted[string(relation)], b.counted[in.Rejects.Name] = t.Rows, t.Rejected
	b.emit(report.Event{Kind: report.InputRead, Task: b.task.Name, Batch: batchText(b.task.Batch), Input: in.Name, RowsRead: number(t.Read), Rows: number(t.Rows), Rejected: number(t.Rejected)})
	return nil
}

// lookForRows does what the pipeline says of an input without rows.
func (b *batch) lookForRows(ctx context.Context, in config.Input, relation compute.Relation) error {
	if in.OnEmpty == "ok" {
		return nil
	}
	head, err := b.session.Head(ctx, relation, 1)
	if err != nil || len(head) > 0 {
		return err
	}
	message := fmt.Sprintf("input %s: %s has no rows", in.Name, in.Reads())
	if in.OnEmpty == "fail" {
		return &problem.Problem{Code: problem.InputMissing, Pos: in.PathPos, Message: message, Data: nothing, Hint: "on_empty is fail; ok or warn would go on"}
	}
	b.warn(fmt.Sprintf("task %s, %s (on_empty: ok would not say so, fail would end the task)", b.task.Name, message))
	return nil
}

// inputPrint is what the ledger keeps of an input: enough to see later that another one was read.
type inputPrint struct {
	Files       int    `json:"files"`
	Bytes       int64  `json:"bytes"`
	Fingerprint string `json:"fingerprint"`       // SHA-256 of names, sizes and times
	Version     *int64 `json:"version,omitempty"` // of the table; absent: its format knows none

	Rows     *int64 `json:"rows,omitempty"`     // read; of an input with rejects
	Rejected *int64 `json:"rejected,omitempty"` // of them

	Columns []ledger.Column `json:"columns,omitempty"` // if none are declared: those that it had
}

// sameFiles tells whether two prints are of the same files.
func (p inputPrint) sameFiles(other inputPrint) bool {
	return p.Files == other.Files && p.Bytes == other.Bytes && p.Fingerprint == other.Fingerprint
}

func fingerprint(files []compute.File) inputPrint {
	p := inputPrint{Files: len(files)}
	sum := sha256.New()
	for _, f := range files {
		p.Bytes += f.Size
		fmt.Fprintf(sum, "%s\x00%d\x00%d\n", f.Path, f.Size, f.ModTime.UnixNano())
	}
	p.Fingerprint = hex.EncodeToString(sum.Sum(nil)[:16])
	return p
}

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

// variables are those that SQL may name.
func (r *run) variables() []compute.Variable {
	var all []compute.Variable
	for _, v := range r.config.Variables {
		if v.Set {
			all = append(all, compute.Variable{Name: v.Name, Type: v.SQLType, Value: v.Value})
		}
	}
	return all
}

// spillFolder is where the compute engine puts what does not fit in memory; it makes the folder when it needs it.
// The name holds the run's id, or a random one where there is no ledger yet: a process id is used again, and by
// other machines or containers that may share the disk, and two engines in one folder would overwrite each other's rows.
func (r *run) spillFolder(name string) string {
	return filepath.Join(r.spillRoot(), spillPrefix+cmp.Or(r.scratch, uuid.NewString())+"-"+name)
}

const spillPrefix = "ubunye-spill-"

func (r *run) spillRoot() string {
	if dir := r.config.Engine.Spill; dir != "" {
		return dir
	}
	return os.TempDir()
}

// collectSpill removes what killed runs of this ledger had spilled. It is nobody's data, so what cannot be
// removed is no error.
func (r *run) collectSpill() {
	entries, err := os.ReadDir(r.spillRoot())
	if err != nil {
		return
	}
	for _, e := range entries {
		if name, is := strings.CutPrefix(e.Name(), spillPrefix); is && e.IsDir() && r.record.Ended(name) {
			fsops.New(nil).RemoveAll(filepath.Join(r.spillRoot(), e.Name()))
		}
	}
}

// makeSpill makes the folder that the pipeline names for spilled rows; the compute engine makes one below it.
// No promise hangs on it, so its changes are not among those that faults are injected into.
func (r *run) makeSpill() error {
	dir := r.config.Engine.Spill
	if dir == "" {
		return nil
	}
	if err := fsops.New(nil).MkdirAll(dir, 0o777); err != nil {
		return &problem.Problem{Code: problem.ComputeFailed, Message: "engine.spill: " + err.Error(), Data: nothing,
			Hint: "name a folder that can be made and written", Cause: err}
	}
	return nil
}
