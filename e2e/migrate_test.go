package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
	"testing"

	"github.com/ubunye-io/ubunye/internal/cases"
	"github.com/ubunye-io/ubunye/schemas/schematest"
)

// realFiles are state files that Smart Data Lake Builder wrote over two years, by their names in a folder of run state. Some
// have one number, in one folder or in both: they are counted anew, each as a run of its own, which changes the numbers in them.
func realFiles(t *testing.T, most int) map[string]string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(cases.Folder(t, "sdlb-state"), "v*.json"))
	if err != nil || len(paths) != 75 {
		t.Fatalf("%d files, %v", len(paths), err)
	}
	sort.Strings(paths)
	files := map[string]string{}
	name := regexp.MustCompile(`_(current|succeeded)_([^._]+)\.(\d+)\.(\d+)\.json$`)
	for i, path := range paths {
		if most < len(paths) && i%(len(paths)/most) != 0 {
			continue
		}
		text, err := os.ReadFile(path)
		m := name.FindStringSubmatch(filepath.Base(path))
		if err != nil || m == nil {
			t.Fatal(path, err)
		}
		number := regexp.MustCompile(`("runId" : )` + m[3] + `\b`)
		if !number.Match(text) {
			t.Fatalf("%s does not say that it is of run %s", path, m[3])
		}
		files[fmt.Sprintf("%s/%s.%d.%s.json", m[1], m[2], 100+i, m[4])] = number.ReplaceAllString(string(text), fmt.Sprintf("${1}%d", 100+i))
	}
	return files
}

// madeUp are files of the shapes that are not among the real ones.
func madeUp(t *testing.T) map[string]string {
	t.Helper()
	paths, err := filepath.Glob("../engine/runstate/testdata/*.shop.*.json")
	if err != nil || len(paths) < 14 {
		t.Fatal(paths, err)
	}
	files := map[string]string{}
	for i, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		base := filepath.Base(path)
		files[[]string{"succeeded/", "current/"}[i%2]+base[strings.Index(base, "shop."):]] = string(text)
	}
	return files
}

// facts are what a state file says, read without a word about its format: of each action its state and how many rows and files
// the numbers called count and records_written say.
func facts(t *testing.T, text string) string {
	t.Helper()
	var d struct {
		RunID, AttemptID int64
		ActionsState     map[string]struct {
			State   string
			Results []json.RawMessage
		}
	}
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		t.Fatal(err)
	}
	var all []string
	for name, a := range d.ActionsState {
		line := name + " " + a.State
		for _, r := range a.Results {
			numbers := regexp.MustCompile(`"(count|records_written|bytes_written)" ?: ?\d+`).FindAllString(strings.ReplaceAll(string(r), " ", ""), -1)
			sort.Strings(numbers)
			line += " " + strings.Join(numbers, " ")
		}
		all = append(all, line)
	}
	sort.Strings(all)
	return fmt.Sprintf("%d.%d %s", d.RunID, d.AttemptID, strings.Join(all, "; "))
}

// newOldState is a project whose folder s has these files.
func newOldState(t *testing.T, files map[string]string) *project {
	p := newProject(t, salesPipeline)
	for name, text := range files {
		p.write("s/"+name, text)
	}
	p.write("s/index.json", "{}\n")
	p.write("s/current/notes.txt", "mine")
	return p
}

var migrateArgs = []string{"state", "migrate", "-s", "s", "--time-zone", "Europe/Zurich"}

// read gives the files of a folder whose names match.
func (p *project) read(folder, pattern string) map[string]string {
	p.t.Helper()
	all := map[string]string{}
	for _, name := range p.files(folder) {
		if ok, _ := regexp.MatchString(pattern, name); ok && !strings.HasSuffix(name, "/") {
			text, err := os.ReadFile(filepath.Join(p.path(folder), name))
			if err != nil {
				p.t.Fatal(err)
			}
			all[name] = string(text)
		}
	}
	return all
}

// migratedRight asserts that every file is of our format and says what it said, that its original is in a backup, and that others'
// files are as they were. The originals of several migrations that were killed may be there.
func (p *project) migratedRight(originals map[string]string) map[string]string {
	p.t.Helper()
	lenient, err := schematest.OpenLenient("run-state")
	if err != nil {
		p.t.Fatal(err)
	}
	now := p.read("s", `^(current|succeeded)/[^/]*\.json$`)
	if len(now) != len(originals) {
		p.t.Fatalf("%d files became %d", len(originals), len(now))
	}
	backups := p.read("s", `^backup-.*\.json$`)
	for name, original := range originals {
		if err := lenient.Check([]byte(now[name])); err != nil || !strings.Contains(now[name], `"runStateFormatVersion": 8`) {
			p.t.Errorf("%s: %v", name, err)
		}
		if was, is := facts(p.t, original), facts(p.t, now[name]); was != is {
			p.t.Errorf("%s said %s\nand says %s", name, was, is)
		}
		kept := 0
		for backup, text := range backups {
			if strings.HasSuffix(backup, "/"+name) && text == original {
				kept++
			}
		}
		if kept == 0 {
			p.t.Errorf("the original of %s is in no backup", name)
		}
	}
	if notes, err := os.ReadFile(p.path("s/current/notes.txt")); err != nil || string(notes) != "mine" {
		p.t.Errorf("a stranger's file is %q, %v", notes, err)
	}
	index, err := os.ReadFile(p.path("s/index.json"))
	if err == nil {
		err = schema(p.t, "run-state-index").CheckLines(string(index))
	}
	if err != nil || !strings.Contains(string(index), `"path":"succeeded/`) {
		p.t.Errorf("the index is %.200s, %v", index, err)
	}
	return now
}

// Every dialect at once, the real files among them: a line each, the zone is said, nothing is lost, and the runs are listed.
func TestMigrateEveryDialect(t *testing.T) {
	t.Parallel()
	originals := realFiles(t, 75)
	for name, text := range madeUp(t) {
		originals[name] = text
	}
	p := newOldState(t, originals)
	before := p.files("s")
	dry := p.run(append(migrateArgs, "--dry-run")...).must(t, 0).stdout
	same(t, "files after a dry run", p.files("s"), before)
	said := p.run(migrateArgs...).must(t, 0).stdout
	lines := strings.Split(strings.TrimSpace(said), "\n")
	if len(lines) != len(originals)+2 || lines[len(lines)-2] != "times without a zone are taken to be in Europe/Zurich" || !strings.HasPrefix(lines[len(lines)-1], fmt.Sprintf("%d files changed; the originals are in %s/backup-2", len(originals), p.path("s"))) {
		t.Errorf("it says\n%s", said)
	}
	if !strings.HasPrefix(said, strings.Join(strings.Split(dry, "\n")[:len(originals)], "\n")) {
		t.Errorf("the dry run says\n%s\nand it\n%s", dry, said)
	}
	for _, want := range []string{"no version → v8 shop.3.1.json\n", "v1.0 → v8 shop.7.1.json\n", "v5 → v8 getting-started.", "v7 → v8 shop.16.1.json", ", which is not finished\n"} {
		if !strings.Contains(said, want) {
			t.Errorf("it does not say %q:\n%s", want, said)
		}
	}
	p.migratedRight(originals)
	after := p.read("s", ".")
	if again := p.run(append(migrateArgs, "--json")...).must(t, 0).stdout; !strings.Contains(again, `"files":[]`) {
		t.Errorf("repeated it says %s", again)
	}
	if now := p.read("s", "."); fmt.Sprint(now) != fmt.Sprint(after) {
		t.Error("repeated it has changed something")
	}
	if runs := table(p.run("state", "list", "-s", "s").must(t, 0).stdout); len(runs) != len(originals)+1 {
		t.Errorf("%d runs are listed", len(runs)-1)
	}
	// a newer file is named, and nothing is changed
	p = newOldState(t, originals)
	p.write("s/succeeded/shop.99.1.json", `{"runStateFormatVersion":8}`)
	all := p.read("s", ".")
	p.run(migrateArgs...).must(t, 1).oneLine(t).says(t, "shop.99.1.json has Smart Data Lake Builder's run state format 8, and this program knows formats up to 7", "nothing was written")
	if now := p.read("s", "."); fmt.Sprint(now) != fmt.Sprint(all) {
		t.Error("it has changed something")
	}
}

// Killed at any operation and repeated it ends as it does undisturbed: at every one with some made-up files and some
// real ones, and at some with all of both.
func TestMigrateKilledAndRepeated(t *testing.T) {
	t.Parallel()
	some, every := realFiles(t, 3), realFiles(t, 75)
	for name, text := range madeUp(t) {
		every[name] = text
		if strings.Contains(name, "4.1.json") || strings.Contains(name, "6.1.json") {
			some[name] = text
		}
	}
	for _, c := range []struct {
		originals map[string]string
		step      int
	}{{some, 1}, {every, 101}} {
		whole := newOldState(t, c.originals)
		ops := whole.traceHere(migrateArgs...)
		want := whole.migratedRight(c.originals)
		kills := 0
		for k := 1; k <= len(ops)+c.step; k += c.step {
			p := newOldState(t, c.originals)
			r := p.runEnv([]string{fmt.Sprintf("UBUNYE_FAULT=kill:%d", k)}, migrateArgs...)
			if (r.exit == 137) != (k <= len(ops)) {
				t.Fatalf("kill at %d of %d: %+v", k, len(ops), r)
			}
			kills++
			for name, text := range p.read("s", `^(current|succeeded)/[^/]*\.json$`) {
				if text != c.originals[name] && text != want[name] {
					t.Errorf("kill at %d (%v): %s is neither old nor new", k, op(ops, k), name)
				}
			}
			p.run(migrateArgs...).must(t, 0)
			if now := p.migratedRight(c.originals); fmt.Sprint(now) != fmt.Sprint(want) {
				t.Errorf("kill at %d (%v): it ends otherwise", k, op(ops, k))
			}
		}
		t.Logf("%d files, %d operations, %d kills", len(c.originals), len(ops), kills)
		if len(ops) < 8*len(c.originals) {
			t.Fatalf("%d operations for %d files", len(ops), len(c.originals))
		}
	}
}
