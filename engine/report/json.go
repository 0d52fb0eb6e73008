package report

import (
	"encoding/json"
	"io"
	"sync"

	"github.com/ubunye-io/ubunye/engine/problem"
)

// JSON prints one event a line.
type JSON struct {
	Out io.Writer

	mu sync.Mutex
}

// line is an Event as it is printed, with the parts of its problem.
type line struct {
	Event
	File   string `json:"file,omitempty" in:"task_failed? problem?"`   // the file that the problem is in: a data file, the pipeline file, or one that it names
	Line   int    `json:"line,omitempty" in:"task_failed? problem?"`   // line in that file, from 1
	Column int    `json:"column,omitempty" in:"task_failed? problem?"` // byte in that line, from 1
	Data   string `json:"data,omitempty" in:"task_failed? problem?"`   // what the problem means for the data
	Hint   string `json:"hint,omitempty" in:"task_failed? problem?"`   // what to do next
}

// Report prints one event. What cannot be written is lost: the exit code tells how the run ended.
func (j *JSON) Report(e Event) {
	j.mu.Lock()
	defer j.mu.Unlock()
	l := line{Event: e}
	if p := e.Problem; p != nil {
		l.File, l.Line, l.Column, l.Data, l.Hint = p.Pos.File, p.Pos.Line, p.Pos.Col, p.Data, p.Hint
		l.Message = p.Message
	}
	enc := json.NewEncoder(j.Out)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(l)
}

// Of makes an event of a problem.
func Of(kind Kind, p *problem.Problem) Event {
	return Event{Kind: kind, Task: p.Task, Output: p.Output, Reason: p.Code, Message: p.Error(), Problem: p}
}
