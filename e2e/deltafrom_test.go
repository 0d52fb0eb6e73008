package e2e

import (
	"strings"
	"testing"
)

// What a task wrote to a table is read by another one of the same run: its files, and none that the table had before.
func TestFromADeltaTable(t *testing.T) {
	t.Parallel()
	pipeline := `name: lakehouse
variables: {dt: {type: date, required: true}}
tasks:
  load:
    inputs: {raw: {format: csv, path: "{{ dt }}.csv", columns: {id: bigint, dt: date, v: text}}}
    outputs: {raw: {format: delta, path: lake/t, mode: MODE, partition_by: [dt]}}
  copy:
    inputs: {new: {from: load.raw}}
    outputs: {new: {format: parquet, path: lake/copy, mode: overwrite}}
`
	p := newProject(t, strings.Replace(pipeline, "MODE", "append", 1))
	p.write("2026-01-01.csv", otherDay)
	p.write("2026-01-02.csv", ownDay)
	p.loadDay("2026-01-01").must(t, 0)
	p.loadDay("2026-01-02").must(t, 0)
	same(t, "copy", p.rows("lake/copy"), csvLines(ownDay))
	r := p.run("show", "-c", "pipeline.yaml", "--task", "load", "--dt", "2026-01-01").must(t, 0)
	if !strings.Contains(r.stdout, "other") || strings.Contains(r.stdout, "\nb") || !strings.Contains(r.stdout, "2 rows") {
		t.Errorf("show: %s", r.stdout)
	}
	r = p.run("show", "-c", "pipeline.yaml", "--task", "load").must(t, 0)
	if !strings.Contains(r.stdout, "5 rows") {
		t.Errorf("show: %s", r.stdout)
	}
	p.write("pipeline.yaml", strings.Replace(pipeline, "mode: MODE", "mode: merge, keys: [id]", 1))
	p.loadDay("2026-01-03").must(t, 2).says(t, "input new: the files of load.raw hold rows that were in the table before")
}
