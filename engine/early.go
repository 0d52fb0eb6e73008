package engine

import (
	"context"
	"slices"
	"sync/atomic"

	"github.com/ubunye-io/ubunye/engine/compute"
	"github.com/ubunye-io/ubunye/engine/plan"
	"github.com/ubunye-io/ubunye/engine/writer"
)

// early is what the first task needs and what takes time to open, so it is opened while the ledger waits for the
// disk: the compute engine, and a process for each writer. No input is opened for it and no code of a plugin runs in
// it until its batch is held, so a start that is refused even then has done neither (R05).
type early struct {
	task    string
	writers map[string]*writer.Session // by output
	session chan openedCompute         // one is sent
	taken   atomic.Bool
}

// openedCompute is a session of the compute engine, or why there is none.
type openedCompute struct {
	session compute.Session
	err     error
}

// openEarly begins to open what the first task needs, and returns at once. What fails is told when the task starts.
func (r *run) openEarly(ctx context.Context) *early {
	first := slices.IndexFunc(r.plan.Tasks, func(t plan.Task) bool { return !r.done(t.Name) })
	if first < 0 {
		return nil
	}
	t := r.plan.Tasks[first]
	e := &early{task: t.Name, writers: map[string]*writer.Session{}, session: make(chan openedCompute, 1)}
	for _, target := range t.Targets {
		if s, err := r.prepareWriter(ctx, target); err == nil {
			e.writers[target.Name] = s
		}
	}
	settings := r.computeSettings(t.Name)
	go func() {
		session, err := r.Compute.Open(ctx, settings)
		e.session <- openedCompute{session, err}
	}()
	return e
}

// take gives what was opened to the task that it was opened for; nil for another one.
func (e *early) take(task string) *early {
	if e == nil || e.task != task || !e.taken.CompareAndSwap(false, true) {
		return nil
	}
	return e
}

// close closes what no task has taken.
func (e *early) close() {
	if e == nil || !e.taken.CompareAndSwap(false, true) {
		return
	}
	for _, s := range e.writers {
		s.Close()
	}
	if o := <-e.session; o.err == nil {
		o.session.Close()
	}
}

// prepareWriter starts the process of an output's writer; no code of the writer's runs yet. A wish to stop ends the call that
// it is in and not the process: once a target has made its own commit, the others follow.
func (r *run) prepareWriter(ctx context.Context, t plan.Target) (*writer.Session, error) {
	module, limits := r.module(t.Format)
	return r.host.Prepare(context.WithoutCancel(ctx), module, limits)
}

func (r *run) computeSettings(task string) compute.Settings {
	return compute.Settings{
		Memory:    r.config.Engine.Memory,
		Share:     min(r.config.Parallel, r.plan.Width) * max(r.options.Beside, 1),
		Threads:   r.config.Engine.Threads,
		Spill:     r.spillFolder(task),
		Variables: r.variables(),
		Rename:    r.FS.RenameNoReplace,
	}
}

// startWriters lets the writers begin, those that were started early and the others.
func (b *batch) startWriters(ctx context.Context, e *early) error {
	b.writers = map[string]*writer.Session{}
	if e != nil {
		b.writers = e.writers
	}
	for _, t := range b.task.Targets {
		s, ok := b.writers[t.Name]
		if !ok {
			var err error
			if s, err = b.prepareWriter(ctx, t); err != nil {
				return &outputError{target: t, err: err}
			}
			b.writers[t.Name] = s
		}
		s.Begin(b.grants(t))
	}
	return nil
}

// openCompute opens the compute engine, or takes the one that was opened early.
func (b *batch) openCompute(ctx context.Context, e *early) (err error) {
	if e == nil {
		b.session, err = b.Compute.Open(ctx, b.computeSettings(b.task.Name))
		return err
	}
	o := <-e.session
	b.session = o.session
	return o.err
}

// closeSoon closes what only staging needs while the batch goes on; close waits for it.
func (b *batch) closeSoon() {
	rest := &batch{writers: b.writers, session: b.session}
	b.writers, b.session = nil, nil
	b.closing = make(chan struct{})
	go func() {
		defer close(b.closing)
		rest.close()
	}()
}
