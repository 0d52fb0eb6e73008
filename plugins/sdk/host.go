package sdk

import (
	"errors"
	"io"

	"github.com/ubunye-io/ubunye/engine/abi"
	"github.com/ubunye-io/ubunye/plugins/sdk/internal/jsontext"
)

// transport is the import table: what a module's Host is made of. Its errors are *abi.Failure.
type transport interface {
	call(op abi.Operation, request []byte) ([]byte, error)
	rowsNext(cursor int32, buffer []byte) (message, grown []byte, err error) // io.EOF at the end
	fileWrite(file int32, data []byte) error
	log(level abi.Level, text string)
}

// remote is a Host over a transport.
type remote struct{ t transport }

// ask has the engine do one operation.
func ask[A any](r remote, op abi.Operation, request func(*jsontext.Encoder), read func(*jsontext.Decoder) A) (answer A, err error) {
	data, err := r.t.call(op, jsontext.Encode(request))
	if err != nil {
		return answer, err
	}
	if err = jsontext.Decode(data, func(d *jsontext.Decoder) { answer = read(d) }); err != nil {
		return answer, errors.New(string(op) + ": the answer cannot be read: " + err.Error())
	}
	return answer, nil
}

func (r remote) Schema(relation string) ([]abi.Column, error) {
	a, err := ask(r, abi.OpSchema, encodeSchemaRequest(abi.SchemaRequest{Relation: relation}), decodeSchemaAnswer)
	return a.Columns, err
}

func (r remote) Count(relation string) (int64, error) {
	a, err := ask(r, abi.OpCount, encodeCountRequest(abi.CountRequest{Relation: relation}), decodeCountAnswer)
	return a.Rows, err
}

func (r remote) Encode(req abi.EncodeRequest) ([]abi.StagedFile, error) {
	a, err := ask(r, abi.OpEncode, encodeEncodeRequest(req), decodeEncodeAnswer)
	return a.Files, err
}

func (r remote) Derive(req abi.DeriveRequest) (string, error) {
	a, err := ask(r, abi.OpDerive, encodeDeriveRequest(req), decodeDeriveAnswer)
	return a.Relation, err
}

func (r remote) Rows(req abi.RowsRequest) (*Rows, error) {
	a, err := ask(r, abi.OpRows, encodeRowsRequest(req), decodeRowsAnswer)
	if err != nil {
		return nil, err
	}
	c := &cursor{t: r.t, number: a.Cursor, buffer: make([]byte, 64<<10)}
	return NewRows(c.next), nil
}

func (r remote) CreateFile(req abi.FileCreateRequest) (File, error) {
	a, err := ask(r, abi.OpFileCreate, encodeFileCreateRequest(req), decodeFileCreateAnswer)
	if err != nil {
		return nil, err
	}
	return &file{r: r, number: a.File, name: a.Name}, nil
}

func (r remote) HTTP(req abi.HTTPRequest) (abi.HTTPAnswer, error) {
	return ask(r, abi.OpHTTP, encodeHTTPRequest(req), decodeHTTPAnswer)
}

func (r remote) Log(level abi.Level, text string) { r.t.log(level, text) }

type cursor struct {
	t      transport
	number int32
	buffer []byte
	done   bool
}

func (c *cursor) next() (message []byte, err error) {
	if c.done {
		return nil, io.EOF
	}
	message, c.buffer, err = c.t.rowsNext(c.number, c.buffer)
	c.done = err != nil
	return message, err
}

type file struct {
	r      remote
	number int32
	name   string
}

func (f *file) Name() string { return f.name }

// pieceSize is the most bytes of a file that cross at once.
const pieceSize = 1 << 20

func (f *file) Write(p []byte) (n int, err error) {
	for n < len(p) {
		piece := p[n:min(len(p), n+pieceSize)]
		if err := f.r.t.fileWrite(f.number, piece); err != nil {
			return n, err
		}
		n += len(piece)
	}
	return n, nil
}

func (f *file) Close() (abi.FileCloseAnswer, error) {
	return ask(f.r, abi.OpFileClose, encodeFileCloseRequest(abi.FileCloseRequest{File: f.number}), decodeFileCloseAnswer)
}
