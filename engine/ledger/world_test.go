package ledger

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ubunye-io/ubunye/engine/ledger/internal/tablelog"
	"github.com/ubunye-io/ubunye/engine/store"
	"github.com/ubunye-io/ubunye/engine/store/fsops"
	"github.com/ubunye-io/ubunye/schemas/schematest"
)

// world is a project folder with a ledger and a lake, in which runs of one pipeline happen.
type world struct {
	t    *testing.T
	dir  string
	lake string // the output folder

	passesOver bool // its reader does not look into folders with "_" in front, as DuckDB's ** does
	forged     bool // the test writes files of the ledger that the program would not
}

func newWorld(t *testing.T) *world {
	dir := scratch(t)
	w := &world{t: t, dir: dir, lake: filepath.Join(dir, "lake", "orders")}
	t.Cleanup(func() {
		if !w.forged {
			checkSchemas(t, filepath.Join(dir, ".ubunye"))
		}
	})
	return w
}

// The schemas of what a ledger keeps, compiled once.
var (
	batchSchema = sync.OnceValues(func() (*schematest.Schema, error) { return schematest.Open("batch") })
	runSchema   = sync.OnceValues(func() (*schematest.Schema, error) { return schematest.Open("run") })
)

// checkSchemas holds every document and record that a test leaves against its schema.
func checkSchemas(t *testing.T, ledger string) {
	check := func(open func() (*schematest.Schema, error), pattern string) {
		s, err := open()
		if err != nil {
			t.Fatal(err)
		}
		names, err := filepath.Glob(filepath.Join(ledger, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err != nil || !json.Valid(text) {
				continue // damaged by the test
			}
			if err := s.Check(text); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	check(batchSchema, "batches/*/*/*/*.json")
	check(runSchema, "runs/*.json")
}

// scratch is a folder in memory where there is one: the tests make many thousand syncs, and assert
// nothing that depends on the disk.
func scratch(t *testing.T) string {
	dir, err := os.MkdirTemp("/dev/shm", "ubunye-ledger-")
	if err != nil {
		dir = t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

func (w *world) config(hook fsops.Hook) Config {
	id := Identity{Host: "here", Machine: "m", Boot: "b", PIDNamespace: 1, PID: os.Getpid(), Started: "50"}
	return Config{
		Path: filepath.Join(w.dir, ".ubunye"), FS: fsops.New(hook), Identity: id,
		Heartbeat: time.Hour, Timeout: 6 * time.Hour, // no beat but the first: operations can be counted
	}
}

func (w *world) open(hook fsops.Hook) *Ledger {
	w.t.Helper()
	return w.openAs(w.config(hook))
}

// mortal opens the ledger as a process that is gone when anybody looks.
func (w *world) mortal(hook fsops.Hook) *Ledger {
	w.t.Helper()
	c := w.config(hook)
	c.Identity.PID = goner
	return w.openAs(c)
}

// goner is a pid that is not in the process table.
const goner = 1 << 22

// openAs opens the ledger with a process table in which this process is alone.
func (w *world) openAs(c Config) *Ledger {
	w.t.Helper()
	l, err := Open(context.Background(), c)
	w.must(err)
	l.processes = func(pid int) process { return process{known: true, running: pid == os.Getpid(), started: "50"} }
	return l
}

func batch(dt string) Batch {
	sum := sha256.Sum256([]byte(dt))
	return Batch{Pipeline: "sales", Task: "clean_orders", Variables: map[string]string{"dt": dt}, Key: hex.EncodeToString(sum[:8]), Named: true}
}

// job is one run of one batch with two staged files, in two folders.
type job struct {
	batch  Batch
	rows   []string // one a file
	rerun  bool
	anyway bool
	mode   string // "": append
	slice  string
	fails  bool           // after everything was staged
	over   bool           // every other run is declared dead
	flat   bool           // files at the top of the folder
	class  Class          // of a table; "": not one
	output string         // its name; "": clean
	bad    tablelog.Fault // of its writer
	deaf   bool           // the table cannot be read back after a failed put
}

// flat is a job whose files lie at the top of the folder.
func flat(j job) job {
	j.flat = true
	return j
}

// once is a run as the engine makes it: finish what is committed, begin, acquire, prepare, stage,
// commit, land, end. The error is the run's own.
func (w *world) once(l *Ledger, j job) error {
	ctx := context.Background()
	if _, _, err := l.FinishCommitted(ctx, j.batch.Pipeline); err != nil {
		return err
	}
	run, err := l.Begin(ctx, RunInfo{Pipeline: j.batch.Pipeline, State: j.batch.Pipeline + ".1", Batches: []Batch{j.batch},
		Targets: []Target{{Path: w.lake, Adds: j.mode == "" || j.class != "", Parts: j.mode == partsMode}}})
	if err != nil {
		return err
	}
	if j.over {
		run.declared = w.runs()
	}
	leases, err := run.Acquire(ctx, []Request{{Batch: j.batch, Appends: j.mode == "", Rerun: j.rerun, Anyway: j.anyway}})
	if err != nil {
		run.End(ctx, Refused)
		return err
	}
	if err := w.write(leases[0], j); err != nil {
		var status Status = Failed
		if errors.As(err, new(*LostError)) || errors.As(err, new(*UnknownError)) {
			status = Interrupted
		}
		leases[0].Fail(ctx, err.Error())
		run.End(ctx, status)
		return err
	}
	return run.End(ctx, Succeeded)
}

// runs lists the runs that are in runs/.
func (w *world) runs() (ids []string) {
	w.t.Helper()
	files, err := filepath.Glob(filepath.Join(w.dir, ".ubunye", "runs", "*"))
	w.must(err)
	for _, file := range files {
		ids = append(ids, strings.TrimSuffix(filepath.Base(file), filepath.Ext(file)))
	}
	return ids
}

const (
	wholeMode = "overwrite"
	partsMode = "overwrite_partitions"
)

func (w *world) spec() []OutputSpec { return w.specOf("") }

func (w *world) specOf(mode string) []OutputSpec {
	if mode == "" {
		return []OutputSpec{{Name: "clean", Class: Claims, Mode: "append", Base: w.lake, Success: true}}
	}
	return []OutputSpec{{Name: "clean", Class: Replaces, Mode: mode, Base: w.lake, Success: true, Parts: mode == partsMode}}
}

func (w *world) write(s *Lease, j job) error {
	ctx := context.Background()
	if j.class != "" {
		return w.writeTable(s, j)
	}
	if err := s.Prepare(ctx, w.specOf(j.mode)); err != nil {
		return err
	}
	write := stage
	if j.flat {
		write = stageFlat
	}
	if err := write(s, j.rows); err != nil {
		return err
	}
	c, err := results(s, "clean")
	if err != nil {
		return err
	}
	if r := c.Outputs["clean"]; j.slice != "" {
		r.Slice = j.slice
		c.Outputs["clean"] = r
	}
	if err := s.Replace(ctx, c); err != nil {
		return err
	}
	if j.fails {
		return errFails
	}
	if err := s.Commit(ctx, c); err != nil {
		return err
	}
	return s.Land(ctx)
}

var errFails = errors.New("another output failed")

// stage writes one file a row, in folders p=0, p=1, …, as a compute engine would: not through fsops.
func stage(s *Lease, rows []string) error {
	for i, row := range rows {
		dir := filepath.Join(s.Staging("clean"), fmt.Sprintf("p=%d", i))
		if err := os.Mkdir(dir, 0o777); err != nil {
			return err
		}
		name := "part-" + store.NewID() + ".parquet" + stagedSuffix
		if err := os.WriteFile(filepath.Join(dir, name), []byte(row), 0o666); err != nil {
			return err
		}
	}
	return nil
}

// stageFlat writes one file a row at the top of the folder.
func stageFlat(s *Lease, rows []string) error {
	for _, row := range rows {
		name := "part-" + store.NewID() + ".parquet" + stagedSuffix
		if err := os.WriteFile(filepath.Join(s.Staging("clean"), name), []byte(row), 0o666); err != nil {
			return err
		}
	}
	return nil
}

func commit(s *Lease, outputs ...string) error {
	c, err := results(s, outputs...)
	if err != nil {
		return err
	}
	return s.Commit(context.Background(), c)
}

// results is what a writer says that has staged what is there.
func results(s *Lease, outputs ...string) (Commit, error) {
	results := map[string]Result{}
	for _, name := range outputs {
		staged, err := s.Staged(name)
		if err != nil {
			return Commit{}, err
		}
		r := Result{Claims: []string{}}
		for _, f := range staged {
			r.Claims = append(r.Claims, f.Name)
			r.Rows, r.Files, r.Bytes = r.Rows+1, r.Files+1, r.Bytes+f.Bytes
		}
		results[name] = r
	}
	return Commit{State: "sales.1", Config: "c0", Outputs: results}, nil
}

// rows returns what a reader of the lake sees, sorted: the contents of every file that is named as data.
func (w *world) rows() []string {
	w.t.Helper()
	rows := []string{}
	err := filepath.WalkDir(w.lake, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil && d.IsDir() && w.passesOver && strings.HasPrefix(d.Name(), "_") {
			return fs.SkipDir
		}
		if err == nil && strings.HasSuffix(path, ".parquet") {
			data, readErr := os.ReadFile(path)
			rows, err = append(rows, string(data)), readErr
		}
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	slices.Sort(rows)
	return rows
}

func (w *world) wantRows(what string, want ...string) {
	w.t.Helper()
	slices.Sort(want)
	if got := w.rows(); !slices.Equal(got, want) {
		w.t.Fatalf("%s: a reader sees %q, want %q", what, got, want)
	}
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// tree lists every path below dir but the generations of documents, which only grow.
func tree(t *testing.T, dir string) []string {
	t.Helper()
	var paths []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil {
			info, infoErr := d.Info()
			if infoErr != nil {
				return infoErr
			}
			line := path[len(dir):]
			if !d.IsDir() {
				line += fmt.Sprintf(" %d %d", info.Size(), info.ModTime().UnixNano())
			}
			paths = append(paths, line)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

// document reads a batch's document.
func (w *world) document(b Batch) *Document {
	w.t.Helper()
	d, _, err := w.open(nil).load(context.Background(), b)
	w.must(err)
	return d
}

// begin starts a run and takes a batch, for tests that look between the steps.
func (w *world) begin(l *Ledger, req Request) (*Run, *Lease) {
	w.t.Helper()
	ctx := context.Background()
	run, err := l.Begin(ctx, RunInfo{Pipeline: "sales", State: "sales.1", Batches: []Batch{req.Batch}})
	w.must(err)
	leases, err := run.Acquire(ctx, []Request{req})
	w.must(err)
	return run, leases[0]
}

// change edits a batch's document as another process would, by compare-and-swap.
func (w *world) change(b Batch, edit func(*Document)) {
	w.t.Helper()
	l := w.open(nil)
	d, v, err := l.load(context.Background(), b)
	w.must(err)
	edit(d)
	_, err = l.saveDocument(context.Background(), d, v)
	w.must(err)
}

// takeAway takes a batch from whoever holds it, as a start would from a dead run, and gives it back. It returns
// what the run had replaced without a commit.
func (w *world) takeAway(l *Ledger, b Batch) (kept []Kept) {
	w.t.Helper()
	ctx := context.Background()
	run, err := l.Begin(ctx, RunInfo{Pipeline: "sales"})
	w.must(err)
	run.declared = []string{w.holder(b)}
	leases, err := run.Acquire(ctx, []Request{{Batch: b}})
	w.must(err)
	w.must(leases[0].Release(ctx))
	w.must(run.End(ctx, Succeeded))
	for _, t := range run.Takeovers() {
		kept = append(kept, t.Kept...)
	}
	return kept
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
