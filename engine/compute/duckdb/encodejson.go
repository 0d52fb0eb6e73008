package duckdb

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	driverduckdb "github.com/duckdb/duckdb-go/v2"

	"github.com/ubunye-io/ubunye/engine/compute"
)

// jsonFormat is the options of json outputs. Every row is an object on a line of its own, with all columns as keys, in order;
// a NULL is null.
type jsonFormat struct {
	textFormat
	array bool // the objects of a file are one array
}

func readJSONFormat(given map[string]string) (format, error) {
	o := &options{what: "json", given: given}
	j := jsonFormat{textFormat: readTextFormat(o, "json")}
	switch o.text("layout", "lines") {
	case "lines":
	case "array":
		j.array = true
	default:
		o.bad("layout", "lines or array")
	}
	return j, o.done()
}

func (j jsonFormat) selectList(e *encoding) ([]string, error) {
	var items, members []string
	for i, col := range e.columns {
		if e.isPartition(col.Name) {
			items = append(items, quote(col.Name))
			continue
		}
		value, err := j.value(e, quote(col.Name), col, e.infos[i])
		if err != nil {
			return nil, inColumn(err, col.Name)
		}
		members = append(members, j.member(col.Name, value))
	}
	// No column can be called so: a name that no person types.
	return append(items, "concat('{', "+strings.Join(members, ", ',', ")+", '}') AS "+quote("\x01row")), nil
}

// member gives the SQL of a key and its value.
func (jsonFormat) member(key, value string) string {
	return fmt.Sprintf("CAST(to_json(%s) AS VARCHAR), ':', coalesce(%s, 'null')", literal(key), value)
}

// value gives the SQL of the text of a value; NULL for NULL. col is the column that it is, or is part of.
func (j jsonFormat) value(e *encoding, x string, col compute.Column, info driverduckdb.TypeInfo) (string, error) {
	switch d := info.Details().(type) {
	case *driverduckdb.ListDetails:
		return j.list(e, x, col, d.Child)
	case *driverduckdb.ArrayDetails:
		return j.list(e, x, col, d.Child)
	case *driverduckdb.StructDetails:
		return j.object(e, x, col, d)
	case *driverduckdb.MapDetails:
		return j.keyed(e, x, col, d)
	}
	text, err := j.scalarOf(e, x, col, info)
	if err != nil {
		return "", err
	}
	switch info.InternalType() {
	case driverduckdb.TYPE_BOOLEAN, driverduckdb.TYPE_TINYINT, driverduckdb.TYPE_SMALLINT, driverduckdb.TYPE_INTEGER, driverduckdb.TYPE_BIGINT,
		driverduckdb.TYPE_UTINYINT, driverduckdb.TYPE_USMALLINT, driverduckdb.TYPE_UINTEGER, driverduckdb.TYPE_UBIGINT,
		driverduckdb.TYPE_HUGEINT, driverduckdb.TYPE_UHUGEINT, driverduckdb.TYPE_DECIMAL:
		return "CAST(" + text + " AS VARCHAR)", nil
	case driverduckdb.TYPE_FLOAT, driverduckdb.TYPE_DOUBLE:
		return "CAST(" + e.finite(x, text, col) + " AS VARCHAR)", nil
	}
	if info.Alias() == "JSON" {
		// A line end in JSON text is between its parts, never in a string.
		return "translate(CAST(" + text + " AS VARCHAR), chr(10) || chr(13), '  ')", nil
	}
	return "CAST(to_json(CAST(" + text + " AS VARCHAR)) AS VARCHAR)", nil
}

// finite gives the SQL of a number that JSON can hold.
func (e *encoding) finite(x, value string, col compute.Column) string {
	const problem, hint = "JSON has no number for ", "replace it in a step, as CASE WHEN isfinite(x) THEN x END"
	if x != quote(col.Name) {
		return fmt.Sprintf("CASE WHEN NOT isfinite(%s) THEN error(%s) ELSE %s END", x, literal(problem+"NaN and Infinity"), value)
	}
	return e.refuse(col.Name, value, "NOT isfinite("+x+")", func(text string) string { return problem + text }, advice(hint))
}

func (j jsonFormat) list(e *encoding, x string, col compute.Column, child driverduckdb.TypeInfo) (string, error) {
	item := e.lambda()
	value, err := j.value(e, item, col, child)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("'[' || array_to_string(list_transform(%s, lambda %s: coalesce(%s, 'null')), ',') || ']'", x, item, value), nil
}

func (j jsonFormat) object(e *encoding, x string, col compute.Column, d *driverduckdb.StructDetails) (string, error) {
	var members []string
	for _, entry := range d.Entries {
		value, err := j.value(e, fmt.Sprintf("struct_extract(%s, %s)", x, literal(entry.Name())), col, entry.Info())
		if err != nil {
			return "", err
		}
		members = append(members, j.member(entry.Name(), value))
	}
	return fmt.Sprintf("CASE WHEN %s IS NOT NULL THEN concat('{', %s, '}') END", x, strings.Join(members, ", ',', ")), nil
}

// keyed is for maps. Their keys become text, as keys of JSON are.
func (j jsonFormat) keyed(e *encoding, x string, col compute.Column, d *driverduckdb.MapDetails) (string, error) {
	item := e.lambda()
	key, err := j.scalarOf(e, "struct_extract("+item+", 'key')", col, d.Key)
	if err != nil {
		return "", err
	}
	value, err := j.value(e, "struct_extract("+item+", 'value')", col, d.Value)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("'{' || array_to_string(list_transform(map_entries(%s), lambda %s: CAST(to_json(CAST(%s AS VARCHAR)) AS VARCHAR) || ':' || coalesce(%s, 'null')), ',') || '}'",
		x, item, key, value), nil
}

func (j jsonFormat) copy(ctx context.Context, s *session, e *encoding, query string) ([]compute.Encoded, error) {
	more := `, HEADER false, QUOTE '', ESCAPE '', NULLSTR '', DELIMITER E'\n'`
	r := records{}
	if j.array {
		more += `, PREFIX E'[\n', SUFFIX E'\n]\n', NEW_LINE E',\n'`
		r.besides = 2 // the brackets
	}
	files, err := j.copyText(ctx, s, e, query, more, r)
	if err != nil || j.array || len(files) != 1 || files[0].Rows > 0 {
		return files, err
	}
	return files, j.copyNothing(ctx, s, e, &files[0], more)
}

// copyNothing makes a file without rows one empty line: readers take a file of 0 bytes for one that is still being written.
func (j jsonFormat) copyNothing(ctx context.Context, s *session, e *encoding, f *compute.Encoded, more string) error {
	file := filepath.Join(e.Dir, filepath.FromSlash(f.Name))
	_, err := s.copyWithFiles(ctx, fmt.Sprintf("COPY (SELECT '') TO %s (FORMAT csv, RETURN_FILES true, COMPRESSION %s%s)", literal(file), literal(j.compression), more))
	if err != nil {
		return err
	}
	info, err := os.Stat(file)
	if err != nil {
		return &compute.Error{Kind: compute.OutputFailed, File: file, Message: "what was just written cannot be found: " + err.Error(), Err: err}
	}
	f.Bytes = info.Size()
	return nil
}
