package main

import "github.com/tetratelabs/wazero/experimental"

// memory is the module's linear memory: reserved once, so growing copies nothing (wazero's own way
// copies all of it each time). The pages are not the process's until they are touched.
type memory struct {
	limit   uint64
	bytes   []byte
	refused uint64 // bytes that were wanted last, beyond the limit
}

// Allocate upholds experimental.MemoryAllocator. The module's minimum was checked against the limit.
func (m *memory) Allocate(_, most uint64) experimental.LinearMemory {
	m.bytes = reserve(int(min(most, m.limit)))
	return m
}

// Reallocate upholds experimental.LinearMemory.
func (m *memory) Reallocate(size uint64) []byte {
	if size > uint64(len(m.bytes)) {
		m.refused = size
		return nil
	}
	return m.bytes[:size:size]
}

// Free upholds experimental.LinearMemory. The memory goes with the process.
func (m *memory) Free() {}
