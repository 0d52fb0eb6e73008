package sim

import (
	"path/filepath"
	"strings"

	"github.com/ubunye-io/ubunye/engine/store/fsops"
)

// situation is something that must have happened often enough for the seeds to prove anything.
type situation string

const (
	takeoverOfLive   situation = "takeover of a live run"
	takeoverOfDead   situation = "takeover of a dead run"
	unknownCounted   situation = "unknown save that counted"
	unknownDidNot    situation = "unknown save that did not count"
	mopAgainstDrain  situation = "mop against drain"
	sweptGeneration  situation = "swept generation"
	lateRename       situation = "late rename"
	lateMkdir        situation = "late mkdir"
	grabByAnother    situation = "grab by another"
	cutBeforeLanding situation = "power cut with a committed batch not landed"
	cutLostCommit    situation = "power cut that lost a commit nobody was told of"
	cutUndidExchange situation = "power cut that undid an exchange"
	diskFull         situation = "full disk"
	takenAway        situation = "first of two renames"
	takenBack        situation = "two renames, put back"
	declaredDead     situation = "live run declared dead"
	lostAnswer       situation = "lost answer"
	deadInTable      situation = "keyed commit by the dead"
	foundInTable     situation = "keyed commit by the dead, found and not made again"
	unknownInTable   situation = "keyed commit whose outcome was unknown"
	sliceAgain       situation = "slice of an incremental batch committed again, in the place of the last"
	sliceAfter       situation = "slice of an incremental batch committed after another"
	goneFromTable    situation = "file of the dead that no log named, removed"
)

// often are the situations that must be there a hundred times in ten thousand seeds.
var often = []situation{takeoverOfLive, takeoverOfDead, unknownCounted, unknownDidNot, mopAgainstDrain, sweptGeneration, lateRename,
	lateMkdir, grabByAnother, cutBeforeLanding, diskFull, lostAnswer, declaredDead, cutUndidExchange, takenAway,
	deadInTable, goneFromTable, sliceAgain, sliceAfter}

func (w *world) saw(s situation) { w.counts[s]++ }

// note counts what kind of a situation a change was.
func (o *oracle) note(a *actor, op fsops.Op, err error, what fate) {
	switch what {
	case answered:
		o.w.saw(lostAnswer)
	case noRoom:
		o.w.saw(diskFull)
	}
	at, to := o.w.rel(op.Path), o.w.rel(op.To)
	if op.Kind == "link" && generation.MatchString(to) {
		switch what {
		case answered:
			o.w.saw(unknownCounted)
		case refused:
			o.w.saw(unknownDidNot)
		}
	}
	if op.Kind == "syncdir" && strings.HasPrefix(at, ".ubunye/batches/") && (what == answered || what == refused) {
		o.w.saw(unknownCounted)
	}
	if strings.HasSuffix(op.To, ".drop") && op.Kind == "rename" && err == nil {
		o.grabbed[op.Path] = o.w.step
		if o.maker[op.Path] != a {
			o.w.saw(grabByAnother)
		}
	}
	if op.Kind == "mkdir" && err == nil {
		o.maker[op.Path] = a
	}
	o.noteLate(a, op, err)
	if strings.HasSuffix(at, ".staged") && op.Kind == "rename" {
		if by := o.tried[op.Path]; by != nil && by != a {
			o.w.saw(mopAgainstDrain)
		}
		o.tried[op.Path] = a
	}
}

// noteLate counts changes of a run that come after its staging was grabbed.
func (o *oracle) noteLate(a *actor, op fsops.Op, err error) {
	if err == nil || !existsNot(err) {
		return
	}
	for dir := op.Path; len(dir) > len(o.w.dir); dir = filepath.Dir(dir) {
		if o.grabbed[dir] == 0 || o.maker[dir] != a {
			continue
		}
		switch op.Kind {
		case "rename", "exchange":
			o.w.saw(lateRename)
		case "mkdir":
			o.w.saw(lateMkdir)
		}
		return
	}
}
