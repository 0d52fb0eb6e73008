package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ubunye-io/ubunye/engine/compute"
	"github.com/ubunye-io/ubunye/engine/problem"
	"github.com/ubunye-io/ubunye/engine/report"
	"github.com/ubunye-io/ubunye/engine/store/fsops"
)

// log keeps the events of a run; on, if not nil, is called with each, by the goroutine that reports it.
type log struct {
	on func(report.Event)

	mu     sync.Mutex
	events []report.Event
}

func (l *log) Report(e report.Event) {
	l.mu.Lock()
	l.events = append(l.events, e)
	l.mu.Unlock()
	if l.on != nil {
		l.on(e)
	}
}

// told gives the events of the tasks' lives as "started a", in their order.
func (l *log) told() (all []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.events {
		if verb, ok := strings.CutPrefix(string(e.Kind), "task_"); ok {
			text := verb + " " + e.Task
			if e.Cause != "" {
				text += " by " + e.Cause
			}
			all = append(all, text)
		}
	}
	return all
}

func (l *log) find(kind report.Kind, task string) *report.Event {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.events {
		if e.Kind == kind && e.Task == task {
			return &e
		}
	}
	return nil
}

// flow is a pipeline of tasks: a line each, as "b: a.o" for one that reads the output of a, "a:" for one that reads a file,
// "a: | SELECT …" for one with SQL of its own.
func flow(t *testing.T, more string, lines ...string) string {
	t.Helper()
	dir := t.TempDir()
	text := "name: p\n" + more + "variables: {n: {type: int}}\ntasks:\n"
	for _, line := range lines {
		line, sql, _ := strings.Cut(line, " | ")
		name, reads, _ := strings.Cut(line, ":")
		reads = strings.TrimSpace(reads)
		in := "{format: csv, path: in.csv, columns: {id: bigint, name: varchar}}"
		if reads != "" {
			in = "{from: " + reads + "}"
		}
		if sql == "" {
			sql = "SELECT * FROM r"
		}
		text += fmt.Sprintf("  %[1]s: {inputs: {r: %[2]s}, transform: {o: %[3]q}, outputs: {o: {format: parquet, path: lake/%[1]s}}}\n", name, in, sql)
	}
	for name, content := range map[string]string{"in.csv": "id,name\n1,one\n2,two\n", "p.yaml": text} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "p.yaml")
}

func start(ctx context.Context, file string, l *log, o Options) error {
	o.File = file
	return New(fsops.New(nil), l).Run(ctx, o)
}

const fails = "SELECT id, CAST(name AS INTEGER) AS name FROM r"

func wantTold(t *testing.T, l *log, want ...string) {
	t.Helper()
	if got := l.told(); !slices.Equal(got, want) {
		t.Errorf("events\n got %q\nwant %q", got, want)
	}
}

// What depends on a failed task, by way of others too, is cancelled, names it, and its batch is given back; the rest runs.
func TestAFailedTaskCancelsWhatDependsOnIt(t *testing.T) {
	l := &log{}
	file := flow(t, "", "bad: | "+fails, "next: bad.o", "last: next.o", "other:", "free: other.o")
	err := start(t.Context(), file, l, Options{})
	var list problem.List
	if !errors.As(err, &list) || len(list) != 1 || list[0].Task != "bad" || problem.Exit(err) != problem.ExitFailed {
		t.Fatalf("got %v", err)
	}
	wantTold(t, l, "started bad", "failed bad", "cancelled next by bad", "cancelled last by bad", "started other", "finished other", "started free", "finished free")
	if e := l.find(report.TaskCancelled, "last"); !strings.Contains(e.Message, "task bad, whose output it depends on, failed") {
		t.Errorf("%+v", e)
	}
	status, err := New(fsops.New(nil), &log{}).Status(t.Context(), Options{File: file}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range status.Batches {
		if b.Held != nil || (b.Finished != nil) != (b.Task == "other" || b.Task == "free") {
			t.Errorf("%+v", b)
		}
	}
}

// A task that reads by path where a failed one was to write would miss those rows, and its batch would count as finished: it is
// cancelled too. One that comes before the writer reads what was there before, and runs.
func TestAFailedTaskCancelsReadersOfItsFolder(t *testing.T) {
	l := &log{}
	file := flow(t, "parallel: 4\n", "before:", "bad: | "+fails, "after:", "other:")
	for _, reader := range []string{"before", "after"} {
		edit(t, file, reader+": {inputs: {r: {format: csv, path: in.csv", reader+": {inputs: {r: {format: csv, path: '*/bad/in.csv'")
	}
	dir := filepath.Join(filepath.Dir(file), "lake", "bad")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "in.csv"), []byte("id,name\n1,one\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := start(t.Context(), file, l, Options{}); problem.Exit(err) != problem.ExitFailed {
		t.Fatalf("got %v", err)
	}
	got := l.told()
	for _, want := range []string{"finished before", "failed bad", "cancelled after by bad", "finished other"} {
		if !slices.Contains(got, want) {
			t.Errorf("%q is not in %q", want, got)
		}
	}
	if slices.Index(got, "started bad") < slices.Index(got, "finished before") {
		t.Errorf("bad was begun while what it writes was read: %q", got)
	}
}

// With parallel 2 two independent tasks are begun before either has ended; with 1, the default, they are not. The first to
// begin waits here until the other has, so that one at a time would never end.
func TestTasksRunSideBySide(t *testing.T) {
	both := make(chan struct{})
	begun := 0
	l := &log{}
	l.on = func(e report.Event) {
		if e.Kind != report.TaskStarted {
			return
		}
		l.mu.Lock()
		if begun++; begun == 2 {
			close(both)
		}
		l.mu.Unlock()
		select {
		case <-both:
		case <-t.Context().Done():
		}
	}
	file := flow(t, "engine: {memory: 500MiB, threads: 1}\nparallel: 2\n", "a:", "b:", "c: a.o")
	if err := start(t.Context(), file, l, Options{}); err != nil {
		t.Fatal(err)
	}
	got := l.told()
	slices.Sort(got[:2])
	if !slices.Equal(got[:2], []string{"started a", "started b"}) || slices.Index(got, "started c") < slices.Index(got, "finished a") {
		t.Errorf("%q", got)
	}
	l = &log{}
	if err := start(t.Context(), file, l, Options{Rerun: true, Options: settings(map[string]any{"parallel": 1})}); err != nil {
		t.Fatal(err)
	}
	wantTold(t, l, "started a", "finished a", "started b", "finished b", "started c", "finished c")
}

// Many tasks side by side, some of which fail: every one ends, each event names its task.
func TestManyTasksSideBySide(t *testing.T) {
	var lines []string
	for i := range 8 {
		sql := ""
		if i%3 == 1 {
			sql = " | " + fails
		}
		lines = append(lines, fmt.Sprintf("a%d:%s", i, sql), fmt.Sprintf("b%d: a%[1]d.o", i))
	}
	l := &log{}
	err := start(t.Context(), flow(t, "parallel: 4\n", lines...), l, Options{})
	if problem.Exit(err) != problem.ExitFailed {
		t.Fatalf("got %v", err)
	}
	for i := range 8 {
		a, b := report.TaskFinished, report.TaskFinished
		if i%3 == 1 {
			a, b = report.TaskFailed, report.TaskCancelled
		}
		if l.find(a, fmt.Sprint("a", i)) == nil || l.find(b, fmt.Sprint("b", i)) == nil {
			t.Errorf("task %d: no %s, or then no %s", i, a, b)
		}
	}
	for _, e := range l.events {
		if e.Task == "" && e.Kind != report.RunStarted {
			t.Errorf("%+v names no task", e)
		}
	}
}

// A run that is told to stop begins no more tasks, and says once that it was told.
func TestAStoppedRunBeginsNoMoreTasks(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	l := &log{}
	l.on = func(e report.Event) {
		if e.Kind == report.TaskFinished && e.Task == "a" {
			cancel(&problem.Problem{Code: problem.Terminated, Message: "told"})
		}
	}
	file := flow(t, "", "a:", "b: a.o", "c:")
	err := start(ctx, file, l, Options{})
	var list problem.List
	if !errors.As(err, &list) || len(list) != 1 || list[0].Code != problem.Terminated {
		t.Fatalf("got %v", err)
	}
	wantTold(t, l, "started a", "finished a")
	if err := start(t.Context(), file, l, Options{}); err != nil {
		t.Fatalf("the batches were not given back: %v", err)
	}
}

// settingsSeen is a compute engine that keeps what its sessions were opened with.
type settingsSeen struct {
	compute.Engine
	mu   sync.Mutex
	seen []compute.Settings
}

func (s *settingsSeen) Open(ctx context.Context, set compute.Settings) (compute.Session, error) {
	s.mu.Lock()
	s.seen = append(s.seen, set)
	s.mu.Unlock()
	return s.Engine.Open(ctx, set)
}

// The memory of the run is shared among the tasks that can run side by side, and by no others.
func TestTasksSideBySideShareTheMemory(t *testing.T) {
	for share, lines := range map[int][]string{1: {"a:", "b: a.o"}, 2: {"a:", "b:", "c: a.o"}} {
		file := flow(t, "parallel: 2\nengine: {memory: 400MiB}\n", lines...)
		e := New(fsops.New(nil), &log{})
		seen := &settingsSeen{Engine: e.Compute}
		e.Compute = seen
		if err := e.Run(t.Context(), Options{File: file}); err != nil {
			t.Fatal(err)
		}
		if len(seen.seen) != len(lines) {
			t.Fatalf("%d sessions", len(seen.seen))
		}
		for _, set := range seen.seen {
			if set.Share != share || set.Memory != "400MiB" {
				t.Errorf("%q: share %d of %s, want %d of 400MiB", lines, set.Share, set.Memory, share)
			}
		}
	}
}
