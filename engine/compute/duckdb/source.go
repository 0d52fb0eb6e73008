package duckdb

import (
	"context"
	"errors"
	"fmt"
	"strings"

	driverduckdb "github.com/duckdb/duckdb-go/v2"

	"github.com/ubunye-io/ubunye/engine/compute"
)

// The rows of a Source are read once, into a table: a database gives other rows every time, and is not asked twice for what it has
// computed. What does not fit into memory is spilled, as of any other table.

// openSource reads the rows of a Source.
func (s *session) openSource(ctx context.Context, in compute.Input) (*relation, error) {
	source := in.Source.Columns()
	if len(source) == 0 {
		return nil, &compute.Error{Kind: compute.InputInvalid, Message: "it has no columns"}
	}
	for i, c := range source {
		if same := sameName(source[:i], c); same != nil {
			return nil, &compute.Error{Kind: compute.InputInvalid, Column: c.Name, Message: "another column has the same name", Hint: "names are compared without regard to case: write a query that gives one of them another name"}
		}
	}
	table := in.Name
	declared, err := declaredOf(source, in.Columns)
	if err != nil {
		return nil, err
	}
	if declared != nil {
		table = "\x01rows of " + in.Name
	}
	if err := s.loadSource(ctx, table, in.Source); err != nil {
		return nil, err
	}
	if declared != nil {
		if err := s.declareSource(ctx, in.Name, table, declared); err != nil {
			return nil, err
		}
	}
	return &relation{name: in.Name, input: &input{}, kept: true}, nil
}

// loadSource makes a table of all rows.
func (s *session) loadSource(ctx context.Context, table string, source compute.Source) error {
	pull, err := startPull(ctx, source)
	if err != nil {
		return err
	}
	defer pull.close()
	function := fmt.Sprintf("\x01source %d", s.sources)
	s.sources++
	err = driverduckdb.RegisterTableUDF(s.conn, function, driverduckdb.ChunkTableFunction{
		BindArguments: func(map[string]any, ...any) (driverduckdb.ChunkTableSource, error) { return pull, nil },
	})
	if err != nil {
		return failed("reading rows of a database cannot begin", err)
	}
	values := make([]string, len(pull.columns))
	for i, c := range pull.columns {
		values[i] = c.value(fmt.Sprintf("c%d", i)) + " AS " + quote(c.name)
	}
	err = s.exec(ctx, "CREATE TABLE "+quote(table)+" AS SELECT "+strings.Join(values, ", ")+" FROM "+quote(function)+"()")
	switch {
	case pull.failed != nil && ctx.Err() == nil:
		return pull.failed
	case err != nil:
		return s.fail(ctx, err, "reading the rows of a database failed")
	}
	return nil
}

// declaredColumn is a column that has a type of its own.
type declaredColumn struct {
	compute.Column
	from compute.Column // that the rows have
}

// declaredOf finds the rows' columns for those that are declared; nil: there are none.
func declaredOf(source, declared []compute.Column) ([]declaredColumn, error) {
	if len(declared) == 0 {
		return nil, nil
	}
	names := make([]string, len(source))
	for i, c := range source {
		names[i] = c.Name
	}
	places, problem, hint := match(declared, names, false)
	if problem != "" {
		return nil, &compute.Error{Kind: compute.InputInvalid, Message: problem, Hint: hint}
	}
	all := make([]declaredColumn, len(declared))
	for i, place := range places {
		all[i] = declaredColumn{Column: declared[i], from: source[place]}
	}
	return all, nil
}

// declareSource gives the rows of a table the columns that are declared, if that loses nothing of any value.
func (s *session) declareSource(ctx context.Context, name, table string, columns []declaredColumn) error {
	values := make([]string, len(columns))
	for i, c := range columns {
		value, misfit, err := c.convert()
		if err != nil {
			return inColumn(err, c.Name)
		}
		values[i] = value + " AS " + quote(c.Name)
		if misfit == "" {
			continue
		}
		wrong, err := s.texts(ctx, fmt.Sprintf("SELECT CAST(%s AS VARCHAR) FROM %s WHERE %s LIMIT 1", quote(c.from.Name), quote(table), misfit))
		if err != nil {
			return s.fail(ctx, err, "reading the rows of a database failed")
		}
		if len(wrong) > 0 {
			return &compute.Error{Kind: compute.InputInvalid, Column: c.Name, Message: fmt.Sprintf("the value %q (%s) is no %s without loss", clip(*wrong[0][0]), c.from.Type, c.Type), Hint: "declare it as varchar, or leave it out of columns"}
		}
	}
	if err := s.exec(ctx, "CREATE VIEW "+quote(name)+" AS SELECT "+strings.Join(values, ", ")+" FROM "+quote(table)); err != nil {
		return s.fail(ctx, err, "reading the rows of a database failed")
	}
	return nil
}

// convert gives the SQL of the value, and the condition of what does not fit; empty: all does.
func (c declaredColumn) convert() (value, misfit string, err error) {
	from := quote(c.from.Name)
	switch {
	case c.Type == c.from.Type:
		return from, "", nil
	case c.Type == "VARCHAR":
		return "CAST(" + from + " AS VARCHAR)", "", nil
	case c.from.Type == "VARCHAR":
		f, err := fitFor(from, c.Type, csvOptions{decimal: "."})
		return f.convert(), f.misfits(), err
	}
	back := fmt.Sprintf("TRY_CAST(TRY_CAST(%s AS %s) AS %s)", from, c.Type, c.from.Type)
	return fmt.Sprintf("CAST(%s AS %s)", from, c.Type), fmt.Sprintf("(%s IS NOT NULL AND %s IS DISTINCT FROM %s)", from, back, from), nil
}

// clip shortens a value for a message.
func clip(text string) string {
	const most = 60
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}

// sourceError keeps an error of a source that says what it is, and makes one of any other.
func sourceError(err error) error {
	if errors.As(err, new(*compute.Error)) {
		return err
	}
	return &compute.Error{Kind: compute.Failed, Message: err.Error(), Err: err}
}
