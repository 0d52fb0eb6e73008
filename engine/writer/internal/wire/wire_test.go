package wire

import (
	"bytes"
	"errors"
	"io"
	"testing"
)

func TestFramesArriveAsSent(t *testing.T) {
	var pipe bytes.Buffer
	c := NewConn(&pipe, &pipe)
	large := bytes.Repeat([]byte("x"), 3*firstChunk+5)
	for _, parts := range [][][]byte{{}, {nil, {}}, {[]byte("plan"), {0}, []byte("{}")}, {large[:10], large[10:]}} {
		if err := c.Write(Call, parts...); err != nil {
			t.Fatal(err)
		}
		kind, got, err := c.Read()
		if want := bytes.Join(parts, nil); err != nil || kind != Call || !bytes.Equal(got, want) {
			t.Fatalf("sent %d bytes, got %q with %d bytes, %v", len(want), kind, len(got), err)
		}
	}
	if _, _, err := c.Read(); err != io.EOF {
		t.Fatalf("at the end: %v", err)
	}
}

func TestTooLargeAFrame(t *testing.T) {
	var pipe bytes.Buffer
	c := NewConn(&pipe, &pipe)
	if err := c.Write(Call, make([]byte, MaxFrame), []byte{1}); !errors.Is(err, ErrFrame) {
		t.Fatal(err)
	}
	if err := c.Write(Call, make([]byte, MaxFrame)); err != nil {
		t.Fatal(err)
	}
	if _, got, err := c.Read(); err != nil || len(got) != MaxFrame {
		t.Fatalf("%d bytes, %v", len(got), err)
	}
}

// What is announced is not allocated before it arrives.
func TestLyingLength(t *testing.T) {
	lie := []byte{0, 0, 0, 4, 'r', 1, 2, 3} // 64 MiB
	allocated := testing.Benchmark(func(b *testing.B) {
		for b.Loop() {
			if _, _, err := NewConn(bytes.NewReader(lie), io.Discard).Read(); err != io.ErrUnexpectedEOF {
				b.Fatal(err)
			}
		}
	}).AllocedBytesPerOp()
	if allocated > 2*firstChunk {
		t.Fatalf("%d bytes were allocated on the word of a length", allocated)
	}
}

// Any bytes are frames or an error, and what was read can be sent again.
func FuzzRead(f *testing.F) {
	f.Add([]byte("\x04\x00\x00\x00a\x00\x00\x00\x00"))
	f.Add([]byte("\xff\xff\xff\xffr"))
	f.Add([]byte("\x03\x00\x00\x00ohi\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c := NewConn(bytes.NewReader(data), io.Discard)
		var again bytes.Buffer
		echo := NewConn(nil, &again)
		for {
			kind, payload, err := c.Read()
			if err != nil {
				break
			}
			if name, rest, err := Named(payload); err == nil && len(name)+1+len(rest) != len(payload) {
				t.Fatalf("%q became %q and %q", payload, name, rest)
			}
			if n, rest, err := Number(payload); err == nil && !bytes.Equal(append(Bytes(n), rest...), payload) {
				t.Fatalf("%q became %d and %q", payload, n, rest)
			}
			if err := echo.Write(kind, payload); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.HasPrefix(data, again.Bytes()) {
			t.Fatalf("%q was read as %q", data, again.Bytes())
		}
	})
}
