package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ubunye-io/ubunye/engine/config"
	"github.com/ubunye-io/ubunye/engine/ledger"
	"github.com/ubunye-io/ubunye/engine/plan"
	"github.com/ubunye-io/ubunye/engine/problem"
	"github.com/ubunye-io/ubunye/engine/report"
)

// Validate checks a pipeline file as a run would, without reading data or the ledger. Required variables
// that have no value are given back; they are no mistake of the file.
func (e *Engine) Validate(ctx context.Context, o Options) (unset []config.Variable, err error) {
	r, unset, err := e.loadUnset(ctx, o)
	if err == nil {
		r.sayWarnings()
	}
	return unset, err
}

// loadUnset is load for those who only look: required variables may be without a value, and are given back.
func (e *Engine) loadUnset(ctx context.Context, o Options) (*run, []config.Variable, error) {
	o.AllowUnset = true
	pipeline, err := loadPipeline(o)
	if err != nil {
		return nil, nil, err
	}
	unset := pipeline.Unset
	pipeline.Unset = nil
	r := &run{Engine: e, options: o, config: pipeline}
	if err := r.openWriters(); err != nil {
		return nil, nil, err
	}
	return r, unset, r.makePlan(ctx, r.deliver(ctx))
}

// PlannedTask is what a run would do with one task now.
type PlannedTask struct {
	Task    string          `json:"task"`              // name of the task
	Batch   string          `json:"batch"`             // the variables of its batch, as dt=2026-01-01; empty: it has none
	Key     string          `json:"key"`               // key of the batch
	Named   bool            `json:"named"`             // it is refused when it is finished and the task appends
	Verdict Verdict         `json:"verdict"`           // what would happen
	Code    problem.Code    `json:"code,omitempty"`    // of a refusal: the reason that a run would give
	Reason  string          `json:"reason"`            // why, on one line
	Run     int64           `json:"run_id,omitempty"`  // number of the run that it would be part of; of keep: of the run that did it; absent: none, or it is not known
	Attempt int64           `json:"attempt,omitempty"` // number of the attempt of that run
	After   []string        `json:"after,omitempty"`   // tasks that are done before it begins
	Inputs  []PlannedInput  `json:"inputs,omitempty"`  // those whose columns are not declared, and incremental ones, in the order of the file
	Outputs []PlannedOutput `json:"outputs"`           // in the order of the file
}

// PlannedInput is one input of a PlannedTask that has no columns in the pipeline, so that they are those of its files, or of which it
// reads only what is new.
type PlannedInput struct {
	Input      string          `json:"input"`                // name of the input
	Format     string          `json:"format"`               // of its files
	Path       string          `json:"path"`                 // as written in the pipeline; of a database, the table, or "the query"
	Connection string          `json:"connection,omitempty"` // to the database that is read; absent: files are
	Version    *int64          `json:"version,omitempty"`    // of the table that it would read; absent: its format knows none
	Files      int             `json:"files"`                // how many files it would read
	Bytes      int64           `json:"bytes"`                // of these files
	Columns    []ledger.Column `json:"columns,omitempty"`    // that it would have; absent: see unread
	Declare    string          `json:"declare,omitempty"`    // the same, as a text for the pipeline file
	Unread     string          `json:"unread,omitempty"`     // why its columns are not known, on one line
	New        string          `json:"new,omitempty"`        // of an incremental one: what it would read, on one line
	Changes    []string        `json:"changes,omitempty"`    // how they differ from those of the last commit, one line each
}

// PlannedOutput is one output of a PlannedTask.
type PlannedOutput struct {
	Output string `json:"output"` // name of the output
	Format string `json:"format"` // name of its writer
	Mode   string `json:"mode"`   // what becomes of what is there
	Class  string `json:"class"`  // delivery class
	Path   string `json:"path"`   // its folder, as written in the pipeline
	Files  int64  `json:"files"`  // files that the last commit landed
	Rows   int64  `json:"rows"`   // rows that the last commit landed

	Imported bool `json:"imported,omitempty"` // the last commit was taken over from another program: its rows are not known

	Replaces *Replaces `json:"replaces,omitempty"` // what is in the folder now, for modes that replace it
	Will     string    `json:"will,omitempty"`     // what would happen, on one line, where the mode depends on what is in the folder now, or as the writer of a table says it
	Warnings []string  `json:"warnings,omitempty"` // what the writer of a table has to say of it, one line each
}

// Replaces is data that a run would replace, as far as it can be told before the rows are known.
type Replaces struct {
	Files      int64 `json:"files"`      // data files
	Partitions int64 `json:"partitions"` // folders that hold some of them
}

// Verdict is what would happen to a task.
type Verdict string

// The verdicts.
const (
	WouldRun     Verdict = "run"     // It would run.
	WouldReplace Verdict = "replace" // It would replace what is there.
	WouldRefuse  Verdict = "refuse"  // It would be refused.

	WouldSkip     Verdict = "skip"     // Its incremental inputs have nothing new, or those of a task that it reads from.
	WouldComplete Verdict = "complete" // It would count as done: a dead run had committed it.
	WouldKeep     Verdict = "keep"     // It would not be run again: an earlier attempt of the run did it, or a person gave it up.
)

// Plan tells what Run would do now with the same options. It changes nothing.
func (e *Engine) Plan(ctx context.Context, o Options) ([]PlannedTask, error) {
	r, err := e.load(ctx, o)
	if err != nil {
		return nil, err
	}
	if err := r.openLedger(ctx); err != nil {
		return nil, err
	}
	r.sayWarnings()
	var tasks []PlannedTask
	if problems := r.complete(ctx, false); problems != nil {
		return nil, problems
	}
	refusal := r.decide(ctx)
	for _, t := range r.plan.Tasks {
		view, err := r.ledger.Look(ctx, ledgerBatch(t.Batch))
		if err != nil {
			return nil, r.explain(err, t.Name)
		}
		task := PlannedTask{Task: t.Name, Batch: batchText(t.Batch), Key: t.Batch.Key, Named: t.Batch.Named}
		for _, a := range t.After {
			task.After = append(task.After, a.Task)
		}
		for _, o := range t.Targets {
			out := PlannedOutput{Output: o.Name, Format: o.Format, Mode: o.Mode, Class: o.Class, Path: o.Written}
			if view.Finished != nil {
				out.Files, out.Rows = view.Finished.Outputs[o.Name].Files, view.Finished.Outputs[o.Name].Rows
				out.Imported = view.Finished.Imported != nil
			}
			if err := r.foresee(&out, o, t.Batch); err != nil {
				return nil, r.explain(&outputError{target: o, err: err}, t.Name)
			}
			task.Outputs = append(task.Outputs, out)
		}
		r.judge(ctx, &task, t.Targets, r.request(t), view, refusal)
		if err := r.foreseeTables(ctx, &task, t, view); err != nil {
			return nil, r.explain(told(ctx, err), t.Name)
		}
		if err := r.foreseeInputs(ctx, &task, t, view); err != nil {
			return nil, r.explain(told(ctx, err), t.Name)
		}
		foreseeSource(&task, t, tasks)
		tasks = append(tasks, task)
	}
	return tasks, nil
}

// foresee tells what a run would do to what is in an output's folder now.
func (r *run) foresee(out *PlannedOutput, t plan.Target, b plan.Batch) error {
	if t.Mode == modeAppend || t.Table {
		return nil
	}
	slice := ""
	if t.Mode == modePartitions {
		slice = sliceOf(t, b, nil)
	}
	files, folders, err := ledger.CountData(t.Path, slice)
	if err != nil {
		return err
	}
	there := report.Count(files, "file")
	if len(t.PartitionBy) > 0 {
		there += ", " + report.Count(folders, "partition")
	}
	if files == 0 {
		there = "nothing"
	}
	switch {
	case t.Mode == modeOverwrite:
		out.Will = "would replace " + there
	case t.Mode == modePartitions && slice != "":
		out.Will = fmt.Sprintf("would replace %s in the slice %s, and other partitions that its rows have", there, slice)
	case t.Mode == modePartitions:
		out.Will = fmt.Sprintf("would replace the partitions that its rows have; in the folder: %s", there)
	case files > 0 && !r.options.Rerun:
		out.Will = "would " + map[string]string{modeError: "fail", modeIgnore: "write nothing"}[t.Mode] + ": there is data already, " + there
	}
	if t.Class != string(ledger.Replaces) {
		return nil
	}
	out.Replaces = &Replaces{Files: files, Partitions: folders}
	mounted := ledger.IsMountPoint(t.Path)
	switch {
	case mounted && t.Mode == modeOverwrite:
		out.Will += "; a disk is mounted there, so what is in the folder is moved name by name, and for a moment readers can see a part of the old files, or of the new ones"
	case mounted:
		out.Will += "; a disk is mounted there, so it is staged in the folder, where readers of ** see its files for a moment"
	case r.ledger.StagesBeside(t.Path):
		out.Will += "; the ledger is on another disk, so it is staged beside the folder, where readers of ** above it see its files for a moment"
	}
	return nil
}

// judge tells what would happen to a task. refused is why the run state refuses the start; nil: it does not.
func (r *run) judge(ctx context.Context, task *PlannedTask, targets []plan.Target, request ledger.Request, view ledger.View, refused problem.List) {
	if r.options.LeaseOff {
		task.Verdict, task.Reason = WouldRun, "the ledger is switched off: nothing is refused"
		return
	}
	if f := r.completed[task.Task]; f != nil {
		task.Verdict, task.Reason = WouldComplete, completedText(f)
		return
	}
	err := orLeft(r.ledger.Refusal(ctx, request), request.Batch, view.Stuck)
	held := errors.As(err, new(*ledger.HeldError))
	if refused != nil && !held {
		task.Verdict, task.Code, task.Reason = WouldRefuse, refused[0].Code, refused[0].Error()
		return
	}
	if r.done(task.Task) && !held {
		r.foreseeKept(task)
		return
	}
	dead := ""
	if h := view.Held; err == nil && h != nil {
		dead, err = r.foreseeHolder(h)
	}
	for _, o := range targets {
		if failed := r.ledger.CheckTarget(o.Name, o.Path); err == nil && failed != nil {
			err = &outputError{target: o, err: failed}
		}
	}
	if err == nil {
		err = r.ledger.TargetRefusal(ctx, r.targets())
	}
	if err != nil {
		p := r.explain(err, request.Batch.Task)[0]
		task.Verdict, task.Code, task.Reason = WouldRefuse, p.Code, p.Error()
		return
	}
	verdict, reason := r.verdict(request, view, task.Outputs)
	task.Verdict, task.Reason = verdict, dead+reason
	if d := r.standing.decision; d != nil {
		task.Run, task.Attempt = d.Run, d.Attempt
		if d.Recovery {
			task.Reason += fmt.Sprintf("; in attempt %d of run %d", d.Attempt, d.Run)
		}
	}
}

// foreseeKept tells of a task that would not be run again.
func (r *run) foreseeKept(task *PlannedTask) {
	a := r.standing.kept[task.Task].action
	task.Verdict, task.Reason = WouldKeep, "it "+keptText(a, 0)
	task.Run, task.Attempt = a.Execution.Run, a.Execution.Attempt
}

// foreseeHolder tells what a start would do about the holder of a batch, which is not certainly alive.
func (r *run) foreseeHolder(h *ledger.HeldError) (string, error) {
	switch {
	case h.Dead:
		return fmt.Sprintf("dead run %s to take over; ", h.Holder.Run), nil
	case h.Looks > 0:
		return fmt.Sprintf("run %s to take over if it gives no sign for %s more; ", h.Holder.Run, h.Looks.Round(time.Second)), nil
	}
	return "", h
}

// verdict tells what would happen to a task that is not refused.
func (r *run) verdict(request ledger.Request, view ledger.View, outputs []PlannedOutput) (Verdict, string) {
	if !request.Appends {
		last := "first run"
		if view.Finished != nil {
			last = "last run at " + when(view.Finished.At)
		}
		for _, o := range outputs {
			if o.Replaces != nil && o.Replaces.Files > 0 {
				return WouldReplace, "it replaces what is there, as often as it runs; " + last
			}
		}
		if view.Finished != nil && !r.options.Rerun {
			return WouldRun, "it appends to nothing, so it runs as often as it is started; " + last
		}
	}
	switch {
	case request.Incremental && view.Range != nil && (view.Finished == nil || string(view.Range) != string(view.Finished.Range)):
		return WouldRun, "it reads what a run that did not commit was to read"
	case request.Incremental && view.Finished != nil && (request.Rerun || view.Range != nil):
		return WouldReplace, fmt.Sprintf("what run %s read and landed at %s, with the same rows", view.Finished.Run, when(view.Finished.At))
	case request.Incremental && view.Finished != nil:
		return WouldRun, "it reads on after run " + view.Finished.Run + ", which committed at " + when(view.Finished.At)
	case request.Follows && view.Finished != nil:
		return WouldRun, "it reads what the same run commits: a slice that its last commit has read replaces that one, another is added; last run at " + when(view.Finished.At)
	case view.Finished != nil && request.Batch.Named:
		var files int64
		for _, o := range view.Finished.Outputs {
			files += o.Files
		}
		return WouldReplace, fmt.Sprintf("%s that run %s landed at %s", report.Count(files, "file"), view.Finished.Run, when(view.Finished.At))
	case view.Finished != nil:
		return WouldRun, "runs every time: no variable that was given names the batch; last run at " + when(view.Finished.At)
	case len(view.Tried) > 0:
		last := view.Tried[len(view.Tried)-1]
		return WouldRun, fmt.Sprintf("tried before: run %s at %s: %s", last.Run, when(last.At), last.Reason)
	}
	return WouldRun, "first run"
}
