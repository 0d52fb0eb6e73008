package predicate

import (
	"errors"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/ubunye-io/ubunye/engine/deltalog/schema"
)

func field(name string, t schema.Type) schema.Field {
	return schema.Field{Name: name, Type: t, Nullable: true}
}

var table = schema.Type{Kind: schema.Struct, Fields: []schema.Field{
	field("id", schema.Type{Kind: schema.Long}), field("dt", schema.Type{Kind: schema.Date}), field("name", schema.Type{Kind: schema.String}),
	field("amount", schema.Type{Kind: schema.Decimal, Precision: 10, Scale: 2}), field("ok", schema.Type{Kind: schema.Boolean}),
	field("at", schema.Type{Kind: schema.Timestamp}), field("x", schema.Type{Kind: schema.Double}), field("raw", schema.Type{Kind: schema.Binary}),
	field("Code région", schema.Type{Kind: schema.String}), field("other", schema.Type{Kind: schema.Long}),
}}

func bindText(t *testing.T, text string, d Dialect) *Bound {
	t.Helper()
	c, err := Parse(text, d)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	b, err := c.Bind(table)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return b
}

func TestSQL(t *testing.T) {
	for _, c := range []struct {
		text    string
		dialect Dialect
		want    string
	}{
		{"dt = '2026-01-02'", Standard, `("dt" = CAST('2026-01-02' AS DATE))`},
		{"DATE '2026-01-02' = dt", Standard, `(CAST('2026-01-02' AS DATE) = "dt")`},
		{"ID > 5 and not Name in ('a', 'it''s')", Standard, `((CAST('5' AS BIGINT) < "id") AND (NOT ("name" IN (CAST('a' AS VARCHAR), CAST('it''s' AS VARCHAR)))))`},
		{"amount between -1.5 and 1e2", Standard, `((CAST('-1.50' AS DECIMAL(10,2)) <= "amount") AND ("amount" <= CAST('100.00' AS DECIMAL(10,2))))`},
		{"ok OR ok = false OR name IS NOT NULL", Standard, `("ok" OR ("ok" = CAST('false' AS BOOLEAN)) OR (NOT ("name" IS NULL)))`},
		{`"Code région" <> ''`, Standard, `(NOT ("Code région" = CAST('' AS VARCHAR)))`},
		{"at >= TIMESTAMP '2026-01-02 03:04:05.5'", Standard, `(CAST('2026-01-02T03:04:05.500000Z' AS TIMESTAMP WITH TIME ZONE) <= "at")`},
		{"id <= other", Standard, `("id" <= "other")`},
		{"raw IS NULL", Standard, `("raw" IS NULL)`},
		{"TRUE", Standard, "TRUE"},
		{"`Code région` == \"x'y\"", Spark, `("Code région" = CAST('x''y' AS VARCHAR))`},
		{"id = 1 OR id = 2 AND ok", Standard, `(("id" = CAST('1' AS BIGINT)) OR (("id" = CAST('2' AS BIGINT)) AND "ok"))`},
	} {
		if got := bindText(t, c.text, c.dialect).SQL(); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.text, got, c.want)
		}
	}
}

func TestRefused(t *testing.T) {
	for _, c := range []struct {
		text    string
		dialect Dialect
		at      int
		want    string
	}{
		{"", Standard, 0, "the condition is empty"},
		{"  ", Standard, 0, "the condition is empty"},
		{"dt =", Standard, 4, "the end of the condition stands where a column or a literal is expected"},
		{"dt = 'x", Standard, 5, "a quote is never closed"},
		{"dt = '2026-02-30'", Standard, 5, `"2026-02-30" is no date, as the column dt is`},
		{"amount = 1.005", Standard, 9, `"1.005" is no decimal(10,2), as the column amount is`},
		{"id = 1.5", Standard, 5, `"1.5" is no long, as the column id is`},
		{"name = 5", Standard, 7, `"5" is no string, as the column name is`},
		{"dt = 5", Standard, 5, `"5" is no date, as the column dt is`},
		{"idd = 5", Standard, 0, `there is no column "idd"`},
		{"name", Standard, 0, "the column name is a string, and alone it is no condition"},
		{"5", Standard, 0, `"5" stands alone`},
		{"1 = 1", Standard, 0, "it compares two literals"},
		{"id = name", Standard, 5, "the columns id and name are a long and a string"},
		{"raw = 'x'", Standard, 0, "the column raw is a binary, which is not compared here"},
		{"lower(name) = 'x'", Standard, 0, `"lower" calls a function, which is not understood here`},
		{"name LIKE 'a%'", Standard, 5, `"LIKE" is not expected here`},
		{"id = 5; DROP", Standard, 6, `";" is not part of a condition that is understood here`},
		{"id = 5 -- x", Standard, 7, `"-" is not expected here`},
		{"id = 5 AND", Standard, 10, "the end of the condition stands where a column or a literal is expected"},
		{"(id = 5", Standard, 7, "the end of the condition stands where ) is expected"},
		{"id IN (other)", Standard, 7, `"other" is no literal`},
		{"id = NULL", Standard, 5, `"NULL" stands where a column or a literal is expected`},
		{"`id` = 5", Standard, 0, "a name is quoted by \" and not by `"},
		{`name = 'a\b'`, Spark, 9, "a text with a backslash is not understood here"},
		{"id <=> 5", Spark, 3, `"<" is not part of a condition that is understood here`},
		{"\xff = 1", Standard, 0, "the text is no UTF-8"},
		{strings.Repeat("(", 300) + "ok" + strings.Repeat(")", 300), Standard, 201, `"(" is nested too deeply`},
	} {
		parsed, err := Parse(c.text, c.dialect)
		if err == nil {
			_, err = parsed.Bind(table)
		}
		var e *Error
		if !errors.As(err, &e) || e.Reason != c.want || e.At != c.at {
			t.Errorf("%.40s: %+v, want %q at %d", c.text, err, c.want, c.at)
		}
	}
}

func TestColumns(t *testing.T) {
	if got := bindText(t, "ID > 5 AND (dt IS NULL OR id < 3)", Standard).Columns(); len(got) != 2 || got[0] != "id" || got[1] != "dt" {
		t.Errorf("%q", got)
	}
}

// truth is a value of SQL's logic.
type truth int8

const (
	no truth = iota
	yes
	null
)

// row evaluates a condition for one row, by the rules of SQL: nothing of files.go is used.
func row(n node, values map[string]schema.Value) truth {
	of := func(o operand) schema.Value {
		if o.column {
			return values[o.bound.field.Name]
		}
		return o.bound.value
	}
	is := func(b bool) truth {
		if b {
			return yes
		}
		return no
	}
	switch n.op {
	case opAnd, opOr:
		result, stop := yes, no
		if n.op == opOr {
			result, stop = no, yes
		}
		for _, p := range n.of {
			switch v := row(p, values); {
			case v == stop:
				return stop
			case v == null:
				result = null
			}
		}
		return result
	case opNot:
		return [...]truth{no: yes, yes: no, null: null}[row(n.of[0], values)]
	case opConstant:
		return is(n.left.text == "true")
	case opIsNull:
		return is(of(n.left).IsNull())
	case opIn:
		if of(n.left).IsNull() {
			return null
		}
		for _, o := range n.operands {
			if of(n.left).Compare(of(o)) == 0 {
				return yes
			}
		}
		return no
	}
	l, r := of(n.left), of(n.right)
	if l.IsNull() || r.IsNull() {
		return null
	}
	switch order := l.Compare(r); n.op {
	case opEqual:
		return is(order == 0)
	case opLess:
		return is(order < 0)
	default:
		return is(order <= 0)
	}
}

func randomCondition(r *rand.Rand, depth int) string {
	literal := func() string { return strconv.Itoa(r.IntN(5)) }
	column := []string{"id", "other"}[r.IntN(2)]
	if depth > 0 {
		switch r.IntN(4) {
		case 0:
			return "(" + randomCondition(r, depth-1) + " AND " + randomCondition(r, depth-1) + ")"
		case 1:
			return "(" + randomCondition(r, depth-1) + " OR " + randomCondition(r, depth-1) + ")"
		case 2:
			return "NOT " + randomCondition(r, depth-1)
		}
	}
	switch r.IntN(6) {
	case 0:
		return column + " IS NULL"
	case 1:
		return column + " IN (" + literal() + ", " + literal() + ")"
	case 2:
		return column + " BETWEEN " + literal() + " AND " + literal()
	case 3:
		return "id < other"
	case 4:
		return literal() + " < " + column
	}
	return column + " " + []string{"=", "<>", "<", "<=", ">", ">="}[r.IntN(6)] + " " + literal()
}

// What is said of a file is never more than its rows bear out.
func TestFileAgreesWithItsRows(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	all, none := 0, 0
	for range 20000 {
		text := randomCondition(r, 3)
		b := bindText(t, text, Standard)
		rows := make([]map[string]schema.Value, 1+r.IntN(3))
		ranges := map[string]schema.Range{}
		for _, name := range []string{"id", "other"} {
			known := schema.Range{NoNulls: true, AllNulls: true}
			for i := range rows {
				if rows[i] == nil {
					rows[i] = map[string]schema.Value{}
				}
				v := schema.Value{}
				if r.IntN(4) > 0 {
					v, _ = schema.ParsePartition(schema.Type{Kind: schema.Long}, strconv.Itoa(r.IntN(5)), nil)
				}
				rows[i][name] = v
				if v.IsNull() {
					known.NoNulls = false
					continue
				}
				known.AllNulls = false
				if known.Min.IsNull() || v.Compare(known.Min) < 0 {
					known.Min = v
				}
				if known.Max.IsNull() || v.Compare(known.Max) > 0 {
					known.Max = v
				}
			}
			if r.IntN(5) == 0 {
				known = schema.Range{}
			}
			ranges[name] = known
		}
		met := 0
		for _, values := range rows {
			if row(b.root, values) == yes {
				met++
			}
		}
		switch got := b.File(func(name string) schema.Range { return ranges[name] }); {
		case got == All && met < len(rows), got == None && met > 0:
			t.Fatalf("%s: %v of %d rows %v, %d met it", text, got, len(rows), rows, met)
		case got == All:
			all++
		case got == None:
			none++
		}
	}
	if all < 1000 || none < 1000 {
		t.Errorf("all %d, none %d: the conditions tell nothing", all, none)
	}
}
