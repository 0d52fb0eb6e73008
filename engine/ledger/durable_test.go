package ledger

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ubunye-io/ubunye/engine/store/fsops"
)

// synced counts what a Trace saw of syncs: of rows (staged or landed files, and folders on their way and in the output)
// and of the ledger's own files.
type synced struct{ files, folders, disks, documents int }

func (w *world) synced(trace *fsops.Trace) (n synced) {
	for _, op := range trace.Ops() {
		own := strings.HasPrefix(op.Path, filepath.Join(w.dir, ".ubunye")) && !strings.Contains(op.Path, "/"+stagingFolder)
		small := strings.Contains(filepath.Base(op.Path), "_ubunye-") // by which folders, runs and disks are told
		switch {
		case op.Kind == "syncfs":
			n.disks++
		case (op.Kind == "sync" || op.Kind == "syncdir") && (own || small):
			n.documents++
		case op.Kind == "sync":
			n.files++
		case op.Kind == "syncdir":
			n.folders++
		}
	}
	return n
}

func (w *world) tracing(fast bool) (*Ledger, *fsops.Trace) {
	w.t.Helper()
	_, err := w.open(nil).create() // else its making is counted
	w.must(err)
	trace := &fsops.Trace{}
	cfg := w.config(trace)
	cfg.Fast = fast
	l, err := Open(context.Background(), cfg)
	w.must(err)
	return l, trace
}

// safe syncs every staged file and every folder with a new name before what follows may rely on it; fast syncs as often
// for the documents, and for rows only where older ones are at risk: before the folder that was replaced is removed.
func TestDurabilityCountsItsSyncs(t *testing.T) {
	for _, c := range []struct {
		name string
		job  job
		safe synced
		fast int // folders
	}{
		// Two files, their two folders, the staging folder, and the three above it up to the ledger's staging/; then
		// lake/orders and the two folders in it, and the two above, of which one was made.
		{"append", job{batch: batch("d1"), rows: []string{"1", "2"}}, synced{files: 2, folders: 6 + 5}, 0},
		// The same of staging, and new/ in it. Then, for the exchange, lake/, the one that it was made in, and the one that
		// new/ went from. Then, before the old data goes, lake/ and what was grabbed.
		{"overwrite", job{batch: batch("d1"), rows: []string{"1", "2"}, mode: wholeMode}, synced{files: 2, folders: 7 + 3 + 2}, 2},
		// For the exchange also new/ and old/, which the folders go through; then lake/orders once more, for _SUCCESS.
		{"overwrite_partitions", job{batch: batch("d1"), rows: []string{"1", "2"}, mode: partsMode}, synced{files: 2, folders: 7 + 5 + 3}, 2},
		{"many", job{batch: batch("d1"), rows: make([]string, many)}, synced{disks: 2}, 0},
	} {
		w := newWorld(t)
		l, trace := w.tracing(false)
		w.must(w.once(l, c.job))
		safe := w.synced(trace)

		w = newWorld(t)
		l, trace = w.tracing(true)
		w.must(w.once(l, c.job))
		fast := w.synced(trace)
		if want := (synced{folders: c.fast, documents: safe.documents}); fast != want || fast.documents < 8 {
			t.Errorf("%s, fast: %+v, want %+v", c.name, fast, want)
		}
		if c.safe.documents = safe.documents; safe != c.safe {
			t.Errorf("%s, safe: %+v, want %+v", c.name, safe, c.safe)
		}
	}
}

// Up to many are synced one by one, more by one syncfs, whatever outputs they are of.
func TestManyAreMadeDurableByOneSyncfs(t *testing.T) {
	for _, c := range []struct{ a, b, ones, disks int }{{many, 0, many, 0}, {many / 2, many - many/2, many, 0}, {many + 1, 0, 0, 1}, {many, 1, 0, 1}, {0, 0, 0, 0}} {
		w := newWorld(t)
		l, trace := w.tracing(false)
		of := func(name string, n int) names {
			dir := filepath.Join(w.dir, name)
			w.must(os.Mkdir(dir, 0o777))
			all := names{disk: dir, files: map[string]bool{}}
			for i := range n {
				path := filepath.Join(dir, fmt.Sprint(i))
				w.must(os.WriteFile(path, nil, 0o666))
				all.files[path] = true
			}
			return all
		}
		w.must(l.durable(stagedFirst, false, of("a", c.a), of("b", c.b)))
		if got := w.synced(trace); got.files != c.ones || got.disks != c.disks {
			t.Errorf("%d and %d: %+v", c.a, c.b, got)
		}
	}
}

// What is not there is an error where it must be, and fine where another process may have gone on.
func TestDurableOfWhatIsGone(t *testing.T) {
	w := newWorld(t)
	gone := folder(filepath.Join(w.dir, "gone"))
	for _, r := range []struct {
		reason
		name string
		fine bool
	}{{stagedFirst, "staged", false}, {recordFirst, "record", false}, {ledgerFirst, "ledger", false},
		{landedFirst, "landed", true}, {removedFirst, "removed", true}, {exchangedFirst, "exchanged", true}, {keptFirst, "kept", true}} {
		if err := w.open(nil).durable(r.reason, false, gone); (err == nil) != r.fine {
			t.Errorf("%s: %v", r.name, err)
		}
	}
}

// Whether a list is carried out durably is for the batch that wrote it, not for whoever carries it out: a run with
// `fast` must not risk what another one, of the same pipeline earlier or of another one, was promised.
func TestAListIsCarriedOutAsItsBatchWasPromised(t *testing.T) {
	for _, fast := range []bool{false, true} {
		w := newWorld(t)
		l, _ := w.tracing(fast)
		_, s := w.begin(l, Request{Batch: batch("d1")})
		w.must(s.Prepare(context.Background(), w.spec()))
		w.must(stage(s, []string{"1", "2"}))
		w.must(commit(s, "clean")) // and no more: it dies here

		other, trace := w.tracing(!fast)
		if _, left, err := other.FinishCommitted(context.Background(), "sales"); err != nil || len(left) > 0 {
			t.Fatal(left, err)
		}
		w.wantRows("after it was finished", "1", "2")
		if got := w.synced(trace).folders; (got > 0) == fast {
			t.Errorf("committed with fast %v, finished with %v: %d folders synced", fast, !fast, got)
		}
	}
}

// A rerun's removal of the old files is made durable with fast too: if they came back their rows would be there twice.
func TestFastMakesRemovalsDurable(t *testing.T) {
	w := newWorld(t)
	l, _ := w.tracing(true)
	w.must(w.once(l, job{batch: batch("d1"), rows: []string{"1", "2"}}))
	l, trace := w.tracing(true)
	w.must(w.once(l, job{batch: batch("d1"), rows: []string{"3"}, rerun: true}))
	w.wantRows("after the rerun", "3")
	if got := w.synced(trace); got.files != 0 || got.folders != 3 { // lake/orders, p=0 and p=1
		t.Errorf("%+v", got)
	}
}
