package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/ubunye-io/ubunye/e2e/blackbox"
)

// tooLong is how long a process may take; the machine may be busy.
const tooLong = 3 * time.Minute

// process is a run of the program.
type process struct {
	cmd      *exec.Cmd
	out, err bytes.Buffer
	done     chan struct{}
	watchdog *time.Timer
	hung     atomic.Bool // it took too long and was killed
}

// start starts the program in a folder.
func start(program, dir string, env []string, args ...string) (*process, error) {
	p := &process{cmd: exec.Command(program, args...), done: make(chan struct{})}
	p.cmd.Dir, p.cmd.Env = dir, append(blackbox.Environment(blackbox.Home()), env...)
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.err
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	p.watchdog = time.AfterFunc(tooLong, func() { p.hung.Store(true); p.cmd.Process.Kill() })
	go func() { p.cmd.Wait(); p.watchdog.Stop(); close(p.done) }()
	return p, nil
}

// exit waits for the end: the exit code, or 128 and the signal.
func (p *process) exit() int {
	<-p.done
	if status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return p.cmd.ProcessState.ExitCode()
}

// crashed tells whether it died of a fault of its own, or never ended.
func (p *process) crashed() bool { return blackbox.Crashed(p.said()) || p.hung.Load() }

// said is what it said on stderr, on one line.
func (p *process) said() string {
	<-p.done
	return strings.ReplaceAll(strings.TrimSpace(p.err.String()), "\n", " / ")
}

// stopped waits until the process has stopped itself and tells true, or has ended before that and tells false.
func (p *process) stopped() bool {
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-p.done:
			return false
		case <-tick.C:
			if blackbox.Stopped(p.cmd.Process.Pid) {
				return true
			}
		}
	}
}

// watcher is a process of watch.py: the reader that is not ours.
type watcher struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func newWatcher(python, script string) (*watcher, error) {
	w := &watcher{cmd: exec.Command(python, script)}
	w.cmd.Stderr = os.Stderr
	in, err := w.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	w.in, w.out = in, bufio.NewReaderSize(out, 1<<20)
	return w, w.cmd.Start()
}

func (w *watcher) close() {
	w.in.Close()
	w.cmd.Wait()
}

// ask sends one request and reads the answer.
func (w *watcher) ask(request map[string]string, answer any) error {
	if err := json.NewEncoder(w.in).Encode(request); err != nil {
		return fmt.Errorf("the foreign reader: %w", err)
	}
	line, err := w.out.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("the foreign reader: %w", err)
	}
	return json.Unmarshal(line, answer)
}

// begin has the reader look at the output of a folder from now on.
func (w *watcher) begin(dir, writer string) error {
	return w.ask(map[string]string{"do": "watch", "kind": writer, "path": filepath.Join(dir, "lake/orders"), "ledger": filepath.Join(dir, ".ubunye")}, &struct{}{})
}

// rows reads a CSV file.
func (w *watcher) rows(file string) ([]string, error) { return w.rowsOf("csv", file) }

// rowsOf reads a file or a folder of a format.
func (w *watcher) rowsOf(format, path string) ([]string, error) {
	var answer struct{ Rows []string }
	err := w.ask(map[string]string{"do": "rows", "kind": format, "path": path}, &answer)
	return answer.Rows, err
}

// seen is what the reader saw since it was asked last.
type seen struct {
	Looks       []look
	Taken, Torn int
	Batches     map[string]document // as they are now
}
