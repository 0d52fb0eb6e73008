//go:build !linux

package fsops

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

var errNotFolder error = syscall.ENOTDIR

func renameNoReplace(from, to string) error {
	return fmt.Errorf("rename without replacing: %w", errors.ErrUnsupported)
}

func exchange(a, b string) error {
	return fmt.Errorf("exchange of %s and %s: %w", a, b, errors.ErrUnsupported)
}

func removeEmpty(path string) error { return os.Remove(path) }

func syncFS(path string) error {
	return fmt.Errorf("sync of a whole file system: %w", errors.ErrUnsupported)
}

func touchNow(path string) error {
	now := time.Now()
	return os.Chtimes(path, now, now)
}
