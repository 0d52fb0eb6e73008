package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// deltaKind is a way to write a table that is killed, stopped and lied to. Before the run there is the day that it does not touch, and of
// those that replace rows, its own day with other ones.
type deltaKind struct {
	name, output string
	others       bool // the other day stays
	once         bool
}

var deltaKinds = []deltaKind{
	{"append", "mode: append", true, true},
	{"replace_where", `mode: append, replace_where: "dt = DATE '{{ dt }}'"`, true, false},
	{"partitions", "mode: overwrite_partitions, partition_by: [dt]", true, false},
	{"overwrite", "mode: overwrite", false, false},
	{"merge", "mode: merge, keys: [id]", true, false},
}

const (
	otherDay = "id,dt,v\n7,2026-01-01,other\n8,2026-01-01,other\n"
	ownDay   = "id,dt,v\n1,2026-01-02,a\n2,2026-01-02,b\n3,2026-01-02,\n"
)

// project has the other day in the table, and the own one to be loaded.
func (d deltaKind) project(t *testing.T) *project {
	t.Helper()
	p := lakehouse(t, "id: bigint, dt: date, v: text", d.output)
	p.write("2026-01-01.csv", otherDay)
	p.write("2026-01-02.csv", ownDay)
	return p
}

func (d deltaKind) before(p *project) {
	p.loadDay("2026-01-01").must(p.t, 0)
	if !d.once { // what is replaced
		p.write("2026-01-02.csv", strings.ReplaceAll(ownDay, ",a\n", ",old\n"))
		p.loadDay("2026-01-02").must(p.t, 0)
		p.write("2026-01-02.csv", ownDay)
	}
}

func (d deltaKind) args() []string {
	return []string{"run", "-c", "pipeline.yaml", "--dt", "2026-01-02"}
}

// wants are the rows when the day is there.
func (d deltaKind) wants() []string {
	if d.others {
		return together(otherDay, ownDay)
	}
	return csvLines(ownDay)
}

// whole fails the test unless the table has the day once, as delta-rs and DuckDB read it, and no file that nobody names.
func (d deltaKind) whole(what string, p *project) {
	p.t.Helper()
	same(p.t, what+": rows", p.rows("lake/t"), d.wants())
	same(p.t, what+": data files that the log does not name", p.unnamed(), nil)
	same(p.t, what+": staging", slices.DeleteFunc(p.files(".ubunye/staging"), func(name string) bool { return strings.HasSuffix(name, "/") }), nil)
}

func (d deltaKind) trace(t *testing.T) []operation {
	t.Helper()
	p := d.project(t)
	d.before(p)
	return p.traceHere(d.args()...)
}

// R70, R73: a run killed at any of its changes, before, in and after the commit of the table: whatever runs next, the day is there
// once, what an append finds is told (R72), and no file is left that nobody names, nor is one missing.
func TestR70R72R73DeltaKilledAtEveryOperation(t *testing.T) {
	t.Parallel()
	for _, d := range deltaKinds {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			ops := d.trace(t)
			found, written := 0, 0
			for _, k := range points(t, len(ops), 7) {
				p := d.project(t)
				d.before(p)
				versions := len(p.commits())
				r := p.runEnv([]string{fmt.Sprintf("UBUNYE_FAULT=kill:%d", k)}, d.args()...)
				what := fmt.Sprintf("kill at %d (%s)", k, op(ops, k))
				if r.exit != 137 && (k <= len(ops) || r.exit != 0) {
					t.Fatalf("%s: exit %d: %s", what, r.exit, r.stderr)
				}
				committed := len(p.commits()) > versions
				finished := committedBatch(p)
				again := p.run(d.args()...)
				switch {
				case d.once && committed && !finished:
					again.must(t, 0)
					if !strings.Contains(again.stdout, "the table holds the batch already: run ") || !strings.Contains(again.stdout, fmt.Sprintf("as version %d ", versions)) || !strings.Contains(again.stdout, "--rerun") {
						t.Fatalf("%s: the next start does not say what it found: %s", what, again.stdout)
					}
					found++
				case d.once && finished && again.exit == 1:
					again.says(t, "is finished since")
				default:
					again.must(t, 0)
					written++
				}
				d.whole(what, p)
			}
			if written == 0 || d.once && found == 0 {
				t.Errorf("%d were written, %d found", written, found)
			}
		})
	}
}

// committedBatch tells whether the document of the day says that a run committed it which is not that of the setup.
func committedBatch(p *project) bool {
	p.t.Helper()
	return committed(p.document("load", "2026-01-02"))
}

// R74: the answer to any change is lost, or the disk is full from there on: the run says what is so, and the next one makes it whole.
func TestR74DeltaAnswersAreLost(t *testing.T) {
	t.Parallel()
	for _, d := range deltaKinds {
		for _, fault := range []string{"lost", "enospc"} {
			t.Run(d.name+" "+fault, func(t *testing.T) {
				t.Parallel()
				ops := d.trace(t)
				outcomes := map[int]int{}
				for _, k := range points(t, len(ops), 11) {
					p := d.project(t)
					d.before(p)
					versions := len(p.commits())
					r := p.runEnv([]string{fmt.Sprintf("UBUNYE_FAULT=%s:%d", fault, k)}, d.args()...)
					what := fmt.Sprintf("%s at %d (%s), exit %d", fault, k, op(ops, k), r.exit)
					outcomes[r.exit]++
					now := len(p.commits())
					if r.exit == 0 && now != versions+1 {
						t.Fatalf("%s: it says that it is done, and the table has %d commits, not %d", what, now, versions+1)
					}
					if again := p.run(d.args()...); again.exit != 0 && !(d.once && again.exit == 1 && committedBatch(p)) {
						t.Fatalf("%s: the next start: exit %d: %s", what, again.exit, again.stderr)
					}
					d.whole(what, p)
				}
				t.Logf("exit codes: %v", outcomes)
			})
		}
	}
}

// R27, R70: a run is stopped anywhere, another takes over and runs wholly; then the first goes on. What it does then neither doubles
// the day nor takes a file of it away.
func TestR27R70DeltaStoppedTakenOverAndWoken(t *testing.T) {
	t.Parallel()
	for _, d := range deltaKinds {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			ops := d.trace(t)
			lost := 0
			for _, k := range points(t, len(ops), 17) {
				p := d.project(t)
				pipeline, err := os.ReadFile(p.path("pipeline.yaml"))
				if err != nil {
					t.Fatal(err)
				}
				p.write("pipeline.yaml", string(pipeline)+shortLedger)
				d.before(p)
				what := fmt.Sprintf("stop at %d (%s)", k, op(ops, k))
				q := p.start([]string{fmt.Sprintf("UBUNYE_FAULT=stop:%d", k)}, d.args()...)
				if !q.waitStopped() {
					continue // it had fewer operations than the one that was counted
				}
				holding := held(p.document("load", "2026-01-02"))
				beats, _ := filepath.Glob(p.path(".ubunye/runs/*.beat"))
				for _, beat := range beats { // as if it had been stopped an hour ago
					then := time.Now().Add(-time.Hour)
					if err := os.Chtimes(beat, then, then); err != nil {
						t.Fatal(err)
					}
				}
				second := p.run(d.args()...)
				if second.exit != 0 && !(second.exit == 1 && d.once && committedBatch(p)) {
					t.Fatalf("%s: the second: exit %d: %s", what, second.exit, second.stderr)
				}
				versions := len(p.commits())
				q.signal(cont)
				r := q.wait()
				if holding {
					lost++
					if r.exit != 5 {
						t.Fatalf("%s: woken: exit %d: %s", what, r.exit, r.stderr)
					}
					if now := len(p.commits()); now != versions {
						t.Fatalf("%s: woken, it committed: %d commits, and there were %d", what, now, versions)
					}
				}
				third := p.run(d.args()...) // what the woken one left is settled at the latest now
				if third.exit != 0 && !(third.exit == 1 && d.once) {
					t.Fatalf("%s: the third: exit %d: %s", what, third.exit, third.stderr)
				}
				d.whole(what, p)
			}
			if lost == 0 {
				t.Error("none had lost its batch")
			}
		})
	}
}

// R71: a day that comes late is written although a later one is there. R72b: a run that fails after its table's commit says what is
// kept.
func TestR71R72DeltaLateDays(t *testing.T) {
	t.Parallel()
	d := deltaKinds[0]
	p := d.project(t)
	p.loadDay("2026-01-02").must(t, 0)
	p.loadDay("2026-01-01").must(t, 0)
	d.whole("a late day", p)
	r := p.loadDay("2026-01-02").must(t, 1)
	r.says(t, "in the table as version 0", "a table keeps what was added to it", "--rerun", "replace_where")
	r = p.loadDay("2026-01-02", "--rerun").must(t, 0)
	r.says(t, "keeps what run ", "as version 0", "adds the batch again")
	rows := p.rows("lake/t")
	if want := append(d.wants(), csvLines(ownDay)...); len(rows) != len(want) {
		t.Errorf("%d rows after a rerun that adds, want %d", len(rows), len(want))
	}
}

// R72b: two tables in one task, and the second one cannot be committed to: what is in the first is said, and that the next run finds it.
func TestR72bDeltaTwoTables(t *testing.T) {
	t.Parallel()
	p := newProject(t, `name: lakehouse
variables: {dt: {type: date, required: true}}
tasks:
  load:
    inputs: {raw: {format: csv, path: "{{ dt }}.csv", columns: {id: bigint, dt: date, v: text}}}
    outputs:
      one: {from: raw, format: delta, path: lake/one}
      two: {from: raw, format: delta, path: lake/two}
`)
	p.format = "delta"
	p.write("2026-01-01.csv", otherDay)
	p.write("2026-01-02.csv", ownDay)
	p.loadDay("2026-01-01").must(t, 0)
	// The file that is to become the second table's commit cannot be made.
	r := p.runEnv([]string{"UBUNYE_FAULT=enospc:~/two/put-"}, "run", "-c", "pipeline.yaml", "--dt", "2026-01-02")
	r.must(t, 4).says(t, "output two", "output one is kept (the table ", "holds it as version 1)", "does not write it twice")
	again := p.loadDay("2026-01-02").must(t, 0)
	if !strings.Contains(again.stdout, "load.one: nothing written") || !strings.Contains(again.stdout, "load.two: 3 rows") {
		t.Errorf("said %s", again.stdout)
	}
	for _, table := range []string{"lake/one", "lake/two"} {
		same(t, table, p.rows(table), together(otherDay, ownDay))
	}
	same(t, "staging", p.files(".ubunye/staging"), nil)
	if names := p.dataFiles("lake"); slices.ContainsFunc(names, func(n string) bool { return strings.HasSuffix(n, ".staged") }) {
		t.Errorf("staged files: %q", names)
	}
}
