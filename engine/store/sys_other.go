//go:build !linux

package store

func fileSystemType(string) string { return "a file system of unknown type" }
