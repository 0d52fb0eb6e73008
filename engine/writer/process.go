package writer

import (
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"time"
)

// process is a child that runs one module.
type process struct {
	cmd    *exec.Cmd
	stdin  *os.File
	stdout *os.File
	stderr head
	done   chan struct{} // closed when it has ended and was waited for
}

// startProcess starts the program at path, with no arguments and an empty environment.
func startProcess(path string) (*process, error) {
	childIn, stdin, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer childIn.Close()
	stdout, childOut, err := os.Pipe()
	if err != nil {
		stdin.Close()
		return nil, err
	}
	defer childOut.Close()
	p := &process{cmd: exec.Command(path), stdin: stdin, stdout: stdout, done: make(chan struct{})}
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = childIn, childOut, &p.stderr
	p.cmd.Env = []string{}
	p.cmd.WaitDelay = time.Second // if something else came to hold its stderr
	setSysProcAttr(p.cmd)
	started := make(chan error)
	go p.run(started)
	if err := <-started; err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

// run starts the child and waits for its end, on one thread: the system ends the child when the thread
// that started it ends, and a thread that is kept cannot.
func (p *process) run(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := p.cmd.Start()
	started <- err
	if err != nil {
		return
	}
	_ = p.cmd.Wait() // how it ended is in cmd.ProcessState
	close(p.done)
}

// kill ends the child at once; it is no error if it has ended.
func (p *process) kill() { _ = p.cmd.Process.Kill() }

// close gives the pipes back.
func (p *process) close() {
	p.stdin.Close()
	p.stdout.Close()
}

// end says how the child ended, in a few words. It waits for that.
func (p *process) end() string {
	<-p.done
	text := p.cmd.ProcessState.String()
	// After an empty line a Go program that crashed lists its goroutines.
	if said, _, _ := strings.Cut(strings.TrimSpace(p.stderr.String()), "\n\n"); said != "" {
		text += ": " + line(said)
	}
	return text
}

// head keeps the beginning of what a child says on stderr: a failure's first lines name it.
type head struct {
	mu   sync.Mutex
	text strings.Builder
}

func (h *head) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if room := maxText - h.text.Len(); room > 0 {
		h.text.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}

func (h *head) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.text.String()
}
