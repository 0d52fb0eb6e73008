package e2e

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// C045: partitions whose values have spaces and signs are found again by each overwrite, by two columns as by one.
func TestC045_PartitionValuesWithSpacesAreOverwritten(t *testing.T) {
	t.Parallel()
	for _, format := range strings.Fields(everywhere) {
		for _, by := range []string{"p", "p, dt", "dt, p"} {
			p := newProject(t, "name: spaces\ntasks:\n  t:\n    inputs: {raw: {format: csv, path: in.csv, columns: {id: bigint, p: varchar, dt: date}}}\n"+
				"    outputs: {raw: {format: "+format+", path: lake, mode: overwrite_partitions, partition_by: ["+by+"]}}\n")
			p.format = format
			values := []string{"profile 1", " x  y ", "a+b", "a%20b", "50 % / day"}
			var folders []string
			for start := range 3 {
				text, want := "id,p,dt\n", []string(nil)
				for i, v := range values {
					id := 10*start + i
					text += fmt.Sprintf("%d,\"%s\",2026-01-01\n", id, v)
					want = append(want, fmt.Sprintf(`{"dt": "2026-01-01", "id": "%d", "p": "%s"}`, id, v))
				}
				p.write("in.csv", text)
				p.run("run", "-c", "pipeline.yaml", "--rerun").must(t, 0)
				slices.Sort(want)
				same(t, fmt.Sprintf("%s by %s, start %d", format, by, start), p.rows("lake"), want)
				var now []string
				for _, file := range p.dataFiles("lake") {
					now = append(now, filepath.Dir(file))
				}
				if slices.Sort(now); start > 0 {
					same(t, "folders of the files", now, folders)
				}
				if folders = now; len(slices.Compact(slices.Clone(now))) != len(values) || len(now) != len(values) {
					t.Errorf("%s by %s, start %d: files in %q, want one in each of %d", format, by, start, now, len(values))
				}
			}
		}
	}
}

// C047: a part of a partition is not replaced by a predicate, and what to do instead is said; as a partition of its own it is,
// and the rest of the week stays.
func TestC047_ADayOfAWeeklyPartition(t *testing.T) {
	t.Parallel()
	pipeline := func(output string) string {
		return `name: weeks
variables:
  dt: {type: date, required: true}
tasks:
  t:
    inputs: {raw: {format: csv, path: "{{ dt }}.csv", columns: {id: bigint, week: varchar, dt: date}, on_empty: ok}}
    outputs: {raw: {format: parquet, path: lake, ` + output + "}}\n"
	}
	p := newProject(t, pipeline("mode: overwrite_partitions, partition_by: [week, dt]"))
	day := func(dt string, ids ...int) result {
		text := "id,week,dt\n"
		for _, id := range ids {
			text += fmt.Sprintf("%d,2026-W01,%s\n", id, dt)
		}
		p.write(dt+".csv", text)
		return p.run("run", "-c", "pipeline.yaml", "--dt", dt, "--rerun")
	}
	row := func(dt string, id int) string {
		return fmt.Sprintf(`{"dt": "%s", "id": "%d", "week": "2026-W01"}`, dt, id)
	}
	day("2026-01-01", 1).must(t, 0)
	day("2026-01-02", 2, 3).must(t, 0)
	day("2026-01-03", 4).must(t, 0)
	day("2026-01-02", 5).must(t, 0).says(t, "replaces 1 file, 1 partition")
	week := []string{row("2026-01-01", 1), row("2026-01-02", 5), row("2026-01-03", 4)}
	same(t, "the week", p.rows("lake"), week)

	before := p.files(".")
	p.write("pipeline.yaml", pipeline("mode: overwrite_partitions, partition_by: [week], replace_where: \"dt = DATE '{{ dt }}'\""))
	day("2026-01-02", 6).must(t, 2).oneLine(t).says(t, `pipeline.yaml:7:`, `tasks.t.outputs.raw has replace_where, and its mode is overwrite_partitions`, "replace_where is for mode append")
	same(t, "files after the refusal", p.files("."), before)
	same(t, "the week after the refusal", p.rows("lake"), week)
}

// C049: a window of which no row is part is no success that has emptied the output, once that is said to matter.
func TestC049_AWindowWithoutRows(t *testing.T) {
	t.Parallel()
	p := newProject(t, `name: window
variables:
  start: {type: timestamp, required: true}
  end: {type: timestamp, required: true}
tasks:
  t:
    inputs: {raw: {format: csv, path: in.csv, columns: {id: bigint, seen: timestamp}}}
    transform: {v: "SELECT * FROM raw WHERE seen >= $start AND seen < $end"}
    expect: {v: [{rows: {min: 1}}]}
    outputs: {v: {format: parquet, path: lake, mode: overwrite}}
`)
	p.write("in.csv", "id,seen\n1,2026-01-01 12:00:00\n2,2026-01-02 12:00:00\n")
	window := func(start, end string) result {
		return p.run("run", "-c", "pipeline.yaml", "--var", "start="+start, "--var", "end="+end)
	}
	window("2026-01-01T00:00", "2026-01-02T00:00").must(t, 0)
	rows := []string{`{"id": "1", "seen": "2026-01-01 12:00:00"}`}
	same(t, "a day", p.rows("lake"), rows)
	for _, w := range [][2]string{{"2026-01-01T00:00", "2026-01-01T06:00"}, {"2026-01-02T00:00", "2026-01-01T00:00"}, {"2026-01-01T12:00", "2026-01-01T12:00"}, {"2020-01-01T00:00", "2020-01-02T00:00"}} {
		before := p.files("lake")
		window(w[0], w[1]).must(t, 3).says(t, "0 rows", "nothing became visible")
		same(t, "files", p.files("lake"), before)
		same(t, "rows", p.rows("lake"), rows)
	}
	window("2026-01-01T00", "2026-01-01T06:00").must(t, 2).says(t, `--var start: "2026-01-01T00" is not`)
}

// given is a pipeline whose variables land as values, in the names of files and in the batch.
const given = `name: given
variables:
  country: {type: enum, values: [DE, NO, ON, y], default: NO}
  dt: {type: date, default: 2026-01-01}
  text: {default: "{{ env.PW }}"}
tasks:
  t:
    inputs: {raw: {format: csv, path: "in-{{ country }}-{{ dt }}.csv", columns: {id: bigint, c: varchar}}}
    transform:
      v: SELECT id, c, $dt AS dt, $text AS text FROM raw WHERE c = $country
    expect: {v: [{one_of: {c: [DE, NO, ON]}}, {rows: {min: 1}}]}
    outputs: {v: {format: parquet, path: "lake/{{ country }}/{{ dt }}", partition_by: [c]}}
`

// newGiven is a project of it with the files of two countries.
func newGiven(t *testing.T) *project {
	t.Helper()
	p := newProject(t, given)
	p.env = []string{"PW=ab$defgh@jk"}
	for _, name := range []string{"in-NO-2026-01-01.csv", "in-ON-2026-01-01.csv"} {
		p.write(name, "id,c\n1,NO\n2,ON\n3,false\n")
	}
	return p
}

func (p *project) given(args ...string) result {
	p.t.Helper()
	return p.run(append([]string{"run", "-c", "pipeline.yaml"}, args...)...)
}

// C099: the country is NO in the file's path, in a check, in a row and in the name of a folder.
func TestC099_ACountryCalledNO(t *testing.T) {
	t.Parallel()
	p := newGiven(t)
	p.given().must(t, 0)
	p.given("--var", "country=ON").must(t, 0)
	for country, id := range map[string]string{"NO": "1", "ON": "2"} {
		folder := "lake/" + country + "/2026-01-01"
		same(t, country, p.rows(folder), []string{`{"c": "` + country + `", "dt": "2026-01-01", "id": "` + id + `", "text": "ab$defgh@jk"}`})
		if files := p.dataFiles(folder); len(files) != 1 || filepath.Dir(files[0]) != "c="+country {
			t.Errorf("%s: files %q", country, files)
		}
	}
	p.given("--var", "country=false").must(t, 2).says(t, `--var country: "false" is not one of its values`)
	p.write("pipeline.yaml", strings.Replace(given, "NO, ON, y]", "NO, ON, false]", 1))
	p.given().must(t, 2).oneLine(t).says(t, `pipeline.yaml:3:`, `and false is a boolean in YAML (quote it: "false")`)
}

// C102: the value of an environment variable lands as it is, whatever it looks like, and no message shows it.
func TestC102_DollarsInValues(t *testing.T) {
	t.Parallel()
	for _, value := range []string{"ab$defgh@jk", "pa$USERword", "$$", "${PW}", "{{ env.PW }}", "%40 %PATH%", "yes: [1", "- '\"", ""} {
		p := newGiven(t)
		p.env = []string{"PW=" + value, "USER=nobody"}
		p.given().must(t, 0)
		got := foreign.read(t, map[string]any{"kind": "parquet", "path": p.path("lake/NO/2026-01-01"), "columns": []string{"text"}})
		same(t, "the value", got, []string{fmt.Sprintf(`{"text": %q}`, value)})
	}
	p := newGiven(t)
	p.env = []string{"PWD_OF_DB=ab$defgh@jk"}
	if r := p.given().must(t, 2).oneLine(t).says(t, "pipeline.yaml:5:", "the environment variable PW is not set"); strings.Contains(r.stderr, "defgh") {
		t.Errorf("a value is shown: %s", r.stderr)
	}
	same(t, "files that landed", p.files("lake"), nil)
}

// C103: however a date is written, it has one spelling in SQL, in a path and in the batch, so that a day is one batch.
func TestC103_ADateHasOneSpelling(t *testing.T) {
	t.Parallel()
	for _, def := range []string{"2026-01-01", `"2026-01-01"`, "'20260101'"} {
		p := newGiven(t)
		p.write("pipeline.yaml", strings.Replace(given, "dt: {type: date, default: 2026-01-01}", "dt: {type: date, default: "+def+"}", 1))
		p.given("--var", "dt=20260101").must(t, 0)
		same(t, "rows", p.rows("lake/NO/2026-01-01"), []string{`{"c": "NO", "dt": "2026-01-01", "id": "1", "text": "ab$defgh@jk"}`})
		p.given("--dt", "2026-01-01").must(t, 1).oneLine(t).says(t, "dt=2026-01-01", "is finished")
		same(t, "days", p.files("lake/NO")[:1], []string{"2026-01-01/"})
		for _, bad := range []string{"2026-01-01 01", "2026-01-01T00:00:00Z", "2026-1-1"} {
			p.given("--var", "dt="+bad).must(t, 2).oneLine(t).says(t, fmt.Sprintf("%q is not a date that exists", bad))
		}
	}
	// Text keeps its spelling, also that of a date.
	p := newGiven(t)
	p.given("--var", "text=2026-01-01 01").must(t, 0)
	same(t, "rows", p.rows("lake/NO/2026-01-01"), []string{`{"c": "NO", "dt": "2026-01-01", "id": "1", "text": "2026-01-01 01"}`})
	p.write("pipeline.yaml", strings.Replace(given, `default: "{{ env.PW }}"`, "default: 2026-01-01", 1))
	p.given().must(t, 2).oneLine(t).says(t, `pipeline.yaml:5:`, `2026-01-01 is a date in YAML (quote it: "2026-01-01")`)
}

// C105: a value in SQL is a value, whatever quotes it holds; where it would be a part of the text, or leave a folder, it is refused.
func TestC105_AVariableInSQL(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		value     string
		sql, path bool // whether it is refused as a part of SQL, and of a path
	}{
		{"O'Brien", true, false}, {"2026-01-01' OR '1'='1", true, false}, {"'; DROP TABLE raw; --", true, false}, {`a"b\c`, true, true},
		{"$dt", true, false}, {"x*", true, true}, {"..", false, true}, {"../../x", false, true}, {"/etc", false, true}, {"", false, true},
	} {
		p := newGiven(t)
		p.given("--var", "text="+c.value).must(t, 0)
		got := foreign.read(t, map[string]any{"kind": "parquet", "path": p.path("lake/NO/2026-01-01"), "columns": []string{"id", "text"}})
		same(t, "the value", got, []string{fmt.Sprintf(`{"id": "1", "text": %q}`, c.value)})
		for _, put := range []struct {
			from, to string
			refused  bool
		}{
			{"WHERE c = $country", "WHERE c = '{{ text }}'", c.sql}, {"lake/{{ country }}", "lake/{{ text }}", c.path}, {"in-{{ country }}", "{{ text }}/in-{{ country }}", c.path},
		} {
			if !put.refused {
				continue
			}
			p := newGiven(t)
			p.write("pipeline.yaml", strings.Replace(given, put.from, put.to, 1))
			before := p.files(".")
			p.given("--var", "text="+c.value).must(t, 2).oneLine(t).says(t, "pipeline.yaml:", "the value of $text ")
			same(t, "files after the refusal", p.files("."), before)
		}
	}
}

// C089: by option, rows that are shorter or longer than the header go to the rejects, as they stand in the file; and not too many.
func TestC089_RaggedRowsAreRejected(t *testing.T) {
	t.Parallel()
	for _, option := range []string{"", ", options: {ragged: reject}"} {
		p := newProject(t, strings.Replace(rejectsPipeline, ", rejects: bad", option+", rejects: bad", 1))
		p.write("in/a.csv", "id,txt,dt\n1,a,2026-01-01\n2,b\n3,\"c,\nc\",2026-01-03,x,\"y\"\n4,d,\n5\n6,e,2026-01-06")
		p.load().must(t, 0)
		same(t, "rows", p.rows("lake/out"), []string{`{"dt": "2026-01-01", "id": "1", "txt": "a"}`, `{"dt": "2026-01-06", "id": "6", "txt": "e"}`, `{"dt": null, "id": "4", "txt": "d"}`})
		p.format = "csv"
		reject := func(line int, has, text string) string {
			reason := fmt.Sprintf("the line has %s: %q", has, text)
			return fmt.Sprintf(`{"column": "", "file": %q, "line": "%d", "reason": %q, "text": %q}`, p.path("in/a.csv"), line, reason, text)
		}
		same(t, "rejects", p.rows("lake/bad"), []string{reject(3, "2 of 3 fields", "2,b"), reject(4, "5 fields, more than 3 fields", "3,\"c,\nc\",2026-01-03,x,\"y\""), reject(7, "1 of 3 fields", "5")})
		p.write("in/b.csv", "id,txt,dt\n7\n")
		before := p.files("lake")
		p.load().must(t, 3).says(t, "input raw: 4 of 7 rows that were read are not as declared, and max_rejects is 50%; the first: "+p.path("in/a.csv")+":3: the line has 2 of 3 fields")
		same(t, "files after too many", p.files("lake"), before)
	}
}
