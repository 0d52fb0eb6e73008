//go:build unix

package writer

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// private says why somebody else than this user (or root) could change what is at path: it, or a folder
// above it, is theirs or open to them.
func private(path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if owner(info) != os.Geteuid() {
		return fmt.Errorf("%s belongs to user %d, not to this one (%d)", path, owner(info), os.Geteuid())
	}
	if info.Mode()&os.ModeSymlink != 0 || info.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("%s can be changed by others (%s)", path, info.Mode())
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	for dir := filepath.Dir(real); ; dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		if err != nil {
			return err
		}
		if o := owner(info); o != os.Geteuid() && o != 0 {
			return fmt.Errorf("%s lies in %s, which belongs to user %d", path, dir, o)
		}
		// In a sticky folder, as /tmp, others cannot rename or remove what is this user's.
		if info.Mode().Perm()&0o022 != 0 && info.Mode()&os.ModeSticky == 0 {
			return fmt.Errorf("%s lies in %s, which others can change (%s)", path, dir, info.Mode())
		}
		if dir == filepath.Dir(dir) {
			return nil
		}
	}
}

func owner(info os.FileInfo) int {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(stat.Uid)
	}
	return -1
}
