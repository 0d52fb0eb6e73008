package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/ubunye-io/ubunye/engine/problem"
)

// Limits that no honest file comes near: they stop a small file from growing without end.
const (
	maxNodes = 100_000 // nodes after every alias was copied
	maxDepth = 64      // nodes inside each other
)

type nodeKind int

const (
	scalarNode nodeKind = iota
	mappingNode
	listNode
)

// YAML's types of a scalar.
const (
	tagText  = "!!str"
	tagNull  = "!!null"
	tagBool  = "!!bool"
	tagInt   = "!!int"
	tagFloat = "!!float"
	tagTime  = "!!timestamp"
	tagMerge = "!!merge"
)

// node is one value of the file, or one that the environment or a flag gave.
type node struct {
	kind    nodeKind
	pos     problem.Pos
	src     *source // nil when it is not from the file
	offset  int     // in src
	tag     string  // of a scalar
	text    string  // of a scalar, as spelled
	entries []entry // of a mapping, in order
	items   []*node // of a list
	from    string  // what set it, if not the file
	bad     bool    // a problem has been reported; nothing more is to be said
	open    bool    // text that depends on a variable without a value, as written
	render  bool    // text that came out of a template
	partial bool    // a mapping of which a key was refused, so that what is missing is not news
}

type entry struct {
	key   string
	pos   problem.Pos // of the key
	value *node
}

func (n *node) get(key string) *node {
	if e := n.find(key); e != nil {
		return e.value
	}
	return nil
}

// find gives the entry of a key, to be looked at or changed.
func (n *node) find(key string) *entry {
	if n != nil {
		for i := range n.entries {
			if n.entries[i].key == key {
				return &n.entries[i]
			}
		}
	}
	return nil
}

// put sets a key, replacing an earlier value in its place.
func (n *node) put(e entry) {
	if old := n.find(e.key); old != nil {
		*old = e
		return
	}
	n.entries = append(n.entries, e)
}

// parse turns the file into a tree; nil after a problem that leaves nothing to look at.
func (l *loader) parse(src *source) *node {
	if p := src.readable(); p != nil {
		l.problems = append(l.problems, p)
		return nil
	}
	dec := yaml.NewDecoder(bytes.NewReader(src.data))
	var doc, second yaml.Node
	switch err := dec.Decode(&doc); {
	case errors.Is(err, io.EOF):
		l.add(src.pos(0), "the file is empty", l.holds())
		return nil
	case err != nil:
		l.syntax(src, err)
		return nil
	}
	switch err := dec.Decode(&second); {
	case err == nil:
		l.add(src.pos(src.offset(second.Line, second.Column)), "a second YAML document begins here", "the file holds one; remove the line ---")
		return nil
	case !errors.Is(err, io.EOF):
		l.syntax(src, err)
		return nil
	}
	b := &builder{loader: l, src: src, left: maxNodes, inside: map[*yaml.Node]bool{}}
	root := b.build(doc.Content[0], 0)
	switch {
	case b.stopped:
		return nil
	case root.kind == scalarNode && root.tag == tagNull:
		l.add(src.pos(0), "the file is empty", l.holds())
		return nil
	case root.kind != mappingNode:
		l.add(root.pos, "the file holds "+root.what()+", not keys and values", l.holds())
		return nil
	}
	return root
}

// yamlError takes apart the only form in which the YAML reader gives the place of a mistake. Its parser, unlike its
// scanner, counts lines from 0, and names the line where the block began that it could not go on with.
var yamlError = regexp.MustCompile(`^yaml: (?:line (\d+): )?((did not find expected )?.*)`)

// syntax reports what the YAML reader could not read.
func (l *loader) syntax(src *source, err error) {
	parts := yamlError.FindStringSubmatch(err.Error())
	if parts == nil {
		l.add(problem.Pos{File: src.name}, "YAML cannot be read: "+err.Error(), "")
		return
	}
	pos, message := problem.Pos{File: src.name}, "YAML cannot be read: "+parts[2]
	line, _ := strconv.Atoi(parts[1]) // 0 when there is none
	if line > 0 {
		if parts[3] != "" {
			line++
			message = "YAML cannot be read from here on: " + parts[2]
		}
		line = min(line, len(src.starts))
		pos = problem.Pos{File: src.name, Line: line, Col: 1}
	}
	// The reader names the line where it noticed; what is at fault stands there or just before.
	for _, n := range []int{line, line - 1, line + 1} {
		text := src.line(n)
		indent := text[:len(text)-len(bytes.TrimLeft(text, " \t"))]
		if i := bytes.IndexByte(indent, '\t'); i >= 0 {
			l.add(problem.Pos{File: src.name, Line: n, Col: i + 1}, "a tab in the indentation", "YAML is indented with spaces")
			return
		}
	}
	if parts[3] != "" && l.brackets(src, line) {
		return
	}
	for _, n := range []int{line, line - 1, line + 1} {
		if i := bytes.Index(src.line(n), []byte("{{")); i >= 0 {
			l.add(problem.Pos{File: src.name, Line: n, Col: i + 1}, message, "quote a value that holds {{ }}")
			return
		}
	}
	l.add(pos, message, "a text that holds a colon and a space, or begins with one of * & ! % @ ` { [, needs quotes")
}

// builder copies YAML's nodes into ours.
type builder struct {
	*loader
	src     *source
	left    int                 // nodes that may still be made
	inside  map[*yaml.Node]bool // what encloses the present node, to find an alias of itself
	stopped bool                // a limit was passed and reported
}

func (b *builder) build(y *yaml.Node, depth int) *node {
	n := &node{src: b.src, offset: b.src.offset(y.Line, y.Column)}
	n.pos = b.src.pos(n.offset)
	if b.left--; b.left < 0 || depth > maxDepth || b.inside[y] {
		n.bad = true
		if !b.stopped {
			b.stopped = true
			message, hint := b.limit(y)
			b.add(n.pos, message, hint)
		}
	}
	if b.stopped {
		return n
	}
	if y.Style&yaml.TaggedStyle != 0 && y.ShortTag() != tagText {
		b.add(n.pos, "the YAML tag "+y.Tag+" has no meaning here", "remove it")
		n.bad = true
		return n
	}
	b.inside[y] = true
	defer delete(b.inside, y)
	switch y.Kind {
	case yaml.AliasNode:
		return b.build(y.Alias, depth+1)
	case yaml.MappingNode:
		n.kind = mappingNode
		b.mapping(n, y, depth)
	case yaml.SequenceNode:
		n.kind = listNode
		for _, c := range y.Content {
			n.items = append(n.items, b.build(c, depth+1))
		}
	default:
		n.tag, n.text = y.ShortTag(), y.Value
		if n.tag == tagMerge {
			n.tag = tagText
		}
	}
	return n
}

func (b *builder) limit(y *yaml.Node) (message, hint string) {
	switch {
	case b.left < 0:
		return fmt.Sprintf("the file has more than %d values once every alias is written out", maxNodes), "anchors are for small blocks that are used a few times"
	case b.inside[y]:
		return "the block holds an alias of itself", "remove the alias"
	}
	return fmt.Sprintf("more than %d blocks inside each other", maxDepth), ""
}

// mapping fills n: what is written explicitly first, in order, then what merge keys add.
func (b *builder) mapping(n *node, y *yaml.Node, depth int) {
	seen := map[string]problem.Pos{}
	var merges []*yaml.Node
	for i := 0; i+1 < len(y.Content) && !b.stopped; i += 2 {
		k, v := y.Content[i], y.Content[i+1]
		pos := b.src.pos(b.src.offset(k.Line, k.Column))
		for k.Kind == yaml.AliasNode {
			k = k.Alias
		}
		if k.Kind != yaml.ScalarNode {
			b.add(pos, "a key must be text, not a list or a mapping", "quote a value that begins with {{")
			n.partial = true
			continue
		}
		if first, twice := seen[k.Value]; twice {
			b.add(pos, fmt.Sprintf("the key %s is here a second time; the first is at %s", quote(k.Value), first), "remove one of the two")
			continue
		}
		seen[k.Value] = pos
		switch tag := k.ShortTag(); tag {
		case tagMerge:
			merges = append(merges, v)
		case tagText:
			n.entries = append(n.entries, entry{k.Value, pos, b.build(v, depth+1)})
		default:
			b.add(pos, fmt.Sprintf("the key %s is %s in YAML", k.Value, tagWord(tag)), "quote it: "+strconv.Quote(k.Value))
		}
	}
	for _, m := range merges {
		b.merge(n, m, depth, seen)
	}
	n.bad = n.partial && len(n.entries) == 0 // {{ dt }} without quotes: no mapping was meant
}

// merge adds the keys of a merge key's value that n does not have yet, as seen tells.
func (b *builder) merge(n *node, y *yaml.Node, depth int, seen map[string]problem.Pos) {
	m := b.build(y, depth+1)
	from := []*node{m}
	if m.kind == listNode {
		from = m.items
	}
	for _, f := range from {
		if f.kind != mappingNode {
			if !f.bad {
				b.add(f.pos, "<< wants a mapping, or a list of them, not "+f.what(), "")
			}
			continue
		}
		for _, e := range f.entries {
			if _, has := seen[e.key]; !has {
				seen[e.key] = e.pos
				n.entries = append(n.entries, e)
			}
		}
	}
}

// what says in words what a node is.
func (n *node) what() string {
	switch n.kind {
	case mappingNode:
		return "a mapping"
	case listNode:
		return "a list"
	}
	return tagWord(n.tag)
}

func tagWord(tag string) string {
	switch tag {
	case tagNull:
		return "nothing"
	case tagBool:
		return "a boolean"
	case tagInt, tagFloat:
		return "a number"
	case tagTime:
		return "a date"
	}
	return "text"
}

// quote puts a text from outside into a message: on one line, and not too long.
func quote(s string) string {
	const most = 80
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return strconv.Quote(s)
}
