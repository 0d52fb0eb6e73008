package fsops

import (
	"errors"
	"syscall"
)

// What Windows says of a file that another process has open.
const (
	errSharing = syscall.Errno(32) // ERROR_SHARING_VIOLATION
	errLock    = syscall.Errno(33) // ERROR_LOCK_VIOLATION
)

func refusedForNow(err error) bool {
	return errors.Is(err, syscall.ERROR_ACCESS_DENIED) || errors.Is(err, errSharing) || errors.Is(err, errLock) || errors.Is(err, syscall.EACCES)
}
