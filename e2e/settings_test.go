package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// numbers is a pipeline whose output and rest a test fills in.
const numbers = `name: numbers
tasks:
  t:
    inputs: {raw: {format: csv, path: in.csv, columns: {n: bigint}%s}}
    outputs: {out: {from: raw, format: parquet, path: lake%s}}
%s`

func newNumbers(t *testing.T, input, output, rest string, rows int) *project {
	t.Helper()
	p := newProject(t, fmt.Sprintf(numbers, input, output, rest))
	var csv strings.Builder
	csv.WriteString("n\n")
	for i := range rows {
		fmt.Fprintf(&csv, "%d\n", i*7919%rows)
	}
	p.write("in.csv", csv.String())
	return p
}

func (p *project) runNumbers() result { p.t.Helper(); return p.run("run", "-c", "pipeline.yaml") }

// traced runs the pipeline and gives the changes that it made.
func (p *project) traced() []operation {
	p.t.Helper()
	file := filepath.Join(p.t.TempDir(), "trace")
	p.runEnv([]string{"UBUNYE_FAULT=trace:" + file}, "run", "-c", "pipeline.yaml").must(p.t, 0)
	return readTrace(p.t, file)
}

func TestSuccessFile(t *testing.T) {
	for value, want := range map[string]bool{"true": true, "false": false} {
		p := newNumbers(t, "", ", success_file: "+value, "", 3)
		p.runNumbers().must(t, 0)
		if _, err := os.Stat(p.path("lake/_SUCCESS")); (err == nil) != want {
			t.Errorf("success_file %s: %v", value, err)
		}
	}
}

func TestSortBy(t *testing.T) {
	p := newNumbers(t, "", ", sort_by: [n DESC]", "", 100)
	p.runNumbers().must(t, 0)
	var tables []struct{ Rows [][]string }
	if err := json.Unmarshal([]byte(p.run("show", "-c", "pipeline.yaml", "--json", "--limit", "100").must(t, 0).stdout), &tables); err != nil {
		t.Fatal(err)
	}
	if len(tables) != 1 || len(tables[0].Rows) != 100 {
		t.Fatalf("%+v", tables)
	}
	for i, row := range tables[0].Rows {
		if row[0] != fmt.Sprint(99-i) {
			t.Fatalf("row %d is %s", i, row[0])
		}
	}
}

func TestTargetFileSizeAndOptions(t *testing.T) {
	size := func(more string) (files int, bytes int64) {
		p := newNumbers(t, "", more, "", 60000)
		p.runNumbers().must(t, 0)
		for _, name := range p.dataFiles("lake") {
			info, err := os.Stat(p.path("lake/" + name))
			if err != nil {
				t.Fatal(err)
			}
			files, bytes = files+1, bytes+info.Size()
		}
		if got := len(p.rows("lake")); got != 60000 {
			t.Fatalf("%s: %d rows", more, got)
		}
		return files, bytes
	}
	one, plain := size(", options: {compression: none}")
	many, _ := size(", options: {compression: none, row_group_size: \"4096\"}, target_file_size: 64KiB")
	for _, codec := range []string{"snappy", "gzip", "lz4", "brotli"} {
		size(", options: {compression: " + codec + "}")
	}
	_, packed := size(", options: {compression: zstd, compression_level: \"3\"}")
	if one != 1 || many < 3 || packed >= plain {
		t.Errorf("%d files, with a target size %d; %d bytes, packed %d", one, many, plain, packed)
	}
}

func TestDurability(t *testing.T) {
	type syncs struct{ files, folders, documents int }
	count := func(setting string, env ...string) (n syncs) {
		p := newNumbers(t, "", "", setting, 3)
		p.env = env
		for _, o := range p.traced() {
			own := strings.Contains(o.Path, "/.ubunye") && !strings.Contains(o.Path, "/.ubunye/staging/")
			small := strings.HasPrefix(filepath.Base(o.Path), "_ubunye-")
			switch {
			case o.Kind == "syncfs":
				t.Errorf("a syncfs for one file: %v", o)
			case strings.HasPrefix(o.Kind, "sync") && (own || small || o.Path == p.dir):
				n.documents++
			case o.Kind == "sync":
				n.files++
			case o.Kind == "syncdir":
				n.folders++
			}
		}
		if got := len(p.rows("lake")); got != 3 {
			t.Errorf("%s: %d rows", setting, got)
		}
		return n
	}
	safe, fast := count(""), count("durability: fast\n")
	// the staged file; its staging folder, the two above it in the ledger's staging/, and lake
	if safe.files != 1 || safe.folders != 4 || safe.documents < 8 {
		t.Errorf("safe: %+v", safe)
	}
	// and of folders that the ledger needs too: its staging/, and the one that lake is made in
	if fast != (syncs{documents: safe.documents - 2}) {
		t.Errorf("fast: %+v, safe %+v", fast, safe)
	}
	if env := count("durability: safe\n", "UBUNYE_DURABILITY=fast"); env != fast {
		t.Errorf("fast by the environment: %+v, want %+v", env, fast)
	}
	if same := count("durability: safe\n"); same != safe {
		t.Errorf("safe: %+v, without the key %+v", same, safe)
	}
	newNumbers(t, "", "", "durability: quick\n", 3).runNumbers().must(t, 2).oneLine(t).says(t, "pipeline.yaml:6:13", "quick", "known: fast, safe")
}

func TestHeartbeat(t *testing.T) {
	beats := func(every string) (n int) {
		for _, o := range newNumbers(t, "", "", "ledger: {heartbeat: "+every+", timeout: 1h}\n", 3).traced() {
			if o.Kind == "times" && strings.HasSuffix(o.Path, ".beat") {
				n++
			}
		}
		return n
	}
	if seldom, often := beats("10m"), beats("1ms"); seldom != 1 || often < 3 {
		t.Errorf("%d beats with a heartbeat of 10m, %d with one of 1ms", seldom, often)
	}
}

func TestOnEmpty(t *testing.T) {
	for value, exit := range map[string]int{"ok": 0, "warn": 0, "fail": 4} {
		p := newNumbers(t, ", on_empty: "+value, "", "", 0)
		r := p.runNumbers().must(t, exit)
		if said := strings.Contains(r.stderr, "no rows"); said == (value == "ok") {
			t.Errorf("on_empty %s: %s", value, r.stderr)
		}
	}
}

// The folder for spilled rows is made where the pipeline says; where it cannot be made a line says so.
func TestSpill(t *testing.T) {
	p := newNumbers(t, "", "", "engine: {spill: deep/down/spill}\n", 3)
	p.runNumbers().must(t, 0)
	if info, err := os.Stat(p.path("deep/down/spill")); err != nil || !info.IsDir() {
		t.Error(err)
	}
	p = newNumbers(t, "", "", "engine: {spill: in.csv/spill}\n", 3)
	p.runNumbers().must(t, 4).says(t, "engine.spill", "in.csv")
}

// Rows that a killed run had spilled go with the next start of the ledger, of whatever pipeline; those of
// another ledger's run stay.
func TestSpillOfAKilledRun(t *testing.T) {
	p := newNumbers(t, "", ", sort_by: [text]", "engine: {spill: spill, memory: 64MiB, threads: 1}\n", 3)
	p.write("pipeline.yaml", strings.NewReplacer("from: raw", "from: big", "format: parquet", "format: csv, options: {compression: gzip}", "    outputs:",
		"    transform: {big: 'SELECT i, hash(i)::VARCHAR || hash(i+1)::VARCHAR AS text FROM raw, range(300000) r(i)'}\n    outputs:").Replace(string(must(os.ReadFile(p.path("pipeline.yaml"))))))
	p.write("next.yaml", strings.NewReplacer("name: numbers", "name: next", "path: lake", "path: other").Replace(fmt.Sprintf(numbers, "", "", "engine: {spill: spill}\n")))
	p.run("run", "-c", "next.yaml").must(t, 0) // it makes the ledger
	// compressed text is renamed as long as the compute engine is at work: its spilled rows are there
	p.runEnv([]string{"UBUNYE_FAULT=kill:~/part-"}, "run", "-c", "pipeline.yaml").must(t, 137)
	spilled := must(filepath.Glob(p.path("spill/ubunye-spill-*-t")))
	if len(spilled) != 1 {
		t.Fatalf("spilled: %q", spilled)
	}
	p.write("spill/ubunye-spill-0123456789ab-20260101T000000Z-01234567-t/rows", "of another ledger")
	p.run("run", "-c", "next.yaml").must(t, 0)
	same(t, "what is left of spilled rows", p.files("spill"), []string{"ubunye-spill-0123456789ab-20260101T000000Z-01234567-t/", "ubunye-spill-0123456789ab-20260101T000000Z-01234567-t/rows"})
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
