package duckdb

import (
	"fmt"
	"math/big"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	driverduckdb "github.com/duckdb/duckdb-go/v2"
)

// asText tells columns that are handed out as text: the driver gives them in a form of its own.
func asText(info driverduckdb.TypeInfo) bool {
	switch info.InternalType() {
	case driverduckdb.TYPE_ENUM, driverduckdb.TYPE_UUID:
		return true
	}
	return info.Alias() == "JSON"
}

var arrowTypes = map[driverduckdb.Type]arrow.DataType{
	driverduckdb.TYPE_BOOLEAN: arrow.FixedWidthTypes.Boolean,
	driverduckdb.TYPE_TINYINT: arrow.PrimitiveTypes.Int8, driverduckdb.TYPE_SMALLINT: arrow.PrimitiveTypes.Int16,
	driverduckdb.TYPE_INTEGER: arrow.PrimitiveTypes.Int32, driverduckdb.TYPE_BIGINT: arrow.PrimitiveTypes.Int64,
	driverduckdb.TYPE_UTINYINT: arrow.PrimitiveTypes.Uint8, driverduckdb.TYPE_USMALLINT: arrow.PrimitiveTypes.Uint16,
	driverduckdb.TYPE_UINTEGER: arrow.PrimitiveTypes.Uint32, driverduckdb.TYPE_UBIGINT: arrow.PrimitiveTypes.Uint64,
	driverduckdb.TYPE_FLOAT: arrow.PrimitiveTypes.Float32, driverduckdb.TYPE_DOUBLE: arrow.PrimitiveTypes.Float64,
	driverduckdb.TYPE_VARCHAR: arrow.BinaryTypes.String, driverduckdb.TYPE_ENUM: arrow.BinaryTypes.String, driverduckdb.TYPE_SQLNULL: arrow.PrimitiveTypes.Int32,
	driverduckdb.TYPE_BLOB: arrow.BinaryTypes.Binary, driverduckdb.TYPE_DATE: arrow.FixedWidthTypes.Date32, driverduckdb.TYPE_TIME: arrow.FixedWidthTypes.Time64us,
	driverduckdb.TYPE_TIMESTAMP:    &arrow.TimestampType{Unit: arrow.Microsecond},
	driverduckdb.TYPE_TIMESTAMP_S:  &arrow.TimestampType{Unit: arrow.Second},
	driverduckdb.TYPE_TIMESTAMP_MS: &arrow.TimestampType{Unit: arrow.Millisecond},
	driverduckdb.TYPE_TIMESTAMP_NS: &arrow.TimestampType{Unit: arrow.Nanosecond},
	driverduckdb.TYPE_TIMESTAMP_TZ: &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"},
}

// arrowType gives the Arrow type of a column.
func arrowType(info driverduckdb.TypeInfo) (arrow.DataType, error) {
	switch d := info.Details().(type) {
	case *driverduckdb.DecimalDetails:
		return &arrow.Decimal128Type{Precision: int32(d.Width), Scale: int32(d.Scale)}, nil
	case *driverduckdb.ListDetails:
		return listType(d.Child)
	case *driverduckdb.ArrayDetails:
		return listType(d.Child)
	case *driverduckdb.MapDetails:
		key, err := arrowType(d.Key)
		if err != nil {
			return nil, err
		}
		value, err := arrowType(d.Value)
		if err != nil {
			return nil, err
		}
		return arrow.MapOf(key, value), nil
	case *driverduckdb.StructDetails:
		fields := make([]arrow.Field, len(d.Entries))
		for i, e := range d.Entries {
			typ, err := arrowType(e.Info())
			if err != nil {
				return nil, err
			}
			fields[i] = arrow.Field{Name: e.Name(), Type: typ, Nullable: true}
		}
		return arrow.StructOf(fields...), nil
	}
	typ, ok := arrowTypes[info.InternalType()]
	if !ok || info.Alias() == "JSON" {
		return nil, invalid("", "rows cannot hold JSON or UUIDs inside a nested type", "cast it to text in a step")
	}
	return typ, nil
}

func listType(child driverduckdb.TypeInfo) (arrow.DataType, error) {
	typ, err := arrowType(child)
	if err != nil {
		return nil, err
	}
	return arrow.ListOf(typ), nil
}

// appendValue puts one value, as the driver gives it, into a column.
func appendValue(b array.Builder, v any) error {
	if v == nil {
		b.AppendNull()
		return nil
	}
	switch b := b.(type) {
	case *array.BooleanBuilder:
		return appendAs(v, b.Append)
	case *array.Int8Builder:
		return appendAs(v, b.Append)
	case *array.Int16Builder:
		return appendAs(v, b.Append)
	case *array.Int32Builder:
		return appendAs(v, b.Append)
	case *array.Int64Builder:
		return appendAs(v, b.Append)
	case *array.Uint8Builder:
		return appendAs(v, b.Append)
	case *array.Uint16Builder:
		return appendAs(v, b.Append)
	case *array.Uint32Builder:
		return appendAs(v, b.Append)
	case *array.Uint64Builder:
		return appendAs(v, b.Append)
	case *array.Float32Builder:
		return appendAs(v, b.Append)
	case *array.Float64Builder:
		return appendAs(v, b.Append)
	case *array.StringBuilder:
		return appendAs(v, b.Append)
	case *array.BinaryBuilder:
		return appendAs(v, b.Append)
	case *array.Decimal128Builder:
		return appendAs(v, func(d driverduckdb.Decimal) { b.Append(decimal128.FromBigInt(new(big.Int).Set(d.Value))) })
	case *array.Date32Builder:
		return appendAs(v, func(t time.Time) { b.Append(arrow.Date32(t.Unix() / 86400)) }) // midnight UTC, so exact
	case *array.Time64Builder:
		return appendAs(v, func(t time.Time) { b.Append(arrow.Time64(sinceMidnight(t).Microseconds())) })
	case *array.TimestampBuilder:
		return appendAs(v, func(t time.Time) { b.Append(timestamp(t, b.Type().(*arrow.TimestampType).Unit)) })
	}
	return appendNested(b, v)
}

func appendAs[T any](v any, put func(T)) error {
	t, ok := v.(T)
	if !ok {
		return fmt.Errorf("the driver gave a %T", v)
	}
	put(t)
	return nil
}

func sinceMidnight(t time.Time) time.Duration {
	h, m, s := t.Clock()
	return time.Duration(h)*time.Hour + time.Duration(m)*time.Minute + time.Duration(s)*time.Second + time.Duration(t.Nanosecond())
}

func timestamp(t time.Time, unit arrow.TimeUnit) arrow.Timestamp {
	switch unit {
	case arrow.Second:
		return arrow.Timestamp(t.Unix())
	case arrow.Millisecond:
		return arrow.Timestamp(t.UnixMilli())
	case arrow.Nanosecond:
		return arrow.Timestamp(t.UnixNano())
	}
	return arrow.Timestamp(t.UnixMicro())
}

func appendNested(b array.Builder, v any) error {
	switch b := b.(type) {
	case *array.ListBuilder:
		list, ok := v.([]any)
		if !ok {
			return fmt.Errorf("the driver gave a %T", v)
		}
		b.Append(true)
		for _, e := range list {
			if err := appendValue(b.ValueBuilder(), e); err != nil {
				return err
			}
		}
		return nil
	case *array.MapBuilder:
		m, ok := v.(driverduckdb.OrderedMap)
		if !ok {
			return fmt.Errorf("the driver gave a %T", v)
		}
		b.Append(true)
		values := m.Values()
		for i, k := range m.Keys() {
			if err := appendValue(b.KeyBuilder(), k); err != nil {
				return err
			}
			if err := appendValue(b.ItemBuilder(), values[i]); err != nil {
				return err
			}
		}
		return nil
	case *array.StructBuilder:
		m, ok := v.(map[string]any)
		if !ok {
			return fmt.Errorf("the driver gave a %T", v)
		}
		b.Append(true)
		fields := b.Type().(*arrow.StructType).Fields()
		for i, f := range fields {
			if err := appendValue(b.FieldBuilder(i), m[f.Name]); err != nil {
				return err
			}
		}
		return nil
	}
	return fmt.Errorf("there is no column for a %T", v)
}
