package computetest

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/ubunye-io/ubunye/engine/compute"
)

// deltaTables reads a table of two commits: the newest version, the older one by number, and one that is given with the input,
// which counts whatever the options say. Formats without versions say so.
func deltaTables(t *testing.T, f *fixture) {
	f.prepare("one two", compute.Step{Name: "one", SQL: "SELECT 1::BIGINT AS id"}, compute.Step{Name: "two", SQL: "SELECT 2::BIGINT AS id"})
	dir := f.folder("table")
	var adds []string
	for _, name := range []compute.Relation{"one", "two"} {
		file := f.encode(compute.Encode{Relation: name, Dir: dir})[0]
		adds = append(adds, fmt.Sprintf(`{"add":{"path":%q,"partitionValues":{"p":null},"size":%d,"modificationTime":0,"dataChange":true}}`, file.Name, file.Bytes))
	}
	f.write("table/_delta_log/00000000000000000000.json", strings.Join([]string{`{"protocol":{"minReaderVersion":1,"minWriterVersion":2}}`,
		`{"metaData":{"id":"x","format":{"provider":"parquet","options":{}},"schemaString":"{\"type\":\"struct\",\"fields\":[{\"name\":\"id\",\"type\":\"long\",\"nullable\":true,\"metadata\":{}},{\"name\":\"p\",\"type\":\"date\",\"nullable\":true,\"metadata\":{}}]}","partitionColumns":["p"],"configuration":{}}}`,
		adds[0]}, "\n")+"\n")
	f.write("table/_delta_log/00000000000000000001.json", strings.Replace(adds[1], `"p":null`, `"p":"2026-01-31"`, 1)+"\n")

	zero := int64(0)
	for _, c := range []struct {
		name    string
		in      compute.Input
		version int64
		rows    []string
	}{
		{"newest", compute.Input{}, 1, []string{"1|NULL", "2|2026-01-31"}},
		{"older", compute.Input{Options: map[string]string{"version": "0"}}, 0, []string{"1|NULL"}},
		{"given", compute.Input{Options: map[string]string{"version": "1"}, Version: &zero}, 0, []string{"1|NULL"}},
	} {
		c.in.Name, c.in.Format, c.in.Path = c.name, "delta", dir
		version, err := f.h.New(t).Version(t.Context(), c.in)
		if err != nil || version == nil || *version != c.version {
			t.Errorf("%s: version %v, %v; want %d", c.name, version, err, c.version)
		}
		r, files := f.input(c.in)
		if len(files) != len(c.rows) {
			t.Errorf("%s: files %v", c.name, files)
		}
		f.wantTypes(f.schema(r), "id BIGINT; p DATE")
		f.wantRows(f.rows(r), c.rows...)
	}
	deltaFiles(f, dir)
	if !f.h.New(t).SaysColumns("delta") {
		t.Error("a table is said not to tell its columns")
	}
	for _, format := range []string{"csv", "json", "parquet"} {
		if version, err := f.h.New(t).Version(t.Context(), compute.Input{Name: "plain", Format: format, Path: dir}); version != nil || err != nil {
			t.Errorf("%s has version %v, %v", format, version, err)
		}
	}
}

// deltaFiles reads the files of a version that are named, and which rows are in which.
func deltaFiles(f *fixture, dir string) {
	f.t.Helper()
	var names []string
	r, _ := f.input(compute.Input{Name: "where", Format: "delta", Path: dir, FileColumn: "its file"})
	f.wantTypes(f.schema(r), "id BIGINT; p DATE; its file VARCHAR")
	for _, row := range f.rows(r).Rows {
		if row[0] == "2" {
			names = append(names, row[2])
		}
	}
	r, files := f.input(compute.Input{Name: "some", Format: "delta", Path: dir, Files: names})
	if len(files) != 1 {
		f.t.Errorf("files %v", files)
	}
	f.wantRows(f.rows(r), "2|2026-01-31")
	r, _ = f.input(compute.Input{Name: "none", Format: "delta", Path: dir, Files: []string{}, FileColumn: "its file"})
	f.wantTypes(f.schema(r), "id BIGINT; p DATE; its file VARCHAR")
	f.wantRows(f.rows(r))
	zero := int64(0)
	_, _, err := f.ses.Input(f.t.Context(), compute.Input{Name: "gone", Format: "delta", Path: dir, Version: &zero, Files: names})
	var e *compute.Error
	if !errors.As(err, &e) || e.Kind != compute.InputMissing || !strings.HasSuffix(e.File, names[0]) {
		f.t.Errorf("a file of another version was read: %v", err)
	}
}
