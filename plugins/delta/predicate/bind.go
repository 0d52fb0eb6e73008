package predicate

import (
	"slices"
	"strconv"
	"strings"

	"github.com/ubunye-io/ubunye/engine/deltalog/schema"
)

// bound is what an operand is in a table: a field, or a value of the type of the column beside it.
type bound struct {
	field schema.Field
	value schema.Value
}

// Bound is a condition whose columns are those of a table.
type Bound struct {
	root    node
	columns []string
}

// Columns are the names of the columns that it reads, as the table spells them, in the order of their first place.
func (b *Bound) Columns() []string { return b.columns }

// Bind finds the condition's columns in a table, and reads its literals as values of their types. The error is an *Error.
func (c *Condition) Bind(table schema.Type) (*Bound, error) {
	b := &binder{table: table}
	root := b.node(c.root)
	if b.err != nil {
		return nil, b.err
	}
	return &Bound{root, b.columns}, nil
}

type binder struct {
	table   schema.Type
	columns []string
	err     *Error
}

func (b *binder) refuse(o operand, reason, hint string) {
	if b.err == nil {
		b.err = &Error{At: o.at, Reason: reason, Hint: hint}
	}
}

func (b *binder) node(n node) node {
	n.of = slices.Clone(n.of)
	for i := range n.of {
		n.of[i] = b.node(n.of[i])
	}
	switch n.op {
	case opEqual, opLess, opLessEqual:
		b.comparison(&n)
	case opIn:
		n.left = b.comparable(n.left)
		n.operands = slices.Clone(n.operands)
		for i := range n.operands {
			n.operands[i] = b.value(n.operands[i], n.left.bound.field)
		}
	case opIsNull:
		n.left = b.column(n.left)
	case opTrue:
		n.left = b.column(n.left)
		if t := n.left.bound.field.Type; b.err == nil && t.Kind != schema.Boolean {
			b.refuse(n.left, "the column "+n.left.text+" is a "+t.String()+", and alone it is no condition", "compare it with a value")
		}
	}
	return n
}

// comparison binds both sides, of which one at least must be a column.
func (b *binder) comparison(n *node) {
	switch {
	case n.left.column && n.right.column:
		n.left, n.right = b.comparable(n.left), b.comparable(n.right)
		l, r := n.left.bound.field.Type, n.right.bound.field.Type
		if b.err == nil && (l.Kind != r.Kind || l.Precision != r.Precision || l.Scale != r.Scale) {
			b.refuse(n.right, "the columns "+n.left.text+" and "+n.right.text+" are a "+l.String()+" and a "+r.String(), "columns are compared with those of their own type")
		}
	case n.left.column:
		n.left = b.comparable(n.left)
		n.right = b.value(n.right, n.left.bound.field)
	case n.right.column:
		n.right = b.comparable(n.right)
		n.left = b.value(n.left, n.right.bound.field)
	default:
		b.refuse(n.left, "it compares two literals", "name a column")
	}
}

func (b *binder) column(o operand) operand {
	f, ok := b.table.Field(o.text)
	if !ok {
		b.refuse(o, "there is no column "+strconv.Quote(o.text), "the columns are "+columnNames(b.table))
		return o
	}
	if !slices.Contains(b.columns, f.Name) {
		b.columns = append(b.columns, f.Name)
	}
	o.bound.field = f
	return o
}

func columnNames(t schema.Type) string {
	names := make([]string, len(t.Fields))
	for i, f := range t.Fields {
		names[i] = f.Name
	}
	return strings.Join(names, ", ")
}

// comparable binds a column whose values have an order that every reader agrees on.
func (b *binder) comparable(o operand) operand {
	o = b.column(o)
	switch t := o.bound.field.Type; t.Kind {
	case schema.Struct, schema.Array, schema.Map, schema.Binary, schema.Void:
		if b.err == nil {
			b.refuse(o, "the column "+o.text+" is a "+t.String()+", which is not compared here", "use a column of texts, numbers, dates or timestamps")
		}
	}
	return o
}

// value reads a literal as a value of a column.
func (b *binder) value(o operand, f schema.Field) operand {
	if b.err != nil {
		return o
	}
	t := f.Type
	of := strconv.Quote(o.text) + " is no " + t.String() + ", as the column " + f.Name + " is"
	switch {
	case o.kind == word && t.Kind != schema.Boolean, o.kind == number && (t.Kind == schema.String || t.Kind == schema.Boolean || t.Kind == schema.Date):
		b.refuse(o, of, "write a literal of the column's type; texts and dates are quoted")
		return o
	case t.Kind == schema.String:
		o.bound.value = schema.Text(o.text)
		return o
	}
	v, err := schema.ParsePartition(t, o.text, nil)
	if err != nil || v.IsNull() {
		b.refuse(o, of, "write a value that the column can have")
	}
	o.bound.value = v
	return o
}
