package e2e

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// numberedProject writes to a table whose log is numbered files, by a plugin that is a file. do is what goes wrong in it.
func numberedProject(t *testing.T, mode, do string) *project {
	t.Helper()
	p := newProject(t, "")
	digest := p.built(hostileModule("numbered"), "numbered.wasm")
	p.write("pipeline.yaml", fmt.Sprintf(`name: lakehouse
variables: {dt: {type: date, required: true}}
plugins: {numbered: {path: numbered.wasm, sha256: %s, allow: {table: true}}}
tasks:
  load:
    inputs: {raw: {format: csv, path: "{{ dt }}.csv", columns: {id: bigint, dt: date, v: text}}}
    outputs: {raw: {format: numbered, path: lake/t, mode: %s, options: {do: "%s"}}}
`, digest, mode, do))
	p.write("2026-01-01.csv", otherDay)
	p.write("2026-01-02.csv", ownDay)
	return p
}

// numberedCommit is a file of the log of such a table.
type numberedCommit struct {
	Keys    []string
	Run     string
	Epoch   int64
	Files   []string
	Replace bool
}

func (p *project) numberedLog() (all []numberedCommit) {
	p.t.Helper()
	names, _ := filepath.Glob(p.path("lake/t/_numbered/*.json"))
	for _, name := range names {
		rel, err := filepath.Rel(p.dir, name)
		if err != nil {
			p.t.Fatal(err)
		}
		var c numberedCommit
		if err := json.Unmarshal([]byte(p.text(filepath.ToSlash(rel))), &c); err != nil {
			p.t.Fatalf("%s: %v", name, err)
		}
		all = append(all, c)
	}
	return all
}

// A table by a plugin that nobody has tested counts as named: it is said, and what its batches carry is the ledger's.
func TestATableByAPlugin(t *testing.T) {
	t.Parallel()
	p := numberedProject(t, "append", "")
	if said := p.run("plan", "-c", "pipeline.yaml", "--dt", "2026-01-01").must(t, 0).stdout; !strings.Contains(said, "delivery named") {
		t.Errorf("plan: %s", said)
	}
	r := p.loadDay("2026-01-01").must(t, 0)
	r.says(t, "plugin numbered declares once for this mode and is pinned by no lock, so it counts as named")
	if !strings.Contains(r.stdout, "load.raw: 2 rows in 1 file") {
		t.Errorf("said %s", r.stdout)
	}
	p.loadDay("2026-01-02").must(t, 0)
	log := p.numberedLog()
	if len(log) != 2 || log[1].Epoch != 1 || len(log[1].Files) != 1 || len(log[1].Keys) != 1 || !strings.HasPrefix(log[1].Keys[0], "ubunye/lakehouse/load/raw/") || log[0].Keys[0] == log[1].Keys[0] {
		t.Fatalf("%+v", log)
	}
	out := p.document("load", "2026-01-02")["finished"].(map[string]any)["outputs"].(map[string]any)["raw"].(map[string]any)
	if mark := out["mark"].(map[string]any); mark["commit"] != "version 2" || mark["run"] != log[1].Run || out["key"] != log[1].Keys[0] {
		t.Errorf("the ledger keeps %v", out)
	}
	p.loadDay("2026-01-02").must(t, 1).says(t, "in the table as version 2")
	if p.text("lake/t/_numbered/_last") != "version 2" {
		t.Error("the hint was not replaced")
	}
	if said := p.run("plan", "-c", "pipeline.yaml", "--dt", "2026-01-03", "--json").must(t, 0).stdout; !strings.Contains(said, `"class": "named"`) && !strings.Contains(said, `"class":"named"`) {
		t.Errorf("plan: %s", said)
	}
}

// What becomes of a commit is told, whatever the writer does: it is done, it is not, or nobody can tell.
func TestTableCommitsThatGoWrong(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		do      string
		exit    int
		commits int // in the log
		says    []string
	}{
		{"refuse", 4, 0, []string{"the table ", " was not committed to: the table is full; nothing became visible (empty it)"}},
		{"die-before", 4, 0, []string{"plugin numbered: commit: it ended itself with exit code 3", "nothing became visible"}},
		{"lie", 4, 0, []string{"plugin numbered: commit: its answer makes no sense", "nothing became visible"}},
		{"die-after", 0, 1, nil}, // another instance finds it in the log
		{"doubt", 0, 1, nil},
	} {
		t.Run(c.do, func(t *testing.T) {
			t.Parallel()
			p := numberedProject(t, "append", c.do)
			r := p.loadDay("2026-01-01").must(t, c.exit)
			r.says(t, c.says...)
			if log := p.numberedLog(); len(log) != c.commits {
				t.Fatalf("%d commits: %+v", len(log), log)
			}
			if committed(p.document("load", "2026-01-01")) != (c.exit == 0) {
				t.Error("the document says otherwise")
			}
			p.write("pipeline.yaml", strings.Replace(p.text("pipeline.yaml"), c.do, "", 1))
			p.loadDay("2026-01-01").must(t, 1-min(1, c.exit))
			log := p.numberedLog()
			if len(log) != 1 {
				t.Fatalf("%d commits: %+v", len(log), log)
			}
			p.namedFilesAreThere(log)
		})
	}
}

// namedFilesAreThere fails the test if a file that the log names is missing. What it does not name may stay: of class named nothing
// is ever removed.
func (p *project) namedFilesAreThere(log []numberedCommit) {
	p.t.Helper()
	files := p.dataFiles("lake/t")
	for _, c := range log {
		for _, name := range c.Files {
			if !slices.Contains(files, name) {
				p.t.Fatalf("%s is gone; there are %q", name, files)
			}
		}
	}
}

// A table may not let its writer keep what it promises: then it counts as named, and why is said.
func TestATableThatForgets(t *testing.T) {
	t.Parallel()
	p := numberedProject(t, "append", "forgets")
	p.loadDay("2026-01-01").must(t, 0).says(t, "task load, output raw: the table forgets its commits")
}

// A writer that looks at its target writes nothing there.
func TestATableIsNotWrittenBeforeItsCommit(t *testing.T) {
	t.Parallel()
	p := numberedProject(t, "append", "put-at-plan")
	p.loadDay("2026-01-01").must(t, 4).says(t, "plugin numbered: plan: table.put_new is not allowed during plan")
	same(t, "files", p.files("lake"), nil)
}

// The modes that ask whether there is data ask the table's log, not its folder.
func TestTablesThatExist(t *testing.T) {
	t.Parallel()
	p := numberedProject(t, "error_if_exists", "")
	p.write("lake/t/stranger.txt", "no log names it")
	p.loadDay("2026-01-01").must(t, 0)
	p.loadDay("2026-01-02").must(t, 4).says(t, "holds data already (version 1)", "nothing became visible")
	p.write("pipeline.yaml", strings.Replace(p.text("pipeline.yaml"), "error_if_exists", "ignore", 1))
	r := p.loadDay("2026-01-02").must(t, 0)
	if !strings.Contains(r.stdout, "nothing written to lake/t: it holds data already (version 1)") || len(p.numberedLog()) != 1 {
		t.Errorf("said %s", r.stdout)
	}
}

// Without a ledger a commit carries nothing, and nothing is looked for.
func TestTablesWithoutALedger(t *testing.T) {
	t.Parallel()
	p := numberedProject(t, "append", "")
	for range 2 {
		p.runEnv([]string{"UBUNYE_RUN_LEASE=off"}, "run", "-c", "pipeline.yaml", "--dt", "2026-01-01").must(t, 0).says(t, "UBUNYE_RUN_LEASE")
	}
	log := p.numberedLog()
	if len(log) != 2 || len(log[0].Keys) != 1 || log[0].Keys[0] != "" {
		t.Fatalf("%+v", log)
	}
	for _, c := range log {
		p.namedFilesAreThere([]numberedCommit{c})
	}
}
