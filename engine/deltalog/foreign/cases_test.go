package foreign

import (
	"context"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ubunye-io/ubunye/engine/deltalog"
	"github.com/ubunye-io/ubunye/engine/deltalog/schema"
	"github.com/ubunye-io/ubunye/internal/cases"
)

// refusals are the tables that must not be read, and how the error begins that says why.
var refusals = map[string]string{
	"data-reader-absolute-paths-escaped-chars":                       "_delta_log/00000000000000000000.json: version 1 of the table has no metaData action",
	"deltalog-invalid-protocol-version":                              "the table cannot be read: it needs reader version 99 ",
	"deltalog-state-reconstruction-from-checkpoint-missing-metadata": "_delta_log/00000000000000000010.checkpoint.parquet: version 10 of the table has no metaData action",
	"deltalog-state-reconstruction-from-checkpoint-missing-protocol": "_delta_log/00000000000000000010.checkpoint.parquet: version 10 of the table has no protocol action",
	"update-deleted-directory":                                       "_delta_log/00000000000000000000.checkpoint.parquet: the table's metaData has no schema",
}

// logsOnly are the tables whose log names files that are not there: how many of them are live.
var logsOnly = map[string]int{
	"canonicalized-paths-normal-a":                   0,
	"canonicalized-paths-normal-b":                   0,
	"canonicalized-paths-special-a":                  0,
	"delete-re-add-same-file-different-transactions": 2,
	"log-replay-special-characters-b":                1,
}

// zones are of tables whose writer was not in UTC and wrote partition values without a zone.
var zones = map[string]string{"data-reader-partition-values": "America/Los_Angeles"}

func TestTablesOfOtherWriters(t *testing.T) {
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
				checkHive(t, root)
				return
			}
			table := openFolder(t, filepath.Join(root, "delta"))
			s, columns, err := read(table, deltalog.At{})
			if want, ok := refusals[name]; ok {
				if err == nil || !strings.HasPrefix(err.Error(), want) {
					t.Fatalf("error %v, want %s…", err, want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if live, ok := logsOnly[name]; ok {
				if files := liveFiles(t, s); len(files) != live {
					t.Errorf("%d live files, want %d", len(files), live)
				}
				return
			}
			compareRows(t, table, s, columns, filepath.Join(root, "expected"), zones[name])
			writeCheckpointOf(t, table, s)
		})
	}
}

func read(storage deltalog.Storage, at deltalog.At) (*deltalog.Snapshot, schema.Type, error) {
	s, err := deltalog.Open(context.Background(), storage, at)
	if err != nil {
		return nil, schema.Type{}, err
	}
	columns, err := s.CheckRead()
	return s, columns, err
}

func liveFiles(t *testing.T, s *deltalog.Snapshot) (all []*deltalog.Add) {
	t.Helper()
	for a, err := range s.Files(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, a)
	}
	return all
}

// checkHive looks at tables of several kinds; their rows lie beside no expectation, but each commit says how many it wrote.
func checkHive(t *testing.T, root string) {
	tables, err := filepath.Glob(filepath.Join(root, "delta", "*"))
	if err != nil || len(tables) != 11 {
		t.Fatalf("%d tables, %v; want 11", len(tables), err)
	}
	for _, path := range tables {
		table := openFolder(t, path)
		s, columns, err := read(table, deltalog.At{})
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		info, err := s.CommitInfo(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		_, want, _ := strings.Cut(string(info.Members), `"numOutputRows":"`)
		want, _, _ = strings.Cut(want, `"`)
		if filepath.Base(path) == "deltatbl-deleted-path" {
			continue // its files are gone, which the log cannot know
		}
		selects := selectsOf(t, table, s, columns, "", nil)
		if got := queryTexts(t.Context(), table.db, "SELECT count(*)::VARCHAR FROM ("+strings.Join(selects, " UNION ALL ")+")")[0]; got != want {
			t.Errorf("%s: %s rows, want %s", filepath.Base(path), got, want)
		}
	}
}

// compareRows reads the live files with DuckDB, without the rows that the deletion vectors name, and with the partition values
// of the log: they must be the expected rows, each as often.
func compareRows(t *testing.T, table *folder, s *deltalog.Snapshot, columns schema.Type, expected, zone string) {
	t.Helper()
	want := map[string]string{}
	types := queryTexts(t.Context(), table.db, "SELECT column_name || '=' || column_type FROM (DESCRIBE FROM read_parquet(?))", filepath.Join(expected, "*.parquet"))
	for _, text := range types {
		name, typ, _ := strings.Cut(text, "=")
		want[name] = typ
	}
	selects := selectsOf(t, table, s, columns, zone, want)
	var names []string
	for _, f := range columns.Fields {
		if compared(s, f) {
			names = append(names, quoteName(f.Name))
		}
	}
	all := "FROM read_parquet(" + quoteText(filepath.Join(expected, "*.parquet")) + ")"
	wanted := "SELECT " + strings.Join(names, ", ") + " " + all
	got := strings.Join(selects, " UNION ALL ")
	if len(selects) == 0 {
		got = wanted + " WHERE false"
	}
	for what, query := range map[string]string{
		"missing":  "(" + wanted + ") EXCEPT ALL (" + got + ")",
		"too many": "(" + got + ") EXCEPT ALL (" + wanted + ")",
	} {
		if rows := queryTexts(t.Context(), table.db, "SELECT to_json(r)::VARCHAR FROM ("+query+") r"); len(rows) > 0 {
			t.Errorf("%d rows %s, as %s", len(rows), what, rows[0])
		}
	}
}

// compared tells whether the test reads a column: with a column mapping, nested fields would have to be found one by one.
func compared(s *deltalog.Snapshot, f schema.Field) bool {
	return s.Mapping() == schema.MappingNone || f.Type.Leaf() && f.Type.Kind != schema.Array && f.Type.Kind != schema.Map
}

func selectsOf(t *testing.T, table *folder, s *deltalog.Snapshot, columns schema.Type, zone string, types map[string]string) (selects []string) {
	t.Helper()
	for _, a := range liveFiles(t, s) {
		path, absolute, err := deltalog.DecodePath(a.Path)
		if err != nil {
			t.Fatal(err)
		}
		if !absolute {
			path = filepath.Join(table.root, filepath.FromSlash(path))
		}
		in := map[string]string{}
		for _, text := range queryTexts(t.Context(), table.db, "SELECT coalesce(field_id::VARCHAR, '') || '=' || name FROM parquet_schema(?)", path) {
			id, name, _ := strings.Cut(text, "=")
			if in[name] = name; id != "" && s.Mapping() == schema.MappingID {
				in[id] = name
			}
		}
		var items []string
		for _, f := range columns.Fields {
			if !compared(s, f) {
				continue
			}
			item := valueOf(t, s, a, f, in, zone)
			if typ := types[f.Name]; typ != "" {
				item = "CAST(" + item + " AS " + typ + ")"
			}
			items = append(items, item+" AS "+quoteName(f.Name))
		}
		selects = append(selects, "SELECT "+strings.Join(items, ", ")+" FROM read_parquet("+quoteText(path)+", file_row_number = true, hive_partitioning = false)"+without(t, table, a))
	}
	return selects
}

// valueOf gives the SQL of a column in one file.
func valueOf(t *testing.T, s *deltalog.Snapshot, a *deltalog.Add, f schema.Field, in map[string]string, zone string) string {
	physical := f.Physical(s.Mapping())
	if slices.Contains(s.Metadata.PartitionColumns, f.Name) {
		text, _ := a.PartitionText(physical)
		v, err := schema.ParsePartition(f.Type, text, location(t, zone))
		if err != nil {
			t.Fatal(err)
		}
		if v.IsNull() {
			return "NULL"
		}
		return quoteText(v.Text())
	}
	if id, ok := f.ID(); ok && s.Mapping() == schema.MappingID {
		physical = in[strconv.Itoa(int(id))]
	}
	for name := range in {
		if strings.EqualFold(name, physical) {
			return quoteName(name)
		}
	}
	return "NULL"
}

// without is the condition that leaves out the rows of a file's deletion vector.
func without(t *testing.T, table *folder, a *deltalog.Add) string {
	v := a.DeletionVector
	if v == nil {
		return ""
	}
	name, _, err := v.File()
	if err != nil {
		t.Fatal(err)
	}
	var data []byte
	if name != "" {
		if data, err = table.Get(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	rows, err := v.Rows(data)
	if err != nil {
		t.Fatal(err)
	}
	if int64(len(rows)) != v.Cardinality || len(rows) == 0 {
		t.Fatalf("%d rows, want %d", len(rows), v.Cardinality)
	}
	var texts []string
	for _, row := range rows {
		texts = append(texts, strconv.FormatUint(row, 10))
	}
	return " WHERE file_row_number NOT IN (" + strings.Join(texts, ", ") + ")"
}

// Some of the tables are one table at several moments: an old version of the later one is the earlier one.
func TestOldVersionsOfTablesOfOtherWriters(t *testing.T) {
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
			table := openFolder(t, filepath.Join(cases.Unpack(t, filepath.Join(dir, c.later+".tar.zst")), "delta"))
			expected := filepath.Join(cases.Unpack(t, filepath.Join(dir, c.earlier+".tar.zst")), "expected")
			s, columns, err := read(table, deltalog.At{Version: &c.version})
			if err != nil {
				t.Fatal(err)
			}
			if s.Version != c.version {
				t.Fatalf("version %d", s.Version)
			}
			compareRows(t, table, s, columns, expected, "")
		})
	}
}
