package e2e

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"sort"
	"strings"
	"testing"
)

// newMode is a project whose output is written in a format and a mode, from landing/DAY.csv.
func newMode(t *testing.T, format, mode, partitionBy string) *project {
	t.Helper()
	by := ""
	if partitionBy != "" {
		by = "\n        partition_by: [" + partitionBy + "]"
	}
	p := newProject(t, `name: modes
variables:
  dt: {type: date, required: true}
tasks:
  t:
    inputs:
      raw:
        format: csv
        path: landing/{{ dt }}.csv
        columns: {id: bigint, p: varchar, q: varchar, dt: date}
        on_empty: ok
    outputs:
      raw:
        format: `+format+`
        path: lake
        mode: `+mode+by+"\n")
	p.format = format
	return p
}

// day writes the file of a day of January: a row for each "id p q", where - is NULL; and runs the day.
func (p *project) day(day int, rows ...string) result {
	p.t.Helper()
	dt := fmt.Sprintf("2026-01-%02d", day)
	text := "id,p,q,dt\n"
	for _, row := range rows {
		text += strings.NewReplacer("-", "", " ", ",").Replace(row) + "," + dt + "\n"
	}
	p.write("landing/"+dt+".csv", text)
	return p.run("run", "-c", "pipeline.yaml", "--dt", dt)
}

// holds fails the test unless the output has these rows, each "day id p q", and no others.
func (p *project) holds(what string, rows ...string) {
	p.t.Helper()
	var want []string
	for _, row := range rows {
		f := strings.Fields(row)
		columns := map[string]any{"dt": "2026-01-0" + f[0], "id": f[1]}
		for i, name := range []string{"p", "q"} {
			if columns[name] = f[i+2]; f[i+2] == "-" {
				columns[name] = nil
			}
		}
		line, err := json.Marshal(columns)
		if err != nil {
			p.t.Fatal(err)
		}
		want = append(want, strings.NewReplacer(`":`, `": `, `,"`, `, "`).Replace(string(line)))
	}
	got := p.rows("lake")
	if p.format == "csv" { // Python's reader cannot tell NULL from the empty text
		for i := range want {
			want[i] = strings.ReplaceAll(want[i], "null", `""`)
		}
		for i := range got {
			got[i] = strings.ReplaceAll(got[i], "null", `""`)
		}
		sort.Strings(got)
	}
	sort.Strings(want)
	same(p.t, p.format+", "+what, got, want)
}

// eachFormat runs a test for each format of files.
func eachFormat(t *testing.T, test func(t *testing.T, format string)) {
	t.Parallel()
	for _, f := range strings.Fields(everywhere) {
		t.Run(f, func(t *testing.T) { t.Parallel(); test(t, f) })
	}
}

func TestAppendFlatAndPartitioned(t *testing.T) {
	eachFormat(t, func(t *testing.T, format string) {
		for _, by := range []string{"", "p", "p, q"} {
			p := newMode(t, format, "append", by)
			p.day(1, "1 a x", "2 b x").must(t, 0)
			p.holds("first run, by "+by, "1 1 a x", "1 2 b x")
			p.day(2, "3 a x", "4 c y").must(t, 0)
			p.holds("second run, by "+by, "1 1 a x", "1 2 b x", "2 3 a x", "2 4 c y")
			p.day(3).must(t, 0)
			p.holds("run without rows, by "+by, "1 1 a x", "1 2 b x", "2 3 a x", "2 4 c y")
		}
	})
}

func TestAppendOfNULLPartitionsAlone(t *testing.T) {
	eachFormat(t, func(t *testing.T, format string) {
		p := newMode(t, format, "append", "p, q")
		p.day(1, "1 - -", "2 - x").must(t, 0)
		p.day(2, "3 - -").must(t, 0)
		p.holds("two runs", "1 1 - -", "1 2 - x", "2 3 - -")
		if found := p.dataFiles("lake"); len(found) != 3 || !strings.HasPrefix(found[0], "p=__HIVE_DEFAULT_PARTITION__/q=__HIVE_DEFAULT_PARTITION__/") {
			t.Errorf("files: %q", found)
		}
	})
}

// C039: the whole folder goes, and what goes is said before it does.
func TestC039_OverwriteReplacesAllAndSaysHowMuch(t *testing.T) {
	eachFormat(t, func(t *testing.T, format string) {
		for _, by := range []string{"", "p", "p, q"} {
			p := newMode(t, format, "overwrite", by)
			if r := p.day(1, "1 a x", "2 b x", "5 - -").must(t, 0); strings.Contains(r.stderr, "replaces") {
				t.Errorf("first run: %s", r.stderr)
			}
			says := map[string]string{"": "t dt=2026-01-02: output raw replaces 1 file in lake\n", "p": "replaces 3 files, 3 partitions in lake\n", "p, q": "replaces 3 files, 3 partitions in lake\n"}[by]
			plan := p.run("plan", "-c", "pipeline.yaml", "--dt", "2026-01-02").must(t, 0).stdout
			if want := map[string]string{"": "would replace 1 file"}[by]; !strings.Contains(plan, want) || by != "" && !strings.Contains(plan, "would replace 3 files, 3 partitions") {
				t.Errorf("plan: %s", plan)
			}
			p.day(2, "3 a x", "4 c y").must(t, 0).says(t, says)
			p.holds("second run, by "+by, "2 3 a x", "2 4 c y")
			p.day(2, "3 a x", "6 c y").must(t, 0)
			p.holds("the second day again, by "+by, "2 3 a x", "2 6 c y")
			p.day(3).must(t, 0)
			p.holds("run without rows, by " + by)
			p.day(4, "7 a x").must(t, 0)
			p.holds("after a run without rows, by "+by, "4 7 a x")
		}
	})
}

// C039, C040: the partitions that the rows have are replaced and no other day; no rows touch none, and that is said.
func TestC039C040_OverwritePartitionsOfAnUndeclaredSlice(t *testing.T) {
	eachFormat(t, func(t *testing.T, format string) {
		p := newMode(t, format, "overwrite_partitions", "p")
		p.day(1, "1 a x", "2 b x", "3 - x").must(t, 0)
		p.holds("first run", "1 1 a x", "1 2 b x", "1 3 - x")
		p.day(2, "4 b y", "5 c y").must(t, 0).says(t, "output raw replaces 1 file, 1 partition in lake\n")
		p.holds("second run", "1 1 a x", "1 3 - x", "2 4 b y", "2 5 c y")
		p.day(3, "6 - y").must(t, 0).says(t, "replaces 1 file, 1 partition")
		p.holds("a run of NULL alone", "1 1 a x", "2 4 b y", "2 5 c y", "3 6 - y")
		before := p.files("lake")
		p.day(4).must(t, 0).says(t, "was not touched")
		same(t, "files after a run without rows", p.files("lake"), before)
	})
}

func TestOverwritePartitionsOfNestedPartitions(t *testing.T) {
	eachFormat(t, func(t *testing.T, format string) {
		p := newMode(t, format, "overwrite_partitions", "p, q")
		p.day(1, "1 a x", "2 a y", "3 a -", "4 - x", "5 - -").must(t, 0)
		p.day(2, "6 a y", "7 - -", "8 b x").must(t, 0).says(t, "replaces 2 files, 2 partitions")
		p.holds("second run", "1 1 a x", "1 3 a -", "1 4 - x", "2 6 a y", "2 7 - -", "2 8 b x")
	})
}

// C040: the slice that the variables declare is replaced whole, also by nothing, and no other.
func TestC040_OverwritePartitionsOfADeclaredSlice(t *testing.T) {
	eachFormat(t, func(t *testing.T, format string) {
		for _, by := range []string{"dt", "dt, p", "p, dt", "p, dt, q"} {
			p := newMode(t, format, "overwrite_partitions", by)
			p.day(1, "1 a x", "2 b x", "3 - -").must(t, 0)
			p.day(2, "4 a x", "5 b y").must(t, 0)
			p.holds("two days, by "+by, "1 1 a x", "1 2 b x", "1 3 - -", "2 4 a x", "2 5 b y")
			p.day(1, "6 b x", "7 - -").must(t, 0)
			p.holds("the first day again, by "+by, "1 6 b x", "1 7 - -", "2 4 a x", "2 5 b y")
			p.day(1, "8 - -").must(t, 0)
			p.holds("the first day of NULL alone, by "+by, "1 8 - -", "2 4 a x", "2 5 b y")
			p.day(1).must(t, 0).says(t, "no rows any more in the slice")
			p.holds("the first day without rows, by "+by, "2 4 a x", "2 5 b y")
			p.day(3).must(t, 0)
			p.holds("a day that never had rows, by "+by, "2 4 a x", "2 5 b y")
		}
	})
}

func TestErrorIfExistsFailsWhereThereIsData(t *testing.T) {
	eachFormat(t, func(t *testing.T, format string) {
		for _, by := range []string{"", "p", "p, q"} {
			p := newMode(t, format, "error_if_exists", by)
			p.day(1, "1 a x", "2 - -").must(t, 0)
			before := p.files("lake")
			p.day(2, "3 a x").must(t, 4).says(t, "lake holds data already", "nothing became visible")
			p.day(3).must(t, 4).says(t, "lake holds data already")
			same(t, "files, by "+by, p.files("lake"), before)
		}
		p := newMode(t, format, "error_if_exists", "p")
		p.day(1).must(t, 0) // no file, so there is no data
		p.day(2, "1 - x").must(t, 0)
		p.holds("after a run without rows", "2 1 - x")
	})
}

func TestIgnoreWritesNothingWhereThereIsData(t *testing.T) {
	eachFormat(t, func(t *testing.T, format string) {
		for _, by := range []string{"", "p", "p, q"} {
			p := newMode(t, format, "ignore", by)
			p.day(1, "1 a x", "2 - -").must(t, 0)
			before := p.files("lake")
			for _, rows := range [][]string{{"3 a x"}, nil} {
				if r := p.day(2, rows...).must(t, 0); !strings.Contains(r.stdout, "nothing written to lake") {
					t.Errorf("stdout: %s", r.stdout)
				}
			}
			same(t, "files, by "+by, p.files("lake"), before)
		}
		p := newMode(t, format, "ignore", "p")
		p.day(1).must(t, 0)
		p.day(2, "1 - x").must(t, 0)
		p.holds("after a run without rows", "2 1 - x")
	})
}

// C081: a result without rows leaves what every reader opens, with its columns; a new partitioned output a folder.
func TestC081_ResultsWithoutRowsInEveryMode(t *testing.T) {
	eachFormat(t, func(t *testing.T, format string) {
		for _, mode := range []string{"append", "overwrite", "error_if_exists", "ignore"} {
			p := newMode(t, format, mode, "")
			p.day(1).must(t, 0)
			p.holds(mode)
			files := p.dataFiles("lake")
			if len(files) != 1 {
				t.Fatalf("%s: %q", mode, files)
			}
			switch text := readFile(t, p.path(filepath.Join("lake", files[0]))); {
			case format == "csv" && text != "id,p,q,dt\n", format == "json" && text != "\n":
				t.Errorf("%s: %q", mode, text)
			case format == "parquet":
				for _, reader := range []string{"pyarrow", "polars", "duckdb"} {
					for name, typ := range map[string][]string{"p": {"string", "String", "VARCHAR"}, "dt": {"date32[day]", "Date", "DATE"}} {
						got := p.column(reader, format, "lake", name, "VARCHAR", false)
						if got.Error != "" || len(got.Values) != 0 || !strings.Contains(strings.Join(typ, " "), got.Type) {
							t.Errorf("%s: %s of %+v, want a type of %q", mode, name, got, typ)
						}
					}
				}
			}
			p = newMode(t, format, mode, "p, q")
			p.day(1).must(t, 0).says(t, "the result has no rows")
			p.holds(mode + ", partitioned")
			if found := p.dataFiles("lake"); len(found) != 0 || len(p.files("lake")) == 0 {
				t.Errorf("%s, partitioned: %q", mode, p.files("lake"))
			}
		}
	})
}
