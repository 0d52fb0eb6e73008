package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ubunye-io/ubunye/internal/cases"
)

// deltaCase unpacks a table of another writer, and gives its folder and that of its expected rows.
func deltaCase(t *testing.T, name string) (table, expected string) {
	t.Helper()
	root := cases.Unpack(t, filepath.Join(cases.Folder(t, "delta"), name+".tar.zst"))
	return filepath.Join(root, "delta"), filepath.Join(root, "expected")
}

// expectedRows reads Parquet files with pyarrow.
func expectedRows(t *testing.T, folder string) []string {
	t.Helper()
	return foreign.read(t, map[string]any{"kind": "parquet", "path": folder})
}

// A Delta table is an input: what lands is what the table's other reader says it holds, of the version that was asked for.
func TestDeltaInput(t *testing.T) {
	for _, c := range []struct {
		table, options, expected string
		version                  float64
	}{
		{"snapshot-repartitioned", "{}", "snapshot-repartitioned", 5},
		{"snapshot-repartitioned", "{version: 0}", "snapshot-data0", 0},
		{"snapshot-repartitioned", "{version: 4}", "snapshot-data2-deleted", 4},
		{"log-replay-dv-key-cases", "{}", "log-replay-dv-key-cases", 3},
		{"v2-checkpoint-json", "{}", "v2-checkpoint-json", 2},
	} {
		t.Run(c.table+" "+strings.Trim(c.options, "{}"), func(t *testing.T) {
			table, expected := deltaCase(t, c.table)
			if c.expected != c.table {
				_, expected = deltaCase(t, c.expected)
			}
			p := loaded(t, "{format: delta, path: \""+table+"\", options: "+c.options+"}", nil)
			if said := p.run("plan", "-c", "pipeline.yaml").must(t, 0).stdout; !strings.Contains(said, fmt.Sprintf("input raw: delta from %s version %v, ", table, c.version)) {
				t.Errorf("plan: %s", said)
			}
			p.load().must(t, 0)
			same(t, "rows", p.rows("lake/out"), expectedRows(t, expected))
			inputs, _ := p.document("load", "")["finished"].(map[string]any)["inputs"].(map[string]any)
			if got := inputs["raw"].(map[string]any)["version"]; got != c.version {
				t.Errorf("the ledger keeps version %v, want %v", got, c.version)
			}
		})
	}
}

// All tasks of a run read a table as the first one did, also if somebody commits to it meanwhile.
func TestDeltaInputsOfARunAreOfOneVersion(t *testing.T) {
	table, _ := deltaCase(t, "snapshot-repartitioned")
	_, before := deltaCase(t, "snapshot-data2-deleted")
	newest := filepath.Join(table, "_delta_log", "00000000000000000005.json")
	commit, err := os.ReadFile(newest)
	if err == nil {
		err = os.Remove(newest)
	}
	if err != nil {
		t.Fatal(err)
	}
	task := "\n    inputs: {raw: {format: delta, path: " + table + "}}\n    outputs: {out: {from: raw, format: parquet, path: lake/%s}}\n"
	p := newProject(t, "name: two\ntasks:\n  a:"+fmt.Sprintf(task, "a")+"  b:"+fmt.Sprintf(task, "b"))
	q := p.start([]string{"UBUNYE_FAULT=stop:~lake/a"}, "run", "-c", "pipeline.yaml")
	if !q.waitStopped() {
		t.Fatalf("the run was not stopped: %+v", q.wait())
	}
	if err := os.WriteFile(newest, commit, 0o666); err != nil {
		t.Fatal(err)
	}
	q.signal(cont)
	q.wait().must(t, 0)
	want := expectedRows(t, before)
	same(t, "rows of a", p.rows("lake/a"), want)
	same(t, "rows of b", p.rows("lake/b"), want)
}

// What is wrong with a table is said with its file and column, and nothing lands.
func TestDeltaInputsThatAreRefused(t *testing.T) {
	for _, c := range []struct {
		table, options string
		damage         func(table string) error
		says           []string
	}{
		{"snapshot-data0", "{version: 7}", nil, []string{"the table has no version 7: its log reaches from version 0 to 0", "older versions go when the log is cleaned up"}},
		{"snapshot-repartitioned", "{}", func(table string) error {
			return os.Remove(filepath.Join(table, "_delta_log", "00000000000000000003.json"))
		},
			[]string{"the commit of version 3 is missing from the log"}},
		{"deltalog-invalid-protocol-version", "{}", nil, []string{"the table cannot be read: it needs reader version 99"}},
		{"snapshot-vacuumed", "{version: 0}", nil, []string{"the table's version 0 has this file, and it is gone", "a vacuum removes the files of old versions"}},
	} {
		t.Run(c.table+" "+strings.Trim(c.options, "{}"), func(t *testing.T) {
			table, _ := deltaCase(t, c.table)
			if c.damage != nil {
				if err := c.damage(table); err != nil {
					t.Fatal(err)
				}
			}
			p := loaded(t, "{format: delta, path: \""+table+"\", options: "+c.options+"}", nil)
			told := complaint(t, p.load().must(t, 4))
			result{stderr: told}.says(t, append(c.says, table, "nothing became visible")...)
			same(t, "files that landed", p.files("lake"), nil)
		})
	}
}
