//go:build unix

package main

import (
	"os"
	"runtime"
	"syscall"
)

// maxRSS is the most memory that a process had resident, in bytes.
func maxRSS(state *os.ProcessState) int64 {
	usage, ok := state.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	if runtime.GOOS == "darwin" {
		return usage.Maxrss
	}
	return usage.Maxrss * 1024
}
