package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ubunye-io/ubunye/engine/problem"
)

// Options are what a run adds to the pipeline file.
type Options struct {
	Vars     map[string]string // --var NAME=VALUE
	Dt       *string           // --dt; nil: not given. The same as Vars["dt"]
	Dtf      *string           // --dtf; nil: not given. The same as Vars["dtf"]
	Profile  string            // --profile; empty: none
	Settings map[string]any    // flags that set a field, by its dotted path, as "parallel" or "engine.memory"
	Env      func() []string   // the environment as NAME=VALUE; nil: os.Environ

	// AllowUnset lets variables that must have a value have none, to check a file by itself: see Pipeline.Unset.
	AllowUnset bool
	// Locked are the plugins that the lock beside the file pins.
	Locked []Locked
	// Varying names a variable that counts as a required one, because it is to have one value after another. It need not
	// be declared.
	Varying string
}

// Load reads the pipeline file and gives it as a run with these options sees it. The error is a
// problem.List of everything that is wrong, in the order of the file.
func Load(file string, o Options) (*Pipeline, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		hint := "name it with -c FILE"
		if errors.Is(err, fs.ErrPermission) {
			hint = "give this user the right to read it"
		}
		return nil, problem.List{{Code: problem.Usage, Pos: problem.Pos{File: file}, Cause: err,
			Message: "the pipeline file cannot be read: " + reason(err), Hint: hint}}
	}
	return load(file, data, o)
}

// loader carries what the stages share.
type loader struct {
	file    string
	dir     string // absolute folder of file
	opts    Options
	env     map[string]string
	plugins []Plugin // once they are decoded

	connections []Connection // the same
	problems    problem.List

	other *otherFile // nil: it is a pipeline file
}

// otherFile says of a file that is no pipeline how it is called and what is in it.
type otherFile struct{ whole, holds string }

// whole is what the file is called where something of it as a whole is missing.
func (l *loader) whole() string {
	if l.other != nil {
		return l.other.whole
	}
	return "the pipeline"
}

// holds is what must be in the file.
func (l *loader) holds() string {
	if l.other != nil {
		return l.other.holds
	}
	return "a pipeline has a name and tasks"
}

func load(file string, data []byte, o Options) (*Pipeline, error) {
	abs, err := filepath.Abs(file)
	if err != nil {
		return nil, problem.List{{Code: problem.Failed, Message: "the working directory cannot be found: " + reason(err), Cause: err}}
	}
	l := &loader{file: file, dir: filepath.Dir(abs), opts: o, env: environment(o.Env)}
	p := l.pipeline(newSource(file, data))
	if len(l.problems) > 0 {
		l.sort()
		return nil, l.problems
	}
	return p, nil
}

// pipeline runs the stages. Each goes as far as it can with what the earlier ones left, so that all problems
// are found at once; what has been reported is marked bad and passed over.
func (l *loader) pipeline(src *source) *Pipeline {
	root := l.parse(src)
	if root == nil {
		return nil
	}
	top := declare()
	l.check(root, top, "")
	root = l.profile(root)
	l.settings(root, top)
	vars := l.variables(root, top)
	l.renderAll(root, top, vars.scope)
	return l.decode(root, top, vars)
}

// environment turns NAME=VALUE into a map.
func environment(environ func() []string) map[string]string {
	if environ == nil {
		environ = os.Environ
	}
	env := map[string]string{}
	for _, kv := range environ() {
		if k, v, ok := strings.Cut(kv, "="); ok {
			env[k] = v
		}
	}
	return env
}

func (l *loader) add(pos problem.Pos, message, hint string) {
	l.problems = append(l.problems, &problem.Problem{Code: problem.ConfigInvalid, Pos: pos, Message: message, Hint: hint})
}

// usage reports a mistake in how the program was called.
func (l *loader) usage(message, hint string) {
	l.problems = append(l.problems, &problem.Problem{Code: problem.Usage, Message: message, Hint: hint})
}

// at reports a problem with a value, wherever it came from.
func (l *loader) at(n *node, message, hint string) {
	n.bad = true
	if n.from != "" {
		l.usage(n.from+": "+message, hint)
		return
	}
	l.add(n.pos, message, hint)
}

// sort puts problems into the order of the pipeline file; those of other files follow, and those
// without a place come last. What an alias or a default made be found twice is kept once.
func (l *loader) sort() {
	rank := func(p *problem.Problem) int {
		switch p.Pos.File {
		case l.file:
			return 0
		case "":
			return 2
		}
		return 1
	}
	slices.SortStableFunc(l.problems, func(a, b *problem.Problem) int {
		if d := rank(a) - rank(b); d != 0 {
			return d
		}
		if d := strings.Compare(a.Pos.File, b.Pos.File); d != 0 {
			return d
		}
		if d := a.Pos.Line - b.Pos.Line; d != 0 {
			return d
		}
		return a.Pos.Col - b.Pos.Col
	})
	l.problems = slices.CompactFunc(l.problems, func(a, b *problem.Problem) bool {
		return a.Pos == b.Pos && a.Message == b.Message
	})
}

// reason is what the operating system said, without the path that the message names anyway.
func reason(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}
