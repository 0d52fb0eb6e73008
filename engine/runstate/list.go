package runstate

import (
	"context"
	"errors"
	"slices"
)

// Pipelines names, sorted, the pipelines of which the folder has state files.
func (f *Folder) Pipelines() ([]string, error) {
	names := map[string]bool{}
	for _, dir := range []string{currentDir, succeededDir} {
		listed, err := f.list(dir, "")
		if err != nil {
			return nil, err
		}
		for name := range listed {
			names[name] = true
		}
	}
	return sortedKeys(names), nil
}

// Numbers lists the runs of a pipeline by their files' names: those in current/ first, and the newest first.
func (f *Folder) Numbers(app string) ([]int64, error) {
	var runs []int64
	seen := map[int64]bool{}
	for _, dir := range []string{currentDir, succeededDir} {
		listed, err := f.list(dir, app)
		if err != nil {
			return nil, err
		}
		numbers := newestAttempts(listed[app])
		for i := len(numbers) - 1; i >= 0; i-- {
			if n := numbers[i].Run; !seen[n] {
				seen[n] = true
				runs = append(runs, n)
			}
		}
	}
	return runs, nil
}

// List reads the newest attempt of each run of a pipeline, newest first, in both folders or, with unfinished, of those
// that are not in succeeded/.
func (f *Folder) List(ctx context.Context, app string, unfinished bool) ([]*Found, error) {
	current, err := f.list(currentDir, app)
	if err != nil {
		return nil, err
	}
	numbers := current[app]
	if !unfinished {
		succeeded, err := f.list(succeededDir, app)
		if err != nil {
			return nil, err
		}
		numbers = append(numbers, succeeded[app]...)
	}
	var all []*Found
	for _, n := range newestAttempts(numbers) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		x, err := f.newest(app, n)
		if errors.Is(err, errGone) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if !unfinished || !x.Succeeded {
			all = append(all, x)
		}
	}
	slices.Reverse(all)
	return all, nil
}

// Find reads the newest attempt of a run. The error is an *AbsentError if there is none.
func (f *Folder) Find(ctx context.Context, app string, run int64) (*Found, error) {
	if err := checkName(app); err != nil {
		return nil, err
	}
	var known []Number
	for _, dir := range []string{currentDir, succeededDir} {
		listed, err := f.list(dir, app)
		if err != nil {
			return nil, err
		}
		known = append(known, listed[app]...)
	}
	for _, n := range newestAttempts(known) {
		if n.Run == run {
			x, err := f.newest(app, n)
			if !errors.Is(err, errGone) {
				return x, err
			}
		}
	}
	return nil, &AbsentError{Folder: f.Path, Name: app, Run: run}
}

// Prune removes the files of all but the newest keep runs from succeeded/, the oldest first; keep is at least 1. It
// returns their paths; with dryRun that is all. What a run left in current/ is never removed.
func (f *Folder) Prune(ctx context.Context, app string, keep int, dryRun bool) (removed []string, err error) {
	if err := checkName(app); err != nil {
		return nil, err
	}
	listed, err := f.list(succeededDir, app)
	if err != nil {
		return nil, err
	}
	runs := newestAttempts(listed[app])
	if drop := len(runs) - max(1, keep); drop <= 0 {
		return nil, nil
	} else {
		runs = runs[:drop]
	}
	oldest := slices.SortedFunc(slices.Values(listed[app]), Number.compare)
	last := runs[len(runs)-1].Run
	for _, n := range oldest {
		if n.Run > last {
			break
		}
		if err := ctx.Err(); err != nil {
			return removed, err
		}
		path := f.sub(succeededDir, n.file(app))
		if !dryRun {
			if err := f.forgetHint(app, n); err != nil {
				return removed, err
			}
			if err := f.forget(path); err != nil {
				return removed, err
			}
		}
		removed = append(removed, path)
	}
	if dryRun {
		return removed, nil
	}
	return removed, errors.Join(f.FS.SyncDir(f.sub(succeededDir)), f.reindexIfThere(ctx))
}

// forgetHint removes the hint that names a file which is to be removed: a hint without its file would have every later
// start list the folders.
func (f *Folder) forgetHint(app string, n Number) error {
	x, err := f.read(app, n)
	if errors.Is(err, errGone) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, k := range []string{x.key(), anyKey} {
		if h, ok := f.hint(app, k); ok && h.Number == n {
			if err := f.forget(f.hintPath(app, k)); err != nil {
				return err
			}
		}
	}
	return nil
}
