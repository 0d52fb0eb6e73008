package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/ubunye-io/ubunye/engine/store"
	"github.com/ubunye-io/ubunye/engine/store/fsops"
)

// format is the number of the document's form. Programs refuse documents with a higher one.
const format = 1

// Config is what a ledger is opened with. Only Path is required.
type Config struct {
	Path      string               // the ledger's folder; need not exist
	FS        *fsops.FS            // every change goes through it; nil: plainly
	Now       func() time.Time     // for dates that people read; nil: time.Now
	Elapsed   func() time.Duration // a clock that runs during suspend, from any start; nil: CLOCK_BOOTTIME
	Identity  Identity             // of this process; zero: ThisProcess
	Heartbeat time.Duration        // between two beats; 0: 30 s
	Timeout   time.Duration        // without a beat for so long, a run may be judged dead; 0: 15 min
	Fast      bool                 // data is not synced before the commit; the ledger always is
	Detached  bool                 // output folders are neither claimed for this ledger nor refused as another's

	// Processes looks a process of this machine up, as lookUpProcess does, which is called if it is nil.
	Processes func(pid int) (known, running bool, started string)
}

// Ledger is a ledger's folder, opened. It may be used by several goroutines.
type Ledger struct {
	cfg       Config
	fs        *fsops.FS
	path      string // resolved, absolute
	parent    string // what relative places are relative to
	docs      store.Store
	sights    sights
	processes func(pid int) process // the process table
}

// Open opens a ledger. It changes nothing: a ledger that is not there is an empty one until Begin
// makes it.
func Open(ctx context.Context, cfg Config) (*Ledger, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	abs, err := filepath.Abs(cfg.Path)
	if err != nil {
		return nil, err
	}
	path, _, err := resolve(abs)
	if errors.Is(err, syscall.ENOTDIR) {
		return nil, &UnwritableError{Path: abs, Err: err} // there can be none
	}
	if err != nil {
		return nil, &UnreadableError{Path: abs, Reason: err.Error(), Err: err}
	}
	if cfg.FS == nil {
		cfg.FS = fsops.New(nil)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Elapsed == nil {
		cfg.Elapsed = bootTime
	}
	if cfg.Identity == (Identity{}) {
		cfg.Identity = ThisProcess()
	}
	if cfg.Heartbeat == 0 {
		cfg.Heartbeat = 30 * time.Second
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = 15 * time.Minute
	}
	if cfg.Timeout < 6*cfg.Heartbeat {
		return nil, fmt.Errorf("the ledger's timeout (%s) must be at least six heartbeats (%s each)", cfg.Timeout, cfg.Heartbeat)
	}
	l := &Ledger{cfg: cfg, fs: cfg.FS, path: path, parent: filepath.Dir(path), processes: lookUpProcess}
	if cfg.Processes != nil {
		l.processes = func(pid int) (p process) {
			p.known, p.running, p.started = cfg.Processes(pid)
			return p
		}
	}
	l.docs = &store.Folder{FS: cfg.FS, Root: l.sub("batches"), Tmp: l.sub("tmp"), Format: format, Keep: keep}
	return l, nil
}

// keep leaves more generations of a batch that is held: its holder may sleep while others save.
func keep(doc []byte) int {
	var d struct {
		Holder *struct{} `json:"holder"`
	}
	if json.Unmarshal(doc, &d) == nil && d.Holder != nil {
		return 16
	}
	return 2
}

// Path returns the ledger's folder, with symbolic links resolved.
func (l *Ledger) Path() string { return l.path }

func (l *Ledger) sub(elem ...string) string {
	return filepath.Join(append([]string{l.path}, elem...)...)
}

// id reads the ledger's id; "" if the ledger is not there.
func (l *Ledger) id() (string, error) {
	data, err := os.ReadFile(l.sub("id"))
	if errors.Is(err, fs.ErrNotExist) {
		return "", l.isNew()
	}
	if err != nil {
		return "", &UnreadableError{Path: l.sub("id"), Reason: err.Error(), Err: err}
	}
	id := strings.TrimSpace(string(data))
	if len(id) != 32 {
		return "", &UnreadableError{Path: l.sub("id"), Reason: "it must hold 32 hex digits"}
	}
	return id, nil
}

// isNew refuses a ledger whose id is gone. Documents come after it, so one that has any has had an id, which its
// outputs name: with another one they would be taken for another ledger's.
func (l *Ledger) isNew() error {
	entries, err := os.ReadDir(l.sub("batches"))
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(entries) == 0 {
		return nil
	}
	if _, again := os.Stat(l.sub("id")); again == nil { // another start has made it meanwhile
		return nil
	}
	if err != nil {
		return &UnreadableError{Path: l.sub("batches"), Reason: err.Error(), Err: err}
	}
	return &UnreadableError{Path: l.sub("id"), Gone: true, Reason: "the ledger has documents, so it had an id, which its outputs name"}
}

// load reads the document of a batch; one that never was is new and free.
func (l *Ledger) load(ctx context.Context, b Batch) (*Document, store.Version, error) {
	data, v, err := l.docs.Load(ctx, b.Name())
	if err != nil {
		return nil, v, err
	}
	if v.Absent() {
		return &Document{Batch: b}, v, nil
	}
	d, err := decodeDocument(data, v)
	if err == nil && d.Batch.Name() != b.Name() {
		err = &UnreadableError{Path: v.Path, Reason: "it is the document of batch " + d.Batch.Name()}
	}
	return d, v, err
}

func decodeDocument(data []byte, v store.Version) (*Document, error) {
	d := &Document{}
	if err := json.Unmarshal(data, d); err != nil {
		return nil, &UnreadableError{Path: v.Path, Reason: "it has another shape: " + err.Error(), Err: err}
	}
	switch {
	case d.Batch.Key == "":
		return nil, &UnreadableError{Path: v.Path, Reason: "it names no batch"}
	case d.Epoch < 1:
		return nil, &UnreadableError{Path: v.Path, Reason: "it has no epoch"}
	case d.Holder != nil && d.Holder.Run == "", d.Finished != nil && d.Finished.Run == "":
		return nil, &UnreadableError{Path: v.Path, Reason: "it names a run without an id"}
	}
	return d, nil
}

// saveDocument writes a document as the version after v.
func (l *Ledger) saveDocument(ctx context.Context, d *Document, v store.Version) (store.Version, error) {
	data, err := d.encode()
	if err != nil {
		return v, err
	}
	return l.docs.Save(ctx, d.Batch.Name(), data, v)
}

// State is what a batch's document says about starting it.
type State string

// The states of a batch, by what stands in the way first.
const (
	StateFree     State = "free"     // never committed, or the last run failed
	StateHeld     State = "held"     // another run holds it
	StateFinished State = "finished" // committed; refused if it is named and the task appends
)

// View is what is known of a batch.
type View struct {
	Batch    Batch
	State    State
	Held     *HeldError // of a held batch
	Finished *Finished  // the last commit, whatever the state
	Todo     []Entry    // work left by earlier runs, done by the next start
	Stuck    []Left     // entries of Todo that cannot be carried out now, as far as can be told by looking
	Drops    []Entry    // what the holder staged, dropped when the batch is taken over from it
	Tried    []Try
	Pending  []Pending // tables that runs which did not commit may have written to, the holder's among them: the next run of the batch finds out
	Document string    // path of the document; "" if it never was

	Range     json.RawMessage            // of an incremental batch: what is to be read next; nil: that is not settled
	Marks     map[string]json.RawMessage // where a person has inputs go on, since the last commit
	Decisions []Decision                 // what persons decided about marks and range
}

// Look tells what a run of the batch would meet. It changes nothing.
func (l *Ledger) Look(ctx context.Context, b Batch) (View, error) {
	d, v, err := l.load(ctx, b)
	if err != nil {
		return View{Batch: b}, err
	}
	return l.view(d, v), nil
}

func (l *Ledger) view(d *Document, v store.Version) View {
	view := View{Batch: d.Batch, State: StateFree, Finished: d.Finished, Todo: d.Todo, Stuck: l.stuck(d), Tried: d.Tried, Pending: d.Pending, Document: v.Path}
	view.Marks, view.Decisions = d.Marks, d.Decisions
	if hasRange(d.Range) {
		view.Range = d.Range
	}
	switch {
	case d.Holder != nil:
		view.State = StateHeld
		view.Drops = drops(d, d.Holder.Run)
		view.Pending = slices.Concat(d.Pending, pendings(d, d.Holder.Run))
		view.Held = l.judgeHolder(d, v, l.cfg.Now())
	case d.Finished != nil:
		view.State = StateFinished
	}
	return view
}
