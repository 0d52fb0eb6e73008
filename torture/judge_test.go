package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// fabricated is a folder of a target in which today's batch was run, with the reader that looks at it.
func fabricated(t *testing.T, k target) (*worker, *model) {
	t.Helper()
	w := &worker{program: abs("bin/ubunye-fault"), work: t.TempDir()}
	var err error
	if w.watch, err = newWatcher(abs(".venv/bin/python"), abs("torture/watch.py")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.watch.close)
	m := &model{target: k, dir: filepath.Join(t.TempDir(), "model")}
	if err := m.build(w); err != nil {
		t.Fatal(err)
	}
	return w, m
}

// The whole way from files to figures can fail: what a run left, with a file copied, removed or shown too early by hand, is
// found by the reader and counted by the judge.
func TestTheJudgementFindsFabricatedFaults(t *testing.T) {
	t.Parallel()
	for _, writer := range writers {
		w, m := fabricated(t, target{writer, "append"})
		for _, c := range []struct {
			name    string
			do      func(t *testing.T, dir string)
			at, end verdict // of the moment, and in the end
		}{
			{"nothing", func(*testing.T, string) {}, verdict{}, verdict{}},
			{"doubled", func(t *testing.T, dir string) { alter(t, dir, "region=us", os.Link) }, verdict{doubled: 2}, verdict{doubled: 2}},
			{"lost", func(t *testing.T, dir string) { alter(t, dir, "region=us", remove) }, verdict{}, verdict{lost: 2}},
			{"early", func(t *testing.T, dir string) { uncommit(t, dir) }, verdict{early: 3}, verdict{}},
			{"another batch lost", func(t *testing.T, dir string) { alter(t, dir, "region=asia", remove) }, verdict{lost: 1}, verdict{lost: 1}},
			{"another batch doubled", func(t *testing.T, dir string) { alter(t, dir, "region=asia", os.Link) }, verdict{doubled: 1}, verdict{doubled: 1}},
		} {
			t.Run(writer+" "+c.name, func(t *testing.T) {
				dir, err := w.copy(m)
				if err != nil {
					t.Fatal(err)
				}
				if err := w.must(dir, 0, runArgs(today)...); err != nil {
					t.Fatal(err)
				}
				c.do(t, dir)
				s, err := w.see(dir, writer, "rest")
				if err != nil || len(s.Looks) != 1 {
					t.Fatalf("%v, %d looks", err, len(s.Looks))
				}
				j := newJudge(m.target, m.batches)
				if at, end := j.look(s.Looks[0]), j.end(s.Looks[0]); at.String() != c.at.String() || end.String() != c.end.String() {
					t.Fatalf("at the moment %v, want %v; in the end %v, want %v", at, c.at, end, c.end)
				}
				if left, _ := m.left(dir, s.Batches, "", false); (c.name == "nothing" || c.name == "lost") != (len(left) == 0) {
					t.Fatalf("left: %v", left)
				}
			})
		}
	}
}

// alter does something with the first data file of a partition, and a second name.
func alter(t *testing.T, dir, partition string, do func(file, second string) error) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "lake/orders", partition, "[a-z]*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no file in %s: %v", partition, err)
	}
	if err := do(files[0], filepath.Join(filepath.Dir(files[0]), "copy-"+filepath.Base(files[0]))); err != nil {
		t.Fatal(err)
	}
}

func remove(file, _ string) error { return os.Remove(file) }

// uncommit removes the generations of today's document that say finished.
func uncommit(t *testing.T, dir string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, ".ubunye/batches/sales/clean_orders/*"))
	if err != nil || len(files) != 2 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, folder := range files {
		generations, _ := filepath.Glob(folder + "/*.json")
		text, err := os.ReadFile(generations[0])
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(text, []byte(`"dt":"`+today)) {
			os.RemoveAll(folder)
		}
	}
}

// What a moment is worth, in each kind of mode.
func TestTheJudgeOfMoments(t *testing.T) {
	row := func(id, region string) string { return `{"id": "` + id + `", "region": "` + region + `"}` }
	finished := func(run string) map[string]document {
		var d document
		d.Finished = &struct {
			Run     string `json:"run"`
			Outputs map[string]struct {
				Claims []string `json:"claims"`
			} `json:"outputs"`
		}{Run: run}
		return map[string]document{today: d}
	}
	committing := map[string]document{today: {Outputs: map[string]struct {
		Phase string `json:"phase"`
	}{"orders": {Phase: "committing"}}}}
	a, b, c, d := row("1", "eu"), row("2", "us"), row("3", "eu"), row("4", "us")
	added := []batch{{day: today, versions: [][]string{{a, b}, {c, d}}, by: []string{"old"}}}
	replaced := []batch{{day: today, versions: [][]string{nil, {c, d}}, by: []string{""}}, {day: yesterday, versions: [][]string{{a, b}}}}
	for _, t1 := range []struct {
		name, mode string
		batches    []batch
		looks      []look
		want       verdict
	}{
		{"a rerun as it should be", "rerun", added, []look{{Rows: []string{a, b}, Batches: finished("old")}, {Rows: []string{a, b, c}, Batches: finished("new")},
			{Rows: []string{a, b, c, d}, Batches: finished("new")}, {Rows: []string{b, c, d}, Batches: finished("new")}, {Rows: []string{c, d}, Batches: finished("new")}}, verdict{}},
		{"a rerun shown before its commit", "rerun", added, []look{{Rows: []string{a, b, c}, Batches: finished("old")}}, verdict{early: 1}},
		{"the old ones go first", "rerun", added, []look{{Rows: []string{b, c}, Batches: finished("new")}}, verdict{lost: 1}},
		{"both stay", "rerun", added, []look{{Rows: []string{a, b, c, c, d}, Batches: finished("new")}}, verdict{doubled: 1}},
		{"seen and gone", "rerun", added, []look{{Rows: []string{a, b, c}, Batches: finished("new")}, {Rows: []string{a, b}, Batches: finished("new")}}, verdict{lost: 1}},
		{"nobody's row", "rerun", added, []look{{Rows: []string{a, b, row("9", "eu")}, Batches: finished("old")}}, verdict{early: 1}},
		{"an exchange as it should be", "overwrite", replaced, []look{{Rows: []string{a, b}}, {Rows: []string{c, d}, Batches: committing}, {Rows: []string{c, d}, Batches: finished("new")}}, verdict{}},
		{"an exchange that was not announced", "overwrite", replaced, []look{{Rows: []string{a, b}}, {Rows: []string{c, d}}}, verdict{early: 2}},
		{"no folder for a moment", "overwrite", replaced, []look{{Rows: []string{a, b}}, {}}, verdict{lost: 2}},
		{"old and new at once", "overwrite", replaced, []look{{Rows: []string{a, b}}, {Rows: []string{a, b, c, d}, Batches: committing}}, verdict{doubled: 2}},
		{"an exchange taken back", "overwrite", replaced, []look{{Rows: []string{a, b}}, {Rows: []string{c, d}, Batches: committing}, {Rows: []string{a, b}}}, verdict{lost: 2}},
		{"one partition after the other", "overwrite_partitions", replaced, []look{{Rows: []string{a, b}}, {Rows: []string{b, c}, Batches: committing}, {Rows: []string{c, d}, Batches: committing}}, verdict{}},
		{"one partition is lost", "overwrite_partitions", replaced, []look{{Rows: []string{a, b}}, {Rows: []string{c}, Batches: committing}}, verdict{lost: 1}},
		{"a commit to a table", "delta append", replaced, []look{{Rows: []string{a, b}}, {Rows: []string{a, b, c, d}, Batches: committing}, {Rows: []string{a, b, c, d}, Batches: finished("new")}}, verdict{}},
		{"what a dead run may have committed", "delta append", replaced, []look{{Rows: []string{a, b, c, d}, Batches: map[string]document{today: {Pending: []any{1}}}}}, verdict{}},
		{"half of a commit", "delta append", replaced, []look{{Rows: []string{a, b, c}, Batches: committing}}, verdict{lost: 1}},
		{"a commit that was not announced", "delta append", replaced, []look{{Rows: []string{a, b, c, d}}}, verdict{early: 2}},
		{"a commit taken back", "delta append", replaced, []look{{Rows: []string{a, b, c, d}, Batches: committing}, {Rows: []string{a, b}, Batches: committing}}, verdict{lost: 2}},
		{"a commit that is not there", "delta append", replaced, []look{{Rows: []string{a, b}, Batches: finished("new")}}, verdict{lost: 2}},
		{"a commit made twice", "delta append", replaced, []look{{Rows: []string{a, b, c, c, d, d}, Batches: finished("new")}}, verdict{doubled: 2}},
		{"a merge", "delta merge", replaced, []look{{Rows: []string{a, b}}, {Rows: []string{a, b, c, d}, Batches: committing}}, verdict{}},
		{"a merge that loses a row", "delta merge", replaced, []look{{Rows: []string{a, b}}, {Rows: []string{a, c, d}, Batches: committing}}, verdict{lost: 1}},
		{"a merge that doubles a row", "delta merge", replaced, []look{{Rows: []string{a, b}}, {Rows: []string{a, b, b, c, d}, Batches: committing}}, verdict{doubled: 1}},
	} {
		writer, mode, table := strings.Cut(t1.mode, " ")
		if !table {
			writer, mode = "parquet", t1.mode
		}
		j, got := newJudge(target{writer, mode}, t1.batches), verdict{}
		for _, l := range t1.looks {
			got.add(j.look(l))
		}
		if got.String() != t1.want.String() {
			t.Errorf("%s: %v, want %v", t1.name, got, t1.want)
		}
	}
	// A version that will never be committed is never to be seen.
	j := newJudge(target{"parquet", "rerun"}, added)
	e := row("5", "eu")
	j.corrected([]string{e}, finished("old"))
	if v := j.look(look{Rows: []string{a, b, c, e}, Batches: finished("newer")}); v.early != 1 {
		t.Errorf("a void version: %v", v)
	}
}
