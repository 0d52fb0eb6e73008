package main

import (
	"fmt"
	"go/ast"
	"slices"
	"strings"
)

// object is a JSON Schema; encoding/json sorts its keys, so the same declarations give the same file.
type object = map[string]any

const dialect = "https://json-schema.org/draft/2020-12/schema"

// builder makes one schema file: what it meets of named types becomes definitions.
type builder struct {
	*source
	defs     object
	nullable bool // a list or map that is empty may be null, as Go's encoder writes one that was never made
}

// refer gives a reference to a type's definition, which it makes if there is none yet.
func (b *builder) refer(t *declared) (object, error) {
	ref := object{"$ref": "#/$defs/" + t.name}
	if _, made := b.defs[t.name]; made {
		return ref, nil
	}
	b.defs[t.name] = object{} // it may refer to itself
	def, err := b.define(t)
	b.defs[t.name] = def
	return ref, err
}

func (b *builder) define(t *declared) (object, error) {
	if _, ok := t.expr.(*ast.StructType); !ok {
		def, err := b.value(t, t.expr)
		if err != nil {
			return nil, err
		}
		if def, err = withConstants(def, t); err != nil {
			return nil, err
		}
		def["description"] = t.doc
		return def, nil
	}
	fields, err := b.fields(t)
	if err != nil {
		return nil, err
	}
	def, err := b.object(fields)
	if err == nil {
		def["description"] = t.doc
	}
	return def, err
}

// withConstants restricts a text type to its constants, if it has any.
func withConstants(def object, t *declared) (object, error) {
	constants := t.pkg.constants[t.name]
	if len(constants) == 0 {
		return def, nil
	}
	var values []any
	for _, c := range constants {
		if c.doc == "" {
			return nil, fmt.Errorf("%s.%s: its value %q has no comment", t.pkg.path, t.name, c.value)
		}
		values = append(values, object{"const": c.value, "description": c.doc})
	}
	if t.open {
		return object{"anyOf": append(values, object{"type": "string"})}, nil
	}
	return object{"oneOf": values}, nil
}

// object makes the schema of an object. Members that are not known are allowed: later versions may have more.
func (b *builder) object(fields []field) (object, error) {
	properties, required := object{}, []string{}
	for _, f := range fields {
		s, err := b.value(f.of, f.expr)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
		s["description"] = f.doc
		properties[f.name] = s
		if !f.optional {
			required = append(required, f.name)
		}
	}
	slices.Sort(required)
	return object{"type": "object", "properties": properties, "required": required}, nil
}

// value makes the schema of a field's value.
func (b *builder) value(t *declared, e ast.Expr) (object, error) {
	switch e := e.(type) {
	case *ast.StarExpr:
		s, err := b.value(t, e.X)
		if err != nil {
			return nil, err
		}
		return object{"anyOf": []any{s, object{"type": "null"}}}, nil
	case *ast.ArrayType:
		if elem, ok := e.Elt.(*ast.Ident); ok && elem.Name == "byte" {
			return object{"type": b.orNull("string"), "contentEncoding": "base64"}, nil
		}
		items, err := b.value(t, e.Elt)
		return object{"type": b.orNull("array"), "items": items}, err
	case *ast.MapType:
		values, err := b.value(t, e.Value)
		return object{"type": b.orNull("object"), "additionalProperties": values}, err
	case *ast.Ident, *ast.SelectorExpr:
		found, err := b.find(t, e)
		if err != nil {
			return nil, err
		}
		if found != nil {
			return b.refer(found)
		}
		return basic(e)
	}
	return nil, fmt.Errorf("a %T has no JSON form here", e)
}

func (b *builder) orNull(kind string) any {
	if b.nullable {
		return []string{kind, "null"}
	}
	return kind
}

// basic is a type of Go's own.
func basic(e ast.Expr) (object, error) {
	name := ""
	switch e := e.(type) {
	case *ast.Ident:
		name = e.Name
	case *ast.SelectorExpr:
		name = fmt.Sprintf("%s.%s", e.X, e.Sel)
	}
	switch name {
	case "string":
		return object{"type": "string"}, nil
	case "bool":
		return object{"type": "boolean"}, nil
	case "int", "int32", "int64", "time.Duration":
		return object{"type": "integer"}, nil
	case "uint64":
		return object{"type": "integer", "minimum": 0}, nil
	case "float64":
		return object{"type": "number"}, nil
	case "time.Time":
		return object{"type": "string", "format": "date-time"}, nil
	case "json.RawMessage":
		return object{}, nil
	}
	return nil, fmt.Errorf("the type %s has no JSON form here", name)
}

// document makes the schema of one JSON document: an object with the members of all of `of`.
func (b *builder) document(title string, of ...string) (object, error) {
	var all []field
	var root object
	var doc []string
	for _, name := range of {
		t, err := b.named(name)
		if err != nil {
			return nil, err
		}
		fields, err := b.fields(t)
		if err != nil {
			return nil, err
		}
		all, doc = append(all, fields...), append(doc, t.doc)
	}
	root, err := b.object(all)
	if err != nil {
		return nil, err
	}
	root["description"] = strings.Join(doc, " ")
	root["$schema"], root["title"] = dialect, title
	if len(b.defs) > 0 {
		root["$defs"] = b.defs
	}
	return root, nil
}

// list makes the schema of a JSON document that is a list of such objects.
func (b *builder) list(title, of string) (object, error) {
	root, err := b.document(title, of)
	if err != nil {
		return nil, err
	}
	whole := object{"$schema": dialect, "title": title, "type": "array", "items": root}
	if len(b.defs) > 0 {
		whole["$defs"] = b.defs
	}
	delete(root, "$schema")
	delete(root, "title")
	delete(root, "$defs")
	return whole, nil
}
