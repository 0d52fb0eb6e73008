package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// stateFile is a state file of ours, as it may be found.
type stateFile struct {
	run, attempt int64
	dt           string
	tasks        map[string]string // state of each task, of this attempt
	final        bool
	ledgerRun    string
}

func (s stateFile) text(t *testing.T) string {
	t.Helper()
	actions := map[string]any{}
	for name, state := range s.tasks {
		a := map[string]any{"executionId": map[string]any{"runId": s.run, "attemptId": s.attempt}, "state": state}
		switch state {
		case "SUCCEEDED":
			a["startTstmp"], a["endTstmp"], a["duration"] = "2026-01-01T06:00:01Z", "2026-01-01T06:01:04.5Z", "PT1M3.5S"
			a["results"] = []any{map[string]any{"dataObjectId": "orders", "class": "claims", "rows": 1200, "files": 3, "bytes": 4096}}
		case "FAILED":
			a["msg"] = "raw.csv:7: amount: 'x' is no number"
		}
		actions[name] = a
	}
	d := map[string]any{"engine": "ubunye", "runStateFormatVersion": 8, "appConfig": map[string]any{"applicationName": "sales", "variables": map[string]string{"dt": s.dt}},
		"runId": s.run, "attemptId": s.attempt, "runStartTime": "2026-01-01T06:00:00Z", "attemptStartTime": "2026-01-01T06:00:00Z",
		"actionsState": actions, "isFinal": s.final, "ubunyeVersionInfo": map[string]any{"version": "1"}}
	if s.final {
		d["runEndTime"] = "2026-01-01T06:01:05Z"
	}
	if s.ledgerRun != "" {
		d["ledgerRunId"] = s.ledgerRun
	}
	text, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// put writes the file into a folder of run state.
func (s stateFile) put(p *project, folder string) string {
	p.t.Helper()
	name := fmt.Sprintf("%s/sales.%d.%d.json", folder, s.run, s.attempt)
	p.write(name, s.text(p.t))
	return name
}

// checkState holds every state file in a folder against its schema.
func (p *project) checkState(folder string) {
	p.t.Helper()
	names, _ := filepath.Glob(p.path(folder + "/*/*.json"))
	if len(names) == 0 {
		p.t.Fatalf("there is no state file in %s", folder)
	}
	for _, name := range names {
		if !regexp.MustCompile(`/(current|succeeded)/[^./]+\.\d+\.\d+\.json$`).MatchString(name) {
			continue
		}
		text, err := os.ReadFile(name)
		if err == nil {
			err = schema(p.t, "run-state").Check(text)
		}
		if err != nil {
			p.t.Errorf("%s: %v", name, err)
		}
	}
}

var (
	oneFailed = map[string]string{"clean": "SUCCEEDED", "load": "FAILED", "report": "CANCELLED"}
	allDone   = map[string]string{"clean": "SUCCEEDED", "load": "SUCCEEDED", "report": "SUCCEEDED"}
)

// table gives the lines of a printed table without the spaces that align it.
func table(text string) (lines []string) {
	for line := range strings.Lines(text) {
		lines = append(lines, regexp.MustCompile(` {2,}`).ReplaceAllString(strings.TrimSpace(line), "|"))
	}
	return lines
}

// The run state of a folder is listed and shown without a pipeline file, and files of other tools are not disturbed by any
// command.
func TestStateOfAFolder(t *testing.T) {
	t.Parallel()
	p := newProject(t, salesPipeline)
	stateFile{run: 1, attempt: 1, dt: "2026-01-01", tasks: allDone, final: true}.put(p, "s/succeeded")
	stateFile{run: 2, attempt: 1, dt: "2026-01-02", tasks: oneFailed, final: true}.put(p, "s/current")
	stateFile{run: 2, attempt: 2, dt: "2026-01-02", tasks: oneFailed, final: true}.put(p, "s/current")
	stateFile{run: 3, attempt: 1, dt: "2026-01-03", tasks: map[string]string{"clean": "SUCCEEDED", "load": "RUNNING"}, ledgerRun: "20260101T060000Z-00000000"}.put(p, "s/current")
	p.write("s/current/other.9.1.json", strings.ReplaceAll(stateFile{run: 9, attempt: 1, tasks: allDone, final: true}.text(t), `"sales"`, `"other"`))
	strangers := map[string]string{"s/README.md": "mine", "s/current/notes.txt": "{", "s/current/sales.2.2.json.bak": "x", "s/succeeded/.hidden.json": "y", "s/reports/sales.7.1.json": "{}", "s/current/a b.1.1.json": "z"}
	for name, text := range strangers {
		p.write(name, text)
	}

	same(t, "list", table(p.run("state", "list", "-s", "s", "--name", "sales").must(t, 0).stdout), []string{
		"RUN|ATTEMPT|BATCH|STATE|TASKS|BEGUN|TOOK",
		"3|1|dt=2026-01-03|unjudged|1 of 2|2026-01-01 06:00:00 UTC|1m5s",
		"2|2|dt=2026-01-02|failed|1 of 3|2026-01-01 06:00:00 UTC|1m5s",
		"1|1|dt=2026-01-01|succeeded|3 of 3|2026-01-01 06:00:00 UTC|1m5s",
	})
	if got := table(p.run("state", "list", "-s", "s", "--unfinished", "--dt", "2026-01-02").must(t, 0).stdout); len(got) != 2 || got[0] != "PIPELINE|RUN|ATTEMPT|BATCH|STATE|TASKS|BEGUN|TOOK" || !strings.HasPrefix(got[1], "sales|2|2|") {
		t.Errorf("unfinished ones of a day, of all pipelines: %q", got)
	}
	if got := p.run("state", "list", "-s", "s", "--name", "sales", "--limit", "1", "--json").must(t, 0).stdout; strings.Count(got, `"run":`) != 1 {
		t.Errorf("one run is %s", got)
	}
	shown := p.run("state", "show", "2", "-s", "s", "--name", "sales").must(t, 0).stdout
	for _, want := range []string{"run 2 of sales, attempt 2, dt=2026-01-02: failed, 1 of 3 tasks completed", "task clean: succeeded, 1200 rows in 3 files (4.0 KiB), took 1m4s",
		"not done: task load: raw.csv:7: amount: 'x' is no number", "next: a start with the same variables goes on with it as attempt 3: it keeps clean, and runs load, report",
		"ubunye-fault state accept 2 --reason", "file: " + p.path("s/current/sales.2.2.json")} {
		if !strings.Contains(shown, want) {
			t.Errorf("show does not say %q:\n%s", want, shown)
		}
	}
	p.run("state", "show", "2", "-s", "s", "--name", "sales", "--json").must(t, 0)
	p.write("s/current/sales.4.1.json", "{")
	if got := table(p.run("state", "list", "-s", "s", "--name", "sales").must(t, 0).stdout); len(got) != 6 || got[1] != "4|1|unreadable" || got[5] != "run 4: "+p.path("s/current/sales.4.1.json")+" is there but cannot be used: it is cut off" {
		t.Errorf("with a torn file the list is %q", got)
	}
	if got := p.run("state", "show", "1", "-s", "s", "--name", "sales").must(t, 0).stdout; !strings.Contains(got, "next: a start is refused, because the file of run 4, which came after it, cannot be used") {
		t.Errorf("with a file that cannot be read after it, run 1 is shown as %s", got)
	}
	p.run("state", "show", "4", "-s", "s", "--name", "sales").must(t, 1).oneLine(t).says(t, "sales.4.1.json", "it is cut off", "state accept 4 --reason")
	p.run("state", "show", "7", "-s", "s", "--name", "sales").must(t, 2).oneLine(t).says(t, "there is no run 7 of sales", "state list")
	p.run("state", "show", "2", "-s", "s").must(t, 2).oneLine(t).says(t, "has runs of several pipelines: other, sales", "--name NAME")
	p.run("state", "reindex", "-s", "s").must(t, 0)
	p.run("state", "migrate", "-s", "s").must(t, 1).oneLine(t).says(t, "sales.3.1.json", "name its pipeline with -c FILE")
	p.run("state", "accept", "2", "-s", "s", "--name", "sales", "--reason", "why").must(t, 0)
	stateFile{run: 5, attempt: 1, dt: "2026-01-05", tasks: allDone, final: true}.put(p, "s/succeeded")
	if r := p.runEnv([]string{"UBUNYE_FAULT=enospc:1"}, "state", "prune", "-s", "s", "--name", "sales", "--keep", "1").must(t, 4).oneLine(t); r.stdout != "" {
		t.Errorf("a prune that failed says %q", r.stdout)
	}
	if got := p.run("state", "prune", "-s", "s", "--name", "sales", "--keep", "9").must(t, 0).stdout; got != "nothing to remove: sales has no more than 9 finished runs\n" {
		t.Errorf("prune says %q", got)
	}
	if got := p.run("state", "prune", "-s", "s", "--name", "sales", "--keep", "1", "--dry-run").must(t, 0).stdout; got != "would remove 3 files of 2 finished runs\n" {
		t.Errorf("prune would say %q", got)
	}
	if got := p.run("state", "prune", "-s", "s", "--name", "sales", "--keep", "1", "--json").must(t, 0).stdout; strings.Count(got, "/succeeded/sales.") != 3 {
		t.Errorf("prune says %s", got)
	}
	same(t, "files after all", p.files("s/current"), []string{"a b.1.1.json", "notes.txt", "other.9.1.json", "sales.2.2.json.bak", "sales.3.1.json", "sales.4.1.json"})
	same(t, "files after all", p.files("s/succeeded"), []string{".hidden.json", "sales.5.1.json"})
	for name, text := range strangers {
		if got, err := os.ReadFile(p.path(name)); err != nil || string(got) != text {
			t.Errorf("%s is %q, %v", name, got, err)
		}
	}
}

// C015: a run that fails for good is given up by a command that says who, when and why; a plain mv means the same.
func TestC015AcceptAndMv(t *testing.T) {
	t.Parallel()
	p := newSales(t)
	folder := ".ubunye/state"
	for _, attempt := range []int64{1, 2} {
		stateFile{run: 1, attempt: attempt, dt: "2026-01-01", tasks: oneFailed, final: true}.put(p, folder+"/current")
	}
	c := []string{"-c", "pipeline.yaml"}
	accept := func(words ...string) result {
		return p.run(append(append([]string{"state", "accept"}, words...), c...)...)
	}
	accept("1").must(t, 2).oneLine(t).says(t, "why the run is accepted is not said", "--reason TEXT")
	accept("1", "--reason", " ").must(t, 2)
	accept("one", "--reason", "x").must(t, 2).says(t, `"one" is not the number of a run`)
	accept("2", "--reason", "x").must(t, 2).says(t, "there is no run 2 of sales", "state list -c pipeline.yaml")
	accept("1", "--reason", "x", "--task", "lod").must(t, 2).says(t, "has no task lod", `did you mean "load"?`)
	accept("1", "--reason", "x", "--task", "clean").must(t, 1).oneLine(t).says(t, "task clean is completed")
	if got := accept("1", "--reason", "x", "--task", "load", "--json").must(t, 0).stdout; !strings.Contains(got, `"given_up":["load"]`) {
		t.Errorf("a task accepted: %s", got)
	}
	same(t, "after a task was accepted", p.files(folder+"/current"), []string{"sales.1.1.json", "sales.1.2.json"})
	before := time.Now().Add(-time.Second)
	if got := accept("1", "--reason", "the supplier will not send it", "--who", "ann").must(t, 0).stdout; !strings.HasPrefix(got, "run 1 of sales is accepted; given up: report\nby ann: the supplier will not send it; in "+p.path(folder+"/succeeded/sales.1.2.json\n")+"what it has finished stays finished (clean)") {
		t.Errorf("it says %s", got)
	}
	same(t, "after the run was accepted", p.files(folder+"/succeeded"), []string{"sales.1.1.json", "sales.1.2.json"})
	p.checkState(folder)
	var d struct {
		Accepted struct {
			Who, Reason string
			At          time.Time
		}
	}
	text, err := os.ReadFile(p.path(folder + "/succeeded/sales.1.2.json"))
	if err == nil {
		err = json.Unmarshal(text, &d)
	}
	if err != nil || d.Accepted.Who != "ann" || d.Accepted.Reason != "the supplier will not send it" || d.Accepted.At.Before(before) || d.Accepted.At.After(time.Now().Add(time.Second)) {
		t.Errorf("%+v, %v", d, err)
	}
	accept("1", "--reason", "x").must(t, 1).oneLine(t).says(t, "has no unfinished actions, or is accepted already")
	list := func() []string { return table(p.run(append([]string{"state", "list"}, c...)...).must(t, 0).stdout)[1:] }
	same(t, "list", list(), []string{"1|2|dt=2026-01-01|accepted|2 of 3|2026-01-01 06:00:00 UTC|1m5s"})

	stateFile{run: 2, attempt: 1, dt: "2026-01-02", tasks: oneFailed, final: true}.put(p, folder+"/current")
	if err := os.Rename(p.path(folder+"/current/sales.2.1.json"), p.path(folder+"/succeeded/sales.2.1.json")); err != nil {
		t.Fatal(err)
	}
	if got := list(); got[0] != "2|1|dt=2026-01-02|accepted|1 of 3|2026-01-01 06:00:00 UTC|1m5s" {
		t.Errorf("after a mv: %q", got)
	}
	if got := p.run("state", "show", "2", "-c", "pipeline.yaml").must(t, 0).stdout; !strings.Contains(got, "next: a start begins run 3") {
		t.Errorf("after a mv: %s", got)
	}

	// what cannot be read is kept, and its run is given up
	p.write(folder+"/current/sales.3.1.json", "\x00\x00")
	if got := accept("3", "--reason", "the disk was full").must(t, 0).stdout; !strings.Contains(got, "what its file said cannot be read, and it is kept as "+p.path(folder+"/succeeded/sales.3.1.json.damaged")) {
		t.Errorf("a damaged file: %s", got)
	}
	p.checkState(folder)
	if got := list(); got[0] != "3|1|(its file was damaged)|accepted" {
		t.Errorf("a damaged file that was accepted: %q", got)
	}
	p.write(folder+"/current/sales.4.1.json", `{"engine":"ubunye","runStateFormatVersion":9}`)
	accept("4", "--reason", "x").must(t, 1).oneLine(t).says(t, "sales.4.1.json has run state format 9, and this program knows formats up to 8", "use the program that wrote it")
}

// A run that is alive is not accepted and not migrated over; when it has died it is.
func TestARunThatIsAliveIsNotAccepted(t *testing.T) {
	t.Parallel()
	p := newSales(t)
	q := p.start([]string{"UBUNYE_FAULT=stop:~00000003.json"}, dayArgs("2026-01-01")...)
	if !q.waitStopped() {
		t.Fatalf("not stopped: %+v", q.wait())
	}
	folder := ".ubunye/state"
	if err := os.RemoveAll(p.path(folder)); err != nil { // the file is the test's
		t.Fatal(err)
	}
	records, _ := filepath.Glob(p.path(".ubunye/runs/*.json"))
	if len(records) != 1 {
		t.Fatalf("records: %v", records)
	}
	name := stateFile{run: 1, attempt: 1, dt: "2026-01-01", tasks: map[string]string{"clean_orders": "RUNNING"}, ledgerRun: strings.TrimSuffix(filepath.Base(records[0]), ".json")}.put(p, folder+"/current")
	byFile, byFolder := []string{"-c", "pipeline.yaml"}, []string{"-s", folder} // the ledger is found beside the folder too
	for _, how := range [][]string{byFile, byFolder} {
		p.run(append([]string{"state", "accept", "1", "--reason", "x"}, how...)...).must(t, 1).oneLine(t).says(t, "refused: run 1 of sales, attempt 1, is alive", "nothing was changed")
		p.run(append([]string{"state", "migrate"}, how...)...).must(t, 1).oneLine(t).says(t, "refused: run 1 of sales, attempt 1, is alive")
		if got := table(p.run(append([]string{"state", "list"}, how...)...).must(t, 0).stdout); !strings.Contains(got[1], "|running|0 of 1|") {
			t.Errorf("%v: %q", how, got)
		}
	}
	if err := os.MkdirAll(p.path("away"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(p.path(folder), p.path("away/state")); err != nil {
		t.Fatal(err)
	}
	p.run("state", "accept", "1", "--reason", "x", "-s", "away/state").must(t, 1).oneLine(t).says(t, "away/state/current/sales.1.1.json: whether its run", "is alive can be told by its ledger alone, which is not known", "name its pipeline with -c FILE")
	p.run("state", "accept", "1", "--reason", "x", "-s", "away/state", "-c", "pipeline.yaml").must(t, 1).says(t, "is alive")
	if err := os.Rename(p.path("away/state"), p.path(folder)); err != nil {
		t.Fatal(err)
	}
	q.signal(os.Kill)
	q.wait()
	if got := p.run("state", "show", "1", "-c", "pipeline.yaml").must(t, 0).stdout; !strings.Contains(got, ": interrupted, 0 of 1 tasks") || !strings.Contains(got, "not done: task clean_orders: interrupted: its process ended before it did") {
		t.Errorf("it is shown as %s", got)
	}
	p.run("state", "accept", "1", "--reason", "x", "-c", "pipeline.yaml").must(t, 0)
	if _, err := os.Stat(p.path(strings.Replace(name, "current", "succeeded", 1))); err != nil {
		t.Error(err)
	}
}

func TestStateWithoutAFolder(t *testing.T) {
	t.Parallel()
	p := newProject(t, salesPipeline)
	p.run("state", "list").must(t, 2).oneLine(t).says(t, "neither a pipeline file nor a folder of run state is named", "-c FILE, or -s FOLDER")
	p.run("state", "list", "-s", "nowhere").must(t, 2).oneLine(t).says(t, "nowhere cannot be read: no such file or directory")
	if got := p.run("state", "list", "-c", "pipeline.yaml").must(t, 0).stdout; got != "no run\n" {
		t.Errorf("it says %q", got)
	}
	if got := p.run("state", "list", "-c", "pipeline.yaml", "--json").must(t, 0).stdout; got != "[]\n" {
		t.Errorf("it says %q", got)
	}
	p.run("state", "show", "1", "-c", "pipeline.yaml").must(t, 2).oneLine(t).says(t, "there is no run 1 of sales")
	p.run("state", "prune", "-c", "pipeline.yaml").must(t, 2).oneLine(t).says(t, "--keep RUNS")
	p.run("state", "migrate", "-c", "pipeline.yaml", "--time-zone", "Mars").must(t, 2).oneLine(t).says(t, `there is no zone "Mars"`)
	p.run("state", "lst").must(t, 2).oneLine(t).says(t, `there is no command "lst"`, `did you mean "list"?`)
	same(t, "files", p.files(""), []string{"pipeline.yaml"})
}
