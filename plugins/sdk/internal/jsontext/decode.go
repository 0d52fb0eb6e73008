// Package jsontext reads and writes the JSON of messages, in little code. The standard library's way looks at types
// while it runs; a module would be half as large again, and pays for its size at each start.
package jsontext

import (
	"errors"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// Decoder reads one JSON text from its front to its end. After a mistake it reads nothing more and gives zeros. A
// null is read as a zero.
type Decoder struct {
	data []byte
	at   int
	deep int
	err  error
}

var (
	errCut    = errors.New("unexpected end of JSON input")
	errTooBig = errors.New("the JSON is nested too deeply")
)

// mostDeep is how deep objects and lists may be in each other: more than any message is.
const mostDeep = 100

// Decode reads a message; what follows it is a mistake.
func Decode(data []byte, message func(*Decoder)) error {
	d := &Decoder{data: data}
	message(d)
	if d.next(); d.err == nil && d.at < len(d.data) {
		d.Fail()
	}
	return d.err
}

// Fail says that what was read makes no sense.
func (d *Decoder) Fail() {
	if d.err == nil {
		d.err = errors.New("the JSON is wrong at byte " + strconv.Itoa(d.at))
	}
	if d.at >= len(d.data) && d.err != nil {
		d.err = errCut
	}
}

// next passes over white space and gives what comes; 0 at the end and after a mistake.
func (d *Decoder) next() byte {
	for d.err == nil && d.at < len(d.data) {
		switch c := d.data[d.at]; c {
		case ' ', '\t', '\n', '\r':
			d.at++
		default:
			return c
		}
	}
	return 0
}

// take passes over one sign if it comes.
func (d *Decoder) take(c byte) bool {
	if d.next() != c || c == 0 {
		return false
	}
	d.at++
	return true
}

// Null passes over the word null if it comes: the value stays as it is.
func (d *Decoder) Null() bool {
	if d.next() != 'n' {
		return false
	}
	d.word("null")
	return true
}

func (d *Decoder) word(word string) {
	if d.at+len(word) > len(d.data) || string(d.data[d.at:d.at+len(word)]) != word {
		d.Fail()
		return
	}
	d.at += len(word)
}

// List calls item before each thing between two signs.
func (d *Decoder) List(open, shut byte, item func()) {
	if d.Null() {
		return
	}
	if d.deep++; d.deep > mostDeep && d.err == nil {
		d.err = errTooBig
	}
	if !d.take(open) {
		d.Fail()
		return
	}
	for first := true; d.err == nil && !d.take(shut); first = false {
		if !first && !d.take(',') {
			d.Fail()
			return
		}
		item()
	}
	d.deep--
}

// Object calls field with each name, before its value.
func (d *Decoder) Object(field func(name string)) {
	d.List('{', '}', func() {
		name := d.Text()
		if !d.take(':') {
			d.Fail()
			return
		}
		field(name)
	})
}

// Texts reads a list of texts.
func (d *Decoder) Texts() (all []string) {
	d.List('[', ']', func() { all = append(all, d.Text()) })
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

// Boolean reads true or false.
func (d *Decoder) Boolean() bool {
	switch {
	case d.Null():
	case d.next() == 't':
		d.word("true")
		return d.err == nil
	default:
		d.word("false")
	}
	return false
}

// Number reads an integer of so many bits.
func (d *Decoder) Number(bits int) int64 {
	if d.Null() {
		return 0
	}
	n, err := strconv.ParseInt(d.digits(), 10, bits)
	if err != nil {
		d.Fail()
		return 0
	}
	return n
}

// digits passes over a number.
func (d *Decoder) digits() string {
	d.next()
	begin := d.at
	for d.err == nil && d.at < len(d.data) {
		switch c := d.data[d.at]; {
		case c >= '0' && c <= '9', c == '-', c == '+', c == '.', c == 'e', c == 'E':
			d.at++
			continue
		}
		break
	}
	return string(d.data[begin:d.at])
}

// Skip passes over any value.
func (d *Decoder) Skip() {
	switch c := d.next(); {
	case c == '{':
		d.Object(func(string) { d.Skip() })
	case c == '[':
		d.List('[', ']', d.Skip)
	case c == '"':
		d.Text()
	case c == 't', c == 'f':
		d.Boolean()
	case c == 'n':
		d.Null()
	default:
		if d.digits() == "" {
			d.Fail()
		}
	}
}

// Text reads a text.
func (d *Decoder) Text() string {
	if d.Null() {
		return ""
	}
	if !d.take('"') {
		d.Fail()
		return ""
	}
	begin := d.at
	for ; d.at < len(d.data); d.at++ {
		switch c := d.data[d.at]; {
		case c == '"':
			d.at++
			return string(d.data[begin : d.at-1])
		case c == '\\':
			return d.escaped(begin)
		case c < ' ':
			d.Fail()
			return ""
		}
	}
	d.Fail()
	return ""
}

// escaped reads a text that has an escape.
func (d *Decoder) escaped(begin int) string {
	text := append([]byte(nil), d.data[begin:d.at]...)
	for d.err == nil && d.at < len(d.data) {
		c := d.data[d.at]
		d.at++
		switch {
		case c == '"':
			return string(text)
		case c == '\\':
			text = d.escape(text)
		case c < ' ':
			d.Fail()
		default:
			text = append(text, c)
		}
	}
	d.Fail()
	return ""
}

// escape reads what follows a backslash.
func (d *Decoder) escape(text []byte) []byte {
	if d.at == len(d.data) {
		d.Fail()
		return text
	}
	c := d.data[d.at]
	d.at++
	switch c {
	case '"', '\\', '/':
		return append(text, c)
	case 'b':
		return append(text, '\b')
	case 'f':
		return append(text, '\f')
	case 'n':
		return append(text, '\n')
	case 'r':
		return append(text, '\r')
	case 't':
		return append(text, '\t')
	case 'u':
		r := d.unit()
		if d.at+1 < len(d.data) && d.data[d.at] == '\\' && d.data[d.at+1] == 'u' && utf16.IsSurrogate(r) {
			before := d.at
			d.at += 2
			if pair := utf16.DecodeRune(r, d.unit()); pair != utf8.RuneError {
				return utf8.AppendRune(text, pair)
			}
			d.at = before
		}
		return utf8.AppendRune(text, r) // half a pair becomes U+FFFD
	}
	d.Fail()
	return text
}

// unit reads four hexadecimal digits.
func (d *Decoder) unit() rune {
	if d.at+4 > len(d.data) {
		d.Fail()
		return 0
	}
	n, err := strconv.ParseUint(string(d.data[d.at:d.at+4]), 16, 16)
	if err != nil {
		d.Fail()
		return 0
	}
	d.at += 4
	return rune(n)
}
