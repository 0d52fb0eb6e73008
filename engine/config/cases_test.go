package config

import (
	"reflect"
	"strings"
	"testing"
)

// Words that YAML 1.1 takes for booleans are text wherever text is wanted, and what YAML 1.2 takes for one is never made text of.
func TestC099_WordsThatAreNoBooleans(t *testing.T) {
	checkProblems(t, "testdata/bad/c099_booleans.yaml")
	p, err := loadText(t, `name: sales
variables:
  country: {type: enum, values: [DE, NO, ON, y], default: NO}
  on: {default: off}
  yes: {default: No}
tasks:
  t:
    inputs:
      a: {format: csv, path: "in/{{ country }}-{{ on }}-{{ yes }}", options: {sep: y, off: on}, columns: {n: text, NO: text, on: text}}
    expect: {a: [{one_of: {n: [DE, NO, ON, yes]}}]}
    outputs: {a: {format: parquet, path: no, partition_by: [NO, on]}}
`, Options{})
	if err != nil {
		t.Fatal(err)
	}
	task := p.Tasks[0]
	if got, want := task.Inputs[0].Written, "in/NO-off-No"; got != want {
		t.Errorf("path %q, want %q", got, want)
	}
	if got, want := task.Inputs[0].Options, map[string]string{"sep": "y", "off": "on"}; !reflect.DeepEqual(got, want) {
		t.Errorf("options %q, want %q", got, want)
	}
	if got, want := task.Outputs[0].PartitionBy, []string{"NO", "on"}; !reflect.DeepEqual(got, want) || task.Outputs[0].Written != "no" {
		t.Errorf("partition_by %q of %q, want %q", got, task.Outputs[0].Written, want)
	}
	if config := string(task.Config); !strings.Contains(config, `["DE","NO","ON","yes"]`) {
		t.Errorf("the check has other values: %s", config)
	}
}

// A key that is written twice is an error with both places; one that is written over a merged one has the value that is written.
func TestC100_KeysThatAreThereTwice(t *testing.T) {
	checkProblems(t, "testdata/bad/c100_duplicate_keys.yaml")
	const merged = `name: sales
x-first: &first {format: parquet, path: first, mode: overwrite}
x-second: &second {path: second, mode: ignore, sort_by: [id]}
tasks:
  t:
    inputs: {a: {format: csv, path: a.csv}}
    outputs:
`
	for text, want := range map[string]Output{
		"a: {<<: *first, path: own}":               {Path: "own", Mode: "overwrite"},
		"a: {path: own, <<: *first}":               {Path: "own", Mode: "overwrite"},
		"a: {<<: [*first, *second], mode: append}": {Path: "first", Mode: "append", SortBy: []string{"id"}},
	} {
		p, err := loadText(t, merged+"      "+text+"\n", Options{})
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if o := p.Tasks[0].Outputs[0]; o.Written != want.Path || o.Mode != want.Mode || !reflect.DeepEqual(o.SortBy, want.SortBy) {
			t.Errorf("%s: %q, %s, %q; want %+v", text, o.Written, o.Mode, o.SortBy, want)
		}
	}
}

// Keys are strict, and there is a shelf for anchors, whose expansion ends.
func TestC101_StrictKeysAndAnchors(t *testing.T) {
	checkProblems(t, "testdata/bad/c101_alias_bomb.yaml")
	const shelf = `name: sales
x-defaults: &d {format: parquet, unheard_of: {of: [1, ~]}}
x-output: &o {format: parquet, x-note: anything, path: out}
tasks:
  t:
    x-columns: &c [id, dt]
    inputs: {a: {format: csv, path: a.csv}}
    outputs: {a: {<<: *o, KEY: *c}}
`
	p, err := loadText(t, strings.Replace(shelf, "KEY", "partition_by", 1), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := p.Tasks[0].Outputs[0].PartitionBy, []string{"id", "dt"}; !reflect.DeepEqual(got, want) {
		t.Errorf("partition_by %q, want %q", got, want)
	}
	for text, says := range map[string]string{
		strings.Replace(shelf, "KEY", "partiton_by", 1):                     `p.yaml:8:27: unknown key "partiton_by" in tasks.t.outputs.a (did you mean "partition_by"?)`,
		strings.Replace(shelf, "*o, KEY: *c", "[*o, *d], x-shelf: *c", 1):   `unknown key "unheard_of" in tasks.t.outputs.a`,
		strings.Replace(shelf, "x-defaults", "defaults", 1):                 `p.yaml:2:1: unknown key "defaults"`,
		"name: sales\nX-shelf: {}\n" + strings.TrimSpace(smallTasks) + "\n": `p.yaml:2:1: unknown key "X-shelf"`,
		"x-a: &a {k: v}\n" + mappingBomb() + "name: sales\ntasks: *a9\n":    "values once every alias is written out",
	} {
		if _, err := loadText(t, text, Options{}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s\n got %v\nwant %s", text, err, says)
		}
	}
}

// mappingBomb is nine anchors of mappings, each with nine aliases of the one before.
func mappingBomb() string {
	var b strings.Builder
	for i, last := 1, "a"; i <= 9; i++ {
		name := "a" + string(rune('0'+i))
		b.WriteString("x-" + name + ": &" + name + " {")
		for k := range 9 {
			b.WriteString(string(rune('a'+k)) + ": *" + last + ", ")
		}
		b.WriteString("}\n")
		last = name
	}
	return b.String()
}

// An environment variable that is not set is named, and the values of others are not printed.
func TestC102_AnUnsetVariableIsNamed(t *testing.T) {
	env := func() []string { return []string{"PW=ab$defgh@jk", "REF={{ env.PW }}"} }
	const file = "name: sales\nvariables: {pw: {default: \"%s\"}}" + smallTasks
	for template, want := range map[string]string{
		"{{ env.PW }}": "ab$defgh@jk", "{{ env.REF }}": "{{ env.PW }}", "pa$USERword": "pa$USERword", "$$": "$$", "${PW}": "${PW}", "$PW %PW% %40": "$PW %PW% %40",
		"{{ env.UNSET | default('x$PW') }}": "x$PW",
	} {
		p, err := loadText(t, strings.Replace(file, "%s", template, 1), Options{Env: env})
		if err != nil {
			t.Errorf("%s: %v", template, err)
		} else if got := p.Variables[0].Value; got != want {
			t.Errorf("%s is %q, want %q", template, got, want)
		}
	}
	_, err := loadText(t, strings.Replace(file, "%s", "{{ env.PW }}:{{ env.PWD_OF_DB }}", 1), Options{Env: env})
	if err == nil || !strings.Contains(err.Error(), "p.yaml:2:") || !strings.Contains(err.Error(), "the environment variable PWD_OF_DB is not set") || strings.Contains(err.Error(), "defgh") {
		t.Errorf("an unset variable: %v", err)
	}
}

// A date, a number and nothing are not made text of: they are to be quoted.
func TestC103_WhatYAMLTakesForSomethingElse(t *testing.T) {
	checkProblems(t, "testdata/bad/c103_unquoted.yaml")
}

// What could change the meaning of SQL or of a path is refused, on the command line and where it is put into text.
func TestC105_ValuesThatAreRefused(t *testing.T) {
	for _, name := range []string{"comments", "flags", "values"} {
		t.Run(name, func(t *testing.T) { checkProblems(t, "testdata/bad/c105_"+name+".yaml") })
	}
}
