// Package schema is the schema of a Delta table: its types and columns, how they are named in data files, the values of
// partition columns as the log writes them, and the statistics of files.
//
// It uses the standard library only and builds for wasip1.
package schema

import (
	"strconv"
	"strings"
)

// Kind is what a Type is.
type Kind uint8

// The kinds. A Void column has no values and is in no data file.
const (
	Void Kind = iota
	Boolean
	Byte
	Short
	Integer
	Long
	Float
	Double
	Decimal
	String
	Binary
	Date
	Timestamp    // an instant, in microseconds
	TimestampNTZ // a wall clock without a zone, in microseconds
	Struct
	Array
	Map
)

// names are those that the log has for the kinds without parts.
var names = map[string]Kind{
	"void": Void, "null": Void, "boolean": Boolean, "byte": Byte, "short": Short, "integer": Integer, "long": Long, "float": Float,
	"double": Double, "string": String, "binary": Binary, "date": Date, "timestamp": Timestamp, "timestamp_ntz": TimestampNTZ,
}

// Type is the type of a column, or of a part of one.
type Type struct {
	Kind      Kind
	Precision int     // of a Decimal, 1 to 38 digits
	Scale     int     // of a Decimal: the digits after the point
	Fields    []Field // of a Struct
	Key       *Type   // of a Map
	Element   *Type   // of an Array; the values of a Map
	Nulls     bool    // the elements of an Array, or the values of a Map, may be NULL
}

// Field is a column, or a field of a struct.
type Field struct {
	Name     string
	Type     Type
	Nullable bool
	Metadata Metadata
	other    Metadata // members that this package does not know
}

// Metadata are the members of a JSON object in their order, each value as it was written.
type Metadata []Member

// Member is one of them.
type Member struct {
	Name  string
	Value []byte // JSON
}

// Get gives a member's JSON, nil if there is none.
func (m Metadata) Get(name string) []byte {
	for _, member := range m {
		if member.Name == name {
			return member.Value
		}
	}
	return nil
}

// Leaf tells whether the type has no fields: what one column of a data file can hold, or an array or map.
func (t Type) Leaf() bool { return t.Kind != Struct }

// String gives the type as the log names it; one with parts is named by what it is.
func (t Type) String() string {
	switch t.Kind {
	case Decimal:
		return "decimal(" + strconv.Itoa(t.Precision) + "," + strconv.Itoa(t.Scale) + ")"
	case Struct:
		return "struct"
	case Array:
		return "array"
	case Map:
		return "map"
	case Void:
		return "void"
	}
	for name, kind := range names {
		if kind == t.Kind {
			return name
		}
	}
	return "unknown"
}

// Field finds a field by its name, exactly or, failing that, without regard to case: no two names of a table differ in
// case alone.
func (t Type) Field(name string) (Field, bool) {
	for _, f := range t.Fields {
		if f.Name == name {
			return f, true
		}
	}
	for _, f := range t.Fields {
		if strings.EqualFold(f.Name, name) {
			return f, true
		}
	}
	return Field{}, false
}

// Walk calls visit for every field at any depth, with the names that lead to it; the parts of arrays and maps are named
// element, key and value.
func (t Type) Walk(visit func(path []string, f Field) error) error { return t.walk(nil, visit) }

func (t Type) walk(path []string, visit func([]string, Field) error) error {
	part := func(name string, of *Type) error {
		if of == nil {
			return nil
		}
		return of.walk(append(path[:len(path):len(path)], name), visit)
	}
	switch t.Kind {
	case Struct:
		for _, f := range t.Fields {
			at := append(path[:len(path):len(path)], f.Name)
			if err := visit(at, f); err != nil {
				return err
			}
			if err := f.Type.walk(at, visit); err != nil {
				return err
			}
		}
	case Array:
		return part("element", t.Element)
	case Map:
		if err := part("key", t.Key); err != nil {
			return err
		}
		return part("value", t.Element)
	}
	return nil
}

// Has tells whether the type has the kind anywhere in it.
func (t Type) Has(kind Kind) bool {
	if t.Kind == kind || t.Key != nil && t.Key.Has(kind) || t.Element != nil && t.Element.Has(kind) {
		return true
	}
	for _, f := range t.Fields {
		if f.Type.Has(kind) {
			return true
		}
	}
	return false
}

// Error is what is wrong with a schema, or with a value of it.
type Error struct {
	Path        []string // the column and, below it, the names that lead to what is wrong; empty: the schema itself
	Unsupported bool     // it may be right, and this package cannot do it
	Reason      string   // one line for people, without the path
}

func (e *Error) Error() string {
	if len(e.Path) == 0 {
		return e.Reason
	}
	return "column " + strings.Join(e.Path, ".") + ": " + e.Reason
}
