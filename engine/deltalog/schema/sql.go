package schema

import (
	"strconv"
	"strings"
)

// sqlNames are the SQL types of the kinds without parts, each first by the name that SQL gives.
var sqlNames = []struct {
	kind Kind
	name string
}{
	{Boolean, "BOOLEAN"}, {Byte, "TINYINT"}, {Short, "SMALLINT"}, {Integer, "INTEGER"}, {Long, "BIGINT"}, {Float, "FLOAT"}, {Float, "REAL"}, {Double, "DOUBLE"},
	{String, "VARCHAR"}, {Binary, "BLOB"}, {Date, "DATE"}, {Timestamp, "TIMESTAMP WITH TIME ZONE"}, {Timestamp, "TIMESTAMPTZ"}, {TimestampNTZ, "TIMESTAMP"}, {Void, `"NULL"`},
}

// SQL gives the type as the compute engine names it. A field of a struct has the name that it has in the schema.
func (t Type) SQL() string {
	switch t.Kind {
	case Decimal:
		return "DECIMAL(" + strconv.Itoa(t.Precision) + "," + strconv.Itoa(t.Scale) + ")"
	case Array:
		return t.Element.SQL() + "[]"
	case Map:
		return "MAP(" + t.Key.SQL() + ", " + t.Element.SQL() + ")"
	case Struct:
		fields := make([]string, len(t.Fields))
		for i, f := range t.Fields {
			fields[i] = `"` + strings.ReplaceAll(f.Name, `"`, `""`) + `" ` + f.Type.SQL()
		}
		return "STRUCT(" + strings.Join(fields, ", ") + ")"
	}
	for _, n := range sqlNames {
		if n.kind == t.Kind {
			return n.name
		}
	}
	return ""
}

// FromSQL gives the type that holds every value of an SQL type. One that no type holds is an *Error, without a path.
func FromSQL(text string) (Type, error) {
	p := &sqlParser{all: text, rest: text}
	t := p.typ()
	if p.rest = strings.TrimSpace(p.rest); p.rest != "" {
		p.refuse(p.all)
	}
	if p.err != nil {
		return Type{}, p.err
	}
	return t, nil
}

type sqlParser struct {
	all, rest string
	err       *Error
}

func (p *sqlParser) refuse(name string) {
	if p.err == nil {
		p.err = &Error{Unsupported: true, Reason: "no type of a Delta table holds " + name}
	}
}

// take passes over a word or sign, without regard to case, if it comes.
func (p *sqlParser) take(word string) bool {
	rest := strings.TrimLeft(p.rest, " ")
	if len(rest) < len(word) || !strings.EqualFold(rest[:len(word)], word) {
		return false
	}
	p.rest = rest[len(word):]
	return true
}

// want passes over a sign, which must come.
func (p *sqlParser) want(sign string) {
	if !p.take(sign) {
		p.refuse(p.all)
	}
}

func (p *sqlParser) typ() (t Type) {
	switch {
	case p.take("STRUCT("):
		t = p.structure()
	case p.take("MAP("):
		key := p.typ()
		p.want(",")
		value := p.typ()
		p.want(")")
		t = Type{Kind: Map, Key: &key, Element: &value, Nulls: true}
	case p.take("DECIMAL("):
		end := strings.IndexByte(p.rest, ')') + 1
		precision, scale, ok := decimalOf(p.rest[:end])
		if !ok {
			p.refuse(p.all)
		}
		t, p.rest = Type{Kind: Decimal, Precision: precision, Scale: scale}, p.rest[end:]
	default:
		t = p.plain()
	}
	for p.err == nil && p.take("[]") {
		element := t
		t = Type{Kind: Array, Element: &element, Nulls: true}
	}
	return t
}

// plain reads a name up to the sign that ends it.
func (p *sqlParser) plain() Type {
	end := strings.IndexAny(p.rest, ",)[")
	if end < 0 {
		end = len(p.rest)
	}
	name := strings.TrimSpace(p.rest[:end])
	p.rest = p.rest[end:]
	for _, n := range sqlNames {
		if strings.EqualFold(n.name, name) {
			return Type{Kind: n.kind}
		}
	}
	name, _, _ = strings.Cut(name, "(")
	if name == "" {
		name = p.all
	}
	p.refuse(name)
	return Type{}
}

func (p *sqlParser) structure() Type {
	t := Type{Kind: Struct}
	for p.err == nil {
		name := p.name()
		t.Fields = append(t.Fields, Field{Name: name, Type: p.typ(), Nullable: true})
		if p.take(")") {
			break
		}
		p.want(",")
	}
	return t
}

// name reads the name of a field, quoted or not.
func (p *sqlParser) name() string {
	p.rest = strings.TrimLeft(p.rest, " ")
	if !p.take(`"`) {
		name, rest, ok := strings.Cut(p.rest, " ")
		if !ok {
			p.refuse(p.all)
		}
		p.rest = rest
		return name
	}
	var name strings.Builder
	for {
		part, rest, ok := strings.Cut(p.rest, `"`)
		if !ok {
			p.refuse(p.all)
			return ""
		}
		name.WriteString(part)
		if p.rest = rest; !strings.HasPrefix(rest, `"`) {
			return name.String()
		}
		name.WriteByte('"')
		p.rest = rest[1:]
	}
}
