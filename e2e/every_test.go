package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// variant is a format of an output and a way to write it. The rules hold for every one.
type variant struct{ format, mode string }

var (
	claiming  = []string{"append", "error_if_exists", "ignore"} // modes whose files land after the commit
	replacing = []string{"overwrite", "overwrite_partitions"}   // modes that put folders in place before it
	everyMode = slices.Concat(slices.Clone(claiming), replacing)
)

// forEvery runs a test for each format in each of some modes.
func forEvery(t *testing.T, modes []string, test func(*testing.T, variant)) {
	for _, format := range formats {
		for _, mode := range modes {
			t.Run(format+"/"+mode, func(t *testing.T) {
				t.Parallel()
				test(t, variant{format, mode})
			})
		}
	}
}

// in makes a pipeline of Parquet outputs one of this variant.
func (v variant) in(pipeline string) string {
	pipeline = strings.ReplaceAll(pipeline, "format: parquet", "format: "+v.format+", options: "+formatOptions[v.format])
	if v.mode == "overwrite_partitions" {
		pipeline = strings.ReplaceAll(pipeline, "path: lake/", "partition_by: [region], path: lake/")
	}
	return strings.ReplaceAll(pipeline, "path: lake/", "mode: "+v.mode+", path: lake/")
}

func (v variant) project(t *testing.T, pipeline string) *project {
	t.Helper()
	p := newProject(t, v.in(pipeline))
	p.format = v.format
	return p
}

// twoRegions is a task with two outputs, of which the second fails when it is staged if a name is no number.
const twoRegions = `name: two
variables:
  dt: {type: date, required: true}
tasks:
  split:
    inputs:
      raw: {format: csv, path: in.csv, columns: {id: bigint, region: varchar, name: varchar}}
    transform:
      good: SELECT id, region FROM raw
      bad:  SELECT id, region, CAST(name AS INTEGER) AS n FROM raw
    outputs:
      good: {format: parquet, path: lake/good}
      bad:  {format: parquet, path: lake/bad}
`

const (
	worksInTwo = "id,region,name\n1,eu,11\n2,us,22\n"
	failsInTwo = "id,region,name\n3,eu,33\n4,us,one\n"
)

// R49, R25: of a task whose second output fails, the first one never becomes visible, and the folders are as
// they were: not there, or what the last run left. R42: so it is with --rerun, and the batch stays finished.
func TestR25R42R49AFailedTaskChangesNothing(t *testing.T) {
	forEvery(t, everyMode, func(t *testing.T, v variant) {
		p := v.project(t, twoRegions)
		p.write("lake/.keep", "")
		fails := func(more ...string) {
			t.Helper()
			before := p.files("lake")
			p.write("in.csv", failsInTwo)
			p.run(append(twoArgs, more...)...).must(t, 4).says(t, "task split, output bad", "one")
			same(t, "lake after the failure", p.files("lake"), before)
			if left := p.dataFiles(".ubunye/staging"); len(left) != 0 {
				t.Fatalf("staging is left: %v", left)
			}
		}
		fails()
		p.write("in.csv", worksInTwo)
		p.run(twoArgs...).must(t, 0)
		for output, want := range map[string][]string{
			"good": {`{"id": "1", "region": "eu"}`, `{"id": "2", "region": "us"}`},
			"bad":  {`{"id": "1", "n": "11", "region": "eu"}`, `{"id": "2", "n": "22", "region": "us"}`},
		} {
			same(t, output, p.rows("lake/"+output), want)
			if _, err := os.Stat(p.path("lake/" + output + "/_SUCCESS")); err != nil {
				t.Fatal("no _SUCCESS after landing")
			}
		}
		fails("--rerun")
		if doc := p.document("split", ""); held(doc) || !committed(doc) {
			t.Fatalf("after a failing rerun: held %v, committed %v", held(doc), committed(doc))
		}
	})
}

// oneRegion is a task that writes the orders of a day.
const oneRegion = `name: sales
variables:
  dt: {type: date, required: true}
tasks:
  clean_orders:
    inputs:
      raw: {format: csv, path: "landing/{{ dt }}/*.csv", columns: {id: bigint, region: varchar, dt: date}}
    outputs:
      orders: {from: raw, format: parquet, path: lake/orders}
`

// orders is a project of this variant with newReplacing's days.
func (v variant) orders(t *testing.T) *project {
	t.Helper()
	p := newReplacing(t, v.mode)
	p.write("pipeline.yaml", v.in(oneRegion))
	p.format = v.format
	return p
}

// R48: a file of the batch is gone, compacted or moved: --rerun refuses and says how many, and changes
// nothing; --rerun=anyway goes on. R41: what is still there of the old files goes.
func TestR48OldFilesAreMissing(t *testing.T) {
	forEvery(t, claiming, func(t *testing.T, v variant) {
		p := v.orders(t)
		p.write("pipeline.yaml", strings.Replace(v.in(oneRegion), "path: lake/", "partition_by: [region], path: lake/", 1))
		p.runDay("2026-01-01").must(t, 0)
		old := p.dataFiles("lake/orders")
		if len(old) != 2 {
			t.Fatalf("files: %v", old)
		}
		if err := os.Remove(p.path("lake/orders/" + old[1])); err != nil {
			t.Fatal(err)
		}
		before := p.files(".")
		p.runDay("2026-01-01", "--rerun").must(t, 1).oneLine(t).says(t, "1 of the 2 files", old[1], "--rerun=anyway")
		same(t, "files after the refusal", p.files("."), before)
		p.runDay("2026-01-01", "--rerun=anyway").must(t, 0)
		same(t, "rows", p.rows("lake/orders"), p.want("1", "2"))
		now := p.dataFiles("lake/orders")
		if len(now) != 2 || slices.Contains(now, old[0]) {
			t.Fatalf("files %v, were %v", now, old)
		}
		p.runDay("2026-01-01", "--rerun").must(t, 0) // the new ones are all there
		same(t, "rows", p.rows("lake/orders"), p.want("1", "2"))
	})
}

// R40, R47: a second run of a finished day that adds is refused, whatever its input has become; where
// nothing would be added because there is data, that is what is said. R41: --rerun replaces the day, again and
// again, and what is in the folder besides stays.
func TestR40R41R47ASecondRunOfADay(t *testing.T) {
	forEvery(t, claiming, func(t *testing.T, v variant) {
		p := v.orders(t)
		p.runDay("2026-01-01").must(t, 0)
		old := p.dataFiles("lake/orders")
		p.write("landing/2026-01-01/a.csv", "id,region,dt\n1,eu,2026-01-01\n2,us,2026-01-01\n5,us,2026-01-01\n")
		r := p.runDay("2026-01-01")
		switch v.mode {
		case "append":
			r.must(t, 1).oneLine(t).says(t, "would add the batch twice", "--rerun")
		case "error_if_exists":
			r.must(t, 4).says(t, "holds data already", "nothing became visible")
		case "ignore":
			r.must(t, 0)
		}
		same(t, "files after a second run", p.dataFiles("lake/orders"), old)
		for range 2 {
			p.runDay("2026-01-01", "--rerun").must(t, 0)
			same(t, "rows after a rerun", p.rows("lake/orders"), p.want("1", "2", "5"))
			now := p.dataFiles("lake/orders")
			if len(now) != len(old) || slices.ContainsFunc(now, func(name string) bool { return slices.Contains(old, name) }) {
				t.Fatalf("files %v, were %v", now, old)
			}
			old = now
		}
	})
}

// R44: a task that only replaces is never refused. R45: an append after it, of the same batch, is, and it
// cannot be taken back; --rerun adds all the same. R61: what is replaced is exactly what the mode says.
func TestR44R45R61AReplacedFolder(t *testing.T) {
	forEvery(t, replacing, func(t *testing.T, v variant) {
		p := v.orders(t)
		p.runDay("2026-01-01").must(t, 0)
		p.runDay("2026-01-02").must(t, 0)
		want := map[string][]string{"overwrite": p.want("3", "4"), "overwrite_partitions": p.want("2", "3", "4")}[v.mode]
		same(t, "rows", p.rows("lake/orders"), want)
		files := p.dataFiles("lake/orders")
		p.runDay("2026-01-02").must(t, 0)
		same(t, "rows after the same batch again", p.rows("lake/orders"), want)
		if now := p.dataFiles("lake/orders"); len(now) != len(files) || slices.Equal(now, files) {
			t.Fatalf("files %v, were %v", now, files)
		}
		v.mode = "append"
		p.write("pipeline.yaml", strings.Replace(v.in(oneRegion), "path: lake/", "partition_by: [region], path: lake/", 1))
		before := p.files(".")
		p.runDay("2026-01-02").must(t, 1).oneLine(t).says(t, "replaced", "cannot be taken back", "--rerun")
		same(t, "files after the refusal", p.files("."), before)
	})
}

// R60, R62: frozen when it puts the first folder in place, and after the last one, and killed there: a foreign
// reader finds the old rows or the new ones, and nothing that is staged.
func TestR60R62FrozenAndKilledAtTheExchange(t *testing.T) {
	forEvery(t, replacing, func(t *testing.T, v variant) {
		model := v.orders(t)
		first := func(p *project) { p.runDay("2026-01-01").must(p.t, 0) }
		ops := model.trace(first, dayArgs("2026-01-02")...)
		var at []int
		for _, op := range ops {
			if strings.HasSuffix(op.To, "/lake/orders") || strings.Contains(op.To, "/lake/orders/region=") {
				at = append(at, op.Number)
			}
		}
		if want := map[string]int{"overwrite": 1, "overwrite_partitions": 2}[v.mode]; len(at) != want {
			t.Fatalf("%d folders were put in place, want %d", len(at), want)
		}
		first(model)
		states := replacedStates(model, v.mode)
		for want, n := range map[string]int{"old": at[0], "new": at[len(at)-1] + 1} {
			p := model.copy()
			p.format = v.format
			q := p.start([]string{fmt.Sprintf("UBUNYE_FAULT=stop:%d", n)}, dayArgs("2026-01-02")...)
			if !q.waitStopped() {
				t.Fatalf("not stopped: %+v", q.wait())
			}
			read := func(what string) {
				t.Helper()
				if got := states[strings.Join(p.rows("lake/orders"), "\n")]; got != want {
					t.Fatalf("%s at %s: the rows are %q, want the %s ones", what, op(ops, n), got, want)
				}
				if found, _ := filepath.Glob(p.path("lake/*/*")); slices.ContainsFunc(found, func(name string) bool { return strings.HasSuffix(name, ".staged") || strings.Contains(name, "/new/") }) {
					t.Fatalf("%s: a glob of the parent finds %v", what, found)
				}
			}
			read("frozen")
			q.signal(os.Kill)
			q.wait().must(t, 137)
			read("killed")
		}
	})
}
