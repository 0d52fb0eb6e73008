package main

import (
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/ubunye-io/ubunye/engine"
)

func (a *app) runCommand() *cobra.Command {
	var rerun rerunFlag
	var goOn goOnFlags
	var asJSON, quiet bool
	var parallel, beside int
	var wait waitFlag
	flags := func(cmd *cobra.Command) {
		rerun.add(cmd)
		goOn.add(cmd)
		wait.add(cmd)
		cmd.Flags().BoolVar(&asJSON, "json", false, "print one event a line on stdout, as JSON")
		cmd.Flags().BoolVarP(&quiet, "quiet", "q", false, "print warnings and problems only")
		cmd.Flags().IntVar(&parallel, "parallel", 1, "most `TASKS` that run side by side")
		cmd.MarkFlagsMutuallyExclusive("json", "quiet")
		cmd.Flags().IntVar(&beside, besideFlag, 0, "of a backfill: how many runs share the memory; stop when stdin ends")
		_ = cmd.Flags().MarkHidden(besideFlag)
	}
	cmd := a.pipelineCommand("run -c FILE", "Run a pipeline: each of its batches lands once", flags,
		func(cmd *cobra.Command, e *engine.Engine, o engine.Options) error {
			a.chooseReporter(asJSON, quiet)
			e.Every = a.every
			rerun.apply(&o)
			goOn.apply(&o)
			o.Wait = wait.value
			if cmd.Flags().Changed("parallel") {
				o.Settings["parallel"] = parallel
			}
			if beside == 0 {
				return e.Run(cmd.Context(), o)
			}
			o.Beside, o.Command = beside, withoutFlags(o.Command, "json", besideFlag)
			return e.Run(stoppedByParent(cmd.Context(), cmd.InOrStdin()), o)
		})
	cmd.Long = `Run holds the batches of all tasks, or refuses in one line; then it runs the tasks. A batch is a task
and its variables. A finished batch of a task that appends is refused, unless --rerun says that it is
to be replaced. A batch that another run holds is refused too; with --wait the run waits for it, and takes
the batch over if its holder dies meanwhile.

A run that failed, or died, is gone on with by the next start with the same variables: what is finished is
kept, the rest runs. Where a finished task has appended, and what it read is another now, nobody can tell
whether that is wanted, and the start is refused: --resume keeps it, --rerun writes it again. --new-run leaves
the unfinished run as it is.`
	return cmd
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

// goOnFlags are those that say what becomes of an unfinished run.
type goOnFlags struct{ resume, newRun bool }

func (f *goOnFlags) add(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.resume, "resume", false, "keep what is finished, by whatever run, and run the rest")
	cmd.Flags().BoolVar(&f.newRun, "new-run", false, "leave an unfinished run as it is, and begin a new one")
	cmd.MarkFlagsMutuallyExclusive("resume", "rerun")
}

func (f *goOnFlags) apply(o *engine.Options) { o.Resume, o.NewRun = f.resume, f.newRun }

// waitFlag is --wait.
type waitFlag struct{ value time.Duration }

func (f *waitFlag) add(cmd *cobra.Command) {
	cmd.Flags().Var(f, "wait", "wait for what other runs hold, at most so `LONG` (10m, 1h30m), instead of refusing")
}

// String, Set and Type uphold pflag.Value.
func (f *waitFlag) String() string {
	if f.value == 0 {
		return "" // the help names no default
	}
	return f.value.String()
}
func (f *waitFlag) Type() string { return "duration" }
func (f *waitFlag) Set(text string) error {
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return errors.New("write a time like 30s, 10m or 1h30m")
	}
	f.value = d
	return nil
}
