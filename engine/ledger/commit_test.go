package ledger

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// I5: a staged file that goes while the others are made durable is missed before the commit, not after it.
func TestI5_WhatVanishesWhileItIsSynced(t *testing.T) {
	w := newWorld(t)
	var staging string
	vanishes := &atOp{kind: "syncdir", suffix: "/staging", done: true, do: func() {
		w.must(os.Remove(must(filepath.Glob(filepath.Join(staging, "*", "*.staged")))[0]))
	}}
	_, s := w.begin(w.open(vanishes), Request{Batch: batch("d1")})
	w.must(s.Prepare(context.Background(), w.spec()))
	w.must(stage(s, []string{"1", "2"}))
	staging = s.Staging("clean")
	files := must(s.Staged("clean"))
	vanishes.done = false // from here on
	c := Commit{Outputs: map[string]Result{"clean": {Claims: []string{files[0].Name, files[1].Name}, Bytes: 2}}}
	if err := s.Commit(context.Background(), c); !errors.As(err, new(*StagedError)) {
		t.Errorf("committed with %v", err)
	}
	if !vanishes.done {
		t.Fatal("nothing was removed: the staging folder was not synced")
	}
	if w.document(batch("d1")).Finished != nil {
		t.Error("the batch is committed without one of its files")
	}
}
