package abi

// Output is the part of a pipeline's output that a writer is told.
type Output struct {
	Name           string            `json:"name"`                       // name of the output in the pipeline
	Mode           string            `json:"mode"`                       // one of the modes that the writer describes
	Target         string            `json:"target"`                     // absolute path of the folder, for writers of files
	PartitionBy    []string          `json:"partition_by,omitempty"`     // columns that become key=value folders and leave the files
	SortBy         []string          `json:"sort_by,omitempty"`          // SQL order terms
	TargetFileSize int64             `json:"target_file_size,omitempty"` // bytes; 0: not given
	Options        map[string]string `json:"options,omitempty"`          // the options of the pipeline, values as text
	Keys           []string          `json:"keys,omitempty"`             // columns that identify a row
	ReplaceWhere   string            `json:"replace_where,omitempty"`    // SQL condition on the rows that are replaced
	Slice          map[string]string `json:"slice,omitempty"`            // of mode overwrite_partitions: partition columns that a variable of the batch fixes, with its value: what is replaced also when no row is of it
	Schema         string            `json:"schema,omitempty"`           // what becomes of columns that the table lacks: "strict" or "add_columns"; empty: not given
}

// PlanRequest is the request of the call plan, before any input is read.
type PlanRequest struct {
	Writer string `json:"writer"`          // which of the module's writers
	Output Output `json:"output"`          // the output to look at
	Epoch  int64  `json:"epoch"`           // of the batch's document
	Batch  *Batch `json:"batch,omitempty"` // what is going to be committed; absent: the writer makes no commits
	Time   string `json:"time"`            // now, by RFC 3339: a module has no clock
	Memory int64  `json:"memory"`          // bytes of memory that the module may use
}

// PlanAnswer is its answer. With Problems nothing goes on.
type PlanAnswer struct {
	Class    Class     `json:"class"`              // what the writer promises for this output: Batch.Class, or as described; or named, where the table does not allow it
	Target   string    `json:"target"`             // what identifies the target: for files, the folder's path
	Exists   string    `json:"exists,omitempty"`   // of a writer that makes commits, for the modes error_if_exists and ignore: the data that is there already and is not this batch's, as "version 3"
	Problems []Problem `json:"problems,omitempty"` // what is wrong with the output
	Warnings []string  `json:"warnings,omitempty"` // what a person should know of the target, each on one line
	Reads    int       `json:"reads,omitempty"`    // how often stage is going to read the rows; more than once: they are computed once and kept, so that each time they are the same. 0: once
	Will     string    `json:"will"`               // one line: what the writer is going to do
}

// Problem is something in the pipeline's output that cannot work.
type Problem struct {
	Field   string `json:"field"`          // where in the output, as "options.compression" or "mode"
	Message string `json:"message"`        // what is wrong, on one line
	Hint    string `json:"hint,omitempty"` // what to write instead
}

// StageRequest is the request of the call stage.
type StageRequest struct {
	Writer   string   `json:"writer"`          // which of the module's writers
	Output   Output   `json:"output"`          // the output to write
	Relation string   `json:"relation"`        // the rows to be written
	Schema   []Column `json:"schema"`          // their columns, in order
	Epoch    int64    `json:"epoch"`           // of the batch's document
	Batch    *Batch   `json:"batch,omitempty"` // what is going to be committed; absent: the writer makes no commits
	Time     string   `json:"time"`            // now, by RFC 3339: a module has no clock
	Memory   int64    `json:"memory"`          // bytes of memory that the module may use
}

// StageAnswer is its answer: every file that was staged, and no other.
type StageAnswer struct {
	Files []StagedFile `json:"files"`           // every file, none left out
	Rows  int64        `json:"rows"`            // rows in all of them
	State JSON         `json:"state,omitempty"` // of a writer that makes commits: what it wants to know again in commit
}

// StagedFile is a file in staging.
type StagedFile struct {
	Name      string            `json:"name"`                // below the staging folder, with slashes
	Partition map[string]string `json:"partition,omitempty"` // partition column to value as text; a NULL is absent
	Rows      int64             `json:"rows"`                // rows in it
	Bytes     int64             `json:"bytes"`               // its size
	Columns   []ColumnStats     `json:"columns,omitempty"`   // statistics of its columns; only if asked for
}

// ColumnStats are those of one column in one file; Min and Max are nil when unknown.
type ColumnStats struct {
	Name  string  `json:"name"`          // the column
	Nulls int64   `json:"nulls"`         // rows in which it is NULL
	Min   *string `json:"min,omitempty"` // its least value, as the engine prints it; absent: unknown
	Max   *string `json:"max,omitempty"` // its greatest value, likewise
}

// Column is a column's name and SQL type, as "DECIMAL(18,2)".
type Column struct {
	Name string `json:"name"` // the column's name
	Type string `json:"type"` // its SQL type
}

// SchemaRequest asks for the columns of a relation.
type SchemaRequest struct {
	Relation string `json:"relation"` // handle of the relation
}

// SchemaAnswer has them in order.
type SchemaAnswer struct {
	Columns []Column `json:"columns"` // in order
}

// CountRequest asks for the number of rows of a relation.
type CountRequest struct {
	Relation string `json:"relation"` // handle of the relation
}

// CountAnswer has it.
type CountAnswer struct {
	Rows int64 `json:"rows"` // how many it has
}

// EncodeRequest has a relation written as staged files by the compute engine. PartitionBy and
// TargetFileSize exclude each other.
type EncodeRequest struct {
	Relation       string            `json:"relation"`                   // handle of the relation
	Format         string            `json:"format"`                     // one that the compute engine can write
	Options        map[string]string `json:"options,omitempty"`          // options of the format
	PartitionBy    []string          `json:"partition_by,omitempty"`     // columns that become key=value folders and leave the files
	OrderBy        []string          `json:"order_by,omitempty"`         // SQL order terms for the rows in a file
	TargetFileSize int64             `json:"target_file_size,omitempty"` // bytes at which a new file is begun
	Statistics     bool              `json:"statistics,omitempty"`       // per-column nulls, min and max
	SkipEmpty      bool              `json:"skip_empty,omitempty"`       // no file when there are no rows
}

// EncodeAnswer names the files.
type EncodeAnswer struct {
	Files []StagedFile `json:"files"` // what was written; each is to be named by the answer to the call
}

// DeriveRequest makes a relation of one SELECT over the named inputs.
type DeriveRequest struct {
	SQL    string        `json:"sql"`    // one SELECT
	Inputs []DeriveInput `json:"inputs"` // all that it may read
}

// DeriveInput is a relation, or rows of the target, under the name that the SQL has for it. Rows of the target need CapTable.
type DeriveInput struct {
	Name       string   `json:"name"`                  // what the SQL calls it
	Relation   string   `json:"relation,omitempty"`    // handle of a relation
	Format     string   `json:"format,omitempty"`      // in place of a relation: that of the target, as inputs have it; its rows are read as an input reads them
	Version    *int64   `json:"version,omitempty"`     // of the table; absent: its format knows none
	Files      []string `json:"files,omitempty"`       // the ones whose rows are read, by their paths below the target; none: all
	FileColumn string   `json:"file_column,omitempty"` // name of a further column that has the path of a row's file; empty: there is none
}

// DeriveAnswer names the relation, which only this session can use.
type DeriveAnswer struct {
	Relation string `json:"relation"` // handle of the new relation
}

// RowsRequest opens a relation's rows; Columns empty: all.
type RowsRequest struct {
	Relation string   `json:"relation"`          // handle of the relation
	Columns  []string `json:"columns,omitempty"` // the columns wanted, in this order; none: all
}

// RowsAnswer has the cursor for rows_next. It ends with the rows or with the call.
type RowsAnswer struct {
	Cursor int32 `json:"cursor"` // number for rows_next
}

// FileCreateRequest makes a new staged file; the engine makes its unique name.
type FileCreateRequest struct {
	Partition map[string]string `json:"partition,omitempty"` // the folder it goes into: partition column to value as text; a NULL is absent
	Extension string            `json:"extension"`           // as "csv.gz", without a dot before it
}

// FileCreateAnswer has the number for file_write and file_close.
type FileCreateAnswer struct {
	File int32  `json:"file"` // number for file_write and file_close
	Name string `json:"name"` // below the staging folder, with slashes
}

// FileCloseRequest ends a staged file. Every file must be closed before the call returns.
type FileCloseRequest struct {
	File int32 `json:"file"` // number of the file
}

// FileCloseAnswer says what it has become.
type FileCloseAnswer struct {
	Name  string `json:"name"`  // below the staging folder, with slashes
	Bytes int64  `json:"bytes"` // its size
}

// Capability returns the group that an operation is of.
func (o Operation) Capability() Capability {
	for i := range o {
		if o[i] == '.' {
			return Capability(o[:i])
		}
	}
	return ""
}
