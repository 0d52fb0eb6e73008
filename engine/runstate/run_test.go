package runstate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ubunye-io/ubunye/engine/store/fsops"
)

func TestARunIsWrittenFromItsFirstTaskToItsLast(t *testing.T) {
	w := newWorld(t)
	q := w.start("dt=1")
	a, err := w.begin(w.folder(nil), q, "0a")
	w.must(err)
	w.wantFiles("shop.1.1.json", "")
	x := w.look(q).Latest
	if got := states(x.Document); got != "a1:PENDING a2:PENDING a3:PENDING" || x.Document.Final || x.Document.LedgerRun != "0a" {
		t.Fatalf("before the first task: %s, %+v", got, x.Document)
	}
	w.must(a.set("a1", Succeeded))
	w.must(a.set("a2", Failed))
	w.must(a.Finish(a.doc))
	w.wantFiles("shop.1.1.json", "")
	w.wantSchema()

	var ran []string
	w.must(w.whole(w.folder(nil), q, "0b", func(task string) { ran = append(ran, task) }))
	if !slices.Equal(ran, []string{"a2", "a3"}) {
		t.Errorf("the second attempt ran %v", ran)
	}
	w.wantFiles("", "shop.1.1.json shop.1.2.json")
	w.wantSchema()
	x = w.look(q).Latest
	first := x.Document.Actions["a1"]
	if x.Number != (Number{1, 2}) || first.Execution.Attempt != 1 || *first.Results[0].Rows != 3 || !x.Document.RunStart.Before(*x.Document.AttemptStart) {
		t.Errorf("the newest file is no complete picture: %+v", first)
	}

	w.must(w.whole(w.folder(nil), q, "0c", func(string) {}))
	w.must(w.whole(w.folder(nil), w.start("dt=2"), "0d", func(string) {}))
	w.wantFiles("", "shop.1.1.json shop.1.2.json shop.2.1.json shop.3.1.json")
	text, err := os.ReadFile(filepath.Join(w.dir, "index.json"))
	w.must(err)
	var paths []string
	for line := range bytes.Lines(text) {
		var l Line
		w.must(json.Unmarshal(line, &l))
		paths = append(paths, fmt.Sprintf("%s %s %s", l.Path, l.Status, l.Actions["a1"].Objects))
	}
	if got := strings.Join(paths, ", "); got != "succeeded/shop.1.2.json SUCCEEDED [a1_out], succeeded/shop.2.1.json SUCCEEDED [a1_out], succeeded/shop.3.1.json SUCCEEDED [a1_out]" {
		t.Errorf("the index has %s", got)
	}
	if len(w.files(".tmp")) != 0 {
		t.Errorf("temporary files are left: %v", w.files(".tmp"))
	}
}

func TestTheAttemptBeforeSaysThatItWasInterrupted(t *testing.T) {
	w := newWorld(t)
	q := w.start()
	w.stopped(q, false, Succeeded, Running)
	_, err := w.begin(w.folder(nil), q, "0b")
	w.must(err)
	x, err := w.folder(nil).read("shop", Number{1, 1})
	w.must(err)
	if a := x.Document.Actions["a2"]; a.State != Failed || a.Message != "interrupted, taken over by 0b" {
		t.Errorf("%s: %s", a.State, a.Message)
	}
}

// Twenty processes start at once, for ten batches and twice for one of them each: no two have one number, and nobody is lost.
func TestTwoStartsNeverShareANumber(t *testing.T) {
	w := newWorld(t)
	w.must(w.folder(nil).make(currentDir))
	var mu sync.Mutex
	taken := map[Number]int{}
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			q := w.start(fmt.Sprintf("dt=%d", i))
			f := &Folder{Path: w.dir, FS: fsops.New(nil), Now: time.Now}
			for {
				a, err := w.begin(f, q, "")
				if errors.As(err, new(*TakenError)) {
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				taken[a.number]++
				mu.Unlock()
				if err := a.Save(a.doc); err != nil {
					t.Error(err)
				}
				return
			}
		})
	}
	wg.Wait()
	for n := int64(1); n <= 20; n++ {
		if taken[Number{n, 1}] != 1 {
			t.Errorf("run %d was taken %d times", n, taken[Number{n, 1}])
		}
	}
	if len(w.files("current")) != 20 {
		t.Errorf("current/ holds %v", w.files("current"))
	}
}

// A hint that is too old leads to a number that a run has which is in succeeded/: it is refused, and the next look
// finds the right one.
func TestANumberIsTakenOnceWhereverItsFileIs(t *testing.T) {
	w := newWorld(t)
	for range 3 {
		w.must(w.whole(w.folder(nil), w.start("dt=1"), "", func(string) {}))
	}
	w.write(".latest/shop.json", `{"runId":1,"attemptId":1}`)
	_, err := w.begin(w.folder(nil), w.start("dt=2"), "")
	if !errors.As(err, new(*TakenError)) {
		t.Fatalf("run 2 was taken twice: %v", err)
	}
	w.wantFiles("", "shop.1.1.json shop.2.1.json shop.3.1.json")
	a, err := w.begin(w.folder(nil), w.start("dt=2"), "")
	w.must(err)
	if a.number != (Number{4, 1}) {
		t.Errorf("the next start took %v", a.number)
	}
}

func TestWhoWasAcceptedMeanwhileWritesNoMore(t *testing.T) {
	w := newWorld(t)
	a := w.stopped(w.start(), false, Running)
	w.mv("current/shop.1.1.json", "succeeded/shop.1.1.json")
	if err := a.set("a1", Succeeded); !errors.As(err, new(*LostError)) {
		t.Errorf("got %v", err)
	}
	w.wantFiles("", "shop.1.1.json")
}

// Also one that is paused at any change of a save, while another attempt ends the run.
func TestWhoIsPausedInASaveDoesNotComeBack(t *testing.T) {
	for at := int64(1); ; at++ {
		w := newWorld(t)
		a := w.stopped(w.start(), false, Running)
		moved := false
		a.folder = w.folder(meanwhile{at, func() {
			moved = true
			w.mv("current/shop.1.1.json", "succeeded/shop.1.1.json")
		}})
		err := a.set("a1", Succeeded)
		if !moved {
			if w.must(err); at < 4 {
				t.Errorf("a save makes %d changes", at-1)
			}
			return
		}
		if !errors.As(err, new(*LostError)) {
			t.Errorf("moved at %d: %v", at, err)
		}
		w.wantFiles("", "shop.1.1.json")
	}
}

// meanwhile does something right before an operation.
type meanwhile struct {
	at int64
	do func()
}

func (m meanwhile) Before(op fsops.Op) error {
	if op.N == m.at {
		m.do()
	}
	return nil
}

func (m meanwhile) After(fsops.Op, error) error { return nil }

// What a person or another tool keeps in the folder is not read, not moved and not removed.
func TestFilesOfOtherToolsAreLeftAlone(t *testing.T) {
	w := newWorld(t)
	strangers := []string{"current/README.md", "current/shop.1.1.json.bak", "current/shop.01.1.json", "current/shop.1.json", "current/.shop.1.1.json.swp",
		"current/a.b.1.1.json", "succeeded/notes.txt", "succeeded/shop.9.9.json.crc", "other/shop.7.1.json", "own.json", ".tmp/note", "current/hello shop.1.1.json"}
	for _, name := range strangers {
		w.write(name, "not { JSON")
	}
	f := w.folder(nil)
	w.stopped(w.start(), true, Failed)
	w.must(w.whole(f, w.start(), "", func(string) {}))
	if _, _, err := f.Reindex(ctx); err != nil {
		t.Fatal(err)
	}
	if _, _, err := f.Migrate(ctx, false); err != nil {
		t.Fatal(err)
	}
	w.must(w.whole(f, w.start(), "", func(string) {}))
	if _, err := f.Prune(ctx, "shop", 1, false); err != nil {
		t.Fatal(err)
	}
	for _, name := range strangers {
		if text, err := os.ReadFile(filepath.Join(w.dir, name)); err != nil || string(text) != "not { JSON" {
			t.Errorf("%s is %q, %v", name, text, err)
		}
	}
}

// With very many finished runs, of as many batches, a start reads as little as with one: it does not list them.
func TestFinishedRunsCostAStartNothing(t *testing.T) {
	w := newWorld(t)
	for i := range 50 {
		w.must(w.whole(w.folder(nil), w.start(fmt.Sprintf("dt=%d", i)), "", func(string) {}))
	}
	f := w.folder(nil)
	var listed []string
	f.listed = func(dir string) { listed = append(listed, dir) }
	for _, q := range []Start{w.start("dt=7"), w.start("dt=new")} {
		listed = nil
		s, err := f.Look(ctx, "shop", q.Params, false)
		w.must(err)
		if !slices.Equal(listed, []string{"current"}) || s.Highest != 50 {
			t.Errorf("a look lists %v and finds run %d", listed, s.Highest)
		}
		if (s.Latest != nil) != (q.Variables["dt"] == "7") || s.Latest != nil && s.Latest.Run != 8 {
			t.Errorf("a look finds %+v", s.Latest)
		}
	}
	s, err := f.Look(ctx, "shop", w.start("dt=7").Params, true)
	w.must(err)
	if s.Latest.Run != 50 {
		t.Errorf("the latest of all is %d", s.Latest.Run)
	}
}

// Whatever hint is missing or wrong, the look finds what is there; and once a start goes on they are right again.
func TestHintsAreNeverTrustedAlone(t *testing.T) {
	for name, break_ := range map[string]func(w *world, key string){
		"all missing":         func(w *world, key string) { w.must(os.RemoveAll(filepath.Join(w.dir, ".latest"))) },
		"the newest missing":  func(w *world, key string) { w.must(os.Remove(filepath.Join(w.dir, ".latest", "shop.json"))) },
		"the newest too high": func(w *world, key string) { w.write(".latest/shop.json", `{"runId":9,"attemptId":1}`) },
		"the newest torn":     func(w *world, key string) { w.write(".latest/shop.json", `{"runId":`) },
		"the newest empty":    func(w *world, key string) { w.write(".latest/shop.json", ``) },
		"own torn":            func(w *world, key string) { w.write(".latest/shop/"+key+".json", `{"ru`) },
		"own of no file":      func(w *world, key string) { w.write(".latest/shop/"+key+".json", `{"runId":3,"attemptId":7}`) },
		"own of another":      func(w *world, key string) { w.write(".latest/shop/"+key+".json", `{"runId":1,"attemptId":1}`) },
		"its file was moved":  func(w *world, key string) { w.mv("succeeded/shop.2.1.json", "current/shop.2.1.json") },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			for _, dt := range []string{"dt=1", "dt=2", "dt=1"} {
				w.must(w.whole(w.folder(nil), w.start(dt), "", func(string) {}))
			}
			q := w.start("dt=2")
			break_(w, keyOf(q.Variables, ""))
			s := w.look(q)
			if s.Highest != 3 || s.Latest == nil || s.Latest.Number != (Number{2, 1}) {
				t.Fatalf("found %d, %+v", s.Highest, s.Latest)
			}
			a, err := w.begin(w.folder(nil), q, "")
			w.must(err)
			w.must(a.Finish(a.doc)) // unfinished tasks: it stays
			f := w.folder(nil)
			f.listed = func(dir string) {
				if dir != "current" {
					t.Errorf("%s is listed again", dir)
				}
			}
			for _, dt := range []string{"dt=1", "dt=2", "dt=3"} {
				_, err = f.Look(ctx, "shop", w.start(dt).Params, false)
				w.must(err)
			}
		})
	}
}

// Two starts of different batches want one number: who loses it has written a hint that names the other's file, and finds
// its own runs all the same, without listing those that are finished.
func TestWhoLosesANumberFindsItsRuns(t *testing.T) {
	for _, before := range []bool{false, true} {
		w := newWorld(t)
		if before {
			w.must(w.whole(w.folder(nil), w.start("dt=1"), "", func(string) {}))
		}
		w.must(w.whole(w.folder(nil), w.start("dt=0"), "", func(string) {}))
		q := w.start("dt=1")
		s := w.look(q)
		d, err := Decide(s, q)
		w.must(err)
		w.stopped(w.start("dt=2"), true, Failed) // it comes between
		f := w.folder(nil)
		if _, err = f.Create(s, d.Document(AppConfig{Name: "shop"}, "", f.Now())); !errors.As(err, new(*TakenError)) {
			t.Fatalf("got %v", err)
		}
		f.listed = func(dir string) {
			if dir == succeededDir {
				t.Error("the finished runs are listed")
			}
		}
		s, err = f.Look(ctx, "shop", q.Params, false)
		w.must(err)
		if (s.Latest != nil) != before || before && s.Latest.Run != 1 {
			t.Errorf("found %+v", s.Latest)
		}
	}
}

// A state file that is cut off at any length, or has been filled with zeros from there, is refused by its name; so it is
// when it is empty. Only its last byte, the end of the line, says nothing.
func TestATornFileIsRefusedByNameAtEveryLength(t *testing.T) {
	w := newWorld(t)
	q := w.start("dt=1")
	w.stopped(q, true, Succeeded, Failed)
	path := filepath.Join(w.dir, "current", "shop.1.1.json")
	whole, err := os.ReadFile(path)
	w.must(err)
	if len(whole) < 500 {
		t.Fatalf("%d bytes", len(whole))
	}
	for n := range len(whole) - 1 {
		for kind, text := range map[string][]byte{"cut off": whole[:n], "zeros": append(slices.Clone(whole[:n]), make([]byte, len(whole)-n)...)} {
			w.must(os.WriteFile(path, text, 0o666))
			_, err := w.begin(w.folder(nil), q, "")
			var unreadable *UnreadableError
			if !errors.As(err, &unreadable) || unreadable.Path != path {
				t.Fatalf("%s at %d: %v", kind, n, err)
			}
			if _, err := w.begin(w.folder(nil), w.start("dt=2"), ""); !errors.As(err, &unreadable) {
				t.Fatalf("%s at %d: whose it was is guessed: %v", kind, n, err)
			}
			if files := w.files("current"); len(files) != 1 {
				t.Fatalf("a refused start has written %v", files)
			}
		}
	}
	w.must(os.WriteFile(path, whole, 0o666))
	a, err := w.begin(w.folder(nil), q, "") // a restored file is the way on
	w.must(err)
	if a.number != (Number{1, 2}) {
		t.Errorf("took %v", a.number)
	}
}

// A run is stopped at every change of the state files of its whole life, killed there, the disk full there, the answer lost
// there, and started again until it is done: it is the
// same run, no task that was written down as finished is executed again, and the end is that of an undisturbed run.
func TestC012_ARunKilledAtEveryChangeIsGoneOnWith(t *testing.T) {
	for _, before := range []string{"nothing before", "a finished run before", "a failed attempt before"} {
		t.Run(before, func(t *testing.T) {
			setUp := func(t *testing.T) *world {
				w := newWorld(t)
				switch before {
				case "a finished run before":
					w.must(w.whole(w.folder(nil), w.start("dt=1"), "", func(string) {}))
				case "a failed attempt before":
					w.stopped(w.start("dt=1"), true, Succeeded, Failed)
				}
				return w
			}
			w := setUp(t)
			trace := &fsops.Trace{}
			w.must(w.whole(w.folder(trace), w.start("dt=1"), "", func(string) {}))
			undisturbed := w.look(w.start("dt=1"))
			n := int64(len(trace.Ops()))
			if n < 40 {
				t.Fatalf("%d changes were seen", n)
			}
			for k := int64(1); k <= n+1; k++ {
				for kind, hook := range map[string]fsops.Hook{
					"kill":   killed{at: k},
					"enospc": &fsops.Fault{Kind: fsops.NoRoom, At: k},
					"lost":   &fsops.Fault{Kind: fsops.Lost, At: k},
				} {
					t.Run(fmt.Sprintf("%s/%d", kind, k), func(t *testing.T) {
						t.Parallel()
						setUp(t).stoppedAt(hook, kind == "kill" && k <= n, k > n, undisturbed)
					})
				}
			}
		})
	}
}

// stoppedAt stops a run at a change, in a way after which it may or may not go on, and starts it again until it is done.
func (w *world) stoppedAt(hook fsops.Hook, mustFail, mustWork bool, undisturbed *Snapshot) {
	ran := map[string]int{}
	written := map[string]bool{} // said to be finished before the kill
	count := func(task string) { ran[task]++ }
	err := w.whole(w.folder(hook), w.start("dt=1"), "", count)
	if err == nil && mustFail || err != nil && mustWork {
		w.Fatal(err)
	}
	f := w.folder(nil)
	f.listed = func(dir string) {
		if dir == succeededDir && undisturbed.Latest.Number != (Number{1, 1}) {
			w.Error("the finished runs are listed")
		}
	}
	s, err := f.Look(ctx, "shop", w.start("dt=1").Params, false)
	w.must(err)
	if x := s.Latest; x != nil && x.Run == undisturbed.Latest.Run {
		for name, a := range x.Document.Actions {
			written[name] = a.State == Succeeded
		}
	}
	d, err := Decide(s, w.start("dt=1"))
	w.must(err)
	switch {
	case s.Latest != nil && s.Latest.Number == undisturbed.Latest.Number && s.Latest.Document.done():
		if d.Recovery || d.Run != s.Highest+1 || (d.Finish == nil) != s.Latest.Succeeded {
			w.Fatalf("it was done, and is gone on with: %+v", d)
		}
		if d.Finish != nil {
			w.must(w.folder(nil).FinishMove(d.Finish))
		}
	default:
		if d.Run != undisturbed.Latest.Run {
			w.Fatalf("the next start begins run %d", d.Run)
		}
		before := maps.Clone(ran)
		w.must(w.whole(w.folder(nil), w.start("dt=1"), "", count))
		for task, times := range ran {
			if written[task] && times > before[task] {
				w.Errorf("%s was finished and ran again", task)
			}
		}
	}
	end := w.look(w.start("dt=1"))
	if end.Latest.Run != undisturbed.Latest.Run || end.Highest != undisturbed.Highest || !end.Latest.Succeeded || len(end.Unfinished) > 0 ||
		states(end.Latest.Document) != states(undisturbed.Latest.Document) {
		w.Errorf("the end is run %d: %s", end.Latest.Run, states(end.Latest.Document))
	}
	if len(w.files("current")) > 0 {
		w.Errorf("current/ holds %v", w.files("current"))
	}
	w.wantSchema()
	text, err := os.ReadFile(filepath.Join(w.dir, "index.json"))
	w.must(err)
	if lines := int64(strings.Count(string(text), "\n")); lines != end.Highest {
		w.Errorf("the index has %d lines for %d runs", lines, end.Highest)
	}
}

// A run and a start that have no task in common are nothing to each other: each goes on with its own, also while the
// other lives, and what the newest of them knows of inputs is carried on.
func TestRunsOfOtherTasks(t *testing.T) {
	w := newWorld(t)
	of := func(tasks ...string) Start {
		q := w.start("dt=1")
		q.Selected = tasks
		q.Tasks = slices.DeleteFunc(q.Tasks, func(t Task) bool { return len(tasks) > 0 && !slices.Contains(tasks, t.Name) })
		return q
	}
	w.alive["0a"] = true
	first, err := w.begin(w.folder(nil), of("a1"), "0a")
	w.must(err)
	x := first.doc.Actions["a1"]
	x.Objects = []ObjectState{{Object: "in", State: []byte(`"mark 1"`)}}
	first.doc.Actions["a1"] = x
	w.must(first.set("a1", Running))
	second, err := w.begin(w.folder(nil), of("a2"), "")
	w.must(err)
	if second.decision.Number != (Number{2, 1}) || len(second.doc.Others["a1"]) != 1 {
		t.Fatalf("%+v, marks of others: %v", second.decision.Number, second.doc.Others)
	}
	w.must(second.set("a2", Failed))
	w.must(second.Finish(second.doc))
	for _, q := range []Start{of("a1", "a3"), of()} { // both meet one of the two
		if _, err := Decide(w.look(q), q); err == nil {
			t.Errorf("%v is not refused", q.Selected)
		}
	}
	if s := w.look(of("a3")); s.Latest != nil || len(s.Unfinished) != 2 {
		t.Errorf("a3: latest %+v, unfinished %d", s.Latest, len(s.Unfinished))
	}
	w.alive["0a"] = false
	for task, run := range map[string]int64{"a1": 1, "a2": 2} { // although the other one is newer, or older
		d, err := Decide(w.look(of(task)), of(task))
		if err != nil || d.Number != (Number{run, 2}) {
			t.Errorf("%s: %+v, %v", task, d, err)
		}
	}
}

// What the newest run of the same variables knows of inputs is carried on, also after an older run of other tasks has gone on,
// and after a start of other tasks that was killed at any change.
func TestC009_AnOlderRunThatGoesOnDoesNotBecomeTheNewest(t *testing.T) {
	w := newWorld(t)
	of := func(tasks ...string) Start {
		q := w.start("dt=1")
		q.Selected = tasks
		q.Tasks = slices.DeleteFunc(q.Tasks, func(t Task) bool { return !slices.Contains(tasks, t.Name) })
		return q
	}
	w.stopped(of("a1"), true, Failed)
	second, err := w.begin(w.folder(nil), of("a2"), "")
	w.must(err)
	x := second.doc.Actions["a2"]
	x.Objects = []ObjectState{{Object: "in", State: []byte(`"mark 2"`)}}
	second.doc.Actions["a2"] = x
	w.must(second.set("a2", Succeeded))
	w.must(second.Finish(second.doc))
	w.must(w.whole(w.folder(nil), w.start("dt=2"), "", func(string) {})) // the newest of all is of no use then
	knows := func(when string) {
		t.Helper()
		q := w.start("dt=1")
		s := w.look(q)
		d, err := Decide(s, q)
		w.must(err)
		if s.Latest == nil || s.Latest.Number != (Number{2, 1}) {
			t.Fatalf("%s the latest is not run 2, and a run carries on %s", when, d.Document(AppConfig{}, "", w.now).Actions["a2"].Objects)
		}
		if got := d.Document(AppConfig{Name: "shop"}, "", w.now).Actions["a2"].Objects; len(got) != 1 || string(got[0].State) != `"mark 2"` {
			t.Errorf("%s the next run begins with %s", when, got)
		}
	}
	knows("at first")
	a, err := w.begin(w.folder(nil), of("a1"), "")
	w.must(err)
	if a.number != (Number{1, 2}) {
		t.Fatalf("%v goes on", a.number)
	}
	w.must(a.set("a1", Succeeded))
	w.must(a.Finish(a.doc))
	knows("after run 1 has gone on")
	for at := int64(1); ; at++ {
		_, err := w.begin(w.folder(killed{at}), of("a3"), "")
		if len(w.files("current")) > 0 {
			break
		}
		if !errors.Is(err, errKilled) {
			t.Fatal(err)
		}
		knows(fmt.Sprintf("killed at %d", at))
	}
}

// A run that died when all was done, before it could say so, is not unfinished: where it cannot be gone on with, because
// something is another now, a new run begins, and its files are moved as if it had said so.
func TestARunThatDiedWhenAllWasDone(t *testing.T) {
	for name, c := range map[string]struct {
		change  func(q *Start)
		recover bool
	}{
		"nothing has changed":    {func(*Start) {}, true},
		"an input has":           {func(q *Start) { q.Tasks[0].Changed = "in.csv has another size" }, false},
		"the configuration has":  {func(q *Start) { q.Tasks[1].Config = "other" }, false},
		"the selection has":      {func(q *Start) { q.Selected = []string{"a1", "a2", "a3"} }, false},
		"it is to be kept":       {func(q *Start) { q.Tasks[0].Changed = "x"; q.Resume = true }, true},
		"it is to be made again": {func(q *Start) { q.Tasks[0].Changed = "x"; q.Rerun = true }, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.tasks[0].Appends = true
			q := w.start("dt=1")
			w.stopped(q, false, Succeeded, Succeeded, Running)
			q.Tasks[2].Commit = &Commit{State: "shop.1"}
			c.change(&q)
			d, err := Decide(w.look(q), q)
			w.must(err)
			if d.Recovery != c.recover {
				t.Fatalf("a recovery: %v, want %v", d.Recovery, c.recover)
			}
			if c.recover {
				return
			}
			if d.Number != (Number{2, 1}) || len(d.Carried) != 0 {
				t.Errorf("%+v carries %v", d.Number, d.Carried)
			}
			w.must(w.folder(nil).FinishMove(d.Finish))
			x := w.look(q).Latest
			if !x.Succeeded || !x.Document.Final || len(x.Document.Unfinished()) != 0 {
				t.Errorf("%s says %+v", x.Path, x.Document)
			}
		})
	}
	// told to ask, it asks
	w := newWorld(t)
	w.tasks[0].Appends = true
	q := w.start("dt=1")
	w.stopped(q, false, Succeeded, Succeeded, Succeeded)
	q.Recover = Ask
	if _, err := Decide(w.look(q), q); !errors.As(err, new(*UnprovenError)) {
		t.Errorf("got %v", err)
	}
}
