package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ubunye-io/ubunye/engine/problem"
	"github.com/ubunye-io/ubunye/engine/store/fsops"
)

// A state file that is torn, filled with zeros or cut off at any byte is refused by its name by every command that would go by
// it, nothing in the folder is changed, and the way on that is told is one.
func TestStateFilesThatAreTornAreNamed(t *testing.T) {
	whole := `{"engine":"ubunye","runStateFormatVersion":8,"appConfig":{"applicationName":"shop","variables":{"dt":"1"}},"runId":2,"attemptId":1,` +
		`"actionsState":{"a":{"executionId":{"runId":2,"attemptId":1},"state":"FAILED"}},"isFinal":true,"ubunyeVersionInfo":{"version":"1"}}`
	e := New(fsops.New(nil), &warnings{})
	ctx := context.Background()
	root, err := os.MkdirTemp("/dev/shm", "ubunye-state-") // in memory where there is one: nothing here depends on the disk
	if err != nil {
		root = t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(root) })
	for _, dir := range []string{"current", "succeeded"} {
		for n := range len(whole) {
			for kind, text := range map[string]string{"cut off": whole[:n], "zeros": whole[:n] + strings.Repeat("\x00", len(whole)-n), "torn": whole[:n] + strings.Repeat("x", len(whole)-n)} {
				state := filepath.Join(root, fmt.Sprintf("%s-%d-%s", dir, n, kind))
				path := filepath.Join(state, dir, "shop.2.1.json")
				if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, []byte(text), 0o666)); err != nil {
					t.Fatal(err)
				}
				o := Options{Command: []string{"ubunye"}}
				o.Settings = map[string]any{"state.path": state}
				what := fmt.Sprintf("%s at %d in %s", kind, n, dir)
				runs, err := e.StateList(ctx, o, StateQuery{})
				if err != nil || len(runs) != 1 || runs[0].State != RunUnreadable || !strings.Contains(runs[0].Problem, path) {
					t.Fatalf("%s: listed as %+v, %v", what, runs, err)
				}
				_, shown := e.StateShow(ctx, o, "", 2)
				_, accepted := e.StateAccept(ctx, o, "", 2, "a", "ann", "why")
				_, migrated := e.StateMigrate(ctx, o, time.UTC, false)
				for verb, err := range map[string]error{"show": shown, "accept --task": accepted, "migrate": migrated} {
					var list problem.List
					if !errors.As(err, &list) || list[0].Code != problem.RecordUnreadable || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "ubunye state accept 2 --reason") {
						t.Fatalf("%s: %s: %v", what, verb, err)
					}
				}
				if got := filesBelow(t, state); got != dir+"/shop.2.1.json" {
					t.Fatalf("%s: the folder holds %s", what, got)
				}
				if n%10 != 0 {
					continue
				}
				did, err := e.StateReindex(ctx, o)
				if bad := dir == "succeeded"; (err != nil) != bad || bad && (len(did.Left) != 1 || did.Left[0] != path || did.Lines != 0) {
					t.Fatalf("%s: indexed as %+v, %v", what, did, err)
				}
				if n%50 == 0 {
					if _, err := e.StateAccept(ctx, o, "", 2, "", "ann", "why"); err != nil {
						t.Fatalf("%s: %v", what, err)
					}
					if _, err := e.StateShow(ctx, o, "", 2); err != nil {
						t.Fatalf("%s: accepted, it is not shown: %v", what, err)
					}
				}
			}
		}
	}
}

func filesBelow(t *testing.T, dir string) string {
	var names []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			rel, _ := filepath.Rel(dir, path)
			names = append(names, filepath.ToSlash(rel))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(names, " ")
}
