package engine

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/ubunye-io/ubunye/engine/compute"
	"github.com/ubunye-io/ubunye/engine/config"
	"github.com/ubunye-io/ubunye/engine/expect"
	"github.com/ubunye-io/ubunye/engine/ledger"
	"github.com/ubunye-io/ubunye/engine/plan"
	"github.com/ubunye-io/ubunye/engine/problem"
	"github.com/ubunye-io/ubunye/engine/report"
)

// checksOf are the data checks of a task.
func checksOf(t config.Task) *expect.Set {
	all := make([]expect.Check, len(t.Checks))
	for i, c := range t.Checks {
		all[i] = expect.Check{Relation: c.Relation, Text: c.Text, Severity: expect.Severity(c.Severity)}
		switch c.Kind {
		case "rows":
			all[i].Rows = &expect.Bounds{Min: wholeNumber(c.Min), Max: wholeNumber(c.Max)}
		case "columns":
			all[i].Columns = []compute.Column{}
			for _, column := range c.Types {
				all[i].Columns = append(all[i].Columns, compute.Column{Name: column.Name, Type: column.Type})
			}
		default:
			rule := ruleOf(c)
			all[i].Rule = &rule
		}
	}
	return expect.New(all)
}

// wholeNumber reads a number that package config has checked.
func wholeNumber(text *string) *int64 {
	if text == nil {
		return nil
	}
	n, err := strconv.ParseInt(*text, 10, 64)
	if err != nil {
		return nil // it depends on a variable without a value, so nothing runs
	}
	return &n
}

func ruleOf(c config.Check) compute.Rule {
	kinds := map[string]compute.RuleKind{"not_null": compute.NotNull, "unique": compute.Unique, "between": compute.Between, "one_of": compute.OneOf, "matches": compute.Matches}
	return compute.Rule{Kind: kinds[c.Kind], Columns: c.Columns, Min: c.Min, Max: c.Max, Values: c.Values, Pattern: c.Pattern}
}

// written is the relation that an output writes.
func written(t plan.Target) compute.Relation {
	if t.Quarantine {
		return compute.Relation(expect.Quarantined(t.From))
	}
	return compute.Relation(t.From)
}

// check makes the data checks, before anything is staged.
func (b *batch) check(ctx context.Context) error {
	results, err := b.checks.Evaluate(ctx, b.session)
	if err != nil {
		return b.checkError(err)
	}
	var problems problem.List
	for _, r := range results {
		c := b.task.Checks[r.Check]
		e := report.Event{Relation: c.Relation, Check: c.Text, Severity: c.Severity, Output: c.To, Rows: number(r.Rows), Broken: number(r.Broken)}
		if c.Kind == "columns" {
			e.Rows, e.Broken = nil, nil
		}
		if p := b.tell(e, r, "check "+c.Text+" of "+c.Relation, c.Pos); p != nil {
			problems = append(problems, p)
		}
	}
	return orNil(problems)
}

// orNil is an error only if there is a problem.
func orNil(problems problem.List) error {
	if len(problems) == 0 {
		return nil
	}
	return problems
}

// tell reports and keeps how a check went, and gives the problem if it ends the task.
func (b *batch) tell(e report.Event, r expect.Result, what string, pos problem.Pos) *problem.Problem {
	b.checked = append(b.checked, ledger.Check{Relation: e.Relation, Check: e.Check, Severity: e.Severity, Passed: r.Passed, Rows: r.Rows, Broken: r.Broken, Detail: r.Detail})
	e.Kind, e.Task, e.Batch, e.Passed = report.CheckDone, b.task.Name, batchText(b.task.Batch), &r.Passed
	failed := &problem.Problem{Code: problem.CheckFailed, Pos: pos, Task: b.task.Name, Message: what + " failed: " + r.Detail, Data: nothing,
		Hint: "mend what was read or the SQL and run again; severity: warn would land it all the same"}
	if !r.Passed {
		said := *failed
		said.Data, said.Hint = "the task goes on", ""
		switch e.Severity {
		case string(expect.Fail):
			said.Data = nothing
		case string(expect.Quarantine):
			said.Data = "those rows are kept apart, for the output " + e.Output
		}
		e.Message = said.Error()
	}
	b.emit(e)
	if r.Passed || e.Severity != string(expect.Fail) {
		return nil
	}
	return failed
}

// checkError says of a check that cannot be made where it is written.
func (b *batch) checkError(err error) error {
	var wrong *expect.Error
	if !errors.As(err, &wrong) {
		return err
	}
	p := checkProblem(b.task.Checks[wrong.Check], wrong.Err)
	p.Task, p.Data = b.task.Name, nothing
	return p
}

// wrongCheck says that a check cannot be made, and why.
func wrongCheck(pos problem.Pos, what string, err error) *problem.Problem {
	p := &problem.Problem{Code: problem.ConfigInvalid, Pos: pos, Message: what + ": " + err.Error(), Cause: err}
	var e *compute.Error
	if errors.As(err, &e) {
		p.Message, p.Hint = what+": "+inColumn(e), e.Hint
	}
	return p
}

func checkProblem(c config.Check, err error) *problem.Problem {
	return wrongCheck(c.Pos, "check "+c.Text+" of "+c.Relation, err)
}

func inColumn(e *compute.Error) string {
	if e.Column == "" {
		return e.Message
	}
	return "column " + e.Column + ": " + e.Message
}

// summedUp are the relations of outputs whose sums are compared: each is read once more than it is written.
func (b *batch) summedUp() (all []compute.Relation) {
	for _, balance := range b.task.Balances {
		if balance.Sum == "" {
			continue
		}
		for _, name := range balance.Outputs {
			if t, ok := b.target(name); ok {
				all = append(all, written(t))
			}
		}
	}
	return all
}

// target finds an output that is written.
func (b *batch) target(name string) (plan.Target, bool) {
	for _, t := range b.targets {
		if t.Name == name {
			return t, true
		}
	}
	return plan.Target{}, false
}

// reconcile compares what was read with what is staged.
func (b *batch) reconcile(ctx context.Context) error {
	var asked []expect.Balance
	var of []config.Balance
	for _, c := range b.task.Balances {
		balance := expect.Balance{Input: compute.Relation(b.checks.Whole(c.Input)),
			MaxLost: c.MaxLost, Sum: c.Sum, Tolerance: c.Tolerance}
		for _, name := range c.Outputs {
			if t, ok := b.target(name); ok {
				balance.Outputs = append(balance.Outputs, expect.Staged{Relation: written(t), Rows: b.staged[name].Rows})
			}
		}
		if len(balance.Outputs) < len(c.Outputs) {
			b.warn(fmt.Sprintf("%s: task %s: %s was not made: an output that it names stays as it is", c.Pos, b.task.Name, c.Text))
			continue
		}
		asked, of = append(asked, balance), append(of, c)
	}
	results, err := expect.Reconcile(ctx, b.session, asked)
	var wrong *expect.Error
	if errors.As(err, &wrong) {
		p := wrongCheck(of[wrong.Check].Pos, of[wrong.Check].Text, wrong.Err)
		p.Data = nothing
		return p
	}
	if err != nil {
		return err
	}
	var problems problem.List
	for _, r := range results {
		c := of[r.Check]
		e := report.Event{Check: c.Text, Severity: c.Severity, Rows: number(r.Rows)}
		if p := b.tell(e, r, c.Text, c.Pos); p != nil {
			problems = append(problems, p)
		}
	}
	return orNil(problems)
}

// checkChecks finds what is wrong with the data checks of a task whatever the rows are: patterns and types, and of an input whose
// columns are declared their names and values too. What depends on a variable without a value is passed over.
func (r *run) checkChecks(ctx context.Context, t config.Task) (problems problem.List, err error) {
	for _, relation := range relationsOf(t.Checks) {
		columns := declaredColumns(t, relation)
		var rules []compute.Rule
		var of []config.Check
		for _, c := range t.Checks {
			switch {
			case c.Relation != relation || c.Open:
			case c.Kind == "columns":
				found, err := r.wrongTypes(ctx, c)
				if err != nil {
					return nil, err
				}
				problems = append(problems, found...)
			case c.Kind != "rows" && (columns != nil || c.Kind == "matches"):
				rules, of = append(rules, ruleOf(c)), append(of, c)
			}
		}
		if len(rules) == 0 {
			continue
		}
		wrong, err := r.checkRules(ctx, rules, columns)
		if err != nil {
			return nil, err
		}
		for _, e := range wrong {
			if e.Rule > 0 { // of the input's own columns it is told with the input
				problems = append(problems, checkProblem(of[e.Rule-1], e))
			}
		}
	}
	return problems, nil
}

// wrongTypes finds types that do not exist in a check of columns.
func (r *run) wrongTypes(ctx context.Context, c config.Check) (problems problem.List, err error) {
	var columns []compute.Column
	for _, column := range c.Types {
		if !column.Open && !strings.EqualFold(column.Type, config.AnyType) {
			columns = append(columns, compute.Column{Name: column.Name, Type: column.Type})
		}
	}
	if len(columns) == 0 {
		return nil, nil
	}
	wrong, err := r.checkRules(ctx, nil, columns)
	for _, e := range wrong {
		p := checkProblem(c, e)
		for _, column := range c.Types {
			if column.Name == e.Column {
				p.Pos = column.Pos
			}
		}
		problems = append(problems, p)
	}
	return problems, err
}

// checkRules asks the compute engine once.
func (r *run) checkRules(ctx context.Context, rules []compute.Rule, columns []compute.Column) ([]*compute.Error, error) {
	var key strings.Builder
	fmt.Fprintf(&key, "%q", columns)
	for _, rule := range rules {
		fmt.Fprintf(&key, " %d %q %q %q %q", rule.Kind, rule.Columns, rule.Values, rule.Pattern, []string{textOf(rule.Min), textOf(rule.Max)})
	}
	wrong, known := r.formats.rules[key.String()]
	if !known {
		var err error
		if wrong, err = r.Compute.CheckRules(ctx, rules, columns); err != nil {
			return nil, err
		}
		r.formats.rules[key.String()] = wrong
	}
	return wrong, nil
}

// textOf tells a bound from one that is open.
func textOf(bound *string) string {
	if bound == nil {
		return ""
	}
	return "=" + *bound
}

func relationsOf(checks []config.Check) (names []string) {
	seen := map[string]bool{}
	for _, c := range checks {
		if !seen[c.Relation] {
			seen[c.Relation] = true
			names = append(names, c.Relation)
		}
	}
	return names
}

// declaredColumns are those of an input of files that declares them; nil: they are known when it is read.
func declaredColumns(t config.Task, relation string) (columns []compute.Column) {
	for _, in := range t.Inputs {
		if in.Name != relation || in.From != nil {
			continue
		}
		for _, c := range in.Columns {
			if c.Open {
				return nil
			}
			columns = append(columns, compute.Column{Name: c.Name, Type: c.Type})
		}
	}
	return columns
}
