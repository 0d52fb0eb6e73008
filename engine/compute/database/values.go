package database

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
)

// textOf gives a value of a driver as text, if it is one.
func textOf(value any) (string, bool) {
	switch v := value.(type) {
	case []byte:
		return string(v), true
	case string:
		return v, true
	}
	return "", false
}

// anyText gives a value of a driver as text.
func anyText(value any) string {
	switch v := value.(type) {
	case []byte:
		return string(v)
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	return fmt.Sprint(value)
}

func appendText(b array.Builder, value any) error {
	switch v := value.(type) {
	case []byte:
		b.(*array.StringBuilder).BinaryBuilder.Append(v)
	case string:
		b.(*array.StringBuilder).Append(v)
	default:
		b.(*array.StringBuilder).Append(anyText(value))
	}
	return nil
}

func appendBinary(b array.Builder, value any) error {
	switch v := value.(type) {
	case []byte:
		b.(*array.BinaryBuilder).Append(v)
	default:
		return misfit(value, "BLOB")
	}
	return nil
}

// misfit says that a value is not of the type that its column has.
func misfit(value any, typ string) error {
	text := anyText(value)
	if len(text) > 60 {
		text = text[:60] + "…"
	}
	return &valueError{what: fmt.Sprintf("the value %q is no %s", strings.ToValidUTF8(text, "�"), typ), asText: true}
}

// wholeNumber makes the appender of whole numbers within bounds.
func wholeNumber(typ string, least int64, most uint64, add func(array.Builder, uint64)) appender {
	return func(b array.Builder, value any) error {
		switch v := value.(type) {
		case int64:
			if v < least || v > 0 && uint64(v) > most {
				return misfit(value, typ)
			}
			add(b, uint64(v))
			return nil
		case uint64:
			if v > most {
				return misfit(value, typ)
			}
			add(b, v)
			return nil
		}
		return misfit(value, typ)
	}
}

// wholeNumbers are the appenders of all types of whole numbers.
func wholeNumbers(typ string) appender {
	switch typ {
	case "TINYINT":
		return wholeNumber(typ, math.MinInt8, math.MaxInt8, func(b array.Builder, n uint64) { b.(*array.Int8Builder).Append(int8(n)) })
	case "SMALLINT":
		return wholeNumber(typ, math.MinInt16, math.MaxInt16, func(b array.Builder, n uint64) { b.(*array.Int16Builder).Append(int16(n)) })
	case "INTEGER":
		return wholeNumber(typ, math.MinInt32, math.MaxInt32, func(b array.Builder, n uint64) { b.(*array.Int32Builder).Append(int32(n)) })
	case "BIGINT":
		return wholeNumber(typ, math.MinInt64, math.MaxInt64, func(b array.Builder, n uint64) { b.(*array.Int64Builder).Append(int64(n)) })
	case "UTINYINT":
		return wholeNumber(typ, 0, math.MaxUint8, func(b array.Builder, n uint64) { b.(*array.Uint8Builder).Append(uint8(n)) })
	case "USMALLINT":
		return wholeNumber(typ, 0, math.MaxUint16, func(b array.Builder, n uint64) { b.(*array.Uint16Builder).Append(uint16(n)) })
	case "UINTEGER":
		return wholeNumber(typ, 0, math.MaxUint32, func(b array.Builder, n uint64) { b.(*array.Uint32Builder).Append(uint32(n)) })
	}
	return wholeNumber(typ, 0, math.MaxUint64, func(b array.Builder, n uint64) { b.(*array.Uint64Builder).Append(n) })
}

// appendDecimal reads decimal text, or a number whose shortest decimal text has no more digits than the type.
func appendDecimal(width, scale int32) appender {
	typ := fmt.Sprintf("DECIMAL(%d,%d)", width, scale)
	return func(b array.Builder, value any) error {
		var text string
		switch v := value.(type) {
		case []byte:
			text = string(v)
		case string:
			text = v
		case int64:
			text = strconv.FormatInt(v, 10)
		case float64:
			text = strconv.FormatFloat(v, 'f', -1, 64)
		}
		n, ok := parseDecimal(text, width, scale)
		if !ok {
			return misfit(value, typ)
		}
		b.(*array.Decimal128Builder).Append(n)
		return nil
	}
}

// parseDecimal reads -?digits(.digits)? without loss.
func parseDecimal(text string, width, scale int32) (decimal128.Num, bool) {
	digits, negative := strings.CutPrefix(text, "-")
	whole, fraction, _ := strings.Cut(digits, ".")
	fraction = strings.TrimRight(fraction, "0")
	if whole == "" || len(fraction) > int(scale) || strings.Trim(whole+fraction, "0123456789") != "" {
		return decimal128.Num{}, false
	}
	all := strings.TrimLeft(whole+fraction+strings.Repeat("0", int(scale)-len(fraction)), "0")
	if len(all) > int(width) {
		return decimal128.Num{}, false
	}
	if len(all) <= 18 {
		n, err := strconv.ParseInt("0"+all, 10, 64)
		if negative {
			n = -n
		}
		return decimal128.FromI64(n), err == nil
	}
	n, err := decimal128.FromString(all, width, 0)
	if negative {
		n = n.Negate()
	}
	return n, err == nil
}

// appendMoment reads YYYY-MM-DD, with a time of day behind a space or T.
func appendMoment(typ string) appender {
	return func(b array.Builder, value any) error {
		text, ok := textOf(value)
		if !ok {
			return misfit(value, typ)
		}
		at, ok := parseMoment(text, typ)
		if !ok {
			return misfit(value, typ)
		}
		switch to := b.(type) {
		case *array.Date32Builder:
			to.Append(arrow.Date32FromTime(at))
		case *array.TimestampBuilder:
			to.Append(arrow.Timestamp(at.Unix()*1_000_000 + int64(at.Nanosecond()/1000)))
		}
		return nil
	}
}

func parseMoment(text, typ string) (time.Time, bool) {
	if typ == "DATE" {
		at, err := time.Parse(time.DateOnly, text)
		return at, err == nil
	}
	text = strings.Replace(text, "T", " ", 1)
	layouts := []string{time.DateTime, "2006-01-02 15:04", time.DateOnly}
	for _, layout := range layouts {
		if at, err := time.Parse(layout, strings.TrimSuffix(text, "Z")); err == nil {
			return at, at.Nanosecond()%1000 == 0
		}
	}
	return time.Time{}, false
}

// appendTime reads HH:MM:SS, within a day.
func appendTime(b array.Builder, value any) error {
	text, ok := textOf(value)
	at, err := time.Parse("15:04:05", text)
	if !ok || err != nil || at.Nanosecond()%1000 != 0 {
		return misfit(value, "TIME")
	}
	b.(*array.Time64Builder).Append(arrow.Time64(at.Sub(time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC)).Microseconds()))
	return nil
}

// driverRows hands the rows that a driver gives to a batcher.
func driverRows(ctx context.Context, rows driver.Rows, b *batcher) error {
	values := make([]driver.Value, len(b.columns))
	for n := 0; ; n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		switch err := rows.Next(values); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		for i, v := range values {
			if err := b.add(i, v); err != nil {
				return err
			}
		}
		if err := b.end(); err != nil {
			return err
		}
	}
}

// firstRow gives the first row of a query as texts.
func firstRow(rows driver.Rows) ([]*string, error) {
	values := make([]driver.Value, len(rows.Columns()))
	if err := rows.Next(values); err != nil {
		return nil, err
	}
	row := make([]*string, len(values))
	for i, v := range values {
		if v != nil {
			text := anyText(v)
			row[i] = &text
		}
	}
	return row, nil
}
