package engine

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/ubunye-io/ubunye/engine/compute"
	"github.com/ubunye-io/ubunye/engine/config"
)

func keysOf(from, to int) (keys []string) {
	for n := from; n < to; n++ {
		keys = append(keys, readFile{Name: fmt.Sprintf("landing/%d.csv", n), Size: 1, ModTime: time.Unix(int64(n), 0)}.key())
	}
	return keys
}

// A file is another one with another name, size or time, also if only a nanosecond is between them.
func TestAFileIsKnownByNameSizeAndTime(t *testing.T) {
	at := time.Date(2026, 1, 1, 10, 0, 0, 1, time.UTC)
	f := readFile{Name: "landing/a.csv", Size: 10, ModTime: at}
	for _, other := range []readFile{{"landing/b.csv", 10, at}, {"landing/a.csv", 11, at}, {"landing/a.csv", 10, at.Add(1)}, {"landing/a.csv\x0010", 0, at}} {
		if other.key() == f.key() || len(other.key()) != fileWidth {
			t.Errorf("%v has the key %s, %v the key %s", other, other.key(), f, f.key())
		}
	}
	if same := (readFile{"landing/a.csv", 10, at.In(time.FixedZone("there", 3600))}); same.key() != f.key() {
		t.Error("the zone of a time makes it another file")
	}
}

// Files that are gone are remembered, the latest ones, and known again when they come back; none is there twice.
func TestASetOfFilesRemembersThoseThatAreGone(t *testing.T) {
	s := seenSet{}.then(keysOf(0, 10)).then(keysOf(5, 12))
	if s.count() != 12 || len(s.Gone) != 5*fileWidth {
		t.Fatalf("%d files, %d gone", s.count(), len(s.Gone)/fileWidth)
	}
	s = s.then(slices.Concat(keysOf(2, 3), keysOf(11, 12)))
	known := s.files()
	for _, key := range keysOf(0, 12) {
		if !known[key] {
			t.Errorf("%s is forgotten", key)
		}
	}
	if len(known) != s.count() || s.count() != 12 || len(s.Present) != 2*fileWidth {
		t.Errorf("%d files, %d of them there, %d known", s.count(), len(s.Present)/fileWidth, len(known))
	}
	s = seenSet{}.then(keysOf(0, keepGone+10)).then(nil)
	if s.count() != keepGone || s.Present != "" {
		t.Errorf("%d of %d that are gone are remembered", s.count(), keepGone+10)
	}
	if n := (seenSet{}).then(keysOf(0, 3)).among([]readFile{{Name: "landing/1.csv", Size: 1, ModTime: time.Unix(1, 0)}, {Name: "x"}}); n != 1 {
		t.Errorf("%d of the files are in the set", n)
	}
}

// A project that is moved as a whole keeps its files; those outside it are known by their whole path.
func TestNamesOfFiles(t *testing.T) {
	r := &run{config: &config.Pipeline{Dir: filepath.FromSlash("/srv/sales")}}
	for path, want := range map[string]string{"/srv/sales/landing/a.csv": "landing/a.csv", "/srv/other/a.csv": "/srv/other/a.csv", "/srv/sales.csv": "/srv/sales.csv"} {
		f := r.named(compute.File{Path: filepath.FromSlash(path)})
		if f.Name != want || r.fileOf(f).Path != filepath.FromSlash(path) {
			t.Errorf("%s is %s, and that is %s", path, f.Name, r.fileOf(f).Path)
		}
	}
}

// What is read is said so that a person knows what comes next.
func TestTextsOfRanges(t *testing.T) {
	one, two := "1", "2"
	for _, tt := range []struct{ got, want string }{
		{span{Column: &columnSpan{Name: "id", UpTo: &two}}.text(), "id <= 2"},
		{span{Column: &columnSpan{Name: "id", After: &one, UpTo: &two}}.text(), "id > 1 and <= 2"},
		{span{Column: &columnSpan{Name: "id", After: &two, UpTo: &two}}.text(), "no row: id is nowhere > 2"},
		{span{Column: &columnSpan{Name: "id"}}.text(), "no row, as none has a value of id"},
		{span{Files: &filesSpan{Read: make([]readFile, 2)}}.text(), "2 new files"},
		{span{Files: &filesSpan{}}.text(), "no new file"},
		{span{Column: &columnSpan{Name: "id", Type: "BIGINT", UpTo: &two}}.markText(), "id up to 2 (BIGINT)"},
		{span{}.text(), "what this version does not know"},
	} {
		if tt.got != tt.want {
			t.Errorf("%q, want %q", tt.got, tt.want)
		}
	}
}
