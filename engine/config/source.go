package config

import (
	"bytes"
	"fmt"
	"sort"
	"unicode/utf8"

	"github.com/ubunye-io/ubunye/engine/problem"
)

// maxFile is the most bytes that a pipeline or SQL file may have.
const maxFile = 4 << 20

// source is the text of a file, with the means to name places in it.
type source struct {
	name   string // as people know it
	data   []byte
	starts []int // offset of each line

	// Where offset was last, so that a long line is not walked from its start for each value in it.
	lastLine, lastColumn, lastOffset int
}

func newSource(name string, data []byte) *source {
	s := &source{name: name, data: data, starts: []int{0}}
	for i, c := range data {
		if c == '\n' || c == '\r' && (i+1 == len(data) || data[i+1] != '\n') {
			s.starts = append(s.starts, i+1)
		}
	}
	return s
}

// pos gives the place of a byte.
func (s *source) pos(offset int) problem.Pos {
	line := sort.SearchInts(s.starts, offset+1)
	return problem.Pos{File: s.name, Line: line, Col: offset - s.starts[line-1] + 1}
}

// line gives the text of a line, counted from 1, without its end.
func (s *source) line(n int) []byte {
	if n < 1 || n > len(s.starts) {
		return nil
	}
	end := len(s.data)
	if n < len(s.starts) {
		end = s.starts[n]
	}
	return bytes.TrimRight(s.data[s.starts[n-1]:end], "\r\n")
}

// offset turns a line and a column in characters, both from 1 as the YAML reader counts, into a byte offset.
func (s *source) offset(line, column int) int {
	if line < 1 || line > len(s.starts) {
		return len(s.data)
	}
	at, col := s.starts[line-1], 1
	if line == s.lastLine && column >= s.lastColumn {
		at, col = s.lastOffset, s.lastColumn
	}
	for ; col < column && at < len(s.data); col++ {
		_, n := utf8.DecodeRune(s.data[at:])
		at += n
	}
	s.lastLine, s.lastColumn, s.lastOffset = line, col, at
	return at
}

// readable finds what keeps a file from being read as UTF-8 text; nil: nothing.
func (s *source) readable() *problem.Problem {
	switch {
	case len(s.data) > maxFile:
		return &problem.Problem{Code: problem.ConfigInvalid, Pos: problem.Pos{File: s.name},
			Message: fmt.Sprintf("the file has %d bytes; %d is the most", len(s.data), maxFile)}
	case bytes.HasPrefix(s.data, []byte("\xef\xbb\xbf")):
		return s.bad(0, "the file begins with a byte order mark", "save it as UTF-8 without one")
	case bytes.HasPrefix(s.data, []byte("\xff\xfe")), bytes.HasPrefix(s.data, []byte("\xfe\xff")):
		return s.bad(0, "the file is UTF-16", "save it as UTF-8")
	}
	for i := 0; i < len(s.data); {
		r, n := utf8.DecodeRune(s.data[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			return s.bad(i, fmt.Sprintf("byte 0x%02x is not UTF-8", s.data[i]), "save the file as UTF-8")
		case r < ' ' && r != '\t' && r != '\n' && r != '\r', r >= 0x7f && r < 0xa0,
			r == 0x2028, r == 0x2029, r == 0xfeff, r == 0xfffe, r == 0xffff:
			return s.bad(i, fmt.Sprintf("the character U+%04X cannot stand in the file", r), `remove it, or write it as \uXXXX in double quotes`)
		}
		i += n
	}
	return nil
}

func (s *source) bad(offset int, message, hint string) *problem.Problem {
	return &problem.Problem{Code: problem.ConfigInvalid, Pos: s.pos(offset), Message: message, Hint: hint}
}
