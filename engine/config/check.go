package config

import (
	"fmt"
	"strings"
)

// check compares a node with its declaration: the kind of value, known keys, and scalars that need no rendering.
// at is its dotted path, for messages. It rewrites a short form to the long one.
func (l *loader) check(n *node, f *Field, at string) {
	if n.bad {
		return
	}
	if f.Short != "" && n.kind == scalarNode && n.tag != tagNull {
		inner := *n
		*n = node{kind: mappingNode, pos: n.pos, src: n.src, offset: n.offset,
			entries: []entry{{f.Short, n.pos, &inner}}}
	}
	if f.Listed != "" && n.kind == listNode {
		l.listed(n, f, at)
	}
	want := scalarNode
	switch f.Kind {
	case Object, Map:
		want = mappingNode
	case List:
		want = listNode
	}
	if n.kind != want {
		l.mismatch(n, f, at, want)
		return
	}
	switch f.Kind {
	case Object:
		l.checkKeys(n, f, at)
	case Map:
		l.checkNames(n, f, at)
	case List:
		for i, item := range n.items {
			l.check(item, f.Elem, fmt.Sprintf("%s[%d]", at, i))
		}
	case Scalar: // its type is known only with the variable's
	default:
		if n.isTemplate() {
			if _, err := parseTemplate(n.text); err != nil {
				l.templateProblem(n, err)
			}
			return
		}
		l.scalar(n, f, at)
	}
}

// listed rewrites a bare list to the map that it stands for.
func (l *loader) listed(n *node, f *Field, at string) {
	long := node{kind: mappingNode, pos: n.pos, src: n.src, offset: n.offset}
	for i, item := range n.items {
		if item.kind != scalarNode || item.tag != tagText {
			l.scalar(item, &Field{Kind: Text}, fmt.Sprintf("%s[%d]", at, i))
			long.partial = true
			continue
		}
		long.entries = append(long.entries, entry{item.text, item.pos, &node{tag: tagText, text: f.Listed, pos: item.pos, src: item.src, offset: item.offset}})
	}
	*n = long
}

func (l *loader) mismatch(n *node, f *Field, at string, want nodeKind) {
	n.bad = true
	wants := map[nodeKind]string{scalarNode: "one value", mappingNode: "keys and values", listNode: "a list"}[want]
	if n.kind == scalarNode && n.tag == tagNull {
		l.add(n.pos, at+" has no value", "give it "+wants+", or remove the key")
		return
	}
	hint := ""
	if f.Example != "" {
		hint = "as in " + f.Name + ": " + f.Example
	}
	if want == listNode && n.kind == scalarNode {
		hint = "write [" + n.text + "]"
	}
	l.add(n.pos, at+" wants "+wants+", not "+n.what(), hint)
}

// checkKeys looks at a mapping with declared keys.
func (l *loader) checkKeys(n *node, f *Field, at string) {
	kept := n.entries[:0:0]
	for _, e := range n.entries {
		if strings.HasPrefix(e.key, "x-") {
			continue
		}
		m := f.member(e.key)
		switch {
		case m == nil:
			l.add(e.pos, "unknown key "+quote(e.key)+within(at), DidYouMean(e.key, f.memberNames()))
		case m.Later:
			hint := "remove the key"
			if m.Instead != "" {
				hint += "; " + m.Instead
			}
			l.add(e.pos, quote(e.key)+within(at)+" is not in this version", hint)
			n.partial = true
		default:
			l.check(e.value, m, join(at, e.key))
			kept = append(kept, e)
		}
	}
	n.entries = kept
}

// checkNames looks at a mapping whose keys the author names.
func (l *loader) checkNames(n *node, f *Field, at string) {
	seen := map[string]entry{}
	kept := n.entries[:0:0]
	for _, e := range n.entries {
		path := join(at, e.key)
		if f.Keys == Name && !l.checkName(e, at) {
			n.partial = true
			continue
		}
		if e.key == "" {
			l.add(e.pos, "an empty key"+within(at), "give it a name")
			continue
		}
		folded := strings.ToLower(e.key)
		if first, twice := seen[folded]; twice {
			l.add(e.pos, fmt.Sprintf("%s and %s at %s differ only in case", path, quote(first.key), first.pos), "rename one of the two")
			continue
		}
		seen[folded] = e
		l.check(e.value, f.Elem, path)
		kept = append(kept, e)
	}
	n.entries = kept
}

// checkName reports a name that breaks the rule.
func (l *loader) checkName(e entry, at string) bool {
	pos, name := e.pos, e.key
	switch {
	case strings.HasPrefix(name, "x-"):
		l.add(pos, quote(name)+within(at)+" begins with x-, which is kept for keys that mean nothing", "rename it, or move the anchor to the top of the file")
	case !isName(name):
		hint := nameRule
		if strings.Contains(name, " ") && e.value.kind == scalarNode && e.value.tag == tagNull && e.value.text == "" {
			hint = "a comma ends a value within { }: quote SQL that holds one; names are " + nameRule
		}
		l.add(pos, quote(name)+within(at)+" cannot be a name", hint)
	default:
		return true
	}
	return false
}

func join(at, key string) string {
	if at == "" {
		return key
	}
	return at + "." + key
}

func within(at string) string {
	if at == "" {
		return ""
	}
	return " in " + at
}
