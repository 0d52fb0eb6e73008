package config

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/ubunye-io/ubunye/engine/problem"
)

// Import says what is taken over from another program, and how its names are called here.
type Import struct {
	File    string // as it was given
	Program string // "python" or "sdlb"
	Zone    string // in which its times are that have no zone; empty: this machine's

	// of python
	Root    string // absolute folder of the other program's project
	Tasks   []ImportTask
	Batches []ImportBatch

	// of sdlb
	State       string // absolute folder of its run state
	Application string // its name there; empty: that of the pipeline
	Marks       []ImportMark
}

// ImportMark is how far an input was read there.
type ImportMark struct {
	Task, Input string // here
	Object      string // what it reads, as it is called there
	Pos         problem.Pos
}

// ImportTask is one task of the pipeline, as it is called there.
type ImportTask struct {
	Name    string
	Task    string            // its name there, as usecase/package/task
	Outputs map[string]string // by the name of an output here: its name there, if that is another one
	Pos     problem.Pos
}

// ImportBatch is one batch, or those of all combinations of its variables' values.
type ImportBatch struct {
	Variables []ImportVariable // in the order of the file
	Pos       problem.Pos
}

// ImportVariable is a variable and the values that it has in turn.
type ImportVariable struct {
	Name   string
	Values []any        // texts, bools and int64s: the other program tells these apart
	Range  *ImportRange // nil: Values
	Pos    problem.Pos
}

// ImportRange is the values of a variable from one to another, as in Variable.Range.
type ImportRange struct {
	From, To string
	Every    Every
}

// declareImport is the declaration of the file that says what is taken over from a program.
func declareImport(program string) *Field {
	from := &Field{Name: "from", Kind: Choice, Values: []string{"python", "sdlb"}, Required: true, Example: "python"}
	if program == "sdlb" {
		return &Field{Kind: Object, Fields: []*Field{
			from,
			{Name: "state", Kind: Path, Required: true, Example: "../sdlb/state"},
			{Name: "application", Kind: Text, Example: "shop"},
			{Name: "time_zone", Kind: Text, Example: "Europe/Zurich"},
			{Name: "marks", Kind: Map, Keys: Text, Required: true, Elem: &Field{Kind: Text}, Example: "{clean_orders.raw: ext-orders}"},
		}}
	}
	return &Field{Kind: Object, Fields: []*Field{
		from,
		{Name: "root", Kind: Path, Required: true, Example: "../old-project"},
		{Name: "time_zone", Kind: Text, Example: "Europe/Zurich"},
		{Name: "tasks", Kind: Map, Keys: Name, Required: true, Example: "{clean_orders: {task: sales/etl/clean_orders, outputs: {clean: orders}}}",
			Elem: &Field{Kind: Object, Short: "task", Fields: []*Field{
				{Name: "task", Kind: Text, Required: true, Example: "sales/etl/clean_orders"},
				{Name: "outputs", Kind: Map, Keys: Name, Elem: &Field{Kind: Text}, Example: "{clean: orders}"},
			}}},
		{Name: "batches", Kind: Scalar, Required: true, Example: "[{dt: 2026-01-01}, {dt: {from: 2026-01-02, to: 2026-01-31}, region: [eu, us]}]"},
	}}
}

// LoadImport reads a file that says what is taken over. The error is a problem.List of everything that is wrong.
func LoadImport(file string) (*Import, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, problem.List{{Code: problem.Usage, Pos: problem.Pos{File: file}, Cause: err, Message: "the file cannot be read: " + reason(err),
			Hint: "it says which tasks and batches are taken over: ubunye state import --help"}}
	}
	abs, err := filepath.Abs(file)
	if err != nil {
		return nil, problem.List{{Code: problem.Failed, Message: "the working directory cannot be found: " + reason(err), Cause: err}}
	}
	l := &loader{file: file, dir: filepath.Dir(abs), other: &otherFile{whole: "the file", holds: "it says from which program, and what is taken over"}}
	im := &Import{File: file}
	if root := l.parse(newSource(file, data)); root != nil {
		program := ""
		if n := root.get("from"); n != nil {
			program = n.text
		}
		top := declareImport(program)
		batches := root.get("batches")
		if top.member("batches") != nil {
			root.entries = slices.DeleteFunc(root.entries, func(e entry) bool { return e.key == "batches" }) // no field is like it
		}
		l.checkKeys(root, top, "")
		s := section{l, root, top, "", root.pos}
		im.Program, im.Zone = s.text("from"), s.text("time_zone")
		if program == "sdlb" {
			l.importMarks(s, im)
		} else {
			l.importTasks(s, im)
			l.importBatches(s, batches, im)
		}
	}
	if len(l.problems) > 0 {
		l.sort()
		return nil, l.problems
	}
	return im, nil
}

func (l *loader) importTasks(s section, im *Import) {
	im.Root = s.path("root")
	s.each("tasks", func(name string, in section) {
		t := ImportTask{Name: name, Task: in.text("task"), Outputs: in.options("outputs"), Pos: in.pos}
		if n := in.n.get("task"); n != nil && !n.bad && !threeNames.MatchString(t.Task) {
			l.at(n, in.at+".task: "+quote(t.Task)+" is not the name of a task there", "write it as usecase/package/task")
		}
		im.Tasks = append(im.Tasks, t)
	})
}

func (l *loader) importBatches(s section, n *node, im *Import) {
	switch {
	case n == nil:
		if !s.bad() {
			s.missing(s.f.member("batches"))
		}
	case n.bad:
	case n.kind != listNode:
		l.mismatch(n, s.f.member("batches"), "batches", listNode)
	case len(n.items) == 0:
		l.at(n, "batches is empty", "as in batches: "+s.f.member("batches").Example)
	default:
		for i, item := range n.items {
			im.Batches = append(im.Batches, l.importBatch(item, fmt.Sprintf("batches[%d]", i)))
		}
	}
}

func (l *loader) importMarks(s section, im *Import) {
	im.State, im.Application = s.path("state"), s.text("application")
	objects := s.options("marks")
	if objects == nil {
		if !s.bad() && s.n.get("marks") == nil {
			s.missing(s.f.member("marks"))
		}
		return
	}
	for _, e := range s.n.get("marks").entries {
		task, input, both := strings.Cut(e.key, ".")
		if !both || !isName(task) || !isName(input) {
			l.add(e.pos, quote(e.key)+" in marks names no input of a task", "write it as TASK.INPUT")
			continue
		}
		im.Marks = append(im.Marks, ImportMark{Task: task, Input: input, Object: objects[e.key], Pos: e.pos})
	}
}

// threeNames is the name of a task of the Python program: it is a path below its folder of leases.
var threeNames = regexp.MustCompile(`^[^/\s.][^/\s]*(/[^/\s.][^/\s]*){2}$`)

func (l *loader) importBatch(n *node, at string) ImportBatch {
	b := ImportBatch{Pos: n.pos}
	if n.bad {
		return b
	}
	if n.kind != mappingNode || len(n.entries) == 0 {
		l.at(n, at+" wants variables and their values, not "+n.what(), "as in {dt: 2026-01-01}")
		return b
	}
	for _, e := range n.entries {
		here := join(at, e.key)
		v := ImportVariable{Name: e.key, Pos: e.pos}
		switch e.value.kind {
		case listNode:
			for i, item := range e.value.items {
				v.Values = append(v.Values, l.importValue(item, fmt.Sprintf("%s[%d]", here, i)))
			}
			if len(v.Values) == 0 {
				l.at(e.value, here+" is empty", "list its values, or remove it")
			}
		case mappingNode:
			v.Range = l.importRange(e.value, here)
		default:
			v.Values = []any{l.importValue(e.value, here)}
		}
		b.Variables = append(b.Variables, v)
	}
	return b
}

// importValue reads a value as YAML has it, because the other program's key of the batch depends on its kind; but dates
// are text.
func (l *loader) importValue(n *node, at string) any {
	switch {
	case n.bad:
	case n.kind != scalarNode:
		l.mismatch(n, &Field{}, at, scalarNode)
	case n.tag == tagText, n.tag == tagTime:
		return n.text
	case n.tag == tagBool:
		return strings.EqualFold(n.text, "true")
	case n.tag == tagInt && plainInt.MatchString(n.text):
		if v, err := strconv.ParseInt(n.text, 10, 64); err == nil {
			return v
		}
		fallthrough
	default:
		l.at(n, at+": "+quote(n.text)+" can be spelled in several ways", "quote it if it was text there")
	}
	return nil
}

func (l *loader) importRange(n *node, at string) *ImportRange {
	f := &Field{Kind: Object, Fields: []*Field{
		{Name: "from", Kind: Value, Required: true, Example: "2026-01-01"},
		{Name: "to", Kind: Value, Required: true, Example: "2026-01-31"},
		{Name: "every", Kind: Choice, Values: []string{string(EveryHour), string(EveryDay), string(EveryWeek), string(EveryMonth)}},
	}}
	l.check(n, f, at)
	s := section{l, n, f, at, n.pos}
	return &ImportRange{From: s.text("from"), To: s.text("to"), Every: Every(s.text("every"))}
}
