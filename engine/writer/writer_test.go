package writer_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/ubunye-io/ubunye/engine/abi"
	"github.com/ubunye-io/ubunye/engine/writer"
)

// shared is one cache for the tests that are not about the cache, so that modules compile once.
var shared = sync.OnceValues(func() (string, error) { return os.MkdirTemp("", "writer-test-") })

func TestMain(m *testing.M) {
	if os.Getenv(helperVariable) != "" {
		os.Exit(helper())
	}
	code := m.Run()
	if dir, err := shared(); err == nil {
		os.RemoveAll(dir)
	}
	os.Exit(code)
}

// logbook keeps what plugins said.
type logbook struct {
	mu    sync.Mutex
	lines []string
}

func (l *logbook) add(plugin string, level abi.Level, text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, fmt.Sprintf("%s %d %s", plugin, level, text))
}

func (l *logbook) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.lines)
}

func newHost(t testing.TB, c writer.Config) *writer.Host {
	t.Helper()
	if c.CacheDir == "" {
		dir, err := shared()
		if err != nil {
			t.Fatal(err)
		}
		c.CacheDir = dir
	}
	h, err := writer.New(c)
	if err != nil {
		t.Fatalf("%v (these tests need the built plugins)", err)
	}
	return h
}

func start(t testing.TB, h *writer.Host, m writer.Module, l writer.Limits, g writer.Grants) *writer.Session {
	t.Helper()
	s, err := h.Start(t.Context(), m, l, g)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// relations is the engine's side: it encodes by writing down what was asked.
type relations struct {
	mu      sync.Mutex
	asked   []abi.EncodeRequest
	files   []abi.StagedFile
	encode  func(context.Context, abi.EncodeRequest) ([]abi.StagedFile, error)
	rows    [][]byte
	closed  int
	derived int
}

func (r *relations) Schema(context.Context, string) ([]abi.Column, error) {
	return []abi.Column{{Name: "id", Type: "BIGINT"}}, nil
}

func (r *relations) Count(context.Context, string) (int64, error) { return 7, nil }

func (r *relations) Encode(ctx context.Context, req abi.EncodeRequest) ([]abi.StagedFile, error) {
	r.mu.Lock()
	r.asked = append(r.asked, req)
	r.mu.Unlock()
	if r.encode != nil {
		return r.encode(ctx, req)
	}
	return r.files, nil
}

func (r *relations) Derive(context.Context, abi.DeriveRequest) (string, error) {
	r.derived++
	return fmt.Sprintf("derived_%d", r.derived), nil
}

func (r *relations) Rows(context.Context, abi.RowsRequest) (writer.RowStream, error) {
	return &stream{r: r, left: r.rows}, nil
}

type stream struct {
	r    *relations
	left [][]byte
}

func (s *stream) Next(context.Context) ([]byte, error) {
	if len(s.left) == 0 {
		return nil, io.EOF
	}
	m := s.left[0]
	s.left = s.left[1:]
	return m, nil
}

func (s *stream) Close() error { s.r.closed++; return nil }

func parquetOutput() abi.Output {
	return abi.Output{Name: "clean", Mode: "append", Target: "/lake/orders", PartitionBy: []string{"dt"},
		SortBy: []string{"id"}, Options: map[string]string{"compression": "snappy"}}
}

func stageRequest() abi.StageRequest {
	return abi.StageRequest{Output: parquetOutput(), Relation: "clean", Epoch: 3, Time: "2030-03-17T17:46:40Z",
		Schema: []abi.Column{{Name: "id", Type: "BIGINT"}, {Name: "dt", Type: "DATE"}}}
}

func TestBuiltinPlansAndStages(t *testing.T) {
	h := newHost(t, writer.Config{})
	var names []string
	for _, d := range h.Builtins() {
		names = append(names, d.Name)
	}
	if !slices.Equal(names, []string{"csv", "delta", "json", "parquet"}) {
		t.Fatalf("built-ins: %+v", names)
	}
	if d, ok := h.Describe("parquet"); !ok || d.ABI != abi.Version || !slices.Equal(d.Capabilities, []abi.Capability{abi.CapRelation}) {
		t.Fatalf("description: %+v, %v", d, ok)
	}
	r := &relations{files: []abi.StagedFile{
		{Name: "dt=2026-01-01/part-1.parquet.staged", Partition: map[string]string{"dt": "2026-01-01"}, Rows: 5, Bytes: 100},
		{Name: "dt=2026-01-02/part-2.parquet.staged", Partition: map[string]string{"dt": "2026-01-02"}, Rows: 2, Bytes: 80},
	}}
	s := start(t, h, writer.Module{Name: "parquet"}, writer.Limits{}, writer.Grants{Relation: r})
	plan, err := s.Plan(t.Context(), abi.PlanRequest{Output: parquetOutput(), Epoch: 3})
	if err != nil {
		t.Fatal(err)
	}
	if plan.Class != abi.ClassClaims || plan.Target != "/lake/orders" || len(plan.Problems) != 0 ||
		plan.Will != "append Parquet files (snappy) to /lake/orders, partitioned by dt" {
		t.Fatalf("plan: %+v", plan)
	}
	got, err := s.Stage(t.Context(), stageRequest())
	if err != nil {
		t.Fatal(err)
	}
	if got.Rows != 7 || len(got.Files) != 2 || got.Files[1].Partition["dt"] != "2026-01-02" || got.Files[1].Bytes != 80 {
		t.Fatalf("staged: %+v", got)
	}
	want := abi.EncodeRequest{Relation: "clean", Format: "parquet", Options: map[string]string{"compression": "snappy"},
		PartitionBy: []string{"dt"}, OrderBy: []string{"id"}}
	if fmt.Sprint(r.asked) != fmt.Sprint([]abi.EncodeRequest{want}) {
		t.Fatalf("asked to encode: %+v", r.asked)
	}
}

func TestUnknownBuiltinAndMissingFile(t *testing.T) {
	h := newHost(t, writer.Config{})
	_, err := h.Start(t.Context(), writer.Module{Name: "excel"}, writer.Limits{}, writer.Grants{})
	wantError(t, err, writer.Missing, "plugin excel: load: there is no built-in writer of that name")
	s := start(t, h, writer.Module{Name: "excel", Path: filepath.Join(t.TempDir(), "excel.wasm")}, writer.Limits{}, writer.Grants{})
	_, err = s.Plan(t.Context(), abi.PlanRequest{})
	e := wantError(t, err, writer.Missing, "")
	if !errors.Is(e, os.ErrNotExist) {
		t.Fatalf("%v does not wrap what the system said", e)
	}
}

// wantError checks an error's kind and, unless it is empty, its text.
func wantError(t testing.TB, err error, kind writer.Kind, text string) *writer.Error {
	t.Helper()
	var e *writer.Error
	if !errors.As(err, &e) {
		t.Fatalf("got %v, want an Error of kind %s", err, kind)
	}
	if e.Kind != kind || text != "" && e.Error() != text {
		t.Fatalf("got kind %s: %v\nwant kind %s: %s", e.Kind, e, kind, text)
	}
	return e
}
