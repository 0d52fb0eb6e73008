package writer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ubunye-io/ubunye/engine/abi"
)

// Option is one option of a writer as a person is shown it.
type Option struct {
	Name     string `json:"name"`               // name of the option
	Type     string `json:"type"`               // in words, as "integer from 1 to 22", or the values that it may have
	Default  string `json:"default,omitempty"`  // its value when none is given
	Required bool   `json:"required,omitempty"` // it must be given
	Doc      string `json:"doc,omitempty"`      // what it does
}

// optionSchema is as much of a JSON Schema as is shown.
type optionSchema struct {
	Properties map[string]struct {
		Type        json.RawMessage   `json:"type"`
		Enum        []json.RawMessage `json:"enum"`
		Default     json.RawMessage   `json:"default"`
		Minimum     json.RawMessage   `json:"minimum"`
		Maximum     json.RawMessage   `json:"maximum"`
		Description string            `json:"description"`
	} `json:"properties"`
	Required []string `json:"required"`
}

// Options reads the options of a writer, by name, from the JSON Schema in its description.
func Options(d abi.Description) ([]Option, error) {
	if len(d.Options) == 0 {
		return nil, nil
	}
	var schema optionSchema
	if err := json.Unmarshal(d.Options, &schema); err != nil {
		return nil, fmt.Errorf("its options are no JSON Schema of an object: %w", err)
	}
	var options []Option
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
		if name == "" || name != line(name) {
			return nil, errors.New("an option without a proper name")
		}
		p := schema.Properties[name]
		o := Option{Name: name, Type: words(p.Type), Default: words(p.Default), Required: slices.Contains(schema.Required, name), Doc: line(p.Description)}
		if len(p.Minimum) > 0 {
			o.Type += " from " + words(p.Minimum)
		}
		if len(p.Maximum) > 0 {
			o.Type += " to " + words(p.Maximum)
		}
		if len(p.Enum) > 0 {
			values := make([]string, len(p.Enum))
			for i, v := range p.Enum {
				values[i] = words(v)
			}
			o.Type = line(strings.Join(values, " | "))
		}
		options = append(options, o)
	}
	return options, nil
}

// words is a JSON value as one line of text; a string without its quotes.
func words(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil {
		return line(text)
	}
	var compact bytes.Buffer
	if json.Compact(&compact, value) != nil {
		return ""
	}
	return line(compact.String())
}
