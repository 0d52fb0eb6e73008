//go:build !unix

package writer

import "os"

// private checks that path is there. Who may change it is left to the system's own rules for the
// user's folders.
func private(path string) error {
	_, err := os.Lstat(path)
	return err
}
