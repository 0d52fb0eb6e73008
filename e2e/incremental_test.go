package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"
)

// growing reads what is new of a folder to which files are added, or of one whose rows are told apart by a column.
const growing = `name: sales
variables: {dt: date}
tasks:
  load:
    inputs:
      raw:
        format: csv
        path: landing/*.csv
        columns: {id: bigint, dt: date, amount: "decimal(18,2)"}
        incremental: %s
    outputs:
      raw: {format: parquet, path: lake/orders}
`

const (
	byFiles  = "{files: new, settle: 1ms}"
	byColumn = "{column: id}"
)

var growingArgs = []string{"run", "-c", "pipeline.yaml"}

// newGrowing is a project with growing, and the first of its files.
func newGrowing(t *testing.T, incremental string) *project {
	t.Helper()
	p := newProject(t, fmt.Sprintf(growing, incremental))
	p.land("a", 1, 3)
	return p
}

// land adds a file with so many rows, whose ids are from one on.
func (p *project) land(name string, first, rows int) {
	p.t.Helper()
	text := "id,dt,amount\n"
	for id := first; id < first+rows; id++ {
		text += fmt.Sprintf("%d,2026-01-01,%d.50\n", id, id)
	}
	p.write("landing/"+name+".csv", text)
}

// wantLanded asserts that every row of these files is in the output once, and no other.
func (p *project) wantLanded(what string, files ...string) {
	p.t.Helper()
	var want []string
	for _, name := range files {
		want = append(want, p.csvRows("landing/"+name+".csv")...)
	}
	sort.Strings(want)
	same(p.t, what, p.rows("lake/orders"), want)
}

func (p *project) grow(more ...string) result {
	p.t.Helper()
	return p.run(append(growingArgs, more...)...)
}

// Two starts of an incremental task at once, each killed at one of its changes: whatever they have done, the next start leaves
// each row there once, and nothing to be read.
func TestR50_TwoStartsOfAnIncrementalTaskAtOnce(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, incremental string
	}{{"files", byFiles}, {"column", byColumn}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			setup := func(p *project) {
				p.grow().must(t, 0)
				p.land("b", 4, 2)
			}
			n := len(newGrowing(t, c.incremental).trace(setup, growingArgs...))
			kills, all := 0, points(t, n, 8)
			for _, k := range all {
				p := newGrowing(t, c.incremental)
				setup(p)
				one := p.start([]string{fmt.Sprintf("UBUNYE_FAULT=kill:%d", k)}, growingArgs...)
				other := p.start([]string{fmt.Sprintf("UBUNYE_FAULT=kill:%d", n+2-k)}, growingArgs...)
				for _, r := range []result{one.wait(), other.wait()} {
					if r.exit == 137 {
						kills++
					} else if r.exit > 1 {
						t.Fatalf("kill at %d: exit %d: %s", k, r.exit, r.stderr)
					}
				}
				what := fmt.Sprintf("kill at %d and %d of %d", k, n+2-k, n)
				p.grow().must(t, 0)
				p.wantLanded(what+": rows after the next start", "a", "b")
				p.grow().must(t, 0).says(t, "skipped: nothing new")
				p.wantLanded(what+": rows after one more", "a", "b")
			}
			if kills < len(all)-1 {
				t.Fatalf("%d kills in %d pairs: the test shows little", kills, len(all))
			}
		})
	}
}

// A rerun of an incremental task is killed, and a plain start follows; a plain run is killed, and a rerun follows: each slice is
// there once.
func TestR66_ARerunAndAPlainRunOfAnIncrementalTask(t *testing.T) {
	t.Parallel()
	setup := func(p *project) {
		p.grow().must(p.t, 0)
		p.land("b", 4, 2)
		p.grow().must(p.t, 0)
		p.land("c", 6, 1)
	}
	for _, c := range []struct {
		name, incremental, killed, next string
		every                           int
	}{
		{"rerun is killed", byFiles, "--rerun", "", 8},
		{"plain run is killed", byFiles, "", "--rerun", 8},
		{"rerun by column is killed", byColumn, "--rerun", "", 16},
		{"plain run by column is killed", byColumn, "", "--rerun", 16},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			args := func(more string) []string { return append(growingArgs, strings.Fields(more)...) }
			n := len(newGrowing(t, c.incremental).trace(setup, args(c.killed)...))
			refused, kills, all := 0, 0, points(t, n, c.every)
			for _, k := range all {
				p := newGrowing(t, c.incremental)
				setup(p)
				what := fmt.Sprintf("kill at %d of %d", k, n)
				if r := p.runEnv([]string{fmt.Sprintf("UBUNYE_FAULT=kill:%d", k)}, args(c.killed)...); r.exit == 137 {
					kills++
				} else if k <= n {
					t.Fatalf("%s: exit %d: %s", what, r.exit, r.stderr)
				}
				switch r := p.run(args(c.next)...); {
				case r.exit == 1 && c.next != "":
					refused++
					r.says(t, "had noted what it was to read", "--drop-range")
				default:
					r.must(t, 0)
				}
				p.grow().must(t, 0)
				p.wantLanded(what+": rows", "a", "b", "c")
				p.grow().must(t, 0).says(t, "skipped: nothing new")
			}
			if kills < len(all)-1 || c.next != "" && (refused == 0 || refused == len(all)) {
				t.Fatalf("%d kills, %d refusals of %d", kills, refused, len(all))
			}
		})
	}
}

// An incremental batch that a run committed which died before it could say so is landed, and never counts as completed: what
// came since is read.
func TestR30_AnIncrementalBatchIsNeverCompleted(t *testing.T) {
	args := dayArgs("2026-01-01")
	ops := newGrowing(t, byFiles).trace(nil, args...)
	landing := 0
	for i, o := range ops {
		if strings.HasPrefix(o.Kind, "rename") && strings.Contains(o.To, "lake/orders") {
			landing = i + 1
		}
	}
	if landing == 0 {
		t.Fatalf("no file is landed: %v", ops)
	}
	p := newGrowing(t, byFiles)
	p.runEnv([]string{fmt.Sprintf("UBUNYE_FAULT=kill:%d", landing)}, args...).must(t, 137)
	p.wantLanded("before landing")
	p.land("b", 4, 2)
	r := p.run(args...).must(t, 0)
	if strings.Contains(r.stderr, "died before it could say so") {
		t.Fatalf("it counts as completed: %s", r.stderr)
	}
	p.wantLanded("after the next start", "a", "b")
	p.run(args...).must(t, 0).says(t, "skipped: nothing new")
}

// An hourly append with one dt, which is refused if it reads everything, adds what is new if it reads incrementally.
func TestR47_AnHourlyAppendThatIsIncremental(t *testing.T) {
	p := newProject(t, fmt.Sprintf(growing, byFiles)+"  read:\n    inputs: {orders: {from: load.raw}}\n    outputs: {orders: {format: parquet, path: lake/copy}}\n")
	p.land("a", 1, 3)
	files := []string{"a"}
	for hour := range 3 {
		p.grow("--dt", "2026-01-01").must(t, 0)
		p.wantLanded("rows", files...)
		same(t, "rows of the task that follows it", p.rows("lake/copy"), p.rows("lake/orders"))
		name := fmt.Sprintf("h%d", hour)
		p.land(name, 10+hour, 1)
		files = append(files, name)
	}
}

// A task that finds nothing new writes nothing at all, ends well, and its readers are cancelled, which is no failure.
func TestNothingNewIsSkipped(t *testing.T) {
	p := newProject(t, fmt.Sprintf(growing, byFiles)+`  read:
    inputs: {orders: {from: load.raw}}
    outputs: {orders: {format: parquet, path: lake/copy}}
`)
	p.land("a", 1, 3)
	p.grow().must(t, 0)
	if got := p.run("plan", "-c", "pipeline.yaml").must(t, 0).stdout; strings.Count(got, "would skip: ") != 2 || !strings.Contains(got, "would skip: task load, whose output it depends on, would write nothing") {
		t.Errorf("the plan is %s", got)
	}
	lake, ledger := p.files("lake"), p.document("load", "")
	r := p.grow().must(t, 0).says(t, "load: skipped: nothing new", "read: cancelled", "found nothing new")
	if r.stdout != "" {
		t.Fatalf("it printed a result: %s", r.stdout)
	}
	same(t, "files", p.files("lake"), lake)
	now := p.document("load", "")
	if finishedRun(now) != finishedRun(ledger) || held(now) {
		t.Fatalf("the batch is another: %v", now)
	}
	if left := p.files(".ubunye/runs"); len(left) != 0 {
		t.Fatalf("a run that ended well left %v", left)
	}
	events := p.grow("--json").must(t, 0)
	for _, want := range []string{`"event":"task_skipped"`, `"event":"task_cancelled"`, `"exit":0`} {
		if !strings.Contains(events.stdout, want) {
			t.Errorf("no %s in %s", want, events.stdout)
		}
	}
}

// A file that was written again is new; one that is young is left; one that comes back as it was is not read again.
func TestNewFiles(t *testing.T) {
	p := newGrowing(t, "{files: new, settle: 10m}")
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(p.path("landing/a.csv"), old, old); err != nil {
		t.Fatal(err)
	}
	p.land("b", 4, 2)
	p.grow().must(t, 0).says(t, "reads 1 new file; 1 file is younger than 10m0s, left for a later run")
	p.wantLanded("rows", "a")
	p.grow().must(t, 0).says(t, "nothing new", "1 file is younger than 10m0s")
	away, back := p.path("landing/a.csv"), p.path("a.away")
	if err := os.Rename(away, back); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(p.path("landing/b.csv"), old, old); err != nil {
		t.Fatal(err)
	}
	p.grow().must(t, 0)
	if err := os.Rename(back, away); err != nil {
		t.Fatal(err)
	}
	p.grow().must(t, 0).says(t, "nothing new")
	p.wantLanded("rows after a file was away", "a", "b")
	p.land("b", 4, 3) // one row more
	if err := os.Chtimes(p.path("landing/b.csv"), old, old.Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	before := p.rows("lake/orders")
	p.grow().must(t, 0).says(t, "reads 1 new file")
	want := append(before, p.csvRows("landing/b.csv")...)
	sort.Strings(want)
	same(t, "rows after a file was written again", p.rows("lake/orders"), want)
}

// What a dead run had noted is read by the next one: a file that came since is left for the one after it. A noted file that is
// gone is a refusal, whose way on works.
func TestWhatWasPinnedIsRead(t *testing.T) {
	p := newGrowing(t, byFiles)
	p.runEnv([]string{"UBUNYE_FAULT=kill:~.staged"}, growingArgs...).must(t, 137)
	p.land("b", 4, 2)
	p.grow().must(t, 0).says(t, "reads what a run before this one was to read and did not commit: 1 new file")
	p.wantLanded("rows of the slice", "a")
	p.grow().must(t, 0)
	p.wantLanded("rows of all", "a", "b")

	p.land("c", 6, 1)
	p.land("d", 7, 1)
	p.runEnv([]string{"UBUNYE_FAULT=kill:~.staged"}, growingArgs...).must(t, 137)
	if err := os.Remove(p.path("landing/c.csv")); err != nil {
		t.Fatal(err)
	}
	r := p.grow().must(t, 4).says(t, "landing/c.csv", "the file is gone", "state set", "--drop-range")
	p.grow("--rerun").must(t, 1).says(t, "had noted what it was to read")
	command := regexp.MustCompile(`\S*ubunye\S* state set .*'`).FindString(r.stderr)
	if command == "" {
		t.Fatalf("no command in %s", r.stderr)
	}
	p.shell(program, command).must(t, 0)
	p.grow().must(t, 0)
	p.wantLanded("rows without the file that is gone", "a", "b", "d")

	p.land("e", 8, 1)
	p.runEnv([]string{"UBUNYE_FAULT=kill:~.staged"}, growingArgs...).must(t, 137)
	p.land("e", 8, 2)
	p.grow().must(t, 0).says(t, "written again", "chosen anew")
	p.wantLanded("rows with the file that was written again", "a", "b", "d", "e")
}

// The last slice is what a rerun replaces, of a batch without a name too.
func TestRerunReplacesTheLastSlice(t *testing.T) {
	p := newGrowing(t, byFiles)
	p.grow().must(t, 0)
	first := p.dataFiles("lake/orders")
	p.land("b", 4, 2)
	p.grow().must(t, 0)
	for range 2 {
		p.land("c", 6, 1)
		p.grow("--rerun").must(t, 0).says(t, "reads again what the last commit read: 1 new file")
		p.wantLanded("rows after a rerun", "a", "b")
	}
	if now := p.dataFiles("lake/orders"); len(now) != 2 || now[0] != first[0] && now[1] != first[0] {
		t.Fatalf("files %v; the first run landed %v", now, first)
	}
	if err := os.Remove(p.path("landing/b.csv")); err != nil {
		t.Fatal(err)
	}
	p.grow("--rerun").must(t, 4).says(t, "landing/b.csv", "is gone since the last commit read it")
	p.grow().must(t, 0)
	p.land("b", 4, 2)
	p.wantLanded("rows after what was new", "a", "b", "c")
}

// C097: a new file of another shape is told and nothing lands; mended, it is read, and each row is there once.
func TestC097_ANewFileOfAnotherShape(t *testing.T) {
	p := newProject(t, "name: drift\ntasks:\n  t:\n    inputs: {raw: {format: csv, path: 'landing/*.csv', incremental: "+byFiles+"}}\n    outputs: {raw: {format: parquet, path: lake}}\n")
	day := func(n int, text string) result {
		p.write(fmt.Sprintf("landing/%d.csv", n), text)
		return p.run("run", "-c", "pipeline.yaml")
	}
	day(1, "id,v\n1,10\n").must(t, 0)
	rows := []string{`{"id": "1", "v": "10"}`}
	for n, bad := range []struct{ text, says string }{{"id,v,new\n2,20,x\n", "the column new"}, {"id,v\n2,x\n", "column v"}, {"id\n2\n", "the column v"}} {
		day(2, bad.text).must(t, 3).says(t, "landing/2.csv", bad.says, "nothing became visible")
		same(t, fmt.Sprintf("rows after bad file %d", n), p.rows("lake"), rows)
	}
	day(2, "v,id\n20,2\n").must(t, 0)
	rows = append(rows, `{"id": "2", "v": "20"}`)
	same(t, "rows after it was mended, in another order", p.rows("lake"), rows)
	p.run("run", "-c", "pipeline.yaml").must(t, 0).says(t, "nothing new")
}

// By a column: rows above the greatest value that was read are, whatever file they are in; late ones are not; one without a value
// is refused.
func TestNewRows(t *testing.T) {
	for _, c := range []struct{ name, typ, low, late, same, high, more string }{
		{"bigint", "bigint", "9007199254740992", "7", "9007199254740992", "9007199254740993", "9007199254740994"},
		{"decimal", "decimal(38,2)", "123456789012345678901234567890123456.10", "0", "123456789012345678901234567890123456.1", "123456789012345678901234567890123456.11", "123456789012345678901234567890123457"},
		{"text", "varchar", "aé", "B", "aé", "aé ", "b"},
		{"date", "date", "2026-01-09", "2026-01-08", "2026-01-09", "2026-01-10", "2026-02-01"},
		{"timestamp", "timestamp", "2026-01-01T10:00:00.000001", "2026-01-01", "2026-01-01T10:00:00.000001", "2026-01-01T10:00:00.000002", "2026-01-02"},
		{"moment", "timestamptz", "2026-01-01T10:00:00+01:00", "2026-01-01T08:00:00Z", "2026-01-01T09:00:00Z", "2026-01-01T09:00:01Z", "2026-01-01T11:30:00+01:00"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := newProject(t, "name: rows\ntasks:\n  t:\n    inputs: {raw: {format: csv, path: 'landing/*.csv', columns: {k: \""+c.typ+"\", n: int}, incremental: {column: K}}}\n    transform: {n: SELECT n FROM raw}\n    outputs: {n: {format: parquet, path: lake}}\n")
			run := func(rows ...string) []string {
				t.Helper()
				p.write("landing/a.csv", "k,n\n"+strings.Join(rows, "\n")+"\n")
				p.run("run", "-c", "pipeline.yaml").must(t, 0)
				return p.rows("lake")
			}
			n := func(all ...int) (rows []string) {
				for _, i := range all {
					rows = append(rows, fmt.Sprintf(`{"n": "%d"}`, i))
				}
				return rows
			}
			same(t, "first", run(c.low+",1"), n(1))
			same(t, "late ones", run(c.low+",1", c.late+",2", c.same+",3"), n(1))
			p.write("landing/b.csv", "k,n\n"+c.high+",4\n")
			same(t, "above", run(c.low+",1", c.late+",2"), n(1, 4))
			same(t, "further", run(c.more+",5", c.high+",6"), n(1, 4, 5))
			p.write("landing/c.csv", "k,n\n,7\n")
			p.run("run", "-c", "pipeline.yaml").must(t, 4).says(t, "1 row is without a value of K")
			same(t, "after one without a value", p.rows("lake"), n(1, 4, 5))
		})
	}
}

// A column that has become of another type is told, with the way on, which works.
func TestAColumnOfAnotherType(t *testing.T) {
	pipeline := func(typ string) string {
		return "name: rows\ntasks:\n  t:\n    inputs: {raw: {format: csv, path: 'a.csv', columns: {k: " + typ + "}, incremental: {column: k}}}\n    outputs: {raw: {format: parquet, path: lake/" + typ + "}}\n"
	}
	p := newProject(t, pipeline("bigint"))
	p.write("a.csv", "k\n9\n10\n")
	p.run("run", "-c", "pipeline.yaml").must(t, 0)
	p.write("pipeline.yaml", pipeline("varchar"))
	p.write("a.csv", "k\n9\n10\n11\n")
	r := p.run("run", "-c", "pipeline.yaml").must(t, 3).says(t, "the column k is a VARCHAR, and was a BIGINT when it was read up to 10")
	command := regexp.MustCompile(`\S*ubunye\S* state set .*'`).FindString(r.stderr)
	p.shell(program, command).must(t, 0)
	p.run("run", "-c", "pipeline.yaml").must(t, 0)
	same(t, "rows above 10 as text", p.rows("lake/varchar"), []string{`{"k": "11"}`, `{"k": "9"}`})
}

// A batch that was committed without being incremental is not read from the beginning: that would land it twice.
func TestATaskThatBecomesIncremental(t *testing.T) {
	whole := strings.Replace(fmt.Sprintf(growing, "x"), "        incremental: x\n", "", 1)
	p := newProject(t, whole)
	p.land("a", 1, 3)
	p.grow().must(t, 0)
	p.write("pipeline.yaml", fmt.Sprintf(growing, byFiles))
	r := p.grow().must(t, 2).says(t, "what of it was read cannot be told", "--seen all")
	p.grow("--rerun").must(t, 2).says(t, "was not made incrementally")
	p.shell(program, regexp.MustCompile(`\S*ubunye\S* state set .*'`).FindString(r.stderr)).must(t, 0)
	p.grow().must(t, 0).says(t, "nothing new")
	p.land("b", 4, 2)
	p.grow().must(t, 0)
	p.wantLanded("rows", "a", "b")
}

// Marks are set by hand, with a reason; it is refused where that would lose or double rows.
func TestStateSet(t *testing.T) {
	p := newGrowing(t, byFiles)
	set := func(more ...string) result {
		return p.run(append([]string{"state", "set", "-c", "pipeline.yaml", "--task", "load"}, more...)...)
	}
	set("--input", "raw", "--seen", "all").must(t, 2).says(t, "--reason")
	set("--input", "rav", "--seen", "all", "--reason", "x").must(t, 2).says(t, "raw")
	set("--input", "raw", "--mark", "1", "--reason", "x").must(t, 2).says(t, "--seen all")
	set("--input", "raw", "--seen", "soon", "--reason", "x").must(t, 2).says(t, "neither all nor none nor a time")
	set("--input", "raw", "--seen", "all", "--reason", "history is loaded").must(t, 0)
	p.grow().must(t, 0).says(t, "nothing new")
	p.land("b", 4, 2)
	p.grow().must(t, 0)
	p.wantLanded("rows of what came after", "b")
	set("--input", "raw", "--seen", "2026-01-01", "--reason", "all again").must(t, 0)
	if status := p.run("status", "-c", "pipeline.yaml").must(t, 0).stdout; !strings.Contains(status, "set by hand: it goes on with 0 files counted as read") {
		t.Fatalf("status does not tell: %s", status)
	}
	p.runEnv([]string{"UBUNYE_FAULT=kill:~.staged"}, growingArgs...).must(t, 137)
	set("--input", "raw", "--seen", "all", "--reason", "x").must(t, 1).says(t, "had noted what it was to read", "nothing was changed")
	set("--drop-range", "--reason", "x").must(t, 0)
	set("--input", "raw", "--seen", "all", "--reason", "x").must(t, 0)
	p.grow().must(t, 0).says(t, "nothing new")
	p.wantLanded("rows", "b")
	if status := p.run("status", "-c", "pipeline.yaml").must(t, 0).stdout; !strings.Contains(status, "(history is loaded)") {
		t.Fatalf("status does not tell why: %s", status)
	}
	decisions, _ := p.document("load", "")["decisions"].([]any)
	if len(decisions) != 4 || !strings.Contains(fmt.Sprint(decisions[0]), "history is loaded") {
		t.Fatalf("decisions: %v", decisions)
	}

	q := p.start([]string{frozenStaging}, append(growingArgs, "--rerun")...)
	if !q.waitStopped() {
		t.Fatalf("the run was not stopped: %+v", q.wait())
	}
	set("--input", "raw", "--seen", "none", "--reason", "x").must(t, 1).says(t, "is held by run")
	q.signal(cont)
	q.wait().must(t, 0)
	p.wantLanded("rows after the rerun", "b")
}

// Programs are told what a person is: what is new, how far it was read, what was set, what is read.
func TestIncrementalInputsInJSON(t *testing.T) {
	p := newGrowing(t, byFiles)
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"plan", "-c", "pipeline.yaml", "--json"}, `"new":"1 new file"`},
		{[]string{"state", "set", "-c", "pipeline.yaml", "--task", "load", "--input", "raw", "--seen", "none", "--reason", "x", "--json"}, `"now":"with 0 files counted as read"`},
		{[]string{"status", "-c", "pipeline.yaml", "--json"}, `"set":"with 0 files counted as read"`},
		{append(growingArgs, "--json"), `"event":"range_pinned"`},
		{[]string{"status", "-c", "pipeline.yaml", "--json"}, `"inputs":[{"input":"raw","mark":"1 file read"}]`},
		{[]string{"plan", "-c", "pipeline.yaml", "--json"}, `"verdict":"skip"`},
		{[]string{"plan", "-c", "pipeline.yaml", "--json", "--rerun"}, `"verdict":"replace"`},
	} {
		if out := p.run(c.args...).must(t, 0).stdout; !strings.Contains(out, c.want) {
			t.Errorf("%v: no %s in %s", c.args, c.want, out)
		}
	}
}

// Without a ledger nobody keeps what was read.
func TestIncrementalNeedsTheLedger(t *testing.T) {
	p := newGrowing(t, byFiles)
	p.runEnv([]string{"UBUNYE_RUN_LEASE=off"}, growingArgs...).must(t, 2).says(t, "input raw is read incrementally", "UBUNYE_RUN_LEASE=off")
	if files := p.files("lake"); len(files) > 0 {
		t.Fatalf("it has written %v", files)
	}
}

// A variable that differs from run to run would have each begin with all that there is: that is told. Left out of the batch, there
// is one mark, and a task that reads what the incremental one writes follows it, whatever variables are given.
func TestAMarkForEachBatch(t *testing.T) {
	p := newGrowing(t, byFiles)
	p.grow("--dt", "2026-01-01").must(t, 0)
	p.land("b", 4, 1)
	p.grow("--dt", "2026-01-02").must(t, 2).says(t, "batch dt=2026-01-01 has read 1 of the 2 files", "batch: []", "state set")
	p.wantLanded("rows", "a")
	p = newProject(t, strings.Replace(fmt.Sprintf(growing, byFiles), "tasks:\n", "batch: []\ntasks:\n", 1)+"  read:\n    inputs: {orders: {from: load.raw}}\n    outputs: {orders: {format: parquet, path: lake/copy}}\n")
	files := []string{}
	for day := 1; day <= 3; day++ {
		name := fmt.Sprintf("d%d", day)
		p.land(name, day, 1)
		files = append(files, name)
		p.grow("--dt", fmt.Sprintf("2026-01-%02d", day)).must(t, 0)
		p.wantLanded("rows", files...)
		same(t, "rows of the reader", p.rows("lake/copy"), p.rows("lake/orders"))
	}
	p.grow("--dt", "2026-01-03", "--rerun").must(t, 0)
	p.wantLanded("rows after a rerun", files...)
	same(t, "rows of the reader after a rerun", p.rows("lake/copy"), p.rows("lake/orders"))

	p = newGrowing(t, byColumn)
	p.grow("--dt", "2026-01-01").must(t, 0)
	r := p.grow("--dt", "2026-01-02").must(t, 2).says(t, "batch dt=2026-01-01 has read landing/*.csv up to id 3")
	p.shell(program, regexp.MustCompile(`\S*ubunye\S* state set .*'`).FindString(r.stderr)).must(t, 0)
	p.land("b", 4, 1)
	p.grow("--dt", "2026-01-02").must(t, 0)
	p.wantLanded("rows by column", "a", "b")
}

// A Delta table is read on by a column, from version to version.
func TestNewRowsOfADeltaTable(t *testing.T) {
	_, older := deltaCase(t, "snapshot-data0")
	table, newer := deltaCase(t, "snapshot-data1")
	p := newProject(t, "")
	at := func(options string) result {
		p.write("pipeline.yaml", "name: rows\ntasks:\n  t:\n    inputs: {raw: {format: delta, path: \""+table+"\", options: "+options+", incremental: {column: col2}}}\n    outputs: {raw: {format: parquet, path: lake}}\n")
		return p.run("run", "-c", "pipeline.yaml")
	}
	type row struct {
		Col2 string
	}
	highest := ""
	before := expectedRows(t, older)
	for _, text := range before {
		var r row
		if err := json.Unmarshal([]byte(text), &r); err != nil {
			t.Fatal(err)
		}
		highest = max(highest, r.Col2)
	}
	at("{version: 0}").must(t, 0)
	same(t, "rows of the first version", p.rows("lake"), before)
	want := slices.Clone(before)
	for _, text := range expectedRows(t, newer) {
		var r row
		if err := json.Unmarshal([]byte(text), &r); err != nil {
			t.Fatal(err)
		}
		if r.Col2 > highest {
			want = append(want, text)
		}
	}
	sort.Strings(want)
	if len(want) == len(before) {
		t.Fatal("the newer version has no row above those of the older: the test shows nothing")
	}
	at("{}").must(t, 0)
	same(t, "rows of both", p.rows("lake"), want)
	at("{}").must(t, 0).says(t, "nothing new")
}

// A pipeline of an incremental task and one that reads what it writes is killed at every operation: the next start goes on with the
// run, so that the reader has each slice once, whatever came in meanwhile.
func TestR50_AReaderOfAnIncrementalTaskKilledAtEveryOperation(t *testing.T) {
	t.Parallel()
	pipeline := fmt.Sprintf(growing, byFiles) + "  read:\n    inputs: {orders: {from: load.raw}}\n    outputs: {orders: {format: parquet, path: lake/copy}}\n"
	begin := func() *project {
		p := newProject(t, pipeline)
		p.land("a", 1, 3)
		return p
	}
	setup := func(p *project) {
		p.grow().must(t, 0)
		p.land("b", 4, 2)
	}
	n := len(begin().trace(setup, growingArgs...))
	kills, all := 0, points(t, n, 12)
	for _, k := range all {
		p := begin()
		setup(p)
		if r := p.runEnv([]string{fmt.Sprintf("UBUNYE_FAULT=kill:%d", k)}, growingArgs...); r.exit == 137 {
			kills++
		}
		p.land("c", 6, 1)
		what := fmt.Sprintf("kill at %d of %d", k, n)
		for range 2 {
			if r := p.grow(); r.exit != 0 {
				t.Fatalf("%s: exit %d: %s", what, r.exit, r.stderr)
			}
		}
		p.wantLanded(what, "a", "b", "c")
		same(t, what+": rows of the reader", p.rows("lake/copy"), p.rows("lake/orders"))
		p.grow().must(t, 0).says(t, "skipped: nothing new")
	}
	if kills < len(all)-1 {
		t.Fatalf("%d kills of %d", kills, len(all))
	}
}
