package engine

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/ubunye-io/ubunye/engine/problem"
	"github.com/ubunye-io/ubunye/engine/runstate"
)

// explainState is for what is wrong with the run state, and for starts that are refused because of it.
func (r *run) explainState(err error, _ string) *problem.Problem {
	var at *stateError
	if !errors.As(err, &at) {
		return nil
	}
	var unreadable *runstate.UnreadableError
	var newer *runstate.NewerError
	var alive *runstate.AliveError
	var foreign *runstate.ForeignError
	var differ *runstate.DifferError
	var unproven *runstate.UnprovenError
	var unread *runstate.UnreadSliceError
	switch {
	case errors.As(err, &alive):
		return r.explainAlive(at.latest)
	case errors.As(err, &newer):
		return &problem.Problem{Code: problem.RecordUnreadable, Message: "refused: " + newer.Error(), Data: "nothing is guessed and nothing was written",
			Hint: "use the program that wrote it, or a newer one; or, when nothing of that run is wanted any more, move the file to a folder of your own"}
	case errors.As(err, &unreadable):
		if inside(r.config.State.Path, unreadable.Path) {
			return r.explainUnreadableState(unreadable, at.latest)
		}
		return nil // it is the record of a run: see explainLedger
	case errors.As(err, &foreign):
		return &problem.Problem{Code: problem.RunUnfinished, Message: "refused: " + foreign.Error() + ": its actions are not tasks of this pipeline", Data: untouched,
			Hint: "finish it with the program that began it; or give it up: " + r.acceptCommand(foreign.Run) + " ; or leave it as it is and begin a new run: " + r.commandWith("--new-run")}
	case errors.As(err, &differ):
		return r.explainDiffer(differ)
	case errors.As(err, &unproven):
		return r.explainUnproven(unproven)
	case errors.As(err, &unread):
		return &problem.Problem{Code: problem.RunUnfinished, Task: unread.Consumer, Message: "refused: " + unread.Error(), Data: untouched,
			Hint: fmt.Sprintf("go on with run %d, which reads it: %s", unread.Run, r.commandWithout("--new-run"))}
	}
	return &problem.Problem{Code: problem.StateUnwritable, Pos: r.config.State.Pos, Message: fmt.Sprintf("refused: the run state %s cannot be used: %v", r.config.State.Path, at.err), Data: untouched,
		Hint: orMakeRoom(err, "make that folder writable, or name another one as state: {path: …}")}
}

// explainUnreadableState is for a file of the run state that is there and cannot be understood, or a folder.
func (r *run) explainUnreadableState(e *runstate.UnreadableError, x *runstate.Found) *problem.Problem {
	p := &problem.Problem{Code: problem.RecordUnreadable, Message: "refused: " + e.Error(), Data: "nothing is guessed and nothing was written"}
	switch {
	case errors.Is(e.Err, fs.ErrPermission):
		p.Hint = "give this user the right to read it; it is never taken for absent"
	case x != nil && x.Path == e.Path:
		p.Hint = "restore the file; or, when nothing of that run is wanted any more, give it up: " + r.acceptCommand(x.Run)
	default:
		p.Pos = r.config.State.Pos
		p.Hint = "make it a folder that can be read, or name another one as state: {path: …}"
	}
	return p
}

// inside tells whether a path lies in a folder.
func inside(folder, path string) bool {
	rel, err := filepath.Rel(folder, path)
	return err == nil && filepath.IsLocal(rel)
}

// explainAlive is for a run of the same variables that lives. Its batches may be others than those of this start.
func (r *run) explainAlive(x *runstate.Found) *problem.Problem {
	p := &problem.Problem{Code: problem.RunLeaseHeld, Data: untouched, Message: "refused: " + r.aliveText(x) + " is going on"}
	p.Hint = "stop it, or wait for it to end: " + r.command("--wait=10m")
	if record, err := r.ledger.RecordOf(x.Document.LedgerRun); err == nil {
		p.Hint = r.waitHint(record.Run, record.Age)
	}
	return p
}

// aliveText names a run that lives as people find it.
func (r *run) aliveText(x *runstate.Found) string {
	text := fmt.Sprintf("run %d of pipeline %s, attempt %d", x.Run, x.Name, x.Attempt)
	record, err := r.ledger.RecordOf(x.Document.LedgerRun)
	if err != nil { // it ends just now
		return text + " (run " + x.Document.LedgerRun + ")"
	}
	return text + fmt.Sprintf(" (run %s, host %s, process %d, since %s), %s,", record.Run, record.Host, record.PID, when(record.Since), lastSign(record.Age))
}

func (r *run) explainDiffer(e *runstate.DifferError) *problem.Problem {
	parts := make([]string, len(e.Differences))
	for i, d := range e.Differences {
		parts[i] = d.String()
	}
	p := &problem.Problem{Code: problem.RunUnfinished, Data: untouched,
		Message: fmt.Sprintf("refused: run %d (%s) is unfinished, and was started with other parameters: %s", e.Run, e.Path, strings.Join(parts, "; "))}
	p.Hint = "go on with it as it was started" + r.asItWas(e) + "; give it up: " + r.acceptCommand(e.Run) + " ; or leave it as it is and begin a new run: " + r.commandWith("--new-run")
	return p
}

// asItWas is the command that goes on with a run of which only the selection of tasks differs.
func (r *run) asItWas(e *runstate.DifferError) string {
	if len(e.Differences) != 1 || e.Differences[0].What != "selected tasks" {
		return ""
	}
	var words []string
	for i := 0; i < len(r.options.Command); i++ {
		switch word := r.options.Command[i]; {
		case word == "--task":
			i++
		case !strings.HasPrefix(word, "--task="):
			words = append(words, word)
		}
	}
	if was := e.Differences[0].Was; was != "all" {
		for _, task := range strings.Split(was, ", ") {
			words = append(words, "--task", task)
		}
	}
	return ": " + quoteAll(words) + " "
}

func (r *run) explainUnproven(e *runstate.UnprovenError) *problem.Problem {
	p := &problem.Problem{Code: problem.RecoveryUnproven, Data: untouched, Task: e.Tasks[0].Task}
	parts := make([]string, len(e.Tasks))
	for i, t := range e.Tasks {
		parts[i] = "task " + t.Task + ": " + t.Why
	}
	p.Message = fmt.Sprintf("refused: run %d is unfinished (%s), and whether what it has appended is all that is to be there now cannot be proved: %s", e.Run, e.Path, strings.Join(parts, "; "))
	p.Hint = "to keep what is appended and run the rest: " + r.commandWith("--resume") + " ; to write it again with what is there now: " + r.commandWith("--rerun")
	return p
}

// commandWith is what the person typed, with one more flag, without those that contradict it.
func (r *run) commandWith(flag string) string {
	words := r.without("--resume", "--rerun")
	if flag == "--new-run" {
		words = r.without(flag)
	}
	return quoteAll(append(words, flag))
}

// commandWithout is what the person typed, without some flags.
func (r *run) commandWithout(flags ...string) string { return quoteAll(r.without(flags...)) }

func (r *run) without(flags ...string) []string {
	return slices.DeleteFunc(slices.Clone(r.options.Command), func(word string) bool {
		return slices.ContainsFunc(flags, func(flag string) bool { return word == flag || strings.HasPrefix(word, flag+"=") })
	})
}

// acceptCommand is how the person would give a run up, ready to be pasted into a shell.
func (r *run) acceptCommand(run int64) string {
	words := []string{"ubunye"}
	if len(r.options.Command) > 0 {
		words[0] = r.options.Command[0]
	}
	words = append(words, "state", "accept", strconv.FormatInt(run, 10), "-c", r.options.File)
	if r.options.Profile != "" {
		words = append(words, "--profile", r.options.Profile)
	}
	if path, given := r.options.Settings["state.path"]; given {
		words = append(words, "--state-path", fmt.Sprint(path))
	}
	return quoteAll(append(words, "--reason", "why it is given up"))
}
