package config

import (
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// walk calls fn for every field of the declaration, once for the file and once for profiles.
func walk(fields []*Field, path string, fn func(path string, f *Field)) {
	for _, f := range fields {
		at := path + "." + f.Name
		fn(at, f)
		walk(f.Fields, at, fn)
		for e := f.Elem; e != nil; e = e.Elem {
			walk(e.Fields, at, fn)
		}
	}
}

// TestDeclaration holds every field to what the checks, the schema and the reference need of it.
func TestDeclaration(t *testing.T) {
	count := 0
	walk(Fields(), "", func(path string, f *Field) {
		count++
		if f.Doc == "" {
			t.Errorf("%s has no doc", path)
		}
		if f.Later {
			return
		}
		switch f.Kind {
		case Choice:
			if len(f.Values) == 0 {
				t.Errorf("%s is a choice without values", path)
			}
		case Map:
			if f.Elem == nil || f.Keys != Name && f.Keys != Text {
				t.Errorf("%s is a map whose keys or values are not declared", path)
			}
		case List:
			if f.Elem == nil {
				t.Errorf("%s is a list of what is not declared", path)
			}
		}
		if f.Required && (f.Default != "" || f.Example == "") {
			t.Errorf("%s is required: it needs an example, and no default", path)
		}
		for _, text := range []string{f.Default, f.Example} {
			if text != "" && !strings.Contains(text, "…") {
				checkDeclared(t, path, f, text)
			}
		}
	})
	if count < 100 {
		t.Errorf("%d fields: the walk does not reach them", count)
	}
}

// checkDeclared reads a default or an example as a file would hold it.
func checkDeclared(t *testing.T, path string, f *Field, text string) {
	t.Helper()
	l := &loader{file: "x", env: map[string]string{}}
	src := newSource("x", []byte("v: "+text))
	root := l.parse(src)
	if root == nil {
		t.Errorf("%s: %q cannot be read: %v", path, text, l.problems)
		return
	}
	l.check(root.get("v"), f, "v")
	if len(l.problems) > 0 {
		t.Errorf("%s: %q is refused: %v", path, text, l.problems)
	}
}

func TestFieldsAreNotShared(t *testing.T) {
	Fields()[0].Name = "changed"
	if got := Fields()[0].Name; got != "profiles" {
		t.Errorf("a caller's change is seen by others: %q", got)
	}
}

// TestC099C103_YAML12 pins what the checks rely on: the reader takes the words of YAML 1.1 for text.
func TestC099C103_YAML12(t *testing.T) {
	for text, want := range map[string]string{"no": tagText, "NO": tagText, "off": tagText, "on": tagText, "y": tagText, "True": tagBool,
		"2026-01-01": tagTime, "2026-01-01 01": tagText, "010": tagInt, "0o10": tagInt, "1_000": tagInt, "5.0": tagFloat, "1e3": tagFloat, "~": tagNull, "": tagNull} {
		var n yaml.Node
		if err := yaml.Unmarshal([]byte("v: "+text), &n); err != nil {
			t.Fatal(err)
		}
		if got := n.Content[0].Content[1].ShortTag(); got != want {
			t.Errorf("%q is %s, want %s", text, got, want)
		}
	}
}
