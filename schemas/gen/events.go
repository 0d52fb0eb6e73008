package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/ubunye-io/ubunye/engine/problem"
)

// eventsOf names the type that is printed for each event.
const eventsOf = "engine/report.line"

// event is one kind of event and the fields that it has.
type event struct {
	constant
	fields []field // optional: not always there
}

// eventKinds reads which fields each kind of event has: a field's tag `in` lists the kinds, with a ? where it may be
// absent; * stands for all.
func (s *source) eventKinds() ([]event, error) {
	line, err := s.named(eventsOf)
	if err != nil {
		return nil, err
	}
	fields, err := s.fields(line)
	if err != nil {
		return nil, err
	}
	constants := line.pkg.constants["Kind"]
	kinds := make([]event, len(constants))
	for i, c := range constants {
		if c.doc == "" {
			return nil, fmt.Errorf("the event %s has no doc comment", c.value)
		}
		kinds[i].constant = c
	}
	for _, f := range fields {
		if f.in == "" {
			return nil, fmt.Errorf("the field %s is in no event", f.name)
		}
		for word := range strings.FieldsSeq(f.in) {
			kind, perhaps := strings.CutSuffix(word, "?")
			f.optional = perhaps
			at := slices.IndexFunc(kinds, func(e event) bool { return e.value == kind })
			if at < 0 && kind != "*" {
				return nil, fmt.Errorf("the field %s is in %s, which is no event", f.name, kind)
			}
			for i := range kinds {
				if kind == "*" || i == at {
					kinds[i].fields = append(kinds[i].fields, f)
				}
			}
		}
	}
	return kinds, nil
}

func (b *builder) events(title string) (object, error) {
	kinds, err := b.eventKinds()
	if err != nil {
		return nil, err
	}
	var refs []any
	for _, k := range kinds {
		def, err := b.object(k.fields)
		if err != nil {
			return nil, err
		}
		def["properties"].(object)["event"] = object{"const": k.value, "description": "What happened."}
		def["description"] = k.doc
		b.defs[k.value] = def
		refs = append(refs, object{"$ref": "#/$defs/" + k.value})
	}
	delete(b.defs, "Kind")
	return object{"$schema": dialect, "title": title, "description": "One event of `ubunye run --json` or `ubunye backfill --json`, which print one a line.", "oneOf": refs, "$defs": b.defs}, nil
}

// eventsPage prints docs/events.md.
func (s *source) eventsPage(out io.Writer) error {
	kinds, err := s.eventKinds()
	if err != nil {
		return err
	}
	codes, err := s.load("engine/problem")
	if err != nil {
		return err
	}
	var p strings.Builder
	p.WriteString(eventsIntro)
	for _, k := range kinds {
		fmt.Fprintf(&p, "\n## `%s`\n\n%s\n\n| field | | what it is |\n| --- | --- | --- |\n", k.value, k.doc)
		for _, f := range k.fields {
			always := "always"
			if f.optional {
				always = ""
			}
			if f.name != "event" && f.name != "time" {
				fmt.Fprintf(&p, "| `%s` | %s | %s |\n", f.name, always, strings.ReplaceAll(f.doc, "|", `\|`))
			}
		}
	}
	p.WriteString("\n## Reasons\n\nWhat `reason` may be. They are never renamed.\n\n| reason | exit code | what it means |\n| --- | --- | --- |\n")
	for _, c := range codes.constants["Code"] {
		fmt.Fprintf(&p, "| `%s` | %d | %s |\n", c.value, problem.Code(c.value).Exit(), c.doc)
	}
	_, err = io.WriteString(out, p.String())
	return err
}

const eventsIntro = "# Events\n\n" +
	"Generated from the declarations that the program encodes by (`make generate`).\n\n" +
	"`ubunye run --json` and `ubunye backfill --json` print one event a line on stdout, as JSON, and nothing else. Every event has `time` (RFC 3339) and `event`, its kind; " +
	"the last one is always `run_finished`. Later versions may add kinds and fields. The schema is [schemas/events.schema.json](../schemas/events.schema.json).\n\n" +
	"In a backfill each date has a run of its own: what that tells has the `date`, and `batch_finished` takes the place of its `run_finished`.\n\n" +
	"`plan`, `backfill --dry-run`, `status`, `show`, `plugin list` and `plugin inspect` print one document on stdout with `--json`, " +
	"whose schemas are in [schemas/](../schemas/); what goes wrong they tell on stderr, as events of the kinds `problem` and `warning`.\n"
