package sdk

import (
	"encoding/binary"
	"errors"
	"strconv"
)

// What Arrow's Message.fbs and Schema.fbs number.
const (
	headerSchema      = 1
	headerRecordBatch = 3

	typeInt       = 2
	typeFloat     = 3
	typeBinary    = 4
	typeUtf8      = 5
	typeBool      = 6
	typeDecimal   = 7
	typeDate      = 8
	typeTime      = 9
	typeTimestamp = 10
)

// open takes an encapsulated message apart: its description, the table that heads it, and its body.
func open(message []byte, header int) (f *flat, table int, body []byte, err error) {
	const continuation = 0xffffffff
	if len(message) < 8 || binary.LittleEndian.Uint32(message) != continuation {
		return nil, 0, nil, badMessage("no Arrow message")
	}
	size := int(binary.LittleEndian.Uint32(message[4:]))
	if size > len(message)-8 {
		return nil, 0, nil, badMessage("an Arrow message is cut")
	}
	f, body = &flat{data: message[8 : 8+size]}, message[8+size:]
	root := f.root()
	got := f.byteField(root, 1)
	table = f.child(root, 2)
	if f.bad || got != header || table == 0 {
		return nil, 0, nil, badMessage("an Arrow message of kind " + strconv.Itoa(got) + " where " + strconv.Itoa(header) + " was due")
	}
	return f, table, body, nil
}

func readSchema(message []byte) ([]Field, error) {
	f, schema, _, err := open(message, headerSchema)
	if err != nil {
		return nil, err
	}
	if f.shortField(schema, 0, 0) != 0 {
		return nil, badMessage("big-endian")
	}
	first, n := f.vector(schema, 1, 4)
	fields := make([]Field, n)
	for i := range fields {
		table := f.follow(first + 4*i)
		fields[i].Name = f.text(table, 0)
		what := readType(f, table, &fields[i])
		if f.bad {
			return nil, badMessage("a damaged schema")
		}
		if what != "" {
			return nil, errors.New("column " + fields[i].Name + ": " + what + " cannot be read here: leave it out, or cast it to text in a step")
		}
	}
	if f.bad {
		return nil, badMessage("a damaged schema")
	}
	return fields, nil
}

// readType reads a column's type; a text says which one is not read.
func readType(f *flat, table int, into *Field) (unread string) {
	if f.field(table, 4) != 0 {
		return "a dictionary"
	}
	kind, t := f.byteField(table, 2), f.child(table, 3)
	if t == 0 {
		return "a column without a type"
	}
	switch kind {
	case typeBool:
		into.Kind = Bool
	case typeUtf8:
		into.Kind = Text
	case typeBinary:
		into.Kind = Binary
	case typeInt:
		into.Kind, into.Bits = Uint, f.intField(t, 0, 0)
		if f.byteField(t, 1) != 0 {
			into.Kind = Int
		}
		if into.Bits != 8 && into.Bits != 16 && into.Bits != 32 && into.Bits != 64 {
			return "an integer of a strange size"
		}
	case typeFloat:
		precision := f.shortField(t, 0, 0) // 0: half, 1: single, 2: double
		if precision != 1 && precision != 2 {
			return "a float of a strange size"
		}
		into.Kind, into.Bits = Float, 16<<precision
	case typeDecimal:
		into.Kind, into.Precision, into.Scale = Decimal, f.intField(t, 0, 0), f.intField(t, 1, 0)
		if f.intField(t, 2, 128) != 128 || into.Scale < 0 || into.Scale > into.Precision || into.Precision > 38 {
			return "a decimal of a strange size"
		}
	case typeDate:
		into.Kind = Date
		if f.shortField(t, 0, 1) != 0 {
			return "a date in milliseconds"
		}
	case typeTime:
		into.Kind, into.Digits = Time, 3*f.shortField(t, 0, 1)
		if f.intField(t, 1, 32) != 64 || into.Digits < 0 || into.Digits > 9 {
			return "a time of a strange size"
		}
	case typeTimestamp:
		into.Kind, into.Digits, into.Zone = Timestamp, 3*f.shortField(t, 0, 0), f.text(t, 1)
		if into.Digits < 0 || into.Digits > 9 {
			return "a timestamp of a strange unit"
		}
	default:
		return "a nested column"
	}
	return ""
}

// read takes a record batch. Everything that the columns' methods rely on is checked here.
func (b *Batch) read(message []byte, fields []Field) error {
	f, table, body, err := open(message, headerRecordBatch)
	if err != nil {
		return err
	}
	rows := f.longField(table, 0)
	nodes, nodeCount := f.vector(table, 1, 16)
	buffers, bufferCount := f.vector(table, 2, 16)
	if f.field(table, 3) != 0 {
		return badMessage("compressed record batches")
	}
	if f.bad || rows < 0 || rows > 8*int64(len(body)) && len(fields) > 0 || nodeCount != len(fields) {
		return badMessage("a damaged record batch")
	}
	next := 0
	take := func() []byte {
		if next == bufferCount {
			f.bad = true
			return nil
		}
		at := buffers + 16*next
		next++
		offset, size := f.long(at), f.long(at+8)
		if offset < 0 || size < 0 || offset > int64(len(body)) || size > int64(len(body))-offset {
			f.bad = true
			return nil
		}
		return body[offset : offset+size]
	}
	b.Rows = int(rows)
	b.Columns = append(b.Columns[:0], make([]Column, len(fields))...)
	for i, field := range fields {
		c := &b.Columns[i]
		*c = Column{Field: field, rows: b.Rows, valid: take()}
		if field.Kind == Text || field.Kind == Binary {
			c.offsets = take()
		}
		c.data = take()
		if err := c.check(f.long(nodes+16*i), f.long(nodes+16*i+8)); err != nil || f.bad {
			return errors.Join(badMessage("a damaged record batch"), err)
		}
	}
	return nil
}

// check looks whether a column has what its rows need.
func (c *Column) check(rows, nulls int64) error {
	if rows != int64(c.rows) {
		return badMessage("columns of different lengths")
	}
	bits := (c.rows + 7) / 8
	if nulls == 0 {
		c.valid = nil
	} else if len(c.valid) < bits {
		return badMessage("NULLs without their bits")
	}
	need := c.rows * c.width()
	switch c.Kind {
	case Bool:
		need = bits
	case Text, Binary:
		return c.checkOffsets()
	}
	if len(c.data) < need {
		return badMessage("a column is cut")
	}
	return nil
}

func (c *Column) checkOffsets() error {
	if c.rows == 0 {
		return nil
	}
	if len(c.offsets) < 4*(c.rows+1) {
		return badMessage("texts without their lengths")
	}
	last := 0
	for row := range c.rows + 1 {
		if offset := c.offset(row); offset < last || offset > len(c.data) {
			return badMessage("texts with wrong lengths")
		} else {
			last = offset
		}
	}
	return nil
}
