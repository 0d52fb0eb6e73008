package main

import (
	"fmt"
	"regexp"
)

// says is how a constant of package abi names the messages of its call or operation.
var says = regexp.MustCompile(`^(\w+) → (\w+)`)

// messages makes the schema of everything that an engine and a writer plugin say to each other. A message does not name
// itself, so there is a definition for each: "describe.request", "describe.answer", "relation.schema.request", …
func (b *builder) messages(title string) (object, error) {
	p, err := b.load("engine/abi")
	if err != nil {
		return nil, err
	}
	var any []any
	add := func(name, of string) error {
		t := p.types[of]
		if t == nil {
			return fmt.Errorf("%s: there is no message %s", name, of)
		}
		ref, err := b.refer(t)
		b.defs[name] = ref
		any = append(any, object{"$ref": "#/$defs/" + name})
		return err
	}
	for _, group := range []string{"Call", "Operation"} {
		for _, c := range p.constants[group] {
			m := says.FindStringSubmatch(c.doc)
			if m == nil {
				continue // not in this version
			}
			if err := add(c.value+".request", m[1]); err != nil {
				return nil, err
			}
			if err := add(c.value+".answer", m[2]); err != nil {
				return nil, err
			}
		}
	}
	if err := add("failure", "Failure"); err != nil {
		return nil, err
	}
	return object{"$schema": dialect, "title": title, "anyOf": any, "$defs": b.defs,
		"description": "One message between the engine and a writer plugin. Which one it is, the call or operation tells that it goes with: " +
			"its definition is called by that name and .request or .answer. A failure takes the place of an answer."}, nil
}
