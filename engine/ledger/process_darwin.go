package ledger

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// bootTime: unlike Go's, this clock runs while the machine sleeps, clock_gettime(3).
func bootTime() time.Duration {
	var ts unix.Timespec
	unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts)
	return time.Duration(ts.Nano())
}

func machineID() string { return sysctl("kern.uuid") }

func bootID() string { return sysctl("kern.bootsessionuuid") }

func sysctl(name string) string {
	value, err := unix.Sysctl(name)
	if err != nil {
		return ""
	}
	return value
}

func pidNamespace() uint64 { return 1 }

// zombie is SZOMB of sys/proc.h.
const zombie = 5

// lookUpProcess asks the kernel's process table, which shows every user's processes, sysctl(3).
func lookUpProcess(pid int) process {
	found, err := unix.SysctlKinfoProcSlice("kern.proc.pid", pid)
	if err != nil {
		return process{}
	}
	for _, p := range found {
		if int(p.Proc.P_pid) == pid {
			started := p.Proc.P_starttime
			return process{known: true, running: p.Proc.P_stat != zombie, started: fmt.Sprintf("%d.%06d", started.Sec, started.Usec)}
		}
	}
	return process{known: true}
}
