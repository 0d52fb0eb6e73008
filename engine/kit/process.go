package kit

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// format is what the scratch folder's pipelines call the writer; a built-in has its own name.
const format = "kit"

// task is one table that a pipeline writes.
type task struct {
	name    string
	table   table
	options map[string]string // beside those of the case
	output  map[string]any    // other fields of the output
}

// project is a pipeline in the scratch folder, its ledger and its outputs.
type project struct {
	k    *kit
	name string
	file string
}

// project writes a new pipeline.
func (k *kit) project(tasks ...task) (*project, error) {
	k.runs++
	p := &project{k: k, name: fmt.Sprintf("p%d", k.runs)}
	p.file = filepath.Join(k.Scratch, p.name+".yaml")
	all := map[string]any{}
	for _, t := range tasks {
		all[t.name] = map[string]any{
			"transform": map[string]any{"data": t.table.sql},
			"outputs":   map[string]any{"data": p.output(t)},
		}
	}
	written := format
	plugins := map[string]any{format: map[string]any{"memory": fmt.Sprintf("%dKiB", k.Case.Memory>>10), "timeout": k.Case.Timeout.String()}}
	if k.Options.Module == "" {
		written, plugins = k.writer.Name, map[string]any{}
	}
	for _, t := range all {
		t.(map[string]any)["outputs"].(map[string]any)["data"].(map[string]any)["format"] = written
	}
	text, err := json.Marshal(map[string]any{ // which is YAML too
		"name": "kit", "variables": map[string]any{"dt": map[string]any{"required": true}}, "parallel": 2, "durability": "fast",
		"ledger":  map[string]any{"path": p.name + "/ledger"},
		"plugins": plugins, "tasks": all,
	})
	if err == nil {
		err = k.files.WriteNew(p.file, text, 0o600)
	}
	if err != nil {
		return nil, &broken{err}
	}
	return p, nil
}

func (p *project) output(t task) map[string]any {
	options := map[string]string{}
	for _, more := range []map[string]string{p.k.Case.Options, t.options} {
		for name, value := range more {
			options[name] = value
		}
	}
	out := map[string]any{"path": p.name + "/" + t.name}
	if len(options) > 0 {
		out["options"] = options
	}
	if t.table.part {
		out["partition_by"] = []string{"part"}
	}
	for name, value := range t.output {
		out[name] = value
	}
	return out
}

// folder is that of a task's output.
func (p *project) folder(name string) string { return filepath.Join(p.k.Scratch, p.name, name) }

// done is what a run has told.
type done struct {
	rows   map[string]int64  // rows of each task's output that landed
	failed map[string]failed // by task; "": the run as a whole
	points []string          // operations of the writer
	used   []string          // capabilities
	said   int64             // bytes that it logged and printed
	killed bool              // at the operation at which it stopped
}

type failed struct{ kind, text string }

// any gives one failure, if there is one.
func (d *done) any() *failed {
	for _, f := range d.failed {
		return &f
	}
	return nil
}

// declines tells whether a failure is a writer's, or the engine's, own word that it does not do what it was asked for.
func (f failed) declines() bool {
	return f.kind == kindReported || f.kind == kindEngine || f.kind == "host"
}

// run runs the pipeline in a process.
func (p *project) run(ctx context.Context, dt string, more ...string) (*done, error) {
	return p.rehearse(ctx, append([]string{"--dt", dt}, more...))
}

// stopAt runs it and kills it at its n-th operation.
func (p *project) stopAt(ctx context.Context, n int, dt string) (*done, error) {
	return p.rehearse(ctx, []string{"--dt", dt, "--at", strconv.Itoa(n), "--do", string(ActStop)})
}

// failAt runs it with its n-th operation failing.
func (p *project) failAt(ctx context.Context, n int, dt string) (*done, error) {
	return p.rehearse(ctx, []string{"--dt", dt, "--at", strconv.Itoa(n), "--do", string(ActFail)})
}

func (p *project) rehearse(ctx context.Context, more []string) (*done, error) {
	cmd := exec.CommandContext(ctx, p.k.Program, append([]string{"plugin", "rehearse", "-c", p.file}, more...)...)
	hold, err := cmd.StdinPipe()
	if err != nil {
		return nil, &broken{err}
	}
	defer hold.Close()
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, &broken{err}
	}
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		return nil, &broken{err}
	}
	d, err := listen(out, func() { _ = cmd.Process.Kill() }) // that it has ended already is no error
	waited := cmd.Wait()
	if ctx.Err() != nil {
		return nil, &broken{context.Cause(ctx)}
	}
	if err != nil {
		return nil, &broken{err}
	}
	for _, c := range d.used {
		p.k.used[c] = true
	}
	if waited != nil && !d.killed && len(d.failed) == 0 {
		return nil, &broken{fmt.Errorf("a run ended strangely: %w: %s", waited, strings.TrimSpace(said.String()))}
	}
	return d, nil
}

// listen reads what a rehearsal says; kill ends its process.
func listen(out io.Reader, kill func()) (*done, error) {
	d := &done{rows: map[string]int64{}, failed: map[string]failed{}}
	lines := bufio.NewReader(out)
	for {
		text, err := lines.ReadBytes('\n')
		if err == io.EOF {
			return d, nil
		}
		if err != nil {
			return d, err
		}
		var l line
		if err := json.Unmarshal(text, &l); err != nil {
			return d, fmt.Errorf("a run said what is no line of a rehearsal: %q", text)
		}
		switch {
		case l.At > 0:
			d.killed = true
			kill()
		case l.Rows != nil:
			d.rows[l.Task] = *l.Rows
		case l.Kind != "":
			d.failed[l.Task] = failed{l.Kind, l.Text}
		default:
			d.points, d.used, d.said = l.Points, l.Used, l.Said
		}
	}
}
