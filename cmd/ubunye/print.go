package main

import (
	"fmt"
	"time"

	"github.com/ubunye-io/ubunye/engine"
)

// tell prints what happens while it happens: a line a task, and what a person should know.
func (a *app) tell(e engine.Event) {
	switch e.Kind {
	case engine.TaskStarted:
		fmt.Fprintf(a.stderr, "%s: started\n", label(e))
	case engine.OutputLanded:
		a.printLanded(e)
	case engine.TaskFinished:
		fmt.Fprintf(a.stderr, "%s: done in %s\n", label(e), took(e.Duration))
	case engine.TaskFailed:
		if a.told == nil {
			a.told = map[string]bool{}
		}
		a.told[e.Message] = true
		fmt.Fprintf(a.stderr, "ubunye: %s\n", e.Message)
	case engine.WorkFinished:
		fmt.Fprintf(a.stderr, "%s: landed %s that run %s had committed\n", label(e), count(e.Files, "file"), e.Reason)
	case engine.Warning:
		fmt.Fprintf(a.stderr, "warning: %s\n", e.Message)
	case engine.PluginLog:
		fmt.Fprintf(a.stderr, "%s says: %s\n", e.Path, e.Message)
	}
}

// printLanded prints the result: what landed, on stdout, when it has.
func (a *app) printLanded(e engine.Event) {
	replaced := ""
	if e.Replaced > 0 {
		replaced = ", replacing " + count(e.Replaced, "file")
	}
	fmt.Fprintf(a.stdout, "%s.%s: %s in %s (%s) landed in %s%s\n", e.Task, e.Output,
		count(e.Rows, "row"), count(e.Files, "file"), size(e.Bytes), e.Path, replaced)
}

func label(e engine.Event) string {
	if e.Batch == "" {
		return e.Task
	}
	return e.Task + " " + e.Batch
}

func count(n int64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// size prints a number of bytes in the unit that fits.
func size(n int64) string {
	const unit = 1024
	if n < unit {
		return count(n, "byte")
	}
	value, i := float64(n), -1
	for value >= unit && i < 4 {
		value, i = value/unit, i+1
	}
	return fmt.Sprintf("%.1f %s", value, [...]string{"KiB", "MiB", "GiB", "TiB", "PiB"}[i])
}

func took(d time.Duration) string {
	if d < time.Second {
		return d.Round(time.Millisecond).String()
	}
	return d.Round(100 * time.Millisecond).String()
}
