package e2e

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ubunye-io/ubunye/schemas/schematest"
)

var (
	opened   = map[string]*schematest.Schema{}
	openedMu sync.Mutex
)

// schema is one of the files in schemas/, made strict.
func schema(t *testing.T, name string) *schematest.Schema {
	t.Helper()
	openedMu.Lock()
	defer openedMu.Unlock()
	if opened[name] == nil {
		s, err := schematest.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		opened[name] = s
	}
	return opened[name]
}

// checkJSON holds what a process of any test printed with --json against its schema.
func checkJSON(t *testing.T, args []string, r result) {
	t.Helper()
	if !slices.Contains(args, "--json") {
		return
	}
	verb := args[0]
	if verb == "backfill" && !slices.Contains(args, "--dry-run") {
		verb = "run"
	}
	switch verb {
	case "run":
		if err := schema(t, "events").CheckLines(r.stdout); err != nil {
			t.Errorf("%v: %v", args, err)
		}
	case "plan", "backfill", "status", "recover", "show", "plugin", "state":
		switch verb {
		case "plugin":
			if verb = "plugins"; args[1] != "list" && args[1] != "inspect" {
				verb = "plugin-" + args[1]
			}
		case "state":
			verb += "-" + args[1]
		}
		if r.exit == 0 || r.stdout != "" {
			if err := schema(t, verb).Check([]byte(r.stdout)); err != nil {
				t.Errorf("%v: %v", args, err)
			}
		}
		if err := schema(t, "events").CheckLines(r.stderr); err != nil {
			t.Errorf("%v, stderr: %v", args, err)
		}
	default:
		t.Errorf("nobody checks what %v prints", args)
	}
}

// checkLedger holds every document and record that a test leaves against its schema.
func (p *project) checkLedger() {
	if p.forged {
		return
	}
	for name, pattern := range map[string]string{"batch": "batches/*/*/*/*.json", "run": "runs/*.json", "run-state": "state/[cs]u*/*.json"} {
		files, err := filepath.Glob(filepath.Join(p.dir, ".ubunye", pattern))
		if err != nil {
			p.t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil || !json.Valid(text) || name == "run-state" && !bytes.Contains(text, []byte(`"engine": "ubunye"`)) {
				continue // damaged by the test, or of another program
			}
			if err := schema(p.t, name).Check(text); err != nil {
				p.t.Errorf("%s: %v", file, err)
			}
		}
	}
}

// Every answer to --json fits its schema, and one that lacks a member, or has one of another kind, does not: that the
// checks of all other tests can fail.
func TestAnswersFitTheirSchemas(t *testing.T) {
	p := newSales(t)
	p.runDay("2026-01-01").must(t, 0)
	c := []string{"-c", "pipeline.yaml"}
	day := append(slices.Clone(c), "--dt", "2026-01-01", "--json")
	for name, args := range map[string][]string{
		"plan": append([]string{"plan"}, day...), "status": append([]string{"status"}, day...), "show": append([]string{"show"}, day...),
		"plugins":  {"plugin", "list", "--json"},
		"backfill": append(append([]string{"backfill"}, c...), "--from", "2026-01-01", "--to", "2026-01-02", "--dry-run", "--json"),
	} {
		printed := p.run(args...).must(t, 0).stdout
		for from, to := range map[string]string{`":`: `x":`, `":"`: `":1,"x":"`} {
			if bad := strings.Replace(printed, from, to, 1); bad == printed || schema(t, name).Check([]byte(bad)) == nil {
				t.Errorf("%s: the schema takes %s", name, bad)
			}
		}
	}
	for line := range strings.Lines(p.run(append([]string{"run"}, day...)...).must(t, 1).stdout) {
		for _, bad := range []string{strings.Replace(line, `"time"`, `"tame"`, 1), strings.Replace(line, `"event":"`, `"event":"x`, 1), strings.Replace(line, `{`, `{"step":"read",`, 1)} {
			if schema(t, "events").Check([]byte(bad)) == nil {
				t.Errorf("the schema takes %s", bad)
			}
		}
	}
}

// With --json a refusal has its reason, whatever the verb and however early it is found.
func TestJSONTellsTheReasonOfEveryVerb(t *testing.T) {
	p := newSales(t)
	p.runDay("2026-01-01").must(t, 0)
	for _, c := range []struct {
		args   []string
		exit   int
		reason string
	}{
		{[]string{"run", "-c", "pipeline.yaml", "--dt", "2026-01-01", "--json"}, 1, "BatchFinished"},
		{[]string{"run", "--json"}, 2, "Usage"},
		{[]string{"run", "--json", "--no-such-flag"}, 2, "Usage"},
		{[]string{"run", "--threads", "x", "-c", "pipeline.yaml", "--json"}, 2, "Usage"},
		{[]string{"run", "-c", "missing.yaml", "--json"}, 2, "Usage"},
		{[]string{"plan", "-c", "pipeline.yaml", "--json"}, 2, "Usage"},
		{[]string{"status", "-c", "missing.yaml", "--json"}, 2, "Usage"},
		{[]string{"show", "-c", "pipeline.yaml", "--dt", "2026-01-01", "--limit", "-1", "--json"}, 2, "Usage"},
		{[]string{"plugin", "inspect", "parqet", "--json"}, 2, "PluginMissing"},
	} {
		r := p.run(c.args...).must(t, c.exit)
		text := r.stderr
		if c.args[0] == "run" {
			text = r.stdout
			if r.stderr != "" {
				t.Errorf("%v: stderr %q", c.args, r.stderr)
			}
		}
		if !strings.Contains(text, `"reason":"`+c.reason+`"`) {
			t.Errorf("%v: no reason %s in\n%s", c.args, c.reason, text)
		}
	}
	planned := p.run("plan", "-c", "pipeline.yaml", "--dt", "2026-01-01", "--json").must(t, 0).stdout
	if !strings.Contains(planned, `"verdict":"refuse","code":"BatchFinished"`) {
		t.Errorf("plan: %s", planned)
	}
}
