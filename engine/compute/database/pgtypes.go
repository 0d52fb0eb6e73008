package database

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"math/big"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
)

// pgType is a type of PostgreSQL, with its modifier: the width and scale of a number, the length of bits.
type pgType struct {
	oid      uint32
	modifier int32
}

// mostDigits are those that a decimal has.
const mostDigits = 38

// column gives what becomes of a type that every server has (src/include/catalog/pg_type.dat); false: it is not such a one.
func (t pgType) column() (column, bool) {
	switch t.oid {
	case 16:
		return column{native: "boolean", typ: "BOOLEAN", decode: pgBool}, true
	case 21:
		return column{native: "smallint", typ: "SMALLINT", decode: pgFixed(2, func(b array.Builder, n uint64) { b.(*array.Int16Builder).Append(int16(n)) })}, true
	case 23:
		return column{native: "integer", typ: "INTEGER", decode: pgFixed(4, func(b array.Builder, n uint64) { b.(*array.Int32Builder).Append(int32(n)) })}, true
	case 20:
		return column{native: "bigint", typ: "BIGINT", decode: pgFixed(8, func(b array.Builder, n uint64) { b.(*array.Int64Builder).Append(int64(n)) })}, true
	case 26:
		return column{native: "oid", typ: "UINTEGER", decode: pgFixed(4, func(b array.Builder, n uint64) { b.(*array.Uint32Builder).Append(uint32(n)) })}, true
	case 700:
		return column{native: "real", typ: "FLOAT", decode: pgFixed(4, func(b array.Builder, n uint64) { b.(*array.Float32Builder).Append(math.Float32frombits(uint32(n))) })}, true
	case 701:
		return column{native: "double precision", typ: "DOUBLE", decode: pgFixed(8, func(b array.Builder, n uint64) { b.(*array.Float64Builder).Append(math.Float64frombits(n)) })}, true
	case 1700:
		return t.numeric(), true
	case 25, 1043, 1042, 19, 18:
		return column{native: map[uint32]string{25: "text", 1043: "character varying", 1042: "character", 19: "name", 18: `"char"`}[t.oid], typ: "VARCHAR", decode: pgText}, true
	case 17:
		return column{native: "bytea", typ: "BLOB", decode: func(b array.Builder, data []byte) error { b.(*array.BinaryBuilder).Append(data); return nil }}, true
	case 1082:
		return column{native: "date", typ: "DATE", decode: pgFixed(4, func(b array.Builder, n uint64) { b.(*array.Date32Builder).Append(pgDate(int32(n))) })}, true
	case 1083:
		return column{native: "time", typ: "TIME", decode: pgFixed(8, func(b array.Builder, n uint64) { b.(*array.Time64Builder).Append(arrow.Time64(n)) })}, true
	case 1114:
		return column{native: "timestamp", typ: "TIMESTAMP", decode: pgTimestamp}, true
	case 1184:
		return column{native: "timestamp with time zone", typ: "TIMESTAMP WITH TIME ZONE", decode: pgTimestamp}, true
	case 2950:
		return column{native: "uuid", typ: "UUID", decode: pgUUID}, true
	case 114:
		return column{native: "json", typ: "JSON", decode: pgText}, true
	case 3802:
		return column{native: "jsonb", typ: "JSON", decode: pgJSONB}, true
	case 1560:
		if t.modifier == 1 {
			return column{native: "bit(1)", typ: "BOOLEAN", decode: pgBit}, true
		}
		return column{native: fmt.Sprintf("bit(%d)", t.modifier), why: "and only bit(1) is a truth value"}, true
	}
	return column{}, false
}

func (t pgType) numeric() column {
	if t.modifier < 4 {
		return column{native: "numeric without a width", why: "which may have any number of digits"}
	}
	width := (t.modifier - 4) >> 16 & 0xffff
	scale := ((t.modifier - 4) & 0x7ff) ^ 0x400 - 0x400
	native := fmt.Sprintf("numeric(%d,%d)", width, scale)
	if scale < 0 { // numeric(3,-2) has five digits
		width, scale = width-scale, 0
	}
	if scale > width {
		width = scale
	}
	if width > mostDigits {
		return column{native: native, why: fmt.Sprintf("which has more than %d digits", mostDigits)}
	}
	return column{native: native, typ: fmt.Sprintf("DECIMAL(%d,%d)", width, scale), decode: pgNumeric(scale)}
}

// pgArray gives what becomes of an array: a list, if it has one dimension and an element that is in it as it is elsewhere.
func pgArray(native string, element pgType, enumeration bool) column {
	of, known := element.column()
	if enumeration {
		of, known = column{typ: "VARCHAR", decode: pgText}, true
	}
	switch of.typ {
	case "VARCHAR", "BOOLEAN", "SMALLINT", "INTEGER", "BIGINT", "FLOAT", "DOUBLE", "UUID":
	default:
		known = known && strings.HasPrefix(of.typ, "DECIMAL")
	}
	if !known {
		return column{native: native, why: "and lists of that are not read"}
	}
	return column{native: native, typ: of.typ + "[]", decode: pgList(of.decode)}
}

// pgFixed decodes values of so many bytes.
func pgFixed(size int, add func(array.Builder, uint64)) decoder {
	return func(b array.Builder, data []byte) error {
		if len(data) != size {
			return fmt.Errorf("a value has %d bytes and not %d: %w", len(data), size, errCut)
		}
		var n uint64
		for _, c := range data {
			n = n<<8 | uint64(c)
		}
		add(b, n)
		return nil
	}
}

func pgBool(b array.Builder, data []byte) error {
	b.(*array.BooleanBuilder).Append(len(data) == 1 && data[0] != 0)
	return nil
}

func pgText(b array.Builder, data []byte) error {
	b.(*array.StringBuilder).BinaryBuilder.Append(data)
	return nil
}

// pgJSONB is text behind a version.
func pgJSONB(b array.Builder, data []byte) error {
	if len(data) == 0 || data[0] != 1 {
		return &valueError{what: "a value of jsonb comes in a form that is not known"}
	}
	return pgText(b, data[1:])
}

func pgBit(b array.Builder, data []byte) error {
	if len(data) != 5 {
		return fmt.Errorf("a bit has %d bytes: %w", len(data), errCut)
	}
	b.(*array.BooleanBuilder).Append(data[4]&0x80 != 0)
	return nil
}

func pgUUID(b array.Builder, data []byte) error {
	if len(data) != 16 {
		return fmt.Errorf("a UUID has %d bytes: %w", len(data), errCut)
	}
	var text [36]byte
	hex.Encode(text[:], data[:4])
	text[8] = '-'
	hex.Encode(text[9:], data[4:6])
	text[13] = '-'
	hex.Encode(text[14:], data[6:8])
	text[18] = '-'
	hex.Encode(text[19:], data[8:10])
	text[23] = '-'
	hex.Encode(text[24:], data[10:])
	return pgText(b, text[:])
}

// PostgreSQL counts from the first day of 2000.
const (
	pgEpochDays   = 10957
	pgEpochMicros = pgEpochDays * 24 * 60 * 60 * 1_000_000
)

// pgDate gives the day; the ends of the numbers are infinity.
func pgDate(days int32) arrow.Date32 {
	switch days {
	case math.MaxInt32:
		return math.MaxInt32
	case math.MinInt32:
		return -math.MaxInt32
	}
	return arrow.Date32(days + pgEpochDays)
}

func pgTimestamp(b array.Builder, data []byte) error {
	if len(data) != 8 {
		return fmt.Errorf("a timestamp has %d bytes: %w", len(data), errCut)
	}
	to, n := b.(*array.TimestampBuilder), int64(binary.BigEndian.Uint64(data))
	switch {
	case n == math.MaxInt64:
		to.Append(math.MaxInt64)
	case n == math.MinInt64:
		to.Append(-math.MaxInt64)
	case n >= math.MaxInt64-pgEpochMicros:
		return &valueError{what: "a timestamp comes after the year 294246, which none can here", asText: true}
	default:
		to.Append(arrow.Timestamp(n + pgEpochMicros))
	}
	return nil
}

// pgNumeric decodes groups of four decimal digits ("numeric_send" of src/backend/utils/adt/numeric.c): how many there are, the place of the
// first, a sign, how many digits are shown behind the point.
func pgNumeric(scale int32) decoder {
	return func(b array.Builder, data []byte) error {
		if len(data) < 8 {
			return fmt.Errorf("a number has %d bytes: %w", len(data), errCut)
		}
		groups, weight, sign := int(binary.BigEndian.Uint16(data)), int(int16(binary.BigEndian.Uint16(data[2:]))), binary.BigEndian.Uint16(data[4:])
		if len(data) != 8+2*groups {
			return fmt.Errorf("a number of %d groups has %d bytes: %w", groups, len(data), errCut)
		}
		if sign != 0 && sign != 0x4000 {
			return &valueError{what: "a value is NaN, which a number with a fixed count of digits cannot be here", asText: true}
		}
		n, ok := smallNumeric(data[8:], groups, weight, int(scale))
		if !ok {
			n = largeNumeric(data[8:], groups, weight, int(scale))
		}
		if sign == 0x4000 {
			n = n.Negate()
		}
		b.(*array.Decimal128Builder).Append(n)
		return nil
	}
}

var powersOfTen = [...]int64{1, 10, 100, 1000, 10_000}

// smallNumeric makes the number of its groups if it fits an int64 for certain, and so do the groups, the last of which may go on behind
// the scale.
func smallNumeric(data []byte, groups, weight, scale int) (decimal128.Num, bool) {
	if groups > 4 || (weight+1)*4+scale > 18 {
		return decimal128.Num{}, false
	}
	var n int64
	for i := range groups {
		n = n*10_000 + int64(binary.BigEndian.Uint16(data[2*i:]))
	}
	// The last group stands so many digits behind the point.
	behind := (groups - 1 - weight) * 4
	for ; behind < scale; behind += 4 {
		if scale-behind < 4 {
			n, behind = n*powersOfTen[scale-behind], scale
			break
		}
		n *= 10_000
	}
	for ; behind > scale; behind -= 4 {
		if behind-scale < 4 {
			n /= powersOfTen[behind-scale]
			break
		}
		n /= 10_000
	}
	return decimal128.FromI64(n), true
}

// largeNumeric is the same for any number.
func largeNumeric(data []byte, groups, weight, scale int) decimal128.Num {
	n, base := new(big.Int), big.NewInt(10_000)
	for i := range groups {
		n.Mul(n, base).Add(n, big.NewInt(int64(binary.BigEndian.Uint16(data[2*i:]))))
	}
	shift := scale - (groups-1-weight)*4
	power := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(shift, -shift))), nil)
	if shift >= 0 {
		n.Mul(n, power)
	} else {
		n.Quo(n, power) // the groups end in zeros there
	}
	return decimal128.FromBigInt(n)
}

// pgList decodes an array ("array_send" of src/backend/utils/adt/arrayfuncs.c): dimensions, whether there are NULLs, the type; then of each
// dimension its size and first index; then the elements.
func pgList(element decoder) decoder {
	return func(b array.Builder, data []byte) error {
		if len(data) < 12 {
			return fmt.Errorf("an array has %d bytes: %w", len(data), errCut)
		}
		to := b.(*array.ListBuilder)
		dimensions := binary.BigEndian.Uint32(data)
		if dimensions == 0 {
			to.Append(true)
			return nil
		}
		if dimensions > 1 || len(data) < 20 {
			return &valueError{what: fmt.Sprintf("an array has %d dimensions, and lists have one", dimensions), asText: true}
		}
		if first := int32(binary.BigEndian.Uint32(data[16:])); first != 1 {
			return &valueError{what: fmt.Sprintf("an array begins with the index %d, and lists begin with 1", first), asText: true}
		}
		to.Append(true)
		rest := data[20:]
		for range binary.BigEndian.Uint32(data[12:]) {
			if len(rest) < 4 {
				return fmt.Errorf("an array ends in the middle: %w", errCut)
			}
			size := int(int32(binary.BigEndian.Uint32(rest)))
			rest = rest[4:]
			if size < 0 {
				to.ValueBuilder().AppendNull()
				continue
			}
			if len(rest) < size {
				return fmt.Errorf("an array ends in the middle: %w", errCut)
			}
			if err := element(to.ValueBuilder(), rest[:size]); err != nil {
				return err
			}
			rest = rest[size:]
		}
		return nil
	}
}
