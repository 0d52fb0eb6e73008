package config

import (
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/ubunye-io/ubunye/engine/problem"
)

func loadGood(t *testing.T, file string) *Pipeline {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	p, err := Load(file, parseOptions(t, string(text)))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A check that names columns one by one is one check each; values are as they are spelled.
func TestChecks(t *testing.T) {
	const file = "testdata/good/expect.yaml"
	at := func(line, col int) problem.Pos { return problem.Pos{File: file, Line: line, Col: col} }
	text := func(s string) *string { return &s }
	task := loadGood(t, file).Tasks[0]
	want := []Check{
		{Relation: "clean", Kind: "not_null", Columns: []string{"id"}, Severity: "fail", Text: "not_null: [id]", Pos: at(12, 11)},
		{Relation: "clean", Kind: "not_null", Columns: []string{"dt"}, Severity: "fail", Text: "not_null: [dt]", Pos: at(12, 11)},
		{Relation: "clean", Kind: "unique", Columns: []string{"id", "dt"}, Severity: "quarantine", To: "bad", Text: "unique: [id, dt]", Pos: at(13, 11)},
		{Relation: "clean", Kind: "between", Columns: []string{"amount"}, Min: text("0.01"), Severity: "warn", Text: "between: {amount: {min: 0.01}}", Pos: at(14, 11)},
		{Relation: "clean", Kind: "between", Columns: []string{"dt"}, Min: text("2026-01-01"), Max: text("2026-01-31"), Severity: "warn", Text: `between: {dt: {min: 2026-01-01, max: 2026-01-31}}`, Pos: at(14, 11)},
		{Relation: "clean", Kind: "one_of", Columns: []string{"country"}, Values: []string{"de", "fr", "7", "true", "a, b"}, Severity: "fail", Text: `one_of: {country: [de, fr, 7, true, "a, b"]}`, Pos: at(15, 11)},
		{Relation: "clean", Kind: "matches", Columns: []string{"email"}, Pattern: "[^@]+@.+", Severity: "fail", Text: `matches: {email: "[^@]+@.+"}`, Pos: at(16, 11)},
		{Relation: "clean", Kind: "rows", Min: text("1"), Max: text("5"), Severity: "fail", Text: "rows: {min: 1, max: 5}", Pos: at(17, 11)},
		{Relation: "clean", Kind: "columns", Types: []Column{{Name: "id", Type: "bigint", Pos: at(18, 22)}, {Name: "note", Type: "any", Pos: at(18, 34)}}, Severity: "fail", Text: "columns: {id: bigint, note: any}", Pos: at(18, 11)},
		{Relation: "clean", Kind: "columns", Types: []Column{{Name: "id", Type: "any", Pos: at(19, 21)}, {Name: "note", Type: "any", Pos: at(19, 25)}}, Severity: "fail", Text: "columns: [id, note]", Pos: at(19, 11)},
		{Relation: "raw", Kind: "rows", Min: text("1"), Severity: "fail", Text: "rows: {min: 1}", Pos: at(20, 13)},
	}
	if len(task.Checks) != len(want) {
		t.Fatalf("%d checks, want %d", len(task.Checks), len(want))
	}
	for i := range want {
		if !reflect.DeepEqual(task.Checks[i], want[i]) {
			t.Errorf("check %d:\n got %+v\nwant %+v", i, task.Checks[i], want[i])
		}
	}
	balances := []Balance{
		{Input: "raw", Outputs: []string{"clean", "bad"}, Severity: "fail", Text: "reconcile: {input: raw, output: clean, plus: [bad], rows: equal}", Pos: at(22, 9)},
		{Input: "raw", Outputs: []string{"clean"}, MaxLost: 10, Severity: "warn", Text: "reconcile: {input: raw, output: clean, max_lost: 10}", Pos: at(23, 9)},
		{Input: "raw", Outputs: []string{"clean"}, Sum: "amount", Tolerance: "0.01", Severity: "fail", Text: "reconcile: {input: raw, output: clean, sum: amount, tolerance: 0.01}", Pos: at(24, 9)},
	}
	if !reflect.DeepEqual(task.Balances, balances) {
		t.Errorf("reconcile:\n got %+v\nwant %+v", task.Balances, balances)
	}
	if bad := task.Outputs[1]; !bad.Quarantine || bad.From != "clean" || task.Outputs[0].Quarantine {
		t.Errorf("the output that takes the rows: %+v", bad)
	}
}

// Checks are part of what a task is; a check of a long list is told in one line.
func TestChecksAreConfiguration(t *testing.T) {
	const file = "name: p\ntasks:\n  t:\n    inputs: {raw: {format: csv, path: in.csv}}\n    expect: {raw: [{one_of: {id: [%s]}}]}\n    outputs: {raw: {format: parquet, path: out}}\n"
	var configs []string
	for _, values := range []string{"1, 2", "1, 3", strings.Repeat("1000, ", 1000) + "1"} {
		p, err := loadText(t, fmt.Sprintf(file, values), Options{})
		if err != nil {
			t.Fatal(err)
		}
		configs = append(configs, string(p.Tasks[0].Config))
		if text := []rune(p.Tasks[0].Checks[0].Text); len(text) > 100 {
			t.Errorf("the text has %d characters", len(text))
		}
	}
	if configs[0] == configs[1] || !strings.Contains(configs[0], `"values":["1","2"]`) {
		t.Errorf("configurations %s\nand %s", configs[0], configs[1])
	}
}

// A date without quotes is a value as it is spelled, wherever a value of a column stands.
func TestValuesAreAsSpelled(t *testing.T) {
	const file = "name: p\ntasks:\n  t:\n    inputs: {raw: {format: csv, path: in.csv}}\n    expect: {raw: [{one_of: {id: [%s]}}]}\n    outputs: {raw: {format: parquet, path: out}}\n"
	for text, want := range map[string]string{"2026-01-01": "2026-01-01", "1.10": "1.10", "-7": "-7", "true": "true", "no": "no", "12:30:00": "12:30:00", `"010"`: "010",
		"010": "", "0x10": "", "1_000": "", "~": "", "1e3": "", ".inf": "", ".5": "", "+5": "", "[x]": ""} {
		p, err := loadText(t, fmt.Sprintf(file, text), Options{})
		switch {
		case want == "" && err == nil:
			t.Errorf("%s was taken for %q", text, p.Tasks[0].Checks[0].Values)
		case want != "" && err != nil:
			t.Errorf("%s: %v", text, err)
		case want != "" && p.Tasks[0].Checks[0].Values[0] != want:
			t.Errorf("%s was taken for %q", text, p.Tasks[0].Checks[0].Values)
		}
	}
}
