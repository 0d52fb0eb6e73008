package runstate

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/ubunye-io/ubunye/engine/store"
	"github.com/ubunye-io/ubunye/engine/store/fsops"
)

// The names in a folder of run state.
const (
	currentDir   = "current"
	succeededDir = "succeeded"
	hintsDir     = ".latest"
	tmpDir       = ".tmp"
	indexFile    = "index.json"
)

// Folder is where run state is kept, of one pipeline or of several.
type Folder struct {
	Path    string
	FS      *fsops.FS
	Now     func() time.Time
	Zone    *time.Location // in which times are that have no zone, in old files of Smart Data Lake Builder; nil: UTC. Migrate writes its name down
	Version string         // of this program, noted in every file that is written
	Index   bool           // every run that ends is added to index.json

	// Alive tells whether a run is alive, by its id in the ledger.
	Alive func(ledgerRun string) (bool, error)

	listed func(dir string) // told of every folder that is listed; for tests
}

// Number is a run and an attempt. Attempts of one run follow each other from 1.
type Number struct {
	Run     int64 `json:"runId"`     // number of the run
	Attempt int64 `json:"attemptId"` // number of the attempt
}

// compare orders numbers from old to new.
func (n Number) compare(o Number) int {
	return cmp.Or(cmp.Compare(n.Run, o.Run), cmp.Compare(n.Attempt, o.Attempt))
}

func (n Number) less(o Number) bool { return n.compare(o) < 0 }

var fileName = regexp.MustCompile(`^([^./\s]+)\.([1-9][0-9]{0,17})\.([1-9][0-9]{0,17})\.json$`)

// ParsePath tells of which pipeline and attempt the state file of this path is; is: it can be one.
func ParsePath(path string) (app string, n Number, is bool) {
	if dir := filepath.Base(filepath.Dir(path)); dir != currentDir && dir != succeededDir {
		return "", Number{}, false
	}
	return parseName(filepath.Base(path))
}

// parseName reads the name of a state file. Other names are of other tools, and left alone.
func parseName(name string) (app string, n Number, ok bool) {
	m := fileName.FindStringSubmatch(name)
	if m == nil {
		return "", n, false
	}
	n.Run, _ = strconv.ParseInt(m[2], 10, 64)
	n.Attempt, _ = strconv.ParseInt(m[3], 10, 64)
	return m[1], n, true
}

func (n Number) file(app string) string {
	return app + "." + strconv.FormatInt(n.Run, 10) + "." + strconv.FormatInt(n.Attempt, 10) + ".json"
}

func checkName(app string) error {
	if _, _, ok := parseName(Number{1, 1}.file(app)); !ok {
		return &NameError{app}
	}
	return nil
}

func (f *Folder) sub(elem ...string) string {
	return filepath.Join(append([]string{f.Path}, elem...)...)
}

func (f *Folder) zone() *time.Location {
	if f.Zone == nil {
		return time.UTC
	}
	return f.Zone
}

// make makes the folders that a state file is written to, durably.
func (f *Folder) make(dirs ...string) error {
	for _, dir := range dirs {
		path := f.sub(dir)
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			continue
		}
		within := filepath.Dir(path)
		for {
			if _, err := os.Stat(within); err == nil || within == filepath.Dir(within) {
				break
			}
			within = filepath.Dir(within)
		}
		if err := store.MakeFolder(f.FS, within, path); err != nil {
			return err
		}
	}
	return nil
}

// list gives the state files of one folder: those of one pipeline, or of all if app is "".
func (f *Folder) list(dir, app string) (map[string][]Number, error) {
	if f.listed != nil {
		f.listed(dir)
	}
	entries, err := os.ReadDir(f.sub(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, &UnreadableError{Path: f.sub(dir), Reason: err.Error(), Err: err}
	}
	all := map[string][]Number{}
	for _, e := range entries {
		if name, n, ok := parseName(e.Name()); ok && (app == "" || name == app) {
			all[name] = append(all[name], n)
		}
	}
	return all, nil
}

// is tells whether there is a file of this number in a folder.
func (f *Folder) is(dir, app string, n Number) (bool, error) {
	path := f.sub(dir, n.file(app))
	_, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, &UnreadableError{Path: path, Reason: err.Error(), Err: err}
	}
	return true, nil
}

// Found is a state file.
type Found struct {
	Number
	Name      string    // of the pipeline
	Path      string    // of the file
	Document  *Document // nil: Err says why
	Err       error     // an *UnreadableError or a *NewerError
	Succeeded bool      // it lies in succeeded/
	Both      bool      // a file of the same number lies in current/ too; this one counts
	Alive     bool      // its process is alive, and has not said that it has ended

	data   []byte
	mended bool // Document says what the file does not yet
}

// errGone is a file that was moved or removed while the folders were looked at.
var errGone = errors.New("it is not there any more")

// read reads a state file, which may lie in either folder: the one in succeeded/ counts. The error is errGone, or what
// Folder.Alive said; a file that cannot be used is no error here.
func (f *Folder) read(app string, n Number) (*Found, error) {
	current, err := f.is(currentDir, app, n)
	if err != nil {
		return nil, err
	}
	succeeded, err := f.is(succeededDir, app, n) // after current: a file that moves is met in one of them
	if err != nil {
		return nil, err
	}
	found := &Found{Number: n, Name: app, Succeeded: succeeded, Both: current && succeeded, Path: f.sub(currentDir, n.file(app))}
	if succeeded {
		found.Path = f.sub(succeededDir, n.file(app))
	}
	found.data, err = os.ReadFile(found.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errGone
	}
	if err != nil {
		found.Err = &UnreadableError{Path: found.Path, Reason: err.Error(), Err: err}
		return found, nil
	}
	found.Document, found.Err = decode(found.Path, found.data, f.zone())
	if d := found.Document; d != nil && (d.App.Name != app || d.Run != n.Run || d.Attempt != n.Attempt) {
		found.Document, found.Err = nil, &UnreadableError{Path: found.Path,
			Reason: "it says that it is " + Number{d.Run, d.Attempt}.file(d.App.Name)}
	}
	if d := found.Document; d != nil && !succeeded && f.mayLive(d) {
		found.Alive, err = f.isAlive(found.Path, d)
	}
	return found, err
}

// mayLive tells whether a document leaves open that its attempt goes on, so that the ledger must be asked.
func (f *Folder) mayLive(d *Document) bool { return d.LedgerRun != "" && !d.Final && f.Alive != nil }

// isAlive asks the ledger; an error says which file it is about.
func (f *Folder) isAlive(path string, d *Document) (bool, error) {
	alive, err := f.Alive(d.LedgerRun)
	if err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return alive, err
}

// aliveError is the refusal of what must not be done to a run that is alive.
func (x *Found) aliveError() error {
	return &AliveError{Name: x.Name, Run: x.Run, Attempt: x.Attempt, ID: x.Document.LedgerRun, Path: x.Path}
}

// encode gives the document as it is written.
func (f *Folder) encode(d *Document) ([]byte, error) {
	d.Engine, d.Format = engineName, Format
	d.Version.Version = f.Version
	if d.Actions == nil {
		d.Actions = map[string]Action{}
	}
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false) // people read it
	enc.SetIndent("", "  ")
	err := enc.Encode(d)
	return text.Bytes(), err
}

// tmp is a free name for a file that has none of its own yet.
func (f *Folder) tmp() string { return f.sub(tmpDir, store.NewID()+".json") }

// put writes a document to where it is, whole and durable.
func (f *Folder) put(path string, d *Document) error {
	data, err := f.encode(d)
	if err != nil {
		return err
	}
	return f.FS.Replace(f.tmp(), path, data, 0o666)
}

// take writes a document under a name that nobody has: it links the finished temporary file. A name that is taken is
// fs.ErrExist. An answer may get lost, so what is there then is looked at.
func (f *Folder) take(path string, data []byte) error {
	tmp := f.tmp()
	defer f.FS.Remove(tmp) // by then it has its own name, or never got one
	if err := f.FS.WriteNew(tmp, data, 0o666); err != nil {
		return err
	}
	err := f.FS.Link(tmp, path)
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, errors.ErrUnsupported) { // EPERM: the file system has no hard links
		if err = f.FS.RenameExclusive(tmp, path); errors.Is(err, errors.ErrUnsupported) {
			return &NoExclusiveError{Path: path, Err: err}
		}
	}
	if err != nil {
		if there, readErr := os.ReadFile(path); readErr != nil || !bytes.Equal(there, data) {
			return err
		}
	}
	return f.FS.SyncDir(filepath.Dir(path))
}

// sweepAfter is how old a temporary file is that nobody can be about to give its name.
const sweepAfter = 24 * time.Hour

// sweep removes temporary files of processes that died. What cannot be removed is left to the next start.
func (f *Folder) sweep() {
	entries, err := os.ReadDir(f.sub(tmpDir))
	if err != nil {
		return
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && strings.HasSuffix(e.Name(), ".json") && f.Now().Sub(info.ModTime()) > sweepAfter {
			f.FS.Remove(f.sub(tmpDir, e.Name()))
		}
	}
}
