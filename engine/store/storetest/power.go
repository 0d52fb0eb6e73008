package storetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/ubunye-io/ubunye/engine/store"
	"github.com/ubunye-io/ubunye/engine/store/fsops"
)

// PowerCuts cuts the power at every change of a save, and keeps nothing, everything, or some of what was not
// synced. A save that was told to have counted is there afterwards; of another, the document is the old one or
// the new one, whole, and the next process goes on from it. place makes an empty place in a folder of t's own.
func PowerCuts(t *testing.T, place func(t *testing.T) (p Place, root string)) {
	for _, before := range []int{0, 1, 5} {
		p, _ := place(t)
		n := countOps(t, p, before)
		for at := int64(1); at <= n+1; at++ {
			for pattern := range 8 {
				t.Run(fmt.Sprintf("%d-%d-%d", before, at, pattern), func(t *testing.T) {
					p, root := place(t)
					cutSave(t, p, root, before, at, keeping(pattern))
				})
			}
		}
	}
}

// keeping tells what of the changes that were not synced a power cut keeps.
func keeping(pattern int) func() bool {
	r := rand.New(rand.NewPCG(uint64(pattern), 0))
	switch pattern {
	case 0, 1:
		return func() bool { return pattern == 1 }
	}
	return func() bool { return r.IntN(2) == 0 }
}

// powered is a process on a disk, which dies before its change at.
type powered struct {
	disk *Disk
	at   int64 // 0: never
}

func (p powered) Before(op fsops.Op) error {
	if p.at > 0 && op.N >= p.at {
		return errDead
	}
	return p.disk.Before(op)
}

func (p powered) After(op fsops.Op, err error) error { return p.disk.After(op, err) }

func cutSave(t *testing.T, p Place, root string, before int, at int64, keep func() bool) {
	disk, err := NewDisk(root)
	if err != nil {
		t.Fatal(err)
	}
	s := p.Open(powered{disk: disk})
	var old store.Version
	for n := 1; n <= before; n++ {
		old = save(t, s, n, old)
	}
	next, saveErr := p.Open(powered{disk, at}).Save(context.Background(), name, doc{Count: before + 1, Twice: 2 * (before + 1)}.bytes(), old)
	if err := disk.Cut(keep); err != nil {
		t.Fatal(err)
	}
	s = p.Open(powered{disk: disk})
	d, v := load(t, s)
	saved := v.ID == next.ID && d.Count == before+1
	kept := v.ID == old.ID && d.Count == before
	switch {
	case saveErr == nil && !saved:
		t.Fatalf("saved, and after a power cut the document is %+v", d)
	case !saved && !kept:
		t.Fatalf("neither saved nor kept: %+v", d)
	case saveErr != nil && !errors.Is(saveErr, errDead):
		t.Fatal(saveErr)
	}
	v = save(t, s, 7, v)
	if err := disk.Cut(func() bool { return false }); err != nil {
		t.Fatal(err)
	}
	if d, now := load(t, p.Open(nil)); now.ID != v.ID || d.Count != 7 {
		t.Fatalf("what the next process saved is lost: %+v", d)
	}
}
