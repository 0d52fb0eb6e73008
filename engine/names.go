package engine

import (
	"github.com/ubunye-io/ubunye/engine/config"
)

// Outline lists what a pipeline file names, as far as it can be read.
func Outline(file string) config.Outline { return config.ReadOutline(file) }

// WriterNames lists the formats that outputs can have: built-in writers, and plugins that the file names.
func (e *Engine) WriterNames(file string) ([]string, error) {
	r := &run{Engine: e, config: &config.Pipeline{}}
	for _, p := range config.ReadOutline(file).Plugins {
		r.config.Plugins = append(r.config.Plugins, config.Plugin{Name: p.Name})
	}
	r.options.File = file
	if err := r.openWriters(); err != nil {
		return nil, err
	}
	for _, p := range r.lock.Plugins {
		if r.plugin(p.Name) == nil {
			r.config.Plugins = append(r.config.Plugins, config.Plugin{Name: p.Name})
		}
	}
	return r.writerNames(), nil
}
