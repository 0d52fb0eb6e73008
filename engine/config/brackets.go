package config

import (
	"bytes"
	"fmt"
	"strings"
)

// unclosed finds the { or [ of a flow mapping or list that is not closed, from the beginning of a line on: the last one that is
// open at the end of the file, or where the other kind of bracket closes. offset is its place; -1: there is none. other is the
// place of that bracket; -1: the file ended.
func (s *source) unclosed(line int) (offset, other int) {
	if line < 1 || line > len(s.starts) {
		return -1, -1
	}
	var open []int // offsets
	before := byte('\n')
	for i := s.starts[line-1]; i < len(s.data); i++ {
		c := s.data[i]
		begins := strings.IndexByte("\n:-?,[{", before) >= 0 // a value can begin here
		switch {
		case c == '#' && (i == 0 || strings.IndexByte(" \t\r\n", s.data[i-1]) >= 0):
			i += lengthTo(s.data[i:], "\r\n") - 1
			continue
		case (c == '"' || c == '\'') && begins:
			i += quotedLength(s.data[i:]) - 1
		case (c == '{' || c == '[') && (begins || len(open) > 0):
			open = append(open, i)
		case (c == '}' || c == ']') && len(open) > 0:
			last := open[len(open)-1]
			if (c == '}') != (s.data[last] == '{') {
				return last, i
			}
			open = open[:len(open)-1]
		}
		if c != ' ' && c != '\t' && c != '\r' {
			before = c
		}
	}
	if len(open) == 0 {
		return -1, -1
	}
	return open[len(open)-1], -1
}

// lengthTo is how many bytes come before the first of some.
func lengthTo(data []byte, ends string) int {
	if i := bytes.IndexAny(data, ends); i >= 0 {
		return i
	}
	return len(data)
}

// quotedLength is the length of the quoted text that data begins with.
func quotedLength(data []byte) int {
	quote := data[0]
	for i := 1; i < len(data); i++ {
		switch {
		case data[i] == '\\' && quote == '"':
			i++
		case data[i] == quote && quote == '\'' && i+1 < len(data) && data[i+1] == quote:
			i++
		case data[i] == quote:
			return i + 1
		}
	}
	return len(data)
}

// brackets reports a bracket that is not closed, if that is why the YAML reader could not go on from a line; false: it is not.
// {{ where a value begins is a template without quotes.
func (l *loader) brackets(src *source, line int) bool {
	at, other := src.unclosed(line)
	if at < 0 { // of what begins in the first line, the reader names another line, or none
		if at, other = src.unclosed(1); at >= len(src.line(1)) {
			return false
		}
	}
	if at < 0 || bytes.HasPrefix(src.data[at:], []byte("{{")) || at > 0 && bytes.HasPrefix(src.data[at-1:], []byte("{{")) {
		return false
	}
	closing, what := "}", "mapping"
	if src.data[at] == '[' {
		closing, what = "]", "list"
	}
	message := fmt.Sprintf("the %c that is opened here is not closed", src.data[at])
	if other >= 0 {
		message += fmt.Sprintf(" before the %c at %s", src.data[other], src.pos(other))
	}
	l.add(src.pos(at), message, "write "+closing+" where the "+what+" ends")
	return true
}
