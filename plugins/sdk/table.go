package sdk

import (
	"bytes"
	"errors"
	"io"

	"github.com/ubunye-io/ubunye/engine/abi"
	"github.com/ubunye-io/ubunye/plugins/sdk/internal/jsontext"
)

// Committer is a Writer whose target is a table with a log: one that describes the capability "table". Package abi says what
// its outcomes promise.
type Committer interface {
	Writer
	// Commit makes what Stage has staged part of the table. An error says that nothing was committed, if nothing was put, and
	// else that nobody knows.
	Commit(h Host, req abi.CommitRequest) (abi.CommitAnswer, error)
	// Resolve tells what the table's log holds.
	Resolve(h Host, req abi.ResolveRequest) (abi.ResolveAnswer, error)
}

// Table is the files of the output's target, as far as a writer may ask for them: the reading ones during Plan, Stage, Commit and
// Resolve, the others during Commit. Paths are relative to the target, with slashes.
type Table interface {
	// Get gives the content of a file.
	Get(path string) ([]byte, error)
	// GetPart gives a part of a file; it is shorter than length at the file's end only.
	GetPart(path string, offset, length int64) ([]byte, error)
	// List gives the files of a folder, not of those below it, whose names come after the given one in the order of their bytes;
	// an empty name gives all. They are in that order.
	List(folder, after string) ([]abi.Entry, error)
	// ReadRows calls line for the rows of a file, each JSON. The bytes hold until line returns; its error ends the reading and is
	// returned.
	ReadRows(req abi.ReadRowsRequest, line func([]byte) error) error
	// PutNew makes a file whose name nobody has, durably.
	PutNew(path string, data []byte) (abi.PutOutcome, error)
	// Put replaces a file of which nothing depends.
	Put(path string, data []byte) (abi.PutOutcome, error)
	// CreateRows begins a file that is made of rows.
	CreateRows(req abi.RowsCreateRequest) (RowsFile, error)
}

// RowsFile takes the rows of a new file, each a line of JSON, in pieces of any size.
type RowsFile interface {
	io.Writer
	// Close makes the file, durably. One that is not closed is not made.
	Close() (abi.PutOutcome, error)
}

// NotFound tells whether an error says that a file or folder is certainly not there.
func NotFound(err error) bool {
	f, ok := errors.AsType[*abi.Failure](err)
	return ok && f.Code == abi.CodeNotFound
}

func (r remote) Get(path string) (data []byte, err error) {
	for {
		a, err := ask(r, abi.OpGet, encodeGetRequest(abi.GetRequest{Path: path, Offset: int64(len(data))}), decodeGetAnswer)
		if err != nil {
			return nil, err
		}
		if data = append(data, a.Bytes...); len(a.Bytes) == 0 || int64(len(data)) >= a.Size {
			return data, nil
		}
	}
}

func (r remote) GetPart(path string, offset, length int64) (data []byte, err error) {
	for int64(len(data)) < length {
		done := int64(len(data))
		a, err := ask(r, abi.OpGet, encodeGetRequest(abi.GetRequest{Path: path, Offset: offset + done, Length: length - done}), decodeGetAnswer)
		if err != nil {
			return nil, err
		}
		if len(a.Bytes) == 0 {
			break
		}
		data = append(data, a.Bytes...)
	}
	return data, nil
}

func (r remote) List(folder, after string) (all []abi.Entry, err error) {
	for {
		a, err := ask(r, abi.OpList, encodeListRequest(abi.ListRequest{Folder: folder, After: after}), decodeListAnswer)
		if err != nil {
			return nil, err
		}
		if all = append(all, a.Entries...); !a.More || len(a.Entries) == 0 {
			return all, nil
		}
		after = a.Entries[len(a.Entries)-1].Name
	}
}

func (r remote) ReadRows(req abi.ReadRowsRequest, line func([]byte) error) error {
	a, err := ask(r, abi.OpReadRows, encodeReadRowsRequest(req), decodeReadRowsAnswer)
	if err != nil {
		return err
	}
	c := &cursor{t: r.t, number: a.Cursor, buffer: make([]byte, 64<<10)}
	for {
		lines, err := c.next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		for len(lines) > 0 {
			var one []byte
			one, lines, _ = bytes.Cut(lines, []byte{'\n'})
			if err := line(one); err != nil {
				return err
			}
		}
	}
}

func (r remote) PutNew(path string, data []byte) (abi.PutOutcome, error) {
	a, err := ask(r, abi.OpPutNew, encodePutNewRequest(abi.PutNewRequest{Path: path, Bytes: data}), decodePutAnswer)
	return a.Outcome, err
}

func (r remote) Put(path string, data []byte) (abi.PutOutcome, error) {
	a, err := ask(r, abi.OpPut, encodePutRequest(abi.PutRequest{Path: path, Bytes: data}), decodePutAnswer)
	return a.Outcome, err
}

func (r remote) CreateRows(req abi.RowsCreateRequest) (RowsFile, error) {
	a, err := ask(r, abi.OpRowsCreate, encodeRowsCreateRequest(req), decodeRowsCreateAnswer)
	if err != nil {
		return nil, err
	}
	return &rowsFile{file{r: r, number: a.File, name: req.Path}}, nil
}

type rowsFile struct{ file }

func (f *rowsFile) Close() (abi.PutOutcome, error) {
	a, err := ask(f.r, abi.OpRowsClose, encodeRowsCloseRequest(abi.RowsCloseRequest{File: f.number}), decodePutAnswer)
	return a.Outcome, err
}

// commit runs the calls of a Committer.
func (m module) commit(request []byte, h Host) (func(*jsontext.Encoder), error) {
	var req abi.CommitRequest
	if err := jsontext.Decode(request, func(d *jsontext.Decoder) { req = decodeCommitRequest(d) }); err != nil {
		return nil, unreadable(err)
	}
	w, err := m.committer(req.Writer)
	if err != nil {
		return nil, err
	}
	a, err := w.Commit(h, req)
	return encodeCommitAnswer(a), err
}

func (m module) resolve(request []byte, h Host) (func(*jsontext.Encoder), error) {
	var req abi.ResolveRequest
	if err := jsontext.Decode(request, func(d *jsontext.Decoder) { req = decodeResolveRequest(d) }); err != nil {
		return nil, unreadable(err)
	}
	w, err := m.committer(req.Writer)
	if err != nil {
		return nil, err
	}
	a, err := w.Resolve(h, req)
	return encodeResolveAnswer(a), err
}

func (m module) committer(name string) (Committer, error) {
	w, err := m.writer(name)
	if err != nil {
		return nil, err
	}
	if c, ok := w.(Committer); ok {
		return c, nil
	}
	return nil, errors.New("the writer " + name + " makes no commits")
}
