package sim

import (
	"testing"

	"github.com/ubunye-io/ubunye/engine/ledger/internal/tablelog"
)

// A writer of tables that makes a mistake is found out: else the worlds would not be hard enough, or the oracle blind.
func TestFaultsOfWritersAreFound(t *testing.T) {
	for _, bad := range []tablelog.Fault{tablelog.LookOnce, tablelog.EpochIgnored, tablelog.NamesNothing} {
		t.Run(string(bad), func(t *testing.T) {
			for seed := range 2000 {
				if _, _, fault := play(t, seed, bad, nil); fault != "" {
					t.Logf("seed %d: %s", seed, fault)
					return
				}
			}
			t.Error("it was not found")
		})
	}
}
