package duckdb

import (
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/ubunye-io/ubunye/engine/compute"
)

// FuzzPartitionValue holds every text that names a partition against a decoder that is not ours: it lies in one folder of the
// output, whose name gives the text back, and so does the input; or it is refused, with its column, and nothing is left.
func FuzzPartitionValue(f *testing.F) {
	for _, v := range []string{"plain", "a/b", "..", ".", "a=b", "%41", "é😀", " ", "'", "\n", "", "null", nullPartition, strings.Repeat("x", 253), strings.Repeat("/", 85), "\ufeff", "$v", `\`} {
		f.Add(v)
	}
	f.Fuzz(func(t *testing.T, v string) {
		if strings.ContainsRune(v, 0) || !utf8.ValidString(v) {
			t.Skip("no value of a variable")
		}
		s := openWith(t, compute.Settings{Variables: []compute.Variable{{Name: "v", Type: "VARCHAR", Value: v}}})
		if err := s.Prepare(t.Context(), []compute.Step{{Name: "r", SQL: "SELECT 1 AS id, $v AS p"}}, nil); err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		files, err := s.Encode(t.Context(), compute.Encode{Relation: "r", Format: "csv", Dir: dir, PartitionBy: []string{"p"}})
		entries, listErr := os.ReadDir(dir)
		if listErr != nil {
			t.Fatal(listErr)
		}
		if err != nil {
			null := v == "" || v == nullPartition || strings.EqualFold(v, "null")
			var e *compute.Error
			if !errors.As(err, &e) || e.Kind != compute.OutputInvalid || e.Column != "p" || len(entries) != 0 || !null && 3*len(v)+len("p=") <= longestName {
				t.Fatalf("%q: %v, left %v", v, err, entries)
			}
			return
		}
		if len(files) != 1 || files[0].Partition["p"] != v || strings.Count(files[0].Name, "/") != 1 || len(entries) != 1 {
			t.Fatalf("%q: %+v, in %v", v, files, entries)
		}
		name, isColumn := strings.CutPrefix(entries[0].Name(), "p=")
		if decoded, err := url.PathUnescape(name); err != nil || decoded != v || !isColumn || strings.ContainsAny(name, `/\:*?"<>|`) {
			t.Fatalf("%q lies in %q (%q, %v)", v, entries[0].Name(), decoded, err)
		}
		_, _, err = s.Input(t.Context(), compute.Input{Name: "back", Format: "csv", Path: filepath.Join(dir, "*", "*.csv"),
			Columns: []compute.Column{{Name: "id", Type: "INTEGER"}, {Name: "p", Type: "VARCHAR"}}, Options: map[string]string{"partitions": "true"}})
		if err != nil {
			t.Fatal(err)
		}
		if rows, err := s.Head(t.Context(), "back", 2); err != nil || len(rows) != 1 || rows[0][1] == nil || *rows[0][1] != v {
			t.Fatalf("%q comes back as %v (%v)", v, rows, err)
		}
	})
}
