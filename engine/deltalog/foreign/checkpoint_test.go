package foreign

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ubunye-io/ubunye/engine/deltalog"
)

func location(t *testing.T, zone string) *time.Location {
	t.Helper()
	where, err := time.LoadLocation(zone)
	if err != nil {
		t.Fatal(err)
	}
	return where
}

// writeCheckpointOf writes a checkpoint of a table, made Parquet by DuckDB, takes away all commits and reads the table again:
// it must be the same.
func writeCheckpointOf(t *testing.T, table *folder, s *deltalog.Snapshot) {
	t.Helper()
	ctx := context.Background()
	before := keysOf(t, s)
	lines := filepath.Join(t.TempDir(), "checkpoint.json")
	var rows []byte
	done, err := s.WriteCheckpoint(ctx, 0, func(line []byte) error {
		rows = append(rows, line...)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if int(done.Adds) != len(before) || done.Actions < done.Adds+2 {
		t.Errorf("%+v of %d files", done, len(before))
	}
	if err := os.WriteFile(lines, rows, 0o666); err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, deltalog.Folder), 0o777); err != nil {
		t.Fatal(err)
	}
	var columns []string
	for _, c := range deltalog.CheckpointColumns() {
		columns = append(columns, quoteText(c.Name)+": "+quoteText(c.Type))
	}
	target := filepath.Join(root, filepath.FromSlash(deltalog.CheckpointPath(s.Version)))
	query := "COPY (FROM read_json(" + quoteText(lines) + ", format = 'newline_delimited', columns = {" + strings.Join(columns, ", ") + "})) TO " + quoteText(target) + " (FORMAT parquet)"
	if _, err := table.db.Exec(query); err != nil {
		t.Fatalf("%v: %s", err, rows)
	}
	info, err := os.Stat(target)
	if err != nil {
		t.Fatal(err)
	}
	hint := filepath.Join(root, filepath.FromSlash(deltalog.LastCheckpointPath))
	if err := os.WriteFile(hint, done.LastCheckpoint(info.Size()), 0o666); err != nil {
		t.Fatal(err)
	}
	again, _, err := read(openFolder(t, root), deltalog.At{})
	if err != nil {
		t.Fatal(err)
	}
	if again.Version != s.Version || again.Metadata.SchemaString != s.Metadata.SchemaString || !slices.Equal(again.Protocol.ReaderFeatures, s.Protocol.ReaderFeatures) {
		t.Errorf("version %d, %+v, %+v", again.Version, again.Protocol, again.Metadata)
	}
	if after := keysOf(t, again); !slices.Equal(before, after) {
		t.Errorf("live files %q, before %q", after, before)
	}
}

func keysOf(t *testing.T, s *deltalog.Snapshot) (keys []string) {
	t.Helper()
	for _, a := range liveFiles(t, s) {
		key, err := a.Key()
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, key+" "+a.Stats)
	}
	slices.Sort(keys)
	return keys
}
