// Command torture starts, kills, pauses and races the built program, hundreds and thousands of times, while a reader of
// another tool looks at the output all the time, and writes what it found to docs/torture.md. Use `make torture`.
//
// It finds a run that loses a row, doubles one or shows one before its batch is committed; see judge.go. play.go
// has what is done in a scenario, scenario.go what the scenarios are.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

func main() {
	o := options{out: os.Stdout}
	flag.IntVar(&o.every, "every", 1, "each fault strikes at every N-th operation")
	flag.IntVar(&o.points, "points", 0, "if not 0: only at so many operations, drawn, each followed by one way on")
	flag.IntVar(&o.kills, "kills", 1000, "random SIGKILLs")
	flag.IntVar(&o.pairs, "pairs", 1000, "pairs started at once")
	flag.IntVar(&o.crowds, "crowds", 50, "crowds of 20 started at once")
	flag.StringVar(&o.writer, "writer", "", "only this writer")
	flag.StringVar(&o.mode, "mode", "", "only this mode")
	flag.StringVar(&o.f, "fault", "", "only this fault")
	flag.StringVar(&o.then, "then", "", "only what is followed by this")
	flag.StringVar(&o.only, "only", "", "play this scenario alone")
	flag.Uint64Var(&o.seed, "seed", uint64(time.Now().UnixNano()), "what is drawn follows from it")
	flag.IntVar(&o.workers, "workers", runtime.NumCPU()+1, "scenarios at a time; those that wait for a timeout run four times as many")
	flag.StringVar(&o.page, "page", "", "the page to write; with -only none is written")
	flag.StringVar(&o.program, "program", "bin/ubunye-fault", "the program, built with fault injection")
	flag.Parse()
	if _, err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "torture:", err)
		os.Exit(1)
	}
}

// options are the flags.
type options struct {
	counts
	only          string
	seed          uint64
	workers       int
	page, program string
	out           io.Writer
}

// run does what the flags say, from the root of the source. Any scenario that goes wrong is an error.
func run(o options) (page, error) {
	began := time.Now()
	if err := os.MkdirAll(".build", 0o777); err != nil {
		return page{}, err
	}
	work, err := os.MkdirTemp(abs(".build"), "torture-")
	if err != nil {
		return page{}, err
	}
	t := &torture{options: o, work: work, models: map[target]*model{}}
	t.program = abs(o.program)
	if t.recovers = hasVerb(t.program, recovery); !t.recovers {
		t.without = recovery
	}
	fmt.Fprintf(o.out, "seed %d, in %s\n", o.seed, work)
	if err := t.prepare(); err != nil {
		return page{}, err
	}
	all, err := t.scenarios()
	if err != nil {
		return page{}, err
	}
	results, err := t.all(all)
	if err != nil {
		return page{}, err
	}
	p := page{options: t.options, models: t.models, results: results, took: time.Since(began)}
	fmt.Fprint(o.out, p.summary())
	if o.page != "" && o.only == "" {
		if err := os.WriteFile(o.page, []byte(p.text()), 0o666); err != nil {
			return p, err
		}
	}
	if bad := p.bad(); bad > 0 {
		return p, fmt.Errorf("%d of %d scenarios went wrong; what they left is in %s", bad, len(results), work)
	}
	return p, os.RemoveAll(work)
}

// bad counts the scenarios that went wrong.
func (p page) bad() (n int) {
	for _, r := range p.results {
		if !r.clean() {
			n++
		}
	}
	return n
}

// hasVerb tells whether the program knows a verb.
func hasVerb(program, verb string) bool {
	out, err := exec.Command(program, "help").Output()
	return err == nil && strings.Contains(string(out), "\n  "+verb+" ")
}

func abs(name string) string {
	path, err := filepath.Abs(name)
	if err != nil {
		return name
	}
	return path
}

// torture is one run of the command.
type torture struct {
	options
	work     string
	models   map[target]*model
	recovers bool

	mu            sync.Mutex // of results, of what is printed, and of these
	total, played int
	told          time.Time // when it was last told how many
}

// howFar is how often it is told how many scenarios have been played.
const howFar = time.Minute

// scenarios are those that the flags ask for.
func (t *torture) scenarios() ([]scenario, error) {
	if t.only != "" {
		s, err := parseScenario(t.only)
		return []scenario{s}, err
	}
	operations := map[target]int{}
	for k, m := range t.models {
		operations[k] = m.operations
	}
	random := rand.New(rand.NewPCG(t.seed, 0))
	all := t.plan(operations, random.IntN)
	if len(all) == 0 {
		return nil, errors.New("no scenario is left of what the flags ask for")
	}
	return all, nil
}

// prepare makes the models that are needed, one after the other, and counts the operations.
func (t *torture) prepare() error {
	w, err := t.worker("model")
	if err != nil {
		return err
	}
	defer w.watch.close()
	for _, k := range targets() {
		if s, err := parseScenario(t.only); t.only != "" && (err != nil || s.target() != k) {
			continue
		}
		if t.writer != "" && k.writer != t.writer || t.mode != "" && k.mode != t.mode {
			continue
		}
		m := &model{target: k, dir: filepath.Join(t.work, k.writer+"-"+k.mode)}
		if err := m.build(w); err != nil {
			return err
		}
		if err := m.trace(w); err != nil {
			return err
		}
		t.models[k] = m
		fmt.Fprintf(t.out, "%s %s: %d operations\n", k.writer, k.mode, m.operations)
	}
	return nil
}

func (t *torture) worker(name string) (*worker, error) {
	w := &worker{program: t.program, recovers: t.recovers, work: filepath.Join(t.work, name)}
	var err error
	w.watch, err = newWatcher(abs(".venv/bin/python"), abs("torture/watch.py"))
	if err != nil {
		return nil, err
	}
	return w, os.MkdirAll(w.work, 0o777)
}

// all plays the scenarios: first those that wait for a timeout, more at a time, then the others.
func (t *torture) all(all []scenario) ([]result, error) {
	t.total, t.told = len(all), time.Now()
	isStop := func(s scenario) bool { return s.fault == stop }
	waits := slices.DeleteFunc(slices.Clone(all), func(s scenario) bool { return !isStop(s) })
	results, err := t.some(waits, min(4*t.workers, len(waits)))
	if err != nil {
		return nil, err
	}
	more, err := t.some(slices.DeleteFunc(all, isStop), t.workers)
	return append(results, more...), err
}

// some plays scenarios by so many workers.
func (t *torture) some(all []scenario, workers int) ([]result, error) {
	next := make(chan scenario)
	failed := make(chan struct{})
	var once sync.Once
	var first error
	var results []result
	var group sync.WaitGroup
	for i := range workers {
		group.Go(func() {
			err := t.toil(fmt.Sprint(i), next, func(r result) { results = append(results, r) })
			if err != nil {
				once.Do(func() { first = err; close(failed) })
			}
		})
	}
feed:
	for _, s := range all {
		select {
		case next <- s:
		case <-failed:
			break feed
		}
	}
	close(next)
	group.Wait()
	return results, first
}

// replay is the command that plays a scenario alone.
func (t *torture) replay(s scenario) string {
	more := ""
	if t.options.program != abs("bin/ubunye-fault") {
		more = " -program " + t.options.program
	}
	return fmt.Sprintf("go run ./torture -seed %d -only %s%s", t.seed, s, more)
}

// toil is one worker. What it has played it tells under the lock.
func (t *torture) toil(name string, next <-chan scenario, done func(result)) error {
	w, err := t.worker(name)
	if err != nil {
		return err
	}
	defer w.watch.close()
	for s := range next {
		r, err := w.play(t.models[s.target()], s, t.seed)
		if err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
		t.mu.Lock()
		done(r)
		if t.played++; time.Since(t.told) > howFar {
			t.told = time.Now()
			fmt.Fprintf(t.out, "%d of %d scenarios played\n", t.played, t.total)
		}
		if !r.clean() {
			fmt.Fprintf(t.out, "WRONG %s: %s\n  %s\n", s, r.verdict, t.replay(s))
		}
		t.mu.Unlock()
	}
	return nil
}
