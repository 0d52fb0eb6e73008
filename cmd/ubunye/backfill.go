package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ubunye-io/ubunye/engine"
	"github.com/ubunye-io/ubunye/engine/report"
)

const backfillHelp = `Backfill runs a pipeline for each date of a range, from the earliest to the latest: one run a date, just as
ubunye run --dt DATE would be, in a process of its own. Dates of which every batch is finished are skipped and
counted, so a backfill that was interrupted goes on where it was when it is started again; --rerun runs them all.

When a date does not land, no more dates are started and those that run are let finish. --keep-going tries all
dates; --fail-fast tells those that run to stop as well. The exit code is the worst of all dates.

Dates are values of the variable dt, or of the one that --variable names, which must be of type date, month, hour
or timestamp. They are counted in UTC. Months are counted from the first date: from the 31st on they fall on the
last day of those that are shorter.`

// rangeFlags are those of commands that look at many dates.
type rangeFlags struct{ engine.Range }

func (f *rangeFlags) add(cmd *cobra.Command) {
	s := cmd.Flags()
	s.StringVar(&f.From, "from", "", "the first `DATE`")
	s.StringVar(&f.To, "to", "", "the last `DATE`; it belongs to the range")
	s.StringVar(&f.Every, "every", "", "`STEP` between two dates: hour, day, week or month (default: what the variable's type counts, and day for timestamps)")
	s.StringVar(&f.Variable, "variable", "", "`NAME` of the variable that the dates are values of (default dt)")
}

// check refuses half a range. given tells whether there is one.
func (f *rangeFlags) check(cmd *cobra.Command) (given bool, err error) {
	s := cmd.Flags()
	switch {
	case s.Changed("from") && s.Changed("to"):
		return true, nil
	case s.Changed("from"):
		return false, usage("--from has no --to", "write --to DATE, the last date")
	case s.Changed("to"):
		return false, usage("--to has no --from", "write --from DATE, the first date")
	case s.Changed("every"), s.Changed("variable"):
		return false, usage("--every and --variable are for a range of dates, and there is none", "write --from DATE --to DATE")
	}
	return false, nil
}

func (a *app) backfillCommand() *cobra.Command {
	var dates rangeFlags
	var rerun rerunFlag
	var goOn goOnFlags
	var asJSON, quiet, dryRun, keepGoing, failFast bool
	var parallel int
	var wait waitFlag
	flags := func(cmd *cobra.Command) {
		dates.add(cmd)
		rerun.add(cmd)
		goOn.add(cmd)
		wait.add(cmd)
		s := cmd.Flags()
		s.IntVar(&parallel, "parallel", 1, "`NUMBER` of dates to run at once; they share the memory that one run may have")
		s.BoolVar(&keepGoing, "keep-going", false, "try all dates, whichever fail")
		s.BoolVar(&failFast, "fail-fast", false, "when a date fails, tell those that run to stop as well")
		s.BoolVar(&dryRun, "dry-run", false, "list what would run; nothing is written")
		s.BoolVar(&asJSON, "json", false, "print one event a line on stdout, as JSON; with --dry-run one document")
		s.BoolVarP(&quiet, "quiet", "q", false, "print warnings and problems only")
	}
	cmd := a.pipelineCommand("backfill -c FILE --from DATE --to DATE", "Run a pipeline for each date of a range that is missing", flags,
		func(cmd *cobra.Command, e *engine.Engine, o engine.Options) error {
			given, err := dates.check(cmd)
			if err != nil {
				return err
			}
			switch {
			case !given:
				return usage("a backfill needs a range of dates", "write --from DATE --to DATE")
			case keepGoing && failFast:
				return usage("--keep-going and --fail-fast contradict each other", "write one of them, or neither")
			case asJSON && quiet:
				return usage("--json and --quiet contradict each other", "write one of them")
			}
			a.running = !dryRun
			a.chooseReporter(asJSON, quiet)
			rerun.apply(&o)
			goOn.apply(&o)
			o.Wait = wait.value
			b := engine.Backfill{Range: dates.Range, Parallel: parallel, Start: a.startRun(parallel)}
			switch {
			case keepGoing:
				b.OnFailure = engine.KeepGoing
			case failFast:
				b.OnFailure = engine.StopRunning
			}
			if dryRun {
				return a.printBackfill(cmd, e, o, b, asJSON)
			}
			return e.Backfill(cmd.Context(), o, b)
		})
	cmd.Long = backfillHelp
	return cmd
}

// printBackfill prints what a backfill would do.
func (a *app) printBackfill(cmd *cobra.Command, e *engine.Engine, o engine.Options, b engine.Backfill, asJSON bool) error {
	planned, err := e.PlanBackfill(cmd.Context(), o, b)
	if err != nil {
		return err
	}
	if asJSON {
		return a.printJSON(planned)
	}
	missing := 0
	for _, p := range planned {
		if len(p.Tasks) > 0 {
			missing++
			a.line("%s: would run %s", p.Date, strings.Join(p.Tasks, ", "))
		}
	}
	fmt.Fprintf(a.stdout, "%d of %s would run", missing, report.Count(int64(len(planned)), "date"))
	if done := len(planned) - missing; done > 0 {
		fmt.Fprintf(a.stdout, "; %d would be skipped, being finished", done)
	}
	fmt.Fprintln(a.stdout)
	return nil
}
