package sdk

import (
	"math"
	"math/bits"
	"strconv"
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
		for _, b := range c.Bytes(row) {
			const hex = "0123456789abcdef"
			to = append(to, hex[b>>4], hex[b&15])
		}
		return to
	case Date:
		return appendDate(to, c.Int(row))
	case Time:
		_, clock := c.moment(row)
		return c.appendClock(to, clock)
	}
	days, clock := c.moment(row)
	to = append(appendDate(to, days), ' ')
	to = c.appendClock(to, clock)
	if c.Zone != "" {
		to = append(to, "+00"...)
	}
	return to
}

// moment gives a value of kind Time or Timestamp as days since 1970-01-01, and units since midnight.
func (c *Column) moment(row int) (days, clock int64) {
	day := 86400 * c.unit()
	days, clock = c.Int(row)/day, c.Int(row)%day
	if clock < 0 {
		days, clock = days-1, clock+day
	}
	return days, clock
}

// unit is how many units a second has.
func (c *Column) unit() int64 {
	unit := int64(1)
	for range c.Digits {
		unit *= 10
	}
	return unit
}

// appendDate writes a day of the Gregorian calendar, also before it began. Years are counted from March, so that the
// day that some years have more is their last.
func appendDate(to []byte, days int64) []byte {
	const era = 146097 // days in 400 years
	days += 719468     // since 0000-03-01
	eras := days / era
	if days < 0 {
		eras = (days - era + 1) / era
	}
	day := days - eras*era
	year := (day - day/1460 + day/36524 - day/(era-1)) / 365
	day -= 365*year + year/4 - year/100
	month := (5*day + 2) / 153
	day -= (153*month+2)/5 - 1
	year += 400 * eras
	if month += 3; month > 12 {
		month, year = month-12, year+1
	}
	if year < 0 {
		to, year = append(to, '-'), -year
	}
	to = append(appendPadded(to, year, 4), '-')
	to = append(appendPadded(to, month, 2), '-')
	return appendPadded(to, day, 2)
}

// appendClock writes a time of day, without the zeros that end its fraction.
func (c *Column) appendClock(to []byte, clock int64) []byte {
	unit := c.unit()
	seconds, fraction := clock/unit, clock%unit
	to = append(appendPadded(to, seconds/3600, 2), ':')
	to = append(appendPadded(to, seconds/60%60, 2), ':')
	to = appendPadded(to, seconds%60, 2)
	if fraction == 0 {
		return to
	}
	to = appendPadded(append(to, '.'), fraction, c.Digits)
	for to[len(to)-1] == '0' {
		to = to[:len(to)-1]
	}
	return to
}

// appendPadded writes a number that is not negative with at least so many digits.
func appendPadded(to []byte, n int64, digits int) []byte {
	for least := int64(10); digits > 1; digits, least = digits-1, least*10 {
		if n < least {
			to = append(to, '0')
		}
	}
	return strconv.AppendInt(to, n, 10)
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
