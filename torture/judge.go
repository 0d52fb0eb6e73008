package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// document is what the judge needs of a batch's document.
type document struct {
	Holder  *struct{ Run string } `json:"holder"`
	Todo    []any                 `json:"todo"`
	Tried   []any                 `json:"tried"`
	Pending []any                 `json:"pending"` // commits that dead runs may have made to tables
	Outputs map[string]struct {
		Phase string `json:"phase"`
	} `json:"outputs"`
	Finished *struct {
		Run     string `json:"run"`
		Outputs map[string]struct {
			Claims []string `json:"claims"`
		} `json:"outputs"`
	} `json:"finished"`
}

func (d document) finishedBy() string {
	if d.Finished == nil {
		return ""
	}
	return d.Finished.Run
}

// phase is how far the output is that the run that holds the batch, or held it, replaces.
func (d document) phase() string {
	for _, o := range d.Outputs {
		return o.Phase
	}
	return ""
}

// look is what a reader saw at one moment, and the documents of the batches, by dt, as they were right after it.
type look struct {
	Rows    []string            `json:"rows"`
	Batches map[string]document `json:"batches"`
	Error   string              `json:"error"`
}

// verdict counts the rows of one moment, or of the worst moments of a scenario, that are not as promised, and tells what else is wrong.
type verdict struct {
	lost, doubled, early int
	broken               []string
}

func (v *verdict) add(o verdict) {
	v.lost, v.doubled, v.early = max(v.lost, o.lost), max(v.doubled, o.doubled), max(v.early, o.early)
	v.broken = append(v.broken, o.broken...)
}

func (v *verdict) sum(o verdict) {
	v.lost, v.doubled, v.early = v.lost+o.lost, v.doubled+o.doubled, v.early+o.early
}

func (v *verdict) wrong(format string, args ...any) {
	v.broken = append(v.broken, fmt.Sprintf(format, args...))
}

func (v verdict) clean() bool { return v.lost+v.doubled+v.early == 0 && len(v.broken) == 0 }

func (v verdict) String() string {
	return fmt.Sprintf("%d rows lost, %d doubled, %d early; %s", v.lost, v.doubled, v.early, strings.Join(v.broken, "; "))
}

// batch is what one day may have in the output: version 0 is there before the scenario, perhaps nothing, and each later one is
// what a run of the scenario reads, and replaces the ones before it with.
type batch struct {
	day      string
	versions [][]string
	by       []string // the run that committed each version, where that is known: never, if it is void
}

const void = "nobody"

// committed is the newest version that is committed.
func (b batch) committed(docs map[string]document) int {
	by := docs[b.day].finishedBy()
	if by == "" {
		return 0
	}
	if i := slices.Index(b.by, by); i >= 0 {
		return i
	}
	return len(b.versions) - 1
}

// done tells whether a run of the scenario has committed the batch.
func (b batch) done(docs map[string]document) bool { return b.committed(docs) > 0 }

// run tells whether the scenario runs the batch.
func (b batch) run() bool { return len(b.versions) > 1 }

// rows are those of all versions.
func (b batch) rows() []string { return slices.Concat(b.versions...) }

// judge holds what readers may see in one scenario. It looks at one moment after the other.
type judge struct {
	mode    string
	table   bool
	batches []batch
	twice   bool              // several runs may replace equal rows by equal rows: for a moment both are there
	seen    map[string]bool   // rows of batches that are added
	at      map[string]string // by place that is replaced: the day whose rows were there last
}

func newJudge(t target, batches []batch) *judge {
	j := &judge{mode: t.mode, table: t.table(), seen: map[string]bool{}, at: map[string]string{}}
	for _, b := range batches {
		j.batches = append(j.batches, batch{b.day, slices.Clone(b.versions), slices.Clone(b.by)})
	}
	return j
}

// corrected says that from now on runs of the first batch read other rows. Those of the version before are never to be seen
// unless they are committed now.
func (j *judge) corrected(rows []string, docs map[string]document) {
	b := &j.batches[0]
	by := void
	if b.committed(docs) == len(b.versions)-1 {
		by = docs[b.day].finishedBy()
	}
	b.by = append(b.by, by)
	b.versions = append(b.versions, rows)
}

// look judges one moment. What is there must be whole at any time, and, where files are added, committed.
func (j *judge) look(l look) (v verdict) {
	if l.Error != "" {
		v.wrong("a reader met: %s", l.Error)
		return v
	}
	if adds(j.mode) {
		return j.added(l)
	}
	return j.replaced(l)
}

func count(rows []string) map[string]int {
	n := map[string]int{}
	for _, r := range rows {
		n[r]++
	}
	return n
}

// missing counts the rows that are not there.
func missing(rows []string, there map[string]int) (n int) {
	for _, r := range rows {
		if there[r] == 0 {
			n++
		}
	}
	return n
}

// added judges modes whose files land after the commit: file by file, each for ever. A rerun takes the old ones away
// when all new ones are there.
func (j *judge) added(l look) (v verdict) {
	there, known, most := count(l.Rows), map[string]bool{}, 1
	if j.twice {
		most = 2
	}
	for _, b := range j.batches {
		if j.table {
			v.sum(j.addedCommit(b, l.Batches, there))
		} else {
			v.sum(j.addedBatch(b, b.committed(l.Batches), there))
		}
		for _, r := range b.rows() {
			known[r] = true
		}
	}
	for r, n := range there {
		v.doubled += max(0, n-most)
		if !known[r] {
			v.early += n
		}
	}
	return v
}

// addedBatch judges one batch whose newest committed version is given. One version is whole at any time; a row that was
// seen goes only when a later version is whole.
func (j *judge) addedBatch(b batch, committed int, there map[string]int) (v verdict) {
	whole, fewest := -1, len(b.rows())
	for i, rows := range b.versions {
		gone := missing(rows, there)
		if i > committed || i < len(b.by) && b.by[i] == void {
			v.early += len(rows) - gone
			continue
		}
		if fewest = min(fewest, gone); gone == 0 {
			whole = i
		}
	}
	if whole < 0 {
		v.lost += fewest
	}
	for i, rows := range b.versions {
		for _, r := range rows {
			if j.seen[r] && there[r] == 0 && whole <= i {
				v.lost++
			}
			j.seen[r] = j.seen[r] || there[r] > 0
		}
	}
	return v
}

// addedCommit judges one batch of a table: its rows come all at once, not before the document has said that they may, and stay.
func (j *judge) addedCommit(b batch, docs map[string]document, there map[string]int) (v verdict) {
	rows := b.versions[len(b.versions)-1]
	switch gone := missing(rows, there); {
	case gone == 0:
		if b.run() && !b.done(docs) && !docs[b.day].announced() {
			v.early = len(rows)
		}
		j.seen[b.day] = true
	case gone < len(rows), j.seen[b.day], b.done(docs), !b.run():
		v.lost = gone
	}
	return v
}

// announced tells whether a target may have made its own commit: a run says so before, and who comes after it.
func (d document) announced() bool {
	return len(d.Tried) > 0 || len(d.Pending) > 0 || d.phase() == "committing" || d.phase() == "done"
}

// replacedBy are the columns by whose values rows are replaced together; the others replace all.
var replacedBy = map[string]string{"overwrite_partitions": "region", "replace_where": "dt", "merge": "id"}

// place is what is replaced as one: the folder that a row lies in, or the rows of a table that have a value.
func (j *judge) place(row string) string {
	column := replacedBy[j.mode]
	if column == "" {
		return ""
	}
	_, value, _ := strings.Cut(row, `"`+column+`": "`)
	value, _, _ = strings.Cut(value, `"`)
	return value
}

// states are what each place may hold: the rows of one day.
func (j *judge) states() map[string]map[string][]string {
	all := map[string]map[string][]string{}
	for _, b := range j.batches {
		for _, r := range b.rows() {
			p := j.place(r)
			if all[p] == nil {
				all[p] = map[string][]string{}
			}
			all[p][b.day] = append(all[p][b.day], r)
		}
	}
	for _, days := range all {
		if !slices.ContainsFunc(j.batches, func(b batch) bool { return !b.run() && days[b.day] != nil }) {
			days[""] = nil // there was no such place
		}
	}
	return all
}

// replaced judges modes that exchange folders: each holds the rows of one day, whole. What an exchange brought in was announced by
// the document before, and what it took away does not come back.
func (j *judge) replaced(l look) (v verdict) {
	states := j.states()
	places := map[string][]string{}
	for _, r := range l.Rows {
		places[j.place(r)] = append(places[j.place(r)], r)
		if states[j.place(r)] == nil {
			v.early++
		}
	}
	for p, days := range states {
		before, looked := j.at[p]
		day, off := nearest(places[p], days, before)
		v.sum(off)
		j.at[p] = day
		b, run := j.run(day)
		switch {
		case !looked || before == day:
		case !run: // the old rows again
			v.lost += max(1, len(days[before]))
		case !b.done(l.Batches) && !l.Batches[day].announced():
			v.early += len(days[day])
		}
	}
	return v
}

// nearest gives the day whose rows a place holds, or is nearest to holding, and how far it is off; of two the one
// that was there before.
func nearest(there []string, days map[string][]string, before string) (day string, off verdict) {
	off.lost = 1 << 30
	n := count(there)
	for _, d := range slices.Sorted(maps.Keys(days)) {
		gone := missing(days[d], n)
		o := verdict{lost: gone, doubled: len(there) - len(days[d]) + gone}
		if sum, best := o.lost+o.doubled, off.lost+off.doubled; sum < best || sum == best && d == before {
			day, off = d, o
		}
	}
	return day, off
}

// run gives the batch of a day, and whether the scenario runs it.
func (j *judge) run(day string) (batch, bool) {
	for _, b := range j.batches {
		if b.day == day {
			return b, b.run()
		}
	}
	return batch{}, false
}

// whole judges a moment at which what is committed must have landed: other batches were started, or the batch itself.
func (j *judge) whole(l look) (v verdict) {
	there := count(l.Rows)
	for _, b := range j.batches {
		if !adds(j.mode) || !b.done(l.Batches) {
			continue
		}
		for i, rows := range b.versions {
			gone := missing(rows, there)
			if i == b.committed(l.Batches) {
				v.lost += gone
			} else {
				v.doubled += len(rows) - gone
			}
		}
	}
	return v
}

// end judges what the last run of the first batch left: of batches that are added all rows of those that are
// committed, each once, and of the folders that are replaced the rows of that last run.
func (j *judge) end(l look) (v verdict) {
	want := count(j.wanted(l))
	if len(want) == 0 {
		v.wrong("no batch was committed")
	}
	there := count(l.Rows)
	for r, n := range want {
		v.lost += max(0, n-there[r])
	}
	for r, n := range there {
		v.doubled += max(0, n-want[r])
	}
	return v
}

// wanted are the rows that the output must hold in the end. Where only the first to come writes, that may be
// another batch than the first.
func (j *judge) wanted(l look) (want []string) {
	first := j.batches[0]
	if adds(j.mode) {
		for i, b := range j.batches {
			version := b.committed(l.Batches)
			if i == 0 && version == 0 && !(once(j.mode) && j.otherDone(l)) {
				version = len(b.versions) - 1 // it is missing
			}
			want = append(want, b.versions[version]...)
		}
		return want
	}
	for _, days := range j.states() {
		rows := days[first.day]
		for _, b := range j.batches {
			if days[first.day] == nil && days[b.day] != nil && (!b.run() || b.done(l.Batches)) {
				rows = days[b.day]
			}
		}
		want = append(want, rows...)
	}
	return want
}

// otherDone tells whether another batch than the first was committed.
func (j *judge) otherDone(l look) bool {
	return slices.ContainsFunc(j.batches[1:], func(b batch) bool { return b.done(l.Batches) })
}
