package duckdb

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// recordReader splits csv into records as DuckDB does in strict mode, and knows on which physical line each
// field begins. It serves the header and diagnosis; rows are read by DuckDB.
type recordReader struct {
	r         *bufio.Reader
	delimiter string
	quote     byte // 0: none
	escape    byte
	line      int64 // physical line of the next byte, from 1
	first     bool  // nothing was read yet
	buffer    []byte
}

type record struct {
	fields []string
	lines  []int64 // physical line on which each field begins
	end    string  // what ended it: a line end, or nothing at the end of the file
}

func newRecordReader(r io.Reader, o csvOptions) *recordReader {
	rr := &recordReader{r: bufio.NewReaderSize(r, 1<<16), delimiter: o.delimiter, line: 1, first: true}
	if o.quote != "" {
		rr.quote = o.quote[0]
	}
	if o.escape != "" {
		rr.escape = o.escape[0]
	}
	return rr
}

// skipLines passes over n physical lines.
func (rr *recordReader) skipLines(n int) error {
	rr.bom()
	for range n {
		if _, err := rr.r.ReadSlice('\n'); err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
		rr.line++
	}
	return nil
}

func (rr *recordReader) bom() {
	if b, _ := rr.r.Peek(3); rr.first && bytes.Equal(b, []byte("\xef\xbb\xbf")) {
		_, _ = rr.r.Discard(3) // peeked
	}
	rr.first = false
}

// noText tells, before anything is read, that the file begins as one does that is no text, and what to do then.
func (rr *recordReader) noText() (what, hint string) {
	b, _ := rr.r.Peek(4)
	for _, mark := range []struct{ begin, what, hint string }{
		{"\xff\xfe", "it is UTF-16", "convert the file to UTF-8"},
		{"\xfe\xff", "it is UTF-16", "convert the file to UTF-8"},
		{"\x1f\x8b", "it is compressed by gzip, and its name does not say so", "end its name in .gz"},
		{"\x28\xb5\x2f\xfd", "it is compressed by zstd, and its name does not say so", "end its name in .zst"},
		{"PK\x03\x04", "it is a zip archive, or a workbook", "unpack it, or save it as CSV"},
	} {
		if bytes.HasPrefix(b, []byte(mark.begin)) {
			return mark.what, mark.hint
		}
	}
	return "", ""
}

// next reads one record; io.EOF when there is none left. An empty line is a record of one empty field.
func (rr *recordReader) next() (record, error) {
	rr.bom()
	if _, err := rr.r.Peek(1); err != nil {
		return record{}, err
	}
	var rec record
	for {
		line := rr.line
		text, more, err := rr.field(&rec)
		if err != nil {
			return record{}, err
		}
		rec.fields = append(rec.fields, text)
		rec.lines = append(rec.lines, line)
		if !more {
			return rec, nil
		}
	}
}

// field reads one field with what ends it; more tells that the record goes on.
func (rr *recordReader) field(rec *record) (text string, more bool, err error) {
	out := rr.buffer[:0]
	defer func() { rr.buffer = out[:0] }()
	if b, _ := rr.r.Peek(1); rr.quote != 0 && len(b) == 1 && b[0] == rr.quote {
		_, _ = rr.r.Discard(1) // peeked
		if out, err = rr.quoted(out); err != nil {
			return "", false, err
		}
	}
	for {
		if rr.atDelimiter() {
			_, _ = rr.r.Discard(len(rr.delimiter)) // peeked
			return string(out), true, nil
		}
		c, err := rr.r.ReadByte()
		switch {
		case errors.Is(err, io.EOF):
			return string(out), false, nil
		case err != nil:
			return "", false, err
		case c == '\n', c == '\r':
			rec.end = string(c)
			if b, _ := rr.r.Peek(1); c == '\r' && len(b) == 1 && b[0] == '\n' {
				_, _ = rr.r.Discard(1) // peeked
				rec.end = "\r\n"
			}
			rr.line++
			return string(out), false, nil
		}
		out = append(out, c)
	}
}

// quoted reads up to the closing quote.
func (rr *recordReader) quoted(out []byte) ([]byte, error) {
	for {
		c, err := rr.r.ReadByte()
		if errors.Is(err, io.EOF) {
			return out, nil // DuckDB names the quote that is not closed
		}
		if err != nil {
			return out, err
		}
		b, _ := rr.r.Peek(1)
		switch {
		case c == rr.escape && rr.escape != 0 && len(b) == 1 && (b[0] == rr.quote || b[0] == rr.escape):
			_, _ = rr.r.Discard(1) // peeked
			c = b[0]
		case c == rr.quote:
			return out, nil
		case c == '\n', c == '\r' && (len(b) == 0 || b[0] != '\n'):
			rr.line++
		}
		out = append(out, c)
	}
}

func (rr *recordReader) atDelimiter() bool {
	b, _ := rr.r.Peek(len(rr.delimiter))
	return string(b) == rr.delimiter
}
