package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/ubunye-io/ubunye/engine/abi"
	"github.com/ubunye-io/ubunye/engine/compute"
	"github.com/ubunye-io/ubunye/engine/config"
	"github.com/ubunye-io/ubunye/engine/plan"
	"github.com/ubunye-io/ubunye/engine/problem"
	"github.com/ubunye-io/ubunye/engine/writer"
)

// formats is what was learned of the formats in a pipeline. Starts for one value after another have it together.
type formats struct {
	inputs  map[string][]*compute.Error // what is wrong with an input, by what was asked
	rules   map[string][]*compute.Error // what is wrong with data checks, by what was asked
	writers map[string]abi.Description  // by format
}

// makePlan plans the pipeline, and checks what only the compute engine and the writers know: the options of formats, and
// the types of columns. All that is wrong is told at once, as a problem.List.
func (r *run) makePlan(ctx context.Context, deliver plan.Deliver) error {
	p, err := plan.Make(r.config, r.options.Tasks, deliver)
	var problems problem.List
	if err != nil && !errors.As(err, &problems) {
		return err
	}
	wrong, ignored := r.checkConnections()
	problems = append(problems, wrong...)
	for _, t := range r.config.Tasks {
		if len(r.options.Tasks) > 0 && !slices.Contains(r.options.Tasks, t.Name) {
			continue
		}
		for _, in := range t.Inputs {
			wrong, err := r.checkInput(ctx, in)
			if err != nil {
				return r.explain(told(ctx, err), t.Name)
			}
			problems = append(problems, about(wrong, t.Name, "")...)
		}
		wrong, err := r.checkChecks(ctx, t)
		if err != nil {
			return r.explain(told(ctx, err), t.Name)
		}
		problems = append(problems, about(wrong, t.Name, "")...)
		for _, o := range t.Outputs {
			problems = append(problems, about(r.checkOutput(o), t.Name, o.Name)...)
		}
	}
	if len(problems) > 0 {
		return problems
	}
	p.Warnings = append(p.Warnings, ignored...)
	r.plan = p
	return nil
}

// about says which task and output problems belong to.
func about(problems problem.List, task, output string) problem.List {
	for _, p := range problems {
		p.Task, p.Output = task, output
	}
	return problems
}

// checkInput finds what is wrong with an input of files, whatever is in them. What depends on a variable without a value
// is passed over.
func (r *run) checkInput(ctx context.Context, in config.Input) (problems problem.List, err error) {
	if in.From != nil || !isDatabase(in) && !slices.Contains(config.InputFormats(), in.Format) {
		return nil, nil
	}
	in.Options = closedOptions(in.Options, in.OptionsAt)
	declared := len(in.Columns) > 0
	in.Columns = slices.DeleteFunc(slices.Clone(in.Columns), func(c config.Column) bool { return c.Open })
	if declared && len(in.Columns) == 0 {
		in.Rejects = nil // they want columns, and there will be some
	}
	asked := r.asked(in, nil)
	var wrong []*compute.Error
	if isDatabase(in) {
		wrong, asked.Options = checkDatabaseOptions(in), nil
	}
	key := fmt.Sprintf("%q %q %q", asked.Format, asked.Options, asked.Columns) + fmt.Sprint(asked.Rejects != nil) // maps are printed in the order of their keys
	checked, known := r.formats.inputs[key]
	if !known {
		if checked, err = r.Compute.Check(ctx, asked); err != nil {
			return nil, err
		}
		r.formats.inputs[key] = checked
	}
	for _, e := range append(wrong, checked...) {
		e := *e // what was learned may be of another input
		e.Input = in.Name
		p := computeProblem(&e)
		p.Pos, p.Data, p.Cause = inputPos(in, &e), "", &e
		problems = append(problems, p)
	}
	return problems, nil
}

// checkOutput holds the options of an output against what its writer says of them. Of a writer that cannot be used the
// plan has told.
func (r *run) checkOutput(o config.Output) (problems problem.List) {
	d, ok := r.formats.writers[o.Format]
	if !ok {
		return nil
	}
	for _, e := range writer.CheckOptions(d, o.Options) {
		at, given := o.OptionsAt[e.Option]
		switch {
		case !given:
			at.Pos = o.Pos
		case at.Open && o.Options[e.Option] == e.Wrong:
			continue
		}
		problems = append(problems, &problem.Problem{Code: problem.ConfigInvalid, Pos: at.Pos, Message: "options." + e.Option + ": " + e.Message, Hint: config.DidYouMean(e.Wrong, e.Known)})
	}
	return problems
}

// closedOptions leaves out the options whose values are not known.
func closedOptions(options map[string]string, at map[string]config.OptionAt) map[string]string {
	options = maps.Clone(options)
	maps.DeleteFunc(options, func(name, _ string) bool { return at[name].Open })
	return options
}
