package config

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ubunye-io/ubunye/engine/problem"
)

var update = flag.Bool("update", false, "write what is found into the test files")

// parseOptions reads the "#? " lines of a test file: flags as on the command line, "env NAME=VALUE", and
// "--set PATH=VALUE" for a flag that sets a field.
func parseOptions(t *testing.T, text string) Options {
	t.Helper()
	o := Options{Vars: map[string]string{}, Settings: map[string]any{}}
	var env []string
	for line := range strings.Lines(text) {
		words, ok := strings.CutPrefix(line, "#? ")
		if !ok {
			continue
		}
		args := strings.Fields(words)
		for i := 0; i+1 < len(args); i += 2 {
			k, v, _ := strings.Cut(args[i+1], "=")
			switch args[i] {
			case "--dt":
				o.Dt = &args[i+1]
			case "--dtf":
				o.Dtf = &args[i+1]
			case "--var":
				o.Vars[k] = v
			case "--profile":
				o.Profile = args[i+1]
			case "--set":
				o.Settings[k] = v
			case "env":
				env = append(env, args[i+1])
			default:
				t.Fatalf("unknown word %q in the test file", args[i])
			}
		}
	}
	o.Env = func() []string { return env }
	return o
}

// TestProblems loads each file of testdata/bad.
func TestProblems(t *testing.T) {
	files, err := filepath.Glob("testdata/bad/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no test files: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) { checkProblems(t, file) })
	}
}

// checkProblems loads a file and compares all problems with those in its .txt file.
func checkProblems(t *testing.T, file string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	p, err := Load(file, parseOptions(t, string(data)))
	var list problem.List
	if p != nil || !errors.As(err, &list) {
		t.Fatalf("loaded as %+v, error %v; want problems", p, err)
	}
	if exit := problem.Exit(err); exit != problem.ExitUsage {
		t.Errorf("exit code %d, want %d", exit, problem.ExitUsage)
	}
	got := strings.ReplaceAll(err.Error(), file, filepath.Base(file)) + "\n"
	want := file[:len(file)-len("yaml")] + "txt"
	if *update {
		if err := os.WriteFile(want, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(want)
	if err != nil {
		t.Fatal(err)
	}
	gotLines, wantLines := strings.Split(got, "\n"), strings.Split(string(text), "\n")
	for _, line := range gotLines {
		if !slices.Contains(wantLines, line) {
			t.Errorf("not wanted: %s", line)
		}
	}
	for _, line := range wantLines {
		if !slices.Contains(gotLines, line) {
			t.Errorf("missing:    %s", line)
		}
	}
	if !t.Failed() && got != string(text) {
		t.Errorf("in another order:\n%s", got)
	}
}
