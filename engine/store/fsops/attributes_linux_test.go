package fsops

import (
	"errors"
	"io/fs"
	"os"
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

func TestCopyAttributes(t *testing.T) {
	dir := t.TempDir()
	f := New(nil)
	from, to := filepath.Join(dir, "from"), filepath.Join(dir, "to")
	if err := errors.Join(f.Mkdir(from, 0o755), f.Mkdir(to, 0o700)); err != nil {
		t.Fatal(err)
	}
	groups, err := os.Getgroups()
	if err != nil {
		t.Fatal(err)
	}
	gid := os.Getgid()
	for _, g := range groups {
		if g != gid {
			gid = g // one that the new folder would not have had
		}
	}
	if os.Getuid() == 0 {
		gid = 12345
		if err := os.Chown(from, 54321, gid); err != nil {
			t.Fatal(err)
		}
	} else if err := os.Chown(from, -1, gid); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(from, 0o751|fs.ModeSetgid); err != nil {
		t.Fatal(err)
	}
	if err := f.CopyAttributes(from, to); err != nil {
		t.Fatal(err)
	}
	want, have := must(os.Stat(from)), must(os.Stat(to))
	w, h := want.Sys().(*syscall.Stat_t), have.Sys().(*syscall.Stat_t)
	if have.Mode() != want.Mode() || w.Gid != h.Gid || w.Uid != h.Uid || int(h.Gid) != gid {
		t.Fatalf("mode %v gid %d uid %d, want %v %d %d", have.Mode(), h.Gid, h.Uid, want.Mode(), w.Gid, w.Uid)
	}
	trace := &Trace{}
	if err := New(trace).CopyAttributes(from, to); err != nil || len(trace.Ops()) > 0 {
		t.Fatalf("copied what was equal: %v, %v", trace.Ops(), err)
	}
}
