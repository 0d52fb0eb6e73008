package e2e

import (
	"fmt"
	"slices"
	"sort"
	"strings"
	"testing"
)

// A run of the same variables that lives refuses a start of a task that it has, also while it holds no batch; another task
// may be started beside it.
func TestALiveRunRefusesItsTasks(t *testing.T) {
	p := newRecovery(t)
	q := p.start([]string{"UBUNYE_FAULT=stop:~/lake/report/"}, dayArgs("2026-01-01")...)
	if !q.waitStopped() {
		t.Fatalf("the run was not stopped: %+v", q.wait())
	}
	p.runDay("2026-01-01", "--task", "clean", "--rerun").must(t, 1).says(t, "refused: run 1 of pipeline shop, attempt 1 (run ", fmt.Sprintf("process %d", q.cmd.Process.Pid), "is going on")
	waits := p.start(nil, dayArgs("2026-01-01", "--task", "clean", "--rerun", "--wait=1m")...)
	q.signal(cont)
	q.wait().must(t, 0)
	waits.wait().must(t, 0)
	p.hasRecovered("in the end")
	same(t, "state files", p.stateNames("shop"), []string{"succeeded/1.1", "succeeded/2.1"})
}

// A start that waits for a living run is not refused for what that has finished so far: if the run fails after all, it is gone
// on with; also if it had no state yet when the waiting began.
func TestWaitingForARunThatFails(t *testing.T) {
	t.Parallel()
	p := withoutRates(t)
	q := p.start([]string{"UBUNYE_FAULT=stop:~/lake/report/"}, dayArgs("2026-01-01")...)
	if !q.waitStopped() {
		t.Fatalf("the run was not stopped: %+v", q.wait())
	}
	p.runDay("2026-01-01", "--wait=100ms").must(t, 1).says(t, "refused: run 1 of pipeline shop", "is going on", "; waited ")
	waits := p.start(nil, dayArgs("2026-01-01", "--wait=1m")...)
	q.signal(cont)
	q.wait().must(t, 4)
	waits.wait().must(t, 4).says(t, "continuing run 1 as attempt 2: clean is kept as finished ")

	p = withoutRates(t)
	q = p.start([]string{"UBUNYE_FAULT=stop:~/state/current/"}, dayArgs("2026-01-01")...)
	if !q.waitStopped() {
		t.Fatalf("the run was not stopped: %+v", q.wait())
	}
	waits = p.start(nil, dayArgs("2026-01-01", "--wait=1m")...)
	p.awaitWaiting(waits)
	q.signal(cont)
	q.wait().must(t, 4)
	waits.wait().must(t, 4).says(t, "continuing run 1 as attempt 2: clean is kept as finished ")
	same(t, "rows", p.rows("lake/orders"), recoveryRows["lake/orders"])
}

// What cannot be written of the state touches no data: a run says so once, and the next start mends it. One that cannot
// take its number has run nothing.
func TestStateThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	ops := newRecovery(t).trace(nil, dayArgs("2026-01-01")...)
	before, after := 0, 0
	for k, o := range ops {
		if !strings.Contains(o.Path, "/.ubunye/state/") && !strings.Contains(o.To, "/.ubunye/state/") {
			continue
		}
		at := fmt.Sprintf("no room at %d (%v)", k+1, op(ops, k+1))
		p := newRecovery(t)
		r := p.runEnv([]string{fmt.Sprintf("UBUNYE_FAULT=enospc:%d", k+1)}, dayArgs("2026-01-01")...)
		switch {
		case r.exit == 1:
			before++
			r.says(t, "refused: the run state ", "nothing was read or written", "make room on that disk")
			if len(p.files("lake")) > 0 || held(p.document("clean", "")) || len(p.files(".ubunye/runs")) > 0 {
				t.Fatalf("%s: something was written, or is held: %v", at, p.files("."))
			}
		case r.exit != 0:
			t.Fatalf("%s: exit %d: %s", at, r.exit, r.stderr)
		default:
			after++
			p.hasRecovered(at)
			if n := strings.Count(r.stderr, "the data is not touched by that"); n > 1 {
				t.Fatalf("%s: it says so %d times: %s", at, n, r.stderr)
			}
		}
		p.run(dayArgs("2026-01-01")...)
		p.hasRecovered(at + ", after the next start")
		if k%4 != 0 {
			continue
		}
		p.runDay("2026-01-02").must(t, 0)
		for name, f := range p.states("shop") {
			if f.RunID > 1 && f.folder != "succeeded" {
				t.Fatalf("%s: %s is in %s", at, name, f.folder)
			}
		}
	}
	if before == 0 || after == 0 {
		t.Errorf("%d before the first task, %d after it", before, after)
	}
}

// Every run has a number of its own, however many are started at once, and none is refused for that.
func TestNumbersOfRunsAtOnce(t *testing.T) {
	p := newRecovery(t)
	var all []*process
	for day := range 20 {
		name := fmt.Sprintf("2026-02-%02d", day+1)
		p.write("landing/"+name+"/a.csv", "id,amount\n1,1.00\n")
		all = append(all, p.start(nil, dayArgs(name)...))
	}
	for _, q := range all {
		q.wait().must(t, 0)
	}
	var runs []string
	for _, f := range p.states("shop") {
		runs = append(runs, fmt.Sprintf("%s %03d", f.folder, f.RunID))
	}
	sort.Strings(runs)
	var want []string
	for n := range 20 {
		want = append(want, fmt.Sprintf("succeeded %03d", n+1))
	}
	same(t, "runs", runs, want)
	var named []string
	for _, doc := range p.documents() {
		finished, _ := doc["finished"].(map[string]any)
		if doc["batch"].(map[string]any)["task"] == "clean" {
			named = append(named, fmt.Sprint(finished["state"]))
		}
	}
	if sort.Strings(named); len(slices.Compact(named)) != 20 {
		t.Errorf("the ledger names the runs %v", named)
	}
}

// A backfill goes on with the runs of its dates that are unfinished.
func TestR46_ABackfillGoesOn(t *testing.T) {
	p := withoutRates(t)
	args := []string{"backfill", "-c", "pipeline.yaml", "--from", "2026-01-01", "--to", "2026-01-02", "--keep-going"}
	p.run(args...).must(t, 4)
	p.write("rates.csv", "code,rate\nEUR,1.0\n")
	r := p.run(args...).must(t, 0)
	for _, run := range []string{"2026-01-01: continuing run 1 as attempt 2: clean is kept", "2026-01-02: continuing run 2 as attempt 2: clean is kept"} {
		r.says(t, run)
	}
	if n := len(p.rows("lake/orders")); n != 3 {
		t.Errorf("%d orders", n)
	}
	same(t, "state files", p.stateNames("shop"), []string{"succeeded/1.1", "succeeded/1.2", "succeeded/2.1", "succeeded/2.2"})
}

// C009: rows of a file that is loaded twice are there once: a batch that appends is refused the second time, and a mode
// that would merge by a key is refused with those that there are.
func TestC009_AFileIsNotAddedTwice(t *testing.T) {
	p := newRecovery(t)
	p.runDay("2026-01-01").must(t, 0)
	p.runDay("2026-01-01").must(t, 1).says(t, "running it again would add the batch twice")
	p.hasRecovered("loaded twice")
	p.write("pipeline.yaml", strings.Replace(recoveryPipeline, "path: lake/orders}", "path: lake/orders, mode: merge, keys: [id]}", 1))
	p.runDay("2026-01-01").must(t, 2).says(t, "task clean, output orders: the writer for csv has no mode merge (known: append, ")
}

// A pipeline without variables has one run after the other, as it would without any.
func TestR46_WithoutVariables(t *testing.T) {
	p := newProject(t, "name: plain\ntasks:\n  a: {inputs: {r: {format: csv, path: a.csv}}, outputs: {r: {format: csv, path: lake/a}}}\n  b: {inputs: {r: {format: csv, path: b.csv}}, outputs: {r: {format: csv, path: lake/b}}}\n")
	p.format = "csv"
	p.write("a.csv", "id\n1\n")
	args := []string{"run", "-c", "pipeline.yaml"}
	p.run(args...).must(t, 4)
	p.write("b.csv", "id\n2\n")
	p.run(args...).must(t, 0).says(t, "continuing run 1 as attempt 2: a is kept")
	if n := len(p.rows("lake/a")); n != 1 {
		t.Fatalf("a has %d rows", n)
	}
	p.run(args...).must(t, 0) // an unnamed batch runs every time
	same(t, "state files", p.stateNames("plain"), []string{"succeeded/1.1", "succeeded/1.2", "succeeded/2.1"})
	if n := len(p.rows("lake/a")); n != 2 {
		t.Fatalf("a has %d rows", n)
	}
}

// A run that had committed everything and died before its state said so is not unfinished: the next start of the
// pipeline, of whatever batch, has the state say what the ledger knows, and so has a backfill that has nothing to start.
func TestARunThatDiedWhenAllWasCommitted(t *testing.T) {
	args := dayArgs("2026-01-01")
	last := 0
	for k, o := range newRecovery(t).trace(nil, args...) {
		if o.Kind == "rename" && strings.HasSuffix(o.To, "current/shop.1.1.json") {
			last = k + 1
		}
	}
	p := newRecovery(t)
	p.runEnv([]string{fmt.Sprintf("UBUNYE_FAULT=kill:%d", last)}, args...).must(t, 137)
	if f := p.states("shop")["1.1"]; f.IsFinal || f.folder != "current" {
		t.Fatalf("it said that it has ended: %+v", f)
	}
	if r := p.runDay("2026-01-02").must(t, 0); strings.Contains(r.stderr, "unfinished") {
		t.Errorf("it says: %s", r.stderr)
	}
	same(t, "state files", p.stateNames("shop"), []string{"succeeded/1.1", "succeeded/2.1"})
	same(t, "the dead run", p.states("shop")["1.1"].tells(), []string{"clean SUCCEEDED 1", "rates SUCCEEDED 1", "report SUCCEEDED 1"})
	p.run(args...).must(t, 0).says(t, "died before it could say so")
	p.run(args...).must(t, 1).says(t, "finished since")

	p = newRecovery(t)
	p.runEnv([]string{fmt.Sprintf("UBUNYE_FAULT=kill:%d", last)}, args...).must(t, 137)
	if s := p.backfill(0, backfillArgs("2026-01-01", "2026-01-01")...); s.Counts["skipped"] != 1 {
		t.Errorf("the backfill: %+v", s)
	}
	same(t, "state files after a backfill", p.stateNames("shop"), []string{"succeeded/1.1"})
}
