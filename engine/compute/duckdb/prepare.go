package duckdb

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/ubunye-io/ubunye/engine/compute"
)

// Prepare makes the steps' relations: views, and tables of those with more than one consumer.
func (s *session) Prepare(ctx context.Context, steps []compute.Step, consumed []compute.Relation) error {
	for _, step := range steps {
		rel, err := s.step(ctx, step)
		if err != nil {
			var e *compute.Error
			if errors.As(err, &e) {
				e.Step = step.Name
			}
			return err
		}
		s.add(rel)
	}
	for _, name := range consumed {
		rel, err := s.lookup(name)
		if err != nil {
			return err
		}
		rel.uses++
	}
	// A relation only ever refers to earlier ones: backwards, each is counted before it counts.
	for i := len(s.relations) - 1; i >= 0; i-- {
		rel := s.relations[i]
		if rel.uses > 0 && !rel.counted {
			rel.counted = true
			for ref, n := range rel.refs {
				ref.uses += n
			}
		}
	}
	for _, rel := range s.relations {
		if rel.uses > 1 && !rel.kept {
			if err := s.keep(ctx, rel); err != nil {
				return err
			}
		}
	}
	return nil
}

// step makes the view of one step.
func (s *session) step(ctx context.Context, step compute.Step) (*relation, error) {
	if err := s.checkName(step.Name); err != nil {
		return nil, err
	}
	if step.Divide != nil {
		return s.divide(ctx, step.Name, *step.Divide)
	}
	reads, err := s.readable(step.Reads)
	if err != nil {
		return nil, err
	}
	text, refs, err := s.admit(ctx, step.SQL, reads)
	if err != nil {
		return nil, err
	}
	head, tail := "CREATE VIEW "+quote(step.Name)+" AS ", ""
	start := statementStart(text)
	body := text[start:]
	if reads != nil {
		// The names stand for relations in this text alone.
		head += withAliases(reads) + "SELECT * FROM ("
		body, tail = strings.TrimRight(body, "; \t\r\n"), "\n)"
	}
	if err := s.exec(ctx, head+body+tail); err != nil {
		return nil, s.bindErr(ctx, err, step.SQL, text, len(head)-start)
	}
	rel := &relation{name: step.Name, refs: refs}
	if reads != nil {
		return rel, nil
	}
	if err := s.checkTwins(ctx, rel, body); err != nil {
		if drop := s.exec(ctx, "DROP VIEW "+quote(step.Name)); drop != nil && cancelled(ctx) == nil {
			err = errors.Join(err, drop)
		}
		return nil, err
	}
	return rel, nil
}

// renamed matches what DuckDB makes of a name that a column before it has.
var renamed = regexp.MustCompile("^(.+)_[0-9]+$")

// checkTwins refuses a step two of whose columns have names that SQL does not tell apart: DuckDB would give one of them
// another name, and say nothing.
func (s *session) checkTwins(ctx context.Context, rel *relation, query string) error {
	var err error
	if rel.columns, err = s.describe(ctx, "SELECT * FROM "+quote(rel.name)); err != nil {
		return s.fail(ctx, err, "reading the columns of "+rel.name+" failed")
	}
	has := map[string]bool{}
	suspect := false
	for _, c := range rel.columns {
		has[strings.ToLower(c.Name)] = true
		m := renamed.FindStringSubmatch(strings.ToLower(c.Name))
		suspect = suspect || m != nil && has[m[1]]
	}
	if !suspect {
		return nil
	}
	columns, err := s.describe(ctx, query)
	if err != nil {
		return s.fail(ctx, err, "reading the columns of "+rel.name+" failed")
	}
	first := map[string]string{}
	for _, c := range columns {
		lower := strings.ToLower(c.Name)
		if twin, ok := first[lower]; ok {
			what := "two columns are called " + twin
			if twin != c.Name {
				what = fmt.Sprintf("the columns %s and %s have one name for SQL, which does not tell upper case from lower", twin, c.Name)
			}
			return &compute.Error{Kind: compute.QueryInvalid, Message: what, Hint: "give one of them another name with AS, or leave it out (after a join: JOIN … USING, or EXCLUDE)"}
		}
		first[lower] = c.Name
	}
	return nil
}

// readable resolves Step.Reads; nil stays nil.
func (s *session) readable(names map[string]compute.Relation) (map[string]*relation, error) {
	if names == nil {
		return nil, nil
	}
	reads := map[string]*relation{}
	for name, r := range names {
		rel, err := s.lookup(r)
		if err != nil {
			return nil, err
		}
		lower := strings.ToLower(name)
		if _, twice := reads[lower]; twice || name == "" || strings.ContainsAny(name, "\x00./\\*?[") {
			return nil, &compute.Error{Kind: compute.QueryInvalid, Message: fmt.Sprintf("the SQL cannot call a relation %q", name), Hint: "use letters, digits and _, and each name once"}
		}
		reads[lower] = rel
	}
	return reads, nil
}

// withAliases gives relations other names for the query that follows.
func withAliases(reads map[string]*relation) string {
	if len(reads) == 0 {
		return ""
	}
	var all []string
	for _, name := range slices.Sorted(maps.Keys(reads)) {
		all = append(all, quote(name)+" AS (SELECT * FROM main."+quote(reads[name].name)+")")
	}
	return "WITH " + strings.Join(all, ", ") + " "
}

// bindErr makes the error of a step that DuckDB parsed but cannot bind. shift is how much further on a byte of the
// bound text is in the statement.
func (s *session) bindErr(ctx context.Context, err error, sql, bound string, shift int) error {
	if c := cancelled(ctx); c != nil {
		return c
	}
	said := parse(err)
	e := &compute.Error{Kind: compute.QueryInvalid, Message: said.line(), Hint: said.hint(), Err: err}
	if at := said.position(); at >= 0 {
		e.Line, e.Col = place(sql, s.unshift(sql, bound, at-shift))
	}
	return e
}

// unshift gives the byte in sql of a byte in the bound text.
func (s *session) unshift(sql, bound string, at int) int {
	if at < 0 || at > len(bound) {
		return -1
	}
	grown := 0
	for _, p := range parameters(sql) {
		put := len(bind(sql[p.start:p.end], s.variables))
		switch {
		case at < p.start+grown:
			return at - grown
		case at < p.start+grown+put:
			return p.start
		}
		grown += put - (p.end - p.start)
	}
	return at - grown
}

// admit lets SQL through the gate. It gives the text with variables bound, and what it refers to. reads are the
// relations that it may read; nil: all.
func (s *session) admit(ctx context.Context, sql string, reads map[string]*relation) (bound string, refs map[*relation]int, err error) {
	switch {
	case strings.ContainsRune(sql, 0) || !utf8.ValidString(sql):
		return "", nil, &compute.Error{Kind: compute.QueryInvalid, Message: "it holds a NUL byte or is not UTF-8"}
	case len(sql) > maxSQL:
		return "", nil, &compute.Error{Kind: compute.QueryInvalid, Message: fmt.Sprintf("it has %d bytes, more than %d", len(sql), maxSQL), Hint: "put lists into a file and read that as an input"}
	}
	tree, err := s.parseSQL(ctx, sql)
	if err != nil {
		return "", nil, s.parseErr(ctx, err, sql)
	}
	if reads == nil {
		reads = s.known()
	}
	g := &gate{session: s, sql: sql, reads: reads, refs: map[*relation]int{}, params: map[string]bool{}}
	g.walk(tree, nil, 0)
	if g.err != nil {
		return "", nil, g.err
	}
	bound = bind(sql, s.variables)
	if bound == sql && len(g.params) == 0 {
		return sql, g.refs, nil
	}
	again, err := s.parseSQL(ctx, bound)
	if c := cancelled(ctx); c != nil {
		return "", nil, c
	}
	if err != nil || !sameTree(tree, again, s.variables) {
		return "", nil, &compute.Error{Kind: compute.QueryInvalid, Message: "a variable stands where it cannot be bound", Hint: "write it as $name, where a value may stand", Err: err}
	}
	return bound, g.refs, nil
}

// known gives the relations that people know, by lower-case name.
func (s *session) known() map[string]*relation {
	known := maps.Clone(s.byName)
	maps.DeleteFunc(known, func(_ string, r *relation) bool { return r.hidden() })
	return known
}

// parseErr makes the error of SQL that is not exactly one SELECT.
func (s *session) parseErr(ctx context.Context, err error, sql string) error {
	if c := cancelled(ctx); c != nil {
		return c
	}
	var syntax *syntaxError
	if !errors.As(err, &syntax) {
		return s.fail(ctx, err, "reading the SQL failed")
	}
	e := &compute.Error{Kind: compute.QueryInvalid, Message: syntax.message, Hint: syntax.hint}
	e.Line, e.Col = place(sql, syntax.position)
	return e
}

// keep turns a view into a table under the same name: computed once, for all consumers.
func (s *session) keep(ctx context.Context, rel *relation) error {
	const temporary = "\x01kept" // no relation can be called so: names come from pipeline files
	statements := []string{
		"CREATE TABLE " + quote(temporary) + " AS SELECT * FROM " + quote(rel.name),
		"DROP VIEW " + quote(rel.name),
		"ALTER TABLE " + quote(temporary) + " RENAME TO " + quote(rel.name),
	}
	for _, q := range statements {
		if err := s.exec(ctx, q); err != nil {
			return s.blame(ctx, rel, err, "computing "+rel.name+" failed")
		}
	}
	rel.kept = true
	return nil
}
