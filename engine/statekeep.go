package engine

import (
	"context"
	"path/filepath"
	"time"

	"github.com/ubunye-io/ubunye/engine/problem"
	"github.com/ubunye-io/ubunye/engine/runstate"
)

// StateMigrated is what became of a folder whose files were of older formats.
type StateMigrated struct {
	Folder string              `json:"folder"`              // of the run state
	DryRun bool                `json:"dry_run"`             // nothing was changed
	Zone   string              `json:"time_zone,omitempty"` // in which times were taken to be that had no zone; absent: all had one
	Backup string              `json:"backup,omitempty"`    // the folder in which the originals are; absent: nothing was changed
	Files  []StateMigratedFile `json:"files"`               // those that were older
}

// StateMigratedFile is a state file that was of an older format.
type StateMigratedFile struct {
	File string `json:"file"` // below the folder, as succeeded/shop.24.1.json
	From string `json:"from"` // its format, as v5, or "no version"
	To   int    `json:"to"`   // the format that it has now
}

// StateMigrate brings all state files of a folder to the newest format, in place; with dryRun it only tells which. Times without a
// zone are taken to be in zone. Originals are kept. The data is not touched.
func (e *Engine) StateMigrate(ctx context.Context, o Options, zone *time.Location, dryRun bool) (StateMigrated, error) {
	s, err := e.openState(ctx, o, "")
	if err != nil {
		return StateMigrated{}, err
	}
	s.Zone = zone
	all, backup, err := s.Migrate(ctx, dryRun)
	did := StateMigrated{Folder: s.Path, DryRun: dryRun, Backup: backup, Files: []StateMigratedFile{}}
	for _, m := range all {
		did.Files = append(did.Files, StateMigratedFile{File: m.File, From: m.From, To: m.To})
		if m.Zone != "" {
			did.Zone = m.Zone
		}
	}
	return did, s.outcome(ctx, err)
}

// StatePruned is what was removed from a folder of run state.
type StatePruned struct {
	Pipeline string   `json:"pipeline"` // name of the pipeline
	DryRun   bool     `json:"dry_run"`  // nothing was changed
	Runs     int      `json:"runs"`     // of how many runs
	Removed  []string `json:"removed"`  // the files, in the order in which they went
}

// StatePrune removes the state files of all finished and accepted runs of a pipeline but the newest; with dryRun it only tells
// which. Runs that are not finished are kept, and the data is not touched.
func (e *Engine) StatePrune(ctx context.Context, o Options, name string, keep int, dryRun bool) (StatePruned, error) {
	s, err := e.openState(ctx, o, name)
	if err != nil {
		return StatePruned{}, err
	}
	if s.name, err = s.oneName(); err != nil {
		return StatePruned{}, err
	}
	removed, err := s.Prune(ctx, s.name, keep, dryRun)
	did := StatePruned{Pipeline: s.name, DryRun: dryRun, Removed: append([]string{}, removed...)}
	runs := map[int64]bool{}
	for _, path := range removed {
		if _, n, is := runstate.ParsePath(path); is {
			runs[n.Run] = true
		}
	}
	did.Runs = len(runs)
	return did, s.outcome(ctx, err)
}

// StateReindexed is what became of index.json.
type StateReindexed struct {
	Index string   `json:"index"` // path of the file
	Lines int      `json:"lines"` // how many runs it has
	Left  []string `json:"left"`  // files that cannot be used, which have no line
}

// StateReindex writes index.json anew, from the files of finished runs. The error is a problem.List of those that cannot be
// used: the others have their lines all the same.
func (e *Engine) StateReindex(ctx context.Context, o Options) (StateReindexed, error) {
	s, err := e.openState(ctx, o, "")
	if err != nil {
		return StateReindexed{}, err
	}
	s.looking(map[string]bool{})
	lines, bad, err := s.Reindex(ctx)
	did := StateReindexed{Index: filepath.Join(s.Path, "index.json"), Lines: lines, Left: []string{}}
	if err != nil {
		return did, s.outcome(ctx, err)
	}
	var problems problem.List
	for _, x := range bad {
		did.Left = append(did.Left, x.Path)
		for _, p := range s.explain(x.Err, "") {
			p.Data = "its run has no line in the index; all others have"
			problems = append(problems, p)
		}
	}
	if len(problems) > 0 {
		return did, problems
	}
	return did, nil
}
