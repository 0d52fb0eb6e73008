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
	kept []ledger.Replaced
	err  error
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
		p.Data = strings.Join(names, ", ") + " had been replaced by this run before it lost the batch; the run that has the batch now replaces it again"
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
	text := strings.Join(parts, ", ") + ", and the next run of the batch replaces it again"
	if p.Code == problem.OutcomeUnknown {
		p.Data += "; " + text
		return
	}
	p.Data = text + "; nothing else became visible"
}
