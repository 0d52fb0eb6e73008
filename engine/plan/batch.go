package plan

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"

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

// key is the first 16 hex digits of the SHA-256 of the batch as canonical JSON: keys sorted by bytes, no
// spaces, UTF-8 unescaped, values as text.
func key(b Batch) string {
	// Fields in the order of their names; maps are sorted by the encoder.
	doc := struct {
		Profile   string            `json:"profile,omitempty"`
		Task      string            `json:"task"`
		Variables map[string]string `json:"variables"`
	}{b.Profile, b.Pipeline + "/" + b.Task, b.Variables}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(doc) // strings and a map of strings always encode
	text := bytes.TrimSuffix(buf.Bytes(), []byte("\n"))
	// The encoder escapes these two whatever it is told; canonical JSON does not.
	text = unescape(text, `\u2028`, "\u2028")
	text = unescape(text, `\u2029`, "\u2029")
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// unescape replaces an escape that is not itself the end of an escaped backslash.
func unescape(text []byte, escape, char string) []byte {
	var out []byte
	for i := 0; i < len(text); i++ {
		switch {
		case bytes.HasPrefix(text[i:], []byte(escape)):
			out = append(out, char...)
			i += len(escape) - 1
		case text[i] == '\\':
			out = append(out, text[i], text[i+1])
			i++
		default:
			out = append(out, text[i])
		}
	}
	return out
}
