package sdktest

import "encoding/binary"

// part is something of a FlatBuffer that others refer to: it is written when all before it is, and gives its place.
type part func(b *[]byte) int

// slot is one field of a table: a number in 8 bytes, of which readers take as many as its type has, or a
// reference; neither: it is not there.
type slot struct {
	number uint64
	ref    part
	there  bool
}

func num(n int) slot  { return slot{number: uint64(n), there: true} }
func ref(p part) slot { return slot{ref: p, there: true} }

// table writes a table whose fields have the ids 0, 1, ….
func table(slots ...slot) part {
	return func(b *[]byte) int {
		vtable := len(*b)
		*b = binary.LittleEndian.AppendUint16(*b, uint16(4+2*len(slots)))
		*b = binary.LittleEndian.AppendUint16(*b, uint16(8+8*len(slots)))
		for i, s := range slots {
			at := 0
			if s.there {
				at = 8 + 8*i
			}
			*b = binary.LittleEndian.AppendUint16(*b, uint16(at))
		}
		pad(b, 8)
		place := len(*b)
		*b = binary.LittleEndian.AppendUint32(*b, uint32(place-vtable))
		*b = append(*b, 0, 0, 0, 0)
		for _, s := range slots {
			*b = binary.LittleEndian.AppendUint64(*b, s.number)
		}
		for i, s := range slots {
			if s.ref != nil {
				refer(b, place+8+8*i, s.ref)
			}
		}
		return place
	}
}

// refer writes a part and has the place given refer to it.
func refer(b *[]byte, place int, p part) {
	pad(b, 8)
	at := p(b)
	binary.LittleEndian.PutUint32((*b)[place:], uint32(at-place))
}

// tables writes a vector of tables.
func tables(all []part) part {
	return func(b *[]byte) int {
		place := len(*b)
		*b = binary.LittleEndian.AppendUint32(*b, uint32(len(all)))
		*b = append(*b, make([]byte, 4*len(all))...)
		for i, p := range all {
			refer(b, place+4+4*i, p)
		}
		return place
	}
}

// pairs writes a vector of structs of two 64-bit integers.
func pairs(all [][2]int) part {
	return func(b *[]byte) int {
		*b = append(*b, 0, 0, 0, 0) // so that what follows the length is aligned
		place := len(*b)
		*b = binary.LittleEndian.AppendUint32(*b, uint32(len(all)))
		for _, p := range all {
			*b = binary.LittleEndian.AppendUint64(*b, uint64(p[0]))
			*b = binary.LittleEndian.AppendUint64(*b, uint64(p[1]))
		}
		return place
	}
}

func text(s string) part {
	return func(b *[]byte) int {
		place := len(*b)
		*b = binary.LittleEndian.AppendUint32(*b, uint32(len(s)))
		*b = append(append(*b, s...), 0)
		return place
	}
}

func pad(b *[]byte, to int) {
	for len(*b)%to != 0 {
		*b = append(*b, 0)
	}
}

// encapsulate makes an Arrow IPC message: its length, its description and its body.
func encapsulate(header int, head part, body []byte) []byte {
	const metadataV5 = 4
	flat := make([]byte, 4)
	refer(&flat, 0, table(num(metadataV5), num(header), ref(head), num(len(body))))
	pad(&flat, 8)
	message := binary.LittleEndian.AppendUint32(nil, 0xffffffff)
	message = binary.LittleEndian.AppendUint32(message, uint32(len(flat)))
	return append(append(message, flat...), body...)
}
