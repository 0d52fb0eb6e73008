package sdk

import "encoding/binary"

// flat reads a FlatBuffer, in which Arrow describes its messages (flatbuffers.dev, "Internals"). A place
// outside of it reads as 0 and makes it bad, so that only the end of a message is to be checked.
type flat struct {
	data []byte
	bad  bool
}

var nothing [8]byte

// at gives n bytes, at most 8, at a place.
func (f *flat) at(place, n int) []byte {
	if place < 0 || place > len(f.data)-n {
		f.bad = true
		return nothing[:n]
	}
	return f.data[place : place+n]
}

func (f *flat) byte(place int) int   { return int(f.at(place, 1)[0]) }
func (f *flat) short(place int) int  { return int(int16(binary.LittleEndian.Uint16(f.at(place, 2)))) }
func (f *flat) int(place int) int    { return int(int32(binary.LittleEndian.Uint32(f.at(place, 4)))) }
func (f *flat) long(place int) int64 { return int64(binary.LittleEndian.Uint64(f.at(place, 8))) }
func (f *flat) follow(place int) int { return place + f.int(place) }
func (f *flat) root() int            { return f.follow(0) }

// field gives the place of a table's field; 0: it is not there and has its default.
func (f *flat) field(table, id int) int {
	vtable := table - f.int(table)
	slot := 4 + 2*id
	if slot+2 > f.short(vtable) {
		return 0
	}
	offset := f.short(vtable + slot)
	if offset == 0 {
		return 0
	}
	return table + offset
}

// child gives the table that a field refers to; 0: none.
func (f *flat) child(table, id int) int {
	if place := f.field(table, id); place != 0 {
		return f.follow(place)
	}
	return 0
}

func (f *flat) shortField(table, id, otherwise int) int {
	if place := f.field(table, id); place != 0 {
		return f.short(place)
	}
	return otherwise
}

func (f *flat) intField(table, id, otherwise int) int {
	if place := f.field(table, id); place != 0 {
		return f.int(place)
	}
	return otherwise
}

func (f *flat) byteField(table, id int) int {
	if place := f.field(table, id); place != 0 {
		return f.byte(place)
	}
	return 0
}

func (f *flat) longField(table, id int) int64 {
	if place := f.field(table, id); place != 0 {
		return f.long(place)
	}
	return 0
}

// vector gives the place of a vector's first element, of the size given, and their number.
func (f *flat) vector(table, id, size int) (first, n int) {
	v := f.child(table, id)
	if v == 0 {
		return 0, 0
	}
	n = f.int(v)
	if n < 0 || n > (len(f.data)-v-4)/size {
		f.bad = true
		return 0, 0
	}
	return v + 4, n
}

func (f *flat) text(table, id int) string {
	first, n := f.vector(table, id, 1)
	return string(f.data[first : first+n])
}
