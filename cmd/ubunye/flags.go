package main

import (
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ubunye-io/ubunye/engine"
)

// pipelineFlags are those of every command that reads a pipeline file.
type pipelineFlags struct {
	file    string
	dt, dtf string
	vars    []string
	profile string
	tasks   []string
	state   string
	memory  string
	threads int
}

func (f *pipelineFlags) add(cmd *cobra.Command) {
	s := cmd.Flags()
	s.StringVarP(&f.file, "config", "c", "", "the pipeline `FILE`")
	s.StringVar(&f.dt, "dt", "", "`VALUE` of the variable dt; the same as --var dt=VALUE")
	s.StringVar(&f.dtf, "dtf", "", "`VALUE` of the variable dtf, which never names a batch")
	s.StringArrayVar(&f.vars, "var", nil, "`NAME=VALUE` of a variable; may be repeated")
	s.StringVar(&f.profile, "profile", "", "`NAME` of the profile to lay over the file")
	s.StringArrayVar(&f.tasks, "task", nil, "run only the task `NAME`; may be repeated")
	s.StringVarP(&f.state, "state-path", "s", "", "`FOLDER` of the run state, instead of that of the pipeline")
	s.StringVar(&f.memory, "memory", "", "most memory of the compute engine, as `4GiB`")
	s.IntVar(&f.threads, "threads", 0, "`NUMBER` of threads of the compute engine")
	_ = cmd.MarkFlagFilename("config", "yaml", "yml")
}

// pipelineCommand makes a command that reads a pipeline file. flags, if not nil, adds flags of its own.
func (a *app) pipelineCommand(use, short string, flags func(*cobra.Command), do func(*cobra.Command, *engine.Engine, engine.Options) error) *cobra.Command {
	var f pipelineFlags
	cmd := &cobra.Command{Use: use, Short: short, Args: noWords,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o, err := f.options(cmd, a)
			if err != nil {
				return err
			}
			e, err := a.newEngine()
			if err != nil {
				return err
			}
			return do(cmd, e, o)
		}}
	f.add(cmd)
	if flags != nil {
		flags(cmd)
	}
	completePipeline(cmd, &f.file)
	return cmd
}

// options turns the flags that were given into options. There must be a pipeline file.
func (f *pipelineFlags) options(cmd *cobra.Command, a *app) (engine.Options, error) {
	if f.file == "" {
		return engine.Options{}, usage("no pipeline file is named", "write -c FILE")
	}
	return f.read(cmd, a)
}

// read turns the flags that were given into options.
func (f *pipelineFlags) read(cmd *cobra.Command, a *app) (engine.Options, error) {
	o := engine.Options{File: f.file, Tasks: f.tasks, Command: a.args}
	o.Profile = f.profile
	o.Vars = map[string]string{}
	for _, v := range f.vars {
		name, value, ok := strings.Cut(v, "=")
		if !ok {
			return o, usage("--var "+v+" has no value", "write --var NAME=VALUE")
		}
		if _, twice := o.Vars[name]; twice {
			return o, usage("--var "+name+" is given twice", "")
		}
		o.Vars[name] = value
	}
	o.Dt = given(cmd.Flags(), "dt", f.dt)
	o.Dtf = given(cmd.Flags(), "dtf", f.dtf)
	o.Settings = map[string]any{}
	if cmd.Flags().Changed("state-path") {
		path, err := filepath.Abs(f.state) // a path in the file is relative to the file
		if err != nil {
			return o, usage("--state-path "+f.state+": "+err.Error(), "")
		}
		o.Settings["state.path"] = path
	}
	if cmd.Flags().Changed("memory") {
		o.Settings["engine.memory"] = f.memory
	}
	if cmd.Flags().Changed("threads") {
		o.Settings["engine.threads"] = f.threads
	}
	off, err := leaseOff()
	o.LeaseOff = off
	return o, err
}

func given(s *pflag.FlagSet, name, value string) *string {
	if s.Changed(name) {
		return &value
	}
	return nil
}
