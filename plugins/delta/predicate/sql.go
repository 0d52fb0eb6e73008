package predicate

import "strings"

// SQL is the condition as the compute engine reads it; for a NULL it may be NULL.
func (b *Bound) SQL() string { return b.root.sql() }

func (n node) sql() string {
	switch n.op {
	case opAnd, opOr:
		word := " AND "
		if n.op == opOr {
			word = " OR "
		}
		parts := make([]string, len(n.of))
		for i, p := range n.of {
			parts[i] = p.sql()
		}
		return "(" + strings.Join(parts, word) + ")"
	case opNot:
		return "(NOT " + n.of[0].sql() + ")"
	case opEqual:
		return "(" + n.left.sql(n.right) + " = " + n.right.sql(n.left) + ")"
	case opLess:
		return "(" + n.left.sql(n.right) + " < " + n.right.sql(n.left) + ")"
	case opLessEqual:
		return "(" + n.left.sql(n.right) + " <= " + n.right.sql(n.left) + ")"
	case opIn:
		values := make([]string, len(n.operands))
		for i, o := range n.operands {
			values[i] = o.sql(n.left)
		}
		return "(" + n.left.sql(n.left) + " IN (" + strings.Join(values, ", ") + "))"
	case opIsNull:
		return "(" + n.left.sql(n.left) + " IS NULL)"
	case opTrue:
		return n.left.sql(n.left)
	}
	return strings.ToUpper(n.left.text)
}

// sql gives a column, or a literal as a value of the type of the column beside it.
func (o operand) sql(beside operand) string {
	if o.column {
		return Quote(o.bound.field.Name)
	}
	return "CAST(" + Literal(o.bound.value.Text()) + " AS " + beside.bound.field.Type.SQL() + ")"
}

// Quote gives a name as SQL.
func Quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// Literal gives a text as SQL.
func Literal(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }
