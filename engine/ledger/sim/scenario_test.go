package sim

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"time"

	"github.com/ubunye-io/ubunye/engine/ledger"
)

const pipeline = "sales"

// The modes of outputs.
const (
	appends = "append"
	whole   = "overwrite"
	parts   = "overwrite_partitions"
	ifNone  = "error_if_exists"
)

// simOutput is an output folder.
type simOutput struct {
	name     string
	dir      string
	replaces string // the mode in which batches may replace here: whole or parts
	success  bool
	there    bool // it exists at the beginning, with files of strangers
	setgid   bool // so that it is staged inside it
	table    bool // it has a log of its own
}

// simBatch is a batch.
type simBatch struct {
	n       int
	batch   ledger.Batch
	mode    string
	outputs []*simOutput

	incremental bool // it reads what is new
}

// modeIn is the mode of the batch's task in one output.
func (b *simBatch) modeIn(o *simOutput) string {
	if b.mode == whole {
		return o.replaces
	}
	return b.mode
}

// classIn is the class of the batch's output.
func (b *simBatch) classIn(o *simOutput) ledger.Class {
	replaces := b.modeIn(o) == whole || b.modeIn(o) == parts
	switch {
	case replaces:
		return ledger.Replaces
	case !o.table:
		return ledger.Claims
	case b.batch.Named:
		return ledger.Once
	}
	return ledger.Named
}

func (b *simBatch) appends() bool { return b.mode == appends }

type kind int

const (
	runs     kind = iota // a pipeline is run
	finishes             // a start that is refused after it has finished committed work
	recovers             // ubunye recover
)

// job is what a process was started for.
type job struct {
	kind     kind
	batches  []*simBatch
	rerun    bool
	anyway   bool
	fails    bool
	naive    bool // its clock does not run while it is paused, and nothing ends it
	files    int
	deaf     bool          // a table cannot be read back when a put has failed
	wait     time.Duration // for what others hold
	declares bool          // recover: whoever has not ended is said to be dead
}

// start is a process that is to be started.
type start struct {
	job   job
	after int // at this step, or when nothing else goes on
	plan  []fault
}

// fault is what befalls a process.
type fault struct {
	kind  string // of the change, or "" for any
	part  string // of its path
	at    int    // the how manieth of those
	what  fate   // happens: it is paused
	lasts int    // changes (noRoom), ended processes (pause)
	stale bool   // of a pause: long enough to be taken for dead
	wrong bool   // of a pause: the table of processes says that it is gone
	steps int    // of a pause: it ends after so many, whoever has ended; 0: that counts
	near  int    // of a pause: it ends after so many changes of others below its staging; 0: that counts not
	seen  int
}

// scenario is what a seed chooses before anything goes on.
type scenario struct {
	outputs    []*simOutput
	batches    []*simBatch
	starts     []start
	cutAt      int    // the power is cut at this step; 0: never
	cutOn      *fault // or soon after this change; nil: never
	keep       int    // of a hundred changes that were not synced, after a power cut
	noExchange bool
	noLinks    bool
	otherHost  bool // the processes are on two machines
	sticky     int  // of a hundred steps, how many are of the same process as the one before
}

func chance(r *rand.Rand, of100 int) bool { return r.IntN(100) < of100 }

func choose[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

func newScenario(r *rand.Rand, dir string) *scenario {
	s := &scenario{
		noExchange: chance(r, 10), noLinks: chance(r, 5), otherHost: chance(r, 15),
		sticky: choose(r, 0, 50, 80, 90, 97), keep: choose(r, 0, 0, 30, 50, 80),
	}
	for i := range 1 + r.IntN(2) {
		name := string(rune('a' + i))
		s.outputs = append(s.outputs, &simOutput{
			name: name, dir: filepath.Join(dir, "lake", name), replaces: choose(r, whole, parts),
			success: chance(r, 70), there: chance(r, 60), setgid: chance(r, 15),
		})
	}
	if o := choose(r, s.outputs...); chance(r, 15) {
		o.table, o.replaces, o.there, o.setgid, o.success = true, whole, false, false, false
	}
	for i := range choose(r, 1, 1, 1, 2, 2, 3) {
		s.batches = append(s.batches, newBatch(r, i, s.outputs))
	}
	for range 1 + r.IntN(4) {
		s.starts = append(s.starts, newStart(r, s))
	}
	s.starts[0].after = 0
	if s.starts[0].job.kind != runs {
		s.starts[0].job.kind = runs
	}
	if !s.noExchange {
		s.whenCut(r)
	}
	if s.cutOn != nil && s.cutOn.kind == "exchange" { // then there must be one
		b := s.starts[0].job.batches[0]
		b.mode, b.outputs[0].there, b.outputs[0].table = whole, true, false
	}
	for _, b := range s.batches {
		b.incremental = b.appends() && !slices.ContainsFunc(b.outputs, func(o *simOutput) bool { return o.table }) && (s.keep+s.sticky+len(s.starts)+b.n)%3 == 0
	}
	return s
}

// whenCut chooses when the power is cut, in some worlds: anywhere, or soon after one of the changes that matter most.
func (s *scenario) whenCut(r *rand.Rand) {
	switch {
	case chance(r, 10):
		s.cutAt = 1 + r.IntN(220)
	case chance(r, 5): // a commit that was not synced is carried out by another
		s.cutOn = &fault{kind: "rename", part: "/lake/", at: 2 + r.IntN(3), lasts: 1 + r.IntN(8)}
		first := &s.starts[0]
		first.plan = []fault{{kind: committing, at: 1, what: dies}}
		first.job.batches[0].mode = appends
		s.starts = append(s.starts[:1], start{job: job{kind: finishes, batches: first.job.batches}, after: 1000})
	case chance(r, 10):
		s.cutOn = &fault{kind: "exchange", part: "/new", at: 1 + r.IntN(2), lasts: 1 + r.IntN(3)}
	case chance(r, 20):
		s.cutOn = &fault{kind: choose(r, "link", "rename", committing, committing), at: 1 + r.IntN(2), lasts: 1 + r.IntN(12)}
		if s.cutOn.kind == "rename" {
			s.cutOn.part = "/lake/"
		}
	}
}

// committing is the change that commits, as the kind of a fault.
const committing = "commit"

func newBatch(r *rand.Rand, i int, outputs []*simOutput) *simBatch {
	dt := fmt.Sprintf("2026-01-0%d", i+1)
	sum := sha256.Sum256([]byte(dt))
	b := &simBatch{n: i, mode: choose(r, appends, appends, appends, whole, whole, ifNone)}
	b.batch = ledger.Batch{Pipeline: pipeline, Task: choose(r, "clean", "load"), Variables: map[string]string{"dt": dt},
		Key: hex.EncodeToString(sum[:8]), Named: !chance(r, 15)}
	b.outputs = outputs
	if len(outputs) > 1 && chance(r, 60) {
		b.outputs = outputs[i%2 : i%2+1]
	}
	if b.mode == ifNone && slices.ContainsFunc(b.outputs, func(o *simOutput) bool { return o.table }) {
		b.mode = appends
	}
	return b
}

func newStart(r *rand.Rand, s *scenario) start {
	j := job{kind: choose(r, runs, runs, runs, runs, runs, runs, runs, finishes, recovers), batches: []*simBatch{choose(r, s.batches...)},
		rerun: chance(r, 40), fails: chance(r, 8), naive: chance(r, 60), files: 1 + r.IntN(3), deaf: chance(r, 30)}
	j.wait, j.declares = choose(r, 0, 0, 0, 0, 40*time.Second), chance(r, 40)
	if chance(r, 10) {
		j.batches = compatible(s.batches)
	}
	st := start{job: j, after: choose(r, 0, r.IntN(60), r.IntN(300), 1000)}
	if j.kind == runs || chance(r, 50) {
		for range choose(r, 0, 1, 1, 1, 2) {
			f := newFault(r)
			if len(s.tables()) > 0 && chance(r, 60) {
				f = newTableFault(r)
			}
			st.plan = append(st.plan, f)
		}
	}
	return st
}

// compatible gives the batches that one run may write: those after the first which do not meet its outputs, or
// append to them as it does.
func compatible(batches []*simBatch) []*simBatch {
	all := batches[:1:1]
	for _, b := range batches[1:] {
		ok := true
		for _, other := range all {
			for _, o := range b.outputs {
				for _, p := range other.outputs {
					ok = ok && (o != p || b.appends() && other.appends())
				}
			}
		}
		if ok {
			all = append(all, b)
		}
	}
	return all
}

// newTableFault chooses what happens while a table is committed to: between the look at its log and the put, and
// around both; or while what is to be named is made durable.
func newTableFault(r *rand.Rand) fault {
	f := fault{part: "/_log", at: 1 + r.IntN(2), lasts: 1, wrong: chance(r, 50), stale: chance(r, 80)}
	switch f.kind = choose(r, "create", "rename", "syncdir", "syncdir", "link"); {
	case f.kind == "link": // the saves that say that it is done, and that the batch is
		f.part, f.at = "", 4+r.IntN(2)
	case f.kind == "syncdir" && chance(r, 50):
		f.part, f.at = "/lake/", 1+r.IntN(3)
	case f.kind != "syncdir":
		f.at = 1
	}
	f.what = choose(r, happens, happens, happens, dies, diesLate, answered, refused)
	return f
}

// newFault chooses where something happens: anywhere, or at the changes that matter most.
func newFault(r *rand.Rand) fault {
	f := fault{at: 1 + r.IntN(90)}
	switch r.IntN(9) {
	case 5:
		f.kind, f.at = committing, 1
	case 4:
		f.kind, f.part, f.at = "mkdir", "/p=", 1
	case 0:
		f.kind, f.at = "link", 1+r.IntN(6)
	case 1:
		f.kind, f.part, f.at = "rename", ".staged", 1+r.IntN(3)
	case 2:
		f.kind, f.at = choose(r, "exchange", "rename", "remove", "mkdir"), 1+r.IntN(6)
	case 6:
		f.kind, f.part, f.at = "exchange", "/new", 1+r.IntN(2)
	case 3:
		f.kind, f.part, f.at = "syncdir", choose(r, "/batches/", "/lake/"), 1+r.IntN(5)
	}
	f.what = choose(r, happens, happens, happens, happens, happens, dies, dies, dies, diesLate, answered, answered, refused, noRoom)
	if f.kind == "link" && chance(r, 30) { // what saves depend on
		f.what = choose(r, answered, refused)
	}
	f.lasts = 1 + r.IntN(3)
	if f.what == noRoom {
		f.lasts = choose(r, 1, 2, 1000)
	}
	f.wrong = chance(r, 50)
	f.stale = chance(r, 60)
	switch { // it wakes up while others are at work, or while they remove what it staged
	case chance(r, 30):
		f.steps = 1 + r.IntN(160)
	case chance(r, 40):
		f.near = 1 + r.IntN(8)
	}
	return f
}
