package writer_test

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ubunye-io/ubunye/engine/abi"
	"github.com/ubunye-io/ubunye/engine/store/fsops"
	"github.com/ubunye-io/ubunye/engine/writer"
)

// planWith plans once, with a small module and this configuration, and returns what was logged.
func planWith(t *testing.T, c writer.Config) []string {
	t.Helper()
	book := &logbook{}
	c.Log = book.add
	s := start(t, newHost(t, c), hostileModule(t, "good"), writer.Limits{}, writer.Grants{})
	defer s.Close()
	plan, err := s.Plan(t.Context(), abi.PlanRequest{Output: parquetOutput()})
	if err != nil {
		t.Fatal(err)
	}
	if plan.Class != abi.ClassClaims {
		t.Fatalf("plan: %+v", plan)
	}
	return book.all()
}

// cached lists the files of a cache folder, leaving out what begins with a part of a name.
func cached(t *testing.T, dir string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// Any file of the cache may be damaged, cut or emptied: it is made anew, and the run knows nothing of it.
func TestDamagedCacheIsMadeAnew(t *testing.T) {
	dir := t.TempDir()
	planWith(t, writer.Config{CacheDir: dir})
	files := cached(t, dir)
	if len(files) != 3 {
		t.Fatalf("want the child, the compiled module and its sums, have %q", files)
	}
	for _, path := range files {
		before, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		flipped := append([]byte(nil), before...)
		flipped[len(flipped)/3] ^= 0x40
		for name, damage := range map[string][]byte{"flipped": flipped, "cut": before[:len(before)/2], "empty": {}} {
			if err := os.WriteFile(path, damage, 0o700); err != nil {
				t.Fatal(err)
			}
			if lines := planWith(t, writer.Config{CacheDir: dir}); len(lines) != 0 {
				t.Errorf("%s %s: log %q", path, name, lines)
			}
			after, err := os.ReadFile(path)
			if err != nil || string(after) != string(before) {
				t.Errorf("%s %s: not made anew (%v)", path, name, err)
			}
		}
		if now := cached(t, dir); len(now) != len(files) {
			t.Errorf("files were left: %q", now)
		}
	}
}

// A folder that somebody else could change, or that cannot be written, is not used: the temporary folder is.
func TestCacheThatCannotBeUsed(t *testing.T) {
	open := filepath.Join(t.TempDir(), "open")
	file := filepath.Join(t.TempDir(), "file")
	target := t.TempDir()
	link := filepath.Join(t.TempDir(), "link")
	above := filepath.Join(t.TempDir(), "above")
	for _, err := range []error{os.Mkdir(open, 0o700), os.Chmod(open, 0o777), os.WriteFile(file, nil, 0o600), os.Symlink(target, link),
		os.Mkdir(above, 0o700), os.Chmod(above, 0o777)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{open, file, link, filepath.Join(above, "cache")} {
		temporary := t.TempDir()
		t.Setenv("TMPDIR", temporary)
		planWith(t, writer.Config{CacheDir: dir})
		if len(cached(t, temporary)) != 3 {
			t.Errorf("%s: the temporary folder was not used", dir)
		}
	}
	for _, dir := range []string{open, target, above} {
		if files := cached(t, dir); len(files) != 0 {
			t.Errorf("were put there: %q", files)
		}
	}
}

// Where neither folder can be used there is one line that gives both reasons.
func TestNoCacheAtAll(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", file)
	s := start(t, newHost(t, writer.Config{CacheDir: filepath.Join(file, "cache")}), writer.Module{Name: "parquet"}, writer.Limits{}, writer.Grants{})
	_, err := s.Plan(t.Context(), abi.PlanRequest{})
	e := wantError(t, err, writer.Missing, "")
	begin := "plugin parquet: load: the program that runs plugins cannot be started: "
	if text := e.Error(); !strings.HasPrefix(text, begin) || strings.Count(text, file) != 2 || strings.Contains(text, "\n") {
		t.Fatal(text)
	}
}

// A disk that fails at any change of the cache costs time, or the session with a clear line; never a
// wrong program, and the next start is well.
func TestCacheFailsAtEveryChange(t *testing.T) {
	good, root := hostileModule(t, "good"), t.TempDir()
	t.Setenv("TMPDIR", "/dev/null") // no second folder
	trace := &fsops.Trace{}
	planWith(t, writer.Config{CacheDir: filepath.Join(root, "c"), FS: fsops.New(trace)})
	n := int64(len(trace.Ops()))
	if n < 8 {
		t.Fatalf("filling the cache took %d changes", n)
	}
	for _, kind := range []fsops.FaultKind{fsops.NoRoom, fsops.Lost} {
		for k := int64(1); k <= n; k++ {
			dir := filepath.Join(root, fmt.Sprint(kind, k))
			h := newHost(t, writer.Config{CacheDir: dir, FS: fsops.New(&fsops.Fault{Kind: kind, At: k})})
			s := start(t, h, good, writer.Limits{}, writer.Grants{})
			if _, err := s.Plan(t.Context(), abi.PlanRequest{}); err != nil {
				wantError(t, err, writer.Missing, "")
			}
			s.Close()
			s = start(t, newHost(t, writer.Config{CacheDir: dir}), good, writer.Limits{}, writer.Grants{})
			if _, err := s.Plan(t.Context(), abi.PlanRequest{}); err != nil {
				t.Fatalf("after %s at change %d: %v", kind, k, err)
			}
			s.Close()
		}
	}
}

// Processes that fill one cache at once all work, and leave it whole.
func TestProcessesFillOneCacheAtOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	var all []*exec.Cmd
	for range 4 {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), helperVariable+"="+dir)
		cmd.Stdout, cmd.Stderr = &strings.Builder{}, os.Stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		all = append(all, cmd)
	}
	for _, cmd := range all {
		if err := cmd.Wait(); err != nil || !strings.HasSuffix(cmd.Stdout.(*strings.Builder).String(), "\nclaims\n") {
			t.Errorf("%v: %s", err, cmd.Stdout)
		}
	}
	if files := cached(t, dir); len(files) != 3 {
		t.Errorf("left in the cache: %q", files)
	}
}

// A program of an earlier version goes from the cache when a new one comes, once it is old.
func TestOldProgramsArePruned(t *testing.T) {
	dir := t.TempDir()
	bin := filepath.Join(dir, "bin")
	old, young := filepath.Join(bin, "child-old"), filepath.Join(bin, "child-young")
	for _, path := range []string{old, young} {
		if err := os.MkdirAll(bin, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	when := time.Now().AddDate(0, -2, 0)
	if err := os.Chtimes(old, when, when); err != nil {
		t.Fatal(err)
	}
	planWith(t, writer.Config{CacheDir: dir})
	if _, err := os.Lstat(old); err == nil {
		t.Error("the old one is still there")
	}
	if _, err := os.Lstat(young); err != nil {
		t.Error("the young one is gone")
	}
}
