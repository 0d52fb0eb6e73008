package engine

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/google/uuid"

	"github.com/ubunye-io/ubunye/engine/abi"
	"github.com/ubunye-io/ubunye/engine/compute"
	"github.com/ubunye-io/ubunye/engine/compute/duckdb"
	"github.com/ubunye-io/ubunye/engine/config"
	"github.com/ubunye-io/ubunye/engine/ledger"
	"github.com/ubunye-io/ubunye/engine/problem"
	"github.com/ubunye-io/ubunye/engine/report"
	"github.com/ubunye-io/ubunye/engine/runstate"
	"github.com/ubunye-io/ubunye/engine/store/fsops"
	"github.com/ubunye-io/ubunye/engine/writer"
)

// Engine is what all starts of a process share.
type Engine struct {
	Compute  compute.Engine
	FS       *fsops.FS        // changes of ledger and outputs
	CacheDir string           // of the user, for the writers; empty: the default
	Now      func() time.Time // for dates that people read, and durations
	Version  string           // of the program, noted in the run state
	Report   report.Reporter

	// Probe, if not nil, is told each operation that the writer of a task asks for, before it is carried out, from any
	// goroutine. An error is what the operation fails with. Tests of writers have it.
	Probe func(task, op string) error

	Every time.Duration                                             // between two events of a task's progress; 0: none
	Ticks func(time.Duration) (ticks <-chan time.Time, stop func()) // the clock of Every
}

// New returns an Engine on the embedded DuckDB. All changes of ledger and outputs go through changes.
func New(changes *fsops.FS, reporter report.Reporter) *Engine {
	return &Engine{Compute: duckdb.Engine{}, FS: changes, Now: time.Now, Report: reporter, Ticks: ticker}
}

// Options are those of one start.
type Options struct {
	config.Options

	File        string        // the pipeline file
	Tasks       []string      // none: all
	Infer       bool          // Plan reads inputs whose columns are not declared, however large they are
	Rerun       bool          // replace finished batches
	RerunAnyway bool          // also when files that they claim are gone
	Resume      bool          // keep what is finished, by whatever run, and run the rest
	NewRun      bool          // leave an unfinished run as it is, and begin one
	LeaseOff    bool          // UBUNYE_RUN_LEASE=off: without a ledger
	Wait        time.Duration // for what living runs hold; 0: refused at once
	Beside      int           // how many runs share the memory that one may have; 0: it is this one's alone
	Command     []string      // how a person called the program, so that hints can be pasted
}

// load does steps 1 and 2 of a start: the pipeline, typed and checked, and its plan.
func (e *Engine) load(ctx context.Context, o Options) (*run, error) {
	pipeline, err := loadPipeline(o)
	if err != nil {
		return nil, err
	}
	r := &run{Engine: e, options: o, config: pipeline}
	if err := r.openWriters(); err != nil {
		return nil, err
	}
	if err := r.makePlan(ctx, r.deliver(ctx)); err != nil {
		return nil, err
	}
	if problems := r.needsLedger(); len(problems) > 0 {
		return nil, problems
	}
	return r, nil
}

// needsLedger refuses incremental inputs where nobody keeps what was read of them.
func (r *run) needsLedger() (problems problem.List) {
	if !r.options.LeaseOff {
		return nil
	}
	for _, t := range r.plan.Tasks {
		for _, in := range t.Inputs {
			if in.Incremental != nil {
				problems = append(problems, &problem.Problem{Code: problem.Usage, Pos: in.Incremental.Pos, Task: t.Name, Data: untouched,
					Message: "input " + in.Name + " is read incrementally, and with UBUNYE_RUN_LEASE=off nobody keeps what was read of it", Hint: "run without UBUNYE_RUN_LEASE=off"})
			}
		}
	}
	return problems
}

// openWriters finds the writers; it starts none. The cache is the user's, and no promise hangs on it, so
// its changes are not among those that faults are injected into.
func (r *run) openWriters() (err error) {
	r.host, err = writer.New(writer.Config{CacheDir: r.CacheDir, Log: r.pluginLog})
	if err != nil {
		return &problem.Problem{Code: problem.PluginMissing, Message: err.Error(), Cause: err}
	}
	if r.lock, err = readLock(r.options.File); err != nil {
		return err
	}
	r.formats = &formats{inputs: map[string][]*compute.Error{}, rules: map[string][]*compute.Error{}, writers: map[string]abi.Description{}}
	return nil
}

// openLedger opens the pipeline's ledger; that writes nothing. With the lease off it is a ledger of this
// start alone, which goes with it: files are staged and landed as ever, but nothing is known before, nothing
// is kept, and nobody finishes what is left.
func (r *run) openLedger(ctx context.Context) error {
	path := r.config.Ledger.Path
	if r.options.LeaseOff {
		path = filepath.Join(os.TempDir(), "ubunye-off-"+uuid.NewString())
		r.warn("UBUNYE_RUN_LEASE=off: this run keeps no ledger: nothing keeps its batches from landing twice or in part")
	}
	l, err := ledger.Open(ctx, ledger.Config{
		Path:      path,
		FS:        r.FS,
		Heartbeat: r.config.Ledger.Heartbeat,
		Timeout:   r.config.Ledger.Timeout,
		Fast:      r.config.Durability == "fast",
		Detached:  r.options.LeaseOff,
	})
	if err != nil {
		return r.explain(err, "")
	}
	r.ledger = l
	return nil
}

// stateFolder is where the pipeline's run state is kept; the ledger must be open.
func (r *run) stateFolder() *runstate.Folder {
	return &runstate.Folder{Path: r.config.State.Path, FS: r.FS, Now: r.Now, Version: r.Version, Index: r.config.State.Index, Alive: r.ledger.Alive}
}

func (r *run) pluginLog(plugin string, level abi.Level, text string) {
	r.emit(pluginEvent(plugin, level, text))
}

func pluginEvent(plugin string, level abi.Level, text string) report.Event {
	names := map[abi.Level]string{abi.LevelDebug: "debug", abi.LevelInfo: "info", abi.LevelWarn: "warn", abi.LevelError: "error"}
	return report.Event{Kind: report.PluginLog, Plugin: plugin, Level: names[level], Message: text}
}

// emit fills in what every event has and passes it on.
func (r *run) emit(e report.Event) {
	e.Time = r.Now()
	if r.record != nil {
		e.Run = r.record.ID
	}
	r.Report.Report(e)
}
