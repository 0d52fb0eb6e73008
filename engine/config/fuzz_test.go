package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"github.com/ubunye-io/ubunye/engine/problem"
)

// FuzzFlow: a text as it is shown within braces is that text for a reader of YAML.
func FuzzFlow(f *testing.F) {
	for _, text := range []string{"", "id", "2026-01-01", "a, b", "{x}", "# no", "x #", "x ", "-5.", "~", "a: b", "'", `"`, "ä🎉", "\u00ad\u2028\x1b", "...", "? a", "1e3", "(", "[^@]+"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !utf8.ValidString(text) {
			t.Skip("the file is UTF-8")
		}
		var doc yaml.Node
		if err := yaml.Unmarshal([]byte("{a: ["+flow(text)+"]}"), &doc); err != nil {
			t.Fatalf("%q is shown as %s: %v", text, flow(text), err)
		}
		list := doc.Content[0].Content[1]
		if len(list.Content) != 1 || list.Content[0].Kind != yaml.ScalarNode || list.Content[0].Value != text {
			t.Fatalf("%q is shown as %s", text, flow(text))
		}
	})
}

// FuzzLoad: any bytes lead to a pipeline or to problems, each one line and none without a message; the same twice.
func FuzzLoad(f *testing.F) {
	files, err := filepath.Glob("testdata/*/*.yaml")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if strings.Contains(string(data), "sql_file") {
			t.Skip("reads files of this machine")
		}
		dt := "2026-01-01"
		o := Options{Dt: &dt, Profile: "prod", Env: func() []string { return []string{"HOME=/home/x"} }, AllowUnset: true}
		p, err := load("p.yaml", data, o)
		if (p == nil) == (err == nil) {
			t.Fatalf("pipeline %v with error %v", p, err)
		}
		if _, again := load("p.yaml", data, o); (again == nil) != (err == nil) || err != nil && again.Error() != err.Error() {
			t.Fatalf("first %v\nthen %v", err, again)
		}
		var list problem.List
		if err == nil {
			return
		}
		if !errors.As(err, &list) || len(list) == 0 {
			t.Fatalf("error %v is no list of problems", err)
		}
		for _, one := range list {
			if one.Message == "" || strings.ContainsAny(one.Error(), "\r\n") || problem.Exit(one) != problem.ExitUsage {
				t.Fatalf("problem %+v", one)
			}
		}
	})
}
