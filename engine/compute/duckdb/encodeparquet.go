package duckdb

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	driverduckdb "github.com/duckdb/duckdb-go/v2"

	"github.com/ubunye-io/ubunye/engine/compute"
)

// parquetFormat is the options of parquet outputs.
type parquetFormat struct {
	compression string
	level       int // 0: the codec's own
	rowGroup    int
}

// parquetCompressions are the names of options, and DuckDB's.
var parquetCompressions = map[string]string{"zstd": "zstd", "snappy": "snappy", "gzip": "gzip", "lz4": "lz4_raw", "brotli": "brotli", "none": "uncompressed"}

func readParquetFormat(given map[string]string) (format, error) {
	o := &options{what: "parquet", given: given}
	p := parquetFormat{
		compression: o.text("compression", "zstd"),
		level:       o.integer("compression_level", 0, 0, 22),
		rowGroup:    o.integer("row_group_size", 122880, 2048, 1<<30),
	}
	if parquetCompressions[p.compression] == "" {
		o.bad("compression", "one of "+strings.Join(slices.Sorted(maps.Keys(parquetCompressions)), ", "))
	}
	if _, leveled := given["compression_level"]; leveled && (p.compression != "zstd" || p.level == 0) {
		o.bad("compression_level", "from 1 to 22, with the compression zstd")
	}
	return p, o.done()
}

func (parquetFormat) extension() string { return "parquet" }

func (parquetFormat) selectList(e *encoding) ([]string, error) {
	items := make([]string, len(e.columns))
	for i, c := range e.columns {
		expr, err := parquetExpr(quote(c.Name), e.infos[i])
		if err != nil {
			return nil, inColumn(err, c.Name)
		}
		items[i] = expr + " AS " + quote(c.Name)
	}
	return items, nil
}

func (p parquetFormat) copy(ctx context.Context, s *session, e *encoding, query string) ([]compute.Encoded, error) {
	target, more := e.target(p.extension())
	more += fmt.Sprintf(", COMPRESSION %s, ROW_GROUP_SIZE %d", literal(parquetCompressions[p.compression]), p.rowGroup)
	if p.level > 0 {
		more += fmt.Sprintf(", COMPRESSION_LEVEL %d", p.level)
	}
	return s.copyWithStats(ctx, e, fmt.Sprintf("COPY (%s) TO %s (FORMAT parquet, RETURN_STATS true%s)", query, literal(target), more))
}

// copyWithStats runs a COPY and reads what it says of its files.
func (s *session) copyWithStats(ctx context.Context, e *encoding, query string) ([]compute.Encoded, error) {
	var files []compute.Encoded
	err := s.queryAll(ctx, query, nil, func(rows *sql.Rows) error {
		var name string
		var f compute.Encoded
		var footer any
		var stats, keys driverduckdb.OrderedMap
		nullable := nullMap{&keys}
		if err := rows.Scan(&name, &f.Rows, &f.Bytes, &footer, &stats, &nullable); err != nil {
			return err
		}
		below, err := filepath.Rel(e.Dir, name)
		if err != nil {
			return err
		}
		f.Name = path.Clean(filepath.ToSlash(below))
		f.Partition = partitionOf(keys)
		if err := e.checkTimes(stats); err != nil {
			return err
		}
		if e.Statistics {
			f.Columns = statistics(e, stats)
		}
		files = append(files, f)
		return nil
	})
	slices.SortFunc(files, func(a, b compute.Encoded) int { return strings.Compare(a.Name, b.Name) })
	return files, err
}

// nullMap scans a map that may be NULL.
type nullMap struct{ into *driverduckdb.OrderedMap }

// Scan takes a map or NULL.
func (n *nullMap) Scan(v any) error {
	if v == nil {
		return nil
	}
	return n.into.Scan(v)
}

func partitionOf(keys driverduckdb.OrderedMap) map[string]string {
	if keys.Len() == 0 {
		return nil
	}
	partition := map[string]string{}
	values := keys.Values()
	for i, k := range keys.Keys() {
		name, _ := k.(string)
		if v, ok := values[i].(string); ok {
			partition[name] = v
		}
	}
	return partition
}

// statistics gives those of the file's own columns; parts of nested ones are left out.
func statistics(e *encoding, stats driverduckdb.OrderedMap) []compute.ColumnStats {
	var out []compute.ColumnStats
	for _, c := range e.columns {
		v, ok := stats.Get(quote(c.Name))
		m, isMap := v.(driverduckdb.OrderedMap)
		if !ok || !isMap {
			continue
		}
		st := compute.ColumnStats{Name: c.Name}
		if text, ok := statOf(m, "null_count"); ok {
			st.Nulls, _ = strconv.ParseInt(text, 10, 64) // DuckDB prints a number
		}
		if text, ok := statOf(m, "min"); ok {
			st.Min = &text
		}
		if text, ok := statOf(m, "max"); ok {
			st.Max = &text
		}
		out = append(out, st)
	}
	return out
}

func statOf(m driverduckdb.OrderedMap, key string) (string, bool) {
	v, ok := m.Get(key)
	text, isText := v.(string)
	return text, ok && isText
}
