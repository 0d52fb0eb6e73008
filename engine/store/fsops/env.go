//go:build !fault

package fsops

// FromEnv returns an FS that makes changes plainly. Programs built with the tag "fault" have another,
// which reads UBUNYE_FAULT.
func FromEnv() (*FS, error) { return New(nil), nil }
