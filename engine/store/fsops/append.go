package fsops

import (
	"errors"
	"io/fs"
	"os"
)

// Append adds to the end of a file in one write, and syncs it; a file that is not there is made. Two changes: a
// process that dies in the first may leave a part of what was to be added.
func (f *FS) Append(path string, data []byte, perm fs.FileMode) error {
	err := f.do("write", path, "", func() error {
		file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, perm)
		if err != nil {
			return err
		}
		_, err = file.Write(data)
		return errors.Join(err, file.Close())
	})
	if err != nil {
		return err
	}
	return f.SyncFile(path)
}
