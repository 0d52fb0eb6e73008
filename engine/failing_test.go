package engine

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ubunye-io/ubunye/engine/problem"
	"github.com/ubunye-io/ubunye/engine/report"
	"github.com/ubunye-io/ubunye/engine/store/fsops"
)

// noDrops refuses to set staging folders aside.
type noDrops struct{ refused int }

func (h *noDrops) Before(op fsops.Op) error {
	if strings.HasSuffix(op.To, ".drop") {
		h.refused++
		return syscall.EACCES
	}
	return nil
}

func (h *noDrops) After(fsops.Op, error) error { return nil }

// warnings keeps those of a run.
type warnings []string

func (w *warnings) Report(e report.Event) {
	if e.Kind == report.Warning {
		*w = append(*w, e.Message)
	}
}

// What a person hears of a failed run is why it failed; that dropping failed too is a warning beside it.
func TestR28_AnErrorWhileDroppingDoesNotReplaceTheRunsOwn(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"a.csv": "id,name\n1,one\n",
		"p.yaml": `name: p
tasks:
  t:
    inputs: {a: {format: csv, path: a.csv, columns: {id: bigint, name: varchar}}}
    transform: {b: SELECT CAST(name AS INTEGER) AS n FROM a}
    outputs: {b: {format: parquet, path: out}}
`} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	disk := &noDrops{}
	var told warnings
	e := New(fsops.New(disk), &told)
	err := e.Run(context.Background(), Options{File: filepath.Join(dir, "p.yaml")})
	var list problem.List
	if !errors.As(err, &list) || len(list) != 1 || !strings.Contains(err.Error(), "one") || list[0].Code.Exit() != problem.ExitFailed {
		t.Errorf("got %v", err)
	}
	if disk.refused == 0 || len(told) != 1 || !strings.Contains(told[0], "permission denied") {
		t.Errorf("%d refused, warnings %q", disk.refused, told)
	}
}
