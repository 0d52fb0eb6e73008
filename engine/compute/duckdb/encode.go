package duckdb

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	driverduckdb "github.com/duckdb/duckdb-go/v2"
	"github.com/google/uuid"

	"github.com/ubunye-io/ubunye/engine/compute"
)

// encoding is one Encode that was checked.
type encoding struct {
	compute.Encode
	rel      *relation
	columns  []compute.Column
	infos    []driverduckdb.TypeInfo // of columns
	refusals []refusal
	lambdas  int // that were named
}

// lambda gives a name that no other lambda of the statement has.
func (e *encoding) lambda() string {
	e.lambdas++
	return fmt.Sprintf("e%d", e.lambdas)
}

// isPartition tells that a column stands in the names of folders and not in the files.
func (e *encoding) isPartition(column string) bool { return slices.Contains(e.PartitionBy, column) }

// refusal is a kind of value that an output cannot hold: the statement fails on it, and then it is looked for.
type refusal struct {
	column  string
	when    string // SQL condition on a row of the relation
	message func(text string) string
	hint    func(text string) string
}

// advice is a hint that does not depend on the value.
func advice(text string) func(string) string { return func(string) string { return text } }

// format is what differs between the formats of files.
type format interface {
	// extension ends file names; as "csv.gz".
	extension() string
	// selectList gives the SELECT list of what COPY writes, of the relation's columns, without loss. Partition columns
	// stay as they are.
	selectList(e *encoding) ([]string, error)
	// copy runs the COPY of a query.
	copy(ctx context.Context, s *session, e *encoding, query string) ([]compute.Encoded, error)
}

var formats = map[string]func(options map[string]string) (format, error){
	"parquet": readParquetFormat,
	"csv":     readCSVFormat,
	"json":    readJSONFormat,
}

// Encode writes a relation by DuckDB's COPY.
func (s *session) Encode(ctx context.Context, e compute.Encode) ([]compute.Encoded, error) {
	enc, f, err := s.checkEncode(ctx, e)
	if err != nil {
		return nil, err
	}
	query, err := s.encodeQuery(ctx, enc, f)
	if err != nil {
		return nil, err
	}
	files, err := f.copy(ctx, s, enc, query)
	if err != nil {
		return nil, s.encodeErr(ctx, enc, err)
	}
	return files, nil
}

func (s *session) checkEncode(ctx context.Context, e compute.Encode) (*encoding, format, error) {
	rel, err := s.lookup(e.Relation)
	if err != nil {
		return nil, nil, err
	}
	read, ok := formats[e.Format]
	if !ok {
		return nil, nil, &compute.Error{Kind: compute.BadOption, Message: fmt.Sprintf("format: %q cannot be encoded", e.Format), Hint: didYouMean(e.Format, slices.Sorted(maps.Keys(formats)))}
	}
	if strings.ContainsRune(e.Dir+e.Suffix, 0) || strings.ContainsAny(e.Suffix, `/\{}`) {
		return nil, nil, &compute.Error{Kind: compute.BadOption, Message: fmt.Sprintf("suffix %q cannot be part of a file name", e.Suffix)}
	}
	if info, err := os.Stat(e.Dir); err != nil || !info.IsDir() || !filepath.IsAbs(e.Dir) {
		return nil, nil, &compute.Error{Kind: compute.OutputFailed, File: e.Dir, Message: "the output folder does not exist", Err: err}
	}
	f, err := read(e.Options)
	if err != nil {
		return nil, nil, err
	}
	enc := &encoding{Encode: e, rel: rel}
	if enc.columns, err = s.Schema(ctx, e.Relation); err != nil {
		return nil, nil, err
	}
	if enc.infos, err = s.typeInfos(ctx, "SELECT * FROM "+quote(rel.name)); err != nil {
		return nil, nil, s.blame(ctx, rel, err, "reading the columns of "+rel.name+" failed")
	}
	return enc, f, enc.checkPartitions()
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
		if strings.HasSuffix(col.Type, "]") || slices.Contains([]string{"BLOB", "STRUCT", "MAP", "UNION", "FLOAT", "DOUBLE", "BIT", "VARIANT", "INTERVAL", "TIME WITH TIME ZONE"}, base) {
			return invalid(name, fmt.Sprintf("a column of type %s cannot name folders", col.Type), "partition by text, a number or a date")
		}
		if !folderName.MatchString(col.Name) {
			return invalid(name, "a column of this name cannot name folders: readers would miss them, or find a column of another name", "name it with letters of ASCII, digits and _ in a step, no _ in front")
		}
		e.PartitionBy[i] = col.Name
	}
	if len(e.PartitionBy) == len(e.columns) && len(e.columns) > 0 {
		return invalid("", "every column of "+e.rel.name+" is a partition column: nothing would be left for the files", "keep at least one column out of partition_by")
	}
	return nil
}

// folderName matches the names of columns that all readers find in the names of folders. Others are escaped there, as a%20b,
// which pyarrow reverts, and polars and duckdb do not; and what begins with _ or . is hidden.
var folderName = regexp.MustCompile("^[A-Za-z0-9~-][A-Za-z0-9_.~-]*$")

// target gives where COPY writes to and the options for it. A single file gets its name here, because COPY to
// a folder makes one file a thread.
func (e *encoding) target(extension string) (name, options string) {
	if !e.many() {
		return filepath.Join(e.Dir, "part-"+uuid.NewString()+"."+extension+e.Suffix), e.emptyOption()
	}
	return e.Dir, e.manyOptions("part-", extension+e.Suffix)
}

// emptyOption keeps COPY from making an empty file; a partitioned one makes none anyway.
func (e *encoding) emptyOption() string {
	if e.SkipEmpty && len(e.PartitionBy) == 0 {
		return ", WRITE_EMPTY_FILE false"
	}
	return ""
}

// many tells that COPY writes to a folder and names the files itself.
func (e *encoding) many() bool { return len(e.PartitionBy) > 0 || e.TargetFileSize > 0 }

func (e *encoding) manyOptions(prefix, extension string) string {
	options := fmt.Sprintf(", APPEND true, FILENAME_PATTERN %s, FILE_EXTENSION %s", literal(prefix+"{uuid}"), literal(extension))
	if e.TargetFileSize > 0 {
		return options + fmt.Sprintf(", FILE_SIZE_BYTES %d", e.TargetFileSize) + e.emptyOption()
	}
	names := make([]string, len(e.PartitionBy))
	for i, p := range e.PartitionBy {
		names[i] = quote(p)
	}
	return options + ", PARTITION_BY (" + strings.Join(names, ", ") + ")"
}

// encodeQuery makes the SELECT that COPY writes: checked partition values, order, exact values.
func (s *session) encodeQuery(ctx context.Context, e *encoding, f format) (string, error) {
	list, err := f.selectList(e)
	if err != nil {
		return "", err
	}
	query := "SELECT * FROM " + quote(e.rel.name)
	if items := e.checkedPartitions(); len(items) > 0 {
		query = "SELECT * REPLACE (" + strings.Join(items, ", ") + ") FROM " + quote(e.rel.name)
	}
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
	return "SELECT " + strings.Join(list, ", ") + " FROM (" + query + ")", nil
}

// checkedPartitions gives the partition columns that need a check of their values. COPY comes after the sort, so a
// value that cannot name a folder fails before the first file is made.
func (e *encoding) checkedPartitions() []string {
	var items []string
	for _, c := range e.columns {
		name := quote(c.Name)
		switch {
		case !e.isPartition(c.Name):
		case textual(c.Type):
			items = append(items, e.refuseNulls(c.Name)+" AS "+name)
		case c.Type == "DATE", strings.HasPrefix(c.Type, "TIMESTAMP"):
			typ, _, _ := strings.Cut(strings.ReplaceAll(c.Type, "_", " "), " ")
			items = append(items, e.refuse(c.Name, name, outsideYears(name, typ), func(text string) string {
				return text + outside
			}, advice("replace it in a step, with NULL perhaps"))+" AS "+name)
		}
	}
	return items
}

// refuseNulls is refuse for texts that readers take for NULL when they name folders.
func (e *encoding) refuseNulls(column string) string {
	text := fmt.Sprintf("CAST(%s AS VARCHAR)", quote(column))
	when := fmt.Sprintf("(%s IN ('', %s) OR upper(%s) = 'NULL')", text, literal(nullPartition), text) // DuckDB reads p=null as NULL
	return e.refuse(column, quote(column), when, func(text string) string {
		what := "the empty text"
		if text != "" {
			what = "the text " + text
		}
		return what + " cannot name a partition: readers could not tell it from NULL"
	}, func(text string) string {
		return fmt.Sprintf("replace it in a step, as nullif(%s, %s)", column, literal(text))
	})
}

// refuse gives the SQL of a value of a column that fails on some, which will then be named.
func (e *encoding) refuse(column, value, when string, message, hint func(text string) string) string {
	e.refusals = append(e.refusals, refusal{column: column, when: when, message: message, hint: hint})
	return fmt.Sprintf("CASE WHEN %s THEN error('a value cannot be written') ELSE %s END", when, value)
}

func textual(typ string) bool {
	return typ == "VARCHAR" || typ == "JSON" || strings.HasPrefix(typ, "ENUM(")
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
