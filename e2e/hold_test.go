package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
)

// frozenStaging freezes the program when it is about to make a staging folder: it holds its batches then.
const frozenStaging = "UBUNYE_FAULT=stop:~/.ubunye/staging/2"

// stopAtStaging starts a first run of 2026-01-01 that freezes when it makes its staging folder.
func (p *project) stopAtStaging() *process {
	p.t.Helper()
	q := p.start([]string{frozenStaging}, dayArgs("2026-01-01")...)
	if !q.waitStopped() {
		p.t.Fatalf("the run was not stopped: %+v", q.wait())
	}
	return q
}

func TestR01ASecondRunOfALiveBatchIsRefused(t *testing.T) {
	p := newSales(t)
	first := p.stopAtStaging()
	before := p.files(".")
	r := p.runDay("2026-01-01").must(t, 1).oneLine(t)
	host, _ := os.Hostname()
	r.says(t, "clean_orders", "dt=2026-01-01", host, fmt.Sprintf("process %d", first.cmd.Process.Pid), "since ", "do not delete")
	doc := p.document("clean_orders", "")
	run, _ := doc["holder"].(map[string]any)["run"].(string)
	r.says(t, run)
	same(t, "files after the refusal", p.files("."), before)
	first.signal(cont)
	first.wait().must(t, 0)
	same(t, "rows", p.rows("lake/orders"), p.salesRows("2026-01-01"))
}

// R20, R22: a holder whose process is gone is taken over by the next start, which says so; its record tells by whom.
func TestR22ADeadHolderIsTakenOver(t *testing.T) {
	p := newSales(t)
	first := p.stopAtStaging()
	first.signal(syscall.SIGKILL)
	if r := first.wait(); r.exit != 137 {
		t.Fatalf("exit %d", r.exit)
	}
	dead, _ := p.document("clean_orders", "")["holder"].(map[string]any)["run"].(string)
	before := p.files(".")
	if r := p.run("plan", "-c", "pipeline.yaml", "--dt", "2026-01-01").must(t, 0); !strings.Contains(r.stdout, "would run: dead run "+dead+" to take over") {
		t.Fatalf("plan: %s", r.stdout)
	}
	if r := p.run("status", "-c", "pipeline.yaml").must(t, 0); !strings.Contains(r.stdout, "dead: its process is gone") {
		t.Fatalf("status: %s", r.stdout)
	}
	same(t, "files after looking", p.files("."), before)
	p.runDay("2026-01-01").must(t, 0).says(t, "took over from run "+dead, fmt.Sprintf("process %d", first.cmd.Process.Pid), "dead since")
	same(t, "rows", p.rows("lake/orders"), p.salesRows("2026-01-01"))
	data, err := os.ReadFile(p.path(".ubunye/runs/" + dead + ".json"))
	if err != nil {
		t.Fatal(err)
	}
	var record struct{ Status, By string }
	if err := json.Unmarshal(data, &record); err != nil {
		t.Fatal(err)
	}
	if by := finishedRun(p.document("clean_orders", "")); record.Status != "interrupted" || record.By != by || by == "" {
		t.Fatalf("the record of the dead run: %s, taken over by %s", data, by)
	}
}

func TestR04AHundredStartedAtOnce(t *testing.T) {
	p := newSales(t)
	// Whoever wins freezes with its staging made, so that all others meet a live holder.
	env := []string{frozenStaging}
	const crowd = 100
	all := make([]*process, crowd)
	for i := range all {
		all[i] = p.start(env, dayArgs("2026-01-01")...)
	}
	won := 0
	for _, q := range all {
		if q.waitStopped() {
			won++
			defer func() {
				q.signal(cont)
				q.wait().must(t, 0)
				same(t, "rows", p.rows("lake/orders"), p.salesRows("2026-01-01"))
			}()
			continue
		}
		r := q.wait().must(t, 1).oneLine(t)
		for _, os := range []string{"no such file", "file exists", "permission denied", "errno"} {
			if strings.Contains(strings.ToLower(r.stderr), os) {
				t.Errorf("an error of the operating system: %s", r.stderr)
			}
		}
	}
	if won != 1 {
		t.Fatalf("%d runs went on, want 1", won)
	}
}

func TestR05RefusedBeforeAnyInputOrPlugin(t *testing.T) {
	p := newSales(t)
	p.runDay("2026-01-01").must(t, 0)
	// Neither the input nor a usable cache for the writers is there any more: a refusal needs neither.
	if err := os.RemoveAll(p.path("landing")); err != nil {
		t.Fatal(err)
	}
	p.home = t.TempDir()
	p.runDay("2026-01-01").must(t, 1).oneLine(t).says(t, "finished")
	if made := filesBelow(t, p.home); len(made) != 0 {
		t.Fatalf("a refused run prepared writers: %v", made)
	}
}

const threeTasks = `name: three
variables:
  dt: {type: date, required: true}
tasks:
  c: &task
    inputs: {raw: {format: csv, path: in.csv, columns: {id: bigint}}}
    outputs: {out: {from: raw, format: parquet, path: lake/c}}
  a:
    inputs: {raw: {format: csv, path: in.csv, columns: {id: bigint}}}
    outputs: {out: {from: raw, format: parquet, path: lake/a}}
  b:
    inputs: {raw: {format: csv, path: in.csv, columns: {id: bigint}}}
    outputs: {out: {from: raw, format: parquet, path: lake/b}}
`

func TestR06AllBatchesOrNone(t *testing.T) {
	p := newProject(t, threeTasks)
	p.write("in.csv", "id\n1\n")
	p.run("run", "-c", "pipeline.yaml", "--dt", "2026-01-01", "--task", "b").must(t, 0)
	// b is finished, so nothing of a and c may run either, and neither is held.
	p.run("run", "-c", "pipeline.yaml", "--dt", "2026-01-01").must(t, 1).says(t, "task b")
	for _, task := range []string{"a", "c"} {
		if rows := p.rows("lake/" + task); len(rows) != 0 {
			t.Fatalf("task %s ran", task)
		}
		if held(p.document(task, "")) {
			t.Fatalf("task %s is held", task)
		}
	}
	p.run("run", "-c", "pipeline.yaml", "--dt", "2026-01-01", "--task", "a", "--task", "c").must(t, 0)
	same(t, "rows of c", p.rows("lake/c"), []string{`{"id": "1"}`})
}

// An output that another ledger answers for refuses the start, all its tasks, before anything is read.
func TestR05AFolderOfAnotherLedgerIsRefused(t *testing.T) {
	p := newProject(t, threeTasks)
	p.write("lake/b/_ubunye-target", `{"target":"0123456789abcdef0123456789abcdef","ledger":"fedcba9876543210fedcba9876543210"}`)
	before := p.files(".")
	r := p.run("run", "-c", "pipeline.yaml", "--dt", "2026-01-01").must(t, 1).oneLine(t)
	r.says(t, "task b, output out", p.path("lake/b/_ubunye-target"), "fedcba9876543210fedcba9876543210", "nothing was read or written")
	same(t, "files after the refusal", p.files("."), before)
	planned := p.run("plan", "-c", "pipeline.yaml", "--dt", "2026-01-01", "--task", "b").must(t, 0)
	if !strings.Contains(planned.stdout, "would refuse: ") || !strings.Contains(planned.stdout, "fedcba9876543210fedcba9876543210") {
		t.Errorf("plan: %s", planned.stdout)
	}
	p.write("in.csv", "id\n1\n")
	p.run("run", "-c", "pipeline.yaml", "--dt", "2026-01-01", "--task", "a", "--task", "c").must(t, 0)
}

func TestR11AnUnwritableLedgerIsRefused(t *testing.T) {
	p := newSales(t)
	p.write("not-a-folder", "")
	p.write("pipeline.yaml", salesPipeline+"ledger: {path: not-a-folder/ledger}\n")
	r := p.runDay("2026-01-01").must(t, 1).oneLine(t)
	r.says(t, "ledger", "not-a-folder", "ledger:", "UBUNYE_RUN_LEASE=off")
	if left := p.files("lake"); len(left) != 0 {
		t.Fatalf("something was written: %v", left)
	}
	// The second way on: without a ledger, with a warning each time, and nothing is refused.
	for range 2 {
		p.runEnv([]string{"UBUNYE_RUN_LEASE=off"}, dayArgs("2026-01-01")...).must(t, 0).says(t, "warning", "UBUNYE_RUN_LEASE")
	}
	if got := len(p.rows("lake/orders")); got != 6 {
		t.Fatalf("%d rows, want 6: off means that nothing is refused", got)
	}
	for _, name := range p.files("lake/orders") {
		if strings.Contains(name, ".staged") || strings.Contains(name, "_ubunye-") && !strings.HasSuffix(name, "_ubunye-target") {
			t.Errorf("left behind: %s", name)
		}
	}
}

func TestR28AFailingRunDropsItsOwnStagingOnly(t *testing.T) {
	p := newProject(t, twoOutputs)
	p.write(".ubunye/staging/20200101T000000Z-00000000/strange/out/part-1.parquet.staged", "somebody's")
	p.write("in.csv", failsInStage)
	p.run(twoArgs...).must(t, 4).says(t, "output bad", "one")
	got := []string{}
	for _, name := range p.files(".ubunye/staging") {
		if !strings.HasSuffix(name, "/") {
			got = append(got, name)
		}
	}
	same(t, "staging", got, []string{"20200101T000000Z-00000000/strange/out/part-1.parquet.staged"})
}

func TestInterruptedRunsGiveTheBatchBack(t *testing.T) {
	for sig, exit := range map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143, syscall.SIGHUP: 143} {
		if signal.Ignored(sig) {
			continue // these tests run under nohup, and what they start would ignore it too
		}
		p := newSales(t)
		q := p.stopAtStaging()
		q.signal(sig)
		q.signal(cont)
		q.wait().must(t, exit).says(t, "interrupted")
		if held(p.document("clean_orders", "")) || committed(p.document("clean_orders", "")) {
			t.Fatalf("%v: the batch is still held, or committed", sig)
		}
		if left := p.files("lake"); len(left) != 0 {
			t.Fatalf("%v: left %v", sig, left)
		}
		p.runDay("2026-01-01").must(t, 0)
		same(t, "rows", p.rows("lake/orders"), p.salesRows("2026-01-01"))
	}
}

// Whoever reads what a run says may go away (| head, a log collector that restarts): the run goes on.
func TestAReaderThatGoesAwayDoesNotEndTheRun(t *testing.T) {
	p := newSales(t)
	q := exec.Command(program, dayArgs("2026-01-01")...)
	q.Dir, q.Env = p.dir, p.environment()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	read.Close()
	defer write.Close()
	q.Stdout, q.Stderr = write, write
	if err := q.Run(); err != nil {
		t.Fatal(err)
	}
	same(t, "rows", p.rows("lake/orders"), p.salesRows("2026-01-01"))
	if held(p.document("clean_orders", "")) {
		t.Fatal("the batch is still held")
	}
}

// What nohup has the program ignore, it ignores.
func TestAnIgnoredHangupStaysIgnored(t *testing.T) {
	p := newSales(t)
	q := p.launch([]string{frozenStaging}, "/bin/sh", append([]string{"-c", `trap '' HUP; exec "$0" "$@"`, program}, dayArgs("2026-01-01")...)...)
	if !q.waitStopped() {
		t.Fatalf("the run was not stopped: %+v", q.wait())
	}
	q.signal(syscall.SIGHUP)
	q.signal(cont)
	q.wait().must(t, 0)
	same(t, "rows", p.rows("lake/orders"), p.salesRows("2026-01-01"))
}

func filesBelow(t *testing.T, dir string) []string {
	t.Helper()
	p := &project{t: t, dir: dir}
	return p.files(".")
}
