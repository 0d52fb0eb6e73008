package config

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// checkKinds are the keys of which a check has one.
var checkKinds = []string{"not_null", "unique", "between", "one_of", "matches", "rows", "columns"}

// expect reads the data checks of a task, and gives the outputs that take quarantined rows their relation.
func (l *loader) expect(s section, t *Task, relations []string) {
	n := s.n.get("expect")
	if n == nil || n.bad {
		return
	}
	f := s.f.member("expect").Elem
	for _, e := range n.entries {
		at := join(s.at, "expect."+e.key)
		if !slices.Contains(relations, e.key) {
			l.add(e.pos, at+": there is no step or input "+quote(e.key)+" in the task", DidYouMean(e.key, relations))
			continue
		}
		for i, item := range e.value.items {
			in := section{l, item, f.Elem, fmt.Sprintf("%s[%d]", at, i), item.pos}
			if item.bad {
				continue
			}
			for _, c := range l.dataCheck(in) {
				c.Relation = e.key
				l.quarantine(in, t, &c, relations)
				t.Checks = append(t.Checks, c)
			}
		}
	}
}

// dataCheck reads one item: a check for each column that it names one by one.
func (l *loader) dataCheck(s section) []Check {
	kinds := slices.DeleteFunc(slices.Clone(checkKinds), func(k string) bool { return s.n.get(k) == nil })
	switch {
	case len(kinds) == 0 && s.bad():
		return nil
	case len(kinds) == 0:
		l.add(s.pos, s.at+" names no check", "as in {not_null: [id]}; known: "+strings.Join(checkKinds, ", "))
		return nil
	case len(kinds) > 1:
		l.add(s.pos, s.at+" has "+kinds[0]+" and "+kinds[1], "make an item of each")
		return nil
	}
	kind := kinds[0]
	n := s.n.get(kind)
	if n.bad {
		return nil
	}
	if len(n.items)+len(n.entries) == 0 && !n.partial {
		l.at(n, join(s.at, kind)+" is empty", "as in "+s.f.member(kind).sample())
		return nil
	}
	base := Check{Kind: kind, Severity: s.text("severity"), To: s.text("to"), Pos: s.pos}
	var all []Check
	switch kind {
	case "not_null":
		for i, item := range n.items {
			if v, ok := l.scalar(item, s.f.member(kind).Elem, fmt.Sprintf("%s.%s[%d]", s.at, kind, i)); ok {
				c := base
				c.Columns, c.Open = []string{v.text}, item.open
				all = append(all, c)
			}
		}
	case "unique":
		all = append(all, l.unique(s, n, base))
	case "rows":
		all = append(all, l.rowCount(s.sub(kind), base))
	case "columns":
		c := base
		for _, e := range n.entries {
			if v, ok := l.scalar(e.value, s.f.member(kind).Elem, join(s.at, kind+"."+e.key)); ok {
				c.Types = append(c.Types, Column{Name: e.key, Type: v.text, Pos: e.pos, Open: e.value.open})
			}
		}
		all = append(all, c)
	default:
		for _, e := range n.entries {
			c := base
			c.Columns = []string{e.key}
			l.columnCheck(section{l, e.value, s.f.member(kind).Elem, join(s.at, kind+"."+e.key), e.pos}, &c)
			all = append(all, c)
		}
	}
	for i := range all {
		all[i].Text = all[i].spell()
	}
	return all
}

func (l *loader) unique(s section, n *node, c Check) Check {
	c.Columns = s.texts("unique")
	seen := map[string]bool{}
	for _, item := range n.items {
		c.Open = c.Open || item.open
		if folded := strings.ToLower(item.text); seen[folded] {
			l.at(item, s.at+".unique names "+quote(item.text)+" twice", "remove one of the two")
		} else {
			seen[folded] = true
		}
	}
	return c
}

// rowCount reads the bounds of rows.
func (l *loader) rowCount(s section, c Check) Check {
	least, most := l.bounds(s, &c)
	if least != nil && most != nil && s.number("min") > s.number("max") && !c.Open && !least.bad && !most.bad {
		l.at(least, fmt.Sprintf("%s: min %s is more than max %s", s.at, *c.Min, *c.Max), "no number of rows is between them")
	}
	return c
}

// bounds reads min and max, of which one must be there.
func (l *loader) bounds(s section, c *Check) (least, most *node) {
	read := func(key string) (*node, *string) {
		n := s.n.get(key)
		if n == nil || n.bad {
			return n, nil
		}
		text := s.text(key)
		c.Open = c.Open || n.open
		return n, &text
	}
	least, c.Min = read("min")
	most, c.Max = read("max")
	if least == nil && most == nil && !s.bad() {
		l.add(s.pos, s.at+" has neither min nor max", "as in {min: 0}")
	}
	return least, most
}

// columnCheck reads what is expected of one column.
func (l *loader) columnCheck(s section, c *Check) {
	if s.n.bad {
		return
	}
	switch c.Kind {
	case "between":
		l.bounds(s, c)
	case "one_of":
		if len(s.n.items) == 0 {
			l.at(s.n, s.at+" is empty, so that no value could pass", "name the values")
		}
		for i, item := range s.n.items {
			if v, ok := l.scalar(item, s.f.Elem, fmt.Sprintf("%s[%d]", s.at, i)); ok {
				c.Values = append(c.Values, v.text)
			}
			c.Open = c.Open || item.open
		}
	case "matches":
		v, _ := l.scalar(s.n, s.f, s.at)
		c.Pattern, c.Open = v.text, s.n.open
	}
}

// quarantine finds the output that takes the rows which break a check. To is empty where there is none.
func (l *loader) quarantine(s section, t *Task, c *Check, relations []string) {
	n, to := s.n.get("to"), c.To
	c.To = ""
	switch {
	case n != nil && n.bad:
		return
	case c.Severity != "quarantine" && n != nil:
		l.at(n, s.at+" has to, and its severity is "+c.Severity, "add severity: quarantine, or remove the key")
		return
	case c.Severity != "quarantine":
		return
	case c.Kind == "rows" || c.Kind == "columns":
		l.add(s.pos, s.at+": "+c.Kind+" is not about single rows, so none can be put into quarantine", "use severity fail or warn")
		return
	case n == nil:
		l.add(s.pos, s.at+" has severity quarantine and no to", "name the output that takes the rows, as in to: bad_rows")
		return
	}
	var names []string
	for _, o := range t.Outputs {
		names = append(names, o.Name)
	}
	i := slices.Index(names, to)
	if i < 0 {
		l.at(n, s.at+".to: the task has no output "+quote(to), DidYouMean(to, names))
		return
	}
	o := &t.Outputs[i]
	taken := func(k Check) bool { return k.Relation == c.Relation && k.To != "" }
	at := slices.IndexFunc(t.Checks, taken)
	switch {
	case o.Quarantine && o.From != c.Relation:
		l.at(n, s.at+".to: "+to+" takes the rows of "+o.From+" already", "add an output for those of "+c.Relation)
	case !o.Quarantine && o.From != "":
		l.at(n, s.at+".to: the output "+to+" writes "+o.From, "rows in quarantine need an output without from")
	case slices.Contains(relations, to):
		l.at(n, s.at+".to: the output "+to+" has the name of a step or input", "rename it: it takes rows of another kind")
	case o.Mode == "ignore":
		l.at(n, s.at+".to: the output "+to+" has mode ignore, so the rows could be lost", "use another mode")
	case at >= 0 && t.Checks[at].To != to:
		l.at(n, s.at+".to: rows of "+c.Relation+" go to "+t.Checks[at].To+" already", "a row that breaks several checks goes to one output: name the same one")
	default:
		c.To, o.Quarantine, o.From = to, true, c.Relation
	}
}

// reconcile reads the comparisons of input and output.
func (l *loader) reconcile(s section, t *Task) {
	n := s.n.get("reconcile")
	if n == nil || n.bad {
		return
	}
	f := s.f.member("reconcile")
	var inputs, outputs []string
	for _, in := range t.Inputs {
		inputs = append(inputs, in.Name)
	}
	for _, o := range t.Outputs {
		outputs = append(outputs, o.Name)
	}
	for i, item := range n.items {
		in := section{l, item, f.Elem, fmt.Sprintf("%s.reconcile[%d]", s.at, i), item.pos}
		if item.bad {
			continue
		}
		b := Balance{Input: in.text("input"), Outputs: append([]string{in.text("output")}, in.texts("plus")...), MaxLost: in.number("max_lost"),
			Sum: in.text("sum"), Severity: in.text("severity"), Pos: item.pos}
		l.named(item.get("input"), in.at+".input: the task has no input ", inputs)
		l.named(item.get("output"), in.at+".output: the task has no output ", outputs)
		if plus := item.get("plus"); plus != nil && !plus.bad {
			for i, p := range plus.items {
				if l.named(p, in.at+".plus: the task has no output ", outputs); slices.Contains(b.Outputs[:i+1], p.text) && !p.bad {
					l.at(p, in.at+".plus: "+p.text+" counts already", "remove it")
				}
			}
		}
		l.measure(in, &b)
		b.Text = b.spell()
		t.Balances = append(t.Balances, b)
	}
}

// named refuses a name that is not among those known.
func (l *loader) named(n *node, message string, known []string) {
	if n != nil && !n.bad && !n.open && !slices.Contains(known, n.text) {
		l.at(n, message+quote(n.text), DidYouMean(n.text, known))
	}
}

// measure reads what is compared.
func (l *loader) measure(s section, b *Balance) {
	given := slices.DeleteFunc([]string{"rows", "max_lost", "sum"}, func(key string) bool { return s.n.get(key) == nil })
	switch {
	case s.bad():
	case len(given) == 0:
		l.add(s.pos, s.at+" compares nothing", "add rows: equal, max_lost or sum")
	case len(given) > 1:
		l.add(s.pos, s.at+" has "+given[0]+" and "+given[1], "make an item of each")
	}
	n := s.n.get("tolerance")
	if n == nil || n.bad {
		return
	}
	text := s.text("tolerance")
	switch normal, err := normaliseDecimal(text); {
	case s.n.get("sum") == nil:
		l.at(n, s.at+" has tolerance and no sum", "max_lost says how many rows may be missing")
	case n.open || n.bad:
	case err != nil || strings.HasPrefix(normal, "-"):
		l.at(n, s.at+".tolerance: "+quote(text)+" is not a decimal number from zero up", "as in 0.01")
	default:
		b.Tolerance = normal
	}
}

// spell gives a check in one spelling, as YAML on one line.
func (c Check) spell() string {
	text := ""
	switch c.Kind {
	case "not_null", "unique":
		text = flowList(c.Columns)
	case "rows":
		text = flowBounds(c.Min, c.Max)
	case "columns":
		text = flowColumns(c.Types)
	case "between":
		text = "{" + flow(c.Columns[0]) + ": " + flowBounds(c.Min, c.Max) + "}"
	case "one_of":
		text = "{" + flow(c.Columns[0]) + ": " + flowList(c.Values) + "}"
	case "matches":
		text = "{" + flow(c.Columns[0]) + ": " + flow(c.Pattern) + "}"
	}
	return shorten(c.Kind + ": " + text)
}

func (b Balance) spell() string {
	text := "reconcile: {input: " + flow(b.Input) + ", output: " + flow(b.Outputs[0])
	if len(b.Outputs) > 1 {
		text += ", plus: " + flowList(b.Outputs[1:])
	}
	switch {
	case b.Sum != "" && b.Tolerance != "":
		text += ", sum: " + flow(b.Sum) + ", tolerance: " + b.Tolerance
	case b.Sum != "":
		text += ", sum: " + flow(b.Sum)
	case b.MaxLost > 0:
		text += fmt.Sprintf(", max_lost: %d", b.MaxLost)
	default:
		text += ", rows: equal"
	}
	return shorten(text + "}")
}

// shorten cuts what is too long for a line.
func shorten(text string) string {
	const most = 100
	if all := []rune(text); len(all) > most {
		return string(all[:most-1]) + "…"
	}
	return text
}

// plainFlow is text that means itself in YAML's braces.
var plainFlow = regexp.MustCompile(`^[\p{L}\p{N}_]([\p{L}\p{N}_. +()-]*[\p{L}\p{N}_.+()-])?$|^-?[0-9.]+$`)

func flow(text string) string {
	if plainFlow.MatchString(text) {
		return text
	}
	return strconv.Quote(text)
}

func flowList(all []string) string {
	quoted := make([]string, len(all))
	for i, text := range all {
		quoted[i] = flow(text)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

func flowColumns(columns []Column) string {
	var names, all []string
	typed := false
	for _, c := range columns {
		names = append(names, c.Name)
		all = append(all, flow(c.Name)+": "+flow(c.Type))
		typed = typed || !strings.EqualFold(c.Type, AnyType)
	}
	if !typed {
		return flowList(names)
	}
	return "{" + strings.Join(all, ", ") + "}"
}

func flowBounds(least, most *string) string {
	var all []string
	if least != nil {
		all = append(all, "min: "+flow(*least))
	}
	if most != nil {
		all = append(all, "max: "+flow(*most))
	}
	return "{" + strings.Join(all, ", ") + "}"
}
