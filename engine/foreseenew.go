package engine

import (
	"context"
	"errors"

	"github.com/ubunye-io/ubunye/engine/compute"
	"github.com/ubunye-io/ubunye/engine/config"
	"github.com/ubunye-io/ubunye/engine/ledger"
	"github.com/ubunye-io/ubunye/engine/plan"
	"github.com/ubunye-io/ubunye/engine/problem"
	"github.com/ubunye-io/ubunye/engine/report"
)

// foresight is what a plan knows of the incremental inputs of a task.
type foresight struct {
	*run
	task    plan.Task
	last    *ledger.Finished
	view    ledger.View
	settled map[string]span // what is to be read, if that is settled
	found   int             // inputs of which it is known what is new
	news    bool
	refused problem.List
}

func (r *run) foresight(t plan.Task, view ledger.View) *foresight {
	f := &foresight{run: r, task: t, last: view.Finished, view: view}
	switch {
	case !t.Incremental():
	case view.Range != nil:
		f.settled = spansOf(view.Range)
	case r.options.Rerun && view.Finished != nil:
		f.settled = spansOf(view.Finished.Range)
	}
	return f
}

// skips tells that nothing is new in any incremental input.
func (f *foresight) skips() bool {
	inputs := 0
	for _, in := range f.task.Inputs {
		if in.Incremental != nil {
			inputs++
		}
	}
	return inputs > 0 && f.found == inputs && !f.news && f.settled == nil
}

// foreseeSource tells of a task that reads from one that would be skipped: nothing would be there to be read, so it would be
// cancelled. before are the tasks that come before it.
func foreseeSource(task *PlannedTask, t plan.Task, before []PlannedTask) {
	if task.Verdict != WouldRun && task.Verdict != WouldReplace {
		return
	}
	for _, in := range t.Inputs {
		if in.From == nil {
			continue
		}
		for _, source := range before {
			if source.Task == in.From.Task && source.Verdict == WouldSkip {
				task.Verdict, task.Reason = WouldSkip, "task "+source.Task+", whose output it depends on, would write nothing"
				return
			}
		}
	}
}

// note tells what an input would read.
func (f *foresight) note(planned *PlannedInput, s span, left string) {
	f.found++
	f.news = f.news || !s.empty()
	planned.New = s.text() + left
}

// newFiles finds which of its files an input would read, if it is read by files, and has only those looked at.
func (f *foresight) newFiles(ctx context.Context, in config.Input, planned *PlannedInput, asked *compute.Input) error {
	if in.Incremental == nil || in.Incremental.Column != "" {
		return nil
	}
	s, left := f.settled[in.Name], ""
	if f.settled == nil {
		on, err := f.readsOn(f.task.Name, in, f.last, f.view.Marks)
		if err != nil {
			return f.refuse(err)
		}
		if s.Files, left, err = f.run.newFiles(ctx, f.task.Name, in, on.files, f.Now()); err != nil {
			return err
		}
	}
	if s.Files == nil {
		return nil // the run says what is wrong with what was settled
	}
	f.note(planned, s, left)
	asked.Pinned = []compute.File{}
	for _, file := range s.Files.Read {
		asked.Pinned = append(asked.Pinned, f.fileOf(file))
	}
	return nil
}

// newRows finds which of its rows an input would read, if it is read by a column, and that is not more than a plan reads.
func (f *foresight) newRows(ctx context.Context, session compute.Session, in config.Input, planned *PlannedInput, relation compute.Relation) error {
	if in.Incremental == nil || in.Incremental.Column == "" {
		return nil
	}
	s := f.settled[in.Name]
	if f.settled == nil {
		on, err := f.readsOn(f.task.Name, in, f.last, f.view.Marks)
		if err == nil && planned.Bytes > readable && !f.options.Infer {
			planned.New = "all rows"
			if on.value != nil {
				planned.New = in.Incremental.Column + " > " + on.value.Text
			}
			planned.New += ", as far as there are any: " + report.Size(planned.Bytes) + " would have to be read to tell; plan --infer does that"
			return nil
		}
		if err == nil {
			s.Column, err = f.run.newRows(ctx, session, f.task.Name, in, relation, on.value)
		}
		if err != nil {
			return f.refuse(err)
		}
	}
	if s.Column != nil {
		f.note(planned, s, "")
	}
	return nil
}

// refuse notes a problem that would end a run. Another error comes back.
func (f *foresight) refuse(err error) error {
	var p *problem.Problem
	if !errors.As(err, &p) {
		return err
	}
	f.refused = append(f.refused, p)
	return nil
}
