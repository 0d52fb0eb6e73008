package fsops

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

var errNotFolder error = unix.ENOTDIR

// renameNoReplace is renameat2(2) with RENAME_NOREPLACE. EINVAL is what file systems say that lack
// the flag; it also means "into itself", which the plain rename that follows will say again.
func renameNoReplace(from, to string) error {
	err := unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, unix.RENAME_NOREPLACE)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOSYS):
		return fmt.Errorf("rename without replacing: %w", errors.ErrUnsupported)
	}
	return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
}

// exchange is renameat2(2) with RENAME_EXCHANGE. EINVAL also means that one name lies below the other.
func exchange(a, b string) error {
	err := unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOSYS):
		return fmt.Errorf("exchange of %s and %s: %w", a, b, errors.ErrUnsupported)
	}
	return &os.LinkError{Op: "exchange", Old: a, New: b, Err: err}
}

// removeEmpty is rmdir(2): os.Remove tries to unlink first.
func removeEmpty(path string) error {
	if err := unix.Rmdir(path); err != nil {
		return &fs.PathError{Op: "rmdir", Path: path, Err: err}
	}
	return nil
}

func syncFS(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	if err = unix.Syncfs(int(file.Fd())); err != nil {
		err = &fs.PathError{Op: "syncfs", Path: path, Err: err}
	}
	return errors.Join(err, file.Close())
}

// touchNow sets a file's time by UTIME_NOW, so that it is the disk's clock that counts where the disk
// is another machine's.
func touchNow(path string) error {
	now := []unix.Timespec{{Nsec: unix.UTIME_NOW}, {Nsec: unix.UTIME_NOW}}
	if err := unix.UtimesNanoAt(unix.AT_FDCWD, path, now, 0); err != nil {
		return &fs.PathError{Op: "utimensat", Path: path, Err: err}
	}
	return nil
}
