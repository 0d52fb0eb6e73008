package engine

import (
	"strings"
	"testing"
	"time"

	"github.com/ubunye-io/ubunye/engine/config"
	"github.com/ubunye-io/ubunye/engine/ledger"
	"github.com/ubunye-io/ubunye/engine/plan"
	"github.com/ubunye-io/ubunye/engine/problem"
)

// R12: a start that waited in vain says for how long, and for whom.
func TestR12_ARefusalAfterWaiting(t *testing.T) {
	r := &run{config: &config.Pipeline{}, plan: &plan.Plan{}}
	held := &ledger.HeldError{Holder: ledger.Holder{Run: "20260101T000000Z-00000000"}, Age: 5 * time.Second}
	if p := r.explain(held, "")[0]; p.Code != problem.RunLeaseHeld || strings.Contains(p.Message, "waited") || !strings.Contains(p.Message, "was 5s ago") {
		t.Fatalf("%+v", p)
	}
	for _, err := range []error{held, &ledger.TargetHeldError{Other: ledger.Record{Run: held.Holder.Run}}} {
		p := r.explain(&ledger.WaitedError{For: 10 * time.Minute, Err: err}, "")[0]
		if p.Code != problem.WaitTimedOut || p.Code.Exit() != problem.ExitRefused || !strings.Contains(p.Message, "waited 10m0s for it") || !strings.Contains(p.Message, held.Holder.Run) {
			t.Errorf("%+v", p)
		}
	}
	held.Age = -time.Hour
	if p := r.explain(held, "")[0]; !strings.Contains(p.Message, "dated 1h0m0s in the future") || !strings.Contains(p.Hint, "--dead "+held.Holder.Run) {
		t.Errorf("%s %s", p.Message, p.Hint)
	}
	for wait, want := range map[time.Duration]bool{0: false, time.Second: true} {
		r.options.Wait = wait
		if r.waitsFor(held) != want || r.waitsFor(&ledger.FinishedError{}) {
			t.Errorf("told to wait %s: waits %v", wait, r.waitsFor(held))
		}
	}
}

// R40, R45: what keeps a rerun from replacing a finished batch is an output that replaced its folder and now appends,
// not one that replaces it again beside another that appends.
func TestR45_OnlyAnOutputThatAppendsNowCannotBeTakenBack(t *testing.T) {
	finished := &ledger.FinishedError{Batch: ledger.Batch{Task: "load"}, Finished: ledger.Finished{Run: "20260101T000000Z-00000000",
		Outputs: map[string]ledger.FinishedOutput{"good": {Class: ledger.Replaces, Rows: 2, Files: 2}, "bad": {Class: ledger.Claims, Rows: 1, Files: 1}}}}
	for class, want := range map[ledger.Class]string{ledger.Replaces: "", ledger.Claims: "good"} {
		r := &run{config: &config.Pipeline{}, plan: &plan.Plan{Tasks: []plan.Task{{Task: config.Task{Name: "load"}, Targets: []plan.Target{
			{Output: config.Output{Name: "good"}, Delivery: plan.Delivery{Class: string(class)}}, {Output: config.Output{Name: "bad"}, Delivery: plan.Delivery{Class: string(ledger.Claims)}}}}}}}
		p := r.explain(finished, "")[0]
		if p.Code != problem.BatchFinished || p.Output != want || strings.Contains(p.Hint, "cannot be taken back") != (want != "") {
			t.Errorf("the output is %s now: %+v", class, p)
		}
	}
}
