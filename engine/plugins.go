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
	g.Log = func(plugin string, level abi.Level, text string) {
		e := pluginEvent(plugin, level, text)
		e.Task, e.Batch, e.Output = b.task.Name, batchText(b.task.Batch), t.Name
		b.emit(e)
	}
	if t.Plugin == nil || t.Plugin.Files {
		g.Files = &files{batch: b, target: t}
	}
	return g
}

// deliver gives plan the delivery class of an output, from its writer's description. Of a plugin the
// description is asked once and then kept, so that mostly no writer is started for it.
func (r *run) deliver(ctx context.Context) plan.Deliver {
	return func(format, mode string, options map[string]string) (string, error) {
		d, err := r.describe(ctx, format)
		if err != nil {
			return "", err
		}
		r.formats.writers[format] = d
		class, ok := d.Class(mode, options)
		if !ok {
			return "", errors.New("has no mode " + mode)
		}
		replaces := mode == modeOverwrite || mode == modePartitions
		if replaces && class == abi.ClassClaims || !replaces && class == abi.ClassReplaces {
			return "", fmt.Errorf("delivers mode %s as %s, and files in a folder are not delivered so", mode, class)
		}
		if p := r.plugin(format); p != nil {
			return r.delivered(*p, d, mode, class)
		}
		return string(class), nil
	}
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
	if slices.Contains(d.Capabilities, abi.CapFiles) && !p.Files {
		return &problem.Problem{Code: problem.ConfigInvalid, Pos: p.Pos,
			Message: "plugin " + p.Name + " asks for the capability files, which the pipeline does not grant", Hint: "if it is to have it, write allow: {files: true}"}
	}
	return nil
}

// delivered is the delivery class of a plugin's output: the weaker of the one that it declares and the one that the lock says
// it has earned.
func (r *run) delivered(p config.Plugin, d abi.Description, mode string, declared abi.Class) (string, error) {
	why := "is pinned by no lock"
	if have := r.pinned(p); have != nil {
		switch have.Standing(mode, string(declared)) {
		case lockfile.Kept:
			return string(declared), nil
		case lockfile.Broken:
			return "", named(p, fmt.Sprintf("declares %s for mode %s, and its tests have shown that it does not keep that", declared, mode))
		}
		why = "was not tested for this mode (ubunye plugin test)"
	}
	return untested(p, d, declared, why)
}

// untested is the delivery class of a plugin of which nobody knows whether it keeps what it declares. If it asks for nothing but
// relations and files it can only leave files in staging, which the engine lands, or exchanges for what is there, whatever
// the plugin does. Anything else counts as named.
func untested(p config.Plugin, d abi.Description, declared abi.Class, why string) (string, error) {
	var more []string
	for _, c := range d.Capabilities {
		if c != abi.CapRelation && c != abi.CapFiles {
			more = append(more, string(c))
		}
	}
	switch {
	case len(more) > 0:
		return "", named(p, "asks for "+strings.Join(more, " and ")+" and "+why)
	case declared == abi.ClassOnce || declared == abi.ClassNamed:
		return "", named(p, "declares "+string(declared)+" for this mode and "+why)
	}
	return string(declared), nil
}

// named refuses the class that this version cannot deliver by.
func named(p config.Plugin, why string) *problem.Problem {
	return &problem.Problem{Code: problem.ConfigInvalid, Pos: p.Pos, Message: "plugin " + p.Name + " " + why + ", so it counts as named: neither once nor replacing can be promised for what it writes",
		Hint: "the delivery class named is not in this version: use a plugin that asks for nothing but relation and files"}
}

// hintLimit says how a plugin of the pipeline gets more of what it ran out of, or was refused.
func hintLimit(p *config.Plugin, k writer.Kind) string {
	key := map[writer.Kind]string{writer.Deadline: "timeout: …", writer.Memory: "memory: …", writer.Refused: "allow: {…}"}[k]
	if p == nil || key == "" {
		return ""
	}
	return "if it is to have more: plugins: {" + p.Name + ": {" + key + "}}"
}
