package engine

import (
	"cmp"
	"path/filepath"
	"slices"

	"github.com/ubunye-io/ubunye/engine/abi"
	"github.com/ubunye-io/ubunye/engine/config"
	"github.com/ubunye-io/ubunye/engine/lockfile"
	"github.com/ubunye-io/ubunye/engine/problem"
)

// lockFolder is where the lock of a pipeline file's plugins is: beside it. Without a file it is the working directory.
func lockFolder(file string) string { return cmp.Or(filepath.Dir(file), ".") }

// readLock reads the lock beside a pipeline file.
func readLock(file string) (*lockfile.Lock, error) {
	l, err := lockfile.Load(lockFolder(file))
	if err != nil {
		return nil, lockProblem(err)
	}
	return l, nil
}

func lockProblem(err error) *problem.Problem {
	return &problem.Problem{Code: problem.ConfigInvalid, Message: err.Error(), Data: untouched, Cause: err,
		Hint: "take it back from version control, or remove it and add the plugins again: ubunye plugin add"}
}

// lockedPlugins are the plugins of a lock as the pipeline file beside it sees them.
func lockedPlugins(l *lockfile.Lock, file string) (all []config.Locked) {
	folder := lockFolder(file)
	abs, err := filepath.Abs(folder)
	if err != nil {
		abs = folder
	}
	for _, p := range l.Plugins {
		all = append(all, config.Locked{Name: p.Name, File: filepath.Join(folder, lockfile.Name), Path: filepath.Join(abs, filepath.FromSlash(p.Path)), SHA256: p.SHA256,
			Writer: p.Writer, Files: slices.Contains(p.Allow, string(abi.CapFiles)), Table: slices.Contains(p.Allow, string(abi.CapTable))})
	}
	return all
}

// loadPipeline reads a pipeline file together with the lock beside it.
func loadPipeline(o Options) (*config.Pipeline, error) {
	l, err := readLock(o.File)
	if err != nil {
		return nil, err
	}
	o.Locked = lockedPlugins(l, o.File)
	return config.Load(o.File, o.Options)
}

// pinned is what the lock says of a plugin; nil: it does not pin this module.
func (r *run) pinned(p config.Plugin) *lockfile.Plugin {
	if !p.Locked {
		return nil
	}
	return r.lock.Find(p.Name)
}

// checkTrust refuses a plugin that nobody trusted has signed, where the lock has keys.
func (r *run) checkTrust(p config.Plugin) error {
	if len(r.lock.Trusted) == 0 {
		return nil
	}
	wrong := &problem.Problem{Code: problem.ConfigInvalid, Pos: p.Pos, Hint: "add it with its signature: ubunye plugin add"}
	switch have := r.pinned(p); {
	case have == nil:
		wrong.Message = "plugin " + p.Name + " is not in " + lockfile.Name + ", which has keys that every plugin must be signed by"
	case !r.lock.Trusts(have.SignedBy):
		wrong.Message = "plugin " + p.Name + " is not signed by a key that " + lockfile.Name + " trusts"
	default:
		return nil
	}
	return wrong
}
