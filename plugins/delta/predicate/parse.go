package predicate

import (
	"strconv"
	"strings"
)

// Condition is one that was read. Bind makes it one of a table.
type Condition struct{ root node }

// node is a part of a condition.
type node struct {
	op       op
	of       []node  // of and, or, not
	left     operand // of a test: a column, but of a comparison either
	right    operand
	operands []operand // the list of in
}

type op uint8

const (
	opAnd op = iota
	opOr
	opNot
	opEqual
	opLess
	opLessEqual
	opIn
	opIsNull
	opTrue // a column of booleans alone
	opConstant
)

// operand is a column or a literal.
type operand struct {
	column bool
	kind   kind   // of a literal: text, number or word (TRUE, FALSE)
	text   string // the name, or the literal
	at     int
	bound  bound
}

// Parse reads a condition. The error is an *Error.
func Parse(text string, dialect Dialect) (*Condition, error) {
	tokens, wrong := lex(text, dialect)
	if wrong != nil {
		return nil, wrong
	}
	if len(tokens) == 1 {
		return nil, &Error{At: 0, Reason: "the condition is empty", Hint: "an empty condition is never taken for all rows: use mode: overwrite for these"}
	}
	p := &parser{tokens: tokens}
	root := p.or(0)
	if t := p.peek(); p.err == nil && t.kind != end {
		p.refuse(t, "is not expected here")
	}
	if p.err != nil {
		return nil, p.err
	}
	return &Condition{root}, nil
}

type parser struct {
	tokens []token
	err    *Error
}

// deepest is how deeply conditions may nest.
const deepest = 200

func (p *parser) peek() token { return p.tokens[0] }

func (p *parser) next() token {
	t := p.tokens[0]
	if t.kind != end {
		p.tokens = p.tokens[1:]
	}
	return t
}

func (p *parser) refuse(t token, reason string) {
	if p.err != nil {
		return
	}
	what := strconv.Quote(t.text)
	if t.kind == end {
		what = "the end of the condition"
	}
	p.err = &Error{At: t.at, Reason: what + " " + reason, Hint: "conditions compare columns with literals, by = <> < <= > >= IN BETWEEN and IS NULL, with AND, OR and NOT"}
	p.tokens = p.tokens[len(p.tokens)-1:]
}

// take passes over a keyword or a sign if it comes.
func (p *parser) take(what string) bool {
	t := p.peek()
	if t.kind == sign && t.text == what || t.kind == word && strings.EqualFold(t.text, what) {
		p.next()
		return true
	}
	return false
}

func (p *parser) want(what string) {
	if !p.take(what) {
		p.refuse(p.peek(), "stands where "+what+" is expected")
	}
}

func (p *parser) or(depth int) node {
	parts := []node{p.and(depth)}
	for p.take("OR") {
		parts = append(parts, p.and(depth))
	}
	return join(opOr, parts)
}

func (p *parser) and(depth int) node {
	parts := []node{p.not(depth)}
	for p.take("AND") {
		parts = append(parts, p.not(depth))
	}
	return join(opAnd, parts)
}

func join(o op, parts []node) node {
	if len(parts) == 1 {
		return parts[0]
	}
	return node{op: o, of: parts}
}

func negate(n node) node { return node{op: opNot, of: []node{n}} }

func (p *parser) not(depth int) node {
	if depth > deepest {
		p.refuse(p.peek(), "is nested too deeply")
		return node{}
	}
	if p.take("NOT") {
		return negate(p.not(depth + 1))
	}
	if p.take("(") {
		n := p.or(depth + 1)
		p.want(")")
		return n
	}
	return p.test()
}

func (p *parser) test() node {
	left := p.operand()
	t := p.peek()
	if t.kind == sign {
		if o, swap, not := comparison(t.text); o != opConstant {
			p.next()
			n := node{op: o, left: left, right: p.operand()}
			if swap {
				n.left, n.right = n.right, n.left
			}
			if not {
				return negate(n)
			}
			return n
		}
	}
	if !left.column && left.kind == word && p.err == nil {
		return node{op: opConstant, left: left}
	}
	if !left.column {
		p.refuse(token{left.kind, left.text, left.at}, "stands alone")
		return node{}
	}
	switch {
	case p.take("IS"):
		not := p.take("NOT")
		p.want("NULL")
		return maybe(not, node{op: opIsNull, left: left})
	case p.take("IN"):
		return p.in(left)
	case p.take("BETWEEN"):
		return p.between(left)
	case p.take("NOT"):
		if p.take("IN") {
			return negate(p.in(left))
		}
		p.want("BETWEEN")
		return negate(p.between(left))
	}
	return node{op: opTrue, left: left}
}

func maybe(not bool, n node) node {
	if not {
		return negate(n)
	}
	return n
}

// comparison gives the test that an operator stands for: a > b is b < a, and a >= b is b <= a.
func comparison(text string) (o op, swap, not bool) {
	switch text {
	case "=", "==":
		return opEqual, false, false
	case "<>", "!=":
		return opEqual, false, true
	case "<":
		return opLess, false, false
	case "<=":
		return opLessEqual, false, false
	case ">":
		return opLess, true, false
	case ">=":
		return opLessEqual, true, false
	}
	return opConstant, false, false
}

func (p *parser) in(left operand) node {
	n := node{op: opIn, left: left}
	p.want("(")
	for {
		n.operands = append(n.operands, p.literal())
		if p.err != nil || !p.take(",") {
			break
		}
	}
	p.want(")")
	return n
}

func (p *parser) between(left operand) node {
	low := p.literal()
	p.want("AND")
	high := p.literal()
	return node{op: opAnd, of: []node{{op: opLessEqual, left: low, right: left}, {op: opLessEqual, left: left, right: high}}}
}

func (p *parser) literal() operand {
	o := p.operand()
	if o.column {
		p.refuse(token{word, o.text, o.at}, "is no literal")
	}
	return o
}

// reserved are the words that name no column unless they are quoted.
var reserved = []string{"AND", "OR", "NOT", "IS", "IN", "BETWEEN", "NULL", "LIKE", "CASE", "EXISTS", "SELECT"}

func (p *parser) operand() operand {
	t := p.next()
	switch t.kind {
	case text, number:
		return operand{kind: t.kind, text: t.text, at: t.at}
	case name:
		return operand{column: true, text: t.text, at: t.at}
	case sign:
		if n := p.peek(); (t.text == "-" || t.text == "+") && n.kind == number {
			p.next()
			return operand{kind: number, text: strings.TrimPrefix(t.text, "+") + n.text, at: t.at}
		}
	case word:
		n := p.peek()
		switch {
		case n.kind == text && (strings.EqualFold(t.text, "DATE") || strings.EqualFold(t.text, "TIMESTAMP")):
			p.next()
			return operand{kind: text, text: n.text, at: t.at}
		case strings.EqualFold(t.text, "TRUE"), strings.EqualFold(t.text, "FALSE"):
			return operand{kind: word, text: strings.ToLower(t.text), at: t.at}
		case n.kind == sign && n.text == "(" && !isReserved(t.text):
			p.refuse(t, "calls a function, which is not understood here")
			return operand{}
		case !isReserved(t.text):
			return operand{column: true, text: t.text, at: t.at}
		}
	}
	p.refuse(t, "stands where a column or a literal is expected")
	return operand{}
}

func isReserved(text string) bool {
	for _, r := range reserved {
		if strings.EqualFold(r, text) {
			return true
		}
	}
	return false
}
