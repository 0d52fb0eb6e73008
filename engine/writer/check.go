package writer

import (
	"errors"
	"fmt"
	"slices"

	"github.com/ubunye-io/ubunye/engine/abi"
)

// checkDescribe finds descriptions that nothing can be done with, and makes their texts fit to be shown.
func checkDescribe(a abi.DescribeAnswer) error {
	if a.ABI != abi.Version {
		return fmt.Errorf("ABI %d is wanted, it says %d", abi.Version, a.ABI)
	}
	if len(a.Writers) == 0 {
		return errors.New("it has no writer")
	}
	names := map[string]bool{}
	for i := range a.Writers {
		d := &a.Writers[i]
		if d.Name == "" || d.Name != line(d.Name) || names[d.Name] {
			return fmt.Errorf("%q is no name of a writer, or is there twice", d.Name)
		}
		names[d.Name] = true
		if len(d.Modes) == 0 {
			return fmt.Errorf("the writer %s has no mode", d.Name)
		}
		for _, m := range d.Modes {
			if err := checkMode(m, slices.Contains(d.Capabilities, abi.CapTable)); err != nil {
				return fmt.Errorf("the writer %s: %w", d.Name, err)
			}
		}
		for _, c := range d.Capabilities {
			if c == "" || string(c) != line(string(c)) {
				return fmt.Errorf("the writer %s: %q is no name of a capability", d.Name, c)
			}
		}
		if _, err := Options(*d); err != nil {
			return fmt.Errorf("the writer %s: %w", d.Name, err)
		}
		d.Version, d.Doc = line(d.Version), line(d.Doc)
	}
	return nil
}

// checkMode looks at one mode. A writer that makes commits of its own lets the engine land nothing.
func checkMode(m abi.Mode, commits bool) error {
	if m.Name == "" || m.Name != line(m.Name) {
		return fmt.Errorf("%q is no name of a mode", m.Name)
	}
	classes := []abi.Class{m.Class}
	for _, e := range m.Exceptions {
		classes = append(classes, e.Class)
		for option, value := range e.Options {
			if option == "" || option != line(option) || value != line(value) {
				return fmt.Errorf("mode %s has an exception for %q, which is no option", m.Name, option)
			}
		}
	}
	for _, c := range classes {
		if !isClass(c) {
			return fmt.Errorf("mode %s has the class %q, which is not known", m.Name, c)
		}
		if commits && c == abi.ClassClaims {
			return fmt.Errorf("mode %s has the class %s, and the writer asks for the capability %s: its commits are its own", m.Name, c, abi.CapTable)
		}
	}
	return nil
}

func isClass(c abi.Class) bool {
	return slices.Contains([]abi.Class{abi.ClassClaims, abi.ClassOnce, abi.ClassReplaces, abi.ClassNamed}, c)
}

// maxProblems is how many problems a plugin may have with one output: they are lines for a person.
const maxProblems = 100

// checkPlan does so for the answer to plan.
func checkPlan(a *abi.PlanAnswer) error {
	a.Will, a.Exists = line(a.Will), line(a.Exists)
	if len(a.Problems)+len(a.Warnings) > maxProblems {
		return fmt.Errorf("it has %d problems and warnings; at most %d are told", len(a.Problems)+len(a.Warnings), maxProblems)
	}
	for i, w := range a.Warnings {
		a.Warnings[i] = line(w)
	}
	for i := range a.Problems {
		p := &a.Problems[i]
		p.Field, p.Message, p.Hint = line(p.Field), line(p.Message), line(p.Hint)
		if p.Message == "" {
			return errors.New("a problem has no message")
		}
	}
	if len(a.Problems) > 0 {
		return nil
	}
	if !isClass(a.Class) {
		return fmt.Errorf("the class %q is not known", a.Class)
	}
	if a.Target == "" || a.Will == "" {
		return errors.New("it does not say what the target is and what will be done")
	}
	return nil
}

// checkCommit finds outcomes that cannot be: what the engine is going to rely on must fit the batch, and what was put.
func checkCommit(a *abi.CommitAnswer, b abi.Batch, put bool) error {
	a.Message, a.Hint = line(a.Message), line(a.Hint)
	mine, err := a.Mark.Epoch == b.Epoch && a.Mark.Run == b.Run, checkMark(&a.Mark, 0)
	if err != nil {
		return err
	}
	fits := false
	switch a.Outcome {
	case abi.OutcomeDone:
		fits = put && mine
	case abi.OutcomeFound:
		fits = b.Class == abi.ClassOnce && b.After < a.Mark.Epoch && a.Mark.Epoch < b.Epoch
	case abi.OutcomeFenced:
		fits = a.Mark.Epoch >= b.Epoch && !mine
	case abi.OutcomeNotDone, abi.OutcomeUnknown:
		if a.Message == "" {
			return fmt.Errorf("it does not say why the outcome is %s", a.Outcome)
		}
		return nil
	}
	if !fits || a.Mark.Commit == "" {
		return fmt.Errorf("the outcome %q with the commit %q of epoch %d by run %q cannot be, for a batch of class %s with epoch %d after %d",
			line(string(a.Outcome)), a.Mark.Commit, a.Mark.Epoch, a.Mark.Run, b.Class, b.Epoch, b.After)
	}
	return nil
}

// checkResolve does so for the answer to resolve.
func checkResolve(a *abi.ResolveAnswer, req abi.ResolveRequest) error {
	asked := map[string]bool{}
	for _, name := range req.Files {
		asked[name] = true
	}
	for _, name := range a.Named {
		if !asked[name] {
			return fmt.Errorf("it names the file %q, which it was not asked about, or twice", line(name))
		}
		asked[name] = false
	}
	return checkMark(&a.Mark, req.Batch.After)
}

// checkMark looks at a commit. Of one that the ledger knows, up to an epoch, nothing more need be told.
func checkMark(m *abi.Mark, known int64) error {
	m.Run, m.Commit = line(m.Run), line(m.Commit)
	if m.Epoch < 0 || m.Epoch == 0 && (m.Run != "" || m.Commit != "") || m.Epoch > known && m.Commit == "" {
		return fmt.Errorf("there is no commit %q of epoch %d by run %q", m.Commit, m.Epoch, m.Run)
	}
	return nil
}

// maxState is the most bytes that a writer may want to know again when it commits.
const maxState = 8 << 20

// check compares the answer to stage with what was staged: the same files, each once. What the engine
// itself has written or counted is taken from there.
func (o *operations) check(a *abi.StageAnswer) error {
	for _, f := range o.files {
		return fmt.Errorf("the file %s was not closed", f.file.Name())
	}
	if len(a.State) > maxState {
		return fmt.Errorf("its state has %d bytes; at most %d are kept", len(a.State), maxState)
	}
	var rows int64
	seen := map[string]bool{}
	for i, f := range a.Files {
		have, ok := o.staged[f.Name]
		if !ok || seen[f.Name] {
			return fmt.Errorf("the file %q was not staged by this call, or is named twice", line(f.Name))
		}
		seen[f.Name] = true
		if have.Rows == unknownRows {
			have.Rows, have.Columns = f.Rows, f.Columns
		}
		if f.Rows != have.Rows || f.Rows < 0 {
			return fmt.Errorf("%s has %d rows, not %d", f.Name, have.Rows, f.Rows)
		}
		a.Files[i] = have
		rows += have.Rows
	}
	for name := range o.staged {
		if !seen[name] {
			return fmt.Errorf("the file %s was staged and is not named", name)
		}
	}
	if rows != a.Rows {
		return fmt.Errorf("it counts %d rows, its files have %d", a.Rows, rows)
	}
	return nil
}
