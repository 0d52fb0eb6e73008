package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ubunye-io/ubunye/engine"
	"github.com/ubunye-io/ubunye/engine/config"
	"github.com/ubunye-io/ubunye/engine/kit"
	"github.com/ubunye-io/ubunye/engine/lockfile"
	"github.com/ubunye-io/ubunye/engine/problem"
	"github.com/ubunye-io/ubunye/engine/store/fsops"
)

// testFlags are those of plugin test.
type testFlags struct {
	lookFlags
	caseFile, writer string
	only             []string
	points           int
	json             bool
}

func (a *app) pluginTestCommand() *cobra.Command {
	var f testFlags
	cmd := &cobra.Command{Use: "test FILE|NAME [--config CASE]", Short: "Test a writer: what it writes, what a crash leaves of it, and which delivery classes it earns",
		Args: oneWord("plugin test wants one file or name", "ubunye plugin test FILE|NAME"),
		RunE: func(cmd *cobra.Command, args []string) error { return a.testPlugin(cmd.Context(), args[0], f) }}
	cmd.Long = `Test runs pipelines with the writer, in processes of their own, in a folder for temporary files: every type of value, texts that
formats have trouble with, many rows, partitions, each mode twice, and runs that are killed at their operations and run again. What
landed is read by somebody else than the writer. A mode whose checks all pass has earned the delivery class that it declares;
that is written into ubunye.lock, if the module is in it.

A case file says what the writer needs and how its files are read:

  options: {widths: id=20 value=60}    # of its outputs
  memory: 64MiB                        # that it may have
  loses: [empty]                       # texts and types that its format cannot keep: here, an empty text
  read:
    sql: SELECT id, value FROM read_csv('{path}/*.tsv', all_varchar = true)
    # or: command: [python3, read.py]  # which is given the folder, and prints a JSON object a row

The rows that are written have the columns id and value, and part if they are partitioned. Files of Parquet, CSV and JSON are read
without a case.`
	f.lookFlags.addPipeline(cmd)
	s := cmd.Flags()
	s.StringVar(&f.caseFile, "config", "", "the case `FILE`")
	s.StringVar(&f.writer, "writer", "", "which `WRITER` of the module is meant")
	s.StringSliceVar(&f.only, "only", nil, "make only the `CHECK` of this name; may be repeated")
	s.IntVar(&f.points, "points", 0, "kill each run at no more than `NUMBER` of its operations (default 12)")
	_ = cmd.MarkFlagFilename("config", "yaml", "yml")
	complete(cmd, "points", cobra.NoFileCompletions)
	complete(cmd, "writer", cobra.NoFileCompletions)
	complete(cmd, "only", func(_ *cobra.Command, _ []string, begun string) (all []cobra.Completion, _ cobra.ShellCompDirective) {
		for _, name := range kit.Names() {
			if strings.HasPrefix(name, begun) {
				all = append(all, name)
			}
		}
		return all, cobra.ShellCompDirectiveNoFileComp
	})
	cmd.ValidArgsFunction = func(_ *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return a.completeWriter(f.file, begun), cobra.ShellCompDirectiveDefault // or a file
	}
	addJSON(cmd, &f.json)
	return cmd
}

func (a *app) testPlugin(ctx context.Context, name string, f testFlags) (err error) {
	o := kit.Options{Case: config.DefaultCase(), Only: f.only, Points: f.points, Now: time.Now}
	if f.caseFile != "" {
		if o.Case, err = config.LoadCase(f.caseFile); err != nil {
			return err
		}
	}
	o.Writer = f.writer
	if o.Writer == "" {
		o.Writer = o.Case.Writer
	}
	e, err := a.newEngine()
	if err != nil {
		return err
	}
	if err := e.FindModule(name, f.options(), &o.Module, &o.Writer); err != nil {
		return err
	}
	if o.Program, err = os.Executable(); err != nil {
		return err
	}
	files := fsops.New(nil)
	if o.Scratch, err = files.TempDir("ubunye-test-"); err != nil {
		return err
	}
	defer func() {
		if removing := files.RemoveAll(o.Scratch); err == nil {
			err = removing
		}
	}()
	if !f.json {
		o.Each = func(r kit.Result) {
			a.line("%-8s  %-30s  %s", r.Outcome, strings.TrimSpace(r.Check+" "+r.Mode), r.Doc)
			if r.Message != "" {
				a.line("          %s", r.Message)
			}
		}
	}
	r, err := kit.Run(ctx, o)
	if err != nil {
		return err
	}
	return a.tellTest(r, f)
}

// tellTest writes what was earned into the lock, and says it.
func (a *app) tellTest(r *kit.Report, f testFlags) error {
	if len(r.Modes) > 0 {
		names, err := engine.EarnPlugin(fsops.New(nil), f.file, r.SHA256, r.Writer, r.Lock())
		if err != nil {
			return err
		}
		r.Locked = append(r.Locked, names...)
	}
	if f.json {
		if err := a.printJSON(r); err != nil {
			return err
		}
	} else {
		for _, m := range r.Modes {
			a.line("mode %s has earned %s%s", m.Mode, m.Earned, map[bool]string{false: ", though it declares " + string(m.Declared)}[m.Earned == m.Declared])
		}
		if len(r.Locked) > 0 {
			a.line("%s knows it, for %s", lockfile.Name, strings.Join(r.Locked, ", "))
		}
	}
	if n := r.Failed(); n > 0 {
		return &problem.Problem{Code: problem.WriterFailed, Message: fmt.Sprintf("%d of %d checks failed", n, len(r.Checks)), Hint: "--only NAME makes one of them"}
	}
	return nil
}

// pluginRehearseCommand is the other end of plugin test: a run that tells what the writer does, and can be killed at it. It is
// no command for people.
func (a *app) pluginRehearseCommand() *cobra.Command {
	var at int
	var do string
	var rerun rerunFlag
	cmd := a.pipelineCommand("rehearse", "A run for plugin test", func(cmd *cobra.Command) {
		cmd.Flags().IntVar(&at, "at", 0, "the `NUMBER` of an operation")
		cmd.Flags().StringVar(&do, "do", "", "`WHAT` happens at it: stop or fail")
		rerun.add(cmd)
	}, func(cmd *cobra.Command, e *engine.Engine, o engine.Options) error {
		rerun.apply(&o)
		r := &kit.Rehearsal{At: at, Act: kit.Act(do), In: cmd.InOrStdin(), Out: a.stdout}
		return r.Run(cmd.Context(), e, o)
	})
	cmd.Hidden = true
	return cmd
}
