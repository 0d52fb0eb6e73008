package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/ubunye-io/ubunye/engine/config"
	"github.com/ubunye-io/ubunye/engine/ledger"
	"github.com/ubunye-io/ubunye/engine/plan"
	"github.com/ubunye-io/ubunye/engine/problem"
	"github.com/ubunye-io/ubunye/engine/runstate"
)

// stateDir is a folder of run state that a command is about. Its pipeline file, if one is named, says where it lies, and
// whose it is; without one the folder alone is known.
type stateDir struct {
	*run
	*runstate.Folder
	name string // of the pipeline; "": all that have state there
}

// unjudgedError is a run of which nobody can tell whether it is alive, because its ledger is not known.
type unjudgedError struct{ run string }

func (e *unjudgedError) Error() string {
	return fmt.Sprintf("whether its run %s is alive can be told by its ledger alone, which is not known", e.run)
}

// stateFolderOption is the setting that names the folder.
const stateFolderOption = "state.path"

// openState finds the run state of the pipeline file that the options name or, without one, the folder that they name. It
// changes nothing. name, if not empty, is the pipeline that is meant.
func (e *Engine) openState(ctx context.Context, o Options, name string) (*stateDir, error) {
	if o.File == "" {
		return e.openStateFolder(ctx, o, name)
	}
	if name != "" {
		return nil, &problem.Problem{Code: problem.Usage, Message: "--name is for a folder without a pipeline file", Hint: "leave one of -c and --name out"}
	}
	o.AllowUnset, o.LeaseOff = true, false
	pipeline, err := loadPipeline(o)
	if err != nil {
		return nil, err
	}
	r := &run{Engine: e, options: o, config: pipeline, plan: &plan.Plan{}}
	if err := r.openLedger(ctx); err != nil {
		return nil, err
	}
	return &stateDir{run: r, Folder: r.stateFolder(), name: pipeline.Name}, nil
}

// openStateFolder finds a folder by itself. Its ledger is the one that it lies in, as it does unless a pipeline says
// otherwise.
func (e *Engine) openStateFolder(ctx context.Context, o Options, name string) (*stateDir, error) {
	path, _ := o.Settings[stateFolderOption].(string)
	if path == "" {
		return nil, &problem.Problem{Code: problem.Usage, Message: "no run state is named", Hint: "write -c FILE, the pipeline file, or -s FOLDER"}
	}
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		reason := "it is no folder"
		var at *fs.PathError
		if errors.As(err, &at) {
			reason = at.Err.Error()
		}
		return nil, &problem.Problem{Code: problem.Usage, Message: "the folder " + path + " cannot be read: " + reason, Hint: "write -s FOLDER, in which current/ and succeeded/ are"}
	}
	r := &run{Engine: e, options: o, config: &config.Pipeline{Name: name}, plan: &plan.Plan{}}
	s := &stateDir{run: r, name: name, Folder: &runstate.Folder{Path: path, FS: e.FS, Now: e.Now, Version: e.Version}}
	s.Alive = func(id string) (bool, error) { return false, &unjudgedError{id} }
	beside := filepath.Dir(path)
	for _, name := range []string{"id", "runs"} {
		if _, err := os.Stat(filepath.Join(beside, name)); err != nil {
			return s, nil
		}
	}
	l, err := ledger.Open(ctx, ledger.Config{Path: beside, FS: e.FS})
	if err != nil {
		return nil, r.explain(err, "")
	}
	r.ledger, s.Alive = l, l.Alive
	return s, nil
}

// looking is for commands that change nothing: a run that nobody can judge is told as one that may live.
func (s *stateDir) looking(unjudged map[string]bool) {
	judge := s.Alive
	s.Alive = func(id string) (bool, error) {
		alive, err := judge(id)
		if errors.As(err, new(*unjudgedError)) {
			unjudged[id] = true
			return false, nil
		}
		return alive, err
	}
}

// oneName is the pipeline that a command is about which is about one.
func (s *stateDir) oneName() (string, error) {
	if s.name != "" {
		return s.name, nil
	}
	names, err := s.Pipelines()
	switch {
	case err != nil:
		return "", s.explain(err, "")
	case len(names) == 1:
		s.config.Name = names[0] // for hints
		return names[0], nil
	case len(names) == 0:
		return "", &problem.Problem{Code: problem.Usage, Message: "there is no run in " + s.Path, Hint: "write -s FOLDER, in which current/ and succeeded/ are"}
	}
	return "", &problem.Problem{Code: problem.Usage, Message: fmt.Sprintf("%s has runs of several pipelines: %s", s.Path, strings.Join(names, ", ")),
		Hint: "write --name NAME, or name a pipeline file with -c FILE"}
}

// stateCommand is how the person would call a command of the run state for this pipeline, or this folder, ready to be
// pasted into a shell.
func (r *run) stateCommand(verb string, words ...string) string {
	return r.stateCommandOf(r.config.Name, verb, words...)
}

// stateCommandOf is stateCommand for another pipeline of which the folder has runs.
func (r *run) stateCommandOf(name, verb string, words ...string) string {
	all := []string{"ubunye"}
	if len(r.options.Command) > 0 {
		all[0] = r.options.Command[0]
	}
	all = append(append(all, "state", verb), words...)
	if r.options.File != "" {
		all = append(all, "-c", r.options.File)
	}
	if r.options.Profile != "" {
		all = append(all, "--profile", r.options.Profile)
	}
	if path, named := r.options.Settings[stateFolderOption].(string); named {
		all = append(all, "-s", path)
	}
	if r.options.File == "" && name != "" {
		all = append(all, "--name", name)
	}
	return quoteAll(all)
}

// StateNames lists, for those who choose among them, the numbers of the runs that are there, unfinished ones first, and the
// tasks of one run. What cannot be read has none.
func (e *Engine) StateNames(ctx context.Context, o Options, name string, run int64) (runs []int64, tasks []string) {
	s, err := e.openState(ctx, o, name)
	if err != nil {
		return nil, nil
	}
	s.looking(map[string]bool{})
	if s.name, err = s.oneName(); err != nil {
		return nil, nil
	}
	if run == 0 {
		all, _ := s.Numbers(s.name)
		return all, nil
	}
	x, err := s.Find(ctx, s.name, run)
	if err != nil || x.Document == nil {
		return nil, nil
	}
	return nil, x.Document.Unfinished()
}
