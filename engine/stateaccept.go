package engine

import (
	"context"
	"maps"
	"path/filepath"
	"slices"

	"github.com/ubunye-io/ubunye/engine/config"
	"github.com/ubunye-io/ubunye/engine/runstate"
)

// StateAccepted is what was given up by the word of a person.
type StateAccepted struct {
	Pipeline string     `json:"pipeline"`          // name of the pipeline
	Run      int64      `json:"run"`               // number of the run
	Attempt  int64      `json:"attempt"`           // number of its last attempt
	Task     string     `json:"task,omitempty"`    // the task that is given up; absent: the whole run
	GivenUp  []string   `json:"given_up"`          // the tasks that were not completed and count as such now
	Kept     []string   `json:"kept"`              // of a whole run of ours: the tasks that it has finished, whose batches stay so
	Unread   []string   `json:"unread"`            // of those given up, the tasks that have not read what an incremental one wrote: no later run gives it to them
	Rerun    string     `json:"rerun,omitempty"`   // the command that writes it again for them, if there are any
	Path     string     `json:"path"`              // of the state file
	Damaged  string     `json:"damaged,omitempty"` // where the file is kept that could not be read
	By       Acceptance `json:"by"`                // who, when and why
}

// StateAccept gives up, by the word of a person, what a run has not done; with a task only that one. It is refused while the
// run is alive. The data is not touched.
func (e *Engine) StateAccept(ctx context.Context, o Options, name string, number int64, task, who, reason string) (StateAccepted, error) {
	s, err := e.openState(ctx, o, name)
	if err != nil {
		return StateAccepted{}, err
	}
	if s.name, err = s.oneName(); err != nil {
		return StateAccepted{}, err
	}
	before, err := s.Find(ctx, s.name, number)
	if err != nil {
		return StateAccepted{}, s.outcome(ctx, err)
	}
	given, kept := []string{}, []string{}
	if d := before.Document; d != nil {
		given = d.Unfinished()
		for _, name := range slices.Sorted(maps.Keys(d.Actions)) {
			if d.Actions[name].State == runstate.Succeeded && task == "" && d.Migrated == nil {
				kept = append(kept, name)
			}
		}
	}
	x, err := s.Accept(ctx, s.name, number, task, runstate.Acceptance{Who: who, Reason: reason})
	if err != nil {
		return StateAccepted{}, s.outcome(ctx, err)
	}
	did := StateAccepted{Pipeline: x.Name, Run: x.Run, Attempt: x.Attempt, Task: task, GivenUp: given, Kept: kept, Unread: s.unread(before.Document, task), Path: x.Path}
	if len(did.Unread) > 0 {
		did.Rerun = s.runAgain(before.Document)[0] + " --rerun"
	}
	a := x.Document.Accepted
	if task != "" {
		did.GivenUp, a = []string{task}, x.Document.Actions[task].Accepted
	}
	if a != nil {
		did.By = *acceptance(a)
	}
	if a != nil && a.Damaged != "" {
		did.Damaged = filepath.Join(filepath.Dir(x.Path), a.Damaged)
	}
	return did, nil
}

// unread names the tasks that an accepted run gives up although they have not read what an incremental task wrote: that reads
// on, so no later run passes it to them. Without a pipeline file nobody knows who reads what.
func (s *stateDir) unread(d *runstate.Document, task string) []string {
	names := []string{}
	if d == nil || s.options.File == "" {
		return names
	}
	incremental := map[string]bool{}
	for _, t := range s.config.Tasks {
		incremental[t.Name] = t.Incremental()
	}
	for _, t := range s.config.Tasks {
		a, there := d.Actions[t.Name]
		reads := slices.ContainsFunc(t.Inputs, func(in config.Input) bool {
			return in.From != nil && incremental[in.From.Task] && d.Actions[in.From.Task].State == runstate.Succeeded
		})
		if there && reads && !a.Completed() && (task == "" || task == t.Name) {
			names = append(names, t.Name)
		}
	}
	return names
}
