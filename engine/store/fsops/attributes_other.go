//go:build !linux

package fsops

import (
	"io/fs"
	"os"
)

// CopyAttributes gives the folder to the permission bits of the folder from.
func (f *FS) CopyAttributes(from, to string) error {
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	const bits = fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky
	return f.do("attributes", to, "", func() error { return os.Chmod(to, info.Mode()&bits) })
}
