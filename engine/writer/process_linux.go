package writer

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// setSysProcAttr has the kernel kill the child when this process dies, however it dies; and puts the
// child into a group of its own, so that a Ctrl-C does not reach it before this process has decided.
func setSysProcAttr(cmd *exec.Cmd) {
	cmd.Dir = "/" // keeps no folder busy
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}

// resident returns the bytes of memory that the child occupies; 0 when it has ended.
func (p *process) resident() int64 {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", p.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	var size, pages int64
	if _, err := fmt.Sscan(string(data), &size, &pages); err != nil {
		return 0
	}
	return pages * int64(os.Getpagesize())
}
