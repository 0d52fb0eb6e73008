package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/ubunye-io/ubunye/engine/ledger"
	"github.com/ubunye-io/ubunye/engine/plan"
	"github.com/ubunye-io/ubunye/engine/problem"
)

// Recovery is what a person decides, beyond what needs no decision.
type Recovery struct {
	SetAside string   // key of a batch whose document is damaged: the version before it counts again
	Forget   string   // id of a run of which what cannot be finished is given up
	Dead     []string // ids of runs that the person knows to be dead
}

// Recovered is what was done about what dead runs had left, without running anything.
type Recovered struct {
	Ledger    string             `json:"ledger"`              // path of the ledger
	Exists    bool               `json:"exists"`              // there is a ledger; if not, nothing was done
	SetAside  *SetAsideDocument  `json:"set_aside,omitempty"` // the document that was asked to be set aside
	Batches   []RecoveredBatch   `json:"batches"`             // batches of which something was done, or which are doubtful
	Stray     []string           `json:"stray"`               // staging folders of dead runs, named by no batch, that were removed
	Held      []HeldBatch        `json:"held"`                // batches that runs hold which are not dead: nothing of these runs was touched
	Left      []LeftWork         `json:"left"`                // what could not be done
	Forgotten []ForgottenWork    `json:"forgotten"`           // what was given up, as it was asked for
	Kept      []StrayStatus      `json:"kept"`                // staging folders named by no batch that were not removed
	Runs      []RunStatus        `json:"runs"`                // the records of runs that are left
	Unread    []UnreadableStatus `json:"unreadable"`          // files that are there and cannot be used
}

// RecoveredBatch is what became of one batch.
type RecoveredBatch struct {
	Task  string `json:"task"`  // name of the task
	Batch string `json:"batch"` // the variables that make it, as dt=2026-01-01; empty: it has none
	Key   string `json:"key"`   // key of the batch

	CommittedBy string           `json:"committed_by,omitempty"` // the run whose commit was finished
	Landed      int              `json:"landed"`                 // files that it had committed and that are at their final names now
	Removed     int              `json:"removed"`                // files of the batch that it had replaced
	Missing     int              `json:"missing"`                // files that it had committed and that are neither staged nor landed
	Dropped     int              `json:"dropped"`                // staging folders, and old data that was replaced
	TakenFrom   *DeadRun         `json:"taken_from,omitempty"`   // the dead run that held it; the batch is free now
	Doubtful    []DoubtfulStatus `json:"doubtful,omitempty"`     // outputs that hold rows of a run which ended before its commit
}

// DeadRun is a run that a batch was taken from.
type DeadRun struct {
	Run     string     `json:"run"`                      // id of the run
	Host    string     `json:"host"`                     // its host name
	PID     int        `json:"pid"`                      // its process id
	Beat    *time.Time `json:"last_heartbeat,omitempty"` // absent: it could not be read
	Certain bool       `json:"gone"`                     // it has certainly ended; else it gave no sign for too long, or a person said that it is dead
}

// HeldBatch is a batch that was left alone, because its holder is not dead.
type HeldBatch struct {
	Task  string `json:"task"`  // name of the task
	Batch string `json:"batch"` // the variables that make it
	Key   string `json:"key"`   // key of the batch
	HolderStatus
}

// LeftWork is something that could not be done. Nothing is lost: every start tries it again.
type LeftWork struct {
	Task   string `json:"task,omitempty"`   // name of the task; absent: it is not of one batch
	Batch  string `json:"batch,omitempty"`  // the variables that make it
	Run    string `json:"run,omitempty"`    // id of the run that left it
	Do     string `json:"do,omitempty"`     // as in status: land, remove or drop
	Output string `json:"output,omitempty"` // name of the output
	Path   string `json:"path"`             // the file or folder that stood in the way
	Reason string `json:"reason"`           // why it could not be done
}

// ForgottenWork is work that was given up: whose names these are is the person's business now.
type ForgottenWork struct {
	Task   string   `json:"task"`            // name of the task
	Batch  string   `json:"batch"`           // the variables that make it
	Do     string   `json:"do"`              // land, remove or drop
	Output string   `json:"output"`          // name of the output
	Path   string   `json:"path"`            // the output folder; of drop, the staging folder
	Staged string   `json:"staged"`          // the staging folder in which files of land may still be
	Names  []string `json:"names,omitempty"` // final names of the files, below path
	Reason string   `json:"reason"`          // why it could not be done
}

// SetAsideDocument tells what became of a damaged document.
type SetAsideDocument struct {
	Readable bool            `json:"readable"`           // it was not damaged, and nothing was changed
	Task     string          `json:"task"`               // name of the task
	Batch    string          `json:"batch"`              // the variables that make it
	Kept     string          `json:"kept"`               // path of the damaged file
	Before   string          `json:"before"`             // path of the version that counts again
	Document string          `json:"document"`           // path of the document that was made of it
	Finished *FinishedStatus `json:"finished,omitempty"` // the last commit that it knows
	Missed   []string        `json:"missed"`             // files that are younger than that version and claimed by no batch: what was lost may have landed them
}

// Recover does for a pipeline, without running it, what the starts of all its batches would do about dead runs, and
// what a person decides besides. It needs no variables. The error is a problem.List if something could not be done;
// what was done is told all the same.
func (e *Engine) Recover(ctx context.Context, o Options, q Recovery) (Recovered, error) {
	o.AllowUnset, o.LeaseOff = true, false // it is about the ledger and nothing else
	pipeline, err := loadPipeline(o)
	if err != nil {
		return Recovered{}, err
	}
	r := &run{Engine: e, options: o, config: pipeline, plan: &plan.Plan{}}
	if err := r.openLedger(ctx); err != nil {
		return Recovered{}, err
	}
	did := Recovered{Ledger: r.ledger.Path(), Batches: []RecoveredBatch{}, Stray: []string{}, Held: []HeldBatch{}, Left: []LeftWork{}, Forgotten: []ForgottenWork{},
		Kept: []StrayStatus{}, Runs: []RunStatus{}, Unread: []UnreadableStatus{}}
	before, err := r.ledger.Status(ctx, pipeline.Name)
	if err != nil || before.ID == "" {
		return did, r.problemOf(ctx, err)
	}
	did.Exists = true
	if err := known(before, q); err != nil {
		return did, err
	}
	if q.SetAside != "" {
		if did.SetAside, err = r.setAside(ctx, q.SetAside); err != nil {
			return did, r.problemOf(ctx, err)
		}
	}
	recovered, err := r.ledger.Recover(ctx, ledger.Recovery{Pipeline: pipeline.Name, Dead: q.Dead, Waiting: r.waiting})
	did.note(recovered, r.pending)
	if err != nil {
		return did, r.problemOf(ctx, err)
	}
	if q.Forget != "" {
		given, err := r.ledger.Forget(ctx, q.Forget)
		r.noteForgotten(&did, given)
		if err != nil {
			return did, r.problemOf(ctx, err)
		}
	}
	return did, r.recoverLeft(ctx, &did, leftOf(recovered, q.Forget))
}

// leftOf lists what could not be done, each thing once, without what was given up.
func leftOf(rec ledger.Recovered, forgotten string) (all []ledger.Left) {
	left := slices.Clone(rec.Left)
	for _, t := range rec.Takeovers {
		left = append(left, t.Left...)
	}
	seen := map[string]bool{}
	for _, l := range left {
		id := l.Batch.Name() + " " + l.Path + " " + l.Entry.Run + " " + l.Entry.Output + " " + string(l.Entry.Do)
		if !seen[id] && (l.Entry.Do == "" || l.Entry.Run != forgotten) {
			all = append(all, l)
		}
		seen[id] = true
	}
	return all
}

// known refuses runs that the ledger does not know: a word that was mistyped would do nothing, and say so to nobody.
func known(st ledger.LedgerStatus, q Recovery) error {
	runs := map[string]bool{}
	for _, rec := range st.Records {
		runs[rec.Run] = true
	}
	for _, b := range st.Batches {
		if b.Held != nil {
			runs[b.Held.Holder.Run] = true
		}
		for _, e := range b.Todo {
			runs[e.Run] = true
		}
		for _, t := range b.Tried {
			runs[t.Run] = true
		}
	}
	for _, asked := range append(slices.Clone(q.Dead), q.Forget) {
		if asked != "" && !runs[asked] {
			return &problem.Problem{Code: problem.Usage, Message: "the ledger knows nothing of a run " + asked, Data: "nothing was changed", Hint: "ubunye status lists the runs"}
		}
	}
	return nil
}

// problemOf explains an error of recovering. It is nil for nil.
func (r *run) problemOf(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	const goesOn = "what was done stays done"
	list := r.explain(told(ctx, err), "")
	for _, p := range list {
		switch p.Code {
		case problem.Interrupted, problem.Terminated:
			p.Data, p.Hint = goesOn, "start it again: it goes on where it was"
		case problem.RunLeaseHeld, problem.Usage:
		default:
			p.Data = goesOn
		}
	}
	return list
}

// note takes over what the ledger did, a batch at a time.
func (did *Recovered) note(rec ledger.Recovered, pending func(ledger.Pending) DoubtfulStatus) {
	at := map[string]int{}
	batch := func(b ledger.Batch) *RecoveredBatch {
		i, is := at[b.Name()]
		if !is {
			i = len(did.Batches)
			at[b.Name()] = i
			did.Batches = append(did.Batches, RecoveredBatch{Task: b.Task, Batch: variablesText(b.Variables, b.Profile), Key: b.Key})
		}
		return &did.Batches[i]
	}
	doubt := func(b *RecoveredBatch, kept []ledger.Kept, tables []ledger.Pending) {
		for _, k := range kept {
			b.Doubtful = doubted(b.Doubtful, DoubtfulStatus{Output: k.Output, Run: k.Run})
		}
		for _, p := range tables {
			b.Doubtful = doubted(b.Doubtful, pending(p))
		}
	}
	for _, c := range rec.Completed {
		b := batch(c.Batch)
		b.CommittedBy, b.Landed, b.Removed, b.Missing, b.Dropped = c.Run, c.Landed, c.Removed, c.Missing, c.Dropped
		doubt(b, c.Kept, c.Pending)
	}
	for _, t := range rec.Takeovers {
		b := batch(t.Batch)
		b.Dropped += t.Dropped
		b.TakenFrom = &DeadRun{Run: t.Dead.Run, Host: t.Dead.Host, PID: t.Dead.PID, Certain: t.Certain}
		if !t.Beat.IsZero() {
			beat := t.Beat.UTC()
			b.TakenFrom.Beat = &beat
		}
		doubt(b, t.Kept, t.Pending)
	}
	did.Stray = append(did.Stray, rec.Stray...)
	for _, h := range rec.Held {
		did.Held = append(did.Held, HeldBatch{Task: h.Batch.Task, Batch: variablesText(h.Batch.Variables, h.Batch.Profile), Key: h.Batch.Key, HolderStatus: holderStatus(h)})
	}
}

func (r *run) noteForgotten(did *Recovered, given []ledger.Left) {
	for _, l := range given {
		w := r.workStatus(l.Entry)
		_, staging := r.ledger.Paths(l.Entry)
		did.Forgotten = append(did.Forgotten, ForgottenWork{Task: l.Batch.Task, Batch: variablesText(l.Batch.Variables, l.Batch.Profile),
			Do: w.Do, Output: w.Output, Path: w.Path, Staged: staging, Names: l.Entry.Names, Reason: l.Err.Error()})
	}
}

// recoverLeft looks at what there is now, and makes a problem of each thing that could not be done.
func (r *run) recoverLeft(ctx context.Context, did *Recovered, left []ledger.Left) error {
	var problems problem.List
	for _, l := range left {
		if errors.As(l.Err, new(*ledger.UnreadableError)) {
			problems = append(problems, r.explain(l.Err, l.Batch.Task)...)
			continue
		}
		w := LeftWork{Task: l.Batch.Task, Run: l.Entry.Run, Do: string(l.Entry.Do), Output: l.Entry.Output, Path: l.Path, Reason: l.Err.Error()}
		if l.Batch.Task != "" {
			w.Batch = variablesText(l.Batch.Variables, l.Batch.Profile)
		}
		did.Left = append(did.Left, w)
		problems = append(problems, r.leftProblem(l))
	}
	st, err := r.ledger.Status(context.WithoutCancel(ctx), r.config.Name)
	if err != nil {
		return r.problemOf(ctx, err)
	}
	did.Runs, did.Unread, did.Kept = r.runStatuses(st), r.unreadable(st), strays(st)
	for _, u := range st.Unreadable {
		if !slices.ContainsFunc(problems, func(p *problem.Problem) bool {
			var known *ledger.UnreadableError
			return errors.As(p, &known) && known.Path == u.Path
		}) {
			problems = append(problems, r.explain(u, "")...)
		}
	}
	if len(problems) == 0 {
		return nil
	}
	return problems
}

// leftProblem is one thing that could not be done.
func (r *run) leftProblem(l ledger.Left) *problem.Problem {
	p := &problem.Problem{Code: problem.WorkLeft, Task: l.Batch.Task, Output: l.Entry.Output, Cause: l.Err,
		Message: fmt.Sprintf("%s: %v", l.Path, l.Err), Data: "nothing is lost: every start tries it again", Hint: "remove the cause; then: " + r.recoverCommand()}
	if l.Entry.Do != "" {
		p.Message = fmt.Sprintf("what run %s left of batch %s cannot be finished: %s: %s: %v", l.Entry.Run, ledgerBatchText(l.Batch), l.Entry.Do, l.Path, l.Err)
		p.Hint += " ; if that can never be, give it up: " + r.recoverCommand("--forget", l.Entry.Run)
	}
	return p
}

// setAside puts the version before a damaged document in its place.
func (r *run) setAside(ctx context.Context, key string) (*SetAsideDocument, error) {
	damage, err := r.ledger.SetAside(ctx, key)
	switch {
	case errors.Is(err, ledger.ErrReadable):
		return &SetAsideDocument{Readable: true, Missed: []string{}}, nil
	case errors.Is(err, fs.ErrNotExist):
		return nil, &problem.Problem{Code: problem.Usage, Message: "no batch has the key " + key, Data: "nothing was changed", Hint: "ubunye status lists the batches and their keys; what is unreadable is listed with its path"}
	case err != nil:
		return nil, err
	}
	s := &SetAsideDocument{Task: damage.Batch.Task, Batch: variablesText(damage.Batch.Variables, damage.Batch.Profile), Kept: damage.Kept, Before: damage.Before,
		Document: damage.Document, Missed: append([]string{}, damage.Unclaimed...)}
	if damage.Finished != nil {
		s.Finished = finishedStatus(damage.Finished)
	}
	return s, nil
}
