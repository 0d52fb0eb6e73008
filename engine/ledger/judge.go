package ledger

import (
	"errors"
	"io/fs"
	"slices"
	"sync"
	"time"

	"github.com/ubunye-io/ubunye/engine/store"
)

// life is what can be told of a run that somebody asks about. Judging wrongly is safe: it costs the other
// run its work, never data.
type life struct {
	beat  time.Time     // its last sign, by the store's clock; zero: not known
	age   time.Duration // since then, by that clock; negative: the sign is dated in the future
	gone  bool          // certainly dead: its process has ended, or its record says that it has
	dead  bool          // it may be taken over
	looks time.Duration // too old, but seen once only: dead if it gives no sign for so long from now on
}

// judge tells whether a run is dead. otherwise is the file that counts if it has no heartbeat; now is the
// time by the clock that heartbeats are dated by. A run is dead when
//
//   - its process has certainly ended, or its record says that the run has ended;
//   - it ran on this machine before it was started anew, and its heartbeat is older than three intervals
//     (cloned machines share ids, so the boot alone proves nothing);
//   - its heartbeat is older than the timeout and was seen unchanged twice, one and a half intervals apart;
//   - its heartbeat is dated in the future and was seen unchanged for a whole timeout of this process's clock.
func (l *Ledger) judge(run string, id Identity, otherwise string, now time.Time) life {
	var j life
	sign := l.beatPath(run)
	then, err := store.ModTime(sign)
	beating := err == nil && l.fresh(now.Sub(then))
	if errors.Is(err, fs.ErrNotExist) {
		sign = otherwise
		then, err = store.ModTime(sign)
	}
	known := err == nil
	var unchanged time.Duration
	if known {
		j.beat, j.age = then, now.Sub(then)
		unchanged = l.sights.unchanged(sign, then, l.cfg.Elapsed())
	}
	j.gone = certainlyGone(l.processes, l.cfg.Identity, id) || l.saysEnded(run, beating)
	switch {
	case j.gone:
		j.dead = true
	case !known: // it may be alive
	case j.age < 0:
		j.dead = unchanged >= l.cfg.Timeout
	case rebooted(l.cfg.Identity, id) && j.age > 3*l.cfg.Heartbeat:
		j.dead = true
	case j.age >= l.cfg.Timeout:
		j.looks = max(0, secondLook(l.cfg.Heartbeat)-unchanged)
		j.dead = j.looks == 0
	}
	return j
}

// secondLook is how long a heartbeat that looks too old is watched: one beat must have come meanwhile.
func secondLook(interval time.Duration) time.Duration { return interval * 3 / 2 }

// saysEnded tells whether a run's record says that it has ended. One that is not there, or cannot be read, says
// nothing; nor does the word of another run that took a batch over while this one still beats.
func (l *Ledger) saysEnded(run string, beating bool) bool {
	r, err := l.readRecord(run)
	return err == nil && r.Status.ended() && (r.By == "" || !beating)
}

// ended tells whether a run with this status has ended.
func (s Status) ended() bool {
	return slices.Contains([]Status{Landed, Succeeded, Failed, Interrupted, Refused}, s)
}

// sights are the heartbeats that this process has seen, and since when each has been as it is.
type sights struct {
	mu   sync.Mutex
	seen map[string]sight // by the file: a run without a heartbeat is judged by its record and by its documents
}

type sight struct {
	beat  time.Time
	since time.Duration // on Config.Elapsed
}

// unchanged notes a heartbeat and returns for how long it has been seen to be as it is.
func (s *sights) unchanged(sign string, beat time.Time, now time.Duration) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen == nil {
		s.seen = map[string]sight{}
	}
	was, is := s.seen[sign]
	if !is || !was.beat.Equal(beat) {
		s.seen[sign] = sight{beat, now}
		return 0
	}
	return now - was.since
}

// judgeHolder describes the holder of a batch; nil if nobody holds it. now is the time that the age of
// its heartbeat is counted to: by the store's own clock where this run has a heartbeat of its own to read it
// from, by this machine's where nothing may be written. Without a heartbeat the document's age counts.
func (l *Ledger) judgeHolder(d *Document, v store.Version, now time.Time) *HeldError {
	if d.Holder == nil {
		return nil
	}
	j := l.judge(d.Holder.Run, d.Holder.Identity, v.Path, now)
	return &HeldError{Batch: d.Batch, Holder: *d.Holder, Age: j.age, Beat: j.beat, Gone: j.gone, Dead: j.dead, Looks: j.looks, Document: v.Path}
}

// fresh tells whether a run is alive by whatever clock: it gave a sign in the last three intervals. Anything
// older, or in the future, must be judged by the store's own clock.
func (l *Ledger) fresh(age time.Duration) bool { return age >= 0 && age < 3*l.cfg.Heartbeat }
