// Package schematest holds what the program wrote against the schemas in package schemas, for tests.
package schematest

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/ubunye-io/ubunye/schemas"
)

// Schema is a schema, as a rule one that is made strict: it refuses members that it does not declare. The files in schemas/ allow them,
// since later versions of the program may write more; of this one a test wants to know.
type Schema struct{ compiled *jsonschema.Schema }

// Open compiles a schema, as "batch", or a definition of one, as "messages#plan.request".
func Open(name string) (*Schema, error) { return open(name, closeObjects) }

// OpenLenient compiles a schema as it is: for files that hold what other programs wrote.
func OpenLenient(name string) (*Schema, error) { return open(name, func(any) {}) }

func open(name string, change func(schema any)) (*Schema, error) {
	file, def, _ := strings.Cut(name, "#")
	file += ".schema.json"
	text, err := schemas.Files.ReadFile(file)
	if err != nil {
		return nil, err
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	change(doc)
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource(file, doc); err != nil {
		return nil, err
	}
	if def != "" {
		file += "#/$defs/" + def
	}
	compiled, err := c.Compile(file)
	return &Schema{compiled}, err
}

// closeObjects forbids members that are not declared.
func closeObjects(schema any) {
	switch s := schema.(type) {
	case map[string]any:
		if _, declares := s["properties"].(map[string]any); declares && s["additionalProperties"] == nil {
			s["additionalProperties"] = false
		}
		for _, inner := range s {
			closeObjects(inner)
		}
	case []any:
		for _, inner := range s {
			closeObjects(inner)
		}
	}
}

// Check tells what is wrong with a JSON document; nil: nothing.
func (s *Schema) Check(text []byte) error {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err == nil {
		err = s.compiled.Validate(doc)
	}
	if err != nil {
		return fmt.Errorf("%w\nin %s", err, text)
	}
	return nil
}

// CheckLines is Check for each line of a text.
func (s *Schema) CheckLines(text string) error {
	for line := range strings.Lines(text) {
		if err := s.Check([]byte(line)); err != nil {
			return err
		}
	}
	return nil
}
