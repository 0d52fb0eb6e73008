package sdk

import (
	"io"
	"unsafe"

	"github.com/ubunye-io/ubunye/engine/abi"
	"github.com/ubunye-io/ubunye/plugins/sdk/internal/jsontext"
)

// served is the module that the exports answer for: exports are functions without a receiver, so there
// is no other place for it. Serve sets it once, before the first call.
var served module

// Serve makes this program's module answer for writers. It is to be called from an init function.
func Serve(writers ...Writer) { served = module{writers} }

//go:wasmexport ubunye_abi_1
func exportMarker() int32 { return 0 }

//go:wasmexport describe
func exportDescribe() int32 { return answer(abi.CallDescribe) }

//go:wasmexport plan
func exportPlan() int32 { return answer(abi.CallPlan) }

//go:wasmexport stage
func exportStage() int32 { return answer(abi.CallStage) }

//go:wasmexport commit
func exportCommit() int32 { return answer(abi.CallCommit) }

//go:wasmexport resolve
func exportResolve() int32 { return answer(abi.CallResolve) }

func answer(call abi.Call) int32 {
	request := read(importRequest)
	data, failed := served.call(call, request, remote{imports{}})
	importRespond(unsafe.Pointer(unsafe.SliceData(data)), uint32(len(data)))
	if failed {
		return 1
	}
	return 0
}

//go:wasmimport ubunye request
func importRequest(ptr unsafe.Pointer, room uint32) int32

//go:wasmimport ubunye respond
func importRespond(ptr unsafe.Pointer, size uint32)

//go:wasmimport ubunye call
func importCall(op unsafe.Pointer, opSize uint32, request unsafe.Pointer, requestSize uint32, out unsafe.Pointer, room uint32) int32

//go:wasmimport ubunye result
func importResult(ptr unsafe.Pointer, room uint32) int32

//go:wasmimport ubunye rows_next
func importRowsNext(cursor int32, ptr unsafe.Pointer, room uint32) int32

//go:wasmimport ubunye file_write
func importFileWrite(file int32, ptr unsafe.Pointer, size uint32) int32

//go:wasmimport ubunye log
func importLog(level int32, ptr unsafe.Pointer, size uint32)

// imports is the transport of a module.
type imports struct{}

// firstRoom is the buffer that an answer is awaited with; larger ones are fetched by a second call.
const firstRoom = 4 << 10

// read fetches what fn offers, whatever its size.
func read(fn func(unsafe.Pointer, uint32) int32) []byte {
	buffer := make([]byte, firstRoom)
	n := int(fn(unsafe.Pointer(unsafe.SliceData(buffer)), uint32(len(buffer))))
	if n > len(buffer) {
		buffer = make([]byte, n)
		n = int(fn(unsafe.Pointer(unsafe.SliceData(buffer)), uint32(n)))
	}
	return buffer[:n]
}

func (imports) call(op abi.Operation, request []byte) ([]byte, error) {
	buffer := make([]byte, firstRoom)
	n := int(importCall(unsafe.Pointer(unsafe.StringData(string(op))), uint32(len(op)),
		unsafe.Pointer(unsafe.SliceData(request)), uint32(len(request)),
		unsafe.Pointer(unsafe.SliceData(buffer)), uint32(len(buffer))))
	switch {
	case n < 0:
		return nil, failure()
	case n > len(buffer):
		return read(importResult), nil
	}
	return buffer[:n], nil
}

func (imports) rowsNext(cursor int32, buffer []byte) (message, grown []byte, err error) {
	for {
		n := int(importRowsNext(cursor, unsafe.Pointer(unsafe.SliceData(buffer)), uint32(len(buffer))))
		switch {
		case n == 0:
			return nil, buffer, io.EOF
		case n < 0:
			return nil, buffer, failure()
		case n <= len(buffer):
			return buffer[:n], buffer, nil
		}
		buffer = make([]byte, n)
	}
}

func (imports) fileWrite(file int32, data []byte) error {
	if importFileWrite(file, unsafe.Pointer(unsafe.SliceData(data)), uint32(len(data))) < 0 {
		return failure()
	}
	return nil
}

func (imports) log(level abi.Level, text string) {
	importLog(int32(level), unsafe.Pointer(unsafe.StringData(text)), uint32(len(text)))
}

// failure is why the last operation did not happen.
func failure() error {
	var f abi.Failure
	if jsontext.Decode(read(importResult), func(d *jsontext.Decoder) { f = decodeFailure(d) }) != nil {
		return &abi.Failure{Code: abi.CodeFailed, Message: "the engine gave a reason that cannot be read"}
	}
	return &f
}
