package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ubunye-io/ubunye/engine/config"
)

// Batch is a task and the values that it runs for: what the ledger lands once.
type Batch struct {
	Pipeline  string
	Task      string
	Variables map[string]string // those that make the batch, in their one spelling
	Profile   string            // empty: none
	Key       string            // 16 hex digits
	Named     bool              // a finished one is not run again without being told to
}

func batchOf(p *config.Pipeline, task string) Batch {
	b := Batch{Pipeline: p.Name, Task: task, Variables: map[string]string{}, Profile: p.Profile}
	for _, v := range p.Variables {
		listed := slices.Contains(p.Batch, v.Name)
		if v.Set && (p.Batch == nil || listed) {
			b.Variables[v.Name] = v.Value
		}
		// "A batch is named when a variable other than dtf was given or is listed in batch:" (the ledger's
		// rule). A default alone names nothing, so a pipeline without variables can be run again and again.
		if v.Name != "dtf" && (v.Given || listed) {
			b.Named = true
		}
	}
	b.Key = key(b)
	return b
}

// BatchOf is the batch of a task that was run with these variables and this profile, whether it was named or not.
func BatchOf(pipeline, task string, variables map[string]string, profile string) Batch {
	b := Batch{Pipeline: pipeline, Task: task, Variables: variables, Profile: profile}
	b.Key = key(b)
	return b
}

// key is the first 16 hex digits of the SHA-256 of the batch as canonical JSON: keys sorted by bytes, no
// spaces, UTF-8 unescaped, values as text. Keys are part of the format of the ledger; they never change.
func key(b Batch) string {
	sum := sha256.Sum256([]byte(canonical(b)))
	return hex.EncodeToString(sum[:8])
}

func canonical(b Batch) string {
	var s strings.Builder
	s.WriteByte('{')
	if b.Profile != "" {
		s.WriteString(`"profile":` + jsonText(b.Profile) + ",")
	}
	s.WriteString(`"task":` + jsonText(b.Pipeline+"/"+b.Task) + `,"variables":{`)
	for i, name := range slices.Sorted(maps.Keys(b.Variables)) {
		if i > 0 {
			s.WriteByte(',')
		}
		s.WriteString(jsonText(name) + ":" + jsonText(b.Variables[name]))
	}
	s.WriteString("}}")
	return s.String()
}

// jsonText writes a JSON string with no more escapes than JSON demands (encoding/json escapes U+2028).
func jsonText(text string) string {
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
