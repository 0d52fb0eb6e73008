// Package exactjson reads and writes JSON without losing a digit: no number passes through floating point, and a value
// that is not understood is kept as it was written. It reads a text once, from front to end, and does not look at types
// while it runs: a plugin that links it stays small, and a hundred thousand lines are read in the time of one pass.
package exactjson

import (
	"bytes"
	"errors"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// Reader reads one JSON text. After a mistake it reads nothing more and gives zeros; Err tells the mistake. The methods
// read null as a zero.
type Reader struct {
	data []byte
	at   int
	deep int
	err  error
}

// mostDeep bounds how deep objects and arrays may be in each other: more than any schema needs, and less than a stack.
const mostDeep = 500

// ErrDeep is JSON with more objects and arrays in each other than a Reader follows.
var ErrDeep = errors.New("the JSON is nested too deeply")

// NewReader reads data, which must not change meanwhile.
func NewReader(data []byte) *Reader { return &Reader{data: data} }

// Err gives the first mistake.
func (r *Reader) Err() error { return r.err }

// End gives the first mistake; anything but white space after what was read is one.
func (r *Reader) End() error {
	if r.next(); r.err == nil && r.at < len(r.data) {
		r.Fail("something follows the end")
	}
	return r.err
}

// Fail says what is wrong with what was just read, unless something was wrong before.
func (r *Reader) Fail(what string) {
	if r.err == nil {
		r.err = errors.New(what + " at byte " + strconv.Itoa(r.at))
	}
}

func (r *Reader) unexpected(wanted string) {
	if r.err == nil && r.at >= len(r.data) {
		r.err = errors.New("the JSON ends early")
	}
	r.Fail("the JSON has no " + wanted)
}

// next passes over white space and gives the byte that comes; 0 at the end and after a mistake.
func (r *Reader) next() byte {
	if r.err != nil {
		return 0
	}
	for r.at < len(r.data) {
		switch c := r.data[r.at]; c {
		case ' ', '\t', '\n', '\r':
			r.at++
		default:
			return c
		}
	}
	return 0
}

func (r *Reader) take(c byte) bool {
	if r.next() != c {
		return false
	}
	r.at++
	return true
}

// Null passes over null if it comes.
func (r *Reader) Null() bool {
	if r.next() != 'n' {
		return false
	}
	r.word("null")
	return true
}

func (r *Reader) word(word string) {
	if !bytes.HasPrefix(r.data[r.at:], []byte(word)) {
		r.unexpected("value")
		return
	}
	r.at += len(word)
}

// Object calls member for each member, in order; member must read the value. The name holds only during the call.
func (r *Reader) Object(member func(name []byte)) {
	r.list('{', '}', func() {
		name := r.textBytes()
		if !r.take(':') {
			r.unexpected("colon")
			return
		}
		member(name)
	})
}

// Array calls item for each item; item must read it.
func (r *Reader) Array(item func()) { r.list('[', ']', item) }

func (r *Reader) list(open, shut byte, item func()) {
	if r.Null() || r.err != nil {
		return
	}
	if !r.take(open) {
		r.unexpected(string(rune(open)))
		return
	}
	if r.deep++; r.deep > mostDeep {
		r.err = ErrDeep
	}
	defer func() { r.deep-- }()
	if r.take(shut) {
		return
	}
	for r.err == nil {
		item()
		if r.err != nil || r.take(shut) {
			return
		}
		if !r.take(',') {
			r.unexpected("comma")
		}
	}
}

// Bool reads true or false.
func (r *Reader) Bool() bool {
	switch r.next() {
	case 't':
		r.word("true")
		return r.err == nil
	case 'f':
		r.word("false")
	default:
		if !r.Null() {
			r.unexpected("true or false")
		}
	}
	return false
}

// Long reads an integer of at most so many bits. One with a fraction or an exponent is a mistake.
func (r *Reader) Long(bits int) int64 {
	if r.Null() {
		return 0
	}
	digits := r.number()
	n, err := strconv.ParseInt(string(digits), 10, bits)
	if err != nil {
		r.Fail("not an integer of " + strconv.Itoa(bits) + " bits: " + string(digits[:min(len(digits), 50)]))
		return 0
	}
	return n
}

// number passes over a number and gives it as it is written.
func (r *Reader) number() []byte {
	r.next()
	begin := r.at
	r.takeAny("-")
	if whole := r.digits(); whole == 0 || whole > 1 && r.data[r.at-whole] == '0' {
		r.unexpected("number")
		return nil
	}
	if r.takeAny(".") && r.digits() == 0 {
		r.unexpected("number")
	}
	if r.takeAny("eE") {
		r.takeAny("+-")
		if r.digits() == 0 {
			r.unexpected("number")
		}
	}
	return r.data[begin:r.at]
}

func (r *Reader) takeAny(of string) bool {
	if r.err != nil || r.at >= len(r.data) || bytes.IndexByte([]byte(of), r.data[r.at]) < 0 {
		return false
	}
	r.at++
	return true
}

func (r *Reader) digits() (n int) {
	for r.err == nil && r.at < len(r.data) && r.data[r.at] >= '0' && r.data[r.at] <= '9' {
		r.at++
		n++
	}
	return n
}

// Raw passes over a value and gives it as it is written, a part of what is read.
func (r *Reader) Raw() []byte {
	r.next()
	begin := r.at
	switch c := r.next(); {
	case c == '{':
		r.Object(func([]byte) { r.Raw() })
	case c == '[':
		r.Array(func() { r.Raw() })
	case c == '"':
		r.textBytes()
	case c == 't' || c == 'f':
		r.Bool()
	case c == 'n':
		r.Null()
	default:
		r.number()
	}
	if r.err != nil {
		return nil
	}
	return r.data[begin:r.at]
}

// Text reads a string. What is no UTF-8 in it, and half of a surrogate pair, becomes U+FFFD.
func (r *Reader) Text() string {
	if r.Null() {
		return ""
	}
	text := r.textBytes()
	if utf8.Valid(text) {
		return string(text)
	}
	return string(bytes.ToValidUTF8(text, []byte("\ufffd")))
}

// textBytes gives a string's bytes; without escapes they are a part of what is read.
func (r *Reader) textBytes() []byte {
	if !r.take('"') {
		r.unexpected("text")
		return nil
	}
	begin := r.at
	for r.at < len(r.data) {
		switch c := r.data[r.at]; {
		case c == '"':
			r.at++
			return r.data[begin : r.at-1]
		case c == '\\':
			return r.escaped(begin)
		case c < ' ':
			r.Fail("a control character in a text")
			return nil
		}
		r.at++
	}
	r.unexpected("end of a text")
	return nil
}

// escaped reads on a string that has escapes.
func (r *Reader) escaped(begin int) []byte {
	text := bytes.Clone(r.data[begin:r.at])
	for r.err == nil && r.at < len(r.data) {
		c := r.data[r.at]
		r.at++
		switch {
		case c == '"':
			return text
		case c == '\\':
			text = r.escape(text)
		case c < ' ':
			r.Fail("a control character in a text")
		default:
			text = append(text, c)
		}
	}
	r.unexpected("end of a text")
	return nil
}

// escape appends what the escape after a backslash stands for.
func (r *Reader) escape(text []byte) []byte {
	if r.at >= len(r.data) {
		r.unexpected("end of a text")
		return nil
	}
	c := r.data[r.at]
	r.at++
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
		return utf8.AppendRune(text, r.char())
	}
	r.Fail("an unknown escape")
	return nil
}

// char reads the digits of one \u, and of a second if both make one character.
func (r *Reader) char() rune {
	first := r.unit()
	if !utf16.IsSurrogate(first) || !bytes.HasPrefix(r.data[r.at:], []byte(`\u`)) {
		return first
	}
	back := r.at
	r.at += 2
	if both := utf16.DecodeRune(first, r.unit()); both != utf8.RuneError {
		return both
	}
	r.at = back
	return utf8.RuneError
}

func (r *Reader) unit() rune {
	if r.err != nil || len(r.data)-r.at < 4 {
		r.unexpected("end of a text")
		return 0
	}
	n, err := strconv.ParseUint(string(r.data[r.at:r.at+4]), 16, 16)
	if err != nil {
		r.Fail("an unknown escape")
		return 0
	}
	r.at += 4
	return rune(n)
}
