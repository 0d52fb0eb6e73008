package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

var (
	writers = []string{"parquet", "csv", "json"}
	modes   = []string{"append", "rerun", "overwrite", "overwrite_partitions", "error_if_exists", "ignore", "tasks"}

	tables     = []string{"delta"} // writers whose targets have commits of their own
	tableModes = []string{"append", "replace_where", "overwrite", "merge"}
)

// adds tells whether a mode adds a batch to what is there; the others replace folders, or rows of a table.
func adds(mode string) bool {
	return !strings.HasPrefix(mode, "overwrite") && mode != "replace_where" && mode != "merge"
}

// table tells whether the target has commits of its own: they are seen whole, a moment before the batch is committed.
func (t target) table() bool { return slices.Contains(tables, t.writer) }

// once tells whether a mode writes only where there is no data: a run that finds some writes nothing.
func once(mode string) bool { return mode == "error_if_exists" || mode == "ignore" }

// What befalls a run.
const (
	kill    = "kill"    // it dies at an operation
	stop    = "stop"    // it is paused at an operation, and woken when another one has taken over
	noRoom  = "enospc"  // an operation fails: the disk is full
	lost    = "lost"    // an operation succeeds, and the run is told that it failed
	sigkill = "sigkill" // it is killed at a random moment between staging and the end
	pair    = "pair"    // two are started at once
	crowd   = "crowd"   // twenty are
)

var faults = []string{kill, stop, noRoom, lost, sigkill, pair, crowd}

// What is done then, before the last clean run.
const (
	takeover = "takeover" // the batch is started again
	rerun    = "rerun"    // with --rerun
	resume   = "resume"   // with --resume
	other    = "other"    // another batch of the pipeline is started first
	recovery = "recover"  // "ubunye recover" first
	fresh    = "fresh"    // of pair and crowd: nothing had run before them
	dead     = "dead"     // of pair and crowd: a run of the batch had died at a random operation before them
	days     = "days"     // of pair and crowd: half of them are of another batch
)

// thens are the ways on after each fault.
var thens = map[string][]string{
	kill: {takeover, resume, rerun, other, recovery}, stop: {takeover}, noRoom: {takeover}, lost: {takeover},
	sigkill: {takeover, resume, rerun, other, recovery}, pair: {fresh, dead, days}, crowd: {fresh, dead, days},
}

// scenario is one thing that is done and judged. Its text, with the seed, is all that it depends on.
type scenario struct {
	writer, mode, fault string
	at                  int // the operation, or the number of a random one, from 1
	then                string
}

func (s scenario) String() string {
	return fmt.Sprintf("%s/%s/%s:%d/%s", s.writer, s.mode, s.fault, s.at, s.then)
}

// row is what the scenarios of one row of the table have in common.
func (s scenario) row() row { return row{s.writer, s.mode, s.fault, s.then} }

type row struct{ writer, mode, fault, then string }

// target is a writer and a mode: what is prepared once and copied for each scenario.
type target struct{ writer, mode string }

func (s scenario) target() target { return target{s.writer, s.mode} }

func targets() (all []target) {
	for _, w := range writers {
		for _, m := range modes {
			all = append(all, target{w, m})
		}
	}
	for _, w := range tables {
		for _, m := range tableModes {
			all = append(all, target{w, m})
		}
	}
	return all
}

func parseScenario(text string) (scenario, error) {
	var s scenario
	f := strings.Split(text, "/")
	if len(f) != 4 {
		return s, fmt.Errorf("scenario %q: want writer/mode/fault:number/then", text)
	}
	fault, at, _ := strings.Cut(f[2], ":")
	n, err := strconv.Atoi(at)
	s = scenario{writer: f[0], mode: f[1], fault: fault, at: n, then: f[3]}
	if err != nil || n < 1 || !slices.Contains(targets(), s.target()) || !slices.Contains(thens[fault], s.then) {
		return s, fmt.Errorf("scenario %q: writers are %v with the modes %v and %v with %v, faults and what may follow %v", text, writers, modes, tables, tableModes, thens)
	}
	return s, nil
}

// counts say how much is done.
type counts struct {
	every           int // each fault strikes at every N-th operation
	points          int // or, if not 0, at so many operations chosen by the seed, each followed by one way on
	kills           int // random SIGKILLs
	pairs, crowds   int
	writer, mode, f string // only these, if not empty
	then            string // and only what is followed by this
	without         string // the way on that the program does not have yet
}

// plan lists the scenarios. operations counts those of a run of each target; draw gives numbers below n.
func (c counts) plan(operations map[target]int, draw func(n int) int) (all []scenario) {
	for _, t := range targets() {
		for _, fault := range []string{kill, stop, noRoom, lost} {
			n := operations[t] + 1
			if c.points > 0 {
				for range c.points {
					then := c.ways(fault, t)
					all = append(all, scenario{t.writer, t.mode, fault, 1 + draw(n), then[draw(len(then))]})
				}
				continue
			}
			for _, then := range c.ways(fault, t) {
				for at := 1 + draw(c.every); at <= n; at += c.every {
					all = append(all, scenario{t.writer, t.mode, fault, at, then})
				}
			}
		}
	}
	for fault, n := range map[string]int{sigkill: c.kills, pair: c.pairs, crowd: c.crowds} {
		all = append(all, c.spread(fault, n)...)
	}
	all = slices.DeleteFunc(all, func(s scenario) bool {
		return c.writer != "" && s.writer != c.writer || c.mode != "" && s.mode != c.mode || c.f != "" && s.fault != c.f || c.then != "" && s.then != c.then
	})
	slices.SortStableFunc(all, func(a, b scenario) int { return slices.Index(faults, a.fault) - slices.Index(faults, b.fault) })
	return all
}

// ways are the ways on after a fault that the program has. To resume a rerun would keep the batch that was to be written again, and
// to rerun what was added to a table adds it again.
func (c counts) ways(fault string, t target) []string {
	return slices.DeleteFunc(slices.Clone(thens[fault]), func(then string) bool {
		return then == c.without || then == resume && t.mode == rerun || then == rerun && t.table() && adds(t.mode)
	})
}

// spread gives n scenarios of a fault, over all targets and ways on in turn.
func (c counts) spread(fault string, n int) (all []scenario) {
	each := targets()
	for i := range n {
		t := each[i%len(each)]
		ways := c.ways(fault, t)
		then := ways[(i+i/len(each))%len(ways)]
		all = append(all, scenario{t.writer, t.mode, fault, i + 1, then})
	}
	return all
}
