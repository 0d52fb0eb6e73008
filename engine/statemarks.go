package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/ubunye-io/ubunye/engine/config"
	"github.com/ubunye-io/ubunye/engine/plan"
	"github.com/ubunye-io/ubunye/engine/problem"
	"github.com/ubunye-io/ubunye/engine/runstate"
)

// sdlbProgram is how Smart Data Lake Builder is called where people read it.
const sdlbProgram = "Smart Data Lake Builder"

// ImportedMark is how far an incremental input was read by another program.
type ImportedMark struct {
	Task   string `json:"task"`           // name of the task
	Input  string `json:"input"`          // name of the input
	Batch  string `json:"batch"`          // the variables that make the batch, as region=eu; empty: it has none
	Key    string `json:"key"`            // key of the batch
	Object string `json:"object"`         // what it reads, as it is called there
	Became Became `json:"became"`         // what became of it; finished: a run of this program, or a person, has set a mark before
	Mark   string `json:"mark,omitempty"` // above which value it goes on; absent: the other program has none
	Run    int64  `json:"run,omitempty"`  // the run of the other program that says so
}

// marks takes over how far the inputs were read. Each is set only where no mark is yet, so that what was read since is not read
// again.
func (im *importer) marks(ctx context.Context) (StateImported, error) {
	did := StateImported{Program: sdlbProgram, DryRun: im.asked.DryRun, Batches: []ImportedBatch{}, Marks: []ImportedMark{}}
	r, err := im.load(ctx, nil)
	if err != nil {
		return StateImported{}, err
	}
	said, err := im.objects(ctx, r)
	if err != nil {
		return StateImported{}, err
	}
	var problems problem.List
	for _, m := range im.mapping.Marks {
		one, err := im.mark(ctx, r, m, said[m.Object])
		if err != nil {
			for _, p := range r.explain(told(ctx, err), m.Task) {
				if p.Pos == (problem.Pos{}) {
					p.Pos = m.Pos
				}
				problems = append(problems, p)
			}
		}
		if one.Task != "" {
			did.Marks = append(did.Marks, one)
		}
	}
	if len(problems) > 0 {
		return did, problems
	}
	return did, nil
}

// objectMark is what the newest run says of a data object that says anything of it.
type objectMark struct {
	run   int64
	state json.RawMessage
	other json.RawMessage // of another action of that run, which says something else
}

// objects reads how far each data object was read, from the newest run that tells. A file that cannot be used is never passed
// over: it might be the newest.
func (im *importer) objects(ctx context.Context, r *run) (map[string]objectMark, error) {
	if _, err := os.Stat(im.mapping.State); err != nil {
		return nil, &problem.Problem{Code: problem.Usage, Pos: problem.Pos{File: im.mapping.File}, Message: "state: " + err.Error(), Hint: "it is the folder that has current/ and succeeded/"}
	}
	name := im.mapping.Application
	if name == "" {
		name = r.config.Name
	}
	folder := &runstate.Folder{Path: im.mapping.State, FS: r.FS, Now: r.Now, Zone: im.zone}
	runs, err := folder.List(ctx, name, false)
	if err != nil {
		return nil, r.explain(told(ctx, err), "")
	}
	if len(runs) == 0 {
		return nil, &problem.Problem{Code: problem.Usage, Pos: problem.Pos{File: im.mapping.File}, Message: fmt.Sprintf("%s has no run of %s", im.mapping.State, name), Hint: "say what it is called there, as application: NAME"}
	}
	said := map[string]objectMark{}
	for _, x := range runs {
		if x.Err != nil {
			return nil, r.explain(x.Err, "")
		}
		for _, action := range slices.Sorted(maps.Keys(x.Document.Actions)) {
			a := x.Document.Actions[action]
			for _, o := range a.Objects {
				if !a.Completed() || len(o.State) == 0 {
					continue
				}
				was, known := said[o.Object]
				switch {
				case !known:
					said[o.Object] = objectMark{run: x.Run, state: o.State}
				case was.run == x.Run && !bytes.Equal(was.state, o.State):
					was.other = o.State
					said[o.Object] = was
				}
			}
		}
	}
	return said, nil
}

// mark takes over how far one input was read.
func (im *importer) mark(ctx context.Context, r *run, m config.ImportMark, said objectMark) (ImportedMark, error) {
	at := slices.IndexFunc(r.plan.Tasks, func(t plan.Task) bool { return t.Name == m.Task })
	if at < 0 {
		return ImportedMark{}, &problem.Problem{Code: problem.ConfigInvalid, Pos: m.Pos, Message: "the pipeline has no task " + m.Task}
	}
	t := r.plan.Tasks[at]
	one := ImportedMark{Task: m.Task, Input: m.Input, Batch: batchText(t.Batch), Key: t.Batch.Key, Object: m.Object, Became: BatchAbsent, Run: said.run}
	if said.state == nil {
		return one, nil
	}
	one.Became = BatchLeft
	value, err := markText(m, said)
	if err != nil {
		return one, err
	}
	one.Mark = value
	view, err := r.ledger.Look(ctx, ledgerBatch(t.Batch))
	if err != nil {
		return one, err
	}
	_, marked := view.Marks[m.Input]
	if view.Finished != nil {
		_, read := spansOf(view.Finished.Range)[m.Input]
		marked = marked || read
	}
	if _, pinned := spansOf(view.Range)[m.Input]; marked || pinned {
		one.Became = BatchKnown
		return one, nil
	}
	q := MarkChange{Task: m.Task, Input: m.Input, Mark: &value, Who: im.asked.Who, Reason: fmt.Sprintf("taken over from run %d of %s: %s", said.run, sdlbProgram, m.Object)}
	if _, _, err := r.incrementalTask(q); err != nil {
		return one, err
	}
	if !im.asked.DryRun {
		if _, err := im.engine.StateSet(ctx, im.options, q); err != nil {
			return one, err
		}
	}
	one.Became = BatchImported
	return one, nil
}

// markText gives the one value that the other program's state of a data object is.
func markText(m config.ImportMark, said objectMark) (string, error) {
	p := &problem.Problem{Code: problem.WorkLeft, Task: m.Task, Pos: m.Pos, Data: unchanged}
	if said.other != nil {
		p.Message = fmt.Sprintf("two actions of run %d say of %s how far it was read: %s and %s", said.run, m.Object, said.state, said.other)
		p.Hint = "say yourself where input " + m.Input + " goes on: ubunye state set"
		return "", p
	}
	var text string
	var number json.Number
	switch {
	case json.Unmarshal(said.state, &text) == nil && text != "":
		return text, nil
	case json.Unmarshal(said.state, &number) == nil && number != "":
		return number.String(), nil
	}
	p.Message = fmt.Sprintf("how far %s was read is no single value in run %d: %s", m.Object, said.run, said.state)
	p.Hint = "say yourself where input " + m.Input + " goes on: ubunye state set"
	return "", p
}
