package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// rustPath has Debian's Rust first: of another one the standard library for WebAssembly may not be there, and cannot be fetched.
const rustPath = "/usr/bin"

// shellLine is what is before a page's own lines: the caches that a person has, and the tools.
func shellLine(t *testing.T) string {
	t.Helper()
	found, err := exec.Command("go", "env", "GOCACHE", "GOMODCACHE", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	v := strings.Fields(string(found))
	return fmt.Sprintf("set -e; export GOCACHE=%s GOMODCACHE=%s GOPROXY=off PATH=%s:%s/bin:$PATH\n", v[0], v[1], rustPath, v[2])
}

// needRust fails the test where Rust for WebAssembly is missing: `make test` installs it where it may.
func needRust(t *testing.T) {
	t.Helper()
	if _, err := os.Stat("/usr/lib/rustlib/wasm32-wasi"); err != nil {
		t.Fatalf("%v: Debian has it as libstd-rust-dev-wasm32; make rust installs it", err)
	}
}

// Whoever follows docs/writing-a-writer.md from top to bottom, outside this repository, has a plugin in Go and one in Rust that
// pass all tests, and a pipeline that uses a signed one.
func TestTutorial(t *testing.T) {
	needRust(t)
	p := newProject(t, "")
	if err := os.Remove(p.path("pipeline.yaml")); err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	if err := os.Symlink(program, filepath.Join(bin, "ubunye")); err != nil {
		t.Fatal(err)
	}
	before := shellLine(t)
	var printed []string
	ran := map[string]int{}
	for _, b := range blocks(t, "../docs/writing-a-writer.md") {
		ran[b.language]++
		switch b.language {
		case "yaml":
			p.write(strings.Fields(strings.SplitN(b.text, "\n", 2)[0])[1], b.text)
		case "sh":
			printed = append(printed, p.shell(bin, before+b.text).must(t, 0).stdout)
		default:
			t.Fatalf("a block of %q, which nobody checks:\n%s", b.language, b.text)
		}
	}
	if fmt.Sprint(ran) != "map[sh:8 yaml:1]" {
		t.Errorf("blocks: %v", ran)
	}
	for i, want := range []string{
		"build.sh\ncase.yaml\ngo.mod\nmain.go\nubunye-sdk\nwriter.go\nwriter_test.go\n",
		"ok  \ttsv",
		"mode append has earned claims\nmode overwrite has earned replaces\n",
		"",
		"ubunye.lock knows it, for tsv\n",
		"id\tsky\n1\tsun\n2\tmoon\n3\t\\N\n",
		"landed in lake/sky",
		"mode append has earned claims\nmode overwrite has earned replaces\n",
	} {
		if !strings.Contains(printed[i], want) {
			t.Errorf("block %d printed\n%swant\n%s", i+1, printed[i], want)
		}
	}
	if l := p.lock(); len(l.Plugins) != 1 || l.Plugins[0].SignedBy == "" || len(l.Plugins[0].Earned) != 2 {
		t.Errorf("%+v", l)
	}
}

// The template's own conformance test needs no more than the program.
func TestTheTemplateTestsItself(t *testing.T) {
	p := newProject(t, "")
	bin := t.TempDir()
	if err := os.Symlink(program, filepath.Join(bin, "ubunye")); err != nil {
		t.Fatal(err)
	}
	p.run("plugin", "new", "tsv").must(t, 0)
	p.run("plugin", "new", "tsv").must(t, 2).oneLine(t).says(t, "there is something at tsv already")
	p.run("plugin", "new", "tsv2", "--lang", "cobol").must(t, 2).oneLine(t).says(t, "it may be go or rust")
	p.run("plugin", "new", "t.sv").must(t, 2).oneLine(t).says(t, "is not a name")
	r := p.shell(bin, shellLine(t)+"cd tsv && ./build.sh && go test -v -run TestConformance .").must(t, 0)
	for _, want := range []string{"--- PASS: TestConformance/rows", "--- PASS: TestConformance/kill_append", "--- PASS: TestConformance/again_overwrite"} {
		if !strings.Contains(r.stdout, want) {
			t.Errorf("got\n%swant %s", r.stdout, want)
		}
	}
	// A writer that loses something fails it, by the check that is about it.
	source, err := os.ReadFile(p.path("tsv/writer.go"))
	if err != nil {
		t.Fatal(err)
	}
	p.write("tsv/writer.go", strings.Replace(string(source), "if c := &b.Columns[i]; c.Null(row) {", "if c := &b.Columns[i]; false {", 1))
	if r := p.shell(bin, shellLine(t)+"cd tsv && ./build.sh && go test -run TestConformance ."); r.exit == 0 || !strings.Contains(r.stdout, "--- FAIL: TestConformance/nulls") {
		t.Errorf("exit code %d\n%s", r.exit, r.stdout)
	}
}
