//go:build unix

package ledger

import (
	"io/fs"

	"golang.org/x/sys/unix"
)

// writable is why this process may not change the names in a folder, as far as the system tells beforehand.
func writable(dir string) error {
	if err := unix.Access(dir, unix.W_OK|unix.X_OK); err != nil {
		return &fs.PathError{Op: "write", Path: dir, Err: err}
	}
	return nil
}
