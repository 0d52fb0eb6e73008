package sim

import (
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/ubunye-io/ubunye/engine/ledger"
	"github.com/ubunye-io/ubunye/engine/ledger/internal/tablelog"
	"github.com/ubunye-io/ubunye/engine/store/fsops"
)

// file is a data file: one that a process stages, or a stranger's.
type file struct {
	name   string
	part   string // the folder in the output
	output *simOutput
	by     *actor // nil: a stranger's
	batch  *simBatch
	gone   *replacing // what replaced it for good, if it was not a rerun
}

func (f *file) text() string { return textOf(f.name) }

// at is where it lies in the output.
func (f *file) at() string { return path.Join(f.part, path.Base(f.name)) }

// replaced tells whether it comes with its folder.
func (f *file) replaced() bool {
	return f.by != nil && f.batch.modeIn(f.output) != appends && f.batch.modeIn(f.output) != ifNone
}

// commit is what a document said once: that a batch is a run's.
type commit struct {
	by     *actor
	batch  *simBatch
	files  []*file // those that the ledger lands
	rerun  bool    // it replaces the commits before it; of an incremental batch, those of its slice
	slice  slice   // of an incremental batch
	told   bool    // its process was told so
	landed bool    // and that all of it is visible
}

// replacing is a folder that was put in place.
type replacing struct {
	by     *actor
	output *simOutput
	part   string // "." is the output itself
	files  []*file
	over   []*file // that it replaced
}

// document is what the oracle reads of one.
type document struct {
	ID        string
	Ancestors []struct {
		Generation int64
		ID         string
	}
	Epoch   int64
	Holder  *struct{ Run string }
	Pending []struct{ Run string }
	Todo    []struct {
		Do    string
		Run   string
		Names []string
	}
	Range    json.RawMessage
	Finished *struct {
		Run     string
		Epoch   int64
		Range   json.RawMessage
		Outputs map[string]struct {
			Class  string
			Claims []string
			Mark   *ledger.Mark
		}
	}
	generation int64
}

func (d *document) holder() string {
	if d == nil || d.Holder == nil {
		return ""
	}
	return d.Holder.Run
}

func (d *document) finishedBy() string {
	if d == nil || d.Finished == nil {
		return ""
	}
	return d.Finished.Run
}

// oracle knows what was promised, and looks after every change whether it holds.
type oracle struct {
	w         *world
	fault     string // the first thing that does not hold
	files     map[string]*file
	staged    map[string]*file // by actor, batch and output
	strangers []*file
	docs      map[string]*document // the newest generation of each
	commits   []*commit            // in their order
	replacing []*replacing
	visible   map[*simOutput]map[string]bool // by their places
	away      map[string][]*file             // of two renames: what the first took away, by its place
	said      map[string]int                 // runs whose record says that they stage, and since which step
	entered   map[string]int                 // runs that stage, and since which step; 0: not any more
	tried     map[string]*actor              // who renamed or removed a name
	maker     map[string]*actor              // of folders
	grabbed   map[string]int                 // staging folders, and at which step
	logs      map[*simOutput][]tablelog.Entry
}

func newOracle(w *world) *oracle {
	return &oracle{w: w, files: map[string]*file{}, docs: map[string]*document{}, visible: map[*simOutput]map[string]bool{},
		logs: map[*simOutput][]tablelog.Entry{}, away: map[string][]*file{}, entered: map[string]int{}, said: map[string]int{}, tried: map[string]*actor{}, grabbed: map[string]int{}, maker: map[string]*actor{}}
}

// begin notes what was there before.
func (o *oracle) begin() {
	for _, out := range o.w.folders() {
		o.visible[out] = map[string]bool{}
		for _, at := range o.look(out) {
			f := &file{name: out.name + "/" + at, part: path.Dir(at), output: out}
			o.strangers = append(o.strangers, f)
			o.files[f.name] = f
			o.visible[out][at] = true
		}
	}
}

func (o *oracle) violated(format string, args ...any) {
	if o.fault == "" {
		o.fault = fmt.Sprintf("step %d: ", o.w.step) + fmt.Sprintf(format, args...)
		o.w.log("VIOLATED: %s", o.fault)
	}
}

// filesOf gives what a process writes for a batch into an output: always the same.
func (w *world) filesOf(a *actor, b *simBatch, out *simOutput) (files []*file) {
	for i := range a.job.files {
		name := fmt.Sprintf("part-%s-%d-%s-%d.parquet", strings.ToLower(a.name), b.n, out.name, i)
		f := w.oracle.files[name]
		if f == nil {
			f = &file{name: name, part: fmt.Sprintf("p=%d", i%2), output: out, by: a, batch: b}
			w.oracle.files[name] = f
		}
		files = append(files, f)
	}
	return files
}

// look lists what a reader of **/*.parquet sees in an output, by places in it.
func (o *oracle) look(out *simOutput) (places []string) {
	for _, at := range o.w.disk.Files(out.dir) {
		if strings.HasSuffix(at, ".parquet") {
			places = append(places, at)
		}
	}
	return places
}

// fileAt is what lies at a place of an output.
func (o *oracle) fileAt(out *simOutput, at string) *file {
	if f := o.files[path.Base(at)]; f != nil {
		return f
	}
	return o.files[out.name+"/"+at]
}

func (o *oracle) runOf(id string) *actor {
	for _, a := range o.w.actors {
		if a.id == id && id != "" {
			return a
		}
	}
	return nil
}

var generation = regexp.MustCompile(`^\.ubunye/batches/(.+)/([0-9]{8})\.json$`)

// after looks at the world after a change.
func (o *oracle) after(a *actor, op fsops.Op, err error, what fate) {
	o.note(a, op, err, what)
	if err != nil || o.fault != "" {
		return
	}
	at := o.w.rel(op.To)
	if m := generation.FindStringSubmatch(at); m != nil {
		o.saved(a, m[1], m[2], op.To)
	}
	if strings.HasPrefix(at, ".ubunye/runs/") && strings.HasSuffix(at, ".json") {
		o.recorded(a, op.To)
	}
	for _, out := range o.w.outputs {
		switch {
		case !inside(op.Path, out.dir) && !inside(op.To, out.dir):
		case out.table:
			o.tableChanged(out, a, op)
		default:
			o.compare(out, a, op)
		}
	}
}

func inside(path, dir string) bool { return path == dir || strings.HasPrefix(path, dir+"/") }

// recorded notes which runs are in the time in which no other may come that excludes them, and since when.
func (o *oracle) recorded(a *actor, path string) {
	var r struct {
		Run, Status string
		PID         int
	}
	data, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(data, &r)
	}
	if r.PID == a.ident.PID {
		a.id = r.Run
	}
	switch {
	case err != nil:
		o.violated("a record that cannot be read: %v", err)
	case r.Status == "running" && o.entered[r.Run] == 0 && o.holds(a): // else it learns at its next save that it was late
		o.entered[r.Run] = o.w.step + 1
	}
	if r.Status == "running" {
		o.said[r.Run] = o.w.step + 1
	}
}

// holds tells whether a run holds the batches that it asked for.
func (o *oracle) holds(a *actor) bool {
	return !slices.ContainsFunc(a.job.batches, func(b *simBatch) bool { return o.docs[b.batch.Name()].holder() != a.id })
}

func readDocument(path string) (*document, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	d := &document{}
	d.generation, _ = strconv.ParseInt(strings.TrimSuffix(filepath.Base(path), ".json"), 10, 64)
	return d, json.Unmarshal(data, d)
}

// saved looks at a generation that got its name.
func (o *oracle) saved(a *actor, name, number, path string) {
	d, err := readDocument(path)
	if err != nil {
		o.violated("a generation that cannot be read: %v", err)
		return
	}
	old := o.docs[name]
	var newest int64
	if old != nil {
		newest = old.generation
	}
	switch {
	case d.generation <= newest:
		o.w.saw(sweptGeneration) // its number was free again; it does not count
		return
	case d.generation > newest+1:
		o.violated("I2: generation %s of %s follows generation %d", number, name, newest)
		return
	case old != nil && (len(d.Ancestors) == 0 || d.Ancestors[0].ID != old.ID):
		o.violated("I2: generation %s of %s was not built on the one before it", number, name)
		return
	}
	o.docs[name] = d
	o.changed(a, name, old, d)
}

// changed looks at what a save changed.
func (o *oracle) changed(a *actor, name string, old, d *document) {
	var epoch int64
	if old != nil {
		epoch = old.Epoch
	}
	held, holds := old.holder(), d.holder()
	o.w.log("       %s generation %d: epoch %d, holder %q, finished by %q, %d to do", name, d.generation, d.Epoch, holds, d.finishedBy(), len(d.Todo))
	switch {
	case d.Epoch < epoch:
		o.violated("the epoch of %s goes back from %d to %d", name, epoch, d.Epoch)
	case holds != "" && holds != held && d.Epoch != epoch+1:
		o.violated("the epoch of %s does not go up with the new holder: %d, %d", name, epoch, d.Epoch)
	case holds != "" && holds != held && holds != a.id:
		o.violated("%s gives %s to another run, %s", a.id, name, holds)
	case held != "" && held != a.id && holds != a.id:
		o.violated("I2: %s changes %s, which %s holds", a.id, name, held)
	}
	if holds != held && held != "" && holds == a.id {
		if dead := o.runOf(held); dead != nil && !dead.dead.Load() && dead.running {
			o.w.saw(takeoverOfLive)
		} else {
			o.w.saw(takeoverOfDead)
		}
		o.noteTakenTables(name, held, epoch)
	}
	o.rangeStays(name, old, d)
	if d.finishedBy() == old.finishedBy() && (old.finishedBy() == "" || d.Finished.Epoch == old.Finished.Epoch) {
		return
	}
	if d.finishedBy() != held || d.finishedBy() != a.id || d.Finished.Epoch != epoch {
		o.violated("I4: %s is committed for run %s in epoch %d by %s, held by %q in epoch %d", name, d.finishedBy(), d.Finished.Epoch, a.id, held, epoch)
	}
	o.committed(a, name, old, d)
}

// committed notes a commit.
func (o *oracle) committed(a *actor, name string, old, d *document) {
	i := slices.IndexFunc(a.job.batches, func(b *simBatch) bool { return b.batch.Name() == name })
	if i < 0 {
		o.violated("%s commits %s, which it did not ask for", a.id, name)
		return
	}
	b := a.job.batches[i]
	c := &commit{by: a, batch: b, rerun: a.job.rerun && b.batch.Named && !b.incremental}
	if b.incremental {
		o.sliceCommitted(c, name, old, d)
	}
	for _, out := range b.outputs {
		if out.table {
			o.tableCommitted(a, b, out, d)
			continue
		}
		want := o.w.filesOf(a, b, out)
		claims := slices.Clone(d.Finished.Outputs[out.name].Claims)
		var names []string
		for _, f := range want {
			names = append(names, f.at())
			if !f.replaced() {
				c.files = append(c.files, f)
			}
		}
		slices.Sort(claims)
		slices.Sort(names)
		if !slices.Equal(claims, names) {
			o.violated("I5: %s claims %q in %s where %q were staged", a.id, claims, out.name, names)
		}
		for _, f := range want {
			if f.replaced() && !o.isVisible(f) && f.gone == nil {
				o.violated("%s committed %s before its folder %s was put in place", a.id, name, f.part)
			}
		}
	}
	o.commits = append(o.commits, c)
	o.w.mayCut(fsops.Op{Kind: committing})
	for i := range a.plan {
		if f := &a.plan[i]; f.kind == committing && f.seen == 0 {
			f.seen, a.doomed = 1, f
		}
	}
}

func (o *oracle) isVisible(f *file) bool { return o.visible[f.output][f.at()] }

// commitOf is the commit by which the ledger lands a file; nil if there was none.
func (o *oracle) commitOf(f *file) *commit {
	for _, c := range o.commits {
		if slices.Contains(c.files, f) {
			return c
		}
	}
	return nil
}

// replacedBy is the rerun that replaces what a commit landed; nil if it stands.
func (o *oracle) replacedBy(c *commit) *commit {
	after := o.commits[slices.Index(o.commits, c)+1:]
	i := slices.IndexFunc(after, func(d *commit) bool { return d.batch == c.batch && d.rerun && d.slice == c.slice })
	if i < 0 {
		return nil
	}
	return after[i]
}

// told notes that a process was told that a batch is its own.
func (o *oracle) told(a *actor, b *simBatch) {
	c := o.commitBy(a, b)
	if c == nil {
		o.violated("I4: %s was told that %s is committed", a.id, b.batch.Name())
		return
	}
	c.told = true
}

// lost notes that a process was told that a batch was taken from it: then it is not its own.
func (o *oracle) lost(a *actor, b *simBatch) {
	if o.commitBy(a, b) != nil {
		o.violated("I4: %s was told that it lost %s, which it committed", a.id, b.batch.Name())
	}
}

func (o *oracle) commitBy(a *actor, b *simBatch) *commit {
	for _, c := range o.commits {
		if c.by == a && c.batch == b {
			return c
		}
	}
	return nil
}

// landed looks whether all of a batch is visible whose process was told so.
func (o *oracle) landed(a *actor, b *simBatch) {
	c := o.commitBy(a, b)
	if c == nil || o.replacedBy(c) != nil {
		return
	}
	c.landed = true
	for _, f := range c.files {
		if !o.isVisible(f) && f.gone == nil {
			o.violated("%s was told that %s has landed, and %s is not visible", a.id, b.batch.Name(), f.name)
		}
	}
}
