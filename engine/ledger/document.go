package ledger

import (
	"encoding/json"
	"path"
	"slices"
	"time"
)

// Class tells what a writer promises for an output; see doc.go. Documents may name others than these.
//
//schema:open
type Class string

// The classes that this package prepares.
const (
	Claims   Class = "claims"   // the ledger lands the files after its commit
	Replaces Class = "replaces" // the folder, or folders in it, are exchanged before the commit; or a table replaces the batch's rows in a commit of its own
	Once     Class = "once"     // of a table: where a dead run has committed the batch, nothing is committed
	Named    Class = "named"    // of a table: neither can be promised; what dead runs may have left is named, and never removed
)

// Place is a folder. One that lies under the ledger's parent is kept relative to it, so that it is
// found under another mount point too; another one is absolute and names the machine it is on.
type Place struct {
	Path       string `json:"path"`                  // path of the folder, with symbolic links resolved
	RelativeTo string `json:"relative_to,omitempty"` // "ledger": path is relative to the folder that the ledger lies in; absent: it is absolute
	Machine    string `json:"machine,omitempty"`     // of an absolute path: the machine id, if known
}

// Document is what the ledger knows of one batch. It is changed only by compare-and-swap.
type Document struct {
	Epoch    int64             `json:"epoch"`    // up by one at every acquire, never back
	Batch    Batch             `json:"batch"`    // the batch that the document is of
	Holder   *Holder           `json:"holder"`   // the run that may write the batch now; null: nobody
	Outputs  map[string]Output `json:"outputs"`  // what the holder is writing
	Range    json.RawMessage   `json:"range"`    // what incremental inputs are to be read, pinned before they are
	Todo     []Entry           `json:"todo"`     // what has still to be done to files
	Pending  []Pending         `json:"pending"`  // tables that runs which did not commit may have written to
	Tried    []Try             `json:"tried"`    // failed since the last commit, oldest first, at most 16
	Finished *Finished         `json:"finished"` // the last commit

	Marks     map[string]json.RawMessage `json:"marks,omitempty"`     // by input: where a person has an incremental one go on, since the last commit
	Decisions []Decision                 `json:"decisions,omitempty"` // what persons decided about marks and range, oldest first, at most 16

	extra unknown
}

// keepTries bounds Document.Tried.
const keepTries = 16

// Holder is the run that holds a batch, and what its process can be told by.
type Holder struct {
	Run string `json:"run"` // id of the run
	Identity
	Since time.Time `json:"since"` // when it took the batch

	extra unknown
}

// Output is one output that the holder is writing.
type Output struct {
	Class   Class    `json:"class"`             // delivery class
	Mode    string   `json:"mode"`              // mode of the output in the pipeline
	Base    Place    `json:"base"`              // the output folder
	Absent  int      `json:"absent,omitempty"`  // how many last elements of base were not there at prepare
	Target  string   `json:"target"`            // the target id of base; of a table without a folder, its name
	Staging string   `json:"staging"`           // its staging folder, relative to the ledger, or a path
	Phase   string   `json:"phase"`             // how far it is: staging, committing or done
	Key     string   `json:"key,omitempty"`     // of a table: what its commits of this batch carry, with the epoch
	Claims  []string `json:"claims"`            // final names, relative to base
	Success bool     `json:"success,omitempty"` // _SUCCESS is written after landing

	// of class Replaces
	Marker  string   `json:"marker,omitempty"`  // of class replaces: name of the file that is in every folder which this run puts in place
	Parts   []string `json:"parts,omitempty"`   // from phase committing on: those folders, relative to base; "." is base itself
	Renames bool     `json:"renames,omitempty"` // the file system cannot exchange: each takes two renames
	Moved   *Moved   `json:"moved,omitempty"`   // from phase committing on: base cannot be renamed, so what is in it is moved

	extra unknown
}

// Pending is what a run that did not commit the batch has left of one output whose target has a commit of its own,
// when it had begun that commit, or may have. What it staged may be in the table's folder, and its log may name
// it, or may yet: nothing of it is removed before the log cannot any more. The next run of the batch that commits
// to the table finds out.
type Pending struct {
	Run    string `json:"run"`    // id of the run
	Epoch  int64  `json:"epoch"`  // the epoch in which it held the batch
	Name   string `json:"name"`   // name of the output, which may have another one now
	Output Output `json:"output"` // what the run had recorded of it; its phase tells whether it knew that it had committed

	extra unknown
}

// Certain tells whether the run knew that its commit is in the table.
func (p Pending) Certain() bool { return p.Output.Phase == phaseDone }

// Mark tells a commit in a table's log, or a transaction of a database.
type Mark struct {
	Run    string `json:"run"`    // id of the run that made it
	Epoch  int64  `json:"epoch"`  // the epoch of the batch in which it did; 0: there is none
	Commit string `json:"commit"` // what people find it by, as "version 12"
}

// Do is what an entry of the to-do list asks for.
type Do string

// The entries, in the order in which they are carried out.
const (
	Land   Do = "land"   // rename each staged file to its final name
	Remove Do = "remove" // remove files of a batch that was replaced
	Drop   Do = "drop"   // remove a staging folder, or the old data that an exchange left there
)

// Entry is one piece of work on files. Every entry may be carried out twice, and by two processes at
// once: names hold a fresh UUID and are never used again.
type Entry struct {
	Do      Do       `json:"do"`                // what is to be done
	Run     string   `json:"run"`               // whose files they are
	Output  string   `json:"output"`            // name of the output
	Base    Place    `json:"base"`              // the output folder
	Absent  int      `json:"absent,omitempty"`  // of land: how many last elements of base were not there at prepare
	Target  string   `json:"target,omitempty"`  // the target id of base
	Staging string   `json:"staging,omitempty"` // of land and drop: the staging folder, relative to the ledger, or a path
	Names   []string `json:"names,omitempty"`   // of land and remove: final names, relative to base
	Success bool     `json:"success,omitempty"` // of land: _SUCCESS is written at the end
	Fast    bool     `json:"fast,omitempty"`    // of land and drop: its run risks its newest files in a power cut, as durability: fast says

	// Drop, of an output that replaces folders: as in Output
	Marker    string   `json:"marker,omitempty"`    // name of the file that tells whether the exchange had happened
	Parts     []string `json:"parts,omitempty"`     // the folders that were replaced
	Renames   bool     `json:"renames,omitempty"`   // each was replaced by two renames
	Moved     *Moved   `json:"moved,omitempty"`     // its entries were moved, by this list
	Committed bool     `json:"committed,omitempty"` // of drop: its run committed, so what is dropped is the old data

	extra unknown
}

// Try is a run that held the batch and failed, or died.
type Try struct {
	Run    string    `json:"run"`            // id of the run
	Epoch  int64     `json:"epoch"`          // the epoch in which it held the batch
	At     time.Time `json:"at"`             // when it gave up
	Reason string    `json:"reason"`         // what it told the person, on one line
	Kept   []string  `json:"kept,omitempty"` // outputs that it had replaced, or in part
	By     string    `json:"by,omitempty"`   // the run that took the batch over from it

	extra unknown
}

// Finished is a commit: the one fact that makes a batch a run's.
type Finished struct {
	Run     string                    `json:"run"`              // id of the run
	State   string                    `json:"state"`            // the run in the run state, as sales.5; empty: none is kept
	Epoch   int64                     `json:"epoch"`            // the epoch in which it held the batch
	At      time.Time                 `json:"at"`               // when it committed
	Config  string                    `json:"config"`           // hash of the task's configuration
	Range   json.RawMessage           `json:"range"`            // the incremental inputs that it read
	Inputs  json.RawMessage           `json:"inputs"`           // fingerprint of what was read
	Outputs map[string]FinishedOutput `json:"outputs"`          // what became of each output
	Checks  []Check                   `json:"checks,omitempty"` // how the data checks went, in the order of the pipeline

	// of a batch that another program finished: which one. run is then the run that took it over, and how many rows it
	// has is not known
	Imported *Origin `json:"imported,omitempty"`

	extra unknown
}

// FinishedOutput is what a commit says of one output.
type FinishedOutput struct {
	Class  Class    `json:"class"`            // delivery class
	Base   Place    `json:"base"`             // the output folder
	Target string   `json:"target,omitempty"` // the target id of base
	Claims []string `json:"claims"`           // final names, relative to base
	Parts  []string `json:"parts,omitempty"`  // of class Replaces: the folders that were replaced, relative to base
	Key    string   `json:"key,omitempty"`    // of a table: what its commits of this batch carry, with the epoch
	Mark   *Mark    `json:"mark,omitempty"`   // of a table: the commit that holds the batch, which a dead run may have made

	// the columns of the relation that was written: files and names of folders do not tell every type
	Columns []Column `json:"columns,omitempty"`

	Rows  int64 `json:"rows"`  // rows written
	Files int64 `json:"files"` // files written
	Bytes int64 `json:"bytes"` // bytes of the files

	extra unknown
}

// Check is how a data check of the task went.
type Check struct {
	Relation string `json:"relation,omitempty"` // the input or step that it is about; absent: it compares input and output
	Check    string `json:"check"`              // the check, as in the pipeline
	Severity string `json:"severity"`           // fail, warn or quarantine
	Passed   bool   `json:"passed"`             // it was not broken
	Rows     int64  `json:"rows"`               // rows that were looked at
	Broken   int64  `json:"broken,omitempty"`   // rows that break it
	Detail   string `json:"detail,omitempty"`   // what was wrong
}

// Column is a name and its SQL type.
type Column struct {
	Name string `json:"name"` // the column's name
	Type string `json:"type"` // its SQL type
}

// Batch is a task with all its variables and the profile.
type Batch struct {
	Pipeline  string            `json:"pipeline"`  // name of the pipeline
	Task      string            `json:"task"`      // name of the task
	Variables map[string]string `json:"variables"` // the values that make the batch, in their one spelling
	Profile   string            `json:"profile"`   // name of the profile; empty: none
	Key       string            `json:"key"`       // 16 hex digits of the SHA-256 over the batch in canonical JSON
	Named     bool              `json:"named"`     // only a named batch is ever refused as finished, or replaced

	extra unknown
}

// Name is the name of the batch's document: <pipeline>/<task>/<key>.
func (b Batch) Name() string { return path.Join(b.Pipeline, b.Task, b.Key) }

// heldBy tells whether run holds the batch in this epoch.
func (d *Document) heldBy(run string, epoch int64) bool {
	return d.Holder != nil && d.Holder.Run == run && d.Epoch == epoch
}

// committedBy tells whether run committed the batch in this epoch.
func (d *Document) committedBy(run string, epoch int64) bool {
	return d.Finished != nil && d.Finished.Run == run && d.Finished.Epoch == epoch
}

// landsFor tells whether a committed list of run is left.
func (d *Document) landsFor(run string) bool {
	return slices.ContainsFunc(d.Todo, func(e Entry) bool { return (e.Do == Land || e.Committed) && e.Run == run })
}

// try adds a run that failed or died, and forgets the oldest if there are too many.
func (d *Document) try(t Try) {
	d.Tried = append(d.Tried, t)
	d.Tried = d.Tried[max(0, len(d.Tried)-keepTries):]
}

// keeps notes what a run that did not commit was found to have replaced.
func (d *Document) keeps(k Kept) {
	for i, t := range d.Tried {
		if t.Run == k.Run && !slices.Contains(t.Kept, k.Output) {
			d.Tried[i].Kept = append(slices.Clone(t.Kept), k.Output)
		}
	}
}

// encode gives the document as it is saved: lists and maps that are empty are there.
func (d *Document) encode() ([]byte, error) {
	if d.Outputs == nil {
		d.Outputs = map[string]Output{}
	}
	if d.Todo == nil {
		d.Todo = []Entry{}
	}
	if d.Pending == nil {
		d.Pending = []Pending{}
	}
	if d.Tried == nil {
		d.Tried = []Try{}
	}
	d.Range = orEmpty(d.Range)
	return json.Marshal(d)
}

func orEmpty(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage("{}")
	}
	return raw
}

// clone returns a deep copy.
func (d *Document) clone() (*Document, error) {
	data, err := d.encode()
	if err != nil {
		return nil, err
	}
	c := &Document{}
	return c, json.Unmarshal(data, c)
}
