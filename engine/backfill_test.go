package engine

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ubunye-io/ubunye/engine/problem"
	"github.com/ubunye-io/ubunye/engine/report"
	"github.com/ubunye-io/ubunye/engine/store/fsops"
)

const datedPipeline = `name: p
variables:
  dt: {type: date, required: true}
  day: {type: text}
tasks:
  t:
    inputs: {a: {format: csv, path: "{{ dt }}.csv", columns: {id: bigint}}}
    outputs: {a: {format: parquet, path: out}}
  u:
    inputs: {a: {format: csv, path: "{{ dt }}.csv", columns: {id: bigint}}}
    outputs: {a: {format: parquet, path: other}}
`

// hearing keeps every event.
type hearing struct {
	mu     sync.Mutex
	events []report.Event
}

func (h *hearing) Report(e report.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.events = append(h.events, e)
}

func (h *hearing) of(k report.Kind) (events []report.Event) {
	for _, e := range h.events {
		if e.Kind == k {
			events = append(events, e)
		}
	}
	return events
}

// outcomes is the summary as one line.
func (h *hearing) outcomes(t *testing.T) string {
	t.Helper()
	sums := h.of(report.BackfillDone)
	if len(sums) != 1 {
		t.Fatalf("%d summaries", len(sums))
	}
	var words []string
	for _, d := range sums[0].Backfill.Dates {
		words = append(words, strings.TrimPrefix(d.Date, "2026-01-")+" "+string(d.Outcome))
	}
	return strings.Join(words, ", ")
}

// dated is a project with datedPipeline, an engine and the options of a backfill.
func dated(t *testing.T, pipeline string) (*Engine, *hearing, Options) {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "p.yaml")
	if err := os.WriteFile(file, []byte(pipeline), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, day := range []string{"01", "02", "03", "04", "05"} {
		if err := os.WriteFile(filepath.Join(dir, "2026-01-"+day+".csv"), []byte("id\n1\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	heard := &hearing{}
	return New(fsops.New(nil), heard), heard, Options{File: file}
}

func days(from, to string) Range { return Range{From: "2026-01-" + from, To: "2026-01-" + to} }

func failure(code problem.Code) problem.List {
	return problem.List{{Code: code, Message: "as the test wants it"}}
}

// What happens to the other dates when one does not land.
func TestBackfillOnFailure(t *testing.T) {
	for _, c := range []struct {
		name string
		on   OnFailure
		code problem.Code
		want string
		exit int
	}{
		{"stop starting", StopStarting, problem.InputMissing, "01 landed, 02 failed, 03 cancelled, 04 cancelled", 4},
		{"a refusal stops too", StopStarting, problem.RunLeaseHeld, "01 landed, 02 refused, 03 cancelled, 04 cancelled", 1},
		{"keep going", KeepGoing, problem.InputMissing, "01 landed, 02 failed, 03 landed, 04 landed", 4},
		{"lost", KeepGoing, problem.RunLeaseLost, "01 landed, 02 failed, 03 landed, 04 landed", 5},
		{"stopped alone", KeepGoing, problem.Terminated, "01 landed, 02 cancelled, 03 landed, 04 landed", 143},
	} {
		e, heard, o := dated(t, datedPipeline)
		var started []string
		err := e.Backfill(t.Context(), o, Backfill{Range: days("01", "04"), Parallel: 1, OnFailure: c.on,
			Start: func(_ context.Context, o Options, r report.Reporter) error {
				if started = append(started, *o.Dt); *o.Dt != "2026-01-02" {
					return nil
				}
				return failure(c.code)
			}})
		if got := heard.outcomes(t); got != c.want || problem.Exit(err) != c.exit || !slices.IsSorted(started) {
			t.Errorf("%s: %s, exit %d, started %v", c.name, got, problem.Exit(err), started)
		}
	}
}

// Two at once: the first failure lets the other finish, or has it told to stop.
func TestBackfillAtOnce(t *testing.T) {
	for on, want := range map[OnFailure]string{
		StopStarting: "01 landed, 02 failed, 03 cancelled, 04 cancelled",
		StopRunning:  "01 cancelled, 02 failed, 03 cancelled, 04 cancelled",
	} {
		e, heard, o := dated(t, datedPipeline)
		firstRuns, secondFailed := make(chan struct{}), make(chan struct{})
		var now, most int
		var mu sync.Mutex
		count := func(by int) {
			mu.Lock()
			defer mu.Unlock()
			now += by
			most = max(most, now)
		}
		err := e.Backfill(t.Context(), o, Backfill{Range: days("01", "04"), Parallel: 2, OnFailure: on,
			Start: func(ctx context.Context, o Options, r report.Reporter) error {
				count(1)
				defer count(-1)
				if *o.Dt == "2026-01-02" {
					<-firstRuns
					defer close(secondFailed)
					return failure(problem.InputMissing)
				}
				close(firstRuns)
				if on == StopRunning {
					<-ctx.Done()
					list := failure(problem.Terminated)
					r.Report(report.Of(report.TaskFailed, list[0]))
					return list
				}
				<-secondFailed
				return nil
			}})
		if got := heard.outcomes(t); got != want || problem.Exit(err) != problem.ExitFailed || most != 2 {
			t.Errorf("%v: %s, exit %d, %d at once", on, got, problem.Exit(err), most)
		}
		if len(heard.of(report.TaskFailed)) != 0 {
			t.Errorf("%v: a run that was told to stop is told of as a failure", on)
		}
	}
}

// A wish to stop reaches every run, is told once, and its exit code counts.
func TestBackfillIsToldToStop(t *testing.T) {
	e, heard, o := dated(t, datedPipeline)
	ctx, cancel := context.WithCancelCause(t.Context())
	err := e.Backfill(ctx, o, Backfill{Range: days("01", "04"), Parallel: 2, OnFailure: KeepGoing,
		Start: func(ctx context.Context, o Options, r report.Reporter) error {
			if *o.Dt == "2026-01-02" {
				cancel(&problem.Problem{Code: problem.Interrupted, Message: "by SIGINT"})
			}
			<-ctx.Done()
			return failure(problem.Terminated)
		}})
	if got := heard.outcomes(t); got != "01 cancelled, 02 cancelled, 03 cancelled, 04 cancelled" || problem.Exit(err) != problem.ExitInterrupted || len(err.(problem.List)) != 1 {
		t.Errorf("%s, %v", got, err)
	}
}

// Dates whose batches are finished are skipped, a task that is not is run alone; a date that another run finishes
// between the plan and its turn is skipped as well, and nobody hears of a refusal.
func TestBackfillRunsWhatIsMissing(t *testing.T) {
	e, heard, o := dated(t, datedPipeline)
	alone := func(day string, tasks ...string) Options {
		run, dt := o, "2026-01-"+day
		run.Dt, run.Tasks = &dt, tasks
		return run
	}
	for _, run := range []Options{alone("01"), alone("02", "u")} {
		if err := e.Run(t.Context(), run); err != nil {
			t.Fatal(err)
		}
	}
	planned, err := e.PlanBackfill(t.Context(), o, Backfill{Range: days("01", "03"), Parallel: 1})
	if err != nil || len(planned) != 3 || len(planned[0].Tasks) != 0 || !slices.Equal(planned[1].Tasks, []string{"t"}) || !slices.Equal(planned[2].Tasks, []string{"t", "u"}) {
		t.Fatalf("%+v, %v", planned, err)
	}
	var started []string
	err = e.Backfill(t.Context(), o, Backfill{Range: days("01", "03"), Parallel: 1,
		Start: func(ctx context.Context, o Options, r report.Reporter) error {
			started = append(started, *o.Dt+" "+strings.Join(o.Tasks, "+"))
			if *o.Dt == "2026-01-03" {
				for _, task := range []string{"u", "t"} { // another run comes first, twice
					if slices.Contains(o.Tasks, task) {
						if err := e.Run(ctx, alone("03", task)); err != nil {
							t.Error(err)
						}
						break
					}
				}
			}
			err := New(fsops.New(nil), r).Run(ctx, o)
			for _, p := range asList(err) {
				r.Report(report.Of(report.Problem, p))
			}
			return err
		}})
	if err != nil || heard.outcomes(t) != "01 skipped, 02 landed, 03 skipped" || len(heard.of(report.Problem)) != 0 {
		t.Errorf("%s, %v, %+v", heard.outcomes(t), err, heard.of(report.Problem))
	}
	if want := []string{"2026-01-02 t", "2026-01-03 t+u", "2026-01-03 t"}; !slices.Equal(started, want) {
		t.Errorf("started %q, want %q", started, want)
	}
	if s := heard.of(report.BackfillDone)[0].Backfill; s.Rows != 1 || s.Dates[1].Rows != 1 || s.Counts[report.OutcomeSkipped] != 2 || s.Dates[1].Run == "" {
		t.Errorf("%+v", s)
	}
}

// What is read by from: is what the same run writes, so the task that writes it runs too. A finished append that would be
// made again for that is refused, and the person is told.
func TestBackfillRunsWhatIsReadFrom(t *testing.T) {
	for mode, want := range map[string]string{"append": "01 refused, 02 skipped", "overwrite": "01 landed, 02 skipped"} {
		e, heard, o := dated(t, strings.NewReplacer("path: out}", "path: out, mode: "+mode+"}",
			"  u:\n    inputs: {a: {format: csv, path: \"{{ dt }}.csv\", columns: {id: bigint}}}", "  u:\n    inputs: {a: {from: t.a}}").Replace(datedPipeline))
		first, second := "2026-01-01", "2026-01-02"
		half, whole := o, o
		half.Dt, half.Tasks, whole.Dt = &first, []string{"t"}, &second
		for _, run := range []Options{half, whole} {
			if err := e.Run(t.Context(), run); err != nil {
				t.Fatal(err)
			}
		}
		err := e.Backfill(t.Context(), o, Backfill{Range: days("01", "02"), Parallel: 1, OnFailure: KeepGoing,
			Start: func(ctx context.Context, o Options, r report.Reporter) error {
				if !slices.Equal(o.Tasks, []string{"t", "u"}) {
					t.Errorf("%s: %s runs %v", mode, *o.Dt, o.Tasks)
				}
				err := New(fsops.New(nil), r).Run(ctx, o)
				for _, p := range asList(err) {
					r.Report(report.Of(report.Problem, p))
				}
				return err
			}})
		refused := 0
		if mode == "append" {
			refused = 1
		}
		if got := heard.outcomes(t); got != want || problem.Exit(err) != refused || len(heard.of(report.Problem)) != refused {
			t.Errorf("%s: %s, %v, %d problems told", mode, got, err, len(heard.of(report.Problem)))
		}
	}
}

func asList(err error) (list problem.List) {
	errors.As(err, &list)
	return list
}

// A refusal that stays is told: the batch is not finished by what the plan knows.
func TestBackfillTellsOfARefusalThatStays(t *testing.T) {
	e, heard, o := dated(t, datedPipeline)
	err := e.Backfill(t.Context(), o, Backfill{Range: days("01", "01"), Parallel: 1,
		Start: func(_ context.Context, _ Options, r report.Reporter) error {
			list := failure(problem.BatchFinished)
			r.Report(report.Of(report.Problem, list[0]))
			return list
		}})
	if heard.outcomes(t) != "01 refused" || problem.Exit(err) != problem.ExitRefused || len(heard.of(report.Problem)) != 1 || heard.of(report.Problem)[0].Date != "2026-01-01" {
		t.Errorf("%s, %v, %+v", heard.outcomes(t), err, heard.events)
	}
}

func TestBackfillIsRefused(t *testing.T) {
	given := "2026-01-01"
	for _, c := range []struct {
		name     string
		pipeline string
		rg       Range
		parallel int
		change   func(*Options)
		says     string
	}{
		{"no such variable", datedPipeline, Range{Variable: "dx", From: "2026-01-01", To: "2026-01-02"}, 1, nil, `--variable dx: the pipeline has no variable of that name (did you mean "dt"?)`},
		{"no dt", "name: p\ntasks: {t: {inputs: {a: {format: csv, path: a.csv}}, outputs: {a: {format: parquet, path: out}}}}\n", days("01", "02"), 1, nil, "the pipeline has no variable dt"},
		{"text", datedPipeline, Range{Variable: "day", From: "2026-01-01", To: "2026-01-02"}, 1, nil, "p.yaml:4:3: the variable day is of type text"},
		{"given too", datedPipeline, days("01", "02"), 1, func(o *Options) { o.Dt = &given }, "--dt gives dt one value, and --from and --to give it many"},
		{"given as a variable", datedPipeline, days("01", "02"), 1, func(o *Options) { o.Vars = map[string]string{"dt": given} }, "--var dt gives dt one value"},
		{"makes no batch", strings.Replace(datedPipeline, "tasks:", "batch: [day]\ntasks:", 1), days("01", "02"), 1, func(o *Options) { o.Vars = map[string]string{"day": "x"} }, "p.yaml:3:3: the variable dt does not make the batch, so all dates would be one batch (write batch: [day, dt])"},
		{"none at once", datedPipeline, days("01", "02"), 0, nil, "--parallel 0 is less than 1"},
		{"no ledger", datedPipeline, days("01", "02"), 1, func(o *Options) { o.LeaseOff = true }, "without a ledger nobody knows which dates are missing"},
		{"one later date", strings.Replace(datedPipeline, "path: out}", "path: \"out/{{ dt | date_add(1) }}\"}", 1), Range{From: "9999-12-30", To: "9999-12-31"}, 1, nil, "with dt=9999-12-31: "},
		{"whole folders at once", strings.Replace(datedPipeline, "path: out}", "path: out, mode: overwrite}", 1), days("01", "02"), 2, nil,
			"task t, output a: --parallel 2: the runs of 2026-01-01 and of 2026-01-02 write to"},
	} {
		e, heard, o := dated(t, c.pipeline)
		if c.change != nil {
			c.change(&o)
		}
		err := e.Backfill(t.Context(), o, Backfill{Range: c.rg, Parallel: c.parallel, Start: func(context.Context, Options, report.Reporter) error {
			t.Errorf("%s: a run was started", c.name)
			return nil
		}})
		if err == nil || problem.Exit(err) != problem.ExitUsage || !strings.Contains(err.Error(), c.says) || len(heard.events) != 0 {
			t.Errorf("%s: exit %d, %v", c.name, problem.Exit(err), err)
		}
		if _, err := os.Stat(filepath.Join(filepath.Dir(o.File), ".ubunye")); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: there is a ledger: %v", c.name, err)
		}
	}
}

// Folders that each date has for itself may be replaced at once, and so may partitions of one.
func TestBackfillReplacesAtOnceWhatIsApart(t *testing.T) {
	for _, output := range []string{`path: "out/{{ dt }}", mode: overwrite}`, `path: out, mode: overwrite_partitions, partition_by: [id]}`} {
		e, heard, o := dated(t, strings.Replace(datedPipeline, "path: out}", output, 1))
		err := e.Backfill(t.Context(), o, Backfill{Range: days("01", "03"), Parallel: 3, Start: func(context.Context, Options, report.Reporter) error { return nil }})
		if err != nil || heard.outcomes(t) != "01 landed, 02 landed, 03 landed" {
			t.Errorf("%s: %v", output, err)
		}
	}
}

// Runs that go on at once share the memory that one may have.
func TestRunsBesideEachOtherShareTheMemory(t *testing.T) {
	e, _, o := dated(t, datedPipeline)
	asked := &opened{Engine: e.Compute}
	e.Compute = asked
	dt := "2026-01-01"
	o.Dt, o.Beside, o.Tasks, o.Settings = &dt, 3, []string{"t"}, map[string]any{"engine.memory": "3GiB"}
	if err := e.Run(t.Context(), o); !errors.Is(err, errOpened) {
		t.Fatal(err)
	}
	if len(asked.with) != 1 || asked.with[0].Share != 3 || asked.with[0].Memory != "3GiB" {
		t.Errorf("%+v", asked.with)
	}
}

// The dates of a range whose batch was never committed, for each task.
func TestStatusOfARange(t *testing.T) {
	e, _, o := dated(t, datedPipeline)
	rg := days("01", "05")
	s, err := e.Status(t.Context(), o, &rg)
	if err != nil || len(s.Missing) != 2 || len(s.Missing[0].Dates) != 5 || s.Missing[0].Of != 5 || s.Exists {
		t.Fatalf("%+v, %v", s, err)
	}
	for _, day := range []string{"02", "04"} {
		run, dt := o, "2026-01-"+day
		run.Dt, run.Tasks = &dt, []string{"t"}
		if err := e.Run(t.Context(), run); err != nil {
			t.Fatal(err)
		}
	}
	rg.To = "2026-01-03"
	s, err = e.Status(t.Context(), o, &rg)
	if err != nil || strings.Join(s.Missing[0].Dates, " ") != "2026-01-01 2026-01-03" || len(s.Missing[1].Dates) != 3 || s.Missing[1].Task != "u" {
		t.Fatalf("%+v, %v", s.Missing, err)
	}
	if len(s.Batches) != 1 || s.Batches[0].Batch != "dt=2026-01-02" {
		t.Errorf("batches that are not of the range: %+v", s.Batches)
	}
	documents, err := filepath.Glob(filepath.Join(filepath.Dir(o.File), ".ubunye/batches/p/t/"+s.Batches[0].Key+"/*.json"))
	if err != nil || len(documents) == 0 {
		t.Fatal(documents, err)
	}
	for _, name := range documents {
		if err := os.WriteFile(name, []byte("{"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s, err = e.Status(t.Context(), o, &rg)
	if err != nil || strings.Join(s.Missing[0].Dates, " ") != "2026-01-01 2026-01-03" || strings.Join(s.Missing[0].Unknown, " ") != "2026-01-02" {
		t.Errorf("a document that cannot be read is not absent: %+v, %v", s.Missing, err)
	}
}
