package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"testing"
)

// lakehouse is a project that loads the file of a day into a Delta table.
func lakehouse(t *testing.T, columns, output string) *project {
	t.Helper()
	p := newProject(t, "name: lakehouse\nvariables:\n  dt: {type: date, required: true}\ntasks:\n  load:\n"+
		"    inputs: {raw: {format: csv, path: \"{{ dt }}.csv\", on_empty: ok, columns: {"+columns+"}}}\n    outputs: {raw: {format: delta, path: lake/t, "+output+"}}\n")
	p.format = "delta"
	return p
}

func (p *project) loadDay(dt string, args ...string) result {
	p.t.Helper()
	return p.run(append([]string{"run", "-c", "pipeline.yaml", "--dt", dt}, args...)...)
}

// csvLines gives the rows of a CSV text as rows gives those of a table: an empty field is NULL.
func csvLines(text string) []string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	names := strings.Split(lines[0], ",")
	var all []string
	for _, line := range lines[1:] {
		row := map[string]any{}
		for i, value := range strings.Split(line, ",") {
			if row[names[i]] = nil; value != "" {
				row[names[i]] = value
			}
		}
		data, _ := json.Marshal(row) // texts and NULLs
		all = append(all, strings.ReplaceAll(strings.ReplaceAll(string(data), `":`, `": `), `,"`, `, "`))
	}
	sort.Strings(all)
	return all
}

// commits lists the commits of a table's log.
func (p *project) commits() (all []map[string][]map[string]any) {
	p.t.Helper()
	names, err := filepath.Glob(p.path("lake/t/_delta_log/*.json"))
	if err != nil {
		p.t.Fatal(err)
	}
	sort.Strings(names)
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			p.t.Fatal(err)
		}
		commit := map[string][]map[string]any{}
		for line := range strings.Lines(string(data)) {
			var action map[string]map[string]any
			if err := json.Unmarshal([]byte(line), &action); err != nil {
				p.t.Fatalf("%s: %v", name, err)
			}
			for kind, a := range action {
				commit[kind] = append(commit[kind], a)
			}
		}
		all = append(all, commit)
	}
	return all
}

// unnamed lists the data files of the table that its log does not name.
func (p *project) unnamed() (all []string) {
	p.t.Helper()
	named := map[string]bool{}
	for _, c := range p.commits() {
		for _, add := range c["add"] {
			named[add["path"].(string)] = true
		}
	}
	for _, name := range p.dataFiles("lake/t") {
		if !strings.Contains(name, "_delta_log/") && !named[name] {
			all = append(all, name)
		}
	}
	return all
}

const (
	dayOne   = "id,dt,v\n1,2026-01-01,a\n2,2026-01-01,b\n3,2026-01-02,c\n"
	dayTwo   = "id,dt,v\n3,2026-01-02,x\n4,2026-01-02,\n"
	dayThree = "id,dt,v\n5,2026-01-03,e\n"
	plainRow = "id: bigint, dt: date, v: varchar"
)

func (p *project) days() {
	p.t.Helper()
	p.write("2026-01-01.csv", dayOne)
	p.write("2026-01-02.csv", dayTwo)
	p.write("2026-01-03.csv", dayThree)
}

func together(texts ...string) (all []string) {
	for _, text := range texts {
		all = append(all, csvLines(text)...)
	}
	sort.Strings(all)
	return all
}

// Every mode, day by day, read by two readers that are not ours after each.
func TestDeltaModes(t *testing.T) {
	type step struct {
		args string
		exit int
		want []string
	}
	one, two, three := "2026-01-01", "2026-01-02", "2026-01-03"
	for _, c := range []struct {
		name, output string
		steps        []step
	}{
		{"append", "mode: append", []step{
			{two, 0, together(dayTwo)}, {one, 0, together(dayOne, dayTwo)}, {two, 1, together(dayOne, dayTwo)}, {three, 0, together(dayOne, dayTwo, dayThree)}}},
		{"append partitioned", "partition_by: [dt]", []step{{one, 0, together(dayOne)}, {two, 0, together(dayOne, dayTwo)}}},
		{"overwrite", "mode: overwrite", []step{{one, 0, together(dayOne)}, {two, 0, together(dayTwo)}, {two, 0, together(dayTwo)}, {one, 0, together(dayOne)}}},
		{"overwrite partitions", "mode: overwrite_partitions, partition_by: [dt]", []step{
			{one, 0, together(dayOne)}, {two, 0, together("id,dt,v\n1,2026-01-01,a\n2,2026-01-01,b\n", dayTwo)}, {three, 0, together("id,dt,v\n1,2026-01-01,a\n2,2026-01-01,b\n", dayTwo, dayThree)},
			{three, 0, together("id,dt,v\n1,2026-01-01,a\n2,2026-01-01,b\n", dayTwo, dayThree)}}},
		{"merge", "mode: merge, keys: [id]", []step{
			{one, 0, together(dayOne)}, {two, 0, together("id,dt,v\n1,2026-01-01,a\n2,2026-01-01,b\n", dayTwo)}, {two, 0, together("id,dt,v\n1,2026-01-01,a\n2,2026-01-01,b\n", dayTwo)},
			{three, 0, together("id,dt,v\n1,2026-01-01,a\n2,2026-01-01,b\n", dayTwo, dayThree)}}},
		{"merge partitioned", "mode: merge, keys: [id, dt], partition_by: [dt]", []step{
			{one, 0, together(dayOne)}, {two, 0, together("id,dt,v\n1,2026-01-01,a\n2,2026-01-01,b\n", dayTwo)}, {one, 0, together("id,dt,v\n4,2026-01-02,\n", dayOne)}}},
		{"replace where", "replace_where: \"id >= 3\"", []step{
			{two, 0, together(dayTwo)}, {three, 0, together(dayThree)}, {two, 0, together(dayTwo)}, {one, 4, together(dayTwo)}}},
		{"replace where in a file", "mode: append, replace_where: \"dt = DATE '{{ dt }}'\"", []step{
			{two, 0, together(dayTwo)}, {three, 0, together(dayTwo, dayThree)}, {three, 0, together(dayTwo, dayThree)}, {one, 4, together(dayTwo, dayThree)}}},
		{"error if exists", "mode: error_if_exists", []step{{one, 0, together(dayOne)}, {two, 4, together(dayOne)}}},
		{"ignore", "mode: ignore", []step{{one, 0, together(dayOne)}, {two, 0, together(dayOne)}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := lakehouse(t, plainRow, c.output)
			p.days()
			for i, s := range c.steps {
				r := p.loadDay(s.args)
				if r.exit != s.exit {
					t.Fatalf("step %d: exit %d, want %d\n%s", i, r.exit, s.exit, r.stderr)
				}
				same(t, c.name+" "+s.args, p.rows("lake/t"), s.want)
			}
			if left := p.unnamed(); len(left) > 0 {
				t.Errorf("files that no log names: %q", left)
			}
		})
	}
}

// Half of a file is replaced: its other rows stay, written again.
func TestDeltaReplaceWhereWithinAFile(t *testing.T) {
	p := lakehouse(t, plainRow, "mode: overwrite")
	p.days()
	p.loadDay("2026-01-01").must(t, 0)
	p.write("pipeline.yaml", strings.Replace(p.text("pipeline.yaml"), "mode: overwrite", "replace_where: \"dt = DATE '{{ dt }}'\"", 1))
	for range 2 {
		p.loadDay("2026-01-02").must(t, 0)
		same(t, "rows", p.rows("lake/t"), together("id,dt,v\n1,2026-01-01,a\n2,2026-01-01,b\n", dayTwo))
	}
	// TestC042: rows outside of the condition are told, with one of them, and nothing has changed.
	before := len(p.commits())
	p.write("2026-01-02.csv", dayOne)
	p.loadDay("2026-01-02").must(t, 4).says(t, "rows outside of replace_where (dt = DATE '2026-01-02'): 2, as dt = 2026-01-01", "nothing became visible")
	if got := len(p.commits()); got != before {
		t.Errorf("%d commits, were %d", got, before)
	}
	same(t, "rows", p.rows("lake/t"), together("id,dt,v\n1,2026-01-01,a\n2,2026-01-01,b\n", dayTwo))
}

// TestR73 and C042: a bad condition is refused before anything is read, on the first run too.
func TestR73DeltaBadCondition(t *testing.T) {
	p := lakehouse(t, plainRow, `replace_where: "lower(v) = 'a'"`)
	p.loadDay("2026-01-01").must(t, 2).says(t, `"lower" calls a function, which is not understood here`)
	if got := p.files("lake"); len(got) != 0 {
		t.Errorf("%q", got)
	}
}

// TestC054C055: merge keys that are NULL or come twice are refused by name, in a new table and in one that is there.
func TestC054C055DeltaMergeKeys(t *testing.T) {
	for _, first := range []bool{true, false} {
		p := lakehouse(t, "k1: varchar, k2: varchar, v: bigint", "mode: merge, keys: [k1, k2]")
		var want []string
		if !first {
			p.write("2026-01-01.csv", "k1,k2,v\na,x,7\n")
			p.loadDay("2026-01-01").must(t, 0)
			want = together("k1,k2,v\na,x,7\n")
		}
		p.write("2026-01-02.csv", "k1,k2,v\na,,1\nb,x,2\n")
		for range 2 {
			p.loadDay("2026-01-02").must(t, 4).says(t, "rows without a value in the key column k2: 1, as k1 = a, k2 = NULL")
		}
		p.write("2026-01-02.csv", "k1,k2,v\na,x,1\na,x,2\nb,y,3\n")
		p.loadDay("2026-01-02").must(t, 4).says(t, "1 key comes more than once in the rows: k1 = a, k2 = x")
		same(t, "rows", p.rows("lake/t"), want)
	}
}

// TestC081: no rows make a table with its columns, a commit with the batch and no file; an overwrite by none empties the table.
func TestC081DeltaEmptyResult(t *testing.T) {
	for _, output := range []string{"mode: append", "partition_by: [dt]"} {
		p := lakehouse(t, plainRow, output)
		p.write("2026-01-01.csv", "id,dt,v\n")
		p.loadDay("2026-01-01").must(t, 0)
		c := p.commits()
		if len(c) != 1 || len(c[0]["add"]) != 0 || len(c[0]["txn"]) != 1 || len(c[0]["metaData"]) != 1 {
			t.Errorf("%s: %v", output, c)
		}
		p.write("2026-01-02.csv", dayTwo)
		p.loadDay("2026-01-02").must(t, 0)
		p.write("2026-01-03.csv", "id,dt,v\n")
		p.loadDay("2026-01-03").must(t, 0)
		same(t, "rows", p.rows("lake/t"), together(dayTwo))
		if c := p.commits(); len(c) != 3 || len(c[2]["add"]) != 0 || len(c[2]["txn"]) != 1 {
			t.Errorf("%s: %v", output, c)
		}
		p.write("pipeline.yaml", strings.Replace(p.text("pipeline.yaml"), "mode: append", "mode: overwrite", 1))
		if output == "mode: append" {
			p.write("2026-01-04.csv", "id,dt,v\n")
			p.loadDay("2026-01-04").must(t, 0)
			same(t, "rows", p.rows("lake/t"), nil)
		}
		if left := p.unnamed(); len(left) > 0 {
			t.Errorf("%q", left)
		}
	}
}

// TestC097: columns are found by name; what differs from day to day is told, or added when that is wanted.
func TestC097DeltaDrift(t *testing.T) {
	p := lakehouse(t, "id: bigint, v: bigint", "mode: append")
	p.write("2026-01-01.csv", "id,v\n1,10\n")
	p.loadDay("2026-01-01").must(t, 0)
	change := func(columns, output string) {
		p.write("pipeline.yaml", strings.NewReplacer("COLUMNS", columns, "OUTPUT", output).Replace("name: lakehouse\nvariables:\n  dt: {type: date, required: true}\ntasks:\n  load:\n"+
			"    inputs: {raw: {format: csv, path: \"{{ dt }}.csv\", columns: {COLUMNS}}}\n    outputs: {raw: {format: delta, path: lake/t, OUTPUT}}\n"))
	}
	p.write("2026-01-02.csv", "id,v,new\n2,20,n\n")
	change("id: bigint, v: bigint, new: varchar", "mode: append")
	p.loadDay("2026-01-02").must(t, 4).says(t, "+ new VARCHAR is not in the table")
	change("id: bigint, v: bigint, new: varchar", "schema: add_columns")
	p.loadDay("2026-01-02").must(t, 0)
	p.write("2026-01-03.csv", "id,v,new\n3,x,n\n")
	change("id: bigint, v: varchar, new: varchar", "schema: add_columns")
	p.loadDay("2026-01-03").must(t, 4).says(t, "~ v is VARCHAR in the rows and long in the table")
	p.write("2026-01-04.csv", "id\n4\n")
	change("id: bigint", "mode: append")
	p.loadDay("2026-01-04").must(t, 4).says(t, "- v long is not in the rows; - new string is not in the rows")
	p.write("2026-01-05.csv", "new,v,id\nm,50,5\n")
	change("new: varchar, v: integer, id: bigint", "mode: append")
	p.loadDay("2026-01-05").must(t, 0)
	same(t, "rows", p.rows("lake/t"), together("id,new,v\n1,,10\n2,n,20\n5,m,50\n"))
}

// TestC082: names of columns that other readers cannot have are refused, all at once.
func TestC082DeltaColumnNames(t *testing.T) {
	p := lakehouse(t, `"Code région": bigint, "a;b": bigint, v: bigint`, "mode: append")
	p.write("2026-01-01.csv", "Code région,a;b,v\n1,2,3\n")
	p.loadDay("2026-01-01").must(t, 4).says(t, `"Code région"`, `"a;b"`, `"Code région" AS "Code_région"`, `"a;b" AS "a_b"`)
	if got := p.dataFiles("lake"); len(got) != 0 {
		t.Errorf("%q", got)
	}
}

func (p *project) text(name string) string {
	p.t.Helper()
	data, err := os.ReadFile(p.path(name))
	if err != nil {
		p.t.Fatal(err)
	}
	return string(data)
}

// Ten commits are followed by a checkpoint, which other readers begin with.
func TestDeltaCheckpoint(t *testing.T) {
	p := lakehouse(t, "id: bigint, p: varchar", "partition_by: [p]")
	var want []string
	for i := range 12 {
		day := "2026-01-" + string([]byte{'0' + byte((i+1)/10), '0' + byte((i+1)%10)})
		text := "id,p\n" + day[8:] + "1,a b\n" + day[8:] + "2,\n"
		p.write(day+".csv", text)
		p.loadDay(day).must(t, 0)
		want = append(want, csvLines(strings.ReplaceAll(text, "\n0", "\n"))...)
	}
	slices.Sort(want)
	names := p.files("lake/t/_delta_log")
	if !slices.Contains(names, "00000000000000000010.checkpoint.parquet") || !slices.Contains(names, "_last_checkpoint") {
		t.Fatalf("%q", names)
	}
	same(t, "rows", p.rows("lake/t"), want)
	// Without the commits before it the table is as it was: to delta-rs, and to us.
	for _, name := range names {
		if strings.HasSuffix(name, ".json") && name < "00000000000000000010" {
			if err := os.Remove(p.path("lake/t/_delta_log/" + name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	same(t, "rows by delta-rs", foreign.read(t, map[string]any{"kind": "delta-rs", "path": p.path("lake/t")}), want)
	p.write("2026-01-13.csv", "id,p\n131,c\n")
	p.loadDay("2026-01-13").must(t, 0)
	p.loadDay("2026-01-02").must(t, 1) // the batch is finished
	want = append(want, csvLines("id,p\n131,c\n")...)
	slices.Sort(want)
	same(t, "rows by delta-rs", foreign.read(t, map[string]any{"kind": "delta-rs", "path": p.path("lake/t")}), want)
}

// The partition that a variable of the batch names is replaced also by nothing.
func TestDeltaEmptySlice(t *testing.T) {
	p := lakehouse(t, plainRow, "mode: overwrite_partitions, partition_by: [dt]")
	p.days()
	for _, day := range []string{"2026-01-01", "2026-01-02", "2026-01-03"} {
		p.loadDay(day).must(t, 0)
	}
	p.write("2026-01-02.csv", "id,dt,v\n")
	p.loadDay("2026-01-02").must(t, 0)
	same(t, "rows", p.rows("lake/t"), together("id,dt,v\n1,2026-01-01,a\n2,2026-01-01,b\n", dayThree))
	p.write("2026-01-01.csv", "id,dt,v\n6,2026-01-03,z\n")
	p.loadDay("2026-01-01").must(t, 0)
	same(t, "rows", p.rows("lake/t"), together("id,dt,v\n6,2026-01-03,z\n"))
}

// A column that comes with a merge, or with the slice that a condition on it names, is NULL in the rows that stay.
func TestDeltaColumnsThatComeLater(t *testing.T) {
	for output, want := range map[string][]string{
		"mode: merge, keys: [id]":         together("id,new,v\n1,,10\n2,n,21\n3,n,30\n"),
		"mode: merge, keys: [id, new]":    together("id,new,v\n1,,10\n2,,20\n2,n,21\n3,n,30\n"),
		`replace_where: "new = 'n'"`:      together("id,new,v\n1,,10\n2,,20\n2,n,21\n3,n,30\n"),
		`replace_where: "id >= 2"`:        together("id,new,v\n1,,10\n2,n,21\n3,n,30\n"),
		`replace_where: "id is not null"`: together("id,new,v\n2,n,21\n3,n,30\n"),
	} {
		p := lakehouse(t, "id: bigint, v: bigint", "mode: append")
		p.write("2026-01-01.csv", "id,v\n1,10\n2,20\n")
		p.loadDay("2026-01-01").must(t, 0)
		p.write("pipeline.yaml", strings.NewReplacer("v: bigint}", "v: bigint, new: varchar}", "mode: append", output+", schema: add_columns").Replace(p.text("pipeline.yaml")))
		p.write("2026-01-02.csv", "id,v,new\n2,21,n\n3,30,n\n")
		for range 2 {
			p.loadDay("2026-01-02").must(t, 0)
			same(t, output, p.rows("lake/t"), want)
		}
	}
}
