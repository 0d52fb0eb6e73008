package runstate

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// fileIn makes what a look found: a file in a folder, whose tasks a1, a2 … are in these states.
func fileIn(dir string, number Number, final bool, states ...Action) *Found {
	d := &Document{Engine: engineName, Format: Format, App: AppConfig{Name: "shop"}, Run: number.Run, Attempt: number.Attempt, Final: final,
		Actions: map[string]Action{}, LedgerRun: fmt.Sprintf("ledger-%d", number.Attempt)}
	for i, a := range states {
		name := fmt.Sprintf("a%d", i+1)
		a.Execution, a.Config = Execution{Run: number.Run, Attempt: number.Attempt}, "c"+name[1:]
		a.Objects = []ObjectState{{Object: "in", State: []byte(fmt.Sprintf(`"mark %d"`, i+1))}}
		d.Actions[name] = a
	}
	return &Found{Number: number, Name: "shop", Path: filepath.Join(dir, number.file("shop")), Document: d, Succeeded: dir == succeededDir}
}

var clock = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func is(s State) Action            { return Action{State: s} }
func cancelled(cause Cause) Action { return Action{State: Cancelled, Cause: cause} }

func found(x *Found) *Snapshot                { return &Snapshot{name: "shop", Latest: x, Highest: x.Run} }
func (x *Found) with(f func(x *Found)) *Found { f(x); return x }

// The decision at start: a row for each line of the table in the design, and one for each state that older systems
// decided wrongly.
func TestDecisionAtStart(t *testing.T) {
	ok, fail, pend, run := is(Succeeded), is(Failed), is(Pending), is(Running)
	sdlb := func(x *Found) { x.Document.Migrated = &Origin{Engine: "sdlb"} }
	unreadable := &UnreadableError{Path: "current/shop.5.2.json", Reason: "it is cut off"}
	for _, c := range []struct {
		name string
		s    *Snapshot
		q    func(q *Start)
		want string // run.attempt, recovery, what is carried | what runs, and what else
		err  string // its type and text
	}{
		{"none", &Snapshot{name: "shop", Highest: 7}, nil, "8.1 new  | a1 a2 a3", ""},
		{"none at all", &Snapshot{name: "shop"}, nil, "1.1 new  | a1 a2 a3", ""},
		{"final and every action completed", found(fileIn(succeededDir, Number{5, 2}, true, ok, is(Skipped), is(Streaming))), nil, "6.1 new  | a1 a2 a3 marks", ""},
		{"its parameters are not compared", found(fileIn(succeededDir, Number{5, 2}, true, ok, ok, ok)), func(q *Start) { q.Tasks[0].Config = "other"; q.Selected = []string{"a1", "a2", "a3"} }, "6.1 new  | a1 a2 a3 marks", ""},
		{"alive", found(fileIn(currentDir, Number{5, 2}, false, ok, run, pend).with(func(x *Found) { x.Alive = true })), nil, "",
			"*runstate.AliveError run 5 of shop, attempt 2, is alive (ledger run ledger-2)"},
		{"alive, and a new run is asked for", found(fileIn(currentDir, Number{5, 2}, false, ok, run, pend).with(func(x *Found) { x.Alive = true })), func(q *Start) { q.NewRun = true }, "",
			"*runstate.AliveError run 5 of shop, attempt 2, is alive (ledger run ledger-2)"},
		{"dead", found(fileIn(currentDir, Number{5, 2}, false, ok, run, pend)), nil, "5.3 recovery a1 | a2 a3 marks", ""},
		{"failed", found(fileIn(currentDir, Number{5, 1}, true, ok, fail, cancelled(PredecessorFailed))), nil, "5.2 recovery a1 | a2 a3 marks", ""},
		{"parameters differ", found(fileIn(currentDir, Number{5, 1}, true, ok, fail, pend)), func(q *Start) {
			q.Selected, q.Profile, q.Variables, q.Tasks[0].Config = []string{"a2", "a1"}, "prod", map[string]string{"dt": "2"}, "new"
		}, "", "*runstate.DifferError run 5, attempt 1, is unfinished and was started with other parameters: " +
			"variable dt: was none, now 2; profile: was none, now prod; selected tasks: was all, now a1, a2; configuration of task a1: was c1, now new"},
		{"what of a configuration differs is named", found(fileIn(currentDir, Number{5, 1}, true, ok, fail, pend).with(func(x *Found) {
			a := x.Document.Actions["a1"]
			a.Parts = map[string]string{"inputs.raw": "1", "transform.out": "2", "outputs.out": "3", "expect.1": "4"}
			x.Document.Actions["a1"] = a
		})), func(q *Start) {
			q.Tasks[0].Config, q.Tasks[0].Parts = "new", map[string]string{"inputs.raw": "1", "transform.out": "other", "outputs.out": "3", "inputs.more": "5"}
		}, "", "*runstate.DifferError run 5, attempt 1, is unfinished and was started with other parameters: " +
			"configuration of task a1: changed are inputs.more, transform.out, expect.1 (removed)"},
		{"somebody mended what has still to run", found(fileIn(currentDir, Number{5, 1}, true, ok, fail, pend)), func(q *Start) { q.Tasks[1].Config = "mended" }, "5.2 recovery a1 | a2 a3 reconfigured a2 marks", ""},
		{"a finished task is not in the pipeline any more", found(fileIn(currentDir, Number{5, 1}, true, ok, fail, pend)), func(q *Start) { q.Tasks = q.Tasks[1:] }, "",
			"*runstate.DifferError run 5, attempt 1, is unfinished and was started with other parameters: task a1: was finished by attempt 1, now none"},
		{"accepted by a person", found(fileIn(succeededDir, Number{5, 2}, true, ok, fail, cancelled(PredecessorFailed))), nil, "6.1 new  | a1 a2 a3 accepted (a2, a3) marks", ""},
		{"accepted before it had ended", found(fileIn(succeededDir, Number{5, 2}, false, ok, run, pend)), nil, "6.1 new  | a1 a2 a3 accepted (a2, a3) marks", ""},
		{"who accepted it died before the move", found(fileIn(currentDir, Number{5, 2}, true, ok, fail, pend).with(func(x *Found) { x.Document.Accepted = &Acceptance{} })), nil,
			"6.1 new  | a1 a2 a3 accepted (a2, a3) finish marks", ""},
		{"died before the move", found(fileIn(currentDir, Number{5, 2}, true, ok, ok, ok)), nil, "6.1 new  | a1 a2 a3 finish marks", ""},
		{"in both folders", found(fileIn(succeededDir, Number{5, 2}, true, ok, ok, ok).with(func(x *Found) { x.Both = true })), nil, "6.1 new  | a1 a2 a3 marks", ""},
		{"in both folders, unfinished", found(fileIn(succeededDir, Number{5, 2}, true, ok, fail, pend).with(func(x *Found) { x.Both = true })), nil, "6.1 new  | a1 a2 a3 accepted (a2, a3) marks", ""},
		{"cannot be read", found(&Found{Number: Number{5, 2}, Path: unreadable.Path, Err: unreadable}), func(q *Start) { q.NewRun = true }, "",
			"*store.UnreadableError current/shop.5.2.json is there but cannot be used: it is cut off"},
		{"a newer program's", found(&Found{Number: Number{5, 2}, Err: &NewerError{Path: "p", Version: "9", Known: 8}}), nil, "",
			"*runstate.NewerError p has run state format 9, and this program knows formats up to 8"},
		{"SDLB's, finished", found(fileIn(succeededDir, Number{5, 2}, true, ok, ok).with(sdlb)), nil, "6.1 new  | a1 a2 a3", ""},
		{"SDLB's, finished, not moved", found(fileIn(currentDir, Number{5, 2}, true, ok, ok).with(sdlb)), nil, "6.1 new  | a1 a2 a3", ""},
		{"SDLB's, pending", found(fileIn(currentDir, Number{5, 2}, true, ok, fail).with(sdlb)), nil, "",
			"*runstate.ForeignError run 5, attempt 2, of Smart Data Lake Builder is unfinished (a2): current/shop.5.2.json"},
		{"SDLB's, pending, and a new run is asked for", found(fileIn(currentDir, Number{5, 2}, true, ok, fail).with(sdlb)), func(q *Start) { q.NewRun = true }, "6.1 new  | a1 a2 a3 abandoned 5", ""},
		{"SDLB's, pending, accepted", found(fileIn(succeededDir, Number{5, 2}, true, ok, fail).with(sdlb)), nil, "6.1 new  | a1 a2 a3 accepted (a2)", ""},
		{"a new run is asked for", found(fileIn(currentDir, Number{5, 2}, true, ok, fail, pend)), func(q *Start) { q.NewRun = true }, "6.1 new  | a1 a2 a3 abandoned 5 marks", ""},
		{"a new run is asked for, and there is nothing to leave", found(fileIn(succeededDir, Number{5, 2}, true, ok, ok, ok)), func(q *Start) { q.NewRun = true }, "6.1 new  | a1 a2 a3 marks", ""},

		// what older systems got wrong
		{"cancelled only", found(fileIn(currentDir, Number{5, 1}, true, cancelled(PredecessorFailed), cancelled(""), cancelled(PredecessorFailed))), nil, "5.2 recovery  | a1 a2 a3 marks", ""},
		{"killed with all done", found(fileIn(currentDir, Number{5, 1}, false, ok, ok, ok)), nil, "5.2 recovery a1 a2 a3 |  marks", ""},
		{"killed before the first task ended", found(fileIn(currentDir, Number{5, 1}, false, run, pend, pend)), nil, "5.2 recovery  | a1 a2 a3 marks", ""},
		{"killed before the first task began", found(fileIn(currentDir, Number{5, 1}, false, pend, pend, pend)), nil, "5.2 recovery  | a1 a2 a3 marks", ""},
		{"killed after one of several", found(fileIn(currentDir, Number{5, 1}, false, ok, pend, pend)), nil, "5.2 recovery a1 | a2 a3 marks", ""},
		{"skipped, then cancelled", found(fileIn(succeededDir, Number{5, 1}, true, is(Skipped), cancelled(PredecessorSkipped), cancelled(PredecessorSkipped))), nil, "6.1 new  | a1 a2 a3 marks", ""},
		{"skipped, then cancelled, not moved", found(fileIn(currentDir, Number{5, 1}, true, is(Skipped), cancelled(PredecessorSkipped), cancelled(PredecessorSkipped))), nil, "6.1 new  | a1 a2 a3 finish marks", ""},
		{"skipped, then cancelled for another reason", found(fileIn(currentDir, Number{5, 1}, true, is(Skipped), cancelled(PredecessorFailed), fail)), nil, "5.2 recovery a1 | a2 a3 marks", ""},
		{"no action at all, and not ended", found(fileIn(currentDir, Number{5, 1}, false)), nil, "5.2 recovery  | a1 a2 a3", ""},
		{"a state that nobody knows", found(fileIn(currentDir, Number{5, 1}, true, is("MELTED"), ok, ok)), nil, "5.2 recovery a2 a3 | a1 marks", ""},
		{"a task is accepted", found(fileIn(currentDir, Number{5, 1}, true, ok, Action{State: Failed, Accepted: &Acceptance{}}, pend)), nil, "5.2 recovery a1 a2 | a3 marks", ""},
		{"the highest run is another batch's", &Snapshot{name: "shop", Highest: 9, Latest: fileIn(succeededDir, Number{5, 1}, true, ok, ok, ok)}, nil, "10.1 new  | a1 a2 a3 marks", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			q := Start{Recover: Proof, Tasks: []Task{{Name: "a1", Config: "c1"}, {Name: "a2", Config: "c2"}, {Name: "a3", Config: "c3"}}}
			if c.q != nil {
				c.q(&q)
			}
			d, err := Decide(c.s, q)
			if c.err != "" {
				if err == nil || fmt.Sprintf("%T %v", err, err) != c.err {
					t.Errorf("got  %T %v\nwant %s", err, err, c.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := told(d, q); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// told is a decision as one text.
func told(d *Decision, q Start) string {
	kind := "new"
	if d.Recovery {
		kind = "recovery"
	}
	text := fmt.Sprintf("%d.%d %s %s | %s", d.Run, d.Attempt, kind, strings.Join(sortedKeys(d.Carried), " "), strings.Join(d.Tasks, " "))
	if d.Accepted != nil {
		text += " accepted (" + strings.Join(d.Accepted.Document.Unfinished(), ", ") + ")"
	}
	if d.Abandoned != nil {
		text += fmt.Sprintf(" abandoned %d", d.Abandoned.Run)
	}
	if d.Finish != nil {
		text += " finish"
	}
	if len(d.Reconfigured) > 0 {
		text += " reconfigured " + strings.Join(d.Reconfigured, " ")
	}
	// every task that runs or is carried has the mark that it had
	doc := d.Document(AppConfig{Name: "shop"}, "", clock)
	marks := len(doc.Actions) > 0
	for name, a := range doc.Actions {
		if len(a.Objects) != 1 || string(a.Objects[0].State) != `"mark `+name[1:]+`"` {
			marks = false
		}
	}
	if marks {
		text += " marks"
	}
	return text
}

// When is carrying safe: one unfinished run, in which a1 has succeeded; a2 read its output, and failed.
func TestCarryingTakesProof(t *testing.T) {
	app := func(t Task) Task { t.Appends = true; return t }
	plain := Task{Name: "a1", Config: "c1"}
	changed := app(plain)
	changed.Changed = "in.csv has another size"
	incremental := changed
	incremental.Incremental = true
	overwrites := plain
	overwrites.Changed = "in.csv has another size"
	lost := app(plain)
	lost.Gone = "1 of 2 files is gone"
	lostFolder := plain
	lostFolder.Gone = "a folder is gone"
	for _, c := range []struct {
		name    string
		task    Task
		recover Recover
		flag    func(q *Start)
		state   Action
		want    string
	}{
		{"append, unchanged", app(plain), Proof, nil, is(Succeeded), "a1"},
		{"append, changed", changed, Proof, nil, is(Succeeded), "a1: in.csv has another size"},
		{"append, changed, --resume", changed, Proof, func(q *Start) { q.Resume = true }, is(Succeeded), "a1"},
		{"append, changed, --rerun", changed, Proof, func(q *Start) { q.Rerun = true }, is(Succeeded), ""},
		{"append, incremental", incremental, Proof, nil, is(Succeeded), "a1"},
		{"append, found nothing new", changed, Proof, nil, is(Skipped), "a1"},
		{"overwrite, changed", overwrites, Proof, nil, is(Succeeded), "a1"},
		{"append, and what it wrote is gone", lost, Proof, nil, is(Succeeded), "a1: 1 of 2 files is gone"},
		{"append, and what it wrote is gone, --resume", lost, Proof, func(q *Start) { q.Resume = true }, is(Succeeded), "a1"},
		{"overwrite, and what it wrote is gone", lostFolder, Proof, nil, is(Succeeded), ""},
		{"auto: append, changed", changed, Auto, nil, is(Succeeded), "a1"},
		{"ask: append, unchanged", app(plain), Ask, nil, is(Succeeded), "a1: it has appended, and state.recover is ask"},
		{"ask: append, --resume", app(plain), Ask, func(q *Start) { q.Resume = true }, is(Succeeded), "a1"},
		{"ask: append, --rerun", app(plain), Ask, func(q *Start) { q.Rerun = true }, is(Succeeded), ""},
		{"ask: overwrite", overwrites, Ask, nil, is(Succeeded), "a1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			q := Start{Recover: c.recover, Tasks: []Task{c.task, {Name: "a2", Config: "c2", From: []string{"a1"}}}}
			if c.flag != nil {
				c.flag(&q)
			}
			x := fileIn(currentDir, Number{5, 1}, true, c.state, is(Failed))
			d, err := Decide(found(x), q)
			var unproven *UnprovenError
			switch {
			case errors.As(err, &unproven):
				if got := unproven.Tasks[0].Task + ": " + unproven.Tasks[0].Why; got != c.want || len(unproven.Tasks) != 1 || unproven.Path != x.Path {
					t.Errorf("refused: %v", err)
				}
			case err != nil:
				t.Fatal(err)
			case strings.Join(sortedKeys(d.Carried), " ") != c.want || d.Number != (Number{5, 2}):
				t.Errorf("carried: %v", sortedKeys(d.Carried))
			}
		})
	}
}

// What a task of the run itself wrote is unchanged exactly if that task is carried too.
func TestCarryingReliesOnWhatIsCarried(t *testing.T) {
	tasks := []Task{{Name: "a1", Config: "c1"}, {Name: "a2", Config: "c2", From: []string{"a1"}, Appends: true}}
	_, err := Decide(found(fileIn(currentDir, Number{5, 1}, true, is(Succeeded), is(Succeeded), is(Failed))), Start{Recover: Proof, Tasks: append(tasks, Task{Name: "a3"})})
	if err != nil {
		t.Errorf("refused: %v", err)
	}
	_, err = Decide(found(fileIn(currentDir, Number{5, 1}, true, is(Failed), is(Succeeded))), Start{Recover: Proof, Tasks: tasks})
	var unproven *UnprovenError
	if !errors.As(err, &unproven) || unproven.Tasks[0] != (Unproven{"a2", "it has read what task a1 wrote, which runs again"}) {
		t.Errorf("got %v", err)
	}
}

// The ledger wins: what this run committed has succeeded, whatever the state file says; what another run committed says
// nothing of this one.
func TestTheLedgerWins(t *testing.T) {
	rows := int64(9)
	commit := func(state, ledgerRun string) *Commit {
		return &Commit{State: state, LedgerRun: ledgerRun, Action: Action{Results: []Result{{Output: "o", Rows: &rows}}}}
	}
	for _, c := range []struct {
		name   string
		state  State
		commit *Commit
		change func(x *Found)
		want   string
	}{
		{"of this run", Running, commit("shop.5", "ledger-1"), nil, "a1 SUCCEEDED 9"},
		{"of this run, said to have failed", Failed, commit("shop.5", "ledger-1"), nil, "a1 SUCCEEDED 9"},
		{"of this run, not begun", Pending, commit("shop.5", "an attempt before"), nil, "a1 SUCCEEDED 9"},
		{"of another run", Running, commit("shop.4", "ledger-1"), nil, "none"},
		{"of a run of another pipeline", Running, commit("shop2.5", "ledger-1"), nil, "none"},
		{"of no run", Running, commit("", "ledger-1"), nil, "none"},
		{"none", Running, nil, nil, "none"},
		{"of the attempt that was to write it again", Running, commit("shop.5", "ledger-1"), func(x *Found) { x.Document.Rerun = true }, "a1 SUCCEEDED 9"},
		{"of the attempt before that", Running, commit("shop.5", "ledger-0"), func(x *Found) { x.Document.Rerun = true }, "none"},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := fileIn(currentDir, Number{5, 1}, false, is(c.state), is(Pending))
			if c.change != nil {
				c.change(x)
			}
			d, err := Decide(found(x), Start{Recover: Proof, Tasks: []Task{{Name: "a1", Config: "c1", Commit: c.commit, Appends: true}, {Name: "a2", Config: "c2"}}})
			if err != nil {
				t.Fatal(err)
			}
			got := "none"
			if a, carried := d.Carried["a1"]; carried {
				got = fmt.Sprintf("a1 %s %d", a.State, *a.Results[0].Rows)
				if a.Execution.Run != 5 || a.Execution.Attempt != 1 || len(a.Objects) != 1 {
					t.Errorf("carried as %+v", a)
				}
			}
			if got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
			if x.Document.Actions["a1"].State != c.state {
				t.Error("what was found is changed")
			}
		})
	}
}

// --resume: tasks whose batch is finished, by whatever run, are carried; unnamed and incremental ones only if by this run.
func TestResumeCarriesWhatIsFinished(t *testing.T) {
	of := func(state string) *Commit { return &Commit{State: state} }
	tasks := []Task{
		{Name: "a1", Named: true, Appends: true, Commit: of("shop.2")},
		{Name: "a2", Named: true, Incremental: true, Commit: of("shop.2")},
		{Name: "a3", Named: true, Incremental: true, Commit: of("shop.5")},
		{Name: "a4", Commit: of("shop.2")},
		{Name: "a5", Commit: of("shop.5")},
		{Name: "a6", Named: true},
	}
	pend := is(Pending)
	for _, c := range []struct {
		name string
		s    *Snapshot
		q    Start
		want string
	}{
		{"a recovery", found(fileIn(currentDir, Number{5, 1}, false, pend, pend, pend, pend, pend, pend)), Start{Resume: true}, "a1 a3 a5"},
		{"a recovery of what says so itself", found(fileIn(currentDir, Number{5, 1}, false, pend, is(Skipped), pend, pend, pend, pend)), Start{Resume: true}, "a1 a2 a3 a5"},
		{"a new run", found(fileIn(succeededDir, Number{5, 1}, true, is(Succeeded))), Start{Resume: true}, "a1"},
		{"after an accepted run", found(fileIn(succeededDir, Number{5, 1}, true, is(Failed))), Start{Resume: true}, "a1"},
		{"beside an abandoned run", found(fileIn(currentDir, Number{5, 1}, true, is(Failed))), Start{Resume: true, NewRun: true}, "a1"},
		{"the first run", &Snapshot{name: "shop"}, Start{Resume: true}, "a1"},
		{"without it", &Snapshot{name: "shop"}, Start{}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.q.Tasks, c.q.Recover = slices.Clone(tasks), Proof
			for i := range c.q.Tasks {
				c.q.Tasks[i].Config = "c" + c.q.Tasks[i].Name[1:]
			}
			d, err := Decide(c.s, c.q)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(sortedKeys(d.Carried), " "); got != c.want {
				t.Errorf("carried: %s, want %s", got, c.want)
			}
			for name, a := range d.Carried {
				if a.State != Succeeded && a.State != Skipped {
					t.Errorf("%s is %s", name, a.State)
				}
			}
		})
	}
}

// A new run that would leave a slice unread is refused: the incremental task would not read it again.
func TestANewRunLeavesNoSliceUnread(t *testing.T) {
	tasks := []Task{{Name: "a1", Config: "c1", Incremental: true}, {Name: "a2", Config: "c2", From: []string{"a1"}}}
	for _, c := range []struct {
		a1, a2 State
		err    bool
	}{{Succeeded, Failed, true}, {Succeeded, Pending, true}, {Succeeded, Succeeded, false}, {Skipped, Pending, false}, {Failed, Cancelled, false}} {
		_, err := Decide(found(fileIn(currentDir, Number{5, 1}, false, is(c.a1), is(c.a2))), Start{NewRun: true, Tasks: tasks})
		var unread *UnreadSliceError
		if errors.As(err, &unread) != c.err || err != nil && (unread.Task != "a1" || unread.Consumer != "a2") {
			t.Errorf("%s, %s: %v", c.a1, c.a2, err)
		}
	}
}

// A run of fewer tasks carries the marks of the others on, and the next run of all finds them.
func TestMarksSurviveANarrowerRun(t *testing.T) {
	x := fileIn(succeededDir, Number{5, 1}, true, is(Succeeded), is(Failed), is(Succeeded))
	d, err := Decide(found(x), Start{Params: Params{Selected: []string{"a1"}}, Tasks: []Task{{Name: "a1"}}})
	if err != nil {
		t.Fatal(err)
	}
	narrow := d.Document(AppConfig{Name: "shop"}, "", clock)
	if len(narrow.Actions) != 1 || string(narrow.Others["a2"][0].State) != `"mark 2"` || string(narrow.Others["a3"][0].State) != `"mark 3"` {
		t.Fatalf("%+v", narrow)
	}
	narrow.Final = true
	x = &Found{Number: Number{6, 1}, Succeeded: true, Document: narrow}
	d, err = Decide(found(x), Start{Tasks: []Task{{Name: "a1"}, {Name: "a2"}, {Name: "a3"}}})
	if err != nil {
		t.Fatal(err)
	}
	all := d.Document(AppConfig{Name: "shop"}, "", clock)
	for i := 1; i <= 3; i++ {
		if got := all.Actions[fmt.Sprintf("a%d", i)].Objects; len(got) != 1 || string(got[0].State) != fmt.Sprintf(`"mark %d"`, i) {
			t.Errorf("a%d: %+v", i, got)
		}
	}
	if len(all.Others) != 0 {
		t.Errorf("%+v", all.Others)
	}
}

// A run that died when all was done, and said so of every task, is not gone on with where an incremental task may find more to read:
// a new run reads on. Without one there is nothing to do.
func TestANewRunReadsOnAfterOneThatWasOver(t *testing.T) {
	for _, incremental := range []bool{false, true} {
		x := fileIn(currentDir, Number{5, 1}, false, is(Succeeded), is(Succeeded))
		q := Start{Recover: Proof, Tasks: []Task{{Name: "a1", Config: "c1", Appends: true, Incremental: incremental}, {Name: "a2", Config: "c2", From: []string{"a1"}}}}
		d, err := Decide(found(x), q)
		if err != nil {
			t.Fatal(err)
		}
		if d.Recovery == incremental || (d.Run == 6) != incremental || (d.Finish != nil) != incremental || (len(d.Tasks) == 2) != incremental {
			t.Errorf("incremental %t: %+v", incremental, d)
		}
		q.Rerun = true
		if d, err := Decide(found(x), q); err != nil || !d.Recovery {
			t.Errorf("incremental %t, --rerun: %+v, %v", incremental, d, err)
		}
	}
}
