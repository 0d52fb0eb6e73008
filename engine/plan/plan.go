// Package plan turns a pipeline into what a run does: its tasks in order, the batch that each makes, and
// how each output is delivered. It is pure: it reads no file, no clock and no environment.
package plan

import (
	"errors"
	"fmt"
	"slices"

	"github.com/ubunye-io/ubunye/engine/config"
	"github.com/ubunye-io/ubunye/engine/problem"
)

// Plan is what a run does.
type Plan struct {
	Pipeline *config.Pipeline
	Tasks    []Task // those selected, in the order of the file
}

// Task is one task and its batch.
type Task struct {
	config.Task
	Batch   Batch
	Targets []Target // one an output, in the order of the file
}

// Target is an output and how it is delivered.
type Target struct {
	config.Output
	Class string // delivery class, as the writer plugin declares it for the mode and options
}

// Deliver gives the delivery class of an output, from the descriptions of the writer plugins. It returns
// an *UnknownFormatError for a format without a writer, a *problem.Problem for a writer that cannot be used; any other error says in a few words why the writer does not
// take the mode or the options, as "has no mode merge".
type Deliver func(format, mode string, options map[string]string) (class string, err error)

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
	for _, t := range p.Tasks {
		if len(tasks) > 0 && !slices.Contains(tasks, t.Name) {
			continue
		}
		planned := Task{Task: t, Batch: batchOf(p, t.Name)}
		for _, o := range t.Outputs {
			class, bad := classify(o, deliver)
			if bad != nil {
				bad.Task, bad.Output = t.Name, o.Name
				problems = append(problems, bad)
			}
			planned.Targets = append(planned.Targets, Target{Output: o, Class: class})
		}
		plan.Tasks = append(plan.Tasks, planned)
	}
	if len(problems) > 0 {
		return nil, problems
	}
	return plan, nil
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

// classify asks for an output's delivery class, and says what is wrong at the place that names it.
func classify(o config.Output, deliver Deliver) (string, *problem.Problem) {
	class, err := deliver(o.Format, o.Mode, o.Options)
	var unknown *UnknownFormatError
	var known *problem.Problem
	switch {
	case err == nil:
		return class, nil
	case errors.As(err, &unknown):
		return "", &problem.Problem{Code: problem.PluginMissing, Pos: o.FormatPos, Cause: err,
			Message: unknown.Error(), Hint: config.DidYouMean(o.Format, unknown.Known)}
	case errors.As(err, &known):
		p := *known
		if p.Pos == (problem.Pos{}) {
			p.Pos = o.FormatPos
		}
		return "", &p
	}
	return "", &problem.Problem{Code: problem.ConfigInvalid, Pos: o.ModePos, Cause: err,
		Message: fmt.Sprintf("the writer for %s %s", o.Format, err)}
}
