package duckdb

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	driverduckdb "github.com/duckdb/duckdb-go/v2"

	"github.com/ubunye-io/ubunye/engine/compute"
)

// jsonVisit is what is done with the values of a file.
type jsonVisit struct {
	check func(*jsonScan) error                                          // looks at an object; it must pass all of it
	take  func(n int64, data []byte) error                               // is given the text of the n-th value, if nothing is wrong with it; may be nil
	wrong func(n int64, line int64, data []byte, e *compute.Error) error // is given the others; nil: the first is the error
}

// each goes through the objects of a file. What is wrong with it comes as a *compute.Error.
func (j *jsonInput) each(ctx context.Context, f compute.File, array bool, visit jsonVisit) error {
	text, err := j.options.open(f.Path)
	if err != nil {
		return unreadable(f.Path, err)
	}
	defer text.Close()                                     // only read
	r := newJSONReader(text, array, 2*j.options.maxObject) // DuckDB's buffers have room for two
	passMark(r.r)
	for n := int64(0); ; n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return cancelled(ctx)
		}
		data, line, err := r.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		// What is wrong between the elements of an array is wrong with the file.
		goesOn := err == nil || !array && errors.As(err, new(*jsonError))
		if err == nil {
			err = visit.one(&jsonScan{data: data, line: line})
		}
		switch e := j.told(f, array, line, err); {
		case e == nil && visit.take == nil:
		case e == nil:
			if err := visit.take(n, data); err != nil {
				return err
			}
		case e.Kind != compute.InputInvalid || !goesOn || visit.wrong == nil:
			return e
		default:
			if line == 0 {
				line = e.Line // of a line that is too long
			}
			if err := visit.wrong(n, line, data, e); err != nil {
				return err
			}
		}
	}
}

// one looks at one value.
func (v jsonVisit) one(s *jsonScan) error {
	if s.kind() != '{' {
		return s.fail("%s is no object", shorten(string(s.data)))
	}
	if err := v.check(s); err != nil {
		return err
	}
	return s.done()
}

// told makes what is wrong with a value the error of its file; nil: nothing is.
func (j *jsonInput) told(f compute.File, array bool, line int64, err error) *compute.Error {
	var bad *jsonError
	var e *compute.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &bad):
		return &compute.Error{Kind: compute.InputInvalid, File: f.Path, Line: bad.line, Message: bad.message, Hint: bad.hint(array)}
	case errors.As(err, &e), errors.As(unreadable(f.Path, err), &e):
		return e
	}
	return &compute.Error{Kind: compute.InputInvalid, File: f.Path, Message: err.Error(), Err: err}
}

// load reads the objects into tables, as texts with their number in the file. With rejects, what is wrong is left out.
func (j *jsonInput) load(ctx context.Context, s *session, name string, r *rejects) error {
	for i, g := range j.groups() {
		table := fmt.Sprintf("\x01texts of %s %d", name, i)
		if err := s.exec(ctx, fmt.Sprintf("CREATE TABLE %s (%s INTEGER, %s BIGINT, json VARCHAR)", quote(table), quote(fileIndex), quote(recordOffset))); err != nil {
			return s.fail(ctx, err, "reading "+name+" failed")
		}
		err := s.fill(ctx, []string{table}, func(into []*driverduckdb.Appender) error {
			for file, f := range g.files {
				visit := jsonVisit{check: func(scan *jsonScan) error { return j.checkRow(scan, f.Path, nil) },
					take: func(n int64, data []byte) error { return into[0].AppendRow(int32(file), n, string(data)) }}
				if r != nil {
					visit.wrong = func(int64, int64, []byte, *compute.Error) error { return nil }
				}
				if err := j.each(ctx, f, g.array, visit); err != nil {
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

func (j *jsonInput) loaded() bool { return j.careful }

// loadedObjects is the SQL that gives what objects gives, of a table.
func (j *jsonInput) loadedObjects(g jsonGroup) string {
	items := exactNumbers("json") + " AS json"
	if len(j.paths.keys) > 0 {
		names := make([]string, len(g.files))
		for i, f := range g.files {
			names[i] = literal(f.Path)
		}
		items += fmt.Sprintf(", list_extract([%s], %s + 1) AS %s", strings.Join(names, ", "), quote(fileIndex), quote(fileColumn))
	}
	return fmt.Sprintf("(SELECT %s FROM %s)", items, quote(g.table))
}

// split tells apart the objects that are not as declared: what is plainly wrong when they are read, and then those that hold a
// text of which the conversions say that it does not fit.
func (j *jsonInput) split(ctx context.Context, s *session, in compute.Input, r *rejects) (query string, drop []string, err error) {
	if err := j.load(ctx, s, in.Name, r); err != nil {
		return "", nil, err
	}
	for _, g := range j.groups() {
		drop = append(drop, g.table)
		bad := badTexts{}
		for i, c := range j.columns {
			objects := "SELECT json AS v FROM " + j.objects(*g)
			if err := s.findBad(ctx, j, bad, c.Name, j.types[i], memberOf(objects, c.Name), math.MaxInt64); err != nil {
				return "", nil, s.fail(ctx, err, "looking for bad values failed")
			}
		}
		if err := j.rejectBad(ctx, s, *g, bad, r); err != nil {
			return "", nil, err
		}
	}
	query, err = j.query(ctx, s, in.Columns)
	return query, drop, err
}

// rejectBad adds the objects of a group that are not as declared, and takes them out of its table.
func (j *jsonInput) rejectBad(ctx context.Context, s *session, g jsonGroup, bad badTexts, r *rejects) error {
	const wrong = "\x01wrong"
	if err := s.exec(ctx, fmt.Sprintf("CREATE TABLE %s (file INTEGER, n BIGINT)", quote(wrong))); err != nil {
		return s.fail(ctx, err, "keeping the rejects failed")
	}
	err := s.fill(ctx, []string{r.table, wrong}, func(into []*driverduckdb.Appender) error {
		for file, f := range g.files {
			err := j.each(ctx, f, g.array, jsonVisit{
				check: func(scan *jsonScan) error { return j.checkRow(scan, f.Path, bad) },
				take:  func(int64, []byte) error { r.read++; return nil },
				wrong: func(n, line int64, data []byte, e *compute.Error) error {
					r.read++
					e.Line = line
					return errors.Join(r.add(into[0], n, e, data), into[1].AppendRow(int32(file), n))
				}})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, q := range []string{
		fmt.Sprintf("DELETE FROM %[1]s USING %[2]s AS w WHERE %[1]s.%[3]s = w.file AND %[1]s.%[4]s = w.n", quote(g.table), quote(wrong), quote(fileIndex), quote(recordOffset)),
		"DROP TABLE " + quote(wrong),
	} {
		if err := s.exec(ctx, q); err != nil {
			return s.fail(ctx, err, "keeping the rejects failed")
		}
	}
	return nil
}
