package e2e

import (
	"encoding/json"
	"strings"
	"testing"
)

// events parses what `--json` printed: one JSON object a line, and nothing else.
func (r result) events(t *testing.T) []map[string]any {
	t.Helper()
	var events []map[string]any
	for line := range strings.Lines(r.stdout) {
		var e map[string]any
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("not an event: %q: %v", line, err)
		}
		events = append(events, e)
	}
	return events
}

func TestJSONTellsARunAndARefusal(t *testing.T) {
	p := newSales(t)
	ran := p.runDay("2026-01-01", "--json").must(t, 0)
	if ran.stderr != "" {
		t.Fatalf("stderr: %s", ran.stderr)
	}
	var kinds []string
	for _, e := range ran.events(t) {
		kinds = append(kinds, e["event"].(string))
		if e["event"] == "output_landed" && (e["rows"] != 3.0 || e["files"] != 1.0 || e["class"] != "claims" || e["batch"] != "dt=2026-01-01") {
			t.Errorf("landed: %v", e)
		}
	}
	same(t, "events", kinds, []string{"run_started", "task_started", "step_started", "step_started", "step_started", "step_started", "step_started",
		"output_landed", "task_finished", "run_finished"})

	refused := p.runDay("2026-01-01", "--json").must(t, 1).events(t)
	if len(refused) != 2 || refused[0]["reason"] != "BatchFinished" || refused[0]["data"] != "nothing was read or written" || refused[1]["exit"] != 1.0 {
		t.Errorf("refusal: %v", refused)
	}
}

func TestJSONPlacesAProblem(t *testing.T) {
	p := newSales(t)
	p.write("landing/2026-01-01/a.csv", "id,dt,amount\n1,2026-01-01,10.00\nx,2026-01-01,1\n")
	for _, e := range p.runDay("2026-01-01", "--json").must(t, 4).events(t) {
		if e["event"] == "task_failed" {
			if e["reason"] != "InputInvalid" || e["line"] != 3.0 || !strings.HasSuffix(e["file"].(string), "landing/2026-01-01/a.csv") {
				t.Errorf("%v", e)
			}
			return
		}
	}
	t.Fatal("no event tells the failure")
}

func TestQuietPrintsProblemsOnly(t *testing.T) {
	p := newSales(t)
	if r := p.runDay("2026-01-01", "--quiet").must(t, 0); r.stdout+r.stderr != "" {
		t.Fatalf("printed %q and %q", r.stdout, r.stderr)
	}
	p.runDay("2026-01-01", "--quiet").must(t, 1).oneLine(t)
}
