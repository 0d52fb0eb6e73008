package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ubunye-io/ubunye/engine/compute"
	"github.com/ubunye-io/ubunye/engine/config"
	"github.com/ubunye-io/ubunye/engine/ledger"
	"github.com/ubunye-io/ubunye/engine/plan"
	"github.com/ubunye-io/ubunye/engine/problem"
)

// MarkChange is what a person wants of the batch of an incremental task.
type MarkChange struct {
	Task      string
	Input     string  // that goes on elsewhere
	Mark      *string // of one that is read by a column: rows above this value are read
	Seen      string  // of one that is read by files: those that count as read: "all" that are there, "none", or those written before a time
	DropRange bool    // what was to be read next is chosen anew
	Who       string
	Reason    string
}

// ChangedMark is what was done.
type ChangedMark struct {
	Task  string `json:"task"`            // name of the task
	Batch string `json:"batch"`           // the variables that make its batch, as region=eu; empty: it has none
	Key   string `json:"key"`             // key of the batch
	Input string `json:"input,omitempty"` // name of the input; absent: it is about all of the task's
	Was   string `json:"was"`             // where it would have gone on, or what was to be read
	Now   string `json:"now"`             // where it goes on
}

// StateSet has an input of an incremental task go on from where a person says, or what was to be read next chosen anew. It is
// refused while a run holds the batch.
func (e *Engine) StateSet(ctx context.Context, o Options, q MarkChange) (ChangedMark, error) {
	o.Tasks, o.LeaseOff = nil, false // it is about the ledger and nothing else
	r, err := e.load(ctx, o)
	if err != nil {
		return ChangedMark{}, err
	}
	t, in, err := r.incrementalTask(q)
	if err != nil {
		return ChangedMark{}, err
	}
	if err := r.openLedger(ctx); err != nil {
		return ChangedMark{}, err
	}
	did := ChangedMark{Task: t.Name, Batch: batchText(t.Batch), Key: t.Batch.Key, Input: q.Input}
	request := ledger.Request{Batch: ledgerBatch(t.Batch)}
	if err := r.ledger.Refusal(ctx, request); err != nil {
		return did, r.explain(told(ctx, err), t.Name)
	}
	m, err := r.newMark(ctx, t, in, q)
	if err != nil {
		return did, r.unchangedMark(told(ctx, err), t.Name)
	}
	if r.record, err = r.ledger.Begin(ctx, ledger.RunInfo{Pipeline: r.config.Name, Batches: []ledger.Batch{request.Batch}}); err != nil {
		return did, r.explain(told(ctx, err), t.Name)
	}
	defer r.end(ctx, ledger.Succeeded)
	leases, err := r.record.Acquire(r.record.Context(), []ledger.Request{request})
	r.tellTakeovers()
	if err != nil {
		return did, r.explain(told(ctx, err), t.Name)
	}
	err = r.setMark(ctx, leases[0], t, in, m, q, &did)
	if released := leases[0].Release(context.WithoutCancel(ctx)); err == nil {
		err = released
	}
	return did, r.unchangedMark(err, t.Name)
}

// unchangedMark explains an error of a change that was not made.
func (r *run) unchangedMark(err error, task string) error {
	if err == nil {
		return nil
	}
	problems := r.explain(err, task)
	for _, p := range problems {
		p.Data = "nothing was changed"
	}
	return problems
}

// incrementalTask finds what a change is about.
func (r *run) incrementalTask(q MarkChange) (plan.Task, config.Input, error) {
	var names []string
	for _, t := range r.plan.Tasks {
		names = append(names, t.Name)
	}
	at := slices.Index(names, q.Task)
	if at < 0 {
		return plan.Task{}, config.Input{}, &problem.Problem{Code: problem.Usage, Message: fmt.Sprintf("there is no task %q", q.Task), Hint: config.DidYouMean(q.Task, names)}
	}
	t := r.plan.Tasks[at]
	var inputs []string
	var found config.Input
	for _, in := range t.Inputs {
		if in.Incremental != nil {
			inputs = append(inputs, in.Name)
		}
		if in.Name == q.Input {
			found = in
		}
	}
	p := &problem.Problem{Code: problem.Usage, Task: t.Name, Pos: found.Pos}
	switch {
	case len(inputs) == 0 && !q.DropRange:
		p.Pos, p.Message = t.Pos, "none of its inputs is read incrementally"
		return t, found, p
	case q.DropRange:
		return t, found, nil
	case found.Incremental == nil:
		p.Message, p.Hint = fmt.Sprintf("it has no incremental input %q", q.Input), config.DidYouMean(q.Input, inputs)
		return t, found, p
	case q.Mark != nil && found.Incremental.Column == "":
		p.Message, p.Hint = "input "+found.Name+" is read by files, and a mark is a value of a column", "say which files count as read: --seen all, --seen none or --seen TIME"
		return t, found, p
	case q.Mark == nil && found.Incremental.Column != "":
		p.Message, p.Hint = "input "+found.Name+" is read by the column "+found.Incremental.Column+", not by files", "say above which value it goes on: --mark VALUE"
		return t, found, p
	}
	return t, found, nil
}

// newMark makes the mark that was asked for; nil: none was.
func (r *run) newMark(ctx context.Context, t plan.Task, in config.Input, q MarkChange) (*mark, error) {
	switch {
	case q.DropRange:
		return nil, nil
	case q.Mark != nil:
		return &mark{Value: q.Mark}, r.tryMark(ctx, t, in, *q.Mark)
	case q.Seen == "none":
		return &mark{Files: &seenSet{}}, nil
	}
	before := time.Time{}
	if q.Seen != "all" {
		var err error
		if before, err = parseSeen(q.Seen); err != nil {
			return nil, err
		}
	}
	files, err := r.filesOf(ctx, t.Name, in, false)
	if err != nil {
		return nil, err
	}
	var keys []string
	for _, f := range files {
		if q.Seen == "all" || f.ModTime.Before(before) {
			keys = append(keys, r.named(f).key())
		}
	}
	seen := seenSet{}.then(keys)
	return &mark{Files: &seen}, nil
}

// parseSeen reads a time, or a date, of which the first instant is meant; UTC if it names no zone.
func parseSeen(text string) (time.Time, error) {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02 15:04:05", "2006-01-02T15:04:05", "2006-01-02 15:04", time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, nil
		}
	}
	return time.Time{}, &problem.Problem{Code: problem.Usage, Message: fmt.Sprintf("--seen: %q is neither all nor none nor a time", text), Hint: "write a time like 2026-01-31T06:00:00Z or a date"}
}

// tryMark refuses what is no value of the column, if that can be read now; else the next run says so.
func (r *run) tryMark(ctx context.Context, t plan.Task, in config.Input, text string) error {
	had, err := r.shapesOf(ctx, t, nil)
	if err != nil {
		return err
	}
	settings := r.computeSettings(t.Name)
	settings.Spill = r.spillFolder("set")
	session, err := r.Compute.Open(ctx, settings)
	if err != nil {
		return err
	}
	defer session.Close()
	asked := r.asked(in, nil)
	asked.Known = had.known(in)
	relation, _, err := session.Input(ctx, asked)
	if err == nil {
		_, err = session.Greatest(ctx, relation, in.Incremental.Column, &compute.Value{Text: text})
	}
	var e *compute.Error
	if errors.As(err, &e) && e.Kind != compute.BadOption {
		return nil
	}
	return err
}

// setMark makes the change, under the lease.
func (r *run) setMark(ctx context.Context, lease *ledger.Lease, t plan.Task, in config.Input, m *mark, q MarkChange, did *ChangedMark) error {
	by := ledger.Decision{Who: q.Who, At: r.Now().UTC().Truncate(time.Second), Reason: q.Reason}
	if m == nil {
		return r.dropRange(ctx, lease, t, by, did)
	}
	did.Was = "at the beginning"
	if f := lease.Finished(); f != nil {
		did.Was = "where no commit tells"
		if s, ok := spansOf(f.Range)[in.Name]; ok {
			did.Was = s.markText()
		}
	}
	var old mark
	if json.Unmarshal(lease.Marks()[in.Name], &old) == nil && old != (mark{}) {
		did.Was = old.text()
	}
	did.Now = m.text()
	data, err := json.Marshal(m)
	if err != nil {
		return err
	}
	by.Did = fmt.Sprintf("input %s: goes on: %s; it was: %s", in.Name, did.Now, did.Was)
	return lease.SetMarks(ctx, map[string]json.RawMessage{in.Name: data}, by)
}

// dropRange has what is to be read chosen anew. It is safe where nothing that a run has not committed can be in an output.
func (r *run) dropRange(ctx context.Context, lease *ledger.Lease, t plan.Task, by ledger.Decision, did *ChangedMark) error {
	pinned := lease.Range()
	if pinned == nil {
		did.Was, did.Now = "nothing was pinned", "it is as it was"
		return nil
	}
	for _, o := range t.Targets {
		if o.Class != string(ledger.Claims) {
			return &outputError{target: o, err: &problem.Problem{Code: problem.WorkLeft, Pos: o.ModePos, Data: untouched,
				Message: fmt.Sprintf("refused: what was to be read next may be in %s already, which a run replaces before its commit", o.Written),
				Hint:    "run the task, which reads just that again and replaces it"}}
		}
	}
	did.Now = "chosen anew by the next run"
	spans := spansOf(pinned)
	for _, in := range t.Inputs {
		if s, ok := spans[in.Name]; ok {
			if did.Was != "" {
				did.Was += "; "
			}
			did.Was += "input " + in.Name + ": " + s.text()
		}
	}
	by.Did = "what is to be read is chosen anew; it was: " + did.Was
	return lease.DropRange(ctx, &by)
}
