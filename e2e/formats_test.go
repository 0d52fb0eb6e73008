package e2e

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// typesPipeline reads every type from csv or json and writes it to csv and json, in each way of compressing them.
const typesPipeline = `name: types
variables:
  n: {type: int, required: true}
tasks:
  copy:
    inputs:
      raw:
        format: FORMAT
        path: in.FORMAT
        columns: {i: bigint, d: "decimal(38,2)", x: double, ok: boolean, s: varchar, dt: date, ts: timestamp, tz: timestamptz}
    outputs:
      plain: {from: raw, format: csv, path: lake/plain, sort_by: [i]}
      gzip: {from: raw, format: csv, path: lake/gzip, partition_by: [dt], options: {compression: gzip}}
      zstd: {from: raw, format: csv, path: lake/zstd, options: {compression: zstd, quote: "'", delimiter: ";"}}
      lines: {from: raw, format: json, path: lake/lines, partition_by: [dt]}
      array: {from: raw, format: json, path: lake/array, options: {layout: array, compression: zstd}}
`

const typesCSV = `i,d,x,ok,s,dt,ts,tz
9007199254740993,123456789012345678901234567890.12,0.1,true,"a,""b""
c",2026-01-31,2026-01-31 23:59:59.5,2026-01-31 01:00:00+02:00
-1,-0.50,1e300,false,ä🎉,2026-02-01,1970-01-01 00:00:00,1970-01-01T00:00:00Z
`

const typesJSON = `[{"i":9007199254740993,"d":123456789012345678901234567890.12,"x":0.1,"ok":true,"s":"a,\"b\"\nc","dt":"2026-01-31","ts":"2026-01-31T23:59:59.5","tz":"2026-01-31T01:00:00+02:00"},
{"i":-1,"d":"-0.50","x":1e300,"ok":false,"s":"ä\ud83c\udf89","dt":"2026-02-01","ts":"1970-01-01 00:00:00","tz":"1970-01-01T00:00:00Z"}]`

// What is read from csv or json is what foreign readers find in csv and json.
func TestTextFormatsThroughForeignReaders(t *testing.T) {
	first := `"i": "9007199254740993", "ok": "true", "s": "a,\"b\"\nc"`
	second := `"i": "-1", "ok": "false", "s": "ä🎉"`
	csvRows := []string{
		`{"d": "-0.50", "dt": "2026-02-01", ` + second + `, "ts": "1970-01-01 00:00:00", "tz": "1970-01-01 00:00:00+00", "x": "1e+300"}`,
		`{"d": "123456789012345678901234567890.12", "dt": "2026-01-31", ` + first + `, "ts": "2026-01-31 23:59:59.5", "tz": "2026-01-30 23:00:00+00", "x": "0.1"}`}
	jsonRows := []string{
		`{"d": "-0.50", "dt": "2026-02-01", ` + second + `, "ts": "1970-01-01T00:00:00", "tz": "1970-01-01T00:00:00Z", "x": "1e+300"}`,
		`{"d": "123456789012345678901234567890.12", "dt": "2026-01-31", ` + first + `, "ts": "2026-01-31T23:59:59.5", "tz": "2026-01-30T23:00:00Z", "x": "0.1"}`}
	arrowRows := []string{
		`{"d": "-0.50", "dt": "2026-02-01", ` + second + `, "ts": "1970-01-01 00:00:00", "tz": "1970-01-01 00:00:00+00:00", "x": "1e+300"}`,
		`{"d": "123456789012345678901234567890.12", "dt": "2026-01-31", ` + first + `, "ts": "2026-01-31 23:59:59.500000", "tz": "2026-01-30 23:00:00+00:00", "x": "0.1"}`}
	types := map[string]string{"i": "pa.int64()", "d": "pa.decimal128(38, 2)", "x": "pa.float64()", "ok": "pa.bool_()", "s": "pa.string()", "ts": "pa.timestamp('us')", "tz": "pa.timestamp('us', 'UTC')"}
	for format, content := range map[string]string{"csv": typesCSV, "json": typesJSON} {
		t.Run(format, func(t *testing.T) {
			p := newProject(t, strings.ReplaceAll(typesPipeline, "FORMAT", format))
			p.write("in."+format, content)
			p.run("run", "-c", "pipeline.yaml", "--var", "n=1").must(t, 0)
			p.format = "csv"
			same(t, "csv", p.rows("lake/plain"), csvRows)
			same(t, "csv, gzip", p.rows("lake/gzip"), csvRows)
			same(t, "csv, gzip, by pyarrow", p.arrowRows("lake/gzip", types), arrowRows)
			p.format = "json"
			same(t, "json", p.rows("lake/lines"), jsonRows)
			same(t, "json array, zstd", p.rows("lake/array"), jsonRows)
			same(t, "json, by pyarrow", p.arrowRows("lake/lines", types), arrowRows)
			for folder, name := range map[string]string{"plain": `part-[-0-9a-f]{36}\.csv`, "gzip": `dt=2026-0[12]-[031]{2}/part-[-0-9a-f]{36}\.csv\.gz`, "zstd": `part-[-0-9a-f]{36}\.csv\.zst`,
				"lines": `dt=2026-0[12]-[031]{2}/part-[-0-9a-f]{36}\.json`, "array": `part-[-0-9a-f]{36}\.json\.zst`} {
				for _, file := range p.dataFiles("lake/" + folder) {
					if !regexp.MustCompile("^" + name + "$").MatchString(file) {
						t.Errorf("%s: a file is called %s", folder, file)
					}
				}
			}
		})
	}
}

// What cannot be written is refused by the name of the column, and nothing becomes visible.
func TestTextFormatsRefuseWhatTheyCannotHold(t *testing.T) {
	for name, c := range map[string]struct{ sql, format, says string }{
		"nested in csv": {"SELECT id, [id] AS list FROM raw", "csv", "column list: csv cannot hold BIGINT[]"},
		"NaN in json":   {"SELECT id, 'nan'::DOUBLE AS x FROM raw", "json", "column x: JSON has no number for nan"},
		"lone NULL":     {"SELECT CASE WHEN id > 1 THEN id END AS id FROM raw", "csv", "column id: a NULL in a csv file of one column would be an empty line"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newProject(t, strings.Replace(unnamedPipeline, "    outputs:\n      out: {from: raw, format: parquet,", "    transform:\n      out: "+`"`+c.sql+`"`+"\n    outputs:\n      out: {format: "+c.format+",", 1))
			p.write("in.csv", "id\n1\n2\n")
			p.run("run", "-c", "pipeline.yaml").must(t, 4).says(t, c.says, "task add, output out", "nothing became visible")
			if left := p.files("lake"); len(left) != 0 {
				t.Fatalf("something is visible: %v", left)
			}
		})
	}
}

// Options of a writer that make no sense are told before anything is read, each with its place.
func TestTextFormatsCheckOptionsBeforeReading(t *testing.T) {
	p := newProject(t, strings.Replace(unnamedPipeline, "format: parquet,", "format: csv, options: {delimiter: '\"', header: sometimes},", 1))
	p.run("run", "-c", "pipeline.yaml").must(t, 2).says(t, "options.header", "true or false")
	if _, err := os.Stat(p.path("lake")); !os.IsNotExist(err) {
		t.Fatal(err)
	}
}

// A broken line of a json input is named by file and line.
func TestABrokenLineOfJSONIsNamed(t *testing.T) {
	p := newProject(t, strings.NewReplacer("format: csv, path: in.csv", "format: json, path: in.json", "format: parquet", "format: json").Replace(unnamedPipeline))
	p.write("in.json", "{\"id\":1}\n\n{\"id\":2\n{\"id\":3}\n")
	p.run("run", "-c", "pipeline.yaml").must(t, 4).says(t, "in.json:3", "it ends in the middle of an object", "each line must be one object")
	p.write("in.json", "{\"id\":1}\n{\"id\":2,\"name\":\"x\"}\n")
	p.run("run", "-c", "pipeline.yaml").must(t, 4).says(t, "in.json:2", `a key that is not declared: "name"`, "undeclared to ignore")
}
