package config

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ubunye-io/ubunye/engine/problem"
)

// step reads a SQL step; the text of a SQL file is read here.
func (l *loader) step(name string, s section) Step {
	step := Step{Name: name, Pos: s.pos}
	text, file := s.n.get("sql"), s.n.get("sql_file")
	switch {
	case s.bad():
	case text != nil && file != nil:
		l.add(s.pos, s.at+" has sql and sql_file", "remove one of the two")
	case text != nil:
		step.SQL, step.Pos = s.text("sql"), text.pos
	case file != nil:
		l.sqlFile(&step, s, file)
	default:
		l.add(s.pos, s.at+" has no SQL", "write the SELECT, or {sql_file: FILE}")
	}
	return step
}

func (l *loader) sqlFile(step *Step, s section, n *node) {
	path := s.path("sql_file")
	if n.bad || n.open {
		return
	}
	data, err := os.ReadFile(path)
	if err != nil {
		l.at(n, s.at+".sql_file: "+n.text+" cannot be read: "+reason(err), "paths are relative to the pipeline file")
		return
	}
	shown := n.text
	if !filepath.IsAbs(shown) {
		shown = filepath.Join(filepath.Dir(l.file), filepath.FromSlash(shown))
	}
	src := newSource(shown, data)
	if p := src.readable(); p != nil {
		l.problems = append(l.problems, p)
		return
	}
	if strings.TrimSpace(string(data)) == "" {
		l.at(n, s.at+".sql_file: "+n.text+" is empty", "write a SELECT into it")
		return
	}
	if l.unrendered(src) {
		step.SQL, step.File, step.Pos = string(data), shown, problem.Pos{File: shown, Line: 1, Col: 1}
	}
}

// inner opens a mapping of a Map by its name.
func (s section) inner(name string) section {
	return section{s.l, s.n.get(name), s.f.Elem, join(s.at, name), s.pos}
}

// relations gives the names of a task's inputs and steps, which are unique regardless of case, as in SQL.
func (l *loader) relations(s section, t Task) []string {
	var names []string
	seen := map[string]problem.Pos{}
	for _, in := range t.Inputs {
		names = append(names, in.Name)
		seen[strings.ToLower(in.Name)] = in.Pos
	}
	steps := s.n.get("transform")
	for _, step := range t.Steps {
		names = append(names, step.Name)
		if first, twice := seen[strings.ToLower(step.Name)]; twice {
			at := slices.IndexFunc(steps.entries, func(e entry) bool { return e.key == step.Name })
			l.add(steps.entries[at].pos, fmt.Sprintf("%s.transform.%s has the name of the input at %s", s.at, step.Name, first), "rename one of the two")
		}
	}
	return names
}

// source finds the relation that an output writes.
func (l *loader) source(s section, o *Output, relations []string) {
	n := s.n.get("from")
	switch {
	case s.bad() || n != nil && (n.bad || n.open) || o.Quarantine:
	case n == nil && !slices.Contains(relations, o.Name):
		l.add(o.Pos, s.at+" has no step or input of its name", hintFrom(o.Name, relations))
	case n == nil:
		o.From = o.Name
	case strings.Contains(n.text, "."):
		l.at(n, s.at+".from: an output writes a relation of its own task", "read it as an input: inputs: {NAME: {from: "+n.text+"}}")
	case !slices.Contains(relations, n.text):
		l.at(n, s.at+".from: there is no step or input "+quote(n.text)+" in the task", DidYouMean(n.text, relations))
	}
}

func hintFrom(name string, relations []string) string {
	hint := DidYouMean(name, relations)
	if hint == "" {
		return "say which with from:"
	}
	return hint + "; say which with from:"
}

// folder is a place of the pipeline that must lie apart from others.
type folder struct {
	path string
	what string
	pos  problem.Pos
	task string
}

// checkFolders refuses outputs inside each other or the ledger: a reader of one would see the other's files. Two tasks
// that write to one folder are a question of their order, which is not known here.
func (l *loader) checkFolders(p *Pipeline) {
	var folders []folder
	if p.Ledger.Path != "" {
		folders = append(folders, folder{p.Ledger.Path, "the ledger", p.Ledger.Pos, ""})
	}
	if state := (folder{p.State.Path, "the run state", p.State.Pos, ""}); p.State.Path != "" && p.State.Path != filepath.Join(p.Ledger.Path, stateFolder) &&
		(p.Ledger.Path == "" || !l.overlap(state, folders[0])) {
		folders = append(folders, state)
	}
	for _, t := range p.Tasks {
		for _, o := range t.Outputs {
			if o.Path == "" {
				continue
			}
			this := folder{o.Path, "tasks." + t.Name + ".outputs." + o.Name, o.PathPos, t.Name}
			if !slices.ContainsFunc(folders, func(other folder) bool { return l.overlap(this, other) }) {
				folders = append(folders, this)
			}
		}
	}
}

// overlap reports two folders of which one is, or lies in, the other.
func (l *loader) overlap(a, b folder) bool {
	there := b.what
	if b.pos.Line > 0 {
		there += " at " + b.pos.String()
	}
	const hint = "give each a folder of its own"
	switch {
	case a.path == b.path && b.task != "" && a.task != b.task:
		return false
	case a.path == b.path:
		l.add(a.pos, a.what+" writes to the same folder as "+there, hint)
	case inside(a.path, b.path):
		l.add(a.pos, a.what+" writes to a folder inside that of "+there, hint)
	case inside(b.path, a.path):
		l.add(a.pos, a.what+" writes to a folder around that of "+there, hint)
	default:
		return false
	}
	return true
}

// inside tells whether a lies below b; both are clean and absolute.
func inside(a, b string) bool {
	rel, err := filepath.Rel(b, a)
	return err == nil && rel != "." && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}
