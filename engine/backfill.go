package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/ubunye-io/ubunye/engine/ledger"
	"github.com/ubunye-io/ubunye/engine/problem"
	"github.com/ubunye-io/ubunye/engine/report"
	"github.com/ubunye-io/ubunye/engine/runstate"
)

// Backfill says which dates to run, and how.
type Backfill struct {
	Range
	Parallel  int // runs at once
	OnFailure OnFailure
	Start     Starter
}

// OnFailure is what a backfill does when a date does not land.
type OnFailure int

// What a backfill does when a date does not land.
const (
	StopStarting OnFailure = iota // runs that go on are let finish
	KeepGoing                     // all dates are tried
	StopRunning                   // runs that go on are told to stop as well
)

// Starter makes a run of its own of what Engine.Run would do with these options, passes on what it tells, and returns
// when it has ended. The error is what Run's would be. When ctx ends it tells the run to stop, and waits for its end
// all the same. It is called from several goroutines.
type Starter func(ctx context.Context, o Options, r report.Reporter) error

// Backfill runs a pipeline for every date of a range whose batches are not all finished: one run a date, which has an
// id, a record and leases of its own, and does what Run would do with that date alone. Every date is planned before
// the first one is started, so that what is wrong with the pipeline or the range is found before anything is read.
//
// What became of each date is told by events. The error is a problem.List of what the runs told, the worst of which
// gives the exit code.
func (e *Engine) Backfill(ctx context.Context, o Options, b Backfill) error {
	started := e.Now()
	f, err := e.planBackfill(ctx, o, b)
	if err != nil {
		return err
	}
	f.states = f.endOthers(ctx, f.states) // where nothing is missing no start comes that does it
	f.runAll(ctx)
	f.sumUp(started)
	if len(f.problems) > 0 {
		return f.problems
	}
	return nil
}

// PlannedDate is what a backfill would do with one date now.
type PlannedDate struct {
	Date  string   `json:"date"`  // the value of the variable
	Tasks []string `json:"tasks"` // names of the tasks that would run; none: all are finished
}

// PlanBackfill tells what Backfill would do now. It changes nothing.
func (e *Engine) PlanBackfill(ctx context.Context, o Options, b Backfill) ([]PlannedDate, error) {
	b.Start = nil
	f, err := e.planBackfill(ctx, o, b)
	if err != nil {
		return nil, err
	}
	planned := make([]PlannedDate, len(f.runs))
	for i, d := range f.runs {
		planned[i] = PlannedDate{Date: d.result.Date, Tasks: append([]string{}, d.options.Tasks...)}
	}
	return planned, nil
}

// backfill is one Backfill being done.
type backfill struct {
	*run // of the first date; of it only the pipeline's settings and the ledger are used
	want Backfill
	*dates
	runs   []datedRun
	states []*runstate.Found // the unfinished runs of the run state, newest first

	mu          sync.Mutex // of what follows, and of the results in runs
	problems    problem.List
	stop        bool // no more are started
	stopRunning context.CancelCauseFunc
}

// datedRun is the run of one date.
type datedRun struct {
	options Options         // the tasks are those that are missing
	targets []ledger.Target // of these tasks
	result  report.Date
}

// planBackfill plans every date. With a Starter it also finishes what earlier runs had committed, as every start does:
// a batch that is committed and has not all landed is not missing, so no run of this backfill may come to land it.
func (e *Engine) planBackfill(ctx context.Context, o Options, b Backfill) (*backfill, error) {
	if o.LeaseOff {
		return nil, &problem.Problem{Code: problem.Usage, Message: "UBUNYE_RUN_LEASE=off: without a ledger nobody knows which dates are missing",
			Hint: "unset it, or run each date by itself"}
	}
	if b.Parallel < 1 {
		return nil, &problem.Problem{Code: problem.Usage, Message: fmt.Sprintf("--parallel %d is less than 1", b.Parallel)}
	}
	d, err := e.datesOf(o, b.Range)
	if err != nil {
		return nil, err
	}
	f := &backfill{dates: d, want: b}
	for _, value := range d.values {
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
		r, err := d.load(ctx, value)
		if err == nil && f.run == nil {
			f.run = r
			err = f.open(ctx)
		}
		if err != nil {
			return nil, err
		}
		f.runs = append(f.runs, f.planDate(ctx, r, value))
	}
	return f, f.checkApart(ctx)
}

func (f *backfill) open(ctx context.Context) (err error) {
	if err := f.openLedger(ctx); err != nil {
		return err
	}
	if f.states, err = f.stateFolder().List(ctx, f.config.Name, true); err != nil {
		return f.explain(&stateError{err: told(ctx, err)}, "")
	}
	if f.want.Start == nil {
		return nil
	}
	return f.finishCommitted(ctx)
}

// planDate chooses the tasks of a date that are to run: those whose batch is not finished, and those that they read
// from; of an unfinished run those that it was started with, since it goes on, and keeps what is finished. A document that cannot be read, a commit that could not be landed, or a finished append that would have to be
// made again, is for the run of the date to refuse, which says why.
func (f *backfill) planDate(ctx context.Context, r *run, value string) datedRun {
	d := datedRun{options: r.options, result: report.Date{Date: value}}
	d.options.Tasks = nil
	missing := map[string]bool{}
	for _, t := range slices.Backward(r.plan.Tasks) { // a task comes after those that it reads from
		view, err := f.ledger.Look(ctx, ledgerBatch(t.Batch))
		if err == nil && view.Finished != nil && len(view.Todo) == 0 && !r.options.Rerun && !missing[t.Name] {
			continue
		}
		missing[t.Name] = true
		for _, in := range t.Inputs {
			if in.From != nil {
				missing[in.From.Task] = true // only what the same run writes can be read from it
			}
		}
	}
	f.asStarted(r, missing)
	for _, t := range r.plan.Tasks {
		if !missing[t.Name] {
			continue
		}
		d.options.Tasks = append(d.options.Tasks, t.Name)
		if f.want.Parallel > 1 {
			for _, o := range t.Targets {
				d.targets = append(d.targets, targetOf(o, nil))
			}
		}
	}
	if len(d.options.Tasks) == 0 {
		d.result.Outcome = report.OutcomeSkipped
	}
	return d
}

// checkApart refuses runs at once that exclude each other: they would only refuse each other.
func (f *backfill) checkApart(ctx context.Context) error {
	runs := make([][]ledger.Target, len(f.runs))
	for i, d := range f.runs {
		runs[i] = d.targets
	}
	err := f.ledger.CheckApart(runs)
	var shared *ledger.SharedTargetError
	if !errors.As(err, &shared) {
		return err
	}
	a, b := f.runs[shared.A].result.Date, f.runs[shared.B].result.Date
	p := &problem.Problem{Code: problem.Usage, Cause: err, Data: untouched,
		Message: fmt.Sprintf("--parallel %d: the runs of %s and of %s write to %s, and one of the two replaces what is there, so they exclude each other", f.want.Parallel, a, b, shared.Path),
		Hint:    "leave out --parallel, so that one date comes after the other; or give each date a folder of its own"}
	r, err := f.dates.load(ctx, b)
	if err != nil {
		return err
	}
	for _, t := range r.plan.Tasks {
		for _, o := range t.Targets {
			if o.Path == shared.Path {
				p.Task, p.Output, p.Pos = t.Name, o.Name, o.PathPos
			}
		}
	}
	return p
}

// runAll starts the runs in the order of the dates, as many at once as are wanted, and waits for all.
func (f *backfill) runAll(ctx context.Context) {
	running, stopRunning := context.WithCancelCause(ctx)
	defer stopRunning(nil)
	f.stopRunning = stopRunning
	free := make(chan struct{}, f.want.Parallel)
	var all sync.WaitGroup
	for i := range f.runs {
		if f.runs[i].result.Outcome != "" {
			continue
		}
		select {
		case free <- struct{}{}:
		case <-ctx.Done():
		}
		if ctx.Err() != nil || f.stopped() {
			break
		}
		all.Go(func() {
			f.runOne(running, &f.runs[i])
			<-free
		})
	}
	all.Wait()
	if cause := context.Cause(ctx); cause != nil {
		f.problems = append(f.explain(cause, ""), f.problems...)
	}
}

func (f *backfill) stopped() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.stop
}

// errOtherFailed is why runs are told to stop when another date has failed.
var errOtherFailed = errors.New("another date has failed")

// runOne runs one date and tells how it ended.
func (f *backfill) runOne(ctx context.Context, d *datedRun) {
	started := f.Now()
	heard := &listener{to: f.Report, date: d.result.Date}
	problems := f.start(ctx, d, heard)

	f.mu.Lock()
	defer f.mu.Unlock()
	d.result.Run, d.result.Rows, d.result.Duration = heard.run, heard.rows, f.Now().Sub(started).Seconds()
	d.result.Outcome = heard.outcome(problems)
	if len(d.options.Tasks) == 0 {
		d.result.Outcome = report.OutcomeSkipped // another run has landed it meanwhile
	}
	if len(problems) > 0 {
		d.result.Reason = problems[0].Code
	}
	f.emit(report.Event{Kind: report.BatchFinished, Date: d.result.Date, Run: d.result.Run, Outcome: d.result.Outcome, Reason: d.result.Reason,
		Rows: number(d.result.Rows), Duration: d.result.Duration})
	toldToStop := d.result.Outcome == report.OutcomeCancelled && ctx.Err() != nil
	if len(problems) == 0 || toldToStop { // why they were is told once, not for every date
		return
	}
	f.problems = append(f.problems, problems...)
	f.stop = f.stop || f.want.OnFailure != KeepGoing
	if f.want.OnFailure == StopRunning {
		f.stopRunning(errOtherFailed)
	}
}

// start makes the run of a date. If it is refused because another run has finished a batch of it since it was planned,
// what is still missing is run.
func (f *backfill) start(ctx context.Context, d *datedRun, heard *listener) problem.List {
	heard.hide = func(c problem.Code) bool { return ctx.Err() != nil && isStop(c) }
	heard.keep = func(c problem.Code) bool { return c == problem.BatchFinished }
	for { // each time with fewer tasks
		err := f.want.Start(ctx, d.options, heard)
		if err == nil {
			return nil
		}
		problems, missing := f.explain(err, ""), d.options.Tasks
		if !slices.ContainsFunc(problems, func(p *problem.Problem) bool { return p.Code != problem.BatchFinished }) {
			r, err := f.loadAgain(ctx, d)
			if err != nil {
				return f.explain(err, "")
			}
			missing = f.planDate(ctx, r, d.result.Date).options.Tasks
		}
		if slices.Equal(missing, d.options.Tasks) {
			heard.tellKept()
			return problems
		}
		heard.kept, d.options.Tasks = nil, missing
		if len(missing) == 0 {
			return nil
		}
	}
}

func (f *backfill) loadAgain(ctx context.Context, d *datedRun) (*run, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.dates.load(ctx, d.result.Date)
}

func isStop(c problem.Code) bool { return c == problem.Interrupted || c == problem.Terminated }

// sumUp tells what became of all dates. Those that nobody started are cancelled.
func (f *backfill) sumUp(started time.Time) {
	s := &report.Backfill{Pipeline: f.config.Name, Variable: f.variable.Name, Every: string(f.every), Counts: map[report.Outcome]int{}, Dates: make([]report.Date, len(f.runs))}
	for _, o := range report.Outcomes() {
		s.Counts[o] = 0
	}
	for i, d := range f.runs {
		if d.result.Outcome == "" {
			d.result.Outcome = report.OutcomeCancelled
		}
		s.Dates[i] = d.result
		s.Counts[d.result.Outcome]++
		s.Rows += d.result.Rows
	}
	f.emit(report.Event{Kind: report.BackfillDone, Backfill: s, Duration: f.Now().Sub(started).Seconds()})
}

// listener passes on what the run of a date tells, and keeps what the summary needs.
type listener struct {
	to   report.Reporter
	date string
	hide func(problem.Code) bool // problems that are not told
	keep func(problem.Code) bool // problems that may turn out to be none
	kept []report.Event

	mu      sync.Mutex
	run     string
	rows    int64
	landed  int // outputs
	ignored int // outputs to which nothing was written
}

// Report upholds report.Reporter. That the run has ended is told by batch_finished.
func (l *listener) Report(e report.Event) {
	l.note(e)
	e.Date = l.date
	switch {
	case e.Kind == report.RunFinished, e.Problem != nil && l.hide(e.Problem.Code):
	case e.Problem != nil && l.keep(e.Problem.Code):
		l.kept = append(l.kept, e)
	default:
		l.to.Report(e)
	}
}

// tellKept passes on what was kept.
func (l *listener) tellKept() {
	for _, e := range l.kept {
		l.to.Report(e)
	}
}

func (l *listener) note(e report.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e.Run != "" {
		l.run = e.Run
	}
	switch e.Kind {
	case report.OutputLanded:
		l.landed++
		if e.Rows != nil {
			l.rows += *e.Rows
		}
	case report.OutputSkipped:
		l.ignored++
	}
}

// outcome is how a run ended that told these problems.
func (l *listener) outcome(problems problem.List) report.Outcome {
	all := func(is func(problem.Code) bool) bool {
		return !slices.ContainsFunc(problems, func(p *problem.Problem) bool { return !is(p.Code) })
	}
	switch {
	case len(problems) == 0 && l.landed == 0 && l.ignored > 0:
		return report.OutcomeSkipped
	case len(problems) == 0:
		return report.OutcomeLanded
	case all(isStop):
		return report.OutcomeCancelled
	case all(func(c problem.Code) bool { return c.Exit() == problem.ExitRefused }):
		return report.OutcomeRefused
	}
	return report.OutcomeFailed
}
