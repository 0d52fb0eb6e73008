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

// Blob reads bytes that are written as base64.
func (d *Decoder) Blob() []byte {
	if d.Null() {
		return nil
	}
	text := d.Raw()
	if len(text) < 2 || text[0] != '"' || len(text)%4 != 2 {
		d.Fail("bytes in base64")
		return nil
	}
	text = text[1 : len(text)-1]
	data := make([]byte, 0, len(text)/4*3)
	for ; len(text) > 0; text = text[4:] {
		n, padding := uint(0), 0
		for i, c := range text[:4] {
			digit := sextet(c)
			if c == '=' && len(text) == 4 && i >= 2 {
				digit, padding = 0, padding+1
			} else if padding > 0 {
				digit = -1
			}
			if digit < 0 {
				d.Fail("bytes in base64")
				return nil
			}
			n = n<<6 | uint(digit)
		}
		data = append(data, byte(n>>16), byte(n>>8), byte(n))[:len(data)+3-padding]
	}
	return data
}

func sextet(c byte) int {
	switch {
	case 'A' <= c && c <= 'Z':
		return int(c - 'A')
	case 'a' <= c && c <= 'z':
		return int(c-'a') + 26
	case '0' <= c && c <= '9':
		return int(c-'0') + 52
	case c == '+':
		return 62
	case c == '/':
		return 63
	}
	return -1
}
