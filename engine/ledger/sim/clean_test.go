package sim

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/ubunye-io/ubunye/engine/ledger"
)

// cleanUp is what comes after the chaos: a start that only finishes what was committed, then each batch is run
// once more without faults, and after that nothing is left but data.
func (w *world) cleanUp() {
	if w.oracle.fault != "" {
		return
	}
	w.clean = true
	w.log("--- the chaos is over")
	w.pass(timeout + 2*heartbeat)
	if a := w.only(job{kind: finishes}); a != nil && a.err != nil {
		w.oracle.violated("what was committed cannot be finished: %v", a.err)
	}
	w.oracle.settled("after a start that finishes what was committed")
	for _, b := range w.batches {
		a := w.only(job{batches: []*simBatch{b}, rerun: !b.incremental, anyway: true, files: 1})
		if a != nil && a.err != nil && !errors.Is(a.err, errOccupied) {
			w.oracle.violated("a clean run of %s is refused: %v", b.batch.Name(), a.err)
		}
		w.oracle.settled("after a clean run of " + b.batch.Name())
		w.oracle.tableSettled(b)
	}
	w.tidy()
}

// only starts a process and lets it come to its end.
func (w *world) only(j job) *actor {
	if w.oracle.fault != "" {
		return nil
	}
	w.starts = []start{{job: j}}
	w.play()
	return w.actors[len(w.actors)-1]
}

// ours are names that must not be left: staging folders, and what was grabbed.
var ours = regexp.MustCompile(`^(_ubunye-[0-9a-f]{12}.*|\.[0-9a-f]{12}\.ubunye.*|.*\.drop|.*\.staged)$`)

// tidy looks at what is left when all is done.
func (w *world) tidy() {
	o := w.oracle
	if o.fault != "" {
		return
	}
	for name, d := range o.docs {
		if d.holder() != "" || len(d.Todo) > 0 {
			o.violated("at the end %s is held by %q and has %d things to do", name, d.holder(), len(d.Todo))
		}
	}
	o.tablesTidy()
	named, err := w.strays()
	stray := ".ubunye/staging/20000101T000000Z-5712a7e5/k/a/x.parquet"
	var real []string
	err = errors.Join(err, filepath.WalkDir(w.dir, func(path string, d fs.DirEntry, err error) error {
		at := w.rel(path)
		if err == nil && !d.IsDir() {
			real = append(real, at)
		}
		switch {
		case err != nil || at == ".ubunye/staging":
		case strings.HasPrefix(d.Name(), "_ubunye-probe-"): // its run died before it could remove it
			if entries, _ := os.ReadDir(path); len(entries) > 0 {
				o.violated("at the end there is something in %s", at)
			}
		case slices.ContainsFunc(named, func(dir string) bool { return inside(path, dir) }):
			// that of a run which was taken for dead before it had made it
		case strings.HasPrefix(at, ".ubunye/staging/") && (strings.Count(at, "/") < 4 || strings.HasPrefix(at, stray)):
		case ours.MatchString(d.Name()) || strings.HasPrefix(at, ".ubunye/staging/"):
			o.violated("at the end %s is left, and status does not name it", at)
		}
		return err
	}))
	slices.Sort(real)
	known := w.disk.Files(w.dir)
	if err != nil || !slices.Equal(real, known) {
		o.violated("the disk that is followed is not the real one (%v): %q, %q", err, real, known)
	}
	recovered := slices.ContainsFunc(w.actors, func(a *actor) bool { return a.job.kind == recovers })
	for _, at := range []string{stray, "lake/other/stranger.parquet"} {
		if !slices.Contains(real, at) && !(at == stray && recovered) { // which removes what is no living run's
			o.violated("at the end %s is gone", at)
		}
	}
}

// strays are the staging folders that status names because no document does.
func (w *world) strays() ([]string, error) {
	l, err := ledger.Open(context.Background(), ledger.Config{Path: filepath.Join(w.dir, ".ubunye")})
	if err != nil {
		return nil, err
	}
	status, err := l.Status(context.Background(), "")
	var paths []string
	for _, s := range status.Stray {
		paths = append(paths, s.Path)
	}
	return paths, err
}

// killAll ends what still runs when a world is given up.
func (w *world) killAll() {
	for _, a := range w.actors {
		if a.running {
			w.kill(a)
		}
	}
	for slices.ContainsFunc(w.actors, func(a *actor) bool { return a.running }) {
		w.pass(heartbeat)
	}
}
