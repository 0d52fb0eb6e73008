package config

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// stateFolder is where the run state lies in the ledger, unless the pipeline says otherwise.
const stateFolder = "state"

// maxThreads is far above what helps, and below what a system refuses to start.
const maxThreads = 1024

// decode makes the typed pipeline of a rendered tree.
func (l *loader) decode(root *node, top *Field, vars *resolved) *Pipeline {
	s := section{l, root, top, "", root.pos}
	p := &Pipeline{Name: s.text("name"), File: l.file, Dir: l.dir, Profile: l.opts.Profile,
		Durability: s.text("durability"), Parallel: int(s.number("parallel")), Variables: vars.list}
	engine := s.sub("engine")
	p.Engine = Engine{Kind: engine.text("kind"), Memory: strings.ReplaceAll(engine.text("memory"), " ", ""),
		Threads: int(engine.number("threads")), Spill: engine.path("spill")}
	if n := engine.n.get("threads"); n != nil && !n.bad && p.Engine.Threads > maxThreads {
		l.at(n, fmt.Sprintf("engine.threads: %d is more than %d", p.Engine.Threads, maxThreads), "more threads than processors make a run slower")
	}
	if n := root.get("parallel"); n != nil && !n.bad && p.Parallel == 0 {
		l.at(n, "parallel wants at least 1", "")
	}
	l.ledger(s.sub("ledger"), p)
	state := s.sub("state")
	p.State = State{Path: state.path("path"), Strict: state.on("strict"), Recover: state.text("recover"), Index: state.on("index")}
	if n := state.n.get("path"); n != nil {
		p.State.Pos = n.pos
	} else if p.Ledger.Path != "" {
		p.State.Path = filepath.Join(p.Ledger.Path, stateFolder)
	}
	s.each("plugins", func(name string, in section) { p.Plugins = append(p.Plugins, l.plugin(name, in)) })
	l.plugins = p.Plugins
	s.each("connections", func(name string, in section) { p.Connections = append(p.Connections, l.connection(name, in)) })
	l.connections = p.Connections
	l.batch(s, p, vars.scope)
	s.each("tasks", func(name string, in section) { p.Tasks = append(p.Tasks, l.task(name, in)) })
	p.Plugins = l.plugins // and those that outputs have from the lock
	l.sources(root, p)
	l.batchless(s, p)
	l.checkFolders(p)
	for _, v := range p.Variables {
		if vars.scope.vars[v.Name].missing || vars.scope.needed[v.Name] || !v.Set && slices.Contains(p.Batch, v.Name) {
			p.Unset = append(p.Unset, v)
		}
	}
	return p
}

func (l *loader) ledger(s section, p *Pipeline) {
	p.Ledger = Ledger{Path: s.path("path"), Heartbeat: s.duration("heartbeat"), Timeout: s.duration("timeout")}
	if n := s.n.get("path"); n != nil {
		p.Ledger.Pos = n.pos
	}
	const intervals = 6
	if p.Ledger.Timeout == 0 || p.Ledger.Heartbeat == 0 || p.Ledger.Timeout/intervals >= p.Ledger.Heartbeat {
		return
	}
	n := s.n.get("timeout")
	if n == nil {
		n = s.n.get("heartbeat")
	}
	l.at(n, fmt.Sprintf("ledger.timeout is %s, which is less than six heartbeats of %s", p.Ledger.Timeout, p.Ledger.Heartbeat),
		"a run that misses a few heartbeats must not be taken for dead")
}

// batch reads the variables that make the batch.
func (l *loader) batch(s section, p *Pipeline, vars *scope) {
	p.Batch = s.texts("batch")
	if p.Batch == nil {
		return
	}
	n := s.n.get("batch")
	names := make([]string, len(p.Variables))
	for i, v := range p.Variables {
		names[i] = v.Name
	}
	for i, item := range n.items {
		if item.bad {
			continue
		}
		at := slices.Index(names, item.text)
		switch {
		case at < 0:
			l.at(item, "batch names "+quote(item.text)+", which is not a variable", DidYouMean(item.text, names))
		case slices.IndexFunc(n.items[:i], func(o *node) bool { return o.text == item.text }) >= 0:
			l.at(item, "batch names "+item.text+" twice", "remove one of the two")
		case !p.Variables[at].Set && !vars.vars[item.text].missing && !l.opts.AllowUnset:
			l.at(item, "the variable "+item.text+" makes the batch and has no value", "give "+howToGive(item.text, p.Variables[at].Type)+", or a default")
		}
	}
}

// task reads one task.
func (l *loader) task(name string, s section) Task {
	t := Task{Name: name, Pos: s.pos, Inputs: []Input{}, Steps: []Step{}, Outputs: []Output{}}
	s.each("inputs", func(name string, in section) {
		read := l.input(name, in)
		read.Incremental = l.incremental(read, in)
		t.Inputs = append(t.Inputs, read)
	})
	s.each("transform", func(name string, in section) { t.Steps = append(t.Steps, l.step(name, in)) })
	s.each("outputs", func(name string, in section) { t.Outputs = append(t.Outputs, l.output(name, in)) })
	relations := l.relations(s, t)
	l.expect(s, &t, relations)
	l.reconcile(s, &t)
	relations = append(relations, l.rejects(s, t)...)
	for i := range t.Outputs {
		o := &t.Outputs[i]
		l.source(s.sub("outputs").inner(o.Name), o, relations)
	}
	l.unwritten(s, t)
	t.Config = canonical(t)
	return t
}

// canonical gives Task.Config. The order of inputs and outputs means nothing, that of steps and columns does.
func canonical(t Task) []byte {
	t.Inputs, t.Outputs = slices.Clone(t.Inputs), slices.Clone(t.Outputs)
	slices.SortFunc(t.Inputs, func(a, b Input) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(t.Outputs, func(a, b Output) int { return strings.Compare(a.Name, b.Name) })
	data, _ := json.Marshal(t) // a Task holds nothing that JSON cannot express
	return data
}

func (l *loader) input(name string, s section) Input {
	in := Input{Name: name, Format: s.text("format"), Path: s.path("path"), Written: s.text("path"), Options: s.options("options"), OptionsAt: s.optionsAt("options"),
		OnEmpty: s.text("on_empty"), Pos: s.pos, PathPos: s.where("path")}
	l.from(&in, s)
	l.reads(&in, s)
	in.Rejects = l.inputRejects(s)
	columns, schema := s.n.get("columns"), s.n.get("schema")
	if columns == nil && s.n.get("from") == nil {
		in.Schema = s.text("schema")
	}
	if columns == nil || columns.bad {
		return in
	}
	if schema != nil && s.n.get("from") == nil {
		l.at(schema, s.at+" has columns and schema", "remove one of the two: with columns the files must have these")
	}
	f := s.f.member("columns")
	for _, e := range columns.entries {
		at := join(s.at, "columns."+e.key)
		if strings.Count(e.value.text, "(") > strings.Count(e.value.text, ")") && !e.value.bad {
			l.at(e.value, at+": "+quote(e.value.text)+" has an open parenthesis", `inside { } a comma ends the value: quote it, as in "decimal(18,2)"`)
		}
		if v, ok := l.scalar(e.value, f.Elem, at); ok {
			in.Columns = append(in.Columns, Column{Name: e.key, Type: v.text, Pos: e.pos, Open: e.value.open})
		}
	}
	return in
}

func (l *loader) output(name string, s section) Output {
	o := Output{Name: name, From: s.text("from"), Format: s.text("format"), Path: s.path("path"), Written: s.text("path"), Mode: s.text("mode"),
		PartitionBy: s.texts("partition_by"), SortBy: s.texts("sort_by"), Options: s.options("options"), OptionsAt: s.optionsAt("options"),
		SuccessFile: s.on("success_file"), TargetFileSize: s.number("target_file_size"), Keys: s.texts("keys"), ReplaceWhere: s.text("replace_where"), Schema: s.text("schema"),
		Pos: s.pos, FormatPos: s.where("format"), ModePos: s.where("mode"), PathPos: s.where("path")}
	l.pickWriter(&o, s)
	l.checkRows(o, s)
	if n := s.n.get("path"); n != nil && !n.bad && !n.open && strings.ContainsAny(n.text, "*?[") {
		l.at(n, s.at+".path: an output is a folder, not a glob", "write the folder without *, ? and [")
		o.Path = ""
	}
	if n := s.n.get("target_file_size"); n != nil && len(o.PartitionBy) > 0 {
		l.at(n, s.at+" has partition_by and target_file_size", "a partition is written as one file: remove target_file_size")
	}
	if by := s.n.get("partition_by"); o.Mode == "overwrite_partitions" && (by == nil || !by.bad && len(by.items) == 0) {
		l.at(s.n.get("mode"), s.at+" has mode overwrite_partitions and no partition_by", "name the columns in partition_by, or use mode overwrite")
	}
	seen := map[string]bool{}
	for i, c := range o.PartitionBy {
		if folded := strings.ToLower(c); seen[folded] {
			l.at(s.n.get("partition_by").items[i], s.at+".partition_by names "+quote(c)+" twice", "remove one of the two")
		} else {
			seen[folded] = true
		}
	}
	return o
}

// checkRows looks at what says which rows of a table are replaced.
func (l *loader) checkRows(o Output, s section) {
	keys, where := s.n.get("keys"), s.n.get("replace_where")
	switch {
	case o.Mode == "merge" && (keys == nil || !keys.bad && len(keys.items) == 0):
		l.at(s.n.get("mode"), s.at+" has mode merge and no keys", "name the columns that identify a row in keys")
	case keys != nil && o.Mode != "" && o.Mode != "merge":
		l.at(keys, s.at+" has keys, and its mode is "+o.Mode, "keys are for mode merge")
	}
	if where != nil && o.Mode != "" && o.Mode != "append" {
		l.at(where, s.at+" has replace_where, and its mode is "+o.Mode, "replace_where is for mode append")
	}
}
