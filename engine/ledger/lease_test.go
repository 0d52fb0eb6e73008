package ledger

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/ubunye-io/ubunye/engine/store/fsops"
)

func TestI1_NothingIsVisibleBeforeTheCommit(t *testing.T) {
	w := newWorld(t)
	_, s := w.begin(w.open(nil), Request{Batch: batch("d1")})
	w.must(s.Prepare(context.Background(), w.spec()))
	w.must(stage(s, []string{"1a", "1b"}))
	w.wantRows("staged")
	if _, err := os.Stat(w.lake); !errors.Is(err, os.ErrNotExist) {
		t.Fatal("the output folder was made before the commit")
	}
	if err := s.Land(context.Background()); err == nil {
		t.Fatal("landed before the commit")
	}
	w.must(commit(s, "clean"))
	w.wantRows("committed, not landed")
	w.must(s.Land(context.Background()))
	w.wantRows("landed", "1a", "1b")
	if _, err := os.Stat(filepath.Join(w.lake, successName)); err != nil {
		t.Fatal(err)
	}
}

func TestI5_StagingIsWhatCounts(t *testing.T) {
	ctx := context.Background()
	for _, c := range []struct {
		name  string
		spoil func(w *world, dir string)
		want  string
	}{
		{"not staged by name", func(w *world, dir string) { w.must(os.WriteFile(filepath.Join(dir, "x.parquet"), nil, 0o666)) }, "must end in"},
		{"symbolic link", func(w *world, dir string) { w.must(os.Symlink("/etc/passwd", filepath.Join(dir, "x.staged"))) }, "only plain files"},
		{"named pipe", func(w *world, dir string) { w.must(makePipe(filepath.Join(dir, "x.staged"))) }, "only plain files"},
		{"success file", func(w *world, dir string) { w.must(os.WriteFile(filepath.Join(dir, "_SUCCESS.staged"), nil, 0o666)) }, "ledger's own"},
		{"target file", func(w *world, dir string) {
			w.must(os.WriteFile(filepath.Join(dir, "_ubunye-target.staged"), nil, 0o666))
		}, "ledger's own"},
		{"folder gone", func(w *world, dir string) { w.must(os.RemoveAll(dir)) }, "gone"},
	} {
		w := newWorld(t)
		_, s := w.begin(w.open(nil), Request{Batch: batch("d1")})
		w.must(s.Prepare(ctx, w.spec()))
		w.must(stage(s, []string{"1"}))
		c.spoil(w, s.Staging("clean"))
		var bad *StagedError
		if _, err := s.Staged("clean"); !errors.As(err, &bad) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	w := newWorld(t)
	_, s := w.begin(w.open(nil), Request{Batch: batch("d1")})
	w.must(s.Prepare(ctx, w.spec()))
	w.must(stage(s, []string{"abc", "de"}))
	files, err := s.Staged("clean")
	if err != nil || len(files) != 2 || !strings.HasPrefix(files[0].Name, "p=0/part-") || files[0].Bytes != 3 || files[1].Bytes != 2 {
		t.Fatalf("%+v, %v", files, err)
	}
	names := []string{files[0].Name, files[1].Name}
	for what, claims := range map[string][]string{"one too few": names[:1], "one too many": append(slices.Clone(names), "p=2/x"), "none": nil} {
		err := s.Commit(ctx, Commit{Outputs: map[string]Result{"clean": {Claims: claims, Bytes: 5}}})
		if !errors.As(err, new(*StagedError)) || w.document(batch("d1")).Finished != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := s.Commit(ctx, Commit{}); err == nil {
		t.Error("an output was left out")
	}
	whole := Commit{Outputs: map[string]Result{"clean": {Claims: names, Bytes: 5}}}
	file := stagedPath(s.Staging("clean"), names[0])
	w.must(os.Truncate(file, 2))
	if err := s.Commit(ctx, whole); !errors.As(err, new(*StagedError)) || !strings.Contains(err.Error(), "4 bytes, and had 5") || w.document(batch("d1")).Finished != nil {
		t.Errorf("a staged file was cut: %v", err)
	}
	w.must(os.WriteFile(file, []byte("abc"), 0o666))
	w.must(s.Commit(ctx, whole))
}

func TestR25_TheFolderOfAFailedFirstAppendIsAsItWas(t *testing.T) {
	for _, exists := range []bool{false, true} {
		w := newWorld(t)
		w.must(os.MkdirAll(filepath.Dir(w.lake), 0o777))
		if exists {
			w.must(os.MkdirAll(w.lake, 0o777))
			w.must(os.WriteFile(filepath.Join(w.lake, "theirs.parquet"), []byte("t"), 0o666))
		}
		before := tree(t, filepath.Dir(w.lake))
		run, s := w.begin(w.open(nil), Request{Batch: batch("d1")})
		w.must(s.Prepare(context.Background(), w.spec()))
		w.must(stage(s, []string{"1"}))
		w.must(s.Fail(context.Background(), "a check failed"))
		w.must(run.End(context.Background(), Failed))
		if after := tree(t, filepath.Dir(w.lake)); !slices.Equal(before, after) {
			t.Fatalf("the output's folder was %q and is %q", before, after)
		}
		d := w.document(batch("d1"))
		if d.Holder != nil || len(d.Todo) > 0 || len(d.Outputs) > 0 || len(d.Tried) != 1 || d.Tried[0].Run != run.ID || d.Tried[0].Reason != "a check failed" {
			t.Fatalf("%+v", d)
		}
	}
}

// _SUCCESS comes after the files, and never without them.
func TestR25_SuccessComesAfterLanding(t *testing.T) {
	w := newWorld(t)
	seen := 0
	hook := &at{match: func(op fsops.Op) bool { return op.Kind == "create" && filepath.Base(op.Path) == successName }}
	hook.do = func() {
		seen++
		w.wantRows("when _SUCCESS is made", "1a", "1b")
	}
	w.must(w.once(w.open(hook), job{batch: batch("d1"), rows: []string{"1a", "1b"}}))
	if seen != 1 {
		t.Fatal("_SUCCESS was not made")
	}
}

func TestR28_AFailingRunDropsItsOwnStagingOnly(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	w.must(w.once(w.open(nil), job{batch: batch("d0"), rows: []string{"0"}}))
	stray := filepath.Join(w.dir, ".ubunye", "staging", "other", "key", "clean", "x.staged")
	w.must(os.MkdirAll(filepath.Dir(stray), 0o777))
	w.must(os.WriteFile(stray, nil, 0o666))

	refuse := false
	hook := &refuseRemoves{on: &refuse}
	run, s := w.begin(w.open(hook), Request{Batch: batch("d1")})
	w.must(s.Prepare(ctx, w.spec()))
	w.must(stage(s, []string{"1"}))
	refuse = true
	err := s.Fail(ctx, "the run's own error")
	var left *StagingLeftError
	if !errors.As(err, &left) || len(left.Left) != 1 || left.Left[0].Entry.Do != Drop {
		t.Fatalf("got %v", err)
	}
	d := w.document(batch("d1"))
	if d.Holder != nil || len(d.Todo) != 1 || d.Tried[0].Reason != "the run's own error" {
		t.Fatalf("%+v", d)
	}
	w.must(run.End(ctx, Failed))

	refuse = false
	done, stuck, err := w.open(nil).FinishCommitted(ctx, "sales")
	if err != nil || len(stuck) > 0 || len(done) != 1 || done[0].Run != "" {
		t.Fatal(done, stuck, err)
	}
	if _, err := os.Stat(s.Staging("clean") + ".drop"); !errors.Is(err, os.ErrNotExist) {
		t.Fatal("its staging is left")
	}
	if _, err := os.Stat(stray); err != nil {
		t.Fatal(err)
	}
	st, err := w.open(nil).Status(ctx, "")
	if err != nil || len(st.Stray) != 1 || st.Stray[0].Path != filepath.Dir(stray) {
		t.Fatalf("%+v, %v", st.Stray, err)
	}
	w.wantRows("failed", "0")
}

type refuseRemoves struct{ on *bool }

func (h *refuseRemoves) Before(op fsops.Op) error {
	if *h.on && op.Kind == "remove" && strings.Contains(op.Path, "staging") {
		return syscall.EACCES
	}
	return nil
}

func (h *refuseRemoves) After(fsops.Op, error) error { return nil }

func TestR49_TwoOutputsOfWhichOneFails(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	_, s := w.begin(w.open(nil), Request{Batch: batch("d1")})
	second := OutputSpec{Name: "rest", Class: Claims, Mode: "append", Base: filepath.Join(w.dir, "rest")}
	w.must(s.Prepare(ctx, append(w.spec(), second)))
	w.must(stage(s, []string{"1"}))
	w.must(s.Fail(ctx, "the second output"))
	w.wantRows("failed")
	if len(w.document(batch("d1")).Todo) > 0 || s.Staging("clean") == s.Staging("rest") {
		t.Fatal("staging is left")
	}
}

// A full disk does not keep a failing run from giving its batch back: what it staged makes the room.
func TestFailOnAFullDisk(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	hook := &fullUntilRemoved{}
	run, s := w.begin(w.open(hook), Request{Batch: batch("d1")})
	w.must(s.Prepare(ctx, w.spec()))
	w.must(stage(s, []string{"1"}))
	hook.full = true
	if err := commit(s, "clean"); !errors.As(err, new(*SaveError)) {
		t.Fatalf("got %v", err)
	}
	w.must(s.Fail(ctx, "no space left on device"))
	w.must(run.End(ctx, Failed))
	if d := w.document(batch("d1")); d.Holder != nil || len(d.Todo) > 0 || d.Finished != nil {
		t.Fatalf("%+v", d)
	}
}

type fullUntilRemoved struct{ full bool }

func (h *fullUntilRemoved) Before(op fsops.Op) error {
	if op.Kind == "remove" && strings.Contains(op.Path, stagedSuffix) {
		h.full = false
	}
	if h.full && (op.Kind == "create" || op.Kind == "write") {
		return syscall.ENOSPC
	}
	return nil
}

func (h *fullUntilRemoved) After(fsops.Op, error) error { return nil }

// Everything staged is durable before the commit, and everything landed before the list is emptied.
func TestOrderOfDurability(t *testing.T) {
	for _, files := range []int{2, many + 1} {
		w := newWorld(t)
		w.must(os.MkdirAll(filepath.Dir(w.lake), 0o777))
		trace := &fsops.Trace{}
		rows := make([]string, files)
		w.must(w.once(w.open(trace), job{batch: batch("d1"), rows: rows}))
		dirty := map[string]bool{} // folders with names that are not durable
		saves, landed := 0, 0
		for _, op := range trace.Ops() {
			switch {
			case op.Kind == "rename" && strings.HasSuffix(op.To, ".parquet"):
				landed++
				dirty[filepath.Dir(op.To)], dirty[filepath.Dir(filepath.Dir(op.To))] = true, true
			case op.Kind == "mkdir" && strings.HasPrefix(op.Path, w.lake):
				dirty[filepath.Dir(op.Path)] = true
			case op.Kind == "syncdir":
				delete(dirty, op.Path)
			case op.Kind == "syncfs":
				clear(dirty)
			case op.Kind == "link":
				if saves++; len(dirty) > 0 {
					t.Fatalf("save %d before %v are durable", saves, dirty)
				}
			}
		}
		if saves != 4 || landed != files {
			t.Fatalf("%d saves, %d files landed", saves, landed)
		}
	}
}
