package deltalog_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	_ "github.com/duckdb/duckdb-go/v2"

	"github.com/ubunye-io/ubunye/engine/deltalog"
)

// folder is a Storage on the disk, with DuckDB as its reader of Parquet.
type folder struct {
	root  string
	db    *sql.DB
	reads map[string]int // how often each file was read
	hide  func(name string) bool
}

func openFolder(t testing.TB, root string) *folder {
	return &folder{root: root, db: duckdb(t), reads: map[string]int{}}
}

func duckdb(t testing.TB) *sql.DB {
	t.Helper()
	db, err := sql.Open("duckdb", "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	db.SetMaxOpenConns(1)
	if _, err := db.Exec("SET TimeZone = 'UTC'; SET threads = 1"); err != nil {
		t.Fatal(err)
	}
	return db
}

func (f *folder) Get(_ context.Context, path string) ([]byte, error) {
	f.reads[path]++
	return os.ReadFile(filepath.Join(f.root, filepath.FromSlash(path)))
}

func (f *folder) List(_ context.Context, dir, after string) ([]deltalog.Entry, error) {
	entries, err := os.ReadDir(filepath.Join(f.root, filepath.FromSlash(dir)))
	if err != nil {
		return nil, err
	}
	var all []deltalog.Entry
	for _, e := range entries {
		if e.IsDir() || e.Name() <= after || f.hide != nil && f.hide(e.Name()) {
			continue
		}
		info, err := e.Info()
		if err != nil {
			return nil, err
		}
		all = append(all, deltalog.Entry{Name: e.Name(), Size: info.Size(), ModTime: info.ModTime().UnixMilli()})
	}
	return all, nil
}

func (f *folder) ReadRows(ctx context.Context, req deltalog.RowsRequest, row func([]byte) error) error {
	path := filepath.Join(f.root, filepath.FromSlash(req.Path))
	f.reads[req.Path]++
	if _, err := os.Stat(path); err != nil {
		return err
	}
	has := map[string]bool{}
	for _, name := range queryTexts(ctx, f.db, "SELECT column_name FROM (DESCRIBE FROM read_parquet(?))", path) {
		has[name] = true
	}
	var columns, some []string
	for _, name := range req.Columns {
		if has[name] {
			columns = append(columns, quoteName(name))
			some = append(some, quoteName(name)+" IS NOT NULL")
		}
	}
	if len(columns) == 0 {
		return nil
	}
	where := strings.Join(some, " OR ")
	args := []any{path}
	if w := req.Where; w != nil {
		where += " AND " + quoteName(w.Column) + "." + quoteName(w.Field) + " = ?"
		args = append(args, w.Equals)
	}
	rows, err := f.db.QueryContext(ctx, "SELECT to_json(r)::VARCHAR FROM (SELECT "+strings.Join(columns, ", ")+" FROM read_parquet(?) WHERE "+where+") r", args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			return err
		}
		if err := row([]byte(line)); err != nil {
			return err
		}
	}
	return rows.Err()
}

func quoteName(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

func quoteText(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

func queryTexts(ctx context.Context, db *sql.DB, query string, args ...any) (all []string) {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		panic(err.Error() + ": " + query)
	}
	defer rows.Close()
	for rows.Next() {
		var s sql.NullString
		if err := rows.Scan(&s); err != nil {
			panic(err)
		}
		all = append(all, s.String)
	}
	if err := rows.Err(); err != nil {
		panic(err.Error() + ": " + query)
	}
	return all
}

// memory is a Storage of hand-made logs: names below the log's folder, and what they hold. A Parquet file is one of JSON lines.
type memory struct {
	files map[string]string
	times map[string]int64
	fail  map[string]error
	// unlisted are there for Get alone, as those that another writer made while the folder was listed.
	unlisted map[string]bool
	gets     []string
	lists    int
	onList   func()
}

func (m *memory) Get(_ context.Context, path string) ([]byte, error) {
	name := strings.TrimPrefix(path, deltalog.Folder+"/")
	m.gets = append(m.gets, name)
	if err := m.fail[name]; err != nil {
		return nil, err
	}
	text, ok := m.files[name]
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
	}
	return []byte(text), nil
}

func (m *memory) List(_ context.Context, _, after string) ([]deltalog.Entry, error) {
	m.lists++
	var all []deltalog.Entry
	for name, text := range m.files {
		if name > after && !strings.Contains(name, "/") && !m.unlisted[name] {
			all = append(all, deltalog.Entry{Name: name, Size: int64(len(text)), ModTime: m.times[name]})
		}
	}
	if m.onList != nil {
		m.onList()
	}
	return all, nil
}

func (m *memory) ReadRows(ctx context.Context, req deltalog.RowsRequest, row func([]byte) error) error {
	data, err := m.Get(ctx, req.Path)
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(data)) {
		var members map[string]json.RawMessage
		if err := json.Unmarshal([]byte(line), &members); err != nil {
			return err
		}
		wanted := false
		for _, c := range req.Columns {
			wanted = wanted || members[c] != nil
		}
		if wanted {
			if err := row([]byte(line)); err != nil {
				return err
			}
		}
	}
	return nil
}
