package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/mattn/go-runewidth"
)

// Terminal prints for people at a terminal what Plain prints, and below it a line for each task that is at work. These
// are redrawn in place; each is taken away when its task ends.
type Terminal struct {
	Plain  *Plain                     // prints the lines that stay
	Screen io.Writer                  // the terminal
	Size   func() (columns, rows int) // of the terminal, now; 0: not known

	mu    sync.Mutex
	tasks []Event // of each task at work, the last one that says how far it is
	drawn []int   // the width of each line that is drawn, in columns
}

// Report takes an event. Everything that is printed goes through here, so that a line never meets one that is drawn.
func (t *Terminal) Report(e Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.erase()
	switch e.Kind {
	case TaskStarted, StepStarted, Progress:
		t.update(e)
	case TaskFinished, TaskSkipped, TaskFailed:
		t.remove(e)
		t.Plain.Report(e)
	case BatchFinished: // its run may have died at work
		t.tasks = slices.DeleteFunc(t.tasks, func(known Event) bool { return known.Date == e.Date })
		t.Plain.Report(e)
	case RunFinished:
		t.tasks = nil
		t.Plain.Report(e)
	default:
		t.Plain.Report(e)
	}
	t.draw()
}

// update keeps what an event says of a task. The beginning of a step says less than an event of progress did before.
func (t *Terminal) update(e Event) {
	for i, known := range t.tasks {
		if known.Task != e.Task || known.Date != e.Date {
			continue
		}
		if e.Kind == StepStarted {
			known.Step = e.Step
			e = known
		}
		t.tasks[i] = e
		return
	}
	t.tasks = append(t.tasks, e)
}

func (t *Terminal) remove(e Event) {
	for i, known := range t.tasks {
		if known.Task == e.Task && known.Date == e.Date {
			t.tasks = append(t.tasks[:i], t.tasks[i+1:]...)
			return
		}
	}
}

// The sequences of ECMA-48 that are needed: to the line n above, at its beginning, and to erase from here to the end.
const (
	up        = "\x1b[%dF"
	eraseDown = "\x1b[J"
)

// erase takes away what is drawn. A terminal that has become narrower since may have broken a line into several.
func (t *Terminal) erase() {
	if len(t.drawn) == 0 {
		return
	}
	columns, _ := t.size()
	lines := 0
	for _, width := range t.drawn {
		lines += max(1, (width+columns-1)/columns)
	}
	t.drawn = nil
	fmt.Fprintf(t.Screen, up+eraseDown, lines)
}

// draw draws a line a task, as far as they fit.
func (t *Terminal) draw() {
	columns, rows := t.size()
	lines := make([]string, 0, len(t.tasks))
	for _, e := range t.tasks {
		lines = append(lines, bar(e.Step)+" "+label(e)+state(e))
	}
	if most := max(1, rows-1); len(lines) > most {
		lines = append(lines[:most-1], fmt.Sprintf("and %d more", len(lines)-most+1))
	}
	var text strings.Builder
	for _, line := range lines {
		line = runewidth.Truncate(line, columns-1, "…") // the last column stays free: some terminals go to the next line there
		t.drawn = append(t.drawn, runewidth.StringWidth(line))
		text.WriteString(line + "\n")
	}
	if text.Len() > 0 {
		_, _ = io.WriteString(t.Screen, text.String()) // a terminal that is gone is no failure of the run
	}
}

func (t *Terminal) size() (columns, rows int) {
	columns, rows = t.Size()
	if columns <= 0 {
		columns = 80
	}
	if rows <= 0 {
		rows = 24
	}
	return columns, rows
}

// steps are those of a task, in order.
func steps() []string { return []string{"ask", "read", "stage", "commit", "land"} }

// bar shows the step that a task is at, among all steps: how much of a query is done the compute engine does not say.
func bar(step string) string {
	all, at := steps(), 0
	for i, s := range all {
		if s == step {
			at = i + 1
		}
	}
	return "[" + strings.Repeat("#", at) + strings.Repeat("-", len(all)-at) + "]"
}

// state is how far a task is, in words.
func state(e Event) string {
	text := ""
	if e.Step != "" {
		text = ": " + e.Step
	}
	if e.Rows != nil {
		text += ", " + Count(*e.Rows, "row")
	}
	if value(e.Bytes) > 0 { // a file is made before its first bytes are known
		text += fmt.Sprintf(", %s in %s", Size(value(e.Bytes)), Count(value(e.Files), "file"))
	}
	if e.Read != nil {
		text += " from " + Size(*e.Read)
	}
	if e.Duration >= 1 {
		text += ", " + took(math.Floor(e.Duration))
	}
	return text
}
