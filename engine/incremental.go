package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ubunye-io/ubunye/engine/compute"
	"github.com/ubunye-io/ubunye/engine/config"
	"github.com/ubunye-io/ubunye/engine/ledger"
	"github.com/ubunye-io/ubunye/engine/problem"
	"github.com/ubunye-io/ubunye/engine/report"
	"github.com/ubunye-io/ubunye/engine/runstate"
)

// An incremental input reads what no commit of its batch has read. What the inputs of a task are to read is pinned in the ledger
// before it is read, and becomes the commit's with the commit, so each slice is in the output exactly as often as it counts as
// read: once. A run that follows one that died reads the slice which that had pinned.

// nothingNew ends a task that found nothing to read. It is no failure.
type nothingNew struct{ text string }

func (e *nothingNew) Error() string { return "nothing new: " + e.text }

// openedInput is an input that the session has opened.
type openedInput struct {
	asked    compute.Input
	relation compute.Relation
	files    []compute.File
}

// pin settles what the incremental inputs are to read, and has it saved before it is read. The error is a *nothingNew if none of
// them has anything new.
func (b *batch) pin(ctx context.Context) error {
	if !b.task.Incremental() {
		return nil
	}
	for _, in := range b.task.Inputs {
		if in.Incremental != nil && in.Incremental.Column != "" && !isDatabase(in) {
			o, err := b.open(ctx, in)
			if err != nil {
				return err
			}
			b.opened[in.Name] = o
		}
	}
	r, again := b.lease.Range(), true
	if r != nil {
		var err error
		if r, err = b.settledRange(ctx, r); err != nil {
			return err
		}
	}
	if r == nil {
		var err error
		if r, err = b.findNew(ctx); err != nil {
			return err
		}
		again = false
	}
	if err := b.lease.Pin(ctx, r); err != nil {
		return err
	}
	for _, in := range b.task.Inputs {
		if s, ok := b.spans[in.Name]; ok {
			b.tellRange(in, s, again)
		}
	}
	return nil
}

// tellRange tells what an input reads.
func (b *batch) tellRange(in config.Input, s span, again bool) {
	text := "reads " + s.text()
	switch {
	case again && b.lease.Reruns():
		text = "reads again what the last commit read: " + s.text()
	case again:
		text = "reads what a run before this one was to read and did not commit: " + s.text()
	}
	b.emit(report.Event{Kind: report.RangePinned, Task: b.task.Name, Batch: batchText(b.task.Batch), Input: in.Name, Message: text + b.left[in.Name]})
}

// settledRange takes a range that is not for this run to choose: one that is pinned, or that of the last commit, which is to be
// replaced. nil: it had to be given up, and is chosen anew.
func (b *batch) settledRange(ctx context.Context, r json.RawMessage) (json.RawMessage, error) {
	b.spans = spansOf(r)
	names := map[string]bool{}
	for _, in := range b.task.Inputs {
		if in.Incremental == nil {
			continue
		}
		names[in.Name] = true
		if s, ok := b.spans[in.Name]; !ok || !s.isOf(*in.Incremental) {
			return nil, b.otherRange(in.Incremental.Pos, "input "+in.Name+": what is to be read was settled when the input was declared otherwise")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(b.spans)) {
		if !names[name] {
			return nil, b.otherRange(b.task.Pos, "what is to be read was settled when there was an incremental input "+name)
		}
	}
	for _, in := range b.task.Inputs {
		s := b.spans[in.Name]
		if s.Files == nil {
			continue
		}
		for _, f := range s.Files.Read {
			p := changed(in, b.fileOf(f))
			if p == nil {
				continue
			}
			if given, err := b.giveUpRange(ctx, in, f, r); given || err != nil {
				return nil, err
			}
			return nil, b.lostFile(in, f, r)
		}
	}
	return r, nil
}

// otherRange refuses a pinned range that is not of the task as it is declared now.
func (b *batch) otherRange(pos problem.Pos, message string) *problem.Problem {
	return &problem.Problem{Code: problem.ConfigInvalid, Pos: pos, Task: b.task.Name, Data: nothing, Message: message,
		Hint: "declare it as it was until that is committed; or have it chosen anew: " + b.setCommand(b.task.Name, "--drop-range")}
}

// giveUpRange has the range chosen anew where a file of it was written again since it was pinned: all of that file counts as new,
// so no row is missed, and as nothing of a run that did not commit is in an output, none is there twice. False: that cannot be said.
func (b *batch) giveUpRange(ctx context.Context, in config.Input, f readFile, r json.RawMessage) (bool, error) {
	last := b.lease.Finished()
	if !fileThere(b.fileOf(f).Path) || !b.onlyClaims() || b.options.Rerun || last != nil && b.lease.Reruns() {
		return false, nil
	}
	if err := b.lease.DropRange(ctx, nil); err != nil {
		return false, err
	}
	b.warn(fmt.Sprintf("task %s, input %s: %s was written again since a run that did not commit had chosen it; what is new is chosen anew", b.task.Name, in.Name, b.fileOf(f).Path))
	b.spans = nil
	return true, nil
}

// onlyClaims tells whether nothing of a run can be in any output before its commit.
func (b *batch) onlyClaims() bool {
	for _, t := range b.task.Targets {
		if t.Class != string(ledger.Claims) {
			return false
		}
	}
	return true
}

// lostFile refuses a slice that cannot be read any more as it was.
func (b *batch) lostFile(in config.Input, f readFile, r json.RawMessage) *problem.Problem {
	p := changed(in, b.fileOf(f))
	p.Code, p.Task, p.Data = problem.InputMissing, b.task.Name, nothing
	what := "is gone"
	if fileThere(b.fileOf(f).Path) {
		p.Code, what = problem.InputInvalid, "was written again"
	}
	p.Message = fmt.Sprintf("input %s: the file %s since it was chosen to be read", in.Name, what)
	drop := b.setCommand(b.task.Name, "--drop-range")
	switch {
	case b.lease.Reruns():
		p.Message += ", by a rerun of the last commit that did not end well"
		p.Hint = "bring it back; or keep what the last commit landed: " + drop
	case b.options.Rerun:
		p.Message = fmt.Sprintf("input %s: the file %s since the last commit read it, so that commit cannot be replaced by the same rows", in.Name, what)
		p.Hint = "bring it back; without --rerun the task reads what is new"
	default:
		p.Hint = "bring it back; or, if its rows are not wanted: " + drop
	}
	return p
}

// findNew finds what is new in every incremental input, as a range.
func (b *batch) findNew(ctx context.Context) (json.RawMessage, error) {
	if last := b.lease.Finished(); b.options.Rerun && last != nil {
		return nil, &problem.Problem{Code: problem.ConfigInvalid, Pos: b.task.Pos, Task: b.task.Name, Data: nothing,
			Message: fmt.Sprintf("the last commit (run %s) was not made incrementally, so --rerun cannot read again what it read", last.Run),
			Hint:    "run without --rerun, once it is said where each input goes on"}
	}
	b.spans, b.left = map[string]span{}, map[string]string{}
	var none []string
	news := false
	for _, in := range b.task.Inputs {
		if in.Incremental == nil {
			continue
		}
		s, left, err := b.newIn(ctx, in)
		if err != nil {
			return nil, err
		}
		b.spans[in.Name], b.left[in.Name] = s, left
		news = news || !s.empty()
		none = append(none, "input "+in.Name+": "+s.text()+left)
	}
	if !news {
		return nil, &nothingNew{strings.Join(none, "; ")}
	}
	if err := cmp.Or(b.columnless(), b.readElsewhere(ctx)); err != nil {
		return nil, err
	}
	return json.Marshal(b.spans)
}

// readElsewhere refuses to begin a batch with what the task's last commit, of another batch, has read: marks are those of a batch,
// so that it would land again.
func (b *batch) readElsewhere(ctx context.Context) error {
	if b.lease.Finished() != nil || len(b.lease.Marks()) > 0 || len(b.task.Batch.Variables) == 0 {
		return nil
	}
	last, other, err := b.ledger.Newest(ctx, ledgerBatch(b.task.Batch))
	if err != nil || last == nil {
		return err
	}
	spans := spansOf(last.Range)
	for _, in := range b.task.Inputs {
		is, was := b.spans[in.Name], spans[in.Name]
		what := ""
		switch {
		case is.Files != nil && was.Files != nil:
			if n := was.Files.among(is.Files.Read); n > 0 {
				what = fmt.Sprintf("%d of the %s that are new to it", n, report.Count(int64(len(is.Files.Read)), "file"))
			}
		case is.Column != nil && was.Column != nil && is.Column.Path == was.Column.Path && was.Column.UpTo != nil:
			what = was.Column.Path + " up to " + was.Column.Name + " " + *was.Column.UpTo
		}
		if what == "" {
			continue
		}
		set := []string{"--input", in.Name, "--seen", "none"}
		if is.Column != nil {
			set = []string{"--input", in.Name, "--mark", *was.Column.UpTo}
		}
		return &problem.Problem{Code: problem.ConfigInvalid, Pos: in.Incremental.Pos, Task: b.task.Name, Data: nothing,
			Message: fmt.Sprintf("input %s: this is the first run of batch %s, and batch %s has read %s: each batch has a mark of its own, so these rows would land again",
				in.Name, batchText(b.task.Batch), ledgerBatchText(other), what),
			Hint: "to go on with one mark, leave the variable that differs out of the batch, by batch: with the others, or batch: []; else say where this batch begins: " + b.setCommand(b.task.Name, set...)}
	}
	return nil
}

// columnless refuses an input that has nothing new, and of which nobody knows what columns it would have.
func (b *batch) columnless() error {
	for _, in := range b.task.Inputs {
		if s := b.spans[in.Name]; s.Files != nil && s.empty() && hasShape(in) && len(b.shapes.known(in)) == 0 {
			return &problem.Problem{Code: problem.InputMissing, Pos: in.PathPos, Task: b.task.Name, Data: nothing,
				Message: fmt.Sprintf("input %s: it has nothing new, and as no run of the task has read it yet, its columns are not known", in.Name), Hint: "declare columns:, so that the others can be read without it"}
		}
	}
	return nil
}

// newIn finds what is new in one input; left says what is left for a later run.
func (b *batch) newIn(ctx context.Context, in config.Input) (s span, left string, err error) {
	on, err := b.readsOn(b.task.Name, in, b.lease.Finished(), b.lease.Marks())
	if err != nil {
		return s, "", err
	}
	if in.Incremental.Column == "" {
		s.Files, left, err = b.newFiles(ctx, b.task.Name, in, on.files, b.record.Now())
		return s, left, err
	}
	if isDatabase(in) {
		s.Column, err = b.newInDatabase(ctx, b.session, b.task.Name, in, on.value)
		return s, "", err
	}
	s.Column, err = b.newRows(ctx, b.session, b.task.Name, in, b.opened[in.Name].relation, on.value)
	return s, "", err
}

// newRows finds the rows that come after a value.
func (r *run) newRows(ctx context.Context, session compute.Session, task string, in config.Input, relation compute.Relation, after *compute.Value) (*columnSpan, error) {
	g, err := session.Greatest(ctx, relation, in.Incremental.Column, after)
	if err != nil {
		return nil, err
	}
	return r.newAfter(task, in, after, g)
}

// newAfter makes a span of the rows that come after a value, of what is known of the column.
func (r *run) newAfter(task string, in config.Input, after *compute.Value, g compute.Greatest) (*columnSpan, error) {
	p := &problem.Problem{Code: problem.InputInvalid, Pos: in.Incremental.Pos, Task: task, Data: nothing}
	switch {
	case after != nil && g.After == nil:
		p.Code = problem.SchemaDiffers
		p.Message = fmt.Sprintf("input %s: the column %s is a %s, and was a %s when it was read up to %s: which rows come after that cannot be told", in.Name, in.Incremental.Column, g.Type, after.Type, after.Text)
		p.Hint = "declare the column as " + after.Type + "; or say where it goes on: " + r.setCommand(task, "--input", in.Name, "--mark", after.Text)
		return nil, p
	case g.Nulls > 0:
		p.Message = fmt.Sprintf("input %s: %s without a value of %s: no run would ever read them", in.Name, have(g.Nulls), in.Incremental.Column)
		p.Hint = "give them a value, or read by another column"
		return nil, p
	}
	s := &columnSpan{Name: in.Incremental.Column, Type: g.Type, Path: in.Written, After: g.After, UpTo: g.After}
	if g.Above {
		s.UpTo = g.Text
	}
	return s, nil
}

func have(rows int64) string {
	if rows == 1 {
		return "1 row is"
	}
	return report.Count(rows, "row") + " are"
}

// narrow leaves of an input that is read by a column the rows that are to be read.
func (b *batch) narrow(ctx context.Context, in config.Input, relation compute.Relation) error {
	c := b.spans[in.Name].Column
	if c == nil || isDatabase(in) { // which has narrowed them itself
		return nil
	}
	err := b.session.Narrow(ctx, relation, compute.Window{Column: c.Name, Type: c.Type, After: c.After, UpTo: c.UpTo})
	var e *compute.Error
	if errors.As(err, &e) && e.Kind == compute.BadOption {
		return &problem.Problem{Code: problem.SchemaDiffers, Pos: in.Incremental.Pos, Task: b.task.Name, Data: nothing, Cause: err,
			Message: fmt.Sprintf("input %s: column %s: %s when it was settled which rows are to be read", in.Name, c.Name, e.Message),
			Hint:    "declare the column as " + c.Type + "; or have it chosen anew: " + b.setCommand(b.task.Name, "--drop-range")}
	}
	return err
}

// objects is how far the incremental inputs of the task were read, for the run state: a copy of what the ledger has.
func (b *batch) objects() []runstate.ObjectState {
	var all []runstate.ObjectState
	for _, in := range b.task.Inputs {
		s, ok := b.spans[in.Name]
		if !ok {
			continue
		}
		state := any(s)
		if s.Files != nil { // their names are in the ledger
			state = map[string]map[string]int{"files": {"read": len(s.Files.Read), "seen": s.Files.count()}}
		}
		data, err := json.Marshal(state)
		if err == nil { // it is made of text and numbers
			all = append(all, runstate.ObjectState{Object: in.Name, State: data})
		}
	}
	return all
}

// setCommand is how the person would call state set for a task of this pipeline, ready to be pasted into a shell.
func (r *run) setCommand(task string, flags ...string) string {
	words := []string{"ubunye"}
	if len(r.options.Command) > 0 {
		words[0] = r.options.Command[0]
	}
	words = append(words, "state", "set", "-c", r.options.File)
	if r.options.Profile != "" {
		words = append(words, "--profile", r.options.Profile)
	}
	for _, v := range r.config.Variables {
		if v.Given {
			words = append(words, "--var", v.Name+"="+v.Value)
		}
	}
	words = append(words, "--task", task)
	return quoteAll(append(append(words, flags...), "--reason", "as the program proposed"))
}

// explainPinned is for a batch of which what it is to read next is settled.
func (r *run) explainPinned(e *ledger.PinnedError) *problem.Problem {
	p := &problem.Problem{Code: problem.WorkLeft, Task: e.Batch.Task, Data: r.soFar()}
	if len(e.Pending) > 0 {
		p.Message = fmt.Sprintf("refused: a run that ended before its commit may have written what batch %s read last to a table, which the next run of the batch finds out", ledgerBatchText(e.Batch))
		p.Hint = "run the batch first"
		return p
	}
	if !r.options.Rerun {
		p.Message = fmt.Sprintf("refused: a run of batch %s that ended before its commit had noted what it was to read, and that is read next", ledgerBatchText(e.Batch))
		p.Hint = "run the task first; or have it chosen anew: " + r.setCommand(e.Batch.Task, "--drop-range")
		return p
	}
	p.Message = fmt.Sprintf("refused: a run of batch %s that ended before its commit had noted what it was to read, and that is not what the last commit read; it comes first", ledgerBatchText(e.Batch))
	p.Hint = "run without --rerun, which reads and commits that; then --rerun replaces it. Or have it chosen anew: " + r.setCommand(e.Batch.Task, "--drop-range")
	return p
}
