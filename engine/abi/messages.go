package abi

// Output is the part of a pipeline's output that a writer is told.
type Output struct {
	Name           string            `json:"name"`
	Mode           string            `json:"mode"`
	Target         string            `json:"target"` // absolute path of the folder, for writers of files
	PartitionBy    []string          `json:"partition_by,omitempty"`
	SortBy         []string          `json:"sort_by,omitempty"`          // SQL order terms
	TargetFileSize int64             `json:"target_file_size,omitempty"` // bytes; 0: not given
	Options        map[string]string `json:"options,omitempty"`          // values as text
}

// PlanRequest is the request of the call plan, before any input is read.
type PlanRequest struct {
	Writer string `json:"writer"` // which of the module's writers
	Output Output `json:"output"`
	Epoch  int64  `json:"epoch"`  // of the batch's document
	Time   string `json:"time"`   // now, by RFC 3339: a module has no clock
	Memory int64  `json:"memory"` // bytes of memory that the module may use
}

// PlanAnswer is its answer. With Problems nothing goes on.
type PlanAnswer struct {
	Class    Class     `json:"class"`
	Target   string    `json:"target"` // what identifies the target: for files, the folder's path
	Problems []Problem `json:"problems,omitempty"`
	Will     string    `json:"will"` // one line: what the writer is going to do
}

// Problem is something in the pipeline's output that cannot work.
type Problem struct {
	Field   string `json:"field"` // where in the output, as "options.compression" or "mode"
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

// StageRequest is the request of the call stage.
type StageRequest struct {
	Writer   string   `json:"writer"`
	Output   Output   `json:"output"`
	Relation string   `json:"relation"` // the rows to be written
	Schema   []Column `json:"schema"`
	Epoch    int64    `json:"epoch"`
	Time     string   `json:"time"` // as in PlanRequest
	Memory   int64    `json:"memory"`
}

// StageAnswer is its answer: every file that was staged, and no other.
type StageAnswer struct {
	Files []StagedFile `json:"files"`
	Rows  int64        `json:"rows"`
}

// StagedFile is a file in staging.
type StagedFile struct {
	Name      string            `json:"name"`                // below the staging folder, with slashes
	Partition map[string]string `json:"partition,omitempty"` // partition column to value as text; a NULL is absent
	Rows      int64             `json:"rows"`
	Bytes     int64             `json:"bytes"`
	Columns   []ColumnStats     `json:"columns,omitempty"` // only if asked for
}

// ColumnStats are those of one column in one file; Min and Max are nil when unknown.
type ColumnStats struct {
	Name  string  `json:"name"`
	Nulls int64   `json:"nulls"`
	Min   *string `json:"min,omitempty"`
	Max   *string `json:"max,omitempty"`
}

// Column is a column's name and SQL type, as "DECIMAL(18,2)".
type Column struct {
	Name string `json:"name"`
	Type string `json:"type"`
}

// SchemaRequest asks for the columns of a relation.
type SchemaRequest struct {
	Relation string `json:"relation"`
}

// SchemaAnswer has them in order.
type SchemaAnswer struct {
	Columns []Column `json:"columns"`
}

// CountRequest asks for the number of rows of a relation.
type CountRequest struct {
	Relation string `json:"relation"`
}

// CountAnswer has it.
type CountAnswer struct {
	Rows int64 `json:"rows"`
}

// EncodeRequest has a relation written as staged files by the compute engine. PartitionBy and
// TargetFileSize exclude each other.
type EncodeRequest struct {
	Relation       string            `json:"relation"`
	Format         string            `json:"format"` // one that the compute engine can write
	Options        map[string]string `json:"options,omitempty"`
	PartitionBy    []string          `json:"partition_by,omitempty"`
	OrderBy        []string          `json:"order_by,omitempty"`
	TargetFileSize int64             `json:"target_file_size,omitempty"` // bytes at which a new file is begun
	Statistics     bool              `json:"statistics,omitempty"`       // per-column nulls, min and max
}

// EncodeAnswer names the files.
type EncodeAnswer struct {
	Files []StagedFile `json:"files"`
}

// DeriveRequest makes a relation of one SELECT over the named inputs.
type DeriveRequest struct {
	SQL    string        `json:"sql"`
	Inputs []DeriveInput `json:"inputs"`
}

// DeriveInput is a relation, or files of the target, under the name that the SQL has for it.
type DeriveInput struct {
	Name     string   `json:"name"`
	Relation string   `json:"relation,omitempty"`
	Files    []string `json:"files,omitempty"`
}

// DeriveAnswer names the relation, which only this session can use.
type DeriveAnswer struct {
	Relation string `json:"relation"`
}

// RowsRequest opens a relation's rows; Columns empty: all.
type RowsRequest struct {
	Relation string   `json:"relation"`
	Columns  []string `json:"columns,omitempty"`
}

// RowsAnswer has the cursor for rows_next. It ends with the rows or with the call.
type RowsAnswer struct {
	Cursor int32 `json:"cursor"`
}

// FileCreateRequest makes a new staged file; the engine makes its unique name.
type FileCreateRequest struct {
	Partition map[string]string `json:"partition,omitempty"`
	Extension string            `json:"extension"` // as "csv.gz", without a dot before it
}

// FileCreateAnswer has the number for file_write and file_close.
type FileCreateAnswer struct {
	File int32  `json:"file"`
	Name string `json:"name"`
}

// FileCloseRequest ends a staged file. Every file must be closed before the call returns.
type FileCloseRequest struct {
	File int32 `json:"file"`
}

// FileCloseAnswer says what it has become.
type FileCloseAnswer struct {
	Name  string `json:"name"`
	Bytes int64  `json:"bytes"`
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
