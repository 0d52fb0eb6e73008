package engine

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ubunye-io/ubunye/engine/config"
	"github.com/ubunye-io/ubunye/engine/store/fsops"
)

// Every pipeline that a person is shown is one that the program takes.
func TestExamplesAreValid(t *testing.T) {
	files, err := filepath.Glob("../configs/*/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no pipelines in configs: %v", err)
	}
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(readme), "```yaml\n")[1:]
	if len(blocks) == 0 {
		t.Fatal("README.md has no YAML block: the test reads nothing")
	}
	for _, block := range blocks {
		text, _, _ := strings.Cut(block, "```")
		file := filepath.Join(t.TempDir(), "README.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	module, err := os.ReadFile("../configs/fixedwidth/fixedwidth.wasm")
	if err != nil {
		t.Fatalf("%v: `make` builds it", err)
	}
	env := func() []string { return []string{fmt.Sprintf("FIXEDWIDTH_SHA256=%x", sha256.Sum256(module))} }
	e := New(fsops.New(nil), nobody{})
	for _, file := range files {
		if _, err := e.Validate(t.Context(), Options{File: file, Options: config.Options{Env: env}}); err != nil {
			t.Error(err)
		}
	}
}
