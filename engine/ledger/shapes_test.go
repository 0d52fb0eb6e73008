package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/ubunye-io/ubunye/engine/store/fsops"
)

func TestShapesAreKeptByTaskAndProfile(t *testing.T) {
	w := newWorld(t)
	w.must(w.once(w.open(nil), job{batch: batch("d1"), rows: []string{"1"}}))
	l := w.open(nil)
	if got, found, err := l.Shapes(batch("d1")); err != nil || found || got != nil {
		t.Fatalf("before: %v, %v, %v", got, found, err)
	}
	prod := batch("d1")
	prod.Profile = "prod"
	shape := func(typ string) map[string]Shape {
		return map[string]Shape{"raw": {Columns: []Column{{Name: "id", Type: typ}}, Run: "r", Variables: map[string]string{"dt": "d1"}, At: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}}
	}
	w.must(l.KeepShapes(batch("d1"), shape("BIGINT")))
	w.must(l.KeepShapes(prod, shape("VARCHAR")))
	w.must(l.KeepShapes(batch("d2"), shape("DOUBLE"))) // another batch of the same task
	for b, want := range map[*Batch]map[string]Shape{{Pipeline: "sales", Task: "clean_orders"}: shape("DOUBLE"), &prod: shape("VARCHAR")} {
		if got, found, err := l.Shapes(*b); err != nil || !found || !reflect.DeepEqual(got, want) {
			t.Errorf("profile %q: %v, %v, %v", b.Profile, got, found, err)
		}
	}
	var bad *UnreadableError
	for _, text := range []string{"", "{", "[]", "{}"} {
		path := filepath.Join(l.Path(), "shapes", "sales", "clean_orders.json")
		w.must(os.WriteFile(path, []byte(text), 0o666))
		if _, found, err := l.Shapes(batch("d1")); found || !errors.As(err, &bad) || bad.Path != path {
			t.Errorf("%q: %v, %v", text, found, err)
		}
	}
}

// Whatever change to the disk fails, what is read afterwards is one of the two.
func TestKeepingShapesFailsWhole(t *testing.T) {
	w := newWorld(t)
	w.must(w.once(w.open(nil), job{batch: batch("d1"), rows: []string{"1"}}))
	was, is := map[string]Shape{"raw": {Run: "a"}}, map[string]Shape{"raw": {Run: "b"}}
	for k := int64(1); ; k++ {
		w.must(w.open(nil).KeepShapes(batch("d1"), was))
		err := w.open(&refuseAt{n: k}).KeepShapes(batch("d1"), is)
		got, found, readErr := w.open(nil).Shapes(batch("d1"))
		if readErr != nil || !found || !reflect.DeepEqual(got, is) && (err == nil || !reflect.DeepEqual(got, was)) {
			t.Fatalf("change %d failed (%v): %v, %v, %v", k, err, got, found, readErr)
		}
		if err == nil {
			if k < 4 {
				t.Fatalf("only %d changes", k)
			}
			break
		}
	}
	left, err := filepath.Glob(filepath.Join(w.dir, ".ubunye", "tmp", "*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left in tmp: %q (%v)", left, err)
	}
}

// refuseAt refuses the change n of an FS.
type refuseAt struct{ n int64 }

func (f *refuseAt) Before(op fsops.Op) error {
	if op.N == f.n {
		return errors.New("refused")
	}
	return nil
}

func (f *refuseAt) After(fsops.Op, error) error { return nil }

func TestNewestCommitOfATask(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	clock := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	open := func() *Ledger {
		c := w.config(nil)
		c.Now = func() time.Time { return clock }
		return w.openAs(c)
	}
	if f, _, err := open().Newest(ctx, batch("d1")); f != nil || err != nil {
		t.Fatalf("before: %v, %v", f, err)
	}
	prod := batch("d3")
	prod.Profile = "prod"
	prod.Key = "0123456789abcdef"
	for _, b := range []Batch{batch("d2"), batch("d1"), prod} {
		clock = clock.Add(time.Hour)
		w.must(w.once(open(), job{batch: b, rows: []string{"x"}}))
	}
	f, b, err := open().Newest(ctx, batch("d9"))
	if err != nil || f == nil || b.Key != batch("d1").Key || !f.At.Equal(clock.Add(-time.Hour)) {
		t.Fatalf("newest: %v of %v (%v)", f, b, err)
	}
	// One that cannot be read does not hide the others.
	w.forged = true
	documents, err := filepath.Glob(filepath.Join(w.dir, ".ubunye", "batches", "sales", "clean_orders", batch("d1").Key, "*.json"))
	w.must(err)
	for _, d := range documents {
		w.must(os.WriteFile(d, []byte("{"), 0o666))
	}
	if f, b, err = open().Newest(ctx, batch("d9")); err != nil || f == nil || b.Key != batch("d2").Key {
		text, _ := json.Marshal(f)
		t.Fatalf("newest: %s of %v (%v)", text, b, err)
	}
}
