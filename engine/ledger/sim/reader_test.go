package sim

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ubunye-io/ubunye/engine/store/fsops"
)

// compare looks at what a change made of what readers see in an output, and whether that may be.
func (o *oracle) compare(out *simOutput, a *actor, op fsops.Op) {
	places := o.look(out)
	was, now := o.visible[out], map[string]bool{}
	o.visible[out] = now
	var added, gone []*file
	seen := map[*file]string{}
	for _, at := range places {
		now[at] = true
		f := o.fileAt(out, at)
		switch {
		case f == nil || f.output != out || f.at() != at:
			o.violated("R60: readers of %s see %s, which is nobody's", out.name, at)
			return
		case seen[f] != "":
			o.violated("%s is visible twice: %s and %s", f.name, seen[f], at)
		case !was[at]:
			added = append(added, f)
		}
		seen[f] = at
	}
	for at := range was {
		if !now[at] {
			gone = append(gone, o.fileAt(out, at))
		}
	}
	if len(added)+len(gone) == 0 {
		return
	}
	part, folder := o.folderMoved(out, op)
	switch {
	case folder == "in":
		o.putInPlace(out, part, a, op, added, gone)
	case folder == "away":
		o.tookAway(out, part, a, added, gone)
	case folder == "back":
		o.putBack(out, part, added, gone)
	default:
		o.eachFile(a, op, added, gone)
	}
}

// folderMoved tells whether a change moved a whole folder: into the output out of staging, away to staging, or
// back.
func (o *oracle) folderMoved(out *simOutput, op fsops.Op) (part, how string) {
	if op.Kind != "exchange" && op.Kind != "rename" {
		return "", ""
	}
	inner, outer := op.To, op.Path
	if inside(op.Path, out.dir) && !inside(op.To, out.dir) {
		inner, outer = op.Path, op.To
	}
	if strings.HasSuffix(inner, ".parquet") || !inside(inner, out.dir) {
		return "", ""
	}
	part, _ = filepath.Rel(out.dir, inner)
	switch {
	case op.Kind == "exchange":
		return part, "in"
	case inner == op.Path && strings.Contains(outer, "/old"):
		return part, "away"
	case strings.Contains(outer, "/old"):
		return part, "back"
	}
	return part, "in"
}

// putInPlace looks at a folder that was put in place: only its own run may do that, as long as no other run has
// come that excludes it, whole, and over nothing that has landed in part.
func (o *oracle) putInPlace(out *simOutput, part string, a *actor, op fsops.Op, added, gone []*file) {
	if o.maker[op.Path] != a && !(part == "." && o.maker[filepath.Dir(op.Path)] == a) {
		o.violated("%s (%s) puts %s of another run in place", a.name, a.id, o.w.rel(op.Path))
		return
	}
	e := &replacing{by: a, output: out, part: part}
	for _, b := range a.job.batches {
		if !slices.Contains(b.outputs, out) {
			continue
		}
		for _, f := range o.w.filesOf(a, b, out) {
			if part == "." || f.part == part {
				e.files = append(e.files, f)
			}
		}
	}
	if !sameFiles(added, e.files) {
		o.violated("R61: %s puts %s of %s in place with %s, staged were %s", a.name, part, out.name, names(added), names(e.files))
	}
	if b := o.excluding(a, out); b != nil {
		o.violated("R65: %s replaces %s of %s after %s, which excludes it, has entered", a.name, part, out.name, b.name)
	}
	e.over = append(gone, o.away[key(out, part)]...)
	delete(o.away, key(out, part))
	for _, f := range e.over {
		o.mayBeReplaced(f, e)
	}
	for _, f := range e.over {
		f.gone = e
	}
	o.replacing = append(o.replacing, e)
}

// mayBeReplaced looks whether the append that a file belongs to has landed wholly: half of one is never lost.
func (o *oracle) mayBeReplaced(f *file, e *replacing) {
	c := o.commitOf(f)
	if c == nil || o.replacedBy(c) != nil {
		return
	}
	for _, other := range c.files {
		if other.output == f.output && !slices.Contains(e.over, other) && other.gone == nil && !o.isVisible(other) {
			o.violated("R65: half an append of %s is lost: %s goes, %s has not landed", c.by.name, f.name, other.name)
			return
		}
	}
}

// excluding finds a run that has come since this one stages, and excludes it.
func (o *oracle) excluding(a *actor, out *simOutput) *actor {
	mine := o.entered[a.id]
	if mine == 0 && o.holdsFor(a, out) { // another batch of it was taken over, which it has yet to learn
		mine = o.said[a.id]
	}
	for _, b := range o.w.actors {
		if b == a || o.entered[b.id] <= mine {
			continue
		}
		for _, batch := range b.job.batches {
			if slices.Contains(batch.outputs, out) && !(batch.modeIn(out) == parts && out.replaces == parts) {
				return b
			}
		}
	}
	return nil
}

// holdsFor tells whether a run holds the batches that it writes to an output.
func (o *oracle) holdsFor(a *actor, out *simOutput) bool {
	return !slices.ContainsFunc(a.job.batches, func(b *simBatch) bool {
		return slices.Contains(b.outputs, out) && o.docs[b.batch.Name()].holder() != a.id
	})
}

// tookAway is the first of two renames, where folders cannot be exchanged: readers find none for a moment.
func (o *oracle) tookAway(out *simOutput, part string, a *actor, added, gone []*file) {
	if !o.w.noExchange || len(added) > 0 {
		o.violated("R61: %s takes %s of %s away: readers find nothing", a.name, part, out.name)
	}
	o.away[key(out, part)] = gone
	o.w.saw(takenAway)
}

func (o *oracle) putBack(out *simOutput, part string, added, gone []*file) {
	if !sameFiles(added, o.away[key(out, part)]) || len(gone) > 0 {
		o.violated("%s of %s is put back with %s, taken away were %s", part, out.name, names(added), names(o.away[key(out, part)]))
	}
	delete(o.away, key(out, part))
	o.w.saw(takenBack)
}

func key(out *simOutput, part string) string { return out.name + "/" + part }

// eachFile looks at files that come and go by themselves.
func (o *oracle) eachFile(a *actor, op fsops.Op, added, gone []*file) {
	for _, f := range added {
		c := o.commitOf(f)
		switch {
		case f.by == nil:
			o.violated("%s brings back %s of a stranger", a.name, f.name)
		case f.replaced():
			o.violated("%s lands %s, which comes with its folder", a.name, f.name)
		case c == nil:
			o.violated("I1: %s is visible, and no document says that its batch is committed", f.name)
		case o.replacedBy(c) != nil:
			o.violated("%s lands, though a rerun has replaced it", f.name)
		case f.gone != nil:
			o.violated("%s lands a second time", f.name)
		}
	}
	for _, f := range gone {
		c := o.commitOf(f)
		if c == nil || op.Kind != "remove" {
			o.violated("I3: %s %s %s takes %s away", a.name, op.Kind, o.w.rel(op.Path), f.name)
			continue
		}
		by := o.replacedBy(c)
		if by == nil {
			o.violated("I3: %s removes %s, which nothing replaces", a.name, f.name)
			continue
		}
		for _, other := range by.files {
			if other.output == f.output && !o.isVisible(other) && other.gone == nil {
				o.violated("I3: %s removes %s before %s is there", a.name, f.name, other.name)
				return
			}
		}
	}
}

func sameFiles(a, b []*file) bool {
	if len(a) != len(b) {
		return false
	}
	for _, f := range a {
		if !slices.Contains(b, f) {
			return false
		}
	}
	return true
}

func names(files []*file) string {
	list := []string{}
	for _, f := range files {
		list = append(list, f.name)
	}
	slices.Sort(list)
	return "{" + strings.Join(list, " ") + "}"
}

// wanted is what readers of an output must see when nothing is left to be done.
func (o *oracle) wanted(out *simOutput) (files []*file) {
	add := func(f *file) {
		if f.output == out && f.gone == nil {
			files = append(files, f)
		}
	}
	for _, f := range o.strangers {
		add(f)
	}
	for _, c := range o.commits {
		if o.replacedBy(c) == nil {
			for _, f := range c.files {
				add(f)
			}
		}
	}
	for _, e := range o.replacing {
		for _, f := range e.files {
			add(f)
		}
	}
	return files
}

// settled looks whether readers see all that they must, each once, and nothing else, with its contents.
func (o *oracle) settled(when string) {
	for _, out := range o.w.folders() {
		waits := false
		for at := range o.away {
			waits = waits || strings.HasPrefix(at, out.name+"/")
		}
		if waits || o.fault != "" {
			continue // whoever takes its batch over puts it back
		}
		var seen []*file
		for at := range o.visible[out] {
			f := o.fileAt(out, at)
			seen = append(seen, f)
			text, err := os.ReadFile(filepath.Join(out.dir, at))
			want := f.text()
			if f.by == nil {
				want = textOf(path.Base(f.name))
			}
			if err != nil || string(text) != want {
				o.violated("%s: %s holds %q, want %q (%v)", when, f.name, text, want, err)
			}
		}
		if want := o.wanted(out); !sameFiles(seen, want) {
			o.violated("%s: readers of %s see %s, want %s", when, out.name, names(seen), names(want))
		}
	}
}
