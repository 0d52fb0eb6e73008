package runstate

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
)

// PythonNote says that the Python program Ubunye finished a batch.
type PythonNote struct {
	Run      string                  `json:"run_id"`
	Task     string                  `json:"task"` // <usecase>/<package>/<task>
	Finished time.Time               `json:"-"`    // in UTC
	Outputs  map[string]PythonOutput `json:"outputs"`
}

// PythonOutput is what became of one output.
type PythonOutput struct {
	Claimed []string        `json:"claimed"` // paths of the files that are the batch's
	Staged  json.RawMessage `json:"staged"`  // what the note says of their staging, as it stands there; nil: nothing
}

// PythonKey is how the Python program names a batch: the first 16 hex digits of the SHA-256 over task and variables, as
// its json.dumps writes them with sorted keys. A value is a text, a bool, an int, an int64 or nil.
func PythonKey(task string, variables map[string]any) (string, error) {
	var values []string
	for _, name := range sortedKeys(variables) {
		value, err := pythonValue(variables[name])
		if err != nil {
			return "", fmt.Errorf("variable %s: %w", name, err)
		}
		values = append(values, pythonText(name)+": "+value)
	}
	sum := sha256.Sum256([]byte(`{"task": ` + pythonText(task) + `, "variables": {` + strings.Join(values, ", ") + `}}`))
	return hex.EncodeToString(sum[:8]), nil
}

// PythonNotePath is where the Python program keeps the note of a batch. task is <usecase>/<package>/<task>.
func PythonNotePath(root, task, key string) string {
	return filepath.Join(root, ".ubunye", "leases", filepath.FromSlash(task), key+".finished.json")
}

// ParsePythonNote reads a note. Its time, if it has no zone, is taken to be in zone. The error is an *UnreadableError;
// path is for it.
func ParsePythonNote(path string, data []byte, task string, zone *time.Location) (PythonNote, error) {
	unreadable := func(reason string, err error) (PythonNote, error) {
		return PythonNote{}, &UnreadableError{Path: path, Reason: reason, Err: err}
	}
	var note struct {
		PythonNote
		At string `json:"finished_at"`
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	if err := dec.Decode(&note); err != nil {
		return unreadable(err.Error(), err)
	}
	if dec.More() {
		return unreadable("something follows its JSON object", nil)
	}
	at, _, err := utc(strings.Replace(note.At, " ", "T", 1), zone)
	switch {
	case err != nil:
		return unreadable("finished_at: "+err.Error(), err)
	case note.Run == "":
		return unreadable("it has no run_id", nil)
	case note.Task != task:
		return unreadable("it is of the task "+strconv.Quote(note.Task)+", not of "+strconv.Quote(task), nil)
	case note.Outputs == nil:
		return unreadable("it has no outputs", nil)
	}
	for _, name := range slices.Sorted(maps.Keys(note.Outputs)) {
		if note.Outputs[name].Claimed == nil {
			return unreadable("its output "+name+" has no claimed files", nil)
		}
	}
	note.Finished = at
	return note.PythonNote, nil
}

func pythonValue(v any) (string, error) {
	switch v := v.(type) {
	case nil:
		return "null", nil
	case string:
		return pythonText(v), nil
	case bool:
		return strconv.FormatBool(v), nil
	case int:
		return strconv.Itoa(v), nil
	case int64:
		return strconv.FormatInt(v, 10), nil
	}
	return "", fmt.Errorf("a value of type %T has no one spelling in Python's JSON", v)
}

// pythonText writes a text as json.dumps does: what is not printable ASCII is escaped, in lower case, by UTF-16.
func pythonText(text string) string {
	short := map[rune]string{'"': `\"`, '\\': `\\`, '\n': `\n`, '\r': `\r`, '\t': `\t`, '\f': `\f`, '\b': `\b`}
	var s strings.Builder
	s.WriteByte('"')
	for _, r := range text {
		switch e, ok := short[r]; {
		case ok:
			s.WriteString(e)
		case r >= ' ' && r <= '~':
			s.WriteRune(r)
		default:
			for _, unit := range utf16.Encode([]rune{r}) {
				fmt.Fprintf(&s, `\u%04x`, unit)
			}
		}
	}
	s.WriteByte('"')
	return s.String()
}
