// Package e2e tests the built program as a person meets it: real processes, real kills, and readers
// that are not ours. It knows nothing of the program's packages.
package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ubunye-io/ubunye/e2e/blackbox"
	"github.com/ubunye-io/ubunye/internal/serverstest"
)

// The program, built with fault injection, and the Python that has the foreign readers; `make test` makes both.
var program, python string

func TestMain(m *testing.M) {
	for _, need := range []struct {
		path *string
		name string
	}{{&program, "../bin/ubunye-fault"}, {&python, "../.venv/bin/python"}} {
		abs, err := filepath.Abs(need.name)
		if err == nil {
			_, err = os.Stat(abs)
		}
		if err != nil {
			fmt.Fprintf(os.Stderr, "e2e: %v: run these tests by `make test`, which builds what they need\n", err)
			os.Exit(1)
		}
		*need.path = abs
	}
	code := m.Run()
	serverstest.Stop()
	os.Exit(code)
}

// project is a folder with a pipeline, its data and its ledger.
type project struct {
	t    *testing.T
	dir  string
	home string   // the user's cache goes below it
	env  []string // more environment

	format string // of the outputs that rows reads; empty: parquet
	forged bool   // the test writes files of the ledger that the program would not
}

// cacheHome is shared by the tests, so that each does not compile the writers again.
var cacheHome = blackbox.Home()

func newProject(t *testing.T, pipeline string) *project {
	t.Helper()
	return newProjectIn(t, t.TempDir(), pipeline)
}

// memory is a folder in memory if there is one: what is killed hundreds of times need not be synced to a disk.
func memory(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "ubunye-e2e-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// newProjectIn is newProject in a folder that is there.
func newProjectIn(t *testing.T, dir, pipeline string) *project {
	t.Helper()
	p := &project{t: t, dir: dir, home: cacheHome}
	p.write("pipeline.yaml", pipeline)
	t.Cleanup(p.checkLedger)
	return p
}

func (p *project) path(name string) string { return filepath.Join(p.dir, name) }

func (p *project) write(name, text string) {
	p.t.Helper()
	if err := os.MkdirAll(filepath.Dir(p.path(name)), 0o777); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(p.path(name), []byte(text), 0o666); err != nil {
		p.t.Fatal(err)
	}
}

// result is what a process left behind when it ended.
type result struct {
	exit           int // 128 + signal for one that was killed
	stdout, stderr string
}

// process is one that was started and may still run.
type process struct {
	t        *testing.T
	cmd      *exec.Cmd
	out, err bytes.Buffer
	done     chan struct{}
}

// start starts `ubunye args…` in the project's folder.
func (p *project) start(env []string, args ...string) *process {
	p.t.Helper()
	return p.launch(env, program, args...)
}

// launch is start of any program.
func (p *project) launch(env []string, name string, args ...string) *process {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	q := &process{t: p.t, cmd: exec.CommandContext(ctx, name, args...), done: make(chan struct{})}
	q.cmd.Dir = p.dir
	q.cmd.Env = append(p.environment(), env...)
	q.cmd.Stdout, q.cmd.Stderr = &q.out, &q.err
	if err := q.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { q.cmd.Process.Kill() })
	go func() { q.cmd.Wait(); cancel(); close(q.done) }()
	return q
}

// environment is that of every process of the project.
func (p *project) environment() []string {
	return append(blackbox.Environment(p.home), p.env...)
}

// wait waits for the end.
func (q *process) wait() result {
	q.t.Helper()
	<-q.done
	r := result{exit: q.cmd.ProcessState.ExitCode(), stdout: q.out.String(), stderr: q.err.String()}
	if status, ok := q.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		r.exit = 128 + int(status.Signal())
	}
	if blackbox.Crashed(r.stderr) {
		q.t.Fatalf("the program crashed:\n%s", r.stderr)
	}
	if q.cmd.Path == program && q.cmd.ProcessState.Exited() {
		checkJSON(q.t, q.cmd.Args[1:], r)
	}
	return r
}

// waitStopped waits until the process has stopped itself (a fault stop:N) and reports true, or has
// ended before that and reports false.
func (q *process) waitStopped() bool {
	q.t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-q.done:
			return false
		case <-tick.C:
			if blackbox.Stopped(q.cmd.Process.Pid) {
				return true
			}
		}
	}
}

func (q *process) signal(s os.Signal) {
	q.t.Helper()
	if err := q.cmd.Process.Signal(s); err != nil {
		q.t.Fatal(err)
	}
}

// run runs `ubunye args…` to its end.
func (p *project) run(args ...string) result { p.t.Helper(); return p.start(nil, args...).wait() }

// runEnv is run with more environment.
func (p *project) runEnv(env []string, args ...string) result {
	p.t.Helper()
	return p.start(env, args...).wait()
}

// points are the operations, of n and the one after, before which a test kills that takes long: every so many, from a random one on.
// UBUNYE_EVERY=1 takes all of them, which make torture does anyway for whole runs.
func points(t *testing.T, n, every int) (all []int) {
	t.Helper()
	if text := os.Getenv("UBUNYE_EVERY"); text != "" {
		var err error
		if every, err = strconv.Atoi(text); err != nil || every < 1 {
			t.Fatalf("UBUNYE_EVERY is %q", text)
		}
	}
	first := 1 + rand.IntN(every)
	t.Logf("every %d of %d operations, from %d on", every, n, first)
	for k := first; k <= n+1; k += every {
		all = append(all, k)
	}
	return all
}

// must fails the test unless the exit code is as wanted.
func (r result) must(t *testing.T, exit int) result {
	t.Helper()
	if r.exit != exit {
		t.Fatalf("exit code %d, want %d\nstdout: %s\nstderr: %s", r.exit, exit, r.stdout, r.stderr)
	}
	return r
}

// says fails the test unless every text is in what the process said on stderr.
func (r result) says(t *testing.T, texts ...string) result {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(r.stderr, text) {
			t.Fatalf("stderr does not say %q:\n%s", text, r.stderr)
		}
	}
	return r
}

// oneLine fails the test unless stderr is one line: a refusal, and nothing else.
func (r result) oneLine(t *testing.T) result {
	t.Helper()
	if n := strings.Count(strings.TrimRight(r.stderr, "\n"), "\n"); n != 0 || strings.TrimSpace(r.stderr) == "" {
		t.Fatalf("stderr is not one line:\n%s", r.stderr)
	}
	return r
}

// rows reads an output, Parquet with pyarrow and others with Python's own modules: every row as one JSON line, sorted.
func (p *project) rows(folder string) []string {
	p.t.Helper()
	kind := p.format
	if kind == "" {
		kind = "parquet"
	}
	return foreign.read(p.t, map[string]any{"kind": kind, "path": p.path(folder)})
}

// arrowRows is rows with pyarrow for csv and json too, which is told the types.
func (p *project) arrowRows(folder string, types map[string]string) []string {
	p.t.Helper()
	return foreign.read(p.t, map[string]any{"kind": p.format, "path": p.path(folder), "types": types})
}

// csvRows reads the rows of a CSV file with Python's own reader.
func (p *project) csvRows(file string) []string {
	p.t.Helper()
	return foreign.read(p.t, map[string]any{"kind": "csv", "path": p.path(file)})
}

// reader is the process of rows.py, started when it is first needed. One request at a time.
type reader struct {
	mu  sync.Mutex
	in  io.Writer
	out *bufio.Reader
}

var foreign reader

func (r *reader) read(t *testing.T, request map[string]any) []string {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.in == nil {
		cmd := exec.Command(python, "rows.py")
		in, err := cmd.StdinPipe() // the process ends with this one, which closes the pipe
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		cmd.Stderr = os.Stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		r.in, r.out = in, bufio.NewReader(out)
	}
	if err := json.NewEncoder(r.in).Encode(request); err != nil {
		t.Fatal(err)
	}
	line, err := r.out.ReadBytes('\n')
	if err != nil {
		t.Fatal(err)
	}
	var answer struct {
		Rows  []string
		Error string
	}
	if err := json.Unmarshal(line, &answer); err != nil {
		t.Fatal(err)
	}
	if answer.Error != "" {
		t.Fatalf("reading %v: %s", request, answer.Error)
	}
	return answer.Rows
}

// files lists what is under a folder of the project, with slashes, sorted; a folder that is not there
// has none. Folders end in a slash.
func (p *project) files(folder string) []string {
	p.t.Helper()
	var names []string
	root := p.path(folder)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || path == root {
			return err
		}
		rel, _ := filepath.Rel(root, path)
		name := filepath.ToSlash(rel)
		if d.IsDir() {
			name += "/"
		}
		names = append(names, name)
		return nil
	})
	if err != nil {
		p.t.Fatal(err)
	}
	sort.Strings(names)
	return names
}

// contents are the files below a folder, each with what is in it.
func (p *project) contents(folder string) (all []string) {
	p.t.Helper()
	for _, name := range p.files(folder) {
		var text []byte
		if !strings.HasSuffix(name, "/") {
			var err error
			if text, err = os.ReadFile(filepath.Join(p.path(folder), name)); err != nil {
				p.t.Fatal(err)
			}
		}
		all = append(all, name+": "+string(text))
	}
	return all
}

// dataFiles lists the files under a folder that a reader takes for data.
func (p *project) dataFiles(folder string) []string {
	p.t.Helper()
	var data []string
	for _, name := range p.files(folder) {
		if base := filepath.Base(name); !strings.HasSuffix(name, "/") && !strings.HasPrefix(base, "_") && !strings.HasPrefix(base, ".") {
			data = append(data, name)
		}
	}
	return data
}

// same fails the test unless both lists are equal.
func same(t *testing.T, what string, got, want []string) {
	t.Helper()
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Fatalf("%s:\ngot  (%d)\n%s\nwant (%d)\n%s", what, len(got), strings.Join(got, "\n"), len(want), strings.Join(want, "\n"))
	}
}

const cont = syscall.SIGCONT

// shell runs a line as a person who pastes it would; bin is first on the path.
func (p *project) shell(bin, line string) result {
	p.t.Helper()
	cmd := exec.Command("/bin/sh", "-c", line)
	cmd.Dir = p.dir
	cmd.Env = []string{"PATH=" + bin + ":" + os.Getenv("PATH"), "HOME=" + p.home, "XDG_CACHE_HOME=" + filepath.Join(p.home, ".cache")}
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	var failed *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &failed) {
		p.t.Fatal(err)
	}
	return result{exit: cmd.ProcessState.ExitCode(), stdout: out.String(), stderr: errs.String()}
}
