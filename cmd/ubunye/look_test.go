package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/ubunye-io/ubunye/engine"
)

// Values that hold line ends or commands of a terminal leave what is told of them on its lines.
func TestResultsKeepToTheirLines(t *testing.T) {
	const bad, good = "a\nb\x1b[2J\r\u202ec\xff", "a b [2J  c\uFFFD"
	var out bytes.Buffer
	a := &app{stdout: &out}
	for _, c := range []struct {
		what  string
		print func()
		want  []string
	}{
		{"plan", func() {
			a.printPlanned(engine.PlannedTask{Task: "t", Batch: "region=" + bad, Key: "k", Verdict: engine.WouldRun, Reason: "first " + bad,
				Outputs: []engine.PlannedOutput{{Output: "o", Format: "csv", Mode: "append", Class: "claims", Path: "out/" + bad, Will: "would " + bad}}})
		}, []string{"task t, batch region=" + good + " (k)", "  would run: first " + good, "  output o: csv to out/" + good + ", mode append, delivery claims", "    would " + good}},
		{"status", func() {
			a.printStatus(engine.Status{Exists: true, Batches: []engine.BatchStatus{{Task: "t", Batch: "region=" + bad, Key: "k", State: "free", Failed: "no " + bad}},
				Missing: []engine.MissingDates{{Task: "t", Variable: "region", Of: 1, All: []string{bad}, Dates: []string{bad}}}, Unreadable: []engine.UnreadableStatus{{Path: "/" + bad, Reason: bad, Hint: bad}}, Stray: []engine.StrayStatus{{Path: "/" + bad}}})
		}, []string{"task t, batch region=" + good + " (k): free", "  last try failed: no " + good, "task t: 1 of 1 date of region missing: " + good, "unreadable: /" + good + ": " + good + " (" + good + ")", "stray staging folder, named by no batch: /" + good + ": nobody can tell whose it is"}},
		{"show", func() {
			value := bad
			a.printTable(engine.Table{Task: "t", Output: "o", Path: "out/" + bad, Columns: []string{bad}, Rows: [][]*string{{&value}}, Total: 1})
		}, []string{"t.o: 1 row in out/" + good, "", "  " + good, "  -----------", "  " + good}},
		{"state list", func() {
			_ = a.printRuns([]engine.StateRun{{Run: 1, Attempt: 1, Batch: "region=" + bad, State: engine.RunUnreadable, Problem: bad}}, false)
		}, []string{"RUN  ATTEMPT  BATCH               STATE  TASKS  BEGUN  TOOK", "1    1        region=" + good + "  unreadable", "run 1: " + good}},
		{"state show", func() {
			a.printRunDetail(engine.StateDetail{StateRun: engine.StateRun{Pipeline: "p", Run: 1, Attempt: 1, Batch: "region=" + bad, State: engine.RunFailed, Of: 1, Path: "/" + bad}, Why: []string{bad}, Next: bad,
				Tasks: []engine.StateTask{{Task: "t", State: "FAILED", Message: bad}}, Accepted: &engine.Acceptance{Who: bad, Reason: bad}})
		}, []string{"run 1 of p, attempt 1, region=" + good + ": failed, 0 of 1 tasks completed", "  task t: failed", "  accepted by " + good + " at 0001-01-01 00:00:00 UTC: " + good, "  not done: " + good, "next: " + good, "file: /" + good}},
		{"state accept", func() {
			a.printAccepted(engine.StateAccepted{Run: 1, Pipeline: "p", Path: "/" + bad, By: engine.Acceptance{Who: bad, Reason: bad}})
		},
			[]string{"run 1 of p is accepted; none of its tasks is left", "by " + good + ": " + good + "; in /" + good}},
		{"state import", func() {
			a.printImported(engine.StateImported{Program: "p", Batches: []engine.ImportedBatch{{Task: "t", Batch: bad, Key: "k", Note: bad, Became: engine.BatchAbsent}}})
		},
			[]string{"task t, batch " + good + " (k): it was not finished there (" + good + " is not there)", "0 batches taken over from p (listed: 1; finished here already: 0; not finished there: 1; could not be taken over: 0)"}},
	} {
		out.Reset()
		c.print()
		if want := strings.Join(c.want, "\n") + "\n"; out.String() != want {
			t.Errorf("%s:\n got %q\nwant %q", c.what, out.String(), want)
		}
	}
}
