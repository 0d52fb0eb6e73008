//go:build unix

package ledger

import (
	"os"
	"syscall"
)

func ownerOf(info os.FileInfo) (uid, gid uint32) {
	st := info.Sys().(*syscall.Stat_t)
	return st.Uid, st.Gid
}

func makePipe(path string) error { return syscall.Mkfifo(path, 0o666) }
