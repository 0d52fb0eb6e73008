package ledger

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/ubunye-io/ubunye/engine/store/fsops"
)

// seldom refuses the second rename of a data file until it is told to stop.
type seldom struct {
	renames int
	healed  bool
}

func (h *seldom) Before(op fsops.Op) error {
	if op.Kind == "rename" && strings.HasSuffix(op.To, ".parquet") {
		if h.renames++; h.renames >= 2 && !h.healed {
			return syscall.EACCES
		}
	}
	return nil
}

func (h *seldom) After(fsops.Op, error) error { return nil }

// Only a rerun takes away what was seen, and only what it replaces, when all that replaces it has landed.
func TestI3_OldFilesGoAfterTheNewOnesAreThere(t *testing.T) {
	w := newWorld(t)
	w.must(w.once(w.open(nil), job{batch: batch("d1"), rows: []string{"old a", "old b"}}))
	w.must(w.once(w.open(nil), job{batch: batch("d2"), rows: []string{"2"}}))
	disk := &seldom{}
	again := job{batch: batch("d1"), rows: []string{"new a", "new b"}, rerun: true}
	if err := w.once(w.open(disk), again); !errors.As(err, new(*NotAllLandedError)) {
		t.Fatalf("got %v", err)
	}
	for range 2 { // also when others try
		for _, old := range []string{"old a", "old b", "2"} {
			if !slices.Contains(w.rows(), old) {
				t.Fatalf("%s went before what replaces it had landed: %q", old, w.rows())
			}
		}
		_, left, err := w.open(disk).FinishCommitted(context.Background(), "sales")
		if err != nil || len(left) != 2 || left[0].Entry.Do != Land || left[1].Entry.Do != Remove {
			t.Fatalf("left %v, %v", left, err)
		}
	}
	disk.healed = true
	w.finish()
	w.wantRows("healed", "new a", "new b", "2")
}

// Each file that the ledger keeps is refused by name when it cannot be read, and is left as it is.
func TestI7_WhatCannotBeReadIsNotAbsent(t *testing.T) {
	for what, file := range map[string]func(*world) string{
		"document": func(w *world) string { return w.open(nil).mustLook(w, batch("d1")).Document },
		"id":       func(w *world) string { return filepath.Join(w.dir, ".ubunye", "id") },
		"target":   func(w *world) string { return filepath.Join(w.lake, targetName) },
	} {
		for _, damage := range []string{"", "\x00\x00", "{}", "link"} {
			t.Run(what+" "+damage, func(t *testing.T) {
				w := newWorld(t)
				w.forged = true
				w.must(w.once(w.open(nil), job{batch: batch("d1"), rows: []string{"1"}}))
				path := file(w)
				w.must(os.Remove(path))
				if damage == "link" {
					w.must(os.Symlink(filepath.Base(path), path)) // to itself: it is there, and cannot be opened
				} else {
					w.must(os.WriteFile(path, []byte(damage), 0o666))
				}
				var bad *UnreadableError
				err := w.once(w.open(nil), job{batch: batch("d1"), rows: []string{"1 again"}, rerun: true})
				if !errors.As(err, &bad) || bad.Path != path {
					t.Fatalf("got %v, want %s named", err, path)
				}
				w.wantRows("after the refusal", "1")
				if data, _ := os.ReadFile(path); damage != "link" && string(data) != damage {
					t.Fatalf("the file was changed: %q", data)
				}
			})
		}
	}
}

func (l *Ledger) mustLook(w *world, b Batch) View {
	view, err := l.Look(context.Background(), b)
	w.must(err)
	return view
}
