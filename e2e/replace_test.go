package e2e

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sort"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// replacingPipeline is salesPipeline with a mode, and with orders in a folder per region.
func replacingPipeline(mode string) string {
	return `name: sales
variables:
  dt: {type: date, required: true}
tasks:
  clean_orders:
    inputs:
      raw:
        format: csv
        path: landing/{{ dt }}/*.csv
        columns: {id: bigint, region: varchar, dt: date}
    outputs:
      orders:
        from: raw
        format: parquet
        path: lake/orders
        mode: ` + mode + `
        partition_by: [region]
`
}

// newReplacing is a project in which two days hold orders of regions: the first of eu and us, the second of eu and asia.
func newReplacing(t *testing.T, mode string) *project {
	t.Helper()
	p := newProject(t, replacingPipeline(mode))
	p.write("landing/2026-01-01/a.csv", "id,region,dt\n1,eu,2026-01-01\n2,us,2026-01-01\n")
	p.write("landing/2026-01-02/a.csv", "id,region,dt\n3,eu,2026-01-02\n4,asia,2026-01-02\n")
	p.write("landing/2026-01-03/a.csv", "id,region,dt\n")
	return p
}

// want gives rows by their ids, as the foreign reader does.
func (p *project) want(ids ...string) []string {
	p.t.Helper()
	var rows []string
	for _, day := range []string{"2026-01-01", "2026-01-02", "2026-01-03"} {
		for _, row := range p.csvRows("landing/" + day + "/a.csv") {
			for _, id := range ids {
				if strings.Contains(row, `"id": "`+id+`"`) {
					rows = append(rows, row)
				}
			}
		}
	}
	sort.Strings(rows)
	return rows
}

func TestR61AnOverwriteReplacesTheFolder(t *testing.T) {
	p := newReplacing(t, "overwrite")
	p.runDay("2026-01-01").must(t, 0)
	same(t, "rows", p.rows("lake/orders"), p.want("1", "2"))
	p.write("lake/orders/region=us/stranger.parquet.txt", "not ours")
	p.runDay("2026-01-02").must(t, 0)
	same(t, "rows", p.rows("lake/orders"), p.want("3", "4"))
	for _, name := range p.files("lake/orders") {
		if strings.Contains(name, "region=us") {
			t.Fatalf("%s is left", name)
		}
	}
	// R44: it is never refused as finished, and replaces its own rows too.
	p.runDay("2026-01-02").must(t, 0)
	same(t, "rows after the same batch again", p.rows("lake/orders"), p.want("3", "4"))
	if len(p.dataFiles("lake/orders")) != 2 || len(p.files(".ubunye/staging")) != 0 || len(p.files(".ubunye/runs")) != 0 {
		t.Fatalf("left: %v %v %v", p.dataFiles("lake/orders"), p.files(".ubunye/staging"), p.files(".ubunye/runs"))
	}
	p.runDay("2026-01-03").must(t, 0).says(t, "no rows", "is empty now")
	same(t, "rows after an overwrite by nothing", p.rows("lake/orders"), nil)
}

func TestOverwritePartitionsReplacesThePartitionsOfTheData(t *testing.T) {
	p := newReplacing(t, "overwrite_partitions")
	p.runDay("2026-01-01").must(t, 0)
	p.runDay("2026-01-02").must(t, 0)
	same(t, "rows", p.rows("lake/orders"), p.want("2", "3", "4"))
	before := p.files("lake")
	p.runDay("2026-01-03").must(t, 0).says(t, "was not touched")
	same(t, "files after an empty result", p.files("lake"), before)

	// A variable fixes a partition column: its slice is replaced also by nothing.
	p.write("pipeline.yaml", strings.Replace(replacingPipeline("overwrite_partitions"), "[region]", "[region, dt]", 1))
	os.RemoveAll(p.path("lake/orders"))
	p.runDay("2026-01-01").must(t, 0)
	p.runDay("2026-01-02").must(t, 0)
	same(t, "rows of both days", p.rows("lake/orders"), p.want("1", "2", "3", "4"))
	p.write("landing/2026-01-01/a.csv", "id,region,dt\n1,eu,2026-01-01\n")
	p.runDay("2026-01-01").must(t, 0)
	same(t, "rows after a day lost a region", p.rows("lake/orders"), p.want("1", "3", "4"))
	p.write("landing/2026-01-01/a.csv", "id,region,dt\n")
	p.runDay("2026-01-01").must(t, 0).says(t, "no rows any more in the slice")
	same(t, "rows after a day lost all", p.rows("lake/orders"), p.want("3", "4"))
}

func TestR45AnAppendAfterAnOverwriteIsRefused(t *testing.T) {
	p := newReplacing(t, "overwrite")
	p.runDay("2026-01-01").must(t, 0)
	p.write("pipeline.yaml", replacingPipeline("append"))
	before := p.files(".")
	p.runDay("2026-01-01").must(t, 1).oneLine(t).says(t, "replaced", "cannot be taken back", "--rerun")
	same(t, "files after the refusal", p.files("."), before)
}

func TestErrorIfExistsAndIgnore(t *testing.T) {
	p := newReplacing(t, "error_if_exists")
	p.write("lake/orders/_old/part.parquet", "hidden names are no data")
	p.runDay("2026-01-01").must(t, 0)
	rows, files := p.rows("lake/orders"), p.dataFiles("lake/orders")
	same(t, "rows", rows, p.want("1", "2"))
	for _, day := range []string{"2026-01-01", "2026-01-02"} {
		p.runDay(day).must(t, 4).says(t, "pipeline.yaml:16:15", "holds data already", "nothing became visible")
		same(t, "files", p.dataFiles("lake/orders"), files)
	}
	p.runDay("2026-01-01", "--rerun").must(t, 0) // what it replaces is its own
	same(t, "rows after a rerun", p.rows("lake/orders"), rows)

	p.write("pipeline.yaml", replacingPipeline("ignore"))
	os.RemoveAll(p.path("landing/2026-01-02")) // what is ignored is not read either
	r := p.runDay("2026-01-02").must(t, 0)
	if !strings.Contains(r.stdout, "nothing written to lake/orders") || !strings.Contains(r.stdout, "ignore") {
		t.Fatalf("stdout: %s", r.stdout)
	}
	same(t, "rows", p.rows("lake/orders"), rows)
	if doc := p.document("clean_orders", "2026-01-02"); held(doc) || committed(doc) {
		t.Fatalf("a batch of which nothing was written: %v", doc)
	}
}

func TestPlanSaysWhatWouldBeReplaced(t *testing.T) {
	p := newReplacing(t, "overwrite")
	p.runDay("2026-01-01").must(t, 0)
	before := p.files(".")
	for mode, want := range map[string]string{
		"overwrite": "would replace 2 files, 2 partitions", "overwrite_partitions": "in the folder: 2 files, 2 partitions",
		"error_if_exists": "would fail: there is data already, 2 files, 2 partitions", "ignore": "would write nothing",
	} {
		p.write("pipeline.yaml", replacingPipeline(mode))
		if r := p.run("plan", "-c", "pipeline.yaml", "--dt", "2026-01-02").must(t, 0); !strings.Contains(r.stdout, want) {
			t.Errorf("%s: %s, want %q", mode, r.stdout, want)
		}
	}
	same(t, "files", p.files("."), before)
}

// frozenExchange freezes the program when it is about to put the folder in place.
func (p *project) frozenExchange(setup func(*project)) string {
	p.t.Helper()
	for _, op := range p.trace(setup, dayArgs("2026-01-02")...) {
		if op.Kind == "exchange" && strings.HasSuffix(op.To, "/lake/orders") {
			return fmt.Sprintf("UBUNYE_FAULT=stop:%d", op.Number)
		}
	}
	p.t.Fatal("no exchange of the output was seen")
	return ""
}

// R65 in part, R60: while a run that replaces is about to do so, another run of the folder is refused,
// whatever its batch, and readers see none of the staged rows.
func TestR65RunsOfOneFolderExcludeEachOther(t *testing.T) {
	p := newReplacing(t, "overwrite")
	first := func(p *project) { p.runDay("2026-01-01").must(p.t, 0) }
	fault := p.frozenExchange(first)
	first(p)
	q := p.start([]string{fault}, dayArgs("2026-01-02")...)
	if !q.waitStopped() {
		t.Fatalf("not stopped: %+v", q.wait())
	}
	same(t, "rows while the new ones are staged", p.rows("lake/orders"), p.want("1", "2"))
	if found, _ := filepath.Glob(p.path("lake/*/*/*.parquet")); len(found) != 2 {
		t.Fatalf("a glob of the parent finds %v", found)
	}
	before := p.files(".")
	p.runDay("2026-01-01").must(t, 1).oneLine(t).says(t, "pipeline.yaml:15:15", "writes to", "lake/orders", fmt.Sprint("process ", q.cmd.Process.Pid), "wait for it to end")
	p.write("pipeline.yaml", replacingPipeline("append"))
	p.runDay("2026-01-03").must(t, 1).oneLine(t).says(t, "one of the two replaces")
	same(t, "files after the refusals", p.files("."), before)
	q.signal(cont)
	q.wait().must(t, 0)
	same(t, "rows", p.rows("lake/orders"), p.want("3", "4"))
	p.runDay("2026-01-03").must(t, 0)
}

// A wish to stop that comes when the folder is being exchanged no longer counts: the run commits.
func TestToldToStopAtTheExchange(t *testing.T) {
	p := newReplacing(t, "overwrite")
	first := func(p *project) { p.runDay("2026-01-01").must(p.t, 0) }
	fault := p.frozenExchange(first)
	first(p)
	q := p.start([]string{fault}, dayArgs("2026-01-02")...)
	if !q.waitStopped() {
		t.Fatalf("not stopped: %+v", q.wait())
	}
	q.signal(syscall.SIGTERM)
	q.signal(cont)
	q.wait().must(t, 0)
	same(t, "rows", p.rows("lake/orders"), p.want("3", "4"))
	if doc := p.document("clean_orders", "2026-01-02"); held(doc) || !committed(doc) {
		t.Fatal("not committed")
	}
}

// The same without a ledger: folders are replaced all the same, and nothing is left behind.
func TestOverwriteWithTheLeaseOff(t *testing.T) {
	p := newReplacing(t, "overwrite")
	for _, day := range []string{"2026-01-01", "2026-01-02"} {
		p.runEnv([]string{"UBUNYE_RUN_LEASE=off"}, dayArgs(day)...).must(t, 0)
	}
	same(t, "rows", p.rows("lake/orders"), p.want("3", "4"))
	if left := p.files("lake"); len(left) != 7 { // orders/, its two partitions and files, _SUCCESS and the marker
		t.Fatalf("left: %v", left)
	}
	if left := p.files(".ubunye"); len(left) != 0 {
		t.Fatalf("a ledger was made: %v", left)
	}
}

// R72b: a run that fails between the exchange and its commit keeps what it replaced, says so, and says
// what the next run does; status names it until then.
func TestAFailureAfterTheExchangeIsKeptAndSaid(t *testing.T) {
	p := newReplacing(t, "overwrite")
	first := func(p *project) { p.runDay("2026-01-01").must(p.t, 0) }
	ops := p.trace(first, dayArgs("2026-01-02")...)
	at := slices.IndexFunc(ops, func(op operation) bool { return op.Kind == "exchange" && strings.HasSuffix(op.To, "/lake/orders") })
	for at++; at < len(ops) && ops[at].Kind != "create"; at++ { // of the save that follows
	}
	first(p)
	p.runEnv([]string{fmt.Sprintf("UBUNYE_FAULT=enospc:%d", ops[at].Number)}, dayArgs("2026-01-02")...).must(t, 4).
		says(t, "output orders is kept as it is", "the folder was replaced", "the next run of the batch replaces it again")
	same(t, "rows", p.rows("lake/orders"), p.want("3", "4"))
	if doc := p.document("clean_orders", "2026-01-02"); held(doc) || committed(doc) {
		t.Fatal("the failed run holds the batch, or committed it")
	}
	if r := p.run("status", "-c", "pipeline.yaml").must(t, 0); !strings.Contains(r.stdout, "output orders holds rows of run ") {
		t.Fatalf("status: %s", r.stdout)
	}
	p.runDay("2026-01-03").must(t, 0).says(t, "output orders holds rows of run")
	p.runDay("2026-01-02").must(t, 0)
	same(t, "rows", p.rows("lake/orders"), p.want("3", "4"))
	if r := p.run("status", "-c", "pipeline.yaml").must(t, 0); strings.Contains(r.stdout, "holds rows") {
		t.Fatalf("status: %s", r.stdout)
	}
}

// poller is a reader that looks at a folder again and again while something runs, and takes a look for one
// only if the folder was the same before and after it: the name may come to stand for another one meanwhile.
type poller struct {
	stop  chan struct{}
	done  sync.WaitGroup
	looks int
	bad   string
}

// poll starts a poller; whole tells what is wrong with a list of data files.
func poll(folder string, whole func(files []string) string) *poller {
	p := &poller{stop: make(chan struct{})}
	p.done.Go(func() {
		for {
			select {
			case <-p.stop:
				return
			default:
				p.look(folder, whole)
				runtime.Gosched()
			}
		}
	})
	return p
}

// look lists the files once. A listing that goes on while a folder is exchanged may end in the old one, which is emptied
// then: it says nothing, and the next look is taken.
func (p *poller) look(folder string, whole func([]string) string) {
	before, err := folders(folder)
	if err != nil {
		p.bad = "there is no folder: " + err.Error()
		return
	}
	files, err := filepath.Glob(filepath.Join(folder, "*", "*.parquet"))
	after, err2 := folders(folder)
	if err != nil || err2 != nil {
		p.bad = fmt.Sprint(err, err2)
		return
	}
	if !slices.EqualFunc(before, after, os.SameFile) {
		return
	}
	if p.looks++; p.bad == "" {
		p.bad = whole(files)
	}
}

// folders are the output folder and its partitions, as they are now.
func folders(folder string) ([]os.FileInfo, error) {
	names, err := filepath.Glob(filepath.Join(folder, "*=*"))
	if err != nil {
		return nil, err
	}
	var all []os.FileInfo
	for _, name := range append([]string{folder}, names...) {
		info, err := os.Stat(name)
		if errors.Is(err, fs.ErrNotExist) && name != folder {
			continue // it went with the folder that was exchanged
		}
		if err != nil {
			return nil, err
		}
		all = append(all, info)
	}
	return all, nil
}

// end stops the poller and fails the test if a reader saw anything that it must not.
func (p *poller) end(t *testing.T, what string) int {
	t.Helper()
	close(p.stop)
	p.done.Wait()
	if p.bad != "" || p.looks == 0 {
		t.Fatalf("%s: a reader saw (in %d looks): %s", what, p.looks, p.bad)
	}
	return p.looks
}

// R62: a run that replaces is killed at each of its changes from the first staged file on. A reader that
// polls meanwhile sees the old rows or the new ones, never none, never both; so does a foreign reader
// afterwards; a batch that was committed is finished by the next start, and no batch is lost.
func TestR62KilledWhileItReplaces(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"overwrite", "overwrite_partitions"} {
		t.Run(mode, func(t *testing.T) { t.Parallel(); killReplacing(t, mode) })
	}
}

func killReplacing(t *testing.T, mode string) {
	first := func(p *project) { p.runDay("2026-01-01").must(p.t, 0) }
	model := newReplacing(t, mode)
	ops := model.trace(first, dayArgs("2026-01-02")...)
	from := slices.IndexFunc(ops, func(op operation) bool { return strings.Contains(op.Path, "/.ubunye/staging/2") })
	first(model)
	states := replacedStates(model, mode)
	kills, looks, outcomes := 0, 0, map[string]int{}
	for k := from + 1; k <= len(ops)+1; k++ {
		p := model.copy()
		old := p.dataFiles("lake/orders")
		reader := poll(p.path("lake/orders"), func(files []string) string { return wholeFolder(mode, p.path("lake/orders"), old, files) })
		r := p.runEnv([]string{fmt.Sprintf("UBUNYE_FAULT=kill:%d", k)}, dayArgs("2026-01-02")...)
		what := fmt.Sprintf("kill at %d (%s)", k, op(ops, k))
		looks += reader.end(t, what)
		if r.exit == 137 {
			kills++
		} else if k <= len(ops) || r.exit != 0 {
			t.Fatalf("%s: exit %d: %s", what, r.exit, r.stderr)
		}
		now := strings.Join(p.rows("lake/orders"), "\n")
		if states[now] == "" {
			t.Fatalf("%s: rows that are neither old nor new:\n%s", what, now)
		}
		doc := p.document("clean_orders", "2026-01-02")
		if committed(doc) && states[now] != "new" {
			t.Fatalf("%s: committed, and readers see the %s rows", what, states[now])
		}
		again := p.takesOver(what, dayArgs("2026-01-02"), false)
		if held(doc) && states[now] != "old" {
			again.says(t, "output orders was replaced by run", "which did not commit")
		}
		if last := strings.Join(p.rows("lake/orders"), "\n"); states[last] != "new" {
			t.Fatalf("%s: rows of the next run:\n%s", what, last)
		}
		outcomes[states[now]]++
	}
	t.Logf("%d kills, %d looks, rows left: %v", kills, looks, outcomes)
	if kills != len(ops)-from || outcomes["old"] == 0 || outcomes["new"] == 0 {
		t.Fatalf("%d kills of %d, %v", kills, len(ops)-from, outcomes)
	}
}

// replacedStates are the row sets that readers may see, with their names.
func replacedStates(p *project, mode string) map[string]string {
	text := func(ids ...string) string { return strings.Join(p.want(ids...), "\n") }
	if mode == "overwrite" {
		return map[string]string{text("1", "2"): "old", text("3", "4"): "new"}
	}
	// asia comes before eu, and each is whole
	return map[string]string{text("1", "2"): "old", text("1", "2", "4"): "one of two", text("2", "3", "4"): "new"}
}

// wholeFolder tells what is wrong with a list of data files: each partition holds one file at any time,
// and the folder that is replaced whole holds the old files or none of them.
func wholeFolder(mode, folder string, old, files []string) string {
	byPartition, olds := map[string]int{}, 0
	for _, file := range files {
		rel, _ := filepath.Rel(folder, file)
		byPartition[filepath.Dir(rel)]++
		if slices.Contains(old, rel) {
			olds++
		}
	}
	for partition, n := range byPartition {
		if n != 1 {
			return fmt.Sprintf("%d files in %s", n, partition)
		}
	}
	switch {
	case byPartition["region=eu"] == 0:
		return "no file in region=eu"
	case mode == "overwrite" && (len(files) != 2 || olds == 1):
		return fmt.Sprintf("%v, of which %d are old", files, olds)
	case mode != "overwrite" && byPartition["region=us"] == 0:
		return "no file in region=us, which is not replaced"
	}
	return ""
}

// copy makes a project of the same files, the ledger included.
func (p *project) copy() *project {
	p.t.Helper()
	twin := &project{t: p.t, dir: p.t.TempDir(), home: p.home}
	if err := os.CopyFS(twin.dir, os.DirFS(p.dir)); err != nil {
		p.t.Fatal(err)
	}
	return twin
}
