// Package storetest is the suite that every store.Store must pass.
package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ubunye-io/ubunye/engine/store"
	"github.com/ubunye-io/ubunye/engine/store/fsops"
)

// Place is where documents lie. Each Open is another process: it shares nothing with earlier ones but
// the place. Every change it makes passes through hook; nil: plainly.
type Place interface {
	Open(hook fsops.Hook) store.Store
}

// Run runs the suite. place makes an empty place for one test.
func Run(t *testing.T, place func(t *testing.T) Place) {
	for _, c := range []struct {
		name string
		run  func(*testing.T, Place)
	}{
		{"SaveAndLoad", saveAndLoad},
		{"BadDocuments", badDocuments},
		{"Conflict", conflict},
		{"Conflict of two first saves", conflictFirst},
		{"A saver that slept", sleeper},
		{"List", list},
		{"Exactly one save wins a generation", oneWins},
		{"R13 a reader under a stream of saves", readerUnderSaves},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(t, place(t)) })
	}
	t.Run("Faults", func(t *testing.T) { faults(t, place) })
}

const name = "sales/clean_orders/0123456789abcdef"

// doc is a document whose two members must always agree.
type doc struct {
	Count int    `json:"count"`
	Twice int    `json:"twice"`
	By    string `json:"by,omitempty"`
}

func (d doc) bytes() []byte { b, _ := json.Marshal(d); return b }

func load(t *testing.T, s store.Store) (doc, store.Version) {
	t.Helper()
	data, v, err := s.Load(context.Background(), name)
	if err != nil {
		t.Fatal(err)
	}
	return decode(t, data, v), v
}

func decode(t *testing.T, data []byte, v store.Version) (d doc) {
	t.Helper()
	if v.Absent() {
		return d
	}
	if err := json.Unmarshal(data, &d); err != nil {
		t.Fatalf("generation %d: %v", v.Generation, err)
	}
	if d.Twice != 2*d.Count {
		t.Fatalf("generation %d is not whole: %+v", v.Generation, d)
	}
	return d
}

func save(t *testing.T, s store.Store, count int, v store.Version) store.Version {
	t.Helper()
	next, err := s.Save(context.Background(), name, doc{Count: count, Twice: 2 * count}.bytes(), v)
	if err != nil {
		t.Fatal(err)
	}
	return next
}

func saveAndLoad(t *testing.T, p Place) {
	s := p.Open(nil)
	data, v, err := s.Load(context.Background(), name)
	if err != nil || !v.Absent() || data != nil {
		t.Fatalf("a document that never was: %q, %+v, %v", data, v, err)
	}
	const text = `{"z":1,"a":{"unknown":[1.50,"<&>"]},"Format":"not ours"}`
	v1, err := s.Save(context.Background(), name, []byte(text), v)
	if err != nil || v1.Generation != 1 || v1.ID == "" {
		t.Fatalf("%+v, %v", v1, err)
	}
	got, v, err := p.Open(nil).Load(context.Background(), name)
	if err != nil || string(got) != text || v.ID != v1.ID || v.Generation != 1 || v.Path == "" {
		t.Fatalf("got %s, %+v, %v", got, v, err)
	}
	for n := int64(2); n <= 70; n++ {
		v = save(t, s, int(n), v)
		if v.Generation != n {
			t.Fatalf("generation %d, want %d", v.Generation, n)
		}
	}
	d, v := load(t, p.Open(nil))
	if d.Count != 70 || len(v.Ancestors) != 64 || v.Ancestors[0].Generation != 69 || v.Ancestors[63].Generation != 6 {
		t.Fatalf("%+v with %d ancestors", d, len(v.Ancestors))
	}
	if v.Includes(v1.ID) || !v.Includes(v.ID) || !v.Includes(v.Ancestors[63].ID) {
		t.Fatal("Includes must reach back 64 versions, no further")
	}
}

func badDocuments(t *testing.T, p Place) {
	s := p.Open(nil)
	for _, bad := range []string{"", "null", "[]", `"x"`, "{", `{} {}`} {
		if _, err := s.Save(context.Background(), name, []byte(bad), store.Version{}); err == nil {
			t.Errorf("%q was saved", bad)
		}
	}
	if _, v, err := s.Load(context.Background(), name); err != nil || !v.Absent() {
		t.Fatalf("%+v, %v", v, err)
	}
}

func conflict(t *testing.T, p Place) {
	a, b := p.Open(nil), p.Open(nil)
	v1 := save(t, a, 1, store.Version{})
	v2 := save(t, b, 2, v1)
	if _, err := a.Save(context.Background(), name, doc{Count: 9, Twice: 18}.bytes(), v1); !errors.Is(err, store.ErrConflict) {
		t.Fatalf("got %v, want ErrConflict", err)
	}
	if d, v := load(t, a); d.Count != 2 || v.ID != v2.ID {
		t.Fatalf("a lost save changed the document: %+v %+v", d, v)
	}
}

func conflictFirst(t *testing.T, p Place) {
	a, b := p.Open(nil), p.Open(nil)
	save(t, a, 1, store.Version{})
	if _, err := b.Save(context.Background(), name, doc{}.bytes(), store.Version{}); !errors.Is(err, store.ErrConflict) {
		t.Fatalf("got %v, want ErrConflict", err)
	}
}

// A saver that slept while others went on must not win, however many versions were made and swept
// since; nor may what it tried hinder them.
func sleeper(t *testing.T, p Place) {
	for _, others := range []int{1, 2, 3, 10, 60, 64, 65, 70, 100} {
		s := p.Open(nil)
		_, slept := load(t, s)
		v := slept
		for range others {
			v = save(t, s, others, v)
		}
		_, err := p.Open(nil).Save(context.Background(), name, doc{Count: -1, Twice: -2}.bytes(), slept)
		if !errors.Is(err, store.ErrConflict) && !errors.Is(err, store.ErrUnknown) {
			t.Fatalf("after %d saves of others: %v", others, err)
		}
		if others < 60 && !errors.Is(err, store.ErrConflict) {
			t.Fatalf("after %d saves of others, want ErrConflict: %v", others, err)
		}
		if d, now := load(t, p.Open(nil)); d.Count != others || now.ID != v.ID {
			t.Fatalf("after %d saves of others the document is %+v", others, d)
		}
	}
}

func list(t *testing.T, p Place) {
	s := p.Open(nil)
	if names, err := s.List(context.Background(), ""); err != nil || len(names) != 0 {
		t.Fatalf("an empty place lists %v, %v", names, err)
	}
	want := []string{"other/load/1", "sales/clean/1", "sales/clean/2", "sales/load/1"}
	for _, n := range want {
		if _, err := s.Save(context.Background(), n, []byte("{}"), store.Version{}); err != nil {
			t.Fatal(err)
		}
	}
	if names, err := s.List(context.Background(), ""); err != nil || !slices.Equal(names, want) {
		t.Fatalf("%v, %v", names, err)
	}
	if names, err := s.List(context.Background(), "sales"); err != nil || !slices.Equal(names, want[1:]) {
		t.Fatalf("%v, %v", names, err)
	}
	if names, err := s.List(context.Background(), "none"); err != nil || len(names) != 0 {
		t.Fatalf("%v, %v", names, err)
	}
}

// Eight savers add one each, twenty-five times. Every one that is told it won has its one in the
// count, and no generation is won twice.
func oneWins(t *testing.T, p Place) {
	const savers, each = 8, 25
	var mu sync.Mutex
	won := map[int64]string{}
	var all sync.WaitGroup
	for w := range savers {
		all.Go(func() {
			s := p.Open(nil)
			for done := 0; done < each; {
				data, v, err := s.Load(context.Background(), name)
				if err != nil {
					t.Error(err)
					return
				}
				var d doc
				if !v.Absent() {
					json.Unmarshal(data, &d)
				}
				d.Count, d.Twice, d.By = d.Count+1, 2*(d.Count+1), fmt.Sprint(w)
				next, err := s.Save(context.Background(), name, d.bytes(), v)
				if errors.Is(err, store.ErrConflict) {
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				if by, twice := won[next.Generation]; twice {
					t.Errorf("generation %d was won by %s and by %s", next.Generation, by, next.ID)
				}
				won[next.Generation] = next.ID
				mu.Unlock()
				done++
			}
		})
	}
	all.Wait()
	d, v := load(t, p.Open(nil))
	if d.Count != savers*each || v.Generation != savers*each || len(won) != savers*each {
		t.Fatalf("count %d at generation %d, %d wins, want %d", d.Count, v.Generation, len(won), savers*each)
	}
	for _, a := range v.Ancestors {
		if won[a.Generation] != a.ID {
			t.Fatalf("generation %d is %s in the chain and %s to its winner", a.Generation, a.ID, won[a.Generation])
		}
	}
}

// A reader never sees the document missing, in part, or older than it was when the read began.
func readerUnderSaves(t *testing.T, p Place) {
	s := p.Open(nil)
	v := save(t, s, 1, store.Version{})
	var mu sync.Mutex
	newest := v.Generation
	done := make(chan struct{})
	var readers sync.WaitGroup
	for range 3 {
		readers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				mu.Lock()
				atLeast := newest
				mu.Unlock()
				data, got, err := p.Open(nil).Load(context.Background(), name)
				if err != nil {
					t.Error(err)
					return
				}
				var d doc
				if err := json.Unmarshal(data, &d); err != nil || d.Twice != 2*d.Count || int64(d.Count) != got.Generation {
					t.Errorf("generation %d holds %s: %v", got.Generation, data, err)
				}
				if got.Generation < atLeast {
					t.Errorf("saw generation %d after %d was saved", got.Generation, atLeast)
				}
			}
		})
	}
	for n := 2; n <= 300; n++ {
		v = save(t, s, n, v)
		mu.Lock()
		newest = v.Generation
		mu.Unlock()
	}
	close(done)
	readers.Wait()
}

// dead refuses every change from one operation on, as after a kill.
type dead struct{ at int64 }

var errDead = errors.New("the process is dead")

func (d dead) Before(op fsops.Op) error {
	if op.N >= d.at {
		return errDead
	}
	return nil
}

func (d dead) After(fsops.Op, error) error { return nil }

// A save that fails at any operation, before or after it took effect, tells the truth: no error means
// saved, ErrUnknown may be either, anything else means that nothing changed. The next process goes on.
func faults(t *testing.T, place func(t *testing.T) Place) {
	for _, before := range []int{0, 1, 5} {
		n := countOps(t, place(t), before)
		t.Logf("a save after %d others takes %d operations", before, n)
		for k := int64(1); k <= n+1; k++ {
			for kind, hook := range map[string]fsops.Hook{
				"enospc": &fsops.Fault{Kind: fsops.NoRoom, At: k},
				"lost":   &fsops.Fault{Kind: fsops.Lost, At: k},
				"kill":   dead{at: k},
			} {
				t.Run(strings.Join([]string{fmt.Sprint(before), kind, fmt.Sprint(k)}, "-"), func(t *testing.T) {
					failSave(t, place(t), before, hook, k > n)
				})
			}
		}
	}
}

func prepare(t *testing.T, p Place, before int) store.Version {
	s := p.Open(nil)
	var v store.Version
	for n := 1; n <= before; n++ {
		v = save(t, s, n, v)
	}
	return v
}

func countOps(t *testing.T, p Place, before int) int64 {
	v := prepare(t, p, before)
	trace := &fsops.Trace{}
	save(t, p.Open(trace), before+1, v)
	return int64(len(trace.Ops()))
}

func failSave(t *testing.T, p Place, before int, hook fsops.Hook, mustWork bool) {
	old := prepare(t, p, before)
	s := p.Open(hook)
	next, err := s.Save(context.Background(), name, doc{Count: before + 1, Twice: 2 * (before + 1)}.bytes(), old)
	if mustWork && err != nil {
		t.Fatal(err)
	}
	after := p.Open(nil)
	d, v := load(t, after)
	saved := v.ID == next.ID && d.Count == before+1
	kept := v.ID == old.ID && d.Count == before
	switch {
	case err == nil && !saved:
		t.Fatalf("saved, but the document is %+v", d)
	case errors.Is(err, store.ErrConflict):
		t.Fatal("nobody else was there to conflict with")
	case errors.Is(err, store.ErrUnknown) && !saved && !kept:
		t.Fatalf("neither saved nor kept: %+v", d)
	case err != nil && !errors.Is(err, store.ErrUnknown) && !kept:
		t.Fatalf("%v, and yet the document is %+v", err, d)
	}
	if v = save(t, after, 7, v); v.Generation < 1 {
		t.Fatal("the next process could not go on")
	}
}
