package writer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

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

// OptionError says why an output cannot have an option as it is given.
type OptionError struct {
	Option  string
	Message string   // completes the sentence that the option begins
	Wrong   string   // the word that is wrong, if one of Known was meant
	Known   []string // what the option, or its value, may be
}

// valueSchema is as much of the JSON Schema of an option as its value, which is text, is checked against.
type valueSchema struct {
	Type      string            `json:"type"`
	Enum      []json.RawMessage `json:"enum"`
	Minimum   *float64          `json:"minimum"`
	Maximum   *float64          `json:"maximum"`
	MinLength *int              `json:"minLength"`
	MaxLength *int              `json:"maxLength"`
	Pattern   string            `json:"pattern"`
}

// CheckOptions holds the options of an output against the JSON Schema in the description of its writer, and tells all that
// is wrong, by name. What it cannot say for certain is left to the writer: keywords that are not known here, and
// whether options go together.
func CheckOptions(d abi.Description, given map[string]string) (wrong []OptionError) {
	var schema struct {
		Properties map[string]json.RawMessage `json:"properties"`
		Patterns   json.RawMessage            `json:"patternProperties"`
		Additional json.RawMessage            `json:"additionalProperties"`
		Required   []string                   `json:"required"`
	}
	if json.Unmarshal(d.Options, &schema) != nil {
		return nil
	}
	closed := string(schema.Additional) == "false" && len(schema.Patterns) == 0
	for _, name := range slices.Sorted(maps.Keys(given)) {
		property, known := schema.Properties[name]
		if !known && closed {
			wrong = append(wrong, OptionError{Option: name, Message: "the writer has no such option", Wrong: name, Known: slices.Sorted(maps.Keys(schema.Properties))})
		}
		var s valueSchema
		if known && json.Unmarshal(property, &s) == nil {
			if message, values := s.refuse(given[name]); message != "" {
				wrong = append(wrong, OptionError{Option: name, Message: message, Wrong: given[name], Known: values})
			}
		}
	}
	for _, name := range slices.Sorted(slices.Values(schema.Required)) {
		if _, is := given[name]; !is {
			wrong = append(wrong, OptionError{Option: name, Message: "the writer wants it, and it is not given"})
		}
	}
	return wrong
}

// refuse says why a text is no value of an option; empty: it may be one.
func (s valueSchema) refuse(text string) (message string, known []string) {
	for _, v := range s.Enum {
		known = append(known, words(v))
	}
	if len(known) > 0 {
		if slices.Contains(known, text) {
			return "", nil
		}
		return strconv.Quote(text) + " is not one of its values", known
	}
	switch s.Type {
	case "boolean":
		if text != "true" && text != "false" {
			return strconv.Quote(text) + " is not true or false", nil
		}
	case "integer", "number":
		return s.refuseNumber(text), nil
	case "string":
		return s.refuseText(text), nil
	}
	return "", nil
}

func (s valueSchema) refuseNumber(text string) string {
	n, err := strconv.ParseFloat(text, 64)
	if s.Type == "integer" {
		_, err = strconv.ParseInt(text, 10, 64)
	}
	if err == nil && (s.Minimum == nil || n >= *s.Minimum) && (s.Maximum == nil || n <= *s.Maximum) {
		return ""
	}
	want := map[string]string{"integer": "a whole number", "number": "a number"}[s.Type]
	if s.Minimum != nil {
		want += " from " + strconv.FormatFloat(*s.Minimum, 'f', -1, 64)
	}
	if s.Maximum != nil {
		want += " to " + strconv.FormatFloat(*s.Maximum, 'f', -1, 64)
	}
	return strconv.Quote(text) + " is not " + want
}

func (s valueSchema) refuseText(text string) string {
	n := utf8.RuneCountInString(text)
	switch {
	case s.MinLength != nil && n < *s.MinLength:
		return fmt.Sprintf("%q is too short: it wants at least %s", text, characters(*s.MinLength))
	case s.MaxLength != nil && n > *s.MaxLength:
		return fmt.Sprintf("%q is too long: it wants at most %s", text, characters(*s.MaxLength))
	}
	if pattern, err := regexp.Compile(s.Pattern); err == nil && !pattern.MatchString(text) {
		return fmt.Sprintf("%q does not match the pattern %s", text, line(s.Pattern))
	}
	return ""
}

func characters(n int) string {
	if n == 1 {
		return "1 character"
	}
	return fmt.Sprintf("%d characters", n)
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
