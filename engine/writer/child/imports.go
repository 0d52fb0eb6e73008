package main

import (
	"context"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/ubunye-io/ubunye/engine/abi"
	"github.com/ubunye-io/ubunye/engine/writer/internal/wire"
)

// provide makes the functions that package abi lists, on wazero's fast path.
func (g *guest) provide(ctx context.Context, r wazero.Runtime) error {
	b := r.NewHostModuleBuilder(abi.ImportModule)
	for _, f := range []struct {
		name            string
		params, results int
		fn              func(m api.Memory, stack []uint64)
	}{
		{"request", 2, 1, g.importRequest},
		{"respond", 2, 0, g.importRespond},
		{"call", 6, 1, g.importCall},
		{"result", 2, 1, g.importResult},
		{"rows_next", 3, 1, g.importRowsNext},
		{"file_write", 3, 1, g.importFileWrite},
		{"log", 3, 0, g.importLog},
	} {
		fn := api.GoModuleFunc(func(_ context.Context, m api.Module, stack []uint64) {
			g.memory.refused = 0 // whoever lives on has coped
			f.fn(m.Memory(), stack)
		})
		b.NewFunctionBuilder().WithGoModuleFunction(fn, i32s(f.params), i32s(f.results)).Export(f.name)
	}
	_, err := b.Instantiate(ctx)
	return err
}

func i32s(n int) []api.ValueType {
	types := make([]api.ValueType, n)
	for i := range types {
		types[i] = api.ValueTypeI32
	}
	return types
}

// read gives a part of the module's memory, not a copy, or ends the module.
func (g *guest) read(m api.Memory, ptr, size uint64) []byte {
	data, ok := m.Read(uint32(ptr), uint32(size))
	if !ok {
		g.die(wire.BadPointer, "it gave %d bytes at %d, outside its %d bytes of memory", uint32(size), uint32(ptr), m.Size())
	}
	return data
}

// limited is read for what is sent to the engine.
func (g *guest) limited(m api.Memory, ptr, size uint64, what string) []byte {
	data := g.read(m, ptr, size)
	if len(data) > g.limits.MaxMessage {
		g.die(wire.TooMuch, "it gave %s of %d bytes; at most %d are allowed", what, len(data), g.limits.MaxMessage)
	}
	return data
}

// offer writes data into the module's buffer if it fits there, and returns its length.
func (g *guest) offer(m api.Memory, ptr, room uint64, data []byte) uint64 {
	buffer := g.read(m, ptr, room)
	if len(data) <= len(buffer) {
		copy(buffer, data)
	}
	return api.EncodeI32(int32(len(data)))
}

func (g *guest) importRequest(m api.Memory, s []uint64) { s[0] = g.offer(m, s[0], s[1], g.request) }

func (g *guest) importResult(m api.Memory, s []uint64) { s[0] = g.offer(m, s[0], s[1], g.last) }

func (g *guest) importRespond(m api.Memory, s []uint64) {
	g.answer = append([]byte(nil), g.limited(m, s[0], s[1], "an answer")...)
	g.collect(len(g.answer))
}

func (g *guest) importCall(m api.Memory, s []uint64) {
	op := g.read(m, s[0], s[1])
	if len(op) > 64 {
		g.die(wire.TooMuch, "it named an operation with %d bytes", len(op))
	}
	for _, b := range op {
		if b <= ' ' || b > '~' {
			g.die(wire.Confused, "it named an operation with other than printable ASCII")
		}
	}
	request := g.limited(m, s[2], s[3], "a request")
	g.read(m, s[4], s[5]) // a bad buffer is found before anything happens
	status, answer := g.ask(wire.Operation, op, []byte{0}, request)
	g.last = answer
	if status != wire.OK {
		s[0] = failure(answer)
		return
	}
	s[0] = g.offer(m, s[4], s[5], answer)
}

func (g *guest) importRowsNext(m api.Memory, s []uint64) {
	cursor := int32(uint32(s[0]))
	g.read(m, s[1], s[2])
	message, waiting := g.pending[cursor]
	if !waiting {
		status, answer := g.ask(wire.RowsNext, wire.Bytes(uint32(cursor)))
		switch status {
		case wire.End:
			s[0] = 0
			return
		case wire.Failed:
			g.last = answer
			s[0] = failure(answer)
			return
		}
		message = answer
	}
	room := s[2]
	s[0] = g.offer(m, s[1], room, message)
	if len(message) > int(uint32(room)) {
		g.pending[cursor] = message
	} else {
		delete(g.pending, cursor)
	}
}

func (g *guest) importFileWrite(m api.Memory, s []uint64) {
	data := g.limited(m, s[1], s[2], "a piece of a file")
	status, answer := g.ask(wire.FileWrite, wire.Bytes(uint32(s[0])), data)
	if status != wire.OK {
		g.last = answer
		s[0] = failure(answer)
		return
	}
	s[0] = api.EncodeI32(int32(len(data)))
}

func (g *guest) importLog(m api.Memory, s []uint64) {
	level := abi.Level(int32(uint32(s[0])))
	if level < abi.LevelDebug || level > abi.LevelError {
		level = abi.LevelInfo
	}
	g.log.line(level, g.read(m, s[1], s[2]))
}

func failure(answer []byte) uint64 { return api.EncodeI32(-int32(max(len(answer), 1))) }

// ask puts one question to the engine. An engine that cannot be understood ends the module.
func (g *guest) ask(kind wire.Kind, parts ...[]byte) (wire.Status, []byte) {
	if err := g.conn.Write(kind, parts...); err != nil {
		g.die(wire.Confused, "the engine cannot be reached: %v", err)
	}
	f := <-g.in
	if f.kind != wire.Result || len(f.payload) == 0 {
		g.die(wire.Confused, "frame %q where a result was due", f.kind)
	}
	g.collect(len(f.payload))
	return wire.Status(f.payload[0]), f.payload[1:]
}
