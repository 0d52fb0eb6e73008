package report

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
	"unicode"
)

// Plain prints for people: results on Out, all else as lines on Err.
type Plain struct {
	Out, Err io.Writer
	Quiet    bool // only warnings and problems
	Color    bool // Err shows colours

	mu     sync.Mutex
	warned map[string]bool // of a backfill: the warnings that were told
}

// Report prints one event.
func (p *Plain) Report(e Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if e.Date != "" || e.Backfill != nil {
		p.backfill(e)
		return
	}
	switch e.Kind {
	case Problem, TaskFailed:
		fmt.Fprintln(p.Err, p.paint(red, "ubunye:")+" "+e.Message)
	case TaskCancelled:
		fmt.Fprintf(p.Err, "%s: %s\n", label(e), e.Message)
	case Warning:
		fmt.Fprintln(p.Err, p.paint(yellow, "warning:")+" "+e.Message)
	case CheckDone:
		if e.warns() {
			fmt.Fprintln(p.Err, p.paint(yellow, "warning:")+" "+e.Message)
		}
	case PluginLog:
		if e.Level == "debug" {
			break // for the plugin's author, who takes --json
		}
		fmt.Fprintf(p.Err, "%s says: %s\n", e.Plugin, e.Message)
	}
	if p.Quiet {
		return
	}
	switch e.Kind {
	case WorkFinished:
		if value(e.Files) == 0 {
			fmt.Fprintf(p.Err, "%s: removed what an earlier run had left to be removed\n", label(e))
			break
		}
		fmt.Fprintf(p.Err, "%s: landed %s of an earlier run that had committed and not finished\n", label(e), Count(value(e.Files), "file"))
	case RunWaiting, RunContinued:
		fmt.Fprintln(p.Err, e.Message)
	case BatchTaken:
		fmt.Fprintf(p.Err, "%s: %s\n", label(e), e.Message)
	case OutputSkipped, OutputFound:
		fmt.Fprintf(p.Out, "%s.%s: nothing written to %s: %s\n", e.Task, e.Output, e.Path, e.Message)
	case TaskStarted:
		fmt.Fprintf(p.Err, "%s: started\n", label(e))
	case TaskCompleted:
		fmt.Fprintf(p.Err, "%s: %s: %s\n", label(e), p.paint(green, "done"), e.Message)
	case TaskFinished:
		fmt.Fprintf(p.Err, "%s: %s in %s\n", label(e), p.paint(green, "done"), took(e.Duration))
	case TaskSkipped:
		fmt.Fprintf(p.Err, "%s: %s: %s\n", label(e), p.paint(green, "skipped"), e.Message)
	case RangePinned:
		fmt.Fprintf(p.Err, "%s: input %s: %s\n", label(e), e.Input, e.Message)
	case InputRead:
		fmt.Fprintf(p.Err, "%s: input %s: %s read, %d as declared, %d rejected\n", label(e), e.Input, Count(value(e.RowsRead), "row"), value(e.Rows), value(e.Rejected))
	case Progress:
		fmt.Fprintf(p.Err, "%s%s\n", label(e), state(e))
	case OutputReplaces:
		what := Count(e.Replaced, "file")
		if value(e.Partitions) > 0 {
			what += ", " + Count(*e.Partitions, "partition")
		}
		fmt.Fprintf(p.Err, "%s: output %s replaces %s in %s\n", label(e), e.Output, what, e.Path)
	case OutputLanded:
		replaced := ""
		if e.Replaced > 0 {
			replaced = ", replacing " + Count(e.Replaced, "file")
		}
		if value(e.Folders) > 0 {
			replaced = ", replacing " + Count(*e.Folders, "folder")
		}
		fmt.Fprintf(p.Out, "%s.%s: %s in %s (%s) landed in %s%s\n", e.Task, e.Output,
			Count(value(e.Rows), "row"), Count(value(e.Files), "file"), Size(value(e.Bytes)), e.Path, replaced)
	}
}

// warns tells of a check that a person should know of it; of one that ends the task its problem tells.
func (e Event) warns() bool { return e.Passed != nil && !*e.Passed && e.Severity != "fail" }

func value(n *int64) int64 {
	if n == nil {
		return 0
	}
	return *n
}

// label names a task and its batch.
func label(e Event) string {
	if e.Batch == "" {
		return e.Task
	}
	return e.Task + " " + Line(e.Batch)
}

// Line makes a text one line without what a terminal would take for commands: variables, paths and data may hold anything.
func Line(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
}

// The colours of ECMA-48 that are used: one word of a line tells how it went.
const (
	red    = "31"
	green  = "32"
	yellow = "33"
)

func (p *Plain) paint(color, text string) string {
	if !p.Color {
		return text
	}
	return "\x1b[" + color + "m" + text + "\x1b[0m"
}

// Count prints a number of things, as "1 row" and "2 rows".
func Count(n int64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Ago says how old a heartbeat is. A clock that was set back leaves it in the future.
func Ago(age time.Duration) string {
	if age <= -time.Second {
		return "dated " + (-age).Round(time.Second).String() + " in the future"
	}
	return max(0, age).Round(time.Second).String() + " ago"
}

// Size prints a number of bytes in the binary unit that fits.
func Size(n int64) string {
	const unit = 1024
	if n < unit {
		return Count(n, "byte")
	}
	size, i := float64(n), -1
	for size >= unit && i < 4 {
		size, i = size/unit, i+1
	}
	return fmt.Sprintf("%.1f %s", size, [...]string{"KiB", "MiB", "GiB", "TiB", "PiB"}[i])
}

// took prints a duration of so many seconds.
func took(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second))
	if d < time.Second {
		return d.Round(time.Millisecond).String()
	}
	if d < time.Minute {
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}
