package fsops

import (
	"errors"
	"path/filepath"
	"syscall"
	"testing"
)

// A default access list decides who can read what is made in the folder later.
func TestCopyAttributesCopiesAccessLists(t *testing.T) {
	dir := t.TempDir()
	f := New(nil)
	from, to := filepath.Join(dir, "from"), filepath.Join(dir, "to")
	if err := errors.Join(f.Mkdir(from, 0o755), f.Mkdir(to, 0o755)); err != nil {
		t.Fatal(err)
	}
	const name = "system.posix_acl_default"
	// version 2; user::rwx, user:4711:r-x, group::r-x, mask::r-x, other::---
	list := []byte("\x02\x00\x00\x00" + "\x01\x00\x07\x00\xff\xff\xff\xff" + "\x02\x00\x05\x00\x67\x12\x00\x00" +
		"\x04\x00\x05\x00\xff\xff\xff\xff" + "\x10\x00\x05\x00\xff\xff\xff\xff" + "\x20\x00\x00\x00\xff\xff\xff\xff")
	if err := syscall.Setxattr(from, name, list, 0); errors.Is(err, syscall.ENOTSUP) {
		t.Skip("this file system has no access lists")
	} else if err != nil {
		t.Fatal(err)
	}
	if err := f.CopyAttributes(from, to); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 256)
	n, err := syscall.Getxattr(to, name, got)
	if err != nil || string(got[:n]) != string(list) {
		t.Fatalf("%x, %v", got[:n], err)
	}
	if err := syscall.Removexattr(from, name); err != nil {
		t.Fatal(err)
	}
	if err := f.CopyAttributes(from, to); err != nil {
		t.Fatal(err)
	}
	if _, err := syscall.Getxattr(to, name, got); !errors.Is(err, syscall.ENODATA) {
		t.Fatalf("a list that the other has not is left: %v", err)
	}
}
