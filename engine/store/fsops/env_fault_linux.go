//go:build fault

package fsops

import (
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// freeze stops the whole process and returns when it goes on. The signal is sent to the calling thread: one
// sent to the process may be taken by another thread, and this one would make a few more changes first.
func freeze() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	unix.Tgkill(os.Getpid(), unix.Gettid(), unix.SIGSTOP)
}
