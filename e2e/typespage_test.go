package e2e

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

// refusedValues are what a format cannot hold, or what its readers would take for something else.
var refusedValues = []struct {
	what, sql string
	in        string // the formats that refuse it
}{
	{"`INTERVAL`", "INTERVAL 1 DAY", everywhere},
	{"`TIME WITH TIME ZONE`", "TIMETZ '10:00:00+02'", everywhere},
	{"`UNION`", "union_value(k := 1)", everywhere},
	{"`DATE 'infinity'`", "DATE 'infinity'", everywhere},
	{"`TIMESTAMP '-infinity'`", "TIMESTAMP '-infinity'", everywhere},
	{"`TIME '24:00:00'`", "TIME '24:00:00'", everywhere},
	{"`HUGEINT` of 39 digits", "CAST('170141183460469231731687303715884105727' AS HUGEINT)", "parquet"},
	{"`DATE` outside the years 1 to 9999", "DATE '12345-06-07'", "csv json"},
	{"`TIMESTAMP` outside them", "TIMESTAMP '0044-03-15 (BC) 00:00:00'", "csv json"},
	{"NaN", "CAST('nan' AS DOUBLE)", "json"},
	{"infinity", "CAST('-inf' AS FLOAT)", "json"},
	{"lists", "[1]", "csv"},
	{"structs", "{'a': 1}", "csv"},
	{"maps", "MAP {'k': 1}", "csv"},
}

// refusals runs a value through each format and gives what is said, by format; nothing is where one that holds the value has written it.
func refusals(t *testing.T, sql string) map[string]string {
	t.Helper()
	var b strings.Builder
	b.WriteString("name: refused\ntasks:\n")
	for _, f := range strings.Fields(everywhere) {
		fmt.Fprintf(&b, "  %s: {transform: {v: {sql_file: v.sql}}, outputs: {v: {format: %s, path: lake/%s}}}\n", f, f, f)
	}
	p := newProject(t, b.String())
	p.write("v.sql", "SELECT 1 AS id, "+sql+" AS v\n")
	r := p.run("run", "-c", "pipeline.yaml").must(t, 4)
	said := map[string]string{}
	for _, f := range strings.Fields(everywhere) {
		line := regexp.MustCompile("(?m)^.*task " + f + ", output v: (.*)$").FindStringSubmatch(r.stderr)
		landed := len(p.dataFiles("lake/"+f)) > 0
		if landed == (line != nil) || !landed && len(p.files("lake/"+f)) > 0 {
			t.Errorf("%s in %s: %q is visible, and it says\n%s", sql, f, p.files("lake/"+f), r.stderr)
		}
		if line != nil {
			said[f] = line[1]
		}
	}
	return said
}

const pageHead = `# Types

Written by a test (%[1]sgo test ./e2e -run TestTypes -update%[1]s) from what readers saw: a run wrote each type below to Parquet, CSV and JSON, with the values below and a NULL, and the files were read by pyarrow, polars and duckdb from PyPI, in the versions of [e2e/requirements.txt](../e2e/requirements.txt), and by ubunye itself. **A cell is the type that a reader has, and that every value was equal**, to the last digit and the sign of a zero, unless it says that it was not, and why.

Read by %[1]sfrom:%[1]s in another task, every value of every type comes back from every format; the test compares that too.

`

// The page says what readers saw, and is compared with what they see now.
func TestTypes(t *testing.T) {
	p := newTypes(t)
	var page bytes.Buffer
	fmt.Fprintf(&page, pageHead, "`")
	page.WriteString("## What was written\n\n| type | values |\n| --- | --- |\n")
	for _, c := range typeCases {
		var values []string
		for _, v := range c.values {
			values = append(values, "`"+v.sql+"`")
		}
		if values == nil {
			values = []string{"NULL alone"}
		}
		fmt.Fprintf(&page, "| `%s` | %s |\n", c.sql, strings.ReplaceAll(strings.Join(values, ", "), "|", `\|`))
	}
	for _, f := range formatPages {
		fmt.Fprintf(&page, "\n## %s\n\n%s\n\n| type | pyarrow | polars | duckdb | ubunye |\n| --- | --- | --- | --- | --- |\n", f.title, f.text)
		saw := map[string]map[string]seen{"ubunye": p.see("duckdb", "parquet", "lake/declared/"+f.name, f.name)}
		for _, r := range []string{"pyarrow", "polars", "duckdb"} {
			saw[r] = p.see(r, f.name, "lake/"+f.name, f.name)
		}
		again := p.see("pyarrow", "parquet", "lake/again/"+f.name, f.name)
		for _, c := range typeCases {
			if !c.holds(f.name) {
				continue
			}
			c.check(t, "parquet", "pyarrow", again[c.column])
			fmt.Fprintf(&page, "| `%s` |", c.sql)
			for _, r := range []string{"pyarrow", "polars", "duckdb", "ubunye"} {
				fmt.Fprintf(&page, " %s |", c.check(t, f.name, r, saw[r][c.column]))
			}
			page.WriteString("\n")
		}
	}
	page.WriteString("\n## What is refused\n\nBefore anything is visible, by the name of the output and of the column, which here is `v`.\n\n| value | format | what is said |\n| --- | --- | --- |\n")
	for _, refused := range refusedValues {
		said := refusals(t, refused.sql)
		for _, f := range strings.Fields(everywhere) {
			if strings.Contains(refused.in, f) != (said[f] != "") {
				t.Errorf("%s in %s: %q", refused.what, f, said[f])
			}
			if said[f] != "" {
				fmt.Fprintf(&page, "| %s | %s | %s |\n", refused.what, f, strings.ReplaceAll(said[f], "|", `\|`))
			}
		}
	}
	if *update {
		if err := os.WriteFile("../docs/types.md", page.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if old, err := os.ReadFile("../docs/types.md"); err != nil || !bytes.Equal(old, page.Bytes()) {
		t.Errorf("docs/types.md is not what readers see now (%v): run this test with -update", err)
	}
}

// formatPages are the formats, and what a person must know who reads their files.
var formatPages = []struct{ name, title, text string }{
	{"parquet", "Parquet", "The types stand in the files. `HUGEINT` and `UHUGEINT`, which every sum of integers is, are stored as decimals of 38 digits; `BIGNUM`, `BIT`, `ENUM` and `JSON` as text; a list of a fixed length as a list; `TIMESTAMP_S` in microseconds, because Parquet has no seconds. A `UUID` is 16 bytes, which not every reader spells as one. Column statistics cover all rows, so a filter on them finds every row that it matches."},
	{"csv", "CSV", "Readers were told the type in the cell, because text has none; and that only a bare nothing is NULL (pyarrow: `null_values=[\"\"], strings_can_be_null=True, quoted_strings_can_be_null=False`; duckdb: `allow_quoted_nulls=false`; ubunye: `quoted_null: false`). `BLOB` is base64 everywhere. The files are as RFC 4180 says, but that lines end in a line feed alone, which spreadsheets and Python's strict `csv` module take too; UTF-8 without a byte order mark. A text that begins with `=` is written as it is: spreadsheets take it for a formula, so do not open files of strangers' texts in one."},
	{"json", "JSON", "Readers were told the type in the cell, where they take one. `BLOB` is base64; dates and times are text as RFC 3339 spells it; the keys of a map are text."},
}
