package computetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/ubunye-io/ubunye/engine/compute"
)

// allLines reads to the end.
func (f *fixture) allLines(q compute.LinesQuery) (all []string, messages int) {
	f.t.Helper()
	r, err := f.ses.Lines(f.t.Context(), q)
	if err != nil {
		f.t.Fatal(err)
	}
	defer func() {
		if err := r.Close(); err != nil {
			f.t.Error(err)
		}
	}()
	for ; ; messages++ {
		data, err := r.Next(f.t.Context())
		if errors.Is(err, io.EOF) {
			return all, messages
		}
		if err != nil {
			f.t.Fatal(err)
		}
		if len(data) == 0 || data[len(data)-1] != '\n' {
			f.t.Fatalf("%d bytes that are not whole lines", len(data))
		}
		all = append(all, strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")...)
	}
}

// lines makes a file of lines of JSON and reads it again: every type that logs of tables have, and more than is given at once.
func lines(t *testing.T, f *fixture) {
	f.open()
	columns := []compute.Column{{Name: "txn", Type: "STRUCT(appId VARCHAR, \"version\" BIGINT)"},
		{Name: "add", Type: "STRUCT(path VARCHAR, partitionValues MAP(VARCHAR, VARCHAR), size BIGINT, \"offset\" INTEGER, ok BOOLEAN)"},
		{Name: "names", Type: "VARCHAR[]"}, {Name: "never", Type: "BIGINT"}}
	some := []string{
		`{"txn":{"appId":"ä \"q\" \\","version":9223372036854775807},"add":null}`,
		`{"add":{"path":"a b/ü.parquet","partitionValues":{"dt":"2026-01-01","n":null},"size":5,"offset":1,"ok":true},"extra":{"x":[1]}}`,
		`{"names":["a",null,""]}`,
		`{"add":{"path":"","partitionValues":{},"ok":false}}`,
	}
	from := f.write("rows [1].json", strings.Join(some, "\n")+"\n")
	to := filepath.Join(f.dir, "made [1].parquet")
	if err := f.ses.WriteLines(t.Context(), compute.LinesFile{From: from, To: to, Format: "parquet", Columns: columns}); err != nil {
		t.Fatal(err)
	}
	got, _ := f.allLines(compute.LinesQuery{Path: to, Format: "parquet", Columns: []string{"add", "names", "absent"}})
	want := []string{
		`{"add":{"path":"a b/ü.parquet","partitionValues":{"dt":"2026-01-01","n":null},"size":5,"offset":1,"ok":true},"names":null}`,
		`{"add":null,"names":["a",null,""]}`,
		`{"add":{"path":"","partitionValues":{},"size":null,"offset":null,"ok":false},"names":null}`}
	sameLines(t, got, want)
	got, _ = f.allLines(compute.LinesQuery{Path: to, Format: "parquet", Columns: []string{"txn"}, Where: &compute.LinesRule{Column: "txn", Field: "appId", Equals: `ä "q" \`}})
	sameLines(t, got, []string{some[0][:strings.Index(some[0], `,"add"`)] + "}"})
	if got, _ := f.allLines(compute.LinesQuery{Path: to, Format: "parquet", Columns: []string{"absent"}}); got != nil {
		t.Errorf("rows without a column: %v", got)
	}

	many := &strings.Builder{}
	for i := range 5000 {
		fmt.Fprintf(many, "{\"add\":{\"path\":\"%d-%s\"}}\n", i, strings.Repeat("x", 600))
	}
	if err := f.ses.WriteLines(t.Context(), compute.LinesFile{From: f.write("many.json", many.String()), To: to + "2", Format: "parquet", Columns: columns}); err != nil {
		t.Fatal(err)
	}
	got, messages := f.allLines(compute.LinesQuery{Path: to + "2", Format: "parquet", Columns: []string{"add"}})
	if len(got) != 5000 || messages < 3 || !strings.Contains(got[4999], `"4999-x`) {
		t.Errorf("%d lines in %d messages", len(got), messages)
	}
	if err := f.ses.WriteLines(t.Context(), compute.LinesFile{From: f.write("none.json", ""), To: to + "0", Format: "parquet", Columns: columns}); err != nil {
		t.Fatal(err)
	}
	if got, _ := f.allLines(compute.LinesQuery{Path: to + "0", Format: "parquet", Columns: []string{"add"}}); got != nil {
		t.Errorf("a file of no lines has rows: %v", got)
	}
}

func sameLines(t *testing.T, got, want []string) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("got %q, want %q", got, want)
	}
	for i := range got {
		var is, shall any
		if err := errors.Join(json.Unmarshal([]byte(got[i]), &is), json.Unmarshal([]byte(want[i]), &shall)); err != nil || !reflect.DeepEqual(is, shall) {
			t.Errorf("line %d: got %s, want %s (%v)", i, got[i], want[i], err)
		}
	}
}

func linesMistakes(t *testing.T, f *fixture) {
	f.open()
	gone := filepath.Join(f.dir, "gone.parquet")
	if _, err := f.ses.Lines(t.Context(), compute.LinesQuery{Path: gone, Format: "parquet", Columns: []string{"a"}}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
	torn := f.write("torn.parquet", "PAR1 and no more")
	_, err := f.ses.Lines(t.Context(), compute.LinesQuery{Path: torn, Format: "parquet", Columns: []string{"a"}})
	var e *compute.Error
	if !errors.As(err, &e) || errors.Is(err, fs.ErrNotExist) || e.File != torn {
		t.Errorf("a torn file: %v", err)
	}
	if _, err := f.ses.Lines(t.Context(), compute.LinesQuery{Path: torn, Format: "csv"}); !errors.As(err, &e) || e.Kind != compute.BadOption {
		t.Errorf("another format: %v", err)
	}
	from := f.write("rows.json", `{"a":"x"}`)
	for typ, kind := range map[string]compute.Kind{"BIGINT": compute.Failed, "NOTYPE": compute.BadOption, "BIGINT, b: 'INTEGER'": compute.BadOption} {
		err := f.ses.WriteLines(t.Context(), compute.LinesFile{From: from, To: gone, Format: "parquet", Columns: []compute.Column{{Name: "a", Type: typ}}})
		if !errors.As(err, &e) || e.Kind != kind {
			t.Errorf("a text as %s: %#v", typ, err)
		}
	}
}
