package engine

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/uuid"

	"github.com/ubunye-io/ubunye/engine/problem"
	"github.com/ubunye-io/ubunye/engine/store/fsops"
)

// spillFolder is where the compute engine puts what does not fit in memory; it makes the folder when it needs it.
// The name holds the run's id, or a random one where there is no ledger yet: a process id is used again, and by
// other machines or containers that may share the disk, and two engines in one folder would overwrite each other's rows.
func (r *run) spillFolder(name string) string {
	return filepath.Join(r.spillRoot(), spillPrefix+cmp.Or(r.scratch, uuid.NewString())+"-"+name)
}

const spillPrefix = "ubunye-spill-"

func (r *run) spillRoot() string {
	if dir := r.config.Engine.Spill; dir != "" {
		return dir
	}
	return os.TempDir()
}

// collectSpill removes what killed runs of this ledger had spilled. It is nobody's data, so what cannot be
// removed is no error.
func (r *run) collectSpill() {
	entries, err := os.ReadDir(r.spillRoot())
	if err != nil {
		return
	}
	for _, e := range entries {
		if name, is := strings.CutPrefix(e.Name(), spillPrefix); is && e.IsDir() && r.record.Ended(name) {
			fsops.New(nil).RemoveAll(filepath.Join(r.spillRoot(), e.Name()))
		}
	}
}

// makeSpill makes the folder that the pipeline names for spilled rows; the compute engine makes one below it.
// No promise hangs on it, so its changes are not among those that faults are injected into.
func (r *run) makeSpill() error {
	dir := r.config.Engine.Spill
	if dir == "" {
		return nil
	}
	if err := fsops.New(nil).MkdirAll(dir, 0o777); err != nil {
		return &problem.Problem{Code: problem.ComputeFailed, Message: "engine.spill: " + err.Error(), Data: nothing,
			Hint: "name a folder that can be made and written", Cause: err}
	}
	return nil
}
