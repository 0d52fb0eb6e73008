package e2e

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"
)

// shapePipeline reads a day's files as they are, and writes a folder a day.
const shapePipeline = `name: sales
variables:
  dt: {type: date, required: true}
tasks:
  clean:
    inputs:
      raw: {format: FORMAT, path: "landing/{{ dt }}/*", schema: POLICY}
    transform:
      orders: SELECT * FROM raw
    outputs:
      orders: {format: parquet, path: "lake/{{ dt }}"}
`

func newShape(t *testing.T, format, policy string) *project {
	t.Helper()
	return newProject(t, strings.NewReplacer("FORMAT", format, "POLICY", policy).Replace(shapePipeline))
}

// reads runs a day whose only file has this text.
func (p *project) reads(day, text string, more ...string) result {
	p.t.Helper()
	p.write("landing/"+day+"/a", text)
	return p.runDay(day, more...)
}

// silent fails the test if a run warned of something.
func (r result) silent(t *testing.T) result {
	t.Helper()
	if strings.Contains(r.stderr, "warning:") {
		t.Fatalf("stderr:\n%s", r.stderr)
	}
	return r
}

// The files of one day after the other, under each policy: what is no difference, what is refused, what is told.
func TestFilesThatDrift(t *testing.T) {
	for _, policy := range []string{"strict", "add_columns", "evolve"} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			p := newShape(t, "csv", policy)
			p.reads("2026-01-01", "id,amount,code,note\n1,1.5,007,\n").must(t, 0).silent(t)
			// Another order, and values that would be of narrower types by themselves.
			p.reads("2026-01-02", "note,code,amount,ID\n,8,2,2\nx,9,3,3\n").must(t, 0).silent(t)
			same(t, "second day", p.rows("lake/2026-01-02"), []string{
				`{"ID": "2", "amount": "2.0", "code": "8", "note": null}`, `{"ID": "3", "amount": "3.0", "code": "9", "note": "x"}`})

			more := p.reads("2026-01-03", "id,amount,code,note,extra\n3,1.5,007,,true\n")
			if policy == "strict" {
				p.refused("2026-01-03", more, `/landing/2026-01-03/a:1: task clean: input raw: the column extra (BOOLEAN) is new: run RUN (dt=2026-01-01) had none of that name; `+
					`nothing became visible (if the change is meant: schema: add_columns at input raw takes new columns, schema: evolve every change; to hold the files to what they had, declare columns:, which ubunye plan prints)`)
			} else {
				more.must(t, 0).says(t, "warning: task clean, input raw: the column extra (BOOLEAN) is new: run ", " (dt=2026-01-01) had none of that name; schema: "+policy+" allows it")
				same(t, "third day", p.rows("lake/2026-01-03"), []string{`{"amount": "1.5", "code": "007", "extra": "true", "id": "3", "note": null}`})
				p.reads("2026-01-04", "id,amount,code,note,extra\n4,1.5,007,,\n").must(t, 0).silent(t) // the new shape is the shape
			}

			other := p.reads("2026-01-05", "id,amount,code\n5,1.5,1\n6,n/a,2\n")
			if policy != "evolve" {
				const hint = "; nothing became visible (if the change is meant: schema: evolve at input raw takes every change; to hold the files to what they had, declare columns:, which ubunye plan prints)"
				was := "2026-01-01"
				want := []string{`/landing/2026-01-05/a:3: task clean: input raw: the column amount is VARCHAR, and was DOUBLE in run RUN (dt=WAS): "n/a" is not a DOUBLE` + hint,
					`/landing/2026-01-05/a:1: task clean: input raw: the column note is gone: run RUN (dt=WAS) had it, as VARCHAR` + hint}
				if policy == "add_columns" {
					was = "2026-01-03"
					want = append(want, `/landing/2026-01-05/a:1: task clean: input raw: the column extra is gone: run RUN (dt=WAS) had it, as BOOLEAN`+hint)
				}
				for i := range want {
					want[i] = strings.Replace(want[i], "WAS", was, 1)
				}
				p.refused("2026-01-05", other, want...)
				return
			}
			other.must(t, 0).says(t, "the column amount is VARCHAR, and was DOUBLE in run ", "the column note is gone", "the column extra is gone")
			same(t, "fifth day", p.rows("lake/2026-01-05"), []string{`{"amount": "1.5", "code": "1", "id": "5"}`, `{"amount": "n/a", "code": "2", "id": "6"}`})
			p.reads("2026-01-06", "id,amount,code\n5,1.5,1\n").must(t, 0).silent(t)
		})
	}
}

var runID = regexp.MustCompile(`[0-9]{8}T[0-9]{6}Z-[0-9a-f]{8}`)

// refused fails the test unless a run was refused by exactly these lines, and left no trace of its day.
func (p *project) refused(day string, r result, want ...string) {
	p.t.Helper()
	r.must(p.t, 3)
	got := r.problems()
	for i := range got {
		got[i] = runID.ReplaceAllString(strings.TrimPrefix(strings.TrimPrefix(got[i], "ubunye: "), p.dir), "RUN")
	}
	same(p.t, "refusal", got, want)
	same(p.t, "landed", p.files("lake/"+day), nil)
	if doc := p.document("clean", day); held(doc) || committed(doc) {
		p.t.Fatalf("held %v, committed %v", held(doc), committed(doc))
	}
}

// An old day that is run again is what it was, or what the others are now; neither is a difference, and the first changes nothing
// for the days to come.
func TestAnOldDayOfAnOldShape(t *testing.T) {
	t.Parallel()
	p := newShape(t, "csv", "add_columns")
	p.reads("2026-01-01", "id,n\n1,1\n").must(t, 0)
	p.reads("2026-01-02", "id,n,extra\n2,1,x\n").must(t, 0).says(t, "the column extra (VARCHAR) is new")
	p.runDay("2026-01-01", "--rerun").must(t, 0).silent(t)
	same(t, "first day", p.rows("lake/2026-01-01"), []string{`{"id": "1", "n": "1"}`})
	p.reads("2026-01-03", "id,n,extra\n3,1,y\n").must(t, 0).silent(t)

	p.reads("2026-01-01", "id,n,extra\n1,1,late\n", "--rerun").must(t, 0).silent(t)
	same(t, "first day, delivered again", p.rows("lake/2026-01-01"), []string{`{"extra": "late", "id": "1", "n": "1"}`})

	p.reads("2026-01-01", "id,n\n1,one\n", "--rerun").must(t, 3).says(t, "/landing/2026-01-01/a:2: task clean: input raw: the column n is VARCHAR, and was BIGINT in run ", `"one" is not a BIGINT`, "the column extra is gone")
	same(t, "first day after a refusal", p.rows("lake/2026-01-01"), []string{`{"extra": "late", "id": "1", "n": "1"}`})
}

// Keys of JSON come and go: a missing one is NULL, which is told if no object has it; a new one is a new column.
func TestKeysThatDrift(t *testing.T) {
	t.Parallel()
	p := newShape(t, "json", "strict")
	p.reads("2026-01-01", `{"id": 1, "opt": 1.5, "at": {"zip": "007", "street": "x"}, "tags": ["a"]}`).must(t, 0).silent(t)
	p.reads("2026-01-02", `{"id": 2, "at": {"zip": "8"}, "tags": []}`).must(t, 0).
		says(t, "warning: task clean, input raw: no object in landing/2026-01-02/* has the key opt, which earlier ones had: it is NULL in every row")
	same(t, "second day", p.rows("lake/2026-01-02"), []string{`{"at": {"street": null, "zip": "8"}, "id": "2", "opt": null, "tags": []}`})
	p.reads("2026-01-03", `{"id": 3, "opt": 2, "at": null, "tags": null}`).must(t, 0).silent(t)
	same(t, "third day", p.rows("lake/2026-01-03"), []string{`{"at": null, "id": "3", "opt": "2.0", "tags": null}`})
	if r := p.reads("2026-01-06", "[]").must(t, 0).says(t, "landing/2026-01-06/* has no rows"); strings.Contains(r.stderr, "has the key") {
		t.Errorf("a day without an object: %s", r.stderr)
	}
	p.reads("2026-01-07", `{"id": 7, "opt": 1, "at": null, "tags": null}`).must(t, 0).silent(t)
	const hint = "; to hold the files to what they had, declare columns:, which ubunye plan prints)"
	p.refused("2026-01-04", p.reads("2026-01-04", `{"id": 4, "opt": 1, "at": null, "tags": null}`+"\n"+`{"id": 5, "discount": 2}`),
		"/landing/2026-01-04/a:2: task clean: input raw: the column discount (BIGINT) is new: run RUN (dt=2026-01-01) had none of that name; nothing became visible "+
			"(if the change is meant: schema: add_columns at input raw takes new columns, schema: evolve every change"+hint)
	const evolve = "; nothing became visible (if the change is meant: schema: evolve at input raw takes every change" + hint
	p.refused("2026-01-05", p.reads("2026-01-05", `{"id": "4", "opt": 1, "at": {"zip": "1", "city": "y"}, "tags": null}`),
		"/landing/2026-01-05/a: task clean: input raw: the column id is VARCHAR, and was BIGINT in run RUN (dt=2026-01-01)"+evolve,
		"/landing/2026-01-05/a:1: task clean: input raw: the column at is STRUCT(zip VARCHAR, city VARCHAR), and was STRUCT(zip VARCHAR, street VARCHAR) in run RUN (dt=2026-01-01): "+
			`the object has a key that is not declared: "city"`+evolve)
}

// Parquet files say their types themselves: one that a cast widens without loss is no difference.
func TestParquetFilesThatDrift(t *testing.T) {
	t.Parallel()
	p := newShape(t, "parquet", "strict")
	day := func(day, table string) result {
		t.Helper()
		p.write("landing/"+day+"/x", "")
		if err := os.Remove(p.path("landing/" + day + "/x")); err != nil {
			t.Fatal(err)
		}
		p.launch(nil, python, "-c", "import pyarrow as pa, pyarrow.parquet as pq; pq.write_table(pa.table("+table+"), 'landing/"+day+"/a')").wait().must(t, 0)
		return p.runDay(day)
	}
	day("2026-01-01", "{'id': pa.array([1], pa.int64()), 'x': pa.array([0.5], pa.float64()), 's': ['a']}").must(t, 0).silent(t)
	day("2026-01-02", "{'s': pa.nulls(1), 'x': pa.array([0.25], pa.float32()), 'id': pa.array([2], pa.int16())}").must(t, 0).silent(t)
	p.launch(nil, python, "-c", "import pyarrow.parquet as pq, glob; print(pq.read_schema(glob.glob('lake/2026-01-02/*.parquet')[0]).remove_metadata())").wait().must(t, 0).
		prints(t, "s: string\nx: double\nid: int64")
	same(t, "second day", p.rows("lake/2026-01-02"), []string{`{"id": "2", "s": null, "x": "0.25"}`})
	const hint = "; nothing became visible (if the change is meant: schema: evolve at input raw takes every change; to hold the files to what they had, declare columns:, which ubunye plan prints)"
	p.refused("2026-01-03", day("2026-01-03", "{'id': ['3'], 'x': [0.5], 's': ['a'], 'more': [1]}"),
		"/landing/2026-01-03/a: task clean: input raw: the column id is VARCHAR, and was BIGINT in run RUN (dt=2026-01-01)"+hint,
		"/landing/2026-01-03/a: task clean: input raw: the column more (BIGINT) is new: run RUN (dt=2026-01-01) had none of that name; "+
			"nothing became visible (if the change is meant: schema: add_columns at input raw takes new columns, schema: evolve every change; to hold the files to what they had, declare columns:, which ubunye plan prints)")
}

func (r result) prints(t *testing.T, text string) {
	t.Helper()
	if strings.TrimSpace(r.stdout) != text {
		t.Fatalf("stdout is %q, want %q", r.stdout, text)
	}
}

// A plan prints the columns so that they can be pasted, and what a run would refuse.
func TestPlanShowsColumns(t *testing.T) {
	t.Parallel()
	p := newShape(t, "csv", "strict")
	plan := func(day string, more ...string) string {
		t.Helper()
		return p.run(append([]string{"plan", "-c", "pipeline.yaml", "--dt", day}, more...)...).must(t, 0).stdout
	}
	if got := plan("2026-01-01"); !strings.Contains(got, "they are not known: ") || !strings.Contains(got, "would run: first run") {
		t.Errorf("without a file: %s", got)
	}
	first := "id,\"a, b: c\",yes,at\n1,007,x,2026-01-01T10:00:00Z\n"
	p.write("landing/2026-01-01/a", first)
	const declared = `columns: {id: BIGINT, "a, b: c": VARCHAR, "yes": VARCHAR, at: TIMESTAMP WITH TIME ZONE}`
	if got := plan("2026-01-01"); !strings.Contains(got, "\n  input raw: csv from landing/2026-01-01/*, 1 file (49 bytes), columns not declared\n    "+declared+"\n") {
		t.Errorf("first day: %s", got)
	}
	p.reads("2026-01-01", first).must(t, 0)
	var prints struct {
		Raw struct {
			Columns []struct{ Name, Type string }
		}
	}
	inputs, err := json.Marshal(p.document("clean", "2026-01-01")["finished"].(map[string]any)["inputs"])
	if err != nil || json.Unmarshal(inputs, &prints) != nil || len(prints.Raw.Columns) != 4 || prints.Raw.Columns[1].Name != "a, b: c" || prints.Raw.Columns[0].Type != "BIGINT" {
		t.Errorf("the document keeps %s (%v)", inputs, err)
	}

	p.write("landing/2026-01-02/a", "id,\"a, b: c\",yes,at\nx,007,x,2026-01-01T10:00:00Z\n")
	got := plan("2026-01-02")
	for _, want := range []string{"would refuse: ", `/landing/2026-01-02/a:2: task clean: input raw: the column id is VARCHAR, and was BIGINT in run `, "\n    " + p.dir + "/landing/2026-01-02/a:2: input raw: ", "a run would be refused"} {
		if !strings.Contains(got, want) {
			t.Errorf("second day: no %q in %s", want, got)
		}
	}
	if got := plan("2026-01-02", "--json"); !strings.Contains(got, `"verdict":"refuse","code":"SchemaDiffers"`) || !strings.Contains(got, `"columns":[{"name":"id","type":"VARCHAR"},`) || !strings.Contains(got, `"changes":["`) {
		t.Errorf("second day: %s", got)
	}

	p.write("pipeline.yaml", strings.Replace(strings.NewReplacer("FORMAT", "csv", "POLICY", "strict").Replace(shapePipeline), "schema: strict", declared, 1))
	p.reads("2026-01-03", first).must(t, 0).silent(t)
	same(t, "with what was pasted", p.rows("lake/2026-01-03"), []string{`{"a, b: c": "007", "at": "2026-01-01 10:00:00+00:00", "id": "1", "yes": "x"}`})
}

// Large text files are read by a plan only when that is asked for.
func TestPlanOfLargeFiles(t *testing.T) {
	t.Parallel()
	p := newShape(t, "csv", "strict")
	p.write("landing/2026-01-01/a", "id,text\n"+strings.Repeat("1,"+strings.Repeat("x", 1<<20)+"\n", 65))
	args := []string{"plan", "-c", "pipeline.yaml", "--dt", "2026-01-01"}
	if got := p.run(args...).must(t, 0).stdout; !strings.Contains(got, "they are not known: 65.0 MiB would have to be read for them; plan --infer does that") {
		t.Errorf("plan: %s", got)
	}
	if got := p.run(append(args, "--infer")...).must(t, 0).stdout; !strings.Contains(got, "columns: {id: BIGINT, text: VARCHAR}") {
		t.Errorf("plan --infer: %s", got)
	}
}

// What is written down beside the documents is found again in them, and is no part of a commit.
func TestShapesThatAreLost(t *testing.T) {
	t.Parallel()
	const file = ".ubunye/shapes/sales/clean.json"
	for name, lose := range map[string]func(p *project){
		"never written": func(p *project) {
			if r := p.runEnv([]string{"UBUNYE_FAULT=kill:~shapes"}, dayArgs("2026-01-01")...); r.exit != 137 {
				p.t.Fatalf("exit code %d: %s", r.exit, r.stderr)
			}
		},
		"no room": func(p *project) {
			p.runEnv([]string{"UBUNYE_FAULT=enospc:~shapes"}, dayArgs("2026-01-01")...).must(p.t, 0).says(p.t, "warning: task clean: the columns that its inputs had could not be written down")
		},
		"removed": func(p *project) {
			p.runDay("2026-01-01").must(p.t, 0)
			if err := os.Remove(p.path(file)); err != nil {
				p.t.Fatal(err)
			}
		},
		"damaged": func(p *project) {
			p.runDay("2026-01-01").must(p.t, 0)
			p.write(file, `{"inputs": {"raw": `)
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newShape(t, "csv", "strict")
			p.write("landing/2026-01-01/a", "id,n\n1,1\n")
			lose(p)
			r := p.reads("2026-01-02", "id,n,more\n2,1,1\n").must(t, 3).says(t, "the column more (BIGINT) is new: run ", " (dt=2026-01-01) had none of that name")
			if name == "damaged" {
				r.says(t, "warning: task clean: the columns that its inputs had are read from its batches, and written down anew by its next commit, because ", file)
			}
			p.reads("2026-01-02", "id,n\n2,1\n").must(t, 0)
			p.reads("2026-01-03", "id,m\n2,1\n").must(t, 3).silent(t).says(t, "the column m (BIGINT) is new", "the column n is gone")
		})
	}
}
