//go:build !wasip1

package sdk

// Serve makes this program's module answer for writers. A native program serves nobody: there Serve
// does nothing, so that a plugin's main package can be vetted and its tests run.
func Serve(writers ...Writer) {}
