package main

import (
	"encoding/json"
	"io"

	"github.com/ubunye-io/ubunye/engine/config"
)

// object is a JSON Schema; encoding/json sorts its keys, so the same declaration gives the same file.
type object = map[string]any

// name is the rule for names that an author gives, as at config.Pipeline.
const name = "^[A-Za-z_][A-Za-z0-9_-]{0,63}$"

// wrong is what editors show of a text that does not match the pattern; validators pass over the keyword.
const wrong = "patternErrorMessage"

// schema prints the JSON Schema (2020-12) of the pipeline file. It accepts every valid file: what is
// required is required after the profile was merged, which a schema cannot see, so it requires nothing; and
// a template may stand for a number.
func schema(out io.Writer, top []*config.Field) error {
	root := fields(top)
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["title"] = "ubunye pipeline"
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(root)
}

func fields(list []*config.Field) object {
	properties := object{}
	for _, f := range list {
		if f.Later {
			continue
		}
		s := value(f)
		if doc := describe(f); doc != "" {
			s["description"] = doc
		}
		if f.Default != "" {
			s["default"] = f.Default
		}
		properties[f.Name] = s
	}
	return object{"type": "object", "properties": properties, "additionalProperties": false, "patternProperties": object{"^x-": object{}}}
}

func describe(f *config.Field) string {
	doc := f.Doc
	if f.Required {
		doc += " Required."
	}
	if f.Example != "" {
		doc += " Example: " + f.Example
	}
	return doc
}

func value(f *config.Field) object {
	switch f.Kind {
	case config.Object:
		whole := fields(f.Fields)
		if f.Short == "" {
			return whole
		}
		for _, m := range f.Fields {
			if m.Name == f.Short {
				return object{"anyOf": []any{value(m), whole}}
			}
		}
		return whole
	case config.Map:
		s := object{"type": "object", "additionalProperties": value(f.Elem)}
		if f.Keys == config.Name {
			s["propertyNames"] = object{"pattern": name}
		}
		if f.Listed != "" {
			return object{"anyOf": []any{s, object{"type": "array", "items": object{"type": "string"}}}}
		}
		return s
	case config.List:
		return object{"type": "array", "items": value(f.Elem)}
	case config.Choice:
		return object{"enum": f.Values}
	case config.Int:
		return object{"type": []string{"integer", "string"}, "minimum": 0, "pattern": f.Kind.Pattern(), wrong: "Want a whole number, as 4."}
	case config.Bool:
		return object{"type": []string{"boolean", "string"}, "pattern": f.Kind.Pattern(), wrong: "Want true or false."}
	case config.Bytes:
		return object{"type": "string", "pattern": f.Kind.Pattern(), wrong: "Want a size with its unit, as 4GiB."}
	case config.Duration:
		return object{"type": "string", "pattern": f.Kind.Pattern(), wrong: "Want a time with its unit, as 30s."}
	case config.Option:
		return object{"type": []string{"string", "integer", "boolean"}}
	case config.Scalar, config.Value:
		return object{"type": []string{"string", "number", "boolean"}}
	}
	return object{"type": "string"}
}
