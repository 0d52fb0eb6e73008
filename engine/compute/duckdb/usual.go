package duckdb

import (
	"fmt"
	"math"

	"github.com/duckdb/duckdb-go/v2/mapping"
)

// usualText tells how text becomes a value of one type. Its conversions know only the texts that this type is usually
// written as, without any doubt; of every other text they say so, and it is converted by SQL that knows all of them.
type usualText struct {
	kind   usualKind
	size   int    // bytes of a value
	scale  int    // digits after the point, of decimals
	most   uint64 // the largest value, without its sign
	signed bool
	typ    mapping.Type // of the values
	width  int          // of decimals
}

type usualKind int

const (
	usualInteger usualKind = iota
	usualDecimal
	usualDouble
	usualDate
	usualTimestamp
)

// usualFor gives the conversion to a type, as DuckDB spells it; false: there is none.
func usualFor(typ string) (usualText, bool) {
	switch typ {
	case "TINYINT":
		return usualText{kind: usualInteger, size: 1, most: math.MaxInt8, signed: true, typ: mapping.TypeTinyInt}, true
	case "SMALLINT":
		return usualText{kind: usualInteger, size: 2, most: math.MaxInt16, signed: true, typ: mapping.TypeSmallInt}, true
	case "INTEGER":
		return usualText{kind: usualInteger, size: 4, most: math.MaxInt32, signed: true, typ: mapping.TypeInteger}, true
	case "BIGINT":
		return usualText{kind: usualInteger, size: 8, most: math.MaxInt64, signed: true, typ: mapping.TypeBigInt}, true
	case "UTINYINT":
		return usualText{kind: usualInteger, size: 1, most: math.MaxUint8, typ: mapping.TypeUTinyInt}, true
	case "USMALLINT":
		return usualText{kind: usualInteger, size: 2, most: math.MaxUint16, typ: mapping.TypeUSmallInt}, true
	case "UINTEGER":
		return usualText{kind: usualInteger, size: 4, most: math.MaxUint32, typ: mapping.TypeUInteger}, true
	case "UBIGINT":
		return usualText{kind: usualInteger, size: 8, most: math.MaxUint64, typ: mapping.TypeUBigInt}, true
	case "DOUBLE":
		return usualText{kind: usualDouble, size: 8, typ: mapping.TypeDouble}, true
	case "DATE":
		return usualText{kind: usualDate, size: 4, typ: mapping.TypeDate}, true
	case "TIMESTAMP":
		return usualText{kind: usualTimestamp, size: 8, typ: mapping.TypeTimestamp}, true
	}
	var width, scale int
	if _, err := fmt.Sscanf(typ, "DECIMAL(%d,%d)", &width, &scale); err != nil || width > 18 || scale > width {
		return usualText{}, false
	}
	e := usualText{kind: usualDecimal, size: 8, scale: scale, most: powers[width] - 1, signed: true, typ: mapping.TypeDecimal, width: width}
	switch { // as DuckDB stores decimals
	case width <= 4:
		e.size = 2
	case width <= 9:
		e.size = 4
	}
	return e, true
}

// powers of ten.
var powers = [...]uint64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19}

// convert gives the value, of a double its bits; false: the text is not written in the usual way.
func (e *usualText) convert(text []byte) (int64, bool) {
	switch e.kind {
	case usualInteger, usualDecimal:
		return e.number(text)
	case usualDouble:
		return double(text)
	case usualDate:
		return day(text)
	case usualTimestamp:
		return dateTime(text)
	}
	return 0, false
}

// number converts -?(0|[1-9][0-9]*), of a decimal with a scale followed by a point and just as many digits. Minus zero
// is not usual.
func (e *usualText) number(text []byte) (int64, bool) {
	negative := len(text) > 0 && text[0] == '-'
	if negative {
		text = text[1:]
	}
	v, ok := uint64(0), false
	if e.scale == 0 {
		v, ok = digits(text)
	} else {
		v, ok = pointed(text, e.scale)
	}
	if !ok || v > e.most {
		return 0, false
	}
	if negative {
		return -int64(v), v > 0 && e.signed
	}
	return int64(v), true
}

// digits converts (0|[1-9][0-9]*) of at most 19 digits, which 64 bits hold.
func digits(text []byte) (v uint64, ok bool) {
	if len(text) == 0 || len(text) > 19 || text[0] == '0' && len(text) > 1 {
		return 0, false
	}
	for _, c := range text {
		d := c - '0'
		if d > 9 {
			return 0, false
		}
		v = 10*v + uint64(d)
	}
	return v, true
}

// pointed converts digits, a point and so many digits, together at most 19, as if there were no point.
func pointed(text []byte, scale int) (v uint64, ok bool) {
	point := len(text) - scale - 1
	if point < 1 || len(text) > 20 || text[point] != '.' {
		return 0, false
	}
	if v, ok = digits(text[:point]); !ok {
		return 0, false
	}
	for _, c := range text[point+1:] {
		d := c - '0'
		if d > 9 {
			return 0, false
		}
		v = 10*v + uint64(d)
	}
	return v, true
}

// double converts what a decimal of up to 15 digits is. Both the digits and the power of ten are doubles without
// loss then, so their quotient is the double that is nearest to the text (W. D. Clinger, How to Read Floating Point
// Numbers Accurately, 1990).
func double(text []byte) (bits int64, ok bool) {
	negative := len(text) > 0 && text[0] == '-'
	if negative {
		text = text[1:]
	}
	if len(text) > 16 {
		return 0, false
	}
	scale := 0
	for i, c := range text {
		if c == '.' {
			scale = len(text) - i - 1
			if scale == 0 {
				return 0, false
			}
			break
		}
	}
	v := uint64(0)
	if scale == 0 {
		v, ok = digits(text)
	} else {
		v, ok = pointed(text, scale)
	}
	if !ok || v >= 1e15 || v == 0 && negative {
		return 0, false
	}
	f := float64(v) / float64(powers[scale])
	if negative {
		f = -f
	}
	return int64(math.Float64bits(f)), true
}

// twoDigits converts two digits.
func twoDigits(text []byte) (int, bool) {
	tens, ones := text[0]-'0', text[1]-'0'
	return int(tens)*10 + int(ones), tens <= 9 && ones <= 9
}

// before is how many days of a year, that is not a leap year, come before a month.
var before = [...]int{0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365}

// day converts 2026-01-31 to days since 1970-01-01.
func day(text []byte) (int64, bool) {
	if len(text) != 10 || text[4] != '-' || text[7] != '-' {
		return 0, false
	}
	century, ok1 := twoDigits(text)
	year, ok2 := twoDigits(text[2:])
	month, ok3 := twoDigits(text[5:])
	day, ok4 := twoDigits(text[8:])
	year += 100 * century
	if !ok1 || !ok2 || !ok3 || !ok4 || year == 0 || month == 0 || month > 12 || day == 0 {
		return 0, false
	}
	leap := 0
	if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
		leap = 1
	}
	length := before[month] - before[month-1]
	if month == 2 {
		length += leap
	}
	if day > length {
		return 0, false
	}
	whole := year - 1
	days := whole*365 + whole/4 - whole/100 + whole/400 + before[month-1] + day - 1
	if month > 2 {
		days += leap
	}
	const epoch = 719162 // days from 0001-01-01 to 1970-01-01
	return int64(days - epoch), true
}

// dateTime converts 2026-01-31 23:59:59, or with a T, to microseconds since 1970-01-01.
func dateTime(text []byte) (int64, bool) {
	if len(text) != 19 || text[10] != ' ' && text[10] != 'T' || text[13] != ':' || text[16] != ':' {
		return 0, false
	}
	days, ok := day(text[:10])
	hour, ok1 := twoDigits(text[11:])
	minute, ok2 := twoDigits(text[14:])
	second, ok3 := twoDigits(text[17:])
	if !ok || !ok1 || !ok2 || !ok3 || hour > 23 || minute > 59 || second > 59 {
		return 0, false
	}
	return (days*86400 + int64(hour*3600+minute*60+second)) * 1_000_000, true
}
