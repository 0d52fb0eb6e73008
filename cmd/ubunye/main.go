// Command ubunye runs data pipelines written in YAML so that a rerun is always safe.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ubunye-io/ubunye/engine"
	"github.com/ubunye-io/ubunye/engine/problem"
	"github.com/ubunye-io/ubunye/engine/report"
	"github.com/ubunye-io/ubunye/engine/store/fsops"
)

func main() {
	ctx, stop := signals()
	code := run(ctx, os.Args, os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// oneWish is how long further signals are taken for the same wish to stop: timeout(1) sends its signal to the
// process and then to its group, and wrappers pass on the Ctrl-C that the terminal has sent already. The second
// one would leave the batch held.
const oneWish = 2 * time.Second

// signals gives a context that ends with the problem that SIGINT, SIGTERM or SIGHUP (the terminal is gone)
// means. A later signal ends the process as usual. One that whoever started the process has it ignore, as
// nohup does, stays ignored.
func signals() (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	got := make(chan os.Signal, 1)
	for _, s := range []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(s) {
			signal.Notify(got, s)
		}
	}
	// A reader of what is printed that goes away (| head) must not end a run that holds a batch: with this
	// the write fails, instead of the process.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	go func() {
		s, ok := <-got
		if !ok {
			return
		}
		cancel(interruption(s))
		time.AfterFunc(oneWish, func() { signal.Stop(got) })
	}()
	return ctx, func() { signal.Stop(got) }
}

// interruption is what a signal means to a run.
func interruption(s os.Signal) *problem.Problem {
	p := &problem.Problem{
		Code: problem.Terminated,
		Data: "nothing became visible, what was staged is dropped",
		Hint: "run it again: it starts from the beginning of the batch",
	}
	switch s {
	case syscall.SIGINT:
		p.Code, p.Message = problem.Interrupted, "interrupted by SIGINT"
	case syscall.SIGHUP:
		p.Message = "interrupted by SIGHUP"
	default:
		p.Message = "interrupted by SIGTERM"
	}
	return p
}

// run is the program: what it prints on stdout is the result, all else goes to stderr. It returns the exit code.
// The first of args is the program's name, as it was typed.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	printed := &printer{to: stdout}
	app := &app{stdout: printed, stderr: stderr, args: args, told: map[string]bool{}}
	app.guessReporter(args[1:])
	root := app.command()
	root.SetArgs(args[1:])
	root.SetIn(stdin)
	root.SetOut(printed)
	root.SetErr(stderr)
	begun := time.Now()
	err := root.ExecuteContext(ctx)
	if err == nil {
		err = printed.lost()
	}
	app.complain(err)
	exit := problem.Exit(err)
	if app.running {
		app.Report(report.Event{Kind: report.RunFinished, Time: time.Now(), Run: app.run, Exit: &exit, Duration: time.Since(begun).Seconds()})
	}
	return exit
}

// printer is stdout. It keeps the first failure to print, of which no command need know.
type printer struct {
	to  io.Writer
	err error
}

func (p *printer) Write(text []byte) (int, error) {
	if p.err == nil {
		_, p.err = p.to.Write(text)
	}
	return len(text), nil
}

// lost is the problem of a result that could not be printed. A reader that has read enough is none.
func (p *printer) lost() error {
	if p.err == nil || errors.Is(p.err, syscall.EPIPE) {
		return nil
	}
	return &problem.Problem{Code: problem.Failed, Message: "the result could not be printed: " + p.err.Error(),
		Data: "what was done stays done", Hint: "ubunye status tells what that is"}
}

// app is one call of the program. It is the reporter of its engine.
type app struct {
	stdout, stderr io.Writer
	args           []string        // the words of the command line, the program's name first
	running        bool            // the command is run, whose last event is told when the program ends
	reporter       report.Reporter // what prints; plain lines unless flags say otherwise
	every          time.Duration   // how often the progress of a task is told; 0: never

	mu   sync.Mutex
	told map[string]bool // problems that an event has told already
	run  string          // id of the run, once it has one
}

// Report passes an event on, and remembers which problems were told and what run it is.
func (a *app) Report(e report.Event) {
	a.mu.Lock()
	if e.Problem != nil {
		a.told[e.Problem.Error()] = true
	}
	if e.Run != "" && e.Date == "" { // each date of a backfill has another one
		a.run = e.Run
	}
	a.mu.Unlock()
	a.reporter.Report(e)
}

func (a *app) command() *cobra.Command {
	root := &cobra.Command{
		Use:           "ubunye",
		Short:         "Run data pipelines written in YAML; a rerun is always safe",
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          noWords,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SuggestionsMinimumDistance = 2
	root.SetFlagErrorFunc(flagError)
	root.AddCommand(a.runCommand(), a.backfillCommand(), a.validateCommand(), a.planCommand(), a.statusCommand(), a.recoverCommand(), a.showCommand(), a.stateCommand(), a.pluginCommand(), a.versionCommand())
	return root
}

// flagError says what is wrong with a flag.
func flagError(cmd *cobra.Command, err error) error {
	message := err.Error()
	var invalid *pflag.InvalidValueError
	if errors.As(err, &invalid) {
		why := fmt.Sprint("cannot be its value: ", invalid.Unwrap())
		var number *strconv.NumError
		if errors.As(err, &number) {
			why = "is not a whole number"
		}
		message = fmt.Sprintf("--%s: %q %s", invalid.GetFlag().Name, invalid.GetValue(), why)
	}
	return usage(message, cmd.CommandPath()+" --help lists the flags")
}

// noWords refuses words that no flag takes: none of the commands has any.
func noWords(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return nil
	case cmd.HasSubCommands():
		hint := cmd.CommandPath() + " --help lists the commands"
		if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
			hint = fmt.Sprintf("did you mean %q?", near[0])
		}
		return usage(fmt.Sprintf("there is no command %q", args[0]), hint)
	}
	return usage(fmt.Sprintf("%s takes flags only, not the word %q", cmd.CommandPath(), args[0]), cmd.CommandPath()+" --help lists the flags")
}

func usage(message, hint string) *problem.Problem {
	return &problem.Problem{Code: problem.Usage, Message: message, Hint: hint}
}

// complain tells what no event has told.
func (a *app) complain(err error) {
	var list problem.List
	var one *problem.Problem
	switch {
	case err == nil:
	case errors.As(err, &list):
	case errors.As(err, &one):
		list = problem.List{one}
	default:
		list = problem.List{{Code: problem.Failed, Message: err.Error()}}
	}
	for _, p := range list {
		if !a.told[p.Error()] {
			e := report.Of(report.Problem, p)
			e.Time = time.Now()
			a.Report(e)
		}
	}
}

// version is set by the build (-ldflags -X).
var version = "(unknown version)"

// newEngine puts the program together.
func (a *app) newEngine() (*engine.Engine, error) {
	changes, err := fsops.FromEnv()
	if err != nil {
		return nil, usage("UBUNYE_FAULT: "+err.Error(), "")
	}
	e := engine.New(changes, a)
	e.Every, e.Version = a.every, version
	return e, nil
}

// leaseOff reads UBUNYE_RUN_LEASE, which switches the ledger off.
func leaseOff() (bool, error) {
	switch v := os.Getenv("UBUNYE_RUN_LEASE"); strings.ToLower(v) {
	case "", "on":
		return false, nil
	case "off":
		return true, nil
	default:
		return false, usage(fmt.Sprintf("UBUNYE_RUN_LEASE is %q", v), "it may be on or off")
	}
}
