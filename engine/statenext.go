package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/ubunye-io/ubunye/engine/report"
	"github.com/ubunye-io/ubunye/engine/runstate"
)

// foreseeStart tells what the next start would do about a run, as far as that follows from the run state: plan tells what
// it would do with the tasks.
func (s *stateDir) foreseeStart(ctx context.Context, x *runstate.Found, detail *StateDetail) error {
	d := x.Document
	look, err := s.Look(ctx, s.name, runstate.Params{Variables: d.App.Variables, Profile: d.App.Profile, Selected: d.App.Tasks}, s.config.State.Strict)
	if err != nil {
		return s.outcome(ctx, err)
	}
	accept := s.stateCommand("accept", strconv.FormatInt(x.Run, 10), "--reason", "…")
	latest := look.Latest
	switch {
	case detail.State == RunRunning:
		detail.Next = "a start with the same variables is refused as long as it runs"
	case latest != nil && latest.Run > x.Run && latest.Err != nil:
		detail.Next = fmt.Sprintf("a start is refused, because the file of run %d, which came after it, cannot be used", latest.Run)
		detail.Commands = append(detail.Commands, s.stateCommand("show", strconv.FormatInt(latest.Run, 10)))
	case latest != nil && latest.Run > x.Run:
		detail.Next = fmt.Sprintf("a start goes by run %d, which came after it", latest.Run)
	case detail.State == RunSucceeded, detail.State == RunAccepted:
		detail.Next = fmt.Sprintf("a start begins run %d", look.Highest+1)
	case detail.Foreign:
		detail.Next = "a start is refused: the run is unfinished, and its actions are no tasks of a pipeline"
		detail.Commands = append(detail.Commands, accept)
	default:
		detail.Next = s.continuing(detail)
		detail.Commands = append(s.runAgain(d), accept)
	}
	return nil
}

// continuing tells how a start goes on with an unfinished run.
func (s *stateDir) continuing(detail *StateDetail) string {
	var keeps, runs []string
	for _, t := range detail.Tasks {
		if t.Done {
			keeps = append(keeps, t.Task)
		} else {
			runs = append(runs, t.Task)
		}
	}
	text := fmt.Sprintf("a start with the same variables goes on with it as attempt %d", detail.Attempt+1)
	if detail.State == RunUnjudged {
		text += ", unless it is alive"
	}
	if len(keeps) > 0 {
		text += ": it keeps " + strings.Join(keeps, ", ")
	}
	if len(runs) > 0 {
		text += map[bool]string{true: ", and runs ", false: ": it runs "}[len(keeps) > 0] + strings.Join(runs, ", ")
	}
	if s.config.State.Recover != string(runstate.Auto) && len(keeps) > 0 {
		text += "; what has appended is kept only if what it read is proved to be unchanged"
	}
	return text
}

// runAgain is the command that starts a run with the same variables; none where the pipeline file is not known.
func (s *stateDir) runAgain(d *runstate.Document) []string {
	if s.options.File == "" {
		return []string{}
	}
	words := []string{"ubunye"}
	if len(s.options.Command) > 0 {
		words[0] = s.options.Command[0]
	}
	words = append(words, "run", "-c", s.options.File)
	for _, name := range slices.Sorted(maps.Keys(d.App.Variables)) {
		words = append(words, "--var", name+"="+d.App.Variables[name])
	}
	if d.App.Profile != "" {
		words = append(words, "--profile", d.App.Profile)
	}
	for _, t := range d.App.Tasks {
		words = append(words, "--task", t)
	}
	if path, named := s.options.Settings[stateFolderOption].(string); named {
		words = append(words, "-s", path)
	}
	return []string{quoteAll(words)}
}

// rowsText says what a task wrote, as 12 rows in 3 files; "" if nothing is known.
func rowsText(outputs []StateOutput) string {
	var rows, files, bytes int64
	var counted, filed, sized bool
	for _, o := range outputs {
		if o.Rows != nil {
			rows, counted = rows+*o.Rows, true
		}
		if o.Files != nil {
			files, filed = files+*o.Files, true
		}
		if o.Bytes != nil {
			bytes, sized = bytes+*o.Bytes, true
		}
	}
	var words []string
	if counted {
		words = append(words, report.Count(rows, "row"))
	}
	if filed {
		words = append(words, report.Count(files, "file"))
	}
	text := strings.Join(words, " in ")
	if sized && text != "" {
		text += " (" + report.Size(bytes) + ")"
	}
	return text
}

// Wrote says in a few words what a task wrote; empty: nothing, or nobody knows.
func (t StateTask) Wrote() string { return rowsText(t.Outputs) }
