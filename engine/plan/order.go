package plan

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ubunye-io/ubunye/engine/config"
	"github.com/ubunye-io/ubunye/engine/problem"
)

// After is a task that is done before another one begins.
type After struct {
	Task  string
	Needs bool // the other one reads its output: it is cancelled if this one fails
}

// order gives the tasks in the order in which they run, and for each those that are done before it begins.
//
// A task runs after those that it reads from, and else in the order of the file. In that order, two of which one reads
// by path where the other one writes do not run side by side: the later one waits. So what a path finds does not depend
// on how many tasks run at once: a reader that comes later finds what the writer has landed, and one that comes earlier
// (it reads yesterday's rows) finds it without. The path is compared as it is written: folders that are links to others
// are not followed.
func order(all []config.Task) (tasks []config.Task, after [][]After) {
	tasks = sorted(all)
	after = make([][]After, len(tasks))
	for j, later := range tasks {
		for i, earlier := range tasks[:j] {
			needs := reads(later, earlier)
			if needs || reads(earlier, later) {
				after[j] = append(after[j], After{Task: tasks[i].Name, Needs: needs})
			}
		}
	}
	return tasks, after
}

// sorted puts every task behind those that it reads from, and otherwise keeps the order. There is no cycle.
func sorted(all []config.Task) (tasks []config.Task) {
	placed := map[string]bool{}
	for len(tasks) < len(all) {
		next := slices.IndexFunc(all, func(t config.Task) bool {
			return !placed[t.Name] && !slices.ContainsFunc(t.Inputs, func(in config.Input) bool { return in.From != nil && !placed[in.From.Task] })
		})
		placed[all[next].Name] = true
		tasks = append(tasks, all[next])
	}
	return tasks
}

// reads tells whether a task reads what another one writes, or may do so by a path.
func reads(reader, writer config.Task) bool {
	return slices.ContainsFunc(reader.Inputs, func(in config.Input) bool {
		if in.From != nil {
			return in.From.Task == writer.Name
		}
		return slices.ContainsFunc(writer.Outputs, func(o config.Output) bool { return reaches(in.Path, o.Path) })
	})
}

func elements(name string) []string {
	return strings.Split(strings.TrimSuffix(filepath.ToSlash(name), "/"), "/")
}

// reaches tells whether an input's path can name a file in a folder. A path without a pattern may name a folder, and
// stands for all files in it.
func reaches(in, folder string) bool {
	if in == "" { // it reads no files
		return false
	}
	pattern, below := elements(in), elements(folder)
	if !strings.ContainsAny(in, `*?[\`) {
		n := min(len(pattern), len(below))
		return slices.Equal(pattern[:n], below[:n])
	}
	if pattern[len(pattern)-1] == "**" {
		pattern = append(pattern, "*")
	}
	return matches(pattern, below)
}

// matches tells whether something is left of a pattern, to name files by, when it has named a folder.
func matches(pattern, folder []string) bool {
	switch {
	case len(pattern) == 0:
		return false
	case len(folder) == 0:
		return true
	case pattern[0] == "**":
		return matches(pattern[1:], folder) || matches(pattern, folder[1:])
	}
	is, err := path.Match(strings.ReplaceAll(pattern[0], "[!", "[^"), folder[0])
	return (is || err != nil || pattern[0] == folder[0]) && matches(pattern[1:], folder[1:])
}

// before tells, for each pair of tasks, whether one is done before the other begins, by way of others too.
func before(after [][]After, tasks []config.Task) func(a, b string) bool {
	index := map[string]int{}
	sets := make([]map[string]bool, len(tasks))
	for i, t := range tasks {
		index[t.Name], sets[i] = i, map[string]bool{}
		for _, a := range after[i] {
			sets[i][a.Task] = true
			for name := range sets[index[a.Task]] {
				sets[i][name] = true
			}
		}
	}
	return func(a, b string) bool { return sets[index[b]][a] }
}

// sharedFolders refuses two tasks that write to one folder unless both append, in one format, or one is done before the
// other begins: else what is there in the end would depend on which is faster.
func sharedFolders(tasks []config.Task, before func(a, b string) bool) (problems problem.List) {
	type place struct {
		task string
		o    config.Output
	}
	seen := map[string][]place{}
	for _, t := range tasks {
		for _, o := range t.Outputs {
			for _, other := range seen[o.Path] {
				if p := shared(other.o, o, before(other.task, t.Name)); p != "" && o.Path != "" {
					problems = append(problems, &problem.Problem{Code: problem.ConfigInvalid, Pos: o.PathPos, Task: t.Name, Output: o.Name,
						Message: fmt.Sprintf("it writes to the same folder as output %s of task %s at %s, %s", other.o.Name, other.task, other.o.PathPos, p),
						Hint:    "give each output a folder of its own"})
				}
			}
			seen[o.Path] = append(seen[o.Path], place{t.Name, o})
		}
	}
	return problems
}

// The modes that make a difference here.
const (
	appends    = "append"
	overwrites = "overwrite"
	partitions = "overwrite_partitions"
)

// shared says why two outputs of two tasks cannot have one folder; empty: they can.
func shared(first, second config.Output, ordered bool) string {
	replaced := second.Mode == overwrites // nothing of the first is left
	switch {
	case (first.Mode != appends || second.Mode != appends) && !ordered:
		return "one of the two replaces what is there, and neither reads what the other writes"
	case !replaced && (first.Format != second.Format || !slices.Equal(first.PartitionBy, second.PartitionBy)):
		return "in another format or with other partitions"
	}
	return ""
}

// ownFolders tells of inputs that read, by path, the folder which their task writes to. That is what an incremental merge
// does and cannot be refused, but only the author knows whether a rerun, which finds what it wrote before, gives the
// same rows. Where the path stays in partitions that are not the batch's own, nothing is to be said.
func ownFolders(t Task) (warnings problem.List) {
	for _, in := range t.Inputs {
		for _, o := range t.Targets {
			if in.From != nil || in.Path == "" || o.Path == "" || !reaches(in.Path, o.Path) || o.Mode != overwrites && otherSlice(in.Path, o.Output, t.Batch) {
				continue
			}
			var what string
			switch o.Mode {
			case appends:
				what = "a --rerun finds in it the rows of the batch that it is about to replace"
			case overwrites, partitions:
				what = "a run that ends between replacing it and its commit leaves the new rows, and the next one reads those"
			default:
				continue // where there is something to read, nothing is written
			}
			warnings = append(warnings, &problem.Problem{Code: problem.ConfigInvalid, Pos: in.PathPos, Task: t.Name, Output: o.Name,
				Message: fmt.Sprintf("input %s reads the folder that the output writes to: %s", in.Name, what),
				Hint:    "the SQL must give the same rows then; a path within other partitions than the batch's own is always safe"})
		}
	}
	return warnings
}

// otherSlice tells that a path lies in partitions of an output that have another value than the batch.
func otherSlice(in string, o config.Output, b Batch) bool {
	pattern, folder := elements(in), elements(o.Path)
	for i, column := range o.PartitionBy {
		at := len(folder) + i
		if at >= len(pattern) || slices.Contains(pattern[:at], "**") {
			return false
		}
		key, value, _ := strings.Cut(pattern[at], "=")
		if strings.ContainsAny(pattern[at], `*?[\`) || !strings.EqualFold(key, column) {
			continue
		}
		for name, own := range b.Variables {
			if strings.EqualFold(name, column) && own != "" && value != own {
				return true
			}
		}
	}
	return false
}
