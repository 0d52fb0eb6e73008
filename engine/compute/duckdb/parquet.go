package duckdb

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/ubunye-io/ubunye/engine/compute"
)

// nullPartition is the folder name that stands for NULL, in DuckDB as in Hive and Spark.
const nullPartition = "__HIVE_DEFAULT_PARTITION__"

// parquetInput is what blame needs to read the files again.
type parquetInput struct {
	partitions bool // key=value folders are columns
}

func readParquetOptions(given map[string]string) (partitions, truncate bool, wrong []*compute.Error) {
	o := &options{what: "parquet", given: given}
	partitions = o.boolean("partitions", true)
	truncate = o.choice("nanoseconds", "error", "truncate") == "truncate"
	return partitions, truncate, o.wrong()
}

func (s *session) openParquet(ctx context.Context, in compute.Input, _ *rejects) (*input, string, error) {
	partitions, truncate, wrong := readParquetOptions(in.Options)
	if len(wrong) > 0 {
		return nil, "", wrong[0]
	}
	f, err := filesOf(in)
	if err != nil {
		return nil, "", err
	}
	columns, err := s.parquetColumns(ctx, f.files)
	if err != nil {
		return nil, "", err
	}
	if !truncate && !in.Encoded {
		if err := s.wholeMicroseconds(ctx, f.files, in.Columns); err != nil {
			return nil, "", err
		}
	}
	var keys []partitionKey
	if partitions {
		if keys, err = partitionKeys(f); err != nil {
			return nil, "", err
		}
	}
	opened := &input{files: f.files, parquet: &parquetInput{partitions: len(keys) > 0}}
	var nulls map[string]string
	if len(in.Columns) == 0 && len(in.Known) > 0 {
		if in.Columns, nulls, err = s.parquetKnown(ctx, in.Known, f.files, columns, keys); err != nil {
			return nil, "", err
		}
	}
	query, err := parquetQuery(in, f, columns, keys, nulls)
	if err == nil && !in.Encoded {
		err = s.checkFolders(ctx, keys)
	}
	return opened, query, err
}

// parquetColumns gives the columns of the files, which must be the same in all of them; their order may differ.
func (s *session) parquetColumns(ctx context.Context, files []compute.File) ([]compute.Column, error) {
	var first []compute.Column
	for i, f := range files {
		cols, err := s.describe(ctx, "SELECT * FROM read_parquet("+fileList(files[i:i+1])+", hive_partitioning = false)")
		if err != nil {
			if c := cancelled(ctx); c != nil {
				return nil, c
			}
			return nil, &compute.Error{Kind: compute.InputInvalid, File: f.Path, Message: "it is not a whole Parquet file: " + parse(err).line(), Hint: "it may be cut short, or still being written", Err: err}
		}
		if i == 0 {
			first = cols
			continue
		}
		if diff := differ(first, cols); diff != "" {
			return nil, &compute.Error{Kind: compute.InputInvalid, File: f.Path, Message: diff + ", unlike " + files[0].Path, Hint: "read files of one schema at a time, and join them in a step"}
		}
	}
	return first, nil
}

// differ says how the columns of a file differ from those of the first; empty: not at all.
func differ(first, other []compute.Column) string {
	types := map[string]string{}
	for _, c := range first {
		types[strings.ToLower(c.Name)] = c.Type
	}
	for _, c := range other {
		typ, ok := types[strings.ToLower(c.Name)]
		switch {
		case !ok:
			return "it has a column " + c.Name
		case typ != c.Type:
			return fmt.Sprintf("its column %s is %s and not %s", c.Name, c.Type, typ)
		}
		delete(types, strings.ToLower(c.Name))
	}
	for _, c := range first {
		if _, left := types[strings.ToLower(c.Name)]; left {
			return "it has no column " + c.Name
		}
	}
	return ""
}

// partitionKey is a column that stands in the names of folders.
type partitionKey struct {
	raw   string // as in the folder's name
	name  string
	typ   string
	empty bool              // all its values are NULL
	files map[string]string // by the values that are not NULL, a file of each
}

// partitionKeys finds the key=value folders between the root of a path and its files, which must be the same for all
// files. Values become BIGINT or DATE if all of them are such in their one usual spelling, else text.
func partitionKeys(f found) ([]partitionKey, error) {
	var keys []partitionKey
	values := map[string][]string{}
	for i, file := range f.files {
		var raws []string
		for _, part := range folders(f.root, file.Path) {
			raw, value, ok := strings.Cut(part, "=")
			if !ok || raw == "" {
				continue
			}
			raws = append(raws, raw)
			values[raw] = append(values[raw], value)
		}
		if i == 0 {
			for _, raw := range raws {
				keys = append(keys, partitionKey{raw: raw, name: unescape(raw)})
			}
		}
		if !sameKeys(keys, raws) {
			return nil, &compute.Error{Kind: compute.InputInvalid, File: file.Path, Message: fmt.Sprintf("its partition folders (%s) are not those of %s", strings.Join(raws, ", "), f.files[0].Path), Hint: "set the option partitions to false, or name the folders more exactly"}
		}
	}
	for i, k := range keys {
		keys[i].typ = partitionType(values[k.raw])
		keys[i].files = map[string]string{}
		for j, v := range values[k.raw] {
			if _, known := keys[i].files[unescape(v)]; !known && v != nullPartition {
				keys[i].files[unescape(v)] = f.files[j].Path
			}
		}
		keys[i].empty = len(keys[i].files) == 0
	}
	return keys, nil
}

func folders(root, file string) []string {
	rel, err := filepath.Rel(root, filepath.Dir(file))
	if err != nil {
		return nil
	}
	return strings.Split(filepath.ToSlash(rel), "/")
}

func sameKeys(keys []partitionKey, raws []string) bool {
	if len(keys) != len(raws) {
		return false
	}
	for i, k := range keys {
		if k.raw != raws[i] {
			return false
		}
	}
	return true
}

func unescape(s string) string {
	if u, err := url.PathUnescape(s); err == nil {
		return u
	}
	return s
}

var canonicalInteger = regexp.MustCompile(`^(0|-?[1-9][0-9]{0,17})$`)

func partitionType(values []string) string {
	integer, date, some := true, true, false
	for _, v := range values {
		if v == nullPartition {
			continue
		}
		some = true
		v = unescape(v)
		integer = integer && canonicalInteger.MatchString(v)
		_, err := time.Parse(time.DateOnly, v)
		date = date && err == nil
	}
	switch {
	case !some:
		return "VARCHAR"
	case integer:
		return "BIGINT"
	case date:
		return "DATE"
	}
	return "VARCHAR"
}

// parquetQuery is the SQL of the whole relation: file columns, then partition columns, or the declared ones. nulls is SQL that
// stands for columns of the files.
func parquetQuery(in compute.Input, f found, file []compute.Column, keys []partitionKey, nulls map[string]string) (string, error) {
	source := map[string]string{} // lower-case name → SQL
	types := map[string]string{}
	var columns []compute.Column
	for _, c := range file {
		source[strings.ToLower(c.Name)] = cmp.Or(nulls[strings.ToLower(c.Name)], quote(c.Name))
		types[strings.ToLower(c.Name)] = c.Type
		columns = append(columns, c)
	}
	var hive []string
	for i := range keys {
		k := &keys[i]
		for _, c := range in.Columns {
			if strings.EqualFold(c.Name, k.name) {
				k.typ = c.Type
			}
		}
		if _, both := source[strings.ToLower(k.name)]; both {
			return "", &compute.Error{Kind: compute.InputInvalid, File: f.files[0].Path, Column: k.name, Message: "it stands in the files and in the folders' names", Hint: "set the option partitions to false to read the files' own"}
		}
		source[strings.ToLower(k.name)] = quote(k.raw)
		types[strings.ToLower(k.name)] = k.typ
		columns = append(columns, compute.Column{Name: k.name, Type: k.typ})
		hive = append(hive, literal(k.raw)+": "+literal(k.typ))
	}
	if len(in.Columns) > 0 {
		if err := checkDeclared(in, columns, f.files[0].Path); err != nil {
			return "", err
		}
		columns = in.Columns
	}
	more := ", hive_partitioning = false"
	switch raw := prefixKey(f.root, source); {
	case len(keys) == 0:
	case raw != "" && in.Encoded:
		// DuckDB would read that folder too, and take its value.
		paths := pathColumns{root: f.root, keys: keys}
		maps.Copy(source, paths.values())
		more += paths.option()
	case raw != "":
		return "", &compute.Error{Kind: compute.InputInvalid, File: f.files[0].Path, Column: raw, Message: "the folder " + raw + "=… above the files has the name of a column", Hint: "set the option partitions to false, or move the files"}
	default:
		more = ", hive_partitioning = true, hive_types = {" + strings.Join(hive, ", ") + "}"
	}
	items := make([]string, len(columns))
	for i, c := range columns {
		from := source[strings.ToLower(c.Name)]
		if types[strings.ToLower(c.Name)] != c.Type {
			from = fmt.Sprintf("CAST(%s AS %s)", from, c.Type)
		}
		items[i] = from + " AS " + quote(c.Name)
	}
	return "SELECT " + strings.Join(items, ", ") + " FROM read_parquet(" + fileList(f.files) + more + ")", nil
}

// prefixKey gives the first key=value folder of root whose key is also a column: DuckDB would take the folder's value.
func prefixKey(root string, columns map[string]string) string {
	for _, part := range strings.Split(filepath.ToSlash(root), "/") {
		raw, _, ok := strings.Cut(part, "=")
		if _, column := columns[strings.ToLower(unescape(raw))]; ok && column {
			return raw
		}
	}
	return ""
}

// widens tells the casts that keep every value.
var widens = map[string][]string{
	"TINYINT": {"SMALLINT", "INTEGER", "BIGINT", "FLOAT", "DOUBLE"}, "SMALLINT": {"INTEGER", "BIGINT", "FLOAT", "DOUBLE"}, "INTEGER": {"BIGINT", "DOUBLE"},
	"UTINYINT": {"SMALLINT", "INTEGER", "BIGINT", "FLOAT", "DOUBLE"}, "USMALLINT": {"INTEGER", "BIGINT", "FLOAT", "DOUBLE"}, "UINTEGER": {"BIGINT", "DOUBLE"},
	"FLOAT": {"DOUBLE"},
}

// keepsAll tells whether a cast from one type to another keeps every value.
func keepsAll(from, to string) bool {
	var width, scale, toWidth, toScale int
	if _, err := fmt.Sscanf(from, "DECIMAL(%d,%d)", &width, &scale); err == nil {
		_, err = fmt.Sscanf(to, "DECIMAL(%d,%d)", &toWidth, &toScale)
		return err == nil && fmt.Sprintf("DECIMAL(%d,%d)", toWidth, toScale) == to && toScale >= scale && toWidth-toScale >= width-scale
	}
	return slices.Contains(widens[from], to)
}

// checkDeclared checks that the declared columns are there, and that their types keep every value. What was encoded as
// another type is one that the declared one was converted to without loss.
func checkDeclared(in compute.Input, has []compute.Column, file string) error {
	header := make([]string, len(has))
	for i, c := range has {
		header[i] = c.Name
	}
	places, problem, hint := match(in.Columns, header, false)
	if problem != "" {
		return &compute.Error{Kind: compute.InputInvalid, File: file, Message: problem, Hint: hint}
	}
	for i, c := range in.Columns {
		if in.Encoded {
			break
		}
		if from := has[places[i]].Type; from != c.Type && !keepsAll(from, c.Type) {
			return &compute.Error{Kind: compute.InputInvalid, File: file, Column: c.Name, Message: fmt.Sprintf("it is %s, and was declared as %s", from, c.Type), Hint: "declare it as the file has it, and convert it in a step"}
		}
	}
	return nil
}

// footers tells whether a Parquet file can be opened.
func (s *session) footers(ctx context.Context, f compute.File) error {
	return s.queryAll(ctx, "SELECT num_rows FROM parquet_file_metadata("+fileList([]compute.File{f})+")", nil, func(rows *sql.Rows) error {
		var n int64
		return rows.Scan(&n)
	})
}
