package engine

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/ubunye-io/ubunye/engine/config"
	"github.com/ubunye-io/ubunye/engine/problem"
	"github.com/ubunye-io/ubunye/engine/report"
)

// edit changes a text in a file.
func edit(t *testing.T, file, from, to string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(text), from) {
		t.Fatalf("%v, or no %q in\n%s", err, from, text)
	}
	if err := os.WriteFile(file, []byte(strings.Replace(string(text), from, to, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
}

func settings(s map[string]any) config.Options { return config.Options{Settings: s} }

// A batch that another run commits again before, or while, its rows are read: they are no more what this run wrote.
func TestAnInputThatWasCommittedAgain(t *testing.T) {
	for when, at := range map[string]report.Event{
		"before it is read": {Kind: report.TaskFinished, Task: "a"},
		"while it is read":  {Kind: report.StepStarted, Task: "b", Step: "stage"},
		"after it was read": {Kind: report.StepStarted, Task: "c", Step: "stage"}, // what two outputs need is computed before
	} {
		t.Run(when, func(t *testing.T) {
			reader := at.Task
			if reader == "a" {
				reader = "b"
			}
			file := flow(t, "", "a:", reader+": a.o")
			if reader == "c" {
				edit(t, file, "outputs: {o: {format: parquet, path: lake/c}", "outputs: {o: {format: parquet, path: lake/c}, p: {from: o, format: parquet, path: lake/p}")
			}
			named := config.Options{Vars: map[string]string{"n": "1"}}
			// whoever commits it has another run state: in the same one this run is going on
			apart := config.Options{Vars: named.Vars, Settings: map[string]any{"state.path": t.TempDir()}}
			other := &log{}
			l := &log{}
			l.on = func(e report.Event) {
				if e.Kind == at.Kind && e.Task == at.Task && e.Step == at.Step {
					if err := start(context.Background(), file, other, Options{Tasks: []string{"a"}, Rerun: true, Options: apart}); err != nil {
						t.Error(err)
					}
				}
			}
			err := start(t.Context(), file, l, Options{Options: named, Command: []string{"ubunye", "run"}})
			var list problem.List
			if !errors.As(err, &list) || len(list) != 1 || list[0].Code != problem.InputSuperseded || problem.Exit(err) != problem.ExitUsage {
				t.Fatalf("got %v", err)
			}
			for _, want := range []string{"p.yaml:", "task " + reader + ": input r: batch n=1 of task a, which this run committed, was committed again by run " + other.events[0].Run,
				"nothing became visible", "run both tasks in one start, as ubunye run --rerun"} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%v\nhas no %q", err, want)
				}
			}
		})
	}
}

// A task that leaves an output as it is has written nothing to read: who reads it is cancelled, which is no failure. Who
// reads another output of it, one that was written, runs.
func TestAnOutputThatWasLeftAsItIs(t *testing.T) {
	file := flow(t, "", "a:")
	const outputs = "outputs: {o: {format: parquet, path: lake/a, mode: ignore}, more: {from: r, format: parquet, path: lake/more}}}\n" +
		"  b: {inputs: {r: {from: a.o}}, outputs: {r: {format: parquet, path: lake/b}}}\n" +
		"  c: {inputs: {r: {from: b.r}}, outputs: {r: {format: parquet, path: lake/c}}}\n" +
		"  d: {inputs: {r: {from: a.more}}, outputs: {r: {format: parquet, path: lake/d}}}\n"
	edit(t, file, "outputs: {o: {format: parquet, path: lake/a}}}\n", outputs)
	l := &log{}
	if err := start(t.Context(), file, l, Options{}); err != nil {
		t.Fatal(err)
	}
	wantTold(t, l, "started a", "finished a", "started b", "finished b", "started c", "finished c", "started d", "finished d")
	l = &log{}
	if err := start(t.Context(), file, l, Options{}); err != nil {
		t.Fatal(err)
	}
	wantTold(t, l, "started a", "finished a", "cancelled b by a", "cancelled c by a", "started d", "finished d")
	if e := l.find(report.TaskCancelled, "b"); !strings.Contains(e.Message, "left the output that it depends on as it was") {
		t.Errorf("%+v", e)
	}
}
