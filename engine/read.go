package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/ubunye-io/ubunye/engine/compute"
	"github.com/ubunye-io/ubunye/engine/config"
	"github.com/ubunye-io/ubunye/engine/ledger"
	"github.com/ubunye-io/ubunye/engine/problem"
	"github.com/ubunye-io/ubunye/engine/report"
)

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
