package runstate

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The keys were computed by Python 3: hashlib.sha256(json.dumps({"task": …, "variables": …}, sort_keys=True).encode()).
func TestKeysOfThePythonProgram(t *testing.T) {
	for _, c := range []struct {
		variables map[string]any
		want      string
	}{
		{nil, "88a5098fc82f5607"},
		{map[string]any{}, "88a5098fc82f5607"},
		{map[string]any{"dt": "2026-01-01"}, "2f57c225330d7080"},
		{map[string]any{"dt": "2026-01-01", "a": 1, "z": nil, "b": true, "city": "Zürich \U0001F600", "q": "a\"b\\c/d\n\t\r\f\b\x7f\x01<>&\u2028"}, "17468cc124d51744"},
	} {
		if got, err := PythonKey("sales/pkg/clean", c.variables); err != nil || got != c.want {
			t.Errorf("%v: %s, %v", c.variables, got, err)
		}
	}
	if _, err := PythonKey("t", map[string]any{"x": 1.5}); err == nil || !strings.Contains(err.Error(), "variable x") {
		t.Errorf("got %v", err)
	}
	if got := PythonNotePath("/data", "sales/pkg/clean", "2f57c225330d7080"); got != filepath.FromSlash("/data/.ubunye/leases/sales/pkg/clean/2f57c225330d7080.finished.json") {
		t.Error(got)
	}
}

func TestNotesOfThePythonProgram(t *testing.T) {
	good := `{"run_id": "r1", "task": "s/p/t", "finished_at": "2026-01-02T03:04:05.123456+02:00", "outputs": {"o": {"claimed": ["a/1.parquet", "b"], "staged": "x"}, "p": {"claimed": []}}, "more": 1}`
	n, err := ParsePythonNote("the/note", []byte(good), "s/p/t", time.UTC)
	if err != nil {
		t.Fatal(err)
	}
	if n.Run != "r1" || !n.Finished.Equal(time.Date(2026, 1, 2, 1, 4, 5, 123456000, time.UTC)) || len(n.Outputs) != 2 ||
		n.Outputs["o"].Claimed[1] != "b" || string(n.Outputs["o"].Staged) != `"x"` || n.Outputs["p"].Staged != nil {
		t.Errorf("%+v", n)
	}
	if n, err := ParsePythonNote("the/note", []byte(strings.Replace(good, "+02:00", "", 1)), "s/p/t", zurich(t)); err != nil || n.Finished.Hour() != 2 {
		t.Errorf("%+v, %v", n, err)
	}
	for text, want := range map[string]string{
		"": "EOF", "[]": "array", good + "x": "something follows",
		strings.Replace(good, "2026-01-02T", "yesterday ", 1):                "finished_at",
		strings.Replace(good, `"run_id"`, `"id"`, 1):                         "no run_id",
		strings.Replace(good, "s/p/t", "s/p/other", 1):                       "of the task",
		strings.Replace(good, `"outputs"`, `"out"`, 1):                       "no outputs",
		strings.Replace(good, `"p": {"claimed": []}`, `"p": {}`, 1):          "output p has no claimed",
		strings.Replace(good, `"claimed": []`, `"claimed": "everything"`, 1): "cannot unmarshal",
	} {
		_, err := ParsePythonNote("the/note", []byte(text), "s/p/t", time.UTC)
		var unreadable *UnreadableError
		if !errors.As(err, &unreadable) || unreadable.Path != "the/note" || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\n%v, want %q", text, err, want)
		}
	}
	for n := range len(good) {
		if _, err := ParsePythonNote("p", []byte(good[:n]), "s/p/t", time.UTC); err == nil {
			t.Errorf("cut off at %d it is read", n)
		}
	}
}
