package config

// Kind is what a field of the pipeline file holds. It decides how the value is read, and what a
// template may put into it.
type Kind string

// The kinds of field.
const (
	Object   Kind = "object"   // a mapping with declared keys
	Map      Kind = "map"      // a mapping whose keys the author names
	List     Kind = "list"     // a sequence
	Text     Kind = "text"     // any text
	Name     Kind = "name"     // an identifier: see the rule at [Pipeline]
	Choice   Kind = "choice"   // one of Field.Values
	Path     Kind = "path"     // a file or folder, relative to the pipeline file
	SQL      Kind = "sql"      // SQL text
	Int      Kind = "int"      // a whole number that is not negative
	Bool     Kind = "bool"     // true or false
	Bytes    Kind = "bytes"    // a size with its unit, as "4GiB"
	Duration Kind = "duration" // a time with its unit, as "30s"
	Option   Kind = "option"   // text, a whole number or true and false: what the option takes is its owner's to say
	Scalar   Kind = "scalar"   // a value whose type another field gives
	Value    Kind = "value"    // a value of a column, as it is spelled: text, a decimal number, a date, or true and false
)

// Field declares one field of the pipeline file. Decoding, checks, layers and hints, and the
// generated schema and reference, all follow from it.
type Field struct {
	Name     string
	Kind     Kind
	Doc      string
	Default  string   // as written in the file; empty: none
	Example  string   // as written in the file
	Required bool     // must be there after the profile was merged
	Unless   string   // the field beside which it cannot stand; there a Required one need not be
	Secret   bool     // never printed, hashed or recorded
	Setting  bool     // may also be set by UBUNYE_<SECTION>__<KEY> and by a flag
	Zero     bool     // of a Duration: it may be none
	Later    bool     // known, but not in this version: refused by name
	Instead  string   // of one that is later: what does its work in this version
	Constant bool     // the same for every batch: templates may use the environment only
	Values   []string // of a Choice
	LaterOf  []string // values that are known, but not in this version
	Short    string   // of an Object: the member that a bare scalar stands for
	Keys     Kind     // of a Map: Name, or Text
	Listed   string   // of a Map of texts: what each key of a bare list holds
	Ordered  bool     // of a Map: the order of its keys matters
	Elem     *Field   // of a Map or List: what it holds
	Fields   []*Field // of an Object
}

// Fields gives the declaration of the pipeline file's top level. Each call makes a tree of its own.
func Fields() []*Field { return declare().Fields }

// member finds the declared field of an Object.
func (f *Field) member(name string) *Field {
	for _, m := range f.Fields {
		if m.Name == name {
			return m
		}
	}
	return nil
}

// memberNames lists the keys that can be used in this version.
func (f *Field) memberNames() []string {
	var names []string
	for _, m := range f.Fields {
		if !m.Later {
			names = append(names, m.Name)
		}
	}
	return names
}

// settings calls fn for each field that environment and flags can set, with its dotted path.
func (f *Field) settings(path string, fn func(path string, f *Field)) {
	for _, m := range f.Fields {
		p := m.Name
		if path != "" {
			p = path + "." + m.Name
		}
		if m.Setting && !m.Later {
			fn(p, m)
		}
		if m.Kind == Object {
			m.settings(p, fn)
		}
	}
}
