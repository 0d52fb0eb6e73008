package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/ubunye-io/ubunye/engine/compute"
	"github.com/ubunye-io/ubunye/engine/config"
	"github.com/ubunye-io/ubunye/engine/ledger"
	"github.com/ubunye-io/ubunye/engine/plan"
	"github.com/ubunye-io/ubunye/engine/problem"
)

// The shape of an input without declared columns is those that its files have. It is held against the shape of the task's last
// commit, so that files which have become others are told before anything is made of them.

// hasShape tells whether the columns of an input are what its files have.
func hasShape(in config.Input) bool { return in.From == nil && len(in.Columns) == 0 }

func anyShape(t plan.Task) bool {
	for _, in := range t.Inputs {
		if hasShape(in) {
			return true
		}
	}
	return false
}

// shapes are those that the inputs of a task had.
type shapes struct {
	last map[string]ledger.Shape    // in the last commit of any batch of the task, by input
	own  map[string][]ledger.Column // in the last commit of this batch
	kept bool                       // last is what the ledger has written down
}

// shapesOf reads them. What is written down may be lost or damaged: it is found again in the documents.
func (r *run) shapesOf(ctx context.Context, t plan.Task, own *ledger.Finished) (*shapes, error) {
	s := &shapes{own: columnsRead(own)}
	if !anyShape(t) {
		return s, nil
	}
	var err error
	s.last, s.kept, err = r.ledger.Shapes(ledgerBatch(t.Batch))
	if err == nil && s.kept {
		return s, nil
	}
	if err != nil {
		r.warn(fmt.Sprintf("task %s: the columns that its inputs had are read from its batches, and written down anew by its next commit, because %v", t.Name, err))
	}
	newest, batch, err := r.ledger.Newest(ctx, ledgerBatch(t.Batch))
	if err != nil || newest == nil {
		return s, err
	}
	s.last = map[string]ledger.Shape{}
	for name, columns := range columnsRead(newest) {
		s.last[name] = ledger.Shape{Columns: columns, Run: newest.Run, Variables: batch.Variables, At: newest.At}
	}
	return s, nil
}

// columnsRead are the columns that the inputs without declared ones had for a commit.
func columnsRead(f *ledger.Finished) map[string][]ledger.Column {
	var prints map[string]inputPrint
	if f == nil || json.Unmarshal(f.Inputs, &prints) != nil {
		return nil
	}
	read := map[string][]ledger.Column{}
	for name, p := range prints {
		if len(p.Columns) > 0 {
			read[name] = p.Columns
		}
	}
	return read
}

// known is what the compute engine is told of an input. The batch's own shape counts first: files that are read again are what
// they were.
func (s *shapes) known(in config.Input) (known [][]compute.Column) {
	if !hasShape(in) {
		return nil
	}
	if own := s.own[in.Name]; own != nil {
		known = append(known, computeColumns(own))
	}
	if last, ok := s.last[in.Name]; ok {
		known = append(known, computeColumns(last.Columns))
	}
	return known
}

// change is one difference between the columns of an input and those that it had.
type change struct {
	column  string
	was, is string // types; was is empty if the column is new, is if it is gone
}

// changes compares columns by their names, as SQL does; their order is no difference.
func changes(was []ledger.Column, is []compute.Column) (found []change) {
	types := map[string]string{}
	for _, c := range was {
		types[strings.ToLower(c.Name)] = c.Type
	}
	for _, c := range is {
		before, there := types[strings.ToLower(c.Name)]
		if !there || before != c.Type {
			found = append(found, change{c.Name, before, c.Type})
		}
		delete(types, strings.ToLower(c.Name))
	}
	for _, c := range was {
		if _, gone := types[strings.ToLower(c.Name)]; gone {
			found = append(found, change{c.Name, c.Type, ""})
		}
	}
	return found
}

// The values of schema.
const (
	schemaAdd    = "add_columns"
	schemaEvolve = "evolve"
)

// allowed tells whether an input may change so.
func (c change) allowed(schema string) bool {
	return schema == schemaEvolve || schema == schemaAdd && c.was == ""
}

// text says what has changed since a shape.
func (c change) text(since ledger.Shape) string {
	last := "run " + since.Run
	if batch := variablesText(since.Variables, ""); batch != "" {
		last += " (" + batch + ")"
	}
	switch {
	case c.was == "":
		return fmt.Sprintf("the column %s (%s) is new: %s had none of that name", c.column, c.is, last)
	case c.is == "":
		return fmt.Sprintf("the column %s is gone: %s had it, as %s", c.column, last, c.was)
	}
	return fmt.Sprintf("the column %s is %s, and was %s in %s", c.column, c.is, c.was, last)
}

// drift is what the comparison of one input has found.
type drift struct {
	columns []ledger.Column
	refused problem.List
	told    []string // what is allowed, or no difference, and should be known
	old     bool     // it is what the batch itself had, and not what the task's last commit had
}

// drifted compares an input that was opened with what it had.
func (r *run) drifted(ctx context.Context, session compute.Session, task string, in config.Input, asked compute.Input, relation compute.Relation, files []compute.File, had *shapes) (drift, error) {
	columns, err := session.Schema(ctx, relation)
	if err != nil {
		return drift{}, err
	}
	if isDatabase(in) {
		return compared(task, in, columns, had), nil
	}
	d := drift{columns: ledgerColumns(columns)}
	missing, err := session.Missing(ctx, relation)
	if err != nil {
		return d, err
	}
	if len(missing) == len(columns) {
		missing = nil // there is no object
	}
	for _, name := range missing {
		d.told = append(d.told, fmt.Sprintf("input %s: no object in %s has the key %s, which earlier ones had: it is NULL in every row", in.Name, in.Written, name))
	}
	last, compared := had.last[in.Name]
	if !compared {
		return d, nil
	}
	found := changes(last.Columns, columns)
	if own := had.own[in.Name]; own != nil && len(found) > 0 && len(changes(own, columns)) == 0 {
		d.old = true
		return d, nil
	}
	for i, c := range found {
		text := "input " + in.Name + ": " + c.text(last)
		if c.allowed(in.Schema) {
			d.told = append(d.told, text+"; schema: "+in.Schema+" allows it")
			continue
		}
		p := &problem.Problem{Code: problem.SchemaDiffers, Task: task, Pos: problem.Pos{File: files[0].Path}, Message: text, Data: nothing, Hint: c.waysOn(in)}
		if i < mostShown && !r.Compute.SaysColumns(in.Format) { // else the first file tells as much as any other
			shown, err := show(ctx, session, asked, columns, c)
			if err != nil {
				return d, err
			}
			if shown != nil {
				p.Pos = problem.Pos{File: shown.File, Line: int(shown.Line)}
				if c.was != "" && c.is != "" {
					p.Message += ": " + shown.Message
				}
			}
		}
		d.refused = append(d.refused, p)
	}
	return d, nil
}

// waysOn says how an input may have such a change.
func (c change) waysOn(in config.Input) string {
	ways := "if the change is meant: schema: evolve at input " + in.Name + " takes every change"
	if c.was == "" {
		ways = "if the change is meant: schema: add_columns at input " + in.Name + " takes new columns, schema: evolve every change"
	}
	return ways + "; to hold the files to what they had, declare columns:, which ubunye plan prints"
}

// mostShown is for how many differences of an input its files are read again to find a place that shows it.
const mostShown = 10

// show finds where the files of an input are not as they were, by reading them with that declared: nil if it cannot be told more
// exactly than by the name of a file.
func show(ctx context.Context, session compute.Session, asked compute.Input, columns []compute.Column, c change) (*compute.Error, error) {
	asked.Name, asked.Known, asked.Columns = asked.Name+"\x01"+c.column, nil, nil
	read := c.column
	for _, is := range columns {
		switch {
		case is.Name != c.column:
			asked.Columns = append(asked.Columns, is)
		case c.was != "":
			asked.Columns = append(asked.Columns, compute.Column{Name: c.column, Type: c.was})
		}
	}
	switch {
	case c.is == "":
		asked.Columns = append(asked.Columns, compute.Column{Name: c.column, Type: c.was})
	case len(asked.Columns) == 0:
		return nil, nil
	case c.was == "":
		read = asked.Columns[0].Name
	}
	err := readColumn(ctx, session, asked, read)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	var found *compute.Error
	if errors.As(err, &found) && found.Kind == compute.InputInvalid && found.File != "" {
		return found, nil
	}
	return nil, nil
}

func readColumn(ctx context.Context, session compute.Session, in compute.Input, column string) error {
	relation, _, err := session.Input(ctx, in)
	if err != nil {
		return err
	}
	rows, err := session.Rows(ctx, relation, []string{column})
	if err != nil {
		return err
	}
	defer rows.Close() // only read
	for {
		switch _, err := rows.Next(ctx); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}

// keepShapes writes down the shapes of the commit that was made, if they are others than those that are. It is no part of the
// commit: a run that dies before it, or cannot write it, makes the next one compare with older ones.
func (b *batch) keepShapes() {
	if len(b.drifts) == 0 {
		return
	}
	now, differs := map[string]ledger.Shape{}, !b.shapes.kept
	for name, d := range b.drifts {
		last, had := b.shapes.last[name]
		switch {
		case had && (d.old || len(changes(last.Columns, computeColumns(d.columns))) == 0):
			now[name] = last
		default:
			f := b.lease.Finished()
			now[name], differs = ledger.Shape{Columns: d.columns, Run: f.Run, Variables: b.task.Batch.Variables, At: f.At}, true
		}
	}
	if !differs && len(now) == len(b.shapes.last) {
		return
	}
	if err := b.ledger.KeepShapes(ledgerBatch(b.task.Batch), now); err != nil {
		b.warn(fmt.Sprintf("task %s: the columns that its inputs had could not be written down, so the next run compares with older ones; the data is not touched by that: %v", b.task.Name, err))
	}
}

func ledgerColumns(columns []compute.Column) []ledger.Column {
	all := make([]ledger.Column, len(columns))
	for i, c := range columns {
		all[i] = ledger.Column{Name: c.Name, Type: c.Type}
	}
	return all
}
