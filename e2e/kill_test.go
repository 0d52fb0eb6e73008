package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// C001, R20, R21, R43: a run killed at any of its changes leaves nothing uncommitted to be seen, and no committed batch
// incomplete once the next start of the pipeline, of whatever batch, has finished its landing. The next start of
// the batch itself takes over from the dead, and the batch is there once.
func TestC001R20R21R43KilledAtEveryOperation(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		setup func(*project)
		more  []string
	}{
		{"first append", func(*project) {}, nil},
		{"second append", func(p *project) { p.runDay("2026-01-02").must(t, 0) }, nil},
		{"rerun", func(p *project) { p.runDay("2026-01-01").must(t, 0) }, []string{"--rerun"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			killEverywhere(t, "parquet", 1, c.setup, dayArgs("2026-01-01", c.more...))
		})
	}
	// The other formats differ in what is done while staging.
	for _, format := range formats[1:] {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			killEverywhere(t, format, 3, func(p *project) { p.runDay("2026-01-02").must(t, 0) }, dayArgs("2026-01-01"))
		})
	}
}

// killEverywhere kills a run at every step-th of its operations.
func killEverywhere(t *testing.T, format string, step int, setup func(*project), args []string) {
	ops := newSalesIn(t, format).trace(setup, args...)
	n := len(ops)
	t.Logf("%d operations, every %d.", n, step)
	kills, full, none := 0, 0, 0
	for k := 1; k <= n+step; k += step {
		p := newSalesIn(t, format)
		setup(p)
		before := p.dataFiles("lake")
		old := p.document("clean_orders", "2026-01-01")
		r := p.runEnv([]string{fmt.Sprintf("UBUNYE_FAULT=kill:%d", k)}, args...)
		switch {
		case r.exit == 137:
			kills++
		case k <= n || r.exit != 0:
			t.Fatalf("kill at %d: exit %d: %s", k, r.exit, r.stderr)
		}
		doc := p.document("clean_orders", "2026-01-01")
		done := committed(doc) && (old == nil || finishedRun(doc) != finishedRun(old))
		if !done {
			same(t, fmt.Sprintf("kill at %d (%v): data files before the commit", k, op(ops, k)), p.dataFiles("lake"), before)
		}
		for _, name := range p.dataFiles("lake") {
			if strings.HasSuffix(name, ".staged") {
				t.Fatalf("kill at %d: a staged file bears a name that readers take: %s", k, name)
			}
		}
		what := fmt.Sprintf("kill at %d (%v)", k, op(ops, k))
		if k%2 == 0 { // any other batch of the pipeline is started first: that finishes what was committed
			p.write("landing/2026-01-09/a.csv", "id,dt,amount\n")
			p.runDay("2026-01-09").must(t, 0)
			want := p.salesRows("2026-01-01")
			if !done && old == nil {
				want = nil
			}
			same(t, what+": rows after another batch", p.rowsOf("2026-01-01"), want)
		}
		p.takesOver(what, args, done && old == nil)
		if done {
			full++
		} else {
			none++
		}
		same(t, what+": rows of the batch", p.rowsOf("2026-01-01"), p.salesRows("2026-01-01"))
		same(t, what+": files are those that the document claims", p.filesOf("2026-01-01"), claims(p.document("clean_orders", "2026-01-01")))
	}
	t.Logf("%d kills: %d after the commit, %d before it", kills, full, none)
	if kills != (n+step-1)/step || full == 0 || none == 0 {
		t.Fatalf("of %d operations %d were kills; %d full, %d none", n, kills, full, none)
	}
}

// takesOver runs a batch whose run was killed: it lands, taken over from the dead one, or counts as done because that had
// committed it, once (R30), or is refused because that had said so. Nothing of the dead run is left but what its record says.
func (p *project) takesOver(what string, args []string, finished bool) result {
	p.t.Helper()
	untold := slices.ContainsFunc(p.recordStatuses(), func(s string) bool { return s == "running" || s == "landed" })
	r := p.run(args...)
	again := r
	if finished && untold {
		if r.exit != 0 || !strings.Contains(r.stderr, "died before it could say so") {
			p.t.Fatalf("%s: the next start: exit %d: %s", what, r.exit, r.stderr)
		}
		again = p.run(args...)
	}
	if finished && (again.exit != 1 || !strings.Contains(again.stderr, "finished")) || !finished && r.exit != 0 {
		p.t.Fatalf("%s: the start after it was finished: exit %d: %s", what, again.exit, again.stderr)
	}
	for _, batch := range p.documents() {
		if todo, _ := batch["todo"].([]any); held(batch) || len(todo) > 0 {
			p.t.Fatalf("%s: held, or with a list: %v", what, batch)
		}
	}
	same(p.t, what+": staging", p.files(".ubunye/staging"), nil)
	for _, status := range p.recordStatuses() {
		if status != "interrupted" && status != "landed" && status != "failed" {
			p.t.Fatalf("%s: the record of a dead run says %q", what, status)
		}
	}
	return r
}

// recordStatuses are what the records of runs say, sorted by run.
func (p *project) recordStatuses() (all []string) {
	p.t.Helper()
	files, _ := filepath.Glob(p.path(".ubunye/runs/*.json"))
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			p.t.Fatal(err)
		}
		var record struct{ Status string }
		if err := json.Unmarshal(data, &record); err != nil {
			p.t.Fatal(err)
		}
		all = append(all, record.Status)
	}
	return all
}

func op(ops []operation, k int) string {
	if k > len(ops) {
		return "after the end"
	}
	return ops[k-1].Kind + " " + filepath.Base(ops[k-1].Path)
}

func finishedRun(doc map[string]any) string {
	finished, _ := doc["finished"].(map[string]any)
	run, _ := finished["run"].(string)
	return run
}

// claims are the names that a finished batch's document lists.
func claims(doc map[string]any) []string {
	var names []string
	finished, _ := doc["finished"].(map[string]any)
	outputs, _ := finished["outputs"].(map[string]any)
	for _, o := range outputs {
		list, _ := o.(map[string]any)["claims"].([]any)
		for _, name := range list {
			names = append(names, name.(string))
		}
	}
	return names
}

// rowsOf are the rows of one day, as readers see them.
func (p *project) rowsOf(day string) []string {
	p.t.Helper()
	var rows []string
	for _, row := range p.rows("lake/orders") {
		if strings.Contains(row, `"dt": "`+day+`"`) {
			rows = append(rows, row)
		}
	}
	return rows
}

func (p *project) filesOf(day string) []string {
	p.t.Helper()
	var names []string
	for _, name := range p.dataFiles("lake/orders") {
		if strings.HasPrefix(name, "dt="+day+"/") {
			names = append(names, name)
		}
	}
	return names
}

// C001, R63: a full disk or a lost answer at any change: the run says what became of the batch by its exit code, and the
// next run of the batch lands it once.
func TestC001R63ADiskThatFailsAtEveryOperation(t *testing.T) {
	t.Parallel()
	ops := newSales(t).trace(nil, dayArgs("2026-01-01")...)
	for _, kind := range []string{"enospc", "lost"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			outcomes := map[int]int{}
			for k := 1; k <= len(ops); k++ {
				p := newSales(t)
				r := p.runEnv([]string{fmt.Sprintf("UBUNYE_FAULT=%s:%d", kind, k)}, dayArgs("2026-01-01")...)
				outcomes[r.exit]++
				done := committed(p.document("clean_orders", ""))
				if r.exit == 0 && !done {
					t.Fatalf("%s at %d (%s): exit 0 without a commit", kind, k, op(ops, k))
				}
				if !done && len(p.dataFiles("lake")) != 0 {
					t.Fatalf("%s at %d (%s): visible without a commit", kind, k, op(ops, k))
				}
				if r.exit != 0 && strings.TrimSpace(r.stderr) == "" {
					t.Fatalf("%s at %d (%s): failed in silence", kind, k, op(ops, k))
				}
				again := p.runDay("2026-01-01")
				if again.exit != 0 && again.exit != 1 {
					t.Fatalf("%s at %d (%s): then exit %d: %s", kind, k, op(ops, k), again.exit, again.stderr)
				}
				same(t, fmt.Sprintf("%s at %d (%s): rows", kind, k, op(ops, k)), p.rows("lake/orders"), p.salesRows("2026-01-01"))
			}
			t.Logf("%d operations; runs by exit code: %v", len(ops), outcomes)
		})
	}
}
