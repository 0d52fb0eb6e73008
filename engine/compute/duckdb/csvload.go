package duckdb

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"strings"

	driverduckdb "github.com/duckdb/duckdb-go/v2"

	"github.com/ubunye-io/ubunye/engine/compute"
)

// What DuckDB's reader of csv cannot do is done by csvScanner: it reads the records of a group's files into a table of texts,
// with the place of each, and the conversions of fit then read that table in place of the files.

// Columns of such a table beside c0, c1, …
const (
	fileIndex    = "\x01index"  // in csvGroup.files
	recordLine   = "\x01line"   // physical line on which the record begins
	recordOffset = "\x01offset" // bytes of the text before it
	recordSize   = "\x01size"   // its bytes
)

// load reads the files of all groups into tables. Records that are no csv are given to r; if that is nil, the first is the error.
func (c *csvInput) load(ctx context.Context, s *session, name string, r *rejects) error {
	for i := range c.groups {
		g := &c.groups[i]
		table := fmt.Sprintf("\x01texts of %s %d", name, i)
		columns := []string{quote(fileIndex) + " INTEGER", quote(recordLine) + " BIGINT", quote(recordOffset) + " BIGINT", quote(recordSize) + " BIGINT"}
		for n := range g.width {
			columns = append(columns, fmt.Sprintf("c%d VARCHAR", n))
		}
		if err := s.exec(ctx, "CREATE TABLE "+quote(table)+" ("+strings.Join(columns, ", ")+")"); err != nil {
			return s.fail(ctx, err, "reading "+name+" failed")
		}
		tables := []string{table}
		if r != nil {
			tables = append(tables, r.table)
		}
		err := s.fill(ctx, tables, func(into []*driverduckdb.Appender) error {
			for n, f := range g.files {
				if err := c.loadFile(ctx, into, *g, n, f, r); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		g.table = table
	}
	return nil
}

// fill appends to tables. The error of fill is given as it is.
func (s *session) fill(ctx context.Context, tables []string, fill func([]*driverduckdb.Appender) error) error {
	var filling error
	err := s.conn.Raw(func(conn any) (err error) {
		var into []*driverduckdb.Appender
		for _, table := range tables {
			var a *driverduckdb.Appender
			if a, err = driverduckdb.NewAppenderFromConn(conn.(driver.Conn), "", table); err != nil {
				break
			}
			into = append(into, a)
		}
		if err == nil {
			filling = fill(into)
		}
		for _, a := range into {
			err = errors.Join(err, a.Close())
		}
		return err
	})
	switch {
	case filling != nil:
		return filling
	case err != nil:
		return s.fail(ctx, err, "keeping what was read failed")
	}
	return nil
}

func (c *csvInput) loadFile(ctx context.Context, into []*driverduckdb.Appender, g csvGroup, n int, f compute.File, r *rejects) error {
	row := make([]driver.Value, 4+g.width)
	return c.scan(ctx, g, f, func(rec *csvRecord) error {
		if r != nil {
			r.read++
		}
		switch {
		case rec.wrong != nil && r != nil && !(rec.wrong.ragged && c.options.raggedEnds):
			return r.add(into[1], rec.offset, c.faultErr(g, f, rec), rec.raw)
		case rec.wrong != nil:
			return c.faultErr(g, f, rec)
		}
		row[0], row[1], row[2], row[3] = int32(n), rec.line, rec.offset, int64(len(rec.raw))
		for i := range g.width {
			row[4+i] = nil
			if i < len(rec.fields) && !c.options.isNull(rec.fields[i]) {
				row[4+i] = string(rec.fields[i].text)
			}
		}
		return into[0].AppendRow(row...)
	})
}

func (o csvOptions) isNull(f csvField) bool {
	return string(f.text) == o.null && (!f.quoted || o.quotedNull)
}

// scan goes through the records of a file, without its header. What is wrong with the file comes as a *compute.Error.
func (c *csvInput) scan(ctx context.Context, g csvGroup, f compute.File, visit func(*csvRecord) error) error {
	text, err := c.options.open(f.Path)
	if err != nil {
		return unreadable(f.Path, err)
	}
	defer text.Close() // only read
	sc := newCSVScanner(text, c.options, g.width)
	err = sc.skipLines(c.options.skip)
	if err == nil && c.options.header {
		_, err = sc.next()
	}
	for n := 0; err == nil; n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return cancelled(ctx)
		}
		var rec *csvRecord
		if rec, err = sc.next(); err == nil {
			if err := visit(rec); err != nil {
				return err
			}
		}
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return unreadable(f.Path, err)
}

// readTable is the SQL that gives what read gives, of the table of a group.
func (c *csvInput) readTable(g csvGroup, files []compute.File) string {
	items := "*"
	if len(c.paths.keys) > 0 {
		names := make([]string, len(g.files))
		for i, f := range g.files {
			names[i] = literal(f.Path)
		}
		items = fmt.Sprintf("*, list_extract([%s], %s + 1) AS %s", strings.Join(names, ", "), quote(fileIndex), quote(fileColumn))
	}
	where := ""
	if len(files) != len(g.files) {
		some := []string{}
		for i, f := range g.files {
			for _, wanted := range files {
				if f == wanted {
					some = append(some, fmt.Sprint(i))
				}
			}
		}
		where = fmt.Sprintf(" WHERE %s IN (%s)", quote(fileIndex), strings.Join(some, ", "))
	}
	return fmt.Sprintf("(SELECT %s FROM %s%s)", items, quote(g.table), where)
}

// faultErr is the error of a record that is no csv.
func (c *csvInput) faultErr(g csvGroup, f compute.File, rec *csvRecord) *compute.Error {
	return &compute.Error{Kind: compute.InputInvalid, File: f.Path, Line: rec.line, Column: c.columnAt(g, rec.wrong.field), Message: rec.wrong.message, Hint: rec.wrong.hint}
}

// columnAt names the column of a field; empty: it is in none.
func (c *csvInput) columnAt(g csvGroup, field int) string {
	for i, p := range g.places {
		if p == field {
			return c.columns[i].Name
		}
	}
	return ""
}
