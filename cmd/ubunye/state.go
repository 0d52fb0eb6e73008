package main

import (
	"fmt"
	"os"
	"os/user"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/ubunye-io/ubunye/engine"
	"github.com/ubunye-io/ubunye/engine/report"
)

const stateHelp = `The run state says how far each run of a pipeline got, so that the next start goes on with one that did not end
well. It is a folder of JSON files, one for each attempt of a run: current/ has those that run or did not end well,
succeeded/ those that ended well or were accepted by a person.

The folder is that of the pipeline file (-c), or the one that -s names; -s alone needs no pipeline file. None of
these commands but set and import touches the ledger, and none touches the data.`

func (a *app) stateCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "state", Short: "Look at the run state, accept what will not be done, set marks, take over from older programs", Long: stateHelp, Args: noWords,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	cmd.SuggestionsMinimumDistance = 2
	cmd.AddCommand(a.stateListCommand(), a.stateShowCommand(), a.stateAcceptCommand(), a.stateSetCommand(), a.stateMigrateCommand(), a.stateImportCommand(), a.statePruneCommand(), a.stateReindexCommand())
	return cmd
}

// stateFlags are those of the commands on the run state.
type stateFlags struct {
	pipelineFlags
	name   string
	asJSON bool
}

// add adds the flags. byName: the command is about the runs of one pipeline, which a folder alone does not name.
func (f *stateFlags) add(cmd *cobra.Command, byName bool) {
	s := cmd.Flags()
	s.StringVarP(&f.file, "config", "c", "", "the pipeline `FILE`")
	s.StringVar(&f.profile, "profile", "", "`NAME` of the profile to lay over the file")
	s.StringVarP(&f.state, "state-path", "s", "", "`FOLDER` of the run state, instead of that of the pipeline")
	addJSON(cmd, &f.asJSON)
	_ = cmd.MarkFlagFilename("config", "yaml", "yml")
	_ = cmd.MarkFlagDirname("state-path")
	if byName {
		s.StringVar(&f.name, "name", "", "`NAME` of the pipeline, where a folder without a pipeline file has runs of several")
		complete(cmd, "name", cobra.NoFileCompletions)
	}
	completePipeline(cmd, &f.file)
}

// open gives what every one of the commands begins with.
func (f *stateFlags) open(cmd *cobra.Command, a *app) (*engine.Engine, engine.Options, error) {
	if f.file == "" && !cmd.Flags().Changed("state-path") {
		return nil, engine.Options{}, usage("neither a pipeline file nor a folder of run state is named", "write -c FILE, or -s FOLDER")
	}
	o, err := f.read(cmd, a)
	if err != nil {
		return nil, o, err
	}
	e, err := a.newEngine()
	return e, o, err
}

// runNumber is the one word that show and accept take.
func runNumber(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usage(fmt.Sprintf("%s wants the number of one run, not %d words", cmd.CommandPath(), len(args)), "ubunye state list lists the runs")
	}
	if n, err := strconv.ParseInt(args[0], 10, 64); err != nil || n < 1 {
		return usage(fmt.Sprintf("%q is not the number of a run", args[0]), "ubunye state list lists the runs; the number is the first column, as 5")
	}
	return nil
}

// number reads what runNumber has checked.
func number(args []string) int64 {
	n, _ := strconv.ParseInt(args[0], 10, 64)
	return n
}

// completeRun completes the number of a run, and the tasks that are left of one.
func (a *app) completeRun(cmd *cobra.Command, f *stateFlags) {
	names := func(cmd *cobra.Command, run int64) (runs []int64, tasks []string) {
		e, o, err := f.open(cmd, a)
		if err != nil {
			return nil, nil
		}
		return e.StateNames(cmd.Context(), o, f.name, run)
	}
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		var all []cobra.Completion
		if len(args) == 0 {
			runs, _ := names(cmd, 0)
			for _, n := range runs {
				if text := strconv.FormatInt(n, 10); strings.HasPrefix(text, begun) {
					all = append(all, text)
				}
			}
		}
		return all, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	}
	if cmd.Flags().Lookup("task") == nil {
		return
	}
	_ = cmd.RegisterFlagCompletionFunc("task", func(cmd *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		var all []cobra.Completion
		if runNumber(cmd, args) == nil {
			_, tasks := names(cmd, number(args))
			for _, t := range tasks {
				if strings.HasPrefix(t, begun) {
					all = append(all, t)
				}
			}
		}
		return all, cobra.ShellCompDirectiveNoFileComp
	})
}

const stateListHelp = `List prints a line for each run, the newest first: its number and last attempt, the variables that it was started
with, what became of it, how many of its tasks are completed, when the attempt began and how long it took. With values
of variables (--dt, --var) it lists the runs that were started with these.

	running      its process is alive
	succeeded    all of its tasks are completed
	accepted     a person gave up what it has not done
	failed       it has ended, and the next start with the same variables goes on with it
	interrupted  it died, and the next start with the same variables goes on with it
	unjudged     it has not said that it has ended, and its ledger is not known: name the pipeline with -c FILE
	unreadable   its file cannot be used: a start with its variables is refused`

func (a *app) stateListCommand() *cobra.Command {
	var f stateFlags
	var q engine.StateQuery
	cmd := &cobra.Command{Use: "list {-c FILE | -s FOLDER}", Short: "List the runs; nothing is written", Long: stateListHelp, Args: noWords,
		RunE: func(cmd *cobra.Command, _ []string) error {
			e, o, err := f.open(cmd, a)
			if err != nil {
				return err
			}
			if q.Most < 0 {
				return usage(fmt.Sprintf("--limit %d is less than 0", q.Most), "")
			}
			q.Name = f.name
			runs, err := e.StateList(cmd.Context(), o, q)
			if err != nil {
				return err
			}
			if f.asJSON {
				return a.printJSON(runs)
			}
			return a.printRuns(runs, f.name == "" && f.file == "")
		}}
	s := cmd.Flags()
	s.BoolVar(&q.Unfinished, "unfinished", false, "only those that did not end well, and that nobody accepted")
	s.IntVar(&q.Most, "limit", 0, "most `RUNS` to list (default: all)")
	s.StringVar(&f.dt, "dt", "", "only runs with this `VALUE` of the variable dt")
	s.StringVar(&f.dtf, "dtf", "", "only runs with this `VALUE` of the variable dtf")
	s.StringArrayVar(&f.vars, "var", nil, "only runs with this `NAME=VALUE` of a variable; may be repeated")
	f.add(cmd, true)
	complete(cmd, "limit", cobra.NoFileCompletions)
	return cmd
}

// printRuns prints a table of runs; named: with the names of their pipelines.
func (a *app) printRuns(runs []engine.StateRun, named bool) error {
	if len(runs) == 0 {
		a.line("no run")
		return nil
	}
	table := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	row := func(pipeline string, cells ...string) {
		if named {
			cells = append([]string{pipeline}, cells...)
		}
		for len(cells) > 0 && cells[len(cells)-1] == "" { // no spaces at the end of the line
			cells = cells[:len(cells)-1]
		}
		for i, c := range cells {
			cells[i] = report.Line(c)
		}
		fmt.Fprintln(table, strings.Join(cells, "\t"))
	}
	row("PIPELINE", "RUN", "ATTEMPT", "BATCH", "STATE", "TASKS", "BEGUN", "TOOK")
	for _, r := range runs {
		tasks, begun, took := fmt.Sprintf("%d of %d", r.Done, r.Of), "", ""
		if r.Begun != nil {
			begun = stamp(*r.Begun)
		}
		if r.Seconds != nil {
			took = lasted(*r.Seconds)
		}
		batch := r.Batch
		switch {
		case r.State == engine.RunUnreadable:
			tasks = ""
		case r.Damaged:
			batch, tasks = "(its file was damaged)", ""
		case r.Foreign:
			batch = strings.TrimSpace(batch + " (Smart Data Lake Builder)")
		case batch == "":
			batch = "without variables"
		}
		row(r.Pipeline, strconv.FormatInt(r.Run, 10), strconv.FormatInt(r.Attempt, 10), batch, string(r.State), tasks, begun, took)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, r := range runs {
		if r.Problem != "" {
			a.line("run %d: %s", r.Run, r.Problem)
		}
	}
	return nil
}

// lasted prints a time that passed as people read it.
func lasted(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second))
	switch {
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}

func (a *app) stateShowCommand() *cobra.Command {
	var f stateFlags
	cmd := &cobra.Command{Use: "show RUN {-c FILE | -s FOLDER}", Short: "Tell of one run: its tasks, what was kept from which attempt, why it failed, what comes next; nothing is written", Args: runNumber,
		RunE: func(cmd *cobra.Command, args []string) error {
			e, o, err := f.open(cmd, a)
			if err != nil {
				return err
			}
			run, err := e.StateShow(cmd.Context(), o, f.name, number(args))
			if err != nil {
				return err
			}
			if f.asJSON {
				return a.printJSON(run)
			}
			a.printRunDetail(run)
			return nil
		}}
	f.add(cmd, true)
	a.completeRun(cmd, &f)
	return cmd
}

func (a *app) printRunDetail(r engine.StateDetail) {
	batch := ", " + r.Batch
	switch {
	case r.Damaged:
		batch = ", whose file was damaged"
	case r.Batch == "" && r.Foreign: // whose variables are not known
		batch = ""
	case r.Batch == "":
		batch = ", without variables"
	}
	a.line("run %d of %s, attempt %d%s: %s, %d of %d tasks completed", r.Run, r.Pipeline, r.Attempt, batch, r.State, r.Done, r.Of)
	if r.Begun != nil {
		text := "began " + stamp(*r.Begun)
		if r.Attempt > 1 && r.First != nil {
			text += fmt.Sprintf(" (attempt 1: %s)", stamp(*r.First))
		}
		if r.Ended != nil {
			text += ", ended " + stamp(*r.Ended)
		}
		if r.Seconds != nil {
			text += ", took " + lasted(*r.Seconds)
		}
		a.line("  %s", text)
	}
	if len(r.Selected) > 0 {
		a.line("  only the tasks %s", strings.Join(r.Selected, ", "))
	}
	if r.LedgerRun != "" {
		a.line("  in the ledger it is run %s", r.LedgerRun)
	}
	if r.Origin != "" {
		a.line("  written by %s", r.Origin)
	}
	for _, t := range r.Tasks {
		a.line("  task %s: %s", t.Task, taskText(t))
	}
	if by := r.Accepted; by != nil {
		a.line("  accepted by %s at %s: %s", by.Who, stamp(by.At), by.Reason)
	}
	for _, text := range r.Why {
		a.line("  not done: %s", text)
	}
	a.line("next: %s", r.Next)
	for _, text := range r.Commands {
		a.line("  %s", text)
	}
	a.line("file: %s", r.Path)
}

// taskText tells of one task on one line.
func taskText(t engine.StateTask) string {
	text := strings.ToLower(string(t.State))
	if wrote := t.Wrote(); wrote != "" {
		text += ", " + wrote
	}
	if t.Seconds != nil {
		text += ", took " + lasted(*t.Seconds)
	}
	switch {
	case t.Carried && t.Ended != nil:
		text += fmt.Sprintf(", kept as finished %s by attempt %d", stamp(*t.Ended), t.Attempt)
	case t.Carried && t.Done:
		text += fmt.Sprintf(", kept from attempt %d", t.Attempt)
	}
	if t.Message != "" && t.Done { // of others it is why the run is not done
		text += ": " + t.Message
	}
	if by := t.Accepted; by != nil {
		text += fmt.Sprintf("; accepted by %s at %s: %s", by.Who, stamp(by.At), by.Reason)
	}
	return text
}

const stateAcceptHelp = `Accept gives up what a run has not done, by the word of a person: who it was, when and why are written into the run's
newest file, and its files move to succeeded/. The next start begins a new run. With --task only that task is given up:
the run stays, and the next start goes on with it without the task; what depends on it runs.

It is refused while the run is alive. Nothing of the data or of the ledger is touched: what the run has committed stays,
and a batch that is finished stays finished. A file that cannot be read is kept beside the one that takes its place.
Moving the newest file of the run from current/ to succeeded/ by hand means the same, but that nobody knows why.`

func (a *app) stateAcceptCommand() *cobra.Command {
	var f stateFlags
	var task, reason, who string
	cmd := &cobra.Command{Use: "accept RUN {-c FILE | -s FOLDER} --reason TEXT", Short: "Give up what a run has not done, so that the next start begins a new one", Long: stateAcceptHelp, Args: runNumber,
		RunE: func(cmd *cobra.Command, args []string) error {
			if strings.TrimSpace(reason) == "" {
				return usage("why the run is accepted is not said", "write --reason TEXT, for those who look at it later")
			}
			e, o, err := f.open(cmd, a)
			if err != nil {
				return err
			}
			if who == "" {
				who = whoami()
			}
			did, err := e.StateAccept(cmd.Context(), o, f.name, number(args), task, who, reason)
			if err != nil {
				return err
			}
			if f.asJSON {
				return a.printJSON(did)
			}
			a.printAccepted(did)
			return nil
		}}
	f.add(cmd, true)
	s := cmd.Flags()
	s.StringVar(&task, "task", "", "give up only the task `NAME`")
	s.StringVar(&reason, "reason", "", "`TEXT` that says why")
	s.StringVar(&who, "who", "", "`NAME` of the person (default: the user of this process)")
	complete(cmd, "reason", cobra.NoFileCompletions)
	complete(cmd, "who", cobra.NoFileCompletions)
	a.completeRun(cmd, &f)
	return cmd
}

func (a *app) printAccepted(did engine.StateAccepted) {
	given := strings.Join(did.GivenUp, ", ")
	switch {
	case did.Task != "":
		a.line("task %s of run %d of %s is accepted; the next start goes on with the run without it", did.Task, did.Run, did.Pipeline)
	case did.Damaged != "":
		a.line("run %d of %s is accepted; what its file said cannot be read, and it is kept as %s", did.Run, did.Pipeline, did.Damaged)
	case given == "":
		a.line("run %d of %s is accepted; none of its tasks is left", did.Run, did.Pipeline)
	default:
		a.line("run %d of %s is accepted; given up: %s", did.Run, did.Pipeline, given)
	}
	a.line("by %s: %s; in %s", did.By.Who, did.By.Reason, did.Path)
	if len(did.Unread) > 0 {
		a.line("what an incremental task has read and finished was not read by %s, and no later run passes it on; to have it read, write it again before another start: %s", strings.Join(did.Unread, ", "), did.Rerun)
	}
	if len(did.Kept) > 0 {
		a.line("what it has finished stays finished (%s): a start with the same variables keeps it with --resume, or writes it again with --rerun", strings.Join(did.Kept, ", "))
	}
}

// whoami names the person who started the program, as far as the system tells.
func whoami() string {
	name := ""
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	if name == "" {
		name = "uid " + strconv.Itoa(os.Getuid())
	}
	if host, err := os.Hostname(); err == nil {
		name += "@" + host
	}
	return name
}
