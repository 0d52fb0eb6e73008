package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// oldBatch is a batch that Ubunye (Python) has finished.
type oldBatch struct {
	variables map[string]any
	claimed   []string // paths of its files; the first is written, with the rows of the day
	day       string
}

// leaveOld leaves what Ubunye (Python) leaves of finished batches of sales/etl/orders, in the folder old, and gives the paths of
// their notes.
func (p *project) leaveOld(batches ...oldBatch) (notes []string) {
	p.t.Helper()
	script, err := filepath.Abs("pythonnote.py")
	if err != nil {
		p.t.Fatal(err)
	}
	for i, b := range batches {
		if !filepath.IsAbs(b.claimed[0]) { // the others are relative to its project
			b.claimed[0] = p.path(b.claimed[0])
		}
		text, err := json.Marshal(map[string]any{"root": "old", "task": "sales/etl/orders", "variables": b.variables, "run_id": fmt.Sprintf("run-%d", i+1),
			"finished_at": fmt.Sprintf("2026-01-0%dT06:30:00.5", i+1), "files": map[string]string{b.claimed[0]: "landing/" + b.day + "/a.csv"},
			"outputs": map[string]any{"out": map[string]any{"claimed": b.claimed}}})
		if err != nil {
			p.t.Fatal(err)
		}
		notes = append(notes, strings.TrimSpace(p.launch(nil, python, script, string(text)).wait().must(p.t, 0).stdout))
	}
	return notes
}

// newOld is newSales with the first day finished by Ubunye (Python), and the file that says what is taken over.
func newOld(t *testing.T) *project {
	p := newSales(t)
	p.write("map.yaml", `from: python
root: old
time_zone: Europe/Zurich
tasks:
  clean_orders: {task: sales/etl/orders, outputs: {orders: out}}
batches:
  - {dt: {from: 2026-01-01, to: 2026-01-02}}
`)
	p.leaveOld(oldBatch{map[string]any{"dt": "2026-01-01"}, []string{"lake/orders/dt=2026-01-01/old-0.parquet"}, "2026-01-01"})
	return p
}

var importArgs = []string{"state", "import", "-c", "pipeline.yaml", "--map", "map.yaml"}

// What Ubunye (Python) finished is refused, what it did not finish runs, and --rerun replaces its files.
func TestImportedBatchesLandOnce(t *testing.T) {
	t.Parallel()
	p := newOld(t)
	before := p.files("")
	dry := p.run(append(importArgs, "--dry-run")...).must(t, 0).stdout
	same(t, "files after a dry run", p.files(""), before)
	if !strings.Contains(dry, "would be taken over, 1 file; run run-1 had finished it at 2026-01-01 05:30:00 UTC") {
		t.Errorf("the dry run says %s", dry)
	}
	said := p.run(importArgs...).must(t, 0).stdout
	for _, want := range []string{"batch dt=2026-01-01 (", ": taken over, 1 file; run run-1 had finished it at 2026-01-01 05:30:00 UTC", "batch dt=2026-01-02 (", ": it was not finished there (",
		"1 batch taken over from Ubunye (Python) (listed: 2; finished here already: 0; not finished there: 1; could not be taken over: 0)"} {
		if !strings.Contains(said, want) {
			t.Errorf("it does not say %q:\n%s", want, said)
		}
	}
	same(t, "rows", p.rows("lake/orders"), p.salesRows("2026-01-01"))
	p.runDay("2026-01-01").must(t, 1).oneLine(t).says(t, "refused: batch dt=2026-01-01 is finished since 2026-01-01 05:30:00 UTC (run run-1 of Ubunye (Python): 1 file)")
	if status := p.run("status", "-c", "pipeline.yaml").must(t, 0).stdout; !strings.Contains(status, "finished 2026-01-01 05:30:00 UTC by run run-1 of Ubunye (Python), and taken over: 1 file") {
		t.Errorf("status says %s", status)
	}
	p.run("plan", "-c", "pipeline.yaml", "--dt", "2026-01-01", "--json").must(t, 0)
	p.run("status", "-c", "pipeline.yaml", "--json").must(t, 0)
	p.runDay("2026-01-02").must(t, 0)
	same(t, "rows with the next day", p.rows("lake/orders"), p.salesRows("2026-01-01", "2026-01-02"))
	again := p.run(append(importArgs, "--json")...).must(t, 0).stdout
	if strings.Count(again, `"became":"finished"`) != 1 || strings.Count(again, `"became":"absent"`) != 1 {
		t.Errorf("repeated it says %s", again)
	}
	p.runDay("2026-01-01", "--rerun").must(t, 0)
	same(t, "rows after a rerun", p.rows("lake/orders"), p.salesRows("2026-01-01", "2026-01-02"))
	for _, name := range p.dataFiles("lake/orders") {
		if strings.Contains(name, "old-0") {
			t.Errorf("a rerun has left %s", name)
		}
	}
}

// Killed at every operation and repeated, each batch is taken over once, and no file of the data is touched.
func TestImportKilledAtEveryOperation(t *testing.T) {
	t.Parallel()
	ops := newOld(t).traceHere(importArgs...)
	if len(ops) < 15 {
		t.Fatalf("%d operations", len(ops))
	}
	for _, k := range points(t, len(ops), 3) {
		p := newOld(t)
		data := p.files("lake")
		r := p.runEnv([]string{fmt.Sprintf("UBUNYE_FAULT=kill:%d", k)}, importArgs...)
		if (r.exit == 137) != (k <= len(ops)) {
			t.Fatalf("kill at %d: %+v", k, r)
		}
		done := committed(p.document("clean_orders", "2026-01-01"))
		if k%2 == 0 && done { // a run comes between
			p.runDay("2026-01-01").must(t, 1).says(t, "is finished since")
		}
		again := p.run(append(importArgs, "--json")...).must(t, 0).stdout
		if want := map[bool]string{true: "finished", false: "imported"}[done]; !strings.Contains(again, `"became":"`+want+`"`) {
			t.Errorf("kill at %d (%v): repeated it says %s", k, op(ops, k), again)
		}
		same(t, fmt.Sprintf("kill at %d: files", k), p.files("lake"), data)
		if k%5 == 0 {
			p.runDay("2026-01-01").must(t, 1).says(t, "is finished since")
		}
		for _, record := range p.files(".ubunye/runs") { // of a run that was taken over
			if text, err := os.ReadFile(p.path(".ubunye/runs/" + record)); !done && (err != nil || !strings.Contains(string(text), `"interrupted"`)) {
				t.Errorf("kill at %d (%v): the record %s is left: %s, %v", k, op(ops, k), record, text, err)
			}
		}
	}
}

// What is wrong with one batch is told, with the way on, and the others are taken over.
func TestImportTellsWhatIsWrong(t *testing.T) {
	t.Parallel()
	two := func(t *testing.T, claimed ...string) *project {
		p := newOld(t)
		p.leaveOld(oldBatch{map[string]any{"dt": "2026-01-01"}, []string{"lake/orders/dt=2026-01-01/old-0.parquet"}, "2026-01-01"},
			oldBatch{map[string]any{"dt": "2026-01-02"}, append([]string{"lake/orders/dt=2026-01-02/old-1.parquet"}, claimed...), "2026-01-02"})
		return p
	}
	day2 := "lake/orders/dt=2026-01-02/old-1.parquet"
	for name, c := range map[string]struct {
		claimed []string
		spoil   func(p *project)
		says    []string
	}{
		"all files gone":        {nil, func(p *project) { os.Remove(p.path(day2)) }, []string{"of the files that it claims (1, the first: ", "old-1.parquet) none is there", "--gone"}},
		"outside of the folder": {[]string{"/etc/passwd"}, nil, []string{"the claimed file /etc/passwd does not lie below"}},
		"another disk":          {[]string{"s3://bucket/x.parquet"}, nil, []string{"lies in s3, which is not in this version"}},
		"claimed twice":         {[]string{"../lake/orders/dt=2026-01-01/old-0.parquet"}, nil, []string{"is claimed by task clean_orders, batch dt=2026-01-01 too"}},
		"a folder":              {[]string{"dt=2026-01-02"}, nil, []string{"is a directory"}},
		"a torn note":           {nil, func(p *project) { p.spoilNote(1, func(text string) string { return text[:len(text)/2] }) }, []string{"unexpected EOF", "restore it from a copy"}},
		"another output": {nil, func(p *project) {
			p.spoilNote(1, func(text string) string { return strings.Replace(text, `"out"`, `"other"`, 1) })
		}, []string{"has no output out, which orders would be", "it has other"}},
		"one output more": {nil, func(p *project) {
			p.spoilNote(1, func(text string) string {
				return strings.Replace(text, `"outputs": {`, `"outputs": {"more": {"claimed": []}, `, 1)
			})
		}, []string{"wrote an output more too"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := two(t, c.claimed...)
			if c.spoil != nil {
				c.spoil(p)
			}
			before := p.files("lake")
			r := p.run(importArgs...).must(t, 1).oneLine(t).says(t, append(c.says, "batch dt=2026-01-02: ", "no file of the data is ever touched")...)
			if !strings.Contains(r.stdout, "1 batch taken over") || !committed(p.document("clean_orders", "2026-01-01")) || committed(p.document("clean_orders", "2026-01-02")) {
				t.Errorf("it says %s", r.stdout)
			}
			same(t, "files", p.files("lake"), before)
			p.run(append(importArgs, "--json")...).must(t, 1)
		})
	}
	t.Run("some files gone", func(t *testing.T) {
		t.Parallel()
		p := two(t, "../lake/orders/dt=2026-01-02/old-2.parquet")
		if r := p.run(importArgs...).must(t, 0); !strings.Contains(r.stdout, "1 of the 2 files are gone (the first: ") || !strings.Contains(r.stdout, "old-2.parquet)") {
			t.Errorf("it says %s", r.stdout)
		}
		p.runDay("2026-01-02", "--rerun").must(t, 1).says(t, "1 of the 2 files", "--rerun=anyway")
		p.runDay("2026-01-02", "--rerun=anyway").must(t, 0)
		same(t, "rows", p.rows("lake/orders"), p.salesRows("2026-01-01", "2026-01-02"))
	})
	t.Run("all files gone, and that is said", func(t *testing.T) {
		t.Parallel()
		p := two(t)
		os.Remove(p.path(day2))
		p.run(append(importArgs, "--gone")...).must(t, 0)
		p.runDay("2026-01-02").must(t, 1).says(t, "is finished since")
	})
	t.Run("other names", func(t *testing.T) {
		t.Parallel()
		p := newOld(t)
		p.write("map.yaml", "from: python\nroot: nowhere\ntasks: {clean_orders: sales/etl/orders}\nbatches: [{dt: 2026-01-01}]\n")
		p.run(importArgs...).must(t, 1).oneLine(t).says(t, "the other program has not finished it, nor any other batch of the list", "nowhere/.ubunye/leases/sales/etl/orders/", "look at root")
		p.write("map.yaml", "from: python\nroot: old\ntasks: {clean_order: sales/etl/orders}\nbatches: [{dt: 2026-01-01}]\n")
		p.run(importArgs...).must(t, 2).says(t, "map.yaml:3:9: the pipeline has no task clean_order", "clean_orders")
		p.write("map.yaml", "from: pyton\ntasks: {clean_orders: orders}\nbatches: {dt: 1}\nbatch: []\n")
		p.run(importArgs...).must(t, 2).says(t, `map.yaml:1:7: from: "pyton" is not known`, "the file has no root", "is not the name of a task there (write it as usecase/package/task)", "batches wants a list", `unknown key "batch"`)
	})
}

// spoilNote changes the note of a batch, by its number in the order of their runs.
func (p *project) spoilNote(n int, change func(string) string) {
	p.t.Helper()
	notes, _ := filepath.Glob(p.path("old/.ubunye/leases/sales/etl/orders/*.finished.json"))
	for _, note := range notes {
		text, err := os.ReadFile(note)
		if err != nil {
			p.t.Fatal(err)
		}
		if strings.Contains(string(text), fmt.Sprintf("run-%d", n+1)) {
			if err := os.WriteFile(note, []byte(change(string(text))), 0o666); err != nil {
				p.t.Fatal(err)
			}
			return
		}
	}
	p.t.Fatalf("there is no note of run-%d", n+1)
}

// The other program tells kinds of values apart: 1 and "1" are two batches, and so they are found.
func TestImportTellsKindsOfValuesApart(t *testing.T) {
	t.Parallel()
	p := newSales(t)
	p.write("pipeline.yaml", strings.Replace(salesPipeline, "  dt: {type: date, required: true}\n", "  dt: {type: date, required: true}\n  n: {type: text, required: true}\n", 1))
	p.leaveOld(oldBatch{map[string]any{"dt": "2026-01-01", "n": 1}, []string{"lake/orders/dt=2026-01-01/a.parquet"}, "2026-01-01"},
		oldBatch{map[string]any{"dt": "2026-01-01", "n": "Zürich ☃"}, []string{"lake/orders/dt=2026-01-01/b.parquet"}, "2026-01-01"},
		oldBatch{map[string]any{"dt": "2026-01-01", "n": true}, []string{"lake/orders/dt=2026-01-01/c.parquet"}, "2026-01-01"})
	for values, want := range map[string]string{`1`: `"became":"imported"`, `"1"`: "", `"Zürich ☃"`: `"became":"imported"`, `true`: `"became":"imported"`, `"true"`: ""} {
		p.write("map.yaml", "from: python\nroot: old\ntasks: {clean_orders: {task: sales/etl/orders, outputs: {orders: out}}}\nbatches: [{dt: 2026-01-01, n: "+values+"}]\n")
		r := p.run(append(importArgs, "--dry-run", "--json")...)
		if strings.Contains(r.stdout, `"became":"imported"`) != (want != "") || (r.exit == 0) != (want != "") {
			t.Errorf("n: %s: exit %d, %s", values, r.exit, r.stdout)
		}
	}
}

// sdlbState is a state file of Smart Data Lake Builder that says how far an input was read.
func sdlbState(run int, action, state string) string {
	return fmt.Sprintf(`{"appConfig": {"feedSel": ".*", "applicationName": "shop"}, "runId": %d, "attemptId": 1, "runStartTime": "2026-01-01T00:00:00Z", "attemptStartTime": "2026-01-01T00:00:00Z",
  "actionsState": {"load": {"executionId": {"type": "SDLExecutionId", "runId": %d, "attemptId": 1}, "state": %q, "results": [], "dataObjectsState": [%s], "inputIds": [], "outputIds": []}},
  "isFinal": true, "runStateFormatVersion": 7}`, run, run, action, state)
}

// How far Smart Data Lake Builder had read an input is where it goes on, once: a mark that is there stays.
func TestImportOfMarks(t *testing.T) {
	t.Parallel()
	fresh := func(t *testing.T) *project {
		p := newGrowing(t, byColumn)
		p.land("b", 4, 2)
		p.write("map.yaml", "from: sdlb\nstate: old\napplication: shop\nmarks: {load.raw: ext-orders}\n")
		p.write("old/succeeded/shop.7.1.json", sdlbState(7, "SUCCEEDED", `{"dataObjectId": "ext-orders", "state": "2"}`))
		p.write("old/succeeded/shop.8.1.json", sdlbState(8, "SUCCEEDED", `{"dataObjectId": "ext-orders", "state": "3"}, {"dataObjectId": "other", "state": "99"}`))
		p.write("old/current/shop.9.1.json", sdlbState(9, "FAILED", `{"dataObjectId": "ext-orders", "state": "4"}`))
		p.write("old/succeeded/shop.10.1.json", sdlbState(10, "SUCCEEDED", ""))
		return p
	}
	p := fresh(t)
	before := p.files("")
	if got := p.run(append(importArgs, "--dry-run")...).must(t, 0).stdout; !strings.Contains(got, "input raw: would go on above 3, as run 8 of Smart Data Lake Builder says of ext-orders") {
		t.Errorf("the dry run says %s", got)
	}
	same(t, "files after a dry run", p.files(""), before)
	if got := p.run(append(importArgs, "--json")...).must(t, 0).stdout; !strings.Contains(got, `"object":"ext-orders","became":"imported","mark":"3","run":8`) {
		t.Errorf("it says %s", got)
	}
	p.run(growingArgs...).must(t, 0)
	p.wantLanded("after the mark", "b")
	if got := p.run(importArgs...).must(t, 0).stdout; !strings.Contains(got, "it has a mark here already, which stays") {
		t.Errorf("repeated it says %s", got)
	}
	p.land("c", 6, 2)
	p.run(growingArgs...).must(t, 0)
	p.wantLanded("after it was repeated", "b", "c")

	for name, c := range map[string]struct {
		file, text string
		exit       int
		says       []string
	}{
		"several values":  {"old/succeeded/shop.11.1.json", sdlbState(11, "SUCCEEDED", `{"dataObjectId": "ext-orders", "state": {"p0": 1}}`), 1, []string{"how far ext-orders was read is no single value in run 11", "ubunye state set"}},
		"no value of it":  {"old/succeeded/shop.11.1.json", sdlbState(11, "SUCCEEDED", `{"dataObjectId": "ext-orders", "state": "yesterday"}`), 2, []string{"yesterday", "nothing was changed"}},
		"a torn file":     {"old/succeeded/shop.11.1.json", "{", 1, []string{"shop.11.1.json", "it is cut off"}},
		"no such input":   {"map.yaml", "from: sdlb\nstate: old\napplication: shop\nmarks: {load.row: ext-orders}\n", 2, []string{"map.yaml:4:9: ", `no incremental input "row"`}},
		"no such task":    {"map.yaml", "from: sdlb\nstate: old\napplication: shop\nmarks: {lode.raw: ext-orders}\n", 2, []string{"the pipeline has no task lode"}},
		"no application":  {"map.yaml", "from: sdlb\nstate: old\nmarks: {load.raw: ext-orders}\n", 2, []string{"has no run of sales", "application: NAME"}},
		"no folder":       {"map.yaml", "from: sdlb\nstate: new\nmarks: {load.raw: ext-orders}\n", 2, []string{"new: no such file or directory"}},
		"another's input": {"map.yaml", "from: sdlb\nstate: old\nroot: x\nmarks: {raw: ext-orders}\n", 2, []string{`unknown key "root"`, `"raw" in marks names no input of a task (write it as TASK.INPUT)`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := fresh(t)
			p.write(c.file, c.text)
			p.run(importArgs...).must(t, c.exit).says(t, c.says...)
			if docs := p.documents(); len(docs) > 0 && docs[0]["marks"] != nil {
				t.Errorf("a mark was set: %v", docs[0]["marks"])
			}
		})
	}
	p = fresh(t)
	p.write("map.yaml", "from: sdlb\nstate: old\napplication: shop\nmarks: {load.raw: elsewhere}\n")
	if got := p.run(importArgs...).must(t, 0).stdout; !strings.Contains(got, "no run of Smart Data Lake Builder says how far elsewhere was read") {
		t.Errorf("it says %s", got)
	}
}
