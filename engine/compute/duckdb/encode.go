package duckdb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	driverduckdb "github.com/duckdb/duckdb-go/v2"
	"github.com/google/uuid"

	"github.com/ubunye-io/ubunye/engine/compute"
)

// encoding is one Encode that was checked.
type encoding struct {
	compute.Encode
	rel     *relation
	columns []compute.Column
	options string // of COPY
}

// Encode writes a relation by DuckDB's COPY.
func (s *session) Encode(ctx context.Context, e compute.Encode) ([]compute.Encoded, error) {
	enc, err := s.checkEncode(ctx, e)
	if err != nil {
		return nil, err
	}
	query, err := s.encodeQuery(ctx, enc)
	if err != nil {
		return nil, err
	}
	target, more := enc.target()
	files, err := s.copyTo(ctx, enc, fmt.Sprintf("COPY (%s) TO %s (FORMAT parquet, RETURN_STATS true%s%s)", query, literal(target), enc.options, more))
	if err != nil {
		return nil, s.encodeErr(ctx, enc, err)
	}
	return files, nil
}

func (s *session) checkEncode(ctx context.Context, e compute.Encode) (*encoding, error) {
	rel, err := s.lookup(e.Relation)
	if err != nil {
		return nil, err
	}
	if e.Format != "parquet" {
		return nil, &compute.Error{Kind: compute.BadOption, Message: fmt.Sprintf("format: %q cannot be encoded", e.Format), Hint: didYouMean(e.Format, []string{"parquet"})}
	}
	if strings.ContainsRune(e.Dir+e.Suffix, 0) || strings.ContainsAny(e.Suffix, `/\{}`) {
		return nil, &compute.Error{Kind: compute.BadOption, Message: fmt.Sprintf("suffix %q cannot be part of a file name", e.Suffix)}
	}
	if info, err := os.Stat(e.Dir); err != nil || !info.IsDir() || !filepath.IsAbs(e.Dir) {
		return nil, &compute.Error{Kind: compute.OutputFailed, File: e.Dir, Message: "the output folder does not exist", Err: err}
	}
	options, err := parquetOptions(e.Options)
	if err != nil {
		return nil, err
	}
	enc := &encoding{Encode: e, rel: rel, options: options}
	if enc.columns, err = s.Schema(ctx, e.Relation); err != nil {
		return nil, err
	}
	return enc, enc.checkPartitions()
}

var compressions = []string{"zstd", "snappy", "gzip", "lz4_raw", "brotli", "uncompressed"}

// parquetOptions gives the format options as those of COPY.
func parquetOptions(given map[string]string) (string, error) {
	o := &options{what: "parquet", given: given}
	compression := o.text("compression", "zstd")
	level := o.integer("compression_level", 0, 0, 22)
	group := o.integer("row_group_size", 122880, 2048, 1<<30)
	if !slices.Contains(compressions, compression) {
		o.bad("compression", "one of "+strings.Join(compressions, ", "))
	}
	_, leveled := given["compression_level"]
	if leveled && compression != "zstd" || leveled && level == 0 {
		o.bad("compression_level", "from 1 to 22, with the compression zstd")
	}
	sql := fmt.Sprintf(", COMPRESSION %s, ROW_GROUP_SIZE %d", literal(compression), group)
	if leveled {
		sql += fmt.Sprintf(", COMPRESSION_LEVEL %d", level)
	}
	return sql, o.done()
}

func invalid(column, message, hint string) error {
	return &compute.Error{Kind: compute.OutputInvalid, Column: column, Message: message, Hint: hint}
}

// checkPartitions checks the partition columns against the relation, and gives them the relation's spelling.
func (e *encoding) checkPartitions() error {
	if len(e.PartitionBy) > 0 && e.TargetFileSize > 0 {
		return &compute.Error{Kind: compute.BadOption, Message: "target_file_size cannot be had together with partition_by", Hint: "leave one of them out"}
	}
	if e.TargetFileSize < 0 {
		return &compute.Error{Kind: compute.BadOption, Message: fmt.Sprintf("target_file_size: %d is not a size", e.TargetFileSize)}
	}
	e.PartitionBy = slices.Clone(e.PartitionBy)
	for i, name := range e.PartitionBy {
		at := slices.IndexFunc(e.columns, func(c compute.Column) bool { return strings.EqualFold(c.Name, name) })
		if at < 0 {
			known := make([]string, len(e.columns))
			for j, c := range e.columns {
				known[j] = c.Name
			}
			return invalid(name, fmt.Sprintf("%s has no such column to partition by", e.rel.name), didYouMean(name, known))
		}
		col := e.columns[at]
		if slices.Contains(e.PartitionBy[:i], col.Name) {
			return invalid(name, "it is named twice in partition_by", "leave one out")
		}
		base, _, _ := strings.Cut(col.Type, "(")
		if strings.HasSuffix(col.Type, "]") || slices.Contains([]string{"BLOB", "STRUCT", "MAP", "UNION", "FLOAT", "DOUBLE", "BIT", "VARIANT"}, base) {
			return invalid(name, fmt.Sprintf("a column of type %s cannot name folders", col.Type), "partition by text, a number or a date")
		}
		e.PartitionBy[i] = col.Name
	}
	if len(e.PartitionBy) == len(e.columns) && len(e.columns) > 0 {
		return invalid("", "every column of "+e.rel.name+" is a partition column: nothing would be left for the files", "keep at least one column out of partition_by")
	}
	return nil
}

// target gives where COPY writes to and the options for it. A single file gets its name here, because COPY to
// a folder makes one file a thread.
func (e *encoding) target() (name, options string) {
	many := fmt.Sprintf(", APPEND true, FILENAME_PATTERN 'part-{uuid}', FILE_EXTENSION %s", literal("parquet"+e.Suffix))
	switch {
	case len(e.PartitionBy) > 0:
		names := make([]string, len(e.PartitionBy))
		for i, p := range e.PartitionBy {
			names[i] = quote(p)
		}
		return e.Dir, many + ", PARTITION_BY (" + strings.Join(names, ", ") + ")"
	case e.TargetFileSize > 0:
		return e.Dir, many + fmt.Sprintf(", FILE_SIZE_BYTES %d", e.TargetFileSize)
	}
	return filepath.Join(e.Dir, "part-"+uuid.NewString()+".parquet"+e.Suffix), ""
}

// encodeQuery makes the SELECT that COPY writes: exact types, checked partition values, order.
func (s *session) encodeQuery(ctx context.Context, e *encoding) (string, error) {
	infos, err := s.typeInfos(ctx, "SELECT * FROM "+quote(e.rel.name))
	if err != nil {
		return "", s.blame(ctx, e.rel, err, "reading the columns of "+e.rel.name+" failed")
	}
	items := make([]string, len(e.columns))
	for i, c := range e.columns {
		expr, err := exactExpr(quote(c.Name), infos[i])
		if err != nil {
			return "", inColumn(err, c.Name)
		}
		if slices.Contains(e.PartitionBy, c.Name) && textual(c.Type) {
			// COPY comes after the sort, so this fails before the first file is made.
			expr = fmt.Sprintf("CASE WHEN %s THEN error('a value cannot name a folder') ELSE %s END", unnameable(c.Name), expr)
		}
		items[i] = expr + " AS " + quote(c.Name)
	}
	query := "SELECT " + strings.Join(items, ", ") + " FROM " + quote(e.rel.name)
	var order []string
	for i := range e.PartitionBy {
		order = append(order, quote(e.PartitionBy[i]))
	}
	for _, term := range e.OrderBy {
		if err := s.checkOrder(ctx, e.rel, term); err != nil {
			return "", err
		}
		order = append(order, term)
	}
	if len(order) > 0 {
		query = "SELECT * FROM (" + query + ") ORDER BY " + strings.Join(order, ", ")
	}
	return query, nil
}

func textual(typ string) bool {
	return typ == "VARCHAR" || typ == "JSON" || strings.HasPrefix(typ, "ENUM(")
}

// unnameable is the SQL condition for text that readers of the folders could not tell from NULL.
func unnameable(column string) string {
	text := fmt.Sprintf("CAST(%s AS VARCHAR)", quote(column))
	return fmt.Sprintf("(%s IN ('', %s) OR upper(%s) = 'NULL')", text, literal(nullPartition), text) // DuckDB reads p=null as NULL
}

// checkOrder lets one order term through the gate: it must be one term over the relation, and nothing after it.
func (s *session) checkOrder(ctx context.Context, rel *relation, term string) error {
	bad := &compute.Error{Kind: compute.BadOption, Message: fmt.Sprintf("%q is not an order term", term), Hint: "write a column, with DESC or NULLS LAST if need be"}
	if strings.ContainsAny(term, "\x00;") || strings.Contains(term, "--") || strings.Contains(term, "/*") {
		return bad
	}
	sql := "SELECT * FROM " + quote(rel.name) + " ORDER BY " + term
	tree, err := s.parseSQL(ctx, sql)
	if c := cancelled(ctx); c != nil {
		return c
	}
	if err != nil {
		return bad
	}
	g := &gate{session: s, sql: sql, reads: s.byName, refs: map[*relation]int{}, params: map[string]bool{}}
	g.walk(tree, nil, 0)
	mods, _ := field(tree, "node", "modifiers").([]any)
	if g.err != nil || len(g.params) > 0 || len(g.refs) != 1 || len(mods) != 1 {
		return bad
	}
	orders, _ := field(mods[0], "orders").([]any)
	if field(tree, "node", "type") != "SELECT_NODE" || len(orders) != 1 {
		return bad
	}
	if _, err := s.describe(ctx, sql); err != nil {
		if c := cancelled(ctx); c != nil {
			return c
		}
		bad.Message, bad.Hint, bad.Err = fmt.Sprintf("the order term %q: %s", term, parse(err).line()), parse(err).hint(), err
		return bad
	}
	return nil
}

// copyTo runs a COPY and reads what it says of its files.
func (s *session) copyTo(ctx context.Context, e *encoding, query string) ([]compute.Encoded, error) {
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

// encodeErr makes the error of a COPY that failed.
func (s *session) encodeErr(ctx context.Context, e *encoding, err error) error {
	if c := cancelled(ctx); c != nil {
		return c
	}
	said := parse(err)
	if said.Errno != "" || said.Type == "IO" {
		if found := s.blame(ctx, e.rel, err, ""); isInputError(found) {
			return found
		}
		if said.Errno == strconv.Itoa(int(syscall.ENAMETOOLONG)) && len(e.PartitionBy) > 0 {
			return s.longNameErr(ctx, e)
		}
		return outputErr(e.Dir, said, err)
	}
	for _, name := range e.PartitionBy {
		if err := s.unnameableErr(ctx, e, name); err != nil {
			return err
		}
	}
	return s.blame(ctx, e.rel, err, "encoding "+e.rel.name+" failed")
}

func isInputError(err error) bool {
	var e *compute.Error
	return errors.As(err, &e) && (e.Kind == compute.InputInvalid || e.Kind == compute.InputMissing)
}

func outputErr(dir string, said engineError, err error) error {
	e := &compute.Error{Kind: compute.OutputFailed, File: dir, Message: "writing failed: " + said.line(), Err: err}
	n, atoi := strconv.Atoi(said.Errno)
	if atoi != nil {
		return e
	}
	switch errno := syscall.Errno(n); {
	case errno == syscall.ENOSPC:
		e.Message, e.Hint = "writing failed: the disk is full", "make room and run again"
	case errors.Is(errno, fs.ErrPermission):
		e.Message, e.Hint = "writing failed: "+errno.Error(), "make the folder writable"
	default:
		e.Message = "writing failed: " + errno.Error()
	}
	return e
}

// longestName is the most bytes that a file system takes as one name.
const longestName = 255

// longNameErr finds the partition column whose value makes too long a name of a folder. A byte that is not a letter, a
// digit or one of -_.~ takes three there.
func (s *session) longNameErr(ctx context.Context, e *encoding) error {
	for _, column := range e.PartitionBy {
		text := fmt.Sprintf("CAST(%s AS VARCHAR)", quote(column))
		escaped := fmt.Sprintf("octet_length(encode(url_encode(%s)))", text)
		q := fmt.Sprintf("SELECT %s, %s FROM %s WHERE %s > %d LIMIT 1", text, escaped, quote(e.rel.name), escaped, longestName-len(column)-len("="))
		var found error
		err := s.queryAll(ctx, q, nil, func(rows *sql.Rows) error {
			var value string
			var length int
			err := rows.Scan(&value, &length)
			found = invalid(column, fmt.Sprintf("the value %s cannot name a partition: its folder's name would have %d bytes, and %d is the most", shorten(value), len(column)+1+length, longestName),
				"partition by something shorter, as md5("+column+")")
			return err
		})
		if err != nil {
			return s.fail(ctx, err, "looking for the long name failed")
		}
		if found != nil {
			return found
		}
	}
	return &compute.Error{Kind: compute.OutputFailed, File: e.Dir, Message: "writing failed: the name of a partition's folder is too long", Hint: "partition by something shorter"}
}

// unnameableErr looks for a value of a text column that cannot name a folder.
func (s *session) unnameableErr(ctx context.Context, e *encoding, column string) error {
	i := slices.IndexFunc(e.columns, func(c compute.Column) bool { return c.Name == column })
	if !textual(e.columns[i].Type) {
		return nil
	}
	var found []string
	q := fmt.Sprintf("SELECT CAST(%s AS VARCHAR) FROM %s WHERE %s LIMIT 1", quote(column), quote(e.rel.name), unnameable(column))
	err := s.queryAll(ctx, q, nil, func(rows *sql.Rows) error {
		var text string
		err := rows.Scan(&text)
		found = append(found, text)
		return err
	})
	if err != nil || len(found) == 0 {
		return nil // the COPY failed for another reason, which blame looks for
	}
	what := "the empty text"
	if found[0] != "" {
		what = "the text " + found[0]
	}
	return invalid(column, what+" cannot name a partition: readers could not tell it from NULL", fmt.Sprintf("replace it in a step, as nullif(%s, %s)", column, literal(found[0])))
}
