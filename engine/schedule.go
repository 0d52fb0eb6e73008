package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/ubunye-io/ubunye/engine/ledger"
	"github.com/ubunye-io/ubunye/engine/plan"
	"github.com/ubunye-io/ubunye/engine/problem"
	"github.com/ubunye-io/ubunye/engine/report"
	"github.com/ubunye-io/ubunye/engine/runstate"
)

// schedule runs the tasks of a run: each when those before it are done, so many at once as the pipeline says. It is used by
// one goroutine; the tasks tell it how they ended.
type schedule struct {
	*run
	ended    map[string]*outcome
	started  map[string]bool
	running  int
	done     chan *outcome
	problems problem.List
	cut      bool // the run was told to stop before every task had begun
}

// outcome is how a task ended.
type outcome struct {
	task     string
	problems problem.List
	commit   *ledger.Finished // what it wrote; nil: nothing
	cause    string           // of a task that was cancelled: the task that failed, or that wrote nothing to read
	failed   bool             // it failed, or was cancelled because another one did

	skipped   bool // it found nothing new to read
	cancelled bool
	why       string                 // it committed nothing, as told of a task that would read it
	message   string                 // what the run state says of it, if there is no problem
	objects   []runstate.ObjectState // how far its incremental inputs were read
}

// leftAsItWas is why a task that went well wrote nothing.
const leftAsItWas = " left the output that it depends on as it was"

// foundNothing is why a task wrote nothing that had nothing new to read.
const foundNothing = ", whose output it depends on, found nothing new"

// tasks runs every task. Once the run was told to stop, those that have not begun only give their batches back.
func (r *run) tasks() problem.List {
	ctx := r.record.Context()
	s := &schedule{run: r, ended: map[string]*outcome{}, started: map[string]bool{}, done: make(chan *outcome)}
	for _, t := range r.plan.Tasks {
		if o := r.doneBefore(t.Name); o != nil {
			s.ended[t.Name], s.started[t.Name] = o, true
		}
	}
	for {
		s.start(ctx)
		if s.running == 0 {
			break
		}
		s.keeper.save() // what has ended and what has begun at once; the last change is saved with the end of the run
		o := <-s.done
		s.running--
		s.settle(o)
	}
	if s.cut && len(s.problems) == 0 {
		s.problems = r.explain(context.Cause(ctx), "")
	}
	return s.problems
}

// doneBefore is how a task ended that is not run; nil: it is.
func (r *run) doneBefore(task string) *outcome {
	if commit := r.completed[task]; commit != nil {
		return &outcome{task: task, commit: commit}
	}
	if !r.done(task) {
		return nil
	}
	k := r.standing.kept[task]
	return &outcome{task: task, commit: k.commit, why: k.why}
}

// start starts what can be, in the order of the plan, and ends what cannot be any more.
func (s *schedule) start(ctx context.Context) {
	for i, t := range s.plan.Tasks {
		if s.started[t.Name] || !s.ready(t) {
			continue
		}
		cancelled := s.cancelled(t)
		switch {
		case ctx.Err() != nil:
			s.stopped(ctx, t, s.leases[i])
		case cancelled != nil:
			s.cancel(ctx, t, s.leases[i], cancelled)
		case s.running < s.config.Parallel:
			s.running++
			s.keeper.begins(t)
			go func() { s.done <- s.task(ctx, t, s.leases[i], s.commitsOf(t)) }()
		default:
			continue
		}
		s.started[t.Name] = true
	}
}

func (s *schedule) settle(o *outcome) {
	s.ended[o.task] = o
	s.keeper.ended(o)
	s.problems = append(s.problems, o.problems...)
}

// ready tells that all tasks before a task have ended.
func (s *schedule) ready(t plan.Task) bool {
	for _, a := range t.After {
		if s.ended[a.Task] == nil {
			return false
		}
	}
	return true
}

// cancelled tells that a task cannot run: one that it reads from failed, or left the output as it was, so that there is nothing
// of this run to read.
func (s *schedule) cancelled(t plan.Task) *outcome {
	for _, a := range t.After {
		if o := s.ended[a.Task]; a.Needs && o.failed {
			return &outcome{task: t.Name, cancelled: true, failed: true, cause: first(o.cause, o.task)}
		}
	}
	for _, in := range t.Inputs {
		if in.From == nil {
			continue
		}
		o := s.ended[in.From.Task]
		if o.commit == nil {
			return &outcome{task: t.Name, cancelled: true, cause: first(o.cause, o.task), why: first(o.why, leftAsItWas)}
		}
		if _, wrote := o.commit.Outputs[in.From.Output]; !wrote {
			return &outcome{task: t.Name, cancelled: true, cause: o.task, why: leftAsItWas}
		}
	}
	return nil
}

func first(text, otherwise string) string {
	if text != "" {
		return text
	}
	return otherwise
}

// cancel gives a batch back that will not be written by this run.
func (s *schedule) cancel(ctx context.Context, t plan.Task, lease *ledger.Lease, o *outcome) {
	o.message = fmt.Sprintf("cancelled: task %s, whose output it depends on, failed", o.cause)
	if !o.failed {
		o.message = fmt.Sprintf("cancelled: task %s%s, so this run wrote nothing to read", o.cause, o.why)
	}
	s.emit(report.Event{Kind: report.TaskCancelled, Task: t.Name, Batch: batchText(t.Batch), Cause: o.cause, Message: o.message})
	s.giveBack(ctx, t, lease)
	s.settle(o)
}

// stopped ends a task that had not begun when the run was told to stop.
func (s *schedule) stopped(ctx context.Context, t plan.Task, lease *ledger.Lease) {
	s.cut = true
	s.giveBack(ctx, t, lease)
	s.keeper.neverBegan(t.Name)
	s.ended[t.Name] = &outcome{task: t.Name, failed: true}
}

func (s *schedule) giveBack(ctx context.Context, t plan.Task, lease *ledger.Lease) {
	if err := lease.Release(context.WithoutCancel(ctx)); err != nil {
		s.emit(report.Event{Kind: report.Warning, Task: t.Name, Message: fmt.Sprintf("task %s: giving the batch back failed: %v", t.Name, err)})
	}
}

// commitsOf is what the tasks that a task reads from committed.
func (s *schedule) commitsOf(t plan.Task) map[string]*ledger.Finished {
	commits := map[string]*ledger.Finished{}
	for _, in := range t.Inputs {
		if in.From != nil {
			commits[in.From.Task] = s.ended[in.From.Task].commit
		}
	}
	return commits
}

// task runs one task and tells how it went.
func (r *run) task(ctx context.Context, t plan.Task, lease *ledger.Lease, sources map[string]*ledger.Finished) *outcome {
	started := r.Now()
	r.emit(report.Event{Kind: report.TaskStarted, Task: t.Name, Batch: batchText(t.Batch)})
	b := &batch{run: r, task: t, lease: lease, sources: sources}
	b.follow()
	stop := b.tellProgress(started)
	err := b.execute(ctx)
	stop()
	took := r.Now().Sub(started).Seconds()
	if err == nil {
		r.emit(report.Event{Kind: report.TaskFinished, Task: t.Name, Batch: batchText(t.Batch), Duration: took})
		return &outcome{task: t.Name, commit: b.commits(), objects: b.objects()}
	}
	var none *nothingNew
	if errors.As(err, &none) {
		r.emit(report.Event{Kind: report.TaskSkipped, Task: t.Name, Batch: batchText(t.Batch), Duration: took, Message: none.Error()})
		return &outcome{task: t.Name, skipped: true, why: foundNothing, message: none.Error(), objects: b.objects()}
	}
	problems := r.explain(err, t.Name)
	for _, p := range problems {
		failed := report.Of(report.TaskFailed, p)
		failed.Task, failed.Batch, failed.Duration = t.Name, batchText(t.Batch), took
		r.emit(failed)
	}
	return &outcome{task: t.Name, problems: problems, failed: true, objects: b.objects()}
}
