package engine

import (
	"fmt"
	"strings"

	"github.com/ubunye-io/ubunye/engine/ledger"
	"github.com/ubunye-io/ubunye/engine/problem"
	"github.com/ubunye-io/ubunye/engine/report"
)

// keptError is a failure after targets had made commits of their own: what these replaced is not taken
// back (I3).
type keptError struct {
	kept   []ledger.Replaced
	tables []keptTable
	err    error
}

// keptTable is a table that holds what a run committed to it, or may hold it.
type keptTable struct {
	ledger.TableOutcome
	class ledger.Class
}

// keptTables are those of a run that failed.
func (b *batch) keptTables() (all []keptTable) {
	for _, o := range b.lease.Tables() {
		if t, ok := b.target(o.Output); ok && (o.Outcome == ledger.Done || o.Outcome == ledger.Unknown) {
			all = append(all, keptTable{o, ledger.Class(t.Class)})
		}
	}
	return all
}

func (e *keptError) Error() string { return e.err.Error() }
func (e *keptError) Unwrap() error { return e.err }

// say tells of every output what is kept, and what the next run does with it.
func (e *keptError) say(p *problem.Problem) {
	if p.Code == problem.RunLeaseLost {
		var names []string
		for _, k := range e.kept {
			names = append(names, "output "+k.Output)
		}
		did := " had been replaced by this run before it lost the batch; the run that has the batch now replaces it again"
		for _, k := range e.tables {
			names = append(names, "output "+k.Output)
			did = " had been written by this run before it lost the batch; the run that has the batch now finds that, or replaces it"
		}
		p.Data = strings.Join(names, ", ") + did
		return
	}
	var parts []string
	for _, k := range e.kept {
		did := "the folder was replaced"
		if len(k.Parts) < k.Of {
			did = fmt.Sprintf("%s of %s was replaced", report.Count(int64(len(k.Parts)), "folder"), report.Count(int64(k.Of), "folder"))
		} else if k.Of > 1 {
			did = report.Count(int64(k.Of), "folder") + " were replaced"
		}
		parts = append(parts, fmt.Sprintf("output %s is kept as it is (in %s %s before the failure)", k.Output, k.Base, did))
	}
	text := ""
	if len(parts) > 0 {
		text = strings.Join(parts, ", ") + ", and the next run of the batch replaces it again"
	}
	for _, k := range e.tables {
		if text != "" {
			text += "; "
		}
		text += k.text()
	}
	if p.Code == problem.OutcomeUnknown {
		p.Data += "; " + text
		return
	}
	p.Data = text + "; nothing else became visible"
}

// text says of a table what is in it, and what the next run of the batch does.
func (k keptTable) text() string {
	has := fmt.Sprintf("output %s is kept (the table %s holds it as %s)", k.Output, k.Base, k.Mark.Commit)
	if k.Outcome == ledger.Unknown {
		has = fmt.Sprintf("whether the table %s of output %s holds it is not known", k.Base, k.Output)
	}
	switch k.class {
	case ledger.Once:
		return has + ", and the next run of the batch looks for it and does not write it twice"
	case ledger.Replaces:
		return has + ", and the next run of the batch replaces it"
	}
	return has + ", and the next run of the batch adds its rows again: take those of this one out before, if they are there"
}
