package ledger

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/ubunye-io/ubunye/engine/store"
	"github.com/ubunye-io/ubunye/engine/store/fsops"
)

func (w *world) recover(q Recovery) Recovered {
	w.t.Helper()
	q.Pipeline = "sales"
	did, err := w.open(nil).Recover(context.Background(), q)
	w.must(err)
	return did
}

// R29: a run killed at every operation; recover lands what it had committed and drops what it had not, as a start
// would, and nothing of the dead run is left but its record. It needs nothing a second time.
func TestR29_RecoverAtEveryOperation(t *testing.T) {
	for _, j := range []job{{batch: batch("d1"), rows: []string{"1a", "1b"}}, whole} {
		t.Run(j.mode, func(t *testing.T) {
			t.Parallel()
			for k := int64(1); ; k++ {
				w := newWorld(t)
				w.must(w.once(w.open(nil), old))
				err := w.once(w.mortal(killed{at: k}), j)
				seen := w.rows()
				dead := w.holder(j.batch)
				did := w.recover(Recovery{})
				if len(did.Left)+len(did.Held) > 0 || (dead != "") != (len(did.Takeovers) == 1) {
					t.Fatalf("kill at %d: %+v", k, did)
				}
				want := seen
				if w.document(j.batch).Finished != nil {
					want = slices.Clone(j.rows)
					if j.mode == "" {
						want = append(want, old.rows...)
					}
				}
				w.wantRows("recovered", want...)
				w.nothingStaged(t)
				w.endedRecord(t, dead)
				if again := w.recover(Recovery{}); len(again.Takeovers)+len(again.Left)+len(again.Held)+len(again.Stray) > 0 {
					t.Fatalf("kill at %d, again: %+v", k, again)
				}
				if ids := w.runs(); slices.Contains(ids, "") || len(ids) > 1 {
					t.Fatalf("kill at %d: runs %q", k, ids)
				}
				if err == nil {
					return
				}
			}
		})
	}
}

// A holder that is silent is watched; one that lives is named; one that a person declares dead is taken over.
func TestR29_RecoverJudges(t *testing.T) {
	w := newWorld(t)
	alive, _ := w.begin(w.open(nil), Request{Batch: batch("d1")})
	if did := w.recover(Recovery{}); len(did.Takeovers) > 0 || len(did.Held) != 1 || did.Held[0].Holder.Run != alive.ID {
		t.Fatalf("%+v", did)
	}
	if did := w.recover(Recovery{Dead: []string{alive.ID}}); len(did.Takeovers) != 1 || len(did.Held) != 0 || w.holder(batch("d1")) != "" {
		t.Fatalf("%+v", did)
	}
	silent, _ := w.silent(batch("d2"))
	c := w.config(nil)
	var time clock
	c.Elapsed = time.elapsed
	told := 0
	did, err := w.openAs(c).Recover(context.Background(), Recovery{Pipeline: "sales", Waiting: func(err error) {
		var held *TargetHeldError
		if told++; !errors.As(err, &held) || held.Other.Run != silent.ID || held.Looks == 0 {
			t.Errorf("%+v", err)
		}
		time.pass(secondLook(c.Heartbeat))
	}})
	if err != nil || told != 1 || len(did.Takeovers) != 1 || did.Takeovers[0].Certain || w.holder(batch("d2")) != "" {
		t.Fatalf("told %d times: %+v, %v", told, did, err)
	}
}

// R20: staging that no document names is removed only by recover, only if its run is dead, and nothing else is.
func TestR20_StrayStagingOfDeadRuns(t *testing.T) {
	w := newWorld(t)
	w.must(w.once(w.open(nil), job{batch: batch("d2"), rows: []string{"2"}}))
	l := w.open(nil)
	id := must(l.id())
	w.other(lowest, Running, "")
	stray := func(path, run, ledger string) string {
		w.must(os.MkdirAll(path, 0o777))
		data := `{"ledger":"` + ledger + `","run":"` + run + `","batch":"b","output":"o"}`
		w.must(os.WriteFile(filepath.Join(path, stagingMarker), []byte(data), 0o666))
		return path
	}
	goes := []string{
		stray(l.sub(stagingFolder, "20200101T000000Z-00000000", "k", "o"), "20200101T000000Z-00000000", id),
		stray(filepath.Join(w.lake, "_ubunye-0123456789ab"), "20200101T000000Z-00000000", id),
	}
	stays := []string{
		stray(l.sub(stagingFolder, lowest, "k", "o"), lowest, id),
		stray(filepath.Join(w.lake, "_ubunye-0123456789ac"), lowest, id),
		stray(filepath.Join(w.lake, "_ubunye-0123456789ad"), "20200101T000000Z-00000000", "another ledger's"),
	}
	w.must(w.once(w.open(nil), job{batch: batch("d3"), rows: []string{"3"}}))
	for _, dir := range append(goes, stays...) {
		if _, err := os.Stat(dir); err != nil {
			t.Fatalf("a run removed %s", dir)
		}
	}
	did := w.recover(Recovery{})
	slices.Sort(goes)
	if slices.Sort(did.Stray); !slices.Equal(did.Stray, goes) {
		t.Fatalf("removed %q, want %q", did.Stray, goes)
	}
	for _, dir := range stays {
		if _, err := os.Stat(dir); err != nil {
			t.Fatalf("%s went", dir)
		}
	}
}

func TestRecoverMakesNoLedger(t *testing.T) {
	w := newWorld(t)
	if did := w.recover(Recovery{}); len(did.Completed) > 0 || len(tree(t, w.dir)) > 1 {
		t.Fatalf("%+v, %q", did, tree(t, w.dir))
	}
}

// R32: what can never be carried out is forgotten, by a save, and what is given up is named.
func TestR32_Forget(t *testing.T) {
	w := committed(t)
	run := w.document(batch("d1")).Finished.Run
	claims := w.document(batch("d1")).Finished.Outputs["clean"].Claims
	w.must(os.MkdirAll(filepath.Join(w.lake, claims[0]), 0o777)) // its name is taken
	w.wantLeft(Land, claims[0])
	epoch := w.document(batch("d1")).Epoch
	given, err := w.open(nil).Forget(context.Background(), run)
	if err != nil || len(given) != 1 || given[0].Entry.Do != Land || !slices.Equal(given[0].Entry.Names, claims) {
		t.Fatalf("%+v, %v", given, err)
	}
	if d := w.document(batch("d1")); len(d.Todo) > 0 || d.Epoch != epoch {
		t.Fatalf("%+v", d)
	}
	w.must(w.once(w.open(nil), job{batch: batch("d1"), rows: []string{"1c"}, rerun: true, anyway: true}))
}

// A doubtful output is named until it is forgotten.
func TestForgetADoubtfulOutput(t *testing.T) {
	w := newWorld(t)
	w.must(w.once(w.open(nil), old))
	dead := w.dies(whole, &killAfter{kind: "exchange", suffix: "/lake/orders"})
	w.recover(Recovery{})
	if done, _ := w.finish(); len(done) != 1 || done[0].Kept[0].Run != dead {
		t.Fatalf("%+v", done)
	}
	given, err := w.open(nil).Forget(context.Background(), dead)
	if done, _ := w.finish(); err != nil || len(given)+len(done) != 0 {
		t.Fatalf("%+v, %v, %+v", given, err, done)
	}
	live, _ := w.begin(w.open(nil), Request{Batch: batch("d1")})
	w.change(batch("d1"), func(d *Document) { d.Todo = []Entry{{Do: Drop, Run: dead, Staging: "staging/a/b/c"}} })
	var held *HeldError
	if _, err := w.open(nil).Forget(context.Background(), dead); !errors.As(err, &held) || held.Holder.Run != live.ID {
		t.Fatalf("of a batch that is held: %v", err)
	}
}

// R10, R29: a damaged document is set aside: the one before it counts again with a higher epoch, the damaged file
// is kept, and files that the lost one may have landed are named. A run that lives is not in its way.
func TestR29_SetAside(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	w.must(w.once(w.open(nil), job{batch: batch("d2"), rows: []string{"2"}}))
	key := batch("d1").Key
	if _, err := w.open(nil).SetAside(ctx, key); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("of a batch that never was: %v", err)
	}
	// dies when all has landed, before that is written down
	w.dies(job{batch: batch("d1"), rows: []string{"1a", "1b"}}, &killBefore{match: func(op fsops.Op) bool { return op.Kind == "remove" && filepath.Ext(op.Path) == droppedSuffix }})
	if _, err := w.open(nil).SetAside(ctx, key); !errors.Is(err, store.ErrReadable) {
		t.Fatalf("of a good document: %v", err)
	}
	l := w.open(nil)
	d, v, err := l.load(ctx, batch("d1"))
	w.must(err)
	claims := d.Finished.Outputs["clean"].Claims
	w.must(os.WriteFile(v.Path, []byte("{"), 0o666))
	w.other(lowest, Running, "", batch("d1"))
	if _, err := w.open(nil).SetAside(ctx, key); !errors.As(err, new(*TargetHeldError)) {
		t.Fatalf("while a run of the batch lives: %v", err)
	}
	w.must(w.open(nil).removeRecord(lowest))

	damage, err := w.open(nil).SetAside(ctx, key)
	w.must(err)
	var want []string
	for _, claim := range claims {
		want = append(want, filepath.Join(w.lake, claim))
	}
	if damage.Batch.Key != key || damage.Kept != v.Path+".damaged" || !slices.Equal(damage.Unclaimed, want) {
		t.Fatalf("%+v, want %q", damage, want)
	}
	if data, err := os.ReadFile(damage.Kept); err != nil || string(data) != "{" {
		t.Fatalf("the damaged file: %q, %v", data, err)
	}
	if now := w.document(batch("d1")); now.Epoch != d.Epoch+1 || now.Finished != nil || now.Holder == nil {
		t.Fatalf("%+v", now)
	}
	for _, path := range damage.Unclaimed { // what a person would do who wants the batch again
		w.must(os.Remove(path))
	}
	w.must(w.once(w.open(nil), job{batch: batch("d1"), rows: []string{"1a", "1b"}}))
	w.wantRows("run again", "1a", "1b", "2")
	w.nothingStaged(t)
}

// A writer that was about to save on the damaged document, or had saved it, has lost.
func TestI2_SetAsideFencesTheSaver(t *testing.T) {
	w := newWorld(t)
	_, s := w.begin(w.mortal(nil), Request{Batch: batch("d1")})
	w.must(s.Prepare(context.Background(), w.spec()))
	w.must(stage(s, []string{"1"}))
	w.must(os.WriteFile(s.version.Path, nil, 0o666))
	damage, err := w.open(nil).SetAside(context.Background(), batch("d1").Key)
	if err != nil || len(damage.Unclaimed) > 0 {
		t.Fatalf("%+v, %v", damage, err)
	}
	err = commit(s, "clean")
	if err == nil || w.document(batch("d1")).Finished != nil {
		t.Fatalf("it committed: %v", err)
	}
	w.wantRows("fenced")
}
