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
	"github.com/ubunye-io/ubunye/engine/report"
)

// readable is how many bytes of text files a plan reads for the columns of an input without being asked to: about a second's work.
const readable = 64 << 20

// foreseeInputs tells the columns of the inputs of a task that has none declared, and how they differ from those of its last
// commit: what a run would refuse is refused here too. own is the last commit of the batch.
func (r *run) foreseeInputs(ctx context.Context, task *PlannedTask, t plan.Task, own *ledger.Finished) error {
	if !anyShape(t) {
		return nil
	}
	had, err := r.shapesOf(ctx, t, own)
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
	for _, in := range t.Inputs {
		if !hasShape(in) {
			continue
		}
		planned, d, err := r.foreseeInput(ctx, session, t.Name, in, had)
		if err != nil {
			return err
		}
		task.Inputs = append(task.Inputs, *planned)
		if len(d.refused) > 0 && task.Verdict != WouldRefuse && task.Verdict != WouldComplete {
			p := d.refused[0]
			p.Data = ""
			task.Verdict, task.Code, task.Reason = WouldRefuse, p.Code, p.Error()
		}
	}
	return nil
}

// foreseeInput opens one input. What is wrong with its files is told as what it is, and not as an error: they may not be there yet.
func (r *run) foreseeInput(ctx context.Context, session compute.Session, task string, in config.Input, had *shapes) (*PlannedInput, drift, error) {
	planned := &PlannedInput{Input: in.Name, Format: in.Format, Path: in.Written}
	asked, err := r.settled(ctx, r.asked(in, nil))
	if err != nil {
		return planned, drift{}, planned.cannot(ctx, err)
	}
	asked.Known, planned.Version = had.known(in), asked.Version
	files, err := r.Compute.Files(ctx, asked)
	if err != nil {
		return planned, drift{}, planned.cannot(ctx, err)
	}
	planned.Files = len(files)
	for _, f := range files {
		planned.Bytes += f.Size
	}
	if planned.Bytes > readable && !r.Compute.SaysColumns(in.Format) && !r.options.Infer {
		planned.Unread = report.Size(planned.Bytes) + " would have to be read for them; plan --infer does that"
		return planned, drift{}, nil
	}
	relation, files, err := session.Input(ctx, asked)
	if err != nil {
		return planned, drift{}, planned.cannot(ctx, err)
	}
	d, err := r.drifted(ctx, session, task, in, asked, relation, files, had)
	if err != nil {
		return planned, d, planned.cannot(ctx, err)
	}
	planned.Columns, planned.Declare = d.columns, declaration(d.columns)
	for _, p := range d.refused {
		planned.Changes = append(planned.Changes, p.Pos.String()+": "+p.Message+"; a run would be refused ("+p.Hint+")")
	}
	planned.Changes = append(planned.Changes, d.told...)
	return planned, d, nil
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
