package kit

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/ubunye-io/ubunye/engine"
	"github.com/ubunye-io/ubunye/engine/abi"
	"github.com/ubunye-io/ubunye/engine/problem"
	"github.com/ubunye-io/ubunye/engine/report"
	"github.com/ubunye-io/ubunye/engine/writer"
)

// Act is what happens at one operation of a rehearsal.
type Act string

// The acts.
const (
	ActNone Act = ""     // nothing
	ActStop Act = "stop" // the process says so, and waits to be killed
	ActFail Act = "fail" // the operation fails
)

// Rehearsal is a run in a process of its own that tells the kit what the writer does, a line of JSON at a time.
type Rehearsal struct {
	At  int // the operation, from 1
	Act Act
	In  io.Reader // ends when whoever asked for the rehearsal is gone
	Out io.Writer

	mu   sync.Mutex
	n    int
	used map[string]bool
	said int64
	err  error
}

// line is what a rehearsal says.
type line struct {
	At     int      `json:"at,omitempty"` // the operation at which it waits
	Op     string   `json:"op,omitempty"` // its name
	Task   string   `json:"task,omitempty"`
	Rows   *int64   `json:"rows,omitempty"` // an output of the task has landed
	Kind   string   `json:"kind,omitempty"` // the task failed: see failure
	Text   string   `json:"text,omitempty"`
	Points []string `json:"points,omitempty"` // at the end: the operations, the first maxPoints of them
	Used   []string `json:"used,omitempty"`   // at the end: the capabilities that were used
	Said   int64    `json:"said,omitempty"`   // at the end: bytes that the writer logged and printed
}

// maxPoints is how many operations a rehearsal tells of.
const maxPoints = 1000

// Kinds of a failure: that the writer reported it, that it was ended (then it is the writer.Kind), and that the engine refused
// what the writer asked for or the pipeline says.
const (
	kindReported = string(writer.Reported)
	kindEngine   = "engine"
)

// Run runs a pipeline and tells of it.
func (r *Rehearsal) Run(ctx context.Context, e *engine.Engine, o engine.Options) error {
	r.used = map[string]bool{}
	var points []string
	e.Report = r
	e.Probe = func(_, op string) error {
		r.mu.Lock()
		r.n++
		n := r.n
		if len(points) < maxPoints {
			points = append(points, op)
		}
		r.used[string(capability(op))] = true
		r.mu.Unlock()
		if n != r.At {
			return nil
		}
		return r.act(ctx, n, op)
	}
	err := e.Run(ctx, o)
	for _, p := range problems(err) { // those that no event has told among them
		r.say(line{Task: p.Task, Kind: kindOf(p), Text: p.Message})
	}
	r.mu.Lock()
	last := line{Points: points, Said: r.said}
	for c := range r.used {
		last.Used = append(last.Used, c)
	}
	r.mu.Unlock()
	slices.Sort(last.Used)
	r.say(last)
	return errors.Join(err, r.err)
}

// problems are those that a run ended with.
func problems(err error) problem.List {
	var list problem.List
	var one *problem.Problem
	if errors.As(err, &list) {
		return list
	}
	if errors.As(err, &one) {
		return problem.List{one}
	}
	return nil
}

// capability is the one that an operation, or an import, is of.
func capability(op string) abi.Capability {
	switch {
	case op == "rows_next":
		return abi.CapRelation
	case op == "file_write":
		return abi.CapFiles
	}
	return abi.Operation(op).Capability()
}

func (r *Rehearsal) act(ctx context.Context, n int, op string) error {
	if r.Act == ActFail {
		return &abi.Failure{Code: "rehearsed", Message: "this operation was made to fail"}
	}
	r.say(line{At: n, Op: op})
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		io.Copy(io.Discard, r.In)
	}()
	select {
	case <-gone:
		return errors.New("nobody has ended the rehearsal")
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Report upholds report.Reporter.
func (r *Rehearsal) Report(e report.Event) {
	switch e.Kind {
	case report.PluginLog:
		r.mu.Lock()
		r.said += int64(len(e.Message))
		r.mu.Unlock()
	case report.OutputLanded:
		r.say(line{Task: e.Task, Rows: e.Rows})
	case report.TaskFailed, report.Problem:
		if e.Problem != nil {
			r.say(line{Task: e.Task, Kind: kindOf(e.Problem), Text: e.Problem.Message})
		}
	}
}

// kindOf tells who is to blame for a problem.
func kindOf(p *problem.Problem) string {
	var e *writer.Error
	if p != nil && errors.As(p, &e) {
		var f *abi.Failure
		if e.Kind == writer.Reported && !errors.As(e.Err, &f) {
			return string(writer.Trap) // it gave no reason
		}
		return string(e.Kind)
	}
	return kindEngine
}

func (r *Rehearsal) say(l line) {
	data, err := json.Marshal(l)
	if err == nil {
		_, err = io.Copy(r.Out, strings.NewReader(string(data)+"\n"))
	}
	if err != nil {
		r.mu.Lock()
		r.err = err
		r.mu.Unlock()
	}
}
