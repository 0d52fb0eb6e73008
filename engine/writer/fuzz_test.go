package writer

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"testing"

	"github.com/ubunye-io/ubunye/engine/abi"
	"github.com/ubunye-io/ubunye/engine/writer/internal/wire"
)

// opened counts what is open of what the engine has given out.
type opened struct{ files, cursors, made int }

func (o *opened) Schema(context.Context, string) ([]abi.Column, error) { return nil, nil }
func (o *opened) Count(context.Context, string) (int64, error)         { return 3, nil }

func (o *opened) Encode(_ context.Context, r abi.EncodeRequest) ([]abi.StagedFile, error) {
	o.made++
	return []abi.StagedFile{{Name: fmt.Sprintf("encoded-%d", o.made), Rows: 3, Bytes: 9}}, nil
}

func (o *opened) Derive(context.Context, abi.DeriveRequest) (string, error) { return "~1", nil }

func (o *opened) Rows(context.Context, abi.RowsRequest) (RowStream, error) {
	o.cursors++
	return &openCursor{of: o, left: 2}, nil
}

func (o *opened) Create(context.Context, abi.FileCreateRequest) (StagedFile, error) {
	o.files++
	o.made++
	return &openStaged{of: o, name: fmt.Sprintf("made-%d", o.made)}, nil
}

type openCursor struct {
	of   *opened
	left int
}

func (c *openCursor) Next(context.Context) ([]byte, error) {
	if c.left--; c.left < 0 {
		return nil, io.EOF
	}
	return []byte("rows"), nil
}

func (c *openCursor) Close() error { c.of.cursors--; return nil }

type openStaged struct {
	of   *opened
	name string
}

func (f *openStaged) Write(p []byte) (int, error) { return len(p), nil }
func (f *openStaged) Close() error                { f.of.files--; return nil }
func (f *openStaged) Name() string                { return f.name }

// frames are those of a whole call, as they come over the pipe.
func frames(all ...[]byte) (stream []byte) {
	for _, f := range all {
		stream = binary.LittleEndian.AppendUint32(stream, uint32(len(f)-1))
		stream = append(stream, f...)
	}
	return stream
}

// Whatever frames a child sends during stage, in whatever order, and whatever it answers in the end: the engine holds no more open than it
// allows, gives all of it back, and takes only an answer that names each staged file once, and nothing else.
func FuzzStage(f *testing.F) {
	create, closing := []byte("ofiles.file_create\x00{\"extension\":\"txt\"}"), []byte("ofiles.file_close\x00{\"file\":1}")
	answer := `{"files":[{"name":"made-1","rows":2,"bytes":4}],"rows":2}`
	f.Add(frames(create, []byte("w\x01\x00\x00\x00text"), closing), []byte(answer))
	f.Add(frames(create, create, closing, closing), []byte(answer))
	f.Add(frames([]byte("orelation.rows\x00{\"relation\":\"r\"}"), []byte("n\x01\x00\x00\x00"), []byte("n\x01\x00\x00\x00"), []byte("n\x01\x00\x00\x00")), []byte(`{"files":[],"rows":0}`))
	f.Add(frames([]byte("orelation.encode\x00{\"relation\":\"r\",\"format\":\"x\"}")), []byte(`{"files":[{"name":"encoded-1","rows":3,"bytes":0}],"rows":3}`))
	f.Add(frames([]byte("orelation.derive\x00{\"sql\":\"SELECT 1\",\"inputs\":[{\"name\":\"a\",\"relation\":\"r\"}]}"), []byte("orelation.count\x00{\"relation\":\"~1\"}")), []byte(`{}`))
	f.Add(bytes.Repeat(frames(create), 300), []byte(`{"files":[{"name":"../x","rows":-1,"bytes":0}],"rows":-1}`))
	f.Fuzz(func(t *testing.T, stream, answer []byte) {
		given := &opened{}
		ops := newOperations(abi.CallStage, Grants{Relation: given, Files: given}, "r")
		for conn := wire.NewConn(bytes.NewReader(stream), io.Discard); ; {
			kind, payload, err := conn.Read()
			if err != nil {
				break
			}
			if kind != wire.Operation && kind != wire.RowsNext && kind != wire.FileWrite {
				continue // converse ends the call
			}
			status, said := ops.serve(t.Context(), abi.CallStage, kind, payload)
			var failure abi.Failure
			if status == wire.Failed && (json.Unmarshal(said, &failure) != nil || failure.Code == "" || line(failure.Message) != failure.Message) {
				t.Fatalf("%c %q: %s", kind, payload, said)
			}
			if given.files > maxFiles || given.cursors > maxCursors {
				t.Fatalf("%d files and %d cursors are open", given.files, given.cursors)
			}
		}
		var a abi.StageAnswer
		if strict(answer, &a) == nil && ops.check(&a) == nil {
			accepted(t, ops, a, given)
		}
		ops.close()
		if given.files != 0 || given.cursors != 0 {
			t.Fatalf("%d files and %d cursors are left open", given.files, given.cursors)
		}
	})
}

// accepted holds an answer that was taken against what was staged.
func accepted(t *testing.T, ops *operations, a abi.StageAnswer, given *opened) {
	t.Helper()
	rows := int64(0)
	names := map[string]bool{}
	for _, f := range a.Files {
		if _, staged := ops.staged[f.Name]; !staged || names[f.Name] || f.Rows < 0 {
			t.Fatalf("%+v was taken", f)
		}
		names[f.Name] = true
		rows += f.Rows
	}
	if given.files > 0 || len(names) != len(ops.staged) || rows != a.Rows {
		t.Fatalf("%+v was taken, with %d files open and %d staged", a, given.files, len(ops.staged))
	}
}
