package e2e

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// hellishNames are names of columns, one of which is 300 characters long.
var hellishNames = []string{
	"a b", " lead", "trail ", "a/b", "a=b", "a%b", "a%20b", `a"b`, "a'b", `a\b`, "a.b", "..", "a:b", "a,b", "a;b", "tab\tx", "line\nbreak", "cr\rx", "{x}", "[0]", "$dt",
	"Code région", "日本", "😀", "UPPER", "select", "null", "NaN", "1", "_x", ".x", "__index_level_0__", "id_1", strings.Repeat("x", 300),
}

// namesThatDiffer are those of which a reader has its own idea, by format and reader.
var namesThatDiffer = map[string][]string{
	"csv polars": {`a"b`},             // it leaves the doubled quotes of a header as they are
	"csv duckdb": {" lead", "trail "}, // it cuts white space off
}

// C082: a name of a column comes back as it is.
func TestC082_ColumnNamesComeBackInEveryReader(t *testing.T) {
	var b, items strings.Builder
	b.WriteString("name: names\ntasks:\n  t:\n    transform: {v: {sql_file: v.sql}}\n    outputs:\n")
	for _, f := range strings.Fields(everywhere) {
		fmt.Fprintf(&b, "      %s: {from: v, format: %s, path: lake/%s}\n", f, f, f)
	}
	var columns [][2]string
	for i, name := range hellishNames {
		fmt.Fprintf(&items, ", CAST(%d AS INTEGER) AS \"%s\"", i, strings.ReplaceAll(name, `"`, `""`))
		columns = append(columns, [2]string{name, "INTEGER"})
	}
	p := newProject(t, b.String())
	p.write("v.sql", "SELECT CAST(1 AS BIGINT) AS id"+items.String()+"\n")
	p.run("run", "-c", "pipeline.yaml").must(t, 0)
	for _, f := range strings.Fields(everywhere) {
		for _, reader := range []string{"pyarrow", "polars", "duckdb"} {
			answers := foreign.read(t, map[string]any{"reader": reader, "kind": f, "path": p.path("lake/" + f), "columns": columns})
			var wrong []string
			for i, name := range hellishNames {
				var s seen
				if err := json.Unmarshal([]byte(answers[i]), &s); err != nil {
					t.Fatal(err)
				}
				if s.Column != name || s.Error != "" || !reflect.DeepEqual(s.Values, []any{fmt.Sprint(i)}) {
					wrong = append(wrong, name)
				}
			}
			same(t, f+" by "+reader+": names that differ", wrong, namesThatDiffer[f+" "+reader])
		}
	}
}

// C082: names that differ by case alone are refused with both; DuckDB would call one of them id_1.
func TestC082_NamesThatDifferByCaseAlone(t *testing.T) {
	for sql, says := range map[string]string{
		"SELECT 1 AS Id, 2 AS id":                           "the columns Id and id have one name for SQL",
		"SELECT a.*, b.id FROM raw a JOIN raw b USING (id)": "two columns are called id",
	} {
		p := newProject(t, strings.Replace(unnamedPipeline, "    outputs:\n      out: {from: raw, format: parquet,", "    transform:\n      out: "+sql+"\n    outputs:\n      out: {format: parquet,", 1))
		p.write("in.csv", "id\n1\n")
		p.run("run", "-c", "pipeline.yaml").must(t, 2).says(t, says, "give one of them another name with AS", "nothing became visible")
		if left := p.files("lake"); len(left) != 0 {
			t.Fatalf("something is visible: %v", left)
		}
	}
	p := newProject(t, unnamedPipeline)
	p.write("in.csv", "Id,id\n1,2\n")
	p.run("run", "-c", "pipeline.yaml").must(t, 4).says(t, "in.csv", "nothing became visible")
}
