package ledger

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const procRoot = "/proc"

// bootTime is CLOCK_BOOTTIME: unlike Go's monotonic clock it runs during suspend. Every kernel that Go
// runs on has it.
func bootTime() time.Duration {
	var ts unix.Timespec
	unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts)
	return time.Duration(ts.Nano())
}

func machineID() string {
	for _, path := range []string{"/etc/machine-id", "/var/lib/dbus/machine-id"} {
		if id := readLine(path); id != "" {
			return id
		}
	}
	return ""
}

func bootID() string { return readLine(procRoot + "/sys/kernel/random/boot_id") }

func pidNamespace() (ns uint64) {
	if link, err := os.Readlink(procRoot + "/self/ns/pid"); err == nil {
		ns, _ = strconv.ParseUint(strings.Trim(strings.TrimPrefix(link, "pid:"), "[]"), 10, 64)
	}
	return ns
}

func readLine(path string) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}

// lookUpProcess reads /proc.
func lookUpProcess(pid int) process { return readProcess(procRoot, os.Getpid(), pid) }

func readProcess(proc string, me, pid int) process {
	state, started, err := processStat(proc, strconv.Itoa(pid))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return process{known: seesEveryProcess(proc, me)}
	case err != nil:
		return process{}
	}
	return process{known: seesEveryProcess(proc, me), running: state != "Z" && state != "X", started: started}
}

// seesEveryProcess tells whether a pid that proc does not show is free: proc is of the namespace that
// this process counts its pids in, and is mounted without hidepid, which hides other users' processes.
func seesEveryProcess(proc string, pid int) bool {
	self, err := os.Readlink(filepath.Join(proc, "self"))
	if err != nil || self != strconv.Itoa(pid) {
		return false
	}
	mounts, err := os.ReadFile(filepath.Join(proc, "self", "mounts"))
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(mounts)) {
		f := strings.Fields(line)
		if len(f) < 4 || f[1] != procRoot {
			continue
		}
		for option := range strings.SplitSeq(f[3], ",") {
			if value, is := strings.CutPrefix(option, "hidepid="); is && value != "0" && value != "off" {
				return false
			}
		}
	}
	return true
}

// processStat reads the state and the start time of a process from its stat file (proc(5), fields 3
// and 22). The second field is the program's name in brackets and may hold anything.
func processStat(proc, pid string) (state, started string, err error) {
	data, err := os.ReadFile(filepath.Join(proc, pid, "stat"))
	if err != nil {
		return "", "", err
	}
	rest := data[bytes.LastIndexByte(data, ')')+1:]
	fields := strings.Fields(string(rest))
	if len(fields) < 20 {
		return "", "", errors.New("the stat file of the process has another form")
	}
	return fields[0], fields[19], nil
}
