// Package sdktest is a Host for unit tests of writers, without a module and without an engine.
package sdktest

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/ubunye-io/ubunye/engine/abi"
	"github.com/ubunye-io/ubunye/plugins/sdk"
)

// Host is an sdk.Host. It answers from Relations and Target, and keeps what it was asked.
type Host struct {
	Relations map[string]Relation
	Target    Target
	Now       time.Time // of files that are made in Target
	// Answer is the hosts that a writer asks; nil: none can be reached.
	Answer func(req abi.HTTPRequest) (abi.HTTPAnswer, error)
	// Fail makes operations fail; nil: none does.
	Fail func(op abi.Operation) *abi.Failure
	// Before is called before a file of Target is made: another writer may come between. Nil: none does.
	Before func(op abi.Operation, path string)
	// Lose says what the writer is told of a file that could be made: PutCreated; PutUnknown, and it is made all the same; or
	// PutLost, and it is not. Nil: PutCreated.
	Lose func(op abi.Operation, path string) abi.PutOutcome

	Encoded []abi.EncodeRequest
	Derived []abi.DeriveRequest
	Files   []*File
	Asked   []string // of Target
	Sent    []abi.HTTPRequest
	Logged  []string
}

// Relation is what a Host knows of a relation. Table makes one that has rows.
type Relation struct {
	Columns  []abi.Column
	Rows     int64
	Messages [][]byte         // Arrow IPC messages, for Rows
	Files    []abi.StagedFile // what Encode answers; nil: one file with all rows

	fields  []sdk.Field // of a Table
	batches [][][]any
}

// File is a file that a writer made.
type File struct {
	bytes.Buffer
	Request abi.FileCreateRequest
	Closed  bool
	name    string
	host    *Host
}

var _ sdk.Host = (*Host)(nil)

func (h *Host) find(op abi.Operation, relation string) (Relation, error) {
	if err := h.failed(op); err != nil {
		return Relation{}, err
	}
	r, ok := h.Relations[relation]
	if !ok {
		return r, &abi.Failure{Code: abi.CodeUnknown, Message: fmt.Sprintf("there is no relation %q for this output", relation)}
	}
	return r, nil
}

func (h *Host) failed(op abi.Operation) error {
	if h.Fail != nil {
		if f := h.Fail(op); f != nil {
			return f
		}
	}
	return nil
}

// Schema upholds sdk.Host.
func (h *Host) Schema(relation string) ([]abi.Column, error) {
	r, err := h.find(abi.OpSchema, relation)
	return r.Columns, err
}

// Count upholds sdk.Host.
func (h *Host) Count(relation string) (int64, error) {
	r, err := h.find(abi.OpCount, relation)
	return r.Rows, err
}

// Encode upholds sdk.Host.
func (h *Host) Encode(req abi.EncodeRequest) ([]abi.StagedFile, error) {
	r, err := h.find(abi.OpEncode, req.Relation)
	if err != nil {
		return nil, err
	}
	h.Encoded = append(h.Encoded, req)
	if r.Files != nil {
		return slices.Clone(r.Files), nil
	}
	name := fmt.Sprintf("part-%d.%s.staged", len(h.Encoded), req.Format)
	return []abi.StagedFile{{Name: name, Rows: r.Rows}}, nil
}

// Derive upholds sdk.Host. The new relation has no rows; tests put one into Relations under the name.
func (h *Host) Derive(req abi.DeriveRequest) (string, error) {
	if err := h.failed(abi.OpDerive); err != nil {
		return "", err
	}
	for _, in := range req.Inputs {
		if in.Relation != "" {
			if _, err := h.find(abi.OpDerive, in.Relation); err != nil {
				return "", err
			}
		}
	}
	h.Derived = append(h.Derived, req)
	name := fmt.Sprintf("derived_%d", len(h.Derived))
	if _, ok := h.Relations[name]; !ok {
		h.Relations[name] = Relation{}
	}
	return name, nil
}

// Rows upholds sdk.Host.
func (h *Host) Rows(req abi.RowsRequest) (*sdk.Rows, error) {
	r, err := h.find(abi.OpRows, req.Relation)
	if err != nil {
		return nil, err
	}
	if r.fields != nil && len(req.Columns) > 0 {
		if r, err = r.choose(req.Columns); err != nil {
			return nil, err
		}
	}
	left := r.Messages
	return sdk.NewRows(func() ([]byte, error) {
		if len(left) == 0 {
			return nil, io.EOF
		}
		m := left[0]
		left = left[1:]
		return m, nil
	}), nil
}

// CreateFile upholds sdk.Host.
func (h *Host) CreateFile(req abi.FileCreateRequest) (sdk.File, error) {
	if err := h.failed(abi.OpFileCreate); err != nil {
		return nil, err
	}
	f := &File{Request: req, host: h, name: fmt.Sprintf("part-%d.%s.staged", len(h.Files)+1, req.Extension)}
	h.Files = append(h.Files, f)
	return f, nil
}

// Name upholds sdk.File.
func (f *File) Name() string { return f.name }

// Close upholds sdk.File.
func (f *File) Close() (abi.FileCloseAnswer, error) {
	if err := f.host.failed(abi.OpFileClose); err != nil {
		return abi.FileCloseAnswer{}, err
	}
	f.Closed = true
	return abi.FileCloseAnswer{Name: f.name, Bytes: int64(f.Len())}, nil
}

// HTTP upholds sdk.Host.
func (h *Host) HTTP(req abi.HTTPRequest) (abi.HTTPAnswer, error) {
	if err := h.failed(abi.OpHTTP); err != nil {
		return abi.HTTPAnswer{}, err
	}
	if h.Answer == nil {
		return abi.HTTPAnswer{}, &abi.Failure{Code: abi.CodeNotSent, Message: "no host can be reached"}
	}
	h.Sent = append(h.Sent, req)
	return h.Answer(req)
}

// Log upholds sdk.Host.
func (h *Host) Log(level abi.Level, text string) {
	h.Logged = append(h.Logged, fmt.Sprintf("%d %s", level, text))
}
