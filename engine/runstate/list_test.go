package runstate

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func numbers(all []*Found) string {
	var text []string
	for _, x := range all {
		text = append(text, fmt.Sprintf("%d.%d", x.Run, x.Attempt))
	}
	return strings.Join(text, " ")
}

// Batches live side by side: a run continues the latest of its own variables and profile; with strict of all.
func TestRunsOfOtherVariablesAreOtherRuns(t *testing.T) {
	w := newWorld(t)
	w.must(w.whole(w.folder(nil), w.start("dt=1"), "", func(string) {}))
	w.stopped(w.start("dt=2"), true, Failed)
	w.stopped(w.start("dt=3"), true, Failed)
	prod := w.start("dt=1")
	prod.Profile = "prod"
	w.stopped(prod, true, Failed)
	s := w.look(w.start("dt=1"))
	if s.Latest.Number != (Number{1, 1}) || numbers(s.Unfinished) != "4.1 3.1 2.1" || s.Highest != 4 {
		t.Errorf("%v, %s, %d", s.Latest.Number, numbers(s.Unfinished), s.Highest)
	}
	if s := w.look(prod); s.Latest.Run != 4 || numbers(s.Unfinished) != "3.1 2.1" {
		t.Errorf("%v, %s", s.Latest.Number, numbers(s.Unfinished))
	}
	if s := w.look(w.start()); s.Latest != nil {
		t.Errorf("%v", s.Latest.Number)
	}
	strict, err := w.folder(nil).Look(ctx, "shop", w.start("dt=1").Params, true)
	w.must(err)
	_, err = Decide(strict, w.start("dt=1"))
	if strict.Latest.Run != 4 || !errors.As(err, new(*DifferError)) || !strings.Contains(err.Error(), "profile: was prod, now none") {
		t.Errorf("%v, %v", strict.Latest.Number, err)
	}
	if !s.Same(w.look(w.start("dt=1"))) || s.Same(w.look(prod)) {
		t.Error("same is not same")
	}
	w.stopped(w.start("dt=5"), true, Failed)
	if s.Same(w.look(w.start("dt=1"))) {
		t.Error("a run that came meanwhile changes nothing")
	}
}

// The numbers of Smart Data Lake Builder go on, whatever the variables.
func TestNumbersGoOnFromOldFiles(t *testing.T) {
	w := newWorld(t)
	w.write("succeeded/shop.16.1.json", string(golden(t, "v7.shop.16.1.json")))
	a, err := w.begin(w.folder(nil), w.start("dt=1"), "")
	w.must(err)
	if a.number != (Number{17, 1}) || a.decision.Accepted != nil {
		t.Errorf("%+v", a.decision)
	}
	w = newWorld(t)
	w.write("current/shop.5.2.json", string(golden(t, "absent-c.shop.5.2.json")))
	if _, err = w.begin(w.folder(nil), w.start("dt=1"), ""); !errors.As(err, new(*ForeignError)) {
		t.Errorf("got %v", err)
	}
	w.wantFiles("shop.5.2.json", "")
	original := golden(t, "absent-c.shop.5.2.json")
	_, err = w.folder(nil).Accept(ctx, "shop", 5, "", word)
	w.must(err)
	w.wantFiles("", "shop.5.2.json")
	text, err := os.ReadFile(filepath.Join(w.dir, "succeeded", "shop.5.2.json"))
	w.must(err)
	was, is := leaves(t, original), leaves(t, text)
	if is["/accepted/who"] != "text ann" || is["/actionsState/load/results/0/metrics/files_written"] != was["/actionsState/load/results/0/mainMetrics/files_written"] {
		t.Errorf("accepted it is %s", text)
	}
	for i, dt := range []string{"dt=1", "dt=2"} { // whoever starts first is told; numbers go on for all
		a, err := w.begin(w.folder(nil), w.start(dt), "")
		w.must(err)
		if a.number != (Number{6 + int64(i), 1}) || a.decision.Accepted == nil {
			t.Errorf("%s: %+v", dt, a.decision)
		}
	}
}

// C109: a file of a newer program is refused by name, and stays as it is.
func TestC109_ANewerFileIsRefused(t *testing.T) {
	w := newWorld(t)
	text := `{"engine":"ubunye","runStateFormatVersion":9,"new":true}`
	w.write("current/shop.5.2.json", text)
	_, err := w.begin(w.folder(nil), w.start("dt=1"), "")
	var newer *NewerError
	if !errors.As(err, &newer) || newer.Version != "9" || newer.Known != 8 || filepath.Base(newer.Path) != "shop.5.2.json" {
		t.Errorf("got %v", err)
	}
	if got, _ := os.ReadFile(filepath.Join(w.dir, "current", "shop.5.2.json")); string(got) != text {
		t.Errorf("it is %s", got)
	}
}

// Members that this program does not know survive being read and written, wherever they are, also into the next attempt.
func TestUnknownMembersSurvive(t *testing.T) {
	w := newWorld(t)
	w.stopped(w.start(), true, Succeeded, Failed)
	path := filepath.Join(w.dir, "current", "shop.1.1.json")
	text, err := os.ReadFile(path)
	w.must(err)
	var tree map[string]any
	w.must(json.Unmarshal(text, &tree))
	put := func(o any, value any) { o.(map[string]any)["fromTheFuture"] = value }
	a1 := tree["actionsState"].(map[string]any)["a1"].(map[string]any)
	put(tree, map[string]any{"a": 1.5})
	put(tree["appConfig"], "x")
	put(tree["ubunyeVersionInfo"], nil)
	put(a1, []any{1})
	put(a1["executionId"], true)
	put(a1["results"].([]any)[0], "r")
	text, err = json.Marshal(tree)
	w.must(err)
	d, err := decode("p", text, time.UTC)
	w.must(err)
	again, err := w.folder(nil).encode(d)
	w.must(err)
	was, is := leaves(t, text), leaves(t, again)
	for path, value := range was {
		if is[path] != value {
			t.Errorf("%s was %s and is %s", path, value, is[path])
		}
	}
	if len(was) != len(is) {
		t.Errorf("%d leaves became %d", len(was), len(is))
	}
	w.must(os.WriteFile(path, text, 0o666))
	a, err := w.begin(w.folder(nil), w.start(), "")
	w.must(err)
	text, err = os.ReadFile(a.Path())
	w.must(err)
	got := leaves(t, text)
	if got["/fromTheFuture/a"] != "number 1.5" || got["/actionsState/a1/fromTheFuture/0"] != "number 1" || got["/actionsState/a1/results/0/fromTheFuture"] != "text r" {
		t.Errorf("the next attempt has %v", got)
	}
}

func TestListFindAndPrune(t *testing.T) {
	w := newWorld(t)
	f := w.folder(nil)
	for i := range 5 {
		q := w.start(fmt.Sprintf("dt=%d", i%3))
		w.stopped(q, true, Failed)
		w.must(w.whole(f, q, "", func(string) {}))
	}
	w.stopped(w.start("dt=9"), true, Failed)
	all, err := f.List(ctx, "shop", false)
	w.must(err)
	unfinished, err := f.List(ctx, "shop", true)
	w.must(err)
	if numbers(all) != "6.1 5.2 4.2 3.2 2.2 1.2" || numbers(unfinished) != "6.1" {
		t.Errorf("%s; %s", numbers(all), numbers(unfinished))
	}
	removed, err := f.Prune(ctx, "shop", 2, false)
	w.must(err)
	if len(removed) != 6 || filepath.Base(removed[0]) != "shop.1.1.json" {
		t.Errorf("removed %v", removed)
	}
	w.wantFiles("shop.6.1.json", "shop.4.1.json shop.4.2.json shop.5.1.json shop.5.2.json")
	text, err := os.ReadFile(filepath.Join(w.dir, "index.json"))
	w.must(err)
	if strings.Count(string(text), "\n") != 2 {
		t.Errorf("the index is %s", text)
	}
	f.listed = func(dir string) {
		if dir == "succeeded" {
			t.Error("a hint of a run that is gone has the folder listed")
		}
	}
	for i, want := range []string{"4.2", "5.2", "none"} {
		s, err := f.Look(ctx, "shop", w.start(fmt.Sprintf("dt=%d", i)).Params, false)
		w.must(err)
		got := "none"
		if s.Latest != nil {
			got = numbers([]*Found{s.Latest})
		}
		if got != want || s.Highest != 6 {
			t.Errorf("dt=%d: %s, %d", i, got, s.Highest)
		}
	}
	f.listed = nil
	if removed, err := f.Prune(ctx, "shop", 0, false); err != nil || len(removed) != 2 {
		t.Errorf("the newest is not kept: %v, %v", removed, err)
	}
	w.wantFiles("shop.6.1.json", "shop.5.1.json shop.5.2.json")
}

func TestReindex(t *testing.T) {
	w := newWorld(t)
	f := w.folder(nil)
	for range 3 {
		w.must(w.whole(f, w.start(), "", func(string) {}))
	}
	path := filepath.Join(w.dir, "index.json")
	want, err := os.ReadFile(path)
	w.must(err)
	for _, broken := range []string{"", "{", string(want[:len(want)-7])} {
		w.must(os.WriteFile(path, []byte(broken), 0o666))
		_, _, err := f.Reindex(ctx)
		w.must(err)
		if got, _ := os.ReadFile(path); string(got) != string(want) {
			t.Errorf("after %q it is\n%s\nnot\n%s", broken, got, want)
		}
	}
	// a line that was cut off does not spoil the next one
	w.must(os.WriteFile(path, want[:len(want)-7], 0o666))
	w.must(w.whole(f, w.start(), "", func(string) {}))
	got, err := os.ReadFile(path)
	w.must(err)
	if lines := strings.Split(string(got), "\n"); len(lines) != 5 || !strings.Contains(lines[3], `"runId":4`) || !json.Valid([]byte(lines[3])) {
		t.Errorf("the index is %s", got)
	}
	w.write("succeeded/shop.9.1.json", "{")
	lines, bad, err := f.Reindex(ctx)
	if err != nil || lines != 4 || len(bad) != 1 || bad[0].Run != 9 {
		t.Errorf("%d, %v, %v", lines, bad, err)
	}
}

func TestNamesThatCannotBeOfFiles(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{"", "a.b", "a/b", "a b", "a\tb", "../x"} {
		if _, err := w.folder(nil).Look(ctx, name, Params{}, false); !errors.As(err, new(*NameError)) {
			t.Errorf("%q: %v", name, err)
		}
	}
	if _, err := w.folder(nil).Look(ctx, "größe-1_x", Params{}, false); err != nil {
		t.Error(err)
	}
}

// A pipeline is idle as long as no attempt of it is in current/, whatever is in succeeded/ and whatever other pipelines do.
func TestIdle(t *testing.T) {
	w := newWorld(t)
	f := w.folder(nil)
	want := func(app string, want bool) {
		t.Helper()
		if is, err := f.Idle(app); err != nil || is != want {
			t.Errorf("%s is idle: %t, %v", app, is, err)
		}
	}
	want("shop", true)
	w.must(w.whole(f, w.start("dt=1"), "", func(string) {}))
	want("shop", true)
	w.stopped(w.start("dt=2"), false, Succeeded)
	want("shop", false)
	want("shop.2", true)
	want("other", true)
	w.must(os.RemoveAll(w.dir))
	w.must(os.WriteFile(w.dir, nil, 0o666))
	if is, err := f.Idle("shop"); is || !errors.As(err, new(*UnreadableError)) {
		t.Errorf("a folder that cannot be listed is idle: %t, %v", is, err)
	}
}
