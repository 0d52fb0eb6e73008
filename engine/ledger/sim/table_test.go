package sim

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ubunye-io/ubunye/engine/ledger"
	"github.com/ubunye-io/ubunye/engine/ledger/internal/tablelog"
	"github.com/ubunye-io/ubunye/engine/store/fsops"
)

// folders are the outputs that are no tables.
func (s *scenario) folders() []*simOutput {
	return slices.DeleteFunc(slices.Clone(s.outputs), func(o *simOutput) bool { return o.table })
}

func (s *scenario) tables() []*simOutput {
	return slices.DeleteFunc(slices.Clone(s.outputs), func(o *simOutput) bool { return !o.table })
}

// table is an actor's view of a table.
type table struct {
	a   *actor
	log tablelog.Log
}

func (a *actor) table(o *simOutput) table {
	named := 0
	log := tablelog.Log{FS: a.fsys, Base: o.dir, Bad: a.w.bad, Name: func() string {
		named++
		return fmt.Sprintf("%s-%s-%d", a.name, o.name, named)
	}}
	if a.job.deaf {
		log.Deaf = func() bool { return true }
	}
	return table{a, log}
}

// found tells whether a table holds the batch already, by a dead run's commit.
func found(s *ledger.Lease, o *simOutput) bool {
	return slices.ContainsFunc(s.Tables(), func(t ledger.TableOutcome) bool { return t.Output == o.name && t.Outcome == ledger.Found })
}

func keysOf(b ledger.TableBatch) []string {
	keys := []string{b.Key}
	for _, dead := range b.Pending {
		if !slices.Contains(keys, dead.Output.Key) {
			keys = append(keys, dead.Output.Key)
		}
	}
	return keys
}

func markOf(e tablelog.Entry) ledger.Mark {
	return ledger.Mark{Run: e.Run, Epoch: e.Epoch, Commit: fmt.Sprint(e.Version)}
}

// Look upholds ledger.Table.
func (t table) Look(_ context.Context, b ledger.TableBatch) (ledger.Mark, error) {
	e, _, err := t.log.Find(keysOf(b))
	return markOf(e), err
}

// Commit upholds ledger.Table.
func (t table) Commit(_ context.Context, b ledger.TableBatch, files []string) (ledger.Answer, error) {
	e := tablelog.Entry{Keys: keysOf(b), Run: b.Run, Epoch: b.Epoch, Files: files, Replaces: b.Class == ledger.Replaces}
	outcome, at, err := t.log.Commit(e, b.After, b.Class == ledger.Once)
	if outcome == string(ledger.Unknown) {
		t.a.w.saw(unknownInTable)
	}
	return ledger.Answer{Outcome: ledger.Outcome(outcome), Mark: markOf(at)}, err
}

// Resolve upholds ledger.Table.
func (t table) Resolve(_ context.Context, _ ledger.TableBatch, dead ledger.Pending) ([]string, error) {
	return t.log.Named(dead.Output.Claims)
}

// keyIn is what commits of a batch to a table carry.
func (b *simBatch) keyIn(out *simOutput) string {
	return strings.Join([]string{"ubunye", b.batch.Pipeline, b.batch.Task, out.name, b.batch.Key}, "/")
}

// entriesOf are the entries of one batch in a table's log.
func (o *oracle) entriesOf(b *simBatch, out *simOutput) []tablelog.Entry {
	return slices.DeleteFunc(slices.Clone(o.logs[out]), func(e tablelog.Entry) bool { return !slices.Contains(e.Keys, b.keyIn(out)) })
}

// names tells whether the log of a table has named a file.
func (o *oracle) names(out *simOutput, file string) bool {
	return slices.ContainsFunc(o.logs[out], func(e tablelog.Entry) bool { return slices.Contains(e.Files, file) })
}

// tableChanged looks at a change in a table's folder: what the log names is there, and stays.
func (o *oracle) tableChanged(out *simOutput, a *actor, op fsops.Op) {
	if file, err := filepath.Rel(out.dir, op.Path); err == nil && filepath.IsLocal(file) && (op.Kind == "remove" || op.Kind == "rename" || op.Kind == "exchange") {
		switch {
		case o.names(out, file):
			o.violated("I8: %s %s %s, which the log names", a.name, op.Kind, o.w.rel(op.Path))
		case op.Kind == "remove" && strings.HasSuffix(file, ".parquet"):
			o.w.saw(goneFromTable)
		}
	}
	if op.Kind != "rename" || filepath.Dir(op.To) != tablelog.Folder(out.dir) {
		return
	}
	entries, err := tablelog.Read(out.dir)
	if err != nil || len(entries) != len(o.logs[out])+1 {
		o.violated("the log of %s has %d entries, had %d: %v", out.name, len(entries), len(o.logs[out]), err)
		return
	}
	o.newEntry(out, a, entries[len(entries)-1])
	o.logs[out] = entries
}

// newEntry looks at a new entry in a table's log.
func (o *oracle) newEntry(out *simOutput, a *actor, e tablelog.Entry) {
	o.filesThere(out, e)
	i := slices.IndexFunc(a.job.batches, func(b *simBatch) bool { return slices.Contains(e.Keys, b.keyIn(out)) })
	if i < 0 || e.Run != a.id {
		o.violated("%s puts an entry of %s with %q", a.id, e.Run, e.Keys)
		return
	}
	b := a.job.batches[i]
	d := o.docs[b.batch.Name()]
	o.w.log("       %s entry %d: %s, epoch %d", out.name, e.Version, b.batch.Name(), e.Epoch)
	for _, before := range o.entriesOf(b, out) {
		switch {
		case before.Epoch >= e.Epoch:
			o.violated("R70: an entry of epoch %d by %s follows one of epoch %d", e.Epoch, a.name, before.Epoch)
		case b.classIn(out) == ledger.Once && (d.Finished == nil || before.Epoch > d.Finished.Epoch):
			o.violated("R70: %s puts %s into %s twice: entry %d holds it", a.name, b.batch.Name(), out.name, before.Version)
		}
	}
	if d.holder() != a.id {
		o.w.saw(deadInTable) // it was taken over before
	}
}

func (o *oracle) filesThere(out *simOutput, e tablelog.Entry) {
	for _, file := range e.Files {
		text, err := os.ReadFile(filepath.Join(out.dir, file))
		if f := o.files[filepath.Base(file)]; err != nil || f == nil || string(text) != f.text() {
			o.violated("R64: entry %d of %s names %s, which holds %q (%v)", e.Version, out.name, file, text, err)
		}
	}
}

// noteTakenTables counts commits in tables of which the document never said anything.
func (o *oracle) noteTakenTables(name, held string, epoch int64) {
	for _, out := range o.w.tables() {
		for _, e := range o.logs[out] {
			if e.Run == held && e.Epoch == epoch && slices.ContainsFunc(e.Keys, func(key string) bool { return filepath.Base(key) == filepath.Base(name) }) {
				o.w.saw(deadInTable)
			}
		}
	}
}

// tableCommitted looks whether what a commit says of a table is so.
func (o *oracle) tableCommitted(a *actor, b *simBatch, out *simOutput, d *document) {
	mark := d.Finished.Outputs[out.name].Mark
	entries := o.entriesOf(b, out)
	i := -1
	if mark != nil {
		i = slices.IndexFunc(entries, func(e tablelog.Entry) bool { return e.Run == mark.Run && e.Epoch == mark.Epoch })
	}
	switch {
	case i < 0:
		o.violated("I4: %s commits %s, and the log of %s has no such entry: %+v", a.name, b.batch.Name(), out.name, mark)
	case mark.Run == a.id && mark.Epoch == d.Epoch:
	case b.classIn(out) != ledger.Once:
		o.violated("I4: %s commits %s by the entry of another run: %+v", a.name, b.batch.Name(), mark)
	default:
		o.w.saw(foundInTable)
	}
}

// tableSettled looks whether tables show what the ledger says of a batch that was just run, without faults.
func (o *oracle) tableSettled(b *simBatch) {
	d := o.docs[b.batch.Name()]
	for _, out := range b.outputs {
		if !out.table || o.fault != "" {
			continue
		}
		commits := 0
		for _, c := range o.commits {
			if c.batch.batch.Name() == b.batch.Name() {
				commits++
			}
		}
		entries := o.entriesOf(b, out)
		newest := tablelog.Newest(entries, []string{b.keyIn(out)})
		mark := d.Finished.Outputs[out.name].Mark
		switch {
		case newest.Run != mark.Run || newest.Epoch != mark.Epoch:
			o.violated("R70: the ledger says that %s is %+v, its newest entry in %s is %d by %s", b.batch.Name(), mark, out.name, newest.Version, newest.Run)
		case b.classIn(out) == ledger.Once && len(entries) != commits:
			o.violated("R70: %s was committed %d times and is %d times in %s", b.batch.Name(), commits, len(entries), out.name)
		}
	}
}

// tablesWereCut looks at what a power cut has left of the tables.
func (o *oracle) tablesWereCut() {
	for _, out := range o.w.tables() {
		entries, err := tablelog.Read(out.dir)
		if err != nil {
			o.violated("after the power cut: %v", err)
		}
		o.logs[out] = entries
		for _, e := range entries {
			o.filesThere(out, e)
		}
		for _, b := range o.w.batches {
			d := o.docs[b.batch.Name()]
			if d == nil || d.Finished == nil || !slices.Contains(b.outputs, out) {
				continue
			}
			if mark := d.Finished.Outputs[out.name].Mark; mark != nil && !slices.ContainsFunc(o.entriesOf(b, out), func(e tablelog.Entry) bool { return e.Run == mark.Run && e.Epoch == mark.Epoch }) {
				o.violated("R64: the power cut has taken %+v of %s back, which the document says is committed", mark, out.name)
			}
		}
	}
}

// tablesTidy looks whether a file is left in a table that no log has named.
func (o *oracle) tablesTidy() {
	for _, out := range o.w.tables() {
		for _, at := range o.w.disk.Files(out.dir) {
			f := o.files[filepath.Base(at)]
			if strings.HasSuffix(at, ".parquet") && !o.names(out, at) && f.batch.classIn(out) != ledger.Named {
				o.violated("at the end %s is in %s, and its log has never named it", at, out.name)
			}
		}
	}
	for name, d := range o.docs {
		if len(d.Pending) > 0 {
			o.violated("at the end %s is in doubt about %d outputs", name, len(d.Pending))
		}
	}
}
