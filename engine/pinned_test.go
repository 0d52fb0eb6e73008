package engine

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ubunye-io/ubunye/engine/compute"
	"github.com/ubunye-io/ubunye/engine/config"
	"github.com/ubunye-io/ubunye/engine/problem"
)

func TestFilesThatChangedWhileTheyWereRead(t *testing.T) {
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		change func(path string)
		says   string // "": it did not change
	}{
		"nothing":     {func(string) {}, ""},
		"read":        {func(path string) { _, err := os.ReadFile(path); must(err) }, ""},
		"cut":         {func(path string) { must(os.Truncate(path, 3)) }, "had 5 bytes and has 3"},
		"longer":      {func(path string) { must(os.WriteFile(path, []byte("id\n1\n2\n"), 0o666)) }, "had 5 bytes and has 7"},
		"same length": {func(path string) { must(os.Chtimes(path, time.Time{}, time.Unix(1700000000, 1000))) }, "again at 22:13:20.000001 UTC"},
		"removed":     {func(path string) { must(os.Remove(path)) }, "removed"},
		"no folder":   {func(path string) { must(os.RemoveAll(filepath.Dir(path))) }, "removed"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "landing", "in.csv")
			must(os.Mkdir(filepath.Dir(path), 0o777))
			must(os.WriteFile(path, []byte("id\n1\n"), 0o666))
			info, err := os.Stat(path)
			must(err)
			was := compute.File{Path: path, Size: info.Size(), ModTime: info.ModTime()}
			c.change(path)
			p := changed(config.Input{Name: "raw"}, was)
			if (p == nil) != (c.says == "") {
				t.Fatalf("problem %v", p)
			}
			if p == nil {
				return
			}
			if line := p.Error(); p.Code != problem.InputInvalid || !strings.HasPrefix(line, path+": input raw: ") || !strings.Contains(line, c.says) {
				t.Fatalf("%s: %s does not begin with the file and say %q", p.Code, line, c.says)
			}
		})
	}
}
