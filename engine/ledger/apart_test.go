package ledger

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"
)

// Runs may run at once unless two of them meet at a place and one of the two replaces it: the rule of exclude.go, told
// before anything starts.
func TestCheckApart(t *testing.T) {
	w := newWorld(t)
	l := w.open(nil)
	lake := filepath.Join(t.TempDir(), "lake")
	adds := func(p string) Target { return Target{Path: filepath.Join(lake, p), Adds: true} }
	parts := func(p string) Target { return Target{Path: filepath.Join(lake, p), Parts: true} }
	whole := func(p string) Target { return Target{Path: filepath.Join(lake, p)} }
	for _, c := range []struct {
		name string
		runs [][]Target
		want string
	}{
		{"one run", [][]Target{{whole("a"), whole("b")}}, ""},
		{"appends to one folder", [][]Target{{adds("a")}, {adds("a")}, {adds("a")}, {adds("a")}}, ""},
		{"partitions of one folder", [][]Target{{parts("a")}, {parts("a")}, {parts("a")}}, ""},
		{"folders of their own", [][]Target{{whole("a/1")}, {whole("a/2")}, {whole("a/10")}}, ""},
		{"whole folders", [][]Target{{whole("a")}, {whole("a")}}, "0 1 a"},
		{"one replaces what others append to", [][]Target{{adds("a")}, {adds("a")}, {adds("a")}, {whole("a")}}, "0 3 a"},
		{"partitions and appends", [][]Target{{parts("a")}, {adds("a")}}, "0 1 a"},
		{"a folder in another", [][]Target{{adds("a/b/c")}, {whole("x")}, {whole("a")}}, "0 2 a"},
		{"a folder above another", [][]Target{{whole("a")}, {whole("x")}, {adds("a/b/c")}}, "0 2 a/b/c"},
		{"its own and another's", [][]Target{{adds("a")}, {adds("b"), whole("c")}, {whole("d"), adds("c")}}, "1 2 c"},
	} {
		err := l.CheckApart(c.runs)
		var shared *SharedTargetError
		got := ""
		if errors.As(err, &shared) {
			rel, _ := filepath.Rel(lake, shared.Path)
			got = fmt.Sprint(shared.A, shared.B, " ", rel)
		} else if err != nil {
			t.Fatal(err)
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
