package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/ubunye-io/ubunye/engine/config"
)

// reference prints the reference page: a section for each mapping, a row for each key.
func reference(out io.Writer, top []*config.Field) error {
	p := &page{}
	p.line("# The pipeline file: reference")
	p.line("")
	p.line("Generated from the declaration that the program decodes by (`make generate`). A key that begins with `x-` is free, for anchors.")
	p.line("Any other key is an error that names the nearest known one.")
	p.section("The file", "", top)
	_, err := io.WriteString(out, p.text.String())
	return err
}

type page struct{ text strings.Builder }

func (p *page) line(text string) { p.text.WriteString(text + "\n") }

// section prints a mapping and then those inside it, each once: a profile has the keys of the file again.
func (p *page) section(title, at string, list []*config.Field) {
	p.line("")
	p.line("## " + title)
	p.line("")
	p.line("| key | type | default | what it is | example |")
	p.line("| --- | --- | --- | --- | --- |")
	for _, f := range list {
		if f.Later {
			continue
		}
		p.line(fmt.Sprintf("| %s | %s | %s | %s | %s |", code(f.Name), cell(kind(f)), code(f.Default), cell(doc(f, at)), code(f.Example)))
	}
	var later []string
	for _, f := range list {
		if f.Later {
			later = append(later, code(f.Name))
		}
	}
	if len(later) > 0 {
		p.line("")
		p.line("Known, and refused by name because not in this version: " + strings.Join(later, ", ") + ".")
	}
	for _, f := range list {
		if inner := members(f); inner != nil && f.Name != "profiles" {
			p.section(path(title, f), at+f.Name+".", inner)
		}
	}
}

// path is the title of a section inside another one.
func path(title string, f *config.Field) string {
	own := "`" + f.Name + "`"
	if f.Kind == config.Map || f.Kind == config.List {
		own = "Each of `" + f.Name + "`"
	}
	if title == "The file" {
		return own
	}
	return own + " of " + strings.ToLower(title[:1]) + title[1:]
}

// members are the keys of a field that is a mapping of declared keys, or holds such.
func members(f *config.Field) []*config.Field {
	for f.Kind == config.Map || f.Kind == config.List {
		f = f.Elem
	}
	return f.Fields
}

// doc is what a field is; at is what comes before its name in its dotted path.
func doc(f *config.Field, at string) string {
	text := f.Doc
	switch {
	case f.Required && f.Unless != "":
		text += " Required, but not beside " + code(f.Unless) + "."
	case f.Required:
		text += " Required."
	case f.Unless != "":
		text += " Not beside " + code(f.Unless) + "."
	}
	if f.Setting {
		text += " Environment: `UBUNYE_" + strings.ToUpper(strings.ReplaceAll(at+f.Name, ".", "__")) + "`."
	}
	return text
}

func kind(f *config.Field) string {
	switch f.Kind {
	case config.Choice:
		return strings.Join(f.Values, " ")
	case config.Map:
		if f.Listed != "" {
			return "map of " + kind(f.Elem) + ", or a list of its keys"
		}
		return "map of " + kind(f.Elem)
	case config.List:
		return "list of " + kind(f.Elem)
	case config.Object:
		if f.Short != "" {
			return "mapping, or its `" + f.Short + "` alone"
		}
		return "mapping"
	}
	return string(f.Kind)
}

func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

func code(text string) string {
	if text == "" {
		return ""
	}
	return "`" + cell(text) + "`"
}
