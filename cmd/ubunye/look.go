package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ubunye-io/ubunye/engine"
	"github.com/ubunye-io/ubunye/engine/report"
)

func (a *app) validateCommand() *cobra.Command {
	return a.pipelineCommand("validate -c FILE", "Check a pipeline file; nothing is read but the file, nothing is written", nil,
		func(cmd *cobra.Command, e *engine.Engine, o engine.Options) error {
			unset, err := e.Validate(cmd.Context(), o)
			if err != nil {
				return err
			}
			fmt.Fprintf(a.stdout, "%s is valid\n", o.File)
			for _, v := range unset {
				fmt.Fprintf(a.stdout, "a run needs a value of the variable %s (%s): --var %s=VALUE\n", v.Name, v.Type, v.Name)
			}
			return nil
		})
}

func (a *app) planCommand() *cobra.Command {
	var asJSON, infer bool
	var rerun rerunFlag
	var goOn goOnFlags
	return a.pipelineCommand("plan -c FILE", "Tell what a run would do now; nothing is written",
		func(cmd *cobra.Command) {
			addJSON(cmd, &asJSON)
			rerun.add(cmd)
			goOn.add(cmd)
			cmd.Flags().BoolVar(&infer, "infer", false, "read inputs without declared columns however large they are")
		},
		func(cmd *cobra.Command, e *engine.Engine, o engine.Options) error {
			rerun.apply(&o)
			goOn.apply(&o)
			o.Infer = infer
			o.Command = asRun(o.Command)
			tasks, err := e.Plan(cmd.Context(), o)
			if err != nil {
				return err
			}
			if asJSON {
				return a.printJSON(tasks)
			}
			for _, t := range tasks {
				a.printPlanned(t)
			}
			return nil
		})
}

// asRun is the command that a plan tells about: what its hints name must run, not plan.
func asRun(command []string) []string {
	command = withoutFlags(command, "json", "infer")
	if verb := slices.Index(command, "plan"); verb >= 0 {
		command[verb] = "run"
	}
	return command
}

// withoutFlags leaves out flags that have no value, or one after "=".
func withoutFlags(command []string, names ...string) []string {
	return slices.DeleteFunc(slices.Clone(command), func(word string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return word == "--"+name || strings.HasPrefix(word, "--"+name+"=") })
	})
}

func (a *app) printPlanned(t engine.PlannedTask) {
	a.line("task %s, batch %s", t.Task, batchName(t.Batch, t.Key))
	a.line("  would %s: %s", t.Verdict, t.Reason)
	if len(t.After) > 0 {
		a.line("  after %s", strings.Join(t.After, ", "))
	}
	for _, in := range t.Inputs {
		undeclared, version := "", ""
		if in.Declare != "" || in.Unread != "" {
			undeclared = ", columns not declared"
		}
		if in.Version != nil {
			version = fmt.Sprintf(" version %d", *in.Version)
		}
		files := fmt.Sprintf("%s, %s (%s)", version, report.Count(int64(in.Files), "file"), report.Size(in.Bytes))
		if in.Connection != "" {
			files = " by connection " + in.Connection
		}
		a.line("  input %s: %s from %s%s%s", in.Input, in.Format, in.Path, files, undeclared)
		if in.New != "" {
			a.line("    would read %s", in.New)
		}
		for _, text := range in.Changes {
			a.line("    %s", text)
		}
		if in.Unread != "" {
			a.line("    they are not known: %s", in.Unread)
			continue
		}
		if in.Declare != "" {
			a.line("    columns: %s", in.Declare)
		}
	}
	for _, o := range t.Outputs {
		last := ""
		if o.Imported {
			last = "; taken over: " + report.Count(o.Files, "file")
		} else if o.Files > 0 {
			last = fmt.Sprintf("; the last commit landed %s in %s", report.Count(o.Rows, "row"), report.Count(o.Files, "file"))
		}
		a.line("  output %s: %s to %s, mode %s, delivery %s%s", o.Output, o.Format, o.Path, o.Mode, o.Class, last)
		if o.Will != "" {
			a.line("    %s", o.Will)
		}
		for _, text := range o.Warnings {
			a.line("    %s", text)
		}
	}
}

func (a *app) statusCommand() *cobra.Command {
	var asJSON bool
	var dates rangeFlags
	cmd := a.pipelineCommand("status -c FILE", "Tell what was done, what is held and what dead runs left; nothing is written",
		func(cmd *cobra.Command) { addJSON(cmd, &asJSON); dates.add(cmd) },
		func(cmd *cobra.Command, e *engine.Engine, o engine.Options) error {
			given, err := dates.check(cmd)
			if err != nil {
				return err
			}
			var only *engine.Range
			if given {
				only = &dates.Range
			}
			s, err := e.Status(cmd.Context(), o, only)
			if err != nil {
				return err
			}
			if asJSON {
				return a.printJSON(s)
			}
			a.printStatus(s)
			return nil
		})
	cmd.Long = `Status reads the ledger. With --from and --to it tells of the batches of that range only, and which dates of
it are missing: those whose batch was never committed, or is being run for the first time.`
	return cmd
}

// printMissing prints the dates of a range that are missing, those in one that follow one another.
func (a *app) printMissing(m engine.MissingDates) {
	of := report.Count(int64(m.Of), "date") + " of " + m.Variable
	if len(m.Dates) == 0 && len(m.Unknown) == 0 {
		a.line("task %s: none of %s is missing", m.Task, of)
	}
	for _, list := range []struct {
		dates []string
		what  string
	}{{m.Dates, "missing"}, {m.Unknown, "unknown, because their documents cannot be read"}} {
		var words []string
		for _, span := range report.Spans(m.All, func(v string) bool { _, is := slices.BinarySearch(list.dates, v); return is }) {
			words = append(words, span.String())
		}
		if len(words) > 0 {
			a.line("task %s: %d of %s %s: %s", m.Task, len(list.dates), of, list.what, strings.Join(words, ", "))
		}
	}
}

func (a *app) printStatus(s engine.Status) {
	if !s.Exists {
		a.line("no run yet: there is no ledger at %s", s.Ledger)
	}
	for _, b := range s.Batches {
		a.printBatch(b, s.Recover)
	}
	for _, m := range s.Missing {
		a.printMissing(m)
	}
	for _, u := range s.Unfinished {
		a.printUnfinished(u)
	}
	for _, r := range s.Runs {
		a.printRun(r)
	}
	for _, u := range s.Unreadable {
		a.line("unreadable: %s: %s (%s)", u.Path, u.Reason, u.Hint)
	}
	for _, d := range s.Stray {
		next := strayText(d)
		if d.Dead {
			next += "; it goes by: " + s.Recover
		}
		a.line("stray staging folder, named by no batch: %s: %s", d.Path, next)
	}
}

// printUnfinished prints how far a run of the run state is that has not ended well.
func (a *app) printUnfinished(u engine.UnfinishedStatus) {
	if u.Bad != "" {
		a.line("run %d, attempt %d: %s", u.Run, u.Attempt, u.Bad)
		return
	}
	next := "unfinished: a start with the same variables goes on with it"
	if u.Alive {
		next = "going on"
	}
	of := ""
	if u.Batch != "" {
		of = " of " + u.Batch
	}
	a.line("run %d%s, attempt %d: %s; %d of %s done, left: %s (%s)", u.Run, of, u.Attempt, next, len(u.Done),
		report.Count(int64(len(u.Done)+len(u.Left)), "task"), strings.Join(u.Left, ", "), u.Path)
}

func (a *app) printBatch(b engine.BatchStatus, recovery string) {
	a.line("task %s, batch %s: %s", b.Task, batchName(b.Batch, b.Key), b.State)
	line := func(format string, args ...any) { a.line("  "+format, args...) }
	if h := b.Held; h != nil {
		line("held by run %s (host %s, process %d) since %s, %s", h.Run, h.Host, h.PID, stamp(h.Since), lifeText(*h))
		if h.Life == engine.Dead {
			line("the next start takes the batch over; to free it without running: %s", recovery)
		}
		for _, w := range h.Staged {
			line("what it staged for output %s goes then: %s", w.Output, w.Path)
		}
	}
	if f := b.Finished; f != nil && f.Imported != "" {
		line("finished %s by %s, and taken over: %s (%s)", stamp(f.At), f.Imported, report.Count(f.Files, "file"), report.Size(f.Bytes))
	} else if f != nil {
		line("finished %s by run %s: %s in %s (%s)", stamp(f.At), f.Run, report.Count(f.Rows, "row"), report.Count(f.Files, "file"), report.Size(f.Bytes))
	}
	for _, in := range b.Inputs {
		printMark(line, in)
	}
	for _, d := range b.Decided {
		line("set by %s at %s: %s (%s)", d.Who, stamp(d.At), d.Did, d.Reason)
	}
	for _, w := range b.Todo {
		line("left to do: %s; %s", workText(w), orElse(w.Stuck, "every start goes on with it, and "+recovery, "it is stuck: "))
		if w.Stuck != "" {
			line("  remove the cause; if that can never be, give it up: %s", w.Forget)
		}
	}
	if b.Failed != "" {
		line("last try failed: %s", b.Failed)
	}
	for _, d := range b.Doubtful {
		line("%s", d)
	}
}

// printMark prints how far an incremental input was read.
func printMark(line func(string, ...any), in engine.MarkStatus) {
	text := orElse(in.Mark, "nothing was read yet", "")
	if in.Set != "" {
		text += "; set by hand: it goes on " + in.Set
	}
	if in.Pinned != "" {
		text += "; to be read next, as a run has noted: " + in.Pinned
	}
	line("input %s: %s", in.Input, text)
}

// orElse is the text with what leads to it, or what is said without one.
func orElse(text, otherwise, lead string) string {
	if text == "" {
		return otherwise
	}
	return lead + text
}

// workText says what is left to be done.
func workText(w engine.WorkStatus) string {
	switch w.Do {
	case "land":
		return fmt.Sprintf("land %s that run %s committed in %s", report.Count(int64(w.Files), "file"), w.Run, w.Path)
	case "remove":
		return fmt.Sprintf("remove %s that run %s replaced from %s", report.Count(int64(w.Files), "file"), w.Run, w.Path)
	case "drop":
		return fmt.Sprintf("drop what run %s staged in %s", w.Run, w.Path)
	}
	return fmt.Sprintf("%q of run %s in %s", w.Do, w.Run, w.Path)
}

// lifeText says what is thought of a holder, and from what.
func lifeText(h engine.HolderStatus) string {
	last := "last heartbeat " + report.Ago(h.Age)
	switch {
	case h.Gone:
		return "dead: its process is gone"
	case h.Life == engine.Dead:
		return "dead: " + last
	case h.Life == engine.Silent:
		return fmt.Sprintf("silent for %s: dead if it gives no sign for %s while a start watches it", h.Age.Round(time.Second), h.Looks.Round(time.Second))
	}
	return "alive, " + last
}

func (a *app) printRun(r engine.RunStatus) {
	state := r.Status
	switch {
	case r.Status != "asking" && r.Status != "waiting" && r.Status != "running": // it says itself that it has ended
	case r.Gone:
		state += ", but dead: its process is gone"
	case r.Life == engine.Dead:
		state += ", but dead: last heartbeat " + report.Ago(r.Age)
	case r.Life == engine.Silent:
		state += ", silent for " + r.Age.Round(time.Second).String()
	default:
		state += ", alive"
	}
	if r.By != "" {
		state += ", taken over by run " + r.By
	}
	if len(r.Doubtful) > 0 {
		state += "; it had replaced, without a commit: " + strings.Join(r.Doubtful, ", ")
	}
	a.line("run %s (host %s, process %d, since %s): %s", r.Run, r.Host, r.PID, stamp(r.Since), state)
}

// strayText says whose a stray staging folder is.
func strayText(d engine.StrayStatus) string {
	switch {
	case d.Run == "":
		return "nobody can tell whose it is"
	case d.Dead:
		return "of run " + d.Run + ", which is dead"
	}
	return "of run " + d.Run + ", which is not known to be dead"
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{Use: "version", Short: "Print the version", Args: noWords,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(a.stdout, "ubunye "+version)
			return err
		}}
}

// line prints one line of results.
func (a *app) line(format string, args ...any) {
	fmt.Fprintln(a.stdout, report.Line(fmt.Sprintf(format, args...)))
}

func (a *app) printJSON(v any) error {
	enc := json.NewEncoder(a.stdout)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

func addJSON(cmd *cobra.Command, asJSON *bool) {
	cmd.Flags().BoolVar(asJSON, "json", false, "print one JSON document")
}

func batchName(batch, key string) string {
	if batch == "" {
		return "without variables (" + key + ")"
	}
	return report.Line(batch) + " (" + key + ")"
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }
