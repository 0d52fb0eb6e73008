package store_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/ubunye-io/ubunye/engine/store"
	"github.com/ubunye-io/ubunye/engine/store/fsops"
	"github.com/ubunye-io/ubunye/engine/store/storetest"
)

type place struct {
	dir  string
	wrap func(fsops.Hook) fsops.Hook
	keep int
}

func (p place) Open(hook fsops.Hook) store.Store {
	if p.wrap != nil {
		hook = p.wrap(hook)
	}
	return &store.Folder{
		FS:     fsops.New(hook),
		Root:   filepath.Join(p.dir, "batches"),
		Tmp:    filepath.Join(p.dir, "tmp"),
		Format: 1,
		Keep:   func([]byte) int { return p.keep },
	}
}

func newPlace(t *testing.T, wrap func(fsops.Hook) fsops.Hook) place {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "tmp"), 0o777); err != nil {
		t.Fatal(err)
	}
	return place{dir: dir, wrap: wrap}
}

func TestFolder(t *testing.T) {
	storetest.Run(t, func(t *testing.T) storetest.Place { return newPlace(t, nil) })
}

// noLinks is a file system without hard links.
type noLinks struct{ inner fsops.Hook }

func (h noLinks) Before(op fsops.Op) error {
	if op.Kind == "link" {
		return syscall.EPERM
	}
	if h.inner != nil {
		return h.inner.Before(op)
	}
	return nil
}

func (h noLinks) After(op fsops.Op, err error) error {
	if h.inner != nil {
		return h.inner.After(op, err)
	}
	return nil
}

func TestFolderWithoutHardLinks(t *testing.T) {
	wrap := func(h fsops.Hook) fsops.Hook { return noLinks{h} }
	storetest.Run(t, func(t *testing.T) storetest.Place { return newPlace(t, wrap) })
}

type refuse map[string]error

func (r refuse) Before(op fsops.Op) error    { return r[op.Kind] }
func (r refuse) After(fsops.Op, error) error { return nil }

func TestNoExclusiveCreate(t *testing.T) {
	p := newPlace(t, nil)
	s := p.Open(refuse{"link": syscall.EOPNOTSUPP, "rename": syscall.ENOSYS})
	_, err := s.Save(context.Background(), "a/b/c", []byte("{}"), store.Version{})
	var none *store.NoExclusiveError
	if !errors.As(err, &none) || none.FileSystem == "" || !strings.HasSuffix(none.Path, "a/b/c") {
		t.Fatalf("got %v", err)
	}
	if entries, _ := os.ReadDir(filepath.Join(p.dir, "tmp")); len(entries) != 0 {
		t.Fatal("the temporary file is left")
	}
}

// The document that a damaged generation stood for is never taken for absent, nor for the one before.
// Who has met a generation does not believe an older one: a listing may be stale, or somebody removed the newest.
func TestR13_AnOlderGenerationIsNotBelieved(t *testing.T) {
	p := newPlace(t, nil)
	s := p.Open(nil)
	v, err := s.Save(context.Background(), "d", []byte(`{"a":1}`), store.Version{})
	if err == nil {
		v, err = s.Save(context.Background(), "d", []byte(`{"a":2}`), v)
	}
	if err = errors.Join(err, os.Remove(v.Path)); err != nil {
		t.Fatal(err)
	}
	var bad *store.UnreadableError
	if doc, _, err := s.Load(context.Background(), "d"); !errors.As(err, &bad) || bad.Path != filepath.Dir(v.Path) {
		t.Fatalf("got %s, %v", doc, err)
	}
}

// A document whose folder cannot be listed is not one that never was.
func TestR10_AFolderThatCannotBeListed(t *testing.T) {
	for what, make := range map[string]func(path string) error{
		"a file":           func(path string) error { return os.WriteFile(path, nil, 0o666) },
		"a link to itself": func(path string) error { return os.Symlink(filepath.Base(path), path) },
	} {
		p := newPlace(t, nil)
		path := filepath.Join(p.dir, "batches", "d")
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), make(path)); err != nil {
			t.Fatal(err)
		}
		_, _, err := p.Open(nil).Load(context.Background(), "d")
		var bad *store.UnreadableError
		if !errors.As(err, &bad) || bad.Path != path {
			t.Errorf("%s: got %v", what, err)
		}
	}
}

func TestR10_DamagedGenerations(t *testing.T) {
	const good = `{"format":1,"id":"x","ancestors":[],"a":1}`
	for what, text := range map[string]string{
		"empty":                "",
		"cut":                  good[:20],
		"zeros":                strings.Repeat("\x00", 40),
		"array":                "[]",
		"null":                 "null",
		"no members":           "{}",
		"text":                 `"x"`,
		"trailing garbage":     good + "}",
		"two documents":        good + good,
		"byte order mark":      "\xef\xbb\xbf" + good,
		"newer format":         `{"format":2,"id":"x"}`,
		"format of other kind": `{"format":"1","id":"x"}`,
		"no id":                `{"format":1}`,
		"id of other kind":     `{"format":1,"id":7}`,
		"ancestors no list":    `{"format":1,"id":"x","ancestors":{}}`,
		"folder":               "dir",
		"no permission":        "chmod",
		"a link to itself":     "link 00000002.json",
		"a link to nothing":    "link nowhere",
		"only a damaged one":   "renamed",
	} {
		t.Run(what, func(t *testing.T) {
			p := newPlace(t, nil)
			v, err := p.Open(nil).Save(context.Background(), "d", []byte(`{"a":1}`), store.Version{})
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(p.dir, "batches", "d", "00000002.json")
			named := path
			to, isLink := strings.CutPrefix(text, "link ")
			switch {
			case isLink:
				err = os.Symlink(to, path)
			case text == "dir":
				err = os.Mkdir(path, 0o777)
			case text == "chmod":
				if os.Getuid() == 0 {
					t.Skip("root may read everything")
				}
				err = os.WriteFile(path, []byte(good), 0)
			case text == "renamed":
				named = filepath.Dir(path)
				err = os.Rename(v.Path, v.Path+".damaged")
			default:
				err = os.WriteFile(path, []byte(text), 0o666)
			}
			if err != nil {
				t.Fatal(err)
			}
			before := snapshot(t, p.dir)
			_, _, err = p.Open(nil).Load(context.Background(), "d")
			var bad *store.UnreadableError
			if !errors.As(err, &bad) || bad.Path != named || !strings.Contains(err.Error(), named) || bad.Reason == "" {
				t.Fatalf("got %v", err)
			}
			if !bytes.Equal(before, snapshot(t, p.dir)) {
				t.Fatal("reading changed something")
			}
		})
	}
}

func snapshot(t *testing.T, dir string) []byte {
	var all []byte
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			data, _ := os.ReadFile(path)
			all = append(append(append(all, path...), 0), data...)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// A process that has met a generation does not believe that there never was one.
func TestAFolderThatHadOneIsNeverAbsent(t *testing.T) {
	p := newPlace(t, nil)
	s := p.Open(nil)
	v, err := s.Save(context.Background(), "d", []byte("{}"), store.Version{})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(v.Path); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Load(context.Background(), "d"); !errors.As(err, new(*store.UnreadableError)) {
		t.Fatalf("got %v", err)
	}
}

func TestSweepKeepsWhatItIsToldAndNeverFewerThanTwo(t *testing.T) {
	for keep, want := range map[int][]string{0: {"00000019.json", "00000020.json"}, 3: {"00000018.json", "00000019.json", "00000020.json"}} {
		p := newPlace(t, nil)
		p.keep = keep
		s := p.Open(nil)
		var v store.Version
		var err error
		for range 20 {
			if v, err = s.Save(context.Background(), "d", []byte("{}"), v); err != nil {
				t.Fatal(err)
			}
		}
		var names []string
		entries, _ := os.ReadDir(filepath.Dir(v.Path))
		for _, e := range entries {
			names = append(names, e.Name())
		}
		if !slices.Equal(names, want) {
			t.Errorf("keep %d: %v", keep, names)
		}
		if entries, _ := os.ReadDir(filepath.Join(p.dir, "tmp")); len(entries) != 0 {
			t.Errorf("%d temporary files are left", len(entries))
		}
	}
}

// The verdict on a save relies on the sweep going from old to new: it stops at the first generation
// that it cannot remove.
func TestSweepStopsWhereItCannotRemove(t *testing.T) {
	p := newPlace(t, nil)
	var v store.Version
	var err error
	p.keep = 10
	for range 6 {
		if v, err = p.Open(nil).Save(context.Background(), "d", []byte("{}"), v); err != nil {
			t.Fatal(err)
		}
	}
	p.keep = 2
	hook := refuseRemove("00000003.json")
	if v, err = p.Open(hook).Save(context.Background(), "d", []byte("{}"), v); err != nil {
		t.Fatal(err)
	}
	for n, want := range map[string]bool{"00000002.json": false, "00000003.json": true, "00000004.json": true, "00000005.json": true} {
		if _, err := os.Stat(filepath.Join(filepath.Dir(v.Path), n)); (err == nil) != want {
			t.Errorf("%s there: %v, want %v", n, err == nil, want)
		}
	}
}

type refuseRemove string

func (r refuseRemove) Before(op fsops.Op) error {
	if op.Kind == "remove" && filepath.Base(op.Path) == string(r) {
		return syscall.EACCES
	}
	return nil
}
func (r refuseRemove) After(fsops.Op, error) error { return nil }

// A stranger's file under a generation's name, put there while a saver slept, is not its base.
func TestVerdictComparesTheIDOfItsBase(t *testing.T) {
	p := newPlace(t, nil)
	s := p.Open(nil)
	var v, slept store.Version
	var err error
	for n := range 10 {
		if v, err = s.Save(context.Background(), "d", []byte("{}"), v); err != nil {
			t.Fatal(err)
		}
		if n == 4 {
			slept = v
		}
	}
	other := `{"format":1,"id":"other","ancestors":[]}`
	if err := os.WriteFile(slept.Path, []byte(other), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Open(nil).Save(context.Background(), "d", []byte("{}"), slept); !errors.Is(err, store.ErrConflict) {
		t.Fatalf("got %v", err)
	}
}

func TestAgeIsByTheStoresClock(t *testing.T) {
	dir := t.TempDir()
	own, other := filepath.Join(dir, "own"), filepath.Join(dir, "other")
	f := fsops.New(nil)
	if err := f.Beat(other); err != nil {
		t.Fatal(err)
	}
	touched, err := store.ModTime(other)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(other, touched.Add(-90e9), touched.Add(-90e9)); err != nil {
		t.Fatal(err)
	}
	age, err := store.Age(f, own, other)
	if err != nil || age < 90e9 || age > 150e9 {
		t.Fatalf("%v, %v", age, err)
	}
	if _, err := store.Age(f, own, filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("got %v", err)
	}
}

// What a save writes is durable when it returns: the contents before they get their name, the name,
// and for a first save every folder above it, which another process may have made and not synced.
func TestASaveIsDurable(t *testing.T) {
	p := newPlace(t, nil)
	trace := &fsops.Trace{}
	s := p.Open(trace)
	v, err := s.Save(context.Background(), "a/b", []byte("{}"), store.Version{})
	if err != nil {
		t.Fatal(err)
	}
	rel := func(path string) string { return strings.TrimPrefix(path, p.dir) }
	var first []string
	for _, op := range trace.Ops() {
		switch op.Kind {
		case "syncdir", "link", "mkdir":
			first = append(first, op.Kind+" "+rel(op.Path+op.To))
		case "sync":
			first = append(first, "sync")
		}
		if op.Kind == "link" {
			first[len(first)-1] = "link " + rel(op.To)
		}
	}
	want := []string{
		"mkdir /batches", "mkdir /batches/a", "mkdir /batches/a/b",
		"syncdir /batches/a", "syncdir /batches", "syncdir ",
		"sync", "link /batches/a/b/00000001.json", "syncdir /batches/a/b",
	}
	if !slices.Equal(first, want) {
		t.Fatalf("got  %q\nwant %q", first, want)
	}
	_, err = p.Open(&fsops.Fault{Kind: fsops.NoRoom, At: 5}).Save(context.Background(), "a/b", []byte("{}"), v)
	if !errors.Is(err, store.ErrUnknown) || !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("the folder could not be synced: %v", err)
	}
}

func mustLoad(t *testing.T, s store.Store, name string) store.Version {
	t.Helper()
	_, v, err := s.Load(context.Background(), name)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestR64_PowerCuts(t *testing.T) {
	storetest.PowerCuts(t, func(t *testing.T) (storetest.Place, string) {
		dir, err := os.MkdirTemp("/dev/shm", "ubunye-store-") // many syncs, none of which counts
		if err != nil {
			dir = t.TempDir()
		}
		t.Cleanup(func() { os.RemoveAll(dir) })
		if err := os.Mkdir(filepath.Join(dir, "tmp"), 0o777); err != nil {
			t.Fatal(err)
		}
		return place{dir: dir}, dir
	})
}

// A damaged newest generation gives way to one made of the last that can be read; it is kept beside.
func TestSetAside(t *testing.T) {
	p := newPlace(t, nil)
	s := p.Open(nil)
	ctx := context.Background()
	same := func(doc []byte, _ store.Version) ([]byte, error) { return doc, nil }
	good := func([]byte, store.Version) error { return nil }
	if _, _, err := s.SetAside(ctx, "d", good, same); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("a document that never was: %v", err)
	}
	v, err := s.Save(ctx, "d", []byte(`{"a":1}`), store.Version{})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.SetAside(ctx, "d", good, same); !errors.Is(err, store.ErrReadable) {
		t.Fatalf("a good document: %v", err)
	}
	last, err := s.Save(ctx, "d", []byte(`{"a":2}`), v)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(last.Path, []byte("{"), 0o666); err != nil {
		t.Fatal(err)
	}
	damaged, before, err := s.SetAside(ctx, "d", good, func(doc []byte, before store.Version) ([]byte, error) {
		if string(doc) != `{"a":1}` || before.ID != v.ID {
			t.Errorf("%s, %+v", doc, before)
		}
		return []byte(`{"a":3}`), nil
	})
	if err != nil || damaged != last.Path+".damaged" || before.ID != v.ID {
		t.Fatalf("%s, %+v, %v", damaged, before, err)
	}
	if doc, now, err := s.Load(ctx, "d"); err != nil || string(doc) != `{"a":3}` || now.Generation != 3 || !now.Includes(v.ID) || now.Includes(last.ID) {
		t.Fatalf("%s, %+v, %v", doc, now, err)
	}
	if _, err := s.Save(ctx, "d", []byte(`{"a":4}`), last); !errors.Is(err, store.ErrConflict) {
		t.Fatalf("a save on the damaged one: %v", err)
	}
	// One that the store can read, and its reader cannot use.
	last, _ = s.Save(ctx, "d", []byte(`{"a":"x"}`), mustLoad(t, s, "d"))
	odd := func(doc []byte, _ store.Version) error {
		if string(doc) == `{"a":"x"}` {
			return errors.New("it has another shape")
		}
		return nil
	}
	if damaged, before, err = s.SetAside(ctx, "d", odd, same); err != nil || damaged != last.Path+".damaged" || before.Generation != 3 {
		t.Fatalf("%s, %+v, %v", damaged, before, err)
	}
	if doc, now, err := s.Load(ctx, "d"); err != nil || string(doc) != `{"a":3}` || now.Generation != 5 || now.Includes(last.ID) {
		t.Fatalf("%s, %+v, %v", doc, now, err)
	}
	p = newPlace(t, nil)
	if v, err = p.Open(nil).Save(ctx, "d", []byte(`{}`), store.Version{}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(v.Path, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, _, err := p.Open(nil).SetAside(ctx, "d", good, same); !errors.As(err, new(*store.UnreadableError)) {
		t.Fatalf("nothing that can be read: %v", err)
	}
}
