package schema

import (
	"cmp"
	"math"
	"strconv"
	"strings"
	"time"
)

// Value is one value of a type without parts. The zero Value is NULL.
type Value struct {
	kind  Kind // Void: NULL
	scale int
	n     int64   // integers, Boolean (0 or 1), Date in days and timestamps in microseconds since 1970
	f     float64 // Float, Double
	text  string  // String, Binary; a Decimal with all digits of its scale
}

// IsNull tells whether the value is NULL.
func (v Value) IsNull() bool { return v.kind == Void }

// ParsePartition reads a value of a partition column as the log writes it (protocol, "Partition Value Serialization"); a
// null and an empty text are NULL. A timestamp without a zone is a wall clock of the system that wrote the table, which the
// log does not name: zone says which one to take; nil is UTC.
func ParsePartition(t Type, text string, zone *time.Location) (Value, error) {
	if text == "" || t.Kind == Void {
		return Value{}, nil
	}
	v := Value{kind: t.Kind}
	ok := true
	var err error
	switch t.Kind {
	case Byte, Short, Integer, Long:
		v.n, err = strconv.ParseInt(text, 10, 8<<(t.Kind-Byte))
	case Float:
		v.f, err = strconv.ParseFloat(text, 32)
	case Double:
		v.f, err = strconv.ParseFloat(text, 64)
	case Decimal:
		v.scale = t.Scale
		v.text, ok = decimalText(text, t.Precision, t.Scale)
	case Boolean:
		if ok = strings.EqualFold(text, "true") || strings.EqualFold(text, "false"); ok && strings.EqualFold(text, "true") {
			v.n = 1
		}
	case String, Binary:
		v.text = text
	case Date:
		v.n, ok = dateOf(text)
	case Timestamp:
		v.n, ok = instantOf(text, zone, true)
	case TimestampNTZ:
		v.n, ok = instantOf(text, nil, false)
	default:
		return Value{}, &Error{Unsupported: true, Reason: "a partition column cannot be a " + t.String()}
	}
	if err != nil || !ok {
		return Value{}, &Error{Reason: strconv.Quote(text) + " is no " + t.String()}
	}
	return v, nil
}

// decimalText gives a decimal with exactly the digits of its scale; false if it has more, or is none.
func decimalText(text string, precision, scale int) (string, bool) {
	mantissa, exponent, hasExponent := strings.Cut(strings.ToLower(text), "e")
	shift := 0
	if hasExponent {
		var err error
		if shift, err = strconv.Atoi(exponent); err != nil || shift < -1000 || shift > 1000 {
			return "", false
		}
	}
	sign := ""
	if rest, ok := strings.CutPrefix(mantissa, "-"); ok {
		sign, mantissa = "-", rest
	} else {
		mantissa = strings.TrimPrefix(mantissa, "+")
	}
	whole, part, _ := strings.Cut(mantissa, ".")
	digits := whole + part
	if digits == "" || strings.Trim(digits, "0123456789") != "" {
		return "", false
	}
	// The value is digits × 10^-places; it is to have exactly scale places.
	places := len(part) - shift
	if missing := scale - places; missing >= 0 {
		digits += strings.Repeat("0", min(missing, 2000))
	} else {
		cut := max(len(digits)+missing, 0)
		if strings.Trim(digits[cut:], "0") != "" {
			return "", false
		}
		digits = digits[:cut]
	}
	digits = strings.TrimLeft(digits, "0")
	if len(digits) > precision {
		return "", false
	}
	if digits == "" {
		sign = ""
	}
	digits = strings.Repeat("0", max(scale+1-len(digits), 0)) + digits
	if scale == 0 {
		return sign + digits, true
	}
	return sign + digits[:len(digits)-scale] + "." + digits[len(digits)-scale:], true
}

// Text gives the value as SQL and the log write it: what CAST('…' AS …) takes; an instant in UTC, with its zone. Binary is
// its bytes.
func (v Value) Text() string {
	switch v.kind {
	case Void:
		return ""
	case Boolean:
		return strconv.FormatBool(v.n != 0)
	case Byte, Short, Integer, Long:
		return strconv.FormatInt(v.n, 10)
	case Float:
		return floatText(v.f, 32)
	case Double:
		return floatText(v.f, 64)
	case Date:
		return dateText(v.n)
	case Timestamp:
		return clockText(v.n, "T", 6, true) + "Z"
	case TimestampNTZ:
		return clockText(v.n, " ", 6, true)
	}
	return v.text
}

func floatText(f float64, bits int) string {
	switch {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 1):
		return "Infinity"
	case math.IsInf(f, -1):
		return "-Infinity"
	}
	return strconv.FormatFloat(f, 'g', -1, bits)
}

// Compare orders two values of one type; NULL is the least, NaN the greatest. Text is ordered by its bytes.
func (v Value) Compare(w Value) int {
	if v.kind == Void || w.kind == Void {
		return cmp.Compare(min(v.kind, 1), min(w.kind, 1))
	}
	switch v.kind {
	case Float, Double:
		if math.IsNaN(v.f) || math.IsNaN(w.f) {
			return -cmp.Compare(v.f, w.f) // cmp has NaN as the least
		}
		return cmp.Compare(v.f, w.f)
	case Decimal:
		return compareDecimals(v.text, w.text)
	case String, Binary:
		return strings.Compare(v.text, w.text)
	}
	return cmp.Compare(v.n, w.n)
}

// compareDecimals compares two of one scale.
func compareDecimals(a, b string) int {
	a, aBelow := strings.CutPrefix(a, "-")
	b, bBelow := strings.CutPrefix(b, "-")
	if aBelow != bBelow {
		if aBelow {
			return -1
		}
		return 1
	}
	order := cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
	if aBelow {
		return -order
	}
	return order
}

// Text gives a text as a value, the empty one too, which no partition column can have.
func Text(text string) Value { return Value{kind: String, text: text} }
