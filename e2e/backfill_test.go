package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// newDays is a project with salesPipeline and data of the days given, two rows each.
func newDays(t *testing.T, days ...string) *project {
	t.Helper()
	p := newProject(t, salesPipeline)
	for _, day := range days {
		p.writeDay(day)
	}
	return p
}

func (p *project) writeDay(day string) {
	p.t.Helper()
	n, err := strconv.Atoi(day[8:])
	if err != nil {
		p.t.Fatal(err)
	}
	p.write("landing/"+day+"/a.csv", fmt.Sprintf("id,dt,amount\n%d,%s,%d.00\n%d,%s,%d.50\n", 10*n, day, n, 10*n+1, day, n))
}

func backfillArgs(from, to string, more ...string) []string {
	return append([]string{"backfill", "-c", "pipeline.yaml", "--from", from, "--to", to}, more...)
}

// summary is the one event that sums a backfill up.
type summary struct {
	Counts map[string]int
	Rows   int
	Dates  []struct {
		Date, Outcome, Run, Reason string
		Rows                       int
	}
}

func (s summary) outcomes() (words []string) {
	for _, d := range s.Dates {
		words = append(words, fmt.Sprintf("%s %s %d %s", d.Date, d.Outcome, d.Rows, d.Reason))
	}
	return words
}

// backfill runs one with --json and gives its summary.
func (p *project) backfill(exit int, args ...string) summary {
	p.t.Helper()
	return summaryOf(p.t, p.run(append(args, "--json")...).must(p.t, exit))
}

func summaryOf(t *testing.T, r result) summary {
	t.Helper()
	var found []summary
	last := ""
	for _, line := range strings.Split(strings.TrimSpace(r.stdout), "\n") {
		var e struct {
			Event    string
			Backfill *summary
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if last = e.Event; e.Backfill != nil {
			found = append(found, *e.Backfill)
		}
	}
	if len(found) != 1 || last != "run_finished" {
		t.Fatalf("%d summaries, the last event is %s:\n%s", len(found), last, r.stdout)
	}
	return found[0]
}

// Five dates, one landed before and one without data: stopped at, gone on from, filled in, run again.
func TestBackfill(t *testing.T) {
	t.Parallel()
	const first, last = "2026-01-01", "2026-01-05"
	p := newDays(t, first, "2026-01-02", "2026-01-04", last)
	p.runDay("2026-01-02").must(t, 0)

	before := p.files(".")
	plan := p.run(backfillArgs(first, last, "--dry-run")...).must(t, 0)
	same(t, "files after a dry run", p.files("."), before)
	same(t, "what would run", strings.Split(plan.stdout, "\n"), []string{
		"2026-01-01: would run clean_orders", "2026-01-03: would run clean_orders", "2026-01-04: would run clean_orders", "2026-01-05: would run clean_orders",
		"4 of 5 dates would run; 1 would be skipped, being finished", ""})

	r := p.run(backfillArgs(first, last)...).must(t, 4).says(t, "2026-01-01: landed 2 rows in ", "ubunye: 2026-01-03: pipeline.yaml:9:15: task clean_orders: input raw: ", "2026-01-03: failed in ")
	if n := strings.Count(r.stderr, "\n"); n != 3 {
		t.Errorf("%d lines on stderr: %s", n, r.stderr)
	}
	table := strings.Split(r.stdout, "\n")
	if len(table) != 7 || table[0] != "sales: 5 dates of dt: 1 landed, 1 skipped, 1 failed, 2 cancelled; 2 rows landed" ||
		strings.Join(strings.Fields(table[3]), " ") != "2026-01-02 skipped" || strings.Join(strings.Fields(table[5]), " ") != "2026-01-04 … 2026-01-05 (2) cancelled" ||
		!strings.HasPrefix(table[4], "  2026-01-03                   failed     0 ") || !strings.HasSuffix(table[4], "InputMissing") {
		t.Errorf("summary:\n%s", r.stdout)
	}
	same(t, "rows, stopped at a failure", p.rows("lake/orders"), p.salesRows(first, "2026-01-02"))

	s := p.backfill(4, backfillArgs(first, last, "--keep-going", "--parallel", "2")...)
	same(t, "outcomes, going on", s.outcomes(), []string{"2026-01-01 skipped 0 ", "2026-01-02 skipped 0 ", "2026-01-03 failed 0 InputMissing", "2026-01-04 landed 2 ", "2026-01-05 landed 2 "})
	same(t, "rows, going on", p.rows("lake/orders"), p.salesRows(first, "2026-01-02", "2026-01-04", last))

	p.writeDay("2026-01-03")
	s = p.backfill(0, backfillArgs(first, last)...)
	if s.Counts["landed"] != 1 || s.Counts["skipped"] != 4 || s.Counts["failed"] != 0 || s.Rows != 2 || s.Dates[2].Run != finishedRun(p.document("clean_orders", "2026-01-03")) {
		t.Errorf("filled in: %+v", s)
	}
	all := p.salesRows(first, "2026-01-02", "2026-01-03", "2026-01-04", last)
	same(t, "rows, filled in", p.rows("lake/orders"), all)

	before = p.files(".")
	if s = p.backfill(0, backfillArgs(first, last)...); s.Counts["skipped"] != 5 {
		t.Errorf("again: %+v", s)
	}
	same(t, "files after nothing was to do", p.files("."), before)

	old := p.dataFiles("lake/orders")
	if s = p.backfill(0, backfillArgs(first, last, "--rerun", "--parallel", "5")...); s.Counts["landed"] != 5 || s.Rows != 10 {
		t.Errorf("--rerun: %+v", s)
	}
	same(t, "rows after --rerun", p.rows("lake/orders"), all)
	for _, name := range old {
		if _, err := os.Stat(p.path("lake/orders/" + name)); err == nil {
			t.Errorf("%s was not replaced", name)
		}
	}
	same(t, "runs that are left", p.files(".ubunye/runs"), p.failedRecords())
}

// failedRecords are the records that runs of a date without data have left.
func (p *project) failedRecords() (names []string) {
	for _, name := range p.files(".ubunye/runs") {
		if data, err := os.ReadFile(p.path(".ubunye/runs/" + name)); err == nil && strings.Contains(string(data), `"failed"`) {
			names = append(names, name)
		}
	}
	return names
}

// frozen waits until as many runs of a backfill have stopped themselves, and gives their pids.
func (p *project) frozen(q *process, want int) []int {
	p.t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-q.done:
			p.t.Fatalf("the backfill ended: %+v", q.wait())
		case <-tick.C:
		}
		var pids []int
		records, _ := filepath.Glob(p.path(".ubunye/runs/*.json"))
		for _, name := range records {
			var record struct{ PID int }
			data, err := os.ReadFile(name)
			if err == nil && json.Unmarshal(data, &record) == nil && state(record.PID) == "T" {
				pids = append(pids, record.PID)
			}
		}
		if len(pids) == want {
			return pids
		}
	}
}

// state is that of a process in /proc; empty: there is none.
func state(pid int) string {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	return strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))[0]
}

// wake lets frozen runs go on and waits until they are gone.
func wake(pids []int) {
	for _, pid := range pids {
		syscall.Kill(pid, cont)
	}
	for _, pid := range pids {
		await(pid)
	}
}

// await waits until a process is gone.
func await(pid int) {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for s := state(pid); s != "" && s != "Z"; s = state(pid) {
		<-tick.C
	}
}

// frozenCommitted freezes the run of a date when it has committed and not landed.
func frozenCommitted(day string) []string {
	return []string{"UBUNYE_FAULT=stop:~lake/orders/dt=" + day}
}

// A backfill that is killed takes its runs with it, each in good order, and the next one goes on where it was: every
// date is there once.
func TestBackfillIsKilledInTheMiddle(t *testing.T) {
	t.Parallel()
	days := []string{"2026-01-01", "2026-01-02", "2026-01-03", "2026-01-04", "2026-01-05"}
	for _, c := range []struct {
		name      string
		fault     []string
		runs      int  // that are frozen then
		wakeFirst bool // before the backfill is started again
		skipped   []string
	}{
		{"at staging", []string{frozenStaging}, 2, true, nil},
		{"at landing", frozenCommitted("2026-01-03"), 1, true, days[:3]},
		{"at landing, and still frozen", frozenCommitted("2026-01-03"), 1, false, days[:3]},
	} {
		p := newDays(t, days...)
		q := p.start(c.fault, backfillArgs(days[0], days[4], "--parallel", "2")...)
		pids := p.frozen(q, c.runs)
		q.signal(syscall.SIGKILL)
		await(q.cmd.Process.Pid) // not q.wait: what is frozen has its stderr open
		early := 0
		if c.wakeFirst {
			wake(pids)
			for _, day := range days[:2] {
				doc := p.document("clean_orders", day)
				if held(doc) || c.skipped != nil && !committed(doc) {
					t.Fatalf("%s: %v", c.name, doc)
				}
				if committed(doc) && c.skipped == nil {
					early++ // it had committed before it noticed that nobody waits for it any more
				}
			}
		}
		// A run of another date, which was not frozen, may just be noticing that nobody waits for it any more.
		s := p.backfill(0, backfillArgs(days[0], days[4], "--wait", "1m")...)
		if s.Counts["landed"]+s.Counts["skipped"] != len(days) {
			t.Errorf("%s: %+v", c.name, s)
		}
		for i, day := range c.skipped {
			if s.Dates[i].Outcome != "skipped" {
				t.Errorf("%s: %s %s", c.name, day, s.Dates[i].Outcome)
			}
		}
		if c.skipped == nil && s.Counts["skipped"] != early {
			t.Errorf("%s: %+v, of which %d had committed", c.name, s, early)
		}
		same(t, c.name+": rows", p.rows("lake/orders"), p.salesRows(days...))
		wake(pids)
		same(t, c.name+": rows at the end", p.rows("lake/orders"), p.salesRows(days...))
		same(t, c.name+": staging", p.dataFiles(".ubunye/staging"), nil)
	}
}

// C033: a date that another run holds is refused, and does not keep the others from landing if so told. Two backfills of
// ranges that overlap, at once: each date is landed by one of them.
func TestC033ABackfillMeetsALiveRun(t *testing.T) {
	t.Parallel()
	p := newDays(t, "2026-01-01", "2026-01-02", "2026-01-03")
	q := p.start([]string{frozenStaging}, dayArgs("2026-01-02")...)
	if !q.waitStopped() {
		t.Fatal("the run was not stopped")
	}
	r := p.run(backfillArgs("2026-01-01", "2026-01-03", "--keep-going", "--quiet")...).must(t, 1).oneLine(t).says(t, "ubunye: 2026-01-02: task clean_orders: refused: ", fmt.Sprintf("process %d", q.cmd.Process.Pid))
	if r.stdout != "" {
		t.Errorf("--quiet prints %s", r.stdout)
	}
	same(t, "rows", p.rows("lake/orders"), p.salesRows("2026-01-01", "2026-01-03"))
	q.signal(cont)
	q.wait().must(t, 0)
	same(t, "rows at the end", p.rows("lake/orders"), p.salesRows("2026-01-01", "2026-01-02", "2026-01-03"))

	days := []string{"2026-01-01", "2026-01-02", "2026-01-03", "2026-01-04", "2026-01-05", "2026-01-06", "2026-01-07"}
	for range 3 {
		p := newDays(t, days...)
		both := [2]*process{
			p.start(nil, backfillArgs(days[0], days[4], "--parallel", "2", "--keep-going", "--json")...),
			p.start(nil, backfillArgs(days[2], days[6], "--parallel", "2", "--keep-going", "--json")...),
		}
		landed := map[string]int{}
		for _, q := range both {
			r := q.wait()
			if r.exit != 0 && r.exit != 1 {
				t.Fatalf("exit %d: %s", r.exit, r.stderr)
			}
			for _, d := range summaryOf(t, r).Dates {
				switch {
				case d.Outcome == "landed":
					landed[d.Date]++
				case d.Outcome == "refused" && d.Reason != "RunLeaseHeld" && d.Reason != "BatchFinished", d.Outcome == "failed":
					t.Errorf("%s: %s, %s", d.Date, d.Outcome, d.Reason)
				}
			}
		}
		for _, day := range days {
			if landed[day] != 1 {
				t.Errorf("%s was landed %d times", day, landed[day])
			}
		}
		same(t, "rows of two backfills", p.rows("lake/orders"), p.salesRows(days...))
	}
}

// SIGTERM and SIGINT reach every run, also when only the backfill gets it; each drops what it staged and gives its
// batch back, and one that has committed finishes.
func TestBackfillIsToldToStop(t *testing.T) {
	t.Parallel()
	for signal, exit := range map[syscall.Signal]int{syscall.SIGTERM: 143, syscall.SIGINT: 130} {
		days := []string{"2026-01-01", "2026-01-02", "2026-01-03", "2026-01-04"}
		p := newDays(t, days...)
		q := p.start([]string{frozenStaging}, backfillArgs(days[0], days[3], "--parallel", "2", "--keep-going")...)
		pids := p.frozen(q, 2)
		begun := time.Now()
		q.signal(signal)
		wake(pids)
		r := q.wait().must(t, exit).says(t, "interrupted by "+map[int]string{143: "SIGTERM", 130: "SIGINT"}[exit])
		if took := time.Since(begun); took > 10*time.Second {
			t.Errorf("it took %v to stop", took)
		}
		if n := strings.Count(r.stderr, "ubunye: "); n != 1 {
			t.Errorf("the wish to stop is told %d times: %s", n, r.stderr)
		}
		if !strings.Contains(r.stdout, "sales: 4 dates of dt: 4 cancelled; 0 rows landed") {
			t.Errorf("summary: %s", r.stdout)
		}
		for _, day := range days[:2] {
			if doc := p.document("clean_orders", day); doc == nil || held(doc) || committed(doc) {
				t.Errorf("%s: %v", day, doc)
			}
		}
		same(t, "staging", p.files(".ubunye/staging"), nil)
		same(t, "lake", p.files("lake"), nil)
		p.backfill(0, backfillArgs(days[0], days[3])...)
		same(t, "rows", p.rows("lake/orders"), p.salesRows(days...))
	}
}

// A run that dies takes no other with it: its date failed, and the summary says so. The next backfill takes the batch
// over and lands it; or only lands what had been committed, and then has nothing to do.
func TestBackfillOutlivesARunThatDies(t *testing.T) {
	t.Parallel()
	days := []string{"2026-01-01", "2026-01-02", "2026-01-03", "2026-01-04"}
	for _, c := range []struct {
		name, at string
		landed   []string
		again    int // dates that are run by the next backfill
	}{
		{"before its commit", "/orders/dt=2026-01-02", []string{days[0], days[2], days[3]}, 1},
		{"after its commit", "lake/orders/dt=2026-01-04", days[:3], 0}, // the last one, which no later run comes to land
	} {
		p := newDays(t, days...)
		r := p.runEnv([]string{"UBUNYE_FAULT=kill:~" + c.at}, backfillArgs(days[0], days[3], "--keep-going", "--json")...).must(t, 4)
		s := summaryOf(t, r)
		if s.Counts["landed"] != 3 || s.Counts["failed"] != 1 || s.Rows != 6 {
			t.Errorf("%s: %+v", c.name, s)
		}
		for _, d := range s.Dates {
			if (d.Outcome == "failed") != (strings.HasSuffix(c.at, d.Date)) || d.Outcome == "failed" && d.Reason != "Failed" {
				t.Errorf("%s: %+v", c.name, d)
			}
		}
		if !strings.Contains(r.stdout, "its run ended without saying why: signal: killed") {
			t.Errorf("%s: %s", c.name, r.stdout)
		}
		same(t, c.name+": rows", p.rows("lake/orders"), p.salesRows(c.landed...))
		s = p.backfill(0, backfillArgs(days[0], days[3])...)
		if s.Counts["landed"] != c.again || s.Counts["skipped"] != len(days)-c.again {
			t.Errorf("%s, again: %+v", c.name, s)
		}
		same(t, c.name+": rows, again", p.rows("lake/orders"), p.salesRows(days...))
	}
}

// Runs that would exclude each other are refused before the first one starts; one after the other they may.
func TestBackfillOfWholeFolders(t *testing.T) {
	t.Parallel()
	p := newDays(t, "2026-01-01", "2026-01-02")
	p.write("pipeline.yaml", strings.Replace(salesPipeline, "partition_by: [dt]", "mode: overwrite", 1))
	before := p.files(".")
	p.run(backfillArgs("2026-01-01", "2026-01-02", "--parallel", "2")...).must(t, 2).oneLine(t).
		says(t, "pipeline.yaml:16:15: task clean_orders, output orders: --parallel 2: ", "2026-01-01 and of 2026-01-02", "lake/orders", "nothing was read or written")
	same(t, "files", p.files("."), before)
	p.backfill(0, backfillArgs("2026-01-01", "2026-01-02")...)
	same(t, "rows", p.rows("lake/orders"), p.salesRows("2026-01-02"))
	if s := p.backfill(0, backfillArgs("2026-01-01", "2026-01-02")...); s.Counts["skipped"] != 2 {
		t.Errorf("a finished overwrite is no missing one: %+v", s)
	}
}

// Ranges of another variable, of hours, and what SQL and paths make of each.
func TestBackfillOfHours(t *testing.T) {
	t.Parallel()
	p := newProject(t, `name: hours
variables:
  at: {type: hour}
tasks:
  t:
    inputs: {raw: {format: csv, path: in.csv, columns: {n: bigint}}}
    transform: {out: "SELECT n, $at AS at FROM raw"}
    outputs: {out: {format: parquet, path: "lake/{{ at | date_format('%Y%m%d') }}"}}
`)
	p.write("in.csv", "n\n1\n")
	s := p.backfill(0, "backfill", "-c", "pipeline.yaml", "--variable", "at", "--from", "2024-02-29 22", "--to", "2024-03-01T00")
	same(t, "outcomes", s.outcomes(), []string{"2024-02-29T22 landed 1 ", "2024-02-29T23 landed 1 ", "2024-03-01T00 landed 1 "})
	same(t, "the leap day", p.rows("lake/20240229"), []string{`{"at": "2024-02-29T22", "n": "1"}`, `{"at": "2024-02-29T23", "n": "1"}`})
	same(t, "the day after", p.rows("lake/20240301"), []string{`{"at": "2024-03-01T00", "n": "1"}`})
	r := p.run("status", "-c", "pipeline.yaml", "--variable", "at", "--from", "2024-02-29T20", "--to", "2024-03-01T02").must(t, 0)
	if want := "task t: 4 of 7 dates of at missing: 2024-02-29T20 … 2024-02-29T21 (2), 2024-03-01T01 … 2024-03-01T02 (2)\n"; !strings.Contains(r.stdout, want) {
		t.Errorf("status says\n%swant\n%s", r.stdout, want)
	}
}

func TestStatusOfARange(t *testing.T) {
	t.Parallel()
	p := newDays(t, "2026-01-01", "2026-01-03")
	p.run(backfillArgs("2026-01-01", "2026-01-03", "--keep-going")...).must(t, 4)
	before := p.files(".")
	r := p.run("status", "-c", "pipeline.yaml", "--from", "2025-12-30", "--to", "2026-01-09").must(t, 0)
	if want := "task clean_orders: 9 of 11 dates of dt missing: 2025-12-30 … 2025-12-31 (2), 2026-01-02, 2026-01-04 … 2026-01-09 (6)\n"; !strings.Contains(r.stdout, want) {
		t.Errorf("status says\n%swant\n%s", r.stdout, want)
	}
	r = p.run("status", "-c", "pipeline.yaml", "--from", "2026-01-01", "--to", "2026-01-15", "--every", "week", "--json").must(t, 0)
	var s struct {
		Batches []struct{ Batch string }
		Missing []struct {
			Task    string
			Of      int
			Missing []string
		}
	}
	if err := json.Unmarshal([]byte(r.stdout), &s); err != nil {
		t.Fatal(err)
	}
	if len(s.Missing) != 1 || s.Missing[0].Task != "clean_orders" || s.Missing[0].Of != 3 || strings.Join(s.Missing[0].Missing, " ") != "2026-01-08 2026-01-15" ||
		len(s.Batches) != 1 || s.Batches[0].Batch != "dt=2026-01-01" {
		t.Errorf("%+v", s)
	}
	r = p.run("status", "-c", "pipeline.yaml", "--from", "2026-01-01", "--to", "2026-01-01").must(t, 0)
	if !strings.Contains(r.stdout, "task clean_orders: none of 1 date of dt is missing\n") {
		t.Error(r.stdout)
	}
	same(t, "files", p.files("."), before)
}

// C049: a range that holds no whole day, or that ends before it begins, is refused, and nothing is written.
func TestC049_BackfillIsRefused(t *testing.T) {
	t.Parallel()
	p := newDays(t, "2026-01-01")
	before := p.files(".")
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"backfill", "-c", "pipeline.yaml"}, "a backfill needs a range of dates (write --from DATE --to DATE)"},
		{[]string{"backfill", "-c", "pipeline.yaml", "--from", "2026-01-01"}, "--from has no --to"},
		{[]string{"status", "-c", "pipeline.yaml", "--to", "2026-01-01"}, "--to has no --from"},
		{[]string{"status", "-c", "pipeline.yaml", "--every", "day"}, "--every and --variable are for a range of dates"},
		{backfillArgs("2026-01-02", "2026-01-01"), "--from 2026-01-02 is later than --to 2026-01-01"},
		{backfillArgs("2026-01-01T00", "2026-01-01T06"), `--from: "2026-01-01T00" is not a date that exists (give --from 2026-01-31; dt is declared at pipeline.yaml:3:3)`},
		{backfillArgs("2026-01-01", ""), `--to: "" is not a date that exists`},
		{backfillArgs("2026-02-29", "2026-03-01"), `--from: "2026-02-29" is not a date that exists (give --from 2026-01-31; dt is declared at pipeline.yaml:3:3)`},
		{backfillArgs("2026-01-01", "2026-01-02", "--every", "hour"), "--every hour is no step between values of dt, which is of type date (known: day, week, month)"},
		{backfillArgs("2026-01-01", "2026-01-02", "--variable", "dtt"), `--variable dtt: the pipeline has no variable of that name (did you mean "dt"?)`},
		{backfillArgs("2026-01-01", "2026-01-02", "--dt", "2026-01-01"), "--dt gives dt one value"},
		{backfillArgs("2026-01-01", "2026-01-02", "--task", "clean_order"), `did you mean "clean_orders"?`},
		{backfillArgs("2026-01-01", "2026-01-02", "--parallel", "0"), "--parallel 0 is less than 1"},
		{backfillArgs("2026-01-01", "2026-01-02", "--keep-going", "--fail-fast"), "--keep-going and --fail-fast contradict each other"},
	} {
		r := p.run(c.args...).must(t, 2).oneLine(t).says(t, c.says)
		if r.stdout != "" {
			t.Errorf("%v prints %s", c.args, r.stdout)
		}
	}
	p.runEnv([]string{"UBUNYE_RUN_LEASE=off"}, backfillArgs("2026-01-01", "2026-01-02")...).must(t, 2).oneLine(t).says(t, "nobody knows which dates are missing")
	same(t, "files", p.files("."), before)
}

// R51: the command in the hint of a date's run is one that a person can paste.
func TestR51_TheHintOfADatesRunWorks(t *testing.T) {
	t.Parallel()
	p := newDays(t, "2026-01-01", "2026-01-02")
	p.backfill(0, backfillArgs("2026-01-01", "2026-01-02")...)
	if err := os.Remove(p.path("lake/orders/" + p.filesOf("2026-01-02")[0])); err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	if err := os.Symlink(program, filepath.Join(bin, "ubunye")); err != nil {
		t.Fatal(err)
	}
	r := p.shell(bin, "ubunye backfill -c pipeline.yaml --from 2026-01-02 --to 2026-01-02 --rerun").must(t, 1)
	_, hint, ok := strings.Cut(r.stderr, "when the old rows are gone for good: ")
	hint, _, closed := strings.Cut(hint, ")\n")
	if want := "ubunye run -c pipeline.yaml --dt 2026-01-02 --task clean_orders --rerun --rerun=anyway"; !ok || !closed || hint != want {
		t.Fatalf("hint %q, want %q in %s", hint, want, r.stderr)
	}
	p.shell(bin, hint).must(t, 0)
	same(t, "rows", p.rows("lake/orders"), p.salesRows("2026-01-01", "2026-01-02"))
}
