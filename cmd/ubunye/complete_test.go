package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// half is a pipeline as it is while somebody writes it: much is missing.
const half = `name: sales
variables:
  dt: {type: date, required: true, doc: "The day\n to load"}
  dtf: text
  region: {type: enum, values: [eu, us, uk]}
profiles:
  prod: {engine: {memory: 16GiB}}
  x-test: {}
plugins:
  excel: {path: excel.wasm}
tasks:
  clean_orders: {}
  load_orders: {inputs: {raw: {format: nothing}}}
`

func TestCompletion(t *testing.T) {
	file := filepath.Join(t.TempDir(), "p.yaml")
	if err := os.WriteFile(file, []byte(half), 0o600); err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]string{
		"run -c FILE --task ":             "clean_orders load_orders :4",
		"run -c FILE --task l":            "load_orders :4",
		"status -c FILE --task=c":         "clean_orders :4",
		"plan -c FILE --profile ":         "prod :4",
		"plugin list -c FILE --profile p": "prod :4",
		"run -c FILE --var ":              "dt=\tThe day to load dtf= region= :6", // no space, no file
		"run -c FILE --var re":            "region= :6",
		"run -c FILE --var region=u":      "region=us region=uk :4",
		"run -c FILE --var dt=2":          ":4",
		"run -c FILE --dt ":               ":4",
		"backfill -c FILE --variable d":   "dt\tThe day to load dtf :4",
		"status -c FILE --every ":         "hour day week month :4",
		"backfill -c FILE --from ":        ":4",
		"run -c missing.yaml --task ":     ":4",
		"run --task ":                     ":4",
		"validate -c ":                    "yaml yml :8", // files of these kinds
		"plugin inspect -c FILE ":         "csv delta json parquet excel :0",
		"plugin inspect p":                "parquet :0",
		"plugin inspect parquet ":         ":4",
		"pl":                              "plan\tTell what a run would do now; nothing is written plugin\tWriters: those that are built in, those of a pipeline, and files :4",
		"completion ba":                   "bash\tGenerate the autocompletion script for bash :4",
	} {
		words := strings.Split(strings.ReplaceAll(line, "FILE", file), " ")
		var out, errs bytes.Buffer
		if exit := run(t.Context(), append([]string{"ubunye", "__complete"}, words...), strings.NewReader(""), &out, &errs); exit != 0 {
			t.Fatalf("%q: exit code %d: %s", line, exit, errs.String())
		}
		if got := strings.Join(strings.Split(strings.TrimSpace(out.String()), "\n"), " "); got != want {
			t.Errorf("%q:\ngot  %q\nwant %q", line, got, want)
		}
	}
}

// The numbers of the runs that are there, unfinished ones first, and the tasks of one that are left.
func TestCompletionOfRuns(t *testing.T) {
	state := t.TempDir()
	for name, tasks := range map[string]string{
		"succeeded/sales.11.1.json": `"a": {"executionId": {}, "state": "SUCCEEDED"}`,
		"succeeded/sales.1.1.json":  `"a": {"executionId": {}, "state": "SUCCEEDED"}`,
		"current/sales.2.1.json":    `"a": {"executionId": {}, "state": "SUCCEEDED"}, "b": {"executionId": {}, "state": "FAILED"}, "c": {"executionId": {}, "state": "PENDING"}`,
	} {
		words := strings.Split(filepath.Base(name), ".")
		text := fmt.Sprintf(`{"engine": "ubunye", "runStateFormatVersion": 8, "appConfig": {"applicationName": "sales"}, "runId": %s, "attemptId": 1, "actionsState": {%s}, "isFinal": true, "ubunyeVersionInfo": {"version": "1"}}`, words[1], tasks)
		if err := os.MkdirAll(filepath.Join(state, filepath.Dir(name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(state, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for line, want := range map[string]string{
		"state show -s DIR ":               "2 11 1 :36",
		"state accept -s DIR 1":            "11 1 :36",
		"state accept -s DIR 2 ":           ":36",
		"state accept 2 -s DIR --task ":    "b c :4",
		"state accept 2 -s DIR --task c":   "c :4",
		"state accept 2 -s nowhere --task": ":4",
		"state show -s nowhere ":           ":36",
		"state show -s ":                   ":16",
		"state migrate -s DIR --time-zone": ":4",
	} {
		words := strings.Split(strings.ReplaceAll(line, "DIR", state), " ")
		if words[len(words)-1] == "--task" || words[len(words)-1] == "--time-zone" {
			words = append(words, "")
		}
		var out, errs bytes.Buffer
		if exit := run(t.Context(), append([]string{"ubunye", "__complete"}, words...), strings.NewReader(""), &out, &errs); exit != 0 {
			t.Fatalf("%q: exit code %d: %s", line, exit, errs.String())
		}
		if got := strings.Join(strings.Split(strings.TrimSpace(out.String()), "\n"), " "); got != want {
			t.Errorf("%q:\ngot  %q\nwant %q", line, got, want)
		}
	}
}
