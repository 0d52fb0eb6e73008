package ledger

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"os"
)

// Identity is what a process can be told by, from any process that looks later. What could not be
// learned is empty, and an empty value matches nothing.
type Identity struct {
	Host         string `json:"host"`    // its host name, for people
	Machine      string `json:"machine"` // a hash of the system's machine id; cloned machines share it
	Boot         string `json:"boot"`    // another one each time that the machine is started
	PIDNamespace uint64 `json:"pidns"`   // inode of its pid namespace; 1 on systems that have but one
	PID          int    `json:"pid"`     // its process id
	Started      string `json:"started"` // when its process was started, as the system counts: on Linux in clock ticks from boot
}

// ThisProcess returns the identity of the calling process. What it is made of is read, never asked for by a
// signal: on Linux /proc and /etc/machine-id.
func ThisProcess() Identity {
	host, _ := os.Hostname()
	id := Identity{Host: host, PID: os.Getpid(), Boot: bootID(), PIDNamespace: pidNamespace()}
	if raw := machineID(); raw != "" {
		// machine-id(5): the id itself must not get out, a keyed hash of it may
		mac := hmac.New(sha256.New, []byte(raw))
		mac.Write([]byte("ubunye ledger"))
		id.Machine = hex.EncodeToString(mac.Sum(nil)[:16])
	}
	id.Started = lookUpProcess(id.PID).started
	return id
}

// process is what was found of a pid.
type process struct {
	known   bool   // it could be looked up, whether it is there or not
	running bool   // there is a process of this pid that has not ended
	started string // as Identity.Started
}

// rebooted tells whether other ran on this machine, and the machine was started anew since.
func rebooted(me, other Identity) bool {
	return me.Machine != "" && me.Machine == other.Machine && me.Boot != "" && other.Boot != "" && me.Boot != other.Boot
}

// certainlyGone tells whether the process that other describes is known to have ended: it ran on this
// machine since this boot, in this pid namespace, and its pid is free, a zombie, or another process's.
// Whatever cannot be looked at is not gone. Nothing is ever signalled.
func certainlyGone(look func(pid int) process, me, other Identity) bool {
	switch {
	case me.Machine == "" || me.Machine != other.Machine,
		me.Boot == "" || me.Boot != other.Boot,
		me.PIDNamespace == 0 || me.PIDNamespace != other.PIDNamespace,
		other.PID <= 0 || other.Started == "":
		return false
	}
	p := look(other.PID)
	return p.known && (!p.running || p.started != other.Started)
}
