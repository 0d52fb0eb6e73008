package report

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/ubunye-io/ubunye/engine/problem"
)

// screen is a terminal without an end, as wide as it is told: it understands what Terminal draws with, and nothing else.
type screen struct {
	t       *testing.T
	columns int
	lines   []string // the cursor is at the beginning of the line after the last but `above`
	above   int
}

var sequence = regexp.MustCompile(`^\x1b\[(\d*)([A-Za-z])`)

func (s *screen) Write(text []byte) (int, error) {
	for rest := string(text); rest != ""; {
		if m := sequence.FindStringSubmatch(rest); m != nil {
			rest = rest[len(m[0]):]
			switch n, _ := strconv.Atoi(m[1]); m[2] {
			case "F":
				s.above += n
			case "J":
				s.lines, s.above = s.lines[:len(s.lines)-s.above], 0
			case "m": // colours
			default:
				s.t.Fatalf("the sequence %q", m[0])
			}
			continue
		}
		line, more, whole := strings.Cut(rest, "\n")
		if !whole || s.above != 0 {
			s.t.Fatalf("%q is written over what is drawn, or does not end its line", rest)
		}
		for i := strings.Index(line, "\x1b"); i >= 0; i = strings.Index(line, "\x1b") {
			m := sequence.FindString(line[i:])
			line = line[:i] + line[i+len(m):]
		}
		for len([]rune(line)) > s.columns {
			s.lines, line = append(s.lines, string([]rune(line)[:s.columns])), string([]rune(line)[s.columns:])
		}
		s.lines, rest = append(s.lines, line), more
	}
	return len(text), nil
}

// become changes the width, and breaks the lines that are there as terminals do.
func (s *screen) become(columns int) {
	old := s.lines
	s.lines, s.columns = nil, columns
	for _, line := range old {
		fmt.Fprintln(s, line)
	}
}

func (s *screen) shows(what string, want ...string) {
	s.t.Helper()
	if got := strings.Join(s.lines, "\n"); got != strings.Join(want, "\n") {
		s.t.Errorf("%s:\ngot\n%s\nwant\n%s", what, got, strings.Join(want, "\n"))
	}
}

func newScreen(t *testing.T) (*screen, *Terminal) {
	s := &screen{t: t, columns: 100}
	return s, &Terminal{Plain: &Plain{Out: s, Err: s, Color: true}, Screen: s, Size: func() (int, int) { return s.columns, 24 }}
}

// Two tasks at once have a line each; lines that stay go above them, and nothing is left of them in the end.
func TestTerminalDrawsALineATask(t *testing.T) {
	s, r := newScreen(t)
	r.Report(Event{Kind: TaskStarted, Task: "a", Batch: "dt=1"})
	r.Report(Event{Kind: TaskStarted, Task: "b"})
	r.Report(Event{Kind: StepStarted, Task: "b", Step: "read"})
	s.shows("two tasks", "[-----] a dt=1", "[##---] b: read")
	r.Report(Event{Kind: Progress, Task: "a", Batch: "dt=1", Step: "stage", Read: number(4096), Files: number(2), Bytes: number(2048), Duration: 90})
	r.Report(Event{Kind: Warning, Message: "look out"})
	s.shows("a line above", "warning: look out", "[###--] a dt=1: stage, 2.0 KiB in 2 files from 4.0 KiB, 1m30s", "[##---] b: read")
	r.Report(Event{Kind: StepStarted, Task: "a", Step: "commit"})
	s.shows("the next step", "warning: look out", "[####-] a dt=1: commit, 2.0 KiB in 2 files from 4.0 KiB, 1m30s", "[##---] b: read")
	r.Report(Event{Kind: OutputLanded, Task: "a", Output: "o", Path: "lake", Rows: number(1), Files: number(1), Bytes: number(1)})
	r.Report(Event{Kind: TaskFinished, Task: "a", Batch: "dt=1", Duration: 91})
	done := []string{"warning: look out", "a.o: 1 row in 1 file (1 byte) landed in lake", "a dt=1: done in 1m31s"}
	s.shows("one is done", append(done, "[##---] b: read")...)
	r.Report(Of(TaskFailed, &problem.Problem{Task: "b", Message: "no"}))
	r.Report(Event{Kind: RunFinished})
	s.shows("the end", append(done, "ubunye: task b: no")...)
}

// A line never reaches the last column, and one that a narrower terminal has broken is erased whole.
func TestTerminalFitsTheTerminal(t *testing.T) {
	s, r := newScreen(t)
	s.columns = 20
	r.Report(Event{Kind: TaskStarted, Task: "clean_all_orders", Batch: "region=東京東京東京"})
	s.shows("narrow", "[-----] clean_all_…")
	s.become(7)
	r.Report(Event{Kind: StepStarted, Task: "clean_all_orders", Step: "read"})
	s.shows("narrower", "[##--…")
	s.become(200)
	r.Report(Event{Kind: StepStarted, Task: "clean_all_orders", Step: "read"})
	s.shows("wide", "[##---] clean_all_orders region=東京東京東京: read")
	r.Report(Event{Kind: RunFinished})
	s.shows("the end")
}

func TestTerminalDrawsNoMoreTasksThanThereAreRows(t *testing.T) {
	s, r := newScreen(t)
	r.Size = func() (int, int) { return s.columns, 4 }
	for i := range 5 {
		r.Report(Event{Kind: TaskStarted, Task: fmt.Sprint("t", i)})
	}
	s.shows("five tasks on four rows", "[-----] t0", "[-----] t1", "and 3 more")
}

// A value that holds commands for a terminal is only text.
func TestTerminalTakesNoCommandsFromData(t *testing.T) {
	s, r := newScreen(t)
	r.Report(Event{Kind: TaskStarted, Task: "a", Batch: "dt=\x1b[2J\r\nx"})
	s.shows("a batch", "[-----] a dt= [2J  x")
}

func TestPlainTellsProgressAndColoursOneWord(t *testing.T) {
	var errs bytes.Buffer
	p := &Plain{Out: &errs, Err: &errs, Color: true}
	for _, e := range []Event{
		{Kind: Progress, Task: "a", Batch: "dt=1", Step: "stage", Read: number(0), Rows: number(5), Files: number(0), Bytes: number(0), Duration: 30},
		{Kind: Warning, Message: "w"}, {Kind: Problem, Message: "p"}, {Kind: TaskFinished, Task: "a", Duration: 1},
	} {
		p.Report(e)
	}
	want := "a dt=1: stage, 5 rows from 0 bytes, 30s\n\x1b[33mwarning:\x1b[0m w\n\x1b[31mubunye:\x1b[0m p\na: \x1b[32mdone\x1b[0m in 1s\n"
	if errs.String() != want {
		t.Errorf("got %q, want %q", errs.String(), want)
	}
}
