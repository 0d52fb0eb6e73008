package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ubunye-io/ubunye/engine/compute"
	"github.com/ubunye-io/ubunye/engine/config"
	"github.com/ubunye-io/ubunye/engine/ledger"
	"github.com/ubunye-io/ubunye/engine/plan"
	"github.com/ubunye-io/ubunye/engine/problem"
	"github.com/ubunye-io/ubunye/engine/report"
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

// Show reads the first rows of every output: as any reader of its folder would, all batches that have landed, or, if
// variables are given, those that the batches with these values landed last. It changes nothing.
func (e *Engine) Show(ctx context.Context, o Options, limit int) ([]Table, error) {
	r, unset, err := e.loadUnset(ctx, o)
	if err != nil {
		return nil, err
	}
	chosen, err := r.chosenCommits(ctx)
	if err != nil {
		return nil, r.explain(told(ctx, err), "")
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
			input, err := r.shown(ctx, t.Name, target, unset, chosen)
			if err != nil {
				return nil, err
			}
			table, err := readTable(ctx, session, t.Name, target, input, limit)
			if err != nil {
				return nil, r.explainShow(&outputError{target: target, err: told(ctx, err)}, t.Name)
			}
			tables = append(tables, table)
		}
	}
	return tables, nil
}

// given is the variables that were given a value, as people write them; empty: none.
func (r *run) given() string {
	values := map[string]string{}
	for _, v := range r.config.Variables {
		if v.Given {
			values[v.Name] = v.Value
		}
	}
	return variablesText(values, "")
}

// chosenCommits finds the last commits of the batches that have the values which were given, by task; nil: none was given.
func (r *run) chosenCommits(ctx context.Context) (map[string][]*ledger.Finished, error) {
	if r.given() == "" {
		return nil, nil
	}
	if err := r.openLedger(ctx); err != nil {
		return nil, err
	}
	known, err := r.ledger.Status(ctx, r.config.Name)
	if err != nil {
		return nil, err
	}
	commits := map[string][]*ledger.Finished{}
	for _, v := range known.Batches {
		if v.Finished != nil && v.Batch.Profile == r.config.Profile && r.chosen(v.Batch) {
			commits[v.Batch.Task] = append(commits[v.Batch.Task], v.Finished)
		}
	}
	return commits, nil
}

// shown is what is read of an output.
func (r *run) shown(ctx context.Context, task string, t plan.Target, unset []config.Variable, chosen map[string][]*ledger.Finished) (compute.Input, error) {
	in := compute.Input{Name: task + "." + t.Name, Format: t.Format, Path: t.Path, Options: t.Options, Encoded: true}
	if t.Table { // its log says what is in it
		in.Options, in.Encoded = nil, false
	}
	if len(unset) > 0 && strings.Contains(t.Written, "{{") { // as it stays without a value
		name := unset[0].Name
		return in, &problem.Problem{Code: problem.Usage, Pos: t.PathPos, Task: task, Output: t.Name,
			Message: "its folder depends on the variable " + name + ", which has no value", Hint: "give it: --var " + name + "=VALUE"}
	}
	if chosen == nil {
		return in, nil
	}
	there, err := r.isThere(ctx, t, in)
	if err != nil {
		return in, r.explainShow(&outputError{target: t, err: told(ctx, err)}, task)
	}
	gone := 0
	for i, f := range chosen[task] {
		o := f.Outputs[t.Name]
		if r.ledger.Folder(o) != t.Path {
			continue // the pipeline wrote elsewhere then
		}
		columns := computeColumns(o.Columns)
		if i == 0 {
			in.Columns = columns
		} else if !slices.Equal(in.Columns, columns) {
			in.Columns = nil // the files themselves say what they have
		}
		for _, name := range o.Claims {
			if !there(filepath.Join(t.Path, filepath.FromSlash(name))) {
				gone++
				continue
			}
			in.Files = append(in.Files, name)
		}
	}
	if gone > 0 {
		r.warn(fmt.Sprintf("task %s, output %s: %s that %s landed cannot be found in %s: replaced, moved or removed", task, t.Name, report.Count(int64(gone), "file"), r.given(), t.Written))
	}
	if len(in.Files) == 0 {
		return in, &problem.Problem{Code: problem.InputMissing, Pos: t.PathPos, Task: task, Output: t.Name,
			Message: fmt.Sprintf("nothing of %s is in %s", r.given(), t.Written), Hint: "ubunye status lists the batches that are finished"}
	}
	return in, nil
}

// isThere tells of a file that was landed whether it is still there; of one that a table was given, whether the table has it.
func (r *run) isThere(ctx context.Context, t plan.Target, in compute.Input) (func(path string) bool, error) {
	if !t.Table {
		return func(path string) bool {
			_, err := os.Stat(path)
			return !errors.Is(err, fs.ErrNotExist)
		}, nil
	}
	files, err := r.Compute.Files(ctx, in)
	if err != nil {
		return nil, err
	}
	live := map[string]bool{}
	for _, f := range files {
		live[f.Path] = true
	}
	return func(path string) bool { return live[path] }, nil
}

func computeColumns(columns []ledger.Column) []compute.Column {
	var all []compute.Column
	for _, c := range columns {
		all = append(all, compute.Column{Name: c.Name, Type: c.Type})
	}
	return all
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

func readTable(ctx context.Context, session compute.Session, task string, t plan.Target, in compute.Input, limit int) (Table, error) {
	table := Table{Task: task, Output: t.Name, Path: t.Written}
	relation, _, err := session.Input(ctx, in)
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
