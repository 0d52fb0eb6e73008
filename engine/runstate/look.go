package runstate

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"slices"
)

// Snapshot is what a start finds of a pipeline's runs.
type Snapshot struct {
	Latest     *Found   // the latest run with the same variables and profile that is about any of the same tasks; nil: there is none
	Unfinished []*Found // other unfinished runs, newest first
	Highest    int64    // the highest number of a run, whatever its variables; 0: there is none

	name    string
	key     string
	newest  Number            // the newest file of all
	marks   *Found            // the newest run with the same variables and profile, whatever its tasks: how far inputs were read is carried on from it
	rebuilt map[string]Number // hints that were missing or wrong
}

// Same tells whether nothing was changed between two looks that a decision rests on.
func (s *Snapshot) Same(o *Snapshot) bool {
	if s.Highest != o.Highest || (s.Latest == nil) != (o.Latest == nil) || len(s.Unfinished) != len(o.Unfinished) {
		return false
	}
	a, b := s.Latest, o.Latest
	return a == nil || a.Number == b.Number && a.Path == b.Path && a.Alive == b.Alive && bytes.Equal(a.data, b.data)
}

// anyKey stands for files that may be of any variables: Smart Data Lake Builder knew none, and of a file that cannot be
// read nobody knows.
const anyKey = "any"

// keyOf names the runs that continue each other: those with the same variables and profile.
func keyOf(variables map[string]string, profile string) string {
	if variables == nil {
		variables = map[string]string{}
	}
	text, _ := json.Marshal([]any{profile, variables}) // texts alone: it cannot fail
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

func (x *Found) key() string {
	if x.Document == nil || x.Document.foreign() {
		return anyKey
	}
	return keyOf(x.Document.App.Variables, x.Document.App.Profile)
}

// Ended tells whether a run waits for nothing but the move to succeeded/.
func (x *Found) Ended() bool {
	return x.Document != nil && (x.Document.done() || x.Document.Accepted != nil)
}

// about tells whether a run and a start have a task in common. If not they are nothing to each other: each task may be
// started by itself, one beside the other, and what became of one does not stand in the way of another.
func (x *Found) about(selected []string) bool {
	if x.Document == nil || x.Document.foreign() || len(selected) == 0 || len(x.Document.App.Tasks) == 0 {
		return true
	}
	return slices.ContainsFunc(selected, func(task string) bool { return slices.Contains(x.Document.App.Tasks, task) })
}

// Look finds the latest run with the same variables and profile that has a task in common with those that are selected;
// strict: the latest of all. It changes nothing. The
// files of runs that are not finished are read, and of the others those that the hints name, so that it takes no
// longer where many have finished.
func (f *Folder) Look(ctx context.Context, app string, p Params, strict bool) (*Snapshot, error) {
	if err := checkName(app); err != nil {
		return nil, err
	}
	for tries := 0; ; tries++ {
		s, err := f.look(ctx, app, p, strict)
		if !errors.Is(err, errGone) || tries == 10 {
			return s, err
		}
	}
}

// Idle tells whether no run of a pipeline is unfinished: then none can be gone on with. It reads no file.
func (f *Folder) Idle(app string) (bool, error) {
	listed, err := f.list(currentDir, app)
	return err == nil && len(listed[app]) == 0, err
}

func (f *Folder) look(ctx context.Context, app string, p Params, strict bool) (*Snapshot, error) {
	key := keyOf(p.Variables, p.Profile)
	s := &Snapshot{name: app, key: key}
	listed, err := f.list(currentDir, app) // before succeeded/: a file that moves meanwhile is met there
	if err != nil {
		return nil, err
	}
	var candidates []*Found
	consider := func(x *Found) {
		if k := x.key(); strict || k == key || k == anyKey {
			candidates = append(candidates, x)
		}
	}
	for _, n := range newestAttempts(listed[app]) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		x, err := f.newest(app, n)
		if err != nil {
			return nil, err
		}
		s.see(x.Number)
		consider(x)
		if !x.Succeeded && !x.Ended() {
			s.Unfinished = append(s.Unfinished, x)
		}
	}
	hinted, ok, err := f.hinted(app, key, strict)
	if err != nil {
		return nil, err
	}
	if !ok {
		if hinted, err = f.rebuild(ctx, s, strict); err != nil {
			return nil, err
		}
	}
	for _, x := range hinted {
		s.see(x.Number)
		consider(x)
	}
	for _, x := range candidates {
		if s.marks == nil || s.marks.less(x.Number) {
			s.marks = x
		}
		if (strict || x.about(p.Selected)) && (s.Latest == nil || s.Latest.less(x.Number)) {
			s.Latest = x
		}
	}
	s.Unfinished = slices.DeleteFunc(s.Unfinished, func(x *Found) bool { return s.Latest != nil && x.Number == s.Latest.Number })
	slices.SortFunc(s.Unfinished, func(a, b *Found) int { return b.compare(a.Number) })
	return s, nil
}

func (s *Snapshot) see(n Number) {
	s.Highest = max(s.Highest, n.Run)
	if s.newest.less(n) {
		s.newest = n
	}
}

// newestAttempts gives the newest attempt of each run.
func newestAttempts(all []Number) []Number {
	newest := map[int64]int64{}
	for _, n := range all {
		newest[n.Run] = max(newest[n.Run], n.Attempt)
	}
	numbers := make([]Number, 0, len(newest))
	for run, attempt := range newest {
		numbers = append(numbers, Number{run, attempt})
	}
	slices.SortFunc(numbers, Number.compare)
	return numbers
}

// newest reads the newest attempt of a run, of which n is one: a later one may lie in the other folder, because its file
// alone was moved by hand.
func (f *Folder) newest(app string, n Number) (*Found, error) {
	for {
		next := Number{n.Run, n.Attempt + 1}
		current, err := f.is(currentDir, app, next)
		if err != nil {
			return nil, err
		}
		succeeded, err := f.is(succeededDir, app, next)
		if err != nil {
			return nil, err
		}
		if !current && !succeeded {
			return f.read(app, n)
		}
		n = next
	}
}

// hint is what a file in .latest/ says: a number, and for people the variables that it is of.
type hint struct {
	Number
	Before    *Number           `json:"before,omitempty"` // if there is no such file yet: the number before it, 0 for none
	Variables map[string]string `json:"variables,omitempty"`
	Profile   string            `json:"profile,omitempty"`
}

func (f *Folder) hintPath(app, key string) string {
	if key == "" {
		return f.sub(hintsDir, app+".json")
	}
	return f.sub(hintsDir, app, key+".json")
}

// hint reads a hint. One that cannot be read is wrong, as one that is not there may be.
func (f *Folder) hint(app, key string) (h hint, ok bool) {
	data, err := os.ReadFile(f.hintPath(app, key))
	if err != nil || json.Unmarshal(data, &h) != nil || h.Run < 1 || h.Attempt < 1 {
		return hint{}, false
	}
	return h, true
}

// hinted reads the files that the hints name: of all runs the newest, and of those with this key or of unknown
// variables. It is not ok if a hint is missing that must be there, or names a file that is not there or another's: a
// start writes the hint of its variables before its file, and that of the newest run after it.
func (f *Folder) hinted(app, key string, strict bool) (all []*Found, ok bool, err error) {
	for _, k := range []string{"", key, anyKey} {
		if k != "" && strict {
			continue
		}
		h, there := f.hint(app, k)
		if !there {
			if _, err := os.Lstat(f.hintPath(app, k)); err == nil || k == "" {
				return nil, false, nil
			}
			continue
		}
		x, ok, err := f.named(app, k, h)
		if err != nil || !ok {
			return nil, false, err
		}
		if x != nil {
			all = append(all, x)
		}
	}
	return all, true, nil
}

// named reads the file that a hint names; nil: it says that there is none. It is not ok if the hint is wrong.
func (f *Folder) named(app, key string, h hint) (x *Found, ok bool, err error) {
	numbers := []Number{h.Number}
	if h.Before != nil { // who wrote it may have died before it made the file, or another start took the number
		numbers = append(numbers, *h.Before)
	}
	for _, n := range numbers {
		if n.Run == 0 {
			return nil, true, nil
		}
		x, err := f.newest(app, n)
		if errors.Is(err, errGone) {
			continue
		}
		if err != nil {
			return nil, false, err
		}
		if key == "" || x.key() == key || x.key() == anyKey {
			return x, true, nil
		}
	}
	return nil, false, nil
}

// rebuild reads the newest attempt of every run in succeeded/ and finds what the hints must say.
func (f *Folder) rebuild(ctx context.Context, s *Snapshot, strict bool) ([]*Found, error) {
	listed, err := f.list(succeededDir, s.name)
	if err != nil {
		return nil, err
	}
	s.rebuilt = map[string]Number{}
	latest := map[string]*Found{}
	for _, n := range newestAttempts(listed[s.name]) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		x, err := f.newest(s.name, n)
		if err != nil {
			return nil, err
		}
		s.see(x.Number)
		k := x.key()
		s.rebuilt[k] = x.Number
		if strict {
			k = "" // the last one is the newest
		}
		if k == s.key || k == anyKey || k == "" { // there may be very many
			latest[k] = x
		}
	}
	return slices.Collect(maps.Values(latest)), nil
}

// writeHints writes down what a look found out, when a start goes on.
func (f *Folder) writeHints(s *Snapshot) error {
	for _, k := range sortedKeys(s.rebuilt) {
		if k == s.key {
			continue // of it comes a newer one
		}
		if err := f.writeHint(s.name, k, hint{Number: s.rebuilt[k]}); err != nil {
			return err
		}
	}
	return nil
}

// writeHint replaces a hint. It need not survive a power cut: one that is torn is found out again, and one that is as it was
// names an older run of which all that counts is in the folders.
func (f *Folder) writeHint(app, key string, h hint) error {
	text, err := json.Marshal(h)
	if err != nil {
		return err
	}
	tmp := f.tmp()
	file, err := f.FS.Create(tmp, 0o666)
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	if err = errors.Join(err, file.Close()); err == nil {
		err = f.FS.Rename(tmp, f.hintPath(app, key))
	}
	if err != nil {
		f.FS.Remove(tmp)
	}
	return err
}
