package ledger

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Identity is what a process can be told by, from any process that looks later. What could not be
// learned is empty, and an empty value matches nothing.
type Identity struct {
	Host         string `json:"host"`    // its host name, for people
	Machine      string `json:"machine"` // a hash of /etc/machine-id; cloned machines share it
	Boot         string `json:"boot"`    // the kernel's boot id
	PIDNamespace uint64 `json:"pidns"`   // inode of its pid namespace
	PID          int    `json:"pid"`     // its process id
	Started      string `json:"started"` // clock ticks from boot to the start of the process
}

// ThisProcess returns the identity of the calling process. It reads /proc and /etc/machine-id.
func ThisProcess() Identity {
	host, _ := os.Hostname()
	id := Identity{Host: host, PID: os.Getpid()}
	for _, path := range []string{"/etc/machine-id", "/var/lib/dbus/machine-id"} {
		if raw := readLine(path); raw != "" {
			// machine-id(5): the id itself must not get out, a keyed hash of it may
			mac := hmac.New(sha256.New, []byte(raw))
			mac.Write([]byte("ubunye ledger"))
			id.Machine = hex.EncodeToString(mac.Sum(nil)[:16])
			break
		}
	}
	id.Boot = readLine("/proc/sys/kernel/random/boot_id")
	if link, err := os.Readlink("/proc/self/ns/pid"); err == nil {
		id.PIDNamespace, _ = strconv.ParseUint(strings.Trim(strings.TrimPrefix(link, "pid:"), "[]"), 10, 64)
	}
	_, id.Started, _ = processStat(procRoot, "self")
	return id
}

const procRoot = "/proc"

func readLine(path string) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}

// certainlyGone tells whether the process that other describes is known to have ended: it ran on this
// machine since this boot, in this pid namespace, and its pid is free, a zombie, or another process's.
// Whatever cannot be looked at is not gone. Nothing is ever signalled.
func certainlyGone(proc string, me, other Identity) bool {
	switch {
	case me.Machine == "" || me.Machine != other.Machine,
		me.Boot == "" || me.Boot != other.Boot,
		me.PIDNamespace == 0 || me.PIDNamespace != other.PIDNamespace,
		other.PID <= 0 || other.Started == "",
		!seesEveryProcess(proc, me.PID):
		return false
	}
	state, started, err := processStat(proc, strconv.Itoa(other.PID))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return true
	case err != nil:
		return false
	}
	return state == "Z" || state == "X" || started != other.Started
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
