package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	err := os.Chdir("..") // everything is named from the root of the source
	for _, need := range []string{"bin/ubunye-fault", ".venv/bin/python"} {
		if err == nil {
			_, err = os.Stat(need)
		}
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "torture: %v: run these tests by `make test`, which builds what they need\n", err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// tell has what a torture prints told by a test.
type tell struct{ *testing.T }

func (t tell) Write(text []byte) (int, error) {
	t.Helper()
	t.Log(strings.TrimSuffix(string(text), "\n"))
	return len(text), nil
}

// The short version of `make torture`: every fault meets every writer and mode once, at an operation that is drawn.
func TestTorture(t *testing.T) {
	t.Parallel()
	o := options{counts: counts{points: 1, kills: 18, pairs: 6, crowds: 1}, seed: uint64(time.Now().UnixNano()), workers: runtime.NumCPU() + 1, program: "bin/ubunye-fault", out: tell{t}}
	p, err := run(o)
	if err != nil {
		t.Fatal(err)
	}
	sum := p.total()
	if want := 4*len(targets()) + 18 + 6 + 1; sum.scenarios != want || sum.struck < want*8/10 || sum.looks < 3*want {
		t.Fatalf("%d scenarios, want %d: %s", sum.scenarios, want, p.summary())
	}
}

// A program with a fault must not come through: each of these, for which the tests of its own package are run by
// `make mutants`, is built and tortured where it must show.
func TestTortureFindsMutants(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program three times")
	}
	for _, c := range []struct {
		mutant string
		counts
		found func(line) int
	}{
		{"landed-before-the-commit", counts{every: 7, mode: "append", f: kill, then: takeover}, func(l line) int { return l.early }},
		{"removed-before-the-new-is-there", counts{every: 3, mode: "rerun", f: kill, then: takeover}, func(l line) int { return l.lost }},
		{"a-finished-append-runs-again", counts{kills: 1, every: 1, mode: "append", f: sigkill}, func(l line) int { return l.doubled }},
	} {
		t.Run(c.mutant, func(t *testing.T) {
			t.Parallel()
			c.writer = "parquet"
			var said bytes.Buffer
			p, err := run(options{counts: c.counts, seed: 1, workers: 2, program: mutated(t, c.mutant), out: &said})
			if err == nil || c.found(p.total()) == 0 {
				t.Fatalf("not found: %v\n%s", err, said.String())
			}
			if !strings.Contains(said.String(), "go run ./torture -seed 1 -only parquet/") {
				t.Fatalf("no command that replays a scenario:\n%s", said.String())
			}
			_, dir, _ := strings.Cut(err.Error(), "is in ")
			os.RemoveAll(dir)
		})
	}
}

// mutated builds the program with a fault of mutants/list.go.
func mutated(t *testing.T, name string) string {
	t.Helper()
	dir := t.TempDir()
	program := filepath.Join(dir, "ubunye")
	overlay, err := exec.Command("go", "run", "./mutants", "-overlay", dir, name).Output()
	if err == nil {
		build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-tags", "fault", "-overlay", strings.TrimSpace(string(overlay)), "-o", program, "./cmd/ubunye")
		build.Stderr = os.Stderr
		err = build.Run()
	}
	if err != nil {
		t.Fatalf("building the program with %s: %v", name, err)
	}
	return program
}

func TestScenariosReadWhatTheyWrite(t *testing.T) {
	all := counts{every: 9, kills: 40, pairs: 40, crowds: 5}.plan(map[target]int{{"csv", "rerun"}: 40}, func(int) int { return 0 })
	seen := map[string]bool{}
	for _, s := range all {
		back, err := parseScenario(s.String())
		if err != nil || back != s || seen[s.String()] {
			t.Fatalf("%v, read back as %v (%v), or twice", s, back, err)
		}
		seen[s.String()] = true
	}
	if !seen["csv/rerun/kill:37/other"] || !seen["csv/rerun/stop:1/takeover"] || seen["csv/rerun/kill:46/other"] {
		t.Fatalf("%v", all)
	}
	for _, bad := range []string{"", "csv/append/kill:0/takeover", "csv/append/kill:1/fresh", "orc/append/kill:1/takeover", "csv/append/kill/takeover"} {
		if _, err := parseScenario(bad); err == nil {
			t.Errorf("%q is taken for a scenario", bad)
		}
	}
}
