package config

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/ubunye-io/ubunye/engine/problem"
)

// supply is a variable's value from outside the file.
type supply struct {
	text string
	from string // how the person gave it, as "--dt"
}

// resolved is what the variables of the file came to.
type resolved struct {
	list  []Variable
	scope *scope
}

// variables reads the declarations and finds each one's value.
func (l *loader) variables(root *node, top *Field) *resolved {
	f := top.member("variables").Elem
	r := &resolved{scope: &scope{vars: map[string]value{}, env: l.env, file: func(path string) (string, error) { return secretFile(l.abs(path)) }}}
	if l.opts.AllowUnset {
		r.scope.needed = map[string]bool{}
	}
	declared := root.get("variables")
	if declared == nil {
		declared = &node{kind: mappingNode}
	}
	for _, e := range declared.entries {
		r.scope.declared = append(r.scope.declared, e.key)
	}
	supplies := l.supplies(r.scope.declared, declared.bad)
	for _, e := range declared.entries {
		switch {
		case e.key == "env":
			l.add(e.pos, "a variable cannot be called env", "env.NAME is an environment variable")
		case strings.Contains(e.key, "-"):
			l.add(e.pos, "the variable "+e.key+" has a - in its name", "SQL names it $"+e.key+", which must be one word: use _")
		}
		given, ok := supplies[e.key]
		v, bad := l.variable(section{l, e.value, f, "variables." + e.key, e.pos}, e.key, r.scope, given, ok)
		r.list = append(r.list, v)
		r.scope.vars[e.key] = value{text: v.Value, typ: v.Type, set: v.Set, missing: bad, outside: true, name: "$" + e.key}
	}
	return r
}

// variable reads one declaration and its value. bad: it should have a value and has none, which has been reported
// or is allowed.
func (l *loader) variable(d section, name string, s *scope, given supply, isGiven bool) (v Variable, bad bool) {
	for _, e := range d.n.entries {
		f := d.f.member(e.key)
		l.renderTree(e.value, f, s)
	}
	v = Variable{Name: name, Type: Type(d.text("type")), Doc: d.text("doc"), Pos: d.pos}
	v.SQLType = v.Type.sqlType()
	required, values, def := d.on("required"), d.texts("values"), d.n.get("default")
	l.checkDeclaration(d, v.Type, required, values, def)
	switch {
	case isGiven:
		text, err := v.Type.normalise(given.text, values)
		if err != nil {
			l.usage(given.from+": "+quote(given.text)+" "+err.Error(), l.declaredAs(given.text, v, values))
			return v, true
		}
		v.Value, v.Set, v.Given = text, true, true
	case def != nil:
		if def.bad || def.open {
			return v, true
		}
		text, ok := l.defaultText(def, v.Type, d.at+".default", values)
		if !ok {
			return v, true
		}
		v.Value, v.Set = text, true
	case required, name == l.opts.Varying:
		if !l.opts.AllowUnset {
			l.problems = append(l.problems, &problem.Problem{Code: problem.Usage, Pos: v.Pos,
				Message: "the variable " + name + " is required and was not given", Hint: "give " + howToGive(name, v.Type)})
		}
		return v, true
	}
	return v, d.n.bad
}

// checkDeclaration finds keys that contradict each other.
func (l *loader) checkDeclaration(d section, t Type, required bool, values []string, def *node) {
	list := d.n.get("values")
	switch {
	case t == TypeEnum && (list == nil || len(list.items) == 0) && !d.n.bad:
		l.add(d.pos, d.at+" is of type enum and has no values", "list them, as in values: [eu, us]")
	case t != TypeEnum && list != nil:
		l.add(list.pos, d.at+".values is for the type enum, not "+string(t), "write type: enum, or remove values")
	}
	if required && def != nil {
		l.add(def.pos, d.at+" is required and has a default", "remove one of the two")
	}
	for i, v := range values {
		if slices.Index(values, v) < i {
			l.add(list.items[i].pos, quote(v)+" is twice in "+d.at+".values", "remove one of the two")
		}
	}
}

// plainInt is how an int is written in a YAML file without leaving a doubt about its base.
var plainInt = regexp.MustCompile(`^(0|-?[1-9][0-9]*)$`)

// defaultText reads a default by the variable's type.
func (l *loader) defaultText(n *node, t Type, at string, values []string) (string, bool) {
	same := n.tag == tagText
	switch t {
	case TypeInt:
		same = same || n.tag == tagInt && plainInt.MatchString(n.text)
	case TypeDecimal:
		same = same || n.tag == tagFloat || n.tag == tagInt && plainInt.MatchString(n.text)
	case TypeBool:
		same = same || n.tag == tagBool
	case TypeDate, TypeTimestamp:
		same = same || n.tag == tagTime
	}
	if !same {
		l.unquoted(n, at)
		return "", false
	}
	text := n.text
	if t == TypeBool {
		text = strings.ToLower(text)
	}
	text, err := t.normalise(text, values)
	if err != nil {
		hint := "write it as " + t.example()
		if t == TypeEnum {
			hint = DidYouMean(n.text, values)
		}
		l.at(n, at+": "+quote(n.text)+" "+err.Error(), hint)
		return "", false
	}
	return text, true
}

// howToGive is the flag that gives a variable.
func howToGive(name string, t Type) string {
	if name == "dt" || name == "dtf" {
		return "--" + name + " " + t.example()
	}
	return "--var " + name + "=" + t.example()
}

// declaredAs is the hint for a value that does not fit.
func (l *loader) declaredAs(given string, v Variable, values []string) string {
	hint := "give " + howToGive(v.Name, v.Type)
	if v.Type == TypeEnum {
		hint = DidYouMean(given, values)
	}
	return strings.TrimPrefix(hint+"; "+v.Name+" is declared at "+v.Pos.String(), "; ")
}

// supplies collects what flags and environment give, the flag before the environment, and refuses names that
// are not declared. unknown: the declarations cannot be read, so any name may be right.
func (l *loader) supplies(declared []string, unknown bool) map[string]supply {
	got := map[string]supply{}
	take := func(name, text, from string) {
		if slices.Contains(declared, name) {
			got[name] = supply{text, from}
			return
		}
		if unknown {
			return
		}
		hint := DidYouMean(name, declared)
		if len(declared) == 0 {
			hint = "declare it: variables: {" + name + ": {type: text}}"
		}
		l.usage(from+": the pipeline has no variable "+quote(name), hint)
	}
	prefix := envPrefix + "VARIABLES__"
	for _, name := range envNames(l.env) {
		if key, ok := strings.CutPrefix(name, prefix); ok {
			key = strings.ToLower(key)
			for _, d := range declared {
				if strings.EqualFold(d, key) {
					key = d
				}
			}
			take(key, l.env[name], name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(l.opts.Vars)) {
		take(name, l.opts.Vars[name], "--var "+name)
	}
	for name, text := range map[string]*string{"dt": l.opts.Dt, "dtf": l.opts.Dtf} {
		if text == nil {
			continue
		}
		if other, twice := l.opts.Vars[name]; twice && other != *text {
			l.usage("--"+name+" and --var "+name+" give different values", "give one of them")
		}
		take(name, *text, "--"+name)
	}
	return got
}
