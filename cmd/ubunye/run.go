package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ubunye-io/ubunye/engine"
)

func (a *app) runCommand() *cobra.Command {
	var rerun rerunFlag
	cmd := a.pipelineCommand("run -c FILE", "Run a pipeline: each of its batches lands once", rerun.add,
		func(cmd *cobra.Command, e *engine.Engine, o engine.Options) error {
			rerun.apply(&o)
			result, err := e.Run(cmd.Context(), o)
			a.printResult(result)
			return err
		})
	cmd.Long = `Run holds the batches of all tasks, or refuses in one line; then it runs the tasks. A batch is a task
and its variables. A finished batch of a task that appends is refused, unless --rerun says that it is
to be replaced.`
	return cmd
}

// printResult prints a line an output on stdout.
func (a *app) printResult(r engine.Result) {
	for _, t := range r.Tasks {
		for _, o := range t.Outputs {
			replaced := ""
			if o.Replaced > 0 {
				replaced = ", replacing " + count(o.Replaced, "file")
			}
			fmt.Fprintf(a.stdout, "%s.%s: %s in %s (%s) landed in %s%s\n", t.Task, o.Output,
				count(o.Rows, "row"), count(o.Files, "file"), size(o.Bytes), o.Path, replaced)
		}
	}
}

// rerunFlag is --rerun[=anyway].
type rerunFlag struct{ value string }

func (f *rerunFlag) add(cmd *cobra.Command) {
	cmd.Flags().Var(f, "rerun", "replace the batch if it is finished; --rerun=anyway: also when files of it are gone")
	cmd.Flags().Lookup("rerun").NoOptDefVal = "true"
}

// String, Set and Type uphold pflag.Value. The type makes the help show a flag that needs no value.
func (f *rerunFlag) String() string { return f.value }
func (f *rerunFlag) Type() string   { return "bool" }
func (f *rerunFlag) Set(value string) error {
	if value != "true" && value != "false" && value != "anyway" {
		return errors.New("write --rerun or --rerun=anyway")
	}
	f.value = value
	return nil
}

func (f *rerunFlag) apply(o *engine.Options) {
	o.Rerun = f.value == "true" || f.value == "anyway"
	o.RerunAnyway = f.value == "anyway"
}
