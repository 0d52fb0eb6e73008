package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// checkedPipeline has a place for data checks; to: bad takes rows.
const checkedPipeline = `name: checked
variables:
  dt: {type: date, required: true}
tasks:
  clean_orders:
    inputs:
      raw: {format: csv, path: "landing/{{ dt }}.csv", columns: {id: bigint, country: varchar, amount: "decimal(9,2)"}}
    transform:
      orders: SELECT *, $dt AS dt FROM raw
    expect:
      orders:
CHECKS
    outputs:
      orders: {format: parquet, path: lake/orders, mode: MODE}
`

const takesBad = "      bad: {format: parquet, path: lake/bad, mode: MODE}\n"

// newChecked is a project with these checks, a line each, and a good day.
func newChecked(t *testing.T, mode, checks, more string) *project {
	t.Helper()
	text := strings.Replace(checkedPipeline, "CHECKS", indented(checks), 1) + more
	p := newProject(t, strings.ReplaceAll(text, "MODE", mode))
	p.write("landing/2026-01-01.csv", "id,country,amount\n1,de,10.00\n2,fr,20.00\n")
	return p
}

func indented(checks string) string {
	var lines []string
	for line := range strings.Lines(checks) {
		lines = append(lines, "        - "+strings.TrimSpace(line))
	}
	return strings.Join(lines, "\n")
}

// order is a row of an output as a foreign reader finds it.
func order(id, country, amount, dt string, checks ...string) string {
	row := map[string]any{"id": id, "country": country, "amount": amount, "dt": dt}
	for key, value := range row {
		if value == "" {
			row[key] = nil
		}
	}
	if checks != nil {
		row["_check"] = checks[0]
	}
	var text strings.Builder
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(row)
	return strings.NewReplacer(`":`, `": `, `,"`, `, "`).Replace(strings.TrimSpace(text.String()))
}

// kept is what the document of a day's commit says of the checks.
func (p *project) kept(day string) (all []string) {
	p.t.Helper()
	finished, _ := p.document("clean_orders", day)["finished"].(map[string]any)
	checks, _ := finished["checks"].([]any)
	for _, c := range checks {
		m := c.(map[string]any)
		all = append(all, fmt.Sprint(m["relation"], " ", m["check"], " ", m["severity"], " ", m["passed"], " ", m["rows"], " ", m["broken"]))
	}
	return all
}

const badDay = "id,country,amount\n1,de,10.00\n1,de,11.00\n,it,-5.00\n4,fr,\n"

// A check of severity fail that is broken ends the task with 3, a line for each such check, and leaves everything as it was:
// every file, _SUCCESS, and a batch that was finished. When the rows are mended, the run goes on.
func TestAFailedCheckLandsNothing(t *testing.T) {
	for _, mode := range []string{"append", "overwrite"} {
		t.Run(mode, func(t *testing.T) {
			p := newChecked(t, mode, `{not_null: [id]}
				{unique: [id]}
				{between: {amount: {min: 0}}}
				{rows: {min: 1}}`, "")
			p.runDay("2026-01-01").must(t, 0)
			before, rows := p.files("lake"), p.rows("lake/orders")
			p.write("landing/2026-01-01.csv", badDay)
			r := p.runDay("2026-01-01", "--rerun").must(t, 3)
			var told []string
			for line := range strings.Lines(r.stderr) {
				if strings.HasPrefix(line, "ubunye: ") {
					told = append(told, strings.TrimSpace(strings.TrimPrefix(line, "ubunye: ")))
				}
			}
			const end = "; nothing became visible (mend what was read or the SQL and run again; severity: warn would land it all the same)"
			same(t, "what is told", told, []string{
				"pipeline.yaml:12:11: task clean_orders: check not_null: [id] of orders failed: 1 of 4 rows: (id=NULL, amount=-5.00)" + end,
				"pipeline.yaml:13:11: task clean_orders: check unique: [id] of orders failed: 2 of 4 rows: (id=1)" + end,
				"pipeline.yaml:14:11: task clean_orders: check between: {amount: {min: 0}} of orders failed: 1 of 4 rows: (id=NULL, amount=-5.00)" + end,
			})
			same(t, "files after the failure", p.files("lake"), before)
			same(t, "rows after the failure", p.rows("lake/orders"), rows)
			if doc := p.document("clean_orders", "2026-01-01"); held(doc) || !committed(doc) {
				t.Fatalf("held %v, committed %v", held(doc), committed(doc))
			}
			if left := p.dataFiles(".ubunye/staging"); len(left) != 0 {
				t.Fatalf("staging is left: %v", left)
			}
			p.write("landing/2026-01-01.csv", "id,country,amount\n7,de,0.00\n,,\n")
			p.runDay("2026-01-01", "--rerun").must(t, 3)
			p.write("landing/2026-01-01.csv", "id,country,amount\n7,de,0.00\n8,,\n")
			p.runDay("2026-01-01", "--rerun").must(t, 0)
			same(t, "rows of the mended day", p.rows("lake/orders"), []string{order("7", "de", "0.00", "2026-01-01"), order("8", "", "", "2026-01-01")})
			same(t, "the record", p.kept("2026-01-01"), []string{"orders not_null: [id] fail true 2 <nil>", "orders unique: [id] fail true 2 <nil>",
				"orders between: {amount: {min: 0}} fail true 2 <nil>", "orders rows: {min: 1} fail true 2 <nil>"})
		})
	}
}

// The first run of a batch whose check fails leaves no folder at all, and the batch free.
func TestAFailedCheckOfAFirstRun(t *testing.T) {
	p := newChecked(t, "append", `{rows: {min: 3, max: 5}}`, "")
	p.runDay("2026-01-01").must(t, 3).says(t, "check rows: {min: 3, max: 5} of orders failed: 2 rows, fewer than 3")
	if found := p.files("lake"); len(found) != 0 {
		t.Fatalf("after the failure: %v", found)
	}
	doc := p.document("clean_orders", "2026-01-01")
	if held(doc) || committed(doc) || !strings.Contains(fmt.Sprint(doc["tried"]), "rows: {min: 3, max: 5}") {
		t.Fatalf("document: %v", doc)
	}
}

// A check of severity warn is said, lands, and is kept; each check is an event.
func TestABrokenCheckThatWarns(t *testing.T) {
	p := newChecked(t, "append", `{not_null: [id], severity: warn}
		{one_of: {country: [de, fr]}, severity: warn}
		{columns: {id: bigint, country: any, amount: "decimal(9,2)", dt: date}}
		{rows: {max: 100}, severity: warn}`, "")
	p.write("landing/2026-01-02.csv", badDay)
	p.runDay("2026-01-02").must(t, 0).says(t,
		"warning: pipeline.yaml:12:11: task clean_orders: check not_null: [id] of orders failed: 1 of 4 rows: (id=NULL, country=it); the task goes on",
		"warning: pipeline.yaml:13:11: task clean_orders: check one_of: {country: [de, fr]} of orders failed: 1 of 4 rows: (id=NULL, country=it); the task goes on")
	if got := len(p.rows("lake/orders")); got != 4 {
		t.Fatalf("%d rows, want all 4", got)
	}
	want := []string{"orders not_null: [id] warn false 4 1", "orders one_of: {country: [de, fr]} warn false 4 1",
		`orders columns: {id: bigint, country: any, amount: "decimal(9,2)", dt: date} fail true 0 <nil>`, "orders rows: {max: 100} warn true 4 <nil>"}
	same(t, "the record", p.kept("2026-01-02"), want)

	r := p.runDay("2026-01-02", "--rerun", "--json").must(t, 0)
	var events []string
	for line := range strings.Lines(r.stdout) {
		var e struct {
			Event, Relation, Check, Severity, Message string
			Passed                                    bool
			Rows, Broken                              *int64
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		if e.Event != "check_done" {
			continue
		}
		if e.Passed != (e.Message == "") {
			t.Errorf("passed %v, and says %q", e.Passed, e.Message)
		}
		number := func(n *int64) any {
			if n == nil {
				return "-"
			}
			return *n
		}
		events = append(events, fmt.Sprint(e.Relation, " ", e.Check, " ", e.Severity, " ", e.Passed, " ", number(e.Rows), " ", number(e.Broken)))
	}
	same(t, "events", events, []string{"orders not_null: [id] warn false 4 1", "orders one_of: {country: [de, fr]} warn false 4 1",
		`orders columns: {id: bigint, country: any, amount: "decimal(9,2)", dt: date} fail true - -`, "orders rows: {max: 100} warn true 4 0"})
}

const quarantines = `{not_null: [id], severity: quarantine, to: bad}
	{unique: [id], severity: quarantine, to: bad}
	{between: {amount: {min: 0}}, severity: quarantine, to: bad}
	{rows: {min: 1, max: 2}}`

// Rows that break a check go to their own output in the same commit, with what they break; every other row goes on, once.
// A rerun of both gives the same.
func TestQuarantineLandsBoth(t *testing.T) {
	for _, mode := range []string{"append", "overwrite"} {
		t.Run(mode, func(t *testing.T) {
			p := newChecked(t, mode, quarantines, takesBad)
			p.write("landing/2026-01-02.csv", badDay)
			for i, more := range [][]string{nil, {"--rerun"}, {"--rerun"}} {
				p.runDay("2026-01-02", more...).must(t, 0).says(t, "check unique: [id] of orders failed: 2 of 4 rows: (id=1); those rows are kept apart, for the output bad")
				what := fmt.Sprintf("after run %d: ", i+1)
				same(t, what+"good rows", p.rows("lake/orders"), []string{order("4", "fr", "", "2026-01-02")})
				bad := []string{order("1", "de", "10.00", "2026-01-02", "unique: [id]"), order("1", "de", "11.00", "2026-01-02", "unique: [id]"),
					order("", "it", "-5.00", "2026-01-02", "not_null: [id]; between: {amount: {min: 0}}")}
				slices.Sort(bad)
				same(t, what+"bad rows", p.rows("lake/bad"), bad)
				same(t, what+"the record", p.kept("2026-01-02"), []string{"orders not_null: [id] quarantine false 4 1", "orders unique: [id] quarantine false 4 2",
					"orders between: {amount: {min: 0}} quarantine false 4 1", "orders rows: {min: 1, max: 2} fail true 1 <nil>"})
			}
			before := p.files("lake")
			p.write("landing/2026-01-02.csv", "id,country,amount\n1,de,1.00\n1,de,2.00\n")
			p.runDay("2026-01-02", "--rerun").must(t, 3).says(t, "check rows: {min: 1, max: 2} of orders failed: 0 rows, fewer than 1")
			same(t, "files after a failure", p.files("lake"), before)
		})
	}
}

// Killed at every change from the first staged file on, then run again: the good rows and the bad ones are those of the
// input, each once.
func TestQuarantineIsOneCommit(t *testing.T) {
	model := newChecked(t, "append", quarantines, takesBad)
	model.write("landing/2026-01-02.csv", badDay)
	ops := model.trace(nil, dayArgs("2026-01-02")...)
	for n := len(ops); n > max(0, len(ops)-16); n-- {
		p := model.copy()
		r := p.runEnv([]string{fmt.Sprintf("UBUNYE_FAULT=kill:%d", n)}, dayArgs("2026-01-02")...).must(t, 137)
		good, bad := len(p.dataFiles("lake/orders")), len(p.dataFiles("lake/bad"))
		doc := p.document("clean_orders", "2026-01-02")
		if !committed(doc) && good+bad > 0 {
			t.Fatalf("kill %d: seen before the commit: %d good files, %d bad ones\n%s", n, good, bad, r.stderr)
		}
		p.runDay("2026-01-02", "--rerun").must(t, 0)
		if good, bad := p.rows("lake/orders"), p.rows("lake/bad"); len(good) != 1 || len(bad) != 3 {
			t.Fatalf("kill %d: %d good rows, %d bad ones, want 1 and 3", n, len(good), len(bad))
		}
	}
}

// Checks of an input, before any step reads it; other tasks read what was kept apart and what was not.
func TestQuarantineOfAnInput(t *testing.T) {
	p := newProject(t, `name: checked
variables: {dt: {type: date, required: true}}
tasks:
  load:
    inputs: {raw: {format: json, path: in.json}}
    transform:
      orders: SELECT id, 100 / CAST(id AS INTEGER) AS part FROM raw
    expect:
      raw: [{matches: {id: "[1-9][0-9]*"}, severity: quarantine, to: rejected}]
    reconcile:
      - {input: raw, output: orders, plus: [rejected], rows: equal}
    outputs:
      orders: {format: csv, path: lake/orders}
      copy: {from: raw, format: json, path: lake/copy}
      rejected: {format: json, path: lake/rejected}
  next:
    inputs: {bad: {from: load.rejected}, good: {from: load.orders}}
    transform:
      both: SELECT (SELECT count(*) FROM bad) AS bad, (SELECT sum(CAST(id AS INTEGER)) FROM good) AS good, (SELECT max(_check) FROM bad) AS why
    outputs: {both: {format: csv, path: lake/both}}
`)
	p.write("in.json", "{\"id\": \"1\"}\n{\"id\": \"x\"}\n{\"id\": \"25\"}\n{\"id\": \"\"}\n")
	p.run("run", "-c", "pipeline.yaml", "--dt", "2026-01-01").must(t, 0)
	p.format = "csv"
	same(t, "both", p.rows("lake/both"), []string{`{"bad": "2", "good": "26", "why": "matches: {id: \"[1-9][0-9]*\"}"}`})
	same(t, "orders", p.rows("lake/orders"), []string{`{"id": "1", "part": "100.0"}`, `{"id": "25", "part": "4.0"}`})
	p.format = "json"
	same(t, "copy", p.rows("lake/copy"), []string{`{"id": "1"}`, `{"id": "25"}`})
	same(t, "rejected", p.rows("lake/rejected"), []string{`{"_check": "matches: {id: \"[1-9][0-9]*\"}", "id": ""}`, `{"_check": "matches: {id: \"[1-9][0-9]*\"}", "id": "x"}`})
	// What is wrong with a relation that checks divide is told by the name that it has in the pipeline.
	p.write("in.json", `{"id": "1"`)
	p.run("run", "-c", "pipeline.yaml", "--dt", "2026-01-02").must(t, 4).says(t, "input raw: ")
}

// C055: duplicate keys are found before anything is written, in an empty folder too; the message has keys and their number.
func TestC055_DuplicateKeysAreNamed(t *testing.T) {
	p := newChecked(t, "append", `{unique: [id, country]}`, "")
	p.write("landing/2026-01-02.csv", "id,country,amount\n1,de,1\n1,de,2\n1,fr,3\n2,de,4\n3,de,5\n3,de,6\n3,de,7\n,de,8\n,de,9\n4,,1\n4,,1\n")
	p.runDay("2026-01-02").must(t, 3).says(t, "check unique: [id, country] of orders failed: 5 of 11 rows: (id=1, country=de), (id=3, country=de)")
	if found := p.files("lake"); len(found) != 0 {
		t.Fatalf("after the failure: %v", found)
	}
}

// Rows and sums that do not agree with what was read end the task when everything is staged, and land nothing.
func TestReconcile(t *testing.T) {
	const reconcile = `    reconcile:
      - {input: raw, output: orders, rows: equal}
      - {input: raw, output: orders, sum: amount, tolerance: 0.5}
`
	p := newChecked(t, "append", `{rows: {min: 1}}`, "")
	pipeline := strings.ReplaceAll(strings.Replace(strings.Replace(checkedPipeline, "CHECKS", `        - {rows: {min: 1}}`, 1), "    outputs:\n", reconcile+"    outputs:\n", 1), "MODE", "append")
	p.write("pipeline.yaml", pipeline)
	p.runDay("2026-01-01").must(t, 0)
	same(t, "the record", p.kept("2026-01-01"), []string{"orders rows: {min: 1} fail true 2 <nil>", "<nil> reconcile: {input: raw, output: orders, rows: equal} fail true 2 <nil>",
		"<nil> reconcile: {input: raw, output: orders, sum: amount, tolerance: 0.5} fail true 2 <nil>"})
	before := p.files("lake")
	p.write("pipeline.yaml", strings.Replace(pipeline, "FROM raw", "FROM raw WHERE id < 2", 1))
	p.runDay("2026-01-01", "--rerun").must(t, 3).says(t,
		"pipeline.yaml:14:9: task clean_orders: reconcile: {input: raw, output: orders, rows: equal} failed: 2 rows read, 1 to land: 1 lost; nothing became visible",
		"pipeline.yaml:15:9: task clean_orders: reconcile: {input: raw, output: orders, sum: amount, tolerance: 0.5} failed: the sum of amount is 30.00 in what was read, 10.00 in what is to land")
	same(t, "files after the failure", p.files("lake"), before)
	if left := p.dataFiles(".ubunye/staging"); len(left) != 0 {
		t.Fatalf("staging is left: %v", left)
	}
	p.write("pipeline.yaml", strings.NewReplacer("FROM raw", "FROM raw WHERE id < 2", "rows: equal", "max_lost: 1", "tolerance: 0.5", "severity: warn").Replace(pipeline))
	p.runDay("2026-01-01", "--rerun").must(t, 0).says(t, "warning: pipeline.yaml:15:9: task clean_orders: reconcile: {input: raw, output: orders, sum: amount} failed")
	same(t, "rows", p.rows("lake/orders"), []string{order("1", "de", "10.00", "2026-01-01")})
	p.write("pipeline.yaml", strings.Replace(pipeline, "sum: amount", "sum: amuont", 1))
	p.runDay("2026-01-01", "--rerun").must(t, 2).says(t, "pipeline.yaml:15:9", "column amuont", "did you mean amount?")
}

// What is wrong with a check is told by validate as far as the columns are known, else by the run, before anything lands.
func TestChecksThatCannotBeMade(t *testing.T) {
	for _, tt := range []struct {
		relation, check string
		early           bool
		says            []string
	}{
		{"raw", "{not_null: [idd]}", true, []string{"pipeline.yaml:12:11: task clean_orders: check not_null: [idd] of raw: column idd: there is no such column", "did you mean id?"}},
		{"raw", "{between: {amount: {min: 0.005}}}", true, []string{`column amount: "0.005" is not a DECIMAL(9,2)`}},
		{"raw", "{one_of: {id: [1, two]}}", true, []string{`column id: "two" is not a BIGINT`}},
		{"raw", "{matches: {id: x}}", true, []string{"only text can match a pattern"}},
		{"orders", `{matches: {country: "("}}`, true, []string{`"(" is not a regular expression`}},
		{"orders", "{columns: {id: bigintt}}", true, []string{"pipeline.yaml:12:22", "did you mean bigint?"}},
		{"orders", "{not_null: [idd]}", false, []string{"pipeline.yaml:12:11: task clean_orders: check not_null: [idd] of orders: column idd: there is no such column", "nothing became visible"}},
		{"orders", "{unique: [idd], severity: quarantine, to: bad}", false, []string{"pipeline.yaml:12:11", "check unique: [idd] of orders"}},
		{"orders", "{between: {dt: {max: 2026-02-30}}}", false, []string{`column dt: "2026-02-30" is not a DATE`}},
	} {
		more := ""
		if strings.Contains(tt.check, "quarantine") {
			more = takesBad
		}
		p := newChecked(t, "append", tt.check, more)
		text, err := os.ReadFile(p.path("pipeline.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		p.write("pipeline.yaml", strings.Replace(string(text), "    expect:\n      orders:", "    expect:\n      "+tt.relation+":", 1))
		exit := 0
		if tt.early {
			exit = 2
		}
		r := p.run("validate", "-c", "pipeline.yaml").must(t, exit)
		if tt.early {
			r.says(t, tt.says...)
		}
		p.runDay("2026-01-01").must(t, 2).says(t, tt.says...)
		if found := p.files("lake"); len(found) != 0 {
			t.Fatalf("%s: after the failure: %v", tt.check, found)
		}
	}
}

// A backfill goes on past a date whose check fails, and ends with 3.
func TestBackfillOverAFailedCheck(t *testing.T) {
	p := newChecked(t, "append", `{not_null: [id]}`, "")
	p.write("landing/2026-01-02.csv", badDay)
	p.write("landing/2026-01-03.csv", "id,country,amount\n3,de,3.00\n")
	s := p.backfill(3, backfillArgs("2026-01-01", "2026-01-03", "--keep-going")...)
	same(t, "dates", s.outcomes(), []string{"2026-01-01 landed 2 ", "2026-01-02 failed 0 CheckFailed", "2026-01-03 landed 1 "})
	same(t, "rows", p.rows("lake/orders"), []string{order("1", "de", "10.00", "2026-01-01"), order("2", "fr", "20.00", "2026-01-01"), order("3", "de", "3.00", "2026-01-03")})
}

// The page's pipeline runs, and says what the page says.
func TestChecksPage(t *testing.T) {
	page := blocks(t, "../docs/checks.md")
	if len(page) != 3 || page[0].language != "yaml" || page[1].language != "console" {
		t.Fatalf("blocks: %v", page)
	}
	p := newProject(t, page[0].text)
	p.write("landing/2026-01-01/a.csv", "id,country,amount\n1,de,10.00\n1,de,11.00\n,it,-5.00\n3,fr,\n4,,2.00\n")
	_, want, _ := strings.Cut(page[1].text, "\n")
	said := p.runDay("2026-01-01").must(t, 3).stderr
	for line := range strings.Lines(want) {
		if !strings.Contains(said, line) {
			t.Errorf("the run does not say %q:\n%s", line, said)
		}
	}
	p.write("landing/2026-01-01/a.csv", "id,country,amount\n1,de,10.00\n,it,-5.00\n3,it,\n4,,2.00\n")
	p.runDay("2026-01-01").must(t, 0).says(t, "check one_of: {country: [de, fr]} of orders failed: 1 of 3 rows: (id=3, country=it); the task goes on")
	same(t, "orders", p.rows("lake/orders"), []string{order("1", "de", "10.00", "2026-01-01"), order("4", "", "2.00", "2026-01-01"), order("3", "it", "", "2026-01-01")})
	p.format = "csv"
	same(t, "bad orders", p.rows("lake/bad_orders"), []string{`{"_check": "not_null: [id]", "amount": "-5.00", "country": "it", "dt": "2026-01-01", "id": ""}`})
}
