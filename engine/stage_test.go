package engine

import (
	"path/filepath"
	"testing"

	"github.com/ubunye-io/ubunye/engine/config"
)

// Two runs never spill into one folder, even if their processes have the same id on two machines that share
// the disk: what one session spilled would be read by the other.
func TestEverySessionSpillsIntoAFolderOfItsOwn(t *testing.T) {
	pipeline := &config.Pipeline{}
	pipeline.Engine.Spill = t.TempDir()
	seen := map[string]bool{}
	for range 3 {
		dir := (&run{config: pipeline}).spillFolder("clean")
		if seen[dir] || filepath.Dir(dir) != pipeline.Engine.Spill {
			t.Fatalf("%s: seen %v", dir, seen[dir])
		}
		seen[dir] = true
	}
}
