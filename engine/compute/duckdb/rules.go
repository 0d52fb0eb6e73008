package duckdb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/ubunye-io/ubunye/engine/compute"
)

// rowName is what the conditions of rules call the row that they look at. No column of it can be meant by another name.
const (
	rowName  = "\x01row"
	keysName = "\x01keys"
)

// condition is a rule as SQL.
type condition struct {
	rule    compute.Rule
	columns []string // as the relation spells them
	sql     string   // true for a row that breaks the rule, else false: never NULL; empty: rows by themselves do not tell
}

// conditions makes the SQL of rules over columns. The first rule that cannot be used is the error.
func (s *session) conditions(ctx context.Context, rules []compute.Rule, columns []compute.Column) ([]condition, error) {
	all := make([]condition, len(rules))
	for i, r := range rules {
		c, err := s.condition(ctx, r, columns)
		if err != nil {
			return nil, inRule(err, i)
		}
		all[i] = c
	}
	return all, nil
}

// inRule says which rule an error is about.
func inRule(err error, i int) error {
	var e *compute.Error
	if errors.As(err, &e) && e.Kind == compute.BadOption {
		e.Rule = i + 1
	}
	return err
}

func (s *session) condition(ctx context.Context, r compute.Rule, columns []compute.Column) (condition, error) {
	c := condition{rule: r}
	var typ string
	for _, name := range r.Columns {
		at := slices.IndexFunc(columns, func(c compute.Column) bool { return strings.EqualFold(c.Name, name) })
		if at < 0 {
			return c, &compute.Error{Kind: compute.BadOption, Column: name, Message: "there is no such column", Hint: didYouMean(name, columnNames(columns))}
		}
		c.columns = append(c.columns, columns[at].Name)
		typ = columns[at].Type
	}
	column := quote(rowName) + "." + quote(c.columns[0])
	var err error
	switch r.Kind {
	case compute.NotNull:
		c.sql = column + " IS NULL"
	case compute.Unique: // not a question to a row by itself
	case compute.Between:
		c.sql, err = s.outside(ctx, r, column, typ)
	case compute.OneOf:
		var values []string
		values, err = s.values(ctx, r.Values, typ)
		c.sql = "coalesce(" + column + " NOT IN (" + strings.Join(values, ", ") + "), false)"
	case compute.Matches:
		err = s.pattern(ctx, r.Pattern)
		if typ != "VARCHAR" {
			err = &compute.Error{Kind: compute.BadOption, Message: "the column is a " + typ + ", and only text can match a pattern", Hint: "compare values with between or one_of"}
		}
		c.sql = "coalesce(NOT regexp_full_match(" + column + ", " + literal(r.Pattern) + ", 's'), false)"
	default:
		return c, &compute.Error{Kind: compute.BadOption, Message: fmt.Sprintf("rules of the kind %d are not known", r.Kind)}
	}
	return c, inColumn(err, c.columns[0])
}

func columnNames(columns []compute.Column) []string {
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = c.Name
	}
	return names
}

// keys gives the SQL for the keys that several rows have, and how many rows each has.
func (c condition) keys(from string) string {
	var names, known []string
	for _, name := range c.columns {
		names = append(names, quote(name))
		known = append(known, quote(name)+" IS NOT NULL")
	}
	list := strings.Join(names, ", ")
	return "SELECT " + list + ", count(*) AS " + quote(rowName) + " FROM " + from + " WHERE " + strings.Join(known, " AND ") + " GROUP BY " + list + " HAVING count(*) > 1"
}

// join brings the keys of a rule about them to the rows that have one; they are called by a name that ends in i. A key is there
// once, so no row is doubled.
func (c condition) join(from string, i int) (join, broken string) {
	name := quote(fmt.Sprintf("%s%d", keysName, i))
	var same []string
	for _, column := range c.columns {
		same = append(same, name+"."+quote(column)+" = "+quote(rowName)+"."+quote(column))
	}
	return " LEFT JOIN (" + c.keys(from) + ") AS " + name + " ON " + strings.Join(same, " AND "), name + "." + quote(rowName) + " IS NOT NULL"
}

// outside is true for a value beyond the bounds.
func (s *session) outside(ctx context.Context, r compute.Rule, column, typ string) (string, error) {
	var beyond []string
	for _, bound := range []struct {
		text *string
		than string
	}{{r.Min, " < "}, {r.Max, " > "}} {
		if bound.text == nil {
			continue
		}
		values, err := s.values(ctx, []string{*bound.text}, typ)
		if err != nil {
			return "", err
		}
		beyond = append(beyond, column+bound.than+values[0])
	}
	if typ == "DOUBLE" || typ == "FLOAT" {
		beyond = append(beyond, "isnan("+column+")")
	}
	if len(beyond) == 0 {
		return "false", nil
	}
	return "coalesce(" + strings.Join(beyond, " OR ") + ", false)", nil
}

// values gives texts as SQL values of a type, or says which is none.
func (s *session) values(ctx context.Context, texts []string, typ string) ([]string, error) {
	var list []string
	for _, text := range texts {
		if strings.ContainsRune(text, 0) {
			return nil, &compute.Error{Kind: compute.BadOption, Message: "a value holds a NUL byte"}
		}
		list = append(list, literal(text))
	}
	var values []string
	var wrong error
	misfits := "false"
	if f, err := fitFor("v", typ, csvOptions{decimal: "."}); err == nil && typ != "BLOB" { // which files have as base64
		misfits = f.misfits()
	}
	q := "SELECT v, CAST(TRY_CAST(v AS " + typ + ") AS VARCHAR), " + misfits + " FROM unnest([" + strings.Join(list, ", ") + "]) AS t(v)"
	err := s.queryAll(ctx, q, nil, func(rows *sql.Rows) error {
		var text string
		var back sql.NullString
		var misfit bool
		if err := rows.Scan(&text, &back, &misfit); err != nil {
			return err
		}
		if wrong == nil && (!back.Valid || misfit || !isExact(typ, text, back.String)) {
			wrong = &compute.Error{Kind: compute.BadOption, Message: fmt.Sprintf("%q is not a %s", text, typ), Hint: "write a value that the column can have"}
		}
		values = append(values, "CAST("+literal(text)+" AS "+typ+")")
		return nil
	})
	if err != nil {
		return nil, s.fail(ctx, err, "reading a value failed")
	}
	return values, wrong
}

var (
	wholeText   = regexp.MustCompile(`^[+-]?[0-9]+$`)
	decimalText = regexp.MustCompile(`^[+-]?[0-9]+(?:\.([0-9]+))?$`)
)

// isExact tells whether a text is a value of a type as it stands. back is what DuckDB made of it, which rounds and cuts.
func isExact(typ, text, back string) bool {
	var width, scale int
	if _, err := fmt.Sscanf(typ, "DECIMAL(%d,%d)", &width, &scale); err == nil {
		m := decimalText.FindStringSubmatch(text)
		return m != nil && len(strings.TrimRight(m[1], "0")) <= scale
	}
	switch typ {
	case "DATE":
		return text == back
	case "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT", "BIGNUM":
		return wholeText.MatchString(text)
	}
	return true
}

// pattern refuses a regular expression that DuckDB cannot compile.
func (s *session) pattern(ctx context.Context, text string) error {
	bad := &compute.Error{Kind: compute.BadOption, Message: fmt.Sprintf("%q is not a regular expression", text), Hint: "the syntax is that of RE2"}
	if strings.ContainsRune(text, 0) {
		return bad
	}
	var ignored any
	err := s.conn.QueryRowContext(ctx, "SELECT regexp_full_match('', "+literal(text)+", 's')").Scan(&ignored)
	if c := cancelled(ctx); c != nil {
		return c
	}
	if err != nil {
		bad.Message += ": " + parse(err).line()
		bad.Err = err
		return bad
	}
	return nil
}

// CheckRules finds what is wrong with rules by themselves.
func (Engine) CheckRules(ctx context.Context, rules []compute.Rule, columns []compute.Column) (wrong []*compute.Error, err error) {
	opened, err := Engine{}.Open(ctx, compute.Settings{Threads: 1})
	if err != nil {
		return nil, err
	}
	defer opened.Close() // it holds nothing
	s := opened.(*session)
	add := func(err error) error {
		var e *compute.Error
		if err == nil || !errors.As(err, &e) || e.Kind != compute.BadOption {
			return err
		}
		wrong = append(wrong, e)
		return nil
	}
	known := slices.Clone(columns)
	for i, c := range columns {
		known[i].Type, err = s.typeName(ctx, c.Type)
		if err := add(inColumn(err, c.Name)); err != nil {
			return nil, err
		}
	}
	if len(wrong) > 0 {
		return wrong, nil // the values have no type to be of
	}
	for i, r := range rules {
		switch {
		case columns != nil:
			_, err = s.condition(ctx, r, known)
		case r.Kind == compute.Matches:
			err = inColumn(s.pattern(ctx, r.Pattern), r.Columns[0])
		default:
			continue
		}
		if err := add(inRule(err, i)); err != nil {
			return nil, err
		}
	}
	return wrong, nil
}

// Type gives a type in DuckDB's spelling.
func (s *session) Type(ctx context.Context, text string) (string, error) {
	return s.typeName(ctx, text)
}
