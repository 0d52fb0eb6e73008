// Package kit proves or refutes what a writer says of itself. It runs real pipelines in processes of their own, ends them
// where it hurts, runs them again, and has the result read by somebody else than the writer: DuckDB, by SQL of the writer's
// author, or a program of theirs. What of that a mode has passed is the delivery class that it has earned.
//
// # Reading the source
//
//  1. checks.go: the list of what is checked; data.go: the rows that it is checked with.
//  2. modes.go: what is checked for each mode of outputs.
//  3. process.go: a run in a process of its own; rehearse.go: the other end of it.
//  4. read.go: what landed, as somebody else reads it.
//
// Classes of writers that commit by themselves (once) have no checks of their own yet: such a mode earns named. A mode's checks
// are found by its name and class in modeChecks; a run of the kit pins the module in a lock of its own, with all its modes
// as earned, so that a class which an unpinned plugin may not have can be run here.
package kit

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/ubunye-io/ubunye/engine/abi"
	"github.com/ubunye-io/ubunye/engine/config"
	"github.com/ubunye-io/ubunye/engine/lockfile"
	"github.com/ubunye-io/ubunye/engine/problem"
	"github.com/ubunye-io/ubunye/engine/store/fsops"
	"github.com/ubunye-io/ubunye/engine/writer"
)

// Version is that of the checks: it grows when what was earned before may not be earned now.
const Version = 1

// Options say what is tested, and how.
type Options struct {
	Program string       // the program itself, to be run; an absolute path
	Module  string       // file of the module; empty: the built-in Writer
	Writer  string       // which of its writers; empty: the only one
	Case    *config.Case // what it needs
	Only    []string     // names of checks; none: all
	Points  int          // of a run, at most so many operations are killed at, or made to fail; 0: 12
	Scratch string       // a folder for it alone, which is there
	Now     func() time.Time
	Each    func(Result) // is given each result as soon as it is there; may be nil
}

// Outcome is how a check went.
type Outcome string

// The outcomes.
const (
	Passed  Outcome = "passed"   // what is promised was kept
	Failed  Outcome = "failed"   // it was not
	Skipped Outcome = "not run"  // a check that it builds on has failed, or another one was asked for
	Refused Outcome = "declined" // the writer refuses what is checked, and says so, before anything is seen: that keeps every promise
)

// Result is how one check went.
type Result struct {
	Check   string  `json:"check"`             // name of the check
	Mode    string  `json:"mode,omitempty"`    // the mode of outputs that it is about; absent: all
	Doc     string  `json:"doc"`               // what is checked, on one line
	Outcome Outcome `json:"outcome"`           // how it went
	Message string  `json:"message,omitempty"` // what was found; of one that passed: what the writer declines
	Seconds float64 `json:"seconds"`           // how long it took
}

// Earned is what a mode of the writer has shown.
type Earned struct {
	Mode     string    `json:"mode"`     // the mode of outputs
	Declared abi.Class `json:"declared"` // the delivery class that the writer declares
	Earned   abi.Class `json:"earned"`   // the one that it has shown; named: it did not keep what it declares
}

// Report is what the checks have shown of a writer.
type Report struct {
	Writer  string   `json:"writer"`  // name of the writer
	Version string   `json:"version"` // of the writer
	SHA256  string   `json:"sha256"`  // of the module
	Kit     int      `json:"kit"`     // version of the checks
	Checks  []Result `json:"checks"`  // in their order
	Modes   []Earned `json:"modes"`   // what each mode has earned; of a part of the checks none is
	Locked  []string `json:"locked"`  // names of the plugins in ubunye.lock that it was written down for
}

// Failed counts the checks that failed.
func (r Report) Failed() (n int) {
	for _, c := range r.Checks {
		if c.Outcome == Failed {
			n++
		}
	}
	return n
}

// Lock gives what was earned as the lock has it.
func (r Report) Lock() []lockfile.Earned {
	var all []lockfile.Earned
	for _, m := range r.Modes {
		all = append(all, lockfile.Earned{Mode: m.Mode, Class: string(m.Earned), Kit: r.Kit})
	}
	return all
}

// Names are those of all checks.
func Names() (names []string) {
	for _, c := range append(checks(), modeChecks()...) {
		names = append(names, c.name)
	}
	return names
}

// check is one thing that is held against a writer. do tells what is wrong, as an error; a *declined says that the writer refuses
// what is checked, a *noted what a person should know of one that passed. Any other error of the kit itself is of type *broken.
type check struct {
	name, doc string
	needs     []string // checks without which this one tells nothing
	do        func(ctx context.Context, k *kit, mode string) error
}

type declined struct{ why string }

func (d *declined) Error() string { return d.why }

type noted struct{ what string }

func (n *noted) Error() string { return n.what }

// broken is a failure of the kit, not of the writer.
type broken struct{ err error }

func (b *broken) Error() string { return b.err.Error() }
func (b *broken) Unwrap() error { return b.err }

func wrongf(format string, args ...any) error { return fmt.Errorf(format, args...) }

// kit is one test of a writer.
type kit struct {
	Options
	files   *fsops.FS
	host    *writer.Host
	module  writer.Module
	found   writer.Inspection
	writer  abi.Description
	runs    int             // runs that were made
	used    map[string]bool // capabilities that were used in any
	outcome map[string]Outcome
}

// Run makes the checks. The error says that they could not be made; what they have shown is in the report.
func Run(ctx context.Context, o Options) (*Report, error) {
	for _, name := range o.Only {
		if !slices.Contains(Names(), name) {
			return nil, &problem.Problem{Code: problem.Usage, Message: "there is no check " + name, Hint: config.DidYouMean(name, Names())}
		}
	}
	for _, name := range o.Case.Loses {
		if known := lossNames(); !slices.Contains(known, name) {
			return nil, &problem.Problem{Code: problem.Usage, Message: "loses: there is no text or type " + name + " among those that are tested", Hint: config.DidYouMean(name, known)}
		}
	}
	host, err := writer.New(writer.Config{})
	if err != nil {
		return nil, err
	}
	k := &kit{Options: o, files: fsops.New(nil), host: host, used: map[string]bool{}, outcome: map[string]Outcome{}}
	k.module = writer.Module{Name: k.Options.Writer, Path: o.Module, Writer: k.Options.Writer}
	if o.Module != "" {
		k.module.Name = filepath.Base(o.Module)
	}
	report := &Report{Kit: Version, Checks: []Result{}, Modes: []Earned{}, Locked: []string{}}
	for _, c := range checks() {
		if err := k.make(ctx, report, c, ""); err != nil {
			return nil, err
		}
	}
	for _, m := range k.writer.Modes {
		for _, c := range modeChecks() {
			if err := k.make(ctx, report, c, m.Name); err != nil {
				return nil, err
			}
		}
	}
	if len(k.writer.Modes) == 0 && len(report.Checks) > 0 && report.Checks[0].Outcome == Failed {
		report.Writer = k.module.Name
		return report, nil
	}
	report.Writer, report.Version, report.SHA256 = k.writer.Name, k.writer.Version, k.found.SHA256
	if len(o.Only) == 0 {
		report.Modes = k.earned(report.Checks)
	}
	return report, nil
}

// make makes one check, unless something that it builds on has failed.
func (k *kit) make(ctx context.Context, r *Report, c check, mode string) error {
	result := Result{Check: c.name, Mode: mode, Doc: c.doc, Outcome: Skipped}
	begun := k.Now()
	needed := len(k.Only) == 0 || slices.Contains(k.Only, c.name) || c.name == "fits"
	for _, name := range c.needs {
		o, known := k.outcome[name+" "+mode]
		if !known {
			o = k.outcome[name+" "]
		}
		if o == Failed || o == Skipped && len(k.Only) == 0 {
			result.Message, needed = "it needs "+name, false
		}
	}
	if needed {
		err := c.do(ctx, k, mode)
		var b *broken
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if errors.As(err, &b) {
			return b.err
		}
		result.Outcome, result.Message = judged(err)
	} else if len(k.Only) > 0 && result.Message == "" {
		return nil
	}
	k.outcome[c.name+" "+mode] = result.Outcome
	result.Seconds = k.Now().Sub(begun).Seconds()
	r.Checks = append(r.Checks, result)
	if k.Each != nil {
		k.Each(result)
	}
	return nil
}

func judged(err error) (Outcome, string) {
	var d *declined
	var n *noted
	switch {
	case err == nil:
		return Passed, ""
	case errors.As(err, &d):
		return Refused, d.why
	case errors.As(err, &n):
		return Passed, n.what
	}
	return Failed, err.Error()
}

// earned tells what each mode has shown: the class that it declares, if nothing that concerns it has failed or could not be checked.
func (k *kit) earned(results []Result) []Earned {
	all := []Earned{}
	for _, m := range k.writer.Modes {
		class, _ := k.writer.Class(m.Name, k.Case.Options)
		e := Earned{Mode: m.Name, Declared: class, Earned: class}
		if !checked(m.Name, class) {
			e.Earned = abi.ClassNamed
		}
		for _, r := range results {
			if (r.Mode == "" || r.Mode == m.Name) && (r.Outcome == Failed || r.Outcome == Skipped) {
				e.Earned = abi.ClassNamed
			}
		}
		all = append(all, e)
	}
	return all
}

// place puts the module into the scratch folder, pinned there as if it had earned all that it declares.
func (k *kit) place() error {
	if k.Options.Module == "" {
		return nil
	}
	wasm, err := os.ReadFile(k.Options.Module)
	if err != nil {
		return err
	}
	name := "kit.wasm"
	if err := k.files.WriteNew(filepath.Join(k.Scratch, name), wasm, 0o600); err != nil {
		return err
	}
	p := lockfile.Plugin{Name: format, Writer: k.writer.Name, Version: k.writer.Version, SHA256: k.found.SHA256, Path: name, Source: name}
	if slices.Contains(k.writer.Capabilities, abi.CapFiles) {
		p.Allow = []string{string(abi.CapFiles)}
	}
	for _, m := range k.writer.Modes {
		p.Earned = append(p.Earned, lockfile.Earned{Mode: m.Name, Class: string(m.Class), Kit: Version})
		for _, e := range m.Exceptions {
			p.Earned = append(p.Earned, lockfile.Earned{Mode: m.Name, Class: string(e.Class), Kit: Version})
		}
	}
	lock := &lockfile.Lock{Version: lockfile.Version, Plugins: []lockfile.Plugin{p}}
	return lock.Save(k.files, k.Scratch)
}
