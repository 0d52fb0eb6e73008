package database

import (
	"context"
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// column is one of a table or query.
type column struct {
	name   string
	native string // its type as the database calls it
	typ    string // that of compute.Source; empty: none holds its values exactly
	why    string // why none does
	as     string // what is selected, in place of the column; %s is the column
	append appender
	decode decoder
}

// appender adds a value of a driver to a column that is built.
type appender func(b array.Builder, value any) error

// decoder adds a value, of the bytes that the server sent, to a column that is built.
type decoder func(b array.Builder, data []byte) error

// valueError says that a value cannot be kept.
type valueError struct {
	column string
	what   string
	asText bool // it could be read as text
}

func (e *valueError) Error() string { return e.what }

var arrowTypes = map[string]arrow.DataType{
	"BOOLEAN": arrow.FixedWidthTypes.Boolean,
	"TINYINT": arrow.PrimitiveTypes.Int8, "SMALLINT": arrow.PrimitiveTypes.Int16, "INTEGER": arrow.PrimitiveTypes.Int32, "BIGINT": arrow.PrimitiveTypes.Int64,
	"UTINYINT": arrow.PrimitiveTypes.Uint8, "USMALLINT": arrow.PrimitiveTypes.Uint16, "UINTEGER": arrow.PrimitiveTypes.Uint32, "UBIGINT": arrow.PrimitiveTypes.Uint64,
	"FLOAT": arrow.PrimitiveTypes.Float32, "DOUBLE": arrow.PrimitiveTypes.Float64,
	"VARCHAR": arrow.BinaryTypes.String, "JSON": arrow.BinaryTypes.String, "UUID": arrow.BinaryTypes.String, "BLOB": arrow.BinaryTypes.Binary,
	"DATE": arrow.FixedWidthTypes.Date32, "TIME": arrow.FixedWidthTypes.Time64us,
	"TIMESTAMP":                &arrow.TimestampType{Unit: arrow.Microsecond},
	"TIMESTAMP WITH TIME ZONE": &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"},
}

// arrowType gives the Arrow type of a type of compute.Source.
func arrowType(typ string) arrow.DataType {
	if n := len(typ) - len("[]"); n > 0 && typ[n:] == "[]" {
		return arrow.ListOf(arrowType(typ[:n]))
	}
	var width, scale int32
	if _, err := fmt.Sscanf(typ, "DECIMAL(%d,%d)", &width, &scale); err == nil {
		return &arrow.Decimal128Type{Precision: width, Scale: scale}
	}
	return arrowTypes[typ]
}

// Batches are small enough that a few of them are no matter, and large enough that handing them on is none.
const (
	batchRows  = 1 << 14
	batchBytes = 4 << 20
)

// batcher builds batches of rows and hands them on.
type batcher struct {
	ctx     context.Context
	columns []column
	builder *array.RecordBuilder
	to      chan<- arrow.RecordBatch
	rows    int
	bytes   int
}

func newBatcher(ctx context.Context, columns []column, to chan<- arrow.RecordBatch) *batcher {
	fields := make([]arrow.Field, len(columns))
	for i, c := range columns {
		fields[i] = arrow.Field{Name: c.name, Type: arrowType(c.typ), Nullable: true}
	}
	return &batcher{ctx: ctx, columns: columns, to: to, builder: array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema(fields, nil))}
}

// add adds a value of the row that is built.
func (b *batcher) add(i int, value any) error {
	switch v := value.(type) {
	case nil:
		b.builder.Field(i).AppendNull()
		return nil
	case []byte:
		b.bytes += len(v)
	case string:
		b.bytes += len(v)
	}
	if err := b.columns[i].append(b.builder.Field(i), value); err != nil {
		return b.inColumn(err, i)
	}
	return nil
}

// inColumn names the column of a value that cannot be kept.
func (b *batcher) inColumn(err error, i int) error {
	var e *valueError
	if errors.As(err, &e) && e.column == "" {
		e.column = b.columns[i].name
	}
	return err
}

// end ends a row.
func (b *batcher) end() error {
	b.rows++
	if b.rows < batchRows && b.bytes < batchBytes {
		return nil
	}
	return b.flush()
}

// flush hands on what was built.
func (b *batcher) flush() error {
	if b.rows == 0 {
		return nil
	}
	batch := b.builder.NewRecordBatch()
	b.rows, b.bytes = 0, 0
	select {
	case b.to <- batch:
		return nil
	case <-b.ctx.Done():
		batch.Release()
		return context.Cause(b.ctx)
	}
}
