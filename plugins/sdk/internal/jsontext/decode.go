// Package jsontext reads and writes the JSON of messages, on top of package exactjson: with little code, because a module pays for
// its size at each start.
package jsontext

import "github.com/ubunye-io/ubunye/internal/exactjson"

// Decoder reads one message. After a mistake it gives zeros; a null is read as a zero.
type Decoder struct{ *exactjson.Reader }

// Decode reads a message; what follows it is a mistake.
func Decode(data []byte, message func(*Decoder)) error {
	d := &Decoder{exactjson.NewReader(data)}
	message(d)
	return d.End()
}

// Object calls field with each name, before its value.
func (d *Decoder) Object(field func(name string)) {
	d.Reader.Object(func(name []byte) { field(string(name)) })
}

// Texts reads a list of texts.
func (d *Decoder) Texts() (all []string) {
	d.Array(func() { all = append(all, d.Text()) })
	return all
}

// Pairs reads an object whose values are texts.
func (d *Decoder) Pairs() map[string]string {
	if d.Null() {
		return nil
	}
	all := map[string]string{}
	d.Object(func(name string) { all[name] = d.Text() })
	return all
}
