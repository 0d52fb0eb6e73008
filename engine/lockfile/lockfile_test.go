package lockfile

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/ubunye-io/ubunye/engine/store/fsops"
)

func TestWhatIsSavedIsLoaded(t *testing.T) {
	dir := t.TempDir()
	l, err := Load(dir)
	if err != nil || len(l.Plugins) != 0 || l.Version != Version {
		t.Fatalf("an empty folder: %+v, %v", l, err)
	}
	b := Plugin{Name: "b", Writer: "w", Version: "2", SHA256: strings.Repeat("ab", 32), Path: "plugins/b.wasm", Source: "oci://host/b:1",
		SignedBy: "key", Allow: []string{"files"}, Earned: []Earned{{Mode: "append", Class: "claims", Kit: 1}}}
	a := Plugin{Name: "a", SHA256: strings.Repeat("0", 64), Path: "a.wasm", Allow: []string{}, Earned: []Earned{}}
	l.Put(b)
	l.Put(Plugin{Name: "a", SHA256: b.SHA256})
	l.Put(a)
	l.Trusted = []string{"key"}
	if err := l.Save(fsops.New(nil), dir); err != nil {
		t.Fatal(err)
	}
	again, err := Load(dir)
	if want := (&Lock{Version: 1, Trusted: []string{"key"}, Plugins: []Plugin{a, b}}); err != nil || !reflect.DeepEqual(again, want) {
		t.Fatalf("%+v, %v", again, err)
	}
	if !again.Remove("a") || again.Remove("a") || again.Find("a") != nil || again.Find("b") == nil {
		t.Errorf("%+v", again)
	}
}

// I7: a lock that is there and cannot be used is an error, never a lock without plugins.
func TestI7_AnUnusableLockIsNotAnEmptyOne(t *testing.T) {
	plugin := func(changes string) string {
		return `{"version": 1, "plugins": [{"name": "a", "sha256": "` + strings.Repeat("0", 64) + `", "path": "a.wasm"` + changes + `}]}`
	}
	for text, says := range map[string]string{
		"":                             "it is no lock of plugins: EOF",
		`{"version": 2}`:               "it has version 2; this program knows version 1",
		`{"version": 1, "revoked": 1}`: `unknown field "revoked"`,
		plugin(`, "sha256": "0"`):      "the plugin a: sha256 has not 64 hexadecimal digits",
		plugin(`, "name": ""`):         `the plugin "" has no name`,
		plugin(`, "path": "../a"`):     `the path "../a" leads out of the folder`,
		plugin(`, "path": "/etc/a"`):   `the path "/etc/a" leads out of the folder`,
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, Name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Load(dir)
		var e *Error
		if !errors.As(err, &e) || !strings.Contains(err.Error(), says) || e.Path != filepath.Join(dir, Name) {
			t.Errorf("%s: %v, want %q", text, err, says)
		}
	}
}

func TestStanding(t *testing.T) {
	p := Plugin{Earned: []Earned{{Mode: "append", Class: "claims"}, {Mode: "overwrite", Class: "named"}, {Mode: "merge", Class: "named"}, {Mode: "merge", Class: "replaces"}}}
	for _, c := range []struct {
		mode, class string
		want        Standing
	}{{"append", "claims", Kept}, {"append", "once", Broken}, {"overwrite", "replaces", Broken}, {"merge", "replaces", Kept}, {"ignore", "claims", Untested}} {
		if got := p.Standing(c.mode, c.class); got != c.want {
			t.Errorf("%s as %s: %s, want %s", c.mode, c.class, got, c.want)
		}
	}
}

func TestTrusts(t *testing.T) {
	if l := (&Lock{}); !l.Trusts("") || !l.Trusts("any") {
		t.Error("without keys nobody need sign")
	}
	if l := (&Lock{Trusted: []string{"a"}}); l.Trusts("") || l.Trusts("b") || !l.Trusts("a") {
		t.Error("with keys one of them must have signed")
	}
}
