package duckdb

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	driverduckdb "github.com/duckdb/duckdb-go/v2"

	"github.com/ubunye-io/ubunye/engine/compute"
)

const (
	batchBytes  = 1 << 20 // what a record batch is to have, about
	firstWindow = 1024    // rows read before their size is known
	mostWindow  = 1 << 16
)

// rowReader reads a kept table window by window, because the driver holds a whole result in memory.
type rowReader struct {
	session *session
	rel     *relation
	schema  *arrow.Schema
	query   string // SELECT of the columns
	size    string // SQL for the bytes of a row's texts; empty: it has none
	rowid   bool   // windows go by rowid; else by LIMIT and OFFSET
	total   int64  // rows of the table
	next    int64  // first row of the next window
	window  int64  // rows of the next window
	started bool   // the schema was given
	message bytes.Buffer
}

// Rows reads a relation's rows. A relation that is not kept yet is computed and kept first.
func (s *session) Rows(ctx context.Context, r compute.Relation, columns []string) (compute.RowReader, error) {
	rel, err := s.lookup(r)
	if err != nil {
		return nil, err
	}
	all, err := s.Schema(ctx, r)
	if err != nil {
		return nil, err
	}
	names, err := chosen(rel, all, columns)
	if err != nil {
		return nil, err
	}
	if !rel.kept {
		if err := s.keep(ctx, rel); err != nil {
			return nil, err
		}
	}
	reader := &rowReader{session: s, rel: rel, window: firstWindow}
	reader.rowid = !slices.ContainsFunc(all, func(c compute.Column) bool { return strings.EqualFold(c.Name, "rowid") })
	if err := reader.prepare(ctx, names); err != nil {
		return nil, err
	}
	reader.total, err = s.Count(ctx, r)
	return reader, err
}

// chosen gives the columns to read in the relation's spelling.
func chosen(rel *relation, all []compute.Column, columns []string) ([]string, error) {
	known := make([]string, len(all))
	for i, c := range all {
		known[i] = c.Name
	}
	if len(columns) == 0 {
		return known, nil
	}
	names := make([]string, len(columns))
	for i, name := range columns {
		at := slices.IndexFunc(known, func(k string) bool { return strings.EqualFold(k, name) })
		if at < 0 {
			return nil, invalid(name, rel.name+" has no such column", didYouMean(name, known))
		}
		names[i] = known[at]
	}
	return names, nil
}

// prepare makes the query and the Arrow schema.
func (r *rowReader) prepare(ctx context.Context, names []string) error {
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = quote(n)
	}
	from := " FROM " + quote(r.rel.name)
	infos, err := r.session.typeInfos(ctx, "SELECT "+strings.Join(quoted, ", ")+from)
	if err != nil {
		return r.session.fail(ctx, err, "reading the columns of "+r.rel.name+" failed")
	}
	for i, info := range infos {
		expr, err := exactExpr(quoted[i], info)
		if err != nil {
			return inColumn(err, names[i])
		}
		if asText(info) {
			expr = "CAST(" + expr + " AS VARCHAR)"
		}
		quoted[i] = expr
	}
	r.query = "SELECT " + strings.Join(quoted, ", ") + from
	r.size = sizeExpr(quoted, infos)
	if infos, err = r.session.typeInfos(ctx, r.query); err != nil {
		return r.session.fail(ctx, err, "reading the columns of "+r.rel.name+" failed")
	}
	fields := make([]arrow.Field, len(infos))
	for i, info := range infos {
		typ, err := arrowType(info)
		if err != nil {
			return inColumn(err, names[i])
		}
		fields[i] = arrow.Field{Name: names[i], Type: typ, Nullable: true}
	}
	r.schema = arrow.NewSchema(fields, nil)
	return nil
}

// Next gives the schema, then record batches.
func (r *rowReader) Next(ctx context.Context) ([]byte, error) {
	if !r.started {
		r.started = true
		return r.put(ipc.GetSchemaPayload(r.schema, memory.DefaultAllocator))
	}
	if r.next >= r.total {
		return nil, io.EOF
	}
	batch, err := r.read(ctx)
	if err != nil {
		return nil, err
	}
	defer batch.Release()
	payload, err := ipc.GetRecordBatchPayload(batch)
	if err != nil {
		return nil, failed("encoding rows of "+r.rel.name+" failed", err)
	}
	message, err := r.put(payload)
	r.next += r.window
	r.window = max(1, min(mostWindow, r.window*batchBytes/int64(len(message)+1)))
	return message, err
}

func (r *rowReader) put(p ipc.Payload) ([]byte, error) {
	defer p.Release()
	r.message.Reset()
	if _, err := p.WritePayload(&r.message); err != nil {
		return nil, failed("encoding rows of "+r.rel.name+" failed", err)
	}
	return r.message.Bytes(), nil
}

// sizeExpr gives the SQL for the bytes of what has no fixed width; empty if there is nothing such.
func sizeExpr(exprs []string, infos []driverduckdb.TypeInfo) string {
	var sizes []string
	for i, info := range infos {
		switch info.InternalType() {
		case driverduckdb.TYPE_VARCHAR, driverduckdb.TYPE_LIST, driverduckdb.TYPE_ARRAY, driverduckdb.TYPE_STRUCT, driverduckdb.TYPE_MAP:
			sizes = append(sizes, "coalesce(strlen(CAST("+exprs[i]+" AS VARCHAR)), 0)")
		case driverduckdb.TYPE_BLOB:
			sizes = append(sizes, "coalesce(octet_length("+exprs[i]+"), 0)")
		}
	}
	return strings.Join(sizes, " + ")
}

// where gives the SQL that reads the next window of a SELECT over the table.
func (r *rowReader) where(query string) string {
	if r.rowid {
		return fmt.Sprintf("%s WHERE rowid >= %d AND rowid < %d", query, r.next, r.next+r.window)
	}
	return fmt.Sprintf("%s LIMIT %d OFFSET %d", query, r.window, r.next)
}

// narrow makes the next window smaller until its texts are a few batches at most: one row may be long.
func (r *rowReader) narrow(ctx context.Context) error {
	for r.size != "" && r.window > 1 {
		var bytes int64
		inner := r.where("SELECT " + r.size + " AS size FROM " + quote(r.rel.name))
		err := r.session.conn.QueryRowContext(ctx, "SELECT CAST(coalesce(sum(size), 0) AS BIGINT) FROM ("+inner+")").Scan(&bytes)
		if err != nil {
			return r.session.fail(ctx, err, "reading the rows of "+r.rel.name+" failed")
		}
		if bytes <= 4*batchBytes {
			return nil
		}
		r.window = max(1, min(r.window/2, r.window*batchBytes/bytes))
	}
	return nil
}

// read gives the rows of the next window.
func (r *rowReader) read(ctx context.Context) (arrow.RecordBatch, error) {
	if err := r.narrow(ctx); err != nil {
		return nil, err
	}
	b := array.NewRecordBuilder(memory.DefaultAllocator, r.schema)
	defer b.Release()
	query := r.where(r.query)
	values := make([]any, r.schema.NumFields())
	into := make([]any, len(values))
	for i := range values {
		into[i] = &values[i]
	}
	err := r.session.queryAll(ctx, query, nil, func(rows *sql.Rows) error {
		if err := rows.Scan(into...); err != nil {
			return err
		}
		for i, v := range values {
			if err := appendValue(b.Field(i), v); err != nil {
				return fmt.Errorf("column %s: %w", r.schema.Field(i).Name, err)
			}
		}
		return nil
	})
	if err != nil {
		return nil, r.session.fail(ctx, err, "reading the rows of "+r.rel.name+" failed")
	}
	return b.NewRecordBatch(), nil
}

// Close gives up reading; the relation stays.
func (r *rowReader) Close() error {
	r.message = bytes.Buffer{}
	return nil
}
