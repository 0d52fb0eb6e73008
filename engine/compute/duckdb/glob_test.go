package duckdb

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ubunye-io/ubunye/engine/compute"
)

// Opening a pipe that nobody writes to would hold the run, deaf to signals, for ever.
func TestWhatIsNoFileIsNotOpened(t *testing.T) {
	dir := t.TempDir()
	pipe, link := filepath.Join(dir, "a.csv"), filepath.Join(dir, "links", "b.csv")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Dir(link), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("nowhere.csv", link); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ path, file, want string }{
		{pipe, pipe, "a pipe"}, {filepath.Join(dir, "*.csv"), pipe, "a pipe"}, {os.DevNull, os.DevNull, "a device"}, {filepath.Join(dir, "links", "*"), link, "a link to nothing"},
	} {
		_, err := expand(tt.path)
		var e *compute.Error
		if !errors.As(err, &e) || e.Kind != compute.InputInvalid || e.File != tt.file || !strings.Contains(e.Message, tt.want) || e.Hint == "" {
			t.Errorf("%s: %+v", tt.path, err)
		}
	}
}

// A landing folder is emptied while it is listed: what went meanwhile is not there, and is no broken link.
func TestAFileThatGoesWhileItIsListed(t *testing.T) {
	gone := filepath.Join(t.TempDir(), "gone.csv")
	seen := map[string]bool{}
	if err := visit(gone, nil, seen); err != nil || len(seen) > 0 {
		t.Errorf("%v, %v", seen, err)
	}
	_, err := pin(gone)
	var e *compute.Error
	if !errors.As(err, &e) || !errors.Is(err, fs.ErrNotExist) || !strings.Contains(e.Message, "the file is gone") || strings.Contains(e.Hint, "permissions") {
		t.Errorf("%+v", err)
	}
}
