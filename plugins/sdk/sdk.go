// Package sdk is for writers in Go. A plugin implements Writer and calls Serve:
//
//	func init() { sdk.Serve(excel{}) } // a reactor's main is never called
//	func main() {}
//
// and is built with
//
//	GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared -o excel.wasm
//
// The same code runs natively in unit tests, against a Host of package sdktest.
package sdk

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/ubunye-io/ubunye/engine/abi"
)

// Writer decides what lands and how. An error that is, or wraps, an *abi.Failure reaches the person
// with its hint; of any other only the text does.
type Writer interface {
	// Describe says what the writer can do. It must not depend on anything.
	Describe() abi.Description
	// Plan looks at one output of a pipeline, before any input is read.
	Plan(req abi.PlanRequest) (abi.PlanAnswer, error)
	// Stage writes the output's relation where no reader looks.
	Stage(h Host, req abi.StageRequest) (abi.StageAnswer, error)
}

// Host is the engine, as far as a writer may ask it. Errors of its methods are *abi.Failure; a writer
// that gets one hands it on.
type Host interface {
	Schema(relation string) ([]abi.Column, error)
	Count(relation string) (int64, error)
	// Encode has the compute engine write a relation as files: no row passes through the writer.
	Encode(req abi.EncodeRequest) ([]abi.StagedFile, error)
	// Derive makes a relation of a SELECT over others.
	Derive(req abi.DeriveRequest) (relation string, err error)
	// Rows opens a relation's rows, for formats that the engine has no encoder for.
	Rows(req abi.RowsRequest) (*Rows, error)
	// CreateFile makes a new staged file. It needs the capability "files".
	CreateFile(req abi.FileCreateRequest) (File, error)
	// Log says a line to the person who runs the pipeline.
	Log(level abi.Level, text string)
}

// File is a staged file being written.
type File interface {
	io.Writer
	Name() string
	// Close ends the file; every file must be closed before Stage returns.
	Close() (abi.FileCloseAnswer, error)
}

// module answers calls for its writers.
type module struct{ writers []Writer }

// codeError is the code of failures that have none of their own.
const codeError = "error"

// call runs one call. The answer is JSON of the call's answer, or of a Failure when failed.
func (m module) call(call abi.Call, request []byte, h Host) (answer []byte, failed bool) {
	v, err := m.dispatch(call, request, h)
	if err == nil {
		answer, err = json.Marshal(v)
	}
	if err == nil {
		return answer, false
	}
	var f *abi.Failure
	if !errors.As(err, &f) {
		f = &abi.Failure{Code: codeError, Message: err.Error()}
	}
	answer, _ = json.Marshal(f) // strings and a bool always marshal
	return answer, true
}

func (m module) dispatch(call abi.Call, request []byte, h Host) (any, error) {
	switch call {
	case abi.CallDescribe:
		return m.describe(), nil
	case abi.CallPlan:
		var req abi.PlanRequest
		w, err := m.decode(request, &req, &req.Writer)
		if err != nil {
			return nil, err
		}
		return w.Plan(req)
	case abi.CallStage:
		var req abi.StageRequest
		w, err := m.decode(request, &req, &req.Writer)
		if err != nil {
			return nil, err
		}
		return w.Stage(h, req)
	}
	return nil, fmt.Errorf("the call %s is not known", call)
}

func (m module) describe() abi.DescribeAnswer {
	a := abi.DescribeAnswer{ABI: abi.Version}
	for _, w := range m.writers {
		d := w.Describe()
		d.ABI = abi.Version
		a.Writers = append(a.Writers, d)
	}
	return a
}

// decode reads a request and finds the writer that it names.
func (m module) decode(request []byte, req any, name *string) (Writer, error) {
	if err := json.Unmarshal(request, req); err != nil {
		return nil, fmt.Errorf("the request cannot be read: %w", err)
	}
	for _, w := range m.writers {
		if w.Describe().Name == *name {
			return w, nil
		}
	}
	return nil, fmt.Errorf("there is no writer %q in this module", *name)
}
