// Package compute is the interface to what makes rows: an engine opens inputs, runs SQL steps and
// encodes files with its own fast writers. The embedded DuckDB (compute/duckdb) is one engine; Spark
// Connect is to be another, so nothing here may assume that rows or files pass through this process.
//
// Package computetest is the suite that every engine must pass.
package compute

import (
	"context"
	"fmt"
	"time"
)

// Engine opens sessions.
type Engine interface {
	// Files lists what Session.Input would read now, in the same order, and opens none of it. The error is of the same kinds.
	Files(ctx context.Context, in Input) ([]File, error)
	// Version tells which version of a table an input would read now, so that all of a run can read the same one; nil: its format
	// knows no versions.
	Version(ctx context.Context, in Input) (*int64, error)
	// SaysColumns tells whether files of a format of inputs say themselves what columns they have, so that opening an input reads
	// no values, also if none are declared.
	SaysColumns(format string) bool
	// Check finds what is wrong with an input whatever its files hold: its format, its options and the types of its columns. All
	// of it is told, as errors of the kind BadOption that name the option or the column; no file is looked for. The error says
	// that it could not be found out.
	Check(ctx context.Context, in Input) ([]*Error, error)
	// CheckRules finds what is wrong with rules whatever the rows are: patterns, and, if the columns of the relation are known,
	// names, values and also the types of those columns. All of it is told, as in Check; Error.Rule tells which rule it is about.
	CheckRules(ctx context.Context, rules []Rule, columns []Column) ([]*Error, error)
	// Open starts a session for one task. Opening reads no data.
	Open(ctx context.Context, s Settings) (Session, error)
}

// Settings are those of one session.
type Settings struct {
	Memory    string     // most memory to use, as "4GiB"; empty: the engine's default
	Share     int        // how many sessions have that memory together, each an equal part of it; 0: this one alone
	Threads   int        // worker threads; 0: the engine's default
	Spill     string     // folder for what does not fit in memory; it need not exist, the one above it must; it belongs to the session
	Variables []Variable // what SQL may name as $dt

	// Rename gives a file of an Encode another name in its folder, one that is not taken. Engines whose own writers cannot
	// make the names that Encode promises need it.
	Rename func(from, to string) error
}

// Variable is a value that SQL binds as $name.
type Variable struct {
	Name  string
	Type  string // SQL type, as "DATE", "VARCHAR", "DECIMAL(18,2)"
	Value string // canonical text of the value
}

// Relation is a handle on rows of a session: the name under which later SQL steps can read them.
// Handles are of one session; they never carry rows. Names are compared as SQL compares them, without
// regard to case. One that holds a control character is nothing that people know: it is not proposed to them, and SQL reads it by Step.Reads alone.
type Relation string

// Session holds the relations of one task. Its methods are called by one goroutine at a time.
// Cancelling a call's context ends it early; the session may then only be closed.
//
// Relations are lazy: rows are computed when a relation is encoded, counted or read. A value that
// cannot be read is found then, and only if something uses its column.
type Session interface {
	// Input makes a relation of files. What was read is pinned: the list of files is made here, once.
	Input(ctx context.Context, in Input) (Relation, []File, error)
	// Greatest gives the greatest value of a column of an input, and how it stands to after, if that is not nil. It reads the
	// column of all rows. A column that the input does not have, or whose type has no order, and an after that is no value of it
	// are errors of the kind BadOption; a greatest value that nothing could come after (NaN, infinity) is one of InputInvalid.
	Greatest(ctx context.Context, r Relation, column string, after *Value) (Greatest, error)
	// Narrow leaves of an input the rows that are in a window. It comes before anything reads the input, and once.
	Narrow(ctx context.Context, r Relation, w Window) error
	// Prepare makes a relation of each step, in order, under the step's name. A step is one SELECT (or a Divide) over
	// inputs, earlier steps and the session's variables.
	//
	// consumed names the relations that the caller itself is going to encode, count or read: one entry
	// for each time. From it and from what the steps refer to, the session knows which relations have more
	// than one consumer; those are computed once, here, and kept (by Spark: cached), so that all
	// consumers see the same rows even if the SQL is not deterministic. A relation that is consumed more often than it
	// was announced is computed again.
	//
	// Prepare may be called again: later steps see all earlier relations, and consumers add up.
	Prepare(ctx context.Context, steps []Step, consumed []Relation) error
	// Tally tells what became of the rows of an input that has Rejects.
	Tally(ctx context.Context, r Relation) (Tally, error)
	// Schema gives the columns of a relation in order. It computes nothing.
	Schema(ctx context.Context, r Relation) ([]Column, error)
	// Missing names the columns of an input that stand in none of its files, and that it has all the same: see Input.Known.
	Missing(ctx context.Context, r Relation) ([]string, error)
	// Count gives the number of rows.
	Count(ctx context.Context, r Relation) (int64, error)
	// Type gives a SQL type in the spelling that Schema has; an error of the kind BadOption if there is no such type.
	Type(ctx context.Context, text string) (string, error)
	// Check counts the rows of a relation and those that break rules. It counts as two consumers for Prepare. A rule that the
	// relation cannot have is an error of the kind BadOption that tells which.
	Check(ctx context.Context, c Check) (Checked, error)
	// Sum adds up the values of a numeric column, a NULL as nothing, and gives the sum as text: exact, but for columns of
	// floating-point numbers. It counts as one consumer for Prepare.
	Sum(ctx context.Context, r Relation, column string) (string, error)
	// Encode writes a relation as files below a folder that exists; other files there stay as they are. It may
	// leave partial files behind when it fails; it does not fsync.
	Encode(ctx context.Context, e Encode) ([]Encoded, error)
	// Rows reads a relation's rows, of the named columns in that order, or of all if none is named. Reading
	// counts as one consumer for Prepare. The session may be used between two calls of the reader.
	Rows(ctx context.Context, r Relation, columns []string) (RowReader, error)
	// Head gives the first rows of a relation as text for people, a NULL as nil; at most n. Reading counts as one
	// consumer for Prepare.
	Head(ctx context.Context, r Relation, n int) ([][]*string, error)
	// Lines reads rows of a file as lines of JSON. A file that is not there is an error that wraps fs.ErrNotExist.
	Lines(ctx context.Context, q LinesQuery) (LineReader, error)
	// WriteLines makes a file of rows that stand in another one as lines of JSON. It may leave a partial file behind when it fails;
	// it does not fsync.
	WriteLines(ctx context.Context, w LinesFile) error
	// Close gives back everything that the session holds, also what it spilled.
	Close() error
}

// LinesQuery asks for rows of one file as JSON: an object for each row, with the columns as members. A map is an object too, and
// integers have all their digits.
type LinesQuery struct {
	Path    string     // absolute
	Format  string     // "parquet"
	Columns []string   // one that the file lacks is NULL; a row in which all are NULL is left out
	Where   *LinesRule // rows that are enough; nil: all
}

// LinesRule is a condition on a field of a struct column: that it equals a text.
type LinesRule struct{ Column, Field, Equals string }

// LineReader gives lines of JSON, many at once: whole ones, each with its line end. The session may be used between two calls.
type LineReader interface {
	// Next gives the next lines; io.EOF after the last. The bytes hold until the next call.
	Next(ctx context.Context) ([]byte, error)
	Close() error
}

// LinesFile describes a file of rows.
type LinesFile struct {
	From    string   // absolute path of the lines
	To      string   // absolute path of the new file
	Format  string   // "parquet"
	Columns []Column // a member of a row that is none of them is left out
}

// RowReader gives rows as a stream of encapsulated Arrow IPC messages: the schema once, then record batches of about
// a megabyte. No message is compressed or uses a dictionary. Integers wider than 64 bits come as decimals of 38
// digits; enums, JSON and UUIDs as text.
type RowReader interface {
	// Next gives the next message; io.EOF after the last. The bytes hold until the next call.
	Next(ctx context.Context) ([]byte, error)
	Close() error
}

// Input describes what to read: files, or the rows of a Source.
type Input struct {
	Name    string            // the relation's name
	Format  string            // "csv", "json", "parquet" or "delta"; "jdbc" for the rows of a Source
	Path    string            // absolute path, possibly a glob (*, ?, [..], **)
	Columns []Column          // declared columns, found in the file by name; empty: as the file says
	Options map[string]string // format options, as "delimiter"

	// Version, if not nil, is the version of the table that is read, whatever Options say of it.
	Version *int64

	// Source, if not nil, has the rows, in place of files; of the rest only Name and Columns count then. It is read once, by
	// Session.Input, however often the relation is. A declared column has the value that a cast gives, if that loses nothing.
	Source Source

	// Known, of an input without Columns, are the columns that it had at earlier times, a set for each, the one that counts most
	// first. A column has the type that it had, if that holds all its values of today without loss and without another reading:
	// a BIGINT is a DOUBLE if no digit is lost, a column without values is anything, and what was text stays text. In a format
	// whose rows name their columns one by one (json), a column that no row names any more is there, without values, since that
	// is what such a row means. Of several sets it is the first one that the input can have as a whole, else the last. What
	// cannot be had as it was is as if nothing were known: the caller compares.
	Known [][]Column

	// Rejects, if it is not nil, has rows that cannot be read gathered instead of ending the reading. It wants Columns, and text files.
	Rejects *Rejects

	// Encoded says that Encode wrote the files: Options are those that it was given. The columns in the names of folders
	// are read too, and an empty text is none that is missing. Columns, if given, are those of the relation that was
	// encoded, and every value comes back with its type.
	Encoded bool

	// Files, if not nil, are exactly the files to read, by their names below Path, with slashes: nothing is looked for, and
	// one that is not there, or that a table does not have, is an error. If there are none the relation has the Columns, which must
	// be given, and no rows; of a table it has the table's.
	Files []string

	// FileColumn, of a table, is the name of a further column: the path of a row's file, by which Files names it. Empty: none.
	FileColumn string

	// Pinned, if not nil, are the only ones of the files of Path that are read, and they are what they were: one that is gone, or
	// has another size or time, is an error. If there are none the relation has the Columns, or the first set of Known, and no rows.
	Pinned []File
}

// Value is a value of a column: a text of which a cast to the type makes it.
type Value struct {
	Type string // empty: that of the column, whatever it is
	Text string
}

// Greatest is what is known of the values of a column.
type Greatest struct {
	Type  string  // of the column
	Text  *string // the greatest value, in the one spelling from which a cast makes it again; nil: there is none
	Nulls int64   // rows without a value
	After *string // what was asked to be compared with, in the spelling of the type; nil: nothing, or it is of another type
	Above bool    // there is a value, and it comes after that, if that is there
}

// Window are the rows whose value of a column comes after one and not after another. A NULL is in none.
type Window struct {
	Column string
	Type   string  // that the column must have
	After  *string // nil: from the first on
	UpTo   *string // included; nil: no row
}

// Rejects says what becomes of the rows of an input that are not as declared: a line that is no csv of that many fields, a line
// that is no JSON object, a value that does not fit its column, whether anything uses that column or not. What is wrong with
// a file as a whole still ends the reading. Such an input is read whole by Session.Input.
type Rejects struct {
	// Relation is made of them: file, line, column, reason and text of each, in the order of the files. The line is the physical
	// one on which the row begins; the column is NULL if it is none alone.
	Relation string

	// Rows and Percent are how many there may be; -1: no such limit. Without either there may be any number, but not all rows.
	Rows    int64
	Percent float64 // of the rows that were read
}

// Tally counts the rows of an input. Read is counted before the rows are told apart, so that Rows and Rejected can be held
// against it.
type Tally struct {
	Read     int64
	Rows     int64 // that are as declared
	Rejected int64
}

// File is one file that an input reads.
type File struct {
	Path    string // absolute
	Size    int64  // bytes
	ModTime time.Time
}

// Step is one named SQL SELECT, or a part of another relation.
type Step struct {
	Name   string
	SQL    string
	Divide *Divide // if not nil, in place of SQL

	// Reads, if it is not nil, are the only relations that the SQL may read, by the names that it has for
	// them: for SQL that is not the pipeline's own.
	Reads map[string]Relation
}

// Column is a name and its SQL type.
type Column struct {
	Name string
	Type string // SQL type, as "DECIMAL(18,2)"
}

// Encode describes files to be written.
type Encode struct {
	Relation       Relation
	Format         string            // "csv", "json" or "parquet"
	Dir            string            // absolute path of a folder that exists; files go below it
	Suffix         string            // appended to every file name, as ".staged"
	PartitionBy    []string          // columns that become key=value folders and leave the files; the order is that of the folders
	OrderBy        []string          // SQL order terms, for clustering; parallel writers may leave small breaks in the order
	TargetFileSize int64             // bytes at which a new file is begun, roughly; 0: one file a partition. Not with PartitionBy
	Options        map[string]string // format options, as "compression"
	SkipEmpty      bool              // no file when there are no rows
	Statistics     bool              // per-column nulls, min and max wanted; text files have none
}

// Encoded is one file that Encode wrote. Its name is part-UUID, then the extension of the format and of its compression, as
// in part-….csv.gz, then the suffix.
type Encoded struct {
	Name      string            // path below Dir, with slashes, including the suffix
	Partition map[string]string // partition column to value as text; a NULL is absent
	Rows      int64
	Bytes     int64
	Columns   []ColumnStats // only if wanted
}

// ColumnStats are those of one column in one file. Min and Max are as the engine prints them; nil when unknown.
type ColumnStats struct {
	Name  string
	Nulls int64
	Min   *string
	Max   *string
}

// Kind tells what an Error is about.
type Kind int

// The kinds of Error.
const (
	Failed         Kind = iota // running failed
	InputMissing               // no such file, or a glob without a match
	InputInvalid               // a file or a value in it is not what was declared
	QueryInvalid               // a SQL step cannot be used
	OutputInvalid              // a relation cannot be written as asked: its columns, types or values forbid it
	BadOption                  // an option or a type is not known
	OutputFailed               // writing files failed
	TooManyRejects             // more rows of an input than its Rejects allow
)

// Error is what every method of a Session returns when it fails, except for a cancelled context,
// whose own error is returned.
type Error struct {
	Kind    Kind
	Input   string // the input, if it is about one
	Step    string // the SQL step, if it is about one
	File    string // the file read, if known
	Line    int64  // physical line in File, or in the step's SQL when File is empty; from 1; 0: unknown
	Col     int    // byte in the line of the step's SQL, from 1; 0: unknown
	Column  string // the column, if known
	Option  string // the format option, if it is about one
	Rule    int    // the place of the rule among those given, from 1; 0: it is about none
	Message string // one line
	Hint    string // what to do, if known
	Err     error  // the engine's own error
}

// Error gives the error as one line.
func (e *Error) Error() string {
	where := ""
	switch {
	case e.File != "" && e.Line > 0:
		where = fmt.Sprintf("%s:%d: ", e.File, e.Line)
	case e.File != "":
		where = e.File + ": "
	case e.Step != "" && e.Line > 0:
		where = fmt.Sprintf("%s:%d:%d: ", e.Step, e.Line, e.Col)
	case e.Step != "":
		where = e.Step + ": "
	}
	if e.Column != "" {
		where += "column " + e.Column + ": "
	}
	return where + e.Message
}

// Unwrap gives the engine's own error.
func (e *Error) Unwrap() error { return e.Err }
