package ledger

import (
	"fmt"
	"path/filepath"
)

// SharedTargetError is two runs that may not run at once, because they write to one place and one of the two
// replaces what is there.
type SharedTargetError struct {
	Path string // of the place, as one of them names it
	A, B int    // which runs, by their index
}

func (e *SharedTargetError) Error() string {
	return fmt.Sprintf("runs %d and %d write to %s, and one of the two replaces what is there", e.A, e.B, e.Path)
}

// CheckApart tells whether runs with these targets may run at once: nil, or a *SharedTargetError about two that exclude
// each other. It only reads.
func (l *Ledger) CheckApart(runs [][]Target) error {
	met := places{at: map[string][]placed{}, below: map[string][]placed{}}
	known := map[string]Target{}
	for run, targets := range runs {
		for _, t := range targets {
			real, is := known[t.Path]
			if !is {
				real = l.realTargets([]Target{{Path: t.Path}})[0]
				known[t.Path] = real
			}
			real.Adds, real.Parts = t.Adds, t.Parts
			if other, is := met.excluded(run, real); is {
				return &SharedTargetError{Path: t.Path, A: other, B: run}
			}
			met.add(run, real)
		}
	}
	return nil
}

// placed is a target of a run.
type placed struct {
	Target
	run int
}

// places finds the targets that a target may meet without comparing it with all: those at its path, above and below.
type places struct {
	at    map[string][]placed // by path, and by id
	below map[string][]placed // by every folder above their path
}

// excluded finds an earlier run that a target's run excludes.
func (p places) excluded(run int, t Target) (int, bool) {
	candidates := append(append([]placed(nil), p.below[t.Path]...), p.at["id "+t.ID]...)
	eachAbove(t.Path, func(dir string) { candidates = append(candidates, p.at[dir]...) })
	for _, o := range append(candidates, p.at[t.Path]...) {
		if o.run != run && t.excludes(o.Target) {
			return o.run, true
		}
	}
	return 0, false
}

func (p places) add(run int, t Target) {
	n := placed{t, run}
	p.at[t.Path] = enough(p.at[t.Path], n)
	if t.ID != "" {
		p.at["id "+t.ID] = enough(p.at["id "+t.ID], n)
	}
	eachAbove(t.Path, func(dir string) { p.below[dir] = enough(p.below[dir], n) })
}

// enough adds a target unless two of its kind, of two runs, are there: whichever run comes next, one is of another.
func enough(list []placed, n placed) []placed {
	same := 0
	for _, o := range list {
		if o.Adds == n.Adds && o.Parts == n.Parts {
			if o.run == n.run {
				return list
			}
			same++
		}
	}
	if same > 1 {
		return list
	}
	return append(list, n)
}

func eachAbove(path string, visit func(dir string)) {
	for dir := filepath.Dir(path); dir != path; path, dir = dir, filepath.Dir(dir) {
		visit(dir)
	}
}
