package config

import (
	"fmt"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// scalar is a value read by its declaration; which member counts follows from the kind.
type scalar struct {
	text     string
	number   int64
	on       bool
	duration time.Duration
}

// scalar reads a value, and reports it when it is not what was declared.
func (l *loader) scalar(n *node, f *Field, at string) (scalar, bool) {
	if n.bad {
		return scalar{}, false
	}
	if n.kind != scalarNode {
		l.mismatch(n, f, at, scalarNode)
		return scalar{}, false
	}
	if n.open {
		return scalar{text: n.text}, true
	}
	if f.Secret && n.tag != tagText {
		l.at(n, at+" wants text, and YAML takes it for something else", "put it in quotes")
		return scalar{}, false
	}
	switch f.Kind {
	case Int:
		return l.wholeNumber(n, at)
	case Bool:
		return l.boolean(n, at)
	}
	if f.Kind == Option && (n.tag == tagBool || n.tag == tagInt && plainNumber.MatchString(n.text)) {
		return scalar{text: n.text}, true
	}
	if f.Kind == Value && n.tag != tagNull && (n.tag == tagBool || n.tag == tagTime || plainDecimal.MatchString(n.text)) {
		return scalar{text: n.text}, true
	}
	if n.tag != tagText {
		if (f.Kind == Bytes || f.Kind == Duration) && (n.tag == tagInt || n.tag == tagFloat) {
			l.at(n, fmt.Sprintf("%s: %s has no unit", at, n.text), "write it as "+f.sample())
			return scalar{}, false
		}
		l.unquoted(n, at)
		return scalar{}, false
	}
	s, message, hint := f.read(n.text)
	if message != "" {
		l.at(n, at+": "+message, hint)
		return scalar{}, false
	}
	return s, true
}

// plainNumber is a whole number that every reader takes for the same: not 010, 0x10 or 1_000.
var plainNumber = regexp.MustCompile(`^(0|-?[1-9][0-9]*)$`)

// plainDecimal is the same of decimal numbers.
var plainDecimal = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?$`)

// read reads a text by the kind of the field; the message says why it cannot be.
func (f *Field) read(text string) (s scalar, message, hint string) {
	s.text = text
	switch f.Kind {
	case Name:
		if !isName(text) {
			message, hint = quote(text)+" cannot be a name", nameRule
		}
	case Choice:
		message, hint = f.choose(text)
	case Path:
		message, hint = refusePath(text)
	case SQL:
		if strings.TrimSpace(text) == "" {
			message = "the SQL is empty"
		}
	case Bytes:
		s.number, message = parseBytes(text)
		hint = "write it as " + f.sample()
	case Duration:
		d, err := time.ParseDuration(text)
		switch {
		case err != nil:
			message, hint = quote(text)+" is not a time with its unit", "write it as "+f.sample()
		case d < 0 || d == 0 && !f.Zero:
			message, hint = quote(text)+" is no length of time", "write one that is longer than nothing, as "+f.sample()
		}
		s.duration = d
	}
	return s, message, hint
}

func (f *Field) sample() string {
	if f.Example != "" {
		return f.Example
	}
	return f.Default
}

func (f *Field) choose(text string) (message, hint string) {
	switch {
	case slices.Contains(f.Values, text):
		return "", ""
	case slices.Contains(f.LaterOf, text):
		return text + " is not in this version", "known: " + strings.Join(f.Values, ", ")
	}
	return quote(text) + " is not known", DidYouMean(text, f.Values)
}

// unquoted reports a scalar that YAML does not take for text where text is wanted.
func (l *loader) unquoted(n *node, at string) {
	if n.tag == tagNull {
		if n.text == "" {
			l.at(n, at+" has no value", "give it one, or remove the key")
			return
		}
		l.at(n, at+" wants text, and "+n.text+" means nothing in YAML", "quote it: "+strconv.Quote(n.text)+", or remove the key")
		return
	}
	l.at(n, fmt.Sprintf("%s wants text, and %s is %s in YAML", at, n.text, tagWord(n.tag)), "quote it: "+strconv.Quote(n.text))
}

// wholeNumber reads a number from zero up, written in decimal.
func (l *loader) wholeNumber(n *node, at string) (scalar, bool) {
	if (n.tag == tagInt || n.tag == tagText) && plainInt.MatchString(n.text) {
		if v, err := strconv.ParseInt(n.text, 10, 32); err == nil && v >= 0 {
			return scalar{text: n.text, number: v}, true
		}
	}
	l.at(n, at+" wants a whole number, not "+quote(n.text), "write digits only, as 4")
	return scalar{}, false
}

// boolean reads what YAML 1.2 takes for a boolean; the words of YAML 1.1 are text.
func (l *loader) boolean(n *node, at string) (scalar, bool) {
	switch n.text {
	case "true", "True", "TRUE", "false", "False", "FALSE":
		return scalar{text: n.text, on: n.text[0] == 't' || n.text[0] == 'T'}, true
	}
	l.at(n, at+" wants true or false, not "+quote(n.text), "YAML 1.2 knows no other words for them")
	return scalar{}, false
}

// sizePattern is a number and a unit; those of SQL engines and of people.
var sizePattern = regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?) ?([KMGT]i?B|B)$`)

// Pattern is a regular expression that the texts of a kind match, for schemas; empty: any text may be one. A template
// may stand for part of the text, or for all of it.
func (k Kind) Pattern() string {
	text := ""
	switch k {
	case Int:
		text = plainInt.String()
	case Bool:
		text = `^(true|True|TRUE|false|False|FALSE)$`
	case Bytes:
		text = sizePattern.String()
	case Duration:
		text = `^[+]?([0-9]*\.?[0-9]+\.?(ns|us|µs|μs|ms|s|m|h))+$` // a little more than time.ParseDuration takes
	default:
		return ""
	}
	return text + `|\{\{`
}

func parseBytes(text string) (int64, string) {
	m := sizePattern.FindStringSubmatch(text)
	if m == nil {
		return 0, quote(text) + " is not a size with its unit"
	}
	number, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		return 0, quote(text) + " is too large"
	}
	base := 1000.0
	if strings.Contains(m[2], "i") {
		base = 1024
	}
	size := number * math.Pow(base, float64(strings.IndexByte("BKMGT", m[2][0])))
	switch {
	case size < 1:
		return 0, quote(text) + " is less than a byte"
	case size >= math.MaxInt64:
		return 0, quote(text) + " is too large"
	}
	return int64(size), ""
}

// refusePath says why a text is no path that this version can use.
func refusePath(text string) (message, hint string) {
	scheme, _, remote := strings.Cut(text, "://")
	switch {
	case strings.TrimSpace(text) == "":
		return "the path is empty", ""
	case remote:
		return scheme + ":// is not in this version", "paths are those of this machine"
	case text == "~" || strings.HasPrefix(text, "~/"):
		return "~ is not expanded in a path", "write the whole path"
	case strings.ContainsRune(text, 0):
		return "the path holds a NUL character", ""
	}
	return "", ""
}

// abs makes a path absolute, relative to the pipeline file.
func (l *loader) abs(path string) string {
	path = filepath.FromSlash(path)
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(l.dir, path)
}
