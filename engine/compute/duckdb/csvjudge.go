package duckdb

import (
	"fmt"
	"unicode/utf8"
)

// tooLong makes a record of what is longer than any may be, and gives where it ends in w.
func (sc *csvScanner) tooLong(w []byte) int {
	sc.rec.fields, sc.rec.end = sc.rec.fields[:0], ""
	sc.rec.wrong = sc.longLine()
	at, size := lineEnd(w, true)
	sc.rest = size == 0
	return at + size
}

func (sc *csvScanner) longLine() *csvFault {
	return &csvFault{field: -1, message: fmt.Sprintf("the line is longer than %d bytes", sc.options.maxLine), hint: "raise the option max_line_size, or check the option quote"}
}

// judge looks at a whole record: its fields, and whether it is text.
func (sc *csvScanner) judge() {
	rec := &sc.rec
	for n := len(rec.fields); sc.width > 0 && n > sc.width && rec.wrong == nil && (len(rec.fields[n-1].text) == 0 || sc.options.isNull(rec.fields[n-1])); n-- {
		rec.fields = rec.fields[:n-1] // as DuckDB has it: behind the last column, what is empty or NULL is no field
	}
	switch n := len(rec.fields); {
	case rec.wrong != nil:
	case !utf8.Valid(rec.raw):
		rec.wrong = sc.notUTF8()
	case len(rec.raw)-len(rec.end) > sc.options.maxLine:
		rec.wrong = sc.longLine()
	case sc.width == 0, n == sc.width:
	case n < sc.width && sc.options.ragged != "pad":
		rec.wrong = &csvFault{field: -1, ragged: true, message: fmt.Sprintf("the line has %d of %d fields: %s", n, sc.width, shorten(string(rec.raw)))}
		rec.wrong.hint = "correct the file, or set the option ragged to pad, which takes the missing fields for NULL"
	case n > sc.width:
		rec.wrong = &csvFault{field: -1, ragged: true, message: fmt.Sprintf("the line has %d fields, more than %d fields: %s", n, sc.width, shorten(string(rec.raw))), hint: "quote fields that hold the delimiter"}
	}
}

func (sc *csvScanner) notUTF8() *csvFault {
	rec := &sc.rec
	at := 0
	for at < len(rec.raw) {
		r, size := utf8.DecodeRune(rec.raw[at:])
		if r == utf8.RuneError && size == 1 {
			break
		}
		at += size
	}
	field := -1
	for i, f := range rec.fields {
		if f.at <= at {
			field = i
		}
	}
	return &csvFault{field: field, message: fmt.Sprintf("the line is not UTF-8: the byte 0x%02x at byte offset %d of the text: %s", rec.raw[at], rec.offset+int64(at), shorten(string(rec.raw))),
		hint: "set the option encoding, as windows-1252, or convert the file"}
}

// lineOf gives the physical line on which a field begins.
func (rec *csvRecord) lineOf(field int) int64 {
	if field < 0 || field >= len(rec.fields) {
		return rec.line
	}
	return rec.line + lines(rec.raw[:rec.fields[field].at])
}
