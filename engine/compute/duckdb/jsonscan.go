package duckdb

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// maxJSONDepth is how deeply values may nest here; DuckDB's reader knows no bound.
const maxJSONDepth = 1000

// jsonError is text that is not JSON as DuckDB reads it.
type jsonError struct {
	line    int64 // physical, from 1
	message string
	tooLong bool
	advice  string // what to do; empty: what the layout asks for
}

func (e *jsonError) hint(array bool) string {
	switch {
	case e.advice != "":
		return e.advice
	case e.tooLong:
		return "raise the option max_object_size, or check that the file has line ends"
	case array:
		return "the file must be one array of objects"
	}
	return "each line must be one object"
}

func (e *jsonError) Error() string { return fmt.Sprintf("line %d: %s", e.line, e.message) }

// jsonReader splits a file into its values, for inference and diagnosis; rows are read by DuckDB.
type jsonReader struct {
	r     *bufio.Reader
	array bool // the values are the elements of one array
	most  int  // bytes of a value
	line  int64
	buf   []byte
	begun bool
	ended bool
}

func newJSONReader(r io.Reader, array bool, most int) *jsonReader {
	return &jsonReader{r: bufio.NewReaderSize(r, 1<<16), array: array, most: most, line: 1}
}

// next gives the text of the next value and its first line; io.EOF after the last. The bytes hold until the next call.
func (j *jsonReader) next() ([]byte, int64, error) {
	if j.array {
		return j.element()
	}
	for {
		text, err := j.lineText()
		if err != nil {
			return nil, 0, err
		}
		at := j.line - 1
		if trimmed := bytes.TrimSpace(text); len(trimmed) > 0 {
			return trimmed, at, nil
		}
	}
}

// lineText reads a line; j.line is then that of the next.
func (j *jsonReader) lineText() ([]byte, error) {
	j.buf = j.buf[:0]
	for {
		part, err := j.r.ReadSlice('\n')
		j.buf = append(j.buf, part...)
		switch {
		case len(j.buf) > j.most:
			for errors.Is(err, bufio.ErrBufferFull) { // what follows is not another line
				_, err = j.r.ReadSlice('\n')
			}
			j.line++
			return nil, j.tooLong(j.line - 1)
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && len(j.buf) == 0:
			return nil, io.EOF
		case err != nil && !errors.Is(err, io.EOF):
			return nil, err
		default:
			j.line++
			return j.buf, nil
		}
	}
}

func (j *jsonReader) tooLong(line int64) error {
	return &jsonError{line: line, message: fmt.Sprintf("a value has more than %d bytes", j.most), tooLong: true}
}

// element reads an element of the array.
func (j *jsonReader) element() ([]byte, int64, error) {
	if j.ended {
		return nil, 0, io.EOF
	}
	c, err := j.after()
	switch {
	case err != nil:
		return nil, 0, err
	case !j.begun: // that it is an array is known
		j.begun = true
		if c, err = j.after(); err != nil {
			return nil, 0, err
		}
		if c == ']' {
			return nil, 0, j.end()
		}
	case c == ']':
		return nil, 0, j.end()
	case c != ',':
		return nil, 0, &jsonError{line: j.line, message: "a comma or ] is missing between the elements of the array"}
	default:
		if c, err = j.after(); err != nil {
			return nil, 0, err
		}
	}
	at := j.line
	text, err := j.value(c)
	return text, at, err
}

// after gives the next byte that is no white space.
func (j *jsonReader) after() (byte, error) {
	for {
		c, err := j.r.ReadByte()
		switch {
		case errors.Is(err, io.EOF):
			return 0, &jsonError{line: j.line, message: "the file ends before the array does"}
		case err != nil:
			return 0, err
		case c == '\n':
			j.line++
		case c != ' ' && c != '\t' && c != '\r':
			return c, nil
		}
	}
}

// end looks that nothing follows the array.
func (j *jsonReader) end() error {
	j.ended = true
	c, err := j.after()
	var cut *jsonError
	if errors.As(err, &cut) {
		return io.EOF
	}
	if err != nil {
		return err
	}
	return &jsonError{line: j.line, message: fmt.Sprintf("%q follows the array", string(c))}
}

// value reads the bytes of a value that begins with c, up to what can only follow it.
func (j *jsonReader) value(c byte) ([]byte, error) {
	j.buf = append(j.buf[:0], c)
	depth, quoted, escaped := 0, c == '"', false
	if c == '{' || c == '[' {
		depth++
	}
	for first := j.line; ; {
		if len(j.buf) > j.most {
			return nil, j.tooLong(first)
		}
		c, err := j.r.ReadByte()
		if errors.Is(err, io.EOF) {
			return nil, &jsonError{line: j.line, message: "the file ends before the array does"}
		}
		if err != nil {
			return nil, err
		}
		switch {
		case c == '\n':
			j.line++
		case escaped:
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
		case depth == 0 && (c == ',' || c == ']' || c == ' ' || c == '\t' || c == '\r'):
			return j.buf, j.r.UnreadByte()
		case c == '}' || c == ']':
			depth--
		}
		escaped = quoted && c == '\\' && !escaped
		j.buf = append(j.buf, c)
		if depth == 0 && !quoted && (c == '}' || c == ']' || c == '"') {
			return j.buf, nil
		}
	}
}

// jsonScan goes through the text of one value.
type jsonScan struct {
	data []byte
	pos  int
	line int64
}

// advise is fail for text that is as the layout asks, and wrong all the same.
func (s *jsonScan) advise(advice, format string, args ...any) error {
	return &jsonError{line: s.line, message: fmt.Sprintf(format, args...), advice: advice}
}

func (s *jsonScan) fail(format string, args ...any) error {
	return &jsonError{line: s.line, message: fmt.Sprintf(format, args...)}
}

// kind passes white space and gives the first byte of what follows; 0 at the end.
func (s *jsonScan) kind() byte {
	for ; s.pos < len(s.data); s.pos++ {
		switch c := s.data[s.pos]; c {
		case '\n':
			s.line++
		case ' ', '\t', '\r':
		default:
			return c
		}
	}
	return 0
}

// scalar passes a value that is no object and no array, and gives its text: that of a string decoded if it has
// escapes, any other as it is written.
func (s *jsonScan) scalar() ([]byte, error) {
	if s.kind() == '"' {
		return s.str()
	}
	start := s.pos
	for s.pos < len(s.data) && strings.IndexByte(",]}: \t\r\n\"{[", s.data[s.pos]) < 0 {
		s.pos++
	}
	text := s.data[start:s.pos]
	switch {
	case len(text) == 0 && s.pos == len(s.data):
		return nil, s.fail("it ends in the middle of a value")
	case len(text) == 0:
		return nil, s.fail("%q stands where a value should", string(s.data[s.pos]))
	case isJSONWord(text), isJSONNumber(text):
		return text, nil
	}
	return nil, s.fail("%s is no JSON value", shorten(string(text)))
}

func isJSONWord(text []byte) bool {
	switch string(text) {
	case "true", "false", "null":
		return true
	}
	return notFinite(text)
}

// notFinite tells the numbers that JSON does not have and DuckDB reads.
func notFinite(text []byte) bool {
	switch strings.ToLower(strings.TrimPrefix(string(text), "-")) {
	case "nan", "inf", "infinity":
		return true
	}
	return false
}

func isJSONNumber(text []byte) bool {
	digits := func() int {
		n := 0
		for n < len(text) && text[n] >= '0' && text[n] <= '9' {
			n++
		}
		text = text[n:]
		return n
	}
	text = bytes.TrimPrefix(text, []byte("-"))
	if zero := bytes.HasPrefix(text, []byte("0")); zero && digits() > 1 || !zero && digits() == 0 {
		return false
	}
	if len(text) > 0 && text[0] == '.' {
		text = text[1:]
		if digits() == 0 {
			return false
		}
	}
	if len(text) > 0 && (text[0] == 'e' || text[0] == 'E') {
		text = text[1:]
		if len(text) > 0 && (text[0] == '+' || text[0] == '-') {
			text = text[1:]
		}
		if digits() == 0 {
			return false
		}
	}
	return len(text) == 0
}

// str passes a string and gives its text.
func (s *jsonScan) str() ([]byte, error) {
	s.pos++
	start, plain := s.pos, true
	for ; s.pos < len(s.data); s.pos++ {
		switch c := s.data[s.pos]; {
		case c == '"':
			text := s.data[start:s.pos]
			s.pos++
			if !utf8.Valid(text) {
				return nil, s.fail("it is not UTF-8: %s", shorten(string(text)))
			}
			if !plain {
				var err error
				if text, err = s.unescape(text); err != nil {
					return nil, err
				}
			}
			if bytes.Contains(text, []byte(numberSign)) {
				return nil, s.fail("a string holds U+FDD0, which Unicode keeps from being a character of any text: %s", shorten(string(text)))
			}
			return text, nil
		case c == '\\':
			plain = false
			s.pos++
		case c < ' ':
			return nil, s.fail("a string holds the control character %q, which must be escaped", string(c))
		}
	}
	return nil, s.fail("a string is not closed")
}
