package ledger

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ubunye-io/ubunye/engine/store"
)

// LedgerStatus is everything that a ledger knows.
type LedgerStatus struct {
	ID         string // "" if the ledger is not there
	Batches    []View
	Records    []RecordView
	Unreadable []*UnreadableError
	Stray      []Stray
}

// RecordView is a run's record and what is thought of the run.
type RecordView struct {
	Record
	Age   time.Duration // since its last heartbeat
	Gone  bool          // it has certainly ended
	Dead  bool          // it may be taken over
	Looks time.Duration // as in HeldError
}

// Stray is a staging folder that no document names. Recover removes it if its run is dead.
type Stray struct {
	Path string
	Run  string // "": it cannot be told whose it is
	Dead bool   // its run is, or has left nothing else
}

// Status reads the whole ledger, or one pipeline's part of it; "" is every pipeline. It changes
// nothing. What cannot be read is in Unreadable; the error is for a ledger of which nothing can be.
func (l *Ledger) Status(ctx context.Context, pipeline string) (LedgerStatus, error) {
	id, err := l.id()
	if err != nil {
		return LedgerStatus{}, err
	}
	st := LedgerStatus{ID: id}
	names, err := l.docs.List(ctx, "")
	if err != nil {
		return st, err
	}
	named, bases := map[string]bool{}, map[string]bool{}
	for _, name := range names {
		d, v, err := l.loadName(ctx, name)
		var bad *UnreadableError
		if errors.As(err, &bad) {
			st.Unreadable = append(st.Unreadable, bad)
			continue
		}
		if err != nil {
			return st, err
		}
		l.noteStaging(d, named, bases)
		if pipeline == "" || d.Batch.Pipeline == pipeline {
			st.Batches = append(st.Batches, l.view(d, v))
		}
	}
	records, bad, err := l.records()
	if err != nil {
		return st, err
	}
	st.Unreadable = append(st.Unreadable, bad...)
	lives := map[string]life{}
	for _, r := range records {
		j := l.judge(r.Run, r.Identity, l.recordPath(r.Run), l.cfg.Now())
		lives[r.Run] = j
		if r.of(pipeline) {
			st.Records = append(st.Records, RecordView{Record: r, Age: j.age, Gone: j.gone, Dead: j.dead, Looks: j.looks})
		}
	}
	for _, dir := range l.stray(named, bases) {
		s := Stray{Path: dir, Run: l.stagedBy(dir)}
		if j, recorded := lives[s.Run]; recorded {
			s.Dead = j.dead
		} else if s.Run != "" {
			_, err := l.readRecord(s.Run)
			s.Dead = l.vanished(s.Run, err)
		}
		st.Stray = append(st.Stray, s)
	}
	return st, nil
}

// Alive tells whether a run, by its id, may be alive: its process is there and gives signs of life, or nobody can tell. A run
// that has no record has ended; one that has been silent for so long that a start would watch it, to take its batches over, counts as dead.
func (l *Ledger) Alive(run string) (bool, error) {
	r, err := l.readRecord(run)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	j := l.judge(run, r.Identity, l.recordPath(run), l.cfg.Now())
	return !j.dead && j.looks == 0, nil
}

// RecordOf reads the record of a run and tells what is thought of the run. The error is fs.ErrNotExist if it has none.
func (l *Ledger) RecordOf(run string) (RecordView, error) {
	r, err := l.readRecord(run)
	if err != nil {
		return RecordView{}, err
	}
	j := l.judge(run, r.Identity, l.recordPath(run), l.cfg.Now())
	return RecordView{Record: r, Age: j.age, Gone: j.gone, Dead: j.dead, Looks: j.looks}, nil
}

// Paths are the output folder that an entry is about, and its staging folder ("" if it has none), as found from here.
func (l *Ledger) Paths(e Entry) (folder, staging string) {
	folder, _ = l.find(e.Base)
	if e.Staging != "" {
		staging = l.stagingPath(folder, e.Staging)
	}
	return folder, staging
}

// loadName reads a document by the name of its folder.
func (l *Ledger) loadName(ctx context.Context, name string) (*Document, store.Version, error) {
	parts := strings.Split(name, "/")
	if len(parts) != 3 {
		return nil, store.Version{}, &UnreadableError{Path: l.sub("batches", filepath.FromSlash(name)), Reason: "it is not at the place of a batch"}
	}
	return l.load(ctx, Batch{Pipeline: parts[0], Task: parts[1], Key: parts[2]})
}

// noteStaging collects the staging folders that a document names, and the folders where others may lie.
func (l *Ledger) noteStaging(d *Document, named, bases map[string]bool) {
	note := func(p Place, staging string) {
		if p.Path == "" {
			return // a table without a folder
		}
		base, _ := l.find(p)
		bases[base], bases[filepath.Dir(base)] = true, true // beside a folder that is replaced
		if staging != "" {
			named[l.stagingPath(base, staging)] = true
		}
	}
	for _, out := range d.Outputs {
		note(out.Base, out.Staging)
	}
	for _, e := range d.Todo {
		note(e.Base, e.Staging)
	}
	for _, p := range d.Pending {
		note(p.Output.Base, "")
	}
	if d.Finished != nil {
		for _, out := range d.Finished.Outputs {
			note(out.Base, "")
		}
	}
}

// stray lists the staging folders that are named nowhere: in the ledger's folder, and in the output
// folders that it knows.
func (l *Ledger) stray(named, bases map[string]bool) []string {
	found, _ := filepath.Glob(filepath.Join(globLiteral(l.sub(stagingFolder)), "*", "*", "*"))
	for _, base := range sortedKeys(bases) {
		entries, err := os.ReadDir(base)
		if err != nil {
			continue // status names what it can see
		}
		for _, e := range entries {
			if e.Type() == fs.ModeDir && stagingName.MatchString(stagingOf(e.Name())) {
				found = append(found, filepath.Join(base, e.Name()))
			}
		}
	}
	return slices.DeleteFunc(found, func(dir string) bool { return named[stagingOf(dir)] })
}

// globLiteral escapes what filepath.Glob would take for a pattern.
func globLiteral(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
