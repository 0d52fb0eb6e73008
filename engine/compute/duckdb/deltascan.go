package duckdb

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	driverduckdb "github.com/duckdb/duckdb-go/v2"

	"github.com/ubunye-io/ubunye/engine/compute"
	"github.com/ubunye-io/ubunye/engine/deltalog"
	"github.com/ubunye-io/ubunye/engine/deltalog/schema"
)

// The rows of a table are those of a few groups of files, with UNION ALL between them: files that follow each other in the order
// of their partition values. Each group says between which values its partition columns are, so that DuckDB itself leaves out
// the groups that a query cannot want, and opens none of their files.

// deltaGroups is how many groups there are at most: each costs DuckDB the opening of a file before it knows the query.
const deltaGroups = 64

// deltaGroup is files that are read by one call.
type deltaGroup struct {
	files []deltaFile
	holes bool // each has rows that are gone
}

// groups divides the files: those with a deletion vector are read in another way.
func (t *deltaTable) groups() (all []deltaGroup) {
	for _, holes := range []bool{false, true} {
		var files []deltaFile
		for _, f := range t.files {
			if (f.add.DeletionVector != nil) == holes {
				files = append(files, f)
			}
		}
		for _, some := range divide(files, deltaGroups/2) {
			all = append(all, deltaGroup{some, holes})
		}
	}
	return all
}

// divide cuts sorted files into so many parts at most, if it can between two partitions.
func divide(files []deltaFile, most int) (parts [][]deltaFile) {
	least := (len(files) + most - 1) / most
	for len(files) > 0 {
		n := 1
		for n < len(files) && (n < least || samePartition(files[n-1], files[n])) {
			n++
		}
		parts = append(parts, files[:n])
		files = files[n:]
	}
	return parts
}

func samePartition(a, b deltaFile) bool {
	return slices.EqualFunc(a.values, b.values, func(a, b schema.Value) bool { return a.Compare(b) == 0 })
}

// rows is the SQL of the rows of the table, with the columns of its schema.
func (t *deltaTable) rows(ctx context.Context, s *session, name string) (string, error) {
	if len(t.files) == 0 {
		columns := make([]compute.Column, len(t.schema.Fields))
		for i, f := range t.schema.Fields {
			columns[i] = compute.Column{Name: f.Name, Type: sqlType(f.Type)}
		}
		if t.fileColumn != "" {
			columns = append(columns, compute.Column{Name: t.fileColumn, Type: "VARCHAR"})
		}
		return noRows(columns), nil
	}
	if t.snapshot.Mapping() == schema.MappingID {
		if err := t.checkIDs(ctx, s); err != nil {
			return "", err
		}
	}
	var selects []string
	for i, g := range t.groups() {
		gone := ""
		if g.holes {
			gone = fmt.Sprintf("\x01gone of %s %d", name, i)
			if err := t.keepGone(ctx, s, gone, g.files); err != nil {
				return "", err
			}
		}
		selects = append(selects, t.selectOf(g, gone))
	}
	return strings.Join(selects, " UNION ALL "), nil
}

// selectOf is the SQL of a group's rows. gone is the table of those that are no longer there, if there are any.
func (t *deltaTable) selectOf(g deltaGroup, gone string) string {
	partition := t.partitionFields()
	var read, items, where []string
	for _, f := range t.schema.Fields {
		item := ""
		switch i := slices.IndexFunc(partition, func(p schema.Field) bool { return p.Name == f.Name }); {
		case i >= 0:
			var bounds string
			item, bounds = partitionSQL(g.files, i, f.Type)
			if bounds != "" {
				where = append(where, bounds)
			}
		case f.Type.Kind == schema.Void:
			item = "NULL"
		default:
			column := "c" + strconv.Itoa(len(read))
			key := literal(f.Physical(t.snapshot.Mapping()))
			if id, ok := f.ID(); ok && t.snapshot.Mapping() == schema.MappingID {
				key = strconv.Itoa(int(id))
			}
			read = append(read, fmt.Sprintf("%s: {name: %s, type: %s, default_value: NULL}", key, literal(column), literal(t.physicalType(f.Type))))
			item = t.renamed(column, f.Type)
		}
		items = append(items, "CAST("+item+" AS "+sqlType(f.Type)+") AS "+quote(f.Name))
	}
	if t.fileColumn != "" {
		names := make([]string, len(g.files))
		for i, f := range g.files {
			names[i] = literal(f.name)
		}
		items = append(items, fmt.Sprintf("CAST([%s] AS VARCHAR[])[file_index::BIGINT + 1] AS %s", strings.Join(names, ", "), quote(t.fileColumn)))
	}
	files := make([]compute.File, len(g.files))
	for i, f := range g.files {
		files[i] = f.File
	}
	options := ", hive_partitioning = false"
	if gone != "" {
		where = append(where, fmt.Sprintf("NOT EXISTS (FROM %s AS gone WHERE gone.file = file_index::BIGINT AND gone.row = file_row_number)", quote(gone)))
	}
	if len(read) > 0 {
		options += ", schema = MAP {" + strings.Join(read, ", ") + "}"
	}
	text := "SELECT " + strings.Join(items, ", ") + " FROM read_parquet(" + fileList(files) + options + ")"
	if len(where) > 0 {
		text += " WHERE " + strings.Join(where, " AND ")
	}
	return text
}

// partitionSQL is the SQL of a partition column in a group, and of what is true of it in all rows.
func partitionSQL(files []deltaFile, column int, typ schema.Type) (value, bounds string) {
	first, last := files[0].values[column], files[0].values[column]
	null := false
	var texts []string
	for _, f := range files {
		v := f.values[column]
		null = null || v.IsNull()
		if v.Compare(first) < 0 {
			first = v
		}
		if v.Compare(last) > 0 {
			last = v
		}
		texts = append(texts, valueSQL(v, typ))
	}
	if first.Compare(last) == 0 {
		return texts[0], ""
	}
	value = fmt.Sprintf("CAST([%s] AS %s[])[file_index::BIGINT + 1]", strings.Join(texts, ", "), sqlType(typ))
	if !null {
		bounds = fmt.Sprintf("%s BETWEEN %s AND %s", value, valueSQL(first, typ), valueSQL(last, typ))
	}
	return value, bounds
}

// valueSQL is the SQL of one value.
func valueSQL(v schema.Value, typ schema.Type) string {
	switch {
	case v.IsNull():
		return "NULL"
	case typ.Kind == schema.Binary:
		var b strings.Builder
		for _, c := range []byte(v.Text()) {
			fmt.Fprintf(&b, `\x%02X`, c)
		}
		return "CAST('" + b.String() + "' AS BLOB)"
	}
	return "CAST(" + literal(v.Text()) + " AS " + sqlType(typ) + ")"
}

// sqlType is a type of the table in this engine. A column without values is made of texts.
func sqlType(t schema.Type) string {
	if t.Kind == schema.Void {
		return "VARCHAR"
	}
	return t.SQL()
}

// physicalType is the type as data files have it: fields of structs have other names there.
func (t *deltaTable) physicalType(typ schema.Type) string { return t.physical(typ).SQL() }

func (t *deltaTable) physical(typ schema.Type) schema.Type {
	if typ.Key != nil {
		key := t.physical(*typ.Key)
		typ.Key = &key
	}
	if typ.Element != nil {
		element := t.physical(*typ.Element)
		typ.Element = &element
	}
	fields := slices.Clone(typ.Fields)
	for i := range fields {
		fields[i].Name, fields[i].Type = fields[i].Physical(t.snapshot.Mapping()), t.physical(fields[i].Type)
	}
	typ.Fields = fields
	return typ
}

// renamed is the SQL of a value of a data file with the names of the schema.
func (t *deltaTable) renamed(value string, typ schema.Type) string {
	if t.snapshot.Mapping() == schema.MappingNone || !typ.Has(schema.Struct) {
		return value
	}
	switch typ.Kind {
	case schema.Array:
		return fmt.Sprintf("list_transform(%s, lambda e: %s)", value, t.renamed("e", *typ.Element))
	case schema.Map:
		pairs := fmt.Sprintf("list_transform(map_entries(%s), lambda e: {key: %s, value: %s})", value, t.renamed("e.key", *typ.Key), t.renamed("e.value", *typ.Element))
		return fmt.Sprintf("CASE WHEN %s IS NOT NULL THEN map_from_entries(%s) END", value, pairs)
	case schema.Struct:
		var fields []string
		for _, f := range typ.Fields {
			fields = append(fields, quote(f.Name)+": "+t.renamed(value+"."+quote(f.Physical(t.snapshot.Mapping())), f.Type))
		}
		return fmt.Sprintf("CASE WHEN %s IS NOT NULL THEN {%s} END", value, strings.Join(fields, ", "))
	}
	return value
}

// checkIDs looks that the files of a table whose columns are found by number have these numbers, and below a column the names
// that the table gives: what DuckDB does not find it takes for NULL.
func (t *deltaTable) checkIDs(ctx context.Context, s *session) error {
	names := map[int32]string{}
	err := t.schema.Walk(func(path []string, f schema.Field) error {
		if id, ok := f.ID(); ok && len(path) > 1 {
			names[id] = f.Physical(t.snapshot.Mapping())
		}
		return nil
	})
	if err != nil {
		return t.explain(ctx, err)
	}
	q := "SELECT file_name, name, field_id FROM parquet_schema(" + fileList(t.pinned()) + ")"
	numbered := map[string]bool{}
	var wrong *compute.Error
	err = s.queryAll(ctx, q, nil, func(rows *sql.Rows) error {
		var file, name string
		var id sql.NullInt32
		if err := rows.Scan(&file, &name, &id); err != nil {
			return err
		}
		numbered[file] = numbered[file] || id.Valid
		if want, nested := names[id.Int32]; id.Valid && nested && want != name && wrong == nil {
			wrong = &compute.Error{Kind: compute.InputInvalid, File: file, Column: name, Message: fmt.Sprintf("field number %d below a column is called %q, and the table calls it %q", id.Int32, name, want),
				Hint: "fields below a column are found by their names: have the table's writer write the file again"}
		}
		return nil
	})
	if err != nil {
		return s.fail(ctx, err, "reading the columns of the files failed")
	}
	for _, f := range t.files {
		if !numbered[f.Path] && wrong == nil {
			wrong = &compute.Error{Kind: compute.InputInvalid, File: f.Path, Message: "its columns have no numbers, and the table finds columns by their numbers", Hint: "have the table's writer write the file again"}
		}
	}
	if wrong != nil {
		return wrong
	}
	return nil
}

// keepGone makes a table of the rows that deletion vectors name: the file's place in the group, and the row's in the file.
func (t *deltaTable) keepGone(ctx context.Context, s *session, table string, files []deltaFile) error {
	if err := s.exec(ctx, "CREATE TABLE "+quote(table)+" (file BIGINT, row BIGINT)"); err != nil {
		return s.fail(ctx, err, "keeping the rows that are gone failed")
	}
	read := map[string][]byte{} // one file holds the vectors of many
	return s.fill(ctx, []string{table}, func(into []*driverduckdb.Appender) error {
		for i, f := range files {
			rows, err := t.goneOf(ctx, f.add.DeletionVector, read)
			if err != nil {
				return err
			}
			for _, row := range rows {
				if err := into[0].AppendRow(int64(i), int64(row)); err != nil {
					return s.fail(ctx, err, "keeping the rows that are gone failed")
				}
			}
		}
		return nil
	})
}

// goneOf reads a deletion vector. A count that is not the table's own is damage: rows would be missing or be there again.
func (t *deltaTable) goneOf(ctx context.Context, v *deltalog.DeletionVector, read map[string][]byte) ([]uint64, error) {
	name, absolute, err := v.File()
	if err != nil {
		return nil, t.explain(ctx, err)
	}
	at := name
	if name != "" && !absolute {
		at = t.folder.at(name)
	}
	var data []byte
	if name != "" {
		if data = read[at]; data == nil {
			if data, err = os.ReadFile(at); err != nil {
				return nil, unreadable(at, err)
			}
			read[at] = data
		}
	} else {
		at = t.folder.root
	}
	rows, err := v.Rows(data)
	if err == nil && int64(len(rows)) != v.Cardinality {
		err = fmt.Errorf("it names %d rows, and the log says %d", len(rows), v.Cardinality)
	}
	if err != nil {
		return nil, &compute.Error{Kind: compute.InputInvalid, File: at, Message: "a deletion vector cannot be used: " + err.Error(), Hint: "bring the file back, or read a version that does not need it", Err: err}
	}
	return rows, nil
}
