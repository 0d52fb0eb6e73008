package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/ubunye-io/ubunye/engine"
)

const stateSetHelp = `Set has an incremental input go on from another place than its last commit says, or for the first time from one
that is not the beginning. --mark VALUE: of an input that is read by a column, rows with a greater value are read.
--seen WHAT: of one that is read by files, which of them count as read: all that are there now, none, or those that
were written before a time.

--drop-range has what the next run reads chosen anew. A run notes what it is going to read before it reads it, and
one that comes after it reads the same; that is not possible any more if a file of it is gone for good.

It is for one task, and its batch with the variables that are given. It is refused while a run holds that batch, and
--mark and --seen also while what is to be read next is noted.`

func (a *app) stateSetCommand() *cobra.Command {
	var f pipelineFlags
	var q engine.MarkChange
	var mark string
	var asJSON bool
	cmd := &cobra.Command{Use: "set -c FILE --task NAME --reason TEXT {--input NAME {--mark VALUE | --seen WHAT} | --drop-range}", Short: "Set where an incremental input goes on",
		Long: stateSetHelp, Args: noWords,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o, err := f.options(cmd, a)
			if err != nil {
				return err
			}
			if cmd.Flags().Changed("mark") {
				q.Mark = &mark
			}
			if err := checkSet(cmd, &f, &q); err != nil {
				return err
			}
			e, err := a.newEngine()
			if err != nil {
				return err
			}
			q.Who = whoami()
			did, err := e.StateSet(cmd.Context(), o, q)
			switch {
			case err != nil:
				return err
			case asJSON:
				return a.printJSON(did)
			}
			what := "what is to be read next"
			if did.Input != "" {
				what = "input " + did.Input
			}
			a.line("task %s, batch %s: %s: %s; it was: %s", did.Task, batchName(did.Batch, did.Key), what, did.Now, did.Was)
			return nil
		}}
	f.add(cmd)
	s := cmd.Flags()
	s.StringVar(&q.Input, "input", "", "the incremental input `NAME`")
	s.StringVar(&mark, "mark", "", "the `VALUE` above which rows are read")
	s.StringVar(&q.Seen, "seen", "", "`WHAT` counts as read: all, none, or a time before which files were written")
	s.BoolVar(&q.DropRange, "drop-range", false, "have what is to be read next chosen anew")
	s.StringVar(&q.Reason, "reason", "", "`TEXT` that says why")
	addJSON(cmd, &asJSON)
	completePipeline(cmd, &f.file)
	for _, name := range []string{"input", "mark", "reason"} {
		complete(cmd, name, cobra.NoFileCompletions)
	}
	complete(cmd, "seen", cobra.FixedCompletions([]cobra.Completion{"all", "none"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// checkSet refuses flags that do not make one change of one task.
func checkSet(cmd *cobra.Command, f *pipelineFlags, q *engine.MarkChange) error {
	changes := 0
	for _, name := range []string{"mark", "seen", "drop-range"} {
		if cmd.Flags().Changed(name) {
			changes++
		}
	}
	switch {
	case len(f.tasks) != 1:
		return usage("it is not said which one task is meant", "write --task NAME, once")
	case changes != 1:
		return usage("it is not said what is to be set", "write one of --mark VALUE, --seen WHAT and --drop-range")
	case q.DropRange && q.Input != "":
		return usage("--drop-range is about all inputs of a task", "leave --input out")
	case !q.DropRange && q.Input == "":
		return usage("it is not said which input is meant", "write --input NAME")
	case strings.TrimSpace(q.Reason) == "":
		return usage("why it is set is not said", "write --reason TEXT, for those who look at it later")
	}
	q.Task = f.tasks[0]
	return nil
}
