package duckdb

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"

	"github.com/ubunye-io/ubunye/engine/compute"
	"github.com/ubunye-io/ubunye/engine/deltalog"
)

// deltaFolder reads the log of a table in a folder. What of it is Parquet is read by a session: the one that the table is opened
// for, or one of its own, which is opened when it is needed.
type deltaFolder struct {
	root string
	ses  *session
	own  bool // ses is to be closed
}

func (f *deltaFolder) close() {
	if f.own {
		_ = f.ses.Close() // it holds nothing
	}
}

// Get gives the content of a file.
func (f *deltaFolder) Get(_ context.Context, path string) ([]byte, error) {
	return os.ReadFile(f.at(path))
}

func (f *deltaFolder) at(path string) string {
	return filepath.Join(f.root, filepath.FromSlash(path))
}

// List gives the files of a folder, as os.ReadDir sorts them: by the bytes of their names.
func (f *deltaFolder) List(_ context.Context, folder, after string) ([]deltalog.Entry, error) {
	entries, err := os.ReadDir(f.at(folder))
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

// ReadRows reads a checkpoint.
func (f *deltaFolder) ReadRows(ctx context.Context, req deltalog.RowsRequest, row func([]byte) error) error {
	if _, err := os.Stat(f.at(req.Path)); err != nil {
		return err
	}
	if f.ses == nil {
		opened, err := Engine{}.Open(ctx, compute.Settings{Threads: 1})
		if err != nil {
			return err
		}
		f.ses, f.own = opened.(*session), true
	}
	q := compute.LinesQuery{Path: f.at(req.Path), Format: "parquet", Columns: req.Columns}
	if w := req.Where; w != nil {
		q.Where = &compute.LinesRule{Column: w.Column, Field: w.Field, Equals: w.Equals}
	}
	query, err := f.ses.linesSQL(ctx, q)
	if err != nil || query == "" {
		return err
	}
	var line sql.RawBytes
	return f.ses.queryAll(ctx, query, nil, func(rows *sql.Rows) error {
		if err := rows.Scan(&line); err != nil {
			return err
		}
		return row(line)
	})
}
