package engine

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/ubunye-io/ubunye/engine/compute"
	"github.com/ubunye-io/ubunye/engine/config"
	"github.com/ubunye-io/ubunye/engine/ledger"
	"github.com/ubunye-io/ubunye/engine/problem"
	"github.com/ubunye-io/ubunye/engine/report"
)

// span is what an incremental input reads for one commit, and so where the next one goes on. It is kept in the ledger.
type span struct {
	Column *columnSpan `json:"column,omitempty"`
	Files  *filesSpan  `json:"files,omitempty"`

	Follows string `json:"follows,omitempty"` // of an input by from: a digest of the range whose rows it read
}

// columnSpan are the rows whose value of a column comes after one and not after another.
type columnSpan struct {
	Name  string  `json:"name"`
	Type  string  `json:"type"`
	Path  string  `json:"path"`            // where they are, as written in the pipeline
	After *string `json:"after,omitempty"` // absent: from the first on
	UpTo  *string `json:"up_to,omitempty"` // included; absent: there was no row
}

// empty tells whether no row can be in it.
func (c columnSpan) empty() bool { return c.UpTo == nil || c.After != nil && *c.After == *c.UpTo }

func (c columnSpan) text() string {
	switch {
	case c.empty() && c.UpTo == nil:
		return "no row, as none has a value of " + c.Name
	case c.empty():
		return "no row: " + c.Name + " is nowhere > " + *c.After
	case c.After == nil:
		return c.Name + " <= " + *c.UpTo
	}
	return c.Name + " > " + *c.After + " and <= " + *c.UpTo
}

// text says what is read.
func (s span) text() string {
	switch {
	case s.Column != nil:
		return s.Column.text()
	case s.Files != nil && len(s.Files.Read) == 0:
		return "no new file"
	case s.Files != nil:
		return report.Count(int64(len(s.Files.Read)), "new file")
	}
	return "what this version does not know"
}

// markText says where the next run goes on.
func (s span) markText() string {
	switch {
	case s.Column != nil && s.Column.UpTo == nil:
		return "nothing was read yet"
	case s.Column != nil:
		return s.Column.Name + " up to " + *s.Column.UpTo + " (" + s.Column.Type + ")"
	case s.Files != nil:
		return report.Count(int64(s.Files.count()), "file") + " read"
	}
	return "what this version does not know"
}

// isOf tells whether the span is one of an input as it is declared now.
func (s span) isOf(in config.Incremental) bool {
	if in.Column != "" {
		return s.Column != nil && strings.EqualFold(s.Column.Name, in.Column)
	}
	return s.Files != nil
}

// empty tells whether it has nothing to read.
func (s span) empty() bool {
	return s.Column != nil && s.Column.empty() || s.Files != nil && len(s.Files.Read) == 0
}

// mark is where a person has an input go on.
type mark struct {
	Value *string  `json:"value,omitempty"` // of its column
	Files *seenSet `json:"files,omitempty"` // that count as read
}

func (m mark) text() string {
	switch {
	case m.Value != nil:
		return "above " + *m.Value
	case m.Files != nil:
		return "with " + report.Count(int64(m.Files.count()), "file") + " counted as read"
	}
	return "as this version does not know"
}

// readsOn is where an input goes on; zero: at the beginning.
type readsOn struct {
	value *compute.Value
	files seenSet
}

// spansOf reads a range. One that cannot be understood has no spans: no input of today is in it.
func spansOf(r json.RawMessage) map[string]span {
	spans := map[string]span{}
	if json.Unmarshal(r, &spans) != nil {
		return nil
	}
	return spans
}

// readsOn tells where an input goes on after the last commit. What a person has set counts first. A commit that tells nothing of
// the input, because it was declared otherwise then, is a refusal: all of it would be read again.
func (r *run) readsOn(task string, in config.Input, last *ledger.Finished, marks map[string]json.RawMessage) (on readsOn, err error) {
	if set, ok := marks[in.Name]; ok {
		var m mark
		if json.Unmarshal(set, &m) != nil || (m.Value != nil) != (in.Incremental.Column != "") || (m.Value == nil) != (m.Files != nil) {
			return on, r.noMark(task, in, "what was set by hand as its mark is none of an input that is read like this")
		}
		if m.Files != nil {
			on.files = *m.Files
		} else {
			on.value = &compute.Value{Text: *m.Value}
		}
		return on, nil
	}
	if last == nil {
		return on, nil
	}
	s, ok := spansOf(last.Range)[in.Name]
	if !ok || !s.isOf(*in.Incremental) {
		return on, r.noMark(task, in, fmt.Sprintf("run %s, whose commit of %s was the last, did not read it so", last.Run, when(last.At)))
	}
	switch {
	case s.Files != nil:
		on.files = s.Files.seenSet
	case s.Column.UpTo != nil:
		on.value = &compute.Value{Type: s.Column.Type, Text: *s.Column.UpTo}
	}
	return on, nil
}

// noMark refuses to read an input from the beginning, whose batch has been committed.
func (r *run) noMark(task string, in config.Input, why string) *problem.Problem {
	set := []string{"--mark", "VALUE"}
	if in.Incremental.Column == "" {
		set = []string{"--seen", "all"}
	}
	return &problem.Problem{Code: problem.ConfigInvalid, Pos: in.Incremental.Pos, Task: task, Data: nothing,
		Message: fmt.Sprintf("input %s: what of it was read cannot be told: %s; from the beginning, rows would land again that have landed", in.Name, why),
		Hint:    "say where it goes on: " + r.setCommand(task, append([]string{"--input", in.Name}, set...)...)}
}
