package plan

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/ubunye-io/ubunye/engine/config"
	"github.com/ubunye-io/ubunye/engine/problem"
)

const file = `name: sales
variables:
  dt: {type: date}
  dtf: date
  region: {default: eu}
  note: text
%s
profiles: {prod: {}}
tasks:
  clean_orders:
    inputs: {clean: {format: csv, path: in.csv}}
    outputs:
      clean: {format: parquet, path: lake/orders}
  stage_orders:
    inputs: {raw: {format: csv, path: in.csv}}
    outputs:
      raw:
        format: parquet
        path: lake/raw
        options: {compression: zstd}
`

func load(t *testing.T, extra string, o config.Options) *config.Pipeline {
	t.Helper()
	path := filepath.Join(t.TempDir(), "p.yaml")
	if err := os.WriteFile(path, fmt.Appendf(nil, file, extra), 0o600); err != nil {
		t.Fatal(err)
	}
	o.Env = func() []string { return nil }
	p, err := config.Load(path, o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// claims answers as an engine does that has one writer, parquet, with the mode append.
func claims(format, mode string, _ map[string]string) (Delivery, error) {
	switch {
	case format != "parquet":
		return Delivery{}, &UnknownFormatError{Format: format, Known: []string{"parquet"}}
	case mode != "append":
		return Delivery{}, errors.New("has no mode " + mode)
	}
	return Delivery{Class: "claims"}, nil
}

// The first two keys stand in the design of the ledger; the others were made by another implementation (Python: json.dumps with
// sort_keys and ensure_ascii=False, hashlib).
func TestBatch(t *testing.T) {
	given := "2026-01-01"
	tests := []struct {
		name      string
		extra     string
		options   config.Options
		key       string
		variables map[string]string
		named     bool
	}{
		{name: "the ledger's example", options: config.Options{Dt: &given}, key: "648329bef7e5eb15",
			variables: map[string]string{"dt": "2026-01-01", "region": "eu"}, named: true},
		{name: "the ledger's example with a profile", options: config.Options{Dt: &given, Profile: "prod"}, key: "1403f39ce07c983d",
			variables: map[string]string{"dt": "2026-01-01", "region": "eu"}, named: true},
		{name: "another spelling of a date is the same batch", options: config.Options{Vars: map[string]string{"dt": "20260101"}}, key: "648329bef7e5eb15",
			variables: map[string]string{"dt": "2026-01-01", "region": "eu"}, named: true},
		{name: "batch: leaves the others out", extra: "batch: [dt]", options: config.Options{Dt: &given, Vars: map[string]string{"note": "x"}}, key: "e7da29c69799d188",
			variables: map[string]string{"dt": "2026-01-01"}, named: true},
		{name: "a default alone names nothing", key: "003dc995fc1aeeb9", variables: map[string]string{"region": "eu"}},
		{name: "a default that is listed does", extra: "batch: [region]", key: "003dc995fc1aeeb9", variables: map[string]string{"region": "eu"}, named: true},
		{name: "dtf alone names nothing", options: config.Options{Dtf: &given}, key: "bd34b7094334d7a2",
			variables: map[string]string{"dtf": "2026-01-01", "region": "eu"}},
		{name: "the profile alone names nothing", options: config.Options{Profile: "prod"}, key: "b50a5345c93f1b39",
			variables: map[string]string{"region": "eu"}},
		{name: "text is not escaped", options: config.Options{Vars: map[string]string{"note": "<ü>&\u2028\\u2028\"\n"}}, key: "c1f4e67bb14cc06e",
			variables: map[string]string{"note": "<ü>&\u2028\\u2028\"\n", "region": "eu"}, named: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			plan, err := Make(load(t, tt.extra, tt.options), nil, claims)
			if err != nil {
				t.Fatal(err)
			}
			want := Batch{Pipeline: "sales", Task: "clean_orders", Variables: tt.variables, Profile: tt.options.Profile, Key: tt.key, Named: tt.named}
			if got := plan.Tasks[0].Batch; !reflect.DeepEqual(got, want) {
				t.Errorf("batch\n got %+v\nwant %+v", got, want)
			}
			if other := plan.Tasks[1].Batch; other.Key == tt.key || other.Task != "stage_orders" {
				t.Errorf("the second task's batch is %+v", other)
			}
		})
	}
}

func TestTargets(t *testing.T) {
	var asked []string
	plan, err := Make(load(t, "", config.Options{}), nil, func(format, mode string, options map[string]string) (Delivery, error) {
		asked = append(asked, fmt.Sprint(format, " ", mode, " ", options))
		return claims(format, mode, options)
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"parquet append map[]", "parquet append map[compression:zstd]"}; !reflect.DeepEqual(asked, want) {
		t.Errorf("asked %q, want %q", asked, want)
	}
	var got []string
	for _, task := range plan.Tasks {
		for _, target := range task.Targets {
			got = append(got, task.Name+" "+target.Name+" "+target.Class)
		}
	}
	if want := []string{"clean_orders clean claims", "stage_orders raw claims"}; !reflect.DeepEqual(got, want) {
		t.Errorf("targets %q, want %q", got, want)
	}
}

func TestSelectedTasks(t *testing.T) {
	p := load(t, "", config.Options{})
	plan, err := Make(p, []string{"stage_orders"}, claims)
	if err != nil {
		t.Fatal(err)
	}
	if len(plan.Tasks) != 1 || plan.Tasks[0].Name != "stage_orders" {
		t.Errorf("tasks %+v, want stage_orders alone", plan.Tasks)
	}
	plan, err = Make(p, []string{"stage_orders", "clean_orders"}, claims)
	if err != nil {
		t.Fatal(err)
	}
	if plan.Tasks[0].Name != "clean_orders" {
		t.Errorf("first task %s: not in the order of the file", plan.Tasks[0].Name)
	}
}

func TestProblems(t *testing.T) {
	wrong := func(change func(o *config.Output)) *config.Pipeline {
		p := load(t, "", config.Options{})
		change(&p.Tasks[0].Outputs[0])
		return p
	}
	unset := load(t, "batch: [dt]", config.Options{AllowUnset: true})
	short := load(t, "", config.Options{})
	short.Tasks[1].Name = "t"
	tests := []struct {
		name  string
		p     *config.Pipeline
		tasks []string
		want  string
		code  problem.Code
	}{
		{"unknown task", load(t, "", config.Options{}), []string{"clean_order"},
			`--task clean_order: the pipeline has no task of that name (did you mean "clean_orders"?)`, problem.Usage},
		{"unknown task of one letter", short, []string{"u"}, `--task u: the pipeline has no task of that name (known: clean_orders, t)`, problem.Usage},
		{"unknown format", wrong(func(o *config.Output) { o.Format = "parqet" }), nil,
			`p.yaml:13:23: task clean_orders, output clean: there is no writer for the format "parqet" (did you mean "parquet"?)`, problem.PluginMissing},
		{"a mode it lacks", wrong(func(o *config.Output) { o.Mode = "merge" }), nil,
			`p.yaml:13:7: task clean_orders, output clean: the writer for parquet has no mode merge`, problem.ConfigInvalid},
		{"a condition on files", wrong(func(o *config.Output) { o.ReplaceWhere = "id > 1" }), nil,
			`p.yaml:13:7: task clean_orders, output clean: replace_where: the writer for parquet writes files, and of those no rows can be replaced (mode: overwrite_partitions replaces whole partitions: have the columns of the slice in partition_by)`, problem.ConfigInvalid},
		{"new columns of files", wrong(func(o *config.Output) { o.Schema = "strict" }), nil,
			`p.yaml:13:7: task clean_orders, output clean: schema: the writer for parquet writes files, which all have the columns of their own rows (remove the key)`, problem.ConfigInvalid},
		{"no value", unset, nil, `p.yaml:3:3: the variable dt has no value (give it: a batch is made of values)`, problem.Usage},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Make(tt.p, tt.tasks, claims)
			var list problem.List
			if !errors.As(err, &list) || len(list) != 1 {
				t.Fatalf("got %v, want one problem", err)
			}
			got := strings.TrimPrefix(list[0].Error(), tt.p.Dir+string(filepath.Separator))
			if got != tt.want || list[0].Code != tt.code {
				t.Errorf("\n got %s: %s\nwant %s: %s", list[0].Code, got, tt.code, tt.want)
			}
		})
	}
}

// Canonical JSON escapes what JSON demands and nothing else.
func TestCanonical(t *testing.T) {
	b := Batch{Pipeline: "p", Task: "t", Variables: map[string]string{"z": "a\"\\\n\x01<&>\u2028é", "a": ""}}
	want := "{\"task\":\"p/t\",\"variables\":{\"a\":\"\",\"z\":\"a\\\"\\\\\\n\\u0001<&>\u2028é\"}}"
	if got := canonical(b); got != want || !json.Valid([]byte(got)) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// That a dead run's commit is the batch's own is known of a named batch, and of one that reads what is new.
func TestOnceIsForNamedBatches(t *testing.T) {
	given := "2026-01-01"
	for _, c := range []struct {
		options config.Options
		where   string
		want    string
	}{{config.Options{}, "", "named"}, {config.Options{Dt: &given}, "", "once"}, {config.Options{}, "id > 1", "replaces"}} {
		p := load(t, "", c.options)
		p.Tasks[0].Outputs[0].ReplaceWhere = c.where
		plan, err := Make(p, nil, func(_, _ string, options map[string]string) (Delivery, error) {
			if options["replace_where"] != "" {
				return Delivery{Class: "replaces", Table: true}, nil
			}
			return Delivery{Class: "once", Table: true}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := plan.Tasks[0].Targets[0]; got.Class != c.want || !got.Table {
			t.Errorf("%+v: %+v, want %s", c, got.Delivery, c.want)
		}
	}
}
