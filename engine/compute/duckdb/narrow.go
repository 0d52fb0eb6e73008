package duckdb

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ubunye-io/ubunye/engine/compute"
)

// ordered are the types whose values follow one another in one order, and of which each has a text that a cast makes the same
// value of. Text is ordered by its bytes.
var ordered = []string{
	"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT", "FLOAT", "DOUBLE", "VARCHAR",
	"DATE", "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", "TIMESTAMP WITH TIME ZONE",
}

// orderedColumn finds a column of a relation that rows can be told apart by.
func (s *session) orderedColumn(ctx context.Context, rel *relation, name string) (compute.Column, error) {
	columns, err := s.Schema(ctx, compute.Relation(rel.name))
	if err != nil {
		return compute.Column{}, err
	}
	at := slices.IndexFunc(columns, func(c compute.Column) bool { return strings.EqualFold(c.Name, name) })
	if at < 0 {
		return compute.Column{}, &compute.Error{Kind: compute.BadOption, Input: rel.name, Column: name, Message: "there is no such column", Hint: didYouMean(name, columnNames(columns))}
	}
	c := columns[at]
	if !slices.Contains(ordered, c.Type) && !strings.HasPrefix(c.Type, "DECIMAL(") {
		return c, &compute.Error{Kind: compute.BadOption, Input: rel.name, Column: c.Name, Message: "it is a " + c.Type + ", whose values have no order to read on by",
			Hint: "name a column of numbers, texts, dates or timestamps"}
	}
	return c, nil
}

// Greatest gives the greatest value of a column.
func (s *session) Greatest(ctx context.Context, r compute.Relation, column string, after *compute.Value) (compute.Greatest, error) {
	rel, err := s.lookup(r)
	if err != nil {
		return compute.Greatest{}, err
	}
	c, err := s.orderedColumn(ctx, rel, column)
	if err != nil {
		return compute.Greatest{}, err
	}
	g := compute.Greatest{Type: c.Type}
	if after != nil {
		if after.Type != "" && after.Type != c.Type {
			return g, nil
		}
		text, err := s.spelled(ctx, rel, c, after.Text)
		if err != nil {
			return g, err
		}
		g.After = &text
	}
	name := quote(c.Name)
	above, same, wild := "max("+name+") IS NOT NULL", fmt.Sprintf("CAST(CAST(max(%s) AS VARCHAR) AS %s) = max(%s)", name, c.Type, name), "false"
	if g.After != nil {
		above = fmt.Sprintf("coalesce(max(%s) > %s, false)", name, constant(*g.After, c.Type))
	}
	switch c.Type {
	case "FLOAT", "DOUBLE", "DATE", "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", "TIMESTAMP WITH TIME ZONE":
		wild = "coalesce(NOT isfinite(max(" + name + ")), false)"
	case "VARCHAR":
		same = "strpos(max(" + name + "), chr(0)) = 0"
	}
	var isSame, isWild bool
	q := fmt.Sprintf("SELECT CAST(max(%s) AS VARCHAR), count(*) - count(%s), %s, coalesce(%s, true), %s FROM %s", name, name, above, same, wild, quote(rel.name))
	if err := s.conn.QueryRowContext(ctx, q).Scan(&g.Text, &g.Nulls, &g.Above, &isSame, &isWild); err != nil {
		return g, s.blame(ctx, rel, err, "looking for the greatest value of "+c.Name+" failed")
	}
	switch {
	case isWild:
		return g, &compute.Error{Kind: compute.InputInvalid, Input: rel.name, Column: c.Name, Message: "its greatest value is " + *g.Text + ": nothing could come after it", Hint: "correct that value, or read on by another column"}
	case !isSame:
		return g, &compute.Error{Kind: compute.InputInvalid, Input: rel.name, Column: c.Name, Message: "its greatest value cannot be written down", Hint: "read on by another column"}
	}
	return g, nil
}

// spelled gives a value of a column in the one spelling of its type.
func (s *session) spelled(ctx context.Context, rel *relation, c compute.Column, text string) (string, error) {
	bad := &compute.Error{Kind: compute.BadOption, Input: rel.name, Column: c.Name, Message: fmt.Sprintf("%q, where reading is to go on, is no %s", text, c.Type)}
	if strings.ContainsRune(text, 0) {
		return "", bad
	}
	var one *string
	if err := s.conn.QueryRowContext(ctx, fmt.Sprintf("SELECT CAST(TRY_CAST(%s AS %s) AS VARCHAR)", literal(text), c.Type)).Scan(&one); err != nil {
		return "", s.fail(ctx, err, "reading the value "+text+" failed")
	}
	if one == nil {
		return "", bad
	}
	return *one, nil
}

// constant is a value as SQL.
func constant(text, typ string) string { return "CAST(" + literal(text) + " AS " + typ + ")" }

// Narrow leaves the rows of an input that are in a window. The input goes on under another name, below its own.
func (s *session) Narrow(ctx context.Context, r compute.Relation, w compute.Window) error {
	rel, err := s.lookup(r)
	if err != nil {
		return err
	}
	c, err := s.orderedColumn(ctx, rel, w.Column)
	if err != nil {
		return err
	}
	switch {
	case rel.input == nil || rel.kept || rel.uses > 0:
		return &compute.Error{Kind: compute.QueryInvalid, Message: rel.name + " is no input that nothing has read yet"}
	case c.Type != w.Type:
		return &compute.Error{Kind: compute.BadOption, Input: rel.name, Column: c.Name, Message: fmt.Sprintf("it is a %s, and was a %s", c.Type, w.Type)}
	}
	name := quote(c.Name)
	within := "false"
	if w.UpTo != nil {
		within = name + " <= " + constant(*w.UpTo, c.Type)
		if w.After != nil {
			within = name + " > " + constant(*w.After, c.Type) + " AND " + within
		}
	}
	whole := quote("\x01all of " + rel.name)
	for _, q := range []string{
		"ALTER VIEW " + quote(rel.name) + " RENAME TO " + whole,
		"CREATE VIEW " + quote(rel.name) + " AS SELECT * FROM " + whole + " WHERE " + within,
	} {
		if err := s.exec(ctx, q); err != nil {
			return s.fail(ctx, err, "choosing the rows of "+rel.name+" failed")
		}
	}
	return nil
}
