package report

import (
	"encoding/json"
	"errors"

	"github.com/ubunye-io/ubunye/engine/problem"
)

// Decode reads a line that JSON printed. All of the event comes back but the cause of its problem.
func Decode(text []byte) (Event, error) {
	var l line
	if err := json.Unmarshal(text, &l); err != nil {
		return Event{}, err
	}
	if l.Kind == "" {
		return Event{}, errors.New("it is no event")
	}
	if l.Reason != "" {
		p := &problem.Problem{Code: l.Reason, Pos: problem.Pos{File: l.File, Line: l.Line, Col: l.Column}, Task: l.Task, Output: l.Output,
			Message: l.Message, Data: l.Data, Hint: l.Hint}
		l.Problem, l.Message = p, p.Error()
	}
	return l.Event, nil
}
