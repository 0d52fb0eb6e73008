package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ubunye-io/ubunye/engine/config"
	"github.com/ubunye-io/ubunye/engine/ledger"
	"github.com/ubunye-io/ubunye/engine/plan"
	"github.com/ubunye-io/ubunye/engine/problem"
)

// Range is the dates of a backfill or a status.
type Range struct {
	Variable string // that the dates are values of; empty: dt
	From, To string // both are part of it
	Every    string // hour, day, week or month; empty: the usual step of the variable's type
}

// usualVariable is the one that dates are values of.
const usualVariable = "dt"

// dates are the values of a range, for each of which a pipeline can be loaded.
type dates struct {
	engine   *Engine
	options  Options
	variable config.Variable
	every    config.Every
	values   []string

	first   *run         // of the value that was loaded first: its writers serve all
	deliver plan.Deliver // asks once, because settings are the same for all values
}

// datesOf lists the values of a range and checks that each makes a batch of its own.
func (e *Engine) datesOf(o Options, rg Range) (*dates, error) {
	d := &dates{engine: e, options: o}
	name := rg.Variable
	if name == "" {
		name = usualVariable
	}
	o.AllowUnset, o.Varying = true, name
	pipeline, err := loadPipeline(o)
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(pipeline.Variables, func(v config.Variable) bool { return v.Name == name })
	if at < 0 {
		return nil, undeclared(pipeline, name, rg.Variable != "")
	}
	d.variable = pipeline.Variables[at]
	if twice := d.given(name); twice != "" {
		return nil, &problem.Problem{Code: problem.Usage, Message: fmt.Sprintf("%s gives %s one value, and --from and --to give it many", twice, name), Hint: "leave one of the two out"}
	}
	if pipeline.Batch != nil && !slices.Contains(pipeline.Batch, name) {
		return nil, &problem.Problem{Code: problem.ConfigInvalid, Pos: d.variable.Pos,
			Message: fmt.Sprintf("the variable %s does not make the batch, so all dates would be one batch", name),
			Hint:    fmt.Sprintf("write batch: [%s]", strings.Join(append(slices.Clone(pipeline.Batch), name), ", "))}
	}
	d.values, d.every, err = d.variable.Range(rg.From, rg.To, config.Every(rg.Every))
	return d, err
}

// given is the flag that gives the variable of the range, if one does. A value from the environment is overridden.
func (d *dates) given(name string) string {
	_, is := d.options.Vars[name]
	switch {
	case name == "dt" && d.options.Dt != nil, name == "dtf" && d.options.Dtf != nil:
		return "--" + name
	case is:
		return "--var " + name
	}
	return ""
}

// undeclared is the problem of a range over a variable that the pipeline does not have.
func undeclared(p *config.Pipeline, name string, asked bool) *problem.Problem {
	if !asked {
		return &problem.Problem{Code: problem.Usage, Message: "the pipeline has no variable " + name + ", whose values --from and --to would be",
			Hint: "declare it, as variables: {" + name + ": {type: date, required: true}}; or name another one with --variable NAME"}
	}
	var names []string
	for _, v := range p.Variables {
		if v.Type.IsTime() {
			names = append(names, v.Name)
		}
	}
	return &problem.Problem{Code: problem.Usage, Message: fmt.Sprintf("--variable %s: the pipeline has no variable of that name", name), Hint: config.DidYouMean(name, names)}
}

// with gives the options of a start for one value.
func (d *dates) with(value string) Options {
	o := d.options
	switch d.variable.Name {
	case "dt":
		o.Dt = &value
	case "dtf":
		o.Dtf = &value
	default:
		o.Vars = maps.Clone(o.Vars)
		if o.Vars == nil {
			o.Vars = map[string]string{}
		}
		o.Vars[d.variable.Name] = value
	}
	return o
}

// load loads and plans the pipeline as a start for one value would.
func (d *dates) load(ctx context.Context, value string) (*run, error) {
	o := d.with(value)
	pipeline, err := loadPipeline(o)
	if err != nil {
		return nil, d.about(value, err)
	}
	r := &run{Engine: d.engine, options: o, config: pipeline}
	if d.first == nil {
		if err := r.openWriters(); err != nil {
			return nil, err
		}
		d.first, d.deliver = r, onceEach(r.deliver(ctx))
	}
	r.host, r.formats = d.first.host, d.first.formats
	if err := r.makePlan(ctx, d.deliver); err != nil {
		return nil, d.about(value, err)
	}
	return r, nil
}

// about says at which value something is wrong that was not with the first one.
func (d *dates) about(value string, err error) error {
	var list problem.List
	if d.first == nil || d.first.options.dateOf(d.variable.Name) == value || !errors.As(err, &list) {
		return err
	}
	for _, p := range list {
		p.Message = fmt.Sprintf("with %s=%s: %s", d.variable.Name, value, p.Message)
	}
	return list
}

// dateOf is the value that options give a variable.
func (o Options) dateOf(name string) string {
	switch {
	case name == "dt" && o.Dt != nil:
		return *o.Dt
	case name == "dtf" && o.Dtf != nil:
		return *o.Dtf
	}
	return o.Vars[name]
}

// missing tells of each task at which values its batch is not finished. It only reads.
func (d *dates) missing(ctx context.Context) ([]MissingDates, error) {
	var all []MissingDates
	for _, value := range d.values {
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
		r, err := d.load(ctx, value)
		if err != nil {
			return nil, err
		}
		if r.ledger = d.first.ledger; r.ledger == nil {
			if err := r.openLedger(ctx); err != nil {
				return nil, err
			}
			d.first.ledger = r.ledger
		}
		for i, t := range r.plan.Tasks {
			if len(all) == i {
				all = append(all, MissingDates{Task: t.Name, Variable: d.variable.Name, All: d.values, Of: len(d.values), Dates: []string{}, Unknown: []string{}})
			}
			view, err := r.ledger.Look(ctx, ledgerBatch(t.Batch))
			switch {
			case errors.As(err, new(*ledger.UnreadableError)):
				all[i].Unknown = append(all[i].Unknown, value) // neither finished nor missing (I7)
			case err != nil:
				return nil, r.explain(err, t.Name)
			case view.Finished == nil:
				all[i].Dates = append(all[i].Dates, value)
			}
		}
	}
	return all, nil
}

// onceEach keeps what was answered.
func onceEach(ask plan.Deliver) plan.Deliver {
	type answer struct {
		delivery plan.Delivery
		err      error
	}
	known := map[string]answer{}
	return func(format, mode string, options map[string]string) (plan.Delivery, error) {
		key := fmt.Sprintf("%q %q %q", format, mode, options) // maps are printed in the order of their keys
		a, is := known[key]
		if !is {
			a.delivery, a.err = ask(format, mode, options)
			known[key] = a
		}
		return a.delivery, a.err
	}
}
