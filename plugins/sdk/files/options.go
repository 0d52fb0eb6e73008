package files

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/ubunye-io/ubunye/engine/abi"
	"github.com/ubunye-io/ubunye/plugins/sdk/internal/jsontext"
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

// Options are those of a writer.
type Options []Option

// WithDefaults gives the options that are given, and the defaults of those that are not.
func (options Options) WithDefaults(given map[string]string) map[string]string {
	all := map[string]string{}
	for _, o := range options {
		if o.Default != "" {
			all[o.Name] = o.Default
		}
	}
	maps.Copy(all, given)
	return all
}

// Check finds what is wrong with the options that are given to a writer.
func (options Options) Check(writer string, given map[string]string) (problems []abi.Problem) {
	say := func(name, message, hint string) {
		problems = append(problems, abi.Problem{Field: "options." + name, Message: message, Hint: hint})
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		at := slices.IndexFunc(options, func(o Option) bool { return o.Name == name })
		if at < 0 {
			say(name, writer+" outputs have no option "+strconv.Quote(name), "the options are "+optionNames(options))
			continue
		}
		o := options[at]
		if o.Useless != nil {
			if why, hint := o.Useless(options.WithDefaults(given)); why != "" {
				say(name, why, hint)
				continue
			}
		}
		if !o.takes(given[name]) {
			say(name, strconv.Quote(given[name])+" is no "+o.What, o.hint())
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
		return strconv.Itoa(o.Least) + " to " + strconv.Itoa(o.Most)
	case o.Kind == Bool:
		return "true or false"
	}
	return strconv.Itoa(o.Least) + " to " + strconv.Itoa(o.Most) + " characters"
}

// Schema is their JSON Schema.
func (options Options) Schema() []byte {
	return jsontext.Encode(func(e *jsontext.Encoder) {
		e.Object(func() {
			e.Field("additionalProperties").Bool(false)
			e.Field("properties").Object(func() {
				for _, o := range options {
					e.Field(o.Name).Object(func() { o.schema(e) })
				}
			})
			e.Field("type").Text("object")
		})
	})
}

// schema writes what may be said of one option.
func (o Option) schema(e *jsontext.Encoder) {
	if o.Default != "" {
		o.value(e.Field("default"))
	}
	e.Field("description").Text(o.Doc)
	switch o.Kind {
	case Choice:
		e.Field("enum").Texts(o.OneOf)
	case Int:
		e.Field("type").Text("integer")
		e.Field("minimum").Long(int64(o.Least))
		e.Field("maximum").Long(int64(o.Most))
	case Bool:
		e.Field("type").Text("boolean")
	case Text:
		e.Field("type").Text("string")
		e.Field("minLength").Long(int64(o.Least))
		e.Field("maxLength").Long(int64(o.Most))
		pattern := `^[^\r\n\x00]*$`
		if o.ASCII {
			pattern = `^[\x01-\t\x0b\x0c\x0e-\x7f]*$`
		}
		e.Field("pattern").Text(pattern)
	}
}

// value writes the default.
func (o Option) value(e *jsontext.Encoder) {
	switch o.Kind {
	case Int:
		n, _ := strconv.ParseInt(o.Default, 10, 64) // a declaration
		e.Long(n)
	case Bool:
		e.Bool(o.Default == "true")
	default:
		e.Text(o.Default)
	}
}
