package sdk

import (
	"encoding/binary"
	"errors"
	"io"
	"math"
)

// Kind is what a column holds.
type Kind uint8

// The kinds, with the SQL types that come as each.
const (
	Bool      Kind = iota + 1 // BOOLEAN
	Int                       // TINYINT to BIGINT
	Uint                      // UTINYINT to UBIGINT
	Float                     // FLOAT, DOUBLE
	Decimal                   // DECIMAL, and integers wider than 64 bits
	Text                      // VARCHAR, enums, JSON, UUID
	Binary                    // BLOB
	Date                      // DATE: days since 1970-01-01
	Time                      // TIME: since midnight
	Timestamp                 // TIMESTAMP: since 1970-01-01 00:00:00 UTC
)

// Field is a column of a relation. What does not belong to its kind is 0.
type Field struct {
	Name      string
	Kind      Kind
	Bits      int    // of Int, Uint and Float: 8, 16, 32 or 64
	Precision int    // of Decimal: digits
	Scale     int    // of Decimal: digits after the point
	Digits    int    // of Time and Timestamp: of the unit after the second, so 0, 3, 6 or 9
	Zone      string // of Timestamp: "UTC" if it is a moment, "" if it is a clock's reading
}

// Rows reads a relation's rows, a record batch at a time. It reads the Arrow messages of this engine: flat
// columns, no dictionaries, no compression. A nested column is an error that names it; name the columns that are
// wanted, or cast it to text.
type Rows struct {
	next   func() ([]byte, error)
	fields []Field
	begun  bool
	batch  Batch
}

// NewRows reads the Arrow IPC messages that next gives: the schema, record batches, io.EOF.
func NewRows(next func() ([]byte, error)) *Rows { return &Rows{next: next} }

// Message gives the next Arrow IPC message as it came, for writers that hand it on. It is not to be mixed
// with Fields and Next. The bytes hold until the next call.
func (r *Rows) Message() ([]byte, error) { return r.next() }

// Fields gives the columns in order.
func (r *Rows) Fields() ([]Field, error) {
	if r.begun {
		return r.fields, nil
	}
	message, err := r.next()
	if err == io.EOF {
		err = errors.New("the rows have no schema")
	}
	if err != nil {
		return nil, err
	}
	if r.fields, err = readSchema(message); err != nil {
		return nil, err
	}
	r.begun = true
	return r.fields, nil
}

// Next gives the next record batch; io.EOF after the last. It holds until the next call.
func (r *Rows) Next() (*Batch, error) {
	if _, err := r.Fields(); err != nil {
		return nil, err
	}
	message, err := r.next()
	if err != nil {
		return nil, err
	}
	if err := r.batch.read(message, r.fields); err != nil {
		return nil, err
	}
	return &r.batch, nil
}

// Batch is some of the rows, column by column.
type Batch struct {
	Rows    int
	Columns []Column
}

// Column is a column of a batch. Its methods panic for a row that it does not have. That of a kind is for
// columns of this kind; of a NULL it gives anything.
type Column struct {
	Field
	rows    int
	valid   []byte // a bit a row; nil: no NULL
	offsets []byte // of Text and Binary
	data    []byte
}

// Null tells whether a row has no value.
func (c *Column) Null(row int) bool { return c.valid != nil && c.valid[row>>3]>>(row&7)&1 == 0 }

// Bool gives a value of kind Bool.
func (c *Column) Bool(row int) bool { return c.data[row>>3]>>(row&7)&1 == 1 }

// Int gives a value of kind Int, Date, Time or Timestamp.
func (c *Column) Int(row int) int64 {
	switch c.width() {
	case 1:
		return int64(int8(c.data[row]))
	case 2:
		return int64(int16(binary.LittleEndian.Uint16(c.data[row*2:])))
	case 4:
		return int64(int32(binary.LittleEndian.Uint32(c.data[row*4:])))
	}
	return int64(binary.LittleEndian.Uint64(c.data[row*8:]))
}

// Uint gives a value of kind Uint.
func (c *Column) Uint(row int) uint64 {
	switch c.Bits {
	case 8:
		return uint64(c.data[row])
	case 16:
		return uint64(binary.LittleEndian.Uint16(c.data[row*2:]))
	case 32:
		return uint64(binary.LittleEndian.Uint32(c.data[row*4:]))
	}
	return binary.LittleEndian.Uint64(c.data[row*8:])
}

// Float gives a value of kind Float.
func (c *Column) Float(row int) float64 {
	if c.Bits == 32 {
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(c.data[row*4:])))
	}
	return math.Float64frombits(binary.LittleEndian.Uint64(c.data[row*8:]))
}

// Decimal gives a value of kind Decimal times ten to the power of its scale, as the halves of a 128-bit integer.
func (c *Column) Decimal(row int) (high int64, low uint64) {
	b := c.data[row*16 : row*16+16]
	return int64(binary.LittleEndian.Uint64(b[8:])), binary.LittleEndian.Uint64(b)
}

// Bytes gives a value of kind Text, which is UTF-8, or Binary. It is part of the batch.
func (c *Column) Bytes(row int) []byte { return c.data[c.offset(row):c.offset(row+1)] }

func (c *Column) offset(row int) int { return int(binary.LittleEndian.Uint32(c.offsets[row*4:])) }

// width is the bytes of a value; 0: it has bits, or any number of bytes.
func (f Field) width() int {
	switch f.Kind {
	case Int, Uint, Float:
		return f.Bits / 8
	case Date:
		return 4
	case Time, Timestamp:
		return 8
	case Decimal:
		return 16
	}
	return 0
}

func badMessage(what string) error { return errors.New("the rows cannot be read: " + what) }
