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

	"github.com/ubunye-io/ubunye/engine/store"
)

// LedgerStatus is everything that a ledger knows.
type LedgerStatus struct {
	ID         string // "" if the ledger is not there
	Batches    []View
	Records    []Record
	Unreadable []*UnreadableError
	Stray      []string // staging folders that no document names
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
	st.Records = slices.DeleteFunc(records, func(r Record) bool { return !r.of(pipeline) })
	st.Stray = l.stray(named, bases)
	return st, nil
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
