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
	"errors"
	"io"
	"strconv"

	"github.com/ubunye-io/ubunye/engine/abi"
	"github.com/ubunye-io/ubunye/plugins/sdk/internal/jsontext"
)

// Writer decides what lands and how. An error that is, or wraps, an *abi.Failure reaches the person
// with its hint; of any other only the text does.
type Writer interface {
	// Describe says what the writer can do. It must not depend on anything.
	Describe() abi.Description
	// Plan looks at one output of a pipeline, before any input is read. Of the Host it may use Log and what reads of Table.
	Plan(h Host, req abi.PlanRequest) (abi.PlanAnswer, error)
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
	// The files of the target need the capability "table".
	Table
	// HTTP asks a host. It needs the capability "http"; what may change something at the host is for Commit.
	HTTP(req abi.HTTPRequest) (abi.HTTPAnswer, error)
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
	message, err := m.dispatch(call, request, h)
	if err == nil {
		return jsontext.Encode(message), false
	}
	f, ok := errors.AsType[*abi.Failure](err)
	if !ok {
		f = &abi.Failure{Code: codeError, Message: err.Error()}
	}
	return jsontext.Encode(encodeFailure(*f)), true
}

func (m module) dispatch(call abi.Call, request []byte, h Host) (answer func(*jsontext.Encoder), err error) {
	switch call {
	case abi.CallDescribe:
		return encodeDescribeAnswer(m.describe()), nil
	case abi.CallPlan:
		var req abi.PlanRequest
		if err := jsontext.Decode(request, func(d *jsontext.Decoder) { req = decodePlanRequest(d) }); err != nil {
			return nil, unreadable(err)
		}
		w, err := m.writer(req.Writer)
		if err != nil {
			return nil, err
		}
		a, err := w.Plan(h, req)
		return encodePlanAnswer(a), err
	case abi.CallStage:
		var req abi.StageRequest
		if err := jsontext.Decode(request, func(d *jsontext.Decoder) { req = decodeStageRequest(d) }); err != nil {
			return nil, unreadable(err)
		}
		w, err := m.writer(req.Writer)
		if err != nil {
			return nil, err
		}
		a, err := w.Stage(h, req)
		return encodeStageAnswer(a), err
	case abi.CallCommit:
		return m.commit(request, h)
	case abi.CallResolve:
		return m.resolve(request, h)
	}
	return nil, errors.New("the call " + string(call) + " is not known")
}

func unreadable(err error) error {
	return errors.New("the request cannot be read: " + err.Error())
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

// writer finds the writer that a request names.
func (m module) writer(name string) (Writer, error) {
	for _, w := range m.writers {
		if w.Describe().Name == name {
			return w, nil
		}
	}
	return nil, errors.New("there is no writer " + strconv.Quote(name) + " in this module")
}
