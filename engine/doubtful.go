package engine

import (
	"fmt"
	"slices"

	"github.com/ubunye-io/ubunye/engine/ledger"
)

// DoubtfulStatus is an output that holds rows of a run which ended before its commit, or may hold them.
type DoubtfulStatus struct {
	Output string `json:"output"` // name of the output
	Run    string `json:"run"`    // id of the run

	Table string `json:"table,omitempty"` // path of the table that the run may have committed to; absent: the output is a folder, which the run had replaced
	Class string `json:"class,omitempty"` // of a table: how it is delivered, once, replaces or named
	Sure  bool   `json:"sure,omitempty"`  // of a table: the run knew that its commit is in it
}

// String says it, and what the next run of the batch does.
func (d DoubtfulStatus) String() string {
	if d.Table == "" {
		return fmt.Sprintf("output %s holds rows of run %s, which ended before its commit; the next run of the batch replaces them", d.Output, d.Run)
	}
	may := "may have written to"
	if d.Sure {
		may = "had written to"
	}
	then := "finds out, and does not write it twice"
	switch ledger.Class(d.Class) {
	case ledger.Replaces:
		then = "replaces what it finds"
	case ledger.Named:
		then = "adds its rows all the same: if the table has those of run " + d.Run + ", take them out before"
	}
	return fmt.Sprintf("output %s: run %s, which ended before its commit, %s the table %s; the next run of the batch %s", d.Output, d.Run, may, d.Table, then)
}

// doubted adds what is not there yet.
func doubted(all []DoubtfulStatus, d DoubtfulStatus) []DoubtfulStatus {
	if slices.Contains(all, d) {
		return all
	}
	return append(all, d)
}

// pending is what a run has left of a table.
func (r *run) pending(p ledger.Pending) DoubtfulStatus {
	folder, _ := r.ledger.Paths(ledger.Entry{Base: p.Output.Base})
	return DoubtfulStatus{Output: p.Name, Run: p.Run, Table: folder, Class: string(p.Output.Class), Sure: p.Certain()}
}
