package sim

import "encoding/json"

// slice is what an incremental batch reads for one commit: numbers, of which the next slice has those that follow.
type slice struct{ From, To int64 }

// sliceOf reads a range.
func sliceOf(r json.RawMessage) (s slice) {
	_ = json.Unmarshal(r, &s) // another one has no numbers
	return s
}

// reads looks whether what a process is about to read is in the document, by which whoever follows it reads the same.
func (o *oracle) reads(a *actor, b *simBatch) {
	name := b.batch.Name()
	if d := o.docs[name]; d.holder() == a.id && sliceOf(d.Range) == (slice{}) {
		o.violated("%s reads %s before it has pinned what", a.id, name)
	}
}

// rangeStays looks whether what was pinned stays so until it is committed.
func (o *oracle) rangeStays(name string, old, d *document) {
	if old == nil || sliceOf(old.Range) == (slice{}) || sliceOf(d.Range) == sliceOf(old.Range) {
		return
	}
	if d.Finished == nil || sliceOf(d.Finished.Range) != sliceOf(old.Range) || sliceOf(d.Range) != (slice{}) {
		o.violated("%s was to read %v, and a save makes %v of it", name, sliceOf(old.Range), sliceOf(d.Range))
	}
}

// sliceCommitted looks whether a commit of an incremental batch is of the slice after the last one, which it adds, or of that one
// again, which it replaces.
func (o *oracle) sliceCommitted(c *commit, name string, old, d *document) {
	c.slice = sliceOf(d.Finished.Range)
	last := slice{}
	if old != nil && old.Finished != nil {
		last = sliceOf(old.Finished.Range)
	}
	c.rerun = c.slice == last
	if c.slice != sliceOf(old.Range) || !c.rerun && c.slice.From != last.To {
		o.violated("%s commits %v of %s after %v, and was to read %v", c.by.id, c.slice, name, last, sliceOf(old.Range))
	}
	if c.rerun {
		o.w.saw(sliceAgain)
	} else if last != (slice{}) {
		o.w.saw(sliceAfter)
	}
	if len(d.Todo) > 0 && c.rerun != hasRemoval(d) {
		o.violated("%s commits %v of %s after %v, with the list %+v", c.by.id, c.slice, name, last, d.Todo)
	}
}

func hasRemoval(d *document) bool {
	for _, e := range d.Todo {
		if e.Do == "remove" {
			return true
		}
	}
	return false
}
