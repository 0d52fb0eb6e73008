package delta

import (
	"io"
	"strconv"
	"strings"

	"github.com/ubunye-io/ubunye/engine/abi"
	"github.com/ubunye-io/ubunye/engine/deltalog"
	"github.com/ubunye-io/ubunye/engine/deltalog/schema"
	"github.com/ubunye-io/ubunye/plugins/delta/predicate"
	"github.com/ubunye-io/ubunye/plugins/sdk"
)

// demand is what every row must meet.
type demand struct {
	sql     string   // true for a row that does
	columns []string // that it is about
	missed  string   // the rows that do not, as "rows without …"
	hint    string
}

// conditions are the demands of a table's constraints and invariants. One that is not understood is an error: rows that break
// it would be in the table for good.
func conditions(t *table) ([]demand, error) {
	var all []demand
	for _, c := range t.duties.Conditions {
		parsed, err := predicate.Parse(c.SQL, predicate.Spark)
		var bound *predicate.Bound
		if err == nil {
			bound, err = parsed.Bind(t.duties.Schema)
		}
		if err != nil {
			return nil, &deltalog.UnsupportedError{Writing: true, Reason: "its constraint " + c.Name + " (" + c.SQL + ") cannot be checked here: " + err.Error()}
		}
		all = append(all, demand{sql: bound.SQL(), columns: bound.Columns(), missed: "rows that do not meet the table's constraint " + c.Name + " (" + c.SQL + ")",
			hint: "leave them out in a step, or mend them"})
	}
	return all, nested(t.duties.Schema)
}

// nested refuses what must not be NULL within a column: nothing here looks for it.
func nested(t schema.Type) error {
	return t.Walk(func(path []string, f schema.Field) error {
		if len(path) > 1 && !f.Nullable {
			return &deltalog.UnsupportedError{Writing: true, Reason: "its column " + strings.Join(path, ".") + " cannot be NULL, which is not checked here within other columns"}
		}
		return nil
	})
}

// required are the demands of columns that cannot be NULL.
func requiredColumns(t schema.Type) (all []demand) {
	for _, f := range t.Fields {
		if !f.Nullable {
			all = append(all, demand{sql: predicate.Quote(f.Name) + " IS NOT NULL", columns: []string{f.Name}, missed: "rows without a value in the column " + f.Name + ", which the table does not allow",
				hint: "leave them out in a step, or give them a value"})
		}
	}
	return all
}

// check counts the rows of a relation that miss a demand; the first one that is missed is told, with an example.
func check(h sdk.Host, relation string, demands []demand) error {
	if len(demands) == 0 {
		return nil
	}
	misses := make([]string, len(demands))
	for i, d := range demands {
		misses[i] = "(" + d.sql + ") IS NOT TRUE"
	}
	n, err := countWhere(h, relation, strings.Join(misses, " OR "))
	if err != nil || n == 0 {
		return err
	}
	for i, d := range demands {
		n, err := countWhere(h, relation, misses[i])
		if err != nil {
			return err
		}
		if n == 0 {
			continue
		}
		example, err := examples(h, relation, d.columns, misses[i], 1)
		if err != nil {
			return err
		}
		return failure(d.missed+": "+strconv.FormatInt(n, 10)+", as "+strings.Join(example, ", "), d.hint)
	}
	return failure("the step gives other rows each time that it is read, and "+plural(n, "row")+" of them cannot be in the table", "make the step give the same rows each time")
}

func countWhere(h sdk.Host, relation, where string) (int64, error) {
	name, err := derive(h, "SELECT 1 AS one FROM rows WHERE "+where, abi.DeriveInput{Name: "rows", Relation: relation})
	if err != nil {
		return 0, err
	}
	return h.Count(name)
}

func derive(h sdk.Host, sql string, inputs ...abi.DeriveInput) (string, error) {
	return h.Derive(abi.DeriveRequest{SQL: sql, Inputs: inputs})
}

// examples gives some rows as texts, each as "a = 1, b = NULL".
func examples(h sdk.Host, relation string, columns []string, where string, most int) ([]string, error) {
	items := make([]string, len(columns))
	for i, c := range columns {
		items[i] = "CAST(" + predicate.Quote(c) + " AS VARCHAR) AS " + predicate.Quote(c)
	}
	sql := "SELECT " + list(items) + " FROM rows WHERE " + where
	rows, err := texts(h, sql+" LIMIT 5", abi.DeriveInput{Name: "rows", Relation: relation})
	if err != nil {
		return nil, err
	}
	var all []string
	for _, row := range rows[:min(most, len(rows))] {
		all = append(all, told(columns, row))
	}
	return all, nil
}

// told gives a row for people.
func told(columns []string, row []*string) string {
	parts := make([]string, len(columns))
	for i, c := range columns {
		parts[i] = c + " = NULL"
		if row[i] != nil {
			parts[i] = c + " = " + clipped(*row[i])
		}
	}
	return strings.Join(parts, ", ")
}

// clipped gives a value of a message, which is one line.
func clipped(text string) string {
	runes := []rune(strings.Map(func(c rune) rune {
		if c < ' ' || c == 0x7f {
			return ' '
		}
		return c
	}, text))
	if len(runes) > 80 {
		return string(runes[:80]) + "…"
	}
	return string(runes)
}

// texts reads all rows of a SELECT that gives texts; nil is NULL.
func texts(h sdk.Host, sql string, inputs ...abi.DeriveInput) (all [][]*string, err error) {
	name, err := derive(h, sql, inputs...)
	if err != nil {
		return nil, err
	}
	rows, err := h.Rows(abi.RowsRequest{Relation: name})
	if err != nil {
		return nil, err
	}
	for {
		batch, err := rows.Next()
		if err == io.EOF {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		for row := range batch.Rows {
			values := make([]*string, len(batch.Columns))
			for i := range batch.Columns {
				if c := &batch.Columns[i]; !c.Null(row) {
					text := string(c.AppendText(nil, row))
					values[i] = &text
				}
			}
			all = append(all, values)
		}
	}
}
