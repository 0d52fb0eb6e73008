package fsops

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestRenameNoReplaceRefusesATakenName(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	f := New(nil)
	for path, text := range map[string]string{a: "A", b: "B"} {
		if err := f.WriteNew(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.RenameNoReplace(a, b); !errors.Is(err, fs.ErrExist) {
		t.Fatalf("got %v, want fs.ErrExist", err)
	}
	if read(t, a) != "A" || read(t, b) != "B" {
		t.Fatal("a refused rename changed something")
	}
	if err := f.RenameNoReplace(a, filepath.Join(dir, "c")); err != nil {
		t.Fatal(err)
	}
	if err := f.RenameNoReplace(a, filepath.Join(dir, "d")); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("got %v, want fs.ErrNotExist", err)
	}
}

// C107: a Replace that fails at any of its operations, before or after it took effect, leaves the old
// contents or the new ones under the name, never a part, and no temporary file that a next try
// would stumble over. A rename that fails for whatever reason is not made up for by writing over the file.
func TestC107_ReplaceFailsWhole(t *testing.T) {
	trace := &Trace{}
	dir := t.TempDir()
	path, tmp := filepath.Join(dir, "doc"), filepath.Join(dir, "tmp")
	if err := New(trace).Replace(tmp, path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	n := int64(len(trace.Ops()))
	if n != 5 {
		t.Fatalf("replace took %d changes, want create, write, sync, rename, syncdir", n)
	}
	check := func(what string, f *FS) error {
		t.Helper()
		os.WriteFile(path, []byte("old"), 0o600)
		os.Remove(tmp)
		f.sleep = func(time.Duration) {}
		err := f.Replace(tmp, path, []byte("new"), 0o600)
		if err == nil {
			t.Fatalf("%s: no error", what)
		}
		if got := read(t, path); got != "old" && got != "new" {
			t.Fatalf("%s: contents %q", what, got)
		}
		if _, err := os.Lstat(tmp); !errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("%s: the temporary file is left", what)
		}
		return err
	}
	for _, kind := range []FaultKind{NoRoom, Lost} {
		for k := int64(1); k <= n; k++ {
			check(fmt.Sprintf("%s at %d", kind, k), New(&Fault{Kind: kind, At: k}))
		}
	}
	for _, refused := range []error{syscall.EXDEV, syscall.EROFS, syscall.EPERM, syscall.EACCES, syscall.EBUSY} {
		f := New(&refusals{err: refused, n: 1 << 30})
		if err := check(refused.Error(), f); !errors.Is(err, refused) || read(t, path) != "old" {
			t.Fatalf("%v: got %v and contents %q", refused, err, read(t, path))
		}
	}
}

// refusals refuses the first renames and exchanges.
type refusals struct {
	err   error
	n     int
	tries int
}

func (r *refusals) Before(op Op) error {
	if op.Kind != "rename" && op.Kind != "exchange" {
		return nil
	}
	if r.tries++; r.tries <= r.n {
		return r.err
	}
	return nil
}

func (r *refusals) After(Op, error) error { return nil }

// C066: a rename that is refused for a moment, as while a virus scanner has the file open, is made a little later; one
// that is always refused fails after a second in all, and the old file is as it was.
func TestC066_ARenameThatIsRefusedForAMoment(t *testing.T) {
	for _, c := range []struct {
		name string
		err  error
		n    int // refusals
		made bool
	}{
		{"once", syscall.EACCES, 1, true}, {"five times", syscall.EPERM, 5, true}, {"for ever", syscall.EACCES, 1 << 30, false}, {"for another reason", syscall.EXDEV, 1, false},
	} {
		for kind, change := range map[string]func(f *FS, a, b string) error{
			"rename": (*FS).Rename, "without replacing": (*FS).RenameNoReplace, "exclusively": (*FS).RenameExclusive, "exchange": (*FS).Exchange,
		} {
			t.Run(c.name+", "+kind, func(t *testing.T) {
				dir := t.TempDir()
				a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
				os.WriteFile(a, []byte("new"), 0o600)
				if kind == "rename" || kind == "exchange" {
					os.WriteFile(b, []byte("old"), 0o600)
				}
				f := New(&refusals{err: c.err, n: c.n})
				var slept time.Duration
				f.sleep = func(d time.Duration) { slept += d }
				err := change(f, a, b)
				if errors.Is(err, errors.ErrUnsupported) {
					t.Skip(err)
				}
				if made := err == nil; made != c.made || !made && !errors.Is(err, c.err) {
					t.Fatalf("got %v", err)
				}
				want := "new"
				if c.made {
					a, b = b, a
				}
				if got := read(t, a); got != want {
					t.Fatalf("contents %q, want %q", got, want)
				}
				if kind == "rename" && !c.made && read(t, b) != "old" {
					t.Fatalf("the old file says %q", read(t, b))
				}
				if short := c.n < 5; slept > time.Second || (slept > 100*time.Millisecond) == short {
					t.Fatalf("it waited %s", slept)
				}
				for range 100 { // what is always refused uses the patience up: a long list does not wait for each name
					if err := change(f, a, b); !c.made && c.n > 5 && !errors.Is(err, c.err) {
						t.Fatalf("the next one: %v", err)
					}
				}
				if slept > time.Second {
					t.Fatalf("it waited %s in all", slept)
				}
			})
		}
	}
}

func TestNoRoomChangesNothing(t *testing.T) {
	dir := t.TempDir()
	f := New(&Fault{Kind: NoRoom, At: 1})
	if err := f.Mkdir(filepath.Join(dir, "x"), 0o777); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("got %v, want ENOSPC", err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 0 {
		t.Fatal("something was made")
	}
}

func TestAFaultAtAPathStrikesOnce(t *testing.T) {
	dir := t.TempDir()
	f := New(&Fault{Kind: NoRoom, Path: "/b"})
	if err := f.Mkdir(filepath.Join(dir, "a"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := f.Mkdir(filepath.Join(dir, "b"), 0o777); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("got %v, want ENOSPC", err)
	}
	if err := f.Mkdir(filepath.Join(dir, "b"), 0o777); err != nil {
		t.Fatalf("the second time: %v", err)
	}
}

func TestRemoveAllDoesNotFollowLinks(t *testing.T) {
	dir := t.TempDir()
	outside := filepath.Join(dir, "outside")
	inside := filepath.Join(dir, "inside")
	f := New(nil)
	for _, d := range []string{outside, inside, filepath.Join(inside, "deep")} {
		if err := f.Mkdir(d, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	os.WriteFile(filepath.Join(outside, "kept"), nil, 0o600)
	os.Symlink(outside, filepath.Join(inside, "deep", "link"))
	if err := f.RemoveAll(inside); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(outside, "kept")); err != nil {
		t.Fatal("followed a link")
	}
	if _, err := os.Lstat(inside); !errors.Is(err, fs.ErrNotExist) {
		t.Fatal("folder still there")
	}
}

func TestParseFault(t *testing.T) {
	f, err := ParseFault("kill:37")
	if err != nil || f.Kind != Kill || f.At != 37 {
		t.Fatalf("got %+v, %v", f, err)
	}
	f, err = ParseFault("stop:~/staging/")
	if err != nil || f.Kind != Stop || f.At != 0 || f.Path != "/staging/" {
		t.Fatalf("got %+v, %v", f, err)
	}
	for _, bad := range []string{"", "kill", "kill:~", "kill:0", "kill:x", "burn:1"} {
		if _, err := ParseFault(bad); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}

func TestExchangeSwapsFolders(t *testing.T) {
	dir := t.TempDir()
	f := New(nil)
	for _, name := range []string{"a", "b"} {
		if err := errors.Join(f.Mkdir(filepath.Join(dir, name), 0o700), f.WriteNew(filepath.Join(dir, name, "who"), []byte(name), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	if err := f.Exchange(a, b); errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	if read(t, filepath.Join(a, "who")) != "b" || read(t, filepath.Join(b, "who")) != "a" {
		t.Fatal("not swapped")
	}
	if err := f.Exchange(a, filepath.Join(dir, "c")); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("with a name that is not there: %v", err)
	}
	if err := f.Exchange(filepath.Join(a, "who"), a); !errors.Is(err, errors.ErrUnsupported) {
		t.Fatalf("a folder with what lies in it: %v", err)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestAppendAddsToTheEnd(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	trace := &Trace{}
	f := New(trace)
	for _, text := range []string{"one\n", "two\n"} {
		if err := f.Append(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got := read(t, path); got != "one\ntwo\n" {
		t.Fatalf("it holds %q", got)
	}
	if ops := trace.Ops(); len(ops) != 4 || ops[2].Kind != "write" || ops[3].Kind != "sync" {
		t.Fatalf("the changes were %v", ops)
	}
	if err := New(&Fault{Kind: NoRoom, At: 1}).Append(path, []byte("three"), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("got %v, want ENOSPC", err)
	}
	if got := read(t, path); got != "one\ntwo\n" {
		t.Fatalf("it holds %q", got)
	}
}
