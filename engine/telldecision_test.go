package engine

import (
	"testing"

	"github.com/ubunye-io/ubunye/engine/runstate"
)

// With an unfinished run of another program no start goes on, so it is not told that one would.
func TestUnfinishedRunsThatAreTold(t *testing.T) {
	ours := &runstate.Found{Number: runstate.Number{Run: 7, Attempt: 1}, Document: &runstate.Document{App: runstate.AppConfig{Variables: map[string]string{"dt": "1"}}}}
	theirs := &runstate.Found{Number: runstate.Number{Run: 5, Attempt: 2}, Document: &runstate.Document{Migrated: &runstate.Origin{}}}
	alive := &runstate.Found{Number: runstate.Number{Run: 9, Attempt: 1}, Document: ours.Document, Alive: true}
	for want, all := range map[string][]*runstate.Found{
		"": {alive},
		"unfinished: run 5 (of Smart Data Lake Builder: finish it there, or accept it here)":                                                                           {alive, theirs},
		"unfinished: run 7 of dt=1; a start with the same variables goes on with what is left":                                                                         {ours},
		"unfinished: run 7 of dt=1, run 5 (of Smart Data Lake Builder: finish it there, or accept it here); a start with the same variables goes on with what is left": {ours, theirs},
	} {
		if got := othersText(all); got != want {
			t.Errorf("told is %q, not %q", got, want)
		}
	}
}
