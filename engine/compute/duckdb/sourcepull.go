package duckdb

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	driverduckdb "github.com/duckdb/duckdb-go/v2"

	"github.com/ubunye-io/ubunye/engine/compute"
)

// sourcePull fills DuckDB's chunks with the rows of a source: a table function that can be read once.
type sourcePull struct {
	ctx     context.Context // of the statement, whose callbacks have none
	batches compute.Batches
	columns []pulledColumn
	batch   arrow.RecordBatch // nil: none is begun
	at      int               // rows of it that were filled in
	failed  error             // why it ended
}

func startPull(ctx context.Context, source compute.Source) (*sourcePull, error) {
	p := &sourcePull{ctx: ctx}
	for _, c := range source.Columns() {
		column, err := pulled(c)
		if err != nil {
			return nil, err
		}
		p.columns = append(p.columns, column)
	}
	var err error
	if p.batches, err = source.Read(ctx); err != nil {
		return nil, sourceError(err)
	}
	return p, nil
}

func (p *sourcePull) close() {
	p.drop()
	_ = p.batches.Close() // all that counts was read, or did not come
}

func (p *sourcePull) drop() {
	if p.batch != nil {
		p.batch.Release()
		p.batch, p.at = nil, 0
	}
}

// ColumnInfos tells DuckDB the columns that are filled; their values are made from them by SQL.
func (p *sourcePull) ColumnInfos() []driverduckdb.ColumnInfo {
	infos := make([]driverduckdb.ColumnInfo, len(p.columns))
	for i, c := range p.columns {
		infos[i] = driverduckdb.ColumnInfo{Name: fmt.Sprintf("c%d", i), T: c.raw}
	}
	return infos
}

// Cardinality is not known.
func (p *sourcePull) Cardinality() *driverduckdb.CardinalityInfo { return nil }

// Init is called once, before the first chunk.
func (p *sourcePull) Init() {}

// FillChunk gives the next rows.
func (p *sourcePull) FillChunk(chunk driverduckdb.DataChunk) error {
	for p.batch == nil || p.at == int(p.batch.NumRows()) {
		p.drop()
		batch, err := p.batches.Next(p.ctx)
		if errors.Is(err, io.EOF) {
			return chunk.SetSize(0)
		}
		if err != nil {
			p.failed = sourceError(err)
			return p.failed
		}
		p.batch = batch
	}
	rows := min(int(p.batch.NumRows())-p.at, driverduckdb.GetDataChunkCapacity())
	for i, c := range p.columns {
		if err := c.fill(chunk, i, p.batch.Column(i), p.at, rows); err != nil {
			p.failed = sourceError(inColumn(err, c.name))
			return p.failed
		}
	}
	p.at += rows
	return chunk.SetSize(rows)
}

// filler writes rows of a column into a chunk.
type filler func(chunk driverduckdb.DataChunk, column int, from arrow.Array, first, rows int) error

// pulledColumn is how a column crosses: in a form that DuckDB takes without loss and without a value of Go for each.
type pulledColumn struct {
	name  string
	raw   driverduckdb.TypeInfo
	fill  filler
	value func(raw string) string // SQL that makes the value
}

func pulled(c compute.Column) (pulledColumn, error) {
	p := pulledColumn{name: c.Name, value: func(raw string) string { return raw }}
	raw := driverduckdb.TYPE_VARCHAR
	cast := func(raw string) string { return "CAST(" + raw + " AS " + c.Type + ")" }
	element, isList := strings.CutSuffix(c.Type, "[]")
	base, _, _ := strings.Cut(c.Type, "(")
	switch {
	case isList:
		return pulledList(c, element, p)
	case base == "DECIMAL":
		return pulledDecimal(c, p)
	}
	switch c.Type {
	case "BOOLEAN":
		raw, p.fill = driverduckdb.TYPE_BOOLEAN, fillWith((*array.Boolean).Value)
	case "TINYINT":
		raw, p.fill = driverduckdb.TYPE_TINYINT, fillWith((*array.Int8).Value)
	case "SMALLINT":
		raw, p.fill = driverduckdb.TYPE_SMALLINT, fillWith((*array.Int16).Value)
	case "INTEGER":
		raw, p.fill = driverduckdb.TYPE_INTEGER, fillWith((*array.Int32).Value)
	case "BIGINT":
		raw, p.fill = driverduckdb.TYPE_BIGINT, fillWith((*array.Int64).Value)
	case "UTINYINT":
		raw, p.fill = driverduckdb.TYPE_UTINYINT, fillWith((*array.Uint8).Value)
	case "USMALLINT":
		raw, p.fill = driverduckdb.TYPE_USMALLINT, fillWith((*array.Uint16).Value)
	case "UINTEGER":
		raw, p.fill = driverduckdb.TYPE_UINTEGER, fillWith((*array.Uint32).Value)
	case "UBIGINT":
		raw, p.fill = driverduckdb.TYPE_UBIGINT, fillWith((*array.Uint64).Value)
	case "FLOAT":
		raw, p.fill = driverduckdb.TYPE_FLOAT, fillWith((*array.Float32).Value)
	case "DOUBLE":
		raw, p.fill = driverduckdb.TYPE_DOUBLE, fillWith((*array.Float64).Value)
	case "VARCHAR":
		p.fill = fillWith((*array.String).Value)
	case "JSON", "UUID":
		p.fill, p.value = fillWith((*array.String).Value), cast
	case "BLOB":
		raw, p.fill = driverduckdb.TYPE_BLOB, fillWith((*array.Binary).Value)
	case "DATE":
		raw, p.fill, p.value = driverduckdb.TYPE_INTEGER, fillWith(func(a *array.Date32, i int) int32 { return int32(a.Value(i)) }), dateOf
	case "TIME":
		raw, p.fill, p.value = driverduckdb.TYPE_BIGINT, fillWith(func(a *array.Time64, i int) int64 { return int64(a.Value(i)) }), timeOf
	case "TIMESTAMP", "TIMESTAMP WITH TIME ZONE":
		raw, p.fill = driverduckdb.TYPE_BIGINT, fillWith(func(a *array.Timestamp, i int) int64 { return int64(a.Value(i)) })
		p.value = func(raw string) string { return momentOf(raw, c.Type) }
	default:
		return p, &compute.Error{Kind: compute.InputInvalid, Column: c.Name, Message: "rows of the type " + c.Type + " cannot be read"}
	}
	var err error
	p.raw, err = driverduckdb.NewTypeInfo(raw)
	return p, err
}

// fillWith makes the filler of arrays of one kind.
func fillWith[A arrow.Array, T any](value func(A, int) T) filler {
	return func(chunk driverduckdb.DataChunk, column int, from arrow.Array, first, rows int) error {
		values, ok := from.(A)
		if !ok {
			return fmt.Errorf("rows come as %s, which does not fit the type that was told", from.DataType())
		}
		for i := range rows {
			if values.IsNull(first + i) {
				if err := chunk.SetValue(column, i, nil); err != nil {
					return err
				}
				continue
			}
			if err := driverduckdb.SetChunkValue(chunk, column, i, value(values, first+i)); err != nil {
				return err
			}
		}
		return nil
	}
}

// dateOf makes a date of its days.
func dateOf(raw string) string {
	return fmt.Sprintf("CASE %[1]s WHEN %d THEN DATE 'infinity' WHEN %d THEN DATE '-infinity' ELSE DATE '1970-01-01' + %[1]s END", raw, math.MaxInt32, -math.MaxInt32)
}

// timeOf makes a time of its microseconds; the last one ends a day.
func timeOf(raw string) string {
	return fmt.Sprintf("CASE %[1]s WHEN 86400000000 THEN TIME '24:00:00' ELSE TIME '00:00:00' + to_microseconds(%[1]s) END", raw)
}

// momentOf makes a timestamp of its microseconds.
func momentOf(raw, typ string) string {
	return fmt.Sprintf("CASE %[1]s WHEN %[2]d THEN %[4]s 'infinity' WHEN %[3]d THEN %[4]s '-infinity' ELSE CAST(make_timestamp(%[1]s) AS %[4]s) END", raw, int64(math.MaxInt64), -int64(math.MaxInt64), typ)
}

// narrowDecimal is the most digits that an int64 has for certain.
const narrowDecimal = 18

func pulledDecimal(c compute.Column, p pulledColumn) (pulledColumn, error) {
	var width, scale int
	if _, err := fmt.Sscanf(c.Type, "DECIMAL(%d,%d)", &width, &scale); err != nil {
		return p, &compute.Error{Kind: compute.InputInvalid, Column: c.Name, Message: "rows of the type " + c.Type + " cannot be read"}
	}
	raw := driverduckdb.TYPE_BIGINT
	switch {
	case width > narrowDecimal:
		raw = driverduckdb.TYPE_VARCHAR
		p.fill = fillWith(func(a *array.Decimal128, i int) string { return a.Value(i).ToString(int32(scale)) })
		p.value = func(raw string) string { return "CAST(" + raw + " AS " + c.Type + ")" }
	default:
		p.fill = fillWith(func(a *array.Decimal128, i int) int64 { return int64(a.Value(i).LowBits()) })
		p.value = func(raw string) string {
			whole := fmt.Sprintf("CAST(%s AS DECIMAL(%d,0))", raw, narrowDecimal)
			if scale > 0 {
				whole += fmt.Sprintf(" * CAST('0.%s1' AS DECIMAL(%d,%d))", strings.Repeat("0", scale-1), scale, scale)
			}
			return "CAST(" + whole + " AS " + c.Type + ")"
		}
	}
	var err error
	p.raw, err = driverduckdb.NewTypeInfo(raw)
	return p, err
}

// pulledList has the elements cross as texts.
func pulledList(c compute.Column, element string, p pulledColumn) (pulledColumn, error) {
	text, err := driverduckdb.NewTypeInfo(driverduckdb.TYPE_VARCHAR)
	if err != nil {
		return p, err
	}
	if p.raw, err = driverduckdb.NewListInfo(text); err != nil {
		return p, err
	}
	p.value = func(raw string) string { return "CAST(" + raw + " AS " + c.Type + ")" }
	p.fill = fillWith(func(a *array.List, i int) []any {
		first, end := a.ValueOffsets(i)
		list := make([]any, 0, end-first)
		for at := first; at < end; at++ {
			list = append(list, elementText(a.ListValues(), int(at)))
		}
		return list
	})
	switch base, _, _ := strings.Cut(element, "("); base {
	case "VARCHAR", "BOOLEAN", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL", "UUID":
		return p, nil
	}
	return p, &compute.Error{Kind: compute.InputInvalid, Column: c.Name, Message: "rows of the type " + c.Type + " cannot be read"}
}

// elementText gives an element of a list as DuckDB reads it; nil for a NULL.
func elementText(values arrow.Array, i int) any {
	if values.IsNull(i) {
		return nil
	}
	switch a := values.(type) {
	case *array.String:
		return a.Value(i)
	case *array.Float32:
		return strconv.FormatFloat(float64(a.Value(i)), 'g', -1, 32)
	case *array.Float64:
		return strconv.FormatFloat(a.Value(i), 'g', -1, 64)
	case *array.Decimal128:
		return a.Value(i).ToString(a.DataType().(*arrow.Decimal128Type).Scale)
	}
	return values.ValueStr(i)
}
