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
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ubunye-io/ubunye/engine"
	"github.com/ubunye-io/ubunye/engine/problem"
	"github.com/ubunye-io/ubunye/engine/store/fsops"
)

func main() {
	ctx, stop := signals()
	code := run(ctx, os.Args, os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// signals gives a context that ends with the problem that SIGINT or SIGTERM means. A second signal ends
// the process as usual.
func signals() (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	// A reader of the output that goes away, as head does, must not kill a run: it would hold its batches still.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	got := make(chan os.Signal, 1)
	signal.Notify(got, syscall.SIGINT, syscall.SIGTERM)
	go func() {
		s, ok := <-got
		if !ok {
			return
		}
		signal.Stop(got)
		p := &problem.Problem{Code: problem.Interrupted, Message: "interrupted by SIGINT"}
		if s == syscall.SIGTERM {
			p = &problem.Problem{Code: problem.Terminated, Message: "interrupted by SIGTERM"}
		}
		p.Data = "nothing became visible, what was staged is dropped"
		p.Hint = "run it again: it starts from the beginning of the batch"
		cancel(p)
	}()
	return ctx, func() { signal.Stop(got) }
}

// run is the program: what it prints on stdout is the result, all else goes to stderr. It returns the exit code.
// The first of args is the program's name, as it was typed.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	printed := &printer{to: stdout}
	app := &app{stdout: printed, stderr: stderr, args: args}
	root := app.command()
	root.SetArgs(args[1:])
	root.SetIn(stdin)
	root.SetOut(printed)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		err = printed.lost()
	}
	if err != nil {
		app.complain(err)
	}
	return problem.Exit(err)
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

// app is one call of the program.
type app struct {
	stdout, stderr io.Writer
	args           []string        // the words of the command line, the program's name first
	told           map[string]bool // problems that an event has told already
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
	root.AddCommand(a.runCommand(), a.validateCommand(), a.planCommand(), a.statusCommand(), a.showCommand(), a.versionCommand())
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
		hint := "ubunye --help lists the commands"
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

// complain prints an error that no event has told: a line a problem.
func (a *app) complain(err error) {
	var list problem.List
	var one *problem.Problem
	switch {
	case errors.As(err, &list):
		for _, p := range list {
			a.complainOnce(p.Error())
		}
	case errors.As(err, &one):
		a.complainOnce(one.Error())
	default:
		a.complainOnce(err.Error())
	}
}

func (a *app) complainOnce(line string) {
	if a.told[line] {
		return
	}
	fmt.Fprintln(a.stderr, "ubunye: "+line)
}

// version is set by the build (-ldflags -X).
var version = "(unknown version)"

// newEngine puts the program together.
func (a *app) newEngine() (*engine.Engine, error) {
	changes, err := fsops.FromEnv()
	if err != nil {
		return nil, usage("UBUNYE_FAULT: "+err.Error(), "")
	}
	return engine.New(changes, a.tell), nil
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
