package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// allTasks judges what the other tasks of the mode tasks have written, and what the run state says: one task copies what the task
// that is looked at wrote in the same run, another one reads notes of its own.
func (p *play) allTasks() error {
	var days []string
	for day, d := range p.docs {
		if d.Finished != nil {
			days = append(days, fmt.Sprintf(`{"day": %q}`, day))
		}
	}
	slices.Sort(days)
	orders := slices.Sorted(slices.Values(p.now.Rows))
	for folder, want := range map[string][]string{"copy": orders, "notes": days} {
		rows, err := p.watch.rowsOf(p.model.writer, filepath.Join(p.dir, "lake", folder))
		if err != nil {
			return err
		}
		if !slices.Equal(slices.Sorted(slices.Values(rows)), want) {
			p.wrong("the rows of %s are %q, want %q", folder, rows, want)
		}
	}
	return p.runState()
}

// runState judges that no run is unfinished, and that of the newest attempt of each every task has succeeded.
func (p *play) runState() error {
	state := filepath.Join(p.dir, ".ubunye/state")
	current, err := filepath.Glob(filepath.Join(state, "current", "*"))
	if err != nil {
		return err
	}
	for _, file := range current {
		p.wrong("a run is unfinished: %s", filepath.Base(file))
	}
	files, err := filepath.Glob(filepath.Join(state, "succeeded", "*.json"))
	if err != nil {
		return err
	}
	newest := map[int64]attempt{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		var a attempt
		if err := json.Unmarshal(data, &a); err != nil {
			p.wrong("%s: %v", file, err)
			continue
		}
		if newest[a.Run].Attempt < a.Attempt {
			newest[a.Run] = a
		}
	}
	for run, a := range newest {
		for task, action := range a.Actions {
			if action.State != "SUCCEEDED" {
				p.wrong("attempt %d of run %d, which succeeded, says %s of task %s", a.Attempt, run, action.State, task)
			}
		}
		if len(a.Actions) != 3 {
			p.wrong("attempt %d of run %d has %d tasks", a.Attempt, run, len(a.Actions))
		}
	}
	return nil
}

// attempt is what the judge needs of a state file.
type attempt struct {
	Run     int64 `json:"runId"`
	Attempt int64 `json:"attemptId"`
	Actions map[string]struct {
		State string `json:"state"`
	} `json:"actionsState"`
}
