package ledger

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ubunye-io/ubunye/engine/store/fsops"
)

// halfMoved is an output whose run was killed at operation k, and is taken for dead.
func halfMoved(t *testing.T, k int64) *world {
	w := newWorld(t)
	w.must(w.once(w.open(nil), old))
	w.must(os.WriteFile(filepath.Join(w.lake, "_metadata"), []byte("old"), 0o666))
	if err := w.once(w.mortal(hooks{killed{at: k}, pinned{syscall.EBUSY}}), whole); err == nil {
		t.Fatalf("not killed at %d", k)
	}
	w.abandon(batch("d1"))
	return w
}

// abandon leaves the batch of a dead run as a takeover does that is killed right after its save.
func (w *world) abandon(b Batch) {
	w.t.Helper()
	if w.holder(b) == "" {
		return
	}
	w.change(b, func(d *Document) {
		takeOver(d, &HeldError{Holder: *d.Holder, Gone: true}, "20260101T000000Z-00000000", time.Now())
		d.Holder = nil
		d.Epoch++
	})
}

// movesOf are the operations of a run that move an entry, the marker last, and the one after that.
func movesOf(t *testing.T) (moves []int64) {
	w := newWorld(t)
	w.must(w.once(w.open(nil), old))
	w.must(os.WriteFile(filepath.Join(w.lake, "_metadata"), []byte("old"), 0o666))
	trace := &fsops.Trace{}
	w.must(w.once(w.open(hooks{trace, pinned{syscall.EBUSY}}), whole))
	for _, op := range trace.Ops() {
		if op.Kind == "rename" && (filepath.Dir(op.Path) == w.lake || filepath.Dir(op.To) == w.lake) && filepath.Base(op.To) != targetName {
			moves = append(moves, op.N)
		}
	}
	if len(moves) != 7 { // _SUCCESS, _metadata, two old folders, two new ones, the marker
		t.Fatalf("%d moves", len(moves))
	}
	return append(moves, moves[len(moves)-1]+1)
}

// wantMoved asserts that the output holds exactly what it is to hold: all of the old run, or all of the new one.
func (w *world) wantMoved(what string, happened bool) {
	w.t.Helper()
	if happened {
		w.wantRows(what, whole.rows...)
	} else {
		w.wantRows(what, old.rows...)
	}
	for _, name := range []string{"_metadata", successName} { // _SUCCESS of the new run would come with its commit
		if is := must(there(filepath.Join(w.lake, name))); is == happened {
			w.t.Fatalf("%s: %s is there: %v", what, name, is)
		}
	}
	w.nothingStaged(w.t)
}

// R67, R26: whoever puts half moved entries back is itself killed at every operation; the next start finishes it.
func TestR67_KilledWhilePuttingBack(t *testing.T) {
	moves := movesOf(t)
	for i, k := range moves {
		happened := i == len(moves)-1
		for m := int64(1); ; m++ {
			w := halfMoved(t, k)
			trace := &fsops.Trace{}
			w.open(hooks{trace, killed{at: m}}).FinishCommitted(context.Background(), "sales")
			if _, left := w.finish(); len(left) > 0 {
				t.Fatalf("killed at %d and %d: left: %v", k, m, left)
			}
			w.wantMoved(fmt.Sprintf("killed at %d and %d", k, m), happened)
			if m > int64(len(trace.Ops())) {
				break
			}
		}
	}
}

// R64, R67: a power cut keeps a removal below the grabbed folder and forgets the rename that came before it.
// What is back in the output is not taken for a new entry, although its place in new/ is empty.
func TestR64_ARemovalOutlivesItsRename(t *testing.T) {
	moves := movesOf(t)
	w := halfMoved(t, moves[5])
	w.open(&dies{kind: "rename", part: droppedSuffix}).FinishCommitted(context.Background(), "sales")
	found := must(filepath.Glob(filepath.Join(w.dir, ".ubunye", "staging", "*", "*", "*.drop", "new", "p=0")))
	if len(found) != 1 {
		t.Fatalf("%q", found)
	}
	w.wantRows("put back", old.rows...)
	w.must(os.RemoveAll(found[0]))
	if _, left := w.finish(); len(left) > 0 {
		t.Fatalf("left: %v", left)
	}
	w.wantMoved("after the power cut", false)
}

// R67: two starts put the same entries back at once: whatever one has looked up, the other may have finished
// before it acts. None of the old data is lost, and neither calls it a failure.
func TestR67_TwoPutBackAtOnce(t *testing.T) {
	moves := movesOf(t)
	for i, k := range moves {
		happened := i == len(moves)-1
		for m := int64(1); ; m++ {
			w := halfMoved(t, k)
			paused := &atNumber{at: m, do: func() {
				if _, left := w.finish(); len(left) > 0 {
					t.Fatalf("killed at %d: left by the second, while the first stands at %d: %v", k, m, left)
				}
			}}
			_, left, err := w.open(paused).FinishCommitted(context.Background(), "sales")
			if err != nil || len(left) > 0 {
				t.Fatalf("killed at %d: left by the first, which stood at %d: %v, %v", k, m, left, err)
			}
			w.wantMoved(fmt.Sprintf("killed at %d, two at %d", k, m), happened)
			if paused.at > 0 {
				break
			}
		}
	}
}

// atNumber calls do once, before an operation.
type atNumber struct {
	at int64
	do func()
}

func (a *atNumber) Before(op fsops.Op) error {
	if op.N == a.at {
		a.at = 0
		a.do()
	}
	return nil
}

func (a *atNumber) After(fsops.Op, error) error { return nil }

// R65 in part: a run that is paused at any of its moves and wakes up after the grab moves nothing more.
func TestR65_APausedRunMovesNothingAfterTheGrab(t *testing.T) {
	moves := movesOf(t)
	for _, k := range moves[:len(moves)-1] {
		w := newWorld(t)
		w.must(w.once(w.open(nil), old))
		w.must(os.WriteFile(filepath.Join(w.lake, "_metadata"), []byte("old"), 0o666))
		paused := &atNumber{at: k, do: func() {
			w.abandon(batch("d1"))
			if _, left := w.finish(); len(left) > 0 {
				t.Fatalf("left: %v", left)
			}
			w.wantMoved("grabbed", false)
		}}
		err := w.once(w.mortal(hooks{paused, pinned{syscall.EBUSY}}), whole)
		if err == nil || paused.at != 0 {
			t.Fatalf("%d: %v", k, err)
		}
		w.wantMoved("woken", false)
		w.must(w.once(w.open(pinned{syscall.EBUSY}), whole))
		w.wantRows("run again", whole.rows...)
		w.nothingStaged(t)
	}
}

// What others put into the folder after it was listed goes with what was listed, and comes back with it;
// what they take away is not missed. What stands where an old entry must go back is not touched.
func TestR67_StrangersWhileEntriesAreMoved(t *testing.T) {
	stranger := func(w *world, name string) func() {
		return func() { w.must(os.WriteFile(filepath.Join(w.lake, name), []byte("s"), 0o666)) }
	}
	lake := "/lake/orders"
	for _, c := range []struct {
		name  string
		at    atOp // when it happens
		do    func(w *world) func()
		kill  string // the move, by the end or the beginning of its name, at which the run is killed; "": it is not
		rows  []string
		left  string
		after []string // what a run without strangers leaves
	}{
		{name: "comes", at: atOp{kind: "rename", suffix: lake + "/p=0"}, do: func(w *world) func() { return stranger(w, "s.parquet") }, rows: whole.rows},
		{name: "comes, killed", at: atOp{kind: "rename", suffix: lake + "/p=0"}, do: func(w *world) func() { return stranger(w, "s.parquet") }, kill: "/new/p=1",
			rows: []string{"2a", "2b", "s"}},
		{name: "goes", at: atOp{kind: "rename", suffix: lake + "/p=0"}, do: func(w *world) func() { return func() { w.must(os.RemoveAll(filepath.Join(w.lake, "p=1"))) } }, rows: whole.rows},
		{name: "goes, killed", at: atOp{kind: "rename", suffix: lake + "/p=0"}, do: func(w *world) func() { return func() { w.must(os.RemoveAll(filepath.Join(w.lake, "p=1"))) } },
			kill: partMarker, rows: []string{"2a"}},
		{name: "in the way of a new one", at: atOp{kind: "rename", suffix: "/new/p=1"}, do: func(w *world) func() { return stranger(w, "p=1") },
			rows: []string{"2a"}, left: "cannot be put back"},
		{name: "again and again", at: atOp{kind: "rename", suffix: "s.parquet"}, do: func(w *world) func() { return func() {} }, rows: []string{"2a", "2b"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.must(w.once(w.open(nil), old))
			at := &c.at
			at.do = c.do(w)
			all := hooks{pinned{syscall.EBUSY}, at}
			if c.name == "again and again" {
				n := 0
				all = append(all, &each{kind: "rename", suffix: stagedSuffix, do: func() { n++; stranger(w, fmt.Sprintf("s%d.txt", n))() }})
			}
			if c.kill != "" {
				all = append(all, &dies{kind: "rename", part: c.kill})
			}
			err := w.once(w.mortal(all), whole)
			if worked := err == nil; worked != slices.Equal(c.rows, whole.rows) {
				t.Fatalf("%v", err)
			}
			w.abandon(batch("d1"))
			_, left := w.finish()
			if c.left == "" && len(left) > 0 || c.left != "" && (len(left) != 1 || !strings.Contains(left[0].String(), c.left)) {
				t.Fatalf("left: %v", left)
			}
			w.wantRows(c.name, c.rows...)
			if c.left != "" {
				if is := must(os.ReadFile(filepath.Join(w.lake, "p=1"))); string(is) != "s" {
					t.Fatalf("%q", is)
				}
				w.must(os.Remove(filepath.Join(w.lake, "p=1"))) // a person makes room
				if _, left := w.finish(); len(left) > 0 {
					t.Fatalf("left: %v", left)
				}
				w.wantRows("mended", old.rows...)
			}
			w.nothingStaged(t)
		})
	}
}

// each calls do before every operation of a kind whose second name ends in a text.
type each struct {
	kind, suffix string
	do           func()
}

func (e *each) Before(op fsops.Op) error {
	if op.Kind == e.kind && strings.HasSuffix(op.To, e.suffix) {
		e.do()
	}
	return nil
}

func (e *each) After(fsops.Op, error) error { return nil }

// dies refuses every change from the first one of a kind whose path ends in a text, or whose last element begins with it.
type dies struct {
	kind, part string
	dead       bool
}

func (d *dies) Before(op fsops.Op) error {
	if d.dead = d.dead || op.Kind == d.kind && (strings.HasSuffix(op.Path, d.part) || strings.HasPrefix(filepath.Base(op.Path), d.part)); d.dead {
		return errKilled
	}
	return nil
}

func (d *dies) After(fsops.Op, error) error { return nil }

// What is moved, and what stays: the file system's and the ledger's own, and what is hidden.
func TestWhatIsMoved(t *testing.T) {
	w := newWorld(t)
	w.must(w.once(w.open(nil), old))
	stay := []string{"lost+found/", ".snapshot/", ".part.crc", "_ubunye-0123456789ab/x.staged", "_ubunye-0123456789ab.drop/x.staged"}
	gone := []string{"stranger.parquet", "_metadata", "_delta_log/0.json", strings.Repeat("n", 250)}
	for _, name := range slices.Concat(stay, gone) {
		path := filepath.Join(w.lake, name)
		w.must(os.MkdirAll(filepath.Dir(path), 0o777))
		if strings.HasSuffix(name, "/") {
			w.must(os.MkdirAll(path, 0o777))
		} else {
			w.must(os.WriteFile(path, []byte("s"), 0o666))
		}
	}
	before := must(readTarget(w.lake))
	for _, err := range []error{syscall.EBUSY, syscall.EXDEV} {
		w.must(w.once(w.open(pinned{err}), whole))
	}
	w.wantRows("moved", whole.rows...)
	for _, name := range stay {
		if !must(there(filepath.Join(w.lake, name))) {
			t.Errorf("%s is gone", name)
		}
	}
	for _, name := range gone {
		if must(there(filepath.Join(w.lake, name))) {
			t.Errorf("%s is left", name)
		}
	}
	if after := must(readTarget(w.lake)); after != before {
		t.Fatalf("target %+v, was %+v", after, before)
	}
	names := namesIn(t, w.lake)
	markers := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !strings.HasPrefix(filepath.Base(name), partMarker) })
	if len(markers) != 1 || !must(there(filepath.Join(w.lake, successName))) {
		t.Fatalf("%q", names)
	}
}

// A name that no list can hold is refused before anything is moved.
func TestANameThatCannotBeWrittenDown(t *testing.T) {
	w := newWorld(t)
	w.must(w.once(w.open(nil), old))
	w.must(os.WriteFile(filepath.Join(w.lake, "\xff"), nil, 0o666))
	if err := w.once(w.open(pinned{syscall.EBUSY}), whole); err == nil || !strings.Contains(err.Error(), "no UTF-8") {
		t.Fatalf("got %v", err)
	}
	w.wantRows("refused", old.rows...)
	w.nothingStaged(t)
}

// I4, I8: where the marker is in two places or in none, nobody tells, and nothing is removed.
func TestI8_AMarkerThatIsGoneTellsNothing(t *testing.T) {
	moves := movesOf(t)
	for _, c := range []struct {
		k  int64
		do func(marker string, w *world)
	}{
		{moves[5], func(marker string, w *world) { w.must(os.Remove(marker)) }},
		{moves[5], func(marker string, w *world) {
			w.must(os.WriteFile(filepath.Join(w.lake, filepath.Base(marker)), nil, 0o666))
		}},
	} {
		w := halfMoved(t, c.k)
		found := must(filepath.Glob(filepath.Join(w.dir, ".ubunye", "staging", "*", "*", "*", "new", partMarker+"*")))
		if len(found) != 1 {
			t.Fatalf("%q", found)
		}
		c.do(found[0], w)
		for range 2 {
			if _, left := w.finish(); len(left) != 1 || !strings.Contains(left[0].String(), "nobody can tell") {
				t.Fatalf("left: %v", left)
			}
		}
		kept := must(filepath.Glob(filepath.Join(w.dir, ".ubunye", "staging", "*", "*", "*.drop", "old", "p=*", "*")))
		if len(kept) != 2 {
			t.Fatalf("%q", kept)
		}
	}
}

// The order in which things become durable: staged files, the list, the moves, all names, the marker, its
// name, phase, commit, and only then the old data goes.
func TestOrderOfMoving(t *testing.T) {
	w := newWorld(t)
	w.must(w.once(w.open(nil), old))
	trace := &fsops.Trace{}
	w.must(w.once(w.open(hooks{trace, pinned{syscall.EBUSY}}), whole))
	ops := trace.Ops()
	all := func(is func(fsops.Op) bool) (at []int) {
		for i, op := range ops {
			if is(op) {
				at = append(at, i)
			}
		}
		return at
	}
	saves := all(func(op fsops.Op) bool { return op.Kind == "link" })
	if len(saves) != 7 { // acquire, prepare, committing, the list, done, commit, mop
		t.Fatalf("%d saves", len(saves))
	}
	file := all(func(op fsops.Op) bool { return op.Kind == "sync" && strings.Contains(op.Path, "/new/p=0/part-") })
	away := all(func(op fsops.Op) bool { return op.Kind == "rename" && filepath.Dir(op.Path) == w.lake })
	in := all(func(op fsops.Op) bool {
		return op.Kind == "rename" && filepath.Dir(op.To) == w.lake && strings.HasPrefix(filepath.Base(op.To), "p=")
	})
	marker := all(func(op fsops.Op) bool {
		return op.Kind == "rename" && strings.HasPrefix(filepath.Base(op.To), partMarker) && filepath.Dir(op.To) == w.lake
	})
	gone := all(func(op fsops.Op) bool { return op.Kind == "remove" && strings.Contains(op.Path, goneSuffix) })
	if len(away) != 3 || len(in) != 2 || len(marker) != 1 || len(gone) < 4 {
		t.Fatalf("%d moved away, %d in, %d markers, %d removed", len(away), len(in), len(marker), len(gone))
	}
	staging := filepath.Dir(filepath.Dir(ops[marker[0]].Path))
	syncs := func(dir string) (before, after int) {
		before, after = -1, -1
		for _, i := range all(func(op fsops.Op) bool { return op.Kind == "syncdir" && op.Path == dir }) {
			switch {
			case i > in[1] && i < marker[0]:
				before = i
			case i > marker[0] && i < saves[4]:
				after = i
			}
		}
		return before, after
	}
	order := []int{file[0], saves[2], saves[3], away[0], away[2], in[0], in[1], marker[0], saves[4], saves[5], gone[0], saves[6]}
	if !slices.IsSorted(order) {
		t.Fatalf("order %v", order)
	}
	for _, dir := range []string{w.lake, filepath.Join(staging, newFolder), filepath.Join(staging, oldFolder)} {
		if before, _ := syncs(dir); before < 0 {
			t.Errorf("%s is not durable before the marker is moved", dir)
		}
	}
	for _, dir := range []string{w.lake, filepath.Join(staging, newFolder)} {
		if _, after := syncs(dir); after < 0 {
			t.Errorf("%s is not durable before the phase is saved", dir)
		}
	}
}
