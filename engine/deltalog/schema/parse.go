package schema

import (
	"strconv"
	"strings"

	"github.com/ubunye-io/ubunye/internal/exactjson"
)

// Parse reads the text of a metaData's schemaString. A type that this package does not know is an *Error that names its
// column; so are two columns whose names differ in case alone.
func Parse(text string) (Type, error) {
	p := &parser{Reader: exactjson.NewReader([]byte(text))}
	t := p.typ()
	if err := p.End(); err != nil && p.err == nil {
		p.err = &Error{Path: p.path, Reason: "the schema cannot be read: " + err.Error()}
	}
	if p.err == nil && t.Kind != Struct {
		p.err = &Error{Reason: "the schema is a " + t.String() + ", not a struct"}
	}
	if p.err != nil {
		return Type{}, p.err
	}
	return t, nil
}

type parser struct {
	*exactjson.Reader
	path []string
	err  *Error
}

func (p *parser) refuse(unsupported bool, reason string) {
	if p.err == nil {
		p.err = &Error{Path: append([]string(nil), p.path...), Unsupported: unsupported, Reason: reason}
	}
	p.Fail(reason) // nothing more is read
}

// typ reads a type: a name, or an object with parts. The members of an object may come in any order.
func (p *parser) typ() Type {
	raw := p.Raw()
	if len(raw) == 0 {
		return Type{}
	}
	if raw[0] == '"' {
		return p.named(exactjson.NewReader(raw).Text())
	}
	var kind string
	outer := p.Reader
	p.Reader = exactjson.NewReader(raw)
	p.Object(func(name []byte) {
		if string(name) == "type" {
			kind = p.Text()
		} else {
			p.Raw()
		}
	})
	p.Reader = exactjson.NewReader(raw)
	t := p.parts(kind)
	err := p.Err()
	if p.Reader = outer; err != nil {
		p.Fail(err.Error())
	}
	return t
}

func (p *parser) named(name string) Type {
	if kind, ok := names[name]; ok {
		return Type{Kind: kind}
	}
	if name == "decimal" {
		return Type{Kind: Decimal, Precision: 10}
	}
	if digits, ok := strings.CutPrefix(name, "decimal("); ok {
		if precision, scale, ok := decimalOf(digits); ok {
			return Type{Kind: Decimal, Precision: precision, Scale: scale}
		}
		p.refuse(false, "the type "+name+" is none: a decimal has 1 to 38 digits")
		return Type{}
	}
	p.refuse(true, "the type "+name+" is not supported")
	return Type{}
}

// decimalOf reads "10,2)".
func decimalOf(text string) (precision, scale int, ok bool) {
	text, ok = strings.CutSuffix(text, ")")
	before, after, found := strings.Cut(text, ",")
	if !ok || !found {
		return 0, 0, false
	}
	precision, err1 := strconv.Atoi(strings.TrimSpace(before))
	scale, err2 := strconv.Atoi(strings.TrimSpace(after))
	return precision, scale, err1 == nil && err2 == nil && precision >= 1 && precision <= 38 && scale >= 0 && scale <= precision
}

func (p *parser) parts(kind string) (t Type) {
	switch kind {
	case "struct":
		t.Kind = Struct
		p.Object(func(name []byte) {
			if string(name) == "fields" {
				p.Array(func() { t.Fields = append(t.Fields, p.field()) })
			} else {
				p.Raw()
			}
		})
		p.distinct(t.Fields)
	case "array":
		t.Kind, t.Nulls = Array, true
		p.Object(func(name []byte) {
			switch string(name) {
			case "elementType":
				t.Element = p.below("element")
			case "containsNull":
				t.Nulls = p.Bool()
			default:
				p.Raw()
			}
		})
	case "map":
		t.Kind, t.Nulls = Map, true
		p.Object(func(name []byte) {
			switch string(name) {
			case "keyType":
				t.Key = p.below("key")
			case "valueType":
				t.Element = p.below("value")
			case "valueContainsNull":
				t.Nulls = p.Bool()
			default:
				p.Raw()
			}
		})
	default:
		p.refuse(true, "the type "+kind+" is not supported")
		return t
	}
	if t.Kind != Struct && t.Element == nil || t.Kind == Map && t.Key == nil {
		p.refuse(false, "the "+kind+" does not say what it holds")
	}
	return t
}

func (p *parser) below(name string) *Type {
	p.path = append(p.path, name)
	t := p.typ()
	p.path = p.path[:len(p.path)-1]
	return &t
}

func (p *parser) field() Field {
	f := Field{Nullable: true}
	var typ []byte
	p.Object(func(name []byte) {
		switch string(name) {
		case "name":
			f.Name = p.Text()
		case "type":
			typ = p.Raw()
		case "nullable":
			f.Nullable = p.Bool()
		case "metadata":
			p.Object(func(name []byte) {
				f.Metadata = append(f.Metadata, Member{string(name), p.Raw()})
			})
		default:
			f.other = append(f.other, Member{string(name), p.Raw()})
		}
	})
	// The type is read last: what is wrong with it is told by the name.
	p.path = append(p.path, f.Name)
	if p.Err() == nil && typ == nil {
		p.refuse(false, "it has no type")
	}
	if p.Err() == nil {
		outer := p.Reader
		p.Reader = exactjson.NewReader(typ)
		f.Type = p.typ()
		err := p.Err()
		if p.Reader = outer; err != nil {
			p.Fail(err.Error())
		}
	}
	p.path = p.path[:len(p.path)-1]
	return f
}

func (p *parser) distinct(fields []Field) {
	seen := make(map[string]string, len(fields))
	for _, f := range fields {
		lower := strings.ToLower(f.Name)
		if other, ok := seen[lower]; ok {
			p.refuse(false, "two columns are named "+other+" and "+f.Name)
		}
		seen[lower] = f.Name
	}
}

// Encode gives the text of a metaData's schemaString. What was read and not understood stays as it was.
func Encode(t Type) string {
	w := &exactjson.Writer{}
	encode(w, t)
	return string(w.Bytes())
}

func encode(w *exactjson.Writer, t Type) {
	if t.Kind != Struct && t.Kind != Array && t.Kind != Map {
		w.Text(t.String())
		return
	}
	w.Object(func() {
		w.Name("type").Text(t.String())
		switch t.Kind {
		case Array:
			encode(w.Name("elementType"), *t.Element)
			w.Name("containsNull").Bool(t.Nulls)
		case Map:
			encode(w.Name("keyType"), *t.Key)
			encode(w.Name("valueType"), *t.Element)
			w.Name("valueContainsNull").Bool(t.Nulls)
		default:
			w.Name("fields").Array(func() {
				for _, f := range t.Fields {
					encodeField(w, f)
				}
			})
		}
	})
}

func encodeField(w *exactjson.Writer, f Field) {
	w.Object(func() {
		w.Name("name").Text(f.Name)
		encode(w.Name("type"), f.Type)
		w.Name("nullable").Bool(f.Nullable)
		w.Name("metadata").Object(func() {
			for _, m := range f.Metadata {
				w.Name(m.Name).Raw(m.Value)
			}
		})
		for _, m := range f.other {
			w.Name(m.Name).Raw(m.Value)
		}
	})
}
