package config

import (
	"fmt"
	"time"

	"github.com/ubunye-io/ubunye/engine/problem"
)

// section is a mapping with declared keys, read key by key. Its getters give the default for a key
// that is not there, and report one that must be.
type section struct {
	l   *loader
	n   *node // nil: the mapping is not in the file
	f   *Field
	at  string
	pos problem.Pos // of its key
}

// sub opens a mapping inside s.
func (s section) sub(key string) section {
	n := s.n.get(key)
	in := section{s.l, n, s.f.member(key), join(s.at, key), s.pos}
	if n != nil {
		in.pos = n.pos
	}
	return in
}

// bad tells that the section cannot be looked at: what is missing in it is not news.
func (s section) bad() bool { return s.n != nil && (s.n.bad || s.n.partial) }

// value reads a scalar key.
func (s section) value(key string) scalar {
	f := s.f.member(key)
	n := s.n.get(key)
	if n == nil {
		if f.Required && !s.bad() && (f.Unless == "" || s.n.get(f.Unless) == nil) {
			s.missing(f)
		}
		if f.Default == "" {
			return scalar{}
		}
		n = &node{tag: tagText, text: f.Default}
	}
	v, _ := s.l.scalar(n, f, join(s.at, key))
	return v
}

func (s section) missing(f *Field) {
	hint := f.Doc
	if f.Example != "" {
		hint = "as in " + f.Name + ": " + f.Example
	}
	where := s.at
	if where == "" {
		where = s.l.whole()
	}
	s.l.add(s.pos, where+" has no "+f.Name, hint)
}

func (s section) text(key string) string            { return s.value(key).text }
func (s section) number(key string) int64           { return s.value(key).number }
func (s section) on(key string) bool                { return s.value(key).on }
func (s section) duration(key string) time.Duration { return s.value(key).duration }

// path gives an absolute path; empty when there is none.
func (s section) path(key string) string {
	if p := s.text(key); p != "" {
		return s.l.abs(p)
	}
	return ""
}

// where gives the place of a key's value, or that of the section.
func (s section) where(key string) problem.Pos {
	if n := s.n.get(key); n != nil && n.from == "" {
		return n.pos
	}
	return s.pos
}

// texts reads a list of scalars; nil when the key is not there.
func (s section) texts(key string) []string {
	n := s.n.get(key)
	if n == nil || n.bad {
		return nil
	}
	list := make([]string, 0, len(n.items))
	for i, item := range n.items {
		if v, ok := s.l.scalar(item, s.f.member(key).Elem, fmt.Sprintf("%s[%d]", join(s.at, key), i)); ok {
			list = append(list, v.text)
		}
	}
	return list
}

// options reads a mapping of the author's keys to text; nil when the key is not there.
func (s section) options(key string) map[string]string {
	n := s.n.get(key)
	if n == nil || n.bad {
		return nil
	}
	m := make(map[string]string, len(n.entries))
	for _, e := range n.entries {
		if v, ok := s.l.scalar(e.value, s.f.member(key).Elem, join(join(s.at, key), e.key)); ok {
			m[e.key] = v.text
		}
	}
	return m
}

// optionsAt tells where those options are written.
func (s section) optionsAt(key string) map[string]OptionAt {
	n := s.n.get(key)
	if n == nil || n.bad {
		return nil
	}
	m := make(map[string]OptionAt, len(n.entries))
	for _, e := range n.entries {
		at := OptionAt{Pos: e.pos, Open: e.value.open}
		if e.value.from != "" {
			at.Pos = s.pos
		}
		m[e.key] = at
	}
	return m
}

// each opens every mapping of a Map key, in the order of the file.
func (s section) each(key string, fn func(name string, in section)) {
	f, n := s.f.member(key), s.n.get(key)
	if n == nil && f.Required && !s.bad() {
		s.missing(f)
	}
	if n == nil || n.bad {
		return
	}
	if f.Required && len(n.entries) == 0 && !n.partial {
		s.l.at(n, join(s.at, key)+" is empty", "as in "+f.sample())
	}
	for _, e := range n.entries {
		fn(e.key, section{s.l, e.value, f.Elem, join(join(s.at, key), e.key), e.pos})
	}
}
