package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/ubunye-io/ubunye/engine/compute"
	"github.com/ubunye-io/ubunye/engine/plan"
	"github.com/ubunye-io/ubunye/engine/problem"
)

// Table is the first rows of an output, for people.
type Table struct {
	Task    string      `json:"task"`    // name of the task
	Output  string      `json:"output"`  // name of the output
	Path    string      `json:"path"`    // as written in the pipeline
	Columns []string    `json:"columns"` // names of the columns
	Rows    [][]*string `json:"rows"`    // values as text; null is NULL
	Total   int64       `json:"total"`   // rows that the output has
}

// Show reads the first rows of every output as any reader of its folder would: all batches that have
// landed. It changes nothing.
func (e *Engine) Show(ctx context.Context, o Options, limit int) ([]Table, error) {
	r, err := e.load(ctx, o)
	if err != nil {
		return nil, err
	}
	session, err := e.Compute.Open(ctx, compute.Settings{Memory: r.config.Engine.Memory, Threads: r.config.Engine.Threads, Spill: r.spillFolder("show")})
	if err != nil {
		return nil, r.explain(err, "")
	}
	defer session.Close()
	tables := []Table{}
	for _, t := range r.plan.Tasks {
		for _, target := range t.Targets {
			if target.Plugin != nil {
				r.warn(fmt.Sprintf("task %s, output %s: only the plugin %s knows its format, so its rows cannot be shown", t.Name, target.Name, target.Format))
				continue
			}
			table, err := readTable(ctx, session, t.Name, target, limit)
			if err != nil {
				return nil, r.explainShow(&outputError{target: target, err: told(ctx, err)}, t.Name)
			}
			tables = append(tables, table)
		}
	}
	return tables, nil
}

// explainShow is explain for a reader: nothing was to become visible.
func (r *run) explainShow(err *outputError, task string) problem.List {
	var e *compute.Error
	if errors.As(err, &e) && e.Kind == compute.InputMissing {
		return problem.List{{Code: problem.InputMissing, Pos: err.target.PathPos, Task: task, Output: err.target.Name,
			Message: "nothing has landed in " + err.target.Written + " yet", Cause: err, Hint: "ubunye run lands it"}}
	}
	list := r.explain(err, task)
	for _, p := range list {
		p.Data = ""
	}
	return list
}

func readTable(ctx context.Context, session compute.Session, task string, t plan.Target, limit int) (Table, error) {
	table := Table{Task: task, Output: t.Name, Path: t.Written}
	relation, _, err := session.Input(ctx, compute.Input{Name: task + "." + t.Name, Format: t.Format, Path: t.Path, Options: t.Options, Encoded: true})
	if err != nil {
		return table, err
	}
	columns, err := session.Schema(ctx, relation)
	if err != nil {
		return table, err
	}
	for _, c := range columns {
		table.Columns = append(table.Columns, c.Name)
	}
	if table.Total, err = session.Count(ctx, relation); err != nil {
		return table, err
	}
	table.Rows, err = session.Head(ctx, relation, limit)
	return table, err
}
