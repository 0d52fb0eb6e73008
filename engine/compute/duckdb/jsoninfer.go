package duckdb

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/ubunye-io/ubunye/engine/compute"
)

// shape is what the values at one place of the objects have been so far.
type shape struct {
	kind   byte   // 't' text, '0' number, 'b' boolean, '[' list, '{' object; 0: none but null yet
	at     string // where the first such value is, as FILE:LINE
	item   *shape // of a list
	fields []*shapeField
	byName map[string]int

	whole  bool   // all numbers are integers
	wide   bool   // one has more than 64 bits
	cannot string // a number that a DOUBLE would change, and where it is
	large  string // an integer of more than 38 digits, and where it is
	times  []int  // of timeShapes, those that all texts have
}

type shapeField struct {
	name string
	shape
}

// timeShapes are the texts that become dates and timestamps: their one usual spelling each.
var timeShapes = [...]struct {
	typ     string
	layouts []string
}{
	{"DATE", []string{"2006-01-02"}},
	{"TIMESTAMP", []string{"2006-01-02T15:04:05", "2006-01-02 15:04:05"}},
	{"TIMESTAMP WITH TIME ZONE", []string{"2006-01-02T15:04:05Z07:00", "2006-01-02 15:04:05Z07:00", "2006-01-02T15:04:05Z0700", "2006-01-02 15:04:05Z07"}},
}

// infer finds the columns of an input without a declaration: every key of every object, in the order in which they first
// appear, with the strictest type that holds all its values without loss. Values of different kinds are an error. root takes what there is.
func (j *jsonInput) infer(ctx context.Context, root *shape) ([]compute.Column, error) {
	for _, g := range j.groups() {
		for _, f := range g.files {
			err := j.each(ctx, f, g.array, jsonVisit{check: func(s *jsonScan) error { return root.object(s, f.Path, 0) }})
			if err != nil {
				return nil, err
			}
		}
	}
	if e := root.badKey("", "columns", "rename it, or declare the columns and set undeclared to ignore"); e != nil {
		return nil, e
	}
	columns := make([]compute.Column, len(root.fields))
	for i, f := range root.fields {
		typ, err := f.typ(f.name, 0)
		if err != nil {
			return nil, err
		}
		columns[i] = compute.Column{Name: f.name, Type: typ}
	}
	return columns, nil
}

// badKey finds a key of the objects at a path that can be no name beside the others.
func (sh *shape) badKey(path, names, hint string) *compute.Error {
	lower := map[string]string{}
	for _, f := range sh.fields {
		problem := ""
		if f.name == "" {
			problem = "a key is empty, and " + names + " must have a name"
		}
		if other, twice := lower[strings.ToLower(f.name)]; twice {
			problem = fmt.Sprintf("the keys %s and %s differ only in case, and %s do not", other, f.name, names)
		}
		if problem != "" {
			e := &compute.Error{Kind: compute.InputInvalid, File: fileOf(f.at), Column: cmp.Or(path, f.name), Message: problem, Hint: hint}
			e.Line, _ = strconv.ParseInt(strings.TrimPrefix(f.at, e.File+":"), 10, 64) // of a key that is always null it is not known
			return e
		}
		lower[strings.ToLower(f.name)] = f.name
	}
	return nil
}

// someColumn refuses an input without any column. path is its first file.
func (j *jsonInput) someColumn(path string) error {
	if len(j.columns) > 0 {
		return nil
	}
	return &compute.Error{Kind: compute.InputInvalid, File: path, Message: "it holds no object with a key, so there is nothing to find columns by", Hint: "declare the columns"}
}

func fileOf(at string) string {
	if i := strings.LastIndexByte(at, ':'); i > 0 {
		return at[:i]
	}
	return at
}

// object adds the values of an object.
func (sh *shape) object(s *jsonScan, file string, depth int) error {
	next := 0
	return s.members(depth, func(key []byte) error {
		f := sh.field(key, next)
		next = f + 1
		return sh.fields[f].add(s, file, depth+1)
	})
}

// field gives the index of a key; most objects have their keys in the order of the ones before.
func (sh *shape) field(key []byte, guess int) int {
	if guess < len(sh.fields) && sh.fields[guess].name == string(key) {
		return guess
	}
	if i, ok := sh.byName[string(key)]; ok {
		return i
	}
	if sh.byName == nil {
		sh.byName = map[string]int{}
	}
	sh.byName[string(key)] = len(sh.fields)
	sh.fields = append(sh.fields, &shapeField{name: string(key)})
	return len(sh.fields) - 1
}

var kindNames = map[byte]string{'t': "text", '0': "a number", 'b': "true or false", '[': "an array", '{': "an object"}

// add adds one value.
func (sh *shape) add(s *jsonScan, file string, depth int) error {
	first := s.kind()
	kind := first
	var text []byte
	if first != '{' && first != '[' {
		var err error
		if text, err = s.scalar(); err != nil {
			return err
		}
		switch {
		case first == '"':
			kind = 't'
		case first == 't', first == 'f':
			kind = 'b'
		case string(text) == "null":
			return nil
		default:
			kind = '0'
		}
	}
	if sh.kind == 0 {
		sh.kind, sh.at, sh.whole, sh.times = kind, fmt.Sprintf("%s:%d", file, s.line), true, []int{0, 1, 2}
	}
	if sh.kind != kind {
		return s.advise("declare its column, as varchar for plain values or as json", "the key has %s here and %s at %s", kindNames[kind], kindNames[sh.kind], sh.at)
	}
	switch kind {
	case '{':
		return sh.object(s, file, depth)
	case '[':
		if sh.item == nil {
			sh.item = &shape{}
		}
		return s.items(depth, func() error { return sh.item.add(s, file, depth+1) })
	case '0':
		sh.number(string(text), file, s.line)
	case 't':
		sh.text(string(text))
	}
	return nil
}

func (sh *shape) number(text, file string, line int64) {
	if _, err := strconv.ParseInt(text, 10, 64); err == nil && (sh.whole && len(text) < 16) {
		return
	}
	where := func() string { return fmt.Sprintf("%s at %s:%d", shorten(text), file, line) }
	if strings.ContainsAny(text, ".eEnN") {
		sh.whole = false
	} else if _, err := strconv.ParseInt(text, 10, 64); err != nil {
		sh.wide = true
		if len(strings.TrimPrefix(text, "-")) > 38 && sh.large == "" {
			sh.large = where()
		}
	}
	if sh.cannot == "" && !keepsDigits(text) {
		sh.cannot = where()
	}
}

// keepsDigits tells that a number as a DOUBLE, printed with as many digits as it has, is the same number.
func keepsDigits(text string) bool {
	if notFinite([]byte(text)) {
		return true
	}
	x, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return false
	}
	mantissa, exponent := scientific(text)
	if mantissa == "" {
		return true
	}
	again, exponentAgain := scientific(strconv.FormatFloat(x, 'e', len(mantissa)-1, 64))
	return mantissa == again && exponent == exponentAgain
}

// scientific gives the digits of a number without zeros around them, and the power of ten of the first.
func scientific(text string) (digits string, exponent int) {
	text = strings.TrimPrefix(text, "-")
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		exponent, _ = strconv.Atoi(text[i+1:]) // beyond an int it is no finite number
		text = text[:i]
	}
	whole, part, _ := strings.Cut(text, ".")
	exponent += len(whole) - 1
	digits = whole + part
	for strings.HasPrefix(digits, "0") {
		digits = digits[1:]
		exponent--
	}
	return strings.TrimRight(digits, "0"), exponent
}

func (sh *shape) text(text string) {
	left := sh.times[:0]
	for _, i := range sh.times {
		if isTime(i, text) {
			left = append(left, i)
		}
	}
	sh.times = left
}

// zoneAtEnd matches texts with a zone as fitFor has it.
var zoneAtEnd = regexp.MustCompile("(Z|" + offset + ")$")

func isTime(shape int, text string) bool {
	if len(text) < 10 || len(text) > 35 || text[4] != '-' || text[7] != '-' || (shape == 0) != (len(text) == 10) {
		return false
	}
	if point := strings.IndexByte(text, '.'); point >= 0 && len(text)-len(strings.TrimLeft(text[point+1:], "0123456789"))-point-1 > 6 {
		return false
	}
	for _, layout := range timeShapes[shape].layouts {
		if at, err := time.Parse(layout, text); err == nil && at.Year() > 0 && !strings.Contains(text, ",") && (timeShapes[shape].typ != "TIMESTAMP WITH TIME ZONE" || zoneAtEnd.MatchString(text)) {
			return true
		}
	}
	return false
}

// typ gives the type of a column, or of the part of one that path names, so many levels below.
func (sh *shape) typ(path string, level int) (string, error) {
	if (sh.kind == '[' || sh.kind == '{') && level == maxNesting {
		column, _, _ := strings.Cut(path, ".")
		return "", &compute.Error{Kind: compute.InputInvalid, File: fileOf(sh.at), Column: strings.TrimRight(column, "[]"), Message: fmt.Sprintf("it has more than %d levels", maxNesting), Hint: "declare the column as json"}
	}
	switch sh.kind {
	case 'b':
		return "BOOLEAN", nil
	case 't':
		if len(sh.times) > 0 {
			return timeShapes[sh.times[0]].typ, nil
		}
	case '0':
		return sh.numberType(path)
	case '[':
		item, err := sh.item.orEmpty().typ(path+"[]", level+1)
		return item + "[]", err
	case '{':
		if len(sh.fields) == 0 {
			return "JSON", nil // SQL has no struct without fields
		}
		if e := sh.badKey(path, "the fields of a STRUCT", "rename it, or declare the column as json"); e != nil {
			e.File = cmp.Or(e.File, fileOf(sh.at))
			return "", e
		}
		members := make([]string, len(sh.fields))
		for i, f := range sh.fields {
			typ, err := f.typ(path+"."+f.name, level+1)
			if err != nil {
				return "", err
			}
			members[i] = quote(f.name) + " " + typ
		}
		return "STRUCT(" + strings.Join(members, ", ") + ")", nil
	}
	return "VARCHAR", nil
}

func (sh *shape) orEmpty() *shape {
	if sh == nil {
		return &shape{}
	}
	return sh
}

func (sh *shape) numberType(path string) (string, error) {
	switch {
	case sh.whole && !sh.wide:
		return "BIGINT", nil
	case sh.whole && sh.large == "":
		return "DECIMAL(38,0)", nil
	case sh.whole:
		return "", &compute.Error{Kind: compute.InputInvalid, File: fileOf(sh.at), Column: path, Message: "no type of numbers holds the digits of " + sh.large, Hint: "declare the column as varchar"}
	case sh.cannot == "":
		return "DOUBLE", nil
	}
	return "", &compute.Error{Kind: compute.InputInvalid, File: fileOf(sh.at), Column: path, Message: "a DOUBLE would lose digits of " + sh.cannot, Hint: "declare the column, as decimal(38,10) or varchar; as double to take the nearest one"}
}
