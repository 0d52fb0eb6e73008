package fsops

import (
	"os"
)

// TempDir makes a new folder for temporary files, whose name begins so.
func (f *FS) TempDir(prefix string) (path string, err error) {
	err = f.do("mkdir", os.TempDir(), "", func() error {
		path, err = os.MkdirTemp("", prefix)
		return err
	})
	return path, err
}
