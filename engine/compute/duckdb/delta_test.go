package duckdb

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/ubunye-io/ubunye/engine/compute"
	"github.com/ubunye-io/ubunye/internal/cases"
)

// deltaRefusals are the tables of other writers that must not be read, and what the error says.
var deltaRefusals = map[string]string{
	"canonicalized-paths-normal-a":                                   "", // its log has no live file: no rows
	"canonicalized-paths-normal-b":                                   "",
	"canonicalized-paths-special-a":                                  "",
	"delete-re-add-same-file-different-transactions":                 "has this file, and it is gone",
	"log-replay-special-characters-b":                                "has this file, and it is gone",
	"data-reader-absolute-paths-escaped-chars":                       "version 1 of the table has no metaData action",
	"deltalog-invalid-protocol-version":                              "it needs reader version 99",
	"deltalog-state-reconstruction-from-checkpoint-missing-metadata": "version 10 of the table has no metaData action",
	"deltalog-state-reconstruction-from-checkpoint-missing-protocol": "version 10 of the table has no protocol action",
	"update-deleted-directory":                                       "the table's metaData has no schema",
}

// deltaZones are of tables whose writer was not in UTC and wrote partition values without a zone.
var deltaZones = map[string]string{"data-reader-partition-values": "America/Los_Angeles"}

func TestDeltaTablesOfOtherWriters(t *testing.T) {
	archives, err := filepath.Glob(filepath.Join(cases.Folder(t, "delta"), "*.tar.zst"))
	if err != nil {
		t.Fatal(err)
	}
	if len(archives) != 53 {
		t.Fatalf("%d archives, want 53", len(archives))
	}
	for _, archive := range archives {
		name := strings.TrimSuffix(filepath.Base(archive), ".tar.zst")
		t.Run(name, func(t *testing.T) {
			root := cases.Unpack(t, archive)
			if name == "hive" {
				checkDeltaHive(t, root)
				return
			}
			in := compute.Input{Name: "got", Format: "delta", Path: filepath.Join(root, "delta")}
			if zone := deltaZones[name]; zone != "" {
				in.Options = map[string]string{"time_zone": zone}
			}
			s := deltaSession(t)
			_, files, err := s.Input(t.Context(), in)
			want, refused := deltaRefusals[name]
			var e *compute.Error
			switch {
			case refused && want != "":
				if !errors.As(err, &e) || e.Input != "got" || e.Kind != compute.InputInvalid || !strings.Contains(e.Message, want) || e.File == "" {
					t.Fatalf("error %+v, want …%s", err, want)
				}
				return
			case err != nil:
				t.Fatal(err)
			case refused:
				if len(files) != 0 || s.one(t, "SELECT count(*) FROM got") != "0" {
					t.Errorf("%d files", len(files))
				}
				return
			}
			listed, err := Engine{}.Files(t.Context(), in)
			if err != nil || len(listed) != len(files) {
				t.Errorf("%d files are listed and %d read, %v", len(listed), len(files), err)
			}
			s.compareDelta(t, filepath.Join(root, "expected"))
		})
	}
}

func deltaSession(t *testing.T) *session {
	t.Helper()
	s, err := Engine{}.Open(t.Context(), compute.Settings{Threads: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s.(*session)
}

func (s *session) one(t *testing.T, q string, args ...any) string {
	t.Helper()
	var text sql.NullString
	if err := s.conn.QueryRowContext(t.Context(), q, args...).Scan(&text); err != nil {
		t.Fatalf("%s: %v", q, err)
	}
	return text.String
}

// compareDelta compares the relation got with the expected rows, each as often. Types that the files of the expectation have
// in their own way are compared as those.
func (s *session) compareDelta(t *testing.T, expected string) {
	t.Helper()
	all := "read_parquet(" + literal(filepath.Join(expected, "*.parquet")) + ", hive_partitioning = false)"
	want, err := s.describe(t.Context(), "FROM "+all)
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.Schema(t.Context(), "got")
	if err != nil || len(got) != len(want) {
		t.Fatalf("columns %v, want %v; %v", got, want, err)
	}
	var items, names []string
	for _, c := range want {
		names = append(names, quote(c.Name))
		items = append(items, "CAST("+quote(c.Name)+" AS "+c.Type+") AS "+quote(c.Name))
	}
	wanted, read := "SELECT "+strings.Join(names, ", ")+" FROM "+all, "SELECT "+strings.Join(items, ", ")+" FROM got"
	for what, q := range map[string]string{
		"missing":  "(" + wanted + ") EXCEPT ALL (" + read + ")",
		"too many": "(" + read + ") EXCEPT ALL (" + wanted + ")",
	} {
		if n := s.one(t, "SELECT count(*) FROM ("+q+")"); n != "0" {
			t.Errorf("%s rows %s, as %s", n, what, s.one(t, "SELECT to_json(r)::VARCHAR FROM ("+q+") r LIMIT 1"))
		}
	}
}

// checkDeltaHive reads tables of several kinds. Their rows lie beside no expectation, but each commit says how many it wrote.
func checkDeltaHive(t *testing.T, root string) {
	tables, err := filepath.Glob(filepath.Join(root, "delta", "*"))
	if err != nil || len(tables) != 11 {
		t.Fatalf("%d tables, %v; want 11", len(tables), err)
	}
	for _, path := range tables {
		if filepath.Base(path) == "deltatbl-deleted-path" {
			continue // its files are gone
		}
		logs, err := filepath.Glob(filepath.Join(path, "_delta_log", "*.json"))
		if err != nil || len(logs) != 1 {
			t.Fatalf("%v %v", logs, err)
		}
		data, err := os.ReadFile(logs[0])
		if err != nil {
			t.Fatal(err)
		}
		_, want, _ := strings.Cut(string(data), `"numOutputRows":"`)
		want, _, _ = strings.Cut(want, `"`)
		s := deltaSession(t)
		if _, _, err := s.Input(t.Context(), compute.Input{Name: "got", Format: "delta", Path: path}); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if got := s.one(t, "SELECT count(*) FROM got"); got != want {
			t.Errorf("%s: %s rows, want %s", filepath.Base(path), got, want)
		}
	}
}

// Some of the tables are one table at several moments: an old version of the later one is the earlier one.
func TestDeltaVersions(t *testing.T) {
	dir := cases.Folder(t, "delta")
	for _, c := range []struct {
		later   string
		version int64
		earlier string
	}{
		{"snapshot-repartitioned", 0, "snapshot-data0"},
		{"snapshot-repartitioned", 1, "snapshot-data1"},
		{"snapshot-repartitioned", 4, "snapshot-data2-deleted"},
		{"time-travel-schema-changes-b", 0, "time-travel-schema-changes-a"},
	} {
		t.Run(c.earlier, func(t *testing.T) {
			table := filepath.Join(cases.Unpack(t, filepath.Join(dir, c.later+".tar.zst")), "delta")
			expected := filepath.Join(cases.Unpack(t, filepath.Join(dir, c.earlier+".tar.zst")), "expected")
			in := compute.Input{Name: "got", Format: "delta", Path: table, Options: map[string]string{"version": strconv.FormatInt(c.version, 10)}}
			version, err := Engine{}.Version(t.Context(), in)
			if err != nil || *version != c.version {
				t.Fatal(version, err)
			}
			in.Options, in.Version = nil, version // as a run reads it that has found the version out
			s := deltaSession(t)
			if _, _, err := s.Input(t.Context(), in); err != nil {
				t.Fatal(err)
			}
			s.compareDelta(t, expected)
		})
	}
}
