package ledger

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ubunye-io/ubunye/engine/store/fsops"
)

// atOp calls do before the first operation of a kind whose path or second name ends in a text.
type atOp struct {
	kind, suffix string
	do           func()
	done         bool
}

func (a *atOp) Before(op fsops.Op) error {
	if !a.done && op.Kind == a.kind && (strings.HasSuffix(op.Path, a.suffix) || strings.HasSuffix(op.To, a.suffix)) {
		a.done = true
		a.do()
	}
	return nil
}

func (a *atOp) After(fsops.Op, error) error { return nil }

var (
	old   = job{batch: batch("d2"), rows: []string{"2a", "2b"}}
	whole = job{batch: batch("d1"), rows: []string{"1a", "1b"}, mode: wholeMode}
	parts = job{batch: batch("d1"), rows: []string{"1a"}, mode: partsMode}
)

// R61: a run that replaces a folder leaves exactly its rows, in a folder with the old one's target file,
// a marker and _SUCCESS, and nothing of the old data anywhere.
func TestR61_OverwriteLeavesItsRows(t *testing.T) {
	w := newWorld(t)
	w.must(w.once(w.open(nil), old))
	before := must(readTarget(w.lake))
	w.must(os.WriteFile(filepath.Join(w.lake, "stranger.parquet"), []byte("s"), 0o666))
	w.must(w.once(w.open(nil), whole))
	w.wantRows("overwritten", "1a", "1b")
	if after := must(readTarget(w.lake)); after != before {
		t.Fatalf("target %+v, was %+v", after, before)
	}
	names := namesIn(t, w.lake)
	if len(names) != 5 || !strings.HasPrefix(names[1], partMarker) || names[2] != targetName {
		t.Fatalf("%q", names)
	}
	f := w.document(batch("d1")).Finished.Outputs["clean"]
	if f.Class != Replaces || !slices.Equal(f.Parts, []string{wholeFolder}) || len(f.Claims) != 2 || f.Rows != 2 {
		t.Fatalf("%+v", f)
	}
	w.nothingStaged(t)
	if left := namesIn(t, filepath.Dir(w.lake)); len(left) != 1 {
		t.Fatalf("left beside the output: %q", left)
	}
}

func namesIn(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// R44: a batch that only replaces is never refused as finished, and its rerun needs no flag.
func TestR44_OverwriteRunsEveryTime(t *testing.T) {
	w := newWorld(t)
	for _, rows := range [][]string{{"1a", "1b"}, {"1c"}, {}} {
		j := whole
		j.rows = rows
		w.must(w.once(w.open(nil), j))
		w.wantRows("overwritten", rows...)
	}
	whole := whole
	whole.rerun = true
	w.must(w.once(w.open(nil), whole))
	w.wantRows("rerun", "1a", "1b")
}

// R45: an append after an overwrite of the same batch is refused.
func TestR45_AppendAfterOverwrite(t *testing.T) {
	w := newWorld(t)
	w.must(w.once(w.open(nil), whole))
	j := whole
	j.mode = ""
	var finished *FinishedError
	if err := w.once(w.open(nil), j); !errors.As(err, &finished) || finished.Finished.Outputs["clean"].Class != Replaces {
		t.Fatalf("got %v", err)
	}
	w.wantRows("refused", "1a", "1b")
}

// An overwrite with --rerun of a batch that was appended before replaces what the append had landed.
func TestOverwriteAsRerunOfAnAppend(t *testing.T) {
	w := newWorld(t)
	j := whole
	j.mode = ""
	w.must(w.once(w.open(nil), j))
	j = whole
	j.rows, j.rerun = []string{"1c"}, true
	w.must(w.once(w.open(nil), j))
	w.wantRows("replaced", "1c")
	w.nothingStaged(t)
}

// The folders in which nothing was staged stay as they are, files of others included; in the others
// nothing stays.
func TestPartitionsThatAreNotInTheDataStay(t *testing.T) {
	w := newWorld(t)
	w.must(w.once(w.open(nil), job{batch: batch("d2"), rows: []string{"2a", "2b", "2c"}}))
	w.must(os.WriteFile(filepath.Join(w.lake, "p=0", "s.parquet"), []byte("s"), 0o666))
	w.must(os.WriteFile(filepath.Join(w.lake, "p=1", "s.parquet"), []byte("t"), 0o666))
	w.must(w.once(w.open(nil), parts))
	w.wantRows("replaced", "1a", "2b", "2c", "t")
	if f := w.document(batch("d1")).Finished.Outputs["clean"]; !slices.Equal(f.Parts, []string{"p=0"}) {
		t.Fatalf("%+v", f)
	}
	j := parts
	j.rows, j.slice = nil, "p=1"
	w.must(w.once(w.open(nil), j))
	w.wantRows("an empty slice", "1a", "2c")
	j.slice = "p=9"
	w.must(w.once(w.open(nil), j))
	w.wantRows("an empty slice that is not there", "1a", "2c")
	j.slice = ""
	w.must(w.once(w.open(nil), j))
	w.wantRows("nothing", "1a", "2c")
	w.nothingStaged(t)
}

// Who stages folders that cannot be replaced one by one is told so, and nothing becomes visible.
func TestPartsOf(t *testing.T) {
	for _, c := range []struct {
		claims []string
		slice  string
		want   []string
		bad    string
	}{
		{claims: []string{"p=0/a", "p=0/b", "p=1/c"}, want: []string{"p=0", "p=1"}},
		{claims: []string{"p=0/q=1/a", "p=0/q=2/b", "p=1/q=1/c"}, slice: "p=0", want: []string{"p=0", "p=1/q=1"}},
		{claims: []string{"p=0/a"}, slice: "p=0", want: []string{"p=0"}},
		{claims: []string{"p=01/a"}, slice: "p=0", want: []string{"p=01"}},
		{slice: "p=0", want: []string{}},
		{slice: "*", want: []string{"there"}},
		{slice: "*/q=1", want: []string{"there/q=1"}},
		{slice: "there/*", want: []string{"there/q=1", "there/q=2"}},
		{claims: []string{"new/q=1/r=1/a", "new/q=2/r=1/b"}, slice: "*/q=1", want: []string{"new/q=1", "new/q=2/r=1", "there/q=1"}},
		{slice: "there", want: []string{"there"}},
		{claims: []string{"a"}, bad: "no folder of its own"},
		{claims: []string{"p=0/a", "p=0/q=1/b"}, bad: "lies in another one"},
		{claims: []string{"p=0/a"}, slice: "../x", bad: "not below"},
		{slice: ".", bad: "not below"},
		{claims: []string{"file/a"}, bad: "not a directory"},
		{claims: []string{"link/a"}, bad: "symbolic link"},
		{claims: []string{"link/q=1/a"}, bad: "symbolic link"},
	} {
		dir := scratch(t)
		if err := errors.Join(os.MkdirAll(filepath.Join(dir, "there", "q=1"), 0o777), os.Mkdir(filepath.Join(dir, "there", "q=2"), 0o777),
			os.MkdirAll(filepath.Join(dir, "_hidden", "q=1"), 0o777), os.WriteFile(filepath.Join(dir, "file"), nil, 0o666),
			os.Symlink("there", filepath.Join(dir, "link"))); err != nil {
			t.Fatal(err)
		}
		p := preparedOutput{name: "clean", base: dir, parts: true}
		got, err := (&Lease{}).partsOf(p, Result{Claims: c.claims, Slice: c.slice})
		if c.bad == "" && (err != nil || !slices.Equal(got, c.want)) {
			t.Errorf("%q in %q: %q, %v", c.claims, c.slice, got, err)
		}
		if c.bad != "" && (err == nil || !strings.Contains(err.Error(), c.bad)) {
			t.Errorf("%q in %q: %q, %v, want %q", c.claims, c.slice, got, err, c.bad)
		}
	}
}

// R65 in part: a paused run whose staging was grabbed makes no exchange when it wakes up, by whichever
// way: it goes by name, and the name is gone.
func TestR65_APausedRunMakesNoExchangeAfterTheGrab(t *testing.T) {
	for _, c := range []struct {
		name, kind string
		mode       string
		more       hooks
	}{
		{"exchange", "exchange", wholeMode, nil},
		{"exchange of a partition", "exchange", partsMode, nil},
		{"first of two renames", "rename", wholeMode, hooks{noExchange{}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.must(w.once(w.open(nil), old))
			suffix := "/new"
			if c.mode == partsMode {
				suffix = "/p=0"
			} else if c.kind == "rename" {
				suffix = "/old"
			}
			taken := false
			paused := &atOp{kind: c.kind, suffix: suffix, do: func() {
				taken = true
				w.takeAway(w.open(nil), batch("d1"))
				w.wantRows("grabbed", "2a", "2b")
			}}
			j := whole
			j.mode = c.mode
			err := w.once(w.mortal(append(hooks{paused}, c.more...)), j)
			if !taken || err == nil {
				t.Fatalf("taken %v, error %v", taken, err)
			}
			w.wantRows("woken", "2a", "2b")
			w.must(w.once(w.open(nil), j))
			w.wantRows("run again", "1a", "1b")
			w.nothingStaged(t)
		})
	}
}

// The same between two renames: the old data is put back by whoever grabs, and the owner that wakes up
// finds neither its new folder nor the old one.
func TestR67_PutBackBetweenTwoRenames(t *testing.T) {
	w := newWorld(t)
	w.must(w.once(w.open(nil), old))
	paused := &atOp{kind: "rename", suffix: "/lake/orders", done: true, do: func() {
		w.wantRows("between two renames")
		w.takeAway(w.open(nil), batch("d1"))
		w.wantRows("put back", "2a", "2b")
	}}
	err := w.once(w.open(hooks{noExchange{}, afterFirst{paused}}), whole)
	if err == nil || !paused.done {
		t.Fatalf("got %v", err)
	}
	w.wantRows("woken", "2a", "2b")
	w.nothingStaged(t)
}

// afterFirst arms a hook when the old folder is renamed away.
type afterFirst struct{ then *atOp }

func (a afterFirst) Before(op fsops.Op) error {
	err := a.then.Before(op)
	if strings.HasSuffix(op.To, "/"+oldFolder) {
		a.then.done = false
	}
	return err
}

func (a afterFirst) After(fsops.Op, error) error { return nil }

// Somebody else makes the folder while the old data is moved away: nothing is removed, and the entry
// says where the old data is.
func TestR67_OldDataThatCannotBePutBackStays(t *testing.T) {
	w := newWorld(t)
	w.must(w.once(w.open(nil), old))
	paused := &atOp{kind: "rename", suffix: "/lake/orders", done: true, do: func() {
		w.must(os.MkdirAll(w.lake, 0o777))
		w.must(os.WriteFile(filepath.Join(w.lake, "foreign.parquet"), []byte("f"), 0o666))
	}}
	err := w.once(w.open(hooks{noExchange{}, afterFirst{paused}}), whole)
	if err == nil {
		t.Fatal("no error")
	}
	_, left := w.finish()
	if len(left) != 1 || !strings.Contains(left[0].String(), "cannot be put back") {
		t.Fatalf("left: %v", left)
	}
	w.wantRows("somebody else's", "f")
	w.must(os.RemoveAll(w.lake)) // and now the way is free
	if _, left := w.finish(); len(left) != 0 {
		t.Fatalf("left: %v", left)
	}
	w.wantRows("put back", "2a", "2b")
}

// A power cut that undoes a committed exchange is found out before the new data is removed.
func TestAnExchangeThatAPowerCutUndid(t *testing.T) {
	w := newWorld(t)
	w.must(w.once(w.open(nil), old))
	ctx := context.Background()
	_, s := w.begin(w.open(nil), Request{Batch: batch("d1")})
	w.must(s.Prepare(ctx, w.specOf(wholeMode)))
	w.must(stage(s, []string{"1a"}))
	c, err := results(s, "clean")
	w.must(err)
	w.must(s.Replace(ctx, c))
	w.must(s.Commit(ctx, c))
	w.must(fsops.New(nil).Exchange(s.Staging("clean"), w.lake)) // as the disk forgot
	for range 2 {
		_, left := w.finish()
		if len(left) != 1 || !strings.Contains(left[0].String(), "power cut") {
			t.Fatalf("left: %v", left)
		}
	}
	if err := w.once(w.open(nil), whole); !errors.As(err, new(*LeftError)) {
		t.Fatalf("its own batch was not refused: %v", err)
	}
	grabbed := filepath.Dir(s.Staging("clean")) + droppedSuffix
	w.must(fsops.New(nil).Exchange(filepath.Join(grabbed, newFolder), w.lake)) // a person mends it
	if _, left := w.finish(); len(left) != 0 {
		t.Fatalf("left: %v", left)
	}
	w.wantRows("mended", "1a")
}

// The verdict of a grab is told: how many folders a run that did not commit had put in place.
func TestTheVerdictOfAGrab(t *testing.T) {
	w := newWorld(t)
	w.must(w.once(w.open(nil), job{batch: batch("d2"), rows: []string{"2a", "2b"}}))
	l := w.open(killed{at: 1 << 40})
	_, s := w.begin(l, Request{Batch: batch("d1")})
	ctx := context.Background()
	w.must(s.Prepare(ctx, w.specOf(partsMode)))
	w.must(stage(s, []string{"1a", "1b"}))
	c, err := results(s, "clean")
	w.must(err)
	// dies at the second exchange
	stop := errors.New("stop")
	s.ledger.fs = fsops.New(hooks{&failAt{kind: "exchange", suffix: "/p=1", err: stop}})
	if err := s.Replace(ctx, c); !errors.Is(err, stop) {
		t.Fatal(err)
	}
	want := Replaced{Output: "clean", Base: w.lake, Parts: []string{"p=0"}, Of: 2}
	if got := s.Replaced(); len(got) != 1 || got[0].Output != want.Output || !slices.Equal(got[0].Parts, want.Parts) || got[0].Of != 2 || got[0].Base != w.lake {
		t.Fatalf("%+v", got)
	}
	kept := w.takeAway(w.open(nil), batch("d1"))
	if len(kept) != 1 {
		t.Fatalf("%+v", kept)
	}
	if d := w.document(batch("d1")); !slices.Equal(d.Tried[0].Kept, []string{"clean"}) {
		t.Fatalf("the document does not name what is kept: %+v", d.Tried)
	}
	if k := kept[0]; k.Parts != 1 || k.Of != 2 || k.Output != "clean" || k.Base != w.lake || k.Run == "" {
		t.Fatalf("%+v", k)
	}
	w.wantRows("half done", "1a", "2b")
}

// failAt fails the first operation of a kind whose path ends in a text.
type failAt struct {
	kind, suffix string
	err          error
}

func (f *failAt) Before(op fsops.Op) error {
	if op.Kind == f.kind && strings.HasSuffix(op.Path, f.suffix) {
		return f.err
	}
	return nil
}

func (f *failAt) After(fsops.Op, error) error { return nil }

// A run that fails after it replaced a folder says so in its document, where status finds it.
func TestAFailedRunNamesWhatItReplaced(t *testing.T) {
	w := newWorld(t)
	j := whole
	j.fails = true
	if err := w.once(w.open(nil), j); !errors.Is(err, errFails) {
		t.Fatal(err)
	}
	d := w.document(batch("d1"))
	if len(d.Tried) != 1 || !slices.Equal(d.Tried[0].Kept, []string{"clean"}) || d.Finished != nil || len(d.Todo) > 0 {
		t.Fatalf("%+v", d)
	}
	w.wantRows("kept", "1a", "1b")
}

// R25: the folder of a first overwrite that failed before the exchange is as it was: not there.
func TestR25_AFailedFirstOverwriteLeavesNoFolder(t *testing.T) {
	for _, mode := range []string{wholeMode, partsMode} {
		w := newWorld(t)
		_, s := w.begin(w.open(nil), Request{Batch: batch("d1")})
		w.must(s.Prepare(context.Background(), w.specOf(mode)))
		w.must(stage(s, []string{"1a"}))
		w.must(s.Fail(context.Background(), "x"))
		if len(s.Replaced()) != 0 {
			t.Fatalf("%+v", s.Replaced())
		}
		if _, err := os.Stat(filepath.Dir(w.lake)); !errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("%s: %v", mode, err)
		}
		w.nothingStaged(t)
	}
}

// I2: a run whose lease was taken over before the phase was saved makes no exchange.
func TestI2_NoExchangeWithoutThePhase(t *testing.T) {
	w := newWorld(t)
	w.must(w.once(w.open(nil), old))
	_, s := w.begin(w.open(nil), Request{Batch: batch("d1")})
	ctx := context.Background()
	w.must(s.Prepare(ctx, w.specOf(wholeMode)))
	w.must(stage(s, []string{"1a"}))
	c, err := results(s, "clean")
	w.must(err)
	w.takeover(batch("d1"))
	if err := s.Replace(ctx, c); !errors.As(err, new(*LostError)) {
		t.Fatalf("got %v", err)
	}
	w.wantRows("lost", "2a", "2b")
}

// A commit before the folders were put in place would claim what is not there.
func TestCommitNeedsReplace(t *testing.T) {
	w := newWorld(t)
	_, s := w.begin(w.open(nil), Request{Batch: batch("d1")})
	w.must(s.Prepare(context.Background(), w.specOf(wholeMode)))
	w.must(stage(s, []string{"1a"}))
	if err := commit(s, "clean"); err == nil || !strings.Contains(err.Error(), "before output clean was replaced") {
		t.Fatalf("got %v", err)
	}
	w.wantRows("not committed")
}

// The order in which things become durable: staged files, phase, exchange, both parents, phase, commit,
// and only then the old data goes.
func TestOrderOfReplacing(t *testing.T) {
	w := newWorld(t)
	w.must(w.once(w.open(nil), old))
	trace := &fsops.Trace{}
	w.must(w.once(w.open(trace), whole))
	ops := trace.Ops()
	find := func(what string, is func(fsops.Op) bool) int {
		t.Helper()
		i := slices.IndexFunc(ops, is)
		if i < 0 {
			t.Fatalf("no %s", what)
		}
		return i
	}
	exchange := find("exchange", func(op fsops.Op) bool { return op.Kind == "exchange" && op.To == w.lake })
	staging := filepath.Dir(ops[exchange].Path)
	var saves []int
	for i, op := range ops {
		if op.Kind == "link" {
			saves = append(saves, i)
		}
	}
	if len(saves) != 6 { // acquire, prepare, committing, done, commit, mop
		t.Fatalf("%d saves", len(saves))
	}
	file := find("sync of a file", func(op fsops.Op) bool { return op.Kind == "sync" && strings.Contains(op.Path, "/new/p=0/part-") })
	folder := find("sync of the new folder", func(op fsops.Op) bool { return op.Kind == "syncdir" && op.Path == staging+"/new" })
	parent := find("sync of the output's parent", func(op fsops.Op) bool {
		return op.Kind == "syncdir" && op.Path == filepath.Dir(w.lake) && op.N > ops[exchange].N
	})
	stage := find("sync of the staging", func(op fsops.Op) bool { return op.Kind == "syncdir" && op.Path == staging && op.N > ops[exchange].N })
	grab := find("grab", func(op fsops.Op) bool { return op.Kind == "rename" && op.To == staging+droppedSuffix })
	gone := find("removal", func(op fsops.Op) bool { return op.Kind == "remove" && strings.Contains(op.Path, droppedSuffix) })
	order := []int{saves[1], file, folder, saves[2], exchange, min(parent, stage), max(parent, stage), saves[3], saves[4], grab, gone, saves[5]}
	if !slices.IsSorted(order) {
		t.Fatalf("order %v", order)
	}
}

// What the old folder granted to whom, the new one grants; files in it inherit what they would have.
func TestTheNewFolderHasWhatTheOldOneHad(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs to give folders away")
	}
	for _, mode := range []string{wholeMode, partsMode} {
		w := newWorld(t)
		w.must(w.once(w.open(nil), old))
		dir := w.lake
		if mode == partsMode {
			dir = filepath.Join(w.lake, "p=0")
		}
		for _, d := range []string{w.lake, dir} {
			w.must(os.Chown(d, 4711, 4712))
			w.must(os.Chmod(d, 0o750|fs.ModeSetgid))
		}
		j := whole
		j.mode = mode
		w.must(w.once(w.open(nil), j))
		info := must(os.Stat(dir))
		if uid, gid := ownerOf(info); uid != 4711 || gid != 4712 || info.Mode() != fs.ModeDir|fs.ModeSetgid|0o750 {
			t.Fatalf("%s: %v %d %d", mode, info.Mode(), uid, gid)
		}
		claim := w.document(batch("d1")).Finished.Outputs["clean"].Claims[0]
		if _, gid := ownerOf(must(os.Stat(filepath.Join(w.lake, claim)))); gid != 4712 {
			t.Fatalf("%s: the file has group %d", mode, gid)
		}
	}
}

// R63: an output on another disk than the ledger is staged beside itself, under a name that readers pass over.
func TestR63_ReplacingOnAnotherDisk(t *testing.T) {
	for _, mode := range []string{wholeMode, partsMode} {
		w := newWorld(t)
		w.lake = filepath.Join(w.otherDisk(), "orders")
		for range 2 {
			_, s := w.begin(w.open(nil), Request{Batch: batch("d1")})
			w.must(s.Prepare(context.Background(), w.specOf(mode)))
			beside := filepath.Dir(s.Staging("clean"))
			if filepath.Dir(beside) != filepath.Dir(w.lake) || !stagingName.MatchString(filepath.Base(beside)) {
				t.Fatalf("staged in %s", beside)
			}
			w.must(s.Fail(context.Background(), "x"))
			w.must(w.once(w.open(nil), job{batch: batch("d1"), rows: []string{"1"}, mode: mode}))
			w.wantRows(mode, "1")
		}
	}
}

// R63: an output behind a symbolic link is replaced where the link points to; the link stays.
func TestR63_ReplacingBehindASymbolicLink(t *testing.T) {
	w := newWorld(t)
	real := filepath.Join(w.dir, "real")
	w.must(os.MkdirAll(filepath.Dir(w.lake), 0o777))
	w.must(os.Mkdir(real, 0o777))
	w.must(os.Symlink(real, w.lake))
	w.must(w.once(w.open(nil), whole))
	if to, err := os.Readlink(w.lake); err != nil || to != real {
		t.Fatalf("%q, %v", to, err)
	}
	w.lake = real
	w.wantRows("behind the link", "1a", "1b")
}
