package duckdb

import (
	"bytes"
	"errors"
	"io"
	"unicode/utf8"
)

// csvScanner splits csv into records as DuckDB does in strict mode, knows on which physical line each begins, and goes on
// after one that is no csv. It serves headers, diagnosis, and what DuckDB cannot read as it is asked to; a fuzz test holds the two
// against each other.
type csvScanner struct {
	r       io.Reader
	options csvOptions
	width   int // fields of a record; 0: any number, and blank lines are records
	quote   byte
	escape  byte
	stops   [256]bool // bytes that may end a field without quotes

	buf    []byte
	start  int // of what is not yet given
	end    int
	eof    bool
	err    error // of r
	line   int64 // physical line of buf[start], from 1
	offset int64 // bytes before buf[start]
	rest   bool  // what is left of the line belongs to a record that was given
	passed csvPassed
	rec    csvRecord
	arena  []byte // texts of fields that hold escapes
}

// csvPassed is what the lines were like that were passed over.
type csvPassed struct {
	end string // of the last one
	odd bool   // they hold more than text between line ends of one kind
}

// csvRecord is one record. It holds until the next.
type csvRecord struct {
	raw    []byte // with its line end
	line   int64  // physical line on which it begins
	offset int64  // bytes of the text before it
	fields []csvField
	end    string // its line end; empty at the end of the file
	blank  csvBlank
	wrong  *csvFault // why it is none; nil: it is one
}

// csvBlank is the last of the blank lines that stood before a record.
type csvBlank struct {
	line int64
	end  string // empty: there was none
}

type csvField struct {
	text   []byte
	quoted bool
	at     int // in raw
}

// csvFault is what is wrong with a record.
type csvFault struct {
	field         int // index; -1: the record as a whole
	message, hint string
	ragged        bool // it has too few or too many fields
}

func newCSVScanner(r io.Reader, o csvOptions, width int) *csvScanner {
	sc := &csvScanner{r: r, options: o, width: width, line: 1, buf: make([]byte, 1<<16)}
	if o.quote != "" {
		sc.quote = o.quote[0]
	}
	if o.escape != "" {
		sc.escape = o.escape[0]
	}
	for _, c := range []byte{'\n', '\r', o.delimiter[0]} {
		sc.stops[c] = true
	}
	sc.fill()
	if bytes.HasPrefix(sc.buf[:sc.end], []byte(utf8Mark)) {
		sc.pass(len(utf8Mark))
	}
	return sc
}

// fill reads more, into a larger buffer if a record takes all of it.
func (sc *csvScanner) fill() {
	if sc.start > 0 {
		sc.end = copy(sc.buf, sc.buf[sc.start:sc.end])
		sc.start = 0
	}
	if sc.end == len(sc.buf) {
		sc.buf = append(sc.buf, make([]byte, len(sc.buf))...)
	}
	n, err := io.ReadAtLeast(sc.r, sc.buf[sc.end:], 1)
	sc.end += n
	if err != nil {
		sc.eof = true
		if !errors.Is(err, io.EOF) {
			sc.err = err
		}
	}
}

// pass goes on by n bytes of the buffer.
func (sc *csvScanner) pass(n int) {
	sc.start += n
	sc.offset += int64(n)
}

// skipLines passes over n physical lines.
func (sc *csvScanner) skipLines(n int) error {
	for range n {
		if err := sc.skipLine(); err != nil {
			return err
		}
	}
	return nil
}

// skipLine passes the rest of a physical line; io.EOF if nothing is there.
func (sc *csvScanner) skipLine() error {
	for {
		w := sc.buf[sc.start:sc.end]
		i, size := lineEnd(w, sc.eof)
		sc.notePassed(w[:i], string(w[i:i+size]))
		if size > 0 {
			sc.pass(i + size)
			sc.line++
			return nil
		}
		sc.pass(i)
		if sc.eof {
			if len(w) == 0 {
				return sc.ended()
			}
			sc.pass(len(w) - i)
			return nil
		}
		sc.fill()
	}
}

// notePassed notes a line that is passed over, or a piece of one, which has no end.
func (sc *csvScanner) notePassed(text []byte, end string) {
	p := &sc.passed
	p.odd = p.odd || !utf8.Valid(text) || sc.quote != 0 && bytes.IndexByte(text, sc.quote) >= 0 || sc.escape != 0 && bytes.IndexByte(text, sc.escape) >= 0
	if end != "" {
		p.odd = p.odd || p.end != "" && p.end != end
		p.end = end
	}
}

// lineEnd finds the first line end of a text and its size; size 0: there is none in the first i bytes, and with more text
// there may be one.
func lineEnd(w []byte, eof bool) (i, size int) {
	i = bytes.IndexAny(w, "\r\n")
	switch {
	case i < 0:
		return len(w), 0
	case w[i] == '\n':
		return i, 1
	case i+1 < len(w) && w[i+1] == '\n':
		return i, 2
	case i+1 == len(w) && !eof:
		return i, 0
	}
	return i, 1
}

func (sc *csvScanner) ended() error {
	if sc.err != nil {
		return sc.err
	}
	return io.EOF
}

// next gives the next record, also one that is wrong; io.EOF after the last.
func (sc *csvScanner) next() (*csvRecord, error) {
	if sc.rest {
		sc.rest = false
		if err := sc.skipLine(); err != nil {
			return nil, err
		}
	}
	var before csvBlank
	for {
		w := sc.buf[sc.start:sc.end]
		if len(w) == 0 && sc.eof || sc.err != nil {
			return nil, sc.ended()
		}
		if comment, more := sc.atComment(w); comment {
			if err := sc.skipLine(); err != nil {
				return nil, err
			}
			continue
		} else if more {
			sc.fill()
			continue
		}
		n, more := sc.parse(w)
		switch {
		case more && len(w) > sc.options.maxLine+2:
			n = sc.tooLong(w)
		case more:
			sc.fill()
			continue
		}
		if sc.err != nil {
			return nil, sc.err
		}
		rec := &sc.rec
		rec.raw, rec.line, rec.offset, rec.blank = w[:n], sc.line, sc.offset, before
		blank := n == len(rec.end) && rec.wrong == nil && !sc.blankIsNull()
		sc.line += lines(rec.raw)
		sc.pass(n)
		if blank {
			before = csvBlank{line: rec.line, end: rec.end}
			continue
		}
		sc.judge()
		return rec, nil
	}
}

// blankIsNull tells that a blank line is a record of one field, as DuckDB has it; else it is none.
func (sc *csvScanner) blankIsNull() bool {
	return sc.width == 0 || sc.width == 1 && sc.options.null == ""
}

// atComment tells that a line of comment begins here, or that more text is needed to tell.
func (sc *csvScanner) atComment(w []byte) (comment, more bool) {
	c := sc.options.comment
	if c == "" {
		return false, false
	}
	return bytes.HasPrefix(w, []byte(c)), len(w) < len(c) && !sc.eof
}

// lines counts the line ends of a text that does not break off within one.
func lines(text []byte) int64 {
	n := int64(bytes.Count(text, []byte{'\n'}))
	if bytes.IndexByte(text, '\r') < 0 {
		return n
	}
	for i, c := range text {
		if c == '\r' && (i+1 == len(text) || text[i+1] != '\n') {
			n++
		}
	}
	return n
}

// parse finds the fields of the record that begins w, and its length. more: w ends before it can be told.
func (sc *csvScanner) parse(w []byte) (n int, more bool) {
	rec := &sc.rec
	rec.fields, rec.end, rec.wrong = rec.fields[:0], "", nil
	sc.arena = sc.arena[:0]
	for i := 0; ; {
		f := csvField{at: i}
		open, begin := sc.opens(w, i)
		if begin == len(w) && !sc.eof {
			return 0, true
		}
		after := i
		if open {
			f.quoted = true
			var wrong string
			if f.text, after, wrong = sc.quotedText(w, begin+1); wrong == endsWithin && !sc.eof {
				return 0, true
			} else if wrong != "" {
				return sc.broken(w, after, wrong)
			}
		} else {
			after = sc.plainEnd(w, i)
			f.text = w[i:after]
		}
		if len(w)-after < len(sc.options.delimiter) && !sc.eof {
			return 0, true
		}
		rec.fields = append(rec.fields, f)
		if bytes.HasPrefix(w[after:], []byte(sc.options.delimiter)) {
			i = after + len(sc.options.delimiter)
			continue
		}
		if after == len(w) {
			return after, !sc.eof
		}
		_, size := lineEnd(w[after:], sc.eof)
		if size == 0 {
			return 0, true
		}
		rec.end = string(w[after : after+size])
		return after + size, false
	}
}

// opens tells whether the field at i is quoted; DuckDB lets spaces stand before the quote, and drops them.
func (sc *csvScanner) opens(w []byte, i int) (open bool, at int) {
	if sc.quote == 0 {
		return false, i
	}
	for i < len(w) && w[i] == ' ' && sc.options.delimiter[0] != ' ' && sc.quote != ' ' {
		i++
	}
	return i < len(w) && w[i] == sc.quote, i
}

// What is wrong with quotes.
const (
	endsWithin   = "a quote is not closed"
	followsQuote = "text follows the closing quote"
	looseEscape  = "the escape character stands before neither a quote nor itself"
)

// quotedText reads what is behind an opening quote: the text, and the place behind the closing quote and spaces.
func (sc *csvScanner) quotedText(w []byte, i int) (text []byte, after int, wrong string) {
	begin, copied := i, -1 // where the text begins in w, and in the arena if it was copied there
	for {
		j := sc.special(w, i)
		if j == len(w) {
			return nil, j, endsWithin
		}
		if w[j] == sc.escape && (sc.escape != sc.quote || j+1 < len(w) && w[j+1] == sc.quote) {
			switch {
			case j+1 == len(w):
				return nil, j, endsWithin
			case w[j+1] != sc.quote && w[j+1] != sc.escape:
				return nil, j, looseEscape
			}
			if copied < 0 {
				copied = len(sc.arena)
			}
			sc.arena = append(append(sc.arena, w[begin:j]...), w[j+1])
			i, begin = j+2, j+2
			continue
		}
		if text = w[begin:j]; copied >= 0 {
			sc.arena = append(sc.arena, text...)
			text = sc.arena[copied:]
		}
		return sc.closed(w, j+1, text)
	}
}

// closed passes what may stand between a closing quote and the end of the field.
func (sc *csvScanner) closed(w []byte, i int, text []byte) ([]byte, int, string) {
	if i == len(w) && !sc.eof {
		return nil, i, endsWithin
	}
	for i < len(w) && w[i] == ' ' && sc.options.delimiter[0] != ' ' {
		i++
	}
	switch {
	case i == len(w) && !sc.eof, len(w)-i < len(sc.options.delimiter) && !sc.eof:
		return nil, i, endsWithin
	case i == len(w), w[i] == '\n', w[i] == '\r', bytes.HasPrefix(w[i:], []byte(sc.options.delimiter)):
		return text, i, ""
	}
	return nil, i, followsQuote
}

// special finds the next quote or escape.
func (sc *csvScanner) special(w []byte, i int) int {
	q := bytes.IndexByte(w[i:], sc.quote)
	if sc.escape != 0 && sc.escape != sc.quote {
		to := len(w)
		if q >= 0 {
			to = i + q
		}
		if e := bytes.IndexByte(w[i:to], sc.escape); e >= 0 {
			return i + e
		}
	}
	if q < 0 {
		return len(w)
	}
	return i + q
}

// plainEnd finds the end of a field without quotes.
func (sc *csvScanner) plainEnd(w []byte, i int) int {
	for ; i < len(w); i++ {
		if c := w[i]; sc.stops[c] && (c == '\n' || c == '\r' || bytes.HasPrefix(w[i:], []byte(sc.options.delimiter)) || !sc.eof && len(w)-i < len(sc.options.delimiter)) {
			return i
		}
	}
	return i
}

// broken makes the record one that is wrong at i: it ends with the physical line of that place or, if a quote is not closed,
// with the one on which it begins, so that what follows is read again.
func (sc *csvScanner) broken(w []byte, i int, what string) (n int, more bool) {
	from, hint := i, "check the options quote and escape"
	if what == endsWithin {
		from = 0
	}
	at, size := lineEnd(w[from:], sc.eof)
	if size == 0 && !sc.eof {
		return 0, true
	}
	n = from + at + size
	sc.rec.wrong = &csvFault{field: len(sc.rec.fields), message: what + ": " + shorten(string(w[:n])), hint: hint}
	return n, false
}
