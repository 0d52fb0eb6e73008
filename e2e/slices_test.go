package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// slicesPipeline writes the orders of a day, in a layout.
const slicesPipeline = `name: slices
variables:
  dt: {type: date, required: true}
tasks:
  write:
    inputs:
      raw: {format: csv, path: "landing/{{ dt }}.csv", columns: {id: bigint, region: varchar, dt: date}, on_empty: ok}
    outputs:
      orders: {from: raw, format: FORMAT, path: lake/orders, mode: MODE, partition_by: [LAYOUT]}
`

// layouts are ways to cut an output into folders. A column dt is the variable dt, so it declares the slice of a day.
var layouts = []string{"", "region", "dt", "region, dt", "dt, region"}

// sliceRow is an order; a region that is empty is NULL.
type sliceRow struct{ id, region, dt string }

// sliceRun is one start: a day with the rows that its input has then.
type sliceRun struct {
	what, dt string
	orders   []string // id and region
}

// sliceRuns begin with a run that finds nothing there, and go on where something is.
var sliceRuns = []sliceRun{
	{"nothing, first", "2026-01-03", nil},
	{"the first rows", "2026-01-01", []string{"1 eu", "2 "}},
	{"NULL alone", "2026-01-02", []string{"3 ", "4 "}},
	{"nothing, later", "2026-01-04", nil},
	{"a day again, in another region", "2026-01-02", []string{"5 us"}},
	{"a day again, without rows", "2026-01-01", nil},
}

// target is what the folder is to hold: what each mode promises, written down a second time.
type target struct {
	mode    string
	columns []string
	rows    []sliceRow
	files   bool // there may be files without rows
}

// run gives the exit code, and changes the rows.
func (m *target) run(dt string, rows []sliceRow) (exit int) {
	occupied := len(m.rows) > 0 || m.files
	declared := slices.Contains(m.columns, "dt")
	part := func(r sliceRow) (key string) {
		for _, c := range m.columns {
			key += c + "=" + map[string]string{"region": r.region, "dt": r.dt}[c] + "/"
		}
		return key
	}
	switch m.mode {
	case "append": // with --rerun: the batch's own rows go
		m.rows = slices.DeleteFunc(m.rows, func(r sliceRow) bool { return r.dt == dt })
	case "overwrite":
		m.rows = nil
	case "overwrite_partitions":
		m.rows = slices.DeleteFunc(m.rows, func(old sliceRow) bool {
			same := func(r sliceRow) bool { return part(r) == part(old) }
			return declared && old.dt == dt || slices.ContainsFunc(rows, same)
		})
	case "error_if_exists":
		if occupied {
			return 4
		}
	case "ignore":
		if occupied {
			return 0
		}
	}
	m.rows = append(m.rows, rows...)
	m.files = m.files || len(m.columns) == 0
	return 0
}

// read gives the rows as a foreign reader does. An empty field of a csv file is an empty text for Python; in the name of a folder
// NULL has a word of its own.
func (m *target) read(format string) (lines []string) {
	for _, r := range m.rows {
		region := `"` + r.region + `"`
		if r.region == "" && (format != "csv" || slices.Contains(m.columns, "region")) {
			region = "null"
		}
		lines = append(lines, fmt.Sprintf(`{"dt": "%s", "id": "%s", "region": %s}`, r.dt, r.id, region))
	}
	slices.Sort(lines)
	return lines
}

// Each mode keeps its word in each layout: on the first run and the second, for a slice that variables declare and one that
// they do not, for one that has no rows, for partitions of NULL alone, and for folders in folders.
func TestEveryModeInEveryLayout(t *testing.T) {
	for _, mode := range everyMode {
		for _, layout := range layouts {
			for _, format := range formats {
				if layout == "" && mode == "overwrite_partitions" || format != "parquet" && layout != "" && layout != "region, dt" {
					continue
				}
				t.Run(mode+"/["+layout+"]/"+format, func(t *testing.T) {
					t.Parallel()
					p := newProject(t, strings.NewReplacer("MODE", mode, "LAYOUT", layout, "FORMAT", format).Replace(slicesPipeline))
					p.format = format
					m := &target{mode: mode}
					if layout != "" {
						m.columns = strings.Split(layout, ", ")
					}
					for _, run := range sliceRuns {
						p.slice(m, run)
					}
				})
			}
		}
	}
}

// slice starts a run and compares what is there with what is to be there.
func (p *project) slice(m *target, run sliceRun) {
	p.t.Helper()
	text := "id,region,dt\n"
	var rows []sliceRow
	for _, o := range run.orders {
		id, region, _ := strings.Cut(o, " ")
		rows = append(rows, sliceRow{id, region, run.dt})
		text += id + "," + region + "," + run.dt + "\n"
	}
	p.write("landing/"+run.dt+".csv", text)
	args := dayArgs(run.dt)
	if m.mode == "append" {
		args = append(args, "--rerun")
	}
	p.run(args...).must(p.t, m.run(run.dt, rows))
	same(p.t, run.what, p.rows("lake/orders"), m.read(p.format))
	for _, name := range p.dataFiles("lake/orders") {
		if got := strings.Count(name, "/"); got != len(m.columns) {
			p.t.Fatalf("%s: %s lies %d folders deep, want %d", run.what, name, got, len(m.columns))
		}
	}
}

// A row with the day of another batch replaces that day, and is told of.
func TestRowsOutsideTheSlice(t *testing.T) {
	p := newProject(t, strings.NewReplacer("MODE", "overwrite_partitions", "LAYOUT", "dt, region", "FORMAT", "parquet").Replace(slicesPipeline))
	p.write("landing/2026-01-01.csv", "id,region,dt\n1,eu,2026-01-01\n2,us,2026-01-01\n")
	if r := p.runDay("2026-01-01").must(t, 0); strings.Contains(r.stderr, "outside") {
		t.Errorf("nothing is outside the slice: %s", r.stderr)
	}
	p.write("landing/2026-01-02.csv", "id,region,dt\n3,eu,2026-01-02\n4,us,2026-01-01\n")
	p.runDay("2026-01-02").must(t, 0).says(t, "task write, output orders: 1 partition outside the slice dt=2026-01-02, which the variables declare, had rows in the result, and was replaced too: dt=2026-01-01/region=us")
	same(t, "rows", p.rows("lake/orders"), []string{`{"dt": "2026-01-01", "id": "1", "region": "eu"}`, `{"dt": "2026-01-01", "id": "4", "region": "us"}`, `{"dt": "2026-01-02", "id": "3", "region": "eu"}`})
}
