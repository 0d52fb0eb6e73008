package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"testing"
)

// deltaRS has delta-rs write to the project's table.
func (p *project) deltaRS(verb string, args ...string) *process {
	p.t.Helper()
	script, err := filepath.Abs("deltawriter.py")
	if err != nil {
		p.t.Fatal(err)
	}
	return p.launch(nil, python, append([]string{script, verb, p.path("lake/t")}, args...)...)
}

// TestR75: delta-rs and this program append to one table at the same time: every row is there once, and the log has no hole.
func TestR75DeltaBesideDeltaRS(t *testing.T) {
	rounds := 40
	if os.Getenv("UBUNYE_EVERY") != "" { // as make torture does it
		rounds = 200
	}
	p := newProject(t, "name: beside\nvariables:\n  n: {type: int, required: true}\ntasks:\n  load:\n    inputs: {raw: {format: csv, path: one.csv, columns: {id: bigint, v: varchar}}}\n"+
		"    transform: {rows: \"SELECT id + CAST($n AS BIGINT) AS id, v FROM raw\"}\n    outputs: {rows: {format: delta, path: lake/t}}\n")
	p.format = "delta"
	p.write("one.csv", "id,v\n0,ours\n")
	p.run("run", "-c", "pipeline.yaml", "--var", "n=0").must(t, 0)
	theirs := p.deltaRS("append", strconv.Itoa(rounds*3), "1000")
	var want []string
	for n := 1; n <= rounds; n++ {
		p.run("run", "-c", "pipeline.yaml", "--var", fmt.Sprintf("n=%d", n)).must(t, 0)
	}
	if r := theirs.wait(); r.exit != 0 {
		t.Fatalf("delta-rs: %s", r.stderr)
	}
	for n := range rounds + 1 {
		want = append(want, fmt.Sprintf(`{"id": "%d", "v": "ours"}`, n))
	}
	for n := range rounds * 3 {
		want = append(want, fmt.Sprintf(`{"id": "%d", "v": "theirs"}`, 1000+n))
	}
	sort.Strings(want)
	same(t, "rows", p.rows("lake/t"), want)
	if got := len(p.commits()); got != 4*rounds+1 {
		t.Errorf("%d commits", got)
	}
	if left := p.unnamed(); len(left) > 0 {
		t.Errorf("%q", left)
	}
}

// A table that delta-rs has made, with all that it asks of writers.
func TestDeltaTablesOfDeltaRS(t *testing.T) {
	columns := `"columns": [["id", "int64", false], ["dt", "date32", true], ["v", "string", true]]`
	made := func(t *testing.T, output, more string) *project {
		p := lakehouse(t, plainRow, output)
		p.days()
		p.deltaRS("make", "{"+columns+", \"rows\": [{\"id\": 100, \"v\": \"theirs\"}]"+more+"}").wait().must(t, 0)
		return p
	}
	theirs := "id,dt,v\n100,,theirs\n"
	for _, c := range []struct {
		output, more string
		want         []string
	}{
		{"mode: append", "", together(theirs, dayOne)},
		{"mode: append", `, "partition_by": ["dt"]`, together(theirs, dayOne)},
		{"mode: overwrite", `, "partition_by": ["dt"]`, together(dayOne)},
		{"mode: overwrite_partitions, partition_by: [dt]", `, "partition_by": ["dt"]`, together(theirs, dayOne)},
		{"mode: merge, keys: [id]", `, "partition_by": ["dt"]`, together(theirs, dayOne)},
		{`replace_where: "id < 50"`, "", together(theirs, dayOne)},
		{`replace_where: "id < 1000"`, "", together(dayOne)},
		{"mode: append", `, "constraints": {"small": "id < 1000 AND v <> 'z'"}`, together(theirs, dayOne)},
		{"mode: append", `, "properties": {"delta.appendOnly": "true"}`, together(theirs, dayOne)},
		{"mode: append", `, "properties": {"delta.dataSkippingNumIndexedCols": "1"}`, together(theirs, dayOne)},
	} {
		t.Run(c.output+c.more, func(t *testing.T) {
			p := made(t, c.output, c.more)
			p.loadDay("2026-01-01").must(t, 0)
			same(t, "rows", p.rows("lake/t"), c.want)
		})
	}
	for _, c := range []struct {
		output, more, day, says string
	}{
		{"mode: append", "", "id,dt,v\n,2026-01-01,a\n", "rows without a value in the column id, which the table does not allow: 1"},
		{"mode: append", `, "constraints": {"small": "id < 10 OR v = 'theirs'"}`, "id,dt,v\n1,,a\n12,,b\n", "rows that do not meet the table's constraint small (id < 10 OR v = 'theirs'): 1, as id = 12, v = b"},
		{"mode: overwrite", `, "properties": {"delta.appendOnly": "true"}`, dayOne, "the table is append-only"},
	} {
		p := made(t, c.output, c.more)
		p.write("2026-01-01.csv", c.day)
		before := len(p.commits())
		if r := p.loadDay("2026-01-01").says(t, c.says); r.exit != 4 && r.exit != 2 {
			t.Errorf("exit %d", r.exit)
		}
		if got := len(p.commits()); got != before {
			t.Errorf("%d commits, were %d", got, before)
		}
	}
}

// delta-rs reads, appends to, deletes from and overwrites a table of ours, which is read again as an input.
func TestDeltaTablesOfOurs(t *testing.T) {
	p := lakehouse(t, plainRow, "partition_by: [dt]")
	p.days()
	p.loadDay("2026-01-01").must(t, 0)
	p.deltaRS("delete", "id = 2").wait().must(t, 0)
	p.loadDay("2026-01-02").must(t, 0)
	want := together("id,dt,v\n1,2026-01-01,a\n3,2026-01-02,c\n", dayTwo)
	same(t, "rows", p.rows("lake/t"), want)
	p.write("read.yaml", "name: read\ntasks:\n  copy:\n    inputs: {t: {format: delta, path: lake/t}}\n    outputs: {t: {format: parquet, path: lake/copy}}\n")
	p.run("run", "-c", "read.yaml").must(t, 0)
	same(t, "rows read by us", foreign.read(t, map[string]any{"kind": "parquet", "path": p.path("lake/copy")}), want)
	p.deltaRS("overwrite", `[{"id": 9, "v": "all"}]`).wait().must(t, 0)
	same(t, "rows", p.rows("lake/t"), together("id,dt,v\n9,,all\n"))
	p.loadDay("2026-01-03").must(t, 0)
	same(t, "rows", p.rows("lake/t"), together("id,dt,v\n9,,all\n", dayThree))
	p.loadDay("2026-01-01").must(t, 1) // the batch is finished, whatever others have done to the table since
	p.loadDay("2026-01-01", "--rerun").must(t, 0)
	same(t, "rows", p.rows("lake/t"), together("id,dt,v\n9,,all\n", dayOne, dayThree))
}

// TestC083: a table that asks for what is not done here is neither read nor written, and the feature is named.
func TestC083DeltaFeatures(t *testing.T) {
	p := lakehouse(t, plainRow, "mode: append")
	p.days()
	p.loadDay("2026-01-01").must(t, 0)
	log := p.path("lake/t/_delta_log/00000000000000000001.json")
	for feature, readers := range map[string]string{"glitter": `["glitter"]`, "rowTracking": `[]`} {
		if err := os.WriteFile(log, []byte(fmt.Sprintf(`{"protocol":{"minReaderVersion":3,"minWriterVersion":7,"readerFeatures":%s,"writerFeatures":[%q]}}`+"\n", readers, feature)), 0o666); err != nil {
			t.Fatal(err)
		}
		for _, output := range []string{"mode: append", "mode: overwrite", "mode: merge, keys: [id]"} {
			p.write("pipeline.yaml", strings.Replace(p.text("pipeline.yaml"), "mode: append", output, 1))
			if r := p.loadDay("2026-01-02").says(t, feature); r.exit != 2 && r.exit != 4 {
				t.Errorf("%s %s: exit %d", feature, output, r.exit)
			}
			p.write("pipeline.yaml", strings.Replace(p.text("pipeline.yaml"), output, "mode: append", 1))
		}
	}
	if got := p.commits(); len(got) != 2 {
		t.Errorf("%d commits", len(got))
	}
}

// Files whose rows are gone in part: what a merge and a replacement write again are the rows that are there.
func TestDeltaDeletionVectors(t *testing.T) {
	for _, output := range []string{"mode: merge, keys: [col1]", `replace_where: "col1 = 1"`} {
		table, expected := deltaCase(t, "dv-partitioned-with-checkpoint")
		p := newProject(t, "name: merge\ntasks:\n  load:\n    inputs: {raw: {format: csv, path: new.csv, columns: {part: integer, col1: integer, col2: varchar}}}\n"+
			"    outputs: {raw: {format: delta, path: \""+table+"\", "+output+"}}\n")
		p.write("read.yaml", "name: read\ntasks:\n  load:\n    inputs: {t: {format: delta, path: \""+table+"\"}}\n    outputs: {t: {format: parquet, path: lake/copy, mode: overwrite}}\n")
		p.write("new.csv", "part,col1,col2\n1,1,new\n")
		p.run("run", "-c", "pipeline.yaml").must(t, 0)
		p.run("run", "-c", "read.yaml").must(t, 0)
		var want []string
		for _, row := range expectedRows(t, expected) {
			if strings.HasPrefix(row, `{"col1": "1",`) {
				row = `{"col1": "1", "col2": "new", "part": "1"}`
			}
			want = append(want, row)
		}
		sort.Strings(want)
		same(t, output, p.rows("lake/copy"), want)
		same(t, output+" by delta-rs", foreign.read(t, map[string]any{"kind": "delta-rs", "path": table}), want)
	}
}

// TestR75: what delta-rs does to the table while a run is about to commit. A merge whose rows it has changed ends cleanly, and is there
// after the next run; an append and an overwrite land.
func TestR75DeltaChangedBeforeTheCommit(t *testing.T) {
	for _, c := range []struct {
		output string
		exit   int
		want   []string
	}{
		{"mode: append", 0, together("id,dt,v\n2,2026-01-01,b\n3,2026-01-02,c\n", dayTwo)},
		{"mode: overwrite", 0, together(dayTwo)},
		{"mode: merge, keys: [id]", 4, together("id,dt,v\n2,2026-01-01,b\n3,2026-01-02,c\n")},
		{`replace_where: "id >= 3"`, 4, together("id,dt,v\n2,2026-01-01,b\n3,2026-01-02,c\n")},
	} {
		p := lakehouse(t, plainRow, "mode: append")
		p.days()
		p.loadDay("2026-01-01").must(t, 0)
		p.write("pipeline.yaml", strings.Replace(p.text("pipeline.yaml"), "mode: append", c.output, 1))
		q := p.start([]string{"UBUNYE_FAULT=stop:~_delta_log"}, "run", "-c", "pipeline.yaml", "--dt", "2026-01-02")
		if !q.waitStopped() {
			t.Fatalf("%s: it was not stopped: %+v", c.output, q.wait())
		}
		p.deltaRS("delete", "id = 1").wait().must(t, 0)
		q.signal(cont)
		r := q.wait().must(t, c.exit)
		same(t, c.output, p.rows("lake/t"), c.want)
		if c.exit == 0 {
			continue
		}
		r.says(t, "another writer has changed rows that are replaced", "nothing was committed: run again")
		p.loadDay("2026-01-02").must(t, 0)
		same(t, c.output+" again", p.rows("lake/t"), together("id,dt,v\n2,2026-01-01,b\n", dayTwo))
		if left := p.unnamed(); len(left) > 0 {
			t.Errorf("%s: files that no log names: %q", c.output, left)
		}
	}
}
