package ledger

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// NewBatch returns the batch of a task for these variables and this profile ("": none), with its key.
// Names and values must be UTF-8; a pipeline's and a task's name must be usable as a file name.
func NewBatch(pipeline, task string, variables map[string]string, profile string, named bool) (Batch, error) {
	for _, name := range []string{pipeline, task} {
		if err := checkName(name); err != nil {
			return Batch{}, err
		}
	}
	b := Batch{Pipeline: pipeline, Task: task, Variables: maps.Clone(variables), Profile: profile, Named: named}
	if b.Variables == nil {
		b.Variables = map[string]string{}
	}
	text := b.canonical()
	if !utf8.ValidString(text) {
		return Batch{}, fmt.Errorf("task %s: a variable's name or value is not UTF-8", task)
	}
	sum := sha256.Sum256([]byte(text))
	b.Key = hex.EncodeToString(sum[:8])
	return b, nil
}

// canonical is what the key is the hash of: JSON with its keys sorted by their bytes, no spaces,
// UTF-8 unescaped, values as text. Keys are part of the format of the ledger; they never change.
func (b Batch) canonical() string {
	var s strings.Builder
	s.WriteByte('{')
	if b.Profile != "" {
		s.WriteString(`"profile":` + quote(b.Profile) + ",")
	}
	s.WriteString(`"task":` + quote(b.Pipeline+"/"+b.Task) + `,"variables":{`)
	for i, name := range slices.Sorted(maps.Keys(b.Variables)) {
		if i > 0 {
			s.WriteByte(',')
		}
		s.WriteString(quote(name) + ":" + quote(b.Variables[name]))
	}
	s.WriteString("}}")
	return s.String()
}

// quote writes a JSON string with no more escapes than JSON demands (encoding/json escapes U+2028).
func quote(text string) string {
	var s strings.Builder
	s.WriteByte('"')
	for i := range len(text) {
		switch c := text[i]; {
		case c == '"' || c == '\\':
			s.WriteString(`\` + string(rune(c)))
		case c == '\n':
			s.WriteString(`\n`)
		case c == '\r':
			s.WriteString(`\r`)
		case c == '\t':
			s.WriteString(`\t`)
		case c < 0x20:
			fmt.Fprintf(&s, `\u%04x`, c)
		default:
			s.WriteByte(c)
		}
	}
	s.WriteByte('"')
	return s.String()
}

// checkName refuses what cannot be one element of a path.
func checkName(name string) error {
	if name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\\\x00") || len(name) > 255 {
		return fmt.Errorf("%q cannot be used as a file name", name)
	}
	return nil
}
