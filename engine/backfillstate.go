package engine

import (
	"maps"
	"slices"
)

// asStarted adds to the tasks of a date that are missing those that its unfinished run was started with beside them, if they
// were among those that the backfill is for. With --resume all are started: what is finished is kept.
func (f *backfill) asStarted(r *run, missing map[string]bool) {
	if len(missing) == 0 {
		return
	}
	tasks, found := r.options.Resume, false
	with := func(string) bool { return tasks }
	for _, x := range f.states {
		if d := x.Document; !found && d != nil && !x.Ended() && maps.Equal(d.App.Variables, r.batchVariables()) && d.App.Profile == r.config.Profile && !r.options.NewRun {
			found = true
			if len(d.App.Tasks) > 0 {
				with = func(task string) bool { return slices.Contains(d.App.Tasks, task) }
			} else if r.selected() == nil {
				tasks = true
			}
		}
	}
	for task := range missing {
		if found && !with(task) {
			return // the run of the date is refused, and says why
		}
	}
	for _, t := range r.plan.Tasks {
		if with(t.Name) {
			missing[t.Name] = true
		}
	}
}
