package main

import (
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/ubunye-io/ubunye/engine/report"
)

// How often the progress of a task is told.
const (
	everyDrawn = time.Second      // on a terminal, in place
	everyEvent = 10 * time.Second // as events for programs
	everyLine  = 30 * time.Second // as lines that stay
)

// guessReporter reads from the words of the command line how to tell what happens, for the time until the flags are
// parsed: with --json it is an event too that they are wrong. Events are what run and backfill print; the result of other commands
// is another document, and so their events go to stderr.
func (a *app) guessReporter(words []string) {
	verb := slices.IndexFunc(words, func(w string) bool { return !strings.HasPrefix(w, "-") })
	a.running = verb >= 0 && (words[verb] == "run" || words[verb] == "backfill" && !slices.Contains(words, "--dry-run"))
	a.chooseReporter(slices.Contains(words, "--json"), slices.Contains(words, "--quiet") || slices.Contains(words, "-q"))
}

// chooseReporter decides by the flags.
func (a *app) chooseReporter(asJSON, quiet bool) {
	switch {
	case !asJSON:
		a.reporter, a.every = a.forPeople(quiet)
	case a.running:
		a.reporter, a.every = &report.JSON{Out: a.stdout}, everyEvent
	default:
		a.reporter = &report.JSON{Out: a.stderr}
	}
}

// forPeople tells it in lines and, if there is a terminal, with lines for the tasks at work that are redrawn in place.
func (a *app) forPeople(quiet bool) (report.Reporter, time.Duration) {
	plain := &report.Plain{Out: a.stdout, Err: a.stderr, Quiet: quiet}
	dumb := os.Getenv("TERM") == "dumb"
	plain.Color = isTerminal(a.stderr) && !dumb && os.Getenv("NO_COLOR") == ""
	if quiet {
		return plain, 0
	}
	for _, to := range []io.Writer{a.stderr, a.stdout} {
		if isTerminal(to) && !dumb {
			size := func() (columns, rows int) {
				columns, rows, err := term.GetSize(int(file(to).Fd()))
				if err != nil {
					return 0, 0
				}
				return columns, rows
			}
			return &report.Terminal{Plain: plain, Screen: to, Size: size}, everyDrawn
		}
	}
	return plain, everyLine
}

func isTerminal(w io.Writer) bool {
	f := file(w)
	return f != nil && term.IsTerminal(int(f.Fd()))
}

// file is what a writer writes to, if that is a file.
func file(w io.Writer) *os.File {
	if p, ok := w.(*printer); ok {
		w = p.to
	}
	f, _ := w.(*os.File)
	return f
}
