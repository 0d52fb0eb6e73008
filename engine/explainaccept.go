package engine

import (
	"context"
	"errors"
	"io/fs"
	"strconv"

	"github.com/ubunye-io/ubunye/engine/config"
	"github.com/ubunye-io/ubunye/engine/problem"
	"github.com/ubunye-io/ubunye/engine/runstate"
)

// unchanged is what became of the run state when a command is refused.
const unchanged = "nothing was changed"

// outcome explains an error of a command on the run state, which never touches the data.
func (s *stateDir) outcome(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	list := s.explain(told(ctx, err), "")
	for _, p := range list {
		switch p.Code {
		case problem.Failed:
			p.Data = "the data is not touched; what was done to the run state stays done"
			if p.Hint == "" {
				p.Hint = orMakeRoom(err, "remove the cause and do it again: it goes on where it was")
			}
		case problem.Interrupted, problem.Terminated:
			p.Data, p.Hint = "the data is not touched; what was done to the run state stays done", "start it again: it goes on where it was"
		}
	}
	return list
}

// explainAccept is for what stops the commands on the run state.
func (r *run) explainAccept(err error, _ string) *problem.Problem {
	var alive *runstate.AliveError
	var unjudged *unjudgedError
	var absent *runstate.AbsentError
	var done *runstate.DoneError
	var unknown *runstate.UnknownTaskError
	var changed *runstate.ChangedError
	var name *runstate.NameError
	var exclusive *runstate.NoExclusiveError
	switch {
	case errors.As(err, &alive):
		return &problem.Problem{Code: problem.RunLeaseHeld, Message: "refused: " + alive.Error(), Data: unchanged,
			Hint: "wait for it to end, or stop it; then: " + r.command("")}
	case errors.As(err, &unjudged):
		return &problem.Problem{Code: problem.RunLeaseHeld, Message: "refused: " + err.Error(), Data: unchanged,
			Hint: "name its pipeline with -c FILE, which says where the ledger is"}
	case errors.As(err, &absent):
		return &problem.Problem{Code: problem.Usage, Message: absent.Error(), Hint: "these are there: " + r.stateCommand("list")}
	case errors.As(err, &done):
		return &problem.Problem{Code: problem.NothingLeft, Message: "refused: " + done.Error(), Data: unchanged,
			Hint: "nothing is to be done: the next start goes on as if it had been accepted"}
	case errors.As(err, &unknown):
		return &problem.Problem{Code: problem.Usage, Message: unknown.Error(), Hint: config.DidYouMean(unknown.Task, unknown.Known)}
	case errors.As(err, &changed):
		return &problem.Problem{Code: problem.Failed, Message: changed.Error(), Hint: "let no other program write there meanwhile, and do it again: it goes on where it was"}
	case errors.As(err, &name):
		return &problem.Problem{Code: problem.Usage, Message: name.Error(), Hint: "write --name NAME as in the names of the files, NAME.RUN.ATTEMPT.json"}
	case errors.As(err, &exclusive):
		return &problem.Problem{Code: problem.LedgerUnwritable, Message: "refused: " + exclusive.Error(), Data: untouched, Hint: "name a folder on another disk as state: {path: …}, or with -s"}
	}
	return r.explainStateFile(err)
}

// explainStateFile is for a state file that is there and cannot be used.
func (r *run) explainStateFile(err error) *problem.Problem {
	var newer *runstate.NewerError
	var unreadable *runstate.UnreadableError
	switch {
	case errors.As(err, &newer):
		return &problem.Problem{Code: problem.RecordUnreadable, Message: "refused: " + newer.Error(), Data: "nothing is guessed and nothing was written",
			Hint: "use the program that wrote it, or a newer one"}
	case !errors.As(err, &unreadable):
		return nil
	}
	name, number, is := runstate.ParsePath(unreadable.Path)
	if !is {
		return nil
	}
	p := &problem.Problem{Code: problem.RecordUnreadable, Message: "refused: " + unreadable.Error(), Data: "nothing is guessed and nothing was written",
		Hint: "restore the file from a copy; if there is none, give the run up, which keeps the file: " + r.stateCommandOf(name, "accept", strconv.FormatInt(number.Run, 10), "--reason", "…")}
	if errors.Is(err, fs.ErrPermission) {
		p.Hint = "give this user the right to read it; it is never taken for absent"
	}
	return p
}
