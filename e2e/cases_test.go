package e2e

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// bulky makes rows of a hundred characters, so many that its file grows for a while.
const bulky = `name: bulky
engine: {threads: 1}
tasks:
  fill:
    inputs: {raw: {format: csv, path: in.csv, columns: {id: bigint}}}
    transform:
      numbers: "SELECT 500000 * id + i AS id, hash(i, 1)::VARCHAR || hash(i, 2)::VARCHAR || hash(i, 3)::VARCHAR || hash(i, 4)::VARCHAR || hash(i, 5)::VARCHAR AS text FROM raw, range(500000) r(i)"
    outputs: {numbers: {format: parquet, path: lake}}
variables: {dt: {type: date, required: true}}
`

// C002: three tries are killed while the staged file has its first bytes, some, and many; the fourth lands every row once.
// Whoever lists the folder, at any time, finds no file of a try that failed.
func TestC002_ThreeTriesAreKilledWhileTheyWrite(t *testing.T) {
	t.Parallel()
	p := newProject(t, bulky)
	p.write("in.csv", "id\n0\n")
	for _, size := range []int64{1, 4 << 20, 12 << 20} {
		q := p.start(nil, dayArgs("2026-01-01")...)
		p.grown(q, size)
		q.signal(syscall.SIGKILL)
		q.wait().must(t, 137)
		same(t, fmt.Sprintf("files after a kill at %d bytes", size), p.files("lake"), nil)
	}
	p.runDay("2026-01-01").must(t, 0).says(t, "took over from run")
	rows := foreign.read(t, map[string]any{"kind": "parquet", "path": p.path("lake"), "columns": []string{"id"}})
	if distinct := len(slices.Compact(slices.Clone(rows))); len(rows) != 500000 || distinct != 500000 {
		t.Fatalf("%d rows, %d of them distinct, want 500000", len(rows), distinct)
	}
	same(t, "files", p.dataFiles("lake"), claims(p.document("fill", "")))
	same(t, "staging", p.files(".ubunye/staging"), nil)
}

// grown waits until the files that a run stages have this size.
func (p *project) grown(q *process, size int64) {
	p.t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-q.done:
			p.t.Fatalf("it ended before its files had %d bytes: %+v", size, q.wait())
		case <-tick.C:
		}
		var sum int64
		filepath.WalkDir(p.path(".ubunye/staging"), func(path string, d fs.DirEntry, err error) error {
			if err == nil && strings.HasSuffix(path, ".staged") {
				if info, err := d.Info(); err == nil {
					sum += info.Size()
				}
			}
			return nil
		})
		if sum >= size {
			return
		}
	}
}

// C016: a backfill of ten days is killed with its run of the sixth. Five days are written down as done, the sixth is not;
// the next backfill leaves the five alone and writes the others.
func TestC016_ABackfillGoesOnWhereItWasKilled(t *testing.T) {
	t.Parallel()
	var days []string
	for n := 1; n <= 10; n++ {
		days = append(days, fmt.Sprintf("2026-01-%02d", n))
	}
	p := newDays(t, days...)
	q := p.start([]string{"UBUNYE_FAULT=stop:~/orders/dt=2026-01-06"}, backfillArgs(days[0], days[9])...)
	pids := p.frozen(q, 1)
	q.signal(syscall.SIGKILL)
	syscall.Kill(pids[0], syscall.SIGKILL)
	q.wait()
	for n, day := range days {
		if doc := p.document("clean_orders", day); committed(doc) != (n < 5) || held(doc) != (n == 5) {
			t.Fatalf("%s: %v", day, doc)
		}
	}
	before := p.dataFiles("lake/orders")
	s := p.backfill(0, backfillArgs(days[0], days[9])...)
	if s.Counts["skipped"] != 5 || s.Counts["landed"] != 5 || s.Rows != 10 {
		t.Fatalf("%+v", s)
	}
	for _, name := range before {
		if !slices.Contains(p.dataFiles("lake/orders"), name) {
			t.Errorf("%s was written again", name)
		}
	}
	same(t, "rows", p.rows("lake/orders"), p.salesRows(days...))
}

// C027: the lease of a running holder is taken from under it, by whatever means. It finds out before anything of it can be
// seen, and says so.
func TestC027_TheLeaseIsTakenFromUnderItsHolder(t *testing.T) {
	t.Parallel()
	remove := func(pattern string) func(*project) {
		return func(p *project) {
			found, err := filepath.Glob(p.path(pattern))
			if err != nil || len(found) == 0 {
				p.t.Fatalf("%s: %v, %v", pattern, found, err)
			}
			for _, name := range found {
				if err := os.RemoveAll(name); err != nil {
					p.t.Fatal(err)
				}
			}
		}
	}
	dead := func(p *project) {
		did, _ := p.recover(0)
		p.recover(0, "--dead", did.Held[0].Run)
	}
	for _, c := range []struct {
		name  string
		take  func(*project)
		again bool // the batch may still become the first one's
	}{
		{"declared dead", dead, false},
		{"declared dead, and run by another", func(p *project) { dead(p); p.runDay("2026-01-01").must(t, 0) }, false},
		{"its document is deleted", remove(".ubunye/batches/sales/clean_orders/*/*.json"), false},
		{"the folder of its document is deleted", remove(".ubunye/batches/sales/clean_orders/*"), false},
		{"all documents are deleted", remove(".ubunye/batches"), false},
		{"all documents are deleted, and it is run by another", func(p *project) {
			remove(".ubunye/batches")(p)
			p.runDay("2026-01-01").must(t, 1).says(t, "is going on") // as the run state says
			remove(".ubunye/state")(p)
			p.runDay("2026-01-01").must(t, 0)
		}, false},
		{"its heartbeat is deleted", remove(".ubunye/runs/*.beat"), true},
	} {
		for moment, at := range map[string]string{"while it stages": ".parquet.staged", "at its commit": "/00000003.json"} {
			t.Run(c.name+" "+moment, func(t *testing.T) {
				t.Parallel()
				p := newSales(t)
				q := p.start([]string{"UBUNYE_FAULT=stop:~" + at}, dayArgs("2026-01-01")...)
				if !q.waitStopped() {
					t.Fatalf("it did not stop: %+v", q.wait())
				}
				c.take(p)
				before := p.dataFiles("lake")
				q.signal(cont)
				r := q.wait()
				// Between its last look and its link a document may be deleted: then it is made again, if nobody else has begun.
				if again := c.again || c.name == "its document is deleted" && moment == "at its commit"; again {
					r.must(t, 0)
				} else {
					if r.exit != 5 && r.exit != 4 && (r.exit != 1 || !strings.Contains(r.stderr, "somebody removed it")) {
						t.Fatalf("exit %d: %s", r.exit, r.stderr)
					}
					same(t, "files after it went on", p.dataFiles("lake"), before)
					if next := p.runDay("2026-01-01"); len(before) == 0 && next.exit != 0 || len(before) > 0 && next.exit != 1 {
						t.Fatalf("the next start: exit %d: %s", next.exit, next.stderr)
					}
				}
				same(t, "rows", p.rows("lake/orders"), p.salesRows("2026-01-01"))
			})
		}
	}
}

// C029: the folder of a batch is there and no document in it yet, as between a mkdir and a write: that is nobody's lease,
// and of many starts one wins. A document without contents is somebody's: it is never guessed at, however old it is.
func TestC029_AFolderWithoutADocumentAndADocumentWithoutContents(t *testing.T) {
	t.Parallel()
	p := newSales(t)
	p.runDay("2026-01-02").must(t, 0)
	twin := newSales(t)
	twin.runDay("2026-01-01").must(t, 0)
	batches, _ := filepath.Glob(twin.path(".ubunye/batches/sales/clean_orders/*"))
	key := filepath.Base(batches[0])
	folder := p.path(".ubunye/batches/sales/clean_orders/" + key)
	if err := os.Mkdir(folder, 0o777); err != nil {
		t.Fatal(err)
	}
	var all []*process
	for range 8 {
		all = append(all, p.start(nil, dayArgs("2026-01-01")...))
	}
	won := 0
	for _, q := range all {
		if r := q.wait(); r.exit == 0 {
			won++
		} else {
			r.must(t, 1).oneLine(t)
		}
	}
	if won != 1 {
		t.Fatalf("%d of 8 starts ran, want 1", won)
	}
	same(t, "rows", p.rows("lake/orders"), p.salesRows("2026-01-01", "2026-01-02"))

	p.forged = true
	generations, _ := filepath.Glob(folder + "/*.json")
	newest := generations[len(generations)-1]
	if err := os.Truncate(newest, 0); err != nil {
		t.Fatal(err)
	}
	for _, age := range []time.Duration{0, 1000 * time.Hour} {
		then := time.Now().Add(-age)
		if err := os.Chtimes(newest, then, then); err != nil {
			t.Fatal(err)
		}
		p.runDay("2026-01-01", "--rerun").must(t, 1).says(t, newest, "it is empty")
		if info, err := os.Stat(newest); err != nil || info.Size() != 0 {
			t.Fatalf("the evidence is gone: %v, %v", info, err)
		}
	}
	same(t, "rows", p.rows("lake/orders"), p.salesRows("2026-01-01", "2026-01-02"))
}

// C031: two working folders, each with a ledger of its own, write to one folder, at the same time: one wins it, and the
// other is refused and told where the ledger is that answers for it. With that one it may go on.
func TestC031_TwoLedgersForOneFolder(t *testing.T) {
	t.Parallel()
	for round := range 4 {
		shared := t.TempDir()
		var homes [2]*project
		for i := range homes {
			homes[i] = newSales(t)
			homes[i].write("pipeline.yaml", strings.Replace(salesPipeline, "path: lake/orders", "path: "+shared+"/orders", 1))
		}
		var all [2]*process
		for i, p := range homes {
			all[i] = p.start(nil, dayArgs("2026-01-01")...)
		}
		exits := [2]int{all[0].wait().exit, all[1].wait().exit}
		won := slices.Index(exits[:], 0)
		if won < 0 || exits[1-won] == 0 {
			t.Fatalf("round %d: exits %v, want one 0", round, exits)
		}
		winner, loser := homes[won], homes[1-won]
		rows := func() []string {
			return foreign.read(t, map[string]any{"kind": "parquet", "path": shared + "/orders"})
		}
		same(t, "rows", rows(), winner.salesRows("2026-01-01"))
		loser.runDay("2026-01-02").must(t, 1).says(t, "belongs to ledger", "ledger: {path: …}")
		text := strings.Replace(salesPipeline, "path: lake/orders", "path: "+shared+"/orders", 1)
		loser.write("pipeline.yaml", text+"ledger: {path: "+winner.path(".ubunye")+"}\n")
		loser.runDay("2026-01-01").must(t, 1).says(t, "finished")
		loser.runDay("2026-01-02").must(t, 0)
		same(t, "rows", rows(), winner.salesRows("2026-01-01", "2026-01-02"))
	}
}

// C032: the same command twice in the same moment, in each mode: one of an append, and the rows of one.
func TestC032_TheSameCommandTwice(t *testing.T) {
	t.Parallel()
	for _, mode := range everyMode {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			ran := 0
			for range 8 {
				p := newReplacing(t, mode)
				pair := [2]*process{p.start(nil, dayArgs("2026-01-01")...), p.start(nil, dayArgs("2026-01-01")...)}
				won := 0
				for _, q := range pair {
					switch r := q.wait(); r.exit {
					case 0:
						won++
					case 1:
						r.oneLine(t)
					case 4: // it came when the other was done
						if mode != "error_if_exists" {
							t.Fatalf("exit 4: %s", r.stderr)
						}
						r.says(t, "holds data already")
					default:
						t.Fatalf("exit %d: %s", r.exit, r.stderr)
					}
				}
				if once := mode == "append" || mode == "error_if_exists"; won == 0 || once && won != 1 {
					t.Fatalf("%d of two ran", won)
				}
				ran += won
				same(t, "rows", p.rows("lake/orders"), p.want("1", "2"))
				if n := len(p.dataFiles("lake/orders")); n != 2 {
					t.Fatalf("%d files, want one a region", n)
				}
			}
			t.Logf("%d of 16 starts ran", ran)
		})
	}
}

// C037: many starts in the same second stage at once, to one table and to others: no two in one folder, and every row
// comes to its own table.
func TestC037_NoStagingFolderIsShared(t *testing.T) {
	t.Parallel()
	var days []string
	for n := 1; n <= 5; n++ {
		days = append(days, fmt.Sprintf("2026-01-%02d", n))
	}
	p := newDays(t, days...)
	p.write("returns.yaml", strings.NewReplacer("name: sales", "name: returns", "lake/orders", "lake/returns", "id, dt", "id, dt", "SELECT * FROM raw", "SELECT id, dt, -amount AS amount FROM raw").Replace(salesPipeline))
	var all []*process
	for _, day := range days {
		for _, file := range []string{"pipeline.yaml", "returns.yaml"} {
			all = append(all, p.start([]string{frozenStaging}, "run", "-c", file, "--dt", day))
		}
	}
	for _, q := range all {
		if !q.waitStopped() {
			t.Fatalf("it did not stop where it stages: %+v", q.wait())
		}
	}
	places := map[string]bool{}
	for _, doc := range p.documents() {
		for _, o := range doc["outputs"].(map[string]any) {
			places[fmt.Sprint(o.(map[string]any)["staging"])] = true
		}
	}
	if len(places) != len(all) {
		t.Fatalf("%d starts stage in %d folders: %v", len(all), len(places), places)
	}
	for _, q := range all {
		q.signal(cont)
	}
	for _, q := range all {
		q.wait().must(t, 0)
	}
	same(t, "rows", p.rows("lake/orders"), p.salesRows(days...))
	returned := p.salesRows(days...)
	for i := range returned {
		returned[i] = strings.Replace(returned[i], `"amount": "`, `"amount": "-`, 1)
	}
	slices.Sort(returned)
	same(t, "rows of the other table", p.rows("lake/returns"), returned)
}
