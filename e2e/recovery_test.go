package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strings"
	"testing"
)

// recoveryPipeline has a task that appends a day's orders, one that reads what this run wrote, and one that has nothing to
// do with either.
const recoveryPipeline = `name: shop
variables:
  dt: {type: date, required: true}
tasks:
  clean:
    inputs: {raw: {format: csv, path: "landing/{{ dt }}/*.csv", columns: {id: bigint, amount: "decimal(18,2)"}}}
    outputs: {orders: {from: raw, format: csv, path: lake/orders}}
  report:
    inputs: {o: {from: clean.orders}}
    transform: {total: "SELECT count(*) AS orders, sum(amount) AS amount FROM o"}
    outputs: {total: {format: csv, path: lake/report}}
  rates:
    inputs: {raw: {format: csv, path: rates.csv, columns: {code: varchar, rate: double}}}
    outputs: {rates: {from: raw, format: csv, path: lake/rates}}
`

func newRecovery(t *testing.T, change ...string) *project {
	t.Helper()
	p := newProjectIn(t, memory(t), strings.NewReplacer(change...).Replace(recoveryPipeline))
	p.format = "csv"
	p.write("landing/2026-01-01/a.csv", "id,amount\n1,10.00\n2,20.50\n")
	p.write("landing/2026-01-02/a.csv", "id,amount\n3,30.00\n")
	p.write("rates.csv", "code,rate\nEUR,1.0\n")
	return p
}

// withoutRates is the same without the last input, so that the task rates fails when the others are finished.
func withoutRates(t *testing.T, change ...string) *project {
	t.Helper()
	p := newRecovery(t, change...)
	if err := os.Remove(p.path("rates.csv")); err != nil {
		t.Fatal(err)
	}
	return p
}

// recoveryRows are the rows of the first day.
var recoveryRows = map[string][]string{
	"lake/orders": {`{"amount": "10.00", "id": "1"}`, `{"amount": "20.50", "id": "2"}`},
	"lake/report": {`{"amount": "30.50", "orders": "2"}`},
	"lake/rates":  {`{"code": "EUR", "rate": "1.0"}`},
}

func (p *project) hasRecovered(what string) {
	p.t.Helper()
	for folder, want := range recoveryRows {
		same(p.t, what+": rows of "+folder, p.rows(folder), want)
	}
}

// runFile is what a test looks at in a state file.
type runFile struct {
	folder string

	RunID, AttemptID int64
	LedgerRunID      string
	IsFinal          bool
	Accepted         any
	ActionsState     map[string]struct {
		ExecutionID struct{ RunID, AttemptID int64 }
		State, Msg  string
		Cause       string
		Results     []struct{ Rows, Files int64 }
	}
}

// states reads the state files of a pipeline, by run and attempt as "1.2".
func (p *project) states(app string) map[string]runFile {
	p.t.Helper()
	all := map[string]runFile{}
	for _, folder := range []string{"current", "succeeded"} {
		files, _ := filepath.Glob(p.path(".ubunye/state/" + folder + "/" + app + ".*.json"))
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				p.t.Fatal(err)
			}
			f := runFile{folder: folder}
			if err := json.Unmarshal(data, &f); err != nil {
				p.t.Fatalf("%s: %v", file, err)
			}
			if err := schema(p.t, "run-state").Check(data); err != nil {
				p.t.Fatalf("%s: %v", file, err)
			}
			all[fmt.Sprintf("%d.%d", f.RunID, f.AttemptID)] = f
		}
	}
	return all
}

// stateNames lists the state files, as current/1.1.
func (p *project) stateNames(app string) (names []string) {
	p.t.Helper()
	for number, f := range p.states(app) {
		names = append(names, f.folder+"/"+number)
	}
	sort.Strings(names)
	return names
}

// tells is what a state file says of every task, as "clean SUCCEEDED 1".
func (f runFile) tells() (all []string) {
	for task, a := range f.ActionsState {
		all = append(all, fmt.Sprintf("%s %s %d", task, a.State, a.ExecutionID.AttemptID))
	}
	sort.Strings(all)
	return all
}

// C012, R22, R46: a run of three tasks is killed at any of its changes and started again: it is the same run, its next attempt.
// What was committed is not executed again, the rest is, and the end is that of a run which nothing disturbed.
func TestC012R22R46_AKilledRunIsGoneOnWith(t *testing.T) {
	t.Parallel()
	args := dayArgs("2026-01-01")
	ops := newRecovery(t).trace(nil, args...)
	counts := map[string]int{}
	all := points(t, len(ops), 8)
	for _, k := range all {
		at := fmt.Sprintf("kill at %d (%v)", k, op(ops, k))
		p := newRecovery(t)
		r := p.runEnv([]string{fmt.Sprintf("UBUNYE_FAULT=kill:%d", k)}, args...)
		if k > len(ops) {
			r.must(t, 0)
			break
		}
		r.must(t, 137)
		was := map[string][]string{}
		for _, task := range []string{"clean", "report", "rates"} {
			if doc := p.document(task, ""); committed(doc) {
				was[task] = append([]string{finishedRun(doc)}, claims(doc)...)
			}
		}
		before := p.states("shop")
		ended := before["1.1"].IsFinal
		r = p.run(args...)
		p.hasRecovered(at)
		for task, commit := range was {
			doc := p.document(task, "")
			same(t, at+": what "+task+" had committed", append([]string{finishedRun(doc)}, claims(doc)...), commit)
			folder := "lake/" + strings.NewReplacer("clean", "orders").Replace(task)
			same(t, at+": files of "+task, p.dataFiles(folder), claims(doc))
		}
		if ended { // it had said that it is done: a finished run like any other
			counts["ended"]++
			if r.exit != 0 && !strings.Contains(r.stderr, "finished since") {
				t.Fatalf("%s: exit %d: %s", at, r.exit, r.stderr)
			}
			if r.exit == 0 { // refused starts write nothing
				same(t, at, p.stateNames("shop"), []string{"succeeded/1.1"})
			}
			continue
		}
		r.must(t, 0)
		after := p.states("shop")
		newest, want := after["1.2"], []string{"succeeded/1.1", "succeeded/1.2"}
		if len(before) == 0 { // it had not taken its number
			counts["not begun"]++
			newest, want = after["1.1"], []string{"succeeded/1.1"}
		} else {
			counts[fmt.Sprintf("%d tasks done", len(was))]++
			if !strings.HasPrefix(strings.TrimLeft(withoutWork(r.stderr), "\n"), "continuing run 1 as attempt 2") {
				t.Fatalf("%s: it does not say what it goes on with first: %s", at, r.stderr)
			}
			for task, a := range after["1.1"].ActionsState { // the dead attempt's file names who went on
				if a.State == "RUNNING" || a.State == "FAILED" && !strings.HasPrefix(a.Msg, "interrupted, taken over by ") {
					t.Fatalf("%s: the dead attempt says of %s: %+v", at, task, a)
				}
			}
		}
		same(t, at+": state files", p.stateNames("shop"), want)
		for task, a := range newest.ActionsState {
			attempt := newest.AttemptID
			if was[task] != nil && len(before) > 0 {
				attempt = 1
			}
			if a.State != "SUCCEEDED" || a.ExecutionID.AttemptID != attempt || len(a.Results) != 1 || a.Results[0].Rows != int64(len(recoveryRows["lake/"+strings.NewReplacer("clean", "orders").Replace(task)])) {
				t.Fatalf("%s: the state says of %s, which %v had committed: %+v", at, task, was[task], a)
			}
		}
		if !newest.IsFinal || len(newest.ActionsState) != 3 {
			t.Fatalf("%s: %+v", at, newest)
		}
		if k%8 == 0 {
			p.run(args...).must(t, 1).says(t, "finished since")
		}
	}
	t.Logf("%d operations: %v", len(ops), counts)
	for _, kind := range []string{"not begun", "0 tasks done", "1 tasks done", "2 tasks done", "3 tasks done", "ended"} {
		if counts[kind] == 0 && len(all) > len(ops) {
			t.Errorf("no kill met a run with %s", kind)
		}
	}
}

// withoutWork leaves out the lines about work of earlier runs that a start finishes before it decides anything.
func withoutWork(text string) string {
	return regexp.MustCompile(`(?m)^.*: (landed|removed) .* earlier run.*$\n?`).ReplaceAllString(text, "")
}

// R46, R47, R51: a task that has appended is kept only if what it read is unchanged. Else the start is refused and writes
// nothing, and what its hint says works: --resume keeps it, --rerun writes it again.
func TestR46R47R51_WhatChangedIsNotKeptInSilence(t *testing.T) {
	hour := func(p *project) {
		p.write("landing/2026-01-01/b.csv", "id,amount\n5,5.00\n")
		p.write("rates.csv", "code,rate\nEUR,1.0\n")
	}
	for flag, orders := range map[string]int{"--resume": 2, "--rerun": 3} {
		t.Run(flag, func(t *testing.T) {
			p := withoutRates(t)
			p.runDay("2026-01-01").must(t, 4).says(t, "rates.csv")
			same(t, "the attempt", p.states("shop")["1.1"].tells(), []string{"clean SUCCEEDED 1", "rates FAILED 1", "report SUCCEEDED 1"})
			hour(p)
			before := p.contents(".")
			planned := p.run("plan", "-c", "pipeline.yaml", "--dt", "2026-01-01").must(t, 0)
			if n := strings.Count(planned.stdout, "would refuse: "); n != 3 || !strings.Contains(planned.stdout, "--resume") {
				t.Errorf("plan: %s", planned.stdout)
			}
			r := p.runDay("2026-01-01").must(t, 1).oneLine(t).says(t, "task clean", "run 1 is unfinished", ".ubunye/state/current/shop.1.1.json",
				"input raw was 1 file of 26 bytes and is 2 files of 43 bytes now", "nothing was read or written")
			same(t, "files", p.contents("."), before)
			command := regexp.MustCompile(`([^:;(]* run -c [^;)]*` + flag + `)`).FindStringSubmatch(r.stderr)
			if command == nil {
				t.Fatalf("no command with %s in: %s", flag, r.stderr)
			}
			p.shell("/nowhere", command[1]).must(t, 0).says(t, "continuing run 1 as attempt 2")
			if n := len(p.rows("lake/orders")); n != orders {
				t.Errorf("%d orders, want %d", n, orders)
			}
			same(t, "rates", p.rows("lake/rates"), recoveryRows["lake/rates"])
			same(t, "reports", p.rows("lake/report"), []string{map[string]string{"--resume": recoveryRows["lake/report"][0], "--rerun": `{"amount": "35.50", "orders": "3"}`}[flag]})
			same(t, "state files", p.stateNames("shop"), []string{"succeeded/1.1", "succeeded/1.2"})
		})
	}
}

// R46: state.recover: auto keeps what has appended whatever it read, ask keeps nothing of it without being told to.
func TestR46_HowMuchProofItTakes(t *testing.T) {
	for rule, exit := range map[string]int{"auto": 0, "ask": 1} {
		p := withoutRates(t, "tasks:\n", "state: {recover: "+rule+"}\ntasks:\n")
		p.runDay("2026-01-01").must(t, 4)
		p.write("rates.csv", "code,rate\nEUR,1.0\n")
		if rule == "auto" {
			p.write("landing/2026-01-01/b.csv", "id,amount\n5,5.00\n")
		}
		r := p.runDay("2026-01-01").must(t, exit)
		if rule == "ask" {
			r.says(t, "state.recover is ask")
			p.runDay("2026-01-01", "--resume").must(t, 0)
		}
		p.hasRecovered(rule)
	}
}

// C014: what is left of a run reads exactly what its finished tasks wrote, not what there is to be read by now.
func TestC014R46_TheRestReadsWhatWasRecorded(t *testing.T) {
	p := newRecovery(t, "path: lake/orders}", "path: lake/orders, mode: overwrite}", "SELECT count(*)", "SELECT CAST(concat('x', count(*)) AS DATE) AS bad, count(*)")
	p.runDay("2026-01-01").must(t, 4).says(t, "task report")
	p.write("landing/2026-01-01/b.csv", "id,amount\n5,5.00\n") // an overwrite is kept without asking
	p.write("pipeline.yaml", strings.NewReplacer("path: lake/orders}", "path: lake/orders, mode: overwrite}").Replace(recoveryPipeline))
	planned := p.run("plan", "-c", "pipeline.yaml", "--dt", "2026-01-01", "--json").must(t, 0)
	var tasks []struct {
		Task, Verdict, Reason string
		RunID                 int64 `json:"run_id"`
		Attempt               int64
	}
	if err := json.Unmarshal([]byte(planned.stdout), &tasks); err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		keep := task.Task != "report"
		if keep != (task.Verdict == "keep") || task.RunID != 1 || task.Attempt != map[bool]int64{true: 1, false: 2}[keep] {
			t.Errorf("planned: %+v", task)
		}
	}
	r := p.runDay("2026-01-01", "--json").must(t, 0)
	if !regexp.MustCompile(`"event":"run_continued","run":"[^"]*","pipeline":"shop","message":"[^"]*","run_id":1,"attempt":2,"carried":\[\{"task":"clean","state":"SUCCEEDED","run_id":1,"attempt":1,`).MatchString(r.stdout) {
		t.Errorf("events: %s", r.stdout)
	}
	p.hasRecovered("after the second attempt")
}

// R46: parameters that must match and do not: the start is refused, each named with both values, and the ways on that
// are named work. Tasks that an unfinished run does not have are nothing to it.
func TestR46R51_OtherParameters(t *testing.T) {
	fail := func(t *testing.T, more ...string) *project {
		p := withoutRates(t)
		p.runDay("2026-01-01", more...).must(t, 4)
		p.write("rates.csv", "code,rate\nEUR,1.0\n")
		return p
	}
	t.Run("selection", func(t *testing.T) {
		p := fail(t)
		r := p.runDay("2026-01-01", "--task", "rates").must(t, 1).oneLine(t).says(t, "run 1 ", "selected tasks: was all, now rates", "state accept 1", "--new-run")
		command := regexp.MustCompile(`as it was started: ([^;]*) ;`).FindStringSubmatch(r.stderr)
		if command == nil {
			t.Fatalf("no command in: %s", r.stderr)
		}
		p.shell("/nowhere", command[1]).must(t, 0)
		p.hasRecovered("as it was started")
	})
	t.Run("a new run", func(t *testing.T) {
		p := fail(t)
		p.runDay("2026-01-01", "--task", "rates", "--new-run").must(t, 0).says(t, "run 1 stays unfinished (rates), and this is run 2")
		same(t, "state files", p.stateNames("shop"), []string{"current/1.1", "succeeded/2.1"})
		if r := p.runDay("2026-01-01").must(t, 1).says(t, "finished since"); strings.Contains(r.stderr, "--resume") {
			t.Errorf("nothing is left to run, and it says: %s", r.stderr)
		}
		p.runDay("2026-01-01", "--resume").must(t, 0).says(t, "clean is kept as finished ")
		p.hasRecovered("with --resume")
	})
	t.Run("one task was run by itself", func(t *testing.T) {
		p := withoutRates(t)
		p.write("rates.csv", "code,rate\nEUR,1.0\n")
		p.runDay("2026-01-01", "--task", "clean").must(t, 0)
		r := p.runDay("2026-01-01").must(t, 1).oneLine(t).says(t, "finished since")
		command := regexp.MustCompile(`run the rest: ([^;]*--resume)`).FindStringSubmatch(r.stderr)
		if command == nil {
			t.Fatalf("no command in: %s", r.stderr)
		}
		p.shell("/nowhere", command[1]).must(t, 0).says(t, "clean is kept as finished ")
		p.hasRecovered("with --resume")
	})
	t.Run("configuration of what is kept", func(t *testing.T) {
		p := fail(t)
		p.write("pipeline.yaml", strings.Replace(recoveryPipeline, "from: raw, format: csv, path: lake/orders", "from: raw, format: csv, path: lake/orders, mode: overwrite", 1))
		p.runDay("2026-01-01").must(t, 1).oneLine(t).says(t, "configuration of task clean: changed are outputs.orders;")
		p.runDay("2026-01-01", "--rerun").must(t, 0).says(t, "continuing run 1 as attempt 2")
	})
	t.Run("other tasks", func(t *testing.T) {
		p := fail(t, "--task", "rates")
		p.runDay("2026-01-01", "--task", "clean").must(t, 0).says(t, "unfinished: run 1 of dt=2026-01-01")
		p.runDay("2026-01-01", "--task", "rates").must(t, 0).says(t, "continuing run 1 as attempt 2")
		same(t, "state files", p.stateNames("shop"), []string{"succeeded/1.1", "succeeded/1.2", "succeeded/2.1"})
	})
}

// C015: a run that fails for good need not be finished: moving its file accepts it, and says so; until then, with strict, no
// other day runs.
func TestC015R46_ARunIsAccepted(t *testing.T) {
	p := withoutRates(t, "tasks:\n", "state: {strict: true}\ntasks:\n")
	p.runDay("2026-01-01").must(t, 4)
	p.write("rates.csv", "code,rate\nEUR,1.0\n")
	p.runDay("2026-01-02").must(t, 1).oneLine(t).says(t, "variable dt: was 2026-01-01, now 2026-01-02")
	if err := os.Rename(p.path(".ubunye/state/current/shop.1.1.json"), p.path(".ubunye/state/succeeded/shop.1.1.json")); err != nil {
		t.Fatal(err)
	}
	p.runDay("2026-01-02").must(t, 0).says(t, "run runId=1 attemptId=1 has unfinished actions (rates), but its state file is accepted")
	same(t, "state files", p.stateNames("shop"), []string{"succeeded/1.1", "succeeded/2.1"})
	if n := len(p.rows("lake/orders")); n != 3 {
		t.Errorf("%d orders", n)
	}
}

// C109: a state file of a newer program is refused and left alone, while status tells of it; one that cannot be understood too. What
// this program does not know in a file is kept.
func TestC109_StateOfOtherVersions(t *testing.T) {
	const file = ".ubunye/state/current/shop.1.1.json"
	for name, c := range map[string]struct {
		from, to string
		exit     int
		says     string
	}{
		"newer":          {`"runStateFormatVersion": 8`, `"runStateFormatVersion": 9`, 1, "has run state format 9, and this program knows formats up to 8"},
		"no number":      {`"runStateFormatVersion": 8`, `"runStateFormatVersion": "abc"`, 1, file + " is there but cannot be used"},
		"cut off":        {"\n  \"isFinal\"", "", 1, file + " is there but cannot be used"},
		"unknown fields": {`"isFinal"`, `"team": {"name": "x"}, "isFinal"`, 0, "continuing run 1 as attempt 2"},
	} {
		t.Run(name, func(t *testing.T) {
			p := withoutRates(t)
			p.runDay("2026-01-01").must(t, 4)
			p.write("rates.csv", "code,rate\nEUR,1.0\n")
			text, err := os.ReadFile(p.path(file))
			if err != nil || !strings.Contains(string(text), c.from) {
				t.Fatalf("%v, or no %s in %s", err, c.from, text)
			}
			p.write(file, strings.Replace(string(text), c.from, c.to, 1))
			p.forged = true
			before := p.contents(".")
			p.run("status", "-c", "pipeline.yaml").must(t, 0)
			p.run("plan", "-c", "pipeline.yaml", "--dt", "2026-01-01").must(t, 0)
			same(t, "files", p.contents("."), before)
			p.runDay("2026-01-01").must(t, c.exit).says(t, c.says)
			if c.exit != 0 {
				same(t, "files after the refusal", p.contents("."), before)
				return
			}
			p.hasRecovered(name)
			if text, err := os.ReadFile(p.path(".ubunye/state/succeeded/shop.1.2.json")); err != nil || !strings.Contains(string(text), `"name": "x"`) {
				t.Errorf("%v, or it does not know any more what it did not understand: %s", err, text)
			}
		})
	}
}

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
