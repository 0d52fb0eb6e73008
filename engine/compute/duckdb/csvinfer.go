package duckdb

import (
	"context"
	"fmt"
	"strings"

	"github.com/ubunye-io/ubunye/engine/compute"
)

// inferred are the types that csv columns without a declaration can get, the strictest first, and what the text must
// look like besides fitting, so that nothing is lost: 007 is no number, and of more than 15 digits a DOUBLE would change some.
// INT and POINT stand for an integer and the sign before decimals as the options have them written. What begins with a plus is text,
// as telephone numbers do.
var inferred = [...]struct{ typ, pattern string }{
	{"BOOLEAN", `(?i)true|false`},
	{"BIGINT", `-?INT`},
	{"DECIMAL(38,0)", `-?INT`},
	{"DOUBLE", `-?INT?(POINT[0-9]+)?([eE][+-]?[0-9]+)?`},
	{"DATE", ``},
	{"TIMESTAMP", `[^Z+]*`},
	{"TIMESTAMP WITH TIME ZONE", `.*:.*(Z|[+-][0-9]{2}(:?[0-9]{2})?)\s*`},
}

// pattern puts the integers of the options into a pattern of inferred.
func (o csvOptions) pattern(p string) string {
	integer := `(0|[1-9][0-9]*)`
	if o.thousands != "" {
		integer = `(0|[1-9][0-9]*|[1-9][0-9]{0,2}(` + quoteMeta(o.thousands) + `[0-9]{3})+)`
	}
	return strings.NewReplacer("INT", integer, "POINT", quoteMeta(o.decimal)).Replace(p)
}

// inferSample is how many rows of a group are tried with all types; the other rows are tried with the one
// type that is left.
const inferSample = 20_000

// check is one type tried on one column.
type check struct {
	column int
	typ    int   // in inferred; -1: counts the values
	count  int64 // values that do not fit, or values
}

// inference is the types of the columns of one csv input, as far as they are known.
type inference struct {
	session  *session
	csv      *csvInput
	excluded [][len(inferred)]bool // per column
	seen     []bool                // per column: it has a value
}

// inferCSV finds the types of columns that are not declared: the strictest type that every value of the whole
// input fits without loss. A column without values is text.
func (s *session) inferCSV(ctx context.Context, in *input, known [][]compute.Column) error {
	n := len(in.csv.columns)
	inf := &inference{session: s, csv: in.csv, excluded: make([][len(inferred)]bool, n), seen: make([]bool, n)}
	if err := inf.run(ctx); err != nil {
		return s.blameInput(ctx, in, err)
	}
	for i := range in.csv.columns {
		in.csv.columns[i].Type = "VARCHAR"
		if t := inf.strictest(i); t >= 0 && inf.seen[i] {
			in.csv.columns[i].Type = inferred[t].typ
		}
	}
	if err := inf.asKnown(ctx, known); err != nil {
		return s.blameInput(ctx, in, err)
	}
	return nil
}

// strictest gives the first type that a column can still have; -1: only text.
func (inf *inference) strictest(column int) int {
	for t, out := range inf.excluded[column] {
		if !out {
			return t
		}
	}
	return -1
}

func (inf *inference) run(ctx context.Context) error {
	var all []check
	for i := range inf.csv.columns {
		for t := range inferred {
			all = append(all, check{column: i, typ: t})
		}
	}
	if _, err := inf.pass(ctx, all, inferSample); err != nil {
		return err
	}
	var open []check
	for i := range inf.csv.columns {
		open = append(open, check{column: i, typ: -1})
		if t := inf.strictest(i); t >= 0 {
			open = append(open, check{column: i, typ: t})
		}
	}
	for len(open) > 0 {
		struck, err := inf.pass(ctx, open, 0)
		if err != nil {
			return err
		}
		open = open[:0]
		for _, column := range struck {
			if t := inf.strictest(column); t >= 0 {
				open = append(open, check{column: column, typ: t})
			}
		}
	}
	return nil
}

// pass tries checks on the first rows of each group, or on all if limit is 0. It gives the columns of which a type
// was struck out.
func (inf *inference) pass(ctx context.Context, checks []check, limit int) (struck []int, err error) {
	for _, g := range inf.csv.groups {
		if err := inf.count(ctx, g, checks, limit); err != nil {
			return nil, err
		}
	}
	for _, c := range checks {
		switch {
		case c.count == 0:
		case c.typ < 0:
			inf.seen[c.column] = true
		default:
			inf.excluded[c.column][c.typ] = true
			struck = append(struck, c.column)
		}
	}
	return struck, nil
}

// count adds what one group has to the counts of checks.
func (inf *inference) count(ctx context.Context, g csvGroup, checks []check, limit int) error {
	items := make([]string, len(checks))
	counts := make([]int64, len(checks))
	into := make([]any, len(checks))
	for i, c := range checks {
		into[i] = &counts[i]
		text := fmt.Sprintf("c%d", g.places[c.column])
		if c.typ < 0 {
			items[i] = "count(" + text + ")"
			continue
		}
		t := inferred[c.typ]
		f, err := fitFor(text, t.typ, inf.csv.options)
		if err != nil {
			return err
		}
		if err := inf.session.quicken(ctx, &f); err != nil {
			return err
		}
		wrong := f.misfits()
		if t.pattern != "" && !f.format {
			wrong = fmt.Sprintf("(%s OR NOT regexp_full_match(%s, %s))", wrong, text, literal(inf.csv.options.pattern(t.pattern)))
		}
		if t.typ == "DOUBLE" {
			wrong = fmt.Sprintf(`(%s OR length(regexp_replace(%s, '[eE].*|[^0-9]', '', 'g')) > 15)`, wrong, text)
		}
		if f.quick != "" {
			wrong = fmt.Sprintf("(%s IS NULL AND %s)", f.quick, wrong) // usual texts have the pattern
		}
		items[i] = fmt.Sprintf("count(*) FILTER (%s)", wrong)
	}
	from := inf.csv.read(g, g.files, "")
	if limit > 0 {
		from = fmt.Sprintf("(SELECT * FROM %s LIMIT %d)", from, limit)
	}
	if err := inf.session.conn.QueryRowContext(ctx, "SELECT "+strings.Join(items, ", ")+" FROM "+from).Scan(into...); err != nil {
		return err
	}
	for i := range checks {
		checks[i].count += counts[i]
	}
	return nil
}
