package report

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// Plain prints for people: results on Out, all else as lines on Err.
type Plain struct {
	Out, Err io.Writer
	Quiet    bool // only warnings and problems

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
		fmt.Fprintln(p.Err, "ubunye: "+e.Message)
	case TaskCancelled:
		fmt.Fprintf(p.Err, "%s: %s\n", label(e), e.Message)
	case Warning:
		fmt.Fprintln(p.Err, "warning: "+e.Message)
	case PluginLog:
		if e.Level == "debug" {
			break // for the plugin's author, who takes --json
		}
		fmt.Fprintf(p.Err, "%s says: %s\n", e.Path, e.Message)
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
	case OutputSkipped:
		fmt.Fprintf(p.Out, "%s.%s: nothing written to %s: %s\n", e.Task, e.Output, e.Path, e.Message)
	case TaskStarted:
		fmt.Fprintf(p.Err, "%s: started\n", label(e))
	case TaskFinished:
		fmt.Fprintf(p.Err, "%s: done in %s\n", label(e), took(e.Duration))
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

func value(n *int64) int64 {
	if n == nil {
		return 0
	}
	return *n
}

func label(e Event) string {
	if e.Batch == "" {
		return e.Task
	}
	return e.Task + " " + e.Batch
}

// Count prints a number of things, as "1 row" and "2 rows".
func Count(n int64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
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
	return d.Round(100 * time.Millisecond).String()
}
