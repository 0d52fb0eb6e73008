package main

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"
)

// page is what the command tells of a run of it.
type page struct {
	options
	models  map[target]*model
	results []result
	took    time.Duration
}

// line is a row of the table.
type line struct {
	row
	scenarios, struck    int
	steps                map[string]int
	lost, doubled, early int
	broken               int // scenarios with something else wrong
	stray                int // woken runs that left a staging folder
	looks, torn          int
	took                 time.Duration
}

// lines sums the results up, in the order of the table.
func (p page) lines() (all []*line) {
	at := map[target]map[int]string{} // the step that an operation belongs to, as the kills found it
	for _, r := range p.results {
		if r.fault == kill && r.step != "" {
			if at[r.target()] == nil {
				at[r.target()] = map[int]string{}
			}
			at[r.target()][r.at] = r.step
		}
	}
	found := map[row]*line{}
	for _, r := range p.results {
		l := found[r.row()]
		if l == nil {
			l = &line{row: r.row(), steps: map[string]int{}}
			found[r.row()] = l
			all = append(all, l)
		}
		l.scenarios++
		if r.struck {
			l.struck++
			step := r.step
			if step == "" && (r.fault == noRoom || r.fault == lost) {
				step = at[r.target()][r.at]
			}
			l.steps[step]++
		}
		l.lost, l.doubled, l.early = l.lost+r.lost, l.doubled+r.doubled, l.early+r.early
		if len(r.broken) > 0 {
			l.broken++
		}
		if r.stray {
			l.stray++
		}
		l.looks, l.torn, l.took = l.looks+r.looks, l.torn+r.torn, l.took+r.took
	}
	slices.SortFunc(all, func(a, b *line) int { return slices.Compare(a.order(), b.order()) })
	return all
}

func (l *line) order() []int {
	return []int{slices.Index(targets(), target{l.writer, l.mode}), slices.Index(faults, l.fault), slices.Index(thens[l.fault], l.then)}
}

// total sums all lines up.
func (p page) total() (t line) {
	for _, l := range p.lines() {
		t.scenarios, t.struck = t.scenarios+l.scenarios, t.struck+l.struck
		t.lost, t.doubled, t.early, t.broken = t.lost+l.lost, t.doubled+l.doubled, t.early+l.early, t.broken+l.broken
		t.stray += l.stray
		t.looks, t.torn, t.took = t.looks+l.looks, t.torn+l.torn, t.took+l.took
	}
	return t
}

// summary is for the terminal.
func (p page) summary() string {
	t := p.total()
	return fmt.Sprintf("%d scenarios, of which %d met their fault: %d rows lost, %d doubled, %d early, %d scenarios with anything else wrong; %d woken runs left a staging folder; %d looks (%d torn ones taken again); %s\n",
		t.scenarios, t.struck, t.lost, t.doubled, t.early, t.broken, t.stray, t.looks, t.torn, p.took.Round(time.Second))
}

// text is the page.
func (p page) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Torture\n\nWritten by `make torture`; do not edit.\n\n%s, %s, %d processors, %s.\n\n    %s\n\n", time.Now().Format(time.DateOnly), cpu(), runtime.NumCPU(), runtime.Version(), p.command())
	fmt.Fprintf(&b, "**%s**\n\n", strings.TrimSuffix(p.summary(), "\n"))
	b.WriteString(explained)
	if p.without != "" {
		fmt.Fprintf(&b, "* Not done: %s. The program that was tortured has no such verb.\n", p.without)
	}
	b.WriteString("\n| writer | mode | operations of a run |\n| --- | --- | --- |\n")
	for _, k := range targets() {
		if m := p.models[k]; m != nil {
			fmt.Fprintf(&b, "| %s | %s | %d |\n", k.writer, k.mode, m.operations)
		}
	}
	fmt.Fprintf(&b, "\n| writer | mode | fault | then | scenarios | met it | %s | lost | doubled | early | other | looks | time |\n|%s\n", strings.Join(steps, " | "), strings.Repeat(" --- |", 12+len(steps)))
	for _, l := range p.lines() {
		hits := make([]string, len(steps))
		for i, s := range steps {
			hits[i] = fmt.Sprint(l.steps[s])
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %d | %d | %s | %d | %d | %d | %d | %d | %s |\n", l.writer, l.mode, l.fault, l.then, l.scenarios, l.struck, strings.Join(hits, " | "),
			l.lost, l.doubled, l.early, l.broken, l.looks, l.took.Round(100*time.Millisecond))
	}
	for _, r := range p.results {
		if !r.clean() {
			fmt.Fprintf(&b, "\n* WRONG `%s`: %s\n", r.scenario, r.verdict)
		}
	}
	return b.String()
}

// command is the one that does the same.
func (p page) command() string {
	text := fmt.Sprintf("go run ./torture -every %d -points %d -kills %d -pairs %d -crowds %d -seed %d", p.every, p.points, p.kills, p.pairs, p.crowds, p.seed)
	for _, only := range [][2]string{{"writer", p.writer}, {"mode", p.mode}, {"fault", p.f}, {"then", p.then}} {
		if only[1] != "" {
			text += " -" + only[0] + " " + only[1]
		}
	}
	return text
}

func cpu() string {
	data, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(data)) {
		if name, value, _ := strings.Cut(line, ":"); strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}

const explained = `Whole processes of the built program. In each scenario a run meets a fault, then come the way on and one more run of the batch. Then the rows
of the output, read by pyarrow or Python, a Delta table by delta-rs and by DuckDB over the files that its log names, are those of the input, read by Python; the files of others and of other batches are
unchanged; nothing is held, listed or staged, and no data file is there that nobody names. A second process reads the output all the time, and once more after each process: it sees no row before its batch is committed
(folders that are replaced, and tables: before that was announced), each row once, and never fewer than there were.

* **mode**: rerun is an append that was finished, run again with --rerun over a corrected input. error_if_exists and ignore write to an empty folder. tasks is an append
  by the first of three tasks: one more copies what it wrote, and one reads notes; of these the rows are judged at the end, and the run state: no run is unfinished. Each other
  output held rows of another batch before. Of Delta tables replace_where and merge replace rows: those of the day, and one with the key of a new one.
* **fault**: *kill* SIGKILL before operation 1 … N+1; *stop* SIGSTOP there, its heartbeat made old, the batch run by another, SIGCONT; *enospc* no room for that operation;
  *lost* it succeeds and the run is told that it failed; *sigkill* SIGKILL at a random moment after the first staging folder was made; *pair* and *crowd*: 2 and 20 processes started at once.
* **then**: *takeover* the batch is started again; *rerun* with --rerun; *resume* with --resume; *other* another batch first; *recover* "ubunye recover" first. Of pair and crowd: *fresh* nothing ran before, *dead* a run had been killed at a random operation,
  *days* half of them are of another batch.
* **met it**: the others had ended before; they do not count. By the step that the documents name right after it: *begin* not held yet, *held*, *staging*, *exchange* announced, *landing* committed, *end* landed. Of enospc and lost, the step that a kill at the
  same operation hit.
* **lost**, **doubled**, **early**: rows, of the worst moment of each scenario. **other**: scenarios with anything else wrong, as an exit code. **looks** at the output; those of which the listing changed meanwhile are taken again and not counted.
* **woken runs**: one that was paused after the document had named its staging folder and before it made it, makes it when it wakes up; nobody looks for it by then. It is never seen by readers; no document names it.
* **time**: of all scenarios of the row, of which several run at once.
`
