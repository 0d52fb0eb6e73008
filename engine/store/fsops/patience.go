package fsops

import "time"

// A rename may be refused for a moment only: on Windows while anything has the file open (a virus scanner, a reader of
// ours), on a network disk while its server thinks so. It is tried again with growing pauses. Nothing else is ever
// done in its place: to write over the file would be the very damage that renaming avoids.
const (
	firstPause = 5 * time.Millisecond
	// What one FS waits in all for renames that never succeed: where a permission is really missing, a list of a
	// thousand files must not wait for each of them.
	patience = time.Second
)

// patiently makes a change, again while it is refused for a moment. Every try is an operation of its own.
func (f *FS) patiently(kind, path, to string, change func() error) error {
	var waited time.Duration
	for pause := firstPause; ; pause *= 2 {
		err := f.do(kind, path, to, change)
		if !refusedForNow(err) {
			f.waited.Add(-int64(waited)) // it was worth it
			return err
		}
		if f.waited.Add(int64(pause)) > int64(patience) {
			f.waited.Add(-int64(pause))
			return err
		}
		waited += pause
		if f.sleep == nil {
			time.Sleep(pause)
		} else {
			f.sleep(pause)
		}
	}
}
