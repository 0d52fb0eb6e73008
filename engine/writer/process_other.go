//go:build !unix

package writer

import "os/exec"

func setSysProcAttr(*exec.Cmd) {}

// resident is not known here: only the module's own memory is bounded.
func (p *process) resident() int64 { return 0 }
