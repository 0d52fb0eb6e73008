package ledger

import (
	"errors"
	"strconv"
	"time"

	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/registry"
)

// bootTime: unlike Go's, this clock runs while the machine sleeps, GetTickCount64.
func bootTime() time.Duration { return windows.DurationSinceBoot() }

func machineID() string {
	var id string
	readRegistry(`SOFTWARE\Microsoft\Cryptography`, func(key registry.Key) {
		id, _, _ = key.GetStringValue("MachineGuid")
	})
	return id
}

// bootID is a number that goes up by one at each start of the system. Where it is not kept, nothing is known.
func bootID() string {
	var id string
	readRegistry(`SYSTEM\CurrentControlSet\Control\Session Manager\Memory Management\PrefetchParameters`, func(key registry.Key) {
		if n, _, err := key.GetIntegerValue("BootId"); err == nil {
			id = strconv.FormatUint(n, 10)
		}
	})
	return id
}

func readRegistry(path string, read func(registry.Key)) {
	key, err := registry.OpenKey(registry.LOCAL_MACHINE, path, registry.QUERY_VALUE|registry.WOW64_64KEY)
	if err != nil {
		return
	}
	defer key.Close()
	read(key)
}

func pidNamespace() uint64 { return 1 }

// lookUpProcess opens the process to look at it. A pid that nobody has is an invalid parameter; a process that
// has ended is signalled as an object while somebody holds a handle of it.
func lookUpProcess(pid int) process {
	handle, err := windows.OpenProcess(windows.SYNCHRONIZE|windows.PROCESS_QUERY_LIMITED_INFORMATION, false, uint32(pid))
	if errors.Is(err, windows.ERROR_INVALID_PARAMETER) {
		return process{known: true}
	}
	if err != nil {
		return process{}
	}
	defer windows.CloseHandle(handle)
	var created, exited, kernel, user windows.Filetime
	if err := windows.GetProcessTimes(handle, &created, &exited, &kernel, &user); err != nil {
		return process{}
	}
	state, err := windows.WaitForSingleObject(handle, 0)
	if err != nil {
		return process{}
	}
	return process{known: true, running: state != windows.WAIT_OBJECT_0, started: strconv.FormatInt(created.Nanoseconds(), 10)}
}
