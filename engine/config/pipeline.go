package config

import (
	"time"

	"github.com/ubunye-io/ubunye/engine/problem"
)

// Pipeline is a pipeline file after profile, environment, flags and templates: what a run does.
// Everything in it has been checked, except what needs the data, the SQL, the compute engine or a writer plugin.
//
// Names (of the pipeline, tasks, inputs, steps, outputs, variables, profiles) begin with a letter or
// "_" and go on with letters, digits, "_" and "-", ASCII only, at most 64 bytes; they name folders and
// relations, so two that differ only in case count as the same. An output's folder is written by no other
// output of its task, lies in no other output's folder, and apart from the ledger.
type Pipeline struct {
	Name       string
	File       string // as it was given
	Dir        string // absolute; relative paths are relative to it
	Profile    string // empty: none
	Engine     Engine
	Ledger     Ledger
	State      State
	Durability string   // "safe" or "fast"
	Parallel   int      // tasks side by side
	Plugins    []Plugin // in the order of the file

	Connections []Connection // in the order of the file
	Variables   []Variable
	Batch       []string // variables that make the batch; nil: all that have a value
	Tasks       []Task   // in the order of the file

	// Unset are the variables that must have a value and have none: the required ones, those of Batch, and
	// those that a text needs. It is only ever filled with Options.AllowUnset: then texts that depend on a required one
	// stay as written, and the pipeline cannot run.
	Unset []Variable
}

// Engine holds the settings of the compute engine. Zero values leave the choice to it.
type Engine struct {
	Kind    string // "local"
	Memory  string // as "4GiB"
	Threads int
	Spill   string // absolute path
}

// Ledger holds the settings of the ledger.
type Ledger struct {
	Path      string // absolute
	Heartbeat time.Duration
	Timeout   time.Duration // at least six heartbeats
	Pos       problem.Pos   // of the path; zero when it was not set in the file
}

// State holds the settings of the run state.
type State struct {
	Path    string      // absolute
	Strict  bool        // the latest run of all counts, not that of the same variables and profile
	Recover string      // "proof", "auto" or "ask"
	Index   bool        // runs that ended have a line in an index
	Pos     problem.Pos // of the path; zero when it was not set in the file
}

// Plugin is a writer that is a file.
type Plugin struct {
	Name    string        `json:"-"`
	Path    string        `json:"-"`      // absolute
	SHA256  string        `json:"sha256"` // 64 lower-case hexadecimal digits
	Writer  string        `json:"writer,omitempty"`
	Memory  int64         `json:"-"` // bytes
	Timeout time.Duration `json:"-"`
	Files   bool          `json:"-"` // it may make files of its own
	Locked  bool          `json:"-"` // the lock pins this very module
	Table   bool          `json:"-"` // it may have the files of the target, of which it makes a table
	// HTTP are the hosts that it may ask, as package outbound reads them; empty: none.
	HTTP    []string          `json:"-"`
	HTTPPos problem.Pos       `json:"-"`
	Secrets map[string]string `json:"-"` // environment variables that the header of a request may carry, with their values
	Pos     problem.Pos       `json:"-"`
	PathPos problem.Pos       `json:"-"`
	SHAPos  problem.Pos       `json:"-"`
}

// Variable is a declared variable and its value.
type Variable struct {
	Name    string
	Type    Type
	SQLType string // type of the parameter $name; a function of Type alone
	Value   string // in the one spelling of its type
	Set     bool   // there is a value
	Given   bool   // the value came from a flag or the environment
	Doc     string
	Pos     problem.Pos
}

// Task is one unit of work: it reads, transforms, and lands its outputs together.
type Task struct {
	Name     string      `json:"name"`
	Inputs   []Input     `json:"inputs"` // in the order of the file
	Steps    []Step      `json:"steps"`  // in the order of the file
	Checks   []Check     `json:"expect,omitempty"`
	Balances []Balance   `json:"reconcile,omitempty"`
	Outputs  []Output    `json:"outputs"` // in the order of the file
	Pos      problem.Pos `json:"-"`

	// Config is the rendered configuration as JSON: equal for equal work, whatever the
	// layout of the file, and the same from another working or mount directory (paths are as written;
	// the text of SQL files is part of it). Engine, ledger and parallelism are not part of it.
	Config []byte `json:"-"`
}

// Input is what is read as one relation: files, or what another task wrote. Of the latter the format, path,
// options and columns are those of that output, and empty here.
type Input struct {
	Name    string  `json:"name"`
	Format  string  `json:"format"`
	Path    string  `json:"-"`    // absolute; possibly a glob
	Written string  `json:"path"` // the rendered path as written
	From    *Source `json:"from,omitempty"`

	Connection string `json:"connection,omitempty"` // of a database; then Table or Query is there, and no Path
	Table      string `json:"table,omitempty"`
	Query      string `json:"query,omitempty"`

	Options map[string]string `json:"options,omitempty"`
	Columns []Column          `json:"columns,omitempty"` // in the order of the file
	Schema  string            `json:"schema,omitempty"`  // "strict", "add_columns" or "evolve"; empty: the columns are not what files have
	OnEmpty string            `json:"on_empty"`          // "ok", "warn" or "fail"
	Rejects *Rejects          `json:"rejects,omitempty"` // nil: a row that is not as declared ends the task

	Incremental *Incremental `json:"incremental,omitempty"` // nil: all is read, each time

	Pos     problem.Pos `json:"-"`
	PathPos problem.Pos `json:"-"` // of the path, or of from

	OptionsAt map[string]OptionAt `json:"-"` // where Options are written
}

// Incremental says how an input reads what is new: by a column, or by files.
type Incremental struct {
	Column string        `json:"column,omitempty"` // the one that grows; empty: it is by files
	Settle time.Duration `json:"-"`                // of files: how old one must be
	Pos    problem.Pos   `json:"-"`
}

// Rejects is where the rows of an input go that are not as declared. An output of the task writes them.
type Rejects struct {
	Name    string  `json:"name"`    // of the relation
	Rows    int64   `json:"rows"`    // that there may be; -1: no such limit
	Percent float64 `json:"percent"` // of the rows read that there may be; -1: no such limit
}

// OptionAt is where an option is written.
type OptionAt struct {
	Pos  problem.Pos // of its name
	Open bool        // its value depends on a variable that has none: see Pipeline.Unset
}

// Source is an output of another task: there are such a task and such an output, and no task reads, by way of
// others, what it writes itself.
type Source struct {
	Task   string `json:"task"`
	Output string `json:"output"`
}

// String gives it as it is written in the pipeline.
func (s Source) String() string { return s.Task + "." + s.Output }

// Reads names what is read, as a person wrote it.
func (in Input) Reads() string {
	if in.From != nil {
		return in.From.String()
	}
	return in.Written
}

// Incremental tells whether an input of the task reads what is new only.
func (t Task) Incremental() bool {
	for _, in := range t.Inputs {
		if in.Incremental != nil {
			return true
		}
	}
	return false
}

// Column is a declared column.
type Column struct {
	Name string      `json:"name"`
	Type string      `json:"type"` // SQL type
	Pos  problem.Pos `json:"-"`
	Open bool        `json:"-"` // its type depends on a variable that has none: see Pipeline.Unset
}

// Step is one named SELECT.
type Step struct {
	Name string      `json:"name"`
	SQL  string      `json:"sql"`
	File string      `json:"-"` // the SQL file, if it has one of its own
	Pos  problem.Pos `json:"-"` // of the SQL text, or of the start of File
}

// Check is one data check of a relation. One that names several columns and is not about them together is several.
type Check struct {
	Relation string      `json:"relation"`          // a step or input of the task
	Kind     string      `json:"kind"`              // "not_null", "unique", "between", "one_of", "matches", "rows" or "columns"
	Columns  []string    `json:"columns,omitempty"` // the one that is checked; of unique: those that make the key
	Min      *string     `json:"min,omitempty"`     // of between, and of rows, where it is a whole number; nil: open
	Max      *string     `json:"max,omitempty"`
	Values   []string    `json:"values,omitempty"`  // of one_of
	Pattern  string      `json:"pattern,omitempty"` // of matches
	Types    []Column    `json:"types,omitempty"`   // of columns; the type AnyType stands for all
	Severity string      `json:"severity"`          // "fail", "warn" or "quarantine"
	To       string      `json:"to,omitempty"`      // of quarantine: an output of the task
	Text     string      `json:"-"`                 // the check in one spelling, at most some 100 characters
	Pos      problem.Pos `json:"-"`
	Open     bool        `json:"-"` // it depends on a variable that has none: see Pipeline.Unset
}

// AnyType stands for the type of a column that may have any.
const AnyType = "any"

// Balance compares what was read with what is to land.
type Balance struct {
	Input     string      `json:"input"`
	Outputs   []string    `json:"outputs"`             // of the task, taken together
	MaxLost   int64       `json:"max_lost,omitempty"`  // how many rows fewer may land than were read; never more
	Sum       string      `json:"sum,omitempty"`       // the column whose sums are compared; empty: rows are
	Tolerance string      `json:"tolerance,omitempty"` // by how much the sums may differ: a decimal number, not negative
	Severity  string      `json:"severity"`            // "fail" or "warn"
	Text      string      `json:"-"`                   // as in Check
	Pos       problem.Pos `json:"-"`
}

// Output is one place to write a relation to.
type Output struct {
	Name           string            `json:"name"`
	From           string            `json:"from"`                 // a step or input of the task, or the rejects of one
	Quarantine     bool              `json:"quarantine,omitempty"` // what is written is not From itself but the rows that its checks have taken out of it
	Format         string            `json:"format"`
	Plugin         *Plugin           `json:"plugin,omitempty"` // nil: the writer is built in
	Path           string            `json:"-"`                // absolute
	Written        string            `json:"path"`             // the rendered path as written
	Mode           string            `json:"mode"`
	PartitionBy    []string          `json:"partition_by,omitempty"`
	SortBy         []string          `json:"sort_by,omitempty"`
	Options        map[string]string `json:"options,omitempty"`
	Keys           []string          `json:"keys,omitempty"`          // of mode merge
	ReplaceWhere   string            `json:"replace_where,omitempty"` // SQL; of a table
	Schema         string            `json:"schema,omitempty"`        // "strict", "add_columns" or empty
	SuccessFile    bool              `json:"success_file"`
	TargetFileSize int64             `json:"target_file_size,omitempty"` // bytes; 0: none
	Pos            problem.Pos       `json:"-"`
	FormatPos      problem.Pos       `json:"-"`
	ModePos        problem.Pos       `json:"-"` // of the output when the mode is not written
	PathPos        problem.Pos       `json:"-"`

	OptionsAt map[string]OptionAt `json:"-"` // where Options are written
}
