package sdk

import (
	"encoding/hex"
	"math"
	"math/bits"
	"strconv"
	"time"
)

// AppendText appends a value as SQL writes it: 1.50, true, 2026-01-31, 2026-01-31 05:06:07.5 (+00 follows if it is
// a moment), bytes in hexadecimal. A float is the shortest text that reads as the same float. Of a NULL nothing is appended.
func (c *Column) AppendText(to []byte, row int) []byte {
	if c.Null(row) {
		return to
	}
	switch c.Kind {
	case Bool:
		return strconv.AppendBool(to, c.Bool(row))
	case Int:
		return strconv.AppendInt(to, c.Int(row), 10)
	case Uint:
		return strconv.AppendUint(to, c.Uint(row), 10)
	case Float:
		return appendFloat(to, c.Float(row), c.Bits)
	case Decimal:
		high, low := c.Decimal(row)
		return appendDecimal(to, high, low, c.Scale)
	case Text:
		return append(to, c.Bytes(row)...)
	case Binary:
		return hex.AppendEncode(to, c.Bytes(row))
	case Date:
		return time.Unix(c.Int(row)*86400, 0).UTC().AppendFormat(to, time.DateOnly)
	case Time:
		return c.moment(row).AppendFormat(to, "15:04:05.999999999")
	}
	to = c.moment(row).AppendFormat(to, "2006-01-02 15:04:05.999999999")
	if c.Zone != "" {
		to = append(to, "+00"...)
	}
	return to
}

// moment gives a value of kind Time or Timestamp.
func (c *Column) moment(row int) time.Time {
	unit, nanos := int64(1), int64(time.Second)
	for range c.Digits {
		unit, nanos = unit*10, nanos/10
	}
	v := c.Int(row)
	return time.Unix(v/unit, v%unit*nanos).UTC()
}

// appendFloat writes no exponent where people would not, as JSON does (ECMA-262).
func appendFloat(to []byte, v float64, size int) []byte {
	format := byte('f')
	if abs := math.Abs(v); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		format = 'e'
	}
	return strconv.AppendFloat(to, v, format, -1, size)
}

// appendDecimal writes a 128-bit integer with a point before its last digits.
func appendDecimal(to []byte, high int64, low uint64, scale int) []byte {
	top := uint64(high)
	if high < 0 {
		to = append(to, '-')
		var borrow uint64
		low, borrow = bits.Sub64(0, low, 0)
		top, _ = bits.Sub64(0, top, borrow)
	}
	// 1e19 is more than any top (at most 1<<63), so both quotient and remainder fit.
	front, back := bits.Div64(top, low, 1e19)
	var digits [39]byte
	for i := range digits {
		half := &back
		if i >= 19 {
			half = &front
		}
		digits[len(digits)-1-i] = byte('0' + *half%10)
		*half /= 10
	}
	text := digits[:]
	for len(text) > scale+1 && text[0] == '0' {
		text = text[1:]
	}
	whole := len(text) - scale
	to = append(to, text[:whole]...)
	if scale > 0 {
		to = append(append(to, '.'), text[whole:]...)
	}
	return to
}
