package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// block is one code block of a page.
type block struct{ language, text string }

// blocks reads a page's code blocks in order.
func blocks(t *testing.T, page string) (all []block) {
	t.Helper()
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for i, part := range strings.Split(string(data), "\n```") {
		if i%2 == 1 {
			language, text, _ := strings.Cut(part, "\n")
			all = append(all, block{language, text + "\n"})
		}
	}
	return all
}

// Whoever follows docs/plugins.md from top to bottom has a plugin that works: its blocks are written and run in
// order. Two things differ: the SDK is this checkout's, and the digest is the one of the module that was built.
func TestPluginsPage(t *testing.T) {
	checkout, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	p := newProject(t, "")
	bin := t.TempDir()
	if err := os.Symlink(program, filepath.Join(bin, "ubunye")); err != nil {
		t.Fatal(err)
	}
	goCache, err := exec.Command("go", "env", "GOCACHE", "GOMODCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	caches := strings.Fields(string(goCache))
	local := strings.NewReplacer("go get github.com/ubunye-io/ubunye", "go mod edit -require=github.com/ubunye-io/ubunye@v0.0.0 -replace=github.com/ubunye-io/ubunye="+checkout)
	digest := regexp.MustCompile(`\b0{64}\b`)
	ran := map[string]int{}
	var printed string
	for _, b := range blocks(t, "../docs/plugins.md") {
		ran[b.language]++
		switch b.language {
		case "go", "yaml":
			name := strings.Fields(strings.SplitN(b.text, "\n", 2)[0])[1] // the block's first line names its file
			text := b.text
			if b.language == "yaml" {
				if len(digest.FindAllString(text, -1)) != 1 {
					t.Fatal("the pipeline of the page has not one digest to be filled in")
				}
				text = digest.ReplaceAllString(text, p.built(p.path("tsv.wasm"), "tsv.wasm"))
			}
			p.write(name, text)
		case "sh":
			line := "set -e; export GOCACHE=" + caches[0] + " GOMODCACHE=" + caches[1] + " GOFLAGS=-mod=mod GOPROXY=off\n" + local.Replace(b.text)
			printed = p.shell(bin, line).must(t, 0).stdout
			if strings.Contains(b.text, "plugin inspect") && !strings.Contains(printed, "tsv, version 1: Tab-separated values, a line a row\n") {
				t.Errorf("inspect printed\n%s", printed)
			}
		default:
			t.Fatalf("a block of %q, which nobody checks:\n%s", b.language, b.text)
		}
	}
	if fmt.Sprint(ran) != "map[go:2 sh:4 yaml:1]" {
		t.Errorf("blocks: %v", ran)
	}
	if want := "clean.raw: 2 rows in 1 file (10 bytes) landed in lake/sky\n1\tsun\n2\t-\n"; printed != want {
		t.Errorf("the page ends with %q, want %q", printed, want)
	}
}
