package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/ubunye-io/ubunye/engine/config"
	"github.com/ubunye-io/ubunye/engine/ledger"
	"github.com/ubunye-io/ubunye/engine/plan"
	"github.com/ubunye-io/ubunye/engine/problem"
	"github.com/ubunye-io/ubunye/engine/runstate"
)

// StateImport asks for the batches that another program finished to be taken over.
type StateImport struct {
	Mapping string         // the file that says which, and how they are called there
	Zone    *time.Location // in which times are that have none, unless the file says otherwise
	Gone    bool           // also a batch of which no file is there any more
	Who     string         // who asks for it
	DryRun  bool           // nothing is written
}

// StateImported is what was taken over.
type StateImported struct {
	Program string          `json:"program"` // whose batches they were
	DryRun  bool            `json:"dry_run"` // nothing was changed
	Batches []ImportedBatch `json:"batches"` // in the order of the file; of each the tasks in theirs
	Marks   []ImportedMark  `json:"marks"`   // of incremental inputs, in the order of the file
}

// ImportedBatch is one batch that was to be taken over.
type ImportedBatch struct {
	Task     string     `json:"task"`               // name of the task
	Batch    string     `json:"batch"`              // the variables that make it, as dt=2026-01-01
	Key      string     `json:"key"`                // key of the batch
	Note     string     `json:"note"`               // path of what the other program says of it
	Became   Became     `json:"became"`             // what became of it
	Finished *time.Time `json:"finished,omitempty"` // when the other program finished it; absent: it did not, or nobody can tell
	Run      string     `json:"run,omitempty"`      // the id of its run there
	Files    int        `json:"files"`              // how many files it claims
	Missing  []string   `json:"missing,omitempty"`  // those of them that are not there
}

// Became is what became of a batch that was to be taken over.
type Became string

// What may become of a batch.
const (
	BatchImported Became = "imported" // it is finished now; with dry_run: it would be
	BatchKnown    Became = "finished" // it was finished here before, so nothing was changed
	BatchAbsent   Became = "absent"   // the other program has not finished it
	BatchLeft     Became = "left"     // it could not be taken over, and nothing of it was changed
)

// importer is one import.
type importer struct {
	engine  *Engine
	options Options
	asked   StateImport
	mapping *config.Import
	zone    *time.Location

	first   *run // of the batch that was loaded first: its writers and its ledger serve all
	deliver plan.Deliver

	found    []*foundBatch
	owners   map[string]string // by path: the task and batch that claim the file, in the ledger or in the list
	problems problem.List
}

// foundBatch is a batch of the list, and what the other program says of it.
type foundBatch struct {
	ImportedBatch
	run     *run
	task    plan.Task
	request ledger.Import
}

// StateImport takes batches over that another program finished: each is afterwards finished as if a run of this one had
// committed it, with the files that are there as its claims. No file of the data is touched. It may be interrupted and repeated at
// any time. The error is a problem.List of what could not be taken over; what was, is told all the same.
func (e *Engine) StateImport(ctx context.Context, o Options, q StateImport) (StateImported, error) {
	mapping, err := config.LoadImport(q.Mapping)
	if err != nil {
		return StateImported{}, err
	}
	im := &importer{engine: e, options: o, asked: q, mapping: mapping, zone: q.Zone, owners: map[string]string{}}
	if mapping.Zone != "" {
		if im.zone, err = time.LoadLocation(mapping.Zone); err != nil {
			return StateImported{}, &problem.Problem{Code: problem.ConfigInvalid, Pos: problem.Pos{File: mapping.File}, Message: fmt.Sprintf("time_zone: there is no zone %q", mapping.Zone), Hint: "as Europe/Zurich or UTC"}
		}
	}
	if mapping.Program == "sdlb" {
		return im.marks(ctx)
	}
	if err := im.find(ctx); err != nil {
		return StateImported{}, err
	}
	if !q.DryRun {
		if err := im.takeOver(ctx); err != nil {
			im.problems = append(im.problems, im.first.explain(told(ctx, err), "")...)
		}
	}
	did := StateImported{Program: pythonProgram, DryRun: q.DryRun, Batches: []ImportedBatch{}, Marks: []ImportedMark{}}
	for _, f := range im.found {
		did.Batches = append(did.Batches, f.ImportedBatch)
	}
	if len(im.problems) > 0 {
		for _, p := range im.problems {
			if p.Data == "" || p.Data == nothing || p.Data == untouched {
				p.Data = "nothing of it was changed, and no file of the data is ever touched"
			}
		}
		return did, im.problems
	}
	return did, nil
}

// pythonProgram is how the Python program is called where people read it.
const pythonProgram = "Ubunye (Python)"

// importedText says from which program and run of it a batch was taken over; empty: it was not.
func importedText(f *ledger.Finished) string {
	if f.Imported == nil {
		return ""
	}
	return fmt.Sprintf("run %s of %s", f.Imported.Run, f.Imported.Program)
}

// find reads what the other program says of every batch of the list. It changes nothing.
func (im *importer) find(ctx context.Context) error {
	for _, listed := range im.mapping.Batches {
		all, err := im.combinations(listed)
		if err != nil {
			return err
		}
		for _, values := range all {
			if err := context.Cause(ctx); err != nil {
				return err
			}
			r, err := im.load(ctx, values)
			if err != nil {
				return err
			}
			for _, t := range im.mapping.Tasks {
				if err := im.findOne(ctx, r, t, values); err != nil {
					return err
				}
			}
		}
	}
	absent := 0
	for _, f := range im.found {
		if f.Became == BatchAbsent {
			absent++
		}
	}
	if absent == len(im.found) && absent > 0 {
		im.refuse(im.found[0], fmt.Sprintf("the other program has not finished it, nor any other batch of the list; it would be noted in %s", im.found[0].Note),
			"look at root, at the names of the tasks, and at the variables: there they are all of a run's, and 1 is another value than \"1\"")
	}
	return nil
}

// load loads and plans the pipeline as a start of one batch would.
func (im *importer) load(ctx context.Context, values map[string]any) (*run, error) {
	o := im.options
	o.LeaseOff, o.Tasks = false, nil
	o.Vars = maps.Clone(o.Vars)
	if o.Vars == nil {
		o.Vars = map[string]string{}
	}
	for name, v := range values {
		o.Vars[name] = fmt.Sprint(v)
	}
	pipeline, err := loadPipeline(o)
	if err != nil {
		return nil, err
	}
	r := &run{Engine: im.engine, options: o, config: pipeline}
	if im.first == nil {
		if err := r.openWriters(); err != nil {
			return nil, err
		}
		r.plan = &plan.Plan{}
		if err := r.openLedger(ctx); err != nil {
			return nil, err
		}
		if err := im.knownClaims(ctx, r); err != nil {
			return nil, r.explain(told(ctx, err), "")
		}
		im.first, im.deliver = r, onceEach(r.deliver(ctx))
	}
	r.host, r.formats, r.ledger = im.first.host, im.first.formats, im.first.ledger
	return r, r.makePlan(ctx, im.deliver)
}

// findOne reads what the other program says of one batch.
func (im *importer) findOne(ctx context.Context, r *run, mapped config.ImportTask, values map[string]any) error {
	at := slices.IndexFunc(r.plan.Tasks, func(t plan.Task) bool { return t.Name == mapped.Name })
	if at < 0 {
		names := make([]string, len(r.plan.Tasks))
		for i, t := range r.plan.Tasks {
			names[i] = t.Name
		}
		return &problem.Problem{Code: problem.ConfigInvalid, Pos: mapped.Pos, Message: "the pipeline has no task " + mapped.Name, Hint: config.DidYouMean(mapped.Name, names)}
	}
	task := r.plan.Tasks[at]
	key, err := runstate.PythonKey(mapped.Task, values)
	if err != nil {
		return err
	}
	path := runstate.PythonNotePath(im.mapping.Root, mapped.Task, key)
	f := &foundBatch{run: r, task: task, ImportedBatch: ImportedBatch{Task: task.Name, Batch: batchText(task.Batch), Key: task.Batch.Key, Note: path, Became: BatchLeft}}
	switch refusal := takeable(task); {
	case refusal != nil:
		refusal.Pos = mapped.Pos
		return refusal
	case slices.ContainsFunc(im.found, func(o *foundBatch) bool { return o.Task == f.Task && o.Key == f.Key }):
		return nil // it is listed twice
	}
	im.found = append(im.found, f)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		f.Became = BatchAbsent
		return nil
	}
	if err != nil {
		im.refuse(f, "what the other program says of the batch cannot be read: "+err.Error(), "give this user the right to read it")
		return nil
	}
	note, err := runstate.ParsePythonNote(path, data, mapped.Task, im.zone)
	if err != nil {
		im.refuse(f, err.Error(), "restore it from a copy; what it says is never guessed")
		return nil
	}
	f.Finished, f.Run = &note.Finished, note.Run
	view, err := r.ledger.Look(ctx, ledgerBatch(task.Batch))
	switch {
	case err != nil:
		return r.explain(err, task.Name)
	case view.Finished != nil:
		f.Became = BatchKnown
		return nil
	}
	im.claim(f, mapped, note)
	return nil
}

// takeable refuses tasks whose batches are never refused as finished: there is nothing to take over.
func takeable(t plan.Task) *problem.Problem {
	appends := slices.ContainsFunc(t.Targets, func(o plan.Target) bool { return o.Mode == modeAppend })
	switch {
	case !appends:
		return &problem.Problem{Code: problem.ConfigInvalid, Task: t.Name, Message: "none of its outputs has mode append, so its batches may be run as often as one likes",
			Hint: "leave the task out: there is nothing to take over"}
	case t.Incremental():
		return &problem.Problem{Code: problem.ConfigInvalid, Task: t.Name, Message: "it reads incrementally, so that its batches are never refused as finished",
			Hint: "leave the task out, and say where it goes on: ubunye state set"}
	case !t.Batch.Named:
		return &problem.Problem{Code: problem.ConfigInvalid, Task: t.Name, Message: "no variable that is given names its batch, so that it is never refused as finished",
			Hint: "name the variables in batch: [...] of the pipeline, or leave the task out"}
	}
	return nil
}

// refuse notes why a batch cannot be taken over.
func (im *importer) refuse(f *foundBatch, message, hint string) {
	text := f.Batch
	if text == "" {
		text = f.Key
	}
	im.problems = append(im.problems, &problem.Problem{Code: problem.WorkLeft, Task: f.Task, Message: "batch " + text + ": " + message, Hint: hint})
}

// takeOver puts what was found into the ledger: all batches are held first, or none.
func (im *importer) takeOver(ctx context.Context) error {
	var list []*foundBatch
	var requests []ledger.Request
	info := ledger.RunInfo{Pipeline: im.first.config.Name}
	places := map[string]bool{}
	for _, f := range im.found {
		if f.Became != BatchImported {
			continue
		}
		list = append(list, f)
		b := ledgerBatch(f.task.Batch)
		requests, info.Batches = append(requests, ledger.Request{Batch: b, Appends: true}), append(info.Batches, b)
		for _, name := range slices.Sorted(maps.Keys(f.request.Outputs)) {
			if path := f.request.Outputs[name].Base; !places[path] {
				places[path] = true
				info.Targets = append(info.Targets, ledger.Target{Path: path, Adds: true})
			}
		}
		f.Became = BatchLeft // until it is done
	}
	if len(list) == 0 {
		return nil
	}
	record, err := im.first.ledger.Begin(ctx, info)
	if err != nil {
		return err
	}
	leases, err := record.Acquire(ctx, requests)
	if err != nil {
		return errors.Join(err, record.End(context.WithoutCancel(ctx), ledger.Refused))
	}
	status := ledger.Succeeded
	for i, f := range list {
		if err == nil && ctx.Err() == nil {
			if err = im.takeOne(record.Context(), leases[i], f); err == nil {
				continue
			}
		}
		status = ledger.Failed
		if released := leases[i].Release(context.WithoutCancel(ctx)); err == nil {
			err = released
		}
	}
	if err == nil {
		err = context.Cause(ctx)
	}
	if ended := record.End(context.WithoutCancel(ctx), status); err == nil {
		err = ended
	}
	return err
}

// takeOne takes one batch over. What is wrong with it alone is noted; the error is what stops the import.
func (im *importer) takeOne(ctx context.Context, lease *ledger.Lease, f *foundBatch) error {
	missing, err := lease.Import(ctx, f.request)
	if errors.As(err, new(*ledger.ImportError)) {
		im.refuse(f, err.Error(), "let the note say what is there, or leave the batch out")
		return lease.Release(context.WithoutCancel(ctx))
	}
	if err == nil {
		f.Became, f.Missing = BatchImported, missing
	}
	return err
}

// combinations gives the values of all batches that an entry of the list stands for.
func (im *importer) combinations(b config.ImportBatch) ([]map[string]any, error) {
	const most = 100_000
	all := []map[string]any{{}}
	for _, v := range b.Variables {
		values := v.Values
		if v.Range != nil {
			var err error
			if values, err = im.rangeOf(v); err != nil {
				return nil, err
			}
		}
		if len(all)*len(values) > most {
			return nil, &problem.Problem{Code: problem.ConfigInvalid, Pos: b.Pos, Message: fmt.Sprintf("it stands for more than %d batches", most), Hint: "is the year right?"}
		}
		var next []map[string]any
		for _, one := range all {
			for _, value := range values {
				c := maps.Clone(one)
				c[v.Name] = value
				next = append(next, c)
			}
		}
		all = next
	}
	return all, nil
}

// rangeOf lists the values of a range, by the type that the pipeline gives the variable.
func (im *importer) rangeOf(v config.ImportVariable) (values []any, err error) {
	o := im.options
	o.AllowUnset = true
	pipeline, err := loadPipeline(o)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, declared := range pipeline.Variables {
		names = append(names, declared.Name)
		if declared.Name != v.Name {
			continue
		}
		texts, _, err := declared.Range(v.Range.From, v.Range.To, v.Range.Every)
		if err != nil {
			var p *problem.Problem
			if errors.As(err, &p) && p.Pos == (problem.Pos{}) {
				p.Pos, p.Message = v.Pos, strings.NewReplacer("--from", "from:", "--to", "to:", "--every", "every:").Replace(p.Message)
				p.Hint = strings.NewReplacer("--from", "from:", "--to", "to:", "--every", "every:").Replace(p.Hint)
			}
			return nil, err
		}
		for _, text := range texts {
			values = append(values, text)
		}
		return values, nil
	}
	return nil, &problem.Problem{Code: problem.ConfigInvalid, Pos: v.Pos, Message: "the pipeline has no variable " + v.Name, Hint: config.DidYouMean(v.Name, names)}
}
