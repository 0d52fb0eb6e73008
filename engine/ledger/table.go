package ledger

import (
	"context"
	"encoding/json"
	"fmt"
	"path"
	"path/filepath"
	"slices"
)

// Table is the target of an output that has a commit of its own: a table with a log, or one in a database. It is
// written only by CommitTables. Whatever a method says of a commit must survive a power cut: who finds an entry in
// a log makes it durable before it says so.
type Table interface {
	// Look gives the commit of the batch with the highest epoch, whoever made it; a zero Mark if there is none.
	Look(ctx context.Context, b TableBatch) (Mark, error)

	// Commit makes these files part of the table (names relative to the output folder, where they are) in one
	// commit that carries b.Key, the keys of b.Pending, b.Epoch and b.Run. It looks at the log before it tries, and after
	// every try that did not certainly count:
	//
	//	the commit with the highest epoch is this run's         Done
	//	its epoch is b.Epoch or higher                          Fenced: nothing may be committed
	//	b.Class is Once, and its epoch is higher than b.After   Found: a dead run's commit holds the batch
	//	otherwise                                               to be tried, at the place after the last that it saw
	//
	// So it must be sure that nothing was committed between its look and its try: by a name that is made only if it
	// is not there, by a lock, or because its stage is gone when a later run has dropped it. Of the other outcomes
	// the error is the cause.
	Commit(ctx context.Context, b TableBatch, files []string) (Answer, error)

	// Resolve tells which of a dead run's files the table's log has ever named. It is asked when a commit of this run
	// or one that it found is in the log, so that the dead one can name none any more. After an error nothing is removed.
	Resolve(ctx context.Context, b TableBatch, dead Pending) (named []string, err error)
}

// TableBatch is a batch as a Table knows it.
type TableBatch struct {
	Key     string // what commits of the batch carry: ubunye/<pipeline>/<task>/<output>/<batch>
	Run     string
	Epoch   int64           // of the lease: higher than that of every earlier run of the batch
	After   int64           // the epoch of the last commit that the ledger knows; 0: none
	Class   Class           // Once, Replaces or Named
	Range   json.RawMessage // of an incremental batch: what was read; a commit tells it to people
	Pending []Pending       // of runs that may have committed, or may yet: perhaps under another name of the output, and so by another key
}

// Outcome is what became of a commit to a table.
type Outcome string

// The outcomes of Table.Commit.
const (
	Unknown Outcome = ""         // nobody can tell, now
	Done    Outcome = "done"     // it is in the table
	Found   Outcome = "found"    // a dead run had committed the batch: nothing was committed
	Fenced  Outcome = "fenced"   // a later run of the batch has committed: nothing was committed
	NotDone Outcome = "not done" // it is not in the table and will not come
)

// Answer is what a Table says of a commit.
type Answer struct {
	Outcome Outcome
	Mark    Mark // of Done, Found and Fenced: the commit that is there
}

// TableOutcome is an output whose table a run has committed to, or tried to, or found the batch in.
type TableOutcome struct {
	Output string
	Base   string // the table's folder; "" if it has none
	Answer
}

// tabled is a table while its output is written.
type tabled struct {
	table Table
	tried bool
	Answer
}

// settlement is what is to be done about an entry of Document.Pending: its output, and files that are nobody's.
type settlement struct {
	output  string
	unnamed []string
}

// keyed tells whether an output's target has a commit of its own: its files may be the table's already, so that
// nothing of it may be removed before the log was read. Newer programs may have classes that are so too.
func (o Output) keyed() bool { return o.Class != Claims && o.Marker == "" }

// exchanged tells whether folders of the output are replaced.
func (o Output) exchanged() bool { return o.Class == Replaces && o.Key == "" }

// TableKey is what a table's commits of a batch carry. The output's name is in it: a task may write two outputs to
// one table.
func TableKey(b Batch, output string) string {
	return path.Join("ubunye", b.Pipeline, b.Task, output, b.Key)
}

// check refuses a class that is not known, or does not fit the target.
func (o OutputSpec) check() error {
	switch {
	case o.Table == nil && (o.Class == Claims || o.Class == Replaces) && o.Base != "":
		return nil
	case o.Table != nil && (o.Class == Once || o.Class == Replaces || o.Class == Named) && (o.Base != "" || o.Target != ""):
		return nil
	}
	return fmt.Errorf("output %s: class %q is not known to this version, or not of such a target", o.Name, o.Class)
}

// pendings gives what is to be looked up of the tables that the document records for its holder. Before the
// phase was saved nothing can be in them.
func pendings(d *Document, run string) (list []Pending) {
	for _, name := range sortedKeys(d.Outputs) {
		if out := d.Outputs[name]; out.keyed() && (out.Key == "" || out.Phase != phaseStaging) {
			list = append(list, Pending{Run: run, Epoch: d.Epoch, Name: name, Output: out})
		}
	}
	return list
}

func pendingID(p Pending) string {
	data, _ := json.Marshal(p) // it came from JSON, or is made of text and numbers
	return string(data)
}

// batchOf is the batch as the table of an output knows it.
func (s *Lease) batchOf(name string) TableBatch {
	p := s.prepared[name]
	b := TableBatch{Key: p.Key, Run: s.run.ID, Epoch: s.epoch, Class: p.Class}
	if s.doc.Finished != nil {
		b.After = s.doc.Finished.Epoch
	}
	if s.request.Incremental && hasRange(s.doc.Range) {
		b.Range = s.doc.Range
	}
	for _, dead := range s.doc.Pending {
		if p.sameTable(dead.Output) {
			b.Pending = append(b.Pending, dead)
		}
	}
	return b
}

// TableBatch is the batch as the table of an output knows it: what Table is going to be asked about, for those who must know that
// before Prepare. Dead runs that are pending are told after it, and so is an epoch that had to be raised.
func (s *Lease) TableBatch(output string, class Class) TableBatch {
	if _, prepared := s.prepared[output]; prepared {
		return s.batchOf(output)
	}
	b := TableBatch{Key: TableKey(s.request.Batch, output), Run: s.run.ID, Epoch: s.epoch, Class: class}
	if s.doc.Finished != nil {
		b.After = s.doc.Finished.Epoch
	}
	return b
}

// sameTable tells whether another output was of the same table.
func (p preparedOutput) sameTable(o Output) bool {
	switch {
	case o.Key == "":
		return false
	case o.Target != "" && o.Target == p.Target:
		return true
	}
	return o.Base.Path != "" && o.Base.Path == p.Base.Path && o.Base.RelativeTo == p.Base.RelativeTo && o.Base.Machine == p.Base.Machine
}

// lookAtTables asks every table what it holds of the batch, before anything is staged, and returns the epoch that
// this lease must have. That is its own, or above what a table has: then the ledger is younger than its
// table (it was lost, or an old copy of it was put back), or another run has taken over, which the save tells.
func (s *Lease) lookAtTables(ctx context.Context, outputs []OutputSpec) (epoch int64, err error) {
	epoch, s.tables = s.epoch, map[string]*tabled{}
	for _, spec := range outputs {
		if spec.Table == nil {
			continue
		}
		b := s.batchOf(spec.Name)
		mark, err := spec.Table.Look(ctx, b)
		if err != nil {
			return epoch, s.tableError(spec.Name, err)
		}
		t := &tabled{table: spec.Table}
		if spec.Class == Once && mark.Epoch > b.After {
			t.Answer = Answer{Found, mark}
		}
		s.tables[spec.Name] = t
		epoch = max(epoch, mark.Epoch+1)
	}
	return epoch, nil
}

// Tables lists, in order of their names, the outputs of class Once whose table holds the batch already, by a dead
// run's commit (Found: known from Prepare on, so that nothing need be staged for them), and those whose own
// commit was tried. If the run ends without a commit of the batch, what is Done stays: the next run of the batch finds it,
// or replaces it; what is Unknown stays if it is there.
func (s *Lease) Tables() (all []TableOutcome) {
	for _, name := range sortedKeys(s.tables) {
		if t := s.tables[name]; t.tried || t.Outcome == Found {
			all = append(all, TableOutcome{Output: name, Base: s.prepared[name].base, Answer: t.Answer})
		}
	}
	return all
}

// doubtful tells whether the table may hold rows of this run.
func (t *tabled) doubtful() bool { return t.tried && (t.Outcome == Done || t.Outcome == Unknown) }

// CommitTables makes the commits of the targets that have one of their own. It saves the phase, so that
// whoever takes over knows what to look for; renames the staged files into the tables' folders, where nobody reads
// a file that no log names; asks each table to commit; and asks what became of the dead runs' files.
// Whatever can fail beforehand is done for all outputs before the first commit. After it nothing is taken back (I3).
//
// Every output must be staged and checked. Replace and Commit must follow. Without such outputs it does
// nothing. The error is a *TableError if a table was certainly not committed to, an *UnknownError if nobody can tell,
// and a *LostError if a later run of the batch has committed to it.
func (s *Lease) CommitTables(ctx context.Context, c Commit) error {
	if err := s.ready(c); err != nil {
		return err
	}
	names := slices.DeleteFunc(sortedKeys(s.tables), func(name string) bool { return s.tables[name].Outcome == Found })
	if len(names) > 0 {
		if err := s.commitTables(ctx, c, names); err != nil {
			return err
		}
	}
	s.resolve(ctx)
	return nil
}

func (s *Lease) commitTables(ctx context.Context, c Commit, names []string) error {
	if err := s.seal(ctx, c); err != nil {
		return err
	}
	if err := s.stillThere(ctx, phaseCommitting); err != nil {
		return err
	}
	for _, name := range names {
		p := s.prepared[name]
		p.Claims = slices.Concat([]string{}, c.Outputs[name].Claims)
		s.prepared[name] = p
	}
	if err := s.savePhase(ctx, names, phaseCommitting); err != nil {
		return err
	}
	s.moved = true
	for _, name := range names {
		if err := s.moveIn(name); err != nil {
			return s.tableError(name, err)
		}
	}
	for _, name := range names {
		if err := s.commitTable(ctx, name); err != nil {
			return err
		}
	}
	names = slices.DeleteFunc(names, func(name string) bool { return s.tables[name].Outcome != Done })
	if len(names) == 0 {
		return nil
	}
	return s.savePhase(ctx, names, phaseDone)
}

// stagedForTables are the staged files of outputs that are to be committed to tables.
func (s *Lease) stagedForTables(c Commit) (all []names) {
	for _, name := range sortedKeys(s.tables) {
		if p := s.prepared[name]; p.staging != "" && s.tables[name].Outcome != Found {
			all = append(all, s.staged(p, c.Outputs[name].Claims, stagedSuffix))
		}
	}
	return all
}

// moveIn renames an output's staged files into the table's folder, and makes that durable.
func (s *Lease) moveIn(name string) error {
	if s.prepared[name].base == "" {
		return nil
	}
	dirs, err := s.makeRoom(name)
	if err != nil {
		return err
	}
	p := s.prepared[name]
	for _, claim := range p.Claims {
		if err := s.run.check(); err != nil {
			return err
		}
		to := filepath.Join(p.base, filepath.FromSlash(claim))
		if err := s.ledger.makeBelow(p.base, filepath.Dir(to)); err != nil {
			return err
		}
		if err := s.moveFile(p, stagedPath(p.data(), claim), to); err != nil {
			return err
		}
		for dir := filepath.Dir(to); !dirs[dir]; dir = filepath.Dir(dir) { // up to base, which is there
			dirs[dir] = true
		}
	}
	return s.ledger.durable(namedFirst, false, names{disk: p.base, dirs: dirs})
}

// moveFile moves one file. Whatever the rename says, the two names tell how it stands.
func (s *Lease) moveFile(p preparedOutput, from, to string) error {
	err := s.ledger.fs.RenameNoReplace(from, to)
	if err == nil {
		return nil
	}
	staged, lookErr := there(from)
	if staged || lookErr != nil {
		return err
	}
	if is, lookErr := there(to); is || lookErr != nil {
		return lookErr // it happened, and the answer was lost
	}
	return &StagedError{Output: p.name, Path: from, Reason: "the staged file is gone"}
}

// commitTable asks one table to commit.
func (s *Lease) commitTable(ctx context.Context, name string) error {
	if err := s.run.check(); err != nil {
		return err
	}
	t, p := s.tables[name], s.prepared[name]
	t.tried = true
	var err error
	t.Answer, err = t.table.Commit(ctx, s.batchOf(name), p.Claims)
	switch {
	case t.Outcome == Done, t.Outcome == Found && p.Class == Once:
		return nil
	case t.Outcome == Fenced:
		return s.fenced(ctx, t.Mark.Run)
	case t.Outcome == NotDone:
		return s.tableError(name, err)
	}
	t.Outcome, s.ended = Unknown, true // nothing is touched (I8): who takes over finds out
	return &UnknownError{Batch: s.request.Batch, Output: name, Step: phaseCommitting, Document: s.version.Path, Err: err}
}

// fenced ends a lease when the table holds the commit of a later one. By is whose that is.
func (s *Lease) fenced(ctx context.Context, by string) error {
	now, v, err := s.ledger.load(context.WithoutCancel(ctx), s.request.Batch)
	if err == nil && !now.heldBy(s.run.ID, s.epoch) {
		return s.lost(ctx, now, v)
	}
	s.ended = true // a later run of another ledger: of a copy of this one
	s.run.lostTo(by)
	return &LostError{Batch: s.request.Batch, By: by, Document: s.version.Path}
}

func (s *Lease) tableError(name string, err error) error {
	p := s.prepared[name]
	place := p.base
	if place == "" {
		place = p.Target
	}
	return &TableError{Output: name, Path: place, Err: err}
}

// resolve asks the tables that now hold this batch which files of dead runs they have ever named. The others are
// nobody's: those runs are fenced. Entries that cannot be resolved stay.
func (s *Lease) resolve(ctx context.Context) {
	s.settled = map[string]settlement{}
	for _, name := range sortedKeys(s.tables) {
		b := s.batchOf(name)
		for _, dead := range b.Pending {
			if !s.tables[name].fences(dead) {
				continue
			}
			var named []string
			if dead.Output.Class == Named {
				named = dead.Output.Claims // they are named to people, and never removed
			} else if len(dead.Output.Claims) > 0 {
				var err error
				if named, err = s.tables[name].table.Resolve(ctx, b, dead); err != nil {
					continue
				}
			}
			s.settled[pendingID(dead)] = settlement{name, without(dead.Output.Claims, named)}
		}
	}
}

// fences tells whether the commit that holds the batch keeps a dead run from making its own. One that was found does
// not if that run came later and would have replaced it.
func (t *tabled) fences(dead Pending) bool {
	return t.Outcome == Done || dead.Epoch <= t.Mark.Epoch || dead.Output.Class == Once
}

// without gives the names of all that are not in some.
func without(all, some []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(name string) bool { return slices.Contains(some, name) })
}

// settlePending takes what was resolved off the document's list. What the log has ever named is the table's for
// ever; the rest goes.
func (s *Lease) settlePending(d *Document) {
	d.Pending = slices.DeleteFunc(d.Pending, func(dead Pending) bool {
		done, is := s.settled[pendingID(dead)]
		if is && len(done.unnamed) > 0 {
			d.Todo = append(d.Todo, s.prepared[done.output].remove(dead.Run, done.unnamed))
		}
		return is
	})
}

// remove is the entry that removes files from a table's folder.
func (p preparedOutput) remove(run string, names []string) Entry {
	return Entry{Do: Remove, Run: run, Output: p.name, Base: p.Base, Target: p.Target, Names: names}
}

// tablesDone refuses a commit of the batch before its tables hold it.
func (s *Lease) tablesDone() error {
	for _, name := range sortedKeys(s.tables) {
		if o := s.tables[name].Outcome; o != Done && o != Found {
			return fmt.Errorf("batch %s: commit before the table of output %s was committed to", s.request.Batch.Name(), name)
		}
	}
	return nil
}

// finishTable is the part of a batch's commit that is about one table: which commit in it holds the batch, and what
// is left of the staging goes; all of it if that commit is a dead run's.
func (s *Lease) finishTable(d *Document, f *Finished, p preparedOutput, r Result) {
	mark := s.tables[p.name].Mark
	out := FinishedOutput{Class: p.Class, Base: p.Base, Target: p.Target, Claims: slices.Concat([]string{}, p.Claims), Key: p.Key, Mark: &mark,
		Columns: r.Columns, Rows: r.Rows, Files: r.Files, Bytes: r.Bytes}
	if s.tables[p.name].Outcome == Found {
		out.Claims, out.Columns, out.Rows, out.Files, out.Bytes = []string{}, nil, 0, 0, 0
		for _, dead := range d.Pending {
			if dead.Run == mark.Run && dead.Epoch == mark.Epoch && p.sameTable(dead.Output) {
				out.Claims, out.Files = dead.Output.Claims, int64(len(dead.Output.Claims))
			}
		}
		if len(p.Claims) > 0 {
			d.Todo = append(d.Todo, p.remove(s.run.ID, p.Claims))
		}
	}
	f.Outputs[p.name] = out
	if p.Staging != "" {
		d.Todo = append(d.Todo, Entry{Do: Drop, Run: s.run.ID, Output: p.name, Base: p.Base, Absent: p.Absent, Target: p.Target, Staging: p.Staging, Committed: true})
	}
}
