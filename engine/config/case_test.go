package config

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestLoadCase(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "case.yaml")
	load := func(text string) (*Case, error) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return LoadCase(file)
	}
	c, err := load("writer: w\noptions: {header: true, widths: id=5}\nmemory: 8MiB\ntimeout: 5s\nloses: [empty]\nread: {command: [python3, read.py]}\n")
	want := &Case{Dir: dir, Writer: "w", Options: map[string]string{"header": "true", "widths": "id=5"}, Memory: 8 << 20, Timeout: 5 * time.Second,
		Loses: []string{"empty"}, Command: []string{"python3", "read.py"}}
	if err != nil || !reflect.DeepEqual(c, want) {
		t.Errorf("%+v, %v", c, err)
	}
	if c, err = load("read: {sql: \"SELECT 1 FROM '{path}'\"}\n"); err != nil || c.SQL != "SELECT 1 FROM '{path}'" || c.Memory != DefaultCase().Memory || c.Timeout != time.Minute {
		t.Errorf("%+v, %v", c, err)
	}
	for text, says := range map[string]string{
		"memory: 8\n":                           ":1:9: memory: 8 has no unit",
		"reads: {}\n":                           ":1:1: unknown key",
		"read: {sql: SELECT 1, command: [cat]}": ":1:32: read.command stands beside read.sql",
		"loses: empty\n":                        ":1:8: ",
		"options: {a: 1}\noptions: {b: 1}\n":    ":2:1: ",
	} {
		if _, err := load(text); err == nil || !strings.Contains(err.Error(), file+says) {
			t.Errorf("%q: %v, want %q", text, err, says)
		}
	}
	if _, err := LoadCase(filepath.Join(dir, "gone.yaml")); err == nil || !strings.Contains(err.Error(), "the case file cannot be read") {
		t.Errorf("%v", err)
	}
}
