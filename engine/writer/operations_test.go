package writer

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/ubunye-io/ubunye/engine/abi"
	"github.com/ubunye-io/ubunye/engine/writer/internal/wire"
)

// Whatever a child sends, it gets a result: an answer or a failure with a code and one line.
func FuzzServe(f *testing.F) {
	f.Add(byte(wire.Operation), []byte("relation.count\x00{\"relation\":\"r\"}"))
	f.Add(byte(wire.Operation), []byte("files.file_create\x00{\"extension\":\"../x\"}"))
	f.Add(byte(wire.Operation), []byte("relation.derive\x00{\"inputs\":[{}]}"))
	f.Add(byte(wire.Operation), []byte("table.put_new\x00{\"path\":\"../x\",\"bytes\":\"YQ==\"}"))
	f.Add(byte(wire.RowsNext), []byte{1, 0, 0, 0})
	f.Add(byte(wire.FileWrite), []byte{1, 0})
	f.Fuzz(func(t *testing.T, kind byte, payload []byte) {
		for _, ops := range []*operations{nil, newOperations(abi.CallStage, Grants{}, "r"), newOperations(abi.CallCommit, Grants{})} {
			status, answer := ops.serve(context.Background(), abi.CallStage, wire.Kind(kind), payload)
			var failure abi.Failure
			if err := json.Unmarshal(answer, &failure); status != wire.Failed || err != nil || failure.Code == "" || failure.Message == "" {
				t.Fatalf("%c %q: status %d, %s (%v)", kind, payload, status, answer, err)
			}
			if line(failure.Message) != failure.Message {
				t.Fatalf("%q is no line", failure.Message)
			}
		}
	})
}

func TestLine(t *testing.T) {
	for in, want := range map[string]string{
		" plain ":                  "plain",
		"two\nlines\r\n":           "two lines",
		"\x1b[2J\x00\u009b1m":      "[2J  1m",
		"\xff\xfe":                 "\uFFFD",
		"right\u202eto left":       "right to left",
		string(make([]byte, 5000)): "…",
	} {
		if got := line(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}
