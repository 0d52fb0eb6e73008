package writer_test

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ubunye-io/ubunye/engine/abi"
	"github.com/ubunye-io/ubunye/engine/writer"
	"github.com/ubunye-io/ubunye/engine/writer/internal/wire"
)

// gone returns a function that waits until the process has ended.
func gone(t *testing.T, pid int) func() {
	t.Helper()
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		defer unix.Close(fd)
		for {
			n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 20_000)
			if err == unix.EINTR {
				continue
			}
			if err != nil || n == 0 {
				t.Fatalf("process %d is still there after 20 s (%v)", pid, err)
			}
			return
		}
	}
}

// A run that is killed leaves no process behind, whatever the module was doing.
func TestChildDiesWithItsParent(t *testing.T) {
	m := hostileModule(t, "loop")
	parent := exec.Command(os.Args[0])
	parent.Env = append(os.Environ(), helperVariable+"="+t.TempDir(), helperPath+"="+m.Path)
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	first, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(first))
	if err != nil {
		t.Fatal(err)
	}
	wait := gone(t, pid)
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	wait()
	_ = parent.Wait() // killed
}

// Where the kernel does not see to it, the end of its stdin ends the child, even while a module that
// nothing can interrupt is running and the collector would like to stop it.
func TestChildDiesWithItsStdin(t *testing.T) {
	dir := t.TempDir()
	planWith(t, writer.Config{CacheDir: dir})
	programs, err := filepath.Glob(filepath.Join(dir, "bin", "child-*"))
	if err != nil || len(programs) != 1 {
		t.Fatalf("%q, %v", programs, err)
	}
	child := exec.Command(programs[0])
	stdin, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	wasm, err := os.ReadFile(hostileModule(t, "print").Path)
	if err != nil {
		t.Fatal(err)
	}
	conn := wire.NewConn(stdout, stdin)
	load := wire.LoadRequest{Memory: 8 << 20, MaxMessage: 1 << 20, MaxLog: 100}
	for _, err := range []error{conn.WriteJSON(wire.Load, load), conn.Write(wire.Module, wasm)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if kind, payload, err := conn.Read(); err != nil || kind != wire.Ready {
		t.Fatalf("%q %s, %v", kind, payload, err)
	}
	if err := conn.Write(wire.Begin); err != nil {
		t.Fatal(err)
	}
	if kind, payload, err := conn.Read(); err != nil || kind != wire.Begun {
		t.Fatalf("%q %s, %v", kind, payload, err)
	}
	if err := conn.Write(wire.Call, []byte(abi.CallPlan), []byte{0}); err != nil {
		t.Fatal(err)
	}
	if kind, _, err := conn.Read(); err != nil || kind != wire.Log { // the module runs now, and never ends
		t.Fatalf("%q, %v", kind, err)
	}
	wait := gone(t, child.Process.Pid)
	stdin.Close()
	wait()
	_ = child.Wait() // its exit code does not matter
}
