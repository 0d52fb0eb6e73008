package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ubunye-io/ubunye/engine/store"
	"github.com/ubunye-io/ubunye/engine/store/fsops"
)

func TestR01_ALiveBatchIsRefused(t *testing.T) {
	w := newWorld(t)
	holder, _ := w.begin(w.open(nil), Request{Batch: batch("d1")})
	before := tree(t, w.dir)

	l := w.open(nil)
	view, err := l.Look(context.Background(), batch("d1"))
	if err != nil || view.State != StateHeld || view.Held.Holder.Run != holder.ID || view.Held.Gone || view.Held.Age > time.Minute {
		t.Fatalf("%+v, %v", view, err)
	}
	if after := tree(t, w.dir); !slices.Equal(before, after) {
		t.Fatal("looking changed something")
	}

	run, err := l.Begin(context.Background(), RunInfo{Pipeline: "sales"})
	w.must(err)
	_, err = run.Acquire(context.Background(), []Request{{Batch: batch("d1")}})
	var held *HeldError
	if !errors.As(err, &held) || held.Holder.Run != holder.ID || held.Holder.PID != os.Getpid() || held.Holder.Host == "" ||
		held.Gone || held.Age > time.Minute || !strings.HasPrefix(held.Document, w.dir) {
		t.Fatalf("%+v, %v", held, err)
	}
	w.must(run.End(context.Background(), Refused))
	if after := tree(t, w.dir); !slices.Equal(paths(before), paths(after)) {
		t.Fatalf("a refused run left something:\n%q\n%q", before, after)
	}
}

// paths cuts sizes and times off what tree returns.
func paths(lines []string) []string {
	out := slices.Clone(lines)
	for i := range out {
		out[i], _, _ = strings.Cut(out[i], " ")
	}
	return out
}

func TestR02_OtherDatesDoNotBlock(t *testing.T) {
	w := newWorld(t)
	w.begin(w.open(nil), Request{Batch: batch("d1")})
	w.must(w.once(w.open(nil), job{batch: batch("d2"), rows: []string{"2"}}))
	w.wantRows("the other date", "2")
}

func TestR03_AfterARunTheBatchIsFree(t *testing.T) {
	w := newWorld(t)
	j := job{batch: batch("d1"), rows: []string{"1"}}
	w.must(w.once(w.open(nil), j))
	d := w.document(j.batch)
	if d.Holder != nil || len(d.Todo) > 0 || len(d.Outputs) > 0 || d.Finished.Rows("clean") != 1 {
		t.Fatalf("%+v", d)
	}
	if entries, _ := os.ReadDir(filepath.Join(w.dir, ".ubunye", "runs")); len(entries) != 0 {
		t.Fatal("the record or the heartbeat of a run that ended well is left")
	}
	j.rerun = true
	w.must(w.once(w.open(nil), j))
}

// Rows returns the rows of an output, for tests.
func (f *Finished) Rows(output string) int64 { return f.Outputs[output].Rows }

// Of many starts at once exactly one gets the batch; the others are told who.
func TestR04_OneOfManyStarts(t *testing.T) {
	t.Run("of a new batch", func(t *testing.T) { oneOfMany(t, newWorld(t)) })
	t.Run("of a batch that was run before", func(t *testing.T) {
		w := newWorld(t)
		w.must(w.once(w.open(nil), job{batch: batch("d1"), rows: []string{"1"}}))
		oneOfMany(t, w)
	})
}

func oneOfMany(t *testing.T, w *world) {
	const starts = 16
	var won, held int
	var mu sync.Mutex
	var all sync.WaitGroup
	for range starts {
		all.Go(func() {
			run, err := w.open(nil).Begin(context.Background(), RunInfo{Pipeline: "sales"})
			if err != nil {
				t.Error(err)
				return
			}
			_, err = run.Acquire(context.Background(), []Request{{Batch: batch("d1")}})
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				won++
			case errors.As(err, new(*HeldError)):
				held++
			default:
				t.Error(err)
			}
		})
	}
	all.Wait()
	if won != 1 || held != starts-1 {
		t.Fatalf("%d won, %d were refused", won, held)
	}
}

// at calls do before the first operation that matches.
type at struct {
	match func(fsops.Op) bool
	do    func()
	once  sync.Once
}

func (a *at) Before(op fsops.Op) error {
	if a.match(op) {
		a.once.Do(a.do)
	}
	return nil
}

func (a *at) After(fsops.Op, error) error { return nil }

// A disk that takes the run's record and not its document is a ledger that cannot be written too.
func TestR11_ADocumentThatCannotBeWritten(t *testing.T) {
	w := newWorld(t)
	run, err := w.open(noLinks{}).Begin(context.Background(), RunInfo{Pipeline: "sales"})
	w.must(err)
	var unwritable *UnwritableError
	if _, err := run.Acquire(context.Background(), []Request{{Batch: batch("d1")}}); !errors.As(err, &unwritable) || !errors.Is(err, syscall.EROFS) ||
		!strings.Contains(err.Error(), w.dir) {
		t.Fatalf("got %v", err)
	}
}

// noLinks is a disk on which no document gets a name.
type noLinks struct{}

func (noLinks) Before(op fsops.Op) error {
	if strings.Contains(op.To, "/batches/") {
		return syscall.EROFS
	}
	return nil
}

func (noLinks) After(fsops.Op, error) error { return nil }

// Who takes the batch between another's look and its save is the one that has it.
func TestR04_TakenBetweenLookAndSave(t *testing.T) {
	for name, before := range map[string]bool{"a new batch": false, "a batch that was run before": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			if before {
				w.must(w.once(w.open(nil), job{batch: batch("d1"), rows: []string{"1"}}))
			}
			var first *Run
			hook := &at{
				match: func(op fsops.Op) bool { return op.Kind == "link" && strings.Contains(op.To, batch("d1").Key) },
				do:    func() { first, _ = w.begin(w.open(nil), Request{Batch: batch("d1")}) },
			}
			second, err := w.open(hook).Begin(context.Background(), RunInfo{Pipeline: "sales"})
			w.must(err)
			_, err = second.Acquire(context.Background(), []Request{{Batch: batch("d1")}})
			var held *HeldError
			if !errors.As(err, &held) || held.Holder.Run != first.ID {
				t.Fatalf("got %v", err)
			}
			if d := w.document(batch("d1")); d.Holder == nil || d.Holder.Run != first.ID {
				t.Fatalf("held by %+v", d.Holder)
			}
		})
	}
}

func TestR06_AllBatchesOrNone(t *testing.T) {
	for _, when := range []string{"before", "meanwhile"} {
		t.Run(when, func(t *testing.T) {
			w := newWorld(t)
			keys := []Batch{batch("d1"), batch("d2"), batch("d3")}
			slices.SortFunc(keys, func(a, b Batch) int { return strings.Compare(a.Name(), b.Name()) })
			steal := func() { w.begin(w.open(nil), Request{Batch: keys[2]}) }
			hook := &at{match: func(op fsops.Op) bool { return op.Kind == "link" && strings.Contains(op.To, keys[1].Key) }, do: steal}
			if when == "before" {
				steal()
				hook.match = func(fsops.Op) bool { return false }
			}
			run, err := w.open(hook).Begin(context.Background(), RunInfo{Pipeline: "sales"})
			w.must(err)
			_, err = run.Acquire(context.Background(), []Request{{Batch: keys[2]}, {Batch: keys[0]}, {Batch: keys[1]}})
			var held *HeldError
			if !errors.As(err, &held) || held.Batch.Key != keys[2].Key {
				t.Fatalf("got %v", err)
			}
			for _, b := range keys[:2] {
				d, v, err := w.open(nil).load(context.Background(), b)
				w.must(err)
				taken := map[string]int64{"before": 0, "meanwhile": 1}[when]
				if d.Holder != nil || d.Finished != nil || len(d.Todo) > 0 || len(d.Tried) > 0 || d.Epoch != taken {
					t.Fatalf("not given back as it was: %+v", d)
				}
				if when == "before" && !v.Absent() {
					t.Fatal("a batch was taken although another one was held from the start")
				}
			}
			w.must(run.End(context.Background(), Refused))
			if left, _ := filepath.Glob(filepath.Join(w.dir, ".ubunye", "runs", run.ID+"*")); len(left) > 0 {
				t.Fatalf("a refused run left %v", left)
			}
		})
	}
}

func TestLeasesComeInTheOrderOfTheRequests(t *testing.T) {
	w := newWorld(t)
	run, err := w.open(nil).Begin(context.Background(), RunInfo{Pipeline: "sales"})
	w.must(err)
	var requests []Request
	for _, dt := range []string{"a", "b", "c", "d", "e"} {
		requests = append(requests, Request{Batch: batch(dt)})
	}
	leases, err := run.Acquire(context.Background(), requests)
	w.must(err)
	for i, s := range leases {
		if s.Batch().Key != requests[i].Batch.Key || s.Epoch() != 1 {
			t.Fatalf("lease %d is of %s in epoch %d", i, s.Batch().Name(), s.Epoch())
		}
	}
}

func TestR40_AFinishedBatchIsRefused(t *testing.T) {
	w := newWorld(t)
	j := job{batch: batch("d1"), rows: []string{"1"}}
	w.must(w.once(w.open(nil), j))
	before := tree(t, w.dir)
	err := w.once(w.open(nil), j)
	var finished *FinishedError
	if !errors.As(err, &finished) || finished.Finished.State != "sales.1" || finished.Batch.Key != j.batch.Key {
		t.Fatalf("got %v", err)
	}
	if after := tree(t, w.dir); !slices.Equal(paths(before), paths(after)) {
		t.Fatalf("a refused run left something:\n%q\n%q", before, after)
	}
	view, err := w.open(nil).Look(context.Background(), j.batch)
	if err != nil || view.State != StateFinished || view.Finished.Run != finished.Finished.Run {
		t.Fatalf("%+v, %v", view, err)
	}
}

func TestR44_AnUnnamedBatchRunsEveryTime(t *testing.T) {
	w := newWorld(t)
	b := batch("unnamed")
	b.Variables, b.Named = nil, false
	w.must(w.once(w.open(nil), job{batch: b, rows: []string{"1"}}))
	w.must(w.once(w.open(nil), job{batch: b, rows: []string{"2"}}))
	w.must(w.once(w.open(nil), job{batch: b, rows: []string{"3"}, rerun: true}))
	w.wantRows("an unnamed batch never removes what it wrote", "1", "2", "3")
}

// A start that is refused by what it sees, and one that only looks, change nothing at all.
func TestLookingWritesNothing(t *testing.T) {
	w := newWorld(t)
	for _, state := range []string{"absent", "finished"} {
		if state == "finished" {
			w.must(w.once(w.open(nil), job{batch: batch("d1"), rows: []string{"1"}}))
		}
		before := tree(t, w.dir)
		trace := &fsops.Trace{}
		l := w.open(trace)
		if _, err := l.Look(context.Background(), batch("d1")); err != nil {
			t.Fatal(err)
		}
		if _, err := l.Status(context.Background(), ""); err != nil {
			t.Fatal(err)
		}
		if done, left, err := l.FinishCommitted(context.Background(), "sales"); err != nil || len(done)+len(left) > 0 {
			t.Fatal(done, left, err)
		}
		if ops := trace.Ops(); len(ops) > 0 || !slices.Equal(before, tree(t, w.dir)) {
			t.Fatalf("%s: %v", state, ops)
		}
	}
}

func damages(good string) map[string]string {
	var d map[string]any
	json.Unmarshal([]byte(good), &d)
	with := func(key string, value any) string {
		c := map[string]any{}
		for k, v := range d {
			c[k] = v
		}
		c[key] = value
		if value == nil {
			delete(c, key)
		}
		text, _ := json.Marshal(c)
		return string(text)
	}
	return map[string]string{
		"empty": "", "cut": good[:len(good)/2], "zeros": strings.Repeat("\x00", len(good)), "array": "[]", "null": "null",
		"no members": "{}", "trailing garbage": good + "x", "byte order mark": "\xef\xbb\xbf" + good, "newer format": with("format", 2),
		"holder is a number": with("holder", 7), "holder without a run": with("holder", map[string]any{"host": "x"}),
		"no epoch": with("epoch", nil), "epoch is text": with("epoch", "3"), "no batch": with("batch", nil),
		"another batch":     with("batch", map[string]any{"pipeline": "sales", "task": "clean_orders", "key": "0000000000000000"}),
		"todo is an object": with("todo", map[string]any{}), "finished without a run": with("finished", map[string]any{}),
		"folder": "dir", "no permission": "chmod",
	}
}

// What cannot be read is refused by name, and never taken for absent, free, finished or dead (I7).
func TestR10_DamagedDocuments(t *testing.T) {
	w := newWorld(t)
	w.must(w.once(w.open(nil), job{batch: batch("d1"), rows: []string{"1"}}))
	_, v, err := w.open(nil).load(context.Background(), batch("d1"))
	w.must(err)
	good, err := os.ReadFile(v.Path)
	w.must(err)
	next := filepath.Join(filepath.Dir(v.Path), "00000099.json")
	for what, text := range damages(string(good)) {
		t.Run(what, func(t *testing.T) {
			w.t = t
			defer os.Remove(next)
			switch text {
			case "dir":
				w.must(os.Mkdir(next, 0o777))
			case "chmod":
				if os.Getuid() == 0 {
					t.Skip("root may read everything")
				}
				w.must(os.WriteFile(next, good, 0))
			default:
				w.must(os.WriteFile(next, []byte(text), 0o666))
			}
			for _, j := range []job{{batch: batch("d1")}, {batch: batch("d1"), rerun: true}} {
				var bad *UnreadableError
				if err := w.once(w.open(nil), j); !errors.As(err, &bad) || bad.Path != next || !strings.Contains(err.Error(), next) {
					t.Fatalf("got %v", err)
				}
			}
			if _, err := w.open(nil).Look(context.Background(), batch("d1")); !errors.As(err, new(*UnreadableError)) {
				t.Fatalf("look: %v", err)
			}
			st, err := w.open(nil).Status(context.Background(), "")
			if err != nil || len(st.Unreadable) != 1 || st.Unreadable[0].Path != next {
				t.Fatalf("status: %+v, %v", st, err)
			}
			w.wantRows("a refused run", "1")
		})
	}
}

func TestR10_DamagedIDAndRecords(t *testing.T) {
	w := newWorld(t)
	w.forged = true
	w.must(w.once(w.open(nil), job{batch: batch("d1"), rows: []string{"1"}}))
	record := filepath.Join(w.dir, ".ubunye", "runs", "20260101T000000Z-00000000.json")
	for _, text := range []string{"", "[]", "{", `{"run":"other"}`, `{"format":2,"run":"20260101T000000Z-00000000"}`} {
		w.must(os.WriteFile(record, []byte(text), 0o666))
		_, left, err := w.open(nil).FinishCommitted(context.Background(), "sales")
		if err != nil || len(left) != 1 || left[0].Path != record {
			t.Fatalf("%q: %v, %v", text, left, err)
		}
	}
	id := filepath.Join(w.dir, ".ubunye", "id")
	w.must(os.WriteFile(id, nil, 0o666))
	_, err := w.open(nil).Begin(context.Background(), RunInfo{Pipeline: "sales"})
	var bad *UnreadableError
	if !errors.As(err, &bad) || bad.Path != id {
		t.Fatalf("got %v", err)
	}
}

func TestR11_ALedgerThatCannotBeWritten(t *testing.T) {
	w := newWorld(t)
	w.must(os.WriteFile(filepath.Join(w.dir, "file"), nil, 0o666))
	trace := &fsops.Trace{}
	run, err := w.open(trace).Begin(context.Background(), RunInfo{Pipeline: "sales"})
	w.must(err)
	for k := range int64(len(trace.Ops())) {
		w.must(os.RemoveAll(filepath.Join(w.dir, ".ubunye")))
		run, err := w.open(full{from: k + 1}).Begin(context.Background(), RunInfo{Pipeline: "sales"})
		if err == nil {
			if w.must(run.End(context.Background(), Refused)); trace.Ops()[k].Kind != "times" {
				t.Fatalf("operation %d: no error", k+1)
			}
			continue
		}
		var no *UnwritableError
		if !errors.As(err, &no) || no.Path != filepath.Join(w.dir, ".ubunye") {
			t.Fatalf("operation %d: %v", k+1, err)
		}
		if left, _ := filepath.Glob(filepath.Join(w.dir, ".ubunye", "runs", "*")); len(left) > 0 {
			t.Fatalf("operation %d: %v is left", k+1, left)
		}
	}
	w.must(run.End(context.Background(), Failed))
	_, err = Open(context.Background(), Config{Path: filepath.Join(w.dir, "file", "ledger")})
	if err == nil {
		t.Fatal("a ledger below a file was opened")
	}
}

func TestUnknownFieldsSurvive(t *testing.T) {
	w := newWorld(t)
	w.forged = true
	j := job{batch: batch("d1"), rows: []string{"1"}}
	w.must(w.once(w.open(nil), j))
	_, v, err := w.open(nil).load(context.Background(), j.batch)
	w.must(err)
	text, err := os.ReadFile(v.Path)
	w.must(err)
	var d map[string]any
	w.must(json.Unmarshal(text, &d))
	d["Epoch"] = "not ours"
	d["later"] = map[string]any{"a": []any{1.0}}
	d["batch"].(map[string]any)["later"] = "b"
	d["finished"].(map[string]any)["later"] = "f"
	d["finished"].(map[string]any)["outputs"].(map[string]any)["clean"].(map[string]any)["later"] = "o"
	text, err = json.Marshal(d)
	w.must(err)
	w.must(os.WriteFile(v.Path, text, 0o666))

	run, s := w.begin(w.open(nil), Request{Batch: j.batch, Rerun: true})
	_, err = os.Stat(filepath.Join(filepath.Dir(v.Path), "00000005.json"))
	w.must(err)
	w.must(s.Release(context.Background()))
	w.must(run.End(context.Background(), Refused))
	_, v, err = w.open(nil).load(context.Background(), j.batch)
	w.must(err)
	text, err = os.ReadFile(v.Path)
	w.must(err)
	var now map[string]any
	w.must(json.Unmarshal(text, &now))
	delete(now, "id")
	delete(now, "ancestors")
	delete(now, "epoch")
	delete(d, "id")
	delete(d, "ancestors")
	delete(d, "epoch")
	got, _ := json.Marshal(now)
	want, _ := json.Marshal(d)
	if string(got) != string(want) {
		t.Fatalf("got  %s\nwant %s", got, want)
	}
}

// An acquire whose answer is lost, or whose durability is unknown, is found out.
func TestAcquireWithALostAnswer(t *testing.T) {
	w := newWorld(t)
	w.must(w.once(w.open(nil), job{batch: batch("d0"), rows: []string{"0"}}))
	for _, kind := range []string{"link", "syncdir"} {
		lose := &loseFirst{match: func(op fsops.Op) bool { return op.Kind == kind && strings.Contains(op.Path+op.To, batch("d1").Key) }}
		run, s := w.begin(w.open(lose), Request{Batch: batch("d1")})
		if !lose.done || !w.document(batch("d1")).heldBy(run.ID, s.Epoch()) {
			t.Fatalf("%s: not held", kind)
		}
		w.must(s.Release(context.Background()))
		w.must(run.End(context.Background(), Refused))
	}
}

// loseFirst lets the first matching operation happen and says that it failed.
type loseFirst struct {
	match func(fsops.Op) bool
	done  bool
}

func (h *loseFirst) Before(fsops.Op) error { return nil }
func (h *loseFirst) After(op fsops.Op, err error) error {
	if !h.done && h.match(op) {
		h.done = true
		return store.ErrUnknown
	}
	return nil
}
