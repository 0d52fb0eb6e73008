package duckdb

import (
	"encoding/json"
	"fmt"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// unescape decodes the escapes of a string.
func (s *jsonScan) unescape(text []byte) ([]byte, error) {
	out := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' {
			out = append(out, text[i])
			continue
		}
		i++
		if i == len(text) {
			return nil, s.fail("a string ends in an escape")
		}
		switch c := text[i]; c {
		case '"', '\\', '/':
			out = append(out, c)
		case 'b', 'f', 'n', 'r', 't':
			out = append(out, map[byte]byte{'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}[c])
		case 'u':
			r, n := escapedRune(text[i+1:])
			if n == 0 {
				return nil, s.fail("a string has a \\u that is no character")
			}
			out = utf8.AppendRune(out, r)
			i += n
		default:
			return nil, s.fail("a string has the unknown escape \\%s", string(c))
		}
	}
	return out, nil
}

// escapedRune decodes what follows \u, and gives the bytes that it took; 0 if it is no character.
func escapedRune(text []byte) (rune, int) {
	unit := func(at int) (rune, bool) {
		if len(text) < at+4 {
			return 0, false
		}
		n, err := strconv.ParseUint(string(text[at:at+4]), 16, 16)
		return rune(n), err == nil
	}
	first, ok := unit(0)
	if !ok {
		return 0, 0
	}
	if !utf16.IsSurrogate(first) {
		return first, 4
	}
	second, ok := unit(6)
	if !ok || text[4] != '\\' || text[5] != 'u' {
		return 0, 0
	}
	if r := utf16.DecodeRune(first, second); r != utf8.RuneError {
		return r, 10
	}
	return 0, 0
}

// members passes an object and calls visit at each value, which must pass it. A key that occurs twice is an error.
func (s *jsonScan) members(depth int, visit func(key []byte) error) error {
	if depth > maxJSONDepth {
		return s.fail("it is nested too deeply")
	}
	s.pos++
	var seen keySet
	for {
		switch c := s.kind(); c {
		case '}':
			s.pos++
			return nil
		case '"':
		case 0:
			return s.fail("it ends in the middle of an object")
		default:
			return s.fail("%q stands where a key should", string(c))
		}
		key, err := s.str()
		if err != nil {
			return err
		}
		if seen.add(key) {
			return s.advise("keep one of the two", "the key %s occurs twice in an object", shorten(string(key)))
		}
		if c := s.kind(); c != ':' {
			return s.fail("no colon follows the key %s", shorten(string(key)))
		}
		s.pos++
		s.kind()
		if err := visit(key); err != nil {
			return err
		}
		if err := s.separator('}', "object"); err != nil {
			return err
		}
	}
}

// items passes an array and calls visit at each value, which must pass it.
func (s *jsonScan) items(depth int, visit func() error) error {
	if depth > maxJSONDepth {
		return s.fail("it is nested too deeply")
	}
	s.pos++
	for {
		switch s.kind() {
		case ']':
			s.pos++
			return nil
		case 0:
			return s.fail("it ends in the middle of an array")
		}
		if err := visit(); err != nil {
			return err
		}
		if err := s.separator(']', "array"); err != nil {
			return err
		}
	}
}

// separator passes a comma, if there is one; before the end there may be one too, as DuckDB has it.
func (s *jsonScan) separator(end byte, what string) error {
	switch c := s.kind(); c {
	case ',':
		s.pos++
	case end:
	case 0:
		return s.fail("it ends in the middle of an %s", what)
	default:
		return s.fail("a comma is missing before %q", string(c))
	}
	return nil
}

// skip passes a value of any kind.
func (s *jsonScan) skip(depth int) error {
	switch s.kind() {
	case '{':
		return s.members(depth, func([]byte) error { return s.skip(depth + 1) })
	case '[':
		return s.items(depth, func() error { return s.skip(depth + 1) })
	}
	_, err := s.scalar()
	return err
}

// done looks that nothing follows the value.
func (s *jsonScan) done() error {
	if c := s.kind(); c != 0 {
		return s.fail("%s follows the object", shorten(string(s.data[s.pos:])))
	}
	return nil
}

// keySet remembers the keys of an object: most have few.
type keySet struct {
	few  [][]byte
	many map[string]bool
}

// add tells whether the key was there already.
func (k *keySet) add(key []byte) bool {
	const limit = 32
	if k.many == nil {
		for _, other := range k.few {
			if string(other) == string(key) {
				return true
			}
		}
		k.few = append(k.few, key)
		if len(k.few) < limit {
			return false
		}
		k.many = map[string]bool{}
		for _, other := range k.few {
			k.many[string(other)] = true
		}
		return false
	}
	if k.many[string(key)] {
		return true
	}
	k.many[string(key)] = true
	return false
}

// jsonText writes a text as JSON does.
func jsonText(text string) string {
	data, err := json.Marshal(text)
	if err != nil {
		return fmt.Sprintf("%q", text) // strings always marshal
	}
	return string(data)
}
