package e2e

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
)

// console is a process at a terminal of its own, which a test plays the person at.
type console struct {
	t   *testing.T
	cmd *exec.Cmd
	tty *os.File

	mu      sync.Mutex
	changed *sync.Cond
	shown   bytes.Buffer
	closed  bool
}

func (p *project) atTerminal(size pty.Winsize, env []string, args ...string) *console {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	c := &console{t: p.t, cmd: exec.CommandContext(ctx, program, args...)}
	c.changed = sync.NewCond(&c.mu)
	c.cmd.Dir = p.dir
	c.cmd.Env = append(append(p.environment(), "TERM=xterm"), env...)
	tty, err := pty.StartWithSize(c.cmd, &size)
	if err != nil {
		p.t.Fatal(err)
	}
	c.tty = tty
	p.t.Cleanup(func() { cancel(); tty.Close() })
	go func() {
		part := make([]byte, 4096)
		for {
			n, err := tty.Read(part)
			c.mu.Lock()
			c.shown.Write(part[:n])
			c.closed = err != nil
			c.changed.Broadcast()
			c.mu.Unlock()
			if err != nil {
				return // the process has ended
			}
		}
	}()
	return c
}

// see waits until a text was shown after the first `from` bytes, and tells where it ends.
func (c *console) see(from int, text string) int {
	c.t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		if at := bytes.Index(c.shown.Bytes()[from:], []byte(text)); at >= 0 {
			return from + at + len(text)
		}
		if c.closed {
			c.t.Fatalf("%q was not shown:\n%q", text, c.shown.String())
		}
		c.changed.Wait()
	}
}

// end waits for the end of the process, and gives what was shown and its exit code.
func (c *console) end() (string, int) {
	c.t.Helper()
	c.mu.Lock()
	for !c.closed {
		c.changed.Wait()
	}
	c.mu.Unlock()
	c.cmd.Wait()
	return c.shown.String(), c.cmd.ProcessState.ExitCode()
}

// endless is a pipeline whose task is at work until it is stopped.
const endless = `name: endless
tasks:
  clean:
    inputs: {raw: {format: csv, path: in.csv}}
    transform:
      clean: SELECT count(*) AS n FROM raw, range(10000000) a, range(10000000) b WHERE a.range + b.range + raw.id = -1
    outputs: {clean: {format: parquet, path: out}}
`

func newEndless(t *testing.T) *project {
	p := newProject(t, endless)
	p.write("in.csv", "id\n1\n2\n")
	return p
}

// At a terminal a task has a line that is redrawn in place, also when the terminal becomes narrow, and that is gone in
// the end.
func TestATerminalShowsATaskAtWork(t *testing.T) {
	p := newEndless(t)
	c := p.atTerminal(pty.Winsize{Cols: 80, Rows: 24}, nil, "run", "-c", "pipeline.yaml")
	at := c.see(0, "[###--] clean: stage from 7 bytes, ")
	at = c.see(at, "\x1b[1F\x1b[J[###--] clean: stage from 7 bytes, ")
	if err := pty.Setsize(c.tty, &pty.Winsize{Cols: 20, Rows: 24}); err != nil {
		t.Fatal(err)
	}
	c.see(at, "\x1b[J[###--] clean: sta…\r\n")
	if _, err := c.tty.WriteString("\x03"); err != nil { // Ctrl-C
		t.Fatal(err)
	}
	shown, exit := c.end()
	if exit != 130 {
		t.Errorf("exit code %d, want 130", exit)
	}
	last := shown[strings.LastIndex(shown, "\x1b[J")+len("\x1b[J"):]
	if !strings.HasPrefix(last, "\x1b[31mubunye:\x1b[0m task clean: interrupted by SIGINT") || strings.Contains(last, "[#") {
		t.Errorf("the screen ends with %q", last)
	}
}

// Two tasks side by side have a line each.
func TestATerminalShowsTwoTasksSideBySide(t *testing.T) {
	_, task, _ := strings.Cut(endless, "  clean:\n")
	other := strings.ReplaceAll(strings.ReplaceAll(task, "clean:", "other:"), "path: out", "path: other")
	p := newProject(t, "parallel: 2\n"+endless+"  other:\n"+other)
	p.write("in.csv", "id\n1\n")
	c := p.atTerminal(pty.Winsize{Cols: 80, Rows: 24}, nil, "run", "-c", "pipeline.yaml")
	both := max(c.see(0, "] clean: stage from 5 bytes, "), c.see(0, "] other: stage from 5 bytes, ")) // whichever began first
	at := c.see(both, "\x1b[2F\x1b[J[###--] ")
	at = c.see(at, ": stage from 5 bytes, ")
	c.see(at, "s\r\n[###--] ")
	if err := c.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	shown, exit := c.end()
	if last := shown[strings.LastIndex(shown, "\x1b[J")+len("\x1b[J"):]; exit != 130 || strings.Contains(last, "[#") {
		t.Errorf("exit code %d, and the screen ends with %q", exit, last)
	}
}

// Where nothing can be drawn, or shall not, no command of a terminal is printed.
func TestWhatATerminalIsSpared(t *testing.T) {
	for what, c := range map[string]struct {
		env   []string
		args  []string
		bars  bool
		color bool
	}{
		"plainly":   {nil, nil, true, true},
		"NO_COLOR":  {[]string{"NO_COLOR=1"}, nil, true, false},
		"no_color":  {[]string{"NO_COLOR="}, nil, true, true},
		"TERM=dumb": {[]string{"TERM=dumb"}, nil, false, false},
		"--json":    {nil, []string{"--json"}, false, false},
		"--quiet":   {nil, []string{"--quiet"}, false, true},
	} {
		p := newSales(t)
		args := append([]string{"run", "-c", "pipeline.yaml", "--dt", "2026-01-01"}, c.args...)
		shown, exit := p.atTerminal(pty.Winsize{Cols: 80, Rows: 24}, c.env, args...).end()
		if exit != 0 {
			t.Fatalf("%s: exit code %d:\n%s", what, exit, shown)
		}
		if bars := strings.Contains(shown, "\x1b[J"); bars != c.bars {
			t.Errorf("%s: bars %t in %q", what, bars, shown)
		}
		if green := strings.Contains(shown, "\x1b[32mdone\x1b[0m"); green != (c.color && what != "--quiet") {
			t.Errorf("%s: green %t in %q", what, green, shown)
		}
		again, exit := p.atTerminal(pty.Winsize{Cols: 80, Rows: 24}, c.env, args...).end()
		if red := strings.Contains(again, "\x1b[31mubunye:\x1b[0m"); exit != 1 || red != c.color {
			t.Errorf("%s: exit code %d, red %t in %q", what, exit, red, again)
		}
		if !c.bars && !c.color && strings.Contains(shown+again, "\x1b") {
			t.Errorf("%s: commands in %q", what, shown+again)
		}
	}
}
