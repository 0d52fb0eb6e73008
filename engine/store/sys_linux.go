package store

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// fileSystemType names the type of the file system that holds path: its name where it is a common
// one without hard links, its magic number otherwise.
func fileSystemType(path string) string {
	var s unix.Statfs_t
	if err := unix.Statfs(path, &s); err != nil {
		return "a file system of unknown type"
	}
	switch int64(s.Type) {
	case unix.MSDOS_SUPER_MAGIC:
		return "FAT"
	case unix.EXFAT_SUPER_MAGIC:
		return "exFAT"
	case unix.FUSE_SUPER_MAGIC:
		return "FUSE"
	case unix.NFS_SUPER_MAGIC:
		return "NFS"
	case unix.SMB2_SUPER_MAGIC, unix.CIFS_SUPER_MAGIC, unix.SMB_SUPER_MAGIC:
		return "SMB"
	case unix.V9FS_MAGIC:
		return "9p"
	}
	return fmt.Sprintf("a file system of type 0x%x", uint64(s.Type))
}
