package config

import (
	"fmt"
	"strings"
)

// template is a text with expressions in it: literal text and {{ expressions }} by turns.
type template []part

type part struct {
	literal string
	expr    *expr // nil: literal text
	open    int   // offset of {{ in the text
}

// expr is a literal, a name, or a call; a filter is a call whose first argument stood before it.
type expr struct {
	kind exprKind
	text string // the literal's text, the name, or the function
	args []*expr
	at   int // offset in the text
}

type exprKind int

const (
	literalExpr exprKind = iota
	numberExpr
	variableExpr
	envExpr
	callExpr
)

// templateError is a mistake in a template.
type templateError struct {
	open    int // offset of the expression's {{
	at      int // offset of the mistake
	message string
	hint    string
}

func (e *templateError) Error() string { return e.message }

func parseTemplate(text string) (template, *templateError) {
	var t template
	for pos := 0; ; {
		open := strings.Index(text[pos:], "{{")
		if open < 0 {
			return append(t, part{literal: text[pos:]}), nil
		}
		open += pos
		p := &exprParser{text: text, pos: open + 2, open: open}
		e, err := p.whole()
		if err != nil {
			return nil, err
		}
		t = append(t, part{literal: text[pos:open]}, part{expr: e, open: open})
		pos = p.pos
	}
}

// exprParser reads one expression: operand { "|" filter }.
type exprParser struct {
	text  string
	pos   int
	open  int
	depth int
}

func (p *exprParser) fail(at int, message, hint string) *templateError {
	return &templateError{open: p.open, at: at, message: message, hint: hint}
}

func (p *exprParser) space() {
	for p.pos < len(p.text) && strings.IndexByte(" \t\r\n", p.text[p.pos]) >= 0 {
		p.pos++
	}
}

// take consumes s, after white space, if it comes next.
func (p *exprParser) take(s string) bool {
	p.space()
	if strings.HasPrefix(p.text[p.pos:], s) {
		p.pos += len(s)
		return true
	}
	return false
}

func isWord(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

func (p *exprParser) word() string {
	start := p.pos
	for p.pos < len(p.text) && isWord(p.text[p.pos]) {
		p.pos++
	}
	return p.text[start:p.pos]
}

func (p *exprParser) whole() (*expr, *templateError) {
	e, err := p.expr()
	if err != nil {
		return nil, err
	}
	if !p.take("}}") {
		return nil, p.unexpected("| or }}")
	}
	return e, nil
}

func (p *exprParser) unexpected(want string) *templateError {
	p.space()
	if p.pos >= len(p.text) {
		return p.fail(p.open, "{{ is never closed", "close it with }}")
	}
	hint := "want " + want
	if strings.IndexByte("+-", p.text[p.pos]) >= 0 {
		hint = "dates are added to by date_add: {{ dt | date_add(-1) }}"
	}
	r := []rune(p.text[p.pos:min(len(p.text), p.pos+4)])[0]
	return p.fail(p.pos, fmt.Sprintf("unexpected %q in {{ }}", r), hint)
}

func (p *exprParser) expr() (*expr, *templateError) {
	const most = 32
	if p.depth++; p.depth > most {
		return nil, p.fail(p.pos, fmt.Sprintf("more than %d expressions inside each other", most), "")
	}
	defer func() { p.depth-- }()
	e, err := p.operand()
	for err == nil && p.take("|") {
		p.space()
		call := &expr{kind: callExpr, at: p.pos, args: []*expr{e}}
		if call.text = p.word(); call.text == "" {
			return nil, p.unexpected("the name of a function")
		}
		if p.take("(") {
			err = p.args(call)
		}
		if err == nil {
			err = p.known(call)
		}
		e = call
	}
	return e, err
}

func (p *exprParser) operand() (*expr, *templateError) {
	p.space()
	start := p.pos
	if start >= len(p.text) {
		return nil, p.unexpected("")
	}
	c := p.text[start]
	switch {
	case c == '\'' || c == '"':
		end := strings.IndexByte(p.text[start+1:], c)
		if end < 0 {
			return nil, p.fail(start, "a text in {{ }} is never closed", "close it with "+string(c))
		}
		p.pos = start + 1 + end + 1
		return &expr{kind: literalExpr, text: p.text[start+1 : start+1+end], at: start}, nil
	case c >= '0' && c <= '9', c == '-' && start+1 < len(p.text) && p.text[start+1] >= '0' && p.text[start+1] <= '9':
		p.pos++
		p.word()
		return &expr{kind: numberExpr, text: p.text[start:p.pos], at: start}, nil
	}
	name := p.word()
	switch {
	case name == "":
		return nil, p.unexpected("a name, a text in quotes, or a number")
	case p.take("("):
		call := &expr{kind: callExpr, text: name, at: start}
		if err := p.args(call); err != nil {
			return nil, err
		}
		return call, p.known(call)
	case !p.take("."):
		return &expr{kind: variableExpr, text: name, at: start}, nil
	}
	p.space()
	field := p.word()
	if name != "env" || field == "" {
		return nil, p.fail(start, fmt.Sprintf("%s.%s means nothing in {{ }}", name, field), "env.NAME is an environment variable; a variable is named alone")
	}
	return &expr{kind: envExpr, text: field, at: start}, nil
}

// args reads what stands between parentheses, the opening one consumed.
func (p *exprParser) args(call *expr) *templateError {
	if p.take(")") {
		return nil
	}
	for {
		e, err := p.expr()
		if err != nil {
			return err
		}
		call.args = append(call.args, e)
		if p.take(")") {
			return nil
		}
		if !p.take(",") {
			return p.unexpected(", or )")
		}
	}
}

// functions are how each is called, for messages and hints.
func functions() map[string]string {
	return map[string]string{
		"date_add":    "date_add(dt, 1)",
		"date_format": "date_format(dt, '%Y/%m')",
		"default":     "default(region, 'eu')",
		"secret":      "secret('env/PGPASSWORD')",
	}
}

// known refuses a function that is not there, or that has not as many arguments as it takes.
func (p *exprParser) known(call *expr) *templateError {
	usage, ok := functions()[call.text]
	switch {
	case !ok:
		var names []string
		for name := range functions() {
			names = append(names, name)
		}
		return p.fail(call.at, "there is no function "+quote(call.text), DidYouMean(call.text, names))
	case call.text == "secret" && len(call.args) != 1:
		return p.fail(call.at, "secret takes one argument", "as in "+usage)
	case call.text != "secret" && len(call.args) != 2:
		return p.fail(call.at, call.text+" takes two arguments", "as in "+usage+", or the first before |")
	}
	return nil
}
