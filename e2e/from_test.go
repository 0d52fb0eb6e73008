package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
	"testing"
)

// fromPipeline has a task that writes a day's orders to a folder of a format, and one that reads what this run wrote, and
// tells the type of every column.
const fromPipeline = `name: sales
variables:
  dt: {type: date, required: true}
tasks:
  report:                # first in the file, and run second
    inputs:
      o: {from: clean.orders, on_empty: ok}
    transform:
      report: |
        SELECT *, concat_ws(' ', typeof(id), typeof(code), typeof(amount), typeof(dt), typeof(ok), typeof(note), typeof(ts), typeof(big)) AS types FROM o
    outputs:
      report: {format: parquet, path: lake/report}
  clean:
    inputs:
      raw:
        format: csv
        path: landing/{{ dt }}.csv
        options: {quoted_null: false}
        columns: {id: bigint, code: varchar, amount: "decimal(18,2)", dt: date, ok: boolean, note: varchar, ts: timestamptz}
    transform:
      orders: SELECT *, CAST(id AS HUGEINT) * 1000000000000 AS big FROM raw
    outputs:
      orders: {format: FORMAT, path: lake/orders, MORE}
`

// reports are the rows of the report for a day, as pyarrow gives them.
func reports(day string) []string {
	const types = `"types": "BIGINT VARCHAR DECIMAL(18,2) DATE BOOLEAN VARCHAR TIMESTAMP WITH TIME ZONE HUGEINT"`
	if day == "2026-01-02" {
		return []string{`{"amount": "30.00", "big": "7000000000000", "code": "010", "dt": "2026-01-02", "id": "7", "note": null, "ok": "true", "ts": null, ` + types + `}`}
	}
	return []string{
		`{"amount": "10.00", "big": "1000000000000", "code": "007", "dt": "2026-01-01", "id": "1", "note": "", "ok": "true", "ts": "2026-01-01 09:00:00+00:00", ` + types + `}`,
		`{"amount": "20.50", "big": "9007199254740993000000000000", "code": null, "dt": "2026-01-01", "id": "9007199254740993", "note": null, "ok": "false", "ts": "2026-01-01 09:00:00.500000+00:00", ` + types + `}`,
	}
}

func newFrom(t *testing.T, format, more string) *project {
	t.Helper()
	p := newProject(t, strings.NewReplacer("FORMAT", format, "MORE", more).Replace(fromPipeline))
	p.write("landing/2026-01-01.csv", "id,code,amount,dt,ok,note,ts\n1,007,10.00,2026-01-01,true,\"\",2026-01-01T10:00:00+01:00\n9007199254740993,,20.50,2026-01-01,false,,2026-01-01T09:00:00.5Z\n")
	p.write("landing/2026-01-02.csv", "id,code,amount,dt,ok,note,ts\n7,010,30.00,2026-01-02,true,,\n")
	p.write("landing/2026-01-03.csv", "id,code,amount,dt,ok,note,ts\n")
	return p
}

// A task reads of another one exactly the rows that this run wrote, each value with its type, in every format and mode, flat
// or in partitions; what else is in the folder is not read.
func TestFromReadsWhatTheRunWrote(t *testing.T) {
	for _, format := range formats {
		for _, more := range []string{"mode: append", "mode: append, partition_by: [dt, code]", "mode: overwrite, partition_by: [code]", "mode: overwrite", "mode: overwrite_partitions, partition_by: [dt, ok]",
			"options: " + formatOptions[format]} {
			t.Run(format+" "+more, func(t *testing.T) {
				t.Parallel()
				p := newFrom(t, format, more)
				p.runDay("2026-01-01").must(t, 0)
				same(t, "report of the first day", p.rows("lake/report"), reports("2026-01-01"))
				p.write("lake/orders/part-stranger."+format, "not a row of ours")
				p.runDay("2026-01-02").must(t, 0)
				same(t, "both reports", p.rows("lake/report"), append(reports("2026-01-01"), reports("2026-01-02")...))
				p.runDay("2026-01-03").must(t, 0) // no rows, and with partitions no file
				same(t, "reports", p.rows("lake/report"), append(reports("2026-01-01"), reports("2026-01-02")...))
				p.runDay("2026-01-01", "--rerun").must(t, 0)
				same(t, "reports after a rerun", p.rows("lake/report"), append(reports("2026-01-01"), reports("2026-01-02")...))
			})
		}
	}
}

// A selection without the task that is read from is a mistake of the command line: nothing is read, nothing written.
func TestFromNeedsTheOtherTaskInTheSameRun(t *testing.T) {
	p := newFrom(t, "parquet", "mode: append")
	p.runDay("2026-01-01", "--task", "clean").must(t, 0)
	before := p.files(".")
	for _, verb := range []string{"run", "validate", "plan"} {
		p.run(verb, "-c", "pipeline.yaml", "--dt", "2026-01-01", "--task", "report").must(t, 2).oneLine(t).
			says(t, "pipeline.yaml:7:17: task report: input o reads what task clean writes in the same run, and that is not selected (add --task clean, or run without --task)")
	}
	same(t, "files after the refusals", p.files("."), before)
	// What is finished is refused, and the way on that is named works for both.
	r := p.runDay("2026-01-01", "--task", "clean", "--task", "report").must(t, 1).oneLine(t).says(t, "task clean: refused: batch dt=2026-01-01 is finished", "it is also what report needs, which reads what the same run wrote")
	p.paste(r)
	same(t, "report", p.rows("lake/report"), reports("2026-01-01"))
}

// paste runs the command that a refusal names.
func (p *project) paste(r result) {
	p.t.Helper()
	command := regexp.MustCompile(`to replace it: (.* run .*--rerun) ;`).FindStringSubmatch(r.stderr)
	if command == nil {
		p.t.Fatalf("no command in: %s", r.stderr)
	}
	p.shell("/nowhere", command[1]).must(p.t, 0)
}

// A task fails: what it was to write is not there, the other one's batch is finished. The next start goes on with the run:
// what is finished is kept, as long as what it read is unchanged, and the rest reads it.
func TestR46AReaderFails(t *testing.T) {
	p := newFrom(t, "csv", "partition_by: [dt]")
	good := strings.NewReplacer("FORMAT", "csv", "MORE", "partition_by: [dt]").Replace(fromPipeline)
	p.write("pipeline.yaml", strings.Replace(good, "SELECT *, concat_ws", "SELECT * REPLACE (CAST(code AS DATE) AS code), concat_ws", 1))
	p.runDay("2026-01-01").must(t, 4).says(t, "task report, output report: step report: ")
	if !committed(p.document("clean", "")) || committed(p.document("report", "")) || held(p.document("report", "")) {
		t.Fatal("clean is not finished, or report is, or is held")
	}
	same(t, "report", p.files("lake/report"), nil)
	p.write("pipeline.yaml", good)
	p.runDay("2026-01-01").must(t, 0).says(t, "continuing run 1 as attempt 2: clean is kept as finished ", " by attempt 1; not as they were in the attempt before: report")
	same(t, "report", p.rows("lake/report"), reports("2026-01-01"))
	if n := len(p.dataFiles("lake/orders")); n != 1 {
		t.Fatalf("%d files of orders", n)
	}
}

// A failing task cancels what reads from it and nothing else; the event names it.
func TestAFailedTaskCancelsItsReaders(t *testing.T) {
	p := newFrom(t, "parquet", "mode: append")
	p.write("landing/2026-01-01.csv", "id,code,amount,dt,ok,note,ts\nx,007,10.00,2026-01-01,true,,\n")
	text, err := os.ReadFile(p.path("pipeline.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	p.write("other.csv", "id\n1\n")
	p.write("pipeline.yaml", string(text)+"  other:\n    inputs: {r: {format: csv, path: other.csv}}\n    outputs: {r: {format: parquet, path: lake/other}}\n")
	p.runDay("2026-01-01", "--parallel", "2").must(t, 4).says(t, "report dt=2026-01-01: cancelled: task clean, whose output it depends on, failed")
	same(t, "other", p.rows("lake/other"), []string{`{"id": "1"}`})
	same(t, "files", p.files("lake/orders"), nil)
	same(t, "files", p.files("lake/report"), nil)
	p.runDay("2026-01-01", "--parallel", "0").must(t, 2).oneLine(t).says(t, "--parallel: parallel wants at least 1")
}

// The example of configs/orders, both days: good rows, bad rows, and what the second task made of them.
func TestOrders(t *testing.T) {
	p := newProject(t, "")
	for _, name := range []string{"pipeline.yaml", "landing/2026-01-05/eu.csv", "landing/2026-01-05/uk.csv", "landing/2026-01-06/eu.csv"} {
		data, err := os.ReadFile(filepath.Join("../configs/orders", name))
		if err != nil {
			t.Fatal(err)
		}
		p.write("orders/"+name, string(data))
	}
	p.env = []string{"FIXEDWIDTH_SHA256=" + p.built(fixedWidthModule, "fixedwidth/fixedwidth.wasm")}
	for _, day := range []string{"2026-01-05", "2026-01-06"} {
		p.run("run", "-c", "orders/pipeline.yaml", "--dt", day).must(t, 0)
	}
	order := func(day string, id int, country, product string, quantity int, price, total string) string {
		return fmt.Sprintf(`{"country": "%s", "dt": "%s", "order_id": "%d", "product": "%s", "quantity": "%d", "total": "%s", "unit_price": "%s"}`, country, day, id, product, quantity, total, price)
	}
	want := []string{order("2026-01-05", 1001, "DE", "desk lamp", 2, "39.90", "79.80"), order("2026-01-05", 1002, "FR", "notebook A5", 10, "3.20", "32.00"),
		order("2026-01-05", 1004, "DE", "office chair", 1, "249.00", "249.00"), order("2026-01-05", 2001, "GB", "pen, blue", 120, "0.85", "102.00"),
		order("2026-01-05", 2002, "GB", "office chair", 3, "249.00", "747.00"), order("2026-01-06", 1006, "AT", "office chair", 2, "249.00", "498.00"),
		order("2026-01-06", 1007, "DE", "pen, blue", 40, "0.85", "34.00")}
	sort.Strings(want)
	same(t, "orders", p.rows("orders/lake/orders"), want)
	p.format = "json"
	text := map[string]string{"order_id": "pa.string()", "problem": "pa.string()", "country": "pa.string()", "product": "pa.string()", "quantity": "pa.string()", "unit_price": "pa.string()"}
	same(t, "rejected", p.arrowRows("orders/lake/rejected", text), []string{
		`{"country": "AT", "dt": "2026-01-05", "order_id": "1005", "problem": "quantity is not positive", "product": "desk lamp", "quantity": "-1", "unit_price": "39,90"}`,
		`{"country": "FR", "dt": "2026-01-05", "order_id": "1003", "problem": "quantity is not a whole number", "product": "notebook A5", "quantity": "ten", "unit_price": "3,20"}`,
		`{"country": "GB", "dt": "2026-01-05", "order_id": "2001", "problem": "order_id occurs twice", "product": "pen, blue", "quantity": "120", "unit_price": "0,85"}`,
		`{"country": "GB", "dt": "2026-01-05", "order_id": "2003", "problem": "unit_price is not a number", "product": "notebook A5", "quantity": "5", "unit_price": "n/a"}`,
		`{"country": "GB", "dt": "2026-01-05", "order_id": null, "problem": "order_id is not a number", "product": "desk lamp", "quantity": "1", "unit_price": "39,90"}`})
	p.format = "csv"
	same(t, "by country", p.arrowRows("orders/lake/by_country", map[string]string{"country": "pa.string()", "orders": "pa.int64()", "pieces": "pa.int64()", "total": "pa.decimal128(12, 2)"}), []string{
		`{"country": "AT", "dt": "2026-01-06", "orders": "1", "pieces": "2", "total": "498.00"}`,
		`{"country": "DE", "dt": "2026-01-05", "orders": "2", "pieces": "3", "total": "328.80"}`,
		`{"country": "DE", "dt": "2026-01-06", "orders": "1", "pieces": "40", "total": "34.00"}`,
		`{"country": "FR", "dt": "2026-01-05", "orders": "1", "pieces": "10", "total": "32.00"}`,
		`{"country": "GB", "dt": "2026-01-05", "orders": "2", "pieces": "123", "total": "849.00"}`})
	same(t, "pages", p.lines("orders/lake/report"), []string{
		"GB               2     123      849.00", "DE               2       3      328.80", "FR               1      10       32.00", "rejected         5" + strings.Repeat(" ", 20),
		"AT               1       2      498.00", "DE               1      40       34.00", "rejected         0" + strings.Repeat(" ", 20)})
}

// Killed at any operation of a run of two tasks, what is read and what is made of it stay one: no report is to be seen without the
// orders that it was made of, and neither twice.
func TestFromKilledAtEveryOperation(t *testing.T) {
	t.Parallel()
	const step = 7
	setup := func(p *project) { p.runDay("2026-01-02").must(t, 0) }
	ops := newFrom(t, "json", "mode: append").trace(setup, dayArgs("2026-01-01")...)
	between := 0
	for k := 1; k <= len(ops); k += step {
		at := fmt.Sprintf("kill at %d (%v)", k, op(ops, k))
		p := newFrom(t, "json", "mode: append")
		setup(p)
		p.runEnv([]string{fmt.Sprintf("UBUNYE_FAULT=kill:%d", k)}, dayArgs("2026-01-01")...).must(t, 137)
		clean, report := committed(p.document("clean", "2026-01-01")), committed(p.document("report", "2026-01-01"))
		if report && !clean {
			t.Fatalf("%s: the report is finished and the orders are not", at)
		}
		if clean && !report {
			between++
		}
		p.runDay("2026-01-02").must(t, 1) // refused, and what was committed has landed
		p.format = ""
		want := reports("2026-01-02")
		if report {
			want = append(reports("2026-01-01"), want...)
		}
		same(t, at+": reports", p.rows("lake/report"), want)
		p.format = "json"
		n := 1
		if clean {
			n = 3
		}
		if got := len(p.rows("lake/orders")); got != n {
			t.Fatalf("%s: %d orders, want %d", at, got, n)
		}
		// the killed day again: what was committed counts as done (R30), and is read by the task that was not reached
		p.runDay("2026-01-01").must(t, 0)
		if got := len(p.rows("lake/orders")); got != 3 {
			t.Fatalf("%s: %d orders after the next start", at, got)
		}
		p.format = ""
		same(t, at+": reports after the next start", p.rows("lake/report"), append(reports("2026-01-01"), reports("2026-01-02")...))
	}
	if between == 0 {
		t.Fatal("no kill hit the time between the two commits")
	}
	t.Logf("%d operations, every %d; %d kills between the commits", len(ops), step, between)
}

// Two tasks that run side by side append to one folder that is not there yet; one that reads it by path finds both, and one
// that replaces it with what both wrote comes last.
func TestTasksShareAFolder(t *testing.T) {
	p := newProject(t, `name: shared
parallel: 3
tasks:
  a: {inputs: {r: {format: csv, path: a.csv}}, outputs: {r: {format: parquet, path: lake/x}}}
  b: {inputs: {r: {format: csv, path: b.csv}}, outputs: {r: {format: parquet, path: lake/x}}}
  c: {inputs: {r: {format: parquet, path: lake/x}}, outputs: {r: {format: parquet, path: lake/c}}}
  d: {inputs: {r: {from: a.r}, s: {from: b.r}}, transform: {o: SELECT -id AS id FROM r UNION ALL SELECT -id FROM s}, outputs: {o: {format: parquet, path: lake/x, mode: overwrite}}}
`)
	p.write("a.csv", "id\n1\n2\n")
	p.write("b.csv", "id\n3\n")
	p.run("run", "-c", "pipeline.yaml").must(t, 0)
	same(t, "read by path", p.rows("lake/c"), []string{`{"id": "1"}`, `{"id": "2"}`, `{"id": "3"}`})
	same(t, "replaced", p.rows("lake/x"), []string{`{"id": "-1"}`, `{"id": "-2"}`, `{"id": "-3"}`})
	if left := p.files(".ubunye/runs"); len(left) != 0 {
		t.Fatalf("a run that ended well left %v", left)
	}
}
