package config

import (
	"slices"
	"strings"
)

// incremental reads how an input that is read so far reads what is new; nil: it does not.
func (l *loader) incremental(in Input, s section) *Incremental {
	n := s.n.get("incremental")
	if n == nil || n.bad || s.n.get("from") != nil {
		return nil
	}
	of := s.sub("incremental")
	inc := &Incremental{Column: of.text("column"), Settle: of.duration("settle"), Pos: of.pos}
	column, files, settle := of.n.get("column"), of.n.get("files"), of.n.get("settle")
	of.text("files")
	switch {
	case of.bad():
		return nil
	case column == nil && files == nil:
		l.at(n, of.at+" says neither column nor files", "write {column: NAME} for rows with a value above those that were read, or {files: new} for files that were not")
		return nil
	case column != nil && files != nil:
		l.at(files, of.at+" has column and files", "remove one of the two")
		return nil
	case files != nil && !files.bad && in.Format == "delta":
		l.at(files, of.at+".files: which files a table has is its log's to say, and one may hold rows that were read", "read by a column, with {column: NAME}")
	case settle != nil && files == nil:
		l.at(settle, of.at+".settle is about files, and it reads by a column", "remove the key")
	case column != nil && !column.bad && strings.TrimSpace(inc.Column) == "":
		l.at(column, of.at+".column is empty", "name the column")
	case column != nil && in.Rejects != nil:
		l.at(column, of.at+".column: a row that is not as declared has no value of it to tell whether it was read, and the input has rejects", "read new files instead, with {files: new}, or remove rejects")
	}
	if files == nil {
		inc.Settle = 0
	}
	l.declaresColumn(in, inc, column, of.at)
	return inc
}

// declaresColumn looks that the column is among those that are declared, if any are.
func (l *loader) declaresColumn(in Input, inc *Incremental, n *node, at string) {
	if n == nil || n.bad || len(in.Columns) == 0 {
		return
	}
	names := make([]string, len(in.Columns))
	for i, c := range in.Columns {
		names[i] = c.Name
	}
	if !slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(name, inc.Column) }) {
		l.at(n, at+".column: "+quote(inc.Column)+" is not among the columns of the input", DidYouMean(inc.Column, names))
	}
}

// batchless refuses a batch without variables where a run would add again what an earlier one has added: only tasks that read what
// is new, or what others write in the same run, are another thing each time.
func (l *loader) batchless(s section, p *Pipeline) {
	n := s.n.get("batch")
	if n == nil || n.bad || len(n.items) > 0 || s.sub("tasks").bad() {
		return
	}
	for _, t := range p.Tasks {
		if !t.Incremental() && !slices.ContainsFunc(t.Inputs, func(in Input) bool { return in.From != nil }) {
			l.at(n, "batch is empty, so every run would be the same batch of task "+t.Name, "name a variable, or remove the key; only tasks that read incrementally, and those that read what they write, need none")
			return
		}
	}
}

// twoRanges refuses a task that reads on by itself and reads what another task that does so commits: a commit is replaced exactly
// when it read the same before, and these two can be read again one without the other.
func (l *loader) twoRanges(p *Pipeline) {
	reads := map[string][]string{}
	incremental := map[string]bool{}
	for _, t := range p.Tasks {
		incremental[t.Name] = t.Incremental()
		for _, in := range t.Inputs {
			if in.From != nil {
				reads[t.Name] = append(reads[t.Name], in.From.Task)
			}
		}
	}
	var follows func(task string, seen map[string]bool) bool
	follows = func(task string, seen map[string]bool) bool {
		if incremental[task] || seen[task] { // a circle is told elsewhere
			return incremental[task]
		}
		seen[task] = true
		return slices.ContainsFunc(reads[task], func(source string) bool { return follows(source, seen) })
	}
	for _, t := range p.Tasks {
		for _, in := range t.Inputs {
			if t.Incremental() && in.From != nil && follows(in.From.Task, map[string]bool{}) {
				l.add(in.PathPos, "tasks."+t.Name+".inputs."+in.Name+".from: the task reads on by itself (incremental), and what task "+in.From.Task+" writes goes on too, so that one could be read again without the other",
					"have one task for each, and join what they wrote in a third one")
			}
		}
	}
}
