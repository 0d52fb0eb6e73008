package engine

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/ubunye-io/ubunye/engine/compute"
	"github.com/ubunye-io/ubunye/engine/report"
	"github.com/ubunye-io/ubunye/engine/store/fsops"
)

// nobody is told.
type nobody struct{}

func (nobody) Report(report.Event) {}

// opened is a compute engine that cannot open, and keeps how it was asked to.
type opened struct {
	compute.Engine
	with []compute.Settings
}

var errOpened = errors.New("asked to open")

func (o *opened) Open(_ context.Context, s compute.Settings) (compute.Session, error) {
	o.with = append(o.with, s)
	return nil, errOpened
}

// What the pipeline says of the compute engine reaches it, for a run and for a look at its outputs.
func TestSettingsReachTheComputeEngine(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "p.yaml")
	text := `name: p
variables: {dt: date}
engine: {memory: 3GiB, threads: 3, spill: s}
tasks:
  t:
    inputs: {a: {format: csv, path: a.csv}}
    outputs: {a: {format: parquet, path: out}}
`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	o := Options{File: file}
	o.Vars = map[string]string{"dt": "20260101"}
	asked := &opened{}
	e := New(fsops.New(nil), nobody{})
	e.Compute = asked
	if err := e.Run(context.Background(), o); !errors.Is(err, errOpened) {
		t.Fatal(err)
	}
	if _, err := e.Show(context.Background(), o, 1); !errors.Is(err, errOpened) {
		t.Fatal(err)
	}
	if len(asked.with) != 2 {
		t.Fatalf("opened %d times", len(asked.with))
	}
	for _, s := range asked.with {
		if !strings.HasPrefix(s.Spill, filepath.Join(dir, "s")+string(filepath.Separator)) || s.Memory != "3GiB" || s.Threads != 3 {
			t.Errorf("opened with %+v", s)
		}
	}
	if want := []compute.Variable{{Name: "dt", Type: "DATE", Value: "2026-01-01"}}; !reflect.DeepEqual(asked.with[0].Variables, want) {
		t.Errorf("variables %+v, want %+v", asked.with[0].Variables, want)
	}
}
