package runstate

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"
)

// Line is one line of index.json: a run that ended well, or was accepted.
type Line struct {
	Name         string                `json:"name"`                       // name of the pipeline
	Run          int64                 `json:"runId"`                      // number of the run
	Attempt      int64                 `json:"attemptId"`                  // number of its last attempt
	Selected     string                `json:"feedSel,omitempty"`          // the selected tasks; absent: all
	RunStart     *time.Time            `json:"runStartTime,omitempty"`     // when its first attempt began
	AttemptStart *time.Time            `json:"attemptStartTime,omitempty"` // when its last attempt began
	RunEnd       *time.Time            `json:"runEndTime,omitempty"`       // when its last attempt ended
	Status       State                 `json:"status"`                     // SUCCEEDED, or FAILED of one that was accepted
	Actions      map[string]LineAction `json:"actions"`                    // what became of each task
	Version      string                `json:"ubunyeVersion"`              // version of the program
	AppVersion   string                `json:"appVersion,omitempty"`       // version of what was run
	Path         string                `json:"path"`                       // of the state file, below the folder of run state
}

// LineAction is what became of one task.
type LineAction struct {
	State   State    `json:"state"`                // how far it is
	Objects []string `json:"dataObjects,omitzero"` // names of its outputs
}

// lineOf makes the line of a run.
func lineOf(d *Document) Line {
	l := Line{Name: d.App.Name, Run: d.Run, Attempt: d.Attempt, Selected: d.selected(), RunStart: d.RunStart, AttemptStart: d.AttemptStart,
		RunEnd: d.RunEnd, Status: Succeeded, Actions: map[string]LineAction{}, Version: d.Version.Version,
		Path: succeededDir + "/" + Number{d.Run, d.Attempt}.file(d.App.Name)}
	if len(d.Unfinished()) > 0 {
		l.Status = Failed
	}
	if d.AppVersion != nil {
		l.AppVersion = d.AppVersion.Version
	}
	for name, a := range d.Actions {
		objects := slices.Clone(a.Writes)
		for _, r := range a.Results {
			if r.Output != "" && !slices.Contains(objects, r.Output) {
				objects = append(objects, r.Output)
			}
		}
		l.Actions[name] = LineAction{State: a.State, Objects: objects}
	}
	return l
}

// selected gives the selected tasks as one text; of a file of Smart Data Lake Builder what it says there.
func (d *Document) selected() string {
	var text string
	if json.Unmarshal(d.App.extra["feedSel"], &text) == nil && text != "" {
		return text
	}
	return strings.Join(d.App.Tasks, ",")
}

// indexTail is how much of the end of index.json is read to see whether a line is there: who finishes a move that
// another process began may find it.
const indexTail = 1 << 16

// addToIndex adds the line of a run to index.json, unless it is among the last ones.
func (f *Folder) addToIndex(d *Document) error {
	line, err := json.Marshal(lineOf(d))
	if err != nil {
		return err
	}
	tail, err := f.tail()
	if err != nil {
		return err
	}
	for text := range bytes.Lines(tail) {
		var l Line
		if json.Unmarshal(text, &l) == nil && l.Name == d.App.Name && l.Run == d.Run && l.Attempt == d.Attempt {
			return nil
		}
	}
	if len(tail) > 0 && tail[len(tail)-1] != '\n' {
		line = append([]byte{'\n'}, line...) // a process died while it wrote
	}
	if err := f.FS.Append(f.sub(indexFile), append(line, '\n'), 0o666); err != nil || len(tail) > 0 {
		return err
	}
	return f.FS.SyncDir(f.Path)
}

func (f *Folder) tail() ([]byte, error) {
	file, err := os.Open(f.sub(indexFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	from := max(0, info.Size()-indexTail)
	tail := make([]byte, info.Size()-from)
	n, err := file.ReadAt(tail, from)
	if err != nil && n < len(tail) {
		return nil, err
	}
	return tail, nil
}

// Reindex writes index.json anew from the files in succeeded/: the newest attempt of each run of each pipeline. It
// returns how many lines there are. Files that cannot be used have none; they are returned.
func (f *Folder) Reindex(ctx context.Context) (written int, bad []*Found, err error) {
	listed, err := f.list(succeededDir, "")
	if err != nil {
		return 0, nil, err
	}
	if err := f.make(tmpDir); err != nil {
		return 0, nil, err
	}
	type entry struct {
		end  time.Time
		text []byte
	}
	var lines []entry
	for _, app := range sortedKeys(listed) {
		for _, n := range newestAttempts(listed[app]) {
			if err := ctx.Err(); err != nil {
				return 0, nil, err
			}
			x, err := f.read(app, n)
			if errors.Is(err, errGone) {
				continue
			}
			if err != nil {
				return 0, nil, err
			}
			if x.Document == nil {
				bad = append(bad, x)
				continue
			}
			l := lineOf(x.Document)
			text, err := json.Marshal(l)
			if err != nil {
				return 0, nil, err
			}
			lines = append(lines, entry{ended(l), append(text, '\n')})
		}
	}
	slices.SortStableFunc(lines, func(a, b entry) int { return cmp.Compare(a.end.UnixNano(), b.end.UnixNano()) })
	var text bytes.Buffer
	for _, l := range lines {
		text.Write(l.text)
	}
	return len(lines), bad, f.FS.Replace(f.tmp(), f.sub(indexFile), text.Bytes(), 0o666)
}

// ended is when a run ended, as far as is known: lines are in this order.
func ended(l Line) time.Time {
	for _, t := range []*time.Time{l.RunEnd, l.AttemptStart} {
		if t != nil {
			return *t
		}
	}
	return time.Time{}
}

// reindexIfThere writes index.json anew if there is one.
func (f *Folder) reindexIfThere(ctx context.Context) error {
	if _, err := os.Lstat(f.sub(indexFile)); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	_, _, err := f.Reindex(ctx)
	return err
}
