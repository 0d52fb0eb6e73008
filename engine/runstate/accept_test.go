package runstate

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ubunye-io/ubunye/engine/store/fsops"
)

var word = Acceptance{Who: "ann", Reason: "the supplier will not send it"}

// C015: a run that fails for good is given up by a command that says who, when and why, and the next day goes on.
func TestC015_AcceptGivesUpARun(t *testing.T) {
	w := newWorld(t)
	w.stopped(w.start("dt=1"), true, Succeeded, Failed)
	w.stopped(w.start("dt=1"), true, Succeeded, Failed)
	x, err := w.folder(nil).Accept(ctx, "shop", 1, "", word)
	w.must(err)
	w.wantFiles("", "shop.1.1.json shop.1.2.json")
	w.wantSchema()
	x, err = w.folder(nil).Find(ctx, "shop", 1)
	w.must(err)
	if a := x.Document.Accepted; a == nil || a.Who != "ann" || a.Reason != word.Reason || !a.At.Equal(w.now) {
		t.Errorf("accepted as %+v", a)
	}
	s := w.look(w.start("dt=1"))
	d, err := Decide(s, w.start("dt=1"))
	w.must(err)
	if d.Recovery || d.Run != 2 || d.Accepted == nil || strings.Join(d.Accepted.Document.Unfinished(), " ") != "a2 a3" {
		t.Errorf("%+v", d)
	}
	if _, err := w.folder(nil).Accept(ctx, "shop", 1, "", word); !errors.As(err, new(*DoneError)) {
		t.Errorf("accepted twice: %v", err)
	}
}

// A plain mv of the newest file means the same; what earlier attempts left in current/ is no run that waits.
func TestMvIsAccepting(t *testing.T) {
	w := newWorld(t)
	w.stopped(w.start(), true, Succeeded, Failed)
	w.stopped(w.start(), true, Succeeded, Failed)
	w.mv("current/shop.1.2.json", "succeeded/shop.1.2.json")
	s := w.look(w.start())
	if s.Latest.Number != (Number{1, 2}) || !s.Latest.Succeeded || len(s.Unfinished) > 0 {
		t.Fatalf("%+v, %v", s.Latest, s.Unfinished)
	}
	a, err := w.begin(w.folder(nil), w.start(), "")
	w.must(err)
	if a.number != (Number{2, 1}) || a.decision.Accepted == nil {
		t.Errorf("%+v", a.decision)
	}
	// also where nothing of the run is left in current/, and others came after it
	w = newWorld(t)
	w.stopped(w.start("dt=1"), true, Succeeded, Failed)
	w.must(w.whole(w.folder(nil), w.start("dt=2"), "", func(string) {}))
	w.mv("current/shop.1.1.json", "succeeded/shop.1.1.json")
	if s := w.look(w.start("dt=1")); s.Latest == nil || s.Latest.Run != 1 || !s.Latest.Succeeded {
		t.Fatalf("%+v", s.Latest)
	}
	// and back again it waits
	w = newWorld(t)
	w.must(w.whole(w.folder(nil), w.start(), "", func(string) {}))
	w.mv("succeeded/shop.1.1.json", "current/shop.1.1.json")
	if s := w.look(w.start()); s.Latest.Succeeded || s.Latest.Run != 1 {
		t.Errorf("%+v", s.Latest)
	}
}

func TestTheFileInSucceededCounts(t *testing.T) {
	w := newWorld(t)
	w.stopped(w.start(), true, Succeeded, Failed)
	text, err := os.ReadFile(filepath.Join(w.dir, "current", "shop.1.1.json"))
	w.must(err)
	w.write("succeeded/shop.1.1.json", strings.Replace(string(text), `"FAILED"`, `"SKIPPED"`, 1))
	s := w.look(w.start())
	if !s.Latest.Both || !s.Latest.Succeeded || len(s.Unfinished) > 0 || s.Latest.Document.Actions["a2"].State != Skipped {
		t.Fatalf("%+v", s.Latest)
	}
	a, err := w.begin(w.folder(nil), w.start(), "")
	w.must(err)
	if a.number != (Number{2, 1}) {
		t.Errorf("took %v", a.number)
	}
}

func TestAcceptIsRefused(t *testing.T) {
	w := newWorld(t)
	f := w.folder(nil)
	a, err := w.begin(f, w.start(), "0a")
	w.must(err)
	w.must(a.set("a1", Succeeded))
	for name, c := range map[string]struct {
		run   int64
		task  string
		alive bool
		want  any
	}{
		"while it is alive":  {1, "", true, new(*AliveError)},
		"a task of it":       {1, "a2", true, new(*AliveError)},
		"a completed task":   {1, "a1", false, new(*DoneError)},
		"an unknown task":    {1, "a9", false, new(*UnknownTaskError)},
		"a run there is not": {2, "", false, new(*AbsentError)},
	} {
		w.alive["0a"] = c.alive
		if _, err := f.Accept(ctx, "shop", c.run, c.task, word); !errors.As(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	w.wantFiles("shop.1.1.json", "")
	if _, err := f.Accept(ctx, "a.b", 1, "", word); !errors.As(err, new(*NameError)) {
		t.Error(err)
	}
}

// One task is given up: the run goes on without it.
func TestAcceptOneTask(t *testing.T) {
	w := newWorld(t)
	w.stopped(w.start(), true, Succeeded, Failed, Cancelled)
	_, err := w.folder(nil).Accept(ctx, "shop", 1, "a2", word)
	w.must(err)
	w.wantFiles("shop.1.1.json", "")
	w.wantSchema()
	var ran []string
	w.must(w.whole(w.folder(nil), w.start(), "", func(task string) { ran = append(ran, task) }))
	if strings.Join(ran, " ") != "a3" {
		t.Errorf("ran %v", ran)
	}
	w.wantFiles("", "shop.1.1.json shop.1.2.json")
}

// A file that cannot be read refuses every start until it is accepted; it is kept as it is.
func TestAcceptADamagedFile(t *testing.T) {
	for _, dir := range []string{"current", "succeeded"} {
		w := newWorld(t)
		w.stopped(w.start(), true, Succeeded, Failed)
		w.must(os.Remove(filepath.Join(w.dir, "current", "shop.1.1.json")))
		w.write(dir+"/shop.1.1.json", "\x00\x00")
		if _, err := w.begin(w.folder(nil), w.start(), ""); !errors.As(err, new(*UnreadableError)) {
			t.Fatal(err)
		}
		if _, err := w.folder(nil).Accept(ctx, "shop", 1, "a2", word); !errors.As(err, new(*UnreadableError)) {
			t.Fatal(err)
		}
		_, err := w.folder(nil).Accept(ctx, "shop", 1, "", word)
		w.must(err)
		w.wantFiles("", "shop.1.1.json shop.1.1.json.damaged")
		w.wantSchema()
		if text, _ := os.ReadFile(filepath.Join(w.dir, "succeeded", "shop.1.1.json.damaged")); string(text) != "\x00\x00" {
			t.Errorf("what is kept is %q", text)
		}
		a, err := w.begin(w.folder(nil), w.start(), "")
		w.must(err)
		if a.number != (Number{2, 1}) || a.decision.Accepted == nil {
			t.Errorf("%+v", a.decision)
		}
	}
	w := newWorld(t)
	w.write("current/shop.1.1.json", `{"engine":"ubunye","runStateFormatVersion":9}`)
	if _, err := w.folder(nil).Accept(ctx, "shop", 1, "", word); !errors.As(err, new(*NewerError)) {
		t.Errorf("a newer file was accepted: %v", err)
	}
}

// Killed at every change and asked for again it is accepted; in between the run waits or is accepted, never finished.
func TestAcceptKilledAtEveryChange(t *testing.T) {
	for _, damaged := range []bool{false, true} {
		setUp := func() *world {
			w := newWorld(t)
			w.stopped(w.start(), true, Succeeded, Failed)
			w.stopped(w.start(), true, Succeeded, Failed)
			if damaged {
				w.write("current/shop.1.2.json", "{")
			}
			return w
		}
		trace := &fsops.Trace{}
		_, err := setUp().folder(trace).Accept(ctx, "shop", 1, "", word)
		if err != nil {
			t.Fatal(err)
		}
		for k := int64(1); k <= int64(len(trace.Ops())); k++ {
			w := setUp()
			if _, err := w.folder(killed{k}).Accept(ctx, "shop", 1, "", word); err == nil {
				t.Fatalf("killed at %d: it has succeeded", k)
			}
			s := w.look(w.start())
			d, err := Decide(s, w.start())
			if err == nil && d.Recovery {
				if damaged || s.Latest.Succeeded {
					t.Fatalf("killed at %d: gone on with %+v", k, s.Latest)
				}
			} else if err == nil && (d.Accepted == nil || d.Run != 2) || err != nil && !damaged {
				t.Fatalf("killed at %d: %+v, %v", k, d, err)
			}
			if _, err := w.folder(nil).Accept(ctx, "shop", 1, "", word); err != nil && !errors.As(err, new(*DoneError)) {
				t.Fatalf("killed at %d: %v", k, err)
			}
			a, err := w.begin(w.folder(nil), w.start(), "")
			w.must(err)
			if a.number != (Number{2, 1}) || a.decision.Accepted == nil {
				t.Errorf("killed at %d: %s", k, fmt.Sprint(a.number))
			}
		}
	}
}
