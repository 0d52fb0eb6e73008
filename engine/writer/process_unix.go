//go:build unix && !linux

package writer

import (
	"os/exec"
	"syscall"
)

// setSysProcAttr puts the child into a group of its own, so that a Ctrl-C does not reach it before this
// process has decided. When this process dies the child sees the end of its stdin and ends itself.
func setSysProcAttr(cmd *exec.Cmd) {
	cmd.Dir = "/" // keeps no folder busy
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
}

// resident is not known here: only the module's own memory is bounded.
func (p *process) resident() int64 { return 0 }
