package delta

import (
	"strconv"
	"strings"

	"github.com/ubunye-io/ubunye/engine/abi"
	"github.com/ubunye-io/ubunye/engine/deltalog/schema"
	"github.com/ubunye-io/ubunye/plugins/delta/predicate"
)

// fitted is the rows' columns as those of a table.
type fitted struct {
	schema  schema.Type // of the table with the write
	added   []string    // columns that the table did not have
	selects []string    // SQL of the table's columns, of the rows', in the table's order
}

// integers are the SQL types that are kept in the next wider one of a table.
var integers = map[string]schema.Kind{"UTINYINT": schema.Short, "USMALLINT": schema.Integer, "UINTEGER": schema.Long}

// arriving gives the type of a new table that holds every value of an SQL type. Wall clocks become moments unless ntz.
func arriving(sql string, ntz bool) (schema.Type, error) {
	base, _, _ := strings.Cut(sql, "(")
	switch {
	case integers[sql] != schema.Void:
		return schema.Type{Kind: integers[sql]}, nil
	case sql == "UBIGINT":
		return schema.Type{Kind: schema.Decimal, Precision: 20}, nil
	case base == "ENUM" && !strings.HasSuffix(sql, "]"), sql == "UUID", sql == "JSON":
		return schema.Type{Kind: schema.String}, nil
	case sql == "TIMESTAMP_S", sql == "TIMESTAMP_MS":
		sql = "TIMESTAMP"
	}
	t, err := schema.FromSQL(sql)
	if err == nil && t.Has(schema.Void) {
		err = &schema.Error{Reason: "a column of nothing but NULL has no type"}
	}
	if err == nil && !ntz {
		t = moments(t)
	}
	return t, err
}

// moments makes timestamps of all wall clocks.
func moments(t schema.Type) schema.Type {
	if t.Kind == schema.TimestampNTZ {
		t.Kind = schema.Timestamp
	}
	if t.Key != nil {
		key := moments(*t.Key)
		t.Key = &key
	}
	if t.Element != nil {
		element := moments(*t.Element)
		t.Element = &element
	}
	fields := make([]schema.Field, len(t.Fields))
	for i, f := range t.Fields {
		f.Type = moments(f.Type)
		fields[i] = f
	}
	if t.Fields != nil {
		t.Fields = fields
	}
	return t
}

// newSchema makes the schema of a new table. All that is wrong is told at once.
func newSchema(columns []abi.Column, ntz bool) (schema.Type, error) {
	t := schema.Type{Kind: schema.Struct}
	names := make([]string, len(columns))
	var wrong, hints []string
	for i, c := range columns {
		names[i] = c.Name
		typ, err := arriving(c.Type, ntz)
		if err != nil {
			wrong, hints = append(wrong, "column "+c.Name+": "+err.Error()), append(hints, "CAST("+predicate.Quote(c.Name)+" AS "+castTo(c.Type)+")")
		}
		t.Fields = append(t.Fields, schema.Field{Name: c.Name, Type: typ, Nullable: true})
	}
	var renamed []string
	for _, bad := range schema.CheckNames(names) {
		wrong = append(wrong, "the name "+strconv.Quote(bad.Name)+" cannot be a column's: "+bad.Reason)
		renamed = append(renamed, predicate.Quote(bad.Name)+" AS "+predicate.Quote(bad.Better))
	}
	if renamed != nil {
		hints = append(hints, "name them in a step, as "+list(renamed))
	}
	if wrong != nil {
		return t, failure("the table cannot have these columns: "+strings.Join(wrong, "; "), strings.Join(hints, ", "))
	}
	return t, nil
}

// castTo is a type that people mostly mean by one that no table has.
func castTo(sql string) string {
	switch base, _, _ := strings.Cut(sql, "("); base {
	case "HUGEINT", "UHUGEINT":
		return "DECIMAL(38,0)"
	case "TIMESTAMP_NS":
		return "TIMESTAMP"
	}
	return "VARCHAR"
}

// fit finds the table's columns in the rows, by their names. What the policy does not allow is told as a difference.
func fit(t schema.Type, columns []abi.Column, policy string, ntz bool) (fitted, error) {
	f := fitted{schema: t}
	found := map[string]abi.Column{}
	var added []abi.Column
	var wrong []string
	for _, c := range columns {
		if field, ok := t.Field(c.Name); ok {
			found[field.Name] = c
		} else {
			added = append(added, c)
			wrong = append(wrong, "+ "+c.Name+" "+c.Type+" is not in the table")
		}
	}
	var types, missing []string
	for _, field := range t.Fields {
		c, ok := found[field.Name]
		if !ok && field.Type.Kind == schema.Void {
			f.selects = append(f.selects, null(field)) // it has no values anyway
			continue
		}
		if !ok {
			missing = append(missing, "- "+field.Name+" "+field.Type.String()+" is not in the rows")
			f.selects = append(f.selects, null(field))
			continue
		}
		sql, ok := convert(c, field.Type)
		if !ok {
			types = append(types, "~ "+field.Name+" is "+c.Type+" in the rows and "+described(field.Type)+" in the table")
		}
		f.selects = append(f.selects, named(sql, field.Name))
	}
	if policy == schemaAdd {
		wrong, missing = nil, required(t, found)
	}
	wrong = append(append(wrong, missing...), types...)
	if wrong != nil {
		return f, failure("the rows do not have the table's columns: "+strings.Join(wrong, "; "), driftHint(policy, types))
	}
	return f, f.add(added, ntz)
}

func driftHint(policy string, types []string) string {
	if types != nil {
		return "give the column the table's type in a step; narrowing is never silent"
	}
	if policy == schemaAdd {
		return "columns that cannot be NULL must be there"
	}
	return "have the same columns in a step, or set schema: add_columns"
}

// required finds the columns that are not in the rows and cannot be NULL.
func required(t schema.Type, found map[string]abi.Column) (missing []string) {
	for _, field := range t.Fields {
		if _, ok := found[field.Name]; !ok && !field.Nullable {
			missing = append(missing, "- "+field.Name+" "+field.Type.String()+" is not in the rows, and cannot be NULL")
		}
	}
	return missing
}

// add puts new columns after those that the table has.
func (f *fitted) add(columns []abi.Column, ntz bool) error {
	if len(columns) == 0 {
		return nil
	}
	more, err := newSchema(columns, ntz)
	if err != nil {
		return err
	}
	f.schema.Fields = append(f.schema.Fields[:len(f.schema.Fields):len(f.schema.Fields)], more.Fields...)
	for i, field := range more.Fields {
		sql, _ := convert(columns[i], field.Type)
		f.added, f.selects = append(f.added, field.Name), append(f.selects, named(sql, field.Name))
	}
	return nil
}

func named(sql, name string) string {
	if as := predicate.Quote(name); sql != as {
		return sql + " AS " + as
	}
	return sql
}

func null(f schema.Field) string {
	typ := f.Type.SQL()
	if f.Type.Kind == schema.Void {
		typ = "VARCHAR"
	}
	return "CAST(NULL AS " + typ + ") AS " + predicate.Quote(f.Name)
}

func described(t schema.Type) string {
	if t.Leaf() && t.Kind != schema.Array && t.Kind != schema.Map {
		return t.String()
	}
	return t.SQL()
}

// convert is the SQL of a column as a value of a table's type; false if some values would not be what they were.
func convert(c abi.Column, t schema.Type) (string, bool) {
	name := predicate.Quote(c.Name)
	from, err := arriving(c.Type, true)
	if err != nil || !holds(t, from) {
		return name, false
	}
	if c.Type == t.SQL() {
		return name, true
	}
	return "CAST(" + name + " AS " + t.SQL() + ")", true
}

// holds tells whether a type has every value of another. A wall clock is taken as UTC where the table has moments.
func holds(t, from schema.Type) bool {
	switch {
	case t.Kind == schema.Struct && from.Kind == schema.Struct:
		if len(t.Fields) != len(from.Fields) {
			return false
		}
		for i, f := range t.Fields {
			if !strings.EqualFold(f.Name, from.Fields[i].Name) || !holds(f.Type, from.Fields[i].Type) {
				return false
			}
		}
		return true
	case t.Kind == schema.Array && from.Kind == schema.Array:
		return holds(*t.Element, *from.Element)
	case t.Kind == schema.Map && from.Kind == schema.Map:
		return holds(*t.Key, *from.Key) && holds(*t.Element, *from.Element)
	case t.Kind == schema.Timestamp && from.Kind == schema.TimestampNTZ:
		return true
	case t.Kind == from.Kind && t.Kind != schema.Void:
		return t.Precision == from.Precision && t.Scale == from.Scale || schema.Widens(from, t)
	}
	return schema.Widens(from, t)
}
