package ledger

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/ubunye-io/ubunye/engine/store/fsops"
)

// pausedAt runs a job that is paused before an operation, while do happens, and then goes on. It returns whether
// the operation came, and the run's own error.
func (w *world) pausedAt(k int64, j job, more hooks, do func()) (bool, error) {
	w.t.Helper()
	paused := &at{match: func(op fsops.Op) bool { return op.N == k }, do: do}
	came := false
	inner := paused.do
	paused.do = func() { came = true; inner() }
	return came, w.once(w.open(append(hooks{paused}, more...)), j)
}

// R27: a run is paused at every operation, another takes over and runs wholly, the first goes on. It makes nothing
// visible and loses its lease; or it had committed, and the other one found that. The batch is there once.
func TestR27_PausedAtEveryOperation(t *testing.T) {
	for _, c := range []struct {
		name   string
		before []job
		mode   string
		more   hooks
	}{
		{"append", []job{{batch: batch("d2"), rows: []string{"2a"}}}, "", nil},
		{"first append", nil, "", nil},
		{"overwrite", []job{old}, wholeMode, nil},
		{"overwrite by two renames", []job{old}, wholeMode, hooks{noExchange{}}},
		{"overwrite by moves", []job{old}, wholeMode, hooks{pinned{syscall.EBUSY}}},
		{"partitions", []job{parts2}, partsMode, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			lost, late := 0, 0
			for k := int64(1); ; k++ {
				w := newWorld(t)
				for _, j := range c.before {
					w.must(w.once(w.open(nil), j))
				}
				stays := w.rows()
				first := job{batch: batch("d1"), rows: []string{"1a", "1b"}, mode: c.mode}
				second := job{batch: batch("d1"), rows: []string{"1c", "1d"}, mode: c.mode, over: true}
				if c.mode != "" {
					stays = nil // both replace all of it
				}
				var after []string
				var err2 error
				came := false
				_, err := w.pausedAt(k, first, c.more, func() {
					came = true
					err2 = w.once(w.open(c.more), second)
					after = w.rows()
				})
				if !came {
					w.must(err)
					t.Logf("%d operations: %d lost the lease, %d had committed", k-1, lost, late)
					if lost < 15 || late < 5 {
						t.Fatalf("of %d operations %d lost the lease, %d had committed", k-1, lost, late)
					}
					return
				}
				won := first
				if err2 == nil {
					won = second
				} else if !errors.As(err2, new(*FinishedError)) {
					t.Fatalf("pause at %d: the taker: %v", k, err2)
				}
				if err == nil && c.mode != "" && err2 == nil { // a mode that replaces runs as often as it is started
					won = w.lastOf(first, second)
				}
				w.wantRows(fmt.Sprintf("pause at %d", k), append(slices.Clone(stays), won.rows...)...)
				switch {
				case err == nil:
					late++
				case !slices.Equal(after, w.rows()):
					t.Fatalf("pause at %d: the first changed what readers see: %q, saw %q: %v", k, w.rows(), after, err)
				default:
					lost++
				}
				w.must(w.cleanRun(c.mode))
				w.nothingStrayed(t, k)
			}
		})
	}
}

// R27: a rerun is paused, another one replaces the batch, and the first goes on. It fails because it has lost its lease, and
// does not say that files are missing: they were replaced.
func TestR27_APausedRerunMissesNoFiles(t *testing.T) {
	lost := 0
	for k := int64(1); ; k++ {
		w := newWorld(t)
		w.must(w.once(w.open(nil), job{batch: batch("d1"), rows: []string{"1a", "1b"}}))
		first := job{batch: batch("d1"), rows: []string{"1c", "1d"}, rerun: true}
		second := job{batch: batch("d1"), rows: []string{"1e", "1f"}, rerun: true, over: true}
		came, held := false, false
		_, err := w.pausedAt(k, first, nil, func() {
			came, held = true, w.document(batch("d1")).Holder != nil
			w.must(w.once(w.open(nil), second))
		})
		switch {
		case !came:
			w.must(err)
			if lost < 15 {
				t.Fatalf("of %d operations %d lost the lease", k-1, lost)
			}
			return
		case held && (err == nil || errors.As(err, new(*ClaimsMissingError))):
			t.Fatalf("pause at %d: %v", k, err)
		case held:
			lost++
			w.wantRows(fmt.Sprintf("pause at %d", k), second.rows...)
		}
	}
}

// lastOf is the job whose run the document says committed last.
func (w *world) lastOf(first, second job) job {
	w.t.Helper()
	claims := w.document(first.batch).Finished.Outputs["clean"].Claims
	data, err := os.ReadFile(filepath.Join(w.lake, claims[0]))
	w.must(err)
	if slices.Contains(first.rows, string(data)) {
		return first
	}
	return second
}

// cleanRun is a run of another batch of the same mode, which finishes what is left.
func (w *world) cleanRun(mode string) error {
	return w.once(w.open(nil), job{batch: batch("d9"), rows: []string{"9"}, mode: mode, over: true})
}

// nothingStrayed asserts that documents name nothing any more. Of a run that made its staging folder after that had
// been dropped, the folder is left: no document names it, and recover removes it.
func (w *world) nothingStrayed(t *testing.T, k int64) {
	t.Helper()
	st, err := w.open(nil).Status(context.Background(), "")
	w.must(err)
	for _, b := range st.Batches {
		if len(b.Todo) > 0 || b.State == StateHeld {
			t.Fatalf("pause at %d: %+v", k, b)
		}
	}
	for _, r := range st.Records {
		if !r.Status.ended() {
			t.Fatalf("pause at %d: %+v", k, r)
		}
	}
}

// R65: A overwrites and is killed at every operation; B, of another batch of the folder, overwrites or appends and
// commits; then A's batch is run. B's rows are lost only to the overwrite that A's batch carries out then, and the
// folder is whole at every look.
func TestR65_AnotherBatchAfterAKill(t *testing.T) {
	for _, mode := range []string{wholeMode, "", partsMode} {
		t.Run("then "+mode, func(t *testing.T) {
			t.Parallel()
			b := job{batch: batch("d2"), rows: []string{"2x", "2y"}, mode: mode}
			for k := int64(1); ; k++ {
				w := newWorld(t)
				w.must(w.once(w.open(nil), job{batch: batch("d3"), rows: []string{"3a", "3b"}, mode: wholeMode}))
				err := w.once(w.mortal(killed{at: k}), whole)
				seen := w.rows()
				if !slices.Equal(seen, []string{"3a", "3b"}) && !slices.Equal(seen, whole.rows) {
					t.Fatalf("kill at %d: readers see %q", k, seen)
				}
				w.must(w.once(w.open(nil), b))
				want := slices.Clone(b.rows)
				if mode == "" {
					want = append(want, seen...)
				}
				w.wantRows(fmt.Sprintf("kill at %d, then the other batch", k), want...)
				w.nothingStaged(t)
				w.must(w.once(w.open(nil), whole))
				w.wantRows(fmt.Sprintf("kill at %d, the other batch, then again", k), whole.rows...)
				w.nothingStaged(t)
				if err == nil {
					return
				}
			}
		})
	}
}

// The same with A paused instead of killed: when it goes on it exchanges nothing, since B grabbed its staging.
func TestR65_AnotherBatchDuringAPause(t *testing.T) {
	for _, mode := range []string{wholeMode, ""} {
		t.Run("then "+mode, func(t *testing.T) {
			t.Parallel()
			b := job{batch: batch("d2"), rows: []string{"2x", "2y"}, mode: mode, over: true}
			lost := 0
			for k := int64(1); ; k++ {
				w := newWorld(t)
				w.must(w.once(w.open(nil), job{batch: batch("d3"), rows: []string{"3a", "3b"}, mode: wholeMode}))
				var after []string
				came := false
				_, err := w.pausedAt(k, whole, nil, func() {
					came = true
					seen := w.rows()
					w.must(w.once(w.open(nil), b))
					if after = w.rows(); mode == "" && !slices.Equal(after, slices.Sorted(slices.Values(append(seen, b.rows...)))) {
						t.Fatalf("pause at %d: the other batch sees %q, and before it %q", k, after, seen)
					}
				})
				if !came {
					if w.must(err); lost < 30 {
						t.Fatalf("%d of %d lost the lease", lost, k-1)
					}
					return
				}
				rows := w.rows()
				switch {
				case err != nil:
					if lost++; !slices.Equal(rows, after) {
						t.Fatalf("pause at %d: readers see %q, saw %q before it went on: %v", k, rows, after, err)
					}
				case !slices.Equal(rows, after) && !slices.Equal(rows, whole.rows):
					t.Fatalf("pause at %d: readers see %q", k, rows)
				}
			}
		})
	}
}
