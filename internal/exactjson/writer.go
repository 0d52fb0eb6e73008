package exactjson

import (
	"strconv"
	"unicode/utf8"
)

// Writer writes one JSON text; it puts the commas. The zero Writer is ready.
type Writer struct {
	buf  []byte
	line int // where the line begins
}

// Bytes gives what was written.
func (w *Writer) Bytes() []byte { return w.buf }

// comma writes the one that the last value needs.
func (w *Writer) comma() {
	if n := len(w.buf); n > w.line {
		switch w.buf[n-1] {
		case '{', '[', ':', ',':
		default:
			w.buf = append(w.buf, ',')
		}
	}
}

// Object writes an object; members writes its names and values.
func (w *Writer) Object(members func()) {
	w.comma()
	w.buf = append(w.buf, '{')
	members()
	w.buf = append(w.buf, '}')
}

// Array writes an array; items writes its values.
func (w *Writer) Array(items func()) {
	w.comma()
	w.buf = append(w.buf, '[')
	items()
	w.buf = append(w.buf, ']')
}

// Line ends a line of JSON lines.
func (w *Writer) Line() {
	w.buf = append(w.buf, '\n')
	w.line = len(w.buf)
}

// Name names the value that comes next.
func (w *Writer) Name(name string) *Writer {
	w.Text(name)
	w.buf = append(w.buf, ':')
	return w
}

// Raw writes a value that is JSON already.
func (w *Writer) Raw(json []byte) {
	if len(json) == 0 {
		json = []byte("null")
	}
	w.comma()
	w.buf = append(w.buf, json...)
}

// Null writes null.
func (w *Writer) Null() { w.Raw(nil) }

// Long writes an integer.
func (w *Writer) Long(n int64) {
	w.comma()
	w.buf = strconv.AppendInt(w.buf, n, 10)
}

// Bool writes true or false.
func (w *Writer) Bool(b bool) {
	w.comma()
	w.buf = strconv.AppendBool(w.buf, b)
}

// Text writes a string. What is no UTF-8 in it becomes U+FFFD.
func (w *Writer) Text(s string) {
	w.comma()
	w.buf = append(w.buf, '"')
	begin := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		char, size := utf8.DecodeRuneInString(s[i:])
		if char >= utf8.RuneSelf && (char != utf8.RuneError || size > 1) {
			i += size
			continue
		}
		w.buf = append(w.buf, s[begin:i]...)
		w.escape(char)
		i += size
		begin = i
	}
	w.buf = append(w.buf, s[begin:]...)
	w.buf = append(w.buf, '"')
}

func (w *Writer) escape(char rune) {
	switch char {
	case '"', '\\':
		w.buf = append(w.buf, '\\', byte(char))
	case '\n':
		w.buf = append(w.buf, `\n`...)
	case '\t':
		w.buf = append(w.buf, `\t`...)
	case utf8.RuneError:
		w.buf = utf8.AppendRune(w.buf, char)
	default:
		const hex = "0123456789abcdef"
		w.buf = append(w.buf, '\\', 'u', '0', '0', hex[char>>4], hex[char&15])
	}
}
