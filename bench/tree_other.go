//go:build !linux

package main

// watch cannot look into other processes here: only what the system tells of the first one counts.
func watch(int) func() int64 { return func() int64 { return 0 } }
