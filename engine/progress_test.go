package engine

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/ubunye-io/ubunye/engine/compute"
	"github.com/ubunye-io/ubunye/engine/ledger"
	"github.com/ubunye-io/ubunye/engine/report"
	"github.com/ubunye-io/ubunye/engine/store/fsops"
)

// clock is one that stands still until a step of a task begins: then 30 seconds pass.
type clock struct {
	mu    sync.Mutex
	now   time.Time
	ticks chan time.Time
	every []time.Duration
	told  []report.Event
	heard chan struct{} // one for each event of progress
}

func (c *clock) Report(e report.Event) {
	c.mu.Lock()
	c.told = append(c.told, e)
	step := e.Kind == report.StepStarted
	if step {
		c.now = c.now.Add(30 * time.Second)
	}
	now := c.now
	c.mu.Unlock()
	if step {
		c.ticks <- now // taken by the one who tells the progress
		<-c.heard      // the task does not go on before it is told
	}
	if e.Kind == report.Progress {
		c.heard <- struct{}{}
	}
}

func (c *clock) Now() time.Time { c.mu.Lock(); defer c.mu.Unlock(); return c.now }

func (c *clock) Ticks(d time.Duration) (<-chan time.Time, func()) {
	c.every = append(c.every, d)
	return c.ticks, func() {}
}

// Each tick tells how far the task is, and none comes after the task has ended.
func TestProgressIsToldByTheClock(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"a.csv":  "id\n1\n2\n",
		"p.yaml": "name: p\ntasks:\n  t:\n    inputs: {a: {format: csv, path: a.csv}}\n    outputs: {a: {format: parquet, path: out}}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c := &clock{now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), ticks: make(chan time.Time), heard: make(chan struct{}, 1)}
	e := New(fsops.New(nil), c)
	e.Now, e.Ticks, e.Every = c.Now, c.Ticks, 30*time.Second
	if err := e.Run(t.Context(), Options{File: filepath.Join(dir, "p.yaml")}); err != nil {
		t.Fatal(err)
	}
	if len(c.every) != 1 || c.every[0] != 30*time.Second {
		t.Errorf("tickers of %v", c.every)
	}
	var told []report.Event
	for i, k := range c.told {
		if k.Kind == report.Progress {
			told = append(told, k)
		}
		if k.Kind == report.TaskFinished && i != len(c.told)-1 {
			t.Errorf("%v follows the end of the task", c.told[i+1:])
		}
	}
	steps := []string{"ask", "read", "stage", "commit", "land"}
	if len(told) != len(steps) {
		t.Fatalf("%d events of progress, want one a step: %+v", len(told), told)
	}
	for i, p := range told {
		if p.Step != steps[i] || p.Duration != float64(30*(i+1)) || p.Task != "t" || p.Run == "" {
			t.Errorf("event %d: %+v", i, p)
		}
		if listed := i >= 2; listed != (p.Read != nil) || listed && *p.Read != 7 {
			t.Errorf("event %d: read %v", i, p.Read)
		}
		if staged := i >= 3; staged != (p.Rows != nil) || staged && (*p.Rows != 2 || *p.Files != 1 || *p.Bytes == 0) {
			t.Errorf("event %d: %+v", i, p)
		}
	}
}

// While an output is staged, what lies in its folder counts, and the outputs that are staged whole.
func TestProgressLooksIntoTheStagingFolder(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "dt=1"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, size := range map[string]int{"a.parquet.staged": 10, "dt=1/b.parquet.staged": 5, "marker": 100} {
		if err := os.WriteFile(filepath.Join(dir, name), make([]byte, size), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p := &progress{}
	if e := p.event(); e.Read != nil || e.Files != nil || e.Bytes != nil || e.Rows != nil {
		t.Errorf("at the beginning: %+v", e)
	}
	p.begin("stage")
	p.listed([]compute.File{{Size: 3}, {Size: 4}})
	p.listed([]compute.File{{Size: 5}})
	p.stages(dir)
	if e := p.event(); e.Step != "stage" || *e.Read != 12 || *e.Files != 2 || *e.Bytes != 15 || e.Rows != nil {
		t.Errorf("in the first output: %+v", e)
	}
	p.hasStaged(ledger.Result{Rows: 7, Files: 3, Bytes: 20})
	p.stages(dir)
	if e := p.event(); *e.Files != 5 || *e.Bytes != 35 || *e.Rows != 7 {
		t.Errorf("in the second: %d files, %d bytes, %d rows", *e.Files, *e.Bytes, *e.Rows)
	}
	p.stages(filepath.Join(dir, "gone"))
	if e := p.event(); *e.Files != 3 || *e.Bytes != 20 {
		t.Errorf("without its folder: %d files, %d bytes", *e.Files, *e.Bytes)
	}
}
