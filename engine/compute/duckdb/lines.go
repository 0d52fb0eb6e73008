package duckdb

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/ubunye-io/ubunye/engine/compute"
)

// Rows as lines of JSON are for the logs of tables: checkpoints are Parquet, and who decides what is in one is a writer, which
// reads no Parquet.

// linesSQL is the SELECT of the lines; empty if the file has none of the columns, so that it has no rows.
func (s *session) linesSQL(ctx context.Context, q compute.LinesQuery) (string, error) {
	from := "read_parquet(" + fileList([]compute.File{{Path: q.Path}}) + ", hive_partitioning = false)"
	has, err := s.describe(ctx, "FROM "+from)
	if err != nil {
		return "", err
	}
	var columns, some []string
	for _, name := range q.Columns {
		for _, c := range has {
			if c.Name == name {
				columns, some = append(columns, quote(name)), append(some, quote(name)+" IS NOT NULL")
			}
		}
	}
	if len(columns) == 0 {
		return "", nil
	}
	where := "(" + strings.Join(some, " OR ") + ")"
	if w := q.Where; w != nil {
		where += " AND " + quote(w.Column) + "." + quote(w.Field) + " = " + literal(w.Equals)
	}
	return "SELECT to_json(r)::VARCHAR AS line FROM (SELECT " + strings.Join(columns, ", ") + " FROM " + from + " WHERE " + where + ") r", nil
}

func checkLinesFormat(format string) error {
	if format != "parquet" {
		return &compute.Error{Kind: compute.BadOption, Message: fmt.Sprintf("lines of JSON cannot be had of the format %q, and files of it cannot be made of them", format), Hint: "parquet can"}
	}
	return nil
}

// Lines reads the rows of a file into a table, because the driver holds a whole result in memory, and a table can be spilled.
func (s *session) Lines(ctx context.Context, q compute.LinesQuery) (compute.LineReader, error) {
	if err := checkLinesFormat(q.Format); err != nil {
		return nil, err
	}
	if _, err := os.Stat(q.Path); err != nil {
		return nil, &compute.Error{Kind: compute.InputMissing, File: q.Path, Message: err.Error(), Err: err}
	}
	query, err := s.linesSQL(ctx, q)
	if err != nil {
		return nil, s.linesErr(ctx, q.Path, err)
	}
	r := &lineReader{session: s, path: q.Path}
	if query == "" {
		return r, nil
	}
	s.lines++
	r.table = fmt.Sprintf("\x01lines %d", s.lines)
	if err := s.exec(ctx, "CREATE TABLE "+quote(r.table)+" AS "+query); err != nil {
		return nil, s.linesErr(ctx, q.Path, err)
	}
	if err := s.conn.QueryRowContext(ctx, "SELECT count(*) FROM "+quote(r.table)).Scan(&r.total); err != nil {
		return nil, s.linesErr(ctx, q.Path, err)
	}
	return r, nil
}

func (s *session) linesErr(ctx context.Context, path string, err error) error {
	if c := cancelled(ctx); c != nil {
		return c
	}
	return &compute.Error{Kind: compute.InputInvalid, File: path, Message: "it cannot be read: " + parse(err).line(), Err: err}
}

// lineReader reads such a table window by window.
type lineReader struct {
	session *session
	path    string
	table   string // empty: there are no rows
	total   int64
	next    int64 // first row that was not given
	lines   []byte
}

// Next gives a megabyte of lines, or one that is longer.
func (r *lineReader) Next(ctx context.Context) ([]byte, error) {
	if r.next >= r.total {
		return nil, io.EOF
	}
	r.lines = r.lines[:0]
	q := fmt.Sprintf("SELECT line FROM %s WHERE rowid >= %d AND rowid < %d ORDER BY rowid", quote(r.table), r.next, r.next+firstWindow)
	var line sql.RawBytes
	err := r.session.queryAll(ctx, q, nil, func(rows *sql.Rows) error {
		if err := rows.Scan(&line); err != nil {
			return err
		}
		if len(r.lines) > 0 && len(r.lines)+len(line) > batchBytes {
			return io.EOF
		}
		r.lines = append(append(r.lines, line...), '\n')
		r.next++
		return nil
	})
	if err != nil && err != io.EOF {
		return nil, r.session.linesErr(ctx, r.path, err)
	}
	return r.lines, nil
}

// Close gives the table's room back.
func (r *lineReader) Close() error {
	if r.table == "" || r.session.conn == nil {
		return nil
	}
	// It holds up nothing if it stays, and who closes has perhaps no time left.
	err := r.session.exec(context.Background(), "DROP TABLE "+quote(r.table))
	r.table, r.total = "", 0
	return err
}

// WriteLines has DuckDB read the lines with the types that are asked for.
func (s *session) WriteLines(ctx context.Context, w compute.LinesFile) error {
	if err := checkLinesFormat(w.Format); err != nil {
		return err
	}
	var declared, names []string
	for _, c := range w.Columns {
		typ, err := s.typeName(ctx, c.Type)
		if err != nil {
			return inColumn(err, c.Name)
		}
		declared, names = append(declared, literal(c.Name)+": "+literal(typ)), append(names, quote(c.Name))
	}
	q := fmt.Sprintf("COPY (SELECT %s FROM read_json(%s, format = 'newline_delimited', columns = {%s}, maximum_object_size = %d)) TO %s (FORMAT parquet, COMPRESSION snappy)",
		strings.Join(names, ", "), fileList([]compute.File{{Path: w.From}}), strings.Join(declared, ", "), longestLine, literal(w.To))
	if err := s.exec(ctx, q); err != nil {
		return s.fail(ctx, err, "making "+w.To+" of lines of JSON failed")
	}
	return nil
}

// longestLine is the most bytes that a row may have as JSON.
const longestLine = 64 << 20
