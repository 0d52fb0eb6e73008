package engine

import (
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/ubunye-io/ubunye/engine/compute"
	"github.com/ubunye-io/ubunye/engine/config"
	"github.com/ubunye-io/ubunye/engine/ledger"
	"github.com/ubunye-io/ubunye/engine/plan"
	"github.com/ubunye-io/ubunye/engine/problem"
	"github.com/ubunye-io/ubunye/engine/report"
)

// readable is how many bytes of text files a plan reads for the columns of an input without being asked to: about a second's work.
const readable = 64 << 20

// foreseeInputs tells the columns of the inputs of a task that has none declared, and how they differ from those of its last
// commit: what a run would refuse is refused here too. And it tells what is new in incremental inputs.
func (r *run) foreseeInputs(ctx context.Context, task *PlannedTask, t plan.Task, view ledger.View) error {
	if !anyShape(t) && !t.Incremental() && !readsDatabases(t) {
		return nil
	}
	had, err := r.shapesOf(ctx, t, view.Finished)
	if err != nil {
		return err
	}
	settings := r.computeSettings(t.Name)
	settings.Spill = r.spillFolder("plan")
	session, err := r.Compute.Open(ctx, settings)
	if err != nil {
		return err
	}
	defer session.Close()
	f := r.foresight(t, view)
	for _, in := range t.Inputs {
		if !hasShape(in) && in.Incremental == nil && !isDatabase(in) {
			continue
		}
		foresee := r.foreseeInput
		if isDatabase(in) {
			foresee = r.foreseeDatabase
		}
		planned, d, err := foresee(ctx, session, f, in, had)
		if err != nil {
			return err
		}
		if planned.Unread != "" && !hasShape(in) {
			planned.New, planned.Unread = "what cannot be told now: "+planned.Unread, ""
		}
		task.Inputs = append(task.Inputs, *planned)
		for _, p := range d.refused {
			task.refuse(p)
		}
	}
	for _, p := range f.refused {
		task.refuse(p)
	}
	if f.skips() && (task.Verdict == WouldRun || task.Verdict == WouldReplace) {
		task.Verdict, task.Reason = WouldSkip, "nothing new"
		if view.Finished != nil {
			task.Reason += " since " + when(view.Finished.At)
		}
	}
	return nil
}

// refuse notes why a run of the task would end, unless another reason comes first.
func (t *PlannedTask) refuse(p *problem.Problem) {
	if t.Verdict == WouldRefuse || t.Verdict == WouldComplete {
		return
	}
	p.Data = ""
	t.Verdict, t.Code, t.Reason = WouldRefuse, p.Code, p.Error()
}

// foreseeInput opens one input. What is wrong with its files is told as what it is, and not as an error: they may not be there yet.
func (r *run) foreseeInput(ctx context.Context, session compute.Session, f *foresight, in config.Input, had *shapes) (*PlannedInput, drift, error) {
	planned := &PlannedInput{Input: in.Name, Format: in.Format, Path: in.Written}
	asked, err := r.settled(ctx, r.asked(in, nil))
	if err != nil {
		return planned, drift{}, planned.cannot(ctx, err)
	}
	asked.Known, planned.Version = had.known(in), asked.Version
	if err := f.newFiles(ctx, in, planned, &asked); err != nil {
		return planned, drift{}, planned.cannot(ctx, err)
	}
	files, err := r.Compute.Files(ctx, asked)
	if err != nil {
		return planned, drift{}, planned.cannot(ctx, err)
	}
	planned.Files = len(files)
	for _, f := range files {
		planned.Bytes += f.Size
	}
	if len(files) == 0 || !hasShape(in) && in.Incremental.Column == "" {
		return planned, drift{}, nil
	}
	if planned.Bytes > readable && !r.Compute.SaysColumns(in.Format) && !r.options.Infer {
		if err := f.newRows(ctx, session, in, planned, ""); err != nil || !hasShape(in) {
			return planned, drift{}, err
		}
		planned.Unread = report.Size(planned.Bytes) + " would have to be read for them; plan --infer does that"
		return planned, drift{}, nil
	}
	relation, files, err := session.Input(ctx, asked)
	if err != nil {
		return planned, drift{}, planned.cannot(ctx, err)
	}
	if err := f.newRows(ctx, session, in, planned, relation); err != nil {
		return planned, drift{}, planned.cannot(ctx, err)
	}
	if !hasShape(in) {
		return planned, drift{}, nil
	}
	d, err := r.drifted(ctx, session, f.task.Name, in, asked, relation, files, had)
	if err != nil {
		return planned, d, planned.cannot(ctx, err)
	}
	planned.tellShape(d)
	return planned, d, nil
}

// tellShape tells the columns that an input has, and what of them a run would refuse.
func (p *PlannedInput) tellShape(d drift) {
	p.Columns, p.Declare = d.columns, declaration(d.columns)
	for _, refused := range d.refused {
		p.Changes = append(p.Changes, refused.Pos.String()+": "+refused.Message+"; a run would be refused ("+refused.Hint+")")
	}
	p.Changes = append(p.Changes, d.told...)
}

// cannot notes why the columns of an input are not known, unless the plan itself was told to stop.
func (p *PlannedInput) cannot(ctx context.Context, err error) error {
	var e *compute.Error
	if ctx.Err() != nil || !errors.As(err, &e) {
		return err
	}
	p.Unread = e.Error()
	if e.Hint != "" {
		p.Unread += " (" + e.Hint + ")"
	}
	return nil
}

// declaration writes columns as the pipeline file has them, on one line.
func declaration(columns []ledger.Column) string {
	items := make([]string, len(columns))
	for i, c := range columns {
		items[i] = yamlText(c.Name) + ": " + yamlText(c.Type)
	}
	return "{" + strings.Join(items, ", ") + "}"
}

// plainYAML is text that YAML takes for itself within { } without quotes, but for a few words.
var plainYAML = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*( [A-Za-z0-9_]+)*$`)

func yamlText(text string) string {
	words := []string{"true", "false", "null", "yes", "no", "on", "off", "y", "n"}
	if plainYAML.MatchString(text) && !slices.Contains(words, strings.ToLower(text)) {
		return text
	}
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(text) // text can be encoded, and what it is written to takes all
	return strings.TrimSuffix(b.String(), "\n")
}
