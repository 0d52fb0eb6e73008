package duckdb

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/ubunye-io/ubunye/engine/compute"
)

// The byte order marks of Unicode.
const (
	utf8Mark    = "\xef\xbb\xbf"
	utf16LEMark = "\xff\xfe"
	utf16BEMark = "\xfe\xff"
	utf32LEMark = "\xff\xfe\x00\x00"
	utf32BEMark = "\x00\x00\xfe\xff"
)

// encodings are the names that the option encoding knows, and what they are called here.
var encodings = map[string]string{
	"utf-8": "utf-8", "utf8": "utf-8", "utf-16": "utf-16", "utf-16le": "utf-16le", "utf-16be": "utf-16be",
	"latin-1": "latin-1", "latin1": "latin-1", "iso-8859-1": "latin-1", "windows-1252": "windows-1252", "cp1252": "windows-1252",
}

// encodingError is a byte that the encoding has no character for. Nothing is put in its place.
type encodingError struct {
	line    int64 // physical, from 1
	message string
	hint    string
}

func (e *encodingError) Error() string { return e.message }

// in makes it the error of a file.
func (e *encodingError) in(file string) *compute.Error {
	return &compute.Error{Kind: compute.InputInvalid, File: file, Line: e.line, Message: e.message, Hint: e.hint}
}

// textCoding is how a file's bytes become text.
type textCoding struct {
	compression string // "auto" (by the file's name), "none", "gzip" or "zstd"
	encoding    string // as encodings call it
}

// usual tells that DuckDB decodes it.
func (t textCoding) usual() bool { return t.encoding == "utf-8" }

// of gives the compression of a file; false: it has none.
func (t textCoding) of(name string) (compression, bool) {
	switch t.compression {
	case "none":
		return compression{}, false
	case gzipped.name:
		return gzipped, true
	case zstded.name:
		return zstded, true
	}
	return compressionOf(name)
}

// option is the compression as an option of DuckDB's reading functions, which otherwise go by the name too.
func (t textCoding) option() string {
	if t.compression == "auto" {
		return ""
	}
	return ", compression = " + literal(t.compression)
}

// textCoding declares the options that every text format has.
func (o *options) textCoding() textCoding {
	t := textCoding{compression: o.text("compression", "auto")}
	switch t.compression {
	case "auto", "none", gzipped.name, zstded.name:
	default:
		o.bad("compression", "auto, none, gzip or zstd")
	}
	var known bool
	if t.encoding, known = encodings[strings.ToLower(o.text("encoding", "utf-8"))]; !known {
		o.bad("encoding", "utf-8, utf-16, utf-16le, utf-16be, latin-1 or windows-1252")
	}
	return t
}

// open opens a file as UTF-8 text; a byte order mark of UTF-8 stays.
func (t textCoding) open(name string) (io.ReadCloser, error) {
	c, _ := t.of(name)
	f, err := openCompressed(name, c)
	if err != nil || t.usual() {
		return f, err
	}
	return &decodedText{Closer: f, decoder: decoder{r: f, encoding: t.encoding, line: 1}}, nil
}

// noText tells that a file begins as one does that is no text, or not in the encoding, and what to do then.
func (t textCoding) noText(begin []byte) (what, hint string) {
	if !t.usual() {
		return "", ""
	}
	for _, mark := range []struct{ begin, what, hint string }{
		{utf32LEMark, "it is UTF-32", "convert the file to UTF-8"},
		{utf32BEMark, "it is UTF-32", "convert the file to UTF-8"},
		{utf16LEMark, "it is UTF-16", "set the option encoding to utf-16, or convert the file to UTF-8"},
		{utf16BEMark, "it is UTF-16", "set the option encoding to utf-16, or convert the file to UTF-8"},
		{gzipped.magic, "it is compressed by gzip, and its name does not say so", "end its name in .gz, or set the option compression to gzip"},
		{zstded.magic, "it is compressed by zstd, and its name does not say so", "end its name in .zst, or set the option compression to zstd"},
		{"PK\x03\x04", "it is a zip archive, or a workbook", "unpack it, or save it as CSV"},
	} {
		if bytes.HasPrefix(begin, []byte(mark.begin)) {
			return mark.what, mark.hint
		}
	}
	if len(begin) >= 4 {
		switch zero := [4]bool{begin[0] == 0, begin[1] == 0, begin[2] == 0, begin[3] == 0}; zero {
		case [4]bool{false, true, false, true}:
			return "every second byte is NUL, at byte offset 1 the first, as in UTF-16 without a byte order mark", "set the option encoding to utf-16le, or convert the file to UTF-8"
		case [4]bool{true, false, true, false}:
			return "every second byte is NUL, at byte offset 0 the first, as in UTF-16 without a byte order mark", "set the option encoding to utf-16be, or convert the file to UTF-8"
		}
	}
	return "", ""
}

// decodedText is a file whose text is decoded.
type decodedText struct {
	decoder
	io.Closer
}

// decoder makes UTF-8 of another encoding.
type decoder struct {
	r        io.Reader
	encoding string
	begun    bool
	in       []byte // not yet decoded
	out      []byte // decoded and not yet given
	offset   int64  // bytes before in
	line     int64
	err      error // what comes after out
}

func (d *decoder) Read(p []byte) (int, error) {
	for len(d.out) == 0 {
		if d.err != nil {
			return 0, d.err
		}
		d.more()
	}
	n := copy(p, d.out)
	d.out = d.out[n:]
	return n, nil
}

// more decodes the next bytes.
func (d *decoder) more() {
	const piece = 1 << 16
	last := false
	for first := true; first || !d.begun && len(d.in) < len(utf32LEMark) && !last; first = false {
		held := len(d.in)
		d.in = append(d.in, make([]byte, piece)...)
		n, err := d.r.Read(d.in[held:])
		d.in = d.in[:held+n]
		if last = errors.Is(err, io.EOF); err != nil && !last {
			d.err = err
			return
		}
	}
	if !d.begun {
		d.begun = true
		if d.err = d.mark(); d.err != nil {
			return
		}
	}
	used := d.decode(last)
	d.in = append(d.in[:0], d.in[used:]...)
	d.offset += int64(used)
	if d.err == nil && last {
		d.err = io.EOF
	}
}

// mark looks at the first bytes: the byte order of UTF-16, and marks that belong to another encoding.
func (d *decoder) mark() error {
	le, be := bytes.HasPrefix(d.in, []byte(utf16LEMark)), bytes.HasPrefix(d.in, []byte(utf16BEMark))
	other := ""
	switch {
	case bytes.HasPrefix(d.in, []byte(utf32LEMark)), bytes.HasPrefix(d.in, []byte(utf32BEMark)):
		return &encodingError{line: 1, message: "it begins with the byte order mark of utf-32, and the option encoding says " + d.encoding, hint: "convert the file to UTF-8"}
	case strings.HasPrefix(d.encoding, "utf-16") && (le || be):
		found := map[bool]string{true: "utf-16le", false: "utf-16be"}[le]
		if d.encoding != "utf-16" && d.encoding != found {
			other = found
			break
		}
		d.encoding = found
		d.in, d.offset = d.in[2:], 2
	case d.encoding == "utf-16" && len(d.in) > 0:
		return &encodingError{line: 1, message: "it has no byte order mark, so which of the two ways of UTF-16 it is written in cannot be told", hint: "set the option encoding to utf-16le or utf-16be"}
	case le || be:
		other = "utf-16"
	case bytes.HasPrefix(d.in, []byte(utf8Mark)):
		other = "utf-8"
	}
	if other != "" {
		return &encodingError{line: 1, message: fmt.Sprintf("it begins with the byte order mark of %s, and the option encoding says %s", other, d.encoding), hint: "set the option encoding to " + other}
	}
	return nil
}

// decode appends the text of what is held to out, and gives the bytes that it took.
func (d *decoder) decode(last bool) (used int) {
	d.out = d.out[:0]
	if strings.HasPrefix(d.encoding, "utf-16") {
		return d.decode16(last)
	}
	for i, b := range d.in {
		r := rune(b)
		if d.encoding == "windows-1252" && 0x80 <= b && b < 0xa0 {
			if r = windows1252[b-0x80]; r == 0 {
				d.fail(i, d.in[i:i+1], "windows-1252 has no such character")
				return i
			}
		}
		d.add(r)
	}
	return len(d.in)
}

func (d *decoder) decode16(last bool) int {
	var order binary.ByteOrder = binary.LittleEndian
	if d.encoding == "utf-16be" {
		order = binary.BigEndian
	}
	i := 0
	for ; i+2 <= len(d.in); i += 2 {
		r := rune(order.Uint16(d.in[i:]))
		if !utf16.IsSurrogate(r) {
			d.add(r)
			continue
		}
		if i+4 > len(d.in) {
			if last {
				d.fail(i, d.in[i:], "half of a character")
			}
			return i
		}
		if r = utf16.DecodeRune(r, rune(order.Uint16(d.in[i+2:]))); r == utf8.RuneError {
			d.fail(i, d.in[i:i+2], "half of a character")
			return i
		}
		d.add(r)
		i += 2
	}
	if last && i < len(d.in) {
		d.fail(i, d.in[i:], "half of a character at the end of the file")
	}
	return i
}

func (d *decoder) add(r rune) {
	if r == '\n' {
		d.line++
	}
	d.out = utf8.AppendRune(d.out, r)
}

func (d *decoder) fail(at int, what []byte, why string) {
	d.err = &encodingError{line: d.line, message: fmt.Sprintf("the bytes 0x%x at byte offset %d are not %s: %s", what, d.offset+int64(at), d.encoding, why),
		hint: "correct the file, or set the option encoding to what it is"}
}

// windows1252 is what the bytes 0x80 to 0x9f are; 0: nothing (Unicode Consortium, MAPPINGS/VENDORS/MICSFT/WINDOWS/CP1252.TXT).
var windows1252 = [32]rune{
	'€', 0, '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', 0, 'Ž', 0,
	0, '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', 0, 'ž', 'Ÿ',
}
