package runstate

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/ubunye-io/ubunye/engine/store/fsops"
	"github.com/ubunye-io/ubunye/engine/store/storetest"
)

// cutting follows what is certain on a disk, and is dead from one change on.
type cutting struct {
	*storetest.Disk
	killed
}

func (c cutting) Before(op fsops.Op) error {
	if err := c.killed.Before(op); err != nil {
		return err
	}
	return c.Disk.Before(op)
}

func (c cutting) After(op fsops.Op, err error) error { return c.Disk.After(op, err) }

// The power fails at every change of a run, with whatever the disk may keep or lose of what was not synced: what a save
// said is written is there, no number is used again, no file is damaged, and the next start goes on.
func TestI6_WhatWasSavedSurvivesAPowerCut(t *testing.T) {
	trace := &fsops.Trace{}
	w := newWorld(t)
	w.stopped(w.start("dt=1"), true, Succeeded, Failed)
	w.must(w.whole(w.folder(trace), w.start("dt=1"), "", func(string) {}))
	n := int64(len(trace.Ops()))
	for k := int64(1); k <= n+1; k++ {
		for seed := range uint64(4) {
			t.Run(fmt.Sprintf("%d/%d", k, seed), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				w.stopped(w.start("dt=1"), true, Succeeded, Failed)
				disk, err := storetest.NewDisk(filepath.Dir(w.dir))
				w.must(err)
				hook := cutting{disk, killed{k}}
				saved := map[string]State{"a1": Succeeded} // what was said to be written
				a, err := w.begin(w.folder(hook), w.start("dt=1"), "")
				created := err == nil
				for _, task := range []string{"a2", "a3"} {
					if err == nil {
						if err = a.set(task, Succeeded); err == nil {
							saved[task] = Succeeded
						}
					}
				}
				if err == nil {
					err = a.Finish(a.doc)
				}
				rng := rand.New(rand.NewPCG(seed, uint64(k)))
				keep := []float64{0, 0.4, 0.7, 1}[seed]
				w.must(disk.Cut(func() bool { return rng.Float64() < keep }))

				s := w.look(w.start("dt=1"))
				if s.Latest == nil || s.Latest.Document == nil {
					t.Fatalf("found %+v", s.Latest)
				}
				for task, state := range saved {
					if got := s.Latest.Document.Actions[task].State; got != state {
						t.Errorf("%s was written as %s and is %s", task, state, got)
					}
				}
				if created && s.Latest.Number != (Number{1, 2}) {
					t.Errorf("the attempt that was begun is gone: %v", s.Latest.Number)
				}
				finished := err == nil
				if finished && !s.Latest.Succeeded && !s.Latest.Ended() {
					t.Error("a run that was finished is neither in succeeded/ nor says that it has ended")
				}
				var ran []string
				w.must(w.whole(w.folder(nil), w.start("dt=1"), "", func(task string) { ran = append(ran, task) }))
				end := w.look(w.start("dt=1")).Latest
				if finished {
					if left := w.files("current"); len(left) > 0 {
						t.Errorf("after the next start there is %v in current/", left)
					}
					if end.Number != (Number{2, 1}) || len(ran) != 3 {
						t.Errorf("after a finished run: %v ran %v", end.Number, ran)
					}
				} else if len(w.files("current")) > 0 || slices.ContainsFunc(ran, func(task string) bool { return saved[task] == Succeeded && end.Run == 1 }) {
					t.Errorf("%v ran %v of %v", end.Number, ran, slices.Collect(maps.Keys(saved)))
				}
			})
		}
	}
}
