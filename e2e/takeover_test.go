package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// shortLedger is a ledger whose runs are taken for dead soon.
const shortLedger = "ledger: {heartbeat: 1s, timeout: 6s}\n"

// C034, R27: a run is stopped, another takes over because its heartbeat is too old and does not change, and runs wholly;
// then the first goes on. It makes nothing visible, ends with 5, and its record says interrupted.
func TestC034R27StoppedTakenOverAndWoken(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"append", "overwrite"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			fresh := func() *project {
				p := newReplacing(t, mode)
				p.write("pipeline.yaml", replacingPipeline(mode)+shortLedger)
				return p
			}
			first := func(p *project) { p.runDay("2026-01-01").must(p.t, 0) }
			ops := newReplacing(t, mode).trace(first, dayArgs("2026-01-02")...) // without a heartbeat but the first
			lost, others := 0, 0
			for k := 4; k <= len(ops); k += 7 {
				p := fresh()
				first(p)
				what := fmt.Sprintf("stop at %d (%s)", k, op(ops, k))
				if p.stopTakeWake(what, k, mode) {
					lost++
				} else {
					others++
				}
			}
			t.Logf("%d operations, every 7th: %d lost the lease, %d had not taken it yet or had committed", len(ops), lost, others)
			if lost < 4 || others == 0 {
				t.Fatalf("%d lost the lease, %d did not", lost, others)
			}
		})
	}
}

// stopTakeWake stops a run of 2026-01-02 at an operation, has another one run, and wakes the first. It tells whether
// that had held the batch, and so lost it.
func (p *project) stopTakeWake(what string, k int, mode string) bool {
	t := p.t
	t.Helper()
	q := p.start([]string{fmt.Sprintf("UBUNYE_FAULT=stop:%d", k)}, dayArgs("2026-01-02")...)
	if !q.waitStopped() {
		t.Fatalf("%s: not stopped: %+v", what, q.wait())
	}
	doc := p.document("clean_orders", "2026-01-02")
	holding := held(doc)
	run := ""
	beats, _ := filepath.Glob(p.path(".ubunye/runs/*.beat"))
	for _, beat := range beats { // as if it had been stopped an hour ago
		then := time.Now().Add(-time.Hour)
		if err := os.Chtimes(beat, then, then); err != nil {
			t.Fatal(err)
		}
		run = strings.TrimSuffix(filepath.Base(beat), ".beat")
	}
	second := p.runDay("2026-01-02")
	if holding {
		second.must(t, 0).says(t, "gave no sign for", "took over from run "+run, "it gives no sign")
	}
	rows := p.rows("lake/orders")
	files := p.dataFiles("lake/orders")
	q.signal(cont)
	r := q.wait()
	if holding {
		if r.exit != 5 {
			t.Fatalf("%s: woken: exit %d: %s", what, r.exit, r.stderr)
		}
		same(t, what+": files after it was woken", p.dataFiles("lake/orders"), files)
		data, err := os.ReadFile(p.path(".ubunye/runs/" + run + ".json"))
		if err != nil {
			t.Fatal(err)
		}
		var record struct{ Status, By string }
		if err := json.Unmarshal(data, &record); err != nil || record.Status != "interrupted" || record.By == "" {
			t.Fatalf("%s: the record of the first: %s", what, data)
		}
	} else if r.exit != 0 && r.exit != 1 && r.exit != 5 {
		t.Fatalf("%s: woken: exit %d: %s", what, r.exit, r.stderr)
	}
	want := p.want("3", "4")
	if mode == "append" {
		want = p.want("1", "2", "3", "4")
	}
	same(t, what+": rows of the taker", rows, want)
	same(t, what+": rows", p.rows("lake/orders"), want)
	if doc := p.document("clean_orders", "2026-01-02"); held(doc) || !committed(doc) {
		t.Fatalf("%s: %v", what, doc)
	}
	return holding
}

// R65: a run that replaces a folder is killed before its exchange or after it. A run of another batch of the folder
// takes its batch over before it stages, says so, and finds the folder whole; what the dead run had replaced without
// a commit is named by status until its batch is run again.
func TestR65AnotherBatchTakesOverADeadOverwrite(t *testing.T) {
	t.Parallel()
	first := func(p *project) { p.runDay("2026-01-01").must(p.t, 0) }
	ops := newReplacing(t, "overwrite").trace(first, dayArgs("2026-01-02")...)
	at := slices.IndexFunc(ops, func(op operation) bool { return op.Kind == "exchange" && strings.HasSuffix(op.To, "/lake/orders") })
	for after, seen := range [][]string{{"1", "2"}, {"3", "4"}} {
		p := newReplacing(t, "overwrite")
		first(p)
		p.write("landing/2026-01-03/a.csv", "id,region,dt\n5,eu,2026-01-03\n")
		if r := p.runEnv([]string{fmt.Sprintf("UBUNYE_FAULT=kill:%d", ops[at].Number+after)}, dayArgs("2026-01-02")...); r.exit != 137 {
			t.Fatalf("not killed: %+v", r)
		}
		same(t, "rows after the kill", p.rows("lake/orders"), p.want(seen...))
		p.write("pipeline.yaml", replacingPipeline("append"))
		r := p.runDay("2026-01-03").must(t, 0).says(t, "took over from run", "its process ended")
		same(t, "rows of the other batch", p.rows("lake/orders"), p.want(append(slices.Clone(seen), "5")...))
		status := p.run("status", "-c", "pipeline.yaml").must(t, 0).stdout
		const kept = "which ended before its commit; the next run of the batch replaces them"
		if after == 1 != strings.Contains(status, kept) || after == 1 != strings.Contains(r.stderr, "output orders was replaced by run") {
			t.Fatalf("after %d: %s\n%s", after, r.stderr, status)
		}
		p.write("pipeline.yaml", replacingPipeline("overwrite"))
		p.runDay("2026-01-02").must(t, 0)
		same(t, "rows", p.rows("lake/orders"), p.want("3", "4"))
		if status := p.run("status", "-c", "pipeline.yaml").must(t, 0).stdout; strings.Contains(status, kept) {
			t.Fatalf("still named: %s", status)
		}
	}
}
