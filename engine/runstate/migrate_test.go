package runstate

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ubunye-io/ubunye/engine/store/fsops"
)

// allDialects makes a folder that holds a file of every dialect, one of ours, and files of others.
func allDialects(t *testing.T) (w *world, originals map[string]string) {
	w = newWorld(t)
	originals = map[string]string{}
	for i, c := range dialects {
		dir := []string{"succeeded", "current"}[i%2]
		name := dir + "/" + c.file[strings.Index(c.file, "shop."):]
		originals[name] = string(golden(t, c.file))
		w.write(name, originals[name])
	}
	w.write("index.json", "{\"name\":\"shop\",\"runId\":1}\n")
	w.write("current/notes.txt", "mine")
	w.write("current/shop.12.2.json.bak", "{")
	return w, originals
}

// all reads every file below the folder.
func (w *world) all() map[string]string {
	w.Helper()
	files := map[string]string{}
	w.must(filepath.WalkDir(w.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		rel, _ := filepath.Rel(w.dir, path)
		files[filepath.ToSlash(rel)] = string(text)
		return err
	}))
	return files
}

func (w *world) zoned(hook fsops.Hook) *Folder {
	f := w.folder(hook)
	f.Zone = zurich(w.T)
	return f
}

// wantMigrated asserts that every file is of this format, without loss, that its original is in a backup, and that the
// others are as they were.
func (w *world) wantMigrated(originals map[string]string) {
	w.Helper()
	schemas, err := runStateSchemas()
	w.must(err)
	files := w.all()
	for name, original := range originals {
		w.must(schemas["lenient"].Check([]byte(files[name])))
		if !strings.Contains(files[name], `"engine": "ubunye"`) {
			w.Errorf("%s does not say that it is ours", name)
		}
		wantNoLoss(w.T, []byte(original), []byte(files[name]), zurich(w.T))
		kept := 0
		for other, text := range files {
			if strings.HasPrefix(other, "backup-") && strings.HasSuffix(other, "/"+name) && text == original {
				kept++
			}
		}
		if kept == 0 {
			w.Errorf("the original of %s is in no backup", name)
		}
	}
	if files["current/notes.txt"] != "mine" || files["current/shop.12.2.json.bak"] != "{" {
		w.Error("a stranger's file is not as it was")
	}
	lines := slices.Sorted(strings.Lines(files["index.json"]))
	if len(lines) != 7 || !strings.Contains(files["index.json"], `"path":"succeeded/shop.3.1.json"`) {
		w.Errorf("the index is %s", files["index.json"])
	}
	w.must(schemas["run-state-index"].CheckLines(files["index.json"]))
}

func TestMigrateBringsEveryDialectToThisFormat(t *testing.T) {
	w, originals := allDialects(t)
	before := w.all()
	f := w.zoned(nil)
	dry, _, err := f.Migrate(ctx, true)
	w.must(err)
	if !maps.Equal(w.all(), before) {
		t.Fatal("a dry run has changed something")
	}
	done, backup, err := f.Migrate(ctx, false)
	w.must(err)
	if info, err := os.Stat(backup); err != nil || !info.IsDir() || !strings.HasPrefix(filepath.Base(backup), "backup-2026") {
		t.Errorf("the backup is %q, %v", backup, err)
	}
	if !slices.Equal(dry, done) || len(done) != len(dialects) {
		t.Errorf("said %v, did %v", dry, done)
	}
	for _, m := range done {
		i := slices.IndexFunc(dialects, func(d struct{ file, from, zone string }) bool {
			return strings.HasSuffix(m.File, d.file[strings.Index(d.file, "shop."):])
		})
		if m.From != dialects[i].from || m.Zone != dialects[i].zone || m.To != 8 {
			t.Errorf("%+v", m)
		}
	}
	w.wantMigrated(originals)
	after := w.all()
	if again, _, err := f.Migrate(ctx, false); err != nil || len(again) != 0 || !maps.Equal(w.all(), after) {
		t.Errorf("done again it did %v, %v", again, err)
	}
	// what was SDLB's is still told from ours: its actions are no tasks of a pipeline
	s, err := f.Look(ctx, "shop", Params{Variables: map[string]string{"dt": "1"}}, false)
	w.must(err)
	if s.Latest.Run != 16 || s.Highest != 16 {
		t.Fatalf("the latest is %+v", s.Latest)
	}
	if _, err := Decide(s, w.start("dt=1")); err != nil {
		t.Error(err) // run 16 is finished
	}
}

// Killed at every change and done again, it ends as it does undisturbed; in between every file is the old one or the new one.
func TestMigrateKilledAtEveryChange(t *testing.T) {
	w, originals := allDialects(t)
	trace := &fsops.Trace{}
	_, _, err := w.zoned(trace).Migrate(ctx, false)
	w.must(err)
	want := w.all()
	n := int64(len(trace.Ops()))
	if n < 100 {
		t.Fatalf("%d changes were seen", n)
	}
	for k := int64(1); k <= n+1; k++ {
		t.Run(fmt.Sprint(k), func(t *testing.T) {
			t.Parallel()
			w, _ := allDialects(t)
			_, _, err := w.zoned(killed{k}).Migrate(ctx, false)
			if (err == nil) != (k > n) {
				t.Fatal(err)
			}
			for name, text := range w.all() {
				if original, ours := originals[name]; ours && text != original && text != want[name] {
					t.Errorf("%s is neither old nor new", name)
				}
			}
			_, _, err = w.zoned(nil).Migrate(ctx, false)
			w.must(err)
			w.wantMigrated(originals)
			end := w.all()
			for name := range originals {
				if end[name] != want[name] {
					t.Errorf("%s is another than without the kill", name)
				}
			}
		})
	}
}

// One file that is newer, or cannot be read, or is of a run that is alive, is named, and nothing is changed.
func TestMigrateRefusesBeforeItChangesAnything(t *testing.T) {
	for name, c := range map[string]struct {
		file, text string
		want       any
	}{
		"newer, ours":   {"current/shop.20.1.json", `{"engine":"ubunye","runStateFormatVersion":9}`, new(*NewerError)},
		"newer, SDLB's": {"succeeded/other.1.1.json", `{"runStateFormatVersion":8}`, new(*NewerError)},
		"torn":          {"succeeded/shop.20.1.json", `{"runId":`, new(*UnreadableError)},
		"empty":         {"current/shop.20.1.json", ``, new(*UnreadableError)},
		"another's":     {"current/shop.20.1.json", string(golden(t, "v7.shop.16.1.json")), new(*UnreadableError)},
		"alive": {"current/shop.20.1.json", `{"engine":"ubunye","runStateFormatVersion":8,"appConfig":{"applicationName":"shop"},"runId":20,"attemptId":1,` +
			`"ledgerRunId":"0a","actionsState":{},"isFinal":false,"ubunyeVersionInfo":{"version":"1"}}`, new(*AliveError)},
	} {
		t.Run(name, func(t *testing.T) {
			w, _ := allDialects(t)
			w.alive["0a"] = true
			w.write(c.file, c.text)
			before := w.all()
			_, _, err := w.zoned(nil).Migrate(ctx, false)
			if !errors.As(err, c.want) || !strings.Contains(err.Error(), filepath.Base(c.file)) && name != "alive" {
				t.Errorf("got %v", err)
			}
			if !maps.Equal(w.all(), before) {
				t.Error("something was changed")
			}
		})
	}
}

// changing is another program that writes to a file while the folder is migrated.
type changing struct {
	at   int64
	path string
}

func (c changing) Before(op fsops.Op) error {
	if op.N == c.at {
		return os.WriteFile(c.path, []byte("{}"), 0o666)
	}
	return nil
}

func (c changing) After(fsops.Op, error) error { return nil }

func TestMigrateDoesNotReplaceWhatItHasNotBackedUp(t *testing.T) {
	for _, at := range []int64{2, 75} { // before the backup, and after it
		w, originals := allDialects(t)
		path := filepath.Join(w.dir, "succeeded", "shop.15.1.json")
		_, _, err := w.zoned(changing{at, path}).Migrate(ctx, false)
		var changed *ChangedError
		if !errors.As(err, &changed) || changed.Path != path {
			t.Errorf("changed at %d: %v", at, err)
		}
		if files := w.all(); files["succeeded/shop.15.1.json"] != "{}" || originals["succeeded/shop.15.1.json"] == "" {
			t.Errorf("changed at %d: it is %q", at, files["succeeded/shop.15.1.json"])
		}
	}
}
