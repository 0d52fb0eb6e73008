package fsops

import (
	"errors"
	"io/fs"
	"os"
)

// Append adds to the end of a file in one write, and syncs it; a file that is not there is made. One change: a
// process that dies in it may leave a part of what was to be added.
func (f *FS) Append(path string, data []byte, perm fs.FileMode) error {
	return f.do("write", path, "", func() error {
		file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, perm)
		if err != nil {
			return err
		}
		_, err = file.Write(data)
		if err == nil {
			err = file.Sync()
		}
		return errors.Join(err, file.Close())
	})
}
