package e2e

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// C011: what an input without rows means is a setting, the same for every mode.
func TestC011_AnInputWithoutRowsInEveryMode(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"append", "overwrite", "overwrite_partitions", "error_if_exists", "ignore"} {
		for setting, exit := range map[string]int{"ok": 0, "warn": 0, "fail": 4} {
			t.Run(mode+", "+setting, func(t *testing.T) {
				t.Parallel()
				p := newMode(t, "parquet", mode, "p")
				p.write("pipeline.yaml", strings.Replace(readFile(t, p.path("pipeline.yaml")), "on_empty: ok", "on_empty: "+setting, 1))
				r := p.day(1).must(t, exit)
				if said := strings.Contains(r.stderr, "input raw: landing/2026-01-01.csv has no rows"); said != (setting != "ok") {
					t.Errorf("stderr: %s", r.stderr)
				}
				if setting == "fail" {
					r.says(t, "nothing became visible")
					if left := append(p.files("lake"), p.files(".ubunye/staging")...); len(left) != 0 {
						t.Errorf("left: %q", left)
					}
					return
				}
				if left := p.files(".ubunye/staging"); len(left) != 0 {
					t.Errorf("staging: %q", left)
				}
				p.holds(mode + ", " + setting)
				p.day(2, "1 a x").must(t, 0)
				p.holds("the next day, "+mode+", "+setting, "2 1 a x")
			})
		}
	}
}

// zoned is a pipeline of moments around both changes of the clock, by files that declare a zone and that do not.
const zoned = `name: zoned
tasks:
  t:
    inputs:
      raw:
        format: csv
        path: in.csv
        columns: {id: bigint, naive: timestamp, moment: timestamptz}
    transform:
      v: SELECT *, CAST(moment AS DATE) AS day FROM raw
    outputs:
      parquet: {from: v, format: parquet, path: lake/parquet, mode: overwrite, partition_by: [day]}
      csv: {from: v, format: csv, path: lake/csv, mode: overwrite, partition_by: [day]}
      json: {from: v, format: json, path: lake/json, mode: overwrite, partition_by: [day]}
`

// C051, C072: a timestamp without a zone stays one, a moment stays the same moment and its day is that of UTC, whatever the
// zone of the machine, also in hours that do not exist there or occur twice; and readers are told which of the two it is.
func TestC051C072_TimestampsInEveryZone(t *testing.T) {
	for _, zone := range []string{"UTC", "Europe/Berlin", "America/Santiago", "Pacific/Apia"} {
		t.Run(zone, func(t *testing.T) {
			p := newProject(t, zoned)
			p.write("in.csv", `id,naive,moment
1,2026-03-29 02:30:00,2026-03-29 01:30:00+01
2,2026-10-25 02:30:00,2026-10-25 02:30:00+02
3,2026-10-25 02:30:00,2026-10-25 02:30:00+01
4,2026-09-06 00:00:00,2026-09-06 00:00:00-04
5,2026-01-01 00:00:00,2026-01-01 00:30:00+01
`)
			p.runEnv([]string{"TZ=" + zone}, "run", "-c", "pipeline.yaml").must(t, 0)
			wants := map[string][]any{
				"naive":  {"2026-03-29 02:30:00", "2026-10-25 02:30:00", "2026-10-25 02:30:00", "2026-09-06 00:00:00", "2026-01-01 00:00:00"},
				"moment": {"2026-03-29 00:30:00+00", "2026-10-25 00:30:00+00", "2026-10-25 01:30:00+00", "2026-09-06 04:00:00+00", "2025-12-31 23:30:00+00"},
				"day":    {"2026-03-29", "2026-10-25", "2026-10-25", "2026-09-06", "2025-12-31"},
			}
			for _, reader := range readsFolders("parquet") {
				for name, types := range map[string]string{"naive": "timestamp[us] Datetime(time_unit='us', time_zone=None) TIMESTAMP", "moment": "timestamp[us, tz=UTC] Datetime(time_unit='us', time_zone='UTC') TIMESTAMP WITH TIME ZONE"} {
					got := p.column(reader, "parquet", "lake/parquet", name, "", false)
					if got.Error != "" || fmt.Sprint(got.Values) != fmt.Sprint(wants[name]) || !strings.Contains(types, got.Type) {
						t.Errorf("%s by %s: %+v, want %v of %s", name, reader, got, wants[name], types)
					}
				}
			}
			for _, format := range strings.Fields(everywhere) {
				for _, reader := range readsFolders(format) {
					got := foreign.read(t, map[string]any{"reader": reader, "kind": format, "path": p.path("lake/" + format), "columns": [][2]string{{"day", "DATE"}}, "folders": true})
					var s seen
					if err := json.Unmarshal([]byte(got[0]), &s); err != nil || fmt.Sprint(s.Values) != fmt.Sprint(wants["day"]) {
						t.Errorf("day of %s by %s: %+v (%v), want %v", format, reader, s, err, wants["day"])
					}
				}
			}
			for format, spelled := range map[string]func(string) string{"csv": func(s string) string { return s }, "json": strings.NewReplacer(" ", "T", "+00", "Z").Replace} {
				p.format = format
				for i, row := range p.rows("lake/" + format) {
					for _, name := range []string{"naive", "moment"} {
						if want := fmt.Sprintf(`"%s": "%s"`, name, spelled(wants[name][rowOf(row)].(string))); !strings.Contains(row, want) {
							t.Errorf("%s, row %d: %s, want %s", format, i, row, want)
						}
					}
				}
			}
		})
	}
}

// rowOf is the place of a row by its id.
func rowOf(row string) int { return strings.IndexByte("12345", row[strings.Index(row, `"id": "`)+7]) }

// C096: a number with a comma is never taken for a larger one: it is text, an error, or what decimal says, the same by path, glob and gzip.
func TestC096_DecimalCommasInOutputs(t *testing.T) {
	const german = "k;v\na;45,38\nb;-0,01\nc;2\n"
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write([]byte(german)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"de.csv": german, "de.csv.gz": packed.String()} {
		for _, path := range []string{name, "d*." + strings.SplitN(name, ".", 2)[1]} {
			pipeline := func(more string) string {
				return "name: de\ntasks:\n  t:\n    inputs: {raw: {format: csv, path: '" + path + "'" + more + "}}\n    outputs: {raw: {format: parquet, path: lake, mode: overwrite}}\n"
			}
			p := newProject(t, pipeline(", options: {delimiter: ';'}"))
			p.write(name, text)
			p.run("run", "-c", "pipeline.yaml").must(t, 0)
			same(t, path+", inferred", p.rows("lake"), []string{`{"k": "a", "v": "45,38"}`, `{"k": "b", "v": "-0,01"}`, `{"k": "c", "v": "2"}`})
			for _, typ := range []string{"decimal(9,2)", "double", "float"} {
				p.write("pipeline.yaml", pipeline(", options: {delimiter: ';'}, columns: {k: text, v: '"+typ+"'}"))
				before := p.rows("lake")
				p.run("run", "-c", "pipeline.yaml").must(t, 4).says(t, name+":2", "column v", "45,38", "nothing became visible")
				same(t, path+", after the error", p.rows("lake"), before)
			}
			p.write("pipeline.yaml", pipeline(", options: {delimiter: ';', decimal: ','}, columns: {k: text, v: 'decimal(9,2)'}"))
			p.run("run", "-c", "pipeline.yaml").must(t, 0)
			same(t, path+", declared", p.rows("lake"), []string{`{"k": "a", "v": "45.38"}`, `{"k": "b", "v": "-0.01"}`, `{"k": "c", "v": "2.00"}`})
		}
	}
}

// C097: columns are found by name and never by place; a day of another shape is told with what differs, and adds nothing.
func TestC097_ADayOfAnotherShape(t *testing.T) {
	for _, format := range strings.Fields(everywhere) {
		t.Run(format, func(t *testing.T) {
			p := newProject(t, "name: drift\nvariables: {dt: {type: date, required: true}}\ntasks:\n  t:\n    inputs: {raw: {format: csv, path: 'landing/{{ dt }}.csv', columns: {id: bigint, v: int}}}\n    outputs: {raw: {format: "+format+", path: lake}}\n")
			p.format = format
			run := func(day int, text string) result {
				dt := fmt.Sprintf("2026-01-%02d", day)
				p.write("landing/"+dt+".csv", text)
				return p.run("run", "-c", "pipeline.yaml", "--dt", dt)
			}
			first := []string{`{"id": "1", "v": "10"}`}
			run(1, "id,v\n1,10\n").must(t, 0)
			run(2, "id,v,new\n2,20,x\n").must(t, 4).says(t, "2026-01-02.csv", "new", "nothing became visible")
			run(3, "id,v\n3,x\n").must(t, 4).says(t, "2026-01-03.csv:2", "column v", "nothing became visible")
			run(4, "id\n4\n").must(t, 4).says(t, "2026-01-04.csv", "v", "nothing became visible")
			run(6, "id,v\n6,3000000000\n").must(t, 4).says(t, "2026-01-06.csv:2", "column v", "3000000000")
			same(t, "rows", p.rows("lake"), first)
			run(5, "v,id\n50,5\n").must(t, 0)
			same(t, "rows after other columns in another order", p.rows("lake"), append(first, `{"id": "5", "v": "50"}`))
		})
	}
}

// The bytes of a CSV file are those that RFC 4180 describes, but for the line ends: values are quoted where they must be and
// the empty text where it would be NULL, no byte order mark, and as many values in each line.
func TestCSVBytes(t *testing.T) {
	p := newProject(t, "name: bytes\ntasks:\n  t:\n    transform: {v: {sql_file: v.sql}}\n    outputs:\n      plain: {from: v, format: csv, path: lake/plain, sort_by: [id]}\n      other: {from: v, format: csv, path: lake/other, sort_by: [id], options: {delimiter: ';', quote: \"'\", 'null': 'NULL'}}\n")
	p.write("v.sql", `SELECT * FROM (VALUES (1, 'a,b;c'), (2, 'say "x"'), (3, 'one' || chr(10) || 'two'), (4, 'cr' || chr(13)), (5, '=1+1'), (6, ''), (7, NULL), (8, ' lead'), (9, 'it''s'), (10, 'NULL'), (11, '-')) AS t(id, "s t")
`)
	p.run("run", "-c", "pipeline.yaml").must(t, 0)
	for folder, want := range map[string]string{
		"plain": "id,s t\n1,\"a,b;c\"\n2,\"say \"\"x\"\"\"\n3,\"one\ntwo\"\n4,\"cr\r\"\n5,=1+1\n6,\"\"\n7,\n8, lead\n9,it's\n10,NULL\n11,-\n",
		"other": "id;s t\n1;'a,b;c'\n2;say \"x\"\n3;'one\ntwo'\n4;'cr\r'\n5;=1+1\n6;\n7;NULL\n8; lead\n9;'it''s'\n10;'NULL'\n11;-\n",
	} {
		files, err := filepath.Glob(p.path("lake/" + folder + "/*.csv"))
		if err != nil || len(files) != 1 {
			t.Fatal(files, err)
		}
		data, err := os.ReadFile(files[0])
		if err != nil || string(data) != want {
			t.Errorf("%s (%v)\n got %q\nwant %q", folder, err, data, want)
		}
	}
}

// A reader that knows of an escape takes it for one outside quotes too: what holds it is quoted.
func TestCSVWithAnEscapeOfItsOwn(t *testing.T) {
	values := []string{`a\b`, `say "x"`, `\`, `"\"`, `x,\"y`, `end\`, `\n`, ``, `plain`}
	for _, escape := range []string{`\`, "b", "1"} {
		p := newProject(t, "name: escape\ntasks:\n  t:\n    transform: {v: {sql_file: v.sql}}\n    outputs:\n      v: {format: csv, path: lake, options: {escape: '"+escape+"'}}\n")
		var rows, want []string
		for i, v := range values {
			rows = append(rows, fmt.Sprintf("(%d, '%s', DATE '2026-01-11')", 10+i, v))
			line, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			want = append(want, fmt.Sprintf(`{"d": "2026-01-11", "id": "%d", "s": %s}`, 10+i, line))
		}
		p.write("v.sql", "SELECT * FROM (VALUES "+strings.Join(rows, ", ")+") AS t(id, s, d)\n")
		p.run("run", "-c", "pipeline.yaml").must(t, 0)
		request := map[string]any{"kind": "csv", "path": p.path("lake"), "escape": escape}
		same(t, "by Python", foreign.read(t, request), want)
		request["types"] = map[string]string{"id": "pa.int64()", "s": "pa.string()", "d": "pa.date32()"}
		same(t, "by pyarrow", foreign.read(t, request), want)
	}
}
