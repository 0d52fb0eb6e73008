package sim

import (
	"slices"
	"strings"
	"time"

	"github.com/ubunye-io/ubunye/engine/store/fsops"
)

// strikes tells whether a fault strikes at a change.
func (f *fault) strikes(op fsops.Op) bool {
	if f.kind != "" && (op.Kind != f.kind || !strings.Contains(op.Path+"\n"+op.To, f.part)) {
		return false
	}
	f.seen++
	return f.seen == f.at || f.what == noRoom && f.seen > f.at && f.seen < f.at+f.lasts
}

// befall does what ends or pauses a process; false if the fault is one of the change itself.
func (w *world) befall(a *actor, p *point, f *fault) bool {
	switch f.what {
	case dies:
		w.log("%s is killed before %s %s", a.name, p.op.Kind, w.rel(p.op.Path))
		w.kill(a)
	case diesLate:
		w.log("%s is killed, %s %s is on its way", a.name, p.op.Kind, w.rel(p.op.Path))
		a.gone, a.late = true, true
		w.pause(a, f)
		a.dead.Store(true)
	case happens:
		w.log("%s is paused before %s %s", a.name, p.op.Kind, w.rel(p.op.Path))
		a.gone = f.wrong
		w.pause(a, f)
		if f.stale {
			w.pass(timeout + 2*heartbeat)
		}
	default:
		return false
	}
	return true
}

func (w *world) pause(a *actor, f *fault) {
	w.mu.Lock()
	defer w.mu.Unlock()
	a.paused, a.since = true, time.Now()
	over, step := w.over+f.lasts, w.step+f.steps
	a.disturbed = 0
	a.wake = func() bool {
		return w.over >= over || f.steps > 0 && w.step >= step || f.near > 0 && a.disturbed >= f.near
	}
}

// kill ends a process before its next change.
func (w *world) kill(a *actor) {
	a.paused = false
	a.gone = true
	w.mu.Lock()
	all := slices.Clone(a.waiting)
	w.mu.Unlock()
	a.dead.Store(true)
	for _, p := range all {
		w.release(a, p, dies)
	}
}

// cut cuts the power: every process is gone, and what was not synced is lost or kept.
func (w *world) cut() {
	w.log("the power is cut")
	for _, a := range w.actors {
		if a.running {
			w.kill(a)
		}
	}
	for slices.ContainsFunc(w.actors, func(a *actor) bool { return a.running }) {
		w.pass(heartbeat) // who waits for time to pass learns only then that it is dead
	}
	w.oracle.cutting()
	if err := w.disk.Cut(func() bool { return chance(w.rng, w.keep) }); err != nil {
		w.oracle.violated("the disk: %v", err)
	}
	w.boot++
	w.pass(4 * heartbeat)
	w.oracle.wasCut()
}

// disturb counts the changes of others below the staging of paused processes.
func (w *world) disturb(a *actor, op fsops.Op) {
	for _, other := range w.actors {
		if other != a && other.paused && other.id != "" && strings.Contains(op.Path, "/staging/"+other.id+"/") {
			other.disturbed++
		}
	}
}
