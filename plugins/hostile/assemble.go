package hostile

import "slices"

// Indices of the functions that every module here imports, in this order.
const (
	fnRequest = iota
	fnRespond
	fnCall
	fnResult
	fnRowsNext
	fnFileWrite
	fnLog
	fnExit
	fnPrint
	imported // the first function of the module's own
)

// function types, as numbers of i32 parameters and results
var types = [][2]int{{0, 1}, {0, 0}, {2, 1}, {2, 0}, {6, 1}, {3, 1}, {3, 0}, {1, 0}, {4, 1}}

var imports = []struct {
	module, name string
	kind         int
}{
	{"ubunye", "request", 2}, {"ubunye", "respond", 3}, {"ubunye", "call", 4}, {"ubunye", "result", 2},
	{"ubunye", "rows_next", 5}, {"ubunye", "file_write", 5}, {"ubunye", "log", 6},
	{"wasi_snapshot_preview1", "proc_exit", 7}, {"wasi_snapshot_preview1", "fd_write", 8},
}

// function is a body and the name it is exported by; kind is an index of types.
type function struct {
	export string
	kind   int
	code   []byte
}

// module is what assemble needs.
type module struct {
	functions []function
	pages     int    // of memory, 64 KiB each
	data      []byte // at address 0
	foreign   bool   // imports a function that nobody provides
	noMemory  bool   // does not export its memory
}

// assemble encodes a module of WebAssembly 1.0 with a table for references.
func assemble(m module) []byte {
	list := imports
	if m.foreign {
		list = append(slices.Clone(list), struct {
			module, name string
			kind         int
		}{"env", "launch", 0})
	}
	var typeSec, importSec, funcSec, codeSec, exportSec [][]byte
	for _, t := range types {
		sig := append([]byte{0x60}, uleb(t[0])...)
		sig = append(sig, slices.Repeat([]byte{0x7f}, t[0])...)
		sig = append(append(sig, uleb(t[1])...), slices.Repeat([]byte{0x7f}, t[1])...)
		typeSec = append(typeSec, sig)
	}
	for _, i := range list {
		importSec = append(importSec, slices.Concat(text(i.module), text(i.name), []byte{0}, uleb(i.kind)))
	}
	for i, f := range m.functions {
		funcSec = append(funcSec, uleb(f.kind))
		body := slices.Concat([]byte{1, 2, 0x7f}, f.code, []byte{0x0b}) // two locals of i32
		codeSec = append(codeSec, slices.Concat(uleb(len(body)), body))
		if f.export != "" {
			exportSec = append(exportSec, slices.Concat(text(f.export), []byte{0}, uleb(len(list)+i)))
		}
	}
	if !m.noMemory {
		exportSec = append(exportSec, append(text("memory"), 2, 0))
	}
	return slices.Concat([]byte("\x00asm\x01\x00\x00\x00"),
		section(1, typeSec...), section(2, importSec...), section(3, funcSec...),
		section(4, []byte{0x6f, 0, 1}), section(5, append([]byte{0}, uleb(m.pages)...)),
		section(7, exportSec...), section(10, codeSec...),
		section(11, slices.Concat([]byte{0, 0x41, 0, 0x0b}, uleb(len(m.data)), m.data)))
}

func section(id byte, items ...[]byte) []byte {
	body := append(uleb(len(items)), slices.Concat(items...)...)
	return slices.Concat([]byte{id}, uleb(len(body)), body)
}

func text(s string) []byte { return append(uleb(len(s)), s...) }

func uleb(n int) []byte {
	var out []byte
	for {
		b := byte(n & 0x7f)
		if n >>= 7; n == 0 {
			return append(out, b)
		}
		out = append(out, b|0x80)
	}
}

// Instructions.

func code(parts ...[]byte) []byte { return slices.Concat(parts...) }

// number pushes an i32.
func number(n int32) []byte {
	out := []byte{0x41}
	for {
		b := byte(n & 0x7f)
		n >>= 7
		if n == 0 && b&0x40 == 0 || n == -1 && b&0x40 != 0 {
			return append(out, b)
		}
		out = append(out, b|0x80)
	}
}

// call pushes numbers and calls a function.
func call(fn int, args ...int32) []byte {
	var out []byte
	for _, a := range args {
		out = append(out, number(a)...)
	}
	return append(append(out, 0x10), uleb(fn)...)
}

// forever repeats a body that leaves nothing on the stack.
func forever(body ...[]byte) []byte {
	return code([]byte{0x03, 0x40}, code(body...), []byte{0x0c, 0, 0x0b})
}

// times repeats a body so often; it counts in the second local.
func times(n int32, body ...[]byte) []byte {
	return code(number(n), []byte{0x21, 1, 0x03, 0x40}, code(body...), []byte{0x20, 1}, number(1), []byte{0x6b, 0x22, 1, 0x0d, 0, 0x0b})
}

var (
	drop        = []byte{0x1a}
	unreachable = []byte{0x00}
	growMemory  = []byte{0x40, 0}
	growTable   = []byte{0xfc, 0x0f, 0}
	nullExtern  = []byte{0xd0, 0x6f}
	minusOne    = []byte{0x41, 0x7f}
	equal       = []byte{0x46}
	trapIfTrue  = []byte{0x04, 0x40, 0x00, 0x0b} // if unreachable end
)
