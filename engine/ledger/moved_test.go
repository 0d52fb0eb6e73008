package ledger

import (
	"testing"
)

// R67: the output is a mount point, so that the folder itself can be neither exchanged nor renamed.
func TestR67_MountPointStoppedAtEveryOperation(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	for _, sc := range replacings() {
		switch sc.name {
		case "overwrite by moves", "overwrite by moves of plain files", "overwrite by nothing", "overwrite, then the task fails", "partitions":
			sc.mount, sc.every, sc.moved = true, false, sc.run.mode == wholeMode
			t.Run(sc.name, sc.stoppedEverywhere)
		}
	}
}
