package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/ubunye-io/ubunye/engine/store/fsops"
)

// A staging folder is dropped by all who come, at once: none of them takes the work of another for damage.
func TestR21_ManyDropAtOnce(t *testing.T) {
	w := newWorld(t)
	_, s := w.begin(w.open(nil), Request{Batch: batch("d1")})
	w.must(s.Prepare(context.Background(), w.spec()))
	mark, err := os.ReadFile(filepath.Join(s.Staging("clean"), stagingMarker))
	w.must(err)
	l := w.open(nil)
	for i := range 200 {
		staging := filepath.Join(w.dir, ".ubunye", stagingFolder, "r", fmt.Sprint(i), "clean")
		w.must(os.MkdirAll(staging, 0o777))
		w.must(os.WriteFile(filepath.Join(staging, stagingMarker), mark, 0o666))
		start := make(chan struct{})
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				<-start
				if err := l.dropStaging(staging, nil); err != nil {
					t.Error(err)
				}
			})
		}
		close(start)
		all.Wait()
		for _, path := range []string{staging, staging + ".drop"} {
			if is, err := there(path); is || err != nil {
				t.Fatalf("%s is left: %v", path, err)
			}
		}
	}
}

// otherDisk returns a folder on another file system than the world's.
func (w *world) otherDisk() string {
	dir := must(filepath.EvalSymlinks(w.t.TempDir()))
	if sameDisk(dir, w.dir) {
		w.t.Skip("there is one file system only")
	}
	return dir
}

// R63: an output on another disk than the ledger is staged on its own disk, and a folder that is absent
// stays absent until landing.
func TestR63_OutputOnAnotherDisk(t *testing.T) {
	w := newWorld(t)
	disk := w.otherDisk()
	w.lake = filepath.Join(disk, "deep", "orders")
	run, s := w.begin(w.open(nil), Request{Batch: batch("d1")})
	w.must(s.Prepare(context.Background(), w.spec()))
	if dir := s.Staging("clean"); filepath.Dir(dir) != disk || !stagingName.MatchString(filepath.Base(dir)) {
		t.Fatalf("staged in %s", dir)
	}
	w.must(stage(s, []string{"1"}))
	if entries, _ := os.ReadDir(disk); len(entries) != 1 {
		t.Fatalf("%v", entries)
	}
	w.must(s.Fail(context.Background(), "x"))
	w.must(run.End(context.Background(), Failed))
	if entries, _ := os.ReadDir(disk); len(entries) != 0 {
		t.Fatalf("a failed first append left %v", entries)
	}
	w.must(w.once(w.open(nil), job{batch: batch("d1"), rows: []string{"1"}}))
	w.must(w.once(w.open(nil), job{batch: batch("d2"), rows: []string{"2"}}))
	w.must(w.once(w.open(nil), job{batch: batch("d1"), rows: []string{"3"}, rerun: true}))
	w.wantRows("another disk", "2", "3")
	w.nothingStaged(t)
	if place := w.document(batch("d1")).Finished.Outputs["clean"].Base; place.Path != w.lake || place.RelativeTo != "" {
		t.Fatalf("%+v", place)
	}
}

func TestR63_OutputBehindASymbolicLink(t *testing.T) {
	w := newWorld(t)
	w.must(os.MkdirAll(filepath.Join(w.dir, "real"), 0o777))
	w.must(os.MkdirAll(filepath.Dir(w.lake), 0o777))
	w.must(os.Symlink(filepath.Join(w.dir, "real"), w.lake))
	w.must(w.once(w.open(nil), job{batch: batch("d1"), rows: []string{"1"}}))
	if base := w.document(batch("d1")).Finished.Outputs["clean"].Base; base.Path != "real" || base.RelativeTo != "ledger" {
		t.Fatalf("%+v", base)
	}
	w.must(os.Remove(w.lake))
	w.must(os.Symlink("nowhere", w.lake))
	if err := w.once(w.open(nil), job{batch: batch("d2"), rows: []string{"2"}}); !errors.As(err, new(*OutputUnwritableError)) {
		t.Fatalf("got %v", err)
	}
}

func TestR63_LongNames(t *testing.T) {
	w := newWorld(t)
	long := strings.Repeat("x", 240)
	w.lake = filepath.Join(w.dir, long, long)
	b := batch("1")
	b.Pipeline, b.Task = long, long
	w.must(w.once(w.open(nil), job{batch: b, rows: []string{"1"}}))
	w.wantRows("long names", "1")
}

func TestAFolderWithAnotherGroupIsStagedInItself(t *testing.T) {
	w := newWorld(t)
	w.must(os.MkdirAll(w.lake, 0o777))
	if err := os.Chown(w.lake, -1, 12345); err != nil {
		t.Skip("only root may give a folder to another group")
	}
	w.must(os.Chmod(w.lake, 0o777|os.ModeSetgid))
	_, s := w.begin(w.open(nil), Request{Batch: batch("d1")})
	w.must(s.Prepare(context.Background(), w.spec()))
	if filepath.Dir(s.Staging("clean")) != w.lake {
		t.Fatalf("staged in %s", s.Staging("clean"))
	}
	w.must(stage(s, []string{"1"}))
	w.wantRows("staged")
	w.must(commit(s, "clean"))
	w.must(s.Land(context.Background()))
	info := must(os.Stat(filepath.Join(w.lake, w.document(batch("d1")).Finished.Outputs["clean"].Claims[0])))
	if _, gid := ownerOf(info); gid != 12345 {
		t.Fatal("a landed file has not the folder's group")
	}
}

// An output in which nothing can be landed is refused before anything is staged, and the probe leaves
// nothing behind, whichever of its steps fails.
func TestAnOutputThatCannotBeWritten(t *testing.T) {
	file := filepath.Join(scratch(t), "file")
	for _, kind := range []string{"a file", "below a file", "rename", "create"} {
		w := newWorld(t)
		var hook fsops.Hook
		w.must(os.MkdirAll(filepath.Dir(w.lake), 0o777))
		switch kind {
		case "a file":
			w.must(os.WriteFile(w.lake, nil, 0o666))
		case "below a file":
			w.must(os.WriteFile(file, nil, 0o666))
			w.lake = filepath.Join(file, "orders")
		default:
			w.must(os.Mkdir(w.lake, 0o777))
			hook = refuseProbe(kind)
		}
		run, s := w.begin(w.open(hook), Request{Batch: batch("d1")})
		before := tree(t, w.dir)
		var not *OutputUnwritableError
		if err := s.Prepare(context.Background(), w.spec()); !errors.As(err, &not) || not.Output != "clean" || not.Path != w.lake {
			t.Fatalf("%s: %v", kind, err)
		}
		if after := tree(t, w.dir); !slices.Equal(paths(before), paths(after)) {
			t.Fatalf("%s: the probe left something: %q", kind, after)
		}
		w.must(s.Release(context.Background()))
		w.must(run.End(context.Background(), Refused))
	}
}

type refuseProbe string

func (kind refuseProbe) Before(op fsops.Op) error {
	if op.Kind == string(kind) && strings.Contains(fmt.Sprint(op.Path, op.To), "probe") {
		return syscall.EACCES
	}
	return nil
}

func (refuseProbe) After(fsops.Op, error) error { return nil }

// A folder that does not look like a staging folder of this ledger is not removed, whatever a list says.
func TestOnlyStagingFoldersAreDropped(t *testing.T) {
	w := newWorld(t)
	w.must(w.once(w.open(nil), job{batch: batch("d1"), rows: []string{"1"}}))
	l := w.open(nil)
	inLake := filepath.Join(w.lake, "_ubunye-0123456789ab")
	for _, dir := range []string{w.lake, filepath.Join(w.lake, "p=0"), l.sub("runs"), l.sub("staging"), l.sub("staging", "x"), inLake} {
		w.must(os.MkdirAll(dir, 0o777))
		w.must(os.WriteFile(filepath.Join(dir, "theirs"), nil, 0o666))
		if err := l.dropStaging(dir, nil); err == nil {
			t.Errorf("%s was dropped", dir)
		}
		if _, err := os.Stat(filepath.Join(dir, "theirs")); err != nil {
			t.Error(err)
		}
	}
	w.must(os.WriteFile(filepath.Join(inLake, stagingMarker), []byte(`{"ledger":"another"}`), 0o666))
	if err := l.dropStaging(inLake, nil); err == nil {
		t.Error("another ledger's staging was dropped")
	}
	w.must(os.WriteFile(filepath.Join(inLake, stagingMarker), must(json.Marshal(marker{Ledger: must(l.id())})), 0o666))
	w.must(l.dropStaging(inLake, nil))
	w.must(l.dropStaging(inLake, nil))
	unmarked := l.sub("staging", "r", "k", "clean") // as after a power cut
	w.must(os.MkdirAll(filepath.Join(unmarked, "p=0"), 0o777))
	w.must(l.dropStaging(unmarked, nil))
	if is, err := there(l.sub("staging", "r")); is || err != nil {
		t.Errorf("a staging folder of the ledger's own whose marker was lost is left: %v", err)
	}
	for _, name := range []string{"../../x", "/etc/passwd"} {
		w.change(batch("d1"), func(d *Document) {
			d.Todo = []Entry{{Do: Remove, Run: "r", Base: d.Finished.Outputs["clean"].Base, Names: []string{name}}}
		})
		run, err := w.open(nil).Begin(context.Background(), RunInfo{Pipeline: "sales", Batches: []Batch{batch("d1")}})
		w.must(err)
		if _, left := w.finish(); len(left) != 1 || !strings.Contains(left[0].Err.Error(), "not below") {
			t.Errorf("%s: %v", name, left)
		}
		w.must(run.End(context.Background(), Refused))
	}
}
