package report

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/ubunye-io/ubunye/engine/problem"
)

// Outcome is how the run of one date of a backfill ended.
type Outcome string

// The outcomes.
const (
	OutcomeLanded    Outcome = "landed"    // all its outputs have landed
	OutcomeSkipped   Outcome = "skipped"   // it was finished before, or there was nothing to write
	OutcomeFailed    Outcome = "failed"    // also in part
	OutcomeRefused   Outcome = "refused"   // before it read or wrote anything
	OutcomeCancelled Outcome = "cancelled" // it was not started, or was told to stop
)

// Outcomes lists them in the order in which they are told.
func Outcomes() []Outcome {
	return []Outcome{OutcomeLanded, OutcomeSkipped, OutcomeFailed, OutcomeRefused, OutcomeCancelled}
}

// Backfill is what became of every date of a range.
type Backfill struct {
	Pipeline string          `json:"pipeline"` // name of the pipeline
	Variable string          `json:"variable"` // the variable that the dates are values of
	Every    string          `json:"every"`    // the step between two dates: hour, day, week or month
	Counts   map[Outcome]int `json:"counts"`   // how many dates ended so; every outcome is there
	Rows     int64           `json:"rows"`     // rows that landed
	Dates    []Date          `json:"dates"`    // every date of the range, in order
}

// Date is what became of one date.
type Date struct {
	Date     string       `json:"date"`               // the value of the variable
	Outcome  Outcome      `json:"outcome"`            // how its run ended
	Run      string       `json:"run,omitempty"`      // id of its run, if it came as far as to have one
	Rows     int64        `json:"rows"`               // rows that landed
	Duration float64      `json:"duration,omitempty"` // seconds since its run was started
	Reason   problem.Code `json:"reason,omitempty"`   // what kind of problem its first one is
}

// backfill prints what a backfill tells: a line a date, whatever its run has to say besides, and the whole at the end.
func (p *Plain) backfill(e Event) {
	switch e.Kind {
	case Problem, TaskFailed:
		fmt.Fprintf(p.Err, "%s %s: %s\n", p.paint(red, "ubunye:"), e.Date, e.Message)
	case TaskCancelled:
		fmt.Fprintf(p.Err, "%s: %s: %s\n", e.Date, e.Task, e.Message)
	case Warning:
		if !p.warned[e.Message] { // what is so for every date is told once
			fmt.Fprintf(p.Err, "%s %s: %s\n", p.paint(yellow, "warning:"), e.Date, e.Message)
		}
		if p.warned == nil {
			p.warned = map[string]bool{}
		}
		p.warned[e.Message] = true
	case CheckDone:
		if e.warns() {
			fmt.Fprintf(p.Err, "%s %s: %s\n", p.paint(yellow, "warning:"), e.Date, e.Message)
		}
	case PluginLog:
		if e.Level != "debug" {
			fmt.Fprintf(p.Err, "%s: %s says: %s\n", e.Date, e.Plugin, e.Message)
		}
	case RunWaiting, RunContinued, BatchTaken:
		if !p.Quiet {
			fmt.Fprintf(p.Err, "%s: %s\n", e.Date, e.Message)
		}
	case BatchFinished:
		if !p.Quiet {
			fmt.Fprintf(p.Err, "%s: %s%s in %s\n", e.Date, e.Outcome, rowsOf(e), took(e.Duration))
		}
	case BackfillDone:
		if !p.Quiet {
			fmt.Fprint(p.Out, e.Backfill.table())
		}
	}
}

// rowsOf is empty where rows say nothing.
func rowsOf(e Event) string {
	if e.Outcome == OutcomeLanded || value(e.Rows) > 0 {
		return " " + Count(value(e.Rows), "row")
	}
	return ""
}

// table is the whole for people: dates that follow one another and were not run share a line.
func (b *Backfill) table() string {
	var out strings.Builder
	var counts []string
	for _, o := range Outcomes() {
		if n := b.Counts[o]; n > 0 {
			counts = append(counts, fmt.Sprintf("%d %s", n, o))
		}
	}
	fmt.Fprintf(&out, "%s: %s of %s: %s; %s landed\n", b.Pipeline, Count(int64(len(b.Dates)), "date"), b.Variable, strings.Join(counts, ", "), Count(b.Rows, "row"))
	lines := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(lines, "  date\toutcome\trows\tduration\treason")
	for i := 0; i < len(b.Dates); {
		d, n := b.Dates[i], 1
		for d.idle() && i+n < len(b.Dates) && b.Dates[i+n] == (Date{Date: b.Dates[i+n].Date, Outcome: d.Outcome}) {
			n++
		}
		span := Span{From: d.Date, To: b.Dates[i+n-1].Date, N: n}
		if i += n; d.idle() {
			fmt.Fprintf(lines, "  %s\t%s\t\t\t\n", span, d.Outcome)
			continue
		}
		fmt.Fprintf(lines, "  %s\t%s\t%d\t%s\t%s\n", span, d.Outcome, d.Rows, took(d.Duration), d.Reason)
	}
	lines.Flush()
	return trimLines(out.String())
}

// idle tells whether nothing was started for the date.
func (d Date) idle() bool { return d == Date{Date: d.Date, Outcome: d.Outcome} }

// trimLines takes off the spaces that fill the last column.
func trimLines(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " ")
	}
	return strings.Join(lines, "\n")
}

// Span is values of a range that follow one another.
type Span struct {
	From, To string
	N        int // how many they are
}

// String gives "2026-01-03", or "2026-01-03 … 2026-01-09 (7)".
func (s Span) String() string {
	if s.N == 1 {
		return s.From
	}
	return fmt.Sprintf("%s … %s (%d)", s.From, s.To, s.N)
}

// Spans puts together those of all, which is in order, that are chosen and follow one another.
func Spans(all []string, chosen func(string) bool) (spans []Span) {
	open := false
	for _, v := range all {
		is := chosen(v)
		switch {
		case is && open:
			last := &spans[len(spans)-1]
			last.To, last.N = v, last.N+1
		case is:
			spans = append(spans, Span{From: v, To: v, N: 1})
		}
		open = is
	}
	return spans
}
