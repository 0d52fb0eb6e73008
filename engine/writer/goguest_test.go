package writer_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/ubunye-io/ubunye/engine/abi"
	"github.com/ubunye-io/ubunye/engine/writer"
)

// goguest and numbered are modules of plugins/hostile, each built once.
var goguest, numbered = built("goguest"), built("numbered")

func built(name string) func() (string, error) {
	return sync.OnceValues(func() (string, error) {
		dir, err := shared()
		if err != nil {
			return "", err
		}
		path := filepath.Join(dir, name+".wasm")
		cmd := exec.Command("go", "build", "-buildmode=c-shared", "-ldflags=-s -w", "-o", path, "../../plugins/hostile/"+name)
		cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "GOFLAGS=", "CGO_ENABLED=0")
		out, err := cmd.CombinedOutput()
		os.Stderr.Write(out)
		return path, err
	})
}

func goguestModule(t testing.TB) writer.Module {
	t.Helper()
	path, err := goguest()
	if err != nil {
		t.Fatal(err)
	}
	return writer.Module{Name: "copier", Path: path}
}

func doing(what string) abi.PlanRequest {
	return abi.PlanRequest{Output: abi.Output{Mode: "append", Target: "/lake", Options: map[string]string{"do": what}}}
}

// Rows go out of the engine and into a file through a module, whole and in order, whatever their size:
// smaller than the module's buffer, larger, larger than what is written at once.
func TestRowsAndFilesThroughAModule(t *testing.T) {
	book, everybodys := &logbook{}, &logbook{}
	h := newHost(t, writer.Config{Log: everybodys.add})
	r := &relations{rows: [][]byte{bytes.Repeat([]byte("s"), 100), bytes.Repeat([]byte("b"), 64<<10),
		bytes.Repeat([]byte("c"), 64<<10+1), bytes.Repeat([]byte("d"), 5<<20), {'e'}}}
	dir := t.TempDir()
	s := start(t, h, goguestModule(t), writer.Limits{}, writer.Grants{Relation: r, Files: folder{dir}, Log: book.add})
	if _, err := s.Plan(t.Context(), doing("nothing")); err != nil {
		t.Fatal(err)
	}
	answer, err := s.Stage(t.Context(), stageRequest())
	if err != nil {
		t.Fatal(err)
	}
	want := bytes.Join(r.rows, nil)
	got, err := os.ReadFile(filepath.Join(dir, "new.arrows"))
	if err != nil || !bytes.Equal(got, want) {
		t.Fatalf("the file has %d bytes, want %d (%v)", len(got), len(want), err)
	}
	if answer.Rows != 7 || len(answer.Files) != 1 || answer.Files[0].Bytes != int64(len(want)) || r.closed != 1 || r.derived != 1 {
		t.Fatalf("answer %+v, %d streams closed, %d relations derived", answer, r.closed, r.derived)
	}
	if lines := book.all(); !slices.Contains(lines, "copier 1 copied new.arrows") {
		t.Fatalf("log: %q", lines)
	}
	if lines := everybodys.all(); len(lines) > 0 {
		t.Fatalf("the session has a log of its own, and the host was told %q", lines)
	}
}

func TestMisbehavingGoModule(t *testing.T) {
	for _, c := range []struct {
		do   string
		kind writer.Kind
		text string
	}{
		{"panic", writer.Trap, "it trapped: unreachable (it wrote: panic: out of ideas)"},
		{"exit", writer.Trap, "it ended itself with exit code 3"},
		{"memory", writer.Memory, "it wanted 65 MiB of memory; its limit is 64 MiB"},
	} {
		s := start(t, newHost(t, writer.Config{}), goguestModule(t), writer.Limits{Memory: 64 << 20}, writer.Grants{})
		_, err := s.Plan(t.Context(), doing(c.do))
		wantError(t, err, c.kind, "plugin copier: plan: "+c.text)
	}
}

// A module sees no arguments, nothing in its environment but a limit for its own memory, no file, no clock but a made-up one, and does not sleep.
func TestModuleSeesNothing(t *testing.T) {
	s := start(t, newHost(t, writer.Config{}), goguestModule(t), writer.Limits{}, writer.Grants{})
	plan, err := s.Plan(t.Context(), doing("look"))
	if err != nil {
		t.Fatal(err)
	}
	if want := "args 0, environment [GOMEMLIMIT=201326592], file false, folder false, clock 2022, slept true"; plan.Will != want {
		t.Fatalf("got  %s\nwant %s", plan.Will, want)
	}
}
