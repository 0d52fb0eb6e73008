package ledger

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ubunye-io/ubunye/engine/ledger/internal/tablelog"
	"github.com/ubunye-io/ubunye/engine/store/fsops"
)

var onceJob = job{batch: batch("d1"), rows: []string{"1a", "1b"}, class: Once}

// killedAfterPut is a process that dies when its entry is in the log and before it is told so.
func killedAfterPut() *killAfterIn { return &killAfterIn{kind: "rename", part: "/_log/"} }

// killAfterIn is a process that dies after its first operation of a kind whose new path has a part.
type killAfterIn struct {
	kind, part string
	dead       bool
}

func (k *killAfterIn) Before(fsops.Op) error {
	if k.dead {
		return errKilled
	}
	return nil
}

func (k *killAfterIn) After(op fsops.Op, _ error) error {
	if op.Kind == k.kind && strings.Contains(op.To, k.part) {
		k.dead = true
	}
	if k.dead {
		return errKilled
	}
	return nil
}

// R72: who finds a dead run's commit knows so before it stages anything, and can say which commit it is; the document
// and the records named the doubt until then.
func TestR72_TheCommitThatIsFoundIsNamed(t *testing.T) {
	w := newWorld(t)
	dead := w.dies(onceJob, killedAfterPut())
	ctx := context.Background()
	if view := w.open(nil).mustLook(w, onceJob.batch); len(view.Pending) != 1 || view.Pending[0].Run != dead || view.Pending[0].Certain() {
		t.Fatalf("what the holder may have left is not shown: %+v", view.Pending)
	}
	did, err := w.open(nil).Recover(ctx, Recovery{Pipeline: "sales"})
	if err != nil || len(did.Takeovers) != 1 || len(did.Takeovers[0].Pending) != 1 || len(did.Left) > 0 {
		t.Fatalf("%+v, %v", did, err)
	}
	if r, err := w.open(nil).readRecord(dead); err != nil || r.Status != Interrupted || !slices.Equal(r.Doubtful, []string{"clean_orders.clean"}) {
		t.Fatalf("%+v, %v", r, err)
	}
	done, left := w.finish()
	if len(left) > 0 || len(done) != 1 || len(done[0].Pending) != 1 || done[0].Pending[0].Name != "clean" {
		t.Fatalf("a start does not name the doubt: %+v, %v", done, left)
	}

	run, s := w.begin(w.open(nil), Request{Batch: onceJob.batch, Appends: true})
	w.must(s.Prepare(ctx, []OutputSpec{{Name: "clean", Class: Once, Mode: "append", Base: w.lake, Table: w.table(s, onceJob)}}))
	tables := s.Tables()
	if len(tables) != 1 || tables[0].Outcome != Found || tables[0].Mark != (Mark{Run: dead, Epoch: 1, Commit: "version 0"}) || tables[0].Base != w.lake {
		t.Fatalf("%+v", tables)
	}
	c := must(results(s, "clean"))
	w.must(s.CommitTables(ctx, c))
	w.must(s.Commit(ctx, c))
	w.must(s.Land(ctx))
	w.must(run.End(ctx, Succeeded))
	w.wantTable("found", onceJob.rows...)
	w.noOrphans("found", onceJob.batch)
	if done, _ := w.finish(); len(done) != 0 {
		t.Fatalf("the doubt is named though it is gone: %+v", done)
	}
}

// The output has another name now. The dead run's commit is found all the same, and a paused one is fenced.
func TestR70_TheOutputHasAnotherNameNow(t *testing.T) {
	renamed := job{batch: batch("d1"), rows: []string{"1c"}, class: Once, output: "orders", over: true}
	w := newWorld(t)
	dead := w.dies(onceJob, killedAfterPut())
	w.must(w.once(w.open(nil), renamed))
	w.wantTable("found by its old key", onceJob.rows...)
	if m := w.document(batch("d1")).Finished.Outputs["orders"].Mark; m.Run != dead {
		t.Fatalf("%+v", m)
	}

	w = newWorld(t)
	pause := &atPart{kind: "create", part: "/_log/", do: func() { w.must(w.once(w.open(nil), renamed)) }}
	var lost *LostError
	if err := w.once(w.open(pause), onceJob); !errors.As(err, &lost) || !pause.came {
		t.Fatalf("got %v", err)
	}
	w.wantTable("the paused run was fenced", renamed.rows...)
	w.noOrphans("the paused run was fenced", batch("d1"))
}

// A dead run's commit is found; a later one that would have replaced it, because the mode was another, is not fenced by
// it: what that one has moved into the table stays until a commit of our own fences it.
func TestI8_AFoundCommitFencesNoLaterOneThatReplaces(t *testing.T) {
	w := newWorld(t)
	first := w.dies(onceJob, killedAfterPut())
	replaces := job{batch: onceJob.batch, rows: []string{"1c"}, class: Replaces, mode: "x"}
	second := w.dies(replaces, &killAfterIn{kind: "rename", part: "/lake/orders/p=0/"})
	w.must(w.once(w.open(nil), onceJob))
	d := w.document(onceJob.batch)
	if d.Finished.Outputs["clean"].Mark.Run != first || len(d.Pending) != 1 || d.Pending[0].Run != second || len(w.rows()) != 3 {
		t.Fatalf("%q, %+v", w.rows(), d)
	}
	w.must(w.once(w.open(nil), job{batch: onceJob.batch, rows: []string{"1d"}, class: Replaces, mode: "x"}))
	w.wantTable("replaced", "1d")
	w.noOrphans("replaced", onceJob.batch)
}

// atPart calls do once, before the first operation of a kind with a part of its path.
type atPart struct {
	kind, part string
	do         func()
	came       bool
}

func (a *atPart) Before(op fsops.Op) error {
	if !a.came && op.Kind == a.kind && strings.Contains(op.Path, a.part) {
		a.came = true
		a.do()
	}
	return nil
}

func (a *atPart) After(fsops.Op, error) error { return nil }

// The ledger's documents are lost, or an old copy of them was put back: the table is ahead. Its commits are not
// taken for those of a later run, and the batch is there once.
func TestR70_ATableAheadOfItsLedger(t *testing.T) {
	for _, class := range []Class{Once, Replaces} {
		w := newWorld(t)
		j := job{batch: batch("d1"), rows: []string{"1a"}, class: class, mode: "x"}
		for range 3 {
			w.must(w.once(w.open(nil), job{batch: j.batch, rows: []string{"0"}, class: Replaces, mode: "x"}))
		}
		w.must(os.RemoveAll(filepath.Join(w.dir, ".ubunye", "batches")))
		w.must(w.once(w.open(nil), j))
		d := w.document(j.batch)
		if class == Once {
			w.wantTable("once", "0")
			if m := d.Finished.Outputs["clean"].Mark; m.Epoch != 3 || d.Finished.Epoch != 4 {
				t.Fatalf("%+v, %+v", m, d.Finished)
			}
			continue
		}
		w.wantTable("replaces", "1a")
		if m := d.Finished.Outputs["clean"].Mark; m.Epoch != 4 || d.Epoch != 4 {
			t.Fatalf("%+v, epoch %d", m, d.Epoch)
		}
	}
}

// answers is a table that gives the answers it is told.
type answers struct {
	look    Mark
	commit  Answer
	err     error
	resolve error
	asked   func(TableBatch)
}

func (a *answers) Look(_ context.Context, b TableBatch) (Mark, error) {
	if a.asked != nil {
		a.asked(b)
	}
	return a.look, nil
}

func (a *answers) Commit(context.Context, TableBatch, []string) (Answer, error) {
	return a.commit, a.err
}

func (a *answers) Resolve(context.Context, TableBatch, Pending) ([]string, error) {
	return nil, a.resolve
}

// commitTo takes a batch, stages a row, and commits to a table that gives these answers.
func (w *world) commitTo(a *answers, spec OutputSpec) (*Run, *Lease, Commit, error) {
	w.t.Helper()
	ctx := context.Background()
	run, s := w.begin(w.open(nil), Request{Batch: batch("d1")})
	spec.Name, spec.Table = "clean", a
	w.must(s.Prepare(ctx, []OutputSpec{spec}))
	if spec.Base != "" {
		w.must(stage(s, []string{"1"}))
	}
	c := Commit{State: "sales.1", Outputs: map[string]Result{"clean": {Claims: []string{}}}}
	if spec.Base != "" {
		c = must(results(s, "clean"))
	}
	return run, s, c, s.CommitTables(ctx, c)
}

// What a table was certainly not asked to take, or did not take, is not a doubt; its files are looked up all the same
// before they go. A resolution that fails removes nothing, and does not hinder the batch.
func TestI8_NothingOfATableIsRemovedWhileItIsUnknown(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	spec := OutputSpec{Class: Once, Mode: "append", Base: w.lake}
	no := errors.New("its schema is another one")
	run, s, _, err := w.commitTo(&answers{commit: Answer{Outcome: NotDone}, err: no}, spec)
	var failed *TableError
	if !errors.As(err, &failed) || failed.Output != "clean" || failed.Path != w.lake || !errors.Is(err, no) {
		t.Fatalf("got %v", err)
	}
	w.must(s.Fail(ctx, err.Error()))
	w.must(run.End(ctx, Failed))
	if r := must(w.open(nil).readRecord(run.ID)); len(r.Doubtful) > 0 {
		t.Fatalf("%+v", r)
	}
	first := w.rows()
	if d := w.document(batch("d1")); len(first) != 1 || d.Holder != nil || len(d.Pending) != 1 || len(d.Todo) > 0 {
		t.Fatalf("%q, %+v", first, d)
	}

	deaf := &answers{commit: Answer{Done, Mark{Epoch: 2}}, resolve: errNotAnswering}
	run, s, c, err := w.commitTo(deaf, spec)
	w.must(err)
	w.must(s.Commit(ctx, c))
	w.must(s.Land(ctx))
	w.must(run.End(ctx, Succeeded))
	if d := w.document(batch("d1")); len(d.Pending) != 1 || d.Finished.Epoch != 2 || len(w.rows()) != 2 {
		t.Fatalf("%q, %+v", w.rows(), d)
	}

	run, s, c, err = w.commitTo(&answers{commit: Answer{Done, Mark{Epoch: 3}}}, spec)
	w.must(err)
	w.must(s.Commit(ctx, c))
	w.must(s.Land(ctx))
	w.must(run.End(ctx, Succeeded))
	if d := w.document(batch("d1")); len(d.Pending) > 0 || len(d.Todo) > 0 || len(w.rows()) != 2 {
		t.Fatalf("what the log has never named is left: %q, %+v", w.rows(), d)
	}
}

// An answer that says nothing is an unknown outcome, also one that does not fit the class.
func TestI8_AnAnswerThatSaysNothingIsUnknown(t *testing.T) {
	for _, a := range []answers{{}, {err: errNotAnswering}, {commit: Answer{Outcome: Found}}} {
		w := newWorld(t)
		_, s, c, err := w.commitTo(&a, OutputSpec{Class: Replaces, Mode: "overwrite", Base: w.lake})
		var unknown *UnknownError
		if !errors.As(err, &unknown) || unknown.Output != "clean" || !errors.Is(err, a.err) && a.err != nil {
			t.Fatalf("got %v", err)
		}
		before := w.document(batch("d1"))
		if s.Commit(context.Background(), c) == nil || s.Fail(context.Background(), "x") != nil {
			t.Fatal("the lease goes on")
		}
		if now := w.document(batch("d1")); now.Holder == nil || len(now.Todo)+len(now.Pending) > 0 || now.Outputs["clean"].Phase != before.Outputs["clean"].Phase {
			t.Fatalf("%+v", now)
		}
		w.wantRows("moved, and left", "1")
	}
}

// A commit of a later run in the table ends the lease, whatever the document says.
func TestI2_AFencedRunWritesNothingMore(t *testing.T) {
	w := newWorld(t)
	_, s, c, err := w.commitTo(&answers{commit: Answer{Fenced, Mark{Run: "other", Epoch: 9}}}, OutputSpec{Class: Once, Base: w.lake})
	var lost *LostError
	if !errors.As(err, &lost) || lost.By != "other" {
		t.Fatalf("got %v", err)
	}
	if s.Commit(context.Background(), c) == nil || w.document(batch("d1")).Finished != nil {
		t.Fatal("a fenced run commits")
	}
}

// A batch is not committed before its tables are.
func TestI4_NoCommitBeforeItsTables(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	_, s := w.begin(w.open(nil), Request{Batch: batch("d1")})
	w.must(s.Prepare(ctx, []OutputSpec{{Name: "clean", Class: Once, Base: w.lake, Table: &answers{}}}))
	w.must(stage(s, []string{"1"}))
	if err := s.Commit(ctx, must(results(s, "clean"))); err == nil || w.document(batch("d1")).Finished != nil {
		t.Fatalf("got %v", err)
	}
}

// Class named: what a dead run may have left is named until the batch is run again, and never removed.
func TestNamedFilesAreNeverRemoved(t *testing.T) {
	w := newWorld(t)
	j := job{batch: batch("d1"), rows: []string{"1"}, class: Named, mode: "x"}
	w.dies(j, &killAfterIn{kind: "rename", part: "/lake/orders/p=0/"})
	w.must(w.once(w.open(nil), job{batch: j.batch, rows: []string{"1 again"}, class: Named, mode: "x"}))
	w.wantTable("named", "1 again")
	w.wantRows("files", "1", "1 again")
	if d := w.document(j.batch); len(d.Pending) > 0 {
		t.Fatalf("%+v", d.Pending)
	}
}

// A database has no folder: the phase is saved before the writer sends anything, a dead run's epoch is told to the next one,
// and there are no files to resolve.
func TestR78_ATableWithoutAFolder(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	spec := OutputSpec{Class: Once, Mode: "append", Target: "postgres://db/sales orders"}
	dead, _, _, err := w.commitTo(&answers{err: errNotAnswering}, spec)
	if !errors.As(err, new(*UnknownError)) {
		t.Fatalf("got %v", err)
	}
	if out := w.document(batch("d1")).Outputs["clean"]; out.Phase != phaseCommitting || out.Staging != "" || out.Base != (Place{}) {
		t.Fatalf("%+v", out)
	}
	w.takeAway(w.open(nil), batch("d1"))
	var asked TableBatch
	mark := Mark{Run: dead.ID, Epoch: 1, Commit: "its stage is gone"}
	run, s, c, err := w.commitTo(&answers{look: mark, asked: func(b TableBatch) { asked = b }, resolve: errNotAnswering}, spec)
	w.must(err)
	if len(asked.Pending) != 1 || asked.Pending[0].Epoch != 1 || asked.Epoch != 3 || asked.Key != "ubunye/sales/clean_orders/clean/"+batch("d1").Key {
		t.Fatalf("%+v", asked)
	}
	w.must(s.Commit(ctx, c))
	w.must(s.Land(ctx))
	w.must(run.End(ctx, Succeeded))
	if d := w.document(batch("d1")); len(d.Pending)+len(d.Todo) > 0 || *d.Finished.Outputs["clean"].Mark != mark {
		t.Fatalf("%+v", d)
	}
}

// A person forgets what a run may have left in a table: it is named once more, stays, and the record can go.
func TestForgottenFilesOfATableStay(t *testing.T) {
	w := newWorld(t)
	dead := w.dies(onceJob, killedAfterPut())
	w.takeAway(w.open(nil), onceJob.batch)
	given, err := w.open(nil).Forget(context.Background(), dead)
	if err != nil || len(given) != 1 || given[0].Entry.Do != "keep" || len(given[0].Entry.Names) != 2 || given[0].Path != w.lake {
		t.Fatalf("%+v, %v", given, err)
	}
	if d := w.document(onceJob.batch); len(d.Pending)+len(d.Todo) > 0 {
		t.Fatalf("%+v", d)
	}
	w.must(w.once(w.open(nil), onceJob)) // the log is looked at all the same
	w.wantTable("forgotten", onceJob.rows...)
}

// What a table's log is to name is durable before its writer is asked, also if the batch risks its newest files.
func TestR64_ATableIsDurableBeforeItsCommit(t *testing.T) {
	w := newWorld(t)
	synced := map[string]bool{}
	var at map[string]bool
	watch := &observed{do: func(op fsops.Op) {
		switch {
		case op.Kind == "sync" || op.Kind == "syncdir":
			synced[filepath.Base(op.Path)] = true
		case op.Kind == "create" && strings.Contains(op.Path, "/_log/"):
			at = map[string]bool{}
			for name := range synced {
				at[name] = true
			}
		}
	}}
	c := w.config(watch)
	c.Fast = true
	w.must(w.once(w.openAs(c), onceJob))
	entries := must(tablelog.Read(w.lake))
	for _, file := range entries[0].Files {
		if !at[filepath.Base(file)+stagedSuffix] || !at[filepath.Dir(file)] {
			t.Fatalf("%s was not durable: %v", file, at)
		}
	}
	if !at["orders"] || !at["lake"] {
		t.Fatalf("the table's folder was not: %v", at)
	}
}

// observed calls do after every operation.
type observed struct{ do func(fsops.Op) }

func (observed) Before(fsops.Op) error { return nil }

func (o *observed) After(op fsops.Op, _ error) error {
	o.do(op)
	return nil
}

// A document that was deleted under its holder is not made again: nothing is committed to the table.
func TestI2_NoTableIsCommittedToWithoutTheDocument(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	_, s := w.begin(w.open(nil), Request{Batch: batch("d1")})
	w.must(s.Prepare(ctx, []OutputSpec{{Name: "clean", Class: Once, Mode: "append", Base: w.lake, Table: w.table(s, onceJob)}}))
	w.must(stage(s, []string{"1"}))
	c := must(results(s, "clean"))
	w.must(os.RemoveAll(filepath.Join(w.dir, ".ubunye", "batches")))
	if err := s.CommitTables(ctx, c); err == nil {
		t.Fatal("committed")
	}
	w.wantTable("no document")
	w.wantRows("no document")
}
