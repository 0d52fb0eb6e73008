package duckdb

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/ubunye-io/ubunye/engine/compute"
)

// badTexts are the texts of plain values that do not fit their type, by the place in the objects, as "addr.zip" or "tags[]".
type badTexts map[string]map[string]bool

// blameJSON finds the first thing that is wrong with a json input: text that is no JSON, values whose shape is not what was
// declared, and plain values that do not fit their type, by the conditions of fit.
func (s *session) blameJSON(ctx context.Context, j *jsonInput) error {
	for _, g := range j.groups() {
		for _, f := range g.files {
			bad := badTexts{}
			for i, c := range j.columns {
				objects := "SELECT json AS v FROM " + j.objects(jsonGroup{files: []compute.File{f}, array: g.array, table: g.table})
				if err := s.findBad(ctx, j, bad, c.Name, j.types[i], memberOf(objects, c.Name), misfitsLimit); err != nil {
					// The text is not JSON, which is found below.
					if c := cancelled(ctx); c != nil {
						return c
					}
					break
				}
			}
			err := j.each(ctx, f, g.array, jsonVisit{check: func(scan *jsonScan) error { return j.checkRow(scan, f.Path, bad) }})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// memberOf is the SQL of the values at a key of objects, both in a column called v.
func memberOf(objects, key string) string {
	return fmt.Sprintf("SELECT struct_extract_at(json_transform(v, %s), 1) AS v FROM (%s) WHERE starts_with(CAST(v AS VARCHAR), '{')", literal("{"+jsonText(key)+`:"JSON"}`), objects)
}

// findBad gathers the texts that do not fit a type, or the parts of one. values is the SQL of the values in a column called v.
func (s *session) findBad(ctx context.Context, j *jsonInput, bad badTexts, at string, t *jsonType, values string, most int) error {
	switch {
	case t.name == "JSON", t.name == "VARCHAR":
		return nil
	case t.item != nil:
		return s.findBad(ctx, j, bad, at+"[]", t.item, "SELECT unnest(CAST(v AS JSON[])) AS v FROM ("+values+") WHERE starts_with(CAST(v AS VARCHAR), '[')", most)
	case t.value != nil:
		return s.findBad(ctx, j, bad, at+".*", t.value, "SELECT unnest(json_extract(v, '$.*')) AS v FROM ("+values+") WHERE starts_with(CAST(v AS VARCHAR), '{')", most)
	case t.fields != nil:
		for _, f := range t.fields {
			if err := s.findBad(ctx, j, bad, at+"."+f.name, f.typ, memberOf(values, f.name), most); err != nil {
				return err
			}
		}
		return nil
	}
	f, err := j.options.fit("t", t.name)
	if err != nil {
		return err
	}
	bad[at] = map[string]bool{}
	q := fmt.Sprintf("SELECT DISTINCT t FROM (SELECT %s AS t FROM (%s)) WHERE %s LIMIT %d", plainText("v", "NULL"), values, f.misfits(), most)
	return s.queryAll(ctx, q, nil, func(rows *sql.Rows) error {
		var text string
		err := rows.Scan(&text)
		bad[at][text] = true
		return err
	})
}

// checkRow goes through an object; the first thing that is wrong comes as an error.
func (j *jsonInput) checkRow(s *jsonScan, file string, bad badTexts) error {
	root := &jsonType{}
	for i, c := range j.columns {
		root.fields = append(root.fields, jsonField{c.Name, j.types[i]})
	}
	check := jsonCheck{jsonScan: s, options: j.options, file: file, bad: bad}
	return check.value("", root, 0)
}

// jsonCheck goes through one object.
type jsonCheck struct {
	*jsonScan
	options jsonOptions
	file    string
	bad     badTexts
}

func (c *jsonCheck) wrong(at, hint, format string, args ...any) error {
	return &compute.Error{Kind: compute.InputInvalid, File: c.file, Line: c.line, Column: at, Message: fmt.Sprintf(format, args...), Hint: hint}
}

// value passes a value that is to have a type.
func (c *jsonCheck) value(at string, t *jsonType, depth int) error {
	kind := c.kind()
	switch {
	case t.name == "JSON":
		return c.skip(depth)
	case kind == '{' && t.fields != nil:
		return c.members(depth, func(key []byte) error { return c.member(at, string(key), t, depth+1) })
	case kind == '{' && t.value != nil:
		return c.members(depth, func([]byte) error { return c.value(at+".*", t.value, depth+1) })
	case kind == '[' && t.item != nil:
		return c.items(depth, func() error { return c.value(at+"[]", t.item, depth+1) })
	case kind == '{', kind == '[':
		return c.wrong(at, "declare it as it is, or as json to keep it as it is written", "%s stands where %s was declared", kindNames[kind], t.described())
	}
	line := c.line
	text, err := c.scalar()
	if err != nil || kind != '"' && string(text) == "null" {
		return err
	}
	if !t.plain() {
		return c.wrong(at, "declare it as it is, or as json to keep it as it is written", "%s stands where %s was declared", shorten(string(text)), t.described())
	}
	if c.bad[at][string(text)] {
		e := misfitErr(c.file, line, compute.Column{Name: at, Type: t.name}, string(text))
		if strings.HasPrefix(t.name, "DECIMAL") {
			e.Hint = "correct the file, or declare more digits"
		}
		return e
	}
	return nil
}

// member passes the value at a key of an object.
func (c *jsonCheck) member(at, key string, t *jsonType, depth int) error {
	names := make([]string, len(t.fields))
	for i, f := range t.fields {
		if f.name == key {
			return c.value(strings.TrimPrefix(at+"."+key, "."), f.typ, depth)
		}
		names[i] = f.name
	}
	if c.options.undeclared == "ignore" {
		return c.skip(depth)
	}
	return c.wrong(at, "declare it, or set the option undeclared to ignore; declared are: "+strings.Join(names, ", "), "the object has a key that is not declared: %s", shorten(key))
}

func (t *jsonType) described() string {
	switch {
	case t.item != nil:
		return "an array"
	case t.value != nil, t.fields != nil:
		return "an object"
	}
	return article(t.name) + " " + t.name
}
