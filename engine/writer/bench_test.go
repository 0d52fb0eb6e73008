package writer_test

import (
	"fmt"
	"testing"

	"github.com/ubunye-io/ubunye/engine/abi"
	"github.com/ubunye-io/ubunye/engine/writer"
)

// BenchmarkStartCold is the first run of a user: unpack the child, compile the module, plan.
func BenchmarkStartCold(b *testing.B) {
	for b.Loop() {
		planOnce(b, newHost(b, writer.Config{CacheDir: b.TempDir()}))
	}
}

// BenchmarkStartWarm is every later one: check the child, load the compiled module, plan.
func BenchmarkStartWarm(b *testing.B) {
	h := newHost(b, writer.Config{CacheDir: b.TempDir()})
	planOnce(b, h)
	for b.Loop() {
		planOnce(b, h)
	}
}

// BenchmarkPlan is one call of a loaded module.
func BenchmarkPlan(b *testing.B) {
	s := start(b, newHost(b, writer.Config{}), writer.Module{Name: "parquet"}, writer.Limits{}, writer.Grants{})
	for b.Loop() {
		plan(b, s)
	}
}

func planOnce(b *testing.B, h *writer.Host) {
	s, err := h.Start(b.Context(), writer.Module{Name: "parquet"}, writer.Limits{}, writer.Grants{})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	plan(b, s)
}

func plan(b *testing.B, s *writer.Session) {
	if _, err := s.Plan(b.Context(), abi.PlanRequest{Output: parquetOutput()}); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkOperation is one operation of a capability: a table.get of some bytes, whose answer the module decodes.
func BenchmarkOperation(b *testing.B) {
	const files = 1000
	on := &target{files: map[string][]byte{}}
	for i := range files {
		on.files[fmt.Sprintf("_numbered/%08d.json", i+1)] = []byte(`{"keys":["another"],"run":"r","epoch":1}`)
	}
	s := numberedSession(b, on)
	for b.Loop() {
		if _, err := s.Resolve(b.Context(), abi.ResolveRequest{Batch: batchOf("b", 8, 0)}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(files*b.N)/b.Elapsed().Seconds(), "operations/s")
}
