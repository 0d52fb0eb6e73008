package sim

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// cutting is called before the power is cut.
func (o *oracle) cutting() {
	for _, d := range o.docs {
		for _, e := range d.Todo {
			if e.Do != "land" {
				continue
			}
			for _, name := range e.Names {
				if f := o.files[filepath.Base(name)]; f != nil && !o.isVisible(f) {
					o.w.saw(cutBeforeLanding)
					return
				}
			}
		}
	}
}

// wasCut looks at what a power cut has left: nothing that a process was told, nothing visible that no document
// knows, no folder that is neither the old one nor the new one.
func (o *oracle) wasCut() {
	o.away = map[string][]*file{}
	for _, name := range o.batchNames() {
		d, err := o.newest(name)
		if err != nil {
			o.violated("after the power cut: %v", err)
			return
		}
		o.forget(name, d.finishedBy())
		if delete(o.docs, name); d != nil {
			o.docs[name] = d
		}
	}
	o.tablesWereCut()
	for _, out := range o.w.folders() {
		now := map[string]bool{}
		for _, at := range o.look(out) {
			now[at] = true
		}
		o.visible[out] = now
		o.undo(out)
		for at := range now {
			f := o.fileAt(out, at)
			if f == nil || f.by != nil && !f.replaced() && o.commitOf(f) == nil {
				o.violated("I1: after the power cut %s is visible in %s, and no document says that its batch is committed", at, out.name)
			}
		}
	}
}

func (o *oracle) batchNames() (names []string) {
	for _, b := range o.w.batches {
		names = append(names, b.batch.Name())
	}
	slices.Sort(names)
	return slices.Compact(names)
}

var generationFile = regexp.MustCompile(`^[0-9]{8}\.json$`)

// newest reads a document as it is on the disk; nil if there is none.
func (o *oracle) newest(name string) (*document, error) {
	dir := filepath.Join(o.w.dir, ".ubunye", "batches", name)
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range slices.Backward(entries) {
		if generationFile.MatchString(e.Name()) {
			return readDocument(filepath.Join(dir, e.Name()))
		}
	}
	return nil, err
}

// forget takes back the commits of a batch after the one that its document names: their processes must not have
// been told of them.
func (o *oracle) forget(name, finishedBy string) {
	for len(o.commits) > 0 {
		i := -1
		for j, c := range o.commits {
			if c.batch.batch.Name() == name {
				i = j
			}
		}
		if i < 0 {
			break
		}
		c := o.commits[i]
		if c.by.id == finishedBy {
			return
		}
		if c.told {
			o.violated("R64: the power cut has lost the commit of %s by %s, which was told that it is committed", name, c.by.name)
		}
		o.commits = slices.Delete(o.commits, i, i+1)
		o.w.saw(cutLostCommit)
	}
	if finishedBy != "" {
		o.violated("after the power cut %s is finished by %s, which never committed it", name, finishedBy)
	}
}

// undo takes back the replacing of folders that the power cut has undone, the last one first.
func (o *oracle) undo(out *simOutput) {
	standing := map[string]bool{}
	for _, e := range slices.Backward(slices.Clone(o.replacing)) {
		if e.output != out || standing[e.part] {
			continue
		}
		there := 0
		for _, f := range e.files {
			if o.isVisible(f) {
				there++
			}
		}
		switch {
		case there == len(e.files):
			standing[e.part] = true
			continue
		case there > 0:
			o.violated("R64: after the power cut %s of %s holds %d of %d files of %s", e.part, out.name, there, len(e.files), e.by.name)
		}
		for _, b := range e.by.job.batches {
			if c := o.commitBy(e.by, b); c != nil && slices.Contains(b.outputs, out) && !strings.Contains(o.fault, "R64") {
				o.violated("R64: the power cut has taken %s of %s back, which %s committed", e.part, out.name, e.by.name)
			}
		}
		for _, f := range e.over {
			if f.gone == e {
				f.gone = nil
			}
		}
		o.replacing = slices.DeleteFunc(o.replacing, func(r *replacing) bool { return r == e })
		o.w.saw(cutUndidExchange)
	}
}
