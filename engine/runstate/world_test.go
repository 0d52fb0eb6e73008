package runstate

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ubunye-io/ubunye/engine/store/fsops"
	"github.com/ubunye-io/ubunye/schemas/schematest"
)

var ctx = context.Background()

// world is a folder of run state and a clock that goes on by a second at each look at it.
type world struct {
	*testing.T
	dir   string
	now   time.Time
	alive map[string]bool // by id in the ledger
	tasks []Task
}

func newWorld(t *testing.T) *world {
	w := &world{T: t, dir: filepath.Join(memory(t), "state"), now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), alive: map[string]bool{}}
	w.tasks = []Task{{Name: "a1", Config: "c1"}, {Name: "a2", Config: "c2", From: []string{"a1"}}, {Name: "a3", Config: "c3", From: []string{"a2"}}}
	return w
}

// memory is a folder in memory if there is one: what is killed a thousand times need not be synced to a disk.
func memory(t *testing.T) string {
	dir, err := os.MkdirTemp("/dev/shm", "ubunye-runstate-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// folder is the folder as a process sees it whose changes pass through hook.
func (w *world) folder(hook fsops.Hook) *Folder {
	return &Folder{Path: w.dir, FS: fsops.New(hook), Zone: time.UTC, Version: "1.2.3", Index: true,
		Now:   func() time.Time { w.now = w.now.Add(time.Second); return w.now },
		Alive: func(run string) (bool, error) { return w.alive[run], nil }}
}

// killed refuses every change from one operation on: the disk is then as after a SIGKILL.
type killed struct{ at int64 }

var errKilled = errors.New("the process is dead")

func (k killed) Before(op fsops.Op) error {
	if op.N >= k.at {
		return errKilled
	}
	return nil
}

func (k killed) After(fsops.Op, error) error { return nil }

func (w *world) start(variables ...string) Start {
	p := map[string]string{}
	for _, v := range variables {
		name, value, _ := strings.Cut(v, "=")
		p[name] = value
	}
	return Start{Params: Params{Variables: p}, Tasks: slices.Clone(w.tasks), Recover: Proof}
}

// attempt is one start that goes on: its run, its document, and what was decided.
type attempt struct {
	*Run
	doc      *Document
	decision *Decision
}

// begin does what a start does until its first document is written.
func (w *world) begin(f *Folder, q Start, ledgerRun string) (*attempt, error) {
	s, err := f.Look(ctx, "shop", q.Params, false)
	if err != nil {
		return nil, err
	}
	d, err := Decide(s, q)
	if err != nil {
		return nil, err
	}
	if d.Finish != nil {
		if err := f.FinishMove(d.Finish); err != nil {
			return nil, err
		}
	}
	doc := d.Document(AppConfig{Name: "shop", Configuration: []string{"shop.yaml"}, Compute: "duckdb"}, ledgerRun, f.Now())
	r, err := f.Create(s, doc)
	return &attempt{r, doc, d}, err
}

// set changes one task and saves.
func (a *attempt) set(task string, state State) error {
	x := a.doc.Actions[task]
	x.State = state
	x.Execution = Execution{Run: a.doc.Run, Attempt: a.doc.Attempt}
	if state == Succeeded {
		rows := int64(len(task)) + a.doc.Attempt
		x.Results = []Result{{Output: task + "_out", Class: "claims", Batch: "0123456789abcdef", Rows: &rows}}
	}
	a.doc.Actions[task] = x
	return a.Save(a.doc)
}

// whole begins a run and does all of it; told hears of each task that is executed.
func (w *world) whole(f *Folder, q Start, ledgerRun string, told func(task string)) error {
	a, err := w.begin(f, q, ledgerRun)
	if err != nil {
		return err
	}
	for _, task := range a.decision.Tasks {
		if err := a.set(task, Running); err != nil {
			return err
		}
		told(task)
		if err := a.set(task, Succeeded); err != nil {
			return err
		}
	}
	return a.Finish(a.doc)
}

// stopped begins a run, brings its tasks to these states, and dies there; final: it could say so.
func (w *world) stopped(q Start, final bool, states ...State) *attempt {
	w.Helper()
	a, err := w.begin(w.folder(nil), q, "")
	w.must(err)
	for i, s := range states {
		w.must(a.set(q.Tasks[i].Name, s))
	}
	if final {
		w.must(a.Finish(a.doc))
	}
	return a
}

// files lists what is in a folder of the run state.
func (w *world) files(dir string) []string {
	w.Helper()
	entries, err := os.ReadDir(filepath.Join(w.dir, dir))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		w.Fatal(err)
	}
	names := []string{}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func (w *world) wantFiles(current, succeeded string) {
	w.Helper()
	if got := strings.Join(w.files("current"), " "); got != current {
		w.Errorf("current/ holds %q, want %q", got, current)
	}
	if got := strings.Join(w.files("succeeded"), " "); got != succeeded {
		w.Errorf("succeeded/ holds %q, want %q", got, succeeded)
	}
}

func (w *world) write(name, text string) {
	w.Helper()
	path := filepath.Join(w.dir, name)
	w.must(os.MkdirAll(filepath.Dir(path), 0o777))
	w.must(os.WriteFile(path, []byte(text), 0o666))
}

func (w *world) mv(from, to string) {
	w.Helper()
	w.must(os.Rename(filepath.Join(w.dir, from), filepath.Join(w.dir, to)))
}

func (w *world) look(q Start) *Snapshot {
	w.Helper()
	s, err := w.folder(nil).Look(ctx, "shop", q.Params, false)
	w.must(err)
	return s
}

var runStateSchemas = sync.OnceValues(func() (map[string]*schematest.Schema, error) {
	all := map[string]*schematest.Schema{}
	for _, name := range []string{"run-state", "run-state-index"} {
		s, err := schematest.Open(name)
		if err != nil {
			return nil, err
		}
		all[name] = s
	}
	lenient, err := schematest.OpenLenient("run-state")
	all["lenient"] = lenient
	return all, err
})

// wantSchema asserts that every state file and every line of the index is as the schemas say, without a member more.
func (w *world) wantSchema() {
	w.Helper()
	schemas, err := runStateSchemas()
	w.must(err)
	seen := 0
	for _, dir := range []string{"current", "succeeded"} {
		for _, name := range w.files(dir) {
			if _, _, ok := parseName(name); !ok {
				continue
			}
			text, err := os.ReadFile(filepath.Join(w.dir, dir, name))
			w.must(err)
			w.must(schemas["run-state"].Check(text))
			seen++
		}
	}
	if seen == 0 {
		w.Fatal("no state file was seen")
	}
	text, err := os.ReadFile(filepath.Join(w.dir, "index.json"))
	if err == nil {
		w.must(schemas["run-state-index"].CheckLines(string(text)))
	}
}

// states are the tasks of a document and how far they are.
func states(d *Document) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(d.Actions)) {
		all = append(all, name+":"+string(d.Actions[name].State))
	}
	return strings.Join(all, " ")
}
