package ledger

import (
	"context"
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

// hooks are several, asked in order.
type hooks []fsops.Hook

func (h hooks) Before(op fsops.Op) error {
	for _, one := range h {
		if err := one.Before(op); err != nil {
			return err
		}
	}
	return nil
}

func (h hooks) After(op fsops.Op, err error) error {
	for _, one := range h {
		if lost := one.After(op, err); lost != nil {
			return lost
		}
	}
	return nil
}

// noExchange is a file system that cannot exchange (NFS, SMB, FUSE).
type noExchange struct{}

func (noExchange) Before(op fsops.Op) error {
	if op.Kind == "exchange" {
		return errors.ErrUnsupported
	}
	return nil
}

func (noExchange) After(fsops.Op, error) error { return nil }

// pinned is an output folder that cannot be renamed, as a mount point cannot.
type pinned struct {
	err error // syscall.EBUSY, or syscall.EXDEV as an overlay says
}

func (p pinned) Before(op fsops.Op) error {
	if (op.Kind == "exchange" || op.Kind == "rename") && (strings.HasSuffix(op.Path, "/lake/orders") || strings.HasSuffix(op.To, "/lake/orders")) {
		return p.err
	}
	return nil
}

func (pinned) After(fsops.Op, error) error { return nil }

// reader looks at the output after each operation that can change what a name stands for, as a reader that
// polls may.
type reader struct {
	w    *world
	look func(rows []string) error

	mu  sync.Mutex
	bad error
}

func (r *reader) Before(fsops.Op) error { return nil }

func (r *reader) After(op fsops.Op, _ error) error {
	if !slices.Contains([]string{"rename", "exchange", "remove", "create"}, op.Kind) {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.look(r.w.rows()); err != nil && r.bad == nil {
		r.bad = fmt.Errorf("after operation %d (%s %s): %w", op.N, op.Kind, op.Path, err)
	}
	return nil
}

// replacing is what was there before a run that replaces, and what is there after it.
type replacing struct {
	name    string
	before  []job
	run     job
	old     []string
	new     []string
	renames bool         // two renames instead of an exchange
	moved   bool         // the output cannot be renamed: what is in it is moved
	mount   func(*world) // that is so because a disk is mounted there
	disk    bool         // the output is on another disk than the ledger
	every   bool         // stopped in every way, not only killed
}

func replacings() []replacing {
	d1, d2 := batch("2026-01-01"), batch("2026-01-02")
	append2 := job{batch: d2, rows: []string{"2a", "2b"}}
	whole := job{batch: d1, rows: []string{"1a", "1b"}, mode: wholeMode}
	parts3 := job{batch: d2, rows: []string{"2a", "2b", "2c"}, mode: partsMode}
	parts := job{batch: d1, rows: []string{"1a", "1b"}, mode: partsMode}
	slice := job{batch: d1, rows: []string{"1a"}, mode: partsMode, slice: "p=1"}
	fails := whole
	fails.fails = true
	partsFail := parts
	partsFail.fails = true
	return []replacing{
		{name: "first overwrite", run: whole, new: whole.rows},
		{name: "overwrite", every: true, before: []job{append2}, run: whole, old: append2.rows, new: whole.rows},
		{name: "overwrite again", before: []job{whole}, run: job{batch: d1, rows: []string{"1c"}, mode: wholeMode}, old: whole.rows, new: []string{"1c"}},
		{name: "overwrite by nothing", before: []job{append2}, run: job{batch: d1, mode: wholeMode}, old: append2.rows},
		{name: "overwrite on another disk", before: []job{append2}, run: whole, old: append2.rows, new: whole.rows, disk: true},
		{name: "overwrite by two renames", every: true, before: []job{append2}, run: whole, old: append2.rows, new: whole.rows, renames: true},
		{name: "overwrite by two renames on another disk", before: []job{append2}, run: whole, old: append2.rows, new: whole.rows, renames: true, disk: true},
		{name: "overwrite by moves", every: true, before: []job{append2}, run: whole, old: append2.rows, new: whole.rows, moved: true},
		{name: "overwrite by moves again", before: []job{whole}, run: job{batch: d1, rows: []string{"1c"}, mode: wholeMode}, old: whole.rows, new: []string{"1c"}, moved: true},
		{name: "overwrite by moves of plain files", before: []job{flat(append2)}, run: flat(whole), old: append2.rows, new: whole.rows, moved: true},
		{name: "overwrite by moves, then the task fails", before: []job{append2}, run: fails, old: append2.rows, new: whole.rows, moved: true},
		{name: "overwrite, then the task fails", before: []job{append2}, run: fails, old: append2.rows, new: whole.rows},
		{name: "first partitions", run: parts, new: parts.rows},
		{name: "partitions", every: true, before: []job{parts3}, run: parts, old: parts3.rows, new: []string{"1a", "1b", "2c"}},
		{name: "partitions on another disk", before: []job{parts3}, run: parts, old: parts3.rows, new: []string{"1a", "1b", "2c"}, disk: true},
		{name: "partitions by two renames", before: []job{parts3}, run: parts, old: parts3.rows, new: []string{"1a", "1b", "2c"}, renames: true},
		{name: "partitions and an empty slice", before: []job{parts3}, run: slice, old: parts3.rows, new: []string{"1a", "2c"}},
		{name: "partitions, then the task fails", before: []job{parts3}, run: partsFail, old: parts3.rows, new: []string{"1a", "1b", "2c"}},
	}
}

func (sc replacing) setUp(t *testing.T) *world {
	w := newWorld(t)
	if sc.mount != nil {
		sc.mount(w)
	}
	if sc.disk {
		w.lake = filepath.Join(w.otherDisk(), "lake", "orders")
		w.must(os.MkdirAll(filepath.Dir(w.lake), 0o777))
	}
	for _, j := range sc.before {
		w.must(w.once(w.open(nil), j))
	}
	return w
}

// whole tells what is wrong with what a reader sees: of each folder that is replaced, all of the old rows
// or all of the new ones; nothing only between two renames.
func (sc replacing) whole(rows []string) error {
	if sc.moved {
		return sc.part(rows)
	}
	if sc.run.mode == wholeMode {
		if slices.Equal(rows, sc.old) || slices.Equal(rows, sc.new) || sc.renames && len(rows) == 0 {
			return nil
		}
		return fmt.Errorf("a reader sees %q, want %q or %q", rows, sc.old, sc.new)
	}
	// a row stands for a folder: that of its letter
	for _, letter := range []string{"a", "b", "c"} {
		of := func(rows []string) []string {
			return slices.DeleteFunc(slices.Clone(rows), func(row string) bool { return !strings.HasSuffix(row, letter) })
		}
		got := of(rows)
		if slices.Equal(got, of(sc.old)) || slices.Equal(got, of(sc.new)) || sc.renames && len(got) == 0 {
			continue
		}
		return fmt.Errorf("a reader sees %q in partition %s, want %q or %q", got, letter, of(sc.old), of(sc.new))
	}
	return nil
}

// part tells what is wrong with what a reader sees while entries are moved: old rows or new ones, each once.
func (sc replacing) part(rows []string) error {
	both := slices.Concat(sc.old, sc.new)
	for i, row := range rows {
		if !slices.Contains(both, row) || i > 0 && row == rows[i-1] {
			return fmt.Errorf("a reader sees %q of %q and %q", rows, sc.old, sc.new)
		}
	}
	return nil
}

func (sc replacing) hooks(w *world, more fsops.Hook) (hooks, *reader) {
	r := &reader{w: w, look: sc.whole}
	all := hooks{r}
	if more != nil {
		all = append(all, more)
	}
	if sc.renames {
		all = append(all, noExchange{})
	}
	if sc.moved && sc.mount == nil {
		all = append(all, pinned{syscall.EBUSY})
	}
	return all, r
}

// A run that replaces is stopped at every operation, in four ways. Whatever the instant, a reader finds
// the output whole: old rows or new ones, never none, never both. What is committed stays; what was put
// in place by a run that did not commit is not taken back by whoever drops its staging (I3); the next
// clean run leaves its own rows.
func TestR62_StoppedAtEveryOperation(t *testing.T) {
	for _, sc := range replacings() {
		t.Run(sc.name, sc.stoppedEverywhere)
	}
}

func (sc replacing) stoppedEverywhere(t *testing.T) {
	w := sc.setUp(t)
	w.wantRows("before", sc.old...)
	trace := &fsops.Trace{}
	all, r := sc.hooks(w, trace)
	err := w.once(w.open(all), sc.run)
	if sc.run.fails != (err != nil) {
		t.Fatal(err)
	}
	w.wantRows(sc.name, sc.new...)
	if r.bad != nil {
		t.Fatal(r.bad)
	}
	n := int64(len(trace.Ops()))
	t.Logf("%d operations", n)
	if n < 25 {
		t.Fatalf("only %d operations were seen", n)
	}
	kinds := []string{"kill"}
	if sc.every {
		kinds = append(kinds, "enospc", "full", "lost")
	}
	everyStop(t, n, kinds, func(t *testing.T, _ string, hook fsops.Hook, k int64) { sc.stopped(t, hook, k > n) })
}

func (sc replacing) stopped(t *testing.T, hook fsops.Hook, mustWork bool) {
	w := sc.setUp(t)
	all, r := sc.hooks(w, hook)
	if _, kill := hook.(killed); kill {
		all = all[1:] // up to the kill a reader saw what the run without one showed
	}
	err := w.once(w.mortal(all), sc.run)
	if mustWork && err != nil && !sc.run.fails {
		t.Fatal(err)
	}
	wanted := func(what string) []string {
		t.Helper()
		rows := w.rows()
		if err := sc.whole(rows); err != nil || r.bad != nil {
			t.Fatalf("%s: %v", what, errors.Join(r.bad, err))
		}
		return rows
	}
	left := wanted("stopped")
	d := w.document(sc.run.batch)
	committed := d.Finished != nil && d.Holder == nil && d.Finished.Epoch > int64(countOf(sc.before, sc.run.batch))
	if committed {
		w.wantRows("committed", sc.new...)
	} else if err == nil {
		t.Fatal("the run said that all was well")
	}

	// what follows is a start whose reader sees no gap either
	sc.renames = sc.renames && len(left) < min(len(sc.old), len(sc.new))
	all, r = sc.hooks(w, nil)
	if _, stuck, err := w.open(all).FinishCommitted(context.Background(), "sales"); err != nil || len(stuck) > 0 {
		t.Fatalf("the next start could not finish: %v, %v", stuck, err)
	}
	if committed {
		w.wantRows("committed and finished", sc.new...)
	}
	dead := w.holder(sc.run.batch)
	kept := w.takeAway(w.open(all), sc.run.batch)
	now := wanted("dropped")
	if sc.moved { // what was half done is back
		if !slices.Equal(now, sc.old) && !slices.Equal(now, sc.new) {
			t.Fatalf("neither the old rows nor the new ones: %q, were %q", now, left)
		}
		left = now
	}
	if !slices.Equal(now, left) && (!sc.renames || len(now) < len(left)) {
		t.Fatalf("rows that were seen were taken back: %q, were %q", now, left)
	}
	if len(now) < min(len(sc.old), len(sc.new)) {
		t.Fatalf("rows are missing after all was dropped: %q", now)
	}
	sc.verdict(t, now, kept, dead != "")
	w.nothingStaged(t)

	again := sc.run
	again.fails = false
	w.must(w.once(w.open(nil), again))
	w.wantRows("after a clean run", sc.new...)
	w.nothingStaged(t)
	w.endedRecord(t, dead)
	for _, name := range []string{targetName, successName} {
		if _, err := os.Stat(filepath.Join(w.lake, name)); err != nil {
			t.Fatal(err)
		}
	}
}

func countOf(jobs []job, b Batch) (n int) {
	for _, j := range jobs {
		if j.batch.Key == b.Key {
			n++
		}
	}
	return n
}

// verdict asserts that whoever dropped the staging told rightly whether the run had replaced anything.
func (sc replacing) verdict(t *testing.T, now []string, kept []Kept, died bool) {
	t.Helper()
	for _, k := range kept {
		if slices.Equal(now, sc.old) && !slices.Equal(sc.old, sc.new) {
			t.Fatalf("%+v is said to be kept where readers see the old rows", k)
		}
		if k.Base != "" && sc.run.mode == wholeMode && (k.Parts != 1 || k.Of != 1) {
			t.Fatalf("%+v", k)
		}
	}
	if died && len(kept) == 0 && slices.Equal(now, sc.new) && !slices.Equal(sc.old, sc.new) {
		t.Fatal("readers see the new rows of a run that did not commit, and nobody says so")
	}
}
