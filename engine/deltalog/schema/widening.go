package schema

import (
	"strings"

	"github.com/ubunye-io/ubunye/internal/exactjson"
)

// Change is one step by which a column, or a part of it, was widened. Files from before it hold From.
type Change struct {
	From, To Type
	Part     string // "element", "key", "value" or several with dots; empty: the field itself
}

// Changes reads the changes of a field, oldest first. One that is no widening of the protocol's list is an *Error.
func (f Field) Changes() ([]Change, error) {
	raw := f.Metadata.Get(keyChanges)
	if raw == nil {
		return nil, nil
	}
	var changes []Change
	var wrong *Error
	r := exactjson.NewReader(raw)
	side := func() Type {
		p := &parser{Reader: exactjson.NewReader(r.Raw()), path: []string{f.Name}}
		t := p.typ()
		if p.err != nil && wrong == nil {
			wrong = p.err
		}
		return t
	}
	r.Array(func() {
		var c Change
		r.Object(func(name []byte) {
			switch string(name) {
			case "fromType":
				c.From = side()
			case "toType":
				c.To = side()
			case "fieldPath":
				c.Part = r.Text()
			default:
				r.Raw()
			}
		})
		changes = append(changes, c)
	})
	if err := r.End(); err != nil {
		return nil, &Error{Path: []string{f.Name}, Reason: "its type changes cannot be read: " + err.Error()}
	}
	if wrong != nil {
		return nil, wrong
	}
	for _, c := range changes {
		if !Widens(c.From, c.To) {
			at := append([]string{f.Name}, strings.FieldsFunc(c.Part, func(r rune) bool { return r == '.' })...)
			return nil, &Error{Path: at, Unsupported: true, Reason: "the change of type from " + c.From.String() + " to " + c.To.String() + " is not supported"}
		}
	}
	return changes, nil
}

// CheckChanges reads the changes of every field.
func CheckChanges(t Type) error {
	return t.Walk(func(_ []string, f Field) error {
		_, err := f.Changes()
		return err
	})
}

// Widens tells whether every value of one type is a value of the other by a change that the protocol's "Type Widening"
// lists. A type does not widen itself.
func Widens(from, to Type) bool {
	whole := func(k Kind) bool { return k >= Byte && k <= Integer }
	switch {
	case from.Kind >= Byte && to.Kind <= Long && to.Kind > from.Kind:
		return true
	case to.Kind == Double:
		return from.Kind == Float || whole(from.Kind)
	case to.Kind == TimestampNTZ:
		return from.Kind == Date
	case to.Kind != Decimal:
		return false
	case from.Kind == Decimal:
		return (from.Precision != to.Precision || from.Scale != to.Scale) && wider(to, from.Precision, from.Scale)
	case whole(from.Kind):
		return wider(to, 10, 0)
	case from.Kind == Long:
		return wider(to, 20, 0)
	}
	return false
}

// wider tells whether a decimal has room for all digits on both sides of the point.
func wider(to Type, precision, scale int) bool {
	return to.Scale >= scale && to.Precision-to.Scale >= precision-scale
}
