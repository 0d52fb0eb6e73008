package e2e

import (
	"encoding/json"
	"os"
	"sort"
	"strings"
	"testing"
)

// shows gives the rows that `ubunye show --json` prints of the only output, a line each, sorted.
func (p *project) shows(t *testing.T, args ...string) []string {
	t.Helper()
	var tables []struct {
		Columns []string
		Rows    [][]*string
		Total   int
	}
	out := p.run(append([]string{"show", "-c", "pipeline.yaml", "--json"}, args...)...).must(t, 0).stdout
	if err := json.Unmarshal([]byte(out), &tables); err != nil || len(tables) != 1 || tables[0].Total != len(tables[0].Rows) {
		t.Fatalf("%v: %s", err, out)
	}
	var rows []string
	for _, row := range tables[0].Rows {
		var words []string
		for i, v := range row {
			words = append(words, tables[0].Columns[i]+"="+*v)
		}
		sort.Strings(words)
		rows = append(rows, strings.Join(words, " "))
	}
	sort.Strings(rows)
	return rows
}

// ids are the rows without what is before the last column.
func ids(rows []string) []string {
	var all []string
	for _, row := range rows {
		all = append(all, row[strings.Index(row, " dt="):])
	}
	sort.Strings(all)
	return all
}

// Without variables all batches are shown that have landed; with them, what these batches landed last, also of a
// required one.
func TestShowKeepsToTheBatch(t *testing.T) {
	for _, format := range formats {
		p := newSalesIn(t, format)
		p.runDay("2026-01-01").must(t, 0)
		p.runDay("2026-01-02").must(t, 0)
		first := []string{"amount=0.01 dt=2026-01-01 id=9007199254740993", "amount=10.00 dt=2026-01-01 id=1", "amount=20.50 dt=2026-01-01 id=2"}
		second := []string{"amount=30.00 dt=2026-01-02 id=3"}
		all := append(append([]string{}, first...), second...)
		sort.Strings(all)
		same(t, format+", all", ids(p.shows(t)), ids(all)) // of text files, types are inferred when no batch is named
		same(t, format+", the first", p.shows(t, "--dt", "2026-01-01"), first)
		same(t, format+", the second", p.shows(t, "--var", "dt=2026-01-02"), second)
		r := p.run("show", "-c", "pipeline.yaml", "--dt", "2026-01-03").must(t, 4).oneLine(t)
		r.says(t, "nothing of dt=2026-01-03 is in lake/orders")

		p.write("landing/2026-01-01/a.csv", "id,dt,amount\n5,2026-01-01,5.00\n")
		p.runDay("2026-01-01", "--rerun").must(t, 0)
		same(t, format+", replaced", p.shows(t, "--dt", "2026-01-01"), []string{"amount=5.00 dt=2026-01-01 id=5"})
		if err := os.Remove(p.path("lake/orders/" + p.dataFiles("lake/orders")[0])); err != nil {
			t.Fatal(err)
		}
		p.run("show", "-c", "pipeline.yaml", "--dt", "2026-01-01").must(t, 4).says(t, "1 file that dt=2026-01-01 landed cannot be found in lake/orders", "nothing of dt=2026-01-01 is in")
	}
}

// An output whose folder is the batch's own needs the variable.
func TestShowNeedsTheVariableOfAFolder(t *testing.T) {
	p := newProject(t, strings.Replace(salesPipeline, "path: lake/orders", "path: 'lake/{{ dt }}'", 1))
	p.run("show", "-c", "pipeline.yaml").must(t, 2).oneLine(t).says(t, "its folder depends on the variable dt, which has no value")
}
