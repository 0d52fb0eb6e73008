//go:build !windows

package fsops

import (
	"errors"
	"syscall"
)

func refusedForNow(err error) bool {
	return errors.Is(err, syscall.EACCES) || errors.Is(err, syscall.EPERM)
}
