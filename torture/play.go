package main

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// The steps that a fault hits, by what the documents say right after it.
var steps = []string{"begin", "held", "staging", "exchange", "landing", "end"}

// step tells how far a run of a batch is.
func step(b batch, docs map[string]document) string {
	d := docs[b.day]
	switch {
	case b.done(docs) && len(d.Todo) > 0:
		return "landing"
	case b.done(docs):
		return "end"
	case d.Holder == nil:
		return "begin"
	case d.phase() == "committing" || d.phase() == "done":
		return "exchange"
	case len(d.Outputs) > 0:
		return "staging"
	}
	return "held"
}

// result is what became of a scenario.
type result struct {
	scenario
	verdict
	struck      bool   // the fault came before the run's end
	step        string // that it hit; "" where the run went on and nobody could look
	stray       bool   // a woken run left a staging folder that it made after others had looked for it
	looks, torn int
	took        time.Duration
}

// play is a scenario while it lasts.
type play struct {
	*worker
	result
	model     *model
	judge     *judge
	dir       string
	random    *rand.Rand
	docs      map[string]document
	now       look   // the newest
	paused    string // the run that held the batch when it was stopped
	recovered bool   // what no document names has been removed
}

// play does a scenario and judges it. An error is one of the torture itself.
func (b *worker) play(m *model, s scenario, seed uint64) (result, error) {
	h := fnv.New64a()
	h.Write([]byte(s.String()))
	p := &play{worker: b, model: m, judge: newJudge(m.target, m.batches), result: result{scenario: s}, random: rand.New(rand.NewPCG(seed, h.Sum64()))}
	began := time.Now()
	var err error
	if p.dir, err = b.copy(m); err != nil {
		return p.result, err
	}
	seen, err := b.see(p.dir, m.writer, "look")
	if err == nil {
		p.take(seen)
		err = p.act()
	}
	if err == nil {
		err = p.finish()
	}
	p.took = time.Since(began)
	if err == nil && p.clean() {
		err = os.RemoveAll(p.dir)
	}
	return p.result, err
}

// take judges what the reader saw.
func (p *play) take(s seen) {
	p.looks, p.torn, p.docs = p.looks+s.Taken, p.torn+s.Torn, s.Batches
	for _, l := range s.Looks {
		v := p.judge.look(l)
		p.verdict.add(v)
		p.now = l
	}
	p.now.Batches = s.Batches
}

// look has the reader look once more, and judges all that it saw since it was asked last.
func (p *play) look(do string) error {
	var s seen
	if err := p.watch.ask(map[string]string{"do": do}, &s); err != nil {
		return err
	}
	p.take(s)
	return nil
}

// run runs the program to its end. It must end with one of these codes.
func (p *play) run(what string, exits []int, args ...string) (*process, error) {
	q, err := start(p.program, p.dir, nil, args...)
	if err != nil {
		return nil, err
	}
	p.ended(q, what, exits...)
	return q, p.look("look")
}

// ended waits for the end and judges its code. A process that was refused says why.
func (p *play) ended(q *process, what string, exits ...int) {
	exit := q.exit()
	for _, e := range exits {
		if e == exit && (exit == 0 || exit > 128 || q.err.Len() > 0) && !q.crashed() {
			return
		}
	}
	p.wrong("%s: exit %d, want one of %v, hung %t: %s", what, exit, exits, q.hung.Load(), q.said())
}

// act lets the fault happen, and does what follows it.
func (p *play) act() error {
	switch p.fault {
	case stop:
		return p.pause()
	case pair:
		return p.together(2)
	case crowd:
		return p.together(20)
	}
	var err error
	if p.fault == sigkill {
		err = p.killSomewhere()
	} else {
		err = p.inject()
	}
	if err != nil {
		return err
	}
	return p.goOn()
}

// inject runs the batch with a fault at an operation.
func (p *play) inject() error {
	q, err := start(p.program, p.dir, []string{fmt.Sprintf("UBUNYE_FAULT=%s:%d", p.fault, p.at)}, p.model.args()...)
	if err != nil {
		return err
	}
	switch {
	case p.at > p.model.operations && (p.fault != kill || q.exit() != 137):
		p.ended(q, "a run of which nothing is disturbed", 0)
	case p.fault == kill: // on a busy machine a heartbeat may be one operation more than were counted
		p.struck = q.exit() == 137
		p.ended(q, "killed", 137)
	default:
		p.struck = true
		p.ended(q, "a run that met "+p.fault, 0, 1, 4, 5)
	}
	if err := p.look("look"); err != nil {
		return err
	}
	if p.fault == kill && p.struck {
		p.step = step(p.model.batches[0], p.docs)
	}
	if q.exit() == 0 && !p.model.batches[0].done(p.docs) {
		p.wrong("exit 0 without a commit: %s", q.said())
	}
	return nil
}

// killSomewhere kills a run at a moment that is drawn between its first staged file and its end.
func (p *play) killSomewhere() error {
	staged := filepath.Join(p.dir, ".ubunye/staging/2*")
	before, _ := filepath.Glob(staged)
	q, err := start(p.program, p.dir, nil, p.model.args()...)
	if err != nil {
		return err
	}
	if appears(staged, len(before), q.done) {
		time.Sleep(time.Duration(p.random.Float64() * p.model.took * float64(time.Second)))
	}
	q.cmd.Process.Kill()
	if p.struck = q.exit() == 137; !p.struck {
		p.ended(q, "a run that ended before it was killed", 0)
	}
	if err := p.look("look"); err != nil {
		return err
	}
	if p.struck {
		p.step = step(p.model.batches[0], p.docs)
	}
	return nil
}

// appears waits until there are more names of a pattern. On a busy machine a run may be over before it is looked for: then there were not.
func appears(pattern string, before int, done <-chan struct{}) bool {
	for {
		if now, _ := filepath.Glob(pattern); len(now) > before {
			return true
		}
		select {
		case <-done:
			return false
		case <-time.After(200 * time.Microsecond):
		}
	}
}

// goOn does what follows the fault.
func (p *play) goOn() error {
	switch p.then {
	case rerun:
		return p.again("the rerun", runArgs(today, "--rerun"), 0)
	case resume: // what is finished is kept, by whatever run: the start is never refused
		return p.again("the resume", runArgs(today, "--resume"), 0)
	case recovery:
		if err := p.recover(); err != nil {
			return err
		}
	case other:
		// The other batch finds data where only the first to come writes.
		if _, err := p.run("the other batch", p.exits(0), runArgs(tomorrow)...); err != nil {
			return err
		}
		p.verdict.add(p.judge.whole(p.now)) // whatever was committed has landed now
	}
	return p.again("the takeover", p.model.args(), 0, 1)
}

// recover has the program finish or drop what dead runs left. It leaves nothing of them.
func (p *play) recover() error {
	p.recovered = true
	if _, err := p.run("recover", []int{0}, "recover", "-c", "pipeline.yaml"); err != nil {
		return err
	}
	p.verdict.add(p.judge.whole(p.now))
	wrong, _ := p.model.left(p.dir, p.docs, "", true)
	for _, text := range wrong {
		p.wrong("after recover: %s", text)
	}
	return nil
}

// again runs the batch again. A rerun of files that are added reads a corrected input: what it puts in place of rows that are
// committed is told apart from them. It is never refused.
func (p *play) again(what string, args []string, exits ...int) error {
	if adds(p.mode) && slices.Contains(args, "--rerun") {
		if err := os.WriteFile(filepath.Join(p.dir, "landing", today, "a.csv"), []byte(corrections[1]), 0o666); err != nil {
			return err
		}
		p.judge.corrected(p.model.corrected[1], p.docs)
		exits = []int{0}
	}
	_, err := p.run(what, p.exits(exits...), args...)
	return err
}

// exits are the codes that a start may end with: 4 too where it must find no data, and finds some.
func (p *play) exits(codes ...int) []int {
	if p.mode == "error_if_exists" {
		return append(codes, 4)
	}
	return codes
}

// pause freezes a run at an operation, has another one take over, and wakes the first.
func (p *play) pause() error {
	q, err := start(p.program, p.dir, []string{fmt.Sprintf("UBUNYE_FAULT=stop:%d", p.at)}, p.model.args()...)
	if err != nil {
		return err
	}
	defer q.cmd.Process.Kill() // if an error leaves it stopped
	if p.struck = q.stopped(); !p.struck {
		p.ended(q, "a run that was never stopped", 0)
		if p.at <= p.model.operations {
			p.wrong("not stopped at %d of %d", p.at, p.model.operations)
		}
		return p.look("look")
	}
	if err := p.look("look"); err != nil {
		return err
	}
	p.step = step(p.model.batches[0], p.docs)
	if err := p.backdate(); err != nil {
		return err
	}
	held := p.docs[today].Holder != nil
	if held {
		p.paused = p.docs[today].Holder.Run
	}
	exits := []int{0, 1}
	if held {
		exits = []int{0}
	} else {
		p.judge.twice = p.mode == "rerun" // both may replace the batch, one after the other
	}
	if err := p.again("the run that takes over", p.model.args(), exits...); err != nil {
		return err
	}
	return p.wake(q, held)
}

// wake has the paused run go on. If it had held the batch it makes nothing visible, and says that it lost it.
func (p *play) wake(q *process, held bool) error {
	before, err := digests(filepath.Join(p.dir, "lake"))
	if err != nil {
		return err
	}
	if err := q.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		return err
	}
	if !held {
		p.ended(q, "woken without a batch", p.exits(0, 1, 5)...)
		return p.look("look")
	}
	if p.mode == "tasks" { // it may have held some of its batches, and be refused for another one
		p.ended(q, "woken after it was taken over", 1, 5)
	} else {
		p.ended(q, "woken after it was taken over", 5)
	}
	after, err := digests(filepath.Join(p.dir, "lake"))
	if err != nil {
		return err
	}
	for name, digest := range after {
		if before[name] != digest {
			p.wrong("the woken run made a file visible, or changed it: %s", name)
		}
	}
	if len(after) != len(before) {
		p.wrong("%d files after the first run was woken, %d before", len(after), len(before))
	}
	return p.look("look")
}

// backdate makes the heartbeats as old as if the run had been paused an hour ago. It is watched all the same.
func (p *play) backdate() error {
	beats, err := filepath.Glob(filepath.Join(p.dir, ".ubunye/runs/*.beat"))
	then := time.Now().Add(-time.Hour)
	for _, beat := range beats {
		if err := os.Chtimes(beat, then, then); err != nil {
			return err
		}
	}
	return err
}

// finish runs the batch once more and judges what is there.
func (p *play) finish() error {
	q, err := p.run("the last run", p.exits(0, 1), runArgs(today)...)
	if err != nil {
		return err
	}
	if !once(p.mode) && adds(p.mode) && (q.exit() != 1 || !strings.Contains(q.said(), "finished")) {
		p.wrong("the last run of a batch that appends is not refused as finished: exit %d: %s", q.exit(), q.said())
	}
	if err := p.look("rest"); err != nil {
		return err
	}
	p.verdict.add(p.judge.whole(p.now))
	p.verdict.add(p.judge.end(p.now))
	if p.mode == "tasks" {
		if err := p.allTasks(); err != nil {
			return err
		}
	}
	wrong, stray := p.model.left(p.dir, p.docs, p.paused, p.recovered)
	for _, text := range wrong {
		p.wrong("%s", text)
	}
	if p.stray = stray; stray && p.recovers {
		if err := p.watch.begin(p.dir, p.model.writer); err != nil {
			return err
		}
		return p.recover() // it is what removes such a folder
	}
	return nil
}
