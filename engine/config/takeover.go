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
	Program string // "python"
	Root    string // absolute folder of the other program's project
	Zone    string // in which its times are that have no zone; empty: this machine's
	Tasks   []ImportTask
	Batches []ImportBatch
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

// declareImport is the declaration of the file that says what is taken over.
func declareImport() *Field {
	return &Field{Kind: Object, Fields: []*Field{
		{Name: "from", Kind: Choice, Values: []string{"python"}, Required: true, Example: "python"},
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
	l := &loader{file: file, dir: filepath.Dir(abs), other: &otherFile{whole: "the file", holds: "it has from, root, tasks and batches"}}
	im := &Import{File: file}
	if root := l.parse(newSource(file, data)); root != nil {
		top := declareImport()
		batches := root.get("batches")
		root.entries = slices.DeleteFunc(root.entries, func(e entry) bool { return e.key == "batches" }) // no field is like it
		l.checkKeys(root, top, "")
		s := section{l, root, top, "", root.pos}
		l.importTasks(s, im)
		l.importBatches(s, batches, im)
	}
	if len(l.problems) > 0 {
		l.sort()
		return nil, l.problems
	}
	return im, nil
}

func (l *loader) importTasks(s section, im *Import) {
	im.Program, im.Root, im.Zone = s.text("from"), s.path("root"), s.text("time_zone")
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
