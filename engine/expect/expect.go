// Package expect makes the data checks of a task, on the rows that land.
//
// Checks with quarantine come first: they divide a relation, and the rows that break one are taken out of it before
// anything reads it. All other checks look at what is left. Rows are computed once: what is checked is what is written.
package expect

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ubunye-io/ubunye/engine/compute"
)

// Severity is what a check that is broken means.
type Severity string

// The severities.
const (
	Fail       Severity = "fail"       // nothing may land
	Warn       Severity = "warn"       // it is said
	Quarantine Severity = "quarantine" // the rows that break it go elsewhere
)

// Column is the one that quarantined rows have more than their relation: the texts of the checks that a row breaks.
const Column = "_check"

// Check is one data check. It has just one of Rule, Rows and Columns.
type Check struct {
	Relation string // an input or a step
	Text     string // the check as people know it
	Severity Severity
	Rule     *compute.Rule
	Rows     *Bounds
	Columns  []compute.Column // the relation's, in any order; type AnyType: any
}

// AnyType stands for the type of a column that may have any.
const AnyType = "any"

// Bounds are how many rows a relation has; nil: open.
type Bounds struct{ Min, Max *int64 }

// Result is how a check went.
type Result struct {
	Check  int // its place among those given
	Passed bool
	Rows   int64  // of the relation: all of it for Quarantine, else what is left
	Broken int64  // rows that break it; of Rows and Columns always 0
	Detail string // what is wrong, on one line; empty if it passed
}

// Error says that a check cannot be made: it names a column that is not there, or a value that the column cannot have.
type Error struct {
	Check int // its place among those given
	Err   error
}

// Error gives the reason.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap gives the compute engine's error.
func (e *Error) Unwrap() error { return e.Err }

// Set is the checks of one task.
type Set struct {
	checks    []Check
	relations []string // that are checked, in the order of their first check
}

// New makes a set. Results and errors tell a check's place in it.
func New(checks []Check) *Set {
	s := &Set{checks: checks}
	for _, c := range checks {
		if !slices.Contains(s.relations, c.Relation) {
			s.relations = append(s.relations, c.Relation)
		}
	}
	return s
}

// What a relation that is divided is called as it was, and the part that is taken out of it. A compute engine proposes neither
// to somebody who misspelled a name.
const (
	before = "\x01before its checks"
	apart  = "\x01quarantined"
)

// Quarantined is the name of the rows that were taken out of a relation.
func Quarantined(relation string) string { return relation + apart }

// Plain gives the name that a relation of a set has in the pipeline.
func Plain(name string) string {
	return strings.TrimSuffix(strings.TrimSuffix(name, before), apart)
}

// Whole is the name under which an input or a step is to be made: its own, or another one if its own is for
// the rows that its checks leave.
func (s *Set) Whole(relation string) string {
	if len(s.of(relation, true)) == 0 {
		return relation
	}
	return relation + before
}

// Divided gives the steps that are to follow that of a relation.
func (s *Set) Divided(relation string) []compute.Step {
	quarantines := s.of(relation, true)
	if len(quarantines) == 0 {
		return nil
	}
	good := compute.Divide{Of: compute.Relation(s.Whole(relation)), Rules: s.rules(quarantines)}
	bad := good
	bad.Broken = Column
	for _, i := range quarantines {
		bad.Names = append(bad.Names, s.checks[i].Text)
	}
	return []compute.Step{{Name: relation, Divide: &good}, {Name: Quarantined(relation), Divide: &bad}}
}

// Consumed is what Evaluate reads, as Prepare is to be told. Of a divided relation the parts are cut out of rows that are kept
// already.
func (s *Set) Consumed() (all []compute.Relation) {
	for _, relation := range s.relations {
		reads := slices.ContainsFunc(s.of(relation, false), func(i int) bool { return s.checks[i].Columns == nil })
		switch whole := compute.Relation(s.Whole(relation)); {
		case string(whole) != relation:
			all = append(all, whole)
		case reads:
			all = append(all, whole, whole)
		}
	}
	return all
}

// Blame says of an error of Prepare which check it is about, if it is about one.
func (s *Set) Blame(err error) error {
	var e *compute.Error
	if !errors.As(err, &e) || e.Rule == 0 {
		return err
	}
	return s.blame(err, s.of(Plain(e.Step), true))
}

// blame turns an error about a rule into one about its check.
func (s *Set) blame(err error, checks []int) error {
	var e *compute.Error
	if errors.As(err, &e) && 0 < e.Rule && e.Rule <= len(checks) {
		return &Error{Check: checks[e.Rule-1], Err: err}
	}
	return err
}

// of lists the checks of a relation that are, or are not, quarantines.
func (s *Set) of(relation string, quarantine bool) (all []int) {
	for i, c := range s.checks {
		if c.Relation == relation && (c.Severity == Quarantine) == quarantine {
			all = append(all, i)
		}
	}
	return all
}

func (s *Set) rules(checks []int) []compute.Rule {
	rules := make([]compute.Rule, len(checks))
	for i, c := range checks {
		rules[i] = *s.checks[c].Rule
	}
	return rules
}

// Evaluate makes all checks, in the order in which they were given. A check that is broken is no error.
func (s *Set) Evaluate(ctx context.Context, ses compute.Session) ([]Result, error) {
	results := make([]Result, len(s.checks))
	for _, relation := range s.relations {
		e := evaluation{Set: s, ses: ses, relation: relation, results: results}
		if err := e.quarantine(ctx); err != nil {
			return nil, err
		}
		if err := e.rest(ctx); err != nil {
			return nil, err
		}
	}
	return results, nil
}

// evaluation makes the checks of one relation.
type evaluation struct {
	*Set
	ses      compute.Session
	relation string
	results  []Result
}

// quarantine counts what was taken out, and that nothing was lost or doubled.
func (e *evaluation) quarantine(ctx context.Context) error {
	checks := e.of(e.relation, true)
	if len(checks) == 0 {
		return nil
	}
	whole, err := e.ses.Count(ctx, compute.Relation(e.Whole(e.relation)))
	if err != nil {
		return err
	}
	good, err := e.ses.Count(ctx, compute.Relation(e.relation))
	if err != nil {
		return err
	}
	// Whatever breaks a check is there, also all rows of a key.
	bad, err := e.count(ctx, Quarantined(e.relation), checks, whole)
	if err != nil {
		return err
	}
	if good+bad != whole {
		return &compute.Error{Kind: compute.Failed, Step: e.relation, Message: fmt.Sprintf("of %d rows %d go on and %d are quarantined: some would be lost, or doubled", whole, good, bad)}
	}
	return nil
}

// rest makes the checks that look at what goes on.
func (e *evaluation) rest(ctx context.Context) error {
	var rules, counts []int
	for _, i := range e.of(e.relation, false) {
		switch c := e.checks[i]; {
		case c.Rule != nil:
			rules = append(rules, i)
		case c.Rows != nil:
			counts = append(counts, i)
		default:
			detail, err := e.columns(ctx, c)
			if err != nil {
				return e.named(err, i)
			}
			e.results[i] = Result{Check: i, Passed: detail == "", Detail: detail}
		}
	}
	if len(rules)+len(counts) == 0 {
		return nil
	}
	rows, err := e.count(ctx, e.relation, rules, 0)
	for _, i := range counts {
		detail := e.checks[i].Rows.wrong(rows)
		e.results[i] = Result{Check: i, Passed: detail == "", Rows: rows, Detail: detail}
	}
	return err
}

// named says of what is wrong with a check's own words which check it is.
func (e *evaluation) named(err error, check int) error {
	var wrong *compute.Error
	if errors.As(err, &wrong) && wrong.Kind == compute.BadOption {
		return &Error{Check: check, Err: err}
	}
	return err
}

// examples is how many rows, or keys, are told of a check that is broken.
const examples = 3

// count makes checks about single rows, and gives the number of rows. They are told to be of so many; 0: of those themselves.
func (e *evaluation) count(ctx context.Context, relation string, checks []int, of int64) (int64, error) {
	show, err := e.shown(ctx, relation)
	if err != nil {
		return 0, err
	}
	checked, err := e.ses.Check(ctx, compute.Check{Relation: compute.Relation(relation), Rules: e.rules(checks), Examples: examples, Show: show})
	if err != nil {
		return 0, e.blame(err, checks)
	}
	if of == 0 {
		of = checked.Rows
	}
	for i, b := range checked.Broken {
		r := Result{Check: checks[i], Passed: b.Rows == 0, Rows: of, Broken: b.Rows}
		if !r.Passed {
			r.Detail = broken(b, of)
		}
		e.results[checks[i]] = r
	}
	return checked.Rows, nil
}

// shown chooses the columns of examples: those by which a person finds the row, which are the keys that are checked, and those
// that are checked. Without keys the first columns stand for them.
func (e *evaluation) shown(ctx context.Context, relation string) ([]string, error) {
	const most = 6
	schema, err := e.ses.Schema(ctx, compute.Relation(relation))
	if err != nil {
		return nil, err
	}
	var keys, checked, show []string
	for _, c := range e.checks {
		switch {
		case c.Relation != e.relation || c.Rule == nil:
		case c.Rule.Kind == compute.Unique:
			keys = append(keys, c.Rule.Columns...)
		default:
			checked = append(checked, c.Rule.Columns...)
		}
	}
	if keys == nil {
		for _, c := range schema[:min(2, len(schema))] {
			keys = append(keys, c.Name)
		}
	}
	for _, name := range slices.Concat(keys, checked) {
		same := func(other string) bool { return strings.EqualFold(name, other) }
		there := slices.ContainsFunc(schema, func(c compute.Column) bool { return same(c.Name) })
		if there && !slices.ContainsFunc(show, same) && len(show) < most {
			show = append(show, name)
		}
	}
	return show, nil
}

// columns compares the columns of a relation with those that it is to have.
func (e *evaluation) columns(ctx context.Context, c Check) (string, error) {
	schema, err := e.ses.Schema(ctx, compute.Relation(c.Relation))
	if err != nil {
		return "", err
	}
	var wrong []string
	for _, want := range c.Columns {
		at := slices.IndexFunc(schema, func(have compute.Column) bool { return strings.EqualFold(have.Name, want.Name) })
		if at < 0 {
			wrong = append(wrong, want.Name+" is missing")
			continue
		}
		if strings.EqualFold(want.Type, AnyType) {
			continue
		}
		typ, err := e.ses.Type(ctx, want.Type)
		if err != nil {
			return "", err
		}
		if typ != schema[at].Type {
			wrong = append(wrong, want.Name+" is a "+schema[at].Type)
		}
	}
	for _, have := range schema {
		if !slices.ContainsFunc(c.Columns, func(want compute.Column) bool { return strings.EqualFold(have.Name, want.Name) }) {
			wrong = append(wrong, have.Name+" ("+have.Type+") is not expected")
		}
	}
	return strings.Join(wrong, ", "), nil
}
