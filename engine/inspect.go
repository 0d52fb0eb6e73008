package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ubunye-io/ubunye/engine/abi"
	"github.com/ubunye-io/ubunye/engine/config"
	"github.com/ubunye-io/ubunye/engine/lockfile"
	"github.com/ubunye-io/ubunye/engine/problem"
	"github.com/ubunye-io/ubunye/engine/writer"
)

// PluginInfo is a writer and the module that holds it.
type PluginInfo struct {
	Name         string           `json:"name"`                     // a format of outputs; of a file that no pipeline names, the writer's own
	Version      string           `json:"version"`                  // version of the writer
	Doc          string           `json:"doc,omitempty"`            // what it writes, on one line
	File         string           `json:"file,omitempty"`           // the module, as the person or the pipeline names it; empty: built in
	SHA256       string           `json:"sha256"`                   // SHA-256 of the module, in hexadecimal
	Size         int64            `json:"size"`                     // bytes of the module
	ABI          int              `json:"abi"`                      // version of the contract that it speaks
	Capabilities []abi.Capability `json:"capabilities"`             // what it needs of the engine
	Modes        []abi.Mode       `json:"modes"`                    // what an output may have as its mode, and how each is delivered
	Options      []writer.Option  `json:"options"`                  // what an output may have as its options
	Schema       json.RawMessage  `json:"options_schema,omitempty"` // the same as the writer says it: JSON Schema of the options
	Lock         *lockfile.Plugin `json:"lock,omitempty"`           // what ubunye.lock has of it; absent: it does not pin this module
	Refused      string           `json:"refused,omitempty"`        // why a pipeline of this version cannot use it
}

// Plugins lists the built-in writers and, if o names a pipeline file, the plugins of that pipeline; those that cannot
// be used are the error, a problem.List, and the others are listed all the same.
func (e *Engine) Plugins(ctx context.Context, o Options) ([]PluginInfo, error) {
	r, err := e.writers(o)
	if err != nil {
		return nil, err
	}
	var all []PluginInfo
	var problems problem.List
	for _, d := range r.host.Builtins() {
		if r.plugin(d.Name) != nil {
			continue // it is replaced
		}
		info, err := r.inspect(ctx, writer.Module{Name: d.Name}, writer.Limits{})
		if err != nil {
			return nil, err
		}
		all = append(all, info...)
	}
	for _, p := range r.config.Plugins {
		module, limits := r.module(p.Name)
		info, err := r.inspect(ctx, module, limits)
		if err != nil {
			problems = append(problems, r.explainLook(ctx, err, p))
		}
		all = append(all, info...)
	}
	if len(problems) > 0 {
		return all, problems
	}
	return all, nil
}

// InspectPlugin tells what a writer is: a plugin of the pipeline if o names one, a built-in, or a file, of which every
// writer is told. Nothing is given to it to write.
func (e *Engine) InspectPlugin(ctx context.Context, name string, o Options) ([]PluginInfo, error) {
	r, err := e.writers(o)
	if err != nil {
		return nil, err
	}
	if p := r.plugin(name); p != nil {
		module, limits := r.module(name)
		info, err := r.inspect(ctx, module, limits)
		if err != nil {
			return nil, r.explainLook(ctx, err, *p)
		}
		return info, nil
	}
	if _, ok := r.host.Describe(name); ok {
		return r.inspect(ctx, writer.Module{Name: name}, writer.Limits{})
	}
	if _, err := os.Stat(name); err != nil && !strings.ContainsAny(name, `./\`) {
		return nil, &problem.Problem{Code: problem.PluginMissing, Message: fmt.Sprintf("there is no writer %q and no file of that name", name), Hint: config.DidYouMean(name, r.writerNames())}
	}
	path, err := filepath.Abs(name)
	if err != nil {
		return nil, err
	}
	info, err := r.inspect(ctx, writer.Module{Name: filepath.Base(name), Path: path}, writer.Limits{})
	if err != nil {
		return nil, r.explainLook(ctx, err, config.Plugin{})
	}
	for i := range info {
		info[i].File = name
	}
	return info, nil
}

// explainLook is explainInspect for somebody who only looks: there was nothing to be read or written.
func (r *run) explainLook(ctx context.Context, err error, p config.Plugin) *problem.Problem {
	found := r.explainInspect(told(ctx, err), p)
	found.Data = ""
	return found
}

// writers opens the writers, and reads the pipeline file if one is named.
func (e *Engine) writers(o Options) (*run, error) {
	r := &run{Engine: e, options: o, config: &config.Pipeline{}}
	if o.File != "" {
		o.AllowUnset = true
		pipeline, err := loadPipeline(o)
		if err != nil {
			return nil, err
		}
		r.config = pipeline
	}
	if err := r.openWriters(); err != nil {
		return nil, err
	}
	for _, k := range lockedPlugins(r.lock, o.File) {
		if r.plugin(k.Name) == nil { // no output uses it yet
			p := config.Plugin{Name: k.Name, Path: k.Path, SHA256: k.SHA256, Writer: k.Writer, Files: k.Files, Table: k.Table, Locked: true}
			p.PathPos.File, p.SHAPos.File = k.File, k.File
			r.config.Plugins = append(r.config.Plugins, p)
		}
	}
	return r, nil
}

// inspect tells of the writer that a module is to be; of a file that no pipeline names, of each.
func (r *run) inspect(ctx context.Context, m writer.Module, l writer.Limits) ([]PluginInfo, error) {
	found, err := r.host.Inspect(ctx, m, l)
	if err != nil {
		return nil, err
	}
	p := r.plugin(m.Name)
	if m.Path != "" && p != nil {
		d, err := found.Choose(m)
		if err != nil {
			return nil, err
		}
		found.Writers = []abi.Description{d}
	}
	var all []PluginInfo
	for _, d := range found.Writers {
		options, err := writer.Options(d)
		if err != nil {
			return nil, err
		}
		info := PluginInfo{Name: d.Name, Version: d.Version, Doc: d.Doc, SHA256: found.SHA256, Size: found.Size, ABI: d.ABI,
			Capabilities: d.Capabilities, Modes: d.Modes, Options: options, Schema: d.Options}
		if m.Path != "" {
			if p != nil {
				info.Name, info.File = p.Name, p.Path
				info.Lock = r.pinned(*p)
			}
			info.Refused = r.refusal(p, d)
		}
		all = append(all, info)
	}
	return all, nil
}

// refusal says why no mode of a plugin could be used; empty: one can.
func (r *run) refusal(p *config.Plugin, d abi.Description) string {
	if p == nil {
		p = &config.Plugin{Name: d.Name}
	}
	var why error
	usable := slices.ContainsFunc(d.Modes, func(m abi.Mode) bool {
		_, err := r.delivered(*p, d, m.Name, deliveryOf(d, m.Class))
		if why == nil {
			why = err
		}
		return err == nil
	})
	if usable {
		return ""
	}
	return why.Error()
}

// FindModule tells which module is meant by a name, as InspectPlugin reads it: a file, or the built-in writer of that name,
// whose file is empty. Of a plugin it tells the writer too, if none is chosen.
func (e *Engine) FindModule(name string, o Options, file, writer *string) error {
	r, err := e.writers(o)
	if err != nil {
		return err
	}
	if p := r.plugin(name); p != nil {
		*file = p.Path
		if *writer == "" {
			*writer = p.Writer
		}
		return nil
	}
	if _, ok := r.host.Describe(name); ok {
		*file, *writer = "", name
		return nil
	}
	if _, err := os.Stat(name); err != nil {
		return &problem.Problem{Code: problem.PluginMissing, Message: fmt.Sprintf("there is no writer %q and no file of that name", name), Hint: config.DidYouMean(name, r.writerNames())}
	}
	*file, err = filepath.Abs(name)
	return err
}
