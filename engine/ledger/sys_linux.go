package ledger

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// sameDisk tells whether two paths lie on one file system; true if that cannot be told.
func sameDisk(a, b string) bool {
	ia, errA := os.Stat(a)
	ib, errB := os.Stat(b)
	if errA != nil || errB != nil {
		return true
	}
	sa, okA := ia.Sys().(*syscall.Stat_t)
	sb, okB := ib.Sys().(*syscall.Stat_t)
	return !okA || !okB || sa.Dev == sb.Dev
}

// sameInheritance tells whether a file made in folder a gets the group, the default ACL and the
// security label that it would get in folder b: a rename keeps what it had.
func sameInheritance(a, b string) bool {
	ia, errA := os.Stat(a)
	ib, errB := os.Stat(b)
	if errA != nil || errB != nil {
		return false
	}
	sa, okA := ia.Sys().(*syscall.Stat_t)
	sb, okB := ib.Sys().(*syscall.Stat_t)
	if !okA || !okB || sa.Gid != sb.Gid || ia.Mode()&fs.ModeSetgid != ib.Mode()&fs.ModeSetgid {
		return false
	}
	for _, name := range []string{"system.posix_acl_default", "security.selinux"} {
		va, errA := attribute(a, name)
		vb, errB := attribute(b, name)
		if errA != nil || errB != nil || !bytes.Equal(va, vb) {
			return false
		}
	}
	return true
}

// attribute reads an extended attribute; one that is not there, or cannot be, is empty.
func attribute(path, name string) ([]byte, error) {
	value := make([]byte, 64<<10) // XATTR_SIZE_MAX
	n, err := unix.Getxattr(path, name, value)
	if errors.Is(err, unix.ENODATA) || errors.Is(err, unix.ENOTSUP) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return value[:n], nil
}

// isMountPoint tells whether a folder is where a file system, or a part of one, is mounted.
func isMountPoint(path string) bool {
	var st unix.Statx_t
	if err := unix.Statx(unix.AT_FDCWD, path, unix.AT_NO_AUTOMOUNT, unix.STATX_TYPE, &st); err != nil {
		return false
	}
	if st.Attributes_mask&unix.STATX_ATTR_MOUNT_ROOT != 0 {
		return st.Attributes&unix.STATX_ATTR_MOUNT_ROOT != 0
	}
	return !sameDisk(path, filepath.Dir(path)) // kernels before 5.8; a part of the same disk is found out when it is renamed
}
