package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ubunye-io/ubunye/internal/cases"
)

// loaded is a project that copies an input, as the pipeline file has it, to Parquet; its files are written beside the pipeline.
func loaded(t *testing.T, input string, files map[string]string) *project {
	t.Helper()
	p := newProject(t, "name: load\ntasks:\n  load:\n    inputs:\n      raw: "+input+"\n    outputs:\n      out: {from: raw, format: parquet, path: lake/out}\n")
	for name, text := range files {
		p.write(name, text)
	}
	return p
}

func (p *project) load() result { p.t.Helper(); return p.run("run", "-c", "pipeline.yaml") }

// inputCase is one input: the rows that land, as pyarrow reads them, or what is said when nothing does.
type inputCase struct {
	name, input string
	files       map[string]string
	rows        []string
	at          string // file and line that the message begins with
	says        []string
}

func tryInputs(t *testing.T, cases []inputCase) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			p := loaded(t, c.input, c.files)
			r := p.load()
			if c.says == nil {
				r.must(t, 0)
				same(t, "rows", p.rows("lake/out"), c.rows)
				return
			}
			told := complaint(t, r.must(t, 4))
			if !strings.HasPrefix(told, "ubunye: "+p.path(c.at)+":") {
				t.Errorf("the line does not begin with %s: %s", c.at, told)
			}
			result{stderr: told}.says(t, append(c.says, "nothing became visible")...)
			same(t, "files that landed", p.files("lake"), nil)
		})
	}
}

func in(name, text string) map[string]string { return map[string]string{name: text} }

const idInput = "{format: csv, path: in, columns: {id: bigint}}"

func TestC061_InputStillBeingUploaded(t *testing.T) {
	whole := "id\n1\n"
	tryInputs(t, []inputCase{
		{name: "part files", input: idInput, files: map[string]string{"in/a.csv": whole, "in/b.csv.part": "id\n2", "in/c.tmp": "", "in/.d.csv": "x", "in/_e.csv": "x", "in/f.csv~": "x", "in/g.csv.crdownload": "", "in/h.filepart": ""},
			rows: []string{`{"id": "1"}`}},
		{name: "0 bytes", input: idInput, files: map[string]string{"in/a.csv": whole, "in/c.csv": ""}, at: "in/c.csv", says: []string{"0 bytes", "empty_files to skip"}},
		{name: "0 bytes of json", input: "{format: json, path: in, columns: {id: bigint}}", files: map[string]string{"in/a.json": `{"id":1}`, "in/c.json": ""}, at: "in/c.json", says: []string{"0 bytes"}},
		{name: "0 bytes, allowed", input: "{format: csv, path: in, columns: {id: bigint}, options: {empty_files: skip}}", files: map[string]string{"in/a.csv": whole, "in/c.csv": ""}, rows: []string{`{"id": "1"}`}},
		{name: "cut in the last line", input: "{format: csv, path: in, columns: {id: bigint, v: varchar}}", files: map[string]string{"in/a.csv": "id,v\n1,x\n", "in/d.csv": "id,v\n1,x\n2"}, at: "in/d.csv:3", says: []string{"1 of 2 fields"}},
		{name: "gzip cut", input: idInput, files: map[string]string{"in/a.csv": whole, "in/e.csv.gz": compressed(t, whole)[:20]}, at: "in/e.csv.gz", says: []string{"gzip data is cut short"}},
		{name: "gzip cut, json", input: "{format: json, path: in}", files: map[string]string{"in/a.json": `{"id":1}`, "in/e.json.gz": compressed(t, "{\"id\":1}\n{\"id\":2}\n")[:26]}, at: "in/e.json.gz", says: []string{"gzip data is cut short"}},
	})
}

// pyarrowFile has pyarrow write a file of the project.
func (p *project) pyarrowFile(name, table, options string) {
	p.t.Helper()
	cmd := exec.Command(python, "-c", "import sys, pyarrow as pa, pyarrow.parquet as pq\npq.write_table(pa.table("+table+"), sys.argv[1], "+options+")", p.path(name))
	if said, err := cmd.CombinedOutput(); err != nil {
		p.t.Fatalf("%v: %s", err, said)
	}
}

func TestC063_ATruncatedParquetFileIsNamed(t *testing.T) {
	for name, cut := range map[string]func(whole []byte) []byte{
		"100 bytes": func(w []byte) []byte { return w[:100] }, "magic alone": func([]byte) []byte { return []byte("PAR1") }, "0 bytes": func([]byte) []byte { return nil },
		"without its end": func(w []byte) []byte { return w[:len(w)-1] }, "footer and no data": func(w []byte) []byte { return w[len(w)/2:] },
		"no Parquet": func([]byte) []byte { return []byte("id\n1\n2\n3\n") },
	} {
		t.Run(name, func(t *testing.T) {
			p := loaded(t, "{format: parquet, path: in}", in("in/x", ""))
			if err := os.Remove(p.path("in/x")); err != nil {
				t.Fatal(err)
			}
			p.pyarrowFile("in/a.parquet", "{'id': list(range(1000))}", "")
			p.pyarrowFile("in/b.parquet", "{'id': list(range(1000, 3000))}", "")
			whole, err := os.ReadFile(p.path("in/b.parquet"))
			if err != nil {
				t.Fatal(err)
			}
			p.write("in/b.parquet", string(cut(whole)))
			told := complaint(t, p.load().must(t, 4))
			if !strings.HasPrefix(told, "ubunye: "+p.path("in/b.parquet")+": ") {
				t.Errorf("the file is not named first: %s", told)
			}
			same(t, "files that landed", p.files("lake"), nil)
			p.write("in/b.parquet", string(whole))
			p.load().must(t, 0)
			if n := len(p.rows("lake/out")); n != 3000 {
				t.Errorf("%d rows of the whole files", n)
			}
		})
	}
}

func TestC074_NanosecondsAreNotCutSilently(t *testing.T) {
	const table = "{'t': pa.array([1700000000000000001, None], pa.timestamp('ns'%s))}"
	for name, c := range map[string]struct {
		table, write, input string
		rows                []string
		says                string
	}{
		"without zone": {fmt.Sprintf(table, ""), "version='2.6'", "{format: parquet, path: in.parquet}", nil, ""},
		"with zone":    {fmt.Sprintf(table, ", 'UTC'"), "version='2.6'", "{format: parquet, path: in.parquet}", nil, "column t: it holds timestamps with time zone in nanoseconds"},
		"INT96":        {fmt.Sprintf(table, ""), "use_deprecated_int96_timestamps=True", "{format: parquet, path: in.parquet}", nil, "column t: it holds timestamps of the old type INT96"},
		"in a list":    {"{'t': pa.array([[1700000000000000001]], pa.list_(pa.timestamp('ns', 'UTC')))}", "version='2.6'", "{format: parquet, path: in.parquet}", nil, "column t.list.element"},
		"not declared": {"{'id': [1], 't': pa.array([1], pa.timestamp('ns', 'UTC'))}", "version='2.6'", "{format: parquet, path: in.parquet, columns: {id: bigint}}", []string{`{"id": "1"}`}, ""},
		"truncated": {fmt.Sprintf(table, ""), "use_deprecated_int96_timestamps=True", "{format: parquet, path: in.parquet, options: {nanoseconds: truncate}}",
			[]string{`{"t": "2023-11-14 22:13:20"}`, `{"t": null}`}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := loaded(t, c.input, nil)
			p.pyarrowFile("in.parquet", c.table, c.write)
			r := p.load()
			if c.says != "" {
				r.must(t, 4).says(t, p.path("in.parquet")+": ", c.says, "nanoseconds to truncate")
				return
			}
			r.must(t, 0)
			if c.rows != nil {
				same(t, "rows", p.rows("lake/out"), c.rows)
				return
			}
			check := exec.Command(python, "-c", "import sys, pyarrow.dataset as ds\nt = ds.dataset(sys.argv[1], format='parquet').to_table()\nprint(t.schema.field('t').type, sorted(t['t'].cast('int64').to_pylist(), key=str))", p.path("lake/out"))
			said, err := check.CombinedOutput()
			if want := "timestamp[ns] [1700000000000000001, None]\n"; err != nil || string(said) != want {
				t.Errorf("%v: %s, want %s", err, said, want)
			}
		})
	}
}

// Spark's timestamps are of that type by default, and have microseconds: they are read as they are.
func TestC074_TimestampsThatSparkWrote(t *testing.T) {
	in := filepath.Join(cases.Unpack(t, filepath.Join(cases.Folder(t, "delta"), "data-reader-date-types-utc.tar.zst")), "delta")
	p := loaded(t, "{format: parquet, path: "+in+"}", nil)
	p.load().must(t, 0)
	same(t, "rows", p.rows("lake/out"), foreign.read(t, map[string]any{"kind": "parquet", "path": in}))
	if n := len(p.rows("lake/out")); n == 0 {
		t.Error("no rows")
	}
}

func TestC088_ByteOrderMarks(t *testing.T) {
	const mark = "\xef\xbb\xbf"
	rows := []string{`{"id": "1", "v": "2"}`}
	tryInputs(t, []inputCase{
		{name: "quoted header", input: "{format: csv, path: bom.csv}", files: in("bom.csv", mark+"\"id\",\"v\"\n1,2\n"), rows: rows},
		{name: "plain header", input: "{format: csv, path: bom.csv, columns: {id: bigint, v: bigint}}", files: in("bom.csv", mark+"id,v\n1,2\n"), rows: rows},
		{name: "second file", input: "{format: csv, path: in}", files: map[string]string{"in/a.csv": "id,v\n1,2\n", "in/b.csv": mark + "id,v\n3,4\n", "in/c.csv.gz": compressed(t, mark+"id,v\n5,6\n")},
			rows: []string{rows[0], `{"id": "3", "v": "4"}`, `{"id": "5", "v": "6"}`}},
		{name: "without header", input: "{format: csv, path: bom.csv, options: {header: false}, columns: {id: bigint, v: bigint}}", files: in("bom.csv", mark+"1,2\n"), rows: rows},
		{name: "nothing else", input: "{format: csv, path: bom.csv}", files: in("bom.csv", mark), at: "bom.csv", says: []string{"it is empty: it has no header line"}},
		{name: "json lines", input: "{format: json, path: in}", files: map[string]string{"in/a.json": "{\"id\":1,\"v\":2}\n", "in/b.json": mark + "{\"id\":3,\"v\":4}\n"}, rows: []string{rows[0], `{"id": "3", "v": "4"}`}},
		{name: "json array", input: "{format: json, path: in.json}", files: in("in.json", mark+`[{"id":1,"v":2}]`), rows: rows},
	})
}

func TestC089_ShorterAndLongerRows(t *testing.T) {
	const four = "columns: {one: bigint, two: varchar, three: varchar, four: bigint}"
	tryInputs(t, []inputCase{
		{name: "short", input: "{format: csv, path: short.csv}", files: in("short.csv", "one,two,three,four\n1,a,x\n2,b,y\n"), at: "short.csv:2", says: []string{"3 of 4 fields"}},
		{name: "short, padded", input: "{format: csv, path: short.csv, options: {ragged: pad}, " + four + "}", files: in("short.csv", "one,two,three,four\n1,a,x\n2,\"b\nb\"\n"),
			rows: []string{`{"four": null, "one": "1", "three": "x", "two": "a"}`, `{"four": null, "one": "2", "three": null, "two": "b\nb"}`}},
		{name: "long", input: "{format: csv, path: long.csv}", files: in("long.csv", "a,b\n1,2\n3,4,5\n"), at: "long.csv:3", says: []string{"3 fields, more than 2"}},
		{name: "long, padded", input: "{format: csv, path: long.csv, options: {ragged: pad}}", files: in("long.csv", "a,b\n1,2\n3,4,5\n"), at: "long.csv:3", says: []string{"3 fields, more than 2"}},
		{name: "last line without its end, blank lines", input: "{format: csv, path: in.csv}", files: in("in.csv", "a,b\n\n1,2\n\n\n3,4"), rows: []string{`{"a": "1", "b": "2"}`, `{"a": "3", "b": "4"}`}},
		{name: "a lone field and delimiter", input: "{format: csv, path: in.csv}", files: in("in.csv", "a,b\nc,1\nd,"), rows: []string{`{"a": "c", "b": "1"}`, `{"a": "d", "b": null}`}},
		{name: "header behind blank lines", input: "{format: csv, path: in.csv}", files: in("in.csv", "\na,b\n1,2\n"), at: "in.csv:1", says: []string{"column 1 has no name"}},
		{name: "header where skip says", input: "{format: csv, path: in.csv, options: {skip: 1}}", files: in("in.csv", "\na,b\n1,2\n"), rows: []string{`{"a": "1", "b": "2"}`}},
	})
}

func TestC091_HeaderNamesThatAreTheSame(t *testing.T) {
	tryInputs(t, []inputCase{
		{name: "twice", input: "{format: csv, path: d.csv}", files: in("d.csv", "a,b,a\n1,2,3\n"), at: "d.csv:1", says: []string{`columns 1 and 3 are both called "a"`}},
		{name: "but for the case", input: "{format: csv, path: d.csv}", files: in("d.csv", "a,A\n1,2\n"), at: "d.csv:1", says: []string{`columns 1 and 2 are called "a" and "A", which differ only in case`}},
		{name: "beside a name that a reader would make up", input: "{format: csv, path: d.csv}", files: in("d.csv", "a,a_1,a\n1,2,3\n"), at: "d.csv:1", says: []string{`columns 1 and 3 are both called "a"`}},
		{name: "three times", input: "{format: csv, path: d.csv}", files: in("d.csv", "a,É,A,é,a\n1,2,3,4,5\n"), at: "d.csv:1", says: []string{"columns 1 and 3", "columns 2 and 4", "columns 1 and 5"}},
		{name: "no name", input: "{format: csv, path: d.csv}", files: in("d.csv", "a,,b\n1,2,3\n"), at: "d.csv:1", says: []string{"column 2 has no name"}},
		{name: "no names", input: "{format: csv, path: d.csv}", files: in("d.csv", "a,,\" \"\n1,2,3\n"), at: "d.csv:1", says: []string{"columns 2, 3 have no name"}},
		{name: "declared", input: "{format: csv, path: d.csv, columns: {a: bigint, b: bigint}}", files: in("d.csv", "a,b,a\n1,2,3\n"), at: "d.csv:1", says: []string{`columns 1 and 3 are both called "a"`}},
		{name: "second file", input: "{format: csv, path: in}", files: map[string]string{"in/1.csv": "a,b\n1,2\n", "in/2.csv": "b,B,a\n1,2,3\n"}, at: "in/2.csv:1", says: []string{`columns 1 and 2 are called "b" and "B"`}},
		{name: "by position, as declared", input: "{format: csv, path: d.csv, options: {header: false, skip: 1}, columns: {first: bigint, second: bigint}}", files: in("d.csv", "a,a\n1,2\n"), rows: []string{`{"first": "1", "second": "2"}`}},
		{name: "json keys", input: "{format: json, path: d.json}", files: in("d.json", "{\"a\":1,\"A\":2}\n"), at: "d.json", says: []string{"differ only in case"}},
		{name: "by name in every file", input: "{format: csv, path: in}", files: map[string]string{"in/1.csv": "a,b\n1,x\n", "in/2.csv": "b,a\ny,2\n"}, rows: []string{`{"a": "1", "b": "x"}`, `{"a": "2", "b": "y"}`}},
	})
}

func TestC093_IntegersBeyond53Bits(t *testing.T) {
	exact := []string{`{"id": "1519540354020417537"}`, `{"id": "9007199254740993"}`}
	tryInputs(t, []inputCase{
		{name: "json", input: "{format: json, path: big.json}", files: in("big.json", "{\"id\":9007199254740993}\n{\"id\":1519540354020417537}\n"), rows: exact},
		{name: "csv", input: "{format: csv, path: big.csv}", files: in("big.csv", "id\n9007199254740993\n1519540354020417537\n"), rows: exact},
		{name: "beyond 64 bits, json", input: "{format: json, path: big.json}", files: in("big.json", "{\"id\":18446744073709551615}\n{\"id\":1}\n"), rows: []string{`{"id": "1"}`, `{"id": "18446744073709551615"}`}},
		{name: "beyond 64 bits, csv", input: "{format: csv, path: big.csv}", files: in("big.csv", "id\n18446744073709551615\n-1\n"), rows: []string{`{"id": "-1"}`, `{"id": "18446744073709551615"}`}},
		{name: "digits that no number keeps, csv", input: "{format: csv, path: big.csv}", files: in("big.csv", "id\n9007199254740993.5\n1\n"), rows: []string{`{"id": "1"}`, `{"id": "9007199254740993.5"}`}},
		{name: "2.0 is an integer", input: "{format: json, path: big.json, columns: {id: bigint}}", files: in("big.json", "{\"id\":2.0}\n{\"id\":9007199254740993.0}\n"), rows: []string{`{"id": "2"}`, `{"id": "9007199254740993"}`}},
		{name: "1e3 is none", input: "{format: json, path: big.json, columns: {id: bigint}}", files: in("big.json", "{\"id\":1}\n{\"id\":1e3}\n"), at: "big.json:2", says: []string{`"1e3" is not a BIGINT`}},
		{name: "1e3 is a double", input: "{format: json, path: big.json}", files: in("big.json", "{\"id\":1}\n{\"id\":1e3}\n"), rows: []string{`{"id": "1.0"}`, `{"id": "1000.0"}`}},
		{name: "leading zeros are text", input: "{format: csv, path: zip.csv}", files: in("zip.csv", "zip\n01234\n99999\n"), rows: []string{`{"zip": "01234"}`, `{"zip": "99999"}`}},
		{name: "too large", input: "{format: csv, path: big.csv, columns: {id: bigint}}", files: in("big.csv", "id\n9223372036854775807\n9223372036854775808\n"), at: "big.csv:3", says: []string{`"9223372036854775808" is not a BIGINT`}},
	})
	p := newProject(t, strings.Replace(unnamedPipeline, "    outputs:\n      out: {from: raw,", "    transform:\n      out: SELECT id + 1 AS id FROM raw\n    outputs:\n      out: {", 1))
	p.write("in.csv", "id\n9007199254740993\n1519540354020417537\n")
	p.load().must(t, 0)
	same(t, "rows through SQL", p.rows("lake/out"), []string{`{"id": "1519540354020417538"}`, `{"id": "9007199254740994"}`})
}

func TestC094_NotUTF8(t *testing.T) {
	latin := "n\nEspec\xedfica\n"
	wide := "\xff\xfen\x00\n\x00E\x00\xed\x00\n\x00"
	tryInputs(t, []inputCase{
		{name: "latin-1, not said", input: "{format: csv, path: l.csv}", files: in("l.csv", latin), at: "l.csv:2", says: []string{"0xed at byte offset 7", "option encoding"}},
		{name: "latin-1", input: "{format: csv, path: l.csv, options: {encoding: latin-1}}", files: in("l.csv", latin), rows: []string{`{"n": "Específica"}`}},
		{name: "windows-1252, compressed", input: "{format: csv, path: l*.csv*, options: {encoding: windows-1252}}", files: in("l.csv.gz", compressed(t, "n\n\x80 5\n")), rows: []string{`{"n": "€ 5"}`}},
		{name: "UTF-16, not said", input: "{format: csv, path: w.csv}", files: in("w.csv", wide), at: "w.csv", says: []string{"it is UTF-16", "encoding to utf-16"}},
		{name: "UTF-16", input: "{format: csv, path: w.csv, options: {encoding: utf-16}}", files: in("w.csv", wide), rows: []string{`{"n": "Eí"}`}},
		{name: "UTF-16, said to be UTF-8 in another file", input: "{format: csv, path: in, options: {encoding: utf-16}}", files: map[string]string{"in/1.csv": wide, "in/2.csv": "n\nx\n"}, at: "in/2.csv:1", says: []string{"no byte order mark"}},
		{name: "GBK", input: "{format: csv, path: g.csv, columns: {n: varchar}}", files: in("g.csv", "n\n\xd6\xd0\xb9\xfa\n"), at: "g.csv:2", says: []string{"0xd6 at byte offset 2"}},
		{name: "one bad byte at line 50000", input: "{format: csv, path: b.csv}", files: in("b.csv", "n\n"+strings.Repeat("x\n", 49_998)+"y\xffy\n"+strings.Repeat("x\n", 1000)), at: "b.csv:50000", says: []string{"0xff at byte offset 99999"}},
		{name: "lone surrogate in JSON", input: "{format: json, path: s.json}", files: in("s.json", "{\"n\":\"a\"}\n{\"n\":\"\\ud83c\"}\n"), at: "s.json:2", says: []string{`\u that is no character`}},
		{name: "bad byte in JSON", input: "{format: json, path: s.json, columns: {n: varchar}}", files: in("s.json", "{\"n\":\"a\"}\n{\"n\":\"\xe9\"}\n"), at: "s.json:2", says: []string{"not UTF-8"}},
	})
}

func TestC096_DecimalCommaAndThousandsPoint(t *testing.T) {
	const german = `{format: csv, path: "%s", options: {delimiter: ";", decimal: ",", thousands: "."}, columns: {a: "decimal(9,2)", n: bigint}}`
	text := "a;n\n2.155,50;1.000.000\n-0,5;7\n2.155;12\n"
	rows := []string{`{"a": "-0.50", "n": "7"}`, `{"a": "2155.00", "n": "12"}`, `{"a": "2155.50", "n": "1000000"}`}
	tryInputs(t, []inputCase{
		{name: "path", input: fmt.Sprintf(german, "in.csv"), files: in("in.csv", text), rows: rows},
		{name: "glob", input: fmt.Sprintf(german, "i*.csv"), files: in("in.csv", text), rows: rows},
		{name: "gz", input: fmt.Sprintf(german, "in.csv.gz"), files: in("in.csv.gz", compressed(t, text)), rows: rows},
		{name: "groups that are none", input: fmt.Sprintf(german, "in.csv"), files: in("in.csv", "a;n\n1,5;21.55\n"), at: "in.csv:2", says: []string{`"21.55" is not a BIGINT`}},
	})
}

// rejectsPipeline writes good and bad rows.
const rejectsPipeline = `name: orders
tasks:
  load:
    inputs:
      raw: {format: csv, path: in, columns: {id: bigint, txt: varchar, dt: date}, rejects: bad, max_rejects: 50%}
    outputs:
      out: {from: raw, format: parquet, path: lake/out}
      bad: {format: csv, path: lake/bad}
`

func TestRejectsBecomeRowsOfAnOutput(t *testing.T) {
	p := newProject(t, rejectsPipeline)
	p.write("in/a.csv", "id,txt,dt\n1,\"two\nlines\",2026-01-01\nx,y,2026-01-02\n2,b,2026-01-02\n")
	p.write("in/b.csv.gz", compressed(t, "txt,id,dt\nc,3,2026-01-03\nd,4\n"))
	r := p.run("run", "-c", "pipeline.yaml", "--json").must(t, 0)
	same(t, "rows", p.rows("lake/out"), []string{`{"dt": "2026-01-01", "id": "1", "txt": "two\nlines"}`, `{"dt": "2026-01-02", "id": "2", "txt": "b"}`, `{"dt": "2026-01-03", "id": "3", "txt": "c"}`})
	p.format = "csv"
	quoted := func(name string) string { text, _ := json.Marshal(p.path(name)); return string(text) }
	same(t, "rejects", p.rows("lake/bad"), []string{
		`{"column": "", "file": ` + quoted("in/b.csv.gz") + `, "line": "3", "reason": "the line has 2 of 3 fields: \"d,4\"", "text": "d,4"}`,
		`{"column": "id", "file": ` + quoted("in/a.csv") + `, "line": "4", "reason": "\"x\" is not a BIGINT", "text": "x,y,2026-01-02"}`})
	var told bool
	for line := range strings.Lines(r.stdout) {
		var e struct {
			Event, Input             string
			RowsRead, Rows, Rejected int64
		}
		e.RowsRead = -1
		if err := json.Unmarshal([]byte(strings.ReplaceAll(line, "rows_read", "RowsRead")), &e); err != nil {
			t.Fatal(err)
		}
		if e.Event == "input_read" {
			told = true
			if e.Input != "raw" || e.RowsRead != 5 || e.Rows != 3 || e.Rejected != 2 {
				t.Errorf("%+v", e)
			}
		}
	}
	if !told {
		t.Errorf("nothing is said of the rows:\n%s", r.stdout)
	}
	if doc, _ := json.Marshal(p.document("load", "")); !strings.Contains(string(doc), `"rejected":2`) || !strings.Contains(string(doc), `"rows":5`) {
		t.Errorf("the commit does not keep the counts: %s", doc)
	}
}

func TestTooManyRejectsEndTheTask(t *testing.T) {
	p := newProject(t, rejectsPipeline)
	p.write("in/a.csv", "id,txt,dt\nx,a,2026-01-01\ny,b,2026-01-01\n3,c,2026-01-01\n")
	p.load().must(t, 3).says(t, "pipeline.yaml:5:7: task load: input raw: 2 of 3 rows that were read are not as declared, and max_rejects is 50%; namely: "+p.path("in/a.csv")+`:2: column id: "x" is not a BIGINT; `,
		"nothing became visible", "raise max_rejects")
	same(t, "files that landed", p.files("lake"), nil)
	p.write("in/b.csv", "id,txt,dt\n4,a,2026-01-01\n")
	p.load().must(t, 0).says(t, "input raw: 4 rows read, 2 as declared, 2 rejected")
	if n := len(p.rows("lake/out")); n != 2 {
		t.Errorf("%d rows", n)
	}
}

func TestRejectsThatNobodyWritesAreRefused(t *testing.T) {
	p := newProject(t, strings.Replace(rejectsPipeline, "      bad: {", "      other: {from: raw, ", 1))
	p.run("plan", "-c", "pipeline.yaml").must(t, 2).says(t, "pipeline.yaml:5:", "tasks.load.inputs.raw.rejects: no output writes bad", "with from: bad")
	p = newProject(t, strings.Replace(rejectsPipeline, "columns: {id: bigint, txt: varchar, dt: date}, ", "", 1))
	p.run("validate", "-c", "pipeline.yaml").must(t, 2).says(t, "pipeline.yaml:5:7", "no columns are")
	// A step may read them, and an output of another name write them.
	p = newProject(t, strings.NewReplacer("    outputs:\n", "    transform:\n      worst: SELECT count(*) AS n, min(line) AS line FROM bad\n    outputs:\n      worst: {format: json, path: lake/worst}\n", "      bad: {", "      rest: {from: bad, ").Replace(rejectsPipeline))
	p.write("in/a.csv", "id,txt,dt\n1,a,2026-01-01\ny,b,2026-01-01\n")
	p.load().must(t, 0)
	p.format = "json"
	same(t, "what the step says", p.rows("lake/worst"), []string{`{"line": "3", "n": "1"}`})
}
