//go:build unix

package writer_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ubunye-io/ubunye/engine/abi"
	"github.com/ubunye-io/ubunye/engine/writer"
)

func TestPinnedDigest(t *testing.T) {
	h := newHost(t, writer.Config{})
	m := hostileModule(t, "good")
	m.SHA256 = strings.Repeat("0", 64)
	s := start(t, h, m, small, writer.Grants{})
	_, err := s.Plan(t.Context(), abi.PlanRequest{})
	e := wantError(t, err, writer.Digest, "")
	if !strings.HasPrefix(e.Message, m.Path+" has SHA-256 ") || !strings.HasSuffix(e.Message, "; "+m.SHA256+" is pinned") {
		t.Fatal(e)
	}
	if s.Child() != 0 {
		t.Fatal("a process was started for a module that is not the one that was pinned")
	}
	_, m.SHA256, _ = strings.Cut(strings.TrimSuffix(e.Message, "; "+m.SHA256+" is pinned"), " has SHA-256 ")
	s = start(t, h, m, small, writer.Grants{})
	if _, err := s.Plan(t.Context(), abi.PlanRequest{}); err != nil {
		t.Fatal(err)
	}
}

// A module that is a file is asked once what it is; later the kept answer serves, unless it is damaged.
func TestInspectAsksOnce(t *testing.T) {
	dir := t.TempDir()
	m := hostileModule(t, "good")
	noChild := filepath.Join(dir, "no-program")
	for _, c := range []struct {
		what, child string
		damage      bool
		ok          bool
	}{{"first", "", false, true}, {"kept", noChild, false, true}, {"damaged", noChild, true, false}, {"again", "", true, true}} {
		if c.damage {
			kept, err := filepath.Glob(filepath.Join(dir, "described", "*.json"))
			if err != nil || len(kept) != 1 {
				t.Fatalf("%s: %q, %v", c.what, kept, err)
			}
			if err := os.WriteFile(kept[0], []byte(`{"sha256":"","answer":{"abi":1,"writers":[]}}`), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		found, err := newHost(t, writer.Config{CacheDir: dir, Child: c.child}).Inspect(t.Context(), m, small)
		if (err == nil) != c.ok {
			t.Fatalf("%s: %v", c.what, err)
		}
		if !c.ok {
			continue
		}
		d, err := found.Choose(m)
		if err != nil {
			t.Fatal(err)
		}
		if class, ok := d.Class("append", nil); d.Name != "hostile" || class != abi.ClassClaims || !ok {
			t.Fatalf("%s: %+v", c.what, d)
		}
	}
	_, err := newHost(t, writer.Config{CacheDir: dir}).Inspect(t.Context(), writer.Module{Name: "excel"}, small)
	wantError(t, err, writer.Missing, "plugin excel: load: there is no built-in writer of that name")
}

// Somebody kills the child in mid-call, here while the engine encodes for it: the encoding is called
// off and the error says what happened.
func TestChildKilledInMidCall(t *testing.T) {
	h := newHost(t, writer.Config{})
	var s *writer.Session
	r := &relations{encode: func(ctx context.Context, _ abi.EncodeRequest) ([]abi.StagedFile, error) {
		if err := syscall.Kill(s.Child(), syscall.SIGKILL); err != nil {
			t.Error(err)
		}
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	s = start(t, h, writer.Module{Name: "parquet"}, writer.Limits{}, writer.Grants{Relation: r})
	_, err := s.Stage(t.Context(), stageRequest())
	wantError(t, err, writer.Ended, "plugin parquet: stage: the process that runs it ended unexpectedly: signal: killed")
}

// A call ends with its context, whatever the module is doing: this one prints without end.
func TestCancelledCall(t *testing.T) {
	why := errors.New("the lease was lost")
	ctx, cancel := context.WithCancelCause(t.Context())
	h := newHost(t, writer.Config{Log: func(string, abi.Level, string) { cancel(why) }})
	s := start(t, h, hostileModule(t, "print"), small, writer.Grants{})
	_, err := s.Plan(ctx, abi.PlanRequest{})
	if e := wantError(t, err, writer.Cancelled, "plugin print: plan: the lease was lost"); !errors.Is(e, why) {
		t.Fatal("the cause is not found in the error")
	}
}

// Closing ends a call that is under way, and waits until the process is gone.
func TestCloseDuringCall(t *testing.T) {
	h := newHost(t, writer.Config{})
	inside := make(chan struct{})
	r := &relations{encode: func(ctx context.Context, _ abi.EncodeRequest) ([]abi.StagedFile, error) {
		close(inside)
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}}
	s := start(t, h, writer.Module{Name: "parquet"}, writer.Limits{}, writer.Grants{Relation: r})
	result := make(chan error)
	go func() {
		_, err := s.Stage(t.Context(), stageRequest())
		result <- err
	}()
	<-inside
	s.Close()
	wantError(t, <-result, writer.Cancelled, "plugin parquet: stage: the session was closed")
	if err := syscall.Kill(s.Child(), 0); err != syscall.ESRCH {
		t.Fatalf("the child is still there: %v", err)
	}
	s.Close() // again: nothing happens
}

// A module that is inside an operation of the engine is not called.
func TestCallInsideCallIsRefused(t *testing.T) {
	h := newHost(t, writer.Config{})
	var s *writer.Session
	r := &relations{}
	r.encode = func(ctx context.Context, _ abi.EncodeRequest) ([]abi.StagedFile, error) {
		_, err := s.Plan(ctx, abi.PlanRequest{Output: parquetOutput()})
		wantError(t, err, writer.Busy, "plugin parquet: plan: the plugin is inside another call")
		return nil, nil
	}
	s = start(t, h, writer.Module{Name: "parquet"}, writer.Limits{}, writer.Grants{Relation: r})
	if _, err := s.Stage(t.Context(), stageRequest()); err != nil {
		t.Fatal(err)
	}
	if len(r.asked) != 1 {
		t.Fatal("nothing was encoded")
	}
}

// Sessions of every end leave neither a goroutine nor an open file nor a process.
func TestNothingLeaks(t *testing.T) {
	h := newHost(t, writer.Config{})
	once := func() {
		for _, name := range []string{"good", "loop", "trap", "not-wasm"} {
			s, err := h.Start(t.Context(), hostileModule(t, name), short, writer.Grants{})
			if err != nil {
				t.Fatal(err)
			}
			_, _ = s.Plan(t.Context(), abi.PlanRequest{Output: parquetOutput()})
			s.Close()
		}
		s, err := h.Start(t.Context(), writer.Module{Name: "parquet"}, short, writer.Grants{})
		if err != nil {
			t.Fatal(err)
		}
		s.Close() // while it loads
	}
	once()
	goroutines, files := runtime.NumGoroutine(), openFiles(t)
	for range 3 {
		once()
	}
	if n := openFiles(t); n > files {
		t.Errorf("%d open files, %d before", n, files)
	}
	// One that has told of its end may still be on its way out.
	for late := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > goroutines && time.Now().Before(late); {
		runtime.Gosched()
	}
	if n := runtime.NumGoroutine(); n > goroutines {
		buf := make([]byte, 1<<16)
		t.Errorf("%d goroutines, %d before\n%s", n, goroutines, buf[:runtime.Stack(buf, true)])
	}
}

func openFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("no /proc here")
	}
	return len(entries)
}

// A program that answers with other than frames, or with frames out of turn, is an error and no more.
func TestChildThatTalksNonsense(t *testing.T) {
	ready := "\x1a\x00\x00\x00r" + `{"protocol":2,"abi":1}    ` + "\x00\x00\x00\x00b"
	for name, c := range map[string]struct {
		says string
		kind writer.Kind
	}{
		"nothing":               {"", writer.Ended},
		"text":                  {"hello, I am not a plugin runner at all", writer.Protocol},
		"half a frame":          {"\x10\x00\x00\x00r{", writer.Ended},
		"huge":                  {"\xff\xff\xff\xffr", writer.Protocol},
		"answer too early":      {"\x04\x00\x00\x00a\x00\x00\x00\x00", writer.Protocol},
		"other protocol":        {"\x18\x00\x00\x00r" + `{"protocol":99, "abi":1}`, writer.Incompatible},
		"answer too short":      {ready + "\x01\x00\x00\x00a\x00", writer.Protocol},
		"nameless call":         {ready + "\x02\x00\x00\x00ohi", writer.Ended},
		"short cursor":          {ready + "\x01\x00\x00\x00n\x01", writer.Ended},
		"empty log":             {ready + "\x00\x00\x00\x00l", writer.Ended},
		"death that is no JSON": {ready + "\x03\x00\x00\x00dxyz", writer.Protocol},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			words := filepath.Join(dir, "words")
			child := filepath.Join(dir, "child")
			script := "#!/bin/sh\nexec /bin/cat '" + words + "'\n"
			if err := errors.Join(os.WriteFile(words, []byte(c.says), 0o600), os.WriteFile(child, []byte(script), 0o700)); err != nil {
				t.Fatal(err)
			}
			h := newHost(t, writer.Config{Child: child})
			s := start(t, h, hostileModule(t, "good"), small, writer.Grants{})
			_, err := s.Describe(t.Context())
			if e := wantError(t, err, c.kind, ""); strings.Contains(e.Error(), "\n") {
				t.Errorf("more than a line: %q", e)
			}
		})
	}
}
