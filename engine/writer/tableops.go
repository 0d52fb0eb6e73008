package writer

import (
	"context"
	"errors"
	"io"

	"github.com/ubunye-io/ubunye/engine/abi"
)

// Bounds of what one answer holds: a frame is limited, and the module asks again.
const (
	maxPart    = 8 << 20 // bytes of a file
	maxEntries = 10_000  // files of a folder
)

// Table is the capability "table": the files of an output's target. Paths were checked. Its errors are of type *abi.Failure, with
// the codes CodeNotFound, CodeNotRead and CodeNotPut, for the module to judge; any other error fails the call.
type Table interface {
	// Get reads a part of a file, of Length bytes at most.
	Get(ctx context.Context, req abi.GetRequest) (abi.GetAnswer, error)
	// List gives at most so many files of a folder.
	List(ctx context.Context, req abi.ListRequest, most int) (abi.ListAnswer, error)
	// ReadRows gives whole lines of JSON, in messages of at most MaxMessage bytes.
	ReadRows(ctx context.Context, req abi.ReadRowsRequest) (RowStream, error)
	PutNew(ctx context.Context, req abi.PutNewRequest) (abi.PutOutcome, error)
	Put(ctx context.Context, req abi.PutRequest) (abi.PutOutcome, error)
	// CreateRows begins a file that is made of lines of JSON.
	CreateRows(ctx context.Context, req abi.RowsCreateRequest) (RowsFile, error)
}

// RowsFile is a file of the target that is made of lines of JSON.
type RowsFile interface {
	io.Writer
	// Close makes it.
	Close(ctx context.Context) (abi.PutOutcome, error)
	// Abandon forgets it.
	Abandon()
}

// openRows is such a file while it is written.
type openRows struct {
	file RowsFile
	path string
}

func (o *operations) tableOperation(ctx context.Context, op abi.Operation, request []byte) (any, error) {
	t := o.grants.Table
	switch op {
	case abi.OpGet:
		return with(request, func(r abi.GetRequest) (abi.GetAnswer, error) { return o.get(ctx, r) })
	case abi.OpList:
		return with(request, func(r abi.ListRequest) (a abi.ListAnswer, err error) {
			if r.Folder != "" {
				err = abi.CheckPath(r.Folder)
			}
			if err == nil {
				a, err = t.List(ctx, r, maxEntries)
			}
			return a, err
		})
	case abi.OpReadRows:
		return with(request, func(r abi.ReadRowsRequest) (a abi.ReadRowsAnswer, err error) {
			if err = abi.CheckPath(r.Path); err == nil {
				a.Cursor, err = o.openCursor(func() (RowStream, error) { return t.ReadRows(ctx, r) })
			}
			return a, err
		})
	case abi.OpPutNew:
		return with(request, func(r abi.PutNewRequest) (abi.PutAnswer, error) {
			return o.puts(op, r.Path, func() (abi.PutOutcome, error) { return t.PutNew(ctx, r) })
		})
	case abi.OpPut:
		return with(request, func(r abi.PutRequest) (abi.PutAnswer, error) {
			return o.puts(op, r.Path, func() (abi.PutOutcome, error) { return t.Put(ctx, r) })
		})
	case abi.OpRowsCreate:
		return with(request, func(r abi.RowsCreateRequest) (abi.RowsCreateAnswer, error) { return o.rowsCreate(ctx, r) })
	case abi.OpRowsClose:
		return with(request, func(r abi.RowsCloseRequest) (abi.PutAnswer, error) { return o.rowsClose(ctx, r) })
	}
	return nil, fault(abi.CodeUnknown, "there is no operation %s", op)
}

func (o *operations) get(ctx context.Context, r abi.GetRequest) (abi.GetAnswer, error) {
	if err := abi.CheckPath(r.Path); err != nil {
		return abi.GetAnswer{}, err
	}
	if r.Offset < 0 || r.Length < 0 {
		return abi.GetAnswer{}, fault(abi.CodeInvalid, "%s has no %d bytes at %d", r.Path, r.Length, r.Offset)
	}
	if r.Length == 0 || r.Length > maxPart {
		r.Length = maxPart
	}
	return o.grants.Table.Get(ctx, r)
}

// puts makes a file of the target, and notes that one may be there now: unless it is known for certain that none is.
func (o *operations) puts(op abi.Operation, path string, put func() (abi.PutOutcome, error)) (a abi.PutAnswer, err error) {
	if err = abi.CheckPut(op, path); err != nil {
		return a, err
	}
	a.Outcome, err = put()
	var f *abi.Failure
	certain := err == nil && a.Outcome == abi.PutExists || errors.As(err, &f) && f.Code == abi.CodeNotPut
	o.put = o.put || !certain
	return a, err
}

func (o *operations) rowsCreate(ctx context.Context, r abi.RowsCreateRequest) (a abi.RowsCreateAnswer, err error) {
	if err = abi.CheckPut(abi.OpRowsCreate, r.Path); err != nil {
		return a, err
	}
	if err = o.roomForFile(); err != nil {
		return a, err
	}
	file, err := o.grants.Table.CreateRows(ctx, r)
	if err != nil {
		return a, err
	}
	o.next++
	o.rows[o.next] = &openRows{file, r.Path}
	return abi.RowsCreateAnswer{File: o.next}, nil
}

func (o *operations) rowsClose(ctx context.Context, r abi.RowsCloseRequest) (a abi.PutAnswer, err error) {
	f, ok := o.rows[r.File]
	if !ok {
		return a, fault(abi.CodeUnknown, "there is no open file %d", r.File)
	}
	delete(o.rows, r.File)
	return o.puts(abi.OpRowsClose, f.path, func() (abi.PutOutcome, error) { return f.file.Close(ctx) })
}
