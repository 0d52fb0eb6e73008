// Package plan turns a pipeline into what a run does: its tasks in order, the batch that each makes, and
// how each output is delivered. It is pure: it reads no file, no clock and no environment.
package plan

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ubunye-io/ubunye/engine/config"
	"github.com/ubunye-io/ubunye/engine/problem"
)

// Plan is what a run does.
type Plan struct {
	Pipeline *config.Pipeline
	Tasks    []Task // those selected, in the order in which they run one by one
	Warnings problem.List

	// Width is the most tasks that can run side by side, however many may; or one more, where that is hard to tell.
	Width int
}

// Task is one task and its batch.
type Task struct {
	config.Task
	Batch   Batch
	Targets []Target // one an output, in the order of the file
	After   []After  // tasks of the plan that are done before this one begins
}

// Target is an output and how it is delivered.
type Target struct {
	config.Output
	Delivery
}

// Deciding are what the class of an output may depend on: its options and, under that name, its replace_where.
func (t Target) Deciding() map[string]string {
	if t.ReplaceWhere == "" {
		return t.Options
	}
	options := map[string]string{replaceWhere: t.ReplaceWhere}
	maps.Copy(options, t.Options)
	return options
}

// Delivery is how an output is delivered.
type Delivery struct {
	Class string // delivery class, as the writer plugin declares it for the mode and options
	Table bool   // the target is a table, and its writer makes commits of its own
	Note  string // why the class is not what the writer declares; empty: it is
}

// Deliver says how an output is delivered, from the descriptions of the writer plugins. The options are Target.Deciding. It returns
// an *UnknownFormatError for a format without a writer, a *problem.Problem for a writer that cannot be used; any other error says in a few words why the writer does not
// take the mode or the options, as "has no mode merge".
type Deliver func(format, mode string, options map[string]string) (Delivery, error)

// UnknownFormatError says that no writer writes a format.
type UnknownFormatError struct {
	Format string
	Known  []string // the formats that there is a writer for
}

// Error names the format.
func (e *UnknownFormatError) Error() string {
	return fmt.Sprintf("there is no writer for the format %q", e.Format)
}

// Make plans a run of the named tasks; none named: all. The error is a problem.List.
func Make(p *config.Pipeline, tasks []string, deliver Deliver) (*Plan, error) {
	var problems problem.List
	for _, v := range p.Unset {
		problems = append(problems, &problem.Problem{Code: problem.Usage, Pos: v.Pos,
			Message: "the variable " + v.Name + " has no value", Hint: "give it: a batch is made of values"})
	}
	problems = append(problems, unknownTasks(p, tasks)...)
	plan := &Plan{Pipeline: p}
	all, after := order(p.Tasks)
	problems = append(problems, sharedFolders(all, before(after, all))...)
	selected := func(name string) bool { return len(tasks) == 0 || slices.Contains(tasks, name) }
	for i, t := range all {
		if !selected(t.Name) {
			continue
		}
		planned := Task{Task: t, Batch: batchOf(p, t.Name)}
		planned.After = slices.DeleteFunc(after[i], func(a After) bool { return !selected(a.Task) })
		problems = append(problems, unselected(t, selected)...)
		for _, o := range t.Outputs {
			delivery, bad := classify(o, deliver)
			if bad != nil {
				bad.Task, bad.Output = t.Name, o.Name
				problems = append(problems, bad)
			}
			// Who runs an unnamed batch again may mean other rows: that a dead run's are there says nothing then.
			if delivery.Class == classOnce && !planned.Batch.Named && !t.Incremental() {
				delivery.Class = classNamed
			}
			planned.Targets = append(planned.Targets, Target{Output: o, Delivery: delivery})
		}
		plan.Tasks = append(plan.Tasks, planned)
	}
	problems = append(problems, unreadable(plan)...)
	if len(problems) > 0 {
		return nil, problems
	}
	for _, t := range plan.Tasks {
		plan.Warnings = append(plan.Warnings, ownFolders(t)...)
		for _, o := range t.Targets {
			if o.Note != "" {
				plan.Warnings = append(plan.Warnings, &problem.Problem{Code: problem.ConfigInvalid, Pos: o.FormatPos, Task: t.Name, Output: o.Name, Message: o.Note})
			}
		}
	}
	plan.Width = width(plan.Tasks)
	return plan, nil
}

// width bounds how many tasks can run side by side: of a longest chain of tasks that wait for each other, one at most does.
func width(tasks []Task) int {
	chain, longest := map[string]int{}, 0
	for _, t := range tasks {
		for _, a := range t.After {
			chain[t.Name] = max(chain[t.Name], chain[a.Task])
		}
		chain[t.Name]++
		longest = max(longest, chain[t.Name])
	}
	return len(tasks) - longest + 1
}

// unselected refuses a task without those whose outputs it reads: what it reads is what the same run committed.
func unselected(t config.Task, selected func(string) bool) (problems problem.List) {
	for _, in := range t.Inputs {
		if in.From != nil && !selected(in.From.Task) {
			problems = append(problems, &problem.Problem{Code: problem.Usage, Pos: in.PathPos, Task: t.Name,
				Message: fmt.Sprintf("input %s reads what task %s writes in the same run, and that is not selected", in.Name, in.From.Task),
				Hint:    "add --task " + in.From.Task + ", or run without --task"})
		}
	}
	return problems
}

// unreadable refuses inputs that read an output in a format which only its plugin knows.
func unreadable(p *Plan) (problems problem.List) {
	for _, t := range p.Tasks {
		for _, in := range t.Inputs {
			from, o := p.Source(in)
			switch {
			case from == nil || o.Class == "": // not selected, or wrong itself
			case o.Plugin != nil:
				problems = append(problems, &problem.Problem{Code: problem.ConfigInvalid, Pos: in.PathPos, Task: t.Name,
					Message: fmt.Sprintf("input %s: only the plugin %s knows the format of %s", in.Name, o.Plugin.Name, in.From),
					Hint:    "have " + from.Name + " write the relation to another output too, in a format that inputs can have: " + strings.Join(config.InputFormats(), ", ")})
			case o.Table && (o.Mode == "merge" || o.ReplaceWhere != ""):
				problems = append(problems, &problem.Problem{Code: problem.ConfigInvalid, Pos: in.PathPos, Task: t.Name,
					Message: fmt.Sprintf("input %s: the files of %s hold rows that were in the table before, beside those that the task writes", in.Name, in.From),
					Hint:    "have " + from.Name + " write the relation to another output too, or read the table by its path"})
			case !slices.Contains(config.InputFormats(), o.Format):
				problems = append(problems, &problem.Problem{Code: problem.ConfigInvalid, Pos: in.PathPos, Task: t.Name,
					Message: fmt.Sprintf("input %s: %s has the format %s, which inputs cannot have", in.Name, in.From, o.Format),
					Hint:    "known: " + strings.Join(config.InputFormats(), ", ")})
			}
		}
	}
	return problems
}

// Source gives the task and the output that an input reads; nil for one that reads files, or a task that is not in the plan.
func (p *Plan) Source(in config.Input) (*Task, Target) {
	if in.From == nil {
		return nil, Target{}
	}
	for i := range p.Tasks {
		for _, o := range p.Tasks[i].Targets {
			if p.Tasks[i].Name == in.From.Task && o.Name == in.From.Output {
				return &p.Tasks[i], o
			}
		}
	}
	return nil, Target{}
}

func unknownTasks(p *config.Pipeline, tasks []string) problem.List {
	names := make([]string, len(p.Tasks))
	for i, t := range p.Tasks {
		names[i] = t.Name
	}
	var problems problem.List
	for _, name := range tasks {
		if !slices.Contains(names, name) {
			problems = append(problems, &problem.Problem{Code: problem.Usage,
				Message: fmt.Sprintf("--task %s: the pipeline has no task of that name", name), Hint: config.DidYouMean(name, names)})
		}
	}
	return problems
}

// The delivery classes that make a difference here.
const (
	classOnce  = "once"
	classNamed = "named"
)

// classify asks how an output is delivered, and says what is wrong at the place that names it.
func classify(o config.Output, deliver Deliver) (Delivery, *problem.Problem) {
	delivery, err := deliver(o.Format, o.Mode, Target{Output: o}.Deciding())
	var unknown *UnknownFormatError
	var known *problem.Problem
	switch {
	case err == nil:
		return delivery, onlyOfTables(o, delivery)
	case errors.As(err, &unknown):
		return Delivery{}, &problem.Problem{Code: problem.PluginMissing, Pos: o.FormatPos, Cause: err,
			Message: unknown.Error(), Hint: config.DidYouMean(o.Format, unknown.Known)}
	case errors.As(err, &known):
		p := *known
		if p.Pos == (problem.Pos{}) {
			p.Pos = o.FormatPos
		}
		return Delivery{}, &p
	}
	return Delivery{}, &problem.Problem{Code: problem.ConfigInvalid, Pos: o.ModePos, Cause: err,
		Message: fmt.Sprintf("the writer for %s %s", o.Format, err)}
}

const replaceWhere = "replace_where"

// onlyOfTables refuses what only a table can do.
func onlyOfTables(o config.Output, d Delivery) *problem.Problem {
	p := &problem.Problem{Code: problem.ConfigInvalid, Pos: o.Pos}
	switch {
	case d.Table:
		return nil
	case o.ReplaceWhere != "":
		p.Message = fmt.Sprintf("replace_where: the writer for %s writes files, and of those no rows can be replaced", o.Format)
		p.Hint = "mode: overwrite_partitions replaces whole partitions: have the columns of the slice in partition_by"
	case o.Schema != "":
		p.Message = fmt.Sprintf("schema: the writer for %s writes files, which all have the columns of their own rows", o.Format)
		p.Hint = "remove the key"
	default:
		return nil
	}
	return p
}
