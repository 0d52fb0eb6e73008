package config

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// percentText is a share of a hundred, as 1% or 0.5%.
var percentText = regexp.MustCompile(`^((?:0|[1-9][0-9]?)(?:\.[0-9]+)?|100)%$`)

// inputRejects reads rejects and max_rejects of an input; nil: there are none.
func (l *loader) inputRejects(s section) *Rejects {
	n, most := s.n.get("rejects"), s.n.get("max_rejects")
	if n == nil && most != nil && !s.bad() {
		l.at(most, s.at+" has max_rejects and no rejects", "name the relation that they become with rejects: NAME, or remove the key")
	}
	if n == nil || n.bad || n.open {
		return nil
	}
	r := &Rejects{Name: s.text("rejects"), Rows: -1, Percent: -1}
	if most == nil || most.bad || most.open {
		return r
	}
	text := s.text("max_rejects")
	if text == "" {
		return r
	}
	if m := percentText.FindStringSubmatch(text); m != nil {
		r.Percent, _ = strconv.ParseFloat(m[1], 64) // the pattern is that of a number
		return r
	}
	rows, err := strconv.ParseInt(text, 10, 64)
	if err != nil || rows < 0 {
		l.at(most, s.at+".max_rejects: "+quote(text)+" is neither a number of rows nor a percentage", "write it as 100 or as 1%")
		return r
	}
	r.Rows = rows
	return r
}

// rejects gives the relations of rejects, whose names no other relation of the task has.
func (l *loader) rejects(s section, t Task) []string {
	taken := map[string]string{}
	for _, in := range t.Inputs {
		taken[strings.ToLower(in.Name)] = "the input " + in.Name
	}
	for _, step := range t.Steps {
		taken[strings.ToLower(step.Name)] = "the step " + step.Name
	}
	var names []string
	for _, in := range t.Inputs {
		if in.Rejects == nil || in.Rejects.Name == "" {
			continue
		}
		folded := strings.ToLower(in.Rejects.Name)
		if other, twice := taken[folded]; twice {
			of := s.sub("inputs").inner(in.Name)
			l.at(of.n.get("rejects"), fmt.Sprintf("%s.rejects has the name of %s", of.at, other), "rename one of the two")
			continue
		}
		taken[folded] = "the rejects of " + in.Name
		names = append(names, in.Rejects.Name)
	}
	return names
}

// unwritten refuses rejects that no output writes: they would be lost.
func (l *loader) unwritten(s section, t Task) {
	for _, in := range t.Inputs {
		if in.Rejects == nil || in.Rejects.Name == "" || s.sub("outputs").bad() {
			continue
		}
		if !slices.ContainsFunc(t.Outputs, func(o Output) bool { return strings.EqualFold(o.From, in.Rejects.Name) }) {
			of := s.sub("inputs").inner(in.Name)
			l.at(of.n.get("rejects"), fmt.Sprintf("%s.rejects: no output writes %s, so these rows would be lost", of.at, in.Rejects.Name),
				"add an output called "+in.Rejects.Name+", or one with from: "+in.Rejects.Name)
		}
	}
}
