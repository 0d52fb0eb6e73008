package duckdb

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/ubunye-io/ubunye/engine/compute"
)

// Check counts what breaks rules: in one reading of the relation those that look at a row by itself, in one each those
// about keys, and in one more for the examples of each rule that is broken.
func (s *session) Check(ctx context.Context, c compute.Check) (compute.Checked, error) {
	rel, err := s.lookup(c.Relation)
	if err != nil {
		return compute.Checked{}, err
	}
	columns, err := s.Schema(ctx, c.Relation)
	if err != nil {
		return compute.Checked{}, err
	}
	from := quote(rel.name)
	conditions, err := s.conditions(ctx, c.Rules, columns)
	if err != nil {
		return compute.Checked{}, err
	}
	fail := func(err error) (compute.Checked, error) {
		return compute.Checked{}, s.blame(ctx, rel, err, "checking the rows of "+rel.name+" failed")
	}
	checked := compute.Checked{Broken: make([]compute.Broken, len(conditions))}
	counts := []string{"count(*)"}
	into := []any{&checked.Rows}
	for i, cond := range conditions {
		if cond.sql == "" {
			q := "SELECT CAST(coalesce(sum(" + quote(rowName) + "), 0) AS BIGINT) FROM (" + cond.keys(from) + ")"
			if err := s.conn.QueryRowContext(ctx, q).Scan(&checked.Broken[i].Rows); err != nil {
				return fail(err)
			}
			continue
		}
		counts = append(counts, "count(*) FILTER (WHERE "+cond.sql+")")
		into = append(into, &checked.Broken[i].Rows)
	}
	q := "SELECT " + strings.Join(counts, ", ") + " FROM " + from + " AS " + quote(rowName)
	if err := s.conn.QueryRowContext(ctx, q).Scan(into...); err != nil {
		return fail(err)
	}
	for i, cond := range conditions {
		b := &checked.Broken[i]
		if b.Rows == 0 || c.Examples == 0 {
			continue
		}
		if b.Columns, err = shown(rel, cond, columns, c.Show); err != nil {
			return compute.Checked{}, inRule(err, i)
		}
		if b.Examples, err = s.texts(ctx, cond.examples(from, b.Columns, c.Examples)); err != nil {
			return fail(err)
		}
	}
	return checked, nil
}

// shown gives the columns of a rule's examples.
func shown(rel *relation, cond condition, columns []compute.Column, show []string) ([]string, error) {
	if cond.rule.Kind == compute.Unique {
		return cond.columns, nil
	}
	return chosen(rel, columns, show)
}

// examples gives the query for some rows, or keys, that break a rule.
func (c condition) examples(from string, columns []string, most int) string {
	quoted := make([]string, len(columns))
	for i, name := range columns {
		quoted[i] = "CAST(" + quote(name) + " AS VARCHAR)"
	}
	list := "SELECT " + strings.Join(quoted, ", ") + " FROM "
	if c.rule.Kind == compute.Unique {
		order := slices.Clone(columns)
		for i, name := range order {
			order[i] = quote(name)
		}
		return fmt.Sprintf("%s(%s) ORDER BY %s LIMIT %d", list, c.keys(from), strings.Join(order, ", "), most)
	}
	return fmt.Sprintf("%s%s AS %s WHERE %s LIMIT %d", list, from, quote(rowName), c.sql, most)
}

// texts reads the rows of a query whose columns are all text.
func (s *session) texts(ctx context.Context, q string) ([][]*string, error) {
	rows, err := s.conn.QueryContext(ctx, q)
	if err != nil {
		return nil, err
	}
	defer rows.Close() // it was read to its end, or the error is told
	names, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	var all [][]*string
	for rows.Next() {
		row := make([]*string, len(names))
		into := make([]any, len(names))
		for i := range row {
			into[i] = &row[i]
		}
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
		all = append(all, row)
	}
	return all, rows.Err()
}

// brokenName is the column of marked rows that has a 1 or a 0 for each rule.
const brokenName = "\x01broken"

// divide makes the view of one part of a relation. Both parts are cut out of the same marked rows, which are kept: what a later
// step makes of a part is never computed for rows of the other.
func (s *session) divide(ctx context.Context, name string, d compute.Divide) (*relation, error) {
	rel, err := s.lookup(d.Of)
	if err != nil {
		return nil, err
	}
	columns, err := s.Schema(ctx, d.Of)
	if err != nil {
		return nil, err
	}
	if d.Broken != "" && slices.ContainsFunc(columns, func(c compute.Column) bool { return strings.EqualFold(c.Name, d.Broken) }) {
		return nil, &compute.Error{Kind: compute.BadOption, Column: d.Broken, Rule: 1, Message: "the rows have a column of that name already", Hint: "rename it in a step"}
	}
	marked, err := s.marked(ctx, rel, d.Rules, columns)
	if err != nil {
		return nil, err
	}
	broken, none := quote(brokenName), literal(strings.Repeat("0", len(d.Rules)))
	q := "SELECT * EXCLUDE (" + broken + ") FROM main." + quote(marked.name) + " WHERE " + broken + " = " + none
	if d.Broken != "" {
		var names []string
		for i, text := range d.Names {
			names = append(names, fmt.Sprintf("CASE WHEN %s[%d] = '1' THEN %s END", broken, i+1, literal(text)))
		}
		q = "SELECT * EXCLUDE (" + broken + "), concat_ws('; ', " + strings.Join(names, ", ") + ") AS " + quote(d.Broken) +
			" FROM main." + quote(marked.name) + " WHERE " + broken + " <> " + none
	}
	if err := s.exec(ctx, "CREATE VIEW "+quote(name)+" AS "+q); err != nil {
		return nil, s.fail(ctx, err, "dividing the rows of "+rel.name+" failed")
	}
	return &relation{name: name, refs: map[*relation]int{marked: 1}}, nil
}

// marked makes the relation of all rows with what they break. No step can name it.
func (s *session) marked(ctx context.Context, rel *relation, rules []compute.Rule, columns []compute.Column) (*relation, error) {
	from := "main." + quote(rel.name)
	conditions, err := s.conditions(ctx, rules, columns)
	if err != nil {
		return nil, err
	}
	refs := map[*relation]int{rel: 1}
	marks, joins := []string{"''"}, ""
	for i, c := range conditions {
		if c.sql == "" {
			refs[rel]++ // what is read twice is kept, so that keys are those of the same rows
			join, broken := c.join(from, i)
			joins, c.sql = joins+join, broken
		}
		marks = append(marks, "CASE WHEN "+c.sql+" THEN '1' ELSE '0' END")
	}
	q := "SELECT " + quote(rowName) + ".*, concat(" + strings.Join(marks, ", ") + ") AS " + quote(brokenName) + " FROM " + from + " AS " + quote(rowName) + joins
	if known := s.marks[q]; known != nil {
		return known, nil
	}
	made := &relation{name: fmt.Sprintf("%s\x01%d", rel.name, len(s.marks)), refs: refs}
	if err := s.exec(ctx, "CREATE VIEW "+quote(made.name)+" AS "+q); err != nil {
		return nil, s.fail(ctx, err, "dividing the rows of "+rel.name+" failed")
	}
	s.marks[q] = made
	s.relations = append(s.relations, made)
	return made, nil
}

// hidden tells a relation whose name is nothing that people know.
func (r *relation) hidden() bool { return strings.ContainsFunc(r.name, unicode.IsControl) }

// numeric types, whose values can be added up.
var numeric = []string{"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "FLOAT", "DOUBLE"}

// Sum adds up a column.
func (s *session) Sum(ctx context.Context, r compute.Relation, column string) (string, error) {
	rel, err := s.lookup(r)
	if err != nil {
		return "", err
	}
	columns, err := s.Schema(ctx, r)
	if err != nil {
		return "", err
	}
	at := slices.IndexFunc(columns, func(c compute.Column) bool { return strings.EqualFold(c.Name, column) })
	if at < 0 {
		return "", &compute.Error{Kind: compute.BadOption, Column: column, Message: "there is no such column", Hint: didYouMean(column, columnNames(columns))}
	}
	typ, sum := columns[at].Type, "sum"
	switch {
	case typ == "FLOAT" || typ == "DOUBLE":
		sum = "fsum" // it loses less
	case !strings.HasPrefix(typ, "DECIMAL(") && !slices.Contains(numeric, typ):
		return "", &compute.Error{Kind: compute.BadOption, Column: columns[at].Name, Message: "the column is a " + typ + ", which cannot be added up", Hint: "name a column of numbers"}
	}
	var text string
	q := fmt.Sprintf("SELECT CAST(coalesce(%s(%s), 0) AS VARCHAR) FROM %s", sum, quote(columns[at].Name), quote(rel.name))
	if err := s.conn.QueryRowContext(ctx, q).Scan(&text); err != nil {
		return "", s.blame(ctx, rel, err, "adding up "+columns[at].Name+" of "+rel.name+" failed")
	}
	return text, nil
}
