package config

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func loadImport(t *testing.T, text string) (*Import, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "map.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return LoadImport(file)
}

// Values keep the kind that they have in YAML, because the other program tells kinds apart; dates are text.
func TestImportOfPython(t *testing.T) {
	im, err := loadImport(t, `from: python
root: old
time_zone: Europe/Zurich
x-note: this means nothing
tasks:
  clean: {task: sales/etl/clean, outputs: {orders: out}}
  load: sales/etl/load
batches:
  - {dt: 2026-01-01, n: 1, text: "1", yes: true, words: [a, 2, false]}
  - {dt: {from: 2026-01-01, to: 2026-02-01, every: week}}
`)
	if err != nil {
		t.Fatal(err)
	}
	if im.Program != "python" || filepath.Base(im.Root) != "old" || !filepath.IsAbs(im.Root) || im.Zone != "Europe/Zurich" || len(im.Tasks) != 2 ||
		im.Tasks[0].Task != "sales/etl/clean" || im.Tasks[0].Outputs["orders"] != "out" || im.Tasks[1].Name != "load" || im.Tasks[1].Task != "sales/etl/load" {
		t.Errorf("%+v", im)
	}
	var values []string
	for _, v := range im.Batches[0].Variables {
		values = append(values, fmt.Sprintf("%s=%#v", v.Name, v.Values))
	}
	want := `dt=[]interface {}{"2026-01-01"} n=[]interface {}{1} text=[]interface {}{"1"} yes=[]interface {}{true} words=[]interface {}{"a", 2, false}`
	if got := strings.Join(values, " "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if r := im.Batches[1].Variables[0].Range; r == nil || r.From != "2026-01-01" || r.To != "2026-02-01" || r.Every != EveryWeek {
		t.Errorf("%+v", r)
	}
}

func TestImportOfSDLB(t *testing.T) {
	im, err := loadImport(t, "from: sdlb\nstate: old/state\nmarks: {clean.raw: ext-orders, clean.more: \"1\"}\n")
	if err != nil {
		t.Fatal(err)
	}
	if im.Program != "sdlb" || filepath.Base(im.State) != "state" || len(im.Marks) != 2 || im.Marks[0].Task != "clean" || im.Marks[0].Input != "raw" || im.Marks[0].Object != "ext-orders" || im.Marks[1].Object != "1" {
		t.Errorf("%+v", im)
	}
}

// Everything that is wrong is told at once, with its place.
func TestImportsThatAreWrong(t *testing.T) {
	for text, want := range map[string][]string{
		"":   {"map.yaml:1:1: the file is empty (it says from which program, and what is taken over)"},
		"[]": {"the file holds a list, not keys and values"},
		"root: old\ntasks: {a: {}}\nbatches: []\n": {"the file has no from", "tasks.a has no task", "3:10: batches is empty"},
		"from: python\nroot: s3://x\ntasks: {a: x/y}\nbatches: [1, {}, {dt: []}, {dt: 1.5}, {dt: 010}, {dt: {from: 1}}, {dt: [{a: 1}]}, {dt: }]\n": {
			"s3:// is not in this version", `"x/y" is not the name of a task there`, "batches[0] wants variables and their values, not a number", "batches[1] wants variables", "batches[2].dt is empty",
			`batches[3].dt: "1.5" can be spelled in several ways (quote it if it was text there)`, `batches[4].dt: "010" can be spelled`, "batches[5].dt has no to", "batches[6].dt[0] wants one value", `batches[7].dt: "" can be spelled`},
		"from: python\nroot: o\ntasks: {a: ../../b}\nbatches: [{dt: a}]\n":                      {`"../../b" is not the name of a task there`},
		"from: sdlb\nstate: old\nbatches: []\nmarks: {a: x, b.c: [y], d.e.f: z, g.h: {i: 1}}\n": {`unknown key "batches"`, `"a" in marks names no input of a task (write it as TASK.INPUT)`, "marks.b.c wants one value", `"d.e.f" in marks`},
		"from: sdlb\nstate: old\n": {"the file has no marks (as in marks: {clean_orders.raw: ext-orders})"},
		"from: excel\n":            {`from: "excel" is not known (known: python, sdlb)`, "the file has no root"},
		"from: python\nroot: o\ntasks: {a: x/y/z}\nbatches: [{dt: a}]\nbatches: [{dt: b}]\nmore: 1\n": {`the key "batches" is here a second time`, `unknown key "more"`},
	} {
		_, err := loadImport(t, text)
		for _, w := range want {
			if err == nil || !strings.Contains(err.Error(), w) {
				t.Errorf("%q\ngot  %v\nwant %s", text, err, w)
			}
		}
	}
	if _, err := LoadImport(filepath.Join(t.TempDir(), "none.yaml")); err == nil || !strings.Contains(err.Error(), "none.yaml: the file cannot be read: no such file or directory (it says which tasks") {
		t.Errorf("got %v", err)
	}
}
