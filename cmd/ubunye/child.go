package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strconv"

	"github.com/ubunye-io/ubunye/engine"
	"github.com/ubunye-io/ubunye/engine/problem"
	"github.com/ubunye-io/ubunye/engine/report"
)

// The runs of a backfill are processes of their own, of this same program. So each is what `ubunye run` would be,
// with a record, a heartbeat and leases that others judge by its own process; and one that crashes, or that the
// system ends for its memory, takes neither the other dates nor the summary with it. Starting one costs some
// hundredths of a second, much less than a run.
//
// A run is told to stop by closing its stdin, which the system does too when this process is gone, however it went:
// nothing is ever signalled, and no run goes on that nobody waits for.

// besideFlag is the hidden flag of such a run: how many of them may be at work at once.
const besideFlag = "beside"

// startRun makes runs of which so many go on at once.
func (a *app) startRun(atOnce int) engine.Starter {
	return func(ctx context.Context, o engine.Options, r report.Reporter) error {
		cmd, err := a.runProcess(o, atOnce)
		if err != nil {
			return tellEnd(r, "its run could not be started: "+err.Error(), "nothing was read or written")
		}
		stdin, err := cmd.StdinPipe()
		if err != nil {
			return err
		}
		stdout, err := cmd.StdoutPipe()
		if err != nil {
			return err
		}
		if err := cmd.Start(); err != nil {
			return tellEnd(r, "its run could not be started: "+err.Error(), "nothing was read or written")
		}
		stopTelling := context.AfterFunc(ctx, func() { stdin.Close() })
		problems := relay(stdout, r)
		err = cmd.Wait() // closes stdin too
		stopTelling()
		switch {
		case err == nil:
			return nil
		case len(problems) > 0 && problem.Exit(problems) == cmd.ProcessState.ExitCode():
			return problems
		}
		return tellEnd(r, "its run ended without saying why: "+cmd.ProcessState.String(),
			"what it had committed is landed by the next start of the pipeline, and nothing else became visible")
	}
}

// tellEnd tells of a run that could not tell itself how it ended.
func tellEnd(r report.Reporter, message, data string) error {
	p := &problem.Problem{Code: problem.Failed, Message: message, Data: data, Hint: "start the backfill again: it runs what is missing"}
	r.Report(report.Of(report.Problem, p))
	return problem.List{p}
}

// runProcess is `ubunye run` with these options, telling of itself by events.
func (a *app) runProcess(o engine.Options, atOnce int) (*exec.Cmd, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(program, append(runArgs(o), "--json", fmt.Sprintf("--%s=%d", besideFlag, atOnce))...)
	cmd.Args[0] = a.args[0] // what its hints say is to be pasted as it was typed
	cmd.Stderr = a.stderr   // there only if it crashes
	return cmd, nil
}

// runArgs are the words that say to `ubunye run` what the options say.
func runArgs(o engine.Options) []string {
	args := []string{"run", "-c", o.File}
	add := func(flag, value string) { args = append(args, "--"+flag, value) }
	if o.Dt != nil {
		add("dt", *o.Dt)
	}
	if o.Dtf != nil {
		add("dtf", *o.Dtf)
	}
	for _, name := range slices.Sorted(maps.Keys(o.Vars)) {
		add("var", name+"="+o.Vars[name])
	}
	if o.Profile != "" {
		add("profile", o.Profile)
	}
	for _, t := range o.Tasks {
		add("task", t)
	}
	if v, is := o.Settings["state.path"]; is {
		add("state-path", fmt.Sprint(v))
	}
	for _, flag := range []string{"memory", "threads"} {
		if v, is := o.Settings["engine."+flag]; is {
			add(flag, fmt.Sprint(v))
		}
	}
	if o.Wait > 0 {
		add("wait", o.Wait.String())
	}
	if o.Resume {
		args = append(args, "--resume")
	}
	if o.NewRun {
		args = append(args, "--new-run")
	}
	switch {
	case o.RerunAnyway:
		args = append(args, "--rerun=anyway")
	case o.Rerun:
		args = append(args, "--rerun")
	}
	return args
}

// relay passes on what a run tells, and gives its problems.
func relay(events io.Reader, r report.Reporter) (problems problem.List) {
	lines := bufio.NewReader(events)
	for {
		text, err := lines.ReadBytes('\n')
		if err != nil { // a last line that was cut is the end of a run that crashed
			return problems
		}
		e, err := report.Decode(text)
		if err != nil {
			e = report.Event{Kind: report.Warning, Message: "its run printed what is no event: " + strconv.Quote(string(text))}
		}
		if e.Problem != nil {
			problems = append(problems, e.Problem)
		}
		r.Report(e)
	}
}

// stoppedByParent is a context that ends also when in does: then the backfill wants the run to stop, or is gone.
func stoppedByParent(ctx context.Context, in io.Reader) context.Context {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		_, err := io.Copy(io.Discard, in)
		cancel(&problem.Problem{Code: problem.Terminated, Cause: errors.Join(err), Message: "stopped by its backfill",
			Data: "nothing became visible, what was staged is dropped", Hint: "start the backfill again: it runs what is missing"})
	}()
	return ctx
}
