package duckdb

import (
	"context"
	"fmt"
	"strings"

	driverduckdb "github.com/duckdb/duckdb-go/v2"

	"github.com/ubunye-io/ubunye/engine/compute"
)

// jsonType is the type of a column, or of a part of one.
type jsonType struct {
	name   string      // of a plain type, as SQL has it; "JSON" for JSON of any shape
	item   *jsonType   // of a list
	value  *jsonType   // of a map
	fields []jsonField // of a struct
}

type jsonField struct {
	name string
	typ  *jsonType
}

// plain tells a type whose values are strings, numbers or booleans.
func (t *jsonType) plain() bool {
	return t.item == nil && t.value == nil && t.fields == nil && t.name != "JSON"
}

func (s *session) jsonType(ctx context.Context, c compute.Column) (*jsonType, error) {
	infos, err := s.typeInfos(ctx, "SELECT CAST(NULL AS "+c.Type+")")
	if err != nil {
		return nil, inColumn(s.fail(ctx, err, "reading the type "+c.Type+" failed"), c.Name)
	}
	t, err := jsonTypeOf(infos[0])
	if err == nil && t.depth() > maxNesting {
		err = badJSONType("a type of so many levels")
	}
	return t, inColumn(err, c.Name)
}

// maxNesting is how many levels of lists, objects and maps a type may have: to take them apart DuckDB needs twice the time for each
// level more.
const maxNesting = 12

// depth is how many levels of lists, objects and maps a type has.
func (t *jsonType) depth() int {
	below := 0
	for _, f := range t.fields {
		below = max(below, f.typ.depth())
	}
	for _, part := range []*jsonType{t.item, t.value} {
		if part != nil {
			below = max(below, part.depth())
		}
	}
	if t.fields == nil && t.item == nil && t.value == nil {
		return 0
	}
	return below + 1
}

// plainTypes are the names of types that text can hold.
var plainTypes = map[driverduckdb.Type]string{
	driverduckdb.TYPE_BOOLEAN: "BOOLEAN", driverduckdb.TYPE_TINYINT: "TINYINT", driverduckdb.TYPE_SMALLINT: "SMALLINT", driverduckdb.TYPE_INTEGER: "INTEGER",
	driverduckdb.TYPE_BIGINT: "BIGINT", driverduckdb.TYPE_HUGEINT: "HUGEINT", driverduckdb.TYPE_UTINYINT: "UTINYINT", driverduckdb.TYPE_USMALLINT: "USMALLINT",
	driverduckdb.TYPE_UINTEGER: "UINTEGER", driverduckdb.TYPE_UBIGINT: "UBIGINT", driverduckdb.TYPE_UHUGEINT: "UHUGEINT", driverduckdb.TYPE_FLOAT: "FLOAT",
	driverduckdb.TYPE_DOUBLE: "DOUBLE", driverduckdb.TYPE_VARCHAR: "VARCHAR", driverduckdb.TYPE_BLOB: "BLOB", driverduckdb.TYPE_UUID: "UUID",
	driverduckdb.TYPE_DATE: "DATE", driverduckdb.TYPE_TIME: "TIME", driverduckdb.TYPE_TIMESTAMP: "TIMESTAMP", driverduckdb.TYPE_TIMESTAMP_TZ: "TIMESTAMP WITH TIME ZONE",
}

func jsonTypeOf(info driverduckdb.TypeInfo) (t *jsonType, err error) {
	if info.Alias() == "JSON" {
		return &jsonType{name: "JSON"}, nil
	}
	t = &jsonType{}
	switch d := info.Details().(type) {
	case *driverduckdb.DecimalDetails:
		t.name = fmt.Sprintf("DECIMAL(%d,%d)", d.Width, d.Scale)
		return t, nil
	case *driverduckdb.ListDetails:
		t.item, err = jsonTypeOf(d.Child)
		return t, err
	case *driverduckdb.MapDetails:
		if d.Key.InternalType() != driverduckdb.TYPE_VARCHAR {
			return nil, badJSONType("a map with keys that are no text")
		}
		t.value, err = jsonTypeOf(d.Value)
		return t, err
	case *driverduckdb.StructDetails:
		for _, entry := range d.Entries {
			f := jsonField{name: entry.Name()}
			if f.typ, err = jsonTypeOf(entry.Info()); err != nil {
				return nil, err
			}
			t.fields = append(t.fields, f)
		}
		return t, nil
	}
	if t.name = plainTypes[info.InternalType()]; t.name == "" {
		return nil, badJSONType("this type")
	}
	return t, nil
}

func badJSONType(what string) error {
	return &compute.Error{Kind: compute.BadOption, Message: "json cannot be read as " + what, Hint: "declare it as varchar or json and convert it in a step"}
}

// The SQL below takes JSON apart. DuckDB reads a number with a point or an exponent as a DOUBLE and prints that, so digits
// would be lost. Objects in which that could show get their numbers made strings, with a sign in front by which they are known
// again: U+FDD0, which Unicode keeps from being a character of any text.

const numberSign = "\ufdd0"

// inexact finds text that may hold a number which DuckDB would spell differently: 16 digits or more with a point or an
// exponent, an exponent, zeros at the end or after the point, minus zero.
var inexact = func() string {
	many := []string{`[0-9]{16,}[.eE]`}
	for before := 1; before < 16; before++ {
		many = append(many, fmt.Sprintf(`[0-9]{%d}\.[0-9]{%d}`, before, 16-before))
	}
	return `[:,\[\s]-?(` + strings.Join(many, "|") + `|[0-9]+(\.[0-9]+)?[eE]|[0-9]+\.[0-9]*0[^0-9]|0\.0000)|[:,\[\s]-0|` + signed
}()

// signed finds text that holds the sign itself, which would be taken for the mark of a number. Such an object is an error.
const signed = numberSign + `|[^\\](\\\\)*\\u[fF][dD][dD]0`

// exactNumbers is the SQL of JSON text with the numbers that need it made strings.
func exactNumbers(text string) string {
	const mark = `E'\x01'` // a control character, which JSON text cannot hold
	marked := fmt.Sprintf(`regexp_replace(%s, '("(?:[^"\\]|\\.)*")|(-?[0-9][-+0-9.eE]*)', '\1' || %s || '\2' || %s, 'gs')`, text, mark, mark)
	// Where a string was, there are now two marks beside each other; around a number one on each side.
	quoted := fmt.Sprintf(`regexp_replace(replace(%s, %s || %s, ''), %s || '([^' || %s || ']*)' || %s, '"%s\1"', 'g')`, marked, mark, mark, mark, mark, mark, numberSign)
	return fmt.Sprintf("CASE WHEN NOT regexp_matches(%[1]s, %[2]s) THEN %[1]s WHEN regexp_matches(%[1]s, %[3]s) THEN error('a text holds U+FDD0') ELSE %[4]s END",
		text, literal(inexact), literal(signed), quoted)
}

// apart is the SQL of a struct with the values of an object by key, each as JSON, those that are missing or null as NULL.
// Text that is no such object makes the statement fail.
func (o jsonOptions) apart(object string, keys []string) string {
	texts, structure := make([]string, len(keys)), make([]string, len(keys))
	for i, k := range keys {
		texts[i] = literal(k)
		structure[i] = jsonText(k) + `:"JSON"`
	}
	all := "[" + strings.Join(texts, ", ") + "]"
	// Most objects have all keys in order, and that is quickly seen.
	right := fmt.Sprintf("(json_keys(%[1]s) = %[2]s OR len(list_distinct(json_keys(%[1]s))) = len(json_keys(%[1]s))", object, all)
	if o.undeclared == "error" {
		right += fmt.Sprintf(" AND list_has_all(%s, json_keys(%s))", all, object)
	}
	checked := fmt.Sprintf("CASE WHEN %[1]s IS NULL OR starts_with(%[1]s, '{') AND %[2]s) THEN %[1]s ELSE error('a value is no such object') END", object, right)
	return fmt.Sprintf("json_transform(%s, %s)", checked, literal("{"+strings.Join(structure, ",")+"}"))
}

// notPlain is the SQL that plainText has for arrays and objects where there must not be any.
const notPlain = "error('a value is no plain one')"

// plainText is the SQL of the text of JSON that is a string, a number or a boolean, and of what arrays and objects are instead.
func plainText(json, otherwise string) string {
	x := "CAST(" + json + " AS VARCHAR)"
	return fmt.Sprintf(`CASE WHEN starts_with(%[1]s, '"%[2]s') THEN substring(%[1]s, 3, length(%[1]s) - 3) WHEN starts_with(%[1]s, '"') THEN %[3]s ->> '$' `+
		`WHEN starts_with(%[1]s, '{') OR starts_with(%[1]s, '[') THEN %[4]s ELSE %[1]s END`, x, numberSign, json, otherwise)
}

// anyJSON is the SQL of JSON as it was written, its white space apart.
func anyJSON(json string) string {
	x := "CAST(" + json + " AS VARCHAR)"
	return fmt.Sprintf(`CAST(CASE WHEN contains(%[1]s, '%[2]s') THEN regexp_replace(%[1]s, '"%[2]s([^"]*)"', '\1', 'g') ELSE %[1]s END AS JSON)`, x, numberSign)
}

// nested is the SQL of a value that is no plain one.
func (t *jsonType) nested(o jsonOptions, x string) (string, error) {
	n := nesting{options: o}
	return n.value(t, x)
}

// nesting makes the SQL of one nested value.
type nesting struct {
	options jsonOptions
	lambdas int // that were named
}

func (n *nesting) lambda() string {
	n.lambdas++
	return fmt.Sprintf("e%d", n.lambdas)
}

// named gives an expression a name inside another, so that it is computed once.
func (n *nesting) named(x string, body func(name string) (string, error)) (string, error) {
	name := n.lambda()
	inner, err := body(name)
	return fmt.Sprintf("list_transform([%s], lambda %s: %s)[1]", x, name, inner), err
}

// value is the SQL of a value of a type; x is its JSON.
func (n *nesting) value(t *jsonType, x string) (string, error) {
	switch {
	case t.name == "JSON":
		return anyJSON(x), nil
	case t.item != nil:
		list := fmt.Sprintf("CASE WHEN %[1]s IS NULL OR starts_with(CAST(%[1]s AS VARCHAR), '[') THEN CAST(%[1]s AS JSON[]) ELSE error('a value is no array') END", x)
		e := n.lambda()
		item, err := n.value(t.item, e)
		return fmt.Sprintf("list_transform(%s, lambda %s: %s)", list, e, item), err
	case t.value != nil:
		m := fmt.Sprintf("CASE WHEN %[1]s IS NULL OR starts_with(CAST(%[1]s AS VARCHAR), '{') THEN map_entries(CAST(%[1]s AS MAP(VARCHAR, JSON))) ELSE error('a value is no object') END", x)
		e := n.lambda()
		value, err := n.value(t.value, "struct_extract("+e+", 'value')")
		return fmt.Sprintf("map_from_entries(list_transform(%s, lambda %s: struct_pack(key := struct_extract(%s, 'key'), value := %s)))", m, e, e, value), err
	case t.fields != nil:
		return n.object(t, x)
	}
	return n.named(plainText(x, notPlain), func(text string) (string, error) {
		f, err := n.options.fit(text, t.name)
		return f.convert(), err
	})
}

func (n *nesting) object(t *jsonType, x string) (string, error) {
	keys := make([]string, len(t.fields))
	for i, f := range t.fields {
		keys[i] = f.name
	}
	return n.named(n.options.apart("CAST("+x+" AS VARCHAR)", keys), func(parts string) (string, error) {
		members := make([]string, len(t.fields))
		for i, f := range t.fields {
			value, err := n.value(f.typ, fmt.Sprintf("struct_extract_at(%s, %d)", parts, i+1))
			if err != nil {
				return "", err
			}
			members[i] = quote(f.name) + " := " + value
		}
		return fmt.Sprintf("CASE WHEN %s IS NOT NULL THEN struct_pack(%s) END", parts, strings.Join(members, ", ")), nil
	})
}
