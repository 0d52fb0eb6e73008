package ledger

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
)

// What a killed run leaves that no document names: the file or folder by which it tried a file system, a
// file in tmp/ that had no name of its own yet, and what its compute engine had put beside its memory.
// None of it is data. It is removed by later starts, and by Recover, when its run is dead, or, where nothing tells whose it
// is, when it is older than the timeout. What cannot be removed is tried again by the next start.

// collect removes what killed runs left. It comes after every batch is held: a start that is refused
// changes nothing.
func (r *Run) collect() {
	r.collectTemporary()
	o, err := r.ledger.others(r.ID)
	if err != nil {
		return
	}
	x := r.exclusion()
	for _, other := range o.records {
		if x.life(other).dead {
			for _, path := range r.ledger.probesOf(other) {
				if _, err := os.Lstat(path); err == nil {
					r.ledger.fs.Remove(path) // a probe is an empty file or an empty folder
				}
			}
		}
	}
}

// collectTemporary removes old files in tmp/. A process that was paused so long and goes on finds its
// file gone, and its save or its record refused.
func (r *Run) collectTemporary() {
	entries, err := os.ReadDir(r.ledger.sub("tmp"))
	if err != nil {
		return
	}
	now := r.storeNow()
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() && now.Sub(info.ModTime()) >= r.ledger.cfg.Timeout {
			r.ledger.fs.Remove(r.ledger.sub("tmp", e.Name()))
		}
	}
}

// probesOf gives the paths at which a run may have left a probe: it tried each output from the ledger's
// staging folder, and beside or in the output, or in the deepest folder above it that there was then.
func (l *Ledger) probesOf(r Record) (paths []string) {
	for _, t := range r.Targets {
		dirs := []string{l.sub(stagingFolder), t.Path}
		for dir := filepath.Dir(t.Path); dir != dirs[len(dirs)-1]; dir = filepath.Dir(dir) {
			dirs = append(dirs, dir)
		}
		for _, b := range r.Batches {
			name := l.probeName(r.Run, b, t.Path)
			for _, dir := range dirs {
				paths = append(paths, filepath.Join(dir, name), filepath.Join(dir, name+probeFrom), filepath.Join(dir, name+probeFrom+stagedSuffix))
			}
		}
	}
	return paths
}

// probeFrom ends the name that a probe has before it is moved within one folder.
const probeFrom = ".from"

// probeName is a name that a later start can work out again, if this one dies between the two steps; also if
// the ledger and the outputs beside it lie in another place then.
func (l *Ledger) probeName(run string, b Batch, base string) string {
	sum := sha256.Sum256([]byte(run + "/" + b.Name() + "/" + l.place(base).Path))
	return probePrefix + hex.EncodeToString(sum[:6]) + stagedSuffix
}

// ScratchName is a name for what a run keeps outside its ledger and its outputs, unlike that of any other
// run; it tells Ended whose it is. It is "" while there is no ledger: the first run of all makes it.
func (l *Ledger) ScratchName(run string) string {
	id, err := l.id()
	if err != nil || id == "" {
		return ""
	}
	return id[:12] + scratchSep + run
}

const scratchSep = "-"

// Ended tells whether a scratch name, or one that begins with one and goes on after a "-", is of a run
// of this ledger that has certainly ended; false if it may be there still, or is of another ledger.
func (r *Run) Ended(name string) bool {
	id, rest, _ := strings.Cut(name, scratchSep)
	const length = len("20060102T150405Z-01234567")
	if id != r.id[:12] || len(rest) < length || len(rest) > length && rest[length:length+1] != scratchSep {
		return false
	}
	run := rest[:length]
	o, err := r.ledger.others(r.ID)
	if err != nil || run == r.ID {
		return false
	}
	for _, other := range o.records {
		if other.Run == run {
			return r.exclusion().life(other).gone
		}
	}
	for _, path := range []string{r.ledger.recordPath(run), r.ledger.beatPath(run)} {
		if is, err := there(path); err != nil || is {
			return false
		}
	}
	return true
}
