package e2e

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// C050: while a range is done again, a catch-up of the same range finds nothing missing, and helps nobody: the old rows
// count until the new ones are there.
func TestC050_ACatchUpDuringARerun(t *testing.T) {
	t.Parallel()
	days := []string{"2026-01-01", "2026-01-02", "2026-01-03", "2026-01-04", "2026-01-05"}
	p := newDays(t, days...)
	p.backfill(0, backfillArgs(days[0], days[4])...)
	old, rows := p.dataFiles("lake/orders"), p.salesRows(days...)
	q := p.start([]string{"UBUNYE_FAULT=stop:~/orders/dt=2026-01-03"}, backfillArgs(days[0], days[4], "--rerun")...)
	pids := p.frozen(q, 1)
	same(t, "rows in the middle of the rerun", p.rows("lake/orders"), rows)
	middle := p.dataFiles("lake/orders")
	if s := p.backfill(0, backfillArgs(days[0], days[4])...); s.Counts["skipped"] != len(days) {
		t.Fatalf("the catch-up: %+v", s)
	}
	p.runDay("2026-01-03").must(t, 1).oneLine(t).says(t, "is held by run")
	same(t, "files after the catch-up", p.dataFiles("lake/orders"), middle)
	wake(pids)
	q.wait().must(t, 0)
	same(t, "rows", p.rows("lake/orders"), rows)
	for _, name := range p.dataFiles("lake/orders") {
		if slices.Contains(old, name) {
			t.Errorf("%s was not replaced", name)
		}
	}
}

// C059: what others stage below a folder, under names that are no data, is not read as input; and what we stage is found by
// no reader who looks for files in the folder and in all below it, however deep.
func TestC059_NobodyReadsWhatIsStaged(t *testing.T) {
	t.Parallel()
	p := newSales(t)
	p.runDay("2026-01-01").must(t, 0)
	file, err := os.ReadFile(p.path("lake/orders/" + p.dataFiles("lake/orders")[0]))
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{"_staging/x", "_temporary/0/task", ".hidden", "dt=2026-01-01/_staging", "dt=2026-01-01/.spark"} {
		p.write("lake/orders/"+folder+"/part.parquet", string(file))
	}
	p.write("reader.yaml", `name: reader
tasks:
  copy:
    inputs: {orders: {format: parquet, path: "lake/orders/**/*.parquet"}}
    outputs: {orders: {format: parquet, path: copy}}
`)
	p.run("run", "-c", "reader.yaml").must(t, 0)
	if n := len(p.rows("copy")); n != 3 {
		t.Fatalf("our input read %d rows, want 3", n)
	}

	for _, mode := range everyMode {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			p := newReplacing(t, mode)
			p.write("lake/other/part.parquet", "somebody's")
			fault := "UBUNYE_FAULT=stop:~lake/orders/region=" // landing: committed, and nothing has its name yet
			if slices.Contains(replacing, mode) {
				p.runDay("2026-01-01").must(t, 0)
				ops := newReplacing(t, mode).trace(func(p *project) { p.runDay("2026-01-01").must(t, 0) }, dayArgs("2026-01-02")...)
				at := slices.IndexFunc(ops, func(o operation) bool { return o.Kind == "exchange" && strings.Contains(o.To, "/lake/orders") })
				fault = fmt.Sprintf("UBUNYE_FAULT=stop:%d", ops[at].Number)
			}
			before := parquetBelow(t, p.path("lake"))
			q := p.start([]string{fault}, dayArgs("2026-01-02")...)
			if !q.waitStopped() {
				t.Fatalf("it did not stop: %+v", q.wait())
			}
			same(t, "files that a recursive reader finds", parquetBelow(t, p.path("lake")), before)
			q.signal(cont)
			q.wait().must(t, 0)
		})
	}
}

// parquetBelow lists what `**/*.parquet` finds by a reader that passes nothing over.
func parquetBelow(t *testing.T, folder string) (found []string) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".parquet") {
			found = append(found, path)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// C066: any rename of a run is refused for a moment, as a virus scanner does it: the run makes it a little later and
// lands its batch.
func TestC066_AnyRenameIsRefusedForAMoment(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"append", "overwrite"} {
		first := func(p *project) { p.runDay("2026-01-01").must(p.t, 0) }
		for k, o := range newReplacing(t, mode).trace(first, dayArgs("2026-01-02")...) {
			if o.Kind != "rename" && o.Kind != "exchange" {
				continue
			}
			p := newReplacing(t, mode)
			first(p)
			p.runEnv([]string{fmt.Sprintf("UBUNYE_FAULT=denied:%d", k+1)}, dayArgs("2026-01-02")...).must(t, 0)
			want := p.want("3", "4")
			if mode == "append" {
				want = p.want("1", "2", "3", "4")
			}
			same(t, fmt.Sprintf("rows, %s of %s refused once", o.Kind, o.Path), p.rows("lake/orders"), want)
			same(t, "runs that are left", p.files(".ubunye/runs"), nil)
		}
	}
}

// C107: whatever a run changes in its ledger, no file there is ever written to under the name that others read it by: it gets
// its name when it is whole. Only a heartbeat, of which nothing but the time counts, is written in place.
func TestC107_NothingIsWrittenInPlace(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		setup func(*project)
		args  []string
	}{
		"append":    {nil, dayArgs("2026-01-01")},
		"rerun":     {func(p *project) { p.runDay("2026-01-01").must(p.t, 0) }, dayArgs("2026-01-01", "--rerun")},
		"take over": {func(p *project) { p.stopAtStaging().signal(os.Kill) }, dayArgs("2026-01-01", "--wait=1m")},
		"recover":   {func(p *project) { p.stopAtStaging().signal(os.Kill) }, []string{"recover", "-c", "pipeline.yaml"}},
	} {
		named := 0
		for _, o := range newSales(t).trace(c.setup, c.args...) {
			_, inside, is := strings.Cut(o.Path, "/.ubunye/")
			if _, to, is := strings.Cut(o.To, "/.ubunye/"); is && (o.Kind == "rename" || o.Kind == "link") && !strings.HasPrefix(to, "staging/") {
				moved := strings.HasPrefix(inside, "state/current/") && strings.HasPrefix(to, "state/succeeded/") // a run that ended well
				if named++; !strings.HasPrefix(inside, "tmp/") && !strings.HasPrefix(inside, "state/.tmp/") && !moved {
					t.Errorf("%s: %s gets its name from %s", name, to, inside)
				}
			}
			if !is || o.Kind != "write" && o.Kind != "create" {
				continue
			}
			if !strings.HasPrefix(inside, "tmp/") && !strings.HasPrefix(inside, "state/.tmp/") && !strings.HasPrefix(inside, "staging/") && !strings.HasSuffix(inside, ".beat") {
				t.Errorf("%s: %s %s", name, o.Kind, inside)
			}
		}
		if named < 3 {
			t.Errorf("%s: %d files got a name: the test reads nothing", name, named)
		}
	}
}
