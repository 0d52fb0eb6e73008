package jsontext

import (
	"maps"
	"slices"
	"strconv"
	"unicode/utf8"
)

// Encoder writes one JSON text; it puts the commas.
type Encoder struct{ data []byte }

// Encode gives a message's JSON.
func Encode(message func(*Encoder)) []byte {
	e := &Encoder{}
	message(e)
	return e.data
}

// next writes the comma that the last value needs.
func (e *Encoder) next() {
	if n := len(e.data); n > 0 {
		switch e.data[n-1] {
		case '{', '[', ':', ',':
		default:
			e.data = append(e.data, ',')
		}
	}
}

// Object writes an object; fields names and writes its values.
func (e *Encoder) Object(fields func()) {
	e.next()
	e.data = append(e.data, '{')
	fields()
	e.data = append(e.data, '}')
}

// Field names the value that comes next.
func (e *Encoder) Field(name string) *Encoder {
	e.Text(name)
	e.data = append(e.data, ':')
	return e
}

// Raw writes a value that is JSON already.
func (e *Encoder) Raw(json []byte) {
	if len(json) == 0 {
		json = []byte("null")
	}
	e.next()
	e.data = append(e.data, json...)
}

// Number writes an integer.
func (e *Encoder) Number(n int64) {
	e.next()
	e.data = strconv.AppendInt(e.data, n, 10)
}

// Boolean writes true or false.
func (e *Encoder) Boolean(b bool) {
	e.next()
	e.data = strconv.AppendBool(e.data, b)
}

// Text writes a text. What is no UTF-8 in it becomes U+FFFD.
func (e *Encoder) Text(s string) {
	e.next()
	e.data = append(e.data, '"')
	for i, r := range s {
		switch {
		case r == '"' || r == '\\':
			e.data = append(e.data, '\\', byte(r))
		case r < ' ':
			const hex = "0123456789abcdef"
			e.data = append(e.data, '\\', 'u', '0', '0', hex[r>>4], hex[r&15])
		case r == utf8.RuneError:
			e.data = utf8.AppendRune(e.data, r) // also for a byte that is no UTF-8
		default:
			e.data = append(e.data, s[i:i+utf8.RuneLen(r)]...)
		}
	}
	e.data = append(e.data, '"')
}

// List writes a list; nil is null.
func List[T any](e *Encoder, all []T, item func(T)) {
	if all == nil {
		e.Raw(nil)
		return
	}
	e.next()
	e.data = append(e.data, '[')
	for _, v := range all {
		item(v)
	}
	e.data = append(e.data, ']')
}

// Texts writes a list of texts; nil is null.
func (e *Encoder) Texts(all []string) { List(e, all, e.Text) }

// Pairs writes an object whose values are texts, sorted by name; nil is null.
func (e *Encoder) Pairs(all map[string]string) {
	if all == nil {
		e.Raw(nil)
		return
	}
	e.Object(func() {
		for _, name := range slices.Sorted(maps.Keys(all)) {
			e.Field(name).Text(all[name])
		}
	})
}

// TextIf writes a field that is left out when it is empty.
func (e *Encoder) TextIf(name, s string) {
	if s != "" {
		e.Field(name).Text(s)
	}
}

// TextsIf writes a field that is left out when it is empty.
func (e *Encoder) TextsIf(name string, all []string) {
	if len(all) > 0 {
		e.Field(name).Texts(all)
	}
}

// PairsIf writes a field that is left out when it is empty.
func (e *Encoder) PairsIf(name string, all map[string]string) {
	if len(all) > 0 {
		e.Field(name).Pairs(all)
	}
}

// NumberIf writes a field that is left out when it is 0.
func (e *Encoder) NumberIf(name string, n int64) {
	if n != 0 {
		e.Field(name).Number(n)
	}
}

// BooleanIf writes a field that is left out when it is false.
func (e *Encoder) BooleanIf(name string, b bool) {
	if b {
		e.Field(name).Boolean(b)
	}
}
