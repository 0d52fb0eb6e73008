package config

import (
	"errors"
	"strings"
	"testing"

	"github.com/ubunye-io/ubunye/engine/problem"
)

// A bracket that is not closed is named, with its place; other mistakes are not taken for that.
func TestABracketThatIsNotClosed(t *testing.T) {
	const mapping, list = " that is opened here is not closed (write } where the mapping ends)", " that is opened here is not closed (write ] where the list ends)"
	for text, want := range map[string]string{
		"tasks:\n  t:\n    inputs:\n      a: {format: csv, path: a.csv\n    outputs:\n      a: {format: csv, path: out}\n": "p.yaml:4:10: the {" + mapping,
		"tasks:\n  t:\n    inputs: {a: {format: csv, path: a.csv}\n    outputs: {a: {format: csv, path: out}}\n":           "p.yaml:3:13: the {" + mapping,
		"name: p\na: {format: csv, path: a.csv\n":                  "p.yaml:2:4: the {" + mapping,
		"name: p\nb: {c: {d: e\n":                                  "p.yaml:2:8: the {" + mapping,
		"name: p\nbatch: [dt\ntasks:\n  t: {}\n":                   "p.yaml:2:8: the [" + list,
		"a: {b: \"{{ dt }}/]}\\\"\", c: 'it''s }', d: x's\ne: f\n": "p.yaml:1:4: the {" + mapping,
		"a: {path: out, partition_by: [dt, options: {a: b}}\n":     "p.yaml:1:30: the [ that is opened here is not closed before the } at p.yaml:1:50 (write ] where the list ends)",
		"name: p\na: {format: csv # }\n":                           "p.yaml:2:4: the {" + mapping,
		"a: {path: out\nname: p\n":                                 "p.yaml:1:4: the {" + mapping,
		"name: p\na:\n  - {b: c d: e}\n  - |\n   it's {\n":         "did not find expected ',' or '}'",
		"a: {path: {{ dt }/x\n":                                    "quote a value that holds {{ }}",
		"a: {b: \"c\" d, e: f}\n":                                  "did not find expected ',' or '}'",
		"a: {b: c}}\n":                                             "needs quotes",
	} {
		_, err := load("p.yaml", []byte(text), Options{})
		var list problem.List
		if !errors.As(err, &list) || len(list) != 1 || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
