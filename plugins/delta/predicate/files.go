package predicate

import "github.com/ubunye-io/ubunye/engine/deltalog/schema"

// Match says how many rows of a file meet a condition.
type Match uint8

// The matches.
const (
	Some Match = iota // some may, and some may not
	None              // none does
	All               // all do
)

// File tells how many rows of a file meet the condition, by what is known of its columns.
func (b *Bound) File(column func(name string) schema.Range) Match {
	switch o := b.root.outcomes(column); {
	case !o.true:
		return None
	case !o.false && !o.null:
		return All
	}
	return Some
}

// outcomes are what a condition can be for the rows of a file. They may say too much, never too little.
type outcomes struct{ true, false, null bool }

func (n node) outcomes(column func(string) schema.Range) outcomes {
	switch n.op {
	case opAnd:
		all := outcomes{true: true}
		for _, p := range n.of {
			all = all.and(p.outcomes(column))
		}
		return all
	case opOr: // a OR b is NOT (NOT a AND NOT b)
		all := outcomes{true: true}
		for _, p := range n.of {
			all = all.and(p.outcomes(column).not())
		}
		return all.not()
	case opNot:
		return n.of[0].outcomes(column).not()
	case opConstant:
		return outcomes{true: n.left.text == "true", false: n.left.text == "false"}
	case opIsNull:
		r := column(n.left.bound.field.Name)
		return outcomes{true: !r.NoNulls, false: !r.AllNulls}
	}
	return n.compared(column)
}

func (o outcomes) not() outcomes { return outcomes{o.false, o.true, o.null} }

func (o outcomes) and(p outcomes) outcomes {
	return outcomes{
		true:  o.true && p.true,
		false: o.false || p.false,
		null:  o.null && (p.true || p.null) || p.null && (o.true || o.null),
	}
}

// compared gives the outcomes of a test that is NULL for a NULL.
func (n node) compared(column func(string) schema.Range) outcomes {
	if n.left.column && n.right.column {
		l, r := column(n.left.bound.field.Name), column(n.right.bound.field.Name)
		some := !l.AllNulls && !r.AllNulls
		return outcomes{true: some, false: some, null: !l.NoNulls || !r.NoNulls}
	}
	beside, literal := n.left, n.right
	if !beside.column && n.op != opTrue {
		beside, literal = literal, beside
	}
	r := column(beside.bound.field.Name)
	if r.AllNulls {
		return outcomes{null: true}
	}
	o := outcomes{null: !r.NoNulls}
	switch n.op {
	case opTrue:
		o.true, o.false = true, true
	case opEqual:
		o.true, o.false = within(literal, r), !only(literal, r)
	case opIn:
		o.false = true
		for _, v := range n.operands {
			o.true = o.true || within(v, r)
			o.false = o.false && !only(v, r)
		}
	case opLess, opLessEqual:
		n.ordered(&o, r, literal.bound.value)
	}
	return o
}

// ordered gives the outcomes of column < value, and of value < column.
func (n node) ordered(o *outcomes, r schema.Range, v schema.Value) {
	below := func(a, b schema.Value) bool { // a < b, or a <= b
		order := a.Compare(b)
		return order < 0 || order == 0 && n.op == opLessEqual
	}
	if n.left.column {
		o.true = r.Min.IsNull() || below(r.Min, v)
		o.false = r.Max.IsNull() || !below(r.Max, v)
		return
	}
	o.true = r.Max.IsNull() || below(v, r.Max)
	o.false = r.Min.IsNull() || !below(v, r.Min)
}

// within tells whether a value can be in the range.
func within(o operand, r schema.Range) bool {
	v := o.bound.value
	return (r.Min.IsNull() || r.Min.Compare(v) <= 0) && (r.Max.IsNull() || v.Compare(r.Max) <= 0)
}

// only tells whether every value of the range is this one.
func only(o operand, r schema.Range) bool {
	v := o.bound.value
	return !r.Min.IsNull() && !r.Max.IsNull() && r.Min.Compare(v) == 0 && r.Max.Compare(v) == 0
}
