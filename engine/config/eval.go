package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// value is what an expression gives.
type value struct {
	text    string
	typ     Type   // empty: text without a type
	set     bool   // there is a value
	missing bool   // a required variable that was not given: it has been reported
	outside bool   // the text came from outside the file, and has to be checked where it goes
	name    string // what it is called, as $dt or env.HOME
}

// scope is what names in a template mean.
type scope struct {
	vars     map[string]value // those that may be used here
	declared []string         // all variables of the pipeline
	env      map[string]string
	constant bool // no variables here

	file func(path string) (string, error) // reads a file that holds a secret

	needed map[string]bool // variables without a value that a text needs, which are allowed; nil: none are
}

// eval gives the value of an expression. open is the offset of its {{.
func (s *scope) eval(e *expr, open int) (value, *templateError) {
	fail := func(message, hint string) (value, *templateError) {
		return value{}, &templateError{open: open, at: e.at, message: message, hint: hint}
	}
	switch e.kind {
	case literalExpr:
		return value{text: e.text, set: true}, nil
	case numberExpr:
		return value{text: e.text, typ: TypeInt, set: true}, nil
	case envExpr:
		text, ok := s.env[e.text]
		return value{text: text, set: ok, outside: true, name: "env." + e.text}, nil
	case callExpr:
		return s.call(e, open)
	}
	v, ok := s.vars[e.text]
	switch {
	case ok:
		return v, nil
	case !slices.Contains(s.declared, e.text):
		return fail("there is no variable "+quote(e.text), s.undeclared(e.text))
	case s.constant:
		return fail("the variable "+e.text+" cannot be used here", "names and settings are the same for every batch; only env.NAME can be used")
	}
	return fail("the variable "+e.text+" is declared further down", "a default may use variables declared above it")
}

func (s *scope) undeclared(name string) string {
	if near := nearest(name, s.declared); near != "" {
		return "did you mean " + quote(near) + "?"
	}
	if _, ok := s.env[name]; ok {
		return "an environment variable is written env." + name
	}
	return "declare it under variables"
}

// use gives the value of an expression that must have one.
func (s *scope) use(e *expr, open int) (value, *templateError) {
	v, err := s.eval(e, open)
	if err != nil || v.set || v.missing {
		return v, err
	}
	if e.kind == callExpr { // default, whose last resort has no value either
		return s.use(e.args[1], open)
	}
	err = &templateError{open: open, at: e.at}
	if e.kind == envExpr {
		err.message = "the environment variable " + e.text + " is not set"
		err.hint = "set it, or write {{ " + v.name + " | default('…') }}"
		if near := nearest(e.text, envNames(s.env)); near != "" {
			err.hint = "did you mean env." + near + "?"
		}
		return v, err
	}
	if s.needed != nil {
		s.needed[e.text] = true
		return value{missing: true}, nil
	}
	err.message = "the variable " + e.text + " has no value"
	err.hint = fmt.Sprintf("give --var %s=…, or write {{ %s | default('…') }}", e.text, e.text)
	return v, err
}

func envNames(env map[string]string) []string {
	names := make([]string, 0, len(env))
	for name := range env {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func (s *scope) call(e *expr, open int) (value, *templateError) {
	if e.text == "default" {
		if v, err := s.eval(e.args[0], open); err != nil || v.set || v.missing {
			return v, err
		}
		return s.eval(e.args[1], open)
	}
	if e.text == "secret" {
		return s.secret(e.args[0], open)
	}
	first, err := s.use(e.args[0], open)
	if err != nil {
		return value{}, err
	}
	second, err := s.use(e.args[1], open)
	if err != nil || first.missing || second.missing {
		return value{missing: true}, err
	}
	fail := func(arg *expr, message, hint string) (value, *templateError) {
		return value{}, &templateError{open: open, at: arg.at, message: message, hint: hint}
	}
	at, typ, ok := first.moment()
	if !ok {
		return fail(e.args[0], e.text+" wants a date, month, hour or timestamp", "declare the variable with such a type")
	}
	if e.text == "date_format" {
		text, bad := strftime(at, second.text)
		if bad != "" {
			return fail(e.args[1], "date_format does not know "+quote(bad), "it knows %Y %m %d %H %M %S %j %y and %%")
		}
		// The digits are a date's, the rest is the pattern: as trustworthy as the pattern is.
		return value{text: text, set: true, outside: second.outside, name: second.name}, nil
	}
	n, convErr := strconv.Atoi(second.text)
	if convErr != nil {
		return fail(e.args[1], "date_add wants a whole number", "as in date_add(dt, -1)")
	}
	moved, ok := addPeriods(at, typ, n)
	if !ok {
		return fail(e.args[0], fmt.Sprintf("date_add cannot add %d to %s", n, typ), "it adds days to a date, months to a month, hours to an hour, within the years 1 to 9999")
	}
	return value{text: moved.Format(typ.layout()), typ: typ, set: true}, nil
}

// asksSecret tells whether an expression is made of a secret.
func (e *expr) asksSecret() bool {
	return e.kind == callExpr && (e.text == "secret" || slices.ContainsFunc(e.args, (*expr).asksSecret))
}

// secret gives the secret that a text names: env/NAME or file/PATH.
func (s *scope) secret(e *expr, open int) (value, *templateError) {
	fail := func(message, hint string) (value, *templateError) {
		return value{}, &templateError{open: open, at: e.at, message: message, hint: hint}
	}
	kind, name, _ := strings.Cut(e.text, "/")
	switch {
	case e.kind != literalExpr || name == "" || kind != "env" && kind != "file":
		return fail("secret wants 'env/NAME' or 'file/PATH'", "as in {{ secret('env/PGPASSWORD') }}")
	case kind == "env":
		text, ok := s.env[name]
		if !ok && s.needed != nil { // nothing is connected by those who allow that
			return value{missing: true}, nil
		}
		if !ok {
			return fail("the environment variable "+name+" is not set", "set it")
		}
		return value{text: text, set: true, outside: true, name: "the secret " + e.text}, nil
	}
	text, err := s.file(name)
	if err != nil {
		return fail(err.Error(), "")
	}
	return value{text: text, set: true, outside: true, name: "the secret " + e.text}, nil
}

// moment reads a value as a time: by its declared type, or text as a date.
func (v value) moment() (time.Time, Type, bool) {
	typ := v.typ
	if typ == "" || typ == TypeText {
		typ = TypeDate
	}
	if typ.layout() == "" {
		return time.Time{}, typ, false
	}
	at, err := typ.time(v.text)
	return at, typ, err == nil
}

// addPeriods adds n of the type's own period.
func addPeriods(at time.Time, typ Type, n int) (time.Time, bool) {
	const most = 10_000 * 366 * 24 // hours in all the years there are; keeps the sums below from overflowing
	if n > most || n < -most {
		return at, false
	}
	switch typ {
	case TypeDate:
		at = at.AddDate(0, 0, n)
	case TypeMonth:
		at = at.AddDate(0, n, 0)
	case TypeHour:
		days := n / 24
		at = at.AddDate(0, 0, days).Add(time.Duration(n-days*24) * time.Hour)
	default:
		return at, false
	}
	return at, at.Year() >= 1 && at.Year() <= 9999
}

// strftime formats a time; bad is the directive that it does not know.
func strftime(at time.Time, pattern string) (text, bad string) {
	layouts := map[byte]string{'Y': "2006", 'm': "01", 'd': "02", 'H': "15", 'M': "04", 'S': "05", 'j': "002", 'y': "06"}
	var b strings.Builder
	for i := 0; i < len(pattern); i++ {
		if pattern[i] != '%' {
			b.WriteByte(pattern[i])
			continue
		}
		i++
		if i == len(pattern) {
			return "", "%"
		}
		layout, ok := layouts[pattern[i]]
		switch {
		case pattern[i] == '%':
			b.WriteByte('%')
		case !ok:
			return "", strings.ToValidUTF8(pattern[i-1:i+1], "�")
		default:
			b.WriteString(at.Format(layout))
		}
	}
	return b.String(), ""
}
