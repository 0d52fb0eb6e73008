package config

import (
	"os"
	"path/filepath"
	"time"

	"github.com/ubunye-io/ubunye/engine/problem"
)

// Case says how a writer is tested: what its outputs need, and how what it writes is read by somebody else.
type Case struct {
	Dir     string            // absolute folder of the file, where Command runs
	Writer  string            // which of the module's writers; empty: the only one
	Options map[string]string // of every output
	Memory  int64             // bytes that the module may have
	Timeout time.Duration     // to stage one output
	Loses   []string          // texts and types that the format cannot keep, by the names of the kit
	SQL     string            // that gives the rows of a folder, whose place is {path}; empty: Command, or by the extension of the files
	Command []string          // a program that is given a folder as its last argument and prints the rows, a JSON object a line
}

// caseField is the declaration of a case file.
func caseField() *Field {
	return &Field{Kind: Object, Fields: []*Field{
		{Name: "writer", Kind: Text, Example: "excel"},
		{Name: "options", Kind: Map, Keys: Text, Elem: &Field{Kind: Option}, Example: "{widths: id=20 value=60}"},
		{Name: "memory", Kind: Bytes, Default: "64MiB"},
		{Name: "timeout", Kind: Duration, Default: "1m"},
		{Name: "loses", Kind: List, Elem: &Field{Kind: Text}, Example: "[empty, blanks]"},
		{Name: "read", Kind: Object, Fields: []*Field{
			{Name: "sql", Kind: Text, Example: "\"SELECT id, value FROM read_csv('{path}/*.tsv', all_varchar = true)\""},
			{Name: "command", Kind: List, Elem: &Field{Kind: Text}, Example: "[python3, read.py]"},
		}},
	}}
}

// DefaultCase is the case of a writer that needs no option and whose files everybody can read.
func DefaultCase() *Case { return loadCase(&loader{}, nil) }

// LoadCase reads a case file. The error is a problem.List of everything that is wrong.
func LoadCase(file string) (*Case, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, problem.List{{Code: problem.Usage, Pos: problem.Pos{File: file}, Cause: err, Message: "the case file cannot be read: " + reason(err),
			Hint: "it says what the writer's outputs need and how its files are read: ubunye plugin test --help"}}
	}
	abs, err := filepath.Abs(file)
	if err != nil {
		return nil, problem.List{{Code: problem.Failed, Message: "the working directory cannot be found: " + reason(err), Cause: err}}
	}
	l := &loader{file: file, dir: filepath.Dir(abs), other: &otherFile{whole: "the case", holds: "it says what the writer's outputs need and how its files are read"}}
	c := loadCase(l, l.parse(newSource(file, data)))
	if len(l.problems) > 0 {
		l.sort()
		return nil, l.problems
	}
	return c, nil
}

func loadCase(l *loader, root *node) *Case {
	top := caseField()
	if root != nil {
		l.check(root, top, "")
	}
	s := section{l: l, n: root, f: top}
	read := s.sub("read")
	if n := read.n.get("command"); n != nil && read.n.get("sql") != nil {
		l.at(n, "read.command stands beside read.sql", "the rows are read by one of them: remove the other")
	}
	return &Case{Dir: l.dir, Writer: s.text("writer"), Options: s.options("options"), Memory: s.number("memory"), Timeout: s.duration("timeout"), Loses: s.texts("loses"),
		SQL: read.text("sql"), Command: read.texts("command")}
}
