package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ubunye-io/ubunye/engine/abi"
	"github.com/ubunye-io/ubunye/engine/config"
	"github.com/ubunye-io/ubunye/engine/lockfile"
	"github.com/ubunye-io/ubunye/engine/outbound"
	"github.com/ubunye-io/ubunye/engine/plan"
	"github.com/ubunye-io/ubunye/engine/problem"
	"github.com/ubunye-io/ubunye/engine/writer"
)

// mostPlan is how long a plugin may look at an output before anything is read, whatever its timeout is.
const mostPlan = 30 * time.Second

// module is what writes a format, and the limits that it has: a plugin of the pipeline, or a built-in.
func (r *run) module(format string) (writer.Module, writer.Limits) {
	p := r.plugin(format)
	if p == nil {
		return writer.Module{Name: format}, writer.Limits{}
	}
	return writer.Module{Name: p.Name, Path: p.Path, SHA256: p.SHA256, Writer: p.Writer},
		writer.Limits{Memory: p.Memory, Plan: min(p.Timeout, mostPlan), Stage: p.Timeout}
}

// plugin finds a plugin of the pipeline; nil: it has none of that name.
func (r *run) plugin(name string) *config.Plugin {
	if at := slices.IndexFunc(r.config.Plugins, func(p config.Plugin) bool { return p.Name == name }); at >= 0 {
		return &r.config.Plugins[at]
	}
	return nil
}

// grants are the capabilities of an output's writer. Relations are always among them.
func (b *batch) grants(t plan.Target) writer.Grants {
	g := writer.Grants{Relation: &relations{batch: b, target: t}}
	if b.Probe != nil {
		g.Before = func(op string) error { return b.Probe(b.task.Name, op) }
	}
	g.Log = b.pluginLog(t)
	if t.Plugin == nil || t.Plugin.Files {
		g.Files = &files{batch: b, target: t}
	}
	if t.Table {
		g.Table = b.tableOf(t).files
	}
	if t.Plugin != nil && len(t.Plugin.HTTP) > 0 {
		if list, err := outbound.Parse(t.Plugin.HTTP); err == nil { // describe has refused what is none
			g.HTTP = hosts{outbound.New(list, t.Plugin.Secrets)}
		}
	}
	return g
}

// pluginLog tells what the writer of an output says.
func (b *batch) pluginLog(t plan.Target) func(plugin string, level abi.Level, text string) {
	return func(plugin string, level abi.Level, text string) {
		e := pluginEvent(plugin, level, text)
		e.Task, e.Batch, e.Output = b.task.Name, batchText(b.task.Batch), t.Name
		b.emit(e)
	}
}

// deliver tells plan how an output is delivered, from its writer's description. Of a plugin the
// description is asked once and then kept, so that mostly no writer is started for it.
func (r *run) deliver(ctx context.Context) plan.Deliver {
	return func(format, mode string, options map[string]string) (plan.Delivery, error) {
		none := plan.Delivery{}
		d, err := r.describe(ctx, format)
		if err != nil {
			return none, err
		}
		r.formats.writers[format] = d
		class, ok := d.Class(mode, options)
		if !ok {
			var known []string
			for _, m := range d.Modes {
				known = append(known, m.Name)
			}
			return none, fmt.Errorf("has no mode %s (known: %s)", mode, strings.Join(known, ", "))
		}
		delivery := deliveryOf(d, class)
		replaces := mode == modeOverwrite || mode == modePartitions
		if !delivery.Table && (replaces && class == abi.ClassClaims || !replaces && class == abi.ClassReplaces) {
			return none, fmt.Errorf("delivers mode %s as %s, and files in a folder are not delivered so", mode, class)
		}
		if p := r.plugin(format); p != nil {
			return r.delivered(*p, d, mode, delivery)
		}
		return delivery, nil
	}
}

// deliveryOf is how a writer delivers by a class of its own.
func deliveryOf(d abi.Description, class abi.Class) plan.Delivery {
	return plan.Delivery{Class: string(class), Table: slices.Contains(d.Capabilities, abi.CapTable)}
}

// describe gives the description of the writer of a format. Errors are those that plan.Deliver returns.
func (r *run) describe(ctx context.Context, format string) (abi.Description, error) {
	p := r.plugin(format)
	if p == nil {
		if d, ok := r.host.Describe(format); ok {
			return d, nil
		}
		return abi.Description{}, &plan.UnknownFormatError{Format: format, Known: r.writerNames()}
	}
	module, limits := r.module(format)
	found, err := r.host.Inspect(ctx, module, limits)
	if err != nil {
		return abi.Description{}, r.explainInspect(told(ctx, err), *p)
	}
	d, err := found.Choose(module)
	if err != nil {
		wrong := r.explainInspect(err, *p)
		wrong.Code, wrong.Pos = problem.ConfigInvalid, p.Pos
		if len(found.Writers) > 0 {
			wrong.Hint = "say which is meant: plugins: {" + p.Name + ": {writer: " + found.Writers[0].Name + "}}"
		}
		return d, wrong
	}
	if err := r.checkTrust(*p); err != nil {
		return d, err
	}
	if _, err := outbound.Parse(p.HTTP); err != nil {
		return d, &problem.Problem{Code: problem.ConfigInvalid, Pos: p.HTTPPos, Message: "plugin " + p.Name + ": allow.http: " + err.Error()}
	}
	return d, checkAllowed(*p, d)
}

// writerNames are the formats that outputs can have.
func (r *run) writerNames() (names []string) {
	for _, d := range r.host.Builtins() {
		names = append(names, d.Name)
	}
	for _, p := range r.config.Plugins {
		names = append(names, p.Name)
	}
	return names
}

// explainInspect places what is wrong with a plugin that could not even say what it is.
func (r *run) explainInspect(err error, p config.Plugin) *problem.Problem {
	found := *r.explain(err, "")[0] // a copy: the wish to stop is one problem for everybody
	var e *writer.Error
	if !errors.As(err, &e) {
		return &found
	}
	found.Data = untouched
	if found.Hint == "" {
		found.Hint = hintLimit(&p, e.Kind)
	}
	switch e.Kind {
	case writer.Missing:
		found.Pos = p.PathPos
	case writer.Digest:
		found.Code, found.Pos = problem.ConfigInvalid, p.SHAPos
	}
	return &found
}

// checkAllowed refuses a plugin that asks for what the pipeline does not grant: it would fail when it uses it.
func checkAllowed(p config.Plugin, d abi.Description) error {
	for c, granted := range map[abi.Capability]bool{abi.CapFiles: p.Files, abi.CapTable: p.Table, abi.CapHTTP: len(p.HTTP) > 0} {
		if slices.Contains(d.Capabilities, c) && !granted {
			what := "true"
			if c == abi.CapHTTP {
				what = "[the hosts]"
			}
			return &problem.Problem{Code: problem.ConfigInvalid, Pos: p.Pos,
				Message: fmt.Sprintf("plugin %s asks for the capability %s, which the pipeline does not grant", p.Name, c), Hint: fmt.Sprintf("if it is to have it, write allow: {%s: %s}", c, what)}
		}
	}
	return nil
}

// delivered is how a plugin delivers an output: by the weaker of the class that it declares and the one that the lock says it has
// earned.
func (r *run) delivered(p config.Plugin, d abi.Description, mode string, declared plan.Delivery) (plan.Delivery, error) {
	why := "is pinned by no lock"
	if have := r.pinned(p); have != nil {
		switch have.Standing(mode, declared.Class) {
		case lockfile.Kept:
			return declared, nil
		case lockfile.Broken:
			why = "its tests have shown that it does not keep that"
			if !declared.Table {
				return plan.Delivery{}, &problem.Problem{Code: problem.ConfigInvalid, Pos: p.Pos, Message: fmt.Sprintf("plugin %s declares %s for mode %s, and %s", p.Name, declared.Class, mode, why),
					Hint: "ubunye plugin test " + p.Name + " tells what is wrong"}
			}
		default:
			why = "was not tested for this mode (ubunye plugin test)"
		}
	}
	return unproven(p, d, declared, why)
}

// unproven is how a plugin delivers of which nobody knows whether it keeps what it declares, or everybody that it does not. If it asks
// for nothing but relations and files it can only leave files in staging, which the engine lands, or exchanges for what
// is there, whatever the plugin does. One that makes commits of its own counts as named.
func unproven(p config.Plugin, d abi.Description, declared plan.Delivery, why string) (plan.Delivery, error) {
	none := plan.Delivery{}
	for _, c := range d.Capabilities {
		if c != abi.CapRelation && c != abi.CapFiles && c != abi.CapTable && c != abi.CapHTTP {
			return none, &problem.Problem{Code: problem.ConfigInvalid, Pos: p.Pos, Message: fmt.Sprintf("plugin %s asks for the capability %s, which is not in this version", p.Name, c),
				Hint: "use a plugin that asks for relation, files, table and http only"}
		}
	}
	named, once := string(abi.ClassNamed), string(abi.ClassOnce)
	switch {
	case !declared.Table && (declared.Class == once || declared.Class == named):
		return none, &problem.Problem{Code: problem.ConfigInvalid, Pos: p.Pos, Message: fmt.Sprintf("plugin %s declares %s for this mode, and makes no commits that this could be promised by", p.Name, declared.Class),
			Hint: "use a plugin that asks for the capability table, or declares claims or replaces"}
	case declared.Table && declared.Class != named:
		declared.Note = fmt.Sprintf("plugin %s declares %s for this mode and %s, so it counts as named: what a run that dies leaves in the table is named, and never removed or taken for the batch", p.Name, declared.Class, why)
		declared.Class = named
	}
	return declared, nil
}

// hintLimit says how a plugin of the pipeline gets more of what it ran out of, or was refused.
func hintLimit(p *config.Plugin, k writer.Kind) string {
	key := map[writer.Kind]string{writer.Deadline: "timeout: …", writer.Memory: "memory: …", writer.Refused: "allow: {…}"}[k]
	if p == nil || key == "" {
		return ""
	}
	return "if it is to have more: plugins: {" + p.Name + ": {" + key + "}}"
}
