package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// worker plays scenarios, one after the other, each in a copy of its model.
type worker struct {
	program  string
	recovers bool   // the program has the verb recover
	work     string // its folder
	watch    *watcher
	made     int // copies
}

// must runs the program, which has to end with this code.
func (b *worker) must(dir string, exit int, args ...string) error {
	p, err := start(b.program, dir, nil, args...)
	if err != nil {
		return err
	}
	if p.exit() != exit {
		return fmt.Errorf("ubunye %s: exit %d, want %d: %s", strings.Join(args, " "), p.exit(), exit, p.said())
	}
	return nil
}

// copy makes a copy of a model's folder.
func (b *worker) copy(m *model) (string, error) {
	b.made++
	dir := filepath.Join(b.work, fmt.Sprint(b.made))
	if err := os.RemoveAll(dir); err != nil {
		return "", err
	}
	return dir, os.CopyFS(dir, os.DirFS(m.dir))
}

// see has the reader begin to look at the output of a folder, and asks it.
func (b *worker) see(dir, writer, do string) (s seen, err error) {
	if err = b.watch.begin(dir, writer); err == nil {
		err = b.watch.ask(map[string]string{"do": do}, &s)
	}
	return s, err
}

// event is what a run says with --json.
type event struct {
	Time  time.Time
	Event string
	Step  string
}

// stageToEnd is how long a run took from its first staged file to its end, in seconds.
func stageToEnd(lines string) (float64, error) {
	var from time.Time
	for line := range strings.Lines(lines) {
		var e event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			return 0, err
		}
		if e.Step == "stage" {
			from = e.Time
		}
		if e.Event == "run_finished" && !from.IsZero() {
			return e.Time.Sub(from).Seconds(), nil
		}
	}
	return 0, fmt.Errorf("an undisturbed run told no step stage: %s", lines)
}
