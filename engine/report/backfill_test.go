package report

import (
	"bytes"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ubunye-io/ubunye/engine/problem"
)

func TestDecodeGivesBackWhatJSONPrinted(t *testing.T) {
	for _, e := range append(slices.Clone(events), Event{Kind: BackfillDone, Backfill: &theBackfill}) {
		e.Time = time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)
		var out bytes.Buffer
		(&JSON{Out: &out}).Report(e)
		got, err := Decode(out.Bytes())
		if err != nil || !reflect.DeepEqual(got, e) {
			t.Errorf("%s: %v\ngot  %+v\nwant %+v", e.Kind, err, got, e)
		}
	}
	for _, bad := range []string{"", "{}", "panic: x", `{"event":3}`} {
		if e, err := Decode([]byte(bad)); err == nil {
			t.Errorf("%q: %+v", bad, e)
		}
	}
}

var theBackfill = Backfill{Pipeline: "sales", Variable: "dt", Every: "day", Rows: 3,
	Counts: map[Outcome]int{OutcomeLanded: 1, OutcomeSkipped: 3, OutcomeFailed: 1, OutcomeRefused: 0, OutcomeCancelled: 2},
	Dates: []Date{
		{Date: "2026-01-01", Outcome: OutcomeSkipped}, {Date: "2026-01-02", Outcome: OutcomeSkipped},
		{Date: "2026-01-03", Outcome: OutcomeLanded, Run: "r", Rows: 3, Duration: 1.25},
		{Date: "2026-01-04", Outcome: OutcomeSkipped},
		{Date: "2026-01-05", Outcome: OutcomeFailed, Duration: 0.5, Reason: problem.InputMissing},
		{Date: "2026-01-06", Outcome: OutcomeCancelled, Duration: 0.25, Reason: problem.Terminated},
		{Date: "2026-01-07", Outcome: OutcomeCancelled},
	}}

func TestPlainTellsOfABackfill(t *testing.T) {
	var out, errs bytes.Buffer
	p := &Plain{Out: &out, Err: &errs}
	for _, e := range events { // what a run of one date tells
		e.Date = "2026-01-03"
		p.Report(e)
	}
	p.Report(Event{Kind: Warning, Date: "2026-01-04", Message: "look out"}) // was told
	p.Report(Event{Kind: BatchTaken, Date: "2026-01-03", Task: "load", Message: "taken over"})
	p.Report(Event{Kind: TaskCancelled, Date: "2026-01-03", Task: "load", Message: "cancelled"})
	p.Report(Event{Kind: BatchFinished, Date: "2026-01-03", Outcome: OutcomeLanded, Rows: number(3), Duration: 1.25})
	p.Report(Event{Kind: BatchFinished, Date: "2026-01-04", Outcome: OutcomeRefused, Rows: number(0), Duration: 0.5})
	p.Report(Event{Kind: BackfillDone, Backfill: &theBackfill})
	want := "warning: 2026-01-03: look out\n" +
		"ubunye: 2026-01-03: a.csv:3: task load: no <number>; nothing became visible (correct it)\n" +
		"2026-01-03: taken over\n2026-01-03: load: cancelled\n2026-01-03: landed 3 rows in 1.3s\n2026-01-04: refused in 500ms\n"
	if errs.String() != want {
		t.Errorf("stderr\n%s\nwant\n%s", errs.String(), want)
	}
	want = `sales: 7 dates of dt: 1 landed, 3 skipped, 1 failed, 2 cancelled; 3 rows landed
  date                         outcome    rows  duration  reason
  2026-01-01 … 2026-01-02 (2)  skipped
  2026-01-03                   landed     3     1.3s
  2026-01-04                   skipped
  2026-01-05                   failed     0     500ms     InputMissing
  2026-01-06                   cancelled  0     250ms     Terminated
  2026-01-07                   cancelled
`
	if out.String() != want {
		t.Errorf("stdout\n%s\nwant\n%s", out.String(), want)
	}
	out.Reset()
	errs.Reset()
	p.Quiet = true
	p.Report(Event{Kind: BatchFinished, Date: "2026-01-03", Outcome: OutcomeLanded})
	p.Report(Event{Kind: BackfillDone, Backfill: &theBackfill})
	if out.String()+errs.String() != "" {
		t.Errorf("quiet: %s%s", out.String(), errs.String())
	}
}

func TestSpans(t *testing.T) {
	all := []string{"1", "2", "3", "4", "5", "6"}
	for chosen, want := range map[string]string{"": "[]", "1": "[1]", "123456": "[1 … 6 (6)]", "1356": "[1 3 5 … 6 (2)]", "2345": "[2 … 5 (4)]"} {
		var got []string
		for _, s := range Spans(all, func(v string) bool { return strings.Contains(chosen, v) }) {
			got = append(got, s.String())
		}
		if text := "[" + strings.Join(got, " ") + "]"; text != want {
			t.Errorf("%s: %s, want %s", chosen, text, want)
		}
	}
}
