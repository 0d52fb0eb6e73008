package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"
)

// salesPipeline appends the orders of a day to a folder with a partition a day.
const salesPipeline = `name: sales
variables:
  dt: {type: date, required: true}
tasks:
  clean_orders:
    inputs:
      raw:
        format: csv
        path: landing/{{ dt }}/*.csv
        columns: {id: bigint, dt: date, amount: "decimal(18,2)"}
    transform:
      orders: SELECT * FROM raw WHERE amount IS NOT NULL
    outputs:
      orders:
        format: parquet
        path: lake/orders
        partition_by: [dt]
`

// newSales is a project with salesPipeline and two days of data.
func newSales(t *testing.T) *project { t.Helper(); return newSalesIn(t, "parquet") }

// formats are those of the outputs. Compressed text is renamed while it is staged, which is more to go wrong.
var formats = []string{"parquet", "csv", "json"}

var formatOptions = map[string]string{"parquet": "{}", "csv": "{compression: gzip}", "json": "{compression: zstd}"}

// newSalesIn is newSales with another format of the output.
func newSalesIn(t *testing.T, format string) *project {
	t.Helper()
	p := newProject(t, strings.Replace(salesPipeline, "format: parquet", "format: "+format+"\n        options: "+formatOptions[format], 1))
	p.format = format
	p.write("landing/2026-01-01/a.csv", "id,dt,amount\n1,2026-01-01,10.00\n2,2026-01-01,20.50\n9007199254740993,2026-01-01,0.01\n")
	p.write("landing/2026-01-02/a.csv", "id,dt,amount\n3,2026-01-02,30.00\n")
	return p
}

func (p *project) runDay(day string, more ...string) result {
	p.t.Helper()
	return p.run(dayArgs(day, more...)...)
}

func dayArgs(day string, more ...string) []string {
	return append([]string{"run", "-c", "pipeline.yaml", "--dt", day}, more...)
}

// salesRows are the rows that the days given have, as Python reads them from the CSV files.
func (p *project) salesRows(days ...string) []string {
	p.t.Helper()
	var all []string
	for _, day := range days {
		all = append(all, p.csvRows("landing/"+day+"/a.csv")...)
	}
	sort.Strings(all)
	return all
}

// documents reads the newest generation of every batch's document.
func (p *project) documents() (all []map[string]any) {
	p.t.Helper()
	folders, err := filepath.Glob(p.path(".ubunye/batches/*/*/*"))
	if err != nil {
		p.t.Fatal(err)
	}
	for _, folder := range folders {
		generations, _ := filepath.Glob(folder + "/*.json")
		if len(generations) == 0 {
			continue
		}
		sort.Strings(generations)
		data, err := os.ReadFile(generations[len(generations)-1])
		if err != nil {
			p.t.Fatal(err)
		}
		var doc map[string]any
		if err := json.Unmarshal(data, &doc); err != nil {
			p.t.Fatalf("%s: %v", folder, err)
		}
		all = append(all, doc)
	}
	return all
}

// document is a task's only batch document, or the one whose variables hold value; nil when there is none.
func (p *project) document(task, value string) map[string]any {
	p.t.Helper()
	var found map[string]any
	for _, doc := range p.documents() {
		batch, _ := doc["batch"].(map[string]any)
		if batch["task"] != task || value != "" && !strings.Contains(fmt.Sprint(batch["variables"]), value) {
			continue
		}
		if found != nil {
			p.t.Fatalf("several documents for task %s", task)
		}
		found = doc
	}
	return found
}

// held tells whether a batch has a holder.
func held(doc map[string]any) bool { return doc != nil && doc["holder"] != nil }

// committed tells whether a batch is finished.
func committed(doc map[string]any) bool { return doc != nil && doc["finished"] != nil }
