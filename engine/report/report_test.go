package report

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/ubunye-io/ubunye/engine/problem"
)

func number(n int64) *int64 { return &n }

var events = []Event{
	{Kind: TaskStarted, Task: "clean", Batch: "dt=2026-01-01"},
	{Kind: StepStarted, Task: "clean", Step: "read"},
	{Kind: OutputReplaces, Task: "clean", Output: "orders", Path: "lake/orders", Class: "replaces", Replaced: 3, Partitions: number(1)},
	{Kind: OutputReplaces, Task: "clean", Output: "flat", Path: "lake/flat", Class: "replaces", Replaced: 1, Partitions: number(0)},
	{Kind: OutputLanded, Task: "clean", Output: "orders", Path: "lake/orders", Class: "claims", Rows: number(0), Files: number(1), Bytes: number(1536), Replaced: 2},
	{Kind: TaskFinished, Task: "clean", Batch: "dt=2026-01-01", Duration: 1.25},
	{Kind: Warning, Message: "look out"},
	Of(TaskFailed, &problem.Problem{Code: problem.InputInvalid, Pos: problem.Pos{File: "a.csv", Line: 3}, Task: "load", Message: "no <number>", Data: "nothing became visible", Hint: "correct it"}),
}

func TestPlain(t *testing.T) {
	var out, errs bytes.Buffer
	p := &Plain{Out: &out, Err: &errs}
	for _, e := range events {
		p.Report(e)
	}
	if want := "clean.orders: 0 rows in 1 file (1.5 KiB) landed in lake/orders, replacing 2 files\n"; out.String() != want {
		t.Errorf("stdout %q, want %q", out.String(), want)
	}
	want := "clean dt=2026-01-01: started\nclean: output orders replaces 3 files, 1 partition in lake/orders\nclean: output flat replaces 1 file in lake/flat\nclean dt=2026-01-01: done in 1.3s\nwarning: look out\n" +
		"ubunye: a.csv:3: task load: no <number>; nothing became visible (correct it)\n"
	if errs.String() != want {
		t.Errorf("stderr %q, want %q", errs.String(), want)
	}
}

func TestQuietTellsWarningsAndProblemsOnly(t *testing.T) {
	var out, errs bytes.Buffer
	p := &Plain{Out: &out, Err: &errs, Quiet: true}
	for _, e := range events {
		p.Report(e)
	}
	want := "warning: look out\nubunye: a.csv:3: task load: no <number>; nothing became visible (correct it)\n"
	if out.String() != "" || errs.String() != want {
		t.Errorf("stdout %q, stderr %q, want %q", out.String(), errs.String(), want)
	}
}

func TestJSONIsALineAnEvent(t *testing.T) {
	var out bytes.Buffer
	j := &JSON{Out: &out}
	for _, e := range events {
		e.Time = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
		j.Report(e)
	}
	lines := bytes.Split(bytes.TrimRight(out.Bytes(), "\n"), []byte("\n"))
	if len(lines) != len(events) {
		t.Fatalf("%d lines for %d events", len(lines), len(events))
	}
	for i, want := range map[int]string{
		2: `{"time":"2026-01-02T03:04:05Z","event":"output_replaces","task":"clean","output":"orders","path":"lake/orders","class":"replaces","replaced":3,"partitions":1}`,
		4: `{"time":"2026-01-02T03:04:05Z","event":"output_landed","task":"clean","output":"orders","path":"lake/orders","class":"claims","rows":0,"bytes":1536,"files":1,"replaced":2}`,
		7: `{"time":"2026-01-02T03:04:05Z","event":"task_failed","task":"load","reason":"InputInvalid","message":"no <number>","file":"a.csv","line":3,"data":"nothing became visible","hint":"correct it"}`,
	} {
		if string(lines[i]) != want {
			t.Errorf("line %d:\ngot  %s\nwant %s", i, lines[i], want)
		}
		if !json.Valid(lines[i]) {
			t.Errorf("line %d is not JSON", i)
		}
	}
}

func TestPlainTellsWhatPluginsSayButForDebug(t *testing.T) {
	var errs bytes.Buffer
	p := &Plain{Err: &errs}
	for _, level := range []string{"debug", "info", "warn"} {
		p.Report(Event{Kind: PluginLog, Plugin: "excel", Level: level, Message: level})
	}
	if want := "excel says: info\nexcel says: warn\n"; errs.String() != want {
		t.Errorf("stderr %q, want %q", errs.String(), want)
	}
}

func TestAgo(t *testing.T) {
	for age, want := range map[time.Duration]string{0: "0s ago", -time.Millisecond: "0s ago", 90 * time.Second: "1m30s ago", -time.Hour: "dated 1h0m0s in the future"} {
		if got := Ago(age); got != want {
			t.Errorf("%s: %q, want %q", age, got, want)
		}
	}
}
