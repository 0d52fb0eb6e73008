package fsops

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// CopyAttributes gives the folder to what the folder from has: group, access lists, security label,
// permission bits; and its owner, if this process may give folders away. One change for each that
// differs. What cannot be copied is an error, so that nobody can read the one who could not read the other.
func (f *FS) CopyAttributes(from, to string) error {
	if err := f.copyOwner(from, to); err != nil {
		return err
	}
	for _, name := range []string{"system.posix_acl_default", "system.posix_acl_access", "security.selinux"} {
		if err := f.copyAttribute(from, to, name); err != nil {
			return err
		}
	}
	// last: a change of the owner or of an access list changes the bits too
	want, err := os.Stat(from)
	if err != nil {
		return err
	}
	have, err := os.Stat(to)
	if err != nil || have.Mode() == want.Mode() {
		return err
	}
	const bits = fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky
	return f.do("attributes", to, "", func() error { return os.Chmod(to, want.Mode()&bits) })
}

func (f *FS) copyOwner(from, to string) error {
	var want, have unix.Stat_t
	if err := unix.Stat(from, &want); err != nil {
		return &fs.PathError{Op: "stat", Path: from, Err: err}
	}
	if err := unix.Stat(to, &have); err != nil {
		return &fs.PathError{Op: "stat", Path: to, Err: err}
	}
	if have.Uid != want.Uid {
		err := f.do("attributes", to, "", func() error { return os.Chown(to, int(want.Uid), -1) })
		if err != nil && !errors.Is(err, syscall.EPERM) {
			return err
		}
	}
	if have.Gid == want.Gid {
		return nil
	}
	return f.do("attributes", to, "", func() error { return os.Chown(to, -1, int(want.Gid)) })
}

// copyAttribute copies one extended attribute, or removes it where from has none.
func (f *FS) copyAttribute(from, to, name string) error {
	want, err := attribute(from, name)
	if err != nil {
		return err
	}
	have, err := attribute(to, name)
	if err != nil || bytes.Equal(have, want) {
		return err
	}
	return f.do("attributes", to, "", func() error {
		if want == nil {
			err = unix.Removexattr(to, name)
		} else {
			err = unix.Setxattr(to, name, want, 0)
		}
		if err != nil {
			return &fs.PathError{Op: "set " + name + " of", Path: to, Err: err}
		}
		return nil
	})
}

// attribute reads an extended attribute; nil if it is not there, or the file system has none.
func attribute(path, name string) ([]byte, error) {
	value := make([]byte, 64<<10) // XATTR_SIZE_MAX
	n, err := unix.Getxattr(path, name, value)
	if errors.Is(err, unix.ENODATA) || errors.Is(err, unix.ENOTSUP) {
		return nil, nil
	}
	if err != nil {
		return nil, &fs.PathError{Op: "get " + name + " of", Path: path, Err: err}
	}
	return value[:n], nil
}
