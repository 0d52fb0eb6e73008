package e2e

import (
	"os/exec"
	"reflect"
	"strings"
	"testing"
)

// nestedJSON has every emptiness that a nested value can have, and decimals of each size in lists.
const nestedJSON = `{"id":1,"l":[{"s":"a","n":1}],"d":[1.10,-2.25,null],"w":[-9999999999999999999999999999999999.9999],"m":{"k":1,"":null},"deep":[[{"x":[1,null]}]]}
{"id":2,"l":null,"d":null,"w":null,"m":null,"deep":null}
{"id":3,"l":[],"d":[],"w":[],"m":{},"deep":[]}
{"id":4,"l":[{"s":null,"n":null},null],"d":[null],"w":[null,0.0001],"m":{"k":null},"deep":[null,[],[null,{"x":null},{"x":[]}]]}
{"id":5,"l":[null,{"s":"","n":-1},{"s":null,"n":2}],"d":[-0.01],"w":[12345678901234567890.5],"m":{"ü":2147483647},"deep":[[{"x":[-1]},{"x":[2,3]}],[{"x":[4]}]]}
{"id":6}
`

type object = map[string]any

// C077: lists, structs and maps have the layout that all engines read, with NULL and the empty list told apart at every depth.
func TestC077_NestedValuesInEveryReader(t *testing.T) {
	p := loaded(t, "{format: json, path: in.json, columns: {id: bigint, l: 'STRUCT(s VARCHAR, n INTEGER)[]', d: 'DECIMAL(9,2)[]', w: 'DECIMAL(38,4)[]', m: 'MAP(VARCHAR, INTEGER)', deep: 'STRUCT(x BIGINT[])[][]'}}", in("in.json", nestedJSON))
	p.load().must(t, 0)
	x := func(values ...any) object { return object{"x": values} }
	for name, want := range map[string][]any{
		"l": {[]any{object{"s": "a", "n": "1"}}, nil, []any{}, []any{object{"s": nil, "n": nil}, nil}, []any{nil, object{"s": "", "n": "-1"}, object{"s": nil, "n": "2"}}, nil},
		"d": {[]any{"1.10", "-2.25", nil}, nil, []any{}, []any{nil}, []any{"-0.01"}, nil},
		"w": {[]any{"-9999999999999999999999999999999999.9999"}, nil, []any{}, []any{nil, "0.0001"}, []any{"12345678901234567890.5000"}, nil},
		"m": {object{"k": "1", "": nil}, nil, object{}, object{"k": nil}, object{"ü": "2147483647"}, nil},
		"deep": {[]any{[]any{x("1", nil)}}, nil, []any{}, []any{nil, []any{}, []any{nil, object{"x": nil}, object{"x": []any{}}}},
			[]any{[]any{x("-1"), x("2", "3")}, []any{x("4")}}, nil},
	} {
		for _, reader := range []string{"pyarrow", "polars", "duckdb"} {
			if got := p.column(reader, "parquet", "lake/out", name, "", false); got.Error != "" || !reflect.DeepEqual(got.Values, want) {
				t.Errorf("%s by %s: %s\n got %v (%s)\nwant %v", name, reader, got.Error, got.Values, got.Type, want)
			}
		}
	}
	same(t, "leaves", p.parquetSays("lake/out", `
g = f.metadata.row_group(0)
for c in map(g.column, range(g.num_columns)):
    print(c.path_in_schema, c.num_values)`), []string{
		"id 6", "l.list.element.s 9", "l.list.element.n 9", "d.list.element 8", "w.list.element 7", "m.key_value.key 7", "m.key_value.value 7", "deep.list.element.list.element.x.list.element 14"})
}

// C077: a struct without members, which no Parquet reader takes, is never written: its type is refused, and the object is kept as JSON.
func TestC077_ObjectsWithoutKeys(t *testing.T) {
	tryInputs(t, []inputCase{
		{name: "a column", input: "{format: json, path: in.json}", files: in("in.json", "{\"id\":1,\"e\":{}}\n{\"id\":2,\"e\":null}\n"), rows: []string{`{"e": "{}", "id": "1"}`, `{"e": null, "id": "2"}`}},
		{name: "a member", input: "{format: json, path: in.json}", files: in("in.json", `{"id":1,"e":{"c":{},"d":"x"}}`), rows: []string{`{"e": {"c": "{}", "d": "x"}, "id": "1"}`}},
		{name: "an element of lists", input: "{format: json, path: in.json}", files: in("in.json", `{"id":1,"e":[[],[{},null]]}`), rows: []string{`{"e": [[], ["{}", null]], "id": "1"}`}},
		{name: "beside one with keys", input: "{format: json, path: in.json}", files: in("in.json", "{\"id\":1,\"e\":{}}\n{\"id\":2,\"e\":{\"x\":\"y\"}}\n"),
			rows: []string{`{"e": {"x": "y"}, "id": "2"}`, `{"e": {"x": null}, "id": "1"}`}},
		{name: "a map", input: "{format: json, path: in.json, columns: {id: bigint, e: 'MAP(VARCHAR, INTEGER)'}}", files: in("in.json", `{"id":1,"e":{}}`), rows: []string{`{"e": [], "id": "1"}`}},
	})
	for _, typ := range []string{"STRUCT()", "STRUCT()[]", "STRUCT(a STRUCT())"} {
		p := loaded(t, "{format: json, path: in.json, columns: {id: bigint, e: '"+typ+"'}}", in("in.json", `{"id":1,"e":{}}`))
		p.load().must(t, 2).oneLine(t).says(t, "pipeline.yaml:5:", "column e", `"`+typ+`" is not a type`)
		same(t, "files that landed", p.files("lake"), nil)
	}
}

// parquetSays are the lines that Python prints of the only Parquet file of a folder, f.
func (p *project) parquetSays(folder, script string) []string {
	p.t.Helper()
	files := p.dataFiles(folder)
	if len(files) != 1 {
		p.t.Fatalf("files: %q", files)
	}
	said, err := exec.Command(python, "-c", "import sys, pyarrow.parquet as pq\nf = pq.ParquetFile(sys.argv[1])\n"+script, p.path(folder+"/"+files[0])).CombinedOutput()
	if err != nil {
		p.t.Fatalf("%v: %s", err, said)
	}
	return strings.Split(strings.TrimSpace(string(said)), "\n")
}

// C078: by default files have the encodings that every reader has known for years, whatever the types; others need an option.
func TestC078_ConservativeEncodings(t *testing.T) {
	p := newProject(t, `name: encodings
tasks:
  t:
    transform: {types: {sql_file: types.sql}, many: {sql_file: many.sql}, same: {sql_file: same.sql}}
    outputs:
      types: {format: parquet, path: lake/types}
      many: {format: parquet, path: lake/many}
      same: {format: parquet, path: lake/same}
`)
	p.write("types.sql", typesSteps("parquet"))
	p.write("many.sql", prunedRows)
	p.write("same.sql", "SELECT i AS id, 'x' || (i % 3) AS v, i % 2 = 0 AS b, 1.5 AS f, ['a', 'b'] AS l FROM range(200000) t(i)\n") // few values, many times
	p.run("run", "-c", "pipeline.yaml").must(t, 0)
	encodings := map[string]bool{}
	for _, folder := range []string{"types", "many", "same"} {
		lines := p.parquetSays("lake/"+folder, `
print(f.metadata.format_version)
for g in map(f.metadata.row_group, range(f.metadata.num_row_groups)):
    for c in map(g.column, range(g.num_columns)):
        print(c.path_in_schema.replace(" ", "_"), c.compression, *c.encodings)`)
		if lines[0] != "1.0" {
			t.Errorf("%s: format version %s", folder, lines[0])
		}
		for _, line := range lines[1:] {
			words := strings.Fields(line)
			if words[1] != "ZSTD" {
				t.Errorf("%s: %s", folder, line)
			}
			for _, encoding := range words[2:] {
				encodings[encoding] = true
				switch encoding {
				case "PLAIN", "RLE", "RLE_DICTIONARY", "PLAIN_DICTIONARY":
				default:
					t.Errorf("%s: %s", folder, line)
				}
			}
		}
	}
	if !encodings["PLAIN"] || !encodings["RLE_DICTIONARY"] && !encodings["PLAIN_DICTIONARY"] {
		t.Errorf("only %v: the files try too little", encodings)
	}
}
