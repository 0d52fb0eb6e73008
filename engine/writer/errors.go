package writer

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/ubunye-io/ubunye/engine/abi"
	"github.com/ubunye-io/ubunye/engine/writer/internal/wire"
)

// Kind tells what an Error is about.
type Kind string

// The kinds of Error. After any of them but Busy the session is dead and can only be closed.
const (
	Missing      Kind = "missing"      // the module, or the program that runs modules, is not there
	Digest       Kind = "digest"       // the module is not the one that was pinned
	Incompatible Kind = "incompatible" // the module is not made for this engine
	Trap         Kind = "trap"         // the module's code went wrong, or ended itself
	Deadline     Kind = "deadline"     // the call took too long
	Memory       Kind = "memory"       // more memory was wanted than is allowed
	Output       Kind = "output"       // the answer is nonsense, or too large
	Protocol     Kind = "protocol"     // the import table was used wrongly
	Reported     Kind = "reported"     // the plugin itself says that it cannot go on
	Refused      Kind = "refused"      // an operation was refused that the pipeline does not grant
	HostFailed   Kind = "host"         // an operation failed; Err is the engine's own error
	Ended        Kind = "ended"        // the process that ran the module is gone
	Cancelled    Kind = "cancelled"    // the context ended; Err is its cause
	Busy         Kind = "busy"         // the module is inside another call
)

// Error is what every method of a Session returns.
type Error struct {
	Plugin  string // as the pipeline names it
	Call    string // "load", or the abi.Call
	Kind    Kind
	Message string // one line
	Hint    string // what to do, if known
	Err     error  // what lies below, if something does
}

// Error gives the error as one line.
func (e *Error) Error() string { return fmt.Sprintf("plugin %s: %s: %s", e.Plugin, e.Call, e.Message) }

// Unwrap gives what lies below.
func (e *Error) Unwrap() error { return e.Err }

// fromDeath turns the child's last word into an Error.
func fromDeath(d wire.Death) *Error {
	kind := Trap
	message := d.Message
	switch d.Cause {
	case wire.Incompatible:
		kind = Incompatible
	case wire.Trapped:
		message = "it trapped: " + d.Message
	case wire.OutOfMemory:
		kind = Memory
	case wire.BadPointer, wire.Confused:
		kind = Protocol
	case wire.TooMuch:
		kind = Output
	}
	return &Error{Kind: kind, Message: line(message)}
}

// maxText is the most bytes of a plugin's text that a person is shown at once.
const maxText = 2000

// line makes a plugin's text one line that a terminal can be given: no control characters, valid
// UTF-8, bounded.
func line(text string) string {
	cut := len(text) > maxText
	if cut {
		text = text[:maxText-len("…")]
	}
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
	text = strings.TrimSpace(text)
	if cut {
		text += "…"
	}
	return text
}

func reported(f abi.Failure) *Error {
	return &Error{Kind: Reported, Message: line(f.Message), Hint: line(f.Hint), Err: &f}
}
