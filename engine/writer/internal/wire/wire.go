// Package wire is how the engine and the program that runs a module talk: frames over two pipes, one
// answer to each question, and log lines between. Both ends check lengths before they allocate.
package wire

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Protocol is the version of the frames. Both ends come from one build, unless the person who
// configured the engine named another program.
const Protocol = 2

// MaxFrame is the most bytes that a frame may carry: what an Arrow message or an answer may have.
const MaxFrame = 64 << 20

// Kind is a frame's first byte.
type Kind byte

// From the engine.
const (
	Load   Kind = 'L' // a LoadRequest as JSON
	Module Kind = 'M' // the module
	Begin  Kind = 'B' // the module may run
	Call   Kind = 'C' // name, NUL, request
	Result Kind = 'R' // a Status, then the answer
)

// To the engine.
const (
	Ready     Kind = 'r' // a ReadyAnswer as JSON: the module is compiled
	Begun     Kind = 'b' // _initialize has run
	Operation Kind = 'o' // name, NUL, request; wants a Result
	RowsNext  Kind = 'n' // cursor; wants a Result
	FileWrite Kind = 'w' // file, then bytes; wants a Result
	Log       Kind = 'l' // level (one byte), then text
	Answer    Kind = 'a' // the call's code (four bytes), then what the module answered
	Dead      Kind = 'd' // a Death as JSON; the program ends
)

// Status is the first byte of a Result.
type Status byte

// The statuses.
const (
	OK     Status = 0
	Failed Status = 1 // a Failure as JSON follows
	End    Status = 2 // no more rows
)

// LoadRequest is the first frame; the module follows.
type LoadRequest struct {
	Memory     int64  `json:"memory"`      // bytes that the module's memory may have
	CacheDir   string `json:"cache_dir"`   // folder for the compiled module; empty: none
	MaxMessage int    `json:"max_message"` // bytes that a request, an answer or a row message may have
	MaxLog     int    `json:"max_log"`     // bytes of log a call
}

// ReadyAnswer says that the module is compiled and can be run.
type ReadyAnswer struct {
	Protocol int    `json:"protocol"`
	ABI      int    `json:"abi"`
	Uncached string `json:"uncached,omitempty"` // why the compiled module was not kept
}

// Cause tells why a module is dead.
type Cause string

// The causes.
const (
	Incompatible Cause = "incompatible" // it cannot be run: not WebAssembly, other imports, other exports, other version
	Trapped      Cause = "trapped"
	Exited       Cause = "exited"
	OutOfMemory  Cause = "memory"
	BadPointer   Cause = "pointer"
	TooMuch      Cause = "output" // an answer or a request larger than allowed
	Confused     Cause = "protocol"
)

// Death says why the module is dead.
type Death struct {
	Cause   Cause  `json:"cause"`
	Message string `json:"message"`         // one line
	Trace   string `json:"trace,omitempty"` // the module's stack
}

// Conn reads and writes frames: four bytes of length, a Kind, the payload. Reading and writing may be
// done by two goroutines.
type Conn struct {
	r *bufio.Reader
	w *bufio.Writer
}

// NewConn makes a Conn of a reader and a writer.
func NewConn(r io.Reader, w io.Writer) *Conn {
	return &Conn{r: bufio.NewReaderSize(r, 64<<10), w: bufio.NewWriterSize(w, 64<<10)}
}

// Write sends one frame whose payload is the parts in order.
func (c *Conn) Write(kind Kind, parts ...[]byte) error {
	size := 0
	for _, p := range parts {
		size += len(p)
	}
	if size > MaxFrame {
		return fmt.Errorf("%w: %d bytes, at most %d are allowed", ErrFrame, size, MaxFrame)
	}
	var head [5]byte
	binary.LittleEndian.PutUint32(head[:], uint32(size))
	head[4] = byte(kind)
	c.w.Write(head[:])
	for _, p := range parts {
		c.w.Write(p)
	}
	return c.w.Flush() // a bufio.Writer keeps its first error
}

// WriteJSON sends one frame whose payload is v as JSON.
func (c *Conn) WriteJSON(kind Kind, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return c.Write(kind, data)
}

// ErrFrame is what Read returns for bytes that are no frame, and Write for what would be none.
var ErrFrame = errors.New("not a frame")

// firstChunk bounds what is allocated on the word of a length alone.
const firstChunk = 1 << 20

// Read returns the next frame. io.EOF means that the other end is gone and left nothing half said.
func (c *Conn) Read() (Kind, []byte, error) {
	var head [5]byte
	if _, err := io.ReadFull(c.r, head[:]); err != nil {
		return 0, nil, err
	}
	size := int(binary.LittleEndian.Uint32(head[:]))
	if size > MaxFrame {
		return 0, nil, fmt.Errorf("%w: %d bytes announced, at most %d are allowed", ErrFrame, size, MaxFrame)
	}
	payload := make([]byte, min(size, firstChunk))
	for read := 0; ; {
		if _, err := io.ReadFull(c.r, payload[read:]); err != nil {
			return 0, nil, unexpected(err)
		}
		if read = len(payload); read == size {
			break
		}
		grown := make([]byte, min(size, 4*read))
		copy(grown, payload)
		payload = grown
	}
	return Kind(head[4]), payload, nil
}

func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// Named splits a payload of the form name, NUL, rest.
func Named(payload []byte) (name string, rest []byte, err error) {
	for i, b := range payload {
		if b == 0 {
			return string(payload[:i]), payload[i+1:], nil
		}
		if i == 100 {
			break
		}
	}
	return "", nil, fmt.Errorf("%w: a name without an end", ErrFrame)
}

// Number splits a payload that begins with four bytes of number.
func Number(payload []byte) (n uint32, rest []byte, err error) {
	if len(payload) < 4 {
		return 0, nil, fmt.Errorf("%w: a number is missing", ErrFrame)
	}
	return binary.LittleEndian.Uint32(payload), payload[4:], nil
}

// Bytes is the form that Number reads.
func Bytes(n uint32) []byte { return binary.LittleEndian.AppendUint32(nil, n) }
