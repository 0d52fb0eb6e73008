package files

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/ubunye-io/ubunye/engine/abi"
)

// Kind is what values an Option has.
type Kind int

// The kinds of options.
const (
	Choice Kind = iota // one of OneOf
	Int                // from Least to Most
	Bool               // true or false
	Text               // Least to Most characters, no line end and no NUL
)

// Option is one option of a format, declared once: its check and its JSON Schema follow.
type Option struct {
	Name    string
	Doc     string // one sentence
	Kind    Kind
	Default string // what the engine is told if it is not given; empty: nothing
	OneOf   []string
	Least   int
	Most    int
	ASCII   bool   // a Text is ASCII
	What    string // completes `"x" is no …`, as "level of zstd"
	Hint    string // what would be right; empty: as declared
	// Useless tells why the option has no effect beside others, and what to do; nil, or a first answer that is empty: it has one.
	Useless func(all map[string]string) (why, hint string)
}

// withDefaults is what the engine's encoder is told.
func withDefaults(options []Option, given map[string]string) map[string]string {
	all := map[string]string{}
	for _, o := range options {
		if o.Default != "" {
			all[o.Name] = o.Default
		}
	}
	maps.Copy(all, given)
	return all
}

func (f Format) checkOptions(given map[string]string) (problems []abi.Problem) {
	say := func(name, message, hint string) {
		problems = append(problems, abi.Problem{Field: "options." + name, Message: message, Hint: hint})
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		at := slices.IndexFunc(f.Options, func(o Option) bool { return o.Name == name })
		if at < 0 {
			say(name, fmt.Sprintf("%s outputs have no option %q", f.Name, name), "the options are "+optionNames(f.Options))
			continue
		}
		o := f.Options[at]
		if o.Useless != nil {
			if why, hint := o.Useless(withDefaults(f.Options, given)); why != "" {
				say(name, why, hint)
				continue
			}
		}
		if !o.takes(given[name]) {
			say(name, fmt.Sprintf("%q is no %s", given[name], o.What), o.hint())
		}
	}
	return problems
}

func optionNames(options []Option) string {
	names := make([]string, len(options))
	for i, o := range options {
		names[i] = o.Name
	}
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

func (o Option) takes(value string) bool {
	switch o.Kind {
	case Choice:
		return slices.Contains(o.OneOf, value)
	case Int:
		n, err := strconv.Atoi(value)
		return err == nil && n >= o.Least && n <= o.Most
	case Bool:
		return value == "true" || value == "false"
	}
	n := utf8.RuneCountInString(value)
	outside := func(c rune) bool { return o.ASCII && c > 0x7f || c == '\n' || c == '\r' || c == 0 }
	return n >= o.Least && n <= o.Most && strings.IndexFunc(value, outside) < 0
}

func (o Option) hint() string {
	switch {
	case o.Hint != "":
		return o.Hint
	case o.Kind == Choice:
		return "one of " + strings.Join(o.OneOf, ", ")
	case o.Kind == Int:
		return fmt.Sprintf("%d to %d", o.Least, o.Most)
	case o.Kind == Bool:
		return "true or false"
	}
	return fmt.Sprintf("%d to %d characters", o.Least, o.Most)
}

// schema is the JSON Schema of options.
func schema(options []Option) json.RawMessage {
	properties := map[string]any{}
	for _, o := range options {
		p := map[string]any{"description": o.Doc}
		switch o.Kind {
		case Choice:
			p["enum"] = o.OneOf
		case Int:
			p["type"], p["minimum"], p["maximum"] = "integer", o.Least, o.Most
		case Bool:
			p["type"] = "boolean"
		case Text:
			p["type"], p["minLength"], p["maxLength"], p["pattern"] = "string", o.Least, o.Most, `^[^\r\n\x00]*$`
			if o.ASCII {
				p["pattern"] = `^[\x01-\t\x0b\x0c\x0e-\x7f]*$`
			}
		}
		if o.Default != "" {
			p["default"] = o.value()
		}
		properties[o.Name] = p
	}
	data, _ := json.Marshal(map[string]any{"type": "object", "additionalProperties": false, "properties": properties}) // strings, numbers and bools always marshal
	return data
}

func (o Option) value() any {
	switch o.Kind {
	case Int:
		n, _ := strconv.Atoi(o.Default) // a declaration
		return n
	case Bool:
		return o.Default == "true"
	}
	return o.Default
}
