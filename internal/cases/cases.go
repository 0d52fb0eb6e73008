// Package cases finds the test data that lies beside the project and is no part of it: tables and state files of other programs.
package cases

import (
	"archive/tar"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// Folder gives a folder of the test data. UBUNYE_CASES says where all of it is; else it is looked for beside the project. Where there is
// none the test is skipped, but for continuous integration (CI is set), where it fails.
func Folder(t testing.TB, name string) string {
	t.Helper()
	all := os.Getenv("UBUNYE_CASES")
	if all == "" {
		all = filepath.Join(root(t), "..", "shared", "cases")
	}
	dir := filepath.Join(all, name)
	_, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist) && os.Getenv("CI") == "":
		t.Skip("the test data is not beside the project, and UBUNYE_CASES does not name its folder: ", err)
	case err != nil:
		t.Fatal(err)
	}
	return dir
}

// root is the project's folder: tests run in that of their package.
func root(t testing.TB) string {
	dir, err := os.Getwd()
	for err == nil {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		if filepath.Dir(dir) == dir {
			break
		}
		dir = filepath.Dir(dir)
	}
	t.Fatal("the test does not run inside the project: ", err)
	return ""
}

// Unpack gives the folder into which the files of NAME.tar.zst were unpacked: that which is called NAME in it. Their times are kept.
func Unpack(t testing.TB, archive string) string {
	t.Helper()
	packed, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	plain, err := zstd.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	to := t.TempDir()
	for files := tar.NewReader(plain); ; {
		h, err := files.Next()
		if errors.Is(err, io.EOF) {
			return filepath.Join(to, strings.TrimSuffix(filepath.Base(archive), ".tar.zst"))
		}
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.FromSlash(h.Name)
		if h.Typeflag != tar.TypeReg || !filepath.IsLocal(name) {
			continue
		}
		if err := write(filepath.Join(to, name), files, h); err != nil {
			t.Fatal(err)
		}
	}
}

func write(path string, from io.Reader, h *tar.Header) error {
	data, err := io.ReadAll(from)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o777)
	}
	if err == nil {
		err = os.WriteFile(path, data, 0o666)
	}
	if err == nil {
		err = os.Chtimes(path, h.ModTime, h.ModTime)
	}
	return err
}
