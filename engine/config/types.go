package config

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Type is the declared type of a variable. Every value of a type has one spelling, so one value is one
// batch; the spelling is also the text of the SQL parameter and what {{ }} gives.
//
//	type       spelling               also read                          SQL type
//	text       as given                                                  VARCHAR
//	int        -12                    +7, 007 (decimal, 64 bits)         BIGINT
//	decimal    1.5                    +1.50, 01.5                        DECIMAL(38,9)
//	bool       true, false                                               BOOLEAN
//	date       2026-01-31             20260131                           DATE
//	month      2026-01                202601                             VARCHAR
//	hour       2026-01-31T05          2026-01-31 05, …T05:00[:00][zone]   VARCHAR
//	timestamp  2026-01-31T05:06:07.5  a space for T; a zone              TIMESTAMP
//	enum       as declared in values                                     VARCHAR
//
// Hours and timestamps are in UTC; a zone (Z, +01:00) is converted. Timestamps have at most six digits
// after the second. A month and an hour are periods, for which SQL has no type.
type Type string

// The types.
const (
	TypeText      Type = "text"
	TypeInt       Type = "int"
	TypeDecimal   Type = "decimal"
	TypeBool      Type = "bool"
	TypeDate      Type = "date"
	TypeMonth     Type = "month"
	TypeHour      Type = "hour"
	TypeTimestamp Type = "timestamp"
	TypeEnum      Type = "enum"
)

func typeNames() []string {
	return []string{string(TypeText), string(TypeInt), string(TypeDecimal), string(TypeBool), string(TypeDate),
		string(TypeMonth), string(TypeHour), string(TypeTimestamp), string(TypeEnum)}
}

// sqlType is the type of the SQL parameter.
func (t Type) sqlType() string {
	switch t {
	case TypeInt:
		return "BIGINT"
	case TypeDecimal:
		return "DECIMAL(38,9)"
	case TypeBool:
		return "BOOLEAN"
	case TypeDate:
		return "DATE"
	case TypeTimestamp:
		return "TIMESTAMP"
	}
	return "VARCHAR"
}

// example is how a value is written.
func (t Type) example() string {
	switch t {
	case TypeInt:
		return "12"
	case TypeDecimal:
		return "1.5"
	case TypeBool:
		return "true"
	case TypeDate:
		return "2026-01-31"
	case TypeMonth:
		return "2026-01"
	case TypeHour:
		return "2026-01-31T05"
	case TypeTimestamp:
		return "2026-01-31T05:06:07"
	}
	return "VALUE"
}

// layout is the spelling of a type of time, in Go's terms; empty: the type is none.
func (t Type) layout() string {
	switch t {
	case TypeDate:
		return "2006-01-02"
	case TypeMonth:
		return "2006-01"
	case TypeHour:
		return "2006-01-02T15"
	case TypeTimestamp:
		return "2006-01-02T15:04:05.999999"
	}
	return ""
}

// normalise brings a text to the one spelling of the type. values are those of an enum.
func (t Type) normalise(text string, values []string) (string, error) {
	if !utf8.ValidString(text) {
		return "", errors.New("is not UTF-8 text")
	}
	switch t {
	case TypeInt:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return "", errors.New("is not a whole number of at most 64 bits")
		}
		return strconv.FormatInt(n, 10), nil
	case TypeDecimal:
		return normaliseDecimal(text)
	case TypeBool:
		if text != "true" && text != "false" {
			return "", errors.New("is not true or false")
		}
	case TypeEnum:
		if !slices.Contains(values, text) {
			return "", errors.New("is not one of its values")
		}
	case TypeDate, TypeMonth, TypeHour, TypeTimestamp:
		at, err := t.time(text)
		if err != nil {
			return "", err
		}
		return at.Format(t.layout()), nil
	}
	return text, nil
}

// time reads a text as this type of time, in UTC.
func (t Type) time(text string) (time.Time, error) {
	var layouts []string
	switch t {
	case TypeDate:
		layouts = []string{"2006-01-02", "20060102"}
	case TypeMonth:
		layouts = []string{"2006-01", "200601"}
	case TypeHour:
		layouts = []string{"2006-01-02T15", "2006-01-02T15:04", "2006-01-02T15:04:05", "2006-01-02T15:04Z07:00", "2006-01-02T15:04:05Z07:00"}
	default:
		layouts = []string{"2006-01-02T15:04:05", "2006-01-02T15:04:05Z07:00", "2006-01-02T15:04", "2006-01-02T15:04Z07:00"}
	}
	if t == TypeHour || t == TypeTimestamp {
		text = strings.Replace(text, " ", "T", 1)
	}
	for _, layout := range layouts {
		at, err := time.Parse(layout, text)
		if err != nil {
			continue
		}
		at = at.UTC()
		switch {
		case at.Year() < 1 || at.Year() > 9999:
			return at, errors.New("lies outside the years 1 to 9999")
		case t == TypeHour && at.Truncate(time.Hour) != at:
			return at, errors.New("is not a whole hour")
		case t == TypeTimestamp && at.Nanosecond()%1000 != 0:
			return at, errors.New("has more than six digits after the second")
		}
		return at, nil
	}
	article := "a"
	if t == TypeHour {
		article = "an"
	}
	return time.Time{}, fmt.Errorf("is not %s %s that exists", article, t)
}

// normaliseDecimal reads digits with a point; at most 29 before it and 9 after.
func normaliseDecimal(text string) (string, error) {
	digits := strings.TrimLeft(text, "+-")
	whole, part, point := strings.Cut(digits, ".")
	if len(text)-len(digits) > 1 || whole == "" || point && part == "" || strings.Trim(whole+part, "0123456789") != "" {
		return "", errors.New("is not a decimal number")
	}
	whole, part = strings.TrimLeft(whole, "0"), strings.TrimRight(part, "0")
	if len(whole) > 29 || len(part) > 9 {
		return "", errors.New("has more than 29 digits before the point or 9 after it")
	}
	if whole == "" {
		whole = "0"
	}
	if part != "" {
		whole += "." + part
	}
	if text[0] == '-' && whole != "0" {
		whole = "-" + whole
	}
	return whole, nil
}
