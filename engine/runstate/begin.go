package runstate

import (
	"fmt"
	"slices"
	"time"
)

// Document makes the first document of the attempt that was decided on: what is carried is as it was, all other tasks
// are pending, and every task that was read incrementally has its mark, whether it is selected or not. ledgerRun is the
// attempt's id in the ledger.
func (d *Decision) Document(app AppConfig, ledgerRun string, now time.Time) *Document {
	now = now.UTC()
	doc := &Document{App: app, Run: d.Run, Attempt: d.Attempt, RunStart: &now, AttemptStart: &now,
		LedgerRun: ledgerRun, Rerun: d.start.Rerun, Actions: map[string]Action{}}
	doc.App.Variables, doc.App.Profile, doc.App.Tasks = d.start.Variables, d.start.Profile, d.start.Selected
	if d.Recovery {
		doc.RunStart, doc.extra, doc.AppVersion = d.previous.RunStart, d.previous.extra, d.previous.AppVersion
	}
	for _, t := range d.start.Tasks {
		if a, carried := d.Carried[t.Name]; carried {
			if a.Objects == nil {
				a.Objects = d.objects(t.Name)
			}
			doc.Actions[t.Name] = a
			continue
		}
		doc.Actions[t.Name] = Action{Execution: Execution{Run: d.Run, Attempt: d.Attempt}, State: Pending, Config: t.Config, Parts: t.Parts, Objects: d.objects(t.Name)}
	}
	if d.previous != nil && !d.previous.foreign() {
		doc.Others = d.others(doc)
	}
	return doc
}

// objects is how far the incremental inputs of a task were read before.
func (d *Decision) objects(task string) []ObjectState {
	if d.previous == nil || d.previous.foreign() {
		return nil
	}
	if a, there := d.previous.Actions[task]; there {
		return slices.Clone(a.Objects)
	}
	return slices.Clone(d.previous.Others[task])
}

// others is the incremental state of tasks that the document does not have.
func (d *Decision) others(doc *Document) map[string][]ObjectState {
	all := map[string][]ObjectState{}
	for task, states := range d.previous.Others {
		all[task] = states
	}
	for task, a := range d.previous.Actions {
		if len(a.Objects) > 0 {
			all[task] = a.Objects
		}
	}
	for task := range doc.Actions {
		delete(all, task)
	}
	return all
}

// interrupted notes of a dead attempt which of its tasks had not ended: they failed, and by is the run that went on.
func (d *Document) interrupted(by string) (changed bool) {
	for name, a := range d.Actions {
		if a.State == Running {
			a.State, a.Message = Failed, fmt.Sprintf("interrupted, taken over by %s", by)
			d.Actions[name] = a
			changed = true
		}
	}
	return changed
}
