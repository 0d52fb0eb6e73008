// Package abi is the contract between the engine and a writer plugin: what the calls and operations
// are named and the messages that go with them, all JSON. It uses the standard library only and builds
// natively and for wasip1.
//
// A module exports Marker, the calls (each () → i32, 0 = ok), `_initialize` and `memory`. It imports,
// from the module ImportModule:
//
//	request   (ptr, cap) → n                            the request of the running call
//	respond   (ptr, len)                                its answer; when the call returns other than 0, a Failure
//	call      (op, op_len, req, req_len, out, cap) → n  one operation, JSON both ways
//	result    (ptr, cap) → n                            the last operation's answer, or its Failure, again
//	rows_next (cursor, ptr, cap) → n                    of relation.rows the next Arrow IPC message: schema, then record batches;
//	                                                    of table.read_rows the next lines; 0 = end
//	file_write (file, ptr, len) → n                     bytes into a staged file, or lines into one of table.rows_create
//	log       (level, ptr, len)                         a line for the person who runs the pipeline
//
// All numbers are i32. n is the length of what is there: where it exceeds cap nothing was written, and
// result (for rows_next: the same call again) gives it into a larger buffer. A negative n is a failure
// whose Failure has -n bytes, to be had from result. A pointer outside the module's memory ends it.
package abi

// Version is the version of the contract that this package describes.
const Version = 1

// Names that a module is recognised by.
const (
	MarkerPrefix = "ubunye_abi_"      // every version's marker begins so
	Marker       = MarkerPrefix + "1" // exported by a module of this version
	ImportModule = "ubunye"           // the module whose functions the engine provides
	Initialize   = "_initialize"      // runs once, before anything else
	Memory       = "memory"           // the one memory
)

// Call is what the engine asks of a module: the name of an export.
type Call string

// The calls. A module without a writer that asks for CapTable needs the first three only.
const (
	CallDescribe Call = "describe" // DescribeRequest → DescribeAnswer: what the module holds
	CallPlan     Call = "plan"     // PlanRequest → PlanAnswer: look at one output, before any input is read
	CallStage    Call = "stage"    // StageRequest → StageAnswer: write one output where no reader looks
	CallCommit   Call = "commit"   // CommitRequest → CommitAnswer: make what was staged part of the table
	CallResolve  Call = "resolve"  // ResolveRequest → ResolveAnswer: tell what the table's log holds
	CallClean    Call = "clean"    // not in this version
	CallAbort    Call = "abort"    // not in this version
)

// RequiredCalls are those that every module must export.
func RequiredCalls() []Call { return []Call{CallDescribe, CallPlan, CallStage} }

// Capability is a group of operations; the engine grants it or refuses it whole.
type Capability string

// The capabilities.
const (
	CapRelation Capability = "relation" // rows, by handle; always granted to stage
	CapFiles    Capability = "files"    // files in staging, written by the module itself
	CapTable    Capability = "table"    // files of the output's target, which is a table with a log
	CapSQL      Capability = "sql"      // a connection that the pipeline names
	CapHTTP     Capability = "http"     // hosts that the pipeline lists
)

// Operation is what a module asks of the engine: a capability, a dot and a verb.
type Operation string

// The operations of this version. Those of CapRelation and CapFiles are for stage. Those of CapTable that read are for plan,
// stage, commit and resolve, the others for commit. So are those of CapHTTP: what may change something, which is any method but GET and
// HEAD, is for commit.
const (
	OpSchema     Operation = "relation.schema"   // SchemaRequest → SchemaAnswer
	OpCount      Operation = "relation.count"    // CountRequest → CountAnswer
	OpEncode     Operation = "relation.encode"   // EncodeRequest → EncodeAnswer
	OpDerive     Operation = "relation.derive"   // DeriveRequest → DeriveAnswer
	OpRows       Operation = "relation.rows"     // RowsRequest → RowsAnswer, then the import rows_next
	OpFileCreate Operation = "files.file_create" // FileCreateRequest → FileCreateAnswer, then the import file_write
	OpFileClose  Operation = "files.file_close"  // FileCloseRequest → FileCloseAnswer
	OpGet        Operation = "table.get"         // GetRequest → GetAnswer
	OpList       Operation = "table.list"        // ListRequest → ListAnswer
	OpReadRows   Operation = "table.read_rows"   // ReadRowsRequest → ReadRowsAnswer, then the import rows_next
	OpPutNew     Operation = "table.put_new"     // PutNewRequest → PutAnswer
	OpPut        Operation = "table.put"         // PutRequest → PutAnswer
	OpRowsCreate Operation = "table.rows_create" // RowsCreateRequest → RowsCreateAnswer, then the import file_write
	OpRowsClose  Operation = "table.rows_close"  // RowsCloseRequest → PutAnswer
	OpHTTP       Operation = "http.request"      // HTTPRequest → HTTPAnswer
)

// Level grades a line of a module's log.
type Level int32

// The levels.
const (
	LevelDebug Level = iota
	LevelInfo
	LevelWarn
	LevelError
)

// Codes of a Failure that the engine itself makes.
const (
	CodeRefused = "refused" // the capability is not granted, or not during this call
	CodeUnknown = "unknown" // no such operation, relation, cursor or file
	CodeInvalid = "invalid" // the request cannot be read or makes no sense
	CodeFailed  = "failed"  // the engine could not do it; the call fails, whatever the module answers

	CodeNotFound = "not_found" // of CapTable: the file or folder is certainly not there
	CodeNotPut   = "not_put"   // of CapTable: the file was certainly not made
	CodeNotRead  = "not_read"  // of CapTable: whether it is there, or what is in it, cannot be told

	CodeNotSent  = "not_sent"  // of CapHTTP: nothing was sent
	CodeNoAnswer = "no_answer" // of CapHTTP: something may have been sent, and no answer came
)

// Failure is what an operation answers when it did not happen, and what a call answers when it
// returns other than 0. Code is for programs, Message is one line for people.
type Failure struct {
	Code      string `json:"code"`                // what kind of failure it is, for programs; the engine's own are refused, unknown, invalid, failed, not_found, not_put, not_read, not_sent and no_answer
	Message   string `json:"message"`             // what happened, for people, on one line
	Hint      string `json:"hint,omitempty"`      // what the person can do
	Retryable bool   `json:"retryable,omitempty"` // the same again may succeed
}

// Error gives the message.
func (f *Failure) Error() string { return f.Message }
