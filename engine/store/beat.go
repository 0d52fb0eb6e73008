package store

import (
	"os"
	"time"

	"github.com/ubunye-io/ubunye/engine/store/fsops"
)

// ModTime returns when a file was last touched, by the clock of the disk it lies on. It looks through
// an open file, so that a network disk's client asks the server.
func ModTime(path string) (time.Time, error) {
	file, err := os.Open(path)
	if err != nil {
		return time.Time{}, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return time.Time{}, err
	}
	return info.ModTime(), nil
}

// Age returns how long ago a file was touched by the store's own clock: the time that a file touched
// just now beside it gets. No two machines' clocks are compared. own is that file; it is made if need
// be. Two changes.
func Age(f *fsops.FS, own, path string) (time.Duration, error) {
	if err := f.Beat(own); err != nil {
		return 0, err
	}
	now, err := ModTime(own)
	if err != nil {
		return 0, err
	}
	then, err := ModTime(path)
	if err != nil {
		return 0, err
	}
	return now.Sub(then), nil
}
