package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"gopkg.in/yaml.v3"

	"github.com/ubunye-io/ubunye/engine/config"
)

func compile(t *testing.T) *jsonschema.Schema {
	t.Helper()
	var text bytes.Buffer
	if err := run([]string{"schema"}, &text); err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(&text)
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("pipeline.schema.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("pipeline.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func parse(t *testing.T, text []byte) any {
	t.Helper()
	var doc any
	if err := yaml.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	return doc
}

// Every file that the program takes, the schema takes.
func TestTheSchemaAcceptsValidFiles(t *testing.T) {
	var files []string
	for _, pattern := range []string{"../testdata/good/*.yaml", "../../../configs/*/pipeline.yaml"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: no file, %v", pattern, err)
		}
		files = append(files, found...)
	}
	s := compile(t)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Validate(parse(t, text)); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}

func TestTheSchemaRefusesMistakes(t *testing.T) {
	const good = "name: p\nvariables: {dt: date}\ntasks:\n  t:\n    inputs: {raw: {format: csv, path: in.csv}}\n    outputs: {raw: {format: parquet, path: out}}\n"
	s := compile(t)
	if err := s.Validate(parse(t, []byte(good))); err != nil {
		t.Fatal(err)
	}
	for from, to := range map[string]string{
		"path: out": "paht: out", "format: csv": "format: csw", "name: p": "name: 7", "dt: date": "dt: dade", "variables:": "parallel: -1\nvariables:",
		"  t:": "  a b:", "name: p\n": "name: p\nconnektions: {}\n",
		"tasks:": "engine: {threads: two words}\ntasks:", "outputs:": "outputs: {x: {success_file: yes please}}\n    y:",
	} {
		bad := strings.Replace(good, from, to, 1)
		if bad == good {
			t.Fatalf("%q is not in the file", from)
		}
		if err := s.Validate(parse(t, []byte(bad))); err == nil {
			t.Errorf("%q was taken", to)
		}
	}
}

func TestTheReferenceHasEveryKey(t *testing.T) {
	var text bytes.Buffer
	if err := run([]string{"reference"}, &text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"## Each of `outputs` of each of `tasks`", "| `partition_by` |", "UBUNYE_LEDGER__PATH", "UBUNYE_DURABILITY", "`connections`"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q is missing", want)
		}
	}
}

// A pattern takes what the program takes, and a template in its place.
func TestPatternsTakeWhatTheProgramTakes(t *testing.T) {
	const file = "name: p\nengine: {memory: %s, threads: %s}\nledger: {heartbeat: %s}\ntasks:\n  t:\n" +
		"    inputs: {raw: {format: csv, path: in.csv}}\n    outputs: {raw: {format: parquet, path: out, success_file: %s}}\n"
	s := compile(t)
	for i, c := range []struct {
		memory, threads, heartbeat, success string
		valid                               bool
	}{
		{"4GiB", "4", "30s", "true", true}, {"1.5 MB", `"0"`, "1m30s", "FALSE", true}, {"7B", "12", "1.5s", `"true"`, true}, {"4KiB", "1", "100ms", "False", true},
		{"'{{ env.A }}'", "'{{ env.B }}'", "'{{ env.C }}'", "'{{ env.D }}'", true}, {"'{{ env.B }}GiB'", "1", "'{{ env.B }}s'", "true", true},
		{"4", "4", "30s", "true", false}, {"GiB", "4", "30s", "true", false}, {"4GiB", "-4", "30s", "true", false}, {"4GiB", "4.5", "30s", "true", false},
		{"4GiB", "four", "30s", "true", false}, {"4GiB", "4", "30", "true", false}, {"4GiB", "4", "30 seconds", "true", false}, {"4GiB", "4", "30s", "yes", false},
	} {
		text := fmt.Sprintf(file, c.memory, c.threads, c.heartbeat, c.success)
		name := filepath.Join(t.TempDir(), "p.yaml")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := config.Load(name, config.Options{Env: func() []string { return []string{"A=4GiB", "B=2", "C=30s", "D=true"} }})
		if (err == nil) != c.valid {
			t.Errorf("file %d: the program says %v", i, err)
		}
		if err := s.Validate(parse(t, []byte(text))); (err == nil) != c.valid {
			t.Errorf("file %d: the schema says %v", i, err)
		}
	}
}
