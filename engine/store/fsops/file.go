package fsops

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// File is a new file being written.
type File struct {
	fs   *FS
	file *os.File
}

// Create makes a new file for writing; it fails with fs.ErrExist if the name is taken.
func (f *FS) Create(path string, perm fs.FileMode) (*File, error) {
	var file *os.File
	err := f.do("create", path, "", func() (err error) {
		file, err = os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
		return err
	})
	if err != nil {
		if file != nil { // an answer that was lost: the file is there, and not ours to keep open
			file.Close()
		}
		return nil, err
	}
	return &File{fs: f, file: file}, nil
}

// Name returns the path that the file was created with.
func (f *File) Name() string { return f.file.Name() }

// Write appends to the file.
func (f *File) Write(p []byte) (n int, err error) {
	err = f.fs.do("write", f.file.Name(), "", func() error {
		n, err = f.file.Write(p)
		return err
	})
	return n, err
}

// Sync makes what was written durable.
func (f *File) Sync() error {
	return f.fs.do("sync", f.file.Name(), "", f.file.Sync)
}

// Chmod sets the permission bits, whatever the process's umask.
func (f *File) Chmod(mode fs.FileMode) error {
	return f.fs.do("attributes", f.file.Name(), "", func() error { return f.file.Chmod(mode) })
}

// Close ends writing. It changes nothing that a crash could undo, and is not counted.
func (f *File) Close() error { return f.file.Close() }

// WriteNew makes a new file with these contents: create, write, fsync. It fails with fs.ErrExist if
// the name is taken. On another failure a part of the file may be left. The folder is not synced.
func (f *FS) WriteNew(path string, data []byte, perm fs.FileMode) error {
	file, err := f.Create(path, perm)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	if err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}

// Replace puts a file in place so that a reader sees the old contents or the new ones and a power cut
// keeps one of them: temporary file, fsync, rename, fsync of the folder. tmp is a free name on the
// same file system; it is removed if anything fails before the rename.
func (f *FS) Replace(tmp, path string, data []byte, perm fs.FileMode) error {
	if err := f.WriteNew(tmp, data, perm); err != nil {
		if !errors.Is(err, fs.ErrExist) {
			f.Remove(tmp)
		}
		return err
	}
	if err := f.Rename(tmp, path); err != nil {
		f.Remove(tmp)
		return err
	}
	return f.SyncDir(filepath.Dir(path))
}
