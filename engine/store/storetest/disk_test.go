package storetest

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/ubunye-io/ubunye/engine/store/fsops"
)

// What a power cut leaves that keeps nothing it need not keep, or everything, in the order of the changes.
func TestDisk(t *testing.T) {
	type step func(t *testing.T, f *fsops.FS, dir string) error
	write := func(name, text string) step {
		return func(_ *testing.T, f *fsops.FS, dir string) error {
			return f.WriteNew(filepath.Join(dir, name), []byte(text), 0o666)
		}
	}
	unsynced := func(name, text string) step {
		return func(_ *testing.T, f *fsops.FS, dir string) error {
			file, err := f.Create(filepath.Join(dir, name), 0o666)
			if err == nil {
				_, err = file.Write([]byte(text))
				err = errors.Join(err, file.Close())
			}
			return err
		}
	}
	mkdir := func(name string) step {
		return func(_ *testing.T, f *fsops.FS, dir string) error { return f.Mkdir(filepath.Join(dir, name), 0o777) }
	}
	sync := func(name string) step {
		return func(_ *testing.T, f *fsops.FS, dir string) error { return f.SyncDir(filepath.Join(dir, name)) }
	}
	rename := func(from, to string) step {
		return func(_ *testing.T, f *fsops.FS, dir string) error {
			return f.Rename(filepath.Join(dir, from), filepath.Join(dir, to))
		}
	}
	exchange := func(a, b string) step {
		return func(t *testing.T, f *fsops.FS, dir string) error {
			err := f.Exchange(filepath.Join(dir, a), filepath.Join(dir, b))
			if errors.Is(err, errors.ErrUnsupported) {
				t.Skip(err)
			}
			return err
		}
	}
	remove := func(name string) step {
		return func(_ *testing.T, f *fsops.FS, dir string) error { return f.Remove(filepath.Join(dir, name)) }
	}
	link := func(from, to string) step {
		return func(_ *testing.T, f *fsops.FS, dir string) error {
			return f.Link(filepath.Join(dir, from), filepath.Join(dir, to))
		}
	}
	syncfs := func(_ *testing.T, f *fsops.FS, dir string) error { return f.SyncFS(dir) }
	for name, c := range map[string]struct {
		steps     []step
		none, all map[string]string // what is left if nothing is kept, and if everything is
	}{
		"a file whose folder was not synced": {
			[]step{write("f", "text")}, map[string]string{}, map[string]string{"f": "text"}},
		"one whose folder was": {
			[]step{write("f", "text"), sync(".")}, map[string]string{"f": "text"}, map[string]string{"f": "text"}},
		"a name without contents": {
			[]step{unsynced("f", "text"), sync(".")}, map[string]string{"f": ""}, map[string]string{"f": "text"}},
		"a whole file system": {
			[]step{mkdir("d"), unsynced("d/f", "text"), syncfs}, map[string]string{"d/f": "text"}, map[string]string{"d/f": "text"}},
		"a folder without a name": {
			[]step{mkdir("d"), write("d/f", "text"), sync("d")}, map[string]string{}, map[string]string{"d/f": "text"}},
		"a rename of which the source was synced": {
			[]step{mkdir("d"), write("f", "text"), sync("."), rename("f", "d/f"), sync(".")},
			map[string]string{"f": "text"}, map[string]string{"d/f": "text"}},
		"a rename of which the destination was synced": {
			[]step{mkdir("d"), write("f", "text"), sync("."), rename("f", "d/f"), sync("d")},
			map[string]string{"d/f": "text"}, map[string]string{"d/f": "text"}},
		"half a synced exchange": {
			[]step{mkdir("a"), mkdir("b"), mkdir("a/x"), mkdir("b/x"), write("a/x/f", "a"), write("b/x/f", "b"), syncfs, exchange("a/x", "b/x"), sync("a")},
			map[string]string{"a/x/f": "a", "b/x/f": "b"}, map[string]string{"a/x/f": "b", "b/x/f": "a"}},
		"a synced exchange": {
			[]step{mkdir("a"), mkdir("b"), mkdir("a/x"), mkdir("b/x"), write("a/x/f", "a"), write("b/x/f", "b"), syncfs, exchange("a/x", "b/x"), sync("a"), sync("b")},
			map[string]string{"a/x/f": "b", "b/x/f": "a"}, map[string]string{"a/x/f": "b", "b/x/f": "a"}},
		"a file removed": {
			[]step{write("f", "text"), sync("."), remove("f")}, map[string]string{"f": "text"}, map[string]string{}},
		"a second name": {
			[]step{write("f", "text"), sync("."), mkdir("d"), link("f", "d/g"), sync("d"), remove("f"), sync(".")},
			map[string]string{"d/g": "text"}, map[string]string{"d/g": "text"}},
	} {
		for _, all := range []bool{false, true} {
			want := c.none
			if all {
				want = c.all
			}
			t.Run(name, func(t *testing.T) {
				dir := t.TempDir()
				disk, err := NewDisk(dir)
				if err != nil {
					t.Fatal(err)
				}
				f := fsops.New(disk)
				for _, s := range c.steps {
					if err := s(t, f, dir); err != nil {
						t.Fatal(err)
					}
				}
				if err := disk.Cut(func() bool { return all }); err != nil {
					t.Fatal(err)
				}
				compare(t, disk, dir, want)
			})
		}
	}
}

// A change that rests on one which is lost is lost with it.
func TestDiskLosesWhatRestsOnWhatIsLost(t *testing.T) {
	dir := t.TempDir()
	disk, err := NewDisk(dir)
	if err != nil {
		t.Fatal(err)
	}
	f := fsops.New(disk)
	at := func(name string) string { return filepath.Join(dir, name) }
	err = errors.Join(f.WriteNew(at("f"), []byte("text"), 0o666), f.SyncDir(dir),
		f.Mkdir(at("d"), 0o777), f.Rename(at("f"), at("d/f")), f.Rename(at("d"), at("e")))
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	if err := disk.Cut(func() bool { asked++; return asked > 1 }); err != nil { // the mkdir goes
		t.Fatal(err)
	}
	compare(t, disk, dir, map[string]string{"f": "text"})
}

// compare looks at what is really there, and at what the disk says is there.
func compare(t *testing.T, disk *Disk, dir string, want map[string]string) {
	t.Helper()
	got := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			data, readErr := os.ReadFile(path)
			rel, _ := filepath.Rel(dir, path)
			got[rel], err = string(data), readErr
		}
		return err
	})
	if err != nil || len(got) != len(want) {
		t.Fatalf("left are %q, want %q (%v)", got, want, err)
	}
	for name, text := range want {
		if is, there := got[name]; !there || is != text {
			t.Fatalf("left are %q, want %q", got, want)
		}
	}
	if files := disk.Files(dir); len(files) != len(want) {
		t.Fatalf("the disk says that %q are left, want %q", files, want)
	}
}
