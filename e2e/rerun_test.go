package e2e

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestFirstRunLandsTheBatch(t *testing.T) {
	p := newSales(t)
	r := p.runDay("2026-01-01").must(t, 0)
	same(t, "rows", p.rows("lake/orders"), p.salesRows("2026-01-01"))
	if !strings.Contains(r.stdout, "3 rows") || !strings.Contains(r.stdout, "lake/orders") {
		t.Fatalf("stdout does not tell the result:\n%s", r.stdout)
	}
	if n := len(p.dataFiles("lake/orders")); n != 1 {
		t.Fatalf("%d files, want 1: %v", n, p.dataFiles("lake/orders"))
	}
	if doc := p.document("clean_orders", ""); held(doc) || !committed(doc) {
		t.Fatalf("after a run: held %v, committed %v", held(doc), committed(doc))
	}
	if left := p.files(".ubunye/runs"); len(left) != 0 {
		t.Fatalf("a run that ended well left %v", left)
	}
}

func TestR02DatesDoNotBlockEachOther(t *testing.T) {
	p := newSales(t)
	first := p.start([]string{frozenStaging}, dayArgs("2026-01-01")...)
	if !first.waitStopped() {
		t.Fatalf("the first run was not stopped: %+v", first.wait())
	}
	p.runDay("2026-01-02").must(t, 0)
	same(t, "rows while the first day is being written", p.rows("lake/orders"), p.salesRows("2026-01-02"))
	first.signal(cont)
	first.wait().must(t, 0)
	same(t, "rows", p.rows("lake/orders"), p.salesRows("2026-01-01", "2026-01-02"))
}

func TestR03AfterARunTheNextCanStart(t *testing.T) {
	p := newSales(t)
	p.write("landing/2026-01-01/a.csv", "id,dt,amount\nx,2026-01-01,10.00\n")
	p.runDay("2026-01-01").must(t, 4)
	if doc := p.document("clean_orders", ""); held(doc) {
		t.Fatal("a failed run still holds the batch")
	}
	p.write("landing/2026-01-01/a.csv", "id,dt,amount\n1,2026-01-01,10.00\n")
	p.runDay("2026-01-01").must(t, 0)
	same(t, "rows", p.rows("lake/orders"), p.salesRows("2026-01-01"))
}

func TestR40ASecondRunIsRefused(t *testing.T) {
	p := newSales(t)
	p.runDay("2026-01-01").must(t, 0)
	before := p.files(".")
	r := p.runDay("2026-01-01").must(t, 1).oneLine(t)
	r.says(t, "would add the batch twice", "--rerun", "clean_orders", "dt=2026-01-01", "variable")
	if r.stdout != "" || strings.Contains(r.stderr, "--resume") {
		t.Fatalf("a refused run of which nothing is left says %s%s", r.stdout, r.stderr)
	}
	same(t, "files after a refusal", p.files("."), before)
}

// What the ledger refuses is refused whatever became of the run state of finished runs.
func TestR40ASecondRunIsRefusedWithoutTheRunState(t *testing.T) {
	p := newSales(t)
	p.runDay("2026-01-01").must(t, 0)
	said := p.runDay("2026-01-01").must(t, 1).stderr
	for _, name := range p.files(".") {
		if strings.Contains(name, "/succeeded/") && strings.HasSuffix(name, ".json") {
			p.write(name, "{")
		}
	}
	if again := p.runDay("2026-01-01").must(t, 1).stderr; again != said {
		t.Fatalf("refused with %s, and before with %s", again, said)
	}
	p.runDay("2026-01-02").must(t, 1).oneLine(t).says(t, "succeeded", "cut off")
}

func TestR41RerunReplaces(t *testing.T) {
	p := newSales(t)
	p.runDay("2026-01-01").must(t, 0)
	p.runDay("2026-01-02").must(t, 0)
	p.write("lake/orders/dt=2026-01-01/stranger.txt", "not ours")
	stranger := "dt=2026-01-01/stranger.txt"
	old := p.dataFiles("lake/orders")
	for range 3 {
		p.runDay("2026-01-01", "--rerun").must(t, 0)
		now := p.dataFiles("lake/orders")
		if len(now) != len(old) {
			t.Fatalf("files %v, want %d", now, len(old))
		}
		for _, name := range now {
			kept := name == stranger || strings.HasPrefix(name, "dt=2026-01-02/")
			if kept != slices.Contains(old, name) {
				t.Fatalf("%s: kept %v, want %v", name, !kept, kept)
			}
		}
		old = now
	}
	os.Remove(p.path("lake/orders/" + stranger))
	same(t, "rows", p.rows("lake/orders"), p.salesRows("2026-01-01", "2026-01-02"))
}

const unnamedPipeline = `name: log
variables:
  region: {default: eu}
tasks:
  add:
    inputs:
      raw: {format: csv, path: in.csv, columns: {id: bigint}}
    outputs:
      out: {from: raw, format: parquet, path: lake/out}
`

func TestR44AnUnnamedBatchRunsEveryTime(t *testing.T) {
	p := newProject(t, unnamedPipeline+"profiles: {prod: {engine: {threads: 1}}}\n")
	p.write("in.csv", "id\n1\n2\n")
	p.run("run", "-c", "pipeline.yaml").must(t, 0)
	p.run("run", "-c", "pipeline.yaml").must(t, 0)
	if got := len(p.rows("lake/out")); got != 4 {
		t.Fatalf("%d rows after two runs without a variable given, want 4", got)
	}
	// The profile alone names nothing.
	p.run("run", "-c", "pipeline.yaml", "--profile", "prod").must(t, 0)
	p.run("run", "-c", "pipeline.yaml", "--profile", "prod").must(t, 0)
	if got := len(p.rows("lake/out")); got != 8 {
		t.Fatalf("%d rows after two runs with a profile, want 8", got)
	}
	// A variable that was given names the batch.
	p.run("run", "-c", "pipeline.yaml", "--var", "region=us").must(t, 0)
	p.run("run", "-c", "pipeline.yaml", "--var", "region=us").must(t, 1).says(t, "twice")
	if got := len(p.rows("lake/out")); got != 10 {
		t.Fatalf("%d rows after a named batch and its refusal, want 10", got)
	}
}

func TestR44DtfAloneNamesNothing(t *testing.T) {
	p := newProject(t, strings.Replace(unnamedPipeline, "region: {default: eu}", "dtf: {type: date}", 1))
	p.write("in.csv", "id\n1\n")
	for range 2 {
		p.run("run", "-c", "pipeline.yaml", "--dtf", "2026-01-01").must(t, 0)
	}
	if got := len(p.rows("lake/out")); got != 2 {
		t.Fatalf("%d rows, want 2", got)
	}
}

func TestR47AnHourlyAppendUnderOneDateIsRefused(t *testing.T) {
	p := newSales(t)
	p.runDay("2026-01-01").must(t, 0)
	rows := p.rows("lake/orders")
	p.write("landing/2026-01-01/b.csv", "id,dt,amount\n7,2026-01-01,70.00\n")
	p.runDay("2026-01-01").must(t, 1).oneLine(t).says(t, "would add the batch twice")
	same(t, "rows", p.rows("lake/orders"), rows)
}

const twoOutputs = `name: two
variables:
  dt: {type: date, required: true}
tasks:
  split:
    inputs:
      raw: {format: csv, path: in.csv, columns: {id: bigint, name: varchar}}
    transform:
      good: SELECT id FROM raw
      bad:  SELECT id, CAST(name AS INTEGER) AS n FROM raw
    outputs:
      good: {format: parquet, path: lake/good}
      bad:  {format: parquet, path: lake/bad}
`

// twoArgs run twoOutputs. failsInStage is an input with which its first output has been staged when the second one fails.
var twoArgs = []string{"run", "-c", "pipeline.yaml", "--dt", "2026-01-01"}

const failsInStage = "id,name\n1,one\n"

// The command that a refusal names, pasted into a shell, works; also when the values need quotes.
func TestR51TheHintCanBePasted(t *testing.T) {
	p := newProject(t, strings.Replace(unnamedPipeline, "region: {default: eu}", "region: {}", 1))
	p.write("in.csv", "id\n1\n")
	args := []string{"run", "-c", "pipeline.yaml", "--var", "region=it's $HOME & more"}
	p.run(args...).must(t, 0)
	r := p.run(args...).must(t, 1)
	command := regexp.MustCompile(`to replace it: (.* run .*--rerun) ;`).FindStringSubmatch(r.stderr)
	if command == nil {
		t.Fatalf("no command in: %s", r.stderr)
	}
	before := p.dataFiles("lake/out")
	p.shell("/nowhere", command[1]).must(t, 0)
	after := p.dataFiles("lake/out")
	if len(after) != 1 || after[0] == before[0] {
		t.Fatalf("files %v, were %v", after, before)
	}
}
