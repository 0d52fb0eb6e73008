package abi

// A writer that asks for CapTable makes a commit of its own: its target is a table, whose log says which files and rows are
// in it. Its files are staged like any others. Before the call commit the engine moves them into the table's folder, where
// nobody reads a file that no log names. Whether a batch is in the table is asked of the writer alone, by what its
// commits carry: the batch's key and epoch. So a commit is a file of a new name (OpPutNew), made after the writer has looked
// at all before it.

// Batch is what a commit of a writer with CapTable is of.
type Batch struct {
	Key       string   `json:"key"`                  // what the commit carries, with the epoch; empty: it carries nothing, and nothing is looked for, because nobody keeps a ledger
	OtherKeys []string `json:"other_keys,omitempty"` // of dead runs of the batch, from when the output had another name: looked for too, and carried too
	Run       string   `json:"run"`                  // id of the run, which the commit carries for people and for Mark
	Epoch     int64    `json:"epoch"`                // higher than that of every earlier run of the batch
	After     int64    `json:"after"`                // epoch of the last commit that the ledger knows; 0: of none
	Class     Class    `json:"class"`                // once, replaces or named: what the engine counts on
	Range     JSON     `json:"range,omitempty"`      // of a batch that reads what is new: what was read; the commit carries it for people
}

// Mark is a commit in a table's log that carries the key of a batch, or one of its other keys.
type Mark struct {
	Epoch  int64  `json:"epoch"`  // that it carries; 0: there is no such commit
	Run    string `json:"run"`    // that it carries
	Commit string `json:"commit"` // what people find it by, as "version 12"
}

// CommitRequest is the request of the call commit. The module may have been started anew since stage.
type CommitRequest struct {
	Writer string       `json:"writer"`          // which of the module's writers
	Output Output       `json:"output"`          // the output to commit
	Batch  Batch        `json:"batch"`           // what is committed
	Files  []StagedFile `json:"files"`           // those that stage named, by the names that they have below the target now
	State  JSON         `json:"state,omitempty"` // that of the answer to stage
	Time   string       `json:"time"`            // now, by RFC 3339: a module has no clock
	Memory int64        `json:"memory"`          // bytes of memory that the module may use
}

// CommitOutcome is what became of a commit.
type CommitOutcome string

// The outcomes. Whatever is said of a commit must survive a power cut.
const (
	OutcomeDone    CommitOutcome = "done"     // it is in the log
	OutcomeFound   CommitOutcome = "found"    // class once: a commit of the batch after Batch.After and before its epoch is in the log; nothing was committed
	OutcomeFenced  CommitOutcome = "fenced"   // a commit of the batch with its epoch, by another run, or with a higher one is in the log; nothing was committed
	OutcomeNotDone CommitOutcome = "not_done" // it is not in the log and will not come
	OutcomeUnknown CommitOutcome = "unknown"  // nobody can tell now
)

// CommitAnswer is its answer. A call that fails after something was put is taken for unknown, before that for not done.
type CommitAnswer struct {
	Outcome CommitOutcome `json:"outcome"`           // what became of it
	Mark    Mark          `json:"mark"`              // of done, found and fenced: the commit that is there
	Message string        `json:"message,omitempty"` // of not_done and unknown: why, on one line
	Hint    string        `json:"hint,omitempty"`    // what the person can do
}

// ResolveRequest is the request of the call resolve: what does the log hold of a batch, and which of these files has it ever
// named? The engine asks before anything is staged; and of a dead run's files, with that run and its epoch in Batch, before it
// removes any that were not named: that run can make no commit any more.
type ResolveRequest struct {
	Writer string   `json:"writer"`          // which of the module's writers
	Output Output   `json:"output"`          // the output
	Batch  Batch    `json:"batch"`           // what is looked for; with Files, run and epoch are the dead run's
	Files  []string `json:"files,omitempty"` // of a dead run, by their names below the target
	Time   string   `json:"time"`            // now, by RFC 3339: a module has no clock
	Memory int64    `json:"memory"`          // bytes of memory that the module may use
}

// ResolveAnswer is its answer. What cannot be told for certain is a failure of the call, never a short answer.
type ResolveAnswer struct {
	Mark  Mark     `json:"mark"`            // the commit of the batch with the highest epoch, whoever made it; up to Batch.After its run and commit may be missing
	Named []string `json:"named,omitempty"` // which of the files the log has ever named, whether they are in the table now or not
}

// GetRequest reads a file of the target, or a part of one.
type GetRequest struct {
	Path   string `json:"path"`             // below the target, with slashes
	Offset int64  `json:"offset,omitempty"` // bytes to pass over
	Length int64  `json:"length,omitempty"` // most bytes wanted; 0: as many as an answer may have
}

// GetAnswer has them. One that is not there is a failure of the code not_found.
type GetAnswer struct {
	Bytes []byte `json:"bytes"` // from the offset on, in base64
	Size  int64  `json:"size"`  // of the whole file, bytes
}

// ListRequest lists the files of one folder of the target, not of those below it.
type ListRequest struct {
	Folder string `json:"folder"`          // below the target, with slashes; empty: the target itself
	After  string `json:"after,omitempty"` // only names that come after this one, in the order of bytes
}

// ListAnswer has them. A folder that is not there is a failure of the code not_found.
type ListAnswer struct {
	Entries []Entry `json:"entries"`        // in the order of their names' bytes
	More    bool    `json:"more,omitempty"` // there are more: ask again after the last of these
}

// Entry is a file in a folder.
type Entry struct {
	Name     string `json:"name"`     // in its folder
	Size     int64  `json:"size"`     // its size in bytes
	Modified int64  `json:"modified"` // milliseconds since 1970
}

// ReadRowsRequest reads rows of one file of the target as lines of JSON, an object for each row with the columns as members. A
// file that is not there is a failure of the code not_found.
type ReadRowsRequest struct {
	Path    string    `json:"path"`            // below the target, with slashes
	Format  string    `json:"format"`          // "parquet"
	Columns []string  `json:"columns"`         // the ones to read; one that the file lacks is NULL, and a row in which all are NULL is left out
	Where   *RowMatch `json:"where,omitempty"` // rows that are enough; absent: all
}

// RowMatch is a condition on a field of a struct column.
type RowMatch struct {
	Column string `json:"column"` // the struct
	Field  string `json:"field"`  // one of its fields
	Equals string `json:"equals"` // the text that it is
}

// ReadRowsAnswer has the cursor for rows_next, which gives whole lines, many at once.
type ReadRowsAnswer struct {
	Cursor int32 `json:"cursor"` // number for rows_next
}

// PutNewRequest makes a file of the target whose name nobody has, durably. It must lie below a folder
// of the target whose name begins with "_". Folders that are missing are made.
type PutNewRequest struct {
	Path  string `json:"path"`  // below the target, with slashes
	Bytes []byte `json:"bytes"` // what is to be in it, in base64
}

// PutOutcome is what became of a new file.
type PutOutcome string

// The outcomes of making a file.
const (
	PutCreated PutOutcome = "created" // it is there now, for good
	PutExists  PutOutcome = "exists"  // there is one of that name; nothing was changed
	PutUnknown PutOutcome = "unknown" // nobody can tell: who needs to know reads it back
)

// PutAnswer tells it. When it certainly was not made, for lack of room or of rights, that is a failure of the code not_put.
type PutAnswer struct {
	Outcome PutOutcome `json:"outcome"` // what became of the file
}

// PutRequest replaces a file of the target in one step, or makes it. It must lie below a folder of the target whose name
// begins with "_", and its own name must begin so too: a hint, which nothing is lost with.
type PutRequest struct {
	Path  string `json:"path"`  // below the target, with slashes
	Bytes []byte `json:"bytes"` // what is to be in it, in base64
}

// RowsCreateRequest begins a file of the target that is made of rows, each a line of JSON. The rules for its name are those of
// PutNewRequest.
type RowsCreateRequest struct {
	Path    string   `json:"path"`    // below the target, with slashes
	Format  string   `json:"format"`  // "parquet"
	Columns []Column `json:"columns"` // that it is to have; a member of a row that is none of them is left out
}

// RowsCreateAnswer has the number for file_write, which takes the lines in pieces of any size, and for table.rows_close.
type RowsCreateAnswer struct {
	File int32 `json:"file"` // number for file_write and table.rows_close
}

// RowsCloseRequest makes the file, durably. One that is not closed is not made.
type RowsCloseRequest struct {
	File int32 `json:"file"` // number of the file
}

// CheckPath refuses a path that is none of a file below the target: it is an *Failure of the code invalid.
func CheckPath(path string) error {
	begin := 0
	for i := 0; i <= len(path); i++ {
		switch {
		case i < len(path) && (path[i] == 0 || path[i] == '\\'):
			return badPath(path)
		case i == len(path) || path[i] == '/':
			if name := path[begin:i]; name == "" || name == "." || name == ".." {
				return badPath(path)
			}
			begin = i + 1
		}
	}
	return nil
}

// CheckPut refuses a path that a writer may not make: only what readers that list folders pass over may be made, nothing that is the
// engine's, and with OpPut only what is called a hint. It is an *Failure of the code invalid.
func CheckPut(op Operation, path string) error {
	if err := CheckPath(path); err != nil {
		return err
	}
	folder, name := "", path
	for i := len(path) - 1; i >= 0; i-- {
		if path[i] == '/' {
			folder, name = path[:i], path[i+1:]
			break
		}
	}
	const engines = "_ubunye"
	switch {
	case folder == "" || folder[0] != '_' || len(folder) >= len(engines) && folder[:len(engines)] == engines:
		return &Failure{Code: CodeInvalid, Message: path + ": a writer makes files below a folder of the target whose name begins with _, and none of the engine's"}
	case op == OpPut && name[0] != '_':
		return &Failure{Code: CodeInvalid, Message: path + ": only a file whose name begins with _ can be replaced"}
	}
	return nil
}

func badPath(path string) error {
	return &Failure{Code: CodeInvalid, Message: "the path is none below the target: " + path}
}
