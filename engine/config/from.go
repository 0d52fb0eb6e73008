package config

import (
	"slices"
	"strings"
)

// InputFormats are the formats of files that inputs can have.
func InputFormats() []string {
	return slices.DeleteFunc(inputField().member("format").Values, func(f string) bool { return f == formatJDBC })
}

// from reads what another task's output an input reads, and refuses what cannot stand beside it. Whether there is such an
// output is seen when all tasks are there.
func (l *loader) from(in *Input, s section) {
	n := s.n.get("from")
	if n == nil || n.bad {
		return
	}
	in.PathPos = s.where("from")
	for _, f := range s.f.Fields {
		if beside := s.n.get(f.Name); f.Unless == "from" && beside != nil {
			l.at(beside, s.at+" has from and "+f.Name, "remove one of the two: what a task wrote is read as it was written")
		}
	}
	task, output, ok := strings.Cut(n.text, ".")
	if ok && isName(task) && isName(output) {
		in.From = &Source{Task: task, Output: output}
	}
}

// sources checks what the inputs read of other tasks.
func (l *loader) sources(root *node, p *Pipeline) {
	tasks := section{l, root.get("tasks"), declare().member("tasks"), "tasks", root.pos}
	for i := range p.Tasks {
		for j := range p.Tasks[i].Inputs {
			in := &p.Tasks[i].Inputs[j]
			if n := tasks.n.get(p.Tasks[i].Name).get("inputs").get(in.Name).get("from"); n != nil && !n.bad {
				if !l.resolved(p, i, in, n, tasks.bad()) {
					in.From = nil
				}
			}
		}
	}
	l.cycles(p)
	l.twoRanges(p)
}

// resolved finds the output that an input reads; it reports one that is not there, unless tasks are missing
// that were refused.
func (l *loader) resolved(p *Pipeline, task int, in *Input, n *node, missing bool) bool {
	at := "tasks." + p.Tasks[task].Name + ".inputs." + in.Name + ".from"
	var others []string
	for i, t := range p.Tasks {
		if i != task {
			others = append(others, t.Name)
		}
	}
	name, _, _ := strings.Cut(n.text, ".")
	other := slices.IndexFunc(p.Tasks, func(t Task) bool { return t.Name == name })
	switch {
	case in.From == nil:
		hint := "write the task and its output, as TASK.OUTPUT"
		if other >= 0 {
			hint = DidYouMean(name+"."+name, outputsOf(p.Tasks[other], name+"."))
		}
		l.at(n, at+": "+quote(n.text)+" is no output of a task", hint)
	case other < 0 && missing:
	case other < 0:
		l.at(n, at+": there is no task "+quote(name), DidYouMean(name, others))
	case other == task:
		l.at(n, at+": the task would read what it writes itself", "its steps and outputs can use its other relations by their names")
	case !slices.Contains(outputsOf(p.Tasks[other], ""), in.From.Output):
		l.at(n, at+": the task "+name+" has no output "+quote(in.From.Output), DidYouMean(in.From.Output, outputsOf(p.Tasks[other], "")))
	default:
		return true
	}
	return false
}

func outputsOf(t Task, prefix string) []string {
	names := make([]string, len(t.Outputs))
	for i, o := range t.Outputs {
		names[i] = prefix + o.Name
	}
	return names
}

// cycles reports tasks that would wait for each other, each cycle once: at the input that leads back to the task of
// the cycle that comes first in the file.
func (l *loader) cycles(p *Pipeline) {
	done := map[string]bool{}
	var path []string // from a task to those that it reads
	var visit func(t Task)
	visit = func(t Task) {
		path = append(path, t.Name)
		for _, in := range t.Inputs {
			if in.From == nil || done[in.From.Task] {
				continue
			}
			if back := slices.Index(path, in.From.Task); back >= 0 {
				l.add(in.PathPos, "tasks."+t.Name+".inputs."+in.Name+".from: the tasks wait for each other: "+strings.Join(append(slices.Clone(path[back:]), in.From.Task), " reads "),
					"take one of them out of the circle")
				continue
			}
			visit(p.Tasks[slices.IndexFunc(p.Tasks, func(o Task) bool { return o.Name == in.From.Task })])
		}
		path = path[:len(path)-1]
		done[t.Name] = true
	}
	for _, t := range p.Tasks {
		if !done[t.Name] {
			visit(t)
		}
	}
}
