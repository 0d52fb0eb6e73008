// Package foreign holds tests alone: it reads tables of other writers, with DuckDB as the reader of Parquet, which takes long to link.
package foreign

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"

	_ "github.com/duckdb/duckdb-go/v2"

	"github.com/ubunye-io/ubunye/engine/deltalog"
)

// folder is a Storage on the disk, with DuckDB as its reader of Parquet.
type folder struct {
	root string
	db   *sql.DB
}

func openFolder(t testing.TB, root string) *folder {
	return &folder{root: root, db: duckdb(t)}
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
	return os.ReadFile(filepath.Join(f.root, filepath.FromSlash(path)))
}

func (f *folder) List(_ context.Context, dir, after string) ([]deltalog.Entry, error) {
	entries, err := os.ReadDir(filepath.Join(f.root, filepath.FromSlash(dir)))
	if err != nil {
		return nil, err
	}
	var all []deltalog.Entry
	for _, e := range entries {
		if e.IsDir() || e.Name() <= after {
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
