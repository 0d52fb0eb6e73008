package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// hostilePipeline has a task whose writer means harm, and one that comes after it.
const hostilePipeline = `name: hostile
ledger: {heartbeat: 1s, timeout: 1m}
plugins:
  bad: {path: bad.wasm, sha256: "SHA256", memory: MEMORY, timeout: 3s, allow: {files: FILES}}
tasks:
  first:
    inputs: {clean: {format: csv, path: in.csv}}
    outputs: {clean: {format: bad, path: lake/bad}}
  second:
    inputs: {clean: {format: csv, path: in.csv}}
    outputs: {clean: {format: parquet, path: lake/good}}
`

// Whatever a plugin does, its task ends with one clear line and nothing to be seen, the run goes on with the next
// task, its heart beats on, and no process is left.
func TestHostilePlugins(t *testing.T) {
	home := t.TempDir() // so that the processes seen are this test's
	const spent, once = "it took longer than its time of 3s and was stopped", "nothing was read or written"
	for _, c := range []struct {
		module, says string
		memory       string // 8MiB
		before       bool   // it is found out before anything begins
		allow        bool   // it may make files
	}{
		{module: "trap", says: "plan: it trapped: unreachable"},
		{module: "recursion", says: "plan: it trapped: stack overflow"},
		{module: "fork", says: "plan: " + spent + "; nothing became visible (if it is to have more: plugins: {bad: {timeout: …}})"},
		{module: "loop", says: "plan: " + spent},
		{module: "loop-stage", says: "stage: " + spent},
		{module: "ask-forever", says: "stage: " + spent},
		{module: "print", says: "plan: " + spent},
		{module: "log", says: "plan: " + spent},
		{module: "eat-memory", says: "plan: it wanted 9 MiB of memory; its limit is 8 MiB; nothing became visible (if it is to have more: plugins: {bad: {memory: …}})"},
		{module: "eat-table", says: "plan: its process occupied more than 200 MiB and was stopped"},
		{module: "exit", says: "plan: it ended itself with exit code 0"},
		{module: "no-json", says: "plan: its answer makes no sense: invalid character 'I' looking for beginning of value"},
		{module: "silent", says: "plan: its answer makes no sense: it is empty"},
		{module: "huge-answer", memory: "64MiB", says: "plan: it gave an answer of 41943040 bytes; at most 33554432 are allowed"},
		{module: "bad-out", says: "stage: it gave 4096 bytes at 4294967292, outside its 131072 bytes of memory"},
		{module: "hides-file", says: "stage: its answer makes no sense: the file part-"},
		{module: "absolute-name", says: `stage: its answer makes no sense: the file "/etc/passwd" was not staged by this call, or is named twice`},
		{module: "device-name", says: `stage: its answer makes no sense: the file "/dev/null" was not staged by this call, or is named twice`},
		{module: "others-file", says: `stage: its answer makes no sense: the file "../clean/part-1.parquet" was not staged by this call, or is named twice`},
		{module: "late-write", allow: true, says: "stage: its answer makes no sense: the file part-"},
		{module: "opens-many", allow: true, says: "stage: its answer makes no sense: the file part-"},
		{module: "asks-file", allow: true, says: "plan: files.file_create is not allowed during plan"},
		{module: "writes-in-plan", allow: true, says: "plan: files.file_create is not allowed during plan"},
		{module: "unknown-class", says: `plan: its answer makes no sense: the class "excellent" is not known`},
		{module: "other-class", says: "plan: it delivers as once, but is described as claims"},
		{module: "asks-table", says: `plan: table.get needs the capability "table", which the pipeline does not grant`},
		{module: "takes-file", says: `stage: files.file_create needs the capability "files", which the pipeline does not grant; nothing became visible (if it is to have more: plugins: {bad: {allow: {…}}})`},
		{module: "other-version", before: true, says: "load: it is made for another version of the engine: ubunye_abi_1 wanted, ubunye_abi_2 found; " + once},
		{module: "describes-other", before: true, says: `describe: its answer makes no sense: json: unknown field "class"; ` + once},
		{module: "not-wasm", before: true, says: "load: it is no WebAssembly module; " + once},
		{module: "foreign-import", before: true, says: "load: it imports what the engine does not provide: env.launch; " + once},
		{module: "born-too-large", before: true, says: "load: it begins with 312 MiB of memory; its limit is 8 MiB; " + once},
	} {
		t.Run(c.module, func(t *testing.T) {
			p := newProject(t, "")
			p.home = home
			memory := c.memory
			if memory == "" {
				memory = "8MiB"
			}
			digest := p.built(hostileModule(c.module), "bad.wasm")
			p.write("pipeline.yaml", strings.NewReplacer("SHA256", digest, "MEMORY", memory, "FILES", fmt.Sprint(c.allow)).Replace(hostilePipeline))
			p.write("in.csv", "id\n1\n2\n")
			q := p.start(nil, "run", "-c", "pipeline.yaml")
			seen := p.watch(q)
			r := q.wait().must(t, 4)

			told := r.problems()
			if len(told) != 1 {
				t.Fatalf("%d problems:\n%s", len(told), r.stderr)
			}
			if want := "task first, output clean: plugin bad: " + c.says; !strings.Contains(told[0], want) || !strings.Contains(told[0], "pipeline.yaml:") {
				t.Errorf("got  %s\nwant %s", told[0], want)
			}
			if len(r.stderr) > 200<<10 {
				t.Errorf("%d bytes on stderr", len(r.stderr))
			}
			same(t, "files in the output", p.files("lake/bad"), nil)
			same(t, "staging", p.files(".ubunye/staging"), nil)
			if doc := p.document("first", ""); held(doc) || committed(doc) {
				t.Errorf("the batch is not given back: %v", doc)
			}
			if good := []string{`{"id": "1"}`, `{"id": "2"}`}; !c.before {
				same(t, "rows of the second task", p.rows("lake/good"), good)
			}
			seen.check(t, c.before)
			if left := p.children(); len(left) != 0 {
				t.Errorf("processes left: %v", left)
			}
		})
	}
}

// problems are the lines of stderr that tell a problem.
func (r result) problems() (lines []string) {
	for line := range strings.Lines(r.stderr) {
		if strings.HasPrefix(line, "ubunye: ") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

// watched is what was seen of a run while it ran.
type watched struct {
	oldest   time.Duration   // most that a heartbeat's file was old
	beats    bool            // there was one
	together int             // most processes of writers at once
	children map[string]bool // processes of writers
}

// watch looks at a run's heartbeat and at the processes of its writers until the run ends.
func (p *project) watch(q *process) watched {
	p.t.Helper()
	w := watched{children: map[string]bool{}}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-q.done:
			return w
		case <-tick.C:
		}
		beats, err := filepath.Glob(p.path(".ubunye/runs/*.beat"))
		if err != nil {
			p.t.Fatal(err)
		}
		for _, beat := range beats {
			if info, err := os.Stat(beat); err == nil { // the run may have ended
				w.beats = true
				w.oldest = max(w.oldest, time.Since(info.ModTime()))
			}
		}
		children := p.children()
		w.together = max(w.together, len(children))
		for _, pid := range children {
			w.children[pid] = true
		}
	}
}

func (w watched) check(t *testing.T, before bool) {
	t.Helper()
	if before {
		return
	}
	if !w.beats || w.oldest > 2*time.Second {
		t.Errorf("a heartbeat was seen: %t; it was up to %v old; its interval is 1s", w.beats, w.oldest)
	}
	// The first task's process is gone, and its memory with it, when the second task's begins.
	if w.together != 1 || len(w.children) < 2 {
		t.Errorf("%d processes of writers, up to %d at once", len(w.children), w.together)
	}
}

// children are the processes that run plugins for this project, as its cache folder is its own.
func (p *project) children() (pids []string) {
	p.t.Helper()
	processes, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		p.t.Fatal(err)
	}
	for _, dir := range processes {
		if program, err := os.Readlink(filepath.Join(dir, "exe")); err == nil && strings.HasPrefix(program, filepath.Join(p.home, ".cache")) {
			pids = append(pids, filepath.Base(dir))
		}
	}
	return pids
}
