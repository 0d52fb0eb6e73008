package jsontext

import (
	"maps"
	"slices"

	"github.com/ubunye-io/ubunye/internal/exactjson"
)

// Encoder writes one message.
type Encoder struct{ exactjson.Writer }

// Encode gives a message's JSON.
func Encode(message func(*Encoder)) []byte {
	e := &Encoder{}
	message(e)
	return e.Bytes()
}

// Field names the value that comes next.
func (e *Encoder) Field(name string) *Encoder {
	e.Name(name)
	return e
}

// List writes a list; nil is null.
func List[T any](e *Encoder, all []T, item func(T)) {
	if all == nil {
		e.Null()
		return
	}
	e.Array(func() {
		for _, v := range all {
			item(v)
		}
	})
}

// Texts writes a list of texts; nil is null.
func (e *Encoder) Texts(all []string) { List(e, all, e.Text) }

// Pairs writes an object whose values are texts, sorted by name; nil is null.
func (e *Encoder) Pairs(all map[string]string) {
	if all == nil {
		e.Null()
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
		e.Field(name).Long(n)
	}
}

// BooleanIf writes a field that is left out when it is false.
func (e *Encoder) BooleanIf(name string, b bool) {
	if b {
		e.Field(name).Bool(b)
	}
}

// RawIf writes a field whose value is JSON already, and leaves it out when it is empty.
func (e *Encoder) RawIf(name string, json []byte) {
	if len(json) > 0 {
		e.Field(name).Raw(json)
	}
}

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

// Blob writes bytes as base64, as encoding/json does; nil is null.
func (e *Encoder) Blob(data []byte) {
	if data == nil {
		e.Null()
		return
	}
	text := make([]byte, 0, 2+(len(data)+2)/3*4)
	text = append(text, '"')
	for ; len(data) >= 3; data = data[3:] {
		n := uint(data[0])<<16 | uint(data[1])<<8 | uint(data[2])
		text = append(text, alphabet[n>>18], alphabet[n>>12&63], alphabet[n>>6&63], alphabet[n&63])
	}
	switch len(data) {
	case 1:
		text = append(text, alphabet[data[0]>>2], alphabet[data[0]&3<<4], '=', '=')
	case 2:
		text = append(text, alphabet[data[0]>>2], alphabet[data[0]&3<<4|data[1]>>4], alphabet[data[1]&15<<2], '=')
	}
	e.Raw(append(text, '"'))
}
