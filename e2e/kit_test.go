package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// tested is what `ubunye plugin test --json` prints.
type tested struct {
	Writer string
	Checks []struct{ Check, Mode, Outcome, Message string }
	Modes  []struct{ Mode, Declared, Earned string }
	Locked []string
}

// outcomes lists the checks of an outcome, as "again append".
func (k tested) outcomes(outcome string) (names []string) {
	for _, c := range k.Checks {
		if c.Outcome == outcome {
			names = append(names, strings.TrimSpace(c.Check+" "+c.Mode))
		}
	}
	return names
}

func (k tested) message(name string) string {
	for _, c := range k.Checks {
		if strings.TrimSpace(c.Check+" "+c.Mode) == name {
			return c.Message
		}
	}
	return ""
}

// test tests a writer; exit is 0 if all is to pass.
func (p *project) test(t *testing.T, exit int, args ...string) (k tested) {
	t.Helper()
	r := p.run(append([]string{"plugin", "test", "--json"}, args...)...).must(t, exit)
	if err := json.Unmarshal([]byte(r.stdout), &k); err != nil {
		t.Fatal(err)
	}
	return k
}

// Of each check there is a writer for which just that check fails: it finds what it is there for, and nothing else. Checks that build on it
// are not made.
func TestEachCheckOfTheKitFindsItsMistake(t *testing.T) {
	for _, c := range []struct{ writer, check, says string }{
		{"sound", "", ""},
		{"wordless", "words", "it does not say what it writes"},
		{"fickle", "describe", "it answered"},
		{"wavering", "plan", "it answered"},
		{"deaf", "options", "no_such_option: 1 was taken"},
		{"drops-last", "rows", "1 rows differ, as missing: (3, star)"},
		{"miscounts", "counts", "it was given 3 rows and counts 4"},
		{"null-as-text", "nulls", "2 rows differ, as missing: (2, NULL) and not written: (2, )"},
		{"fails-empty", "empty", "there is no first row"},
		{"trims", "texts", "blanks: 2 rows differ"},
		{"date-as-number", "types", "DATE: 2 rows differ"},
		{"narrow", "extremes", "BIGINT: "},
		{"first-batch", "many", " rows differ, as missing: "},
		{"file-seam", "files", " rows differ, as missing: "},
		{"one-partition", "partitions", " rows differ, as missing: "},
		{"hoards", "limits", "its limit is 32 MiB"},
		{"talks", "log", "for 3 rows it logged and printed 4"},
		{"swallows", "failure", "file_write, failed: "},
		{"greedy", "capabilities", "it asks for files, and never used it"},
		{"repeats", "again append", "after a rerun of the second batch: 3 rows differ, as not written: "},
		{"forgets", "again overwrite", "after a rerun of the second batch: 3 rows differ, as missing: "},
		{"resumes", "kill append,kill overwrite", "after the next run: "},
	} {
		t.Run(c.writer, func(t *testing.T) {
			t.Parallel()
			p := newProject(t, "")
			p.write("case.yaml", "memory: 32MiB\n")
			exit := 4
			if c.check == "" {
				exit = 0
			}
			k := p.test(t, exit, brokenModule(t), "--writer", c.writer, "--points", "3", "--config", "case.yaml")
			if got := strings.Join(k.outcomes("failed"), ","); got != c.check {
				t.Errorf("failed: %q, want %q", got, c.check)
			}
			name, _, _ := strings.Cut(c.check, ",")
			if got := k.message(name); !strings.Contains(got, c.says) {
				t.Errorf("%s: %q, want %q", name, got, c.says)
			}
			declared := map[string]string{"append": "claims", "overwrite": "replaces"}
			for _, m := range k.Modes {
				want := "named"
				if c.check == "" || strings.HasPrefix(c.check, "again ") && !strings.HasSuffix(c.check, m.Mode) {
					want = declared[m.Mode]
				}
				if m.Earned != want || m.Declared != declared[m.Mode] {
					t.Errorf("%+v, want %s", m, want)
				}
			}
			if len(k.Modes) != 2 {
				t.Errorf("%+v", k.Modes)
			}
			if c.check == "" && len(k.outcomes("not run")) > 0 {
				t.Errorf("not run: %q", k.outcomes("not run"))
			}
		})
	}
}

func brokenModule(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs("../.build/broken.wasm")
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// What is no module for this engine fails the first check, and no other is made.
func TestTheKitOnModulesThatDoNotFit(t *testing.T) {
	p := newProject(t, "")
	for name, says := range map[string]string{"other-version": "ubunye_abi_1 wanted, ubunye_abi_2 found", "not-wasm": "it is no WebAssembly module", "trap": ""} {
		p.built(hostileModule(name), name+".wasm")
		k := p.test(t, 4, name+".wasm")
		want := "fits"
		if says == "" {
			want, says = "plan", "it trapped: unreachable"
		}
		if failed := k.outcomes("failed"); strings.Join(failed, " ") != want && name != "trap" || !contains(failed, want) || !strings.Contains(k.message(want), says) {
			t.Errorf("%s: failed: %q: %s", name, failed, k.message(want))
		}
	}
}

// Every writer that the program has, and the example of one that it has not, keeps what it declares, in every mode.
func TestTheWritersPassTheKit(t *testing.T) {
	for _, c := range []struct {
		args  []string
		modes string
	}{
		{[]string{"parquet"}, "append claims, overwrite replaces, overwrite_partitions replaces, error_if_exists claims, ignore claims"},
		{[]string{"csv"}, "append claims, overwrite replaces, overwrite_partitions replaces, error_if_exists claims, ignore claims"},
		{[]string{"json"}, "append claims, overwrite replaces, overwrite_partitions replaces, error_if_exists claims, ignore claims"},
		{[]string{absolute(t, fixedWidthModule), "--config", absolute(t, "../configs/fixedwidth/case.yaml")}, "append claims"},
	} {
		t.Run(filepath.Base(c.args[0]), func(t *testing.T) {
			t.Parallel()
			p := newProject(t, "")
			var modes []string
			k := p.test(t, 0, c.args...)
			for _, m := range k.Modes {
				modes = append(modes, m.Mode+" "+m.Earned)
			}
			if got := strings.Join(modes, ", "); got != c.modes {
				t.Errorf("earned %s, want %s", got, c.modes)
			}
			if skipped := k.outcomes("not run"); len(skipped) > 0 {
				t.Errorf("not run: %q", skipped)
			}
		})
	}
}

func absolute(t *testing.T, path string) string {
	t.Helper()
	path, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// What a test has shown is written into the lock, and a run holds to it. A part of the tests shows nothing.
func TestTheLockKeepsWhatWasEarned(t *testing.T) {
	p := newProject(t, "name: p\ntasks: {t: {transform: {r: SELECT 1 AS id}, outputs: {r: {format: mine, path: lake}}}}\n")
	p.format = "json"
	p.built(brokenModule(t), "broken.wasm")
	p.write("case.yaml", "memory: 32MiB\n")
	for _, c := range []struct {
		writer string
		exit   int
		says   string
	}{{"wordless", 2, "plugin mine declares claims for mode append, and its tests have shown that it does not keep that"}, {"sound", 0, ""}} {
		p.run("plugin", "add", "broken.wasm", "--writer", c.writer, "--name", "mine", "--allow", "files", "--replace").must(t, 0)
		k := p.test(t, 2*c.exit, "mine", "--points", "2", "--config", "case.yaml")
		if k.Writer != c.writer || fmt.Sprint(k.Locked) != "[mine]" {
			t.Errorf("%+v", k)
		}
		p.run("run", "-c", "pipeline.yaml").must(t, c.exit).says(t, c.says)
	}
	before, err := os.ReadFile(p.path("ubunye.lock"))
	if err != nil {
		t.Fatal(err)
	}
	if k := p.test(t, 0, "mine", "--only", "rows", "--only", "nulls"); len(k.Checks) != 3 || len(k.Modes) != 0 || len(k.Locked) != 0 {
		t.Errorf("%+v", k)
	}
	if after, err := os.ReadFile(p.path("ubunye.lock")); err != nil || string(after) != string(before) {
		t.Errorf("a part of the tests changed the lock: %s, %v", after, err)
	}
}

// How an author's files are read is said in the case, by SQL or by a program of theirs; what is wrong with it is said at its place.
func TestTheCaseFile(t *testing.T) {
	p := newProject(t, "")
	p.built(fixedWidthModule, "fixed.wasm")
	p.run("plugin", "test", "fixed.wasm").must(t, 4).says(t, "1 of ")
	p.write("case.yaml", "options: {widths: id=20 value=60}\nread: {command: [sh, read.sh]}\n")
	p.write("read.sh", `for file in "$1"/*.txt; do sed 's/^ *\([0-9]*\)\(.*[^ ]\) *$/{"id": \1, "value": "\2"}/' "$file"; done`)
	k := p.test(t, 0, "fixed.wasm", "--config", "case.yaml", "--only", "rows,many,kill")
	if got := strings.Join(k.outcomes("passed"), ","); got != "fits,rows,many,kill append" {
		t.Errorf("passed: %s: %+v", got, k)
	}
	p.write("read.sh", "echo nobody knows >&2; exit 3")
	if k := p.test(t, 4, "fixed.wasm", "--config", "case.yaml", "--only", "rows"); k.message("rows") != "the author's reader ended with exit status 3: nobody knows" {
		t.Errorf("%+v", k)
	}
	p.write("case.yaml", "options: {widths: id=20 value=60}\n")
	p.run("plugin", "test", "fixed.wasm", "--config", "case.yaml", "--only", "rows").must(t, 2).oneLineOf(t, "nobody knows how its files are read (say so in a case file")
	for text, says := range map[string]string{
		"loses: [smell]":                         "loses: there is no text or type smell among those that are tested",
		"reed: {}":                               `case.yaml:1:1: `,
		"read: {sql: SELECT 1, command: [true]}": "case.yaml:1:",
	} {
		p.write("case.yaml", text+"\n")
		p.run("plugin", "test", "fixed.wasm", "--config", "case.yaml").must(t, 2).says(t, says)
	}
	p.run("plugin", "test", "delta").must(t, 2).oneLine(t).says(t, "the writer delta asks for table, and there are no tests for that in this version")
	p.run("plugin", "test", "fixed.wasm", "--only", "row").must(t, 2).oneLine(t).says(t, `there is no check row (did you mean "rows"?)`)
}

// oneLineOf is says of what may follow lines of progress.
func (r result) oneLineOf(t *testing.T, text string) {
	t.Helper()
	if strings.Count(r.stderr, "\n") != 1 || !strings.Contains(r.stderr, text) {
		t.Errorf("got\n%swant one line that says %q", r.stderr, text)
	}
}
