package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// parsed is a source whose package "p" is this text.
func parsed(t *testing.T, text string) *source {
	t.Helper()
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "p"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "p", "p.go"), []byte("package p\n\n"+text), 0o600); err != nil {
		t.Fatal(err)
	}
	return &source{root: root, packages: map[string]*pkg{}}
}

func TestADocumentFollowsFromItsStruct(t *testing.T) {
	s := parsed(t, `
import "time"

// T is a thing.
type T struct {
	Name string `+"`json:\"name\"`"+` // what it is called
	Kinds []Kind `+"`json:\"kinds,omitempty\"`"+` // what it is
	// when it was
	// made
	At *time.Time `+"`json:\"at\"`"+`
	Inner
	Skipped int `+"`json:\"-\"`"+`
	hidden  int
}

type Inner struct {
	Sizes map[string]int64 `+"`json:\"sizes\"`"+` // in bytes
}

// Kind is one of two.
type Kind string

// The kinds.
const (
	A Kind = "a" // the first
	B Kind = "b" // the other
)
`)
	got, err := (&builder{source: s, defs: object{}, nullable: true}).document("title", "p.T")
	if err != nil {
		t.Fatal(err)
	}
	want := `{"$defs":{"Kind":{"description":"Kind is one of two.","oneOf":[{"const":"a","description":"The first."},{"const":"b","description":"The other."}]}},
		"$schema":"https://json-schema.org/draft/2020-12/schema","description":"T is a thing.","title":"title","type":"object","required":["at","name","sizes"],"properties":{
		"name":{"type":"string","description":"What it is called."},
		"kinds":{"type":["array","null"],"items":{"$ref":"#/$defs/Kind"},"description":"What it is."},
		"at":{"anyOf":[{"type":"string","format":"date-time"},{"type":"null"}],"description":"When it was made."},
		"sizes":{"type":["object","null"],"additionalProperties":{"type":"integer"},"description":"In bytes."}}}`
	var wanted, made any
	if err := json.Unmarshal([]byte(want), &wanted); err != nil {
		t.Fatal(err)
	}
	text, _ := json.Marshal(got)
	if err := json.Unmarshal(text, &made); err != nil || !reflect.DeepEqual(made, wanted) {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
}

// What would give a schema that says too little is refused.
func TestWhatIsNotSaidIsRefused(t *testing.T) {
	for text, want := range map[string]string{
		"type T struct { A int `json:\"a\"` }":                                              "p.T.A has no doc comment",
		"type T struct {\n\tA int // about a\n}":                                            "p.T.A has no json tag",
		"type T struct {\n\tA chan int `json:\"a\"` // about a\n}":                          "no JSON form",
		"type T struct {\n\tA uint8 `json:\"a\"` // about a\n}":                             "uint8 has no JSON form",
		"type T struct {\n\tA K `json:\"a\"` // about a\n}\ntype K string\nconst X K = `x`": "has no comment",
		"type S struct{}": "no type of that name",
	} {
		_, err := (&builder{source: parsed(t, text), defs: object{}}).document("title", "p.T")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// Every file is made, and twice the same; every field in it has a description.
func TestEveryFileIsMade(t *testing.T) {
	for name, generate := range files() {
		var first, second bytes.Buffer
		for _, out := range []*bytes.Buffer{&first, &second} {
			if err := generate(&source{root: "../..", packages: map[string]*pkg{}}, out); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		if first.String() != second.String() || first.Len() < 500 {
			t.Errorf("%s: %d bytes, then %d", name, first.Len(), second.Len())
		}
		var schema any
		if strings.HasSuffix(name, ".json") {
			if err := json.Unmarshal(first.Bytes(), &schema); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		described(t, name, schema)
	}
}

func described(t *testing.T, at string, schema any) {
	switch s := schema.(type) {
	case map[string]any:
		if properties, ok := s["properties"].(map[string]any); ok {
			for name, p := range properties {
				if text, _ := p.(map[string]any)["description"].(string); len(text) < 8 {
					t.Errorf("%s: %s is described as %q", at, name, text)
				}
			}
		}
		for key, inner := range s {
			described(t, at+"/"+key, inner)
		}
	case []any:
		for _, inner := range s {
			described(t, at, inner)
		}
	}
}
