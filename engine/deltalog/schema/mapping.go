package schema

import "github.com/ubunye-io/ubunye/internal/exactjson"

// Mapping is how the columns of a table are found in its data files.
type Mapping string

// The ways: by the names that people see; by names of their own; by numbers that the files hold as field ids.
const (
	MappingNone Mapping = "none"
	MappingName Mapping = "name"
	MappingID   Mapping = "id"
)

// Members of a field's metadata.
const (
	keyPhysical   = "delta.columnMapping.physicalName"
	keyID         = "delta.columnMapping.id"
	keyInvariants = "delta.invariants"
	keyGenerated  = "delta.generationExpression"
	keyDefault    = "CURRENT_DEFAULT"
	keyIdentity   = "delta.identity.start"
	keyChanges    = "delta.typeChanges"
)

// Physical is the field's name in partition values, statistics and, unless it is found by its ID, in data files.
func (f Field) Physical(mapping Mapping) string {
	if raw := f.Metadata.Get(keyPhysical); raw != nil && mapping != MappingNone && mapping != "" {
		return exactjson.NewReader(raw).Text()
	}
	return f.Name
}

// ID is the field's number in data files; false if it has none.
func (f Field) ID() (int32, bool) {
	raw := f.Metadata.Get(keyID)
	if raw == nil {
		return 0, false
	}
	r := exactjson.NewReader(raw)
	id := r.Long(32)
	return int32(id), r.End() == nil
}

// CheckMapping finds fields that have no physical name, or in the mapping by id no number, or share one.
func CheckMapping(t Type, mapping Mapping) error {
	if mapping == MappingNone || mapping == "" {
		return nil
	}
	if mapping != MappingName && mapping != MappingID {
		return &Error{Unsupported: true, Reason: "the column mapping " + string(mapping) + " is not supported"}
	}
	ids := map[int32]string{}
	return t.Walk(func(path []string, f Field) error {
		if f.Metadata.Get(keyPhysical) == nil {
			return &Error{Path: path, Reason: "the column has no physical name, which the table's column mapping needs"}
		}
		id, ok := f.ID()
		if !ok {
			if mapping == MappingID {
				return &Error{Path: path, Reason: "the column has no id, which the table's column mapping needs"}
			}
			return nil
		}
		if other, ok := ids[id]; ok {
			return &Error{Path: path, Reason: "the column has the same id as " + other}
		}
		ids[id] = f.Name
		return nil
	})
}

// Invariant is the SQL condition that every row must meet; empty if there is none.
func (f Field) Invariant() (string, error) {
	raw := f.Metadata.Get(keyInvariants)
	if raw == nil {
		return "", nil
	}
	// The text holds {"expression": {"expression": SQL}}.
	var sql string
	r := exactjson.NewReader([]byte(exactjson.NewReader(raw).Text()))
	r.Object(func(name []byte) {
		if string(name) != "expression" {
			r.Raw()
			return
		}
		r.Object(func(name []byte) {
			if string(name) == "expression" {
				sql = r.Text()
			} else {
				r.Raw()
			}
		})
	})
	if err := r.End(); err != nil || sql == "" {
		return "", &Error{Path: []string{f.Name}, Reason: "its invariant cannot be read"}
	}
	return sql, nil
}

// Generated tells whether the field's values follow from other columns.
func (f Field) Generated() bool { return f.Metadata.Get(keyGenerated) != nil }

// Identity tells whether the table counts the field's values up.
func (f Field) Identity() bool { return f.Metadata.Get(keyIdentity) != nil }

// HasDefault tells whether the field has a value for rows that do not give one.
func (f Field) HasDefault() bool { return f.Metadata.Get(keyDefault) != nil }
