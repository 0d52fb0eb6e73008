package writer_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ubunye-io/ubunye/engine/abi"
	"github.com/ubunye-io/ubunye/engine/writer"
	"github.com/ubunye-io/ubunye/plugins/hostile"
)

// hostileModule writes one module where a session can read it.
func hostileModule(t testing.TB, name string) writer.Module {
	t.Helper()
	wasm, ok := hostile.Modules()[name]
	if !ok {
		t.Fatalf("there is no hostile module %q", name)
	}
	path := filepath.Join(t.TempDir(), name+".wasm")
	if err := os.WriteFile(path, wasm, 0o600); err != nil {
		t.Fatal(err)
	}
	return writer.Module{Name: name, Path: path}
}

// Limits for modules that are stopped by something else than their time, and for those that are not.
var (
	small = writer.Limits{Memory: 8 << 20}
	short = writer.Limits{Memory: 8 << 20, Plan: 500 * time.Millisecond, Stage: 500 * time.Millisecond}
)

// C114: every module that does harm, or that needs what the engine does not give, ends with one clear line, within its time.
func TestC114_HostileModules(t *testing.T) {
	const plan, stage = "plan", "stage"
	encodes := func() writer.Grants {
		return writer.Grants{Relation: &relations{files: []abi.StagedFile{{Name: "part-1.parquet.staged", Rows: 1, Bytes: 9}}}, Files: folder{t.TempDir()}}
	}
	for _, c := range []struct {
		module, call string
		kind         writer.Kind
		text         string // the whole line
	}{
		{"not-wasm", plan, writer.Incompatible, "load: it is no WebAssembly module"},
		{"empty", plan, writer.Incompatible, "load: the file is empty"},
		{"component", plan, writer.Incompatible, "load: it is a WebAssembly component; a core module is wanted"},
		{"torn", plan, writer.Incompatible, "load: it is no WebAssembly that can be compiled: *"},
		{"other-version", plan, writer.Incompatible, "load: it is made for another version of the engine: ubunye_abi_1 wanted, ubunye_abi_2 found"},
		{"no-marker", plan, writer.Incompatible, "load: it is no writer: no export ubunye_abi_1 (found no ubunye_abi_…)"},
		{"no-stage", plan, writer.Incompatible, "load: it lacks exports: stage"},
		{"no-memory", plan, writer.Incompatible, "load: it exports no memory named memory"},
		{"command", plan, writer.Incompatible, "load: it is a command (export _start), not a reactor (export _initialize): build it with -buildmode=c-shared, or as a cdylib"},
		{"foreign-import", plan, writer.Incompatible, "load: it imports what the engine does not provide: env.launch"},
		{"born-too-large", plan, writer.Incompatible, "load: it begins with 312 MiB of memory; its limit is 8 MiB"},
		{"trap", plan, writer.Trap, "plan: it trapped: unreachable"},
		{"recursion", plan, writer.Trap, "plan: it trapped: stack overflow"},
		{"eat-memory", plan, writer.Memory, "plan: it wanted 9 MiB of memory; its limit is 8 MiB"},
		{"eat-table", plan, writer.Memory, "plan: its process occupied more than 200 MiB and was stopped"},
		{"exit", plan, writer.Trap, "plan: it ended itself with exit code 0"},
		{"last-words", plan, writer.Trap, "plan: it trapped: unreachable (it wrote: panic: out of ideas)"},
		{"bad-request", plan, writer.Protocol, "plan: it gave 4096 bytes at 4294967280, outside its 131072 bytes of memory"},
		{"bad-respond", plan, writer.Protocol, "plan: it gave 100 bytes at 131056, outside its 131072 bytes of memory"},
		{"bad-call", plan, writer.Protocol, "plan: it gave 10 bytes at 4294967295, outside its 131072 bytes of memory"},
		{"bad-out", stage, writer.Protocol, "stage: it gave 4096 bytes at 4294967292, outside its 131072 bytes of memory"},
		{"bad-rows", stage, writer.Protocol, "stage: it gave 4294967295 bytes at 4294967295, outside its 131072 bytes of memory"},
		{"bad-write", stage, writer.Protocol, "stage: it gave 65537 bytes at 65536, outside its 131072 bytes of memory"},
		{"bad-log", plan, writer.Protocol, "plan: it gave 1 bytes at 4294967295, outside its 131072 bytes of memory"},
		{"huge-name", plan, writer.Output, "plan: it named an operation with 60000 bytes"},
		{"binary-name", plan, writer.Protocol, "plan: it named an operation with other than printable ASCII"},
		{"no-json", plan, writer.Output, "plan: its answer makes no sense: invalid character 'I' looking for beginning of value"},
		{"silent", plan, writer.Output, "plan: its answer makes no sense: it is empty"},
		{"silent", stage, writer.Output, "stage: its answer makes no sense: it is empty"},
		{"fails-silent", plan, writer.Reported, "plan: it returned 42 and gave no reason"},
		{"unknown-class", plan, writer.Output, `plan: its answer makes no sense: the class "excellent" is not known`},
		{"complains", plan, writer.Output, "plan: its answer makes no sense: it has 101 problems and warnings; at most 100 are told"},
		{"unknown-field", plan, writer.Output, `plan: its answer makes no sense: json: unknown field "bonus"`},
		{"two-answers", plan, writer.Output, "plan: its answer makes no sense: something follows it"},
		{"describes-other", plan, writer.Output, `describe: its answer makes no sense: json: unknown field "class"`},
		{"ghost-file", stage, writer.Output, `stage: its answer makes no sense: the file "../../etc/passwd" was not staged by this call, or is named twice`},
		{"absolute-name", stage, writer.Output, `stage: its answer makes no sense: the file "/etc/passwd" was not staged by this call, or is named twice`},
		{"device-name", stage, writer.Output, `stage: its answer makes no sense: the file "/dev/null" was not staged by this call, or is named twice`},
		{"dos-name", stage, writer.Output, `stage: its answer makes no sense: the file "CON" was not staged by this call, or is named twice`},
		{"others-file", stage, writer.Output, `stage: its answer makes no sense: the file "../clean/part-1.parquet" was not staged by this call, or is named twice`},
		{"late-write", stage, writer.Output, "stage: its answer makes no sense: the file new.txt was not closed"},
		{"opens-many", stage, writer.Output, "stage: its answer makes no sense: the file new.txt was not closed"},
		{"writes-in-plan", plan, writer.Refused, "plan: files.file_create is not allowed during plan"},
		{"hides-file", stage, writer.Output, "stage: its answer makes no sense: the file part-1.parquet.staged was staged and is not named"},
		{"leaves-open", stage, writer.Output, "stage: its answer makes no sense: the file new.txt was not closed"},
		{"reports", plan, writer.Reported, "plan: no  [1mgood [0m today at all"},
		{"asks-table", stage, writer.Refused, `stage: table.get needs the capability "table", which the pipeline does not grant`},
		{"asks-encode", plan, writer.Refused, "plan: relation.encode is not allowed during plan"},
		{"asks-other", stage, writer.Reported, `stage: there is no relation "salaries" for this output`},
		{"asks-nonsense", stage, writer.Reported, "stage: there is no operation relation.destroy"},
		{"asks-path", stage, writer.Reported, `stage: "../x" is no extension of a file's name`},
		{"unknown-cursor", stage, writer.Reported, "stage: there is no open cursor 77"},
		{"unknown-file", stage, writer.Reported, "stage: there is no open file 77"},
	} {
		t.Run(c.module+" "+c.call, func(t *testing.T) {
			s := start(t, newHost(t, writer.Config{}), hostileModule(t, c.module), small, encodes())
			do := func() (err error) {
				if c.call == stage {
					_, err = s.Stage(t.Context(), stageRequest())
				} else {
					_, err = s.Plan(t.Context(), abi.PlanRequest{Output: parquetOutput()})
				}
				return err
			}
			first := do()
			e := wantError(t, first, c.kind, "")
			want := "plugin " + c.module + ": " + c.text
			if begin, any := strings.CutSuffix(want, "*"); any && strings.HasPrefix(e.Error(), begin) && !strings.Contains(e.Error(), "\n") {
				want = e.Error()
			}
			if e.Error() != want {
				t.Errorf("got  %s\nwant %s", e, want)
			}
			// An instance that failed is dead: it says why, and is not called again.
			if again := do(); again == nil || again.Error() != first.Error() {
				t.Errorf("called again: %v", again)
			}
		})
	}
}

// Whatever a module does to spend time, it is stopped.
func TestHostileModulesAreStoppedInTime(t *testing.T) {
	for _, name := range []string{"loop", "loop-stage", "ask-forever", "fork", "print", "log"} {
		t.Run(name, func(t *testing.T) {
			s := start(t, newHost(t, writer.Config{}), hostileModule(t, name), short, writer.Grants{Relation: &relations{}})
			_, err := s.Plan(t.Context(), abi.PlanRequest{})
			call := "plan"
			if err == nil {
				_, err = s.Stage(t.Context(), stageRequest())
				call = "stage"
			}
			wantError(t, err, writer.Deadline, "plugin "+name+": "+call+": it took longer than its time of 500ms and was stopped")
		})
	}
}

func TestHugeAnswerIsRefused(t *testing.T) {
	limits := small
	limits.Memory = 64 << 20
	s := start(t, newHost(t, writer.Config{}), hostileModule(t, "huge-answer"), limits, writer.Grants{})
	_, err := s.Plan(t.Context(), abi.PlanRequest{})
	wantError(t, err, writer.Output, "plugin huge-answer: plan: it gave an answer of 41943040 bytes; at most 33554432 are allowed")
}

func TestLoopWhileLoadingIsStopped(t *testing.T) {
	limits := small
	limits.Load = 500 * time.Millisecond
	s := start(t, newHost(t, writer.Config{}), hostileModule(t, "loop-initialize"), limits, writer.Grants{})
	_, err := s.Plan(t.Context(), abi.PlanRequest{})
	wantError(t, err, writer.Deadline, "plugin loop-initialize: load: it took longer than its time of 500ms and was stopped")
}

// The host is well after a module that was not: the next session works.
func TestHostIsWellAfterHarm(t *testing.T) {
	h := newHost(t, writer.Config{})
	for _, name := range []string{"loop", "eat-table", "trap"} {
		bad := start(t, h, hostileModule(t, name), short, writer.Grants{})
		if _, err := bad.Plan(t.Context(), abi.PlanRequest{}); err == nil {
			t.Fatalf("%s: no error", name)
		}
		good := start(t, h, hostileModule(t, "good"), small, writer.Grants{})
		answer, err := good.Plan(t.Context(), abi.PlanRequest{})
		if err != nil || answer.Will != "nothing good" {
			t.Fatalf("after %s: %+v, %v", name, answer, err)
		}
	}
}

// What is printed without end is cut, said so, and free of what a terminal would obey.
func TestEndlessOutputIsBounded(t *testing.T) {
	for _, name := range []string{"print", "log"} {
		book := &logbook{}
		s := start(t, newHost(t, writer.Config{Log: book.add}), hostileModule(t, name), short, writer.Grants{})
		if _, err := s.Plan(t.Context(), abi.PlanRequest{}); err == nil {
			t.Fatal("no error")
		}
		size := 0
		for _, l := range book.all() {
			size += len(l)
			if strings.ContainsAny(l, "\x1b\x07\n") {
				t.Fatalf("%s: a control character reached the log: %q", name, l)
			}
		}
		if size == 0 || size > 200<<10 {
			t.Errorf("%s: %d bytes of log", name, size)
		}
	}
}

// A failure of the engine's own fails the call even if the module says that all is well, and the
// engine finds its own error again.
func TestHostFailureIsNotSwallowed(t *testing.T) {
	broken := errors.New("no space left on the disk")
	r := &relations{encode: func(context.Context, abi.EncodeRequest) ([]abi.StagedFile, error) { return nil, broken }}
	for _, name := range []string{"swallows", "parquet"} {
		m := writer.Module{Name: name}
		if name == "swallows" {
			m = hostileModule(t, name)
		}
		s := start(t, newHost(t, writer.Config{}), m, writer.Limits{}, writer.Grants{Relation: r})
		_, err := s.Stage(t.Context(), stageRequest())
		e := wantError(t, err, writer.HostFailed, "plugin "+name+": stage: no space left on the disk")
		if !errors.Is(e, broken) {
			t.Fatalf("%v does not wrap the engine's error", e)
		}
	}
}

// What the engine does for a module does not count as the module's time.
func TestHostTimeDoesNotCount(t *testing.T) {
	var hours atomic.Int64
	h := newHost(t, writer.Config{})
	h.SetClock(func() time.Time { return time.Now().Add(time.Duration(hours.Load()) * time.Hour) })
	r := &relations{encode: func(context.Context, abi.EncodeRequest) ([]abi.StagedFile, error) {
		hours.Add(5)
		return nil, nil
	}}
	s := start(t, h, writer.Module{Name: "parquet"}, writer.Limits{}, writer.Grants{Relation: r})
	if _, err := s.Stage(t.Context(), stageRequest()); err != nil {
		t.Fatal(err)
	}
	if hours.Load() != 5 {
		t.Fatal("nothing was encoded")
	}
}

// folder is the capability "files" over a plain folder.
type folder struct{ dir string }

func (f folder) Create(_ context.Context, req abi.FileCreateRequest) (writer.StagedFile, error) {
	file, err := os.Create(filepath.Join(f.dir, "new."+req.Extension))
	return named{file, "new." + req.Extension}, err
}

type named struct {
	*os.File
	name string
}

func (n named) Name() string { return n.name }
