// Package blackbox is what the end-to-end tests and the torture share: how the built program is started, frozen and
// looked at from outside. It knows nothing of the program's packages.
package blackbox

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Home is the home of every process that is started. It is the same for all, so that each does not compile the
// writers again.
func Home() string { return filepath.Join(os.TempDir(), fmt.Sprintf("ubunye-e2e-%d", os.Getuid())) }

// Environment is that of a process with this home.
func Environment(home string) []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "XDG_CACHE_HOME=" + filepath.Join(home, ".cache")}
}

// Crashed tells whether a process died of a fault of its own, by what it said on stderr.
func Crashed(stderr string) bool {
	return strings.Contains(stderr, "panic:") || strings.Contains(stderr, "DATA RACE") || strings.Contains(stderr, "goroutine ")
}

// Stopped tells whether a process of this machine is stopped, as by SIGSTOP.
func Stopped(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	return strings.HasPrefix(strings.TrimSpace(string(stat[bytes.LastIndexByte(stat, ')')+1:])), "T")
}

// Operation is one change of the file system that a run made.
type Operation struct {
	Number   int
	Kind     string
	Path, To string
}

// ReadTrace reads what UBUNYE_FAULT=trace:FILE has written.
func ReadTrace(file string) ([]Operation, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var ops []Operation
	for _, line := range strings.Split(strings.TrimRight(string(data), "\n"), "\n") {
		f := strings.Split(line, "\t")
		n, err := strconv.Atoi(f[0])
		if err != nil || len(f) != 4 {
			return nil, fmt.Errorf("%s: trace line %q", file, line)
		}
		ops = append(ops, Operation{Number: n, Kind: f[1], Path: f[2], To: f[3]})
	}
	return ops, nil
}
