package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
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
