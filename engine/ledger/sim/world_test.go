package sim

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing/synctest"
	"time"

	"github.com/ubunye-io/ubunye/engine/ledger"
	"github.com/ubunye-io/ubunye/engine/ledger/internal/tablelog"
	"github.com/ubunye-io/ubunye/engine/store/fsops"
	"github.com/ubunye-io/ubunye/engine/store/storetest"
)

const (
	heartbeat = 30 * time.Second
	timeout   = 6 * heartbeat
	tick      = time.Microsecond // passes with every change, so that no two timers are due at once
	maxSteps  = 30000
)

// epoch is when every bubble's time begins.
var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// world is one seed's world.
type world struct {
	*scenario
	dir    string
	disk   *storetest.Disk
	oracle *oracle
	rng    *rand.Rand
	say    func(format string, args ...any) // nil: silently

	mu     sync.Mutex
	actors []*actor
	last   *actor
	step   int
	boot   int
	bad    tablelog.Fault // of the writers of tables
	clean  bool           // no more faults: the seed's chaos is over
	over   int            // processes that have ended
	counts map[situation]int
}

func newWorld(seed uint64, dir string, say func(string, ...any)) (*world, error) {
	r := rand.New(rand.NewPCG(seed, 0x5eed))
	w := &world{scenario: newScenario(r, dir), dir: dir, rng: r, say: say, boot: 1, counts: map[situation]int{}}
	w.oracle = newOracle(w)
	if err := w.furnish(); err != nil {
		return nil, err
	}
	var err error
	w.disk, err = storetest.NewDisk(dir)
	w.oracle.begin()
	return w, err
}

// furnish makes what is there before the first process: output folders with files of strangers, one under a name
// like ours, and a staging folder that no document names.
func (w *world) furnish() error {
	files := map[string]string{
		filepath.Join("lake", "other", "stranger.parquet"):                                      "",
		filepath.Join(".ubunye", "staging", "20000101T000000Z-5712a7e5", "k", "a", "x.parquet"): "",
	}
	for _, o := range w.outputs {
		if o.there {
			for _, name := range []string{"p=0/stranger.parquet", "p=0/part-0f0f.parquet", "p=7/stranger.parquet"} {
				files[filepath.Join("lake", o.name, name)] = o.name
			}
		}
	}
	for name := range files {
		path := filepath.Join(w.dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(textOf(filepath.Base(name))), 0o666); err != nil {
			return err
		}
	}
	for _, o := range w.outputs {
		if o.there && o.setgid {
			if err := os.Chmod(o.dir, 0o777|os.ModeSetgid); err != nil {
				return err
			}
		}
	}
	return nil
}

func textOf(name string) string { return strings.Repeat(name+"\n", 4) }

// rel is a path without the world's folder.
func (w *world) rel(path string) string { return strings.TrimPrefix(path, w.dir+"/") }

func (w *world) log(format string, args ...any) {
	if w.say != nil {
		w.say("%6d "+format, append([]any{w.step}, args...)...)
	}
}

// lookUp is the table of processes.
func (w *world) lookUp(pid int) (known, running bool, started string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, a := range w.actors {
		if a.ident.PID == pid {
			gone := a.dead.Load() || !a.running || a.gone || a.ident.Boot != w.bootID()
			return true, !gone, a.ident.Started
		}
	}
	return true, false, ""
}

func (w *world) bootID() string { return fmt.Sprintf("b%d", w.boot) }

// begins starts a process.
func (w *world) begins(st start) *actor {
	n := len(w.actors) + 1
	machine := "m1"
	if w.otherHost && n%2 == 0 {
		machine = "m2"
	}
	a := &actor{w: w, n: n, name: fmt.Sprintf("P%d", n), job: st.job, plan: st.plan, running: true, fates: map[int64]fate{}, staged: map[string]bool{}, told: map[string]bool{},
		ident: ledger.Identity{Host: machine, Machine: machine, Boot: w.bootID(), PIDNamespace: 1, PID: 100 + n, Started: fmt.Sprint(n)}}
	a.fsys = fsops.New(a)
	w.actors = append(w.actors, a)
	w.log("%s starts: %s", a.name, a.job)
	go a.live()
	w.breathe()
	return a
}

func (j job) String() string {
	text := []string{"run", "finish", "recover"}[j.kind]
	for _, b := range j.batches {
		text += fmt.Sprintf(" %s/%s(%s)", b.batch.Task, b.batch.Variables["dt"], b.mode)
	}
	if j.rerun {
		text += " --rerun"
	}
	return text
}

// park is called by an actor's goroutine that waits for its turn.
func (w *world) park(a *actor, p *point) {
	w.mu.Lock()
	defer w.mu.Unlock()
	a.waiting = append(a.waiting, p)
}

// ended is called by an actor's goroutine at its end.
func (w *world) ended(a *actor) {
	w.mu.Lock()
	defer w.mu.Unlock()
	a.running = false
	w.over++
	if a.dead.Load() {
		w.log("%s is dead", a.name)
		return
	}
	w.log("%s ends: %v", a.name, a.err)
}

// begin is called when a change is about to be made.
func (w *world) begin(a *actor, op fsops.Op, what fate) {
	a.fates[op.N] = what
	w.disk.Before(op)
	if text := [...]string{refused: "EIO", noRoom: "ENOSPC", missing: "not supported", noLinks: "EPERM", diesLate: ""}[what]; text != "" {
		w.log("%s %s %s [does not happen: %s]", a.name, op.Kind, w.rel(op.Path), text)
		w.oracle.note(a, op, errRefused, what)
	}
}

var errRefused = errors.New("refused")

// made is called when a change was made, or failed.
func (w *world) made(a *actor, op fsops.Op, err error) fate {
	what := a.fates[op.N]
	delete(a.fates, op.N)
	if w.say != nil {
		to := ""
		if op.To != "" {
			to = " -> " + w.rel(op.To)
		}
		w.log("%s %s %s%s%s%s", a.name, op.Kind, w.rel(op.Path), to, []string{"", " [answer lost]", "", "", "", "", "", " [late, its process is dead]"}[what], errText(err))
	}
	if e := w.disk.After(op, err); e != nil {
		w.oracle.violated("the disk: %v", e)
	}
	w.date(op, err)
	if err == nil {
		w.mayCut(op)
		w.disturb(a, op)
	}
	w.oracle.after(a, op, err, what)
	return what
}

// mayCut lets the power be cut soon after a change.
func (w *world) mayCut(op fsops.Op) {
	if f := w.cutOn; f != nil && w.cutAt == 0 && f.strikes(op) {
		w.cutAt = w.step + f.lasts
	}
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return fmt.Sprintf(": %v", err)
}

// date gives files of the ledger the bubble's time, by which their age is judged.
func (w *world) date(op fsops.Op, err error) {
	if err == nil && (strings.HasSuffix(op.Path, ".beat") && op.Kind != "remove" || op.Kind == "sync" && strings.Contains(op.Path, "/.ubunye/tmp/")) {
		os.Chtimes(op.Path, time.Now(), time.Now())
	}
}

// play lets the processes go on until all have ended.
func (w *world) play() {
	starts := slices.Clone(w.starts)
	slices.SortStableFunc(starts, func(a, b start) int { return a.after - b.after })
	for ; w.oracle.fault == "" && w.step < maxSteps; w.step++ {
		if w.step == w.cutAt && w.cutAt > 0 && !w.clean {
			w.cut()
		}
		if len(starts) > 0 && w.step >= starts[0].after {
			w.last = w.begins(starts[0])
			starts = starts[1:]
			continue
		}
		w.wakeUp(len(starts) > 0)
		if a := w.next(); a != nil {
			w.letGo(a)
			continue
		}
		switch {
		case w.alive():
			w.pass(time.Second) // somebody waits for time to pass
		case len(starts) > 0:
			w.last = w.begins(starts[0])
			starts = starts[1:]
		default:
			return
		}
	}
	if w.oracle.fault == "" {
		w.oracle.violated("the processes do not come to an end")
	}
}

// breathe lets everybody go on who is not waiting for a turn: the bubble's time passes only when nobody can.
func (w *world) breathe() { w.sleep(tick) }

// sleep lets time pass until everybody waits: for a turn, or for more time to pass.
func (w *world) sleep(d time.Duration) {
	w.mu.Lock() // for the race detector: who wakes up now has seen what was done before
	w.mu.Unlock()
	time.Sleep(d)
	synctest.Wait()
}

// pass lets time pass; the heartbeats of processes that are not paused go on.
func (w *world) pass(d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end); {
		w.sleep(min(d, heartbeat/2))
		w.beats()
	}
}

// beats makes the heartbeats that are due.
func (w *world) beats() {
	for again := true; again; {
		again = false
		for _, a := range w.actors {
			for _, p := range slices.Clone(a.waiting) {
				if p.isBeat() && !a.paused {
					w.release(a, p, happens)
					again = true
				}
			}
		}
	}
}

// release gives a point its turn, and waits until its process is at the next one.
func (w *world) release(a *actor, p *point, what fate) {
	w.mu.Lock()
	a.waiting = slices.DeleteFunc(a.waiting, func(q *point) bool { return p == q })
	w.mu.Unlock()
	p.turn <- what
	w.breathe()
}

// alive tells whether a process is there that is not paused.
func (w *world) alive() bool {
	return slices.ContainsFunc(w.actors, func(a *actor) bool { return a.running && !a.paused })
}

// wakeUp ends pauses: when it is time, or when nobody else can go on.
func (w *world) wakeUp(more bool) {
	for _, a := range w.actors {
		if a.running && a.paused && (a.wake() || !more && !w.alive()) {
			w.resume(a)
			return
		}
	}
}

func (w *world) resume(a *actor) {
	w.mu.Lock()
	defer w.mu.Unlock()
	a.paused, a.gone = false, a.late
	a.slept += time.Since(a.since)
	w.last = a
	if !a.late {
		w.log("%s wakes up", a.name)
	}
}

// next chooses who goes on; nil if nobody can.
func (w *world) next() *actor {
	can := slices.DeleteFunc(slices.Clone(w.actors), func(a *actor) bool { return a.paused || len(a.waiting) == 0 })
	if len(can) == 0 {
		return nil
	}
	if slices.Contains(can, w.last) && chance(w.rng, w.sticky) {
		return w.last
	}
	w.last = can[w.rng.IntN(len(can))]
	return w.last
}

// letGo lets an actor make its next change, or has something befall it.
func (w *world) letGo(a *actor) {
	for _, p := range a.waiting {
		if p.isBeat() {
			w.release(a, p, map[bool]fate{true: dies}[a.late])
			return
		}
	}
	p := a.waiting[0]
	if a.late {
		a.late = false
		w.release(a, p, diesLate)
		return
	}
	a.ops++
	if f := a.doomed; f != nil && !w.clean {
		a.doomed = nil
		if w.befall(a, p, f) {
			return
		}
	}
	what := happens
	switch {
	case p.op.Kind == "exchange" && w.noExchange:
		what = missing
	case p.op.Kind == "link" && w.noLinks:
		what = noLinks
	}
	if !w.clean {
		for i := range a.plan {
			if f := &a.plan[i]; f.strikes(p.op) {
				if w.befall(a, p, f) {
					return
				}
				if what == happens {
					what = f.what
				}
			}
		}
	}
	w.release(a, p, what)
}
