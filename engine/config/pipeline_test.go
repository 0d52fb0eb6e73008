package config

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/ubunye-io/ubunye/engine/problem"
)

// loadText loads a pipeline that a test holds as text; it lies in a folder of its own.
func loadText(t *testing.T, text string, o Options) (*Pipeline, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "p.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if o.Env == nil {
		o.Env = func() []string { return nil }
	}
	return Load(file, o)
}

func TestPipeline(t *testing.T) {
	const file = "testdata/good/sales.yaml"
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := filepath.Abs("testdata/good")
	if err != nil {
		t.Fatal(err)
	}
	got, err := Load(file, parseOptions(t, string(data)))
	if err != nil {
		t.Fatal(err)
	}
	at := func(line, col int) problem.Pos { return problem.Pos{File: file, Line: line, Col: col} }
	want := &Pipeline{
		Name: "sales", File: file, Dir: dir, Profile: "prod",
		Engine:     Engine{Kind: "local", Memory: "16GiB", Threads: 2, Spill: filepath.Join(dir, "tmp/spill")},
		Ledger:     Ledger{Path: filepath.Join(dir, ".ubunye"), Heartbeat: 30 * time.Second, Timeout: 15 * time.Minute, Pos: at(12, 16)},
		State:      State{Path: filepath.Join(dir, ".ubunye", "state"), Recover: "proof"},
		Durability: "safe", Parallel: 1,
		Variables: []Variable{
			{Name: "dt", Type: TypeDate, SQLType: "DATE", Value: "2026-01-01", Set: true, Given: true, Doc: "the day", Pos: at(4, 3)},
			{Name: "dtf", Type: TypeDate, SQLType: "DATE", Value: "2026-01-02", Set: true, Pos: at(5, 3)},
			{Name: "region", Type: TypeText, SQLType: "VARCHAR", Value: "eu", Set: true, Pos: at(6, 3)},
		},
		Plugins: []Plugin{{Name: "excel", Path: filepath.Join(dir, "plugins/excel.wasm"), SHA256: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
			Writer: "xlsx", Memory: 64 << 20, Timeout: 90 * time.Second, Files: true, Pos: at(46, 3), PathPos: at(46, 17), SHAPos: at(46, 45)}},
		Batch: []string{"dt", "region"},
		Tasks: []Task{{
			Name: "clean_orders", Pos: at(21, 3),
			Inputs: []Input{
				{Name: "raw", Format: "csv", Path: filepath.Join(dir, "landing/2026/01/orders-20251231*.csv"), Written: "landing/2026/01/orders-20251231*.csv",
					Options: map[string]string{"delimiter": ";", "decimal": ",", "user": "ab$de{{"},
					Columns: []Column{{Name: "id", Type: "bigint", Pos: at(27, 19)}, {Name: "amount", Type: "decimal(18,2)", Pos: at(27, 31)}, {Name: "dt", Type: "date", Pos: at(27, 56)}},
					OnEmpty: "fail", Pos: at(23, 7), PathPos: at(25, 15),
					OptionsAt: map[string]OptionAt{"delimiter": {Pos: at(26, 19)}, "decimal": {Pos: at(26, 35)}, "user": {Pos: at(26, 49)}}},
				{Name: "Other", Format: "parquet", Path: "/data/other.parquet", Written: "/data/other.parquet", Schema: "strict", OnEmpty: "warn", Pos: at(29, 7), PathPos: at(29, 38)},
			},
			Steps: []Step{
				{Name: "typed", SQL: "SELECT * FROM raw WHERE dt BETWEEN '2026-01-01' AND '2026-01-02'", Pos: at(31, 14)},
				{Name: "clean", SQL: "SELECT *\nFROM typed\nWHERE dt = $dt\n", File: "testdata/good/clean.sql", Pos: problem.Pos{File: "testdata/good/clean.sql", Line: 1, Col: 1}},
			},
			Outputs: []Output{
				{Name: "clean", From: "clean", Format: "parquet", Path: filepath.Join(dir, "lake/eu/orders"), Written: "lake/eu/orders", Mode: "append",
					PartitionBy: []string{"dt", "eu"}, SortBy: []string{"id"}, Pos: at(34, 7), FormatPos: at(9, 11), ModePos: at(34, 7), PathPos: at(19, 25)},
				{Name: "raw", From: "raw", Format: "parquet", Path: filepath.Join(dir, "lake/raw"), Written: "lake/raw", Mode: "append",
					SortBy: []string{"id"}, Options: map[string]string{"compression": "zstd", "row_group_size": "4096", "dictionary": "true"}, SuccessFile: true, TargetFileSize: 1572864,
					Pos: at(39, 7), FormatPos: at(9, 11), ModePos: at(39, 7), PathPos: at(41, 15),
					OptionsAt: map[string]OptionAt{"compression": {Pos: at(43, 19)}, "row_group_size": {Pos: at(43, 38)}, "dictionary": {Pos: at(43, 60)}}},
				{Name: "copy", From: "Other", Format: "parquet", Path: filepath.Join(dir, "lake/copy"), Written: "lake/copy", Mode: "append",
					SortBy: []string{"amount DESC"}, SuccessFile: true, Pos: at(44, 7), FormatPos: at(9, 11), ModePos: at(44, 7), PathPos: at(44, 32)},
			},
		}},
	}
	const config = `{"name":"clean_orders","inputs":[` +
		`{"name":"Other","format":"parquet","path":"/data/other.parquet","schema":"strict","on_empty":"warn"},` +
		`{"name":"raw","format":"csv","path":"landing/2026/01/orders-20251231*.csv","options":{"decimal":",","delimiter":";","user":"ab$de{{"},` +
		`"columns":[{"name":"id","type":"bigint"},{"name":"amount","type":"decimal(18,2)"},{"name":"dt","type":"date"}],"on_empty":"fail"}],` +
		`"steps":[{"name":"typed","sql":"SELECT * FROM raw WHERE dt BETWEEN '2026-01-01' AND '2026-01-02'"},` +
		`{"name":"clean","sql":"SELECT *\nFROM typed\nWHERE dt = $dt\n"}],` +
		`"outputs":[{"name":"clean","from":"clean","format":"parquet","path":"lake/eu/orders","mode":"append","partition_by":["dt","eu"],"sort_by":["id"],"success_file":false},` +
		`{"name":"copy","from":"Other","format":"parquet","path":"lake/copy","mode":"append","sort_by":["amount DESC"],"success_file":true},` +
		`{"name":"raw","from":"raw","format":"parquet","path":"lake/raw","mode":"append","sort_by":["id"],"options":{"compression":"zstd","dictionary":"true","row_group_size":"4096"},"success_file":true,"target_file_size":1572864}]}`
	if text := string(got.Tasks[0].Config); text != config {
		t.Errorf("Config\n got %s\nwant %s", text, config)
	}
	got.Tasks[0].Config = nil
	compare(t, "", reflect.ValueOf(*got), reflect.ValueOf(*want))
}

// compare names the first places where two values differ.
func compare(t *testing.T, at string, got, want reflect.Value) {
	t.Helper()
	switch {
	case got.Kind() == reflect.Struct:
		for i := range got.NumField() {
			compare(t, at+"."+got.Type().Field(i).Name, got.Field(i), want.Field(i))
		}
	case got.Kind() == reflect.Slice && got.Len() == want.Len() && got.IsNil() == want.IsNil():
		for i := range got.Len() {
			compare(t, at+"[]", got.Index(i), want.Index(i))
		}
	case !reflect.DeepEqual(got.Interface(), want.Interface()):
		t.Errorf("%s\n got %#v\nwant %#v", at, got.Interface(), want.Interface())
	}
}

// An output whose format is a plugin's name has that plugin, also if a built-in writer or a later version's has the
// name. Which module it is belongs to the configuration; where it lies and its limits do not.
func TestPluginsOfOutputs(t *testing.T) {
	const hash = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
	const text = "name: sales\nplugins: {parquet: {path: %s, sha256: " + hash + ", memory: %s}, delta: {path: d.wasm, sha256: " + hash + "}}\n" +
		"tasks: {t: {inputs: {a: {format: csv, path: a.csv}}, outputs: {a: {format: parquet, path: out}, b: {format: delta, path: b, from: a}, c: {format: csv, path: c, from: a}}}}\n"
	var configs [2]string
	for i, values := range [][]any{{"p.wasm", "256MiB"}, {"q.wasm", "1GiB"}} {
		p, err := loadText(t, fmt.Sprintf(text, values...), Options{})
		if err != nil {
			t.Fatal(err)
		}
		o := p.Tasks[0].Outputs
		if o[0].Plugin == nil || o[0].Plugin.Path != filepath.Join(p.Dir, values[0].(string)) || o[0].Plugin.Timeout != 10*time.Minute ||
			o[1].Plugin == nil || o[1].Plugin.Name != "delta" || o[2].Plugin != nil {
			t.Fatalf("plugins %+v, %+v, %+v", o[0].Plugin, o[1].Plugin, o[2].Plugin)
		}
		configs[i] = string(p.Tasks[0].Config)
	}
	if configs[0] != configs[1] || !strings.Contains(configs[0], `"format":"parquet","plugin":{"sha256":"`+hash+`"}`) {
		t.Errorf("configurations\n%s\n%s", configs[0], configs[1])
	}
}

const smallTasks = `
tasks: {t: {inputs: {a: {format: csv, path: a.csv}}, outputs: {a: {format: parquet, path: out}}}}
`

func TestDefaults(t *testing.T) {
	p, err := loadText(t, "name: sales"+smallTasks, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if want := (Engine{Kind: "local"}); p.Engine != want {
		t.Errorf("engine %+v, want %+v", p.Engine, want)
	}
	if want := (Ledger{Path: filepath.Join(p.Dir, ".ubunye"), Heartbeat: 30 * time.Second, Timeout: 15 * time.Minute}); p.Ledger != want {
		t.Errorf("ledger %+v, want %+v", p.Ledger, want)
	}
	if p.Durability != "safe" || p.Parallel != 1 || p.Batch != nil || p.Unset != nil {
		t.Errorf("durability %q, parallel %d, batch %v, unset %v", p.Durability, p.Parallel, p.Batch, p.Unset)
	}
}

// TestLayers sets one field in more and more layers: each is stronger than those before it.
func TestLayers(t *testing.T) {
	const file = "name: sales\nengine: {memory: 1GiB}\nprofiles: {prod: {engine: {memory: 2GiB}}}" + smallTasks
	env := func() []string { return []string{"UBUNYE_ENGINE__MEMORY=3GiB", "PATH=/bin"} }
	tests := []struct {
		layer string
		text  string
		o     Options
		want  string
	}{
		{"default", "name: sales" + smallTasks, Options{}, ""},
		{"file", file, Options{}, "1GiB"},
		{"profile", file, Options{Profile: "prod"}, "2GiB"},
		{"environment", file, Options{Profile: "prod", Env: env}, "3GiB"},
		{"flag", file, Options{Profile: "prod", Env: env, Settings: map[string]any{"engine.memory": "4GiB"}}, "4GiB"},
		{"environment alone", "name: sales" + smallTasks, Options{Env: env}, "3GiB"},
	}
	for _, tt := range tests {
		p, err := loadText(t, tt.text, tt.o)
		if err != nil {
			t.Fatalf("%s: %v", tt.layer, err)
		}
		if p.Engine.Memory != tt.want {
			t.Errorf("%s: memory %q, want %q", tt.layer, p.Engine.Memory, tt.want)
		}
	}
}

func TestProfileReplacesAndAdds(t *testing.T) {
	p, err := loadText(t, `name: sales
variables: {dt: {type: date, default: "2026-01-01"}}
profiles:
  prod:
    variables: {dt: {default: 2026-02-02}, extra: {default: x}}
    tasks:
      t: {outputs: {a: {sort_by: [x], options: {b: "2"}}}}
      u: {inputs: {a: {format: parquet, path: b}}, outputs: {a: {format: parquet, path: out2}}}
tasks:
  t:
    inputs: {a: {format: csv, path: a.csv}}
    outputs: {a: {format: parquet, path: out, sort_by: [id, dt], options: {a: "1", b: "1"}}}
`, Options{Profile: "prod"})
	if err != nil {
		t.Fatal(err)
	}
	if v := p.Variables; len(v) != 2 || v[0].Value != "2026-02-02" || v[0].Type != TypeDate || v[1].Value != "x" {
		t.Errorf("variables %+v", v)
	}
	out := p.Tasks[0].Outputs[0]
	if want := map[string]string{"a": "1", "b": "2"}; !reflect.DeepEqual(out.Options, want) {
		t.Errorf("options %v, want %v", out.Options, want)
	}
	if want := []string{"x"}; !reflect.DeepEqual(out.SortBy, want) {
		t.Errorf("sort_by %v, want %v", out.SortBy, want)
	}
	if len(p.Tasks) != 2 || p.Tasks[1].Name != "u" || p.Tasks[1].Pos.Line != 8 {
		t.Errorf("tasks %+v", p.Tasks)
	}
}

func TestAllowUnset(t *testing.T) {
	const text = `name: sales
variables: {dt: {type: date, required: true}, kind: {}}
batch: [dt, kind]
tasks:
  t:
    inputs: {a: {format: csv, path: "in/{{ dt | date_add(-1) }}"}}
    transform: {b: "SELECT '{{ dt }}' FROM a"}
    outputs: {%s: {format: parquet, path: out}}
`
	p, err := loadText(t, fmt.Sprintf(text, "b"), Options{AllowUnset: true})
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Unset) != 2 || p.Unset[0].Name != "dt" || p.Unset[1].Name != "kind" {
		t.Errorf("unset %+v, want dt and kind", p.Unset)
	}
	if got := p.Tasks[0].Steps[0].SQL; got != "SELECT '{{ dt }}' FROM a" {
		t.Errorf("SQL %q, want it as written", got)
	}
	if _, err = loadText(t, fmt.Sprintf(text, "c"), Options{AllowUnset: true}); err == nil {
		t.Error("an output without a relation was accepted")
	}

	// One that nothing requires is among them if a text needs it.
	optional := strings.Replace(fmt.Sprintf(text, "b"), "{type: date, required: true}, kind: {}}\nbatch: [dt, kind]", "date, kind: {}, other: {}}", 1)
	optional = strings.Replace(optional, "path: out", "path: \"out/{{ other | default('x') }}\"", 1)
	if p, err = loadText(t, optional, Options{AllowUnset: true}); err != nil {
		t.Fatal(err)
	}
	if len(p.Unset) != 1 || p.Unset[0].Name != "dt" || p.Tasks[0].Outputs[0].Written != "out/x" {
		t.Errorf("unset %+v, want dt; output %q", p.Unset, p.Tasks[0].Outputs[0].Written)
	}
	if _, err = loadText(t, optional, Options{}); err == nil || !strings.Contains(err.Error(), "the variable dt has no value") {
		t.Errorf("a run without dt: %v", err)
	}
}
