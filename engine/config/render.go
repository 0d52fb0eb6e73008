package config

import (
	"bytes"
	"strings"
	"unicode"

	"github.com/ubunye-io/ubunye/engine/problem"
)

func (n *node) isTemplate() bool {
	return n.kind == scalarNode && n.tag == tagText && strings.Contains(n.text, "{{")
}

// renderAll renders what the variables' own stage has not: everything but variables and profiles.
func (l *loader) renderAll(root *node, top *Field, vars *scope) {
	for _, e := range root.entries {
		if e.key == "variables" || e.key == "profiles" {
			continue
		}
		if f := top.member(e.key); f != nil {
			l.renderTree(e.value, f, vars)
		}
	}
}

// renderTree renders each text of a tree once.
func (l *loader) renderTree(n *node, f *Field, s *scope) {
	if n.bad {
		return
	}
	if f.Constant && !s.constant {
		inner := *s
		inner.vars, inner.constant = nil, true
		s = &inner
	}
	switch f.Kind {
	case Object:
		for _, e := range n.entries {
			l.renderTree(e.value, f.member(e.key), s)
		}
	case Map:
		for _, e := range n.entries {
			l.renderTree(e.value, f.Elem, s)
		}
	case List:
		for _, item := range n.items {
			l.renderTree(item, f.Elem, s)
		}
	default:
		l.render(n, f, s)
	}
}

// render replaces the text of a scalar by what its template gives. What it gives is not looked at again.
func (l *loader) render(n *node, f *Field, s *scope) {
	if n.bad || n.render || n.from != "" || !n.isTemplate() {
		return
	}
	t, err := parseTemplate(n.text)
	if err != nil {
		l.templateProblem(n, err)
		return
	}
	var b strings.Builder
	var outside []span
	for _, p := range t {
		if p.expr == nil {
			b.WriteString(p.literal)
			continue
		}
		if !f.Secret && p.expr.asksSecret() {
			l.templateProblem(n, &templateError{open: p.open, at: p.expr.at, message: "a secret cannot stand here: it would be part of what is recorded", hint: "only url, user and password of a connection take one"})
			continue
		}
		v, err := s.use(p.expr, p.open)
		if err == nil && !v.missing {
			if message, hint := v.fits(f.Kind); message != "" {
				err = &templateError{open: p.open, at: p.expr.at, message: message, hint: hint}
			}
		}
		if err != nil {
			l.templateProblem(n, err)
			continue
		}
		n.open = n.open || v.missing
		if v.outside {
			outside = append(outside, span{b.Len(), b.Len() + len(v.text), p, v})
		}
		b.WriteString(v.text)
	}
	text := b.String()
	for _, o := range outside {
		if f.Kind == SQL && o.makesComment(text) {
			message, hint := o.value.notInSQL()
			l.templateProblem(n, &templateError{open: o.part.open, at: o.part.expr.at, message: message, hint: hint})
		}
	}
	if n.bad || n.open {
		return
	}
	n.text, n.render = text, true
}

// span is where a value from outside went.
type span struct {
	from, to int
	part     part
	value    value
}

// makesComment tells whether the value and the text beside it begin a comment in SQL.
func (s span) makesComment(text string) bool {
	around := text[max(0, s.from-1):min(len(text), s.to+1)]
	return s.from < s.to && (strings.Contains(around, "--") || strings.Contains(around, "/*"))
}

// notInSQL says that a value cannot go into SQL text, and what to do.
func (v value) notInSQL() (message, hint string) {
	hint = "write " + v.name + " in the SQL instead of {{ }}: it is bound as a value"
	if !strings.HasPrefix(v.name, "$") {
		hint = "declare a variable with the default {{ " + v.name + " }} and write $name in the SQL: it is bound as a value"
	}
	return "the value of " + v.name + " cannot be put into SQL text, which takes letters, digits, spaces and _-.:+/ and no --", hint
}

// fits says why a value from outside must not go into a text of this kind.
func (v value) fits(k Kind) (message, hint string) {
	if !v.outside {
		return "", ""
	}
	switch k {
	case SQL:
		bad := strings.IndexFunc(v.text, func(r rune) bool {
			return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune(" _-.:+/", r)
		})
		if bad >= 0 {
			return v.notInSQL()
		}
	case Path:
		switch {
		case v.text == "":
			return "the value of " + v.name + " is empty, so the path would name another folder", ""
		case strings.ContainsAny(v.text, `/\`), strings.Contains(v.text, ".."), strings.Trim(v.text, ".") == "":
			return "the value of " + v.name + " cannot be put into a path: it may hold neither a separator nor \"..\"", "write the folders in the file, and only a name as {{ }}"
		case strings.ContainsAny(v.text, "*?[]{}"), strings.IndexFunc(v.text, unicode.IsControl) >= 0:
			return "the value of " + v.name + " cannot be put into a path: it may hold neither *, ?, brackets nor control characters", ""
		}
	}
	return "", ""
}

// templateProblem reports a mistake in a text where it stands in the file.
func (l *loader) templateProblem(n *node, err *templateError) {
	l.add(n.within(err.open, err.at), err.message, err.hint)
	n.bad = true
}

// within gives the place in the file of a byte of the node's text, which belongs to the expression that begins
// at open. Folding and escapes move text about, so the expression is looked for, and what cannot be
// found is where the node is.
func (n *node) within(open, at int) problem.Pos {
	if n.src == nil {
		return n.pos
	}
	data, offset := n.src.data, n.offset
	for k := strings.Count(n.text[:open], "{{"); k >= 0; k-- {
		i := bytes.Index(data[offset:], []byte("{{"))
		if i < 0 {
			return n.pos
		}
		offset += i + 2
	}
	begin := offset - 2
	if bytes.HasPrefix(data[begin:], []byte(n.text[open:at])) {
		return n.src.pos(begin + at - open)
	}
	return n.src.pos(begin)
}

// unrendered refuses {{ in the text of a SQL file: it would reach the engine as it stands.
func (l *loader) unrendered(src *source) bool {
	i := bytes.Index(src.data, []byte("{{"))
	if i >= 0 {
		l.add(src.pos(i), "{{ in a SQL file, which is not templated", "write $name for a variable; for the text itself '{' || '{'")
	}
	return i < 0
}
