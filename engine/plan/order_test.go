package plan

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ubunye-io/ubunye/engine/config"
)

// tasks makes a pipeline of tasks that are given by their inputs and outputs, as in "a: {x: {from: b.y}} -> {y: {path: a}}".
func tasks(t *testing.T, lines ...string) *config.Pipeline {
	t.Helper()
	text := "name: sales\nvariables: {dt: date}\nplugins: {mine: {path: m.wasm, sha256: " + strings.Repeat("a", 64) + "}}\ntasks:\n"
	for _, line := range lines {
		name, rest, _ := strings.Cut(line, ": ")
		in, out, _ := strings.Cut(rest, " -> ")
		text += fmt.Sprintf("  %s:\n    inputs: %s\n    outputs: %s\n", name, in, out)
	}
	path := filepath.Join(t.TempDir(), "p.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	day := "2026-01-02"
	p, err := config.Load(path, config.Options{Dt: &day, Env: func() []string { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// anything delivers every format and mode.
func anything(format, mode string, _ map[string]string) (Delivery, error) {
	return Delivery{Class: "claims"}, nil
}

const (
	fromNothing = "{r: {format: csv, path: in.csv}}"
	toFolder    = "{o: {from: r, format: parquet, path: %s}}"
)

func out(folder string) string { return fmt.Sprintf(toFolder, folder) }

// told gives an order as "a, b after a, c after a! b": with ! what is needed.
func told(p *Plan) string {
	var all []string
	for _, t := range p.Tasks {
		text := t.Name
		for i, a := range t.After {
			if i == 0 {
				text += " after"
			}
			text += " " + a.Task
			if a.Needs {
				text += "!"
			}
		}
		all = append(all, text)
	}
	return strings.Join(all, ", ")
}

func TestOrder(t *testing.T) {
	for name, tt := range map[string]struct {
		tasks  []string
		choose []string
		want   string
		width  int
	}{
		"that of the file": {[]string{"b: " + fromNothing + " -> " + out("b"), "a: " + fromNothing + " -> " + out("a")}, nil, "b, a", 2},
		"behind what is read": {[]string{"c: {r: {from: a.o}} -> " + out("c"), "b: " + fromNothing + " -> " + out("b"), "a: " + fromNothing + " -> " + out("a")}, nil,
			"b, a, c after a!", 2},
		"a diamond": {[]string{"d: {r: {from: b.o}, s: {from: c.o}} -> " + out("d"), "c: {r: {from: a.o}} -> " + out("c"), "b: {r: {from: a.o}} -> " + out("b"), "a: " + fromNothing + " -> " + out("a")}, nil,
			"a, c after a!, b after a!, d after c! b!", 2},
		"a chain": {[]string{"c: {r: {from: b.o}} -> " + out("c"), "b: {r: {from: a.o}} -> " + out("b"), "a: " + fromNothing + " -> " + out("a")}, nil,
			"a, b after a!, c after b!", 1},
		"a selection": {[]string{"c: {r: {from: b.o}} -> " + out("c"), "b: " + fromNothing + " -> " + out("b"), "a: " + fromNothing + " -> " + out("a")}, []string{"b", "c"},
			"b, c after b!", 1},
		"a later task reads by path what an earlier one writes": {[]string{"a: " + fromNothing + " -> " + out("lake/a"), "b: {r: {format: parquet, path: lake/**/*.parquet}} -> " + out("out")}, nil,
			"a, b after a!", 1},
		"an earlier task reads by path what a later one writes": {[]string{"b: {r: {format: parquet, path: lake/a}} -> " + out("out"), "a: " + fromNothing + " -> " + out("lake/a")}, nil,
			"b, a after b", 1},
		"what is read by from comes first, also if the other way is a path": {[]string{"b: {r: {from: a.o}} -> " + out("out"), "a: {r: {format: parquet, path: out}} -> " + out("lake/a")}, nil,
			"a, b after a!", 1},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := Make(tasks(t, tt.tasks...), tt.choose, anything)
			if err != nil {
				t.Fatal(err)
			}
			if got := told(p); got != tt.want || p.Width != tt.width {
				t.Errorf("got  %s, width %d\nwant %s, width %d", got, p.Width, tt.want, tt.width)
			}
		})
	}
}

func TestReaches(t *testing.T) {
	for in, want := range map[string]bool{
		"/d/lake/orders": true, "/d/lake": true, "/d": true, "/": true, "/d/lake/orders/dt=1/a.parquet": true, "/d/lake/orders2": false, "/d/lak": false,
		"/d/lake/orders/*.parquet": true, "/d/lake/*/*.parquet": true, "/d/lake/*.parquet": false, "/d/*": false, "/d/**": true, "/**/a.parquet": true,
		"/d/**/dt=1/*.parquet": true, "/d/lake/[a-n]*/*": false, "/d/lake/[!a-n]*/*": true, "/d/lake/order?/**": true, "/e/**": false,
	} {
		if got := reaches(filepath.Clean(in), "/d/lake/orders"); got != want {
			t.Errorf("%s: %v, want %v", in, got, want)
		}
	}
}

func TestOrderProblems(t *testing.T) {
	second := " -> {o: {from: r, format: parquet, path: lake/a, mode: %s}}"
	for name, tt := range map[string]struct {
		tasks  []string
		choose []string
		want   []string
	}{
		"two append to one folder": {[]string{"a: " + fromNothing + " -> " + out("lake/a"), "b: " + fromNothing + fmt.Sprintf(second, "append")}, nil, nil},
		"one of them replaces": {[]string{"a: " + fromNothing + " -> " + out("lake/a"), "b: " + fromNothing + fmt.Sprintf(second, "overwrite")}, nil,
			[]string{"p.yaml:10:51: task b, output o: it writes to the same folder as output o of task a at ", "p.yaml:7:51, one of the two replaces what is there, and neither reads what the other writes"}},
		"both look whether there is data":        {[]string{"a: " + fromNothing + fmt.Sprintf(second, "ignore"), "b: " + fromNothing + fmt.Sprintf(second, "ignore")}, nil, []string{"one of the two replaces"}},
		"one replaces what it reads":             {[]string{"a: " + fromNothing + " -> " + out("lake/a"), "b: {r: {from: a.o}}" + fmt.Sprintf(second, "overwrite")}, nil, nil},
		"one after the other, by way of a third": {[]string{"a: " + fromNothing + " -> " + out("lake/a"), "c: {r: {from: a.o}} -> " + out("lake/c"), "b: {r: {from: c.o}}" + fmt.Sprintf(second, "overwrite")}, nil, nil},
		"in another format":                      {[]string{"a: " + fromNothing + " -> " + out("lake/a"), "b: " + fromNothing + " -> {o: {from: r, format: csv, path: lake/a}}"}, nil, []string{"in another format or with other partitions"}},
		"with other partitions":                  {[]string{"a: " + fromNothing + " -> " + out("lake/a"), "b: " + fromNothing + " -> {o: {from: r, format: parquet, path: lake/a, partition_by: [dt]}}"}, nil, []string{"in another format or with other partitions"}},
		"not selected": {[]string{"a: " + fromNothing + " -> " + out("lake/a"), "b: {r: {from: a.o}} -> " + out("lake/b")}, []string{"b"},
			[]string{"p.yaml:9:24: task b: input r reads what task a writes in the same run, and that is not selected (add --task a, or run without --task)"}},
		"a plugin's format": {[]string{"a: " + fromNothing + " -> {o: {from: r, format: mine, path: lake/a}}", "b: {r: {from: a.o}} -> " + out("lake/b")}, nil,
			[]string{"p.yaml:9:24: task b: input r: only the plugin mine knows the format of a.o (have a write the relation to another output too, in a format that inputs can have: csv, json, parquet, delta)"}},
		"a format that is written only": {[]string{"a: " + fromNothing + " -> {o: {from: r, format: orc, path: lake/a}}", "b: {r: {from: a.o}} -> " + out("lake/b")}, nil,
			[]string{"p.yaml:9:24: task b: input r: a.o has the format orc, which inputs cannot have (known: csv, json, parquet, delta)"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Make(tasks(t, tt.tasks...), tt.choose, anything)
			if (err == nil) != (tt.want == nil) {
				t.Fatalf("got %v, want %q", err, tt.want)
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("got %v\nwant %q in it", err, want)
				}
			}
		})
	}
}

// A task that reads the folder which it writes to is told, unless it reads in other partitions than the batch's own.
func TestOwnFolders(t *testing.T) {
	for name, tt := range map[string]struct {
		in, mode string
		want     string
	}{
		"all of it, to append":            {"lake/a", "append", "a --rerun finds in it"},
		"its own partition":               {"lake/a/dt=2026-01-02/*.parquet", "append", "a --rerun finds in it"},
		"another partition":               {"lake/a/dt=2026-01-01/*.parquet", "append", ""},
		"another partition, and another":  {"lake/a/*/dt=2026-01-01/*.parquet", "append", "a --rerun finds in it"},
		"any partition":                   {"lake/a/dt=*/*.parquet", "overwrite_partitions", "a run that ends between"},
		"all of it, to replace":           {"lake/a/**/*.parquet", "overwrite", "a run that ends between"},
		"a part of what is replaced":      {"lake/a/dt=2026-01-01/*.parquet", "overwrite", "a run that ends between"},
		"another partition, to replace":   {"lake/a/dt=2026-01-01", "overwrite_partitions", ""},
		"where nothing is written beside": {"lake/a", "ignore", ""},
		"another folder":                  {"lake/b", "append", ""},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := Make(tasks(t, fmt.Sprintf("a: {r: {format: parquet, path: %q}} -> {o: {from: r, format: parquet, path: lake/a, mode: %s, partition_by: [dt]}}", tt.in, tt.mode)), nil, anything)
			if err != nil {
				t.Fatal(err)
			}
			if (len(p.Warnings) == 0) != (tt.want == "") || tt.want != "" && !strings.Contains(p.Warnings[0].Error(), tt.want) {
				t.Errorf("warnings %v, want %q", p.Warnings, tt.want)
			}
			if tt.want != "" && p.Warnings[0].Pos.Line != 6 {
				t.Errorf("at %v", p.Warnings[0].Pos)
			}
		})
	}
}
