package ledger

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ubunye-io/ubunye/engine/store/fsops"
)

// probesIn lists what is named like a probe anywhere below a folder.
func probesIn(t *testing.T, dir string) (found []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasPrefix(d.Name(), probePrefix) {
			found = append(found, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// Whatever a run that is killed while it tries the file system leaves of that, the next run removes, or Recover.
func TestProbesOfDeadRunsAreRemoved(t *testing.T) {
	for _, c := range []struct {
		name string
		run  job
		disk bool
	}{
		{"append", job{batch: batch("d1"), rows: []string{"1a"}}, false},
		{"append on another disk", job{batch: batch("d1"), rows: []string{"1a"}}, true},
		{"overwrite", whole, false},
		{"overwrite on another disk", whole, true},
		{"partitions on another disk", parts, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			setUp := func() (w *world, root string) {
				w = newWorld(t)
				root = w.dir
				if c.disk {
					root = w.otherDisk()
					w.lake = filepath.Join(root, "lake", "orders")
				}
				w.must(os.MkdirAll(filepath.Dir(w.lake), 0o777))
				w.must(w.once(w.open(nil), old))
				return w, root
			}
			w, _ := setUp()
			trace := &fsops.Trace{}
			w.must(w.once(w.open(trace), c.run))
			left := 0
			for _, op := range trace.Ops() {
				if !strings.Contains(op.Path, probePrefix) {
					continue
				}
				w, root := setUp()
				if w.once(w.mortal(killed{at: op.N + 1}), c.run) == nil {
					t.Fatalf("not killed at %d", op.N+1)
				}
				left += len(probesIn(t, root)) + len(probesIn(t, w.dir))
				if op.N%2 == 0 {
					_, err := w.open(nil).Recover(context.Background(), Recovery{Pipeline: "sales"})
					w.must(err)
				} else {
					w.must(w.once(w.open(nil), job{batch: batch("other"), rows: []string{"o"}, mode: partsMode}))
				}
				if still := slices.Concat(probesIn(t, root), probesIn(t, w.dir)); len(still) > 0 {
					t.Fatalf("killed at %d: left: %q", op.N+1, still)
				}
			}
			if left == 0 {
				t.Fatal("no run left a probe")
			}
		})
	}
}

// A probe of a run that is there, and a stranger's file of such a name, stay.
func TestProbesOfOthersStay(t *testing.T) {
	w := newWorld(t)
	w.must(w.once(w.open(nil), old))
	run, s := w.begin(w.open(nil), Request{Batch: batch("live")})
	run.record.Targets = []Target{{Path: w.lake, Adds: true}}
	w.must(run.ledger.writeRecord(run.record, false))
	paths := []string{
		filepath.Join(w.lake, run.ledger.probeName(run.ID, batch("live"), w.lake)),
		filepath.Join(w.lake, probePrefix+"0123456789ab"+stagedSuffix),
	}
	for _, path := range paths {
		w.must(os.WriteFile(path, nil, 0o666))
	}
	w.must(w.once(w.open(nil), job{batch: batch("d1"), rows: []string{"1a"}}))
	if got := probesIn(t, w.dir); !slices.Equal(got, slices.Sorted(slices.Values(paths))) {
		t.Fatalf("%q, want %q", got, paths)
	}
	w.must(s.Release(context.Background()))
}

// Files in tmp/ are removed when they are older than the timeout by the clock of the disk, by a run that holds
// its batches; a start that is refused removes nothing.
func TestOldTemporaryFilesAreRemoved(t *testing.T) {
	w := newWorld(t)
	w.must(w.once(w.open(nil), old))
	tmp := filepath.Join(w.dir, ".ubunye", "tmp")
	write := func(name string, age time.Duration) {
		w.must(os.WriteFile(filepath.Join(tmp, name), []byte("{"), 0o666))
		at := time.Now().Add(-age)
		w.must(os.Chtimes(filepath.Join(tmp, name), at, at))
	}
	write("old.json", w.config(nil).Timeout+time.Minute)
	write("young.json", w.config(nil).Timeout-time.Minute)
	if err := w.once(w.open(nil), old); err == nil {
		t.Fatal("not refused")
	}
	if got := namesIn(t, tmp); !slices.Equal(got, []string{"old.json", "young.json"}) {
		t.Fatalf("after a refusal: %q", got)
	}
	w.must(w.once(w.open(nil), whole))
	if got := namesIn(t, tmp); !slices.Equal(got, []string{"young.json"}) {
		t.Fatalf("%q", got)
	}
}

// I2: a save whose file was taken for old, because its process was paused so long, did not happen, and is told so.
func TestI2_ASaveWithoutItsTemporaryFile(t *testing.T) {
	w := newWorld(t)
	tmp := filepath.Join(w.dir, ".ubunye", "tmp")
	armed := false
	paused := &each{kind: "link", suffix: ".json", do: func() {
		if armed {
			for _, name := range namesIn(t, tmp) {
				w.must(os.Remove(filepath.Join(tmp, name)))
			}
			armed = false
		}
	}}
	_, s := w.begin(w.open(paused), Request{Batch: batch("d1")})
	w.must(s.Prepare(context.Background(), w.spec()))
	w.must(stage(s, []string{"1a"}))
	armed = true
	if err := commit(s, "clean"); err == nil || !strings.Contains(err.Error(), "did not take") {
		t.Fatalf("got %v", err)
	}
	if d := w.document(batch("d1")); d.Finished != nil {
		t.Fatalf("%+v", d.Finished)
	}
	w.must(s.Fail(context.Background(), "x"))
	w.nothingStaged(t)
}

// Ended tells of a scratch name whether its run has certainly ended.
func TestScratchNamesOfEndedRuns(t *testing.T) {
	w := newWorld(t)
	if name := w.open(nil).ScratchName("x"); name != "" {
		t.Fatalf("%q without a ledger", name)
	}
	ctx := context.Background()
	begin := func(l *Ledger, dt string) *Run {
		return must(l.Begin(ctx, RunInfo{Pipeline: "sales", Batches: []Batch{batch(dt)}}))
	}
	me, live, dead := begin(w.open(nil), "me"), begin(w.open(nil), "live"), begin(w.mortal(nil), "dead")
	ended, failed, beating := begin(w.open(nil), "ended"), begin(w.open(nil), "failed"), begin(w.open(nil), "beating")
	w.must(ended.End(ctx, Succeeded))
	w.must(failed.End(ctx, Failed))
	w.must(os.Remove(w.open(nil).recordPath(beating.ID)))
	other := newWorld(t)
	foreign := must(other.open(nil).Begin(ctx, RunInfo{Pipeline: "sales"}))
	w.must(foreign.End(ctx, Succeeded))
	for _, c := range []struct {
		what, name string
		want       bool
	}{
		{"itself", me.ledger.ScratchName(me.ID), false},
		{"live", live.ledger.ScratchName(live.ID), false},
		{"live, one of its names", live.ledger.ScratchName(live.ID) + "-task", false},
		{"dead", dead.ledger.ScratchName(dead.ID), true},
		{"dead, one of its names", dead.ledger.ScratchName(dead.ID) + "-clean-orders", true},
		{"ended", ended.ledger.ScratchName(ended.ID) + "-task", true},
		{"failed", failed.ledger.ScratchName(failed.ID), true},
		{"without a record, with a heartbeat", beating.ledger.ScratchName(beating.ID), false},
		{"of another ledger", foreign.ledger.ScratchName(foreign.ID), false},
		{"cut", ended.ledger.ScratchName(ended.ID)[:20], false},
		{"longer", ended.ledger.ScratchName(ended.ID) + "0", false},
		{"empty", "", false},
	} {
		if got := me.Ended(c.name); got != c.want {
			t.Errorf("%s: %v", c.what, got)
		}
	}
	w.must(fsops.New(nil).Remove(me.ledger.recordPath(me.ID)))
	for _, r := range []*Run{me, live, dead, beating} {
		w.must(r.End(ctx, Succeeded))
	}
}
