package e2e

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

// hellishTexts are values that have broken folder names, URLs, shells and file systems.
var hellishTexts = []string{
	"plain", "a b", "a/b", "/", "a:b", "a%b", "a%20b", "%2F", "%", "a=b", "p=x", "a+b", "a#b", "a&b", "R&D", "a?b", "(beta)", "[x]", "{y}", "é", "e\u0301", "日本", "😀", "..", ".", "...",
	`a\b`, `a"b`, "a'b", " lead", "trail ", "   ", "a*b", "~", "_under", ".dot", "line\nbreak", "cr\rlf\r\n", "tab\tx", "\x01", "-5", "007", "1e3", "true", "2026-01-31", "a,b;c", "<>|", "C:", "CON", "nul.txt", "$dt", "{{ dt }}", "`x`",
	"\u00a0", "part-1.parquet", "_SUCCESS", "x.staged", "NULLS", "None", "nan", strings.Repeat("x", 253), strings.Repeat("😀", 21),
}

// column is what a reader makes of one column of a folder; folders: which stands in the names of folders.
func (p *project) column(reader, kind, folder, name, sql string, folders bool) seen {
	p.t.Helper()
	rows := foreign.read(p.t, map[string]any{"reader": reader, "kind": kind, "path": p.path(folder), "columns": [][2]string{{name, sql}}, "folders": folders})
	var s seen
	if err := json.Unmarshal([]byte(rows[0]), &s); err != nil {
		p.t.Fatal(err)
	}
	return s
}

// readsFolders tells the readers that read the names of folders above files of a format.
func readsFolders(format string) []string {
	if format == "parquet" {
		return []string{"pyarrow", "polars", "duckdb"}
	}
	return []string{"pyarrow", "duckdb"} // polars: Parquet alone
}

// wantColumn fails the test unless each reader has the values, in the order of id.
func (p *project) wantColumn(format, folder, sql string, want []any) {
	p.t.Helper()
	for _, reader := range readsFolders(format) {
		got := p.column(reader, format, folder, "p", sql, true)
		if got.Error != "" || !reflect.DeepEqual(got.Values, want) {
			p.t.Errorf("%s of %s, by %s: %s\n got %q (%s)\nwant %q", format, sql, reader, got.Error, got.Values, got.Type, want)
		}
	}
}

// partitioned is a pipeline that writes raw by p to each format.
func partitioned(mode string) string {
	var b strings.Builder
	b.WriteString("name: parts\ntasks:\n  t:\n    inputs:\n      raw: {format: csv, path: in.csv, columns: {id: bigint, p: varchar}, options: {quoted_null: false}}\n    transform:\n      v: {sql_file: v.sql}\n    outputs:\n")
	for _, f := range strings.Fields(everywhere) {
		fmt.Fprintf(&b, "      %s: {from: v, format: %s, path: lake/%s, mode: %s, partition_by: [p]}\n", f, f, f, mode)
	}
	return b.String()
}

// writeTexts writes in.csv, with an id from 1 for each text.
func (p *project) writeTexts(texts []string) {
	p.t.Helper()
	var b strings.Builder
	w := csv.NewWriter(&b)
	rows := [][]string{{"id", "p"}}
	for i, v := range texts {
		rows = append(rows, []string{strconv.Itoa(i + 1), v})
	}
	if err := w.WriteAll(rows); err != nil {
		p.t.Fatal(err)
	}
	p.write("in.csv", b.String())
}

// C067: every value comes back byte for byte in every reader, and a second run replaces each partition and no other.
func TestC067_PartitionValuesComeBackInEveryReader(t *testing.T) {
	p := newProject(t, partitioned("overwrite_partitions"))
	// encoding/csv would write "\r\n" in a value as "\n".
	var pairs []string
	want := []any{}
	for i, v := range hellishTexts {
		quoted := "'" + strings.NewReplacer("'", "''", "\r", "' || chr(13) || '", "\n", "' || chr(10) || '", "\x01", "' || chr(1) || '", "{{", "{' || '{").Replace(v) + "'"
		pairs = append(pairs, fmt.Sprintf("(%d, %s)", i+1, quoted))
		want = append(want, v)
	}
	p.write("in.csv", "id,p\n1,x\n")
	values := "SELECT CAST(id AS BIGINT) AS id, p FROM (VALUES " + strings.Join(pairs, ",\n") + ") AS t(id, p)\n"
	p.write("v.sql", values)
	p.run("run", "-c", "pipeline.yaml").must(t, 0)
	for _, f := range strings.Fields(everywhere) {
		p.wantColumn(f, "lake/"+f, "VARCHAR", want)
		if n := len(p.dataFiles("lake/" + f)); n != len(want) {
			t.Errorf("%s: %d files, want one for each of %d values", f, n, len(want))
		}
	}
	if above, err := os.ReadDir(p.dir); err != nil || len(above) != 5 { // the pipeline, its data, its SQL, the lake and the ledger
		t.Errorf("a value has left the output: %v (%v)", above, err)
	}
	// Again, each value with another id: every partition is replaced, none is added.
	p.write("v.sql", strings.Replace(values, "CAST(id AS BIGINT)", "CAST(id + 1000 AS BIGINT)", 1))
	p.run("run", "-c", "pipeline.yaml").must(t, 0)
	for _, f := range strings.Fields(everywhere) {
		p.wantColumn(f, "lake/"+f, "VARCHAR", want)
		if n := len(p.dataFiles("lake/" + f)); n != len(want) {
			t.Errorf("%s after the second run: %d files, want %d", f, n, len(want))
		}
	}
}

// C069, and partition columns of other types: NULL is the marker that readers know, and NULL of the right type for them.
func TestC069_PartitionsOfEveryTypeAndNULL(t *testing.T) {
	for _, c := range []struct {
		sql    string
		values []string
	}{
		{"INTEGER", []string{"7", "-7", "0"}}, {"BIGINT", []string{"9223372036854775807"}}, {"DECIMAL(38,10)", []string{"-9999999999999999999999999999.9999999999", "0.5000000000"}},
		{"DATE", []string{"2026-01-31", "0001-01-01", "9999-12-31"}}, {"BOOLEAN", []string{"true", "false"}},
		{"TIMESTAMP", []string{"2026-03-29 02:30:00", "1969-12-31 23:59:59.999999", "0001-01-01 00:00:00"}},
		{"VARCHAR", []string{"x"}},
	} {
		t.Run(c.sql, func(t *testing.T) {
			p := newProject(t, partitioned("overwrite"))
			p.writeTexts(append(c.values, ""))
			p.write("in.csv", strings.ReplaceAll(readFile(t, p.path("in.csv")), `""`, ""))
			p.write("v.sql", "SELECT id, CAST(p AS "+c.sql+") AS p FROM raw\n")
			p.run("run", "-c", "pipeline.yaml").must(t, 0)
			want := []any{}
			for _, v := range c.values {
				want = append(want, v)
			}
			want = append(want, nil)
			for _, f := range strings.Fields(everywhere) {
				p.wantColumn(f, "lake/"+f, c.sql, want)
				if found := p.files("lake/" + f); !strings.Contains(strings.Join(found, " "), "p=__HIVE_DEFAULT_PARTITION__/") {
					t.Errorf("%s: NULL is in none of %q", f, found)
				}
			}
		})
	}
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// C070: what readers would take for NULL, or what does not fit into a name, is refused before anything is visible.
func TestC070_PartitionValuesThatAreRefused(t *testing.T) {
	for name, c := range map[string]struct{ value, says string }{
		"empty text":         {"''", "column p: the empty text cannot name a partition"},
		"marker of NULL":     {"'__HIVE_DEFAULT_PARTITION__'", "column p: the text __HIVE_DEFAULT_PARTITION__ cannot name a partition"},
		"text NULL":          {"'NULL'", "column p: the text NULL cannot name a partition"},
		"text null":          {"'null'", "column p: the text null cannot name a partition"},
		"254 characters":     {"repeat('x', 254)", "its folder's name would have 256 bytes, and 255 is the most"},
		"300 characters":     {"repeat('x', 300)", "its folder's name would have 302 bytes, and 255 is the most"},
		"100 emoji":          {"repeat('😀', 100)", "its folder's name would have 1202 bytes, and 255 is the most"},
		"infinite date":      {"DATE 'infinity'", "column p: infinity lies outside the years 1 to 9999"},
		"infinite timestamp": {"TIMESTAMP '-infinity'", "column p: -infinity lies outside the years 1 to 9999"},
		"year 12345":         {"DATE '12345-06-07'", "column p: 12345-06-07 lies outside the years 1 to 9999"},
		"double":             {"CAST(0.1 AS DOUBLE)", "column p: a column of type DOUBLE cannot name folders"},
		"list":               {"[1]", "column p: a column of type INTEGER[] cannot name folders"},
		"binary":             {"CAST('x' AS BLOB)", "column p: a column of type BLOB cannot name folders"},
		"interval":           {"INTERVAL 1 DAY", "column p: a column of type INTERVAL cannot name folders"},
	} {
		for _, f := range strings.Fields(everywhere) {
			t.Run(name+" in "+f, func(t *testing.T) {
				p := newProject(t, "name: refused\ntasks:\n  t:\n    transform: {v: {sql_file: v.sql}}\n    outputs:\n      v: {format: "+f+", path: lake/v, partition_by: [p]}\n")
				p.write("v.sql", "SELECT i AS id, CASE WHEN i = 5 THEN "+c.value+" END AS p FROM range(9) t(i)\n")
				p.run("run", "-c", "pipeline.yaml").must(t, 4).says(t, c.says, "output v", "nothing became visible")
				if left := append(p.files("lake"), p.files(".ubunye/staging")...); len(left) != 0 {
					t.Errorf("left: %q", left)
				}
			})
		}
	}
}

// C082: a column whose folders readers would miss, or find under another name, is refused with the pipeline file.
func TestC082_PartitionColumnsThatCannotNameFolders(t *testing.T) {
	for _, name := range []string{"a b", "a/b", "a=b", `a"b`, "Größe", "😀", "_x", ".x", "..", "__index_level_0__"} {
		p := newProject(t, "name: refused\ntasks:\n  t:\n    transform: {v: {sql_file: v.sql}}\n    outputs:\n      v: {format: parquet, path: lake/v, partition_by: ["+strconv.Quote(name)+"]}\n")
		p.write("v.sql", "SELECT 1 AS id, 1 AS \""+strings.ReplaceAll(name, `"`, `""`)+"\"\n")
		p.run("run", "-c", "pipeline.yaml").must(t, 2).says(t, "a column called "+strconv.Quote(name)+" cannot name folders", "pipeline.yaml:6:")
		if left := p.files("lake"); len(left) != 0 {
			t.Errorf("%q left %q", name, left)
		}
	}
	for _, name := range []string{"select", "UPPER", "a.b", "1", "x_1", "a-b"} {
		p := newProject(t, "name: kept\ntasks:\n  t:\n    transform: {v: {sql_file: v.sql}}\n    outputs:\n      v: {format: parquet, path: lake/v, partition_by: ["+strconv.Quote(name)+"]}\n")
		p.write("v.sql", "SELECT CAST(1 AS BIGINT) AS id, 'x' AS \""+name+"\"\n")
		p.run("run", "-c", "pipeline.yaml").must(t, 0)
		for _, reader := range readsFolders("parquet") {
			if got := p.column(reader, "parquet", "lake/v", name, "VARCHAR", reader != "duckdb"); got.Error != "" || !reflect.DeepEqual(got.Values, []any{"x"}) {
				t.Errorf("%q by %s: %+v", name, reader, got)
			}
		}
	}
}
