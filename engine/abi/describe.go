package abi

import "encoding/json"

// Class says what happens to what a writer wrote when its run dies, and when its batch runs again.
type Class string

// The delivery classes.
const (
	ClassClaims   Class = "claims"   // files are staged and the engine lands them after its commit
	ClassOnce     Class = "once"     // idempotent: the target refuses a second write of the same batch
	ClassReplaces Class = "replaces" // idempotent: each run replaces the batch's rows in one commit of the target
	ClassNamed    Class = "named"    // neither can be promised; what a dead run left is named, never removed
)

// DescribeRequest is the request of the call describe.
type DescribeRequest struct {
	Memory int64 `json:"memory"` // bytes of memory that the module may use
}

// DescribeAnswer is its answer: a module holds one writer or several.
type DescribeAnswer struct {
	ABI     int           `json:"abi"`     // the version of the contract: 1
	Writers []Description `json:"writers"` // one for each writer that the module holds
}

// Description is what a writer says of itself.
type Description struct {
	ABI          int             `json:"abi"`           // the version of the contract: 1
	Name         string          `json:"name"`          // what the writer is called, as a format of outputs
	Version      string          `json:"version"`       // of the writer itself
	Doc          string          `json:"doc,omitempty"` // what it writes, on one line
	Modes        []Mode          `json:"modes"`         // what an output may have as its mode
	Options      json.RawMessage `json:"options"`       // JSON Schema of the output's `options`
	Capabilities []Capability    `json:"capabilities"`  // what it needs of the engine
}

// Mode is one of a writer's modes, with the class that it has unless an Exception applies.
type Mode struct {
	Name       string      `json:"name"`                 // as a pipeline writes it: "append", "overwrite", …
	Class      Class       `json:"class"`                // what the writer promises in this mode
	Exceptions []Exception `json:"exceptions,omitempty"` // outputs with these options have another class; the first that applies holds
}

// Exception changes a mode's class for an output that has all these options.
type Exception struct {
	Options map[string]string `json:"options"` // option to the value it must have; "*": any that is given
	Class   Class             `json:"class"`   // what the writer promises then
}

// AnyValue in an Exception stands for every value of an option that is given.
const AnyValue = "*"

// Class returns the delivery class of a mode for an output with these options; false if the writer has
// no such mode. The first exception that applies holds.
func (d Description) Class(mode string, options map[string]string) (Class, bool) {
	for _, m := range d.Modes {
		if m.Name != mode {
			continue
		}
		for _, e := range m.Exceptions {
			if e.applies(options) {
				return e.Class, true
			}
		}
		return m.Class, true
	}
	return "", false
}

func (e Exception) applies(options map[string]string) bool {
	for name, want := range e.Options {
		if got, given := options[name]; !given || want != AnyValue && got != want {
			return false
		}
	}
	return len(e.Options) > 0
}
