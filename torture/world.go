package main

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/ubunye-io/ubunye/e2e/blackbox"
)

// The days of the data: the batch that is tortured, one that is there before, and one that comes between.
const (
	today     = "2026-01-01"
	yesterday = "2025-12-31"
	tomorrow  = "2026-01-02"
)

// inputs are the files of each day. What is tortured and what was there share one region, and each has one of its own.
var inputs = map[string]string{
	today:     "id,region,dt,note\n1,eu,2026-01-01,a\n2,us,2026-01-01,x\n9007199254740993,us,2026-01-01,\"a \"\"quoted\"\", text\"\n",
	yesterday: "id,region,dt,note\n4,eu,2025-12-31,b\n5,asia,2025-12-31,b\n",
	tomorrow:  "id,region,dt,note\n6,eu,2026-01-02,c\n7,us,2026-01-02,c\n",
}

// corrections are what reruns read in place of today's input: what is tortured, and what follows it.
var corrections = [2]string{
	"id,region,dt,note\n1,eu,2026-01-01,corrected\n2,us,2026-01-01,corrected\n3,asia,2026-01-01,corrected\n",
	"id,region,dt,note\n1,eu,2026-01-01,corrected again\n8,us,2026-01-01,corrected again\n",
}

// Compressed text is renamed while it is staged, which is more to go wrong.
var writerOptions = map[string]string{"parquet": "{}", "csv": "{compression: gzip}", "json": "{compression: zstd}", "delta": "{}"}

func (t target) pipeline() string {
	mode, more := t.mode, ""
	switch mode {
	case "rerun":
		mode = "append"
	case "replace_where":
		mode = "append\n        replace_where: dt = DATE '{{ dt }}'"
	case "merge":
		mode = "merge\n        keys: [id]"
	case "tasks":
		mode, more = "append", `  copy_orders:
    inputs: {orders: {from: clean_orders.orders}}
    outputs: {copy: {from: orders, format: `+t.writer+`, path: lake/copy, mode: append}}
  keep_notes:
    inputs: {notes: {format: csv, path: "notes/{{ dt }}.csv", columns: {day: varchar}}}
    outputs: {notes: {format: `+t.writer+`, path: lake/notes, mode: append}}
`
	}
	return `name: sales
variables:
  dt: {type: date, required: true}
ledger: {heartbeat: 1s, timeout: 6s}
tasks:
  clean_orders:
    inputs:
      raw:
        format: csv
        path: landing/{{ dt }}/*.csv
        columns: {id: bigint, region: varchar, dt: date, note: varchar}
    outputs:
      orders:
        from: raw
        format: ` + t.writer + `
        options: ` + writerOptions[t.writer] + `
        path: lake/orders
        mode: ` + mode + `
        partition_by: [region]
` + more
}

// strangers are files of nobody's, which nothing may touch.
var strangers = map[string]string{
	"lake/stranger/part-0.parquet":                      "not ours",
	"lake/notes.txt":                                    "not ours",
	strayStaging + "/strange/out/part-1.parquet.staged": "a staging folder that no document names",
}

const strayStaging = ".ubunye/staging/20200101T000000Z-00000000"

// model is a prepared folder of a target.
type model struct {
	target
	dir        string
	batches    []batch
	corrected  [][]string          // the rows of corrections
	kept       map[string][32]byte // files that no scenario may change, with their digests
	operations int                 // of a run
	took       float64             // seconds from the first staged file to the end
}

// args are those of a run that is tortured.
func (m *model) args() []string {
	if m.mode == "rerun" {
		return runArgs(today, "--rerun")
	}
	return runArgs(today)
}

func runArgs(day string, more ...string) []string {
	return append([]string{"run", "-c", "pipeline.yaml", "--dt", day}, more...)
}

// build makes the folder and runs what came before.
func (m *model) build(b *worker) error {
	files := map[string]string{"pipeline.yaml": m.pipeline()}
	for day, text := range inputs {
		if m.mode == "merge" && day == today { // one of its rows was there before
			text = strings.Replace(text, "\n2,us", "\n4,us", 1)
		}
		files["landing/"+day+"/a.csv"] = text
		files["notes/"+day+".csv"] = "day\n" + day + "\n"
	}
	for name, text := range strangers {
		files[name] = text
	}
	switch {
	case adds(m.mode), m.table():
		files["lake/orders/_notes"] = "not ours; readers do not take it for data"
	case m.mode == "overwrite_partitions":
		files["lake/orders/region=asia/_notes"] = "not ours, in a partition that is not replaced"
	}
	if err := writeAll(m.dir, files); err != nil {
		return err
	}
	var before []string
	switch {
	case m.mode == "rerun":
		before = []string{yesterday, today}
	case !once(m.mode):
		before = []string{yesterday}
	}
	for _, day := range before {
		if err := b.must(m.dir, 0, runArgs(day)...); err != nil {
			return err
		}
	}
	return m.expect(b)
}

// expect reads what the batches have, as Python reads the input, and what must be kept.
func (m *model) expect(b *worker) error {
	input := func(day string) string { return filepath.Join(m.dir, "landing", day, "a.csv") }
	rows := map[string][]string{}
	for day := range inputs {
		var err error
		if rows[day], err = b.watch.rows(input(day)); err != nil {
			return err
		}
	}
	var old []string
	if m.mode == "rerun" {
		old = rows[today]
	}
	for _, text := range corrections {
		corrected := filepath.Join(m.dir, "corrected.csv")
		if err := os.WriteFile(corrected, []byte(text), 0o666); err != nil {
			return err
		}
		r, err := b.watch.rows(corrected)
		if err != nil {
			return err
		}
		m.corrected = append(m.corrected, r)
	}
	if old != nil {
		rows[today] = m.corrected[0]
		if err := os.WriteFile(input(today), []byte(corrections[0]), 0o666); err != nil {
			return err
		}
	}
	m.batches = []batch{{day: today, versions: [][]string{old, rows[today]}}, {day: tomorrow, versions: [][]string{nil, rows[tomorrow]}}}
	if !once(m.mode) {
		m.batches = append(m.batches, batch{day: yesterday, versions: [][]string{rows[yesterday]}})
	}
	s, err := b.see(m.dir, m.writer, "rest")
	if err != nil {
		return err
	}
	for i := range m.batches {
		m.batches[i].by = []string{s.Batches[m.batches[i].day].finishedBy()}
	}
	m.kept, err = digests(m.dir)
	for name := range m.kept {
		if m.mayChange(name, s.Batches[today].claims()) {
			delete(m.kept, name)
		}
	}
	return err
}

// mayChange tells whether a scenario may change or remove a file that was there: that of a batch which is run again, in a folder
// which is replaced, or the ledger's own.
func (m *model) mayChange(name string, claims []string) bool {
	if strings.HasPrefix(name, ".ubunye/") {
		return strangers[name] == ""
	}
	if name == "landing/"+today+"/a.csv" {
		return true // what follows may read a corrected one
	}
	if m.mode == "tasks" && (strings.HasPrefix(name, "lake/copy/") || strings.HasPrefix(name, "lake/notes/")) {
		return true // the batches of the other tasks are replaced too
	}
	in, ok := strings.CutPrefix(name, "lake/orders/")
	if !ok {
		return false
	}
	if m.table() {
		return in == "_delta_log/_last_checkpoint" // whoever replaces a row leaves the file that it was in
	}
	switch m.mode {
	case "overwrite":
		return true
	case "overwrite_partitions":
		return in == "_SUCCESS" || strings.HasPrefix(in, "region=eu/")
	}
	for _, claim := range claims {
		if in == claim {
			return true
		}
	}
	return in == "_SUCCESS"
}

func (d document) claims() (all []string) {
	if d.Finished == nil {
		return nil
	}
	for _, o := range d.Finished.Outputs {
		all = append(all, o.Claims...)
	}
	return all
}

func writeAll(dir string, files map[string]string) error {
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			return err
		}
	}
	return nil
}

// digests are those of all files below a folder, by name.
func digests(dir string) (map[string][32]byte, error) {
	found := map[string][32]byte{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		found[name] = sha256.Sum256(data)
		return err
	})
	return found, err
}

// left tells what a scenario left that it must not: files that were to be kept, staging, holders, lists, and data files that no
// document claims. A run that was paused before it made its staging folder makes it when it wakes up, when nobody looks for it any
// more: that is told apart. No document names it, and "ubunye status" does.
func (m *model) left(dir string, docs map[string]document, paused string, recovered bool) (wrong []string, stray bool) {
	now, err := digests(dir)
	if err != nil {
		return []string{err.Error()}, false
	}
	unsettled := false
	for name, digest := range m.kept {
		if recovered && strings.HasPrefix(name, strayStaging) {
			continue // nobody's staging is what recover removes
		}
		if now[name] != digest {
			wrong = append(wrong, "a file of others is gone or another one: "+name)
		}
	}
	claimed, err := m.named(dir)
	if err != nil {
		wrong = append(wrong, err.Error())
	}
	for day, d := range docs {
		if d.Holder != nil || len(d.Todo) > 0 {
			wrong = append(wrong, fmt.Sprintf("batch %s is held, or has a list", day))
		}
		for _, name := range d.claims() {
			claimed["lake/orders/"+name] = true
		}
		if len(d.Pending) > 0 && (recovered || day != today) {
			unsettled = true // the next run of the batch finds out what an earlier one left, and removes it
		}
	}
	for name := range now {
		switch {
		case paused != "" && strings.HasPrefix(name, ".ubunye/staging/"+paused+"/"):
			stray = true
		case strings.HasPrefix(name, ".ubunye/staging/") && strangers[name] == "":
			wrong = append(wrong, "left in staging: "+name)
		}
		if (adds(m.mode) || m.table()) && !unsettled && strings.HasPrefix(name, "lake/orders/") && !strings.Contains(name, "/_") && !claimed[name] {
			wrong = append(wrong, "a data file that nobody names: "+name)
		}
	}
	return wrong, stray
}

// named are the files that the log of a table names, if the target is one.
func (m *model) named(dir string) (map[string]bool, error) {
	all := map[string]bool{}
	commits, err := filepath.Glob(filepath.Join(dir, "lake/orders/_delta_log/*.json"))
	for _, commit := range commits {
		data, readErr := os.ReadFile(commit)
		if readErr != nil {
			return nil, readErr
		}
		for line := range strings.Lines(string(data)) {
			var action struct{ Add struct{ Path string } }
			if err := json.Unmarshal([]byte(line), &action); err != nil {
				return nil, fmt.Errorf("%s: %w", commit, err)
			}
			name, err := url.PathUnescape(action.Add.Path)
			if err != nil {
				return nil, err
			}
			all["lake/orders/"+name] = true
		}
	}
	return all, err
}

// trace counts the changes that an undisturbed run makes, in a copy.
func (m *model) trace(b *worker) error {
	dir, err := b.copy(m)
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	file := dir + ".trace"
	defer os.Remove(file)
	p, err := start(b.program, dir, []string{"UBUNYE_FAULT=trace:" + file}, append(m.args(), "--json")...)
	if err != nil {
		return err
	}
	if p.exit() != 0 {
		return fmt.Errorf("%s %s: an undisturbed run: exit %d: %s", m.writer, m.mode, p.exit(), p.said())
	}
	ops, err := blackbox.ReadTrace(file)
	if err != nil {
		return err
	}
	m.operations = len(ops)
	m.took, err = stageToEnd(p.out.String())
	return err
}
