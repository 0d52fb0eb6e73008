package writer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"

	"github.com/ubunye-io/ubunye/engine/abi"
	"github.com/ubunye-io/ubunye/engine/writer/internal/wire"
)

// Bounds of what one call may hold open.
const (
	maxCursors = 16
	maxFiles   = 256
)

// operations is what a module does through the engine during one call. A nil one refuses everything.
type operations struct {
	call      abi.Call
	grants    Grants
	relations map[string]bool // those that the module may name
	cursors   map[int32]RowStream
	files     map[int32]*openFile
	staged    map[string]abi.StagedFile // what was staged, by name
	rows      map[int32]*openRows
	put       bool // a file of the target was made or a host was sent something, or may have been
	next      int32
	failed    *Error // the engine's first own failure: the call fails, whatever the module answers
}

type openFile struct {
	file      StagedFile
	partition map[string]string
	bytes     int64
}

func newOperations(call abi.Call, g Grants, relations ...string) *operations {
	o := &operations{call: call, grants: g, relations: map[string]bool{}, cursors: map[int32]RowStream{},
		files: map[int32]*openFile{}, staged: map[string]abi.StagedFile{}, rows: map[int32]*openRows{}}
	for _, r := range relations {
		o.relations[r] = true
	}
	return o
}

// allowed tells whether a call may have an operation at all.
func (o *operations) allowed(op abi.Operation) bool {
	switch op {
	case abi.OpGet, abi.OpList, abi.OpReadRows, abi.OpHTTP:
		return true
	case abi.OpPutNew, abi.OpPut, abi.OpRowsCreate, abi.OpRowsClose:
		return o.call == abi.CallCommit
	}
	return o.call == abi.CallStage
}

// close gives back what the module left open. It has no use for the errors: an open file fails the call.
func (o *operations) close() {
	for _, c := range o.cursors {
		_ = c.Close()
	}
	for _, f := range o.files {
		_ = f.file.Close()
	}
	for _, r := range o.rows {
		r.file.Abandon()
	}
}

// serve carries out one frame of the child.
func (o *operations) serve(ctx context.Context, call abi.Call, kind wire.Kind, payload []byte) (wire.Status, []byte) {
	answer, err := o.carryOut(ctx, call, kind, payload)
	switch {
	case err == nil:
		return wire.OK, answer
	case err == io.EOF && kind == wire.RowsNext:
		return wire.End, nil
	}
	var f *abi.Failure
	if !errors.As(err, &f) { // the engine's own
		f = &abi.Failure{Code: abi.CodeFailed, Message: line(err.Error())}
		if o.failed == nil {
			o.failed = &Error{Kind: HostFailed, Message: f.Message, Err: err}
		}
	}
	data, _ := json.Marshal(f) // strings and a bool always marshal
	return wire.Failed, data
}

func fault(code, format string, args ...any) error {
	return &abi.Failure{Code: code, Message: line(fmt.Sprintf(format, args...))}
}

// carryOut gives an *abi.Failure for what the module did wrong, and any other error for what the engine
// could not do.
func (o *operations) carryOut(ctx context.Context, call abi.Call, kind wire.Kind, payload []byte) ([]byte, error) {
	if kind != wire.Operation {
		if o == nil {
			return nil, fault(abi.CodeRefused, "no operation is allowed during %s", call)
		}
		if err := o.before(map[wire.Kind]string{wire.FileWrite: "file_write", wire.RowsNext: "rows_next"}[kind]); err != nil {
			return nil, err
		}
		number, data, err := wire.Number(payload)
		if err != nil {
			return nil, fault(abi.CodeInvalid, "%v", err)
		}
		if kind == wire.FileWrite {
			return nil, o.fileWrite(int32(number), data)
		}
		return o.rowsNext(ctx, int32(number))
	}
	name, request, err := wire.Named(payload)
	if err != nil {
		return nil, fault(abi.CodeInvalid, "%v", err)
	}
	op := abi.Operation(name)
	if name == "" || name != line(name) {
		return nil, fault(abi.CodeInvalid, "an operation without a proper name")
	}
	if o == nil || !o.allowed(op) {
		return nil, fault(abi.CodeRefused, "%s is not allowed during %s", name, call)
	}
	if !o.granted(op.Capability()) {
		return nil, fault(abi.CodeRefused, "%s needs the capability %q, which the pipeline does not grant", name, op.Capability())
	}
	if err := o.before(name); err != nil {
		return nil, err
	}
	answer, err := o.operation(ctx, op, request)
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(answer)
	if err == nil && len(data) > MaxMessage {
		err = fmt.Errorf("%s: the answer has %d bytes; at most %d can be given to a plugin", op, len(data), MaxMessage)
	}
	return data, err
}

func (o *operations) before(op string) error {
	if o.grants.Before == nil {
		return nil
	}
	return o.grants.Before(op)
}

func (o *operations) granted(c abi.Capability) bool {
	switch c {
	case abi.CapRelation:
		return o.grants.Relation != nil
	case abi.CapFiles:
		return o.grants.Files != nil
	case abi.CapTable:
		return o.grants.Table != nil
	case abi.CapHTTP:
		return o.grants.HTTP != nil
	}
	return false
}

func (o *operations) operation(ctx context.Context, op abi.Operation, request []byte) (any, error) {
	switch op {
	case abi.OpSchema:
		return with(request, func(r abi.SchemaRequest) (a abi.SchemaAnswer, err error) {
			if err = o.known(r.Relation); err == nil {
				a.Columns, err = o.grants.Relation.Schema(ctx, r.Relation)
			}
			return a, err
		})
	case abi.OpCount:
		return with(request, func(r abi.CountRequest) (a abi.CountAnswer, err error) {
			if err = o.known(r.Relation); err == nil {
				a.Rows, err = o.grants.Relation.Count(ctx, r.Relation)
			}
			return a, err
		})
	case abi.OpEncode:
		return with(request, func(r abi.EncodeRequest) (abi.EncodeAnswer, error) { return o.encode(ctx, r) })
	case abi.OpDerive:
		return with(request, func(r abi.DeriveRequest) (abi.DeriveAnswer, error) { return o.derive(ctx, r) })
	case abi.OpRows:
		return with(request, func(r abi.RowsRequest) (abi.RowsAnswer, error) { return o.openRows(ctx, r) })
	case abi.OpFileCreate:
		return with(request, func(r abi.FileCreateRequest) (abi.FileCreateAnswer, error) { return o.fileCreate(ctx, r) })
	case abi.OpFileClose:
		return with(request, func(r abi.FileCloseRequest) (abi.FileCloseAnswer, error) { return o.fileClose(r) })
	case abi.OpHTTP:
		return with(request, func(r abi.HTTPRequest) (abi.HTTPAnswer, error) { return o.httpRequest(ctx, r) })
	}
	if op.Capability() == abi.CapTable {
		return o.tableOperation(ctx, op, request)
	}
	return nil, fault(abi.CodeUnknown, "there is no operation %s", op)
}

// with reads an operation's request and carries it out.
func with[R, A any](request []byte, do func(R) (A, error)) (any, error) {
	var r R
	if err := strict(request, &r); err != nil {
		return nil, fault(abi.CodeInvalid, "the request cannot be read: %v", err)
	}
	return do(r)
}

func (o *operations) known(relation string) error {
	if !o.relations[relation] {
		return fault(abi.CodeUnknown, "there is no relation %q for this output", relation)
	}
	return nil
}

func (o *operations) encode(ctx context.Context, r abi.EncodeRequest) (a abi.EncodeAnswer, err error) {
	if err = o.known(r.Relation); err != nil {
		return a, err
	}
	if len(r.PartitionBy) > 0 && r.TargetFileSize != 0 || r.TargetFileSize < 0 {
		return a, fault(abi.CodeInvalid, "partition_by and target_file_size exclude each other, and a size is positive")
	}
	if a.Files, err = o.grants.Relation.Encode(ctx, r); err != nil {
		return a, err
	}
	for _, f := range a.Files {
		o.staged[f.Name] = f
	}
	return a, nil
}

func (o *operations) derive(ctx context.Context, r abi.DeriveRequest) (a abi.DeriveAnswer, err error) {
	for _, in := range r.Inputs {
		if err = o.deriveInput(in); err != nil {
			return a, err
		}
	}
	if a.Relation, err = o.grants.Relation.Derive(ctx, r); err != nil {
		return a, err
	}
	o.relations[a.Relation] = true
	return a, nil
}

// deriveInput checks one input of a relation that is to be made.
func (o *operations) deriveInput(in abi.DeriveInput) error {
	if (in.Relation == "") == (in.Format == "") {
		return fault(abi.CodeInvalid, "the input %q must be a relation or rows of the target", in.Name)
	}
	if in.Relation != "" {
		if in.Version != nil || len(in.Files) > 0 || in.FileColumn != "" {
			return fault(abi.CodeInvalid, "the input %q is a relation, which has no version and no files", in.Name)
		}
		return o.known(in.Relation)
	}
	if !o.granted(abi.CapTable) {
		return fault(abi.CodeRefused, "rows of the target need the capability %q, which the pipeline does not grant", abi.CapTable)
	}
	for _, name := range in.Files {
		if err := abi.CheckPath(name); err != nil {
			return err
		}
	}
	return nil
}

func (o *operations) openRows(ctx context.Context, r abi.RowsRequest) (a abi.RowsAnswer, err error) {
	if err = o.known(r.Relation); err != nil {
		return a, err
	}
	a.Cursor, err = o.openCursor(func() (RowStream, error) { return o.grants.Relation.Rows(ctx, r) })
	return a, err
}

func (o *operations) openCursor(open func() (RowStream, error)) (int32, error) {
	if len(o.cursors) == maxCursors {
		return 0, fault(abi.CodeInvalid, "at most %d cursors can be open", maxCursors)
	}
	stream, err := open()
	if err != nil {
		return 0, err
	}
	o.next++
	o.cursors[o.next] = stream
	return o.next, nil
}

// rowsNext gives a cursor's next message; at the end it closes the cursor and gives io.EOF.
func (o *operations) rowsNext(ctx context.Context, cursor int32) ([]byte, error) {
	stream, ok := o.cursors[cursor]
	if !ok {
		return nil, fault(abi.CodeUnknown, "there is no open cursor %d", cursor)
	}
	message, err := stream.Next(ctx)
	if err == nil && len(message) > MaxMessage {
		err = fmt.Errorf("a message of rows has %d bytes; at most %d can be given to a plugin", len(message), MaxMessage)
	}
	if err != nil {
		delete(o.cursors, cursor)
		if closing := stream.Close(); closing != nil && err == io.EOF {
			err = closing
		}
		return nil, err
	}
	return message, nil
}

// extension is what may end a file's name.
var extension = regexp.MustCompile(`^[a-z0-9]{1,16}(\.[a-z0-9]{1,16}){0,2}$`)

func (o *operations) fileCreate(ctx context.Context, r abi.FileCreateRequest) (a abi.FileCreateAnswer, err error) {
	if !extension.MatchString(r.Extension) {
		return a, fault(abi.CodeInvalid, "%q is no extension of a file's name", r.Extension)
	}
	if err := o.roomForFile(); err != nil {
		return a, err
	}
	file, err := o.grants.Files.Create(ctx, r)
	if err != nil {
		return a, err
	}
	o.next++
	o.files[o.next] = &openFile{file: file, partition: r.Partition}
	return abi.FileCreateAnswer{File: o.next, Name: file.Name()}, nil
}

func (o *operations) roomForFile() error {
	if len(o.files)+len(o.rows) == maxFiles {
		return fault(abi.CodeInvalid, "at most %d files can be open", maxFiles)
	}
	return nil
}

func (o *operations) fileWrite(number int32, data []byte) error {
	if r, ok := o.rows[number]; ok {
		_, err := r.file.Write(data)
		return err
	}
	f, ok := o.files[number]
	if !ok {
		return fault(abi.CodeUnknown, "there is no open file %d", number)
	}
	n, err := f.file.Write(data)
	f.bytes += int64(n)
	return err
}

func (o *operations) fileClose(r abi.FileCloseRequest) (a abi.FileCloseAnswer, err error) {
	f, ok := o.files[r.File]
	if !ok {
		return a, fault(abi.CodeUnknown, "there is no open file %d", r.File)
	}
	delete(o.files, r.File)
	if err := f.file.Close(); err != nil {
		return a, err
	}
	a = abi.FileCloseAnswer{Name: f.file.Name(), Bytes: f.bytes}
	o.staged[a.Name] = abi.StagedFile{Name: a.Name, Partition: f.partition, Rows: unknownRows, Bytes: a.Bytes}
	return a, nil
}

// unknownRows marks files whose rows only the module knows.
const unknownRows = -1
