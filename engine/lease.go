package engine

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/ubunye-io/ubunye/engine/ledger"
	"github.com/ubunye-io/ubunye/engine/plan"
	"github.com/ubunye-io/ubunye/engine/problem"
	"github.com/ubunye-io/ubunye/engine/report"
	"github.com/ubunye-io/ubunye/engine/runstate"
)

// lease does step 4: every batch of the tasks that run, and a number in the run state; or a refusal. What a dead run had
// committed is finished first, also by a start that is then refused. A refusal that can be seen by reading writes nothing.
// If all tasks turn out to be done nothing is held, or not for long.
func (r *run) lease(ctx context.Context) error {
	if err := r.finishCommitted(ctx); err != nil {
		return err
	}
	if problems := r.complete(ctx, true); problems != nil {
		return problems
	}
	r.standing = nil
	refusals, problems := r.refusals(ctx)
	if problems == nil && r.nothingToGoOnWith() {
		problems = r.refused(ctx, refusals)
	}
	if problems == nil {
		problems = r.decide(ctx)
	}
	if problems != nil {
		return problems
	}
	if r.allDone() {
		return nil
	}
	if problems := r.refused(ctx, refusals); problems != nil {
		return problems
	}
	if problems := r.targetsRefused(ctx); problems != nil {
		return problems
	}
	info := r.info()
	info.ID = r.ledger.NewRunID()
	r.scratch = r.ledger.ScratchName(info.ID)
	r.early.close()
	r.early = r.openEarly(ctx)
	record, err := r.ledger.Begin(ctx, info)
	if err != nil {
		return r.explain(told(ctx, err), "")
	}
	r.record = record
	if problems := r.hold(ctx); problems != nil {
		r.tellTakeovers()
		status := ledger.Refused
		if slices.ContainsFunc(problems, func(p *problem.Problem) bool { return p.Code == problem.RunLeaseLost }) {
			status = ledger.Interrupted
		}
		r.end(ctx, status)
		return r.beforeItBegan(problems)
	}
	if r.allDone() {
		return nil
	}
	r.tellDecision(ctx)
	r.tellTakeovers()
	r.collectSpill()
	return nil
}

// refusals are what the ledger has against the tasks that are not done. That another run holds a batch comes first: it
// names who runs.
func (r *run) refusals(ctx context.Context) (map[string]error, problem.List) {
	refusals := map[string]error{}
	for _, t := range r.plan.Tasks {
		if r.completed[t.Name] != nil {
			continue
		}
		q := r.request(t)
		err := orLeft(r.ledger.Refusal(ctx, q), q.Batch, r.stuck[q.Batch.Name()])
		if r.waitsFor(err) {
			continue
		}
		if errors.As(err, new(*ledger.HeldError)) {
			return nil, r.explain(told(ctx, err), t.Name)
		}
		refusals[t.Name] = err
	}
	return refusals, nil
}

// nothingToGoOnWith tells whether no run is unfinished, so that what the ledger refuses is refused whatever the run state
// has: most refusals are of finished batches, and need not read it.
func (r *run) nothingToGoOnWith() bool {
	if r.options.LeaseOff || r.options.Resume || r.options.NewRun {
		return false
	}
	idle, err := r.stateFolder().Idle(r.config.Name)
	return err == nil && idle
}

// refused tells why the batches of the tasks that are to run cannot be had. What a run has finished that is waited for is
// judged when that has ended: if it fails, it is gone on with.
func (r *run) refused(ctx context.Context, refusals map[string]error) problem.List {
	r.left = slices.ContainsFunc(r.plan.Tasks, func(t plan.Task) bool { return refusals[t.Name] == nil && !r.done(t.Name) })
	for _, t := range r.plan.Tasks {
		err := refusals[t.Name]
		if r.waits() && errors.As(err, new(*ledger.FinishedError)) {
			continue
		}
		if err != nil && !r.done(t.Name) {
			return r.explain(told(ctx, err), t.Name)
		}
	}
	return nil
}

// targetsRefused tells why the targets of all tasks cannot be had.
func (r *run) targetsRefused(ctx context.Context) problem.List {
	for _, t := range r.plan.Tasks {
		for _, o := range t.Targets {
			if err := r.ledger.CheckTarget(o.Name, o.Path); err != nil {
				return r.explain(told(ctx, &outputError{target: o, err: err}), t.Name)
			}
		}
	}
	if err := r.ledger.TargetRefusal(ctx, r.targets()); err != nil && !r.waitsFor(err) {
		return r.explain(told(ctx, err), "")
	}
	return nil
}

// orLeft is the refusal of a finished batch; but where what it committed has not all landed, that is what is told.
func orLeft(refusal error, b ledger.Batch, left []ledger.Left) error {
	if len(left) > 0 && errors.As(refusal, new(*ledger.FinishedError)) {
		return &ledger.LeftError{Batch: b, Left: left}
	}
	return refusal
}

// beforeItBegan says of a start that was told to stop while it waited that nothing had happened yet.
func (r *run) beforeItBegan(list problem.List) problem.List {
	for _, p := range list {
		if p.Code == problem.Interrupted || p.Code == problem.Terminated {
			p.Data, p.Hint = untouched, "run it again"
		}
	}
	return list
}

// waitsFor tells whether a refusal is one that the run was told to wait out.
func (r *run) waitsFor(err error) bool {
	return r.options.Wait > 0 && (errors.As(err, new(*ledger.HeldError)) || errors.As(err, new(*ledger.TargetHeldError)))
}

// maxDecisions is how often a start decides anew because others have gone on with the run, or begun one.
const maxDecisions = 3

// hold takes the batches of the tasks that run, and then the run's number in the run state. What was decided may rest on what is
// not so any more by then: in that case the batches are given back, and it is decided anew. After an error nothing is held.
func (r *run) hold(ctx context.Context) problem.List {
	for range maxDecisions {
		leases, err := r.record.Acquire(ctx, r.requests())
		if err != nil && !errors.As(err, new(*ledger.FinishedError)) { // of a finished one: its run may go on, or have failed since
			return r.explain(told(ctx, err), "")
		}
		r.leases = nil
		for _, t := range r.plan.Tasks {
			var lease *ledger.Lease // of a task that is done there is none
			if err == nil && !r.done(t.Name) {
				lease, leases = leases[0], leases[1:]
			}
			r.leases = append(r.leases, lease)
		}
		changed, problems := r.number(ctx, err == nil)
		switch {
		case problems == nil && err == nil && !changed:
			return nil
		case problems == nil && !changed:
			problems = r.explain(told(ctx, err), "")
		}
		r.giveAllBack(ctx)
		if problems == nil && r.waits() {
			problems = r.outwait(ctx)
		}
		if problems != nil || r.allDone() {
			return problems
		}
	}
	return problem.List{{Code: problem.RunLeaseHeld, Data: untouched, Hint: "run it again when nobody else starts this batch",
		Message: "refused: other starts go on with the same run again and again, so that what this one decides is never true for long"}}
}

// waits tells whether nothing is decided before a living run has ended.
func (r *run) waits() bool { return r.standing != nil && r.standing.decision == nil }

// number decides anew with what is so now, and takes the run's number if that is what was decided before.
func (r *run) number(ctx context.Context, take bool) (changed bool, problems problem.List) {
	for !r.options.LeaseOff {
		was := r.standing
		if problems := r.decide(ctx); problems != nil {
			return false, problems
		}
		if r.waits() || r.standing.differs(was) {
			return true, nil
		}
		if !take {
			return false, nil
		}
		// Another start of the pipeline took the number. The next one is as good, unless it was a start that took the batches over:
		// a run that has lost them must not begin.
		if !r.standing.snapshot.Same(was.snapshot) {
			if err := r.holdsAll(ctx); err != nil {
				return false, r.explain(told(ctx, err), "")
			}
		}
		err := r.create()
		if err == nil {
			return false, nil
		}
		if !errors.As(err, new(*runstate.TakenError)) {
			return false, r.explain(err, "")
		}
	}
	return false, nil
}

// holdsAll looks whether the batches are still this run's; the error of one that is not is a *ledger.LostError.
func (r *run) holdsAll(ctx context.Context) error {
	for _, lease := range r.leases {
		if lease == nil {
			continue
		}
		view, err := r.ledger.Look(ctx, lease.Batch())
		if err != nil {
			return err
		}
		if view.Held == nil || view.Held.Holder.Run != r.record.ID {
			return lease.Release(ctx) // it finds out who took the batch
		}
	}
	return nil
}

// giveAllBack gives the batches back as they were. One that cannot be is judged by the next start.
func (r *run) giveAllBack(ctx context.Context) {
	for _, lease := range r.leases {
		if lease != nil {
			_ = lease.Release(context.WithoutCancel(ctx))
		}
	}
	r.leases = nil
}

// The time between two looks at a run that is waited for.
const (
	firstLook = 50 * time.Millisecond
	lastLook  = 2 * time.Second
)

// outwait waits until the run that lives has ended, or for as long as the start was told to. Nothing is held meanwhile.
func (r *run) outwait(ctx context.Context) problem.List {
	begun := r.Now()
	for pause, said := firstLook, false; ; pause = min(2*pause, lastLook) {
		if problems := r.decide(ctx); problems != nil || !r.waits() {
			return problems
		}
		x := r.standing.snapshot.Latest
		waited := r.Now().Sub(begun)
		if waited >= r.options.Wait {
			p := r.explainAlive(x)
			p.Code = problem.WaitTimedOut
			p.Message += "; waited " + waited.Round(time.Second).String() + " for it"
			return problem.List{p}
		}
		if pause > 10*firstLook && !said {
			said = true
			r.emit(report.Event{Kind: report.RunWaiting, Message: "waiting for " + r.aliveText(x)})
		}
		select {
		case <-ctx.Done():
			return r.explain(context.Cause(ctx), "")
		case <-time.After(min(pause, r.options.Wait-waited)):
		}
	}
}
