package kit

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ubunye-io/ubunye/engine/abi"
	"github.com/ubunye-io/ubunye/engine/problem"
	"github.com/ubunye-io/ubunye/engine/writer"
)

// checks are those that are made once, in their order.
func checks() []check {
	return []check{
		{"fits", "the module is one for this engine, and says what it is", nil, fits},
		{"words", "it says its version, what it writes, and what each option does", []string{"fits"}, words},
		{"describe", "it describes itself the same way each time", []string{"fits"}, describe},
		{"plan", "it looks at an output the same way each time, with the class that it declares, and tells targets apart", []string{"fits"}, plans},
		{"options", "an option that it does not have is refused", []string{"plan"}, options},
		{"rows", "rows are read back as they were", []string{"plan"}, tables("rows", plain)},
		{"counts", "it counts its rows right", []string{"rows"}, counts},
		{"nulls", "NULL is read back as NULL, or refused", []string{"rows"}, tables("nulls", table{sql: valueSQL("'sun'", "NULL", "'star'")})},
		{"empty", "a relation without rows gives none", []string{"rows"}, tables("empty", table{sql: plain.sql + " WHERE id > 3"})},
		{"texts", "texts that formats have trouble with are read back as they were, or refused", []string{"rows"}, manyTexts},
		{"types", "values of every type are read back as they were, or refused", []string{"nulls"}, eachType(typed.plainTable)},
		{"extremes", "the least and the greatest value of every type too", []string{"types"}, eachType(typed.extremeTable)},
		{"many", "thousands of rows, which come in several batches, are all there", []string{"rows"}, tables("many", lines(60_000))},
		{"files", "with target_file_size the rows may be in several files, and are all there", []string{"many"}, severalFiles},
		{"partitions", "partitions of any value hold the rows that they should, or are refused", []string{"rows"}, tables("partitions", parts)},
		{"limits", "as many bytes as it has memory pass through it in time", []string{"many", "counts"}, limits},
		{"log", "it does not say more than a person can read", []string{"rows"}, quiet},
		{"failure", "an operation that fails makes it fail: it never says that all is well", []string{"many"}, failure},
		{"capabilities", "it asks for no capability that it does not use", []string{"rows", "many"}, capabilities},
	}
}

func fits(ctx context.Context, k *kit, _ string) error {
	found, err := k.host.Inspect(ctx, k.module, writer.Limits{Memory: k.Case.Memory})
	if err != nil {
		return err
	}
	k.found = found
	if k.writer, err = found.Choose(k.module); err != nil {
		return err
	}
	for _, c := range k.writer.Capabilities {
		if c != abi.CapRelation && c != abi.CapFiles {
			return &broken{&problem.Problem{Code: problem.Usage, Message: fmt.Sprintf("the writer %s asks for %s, and there are no tests for that in this version", k.writer.Name, c),
				Hint: "what asks for relation and files only can be tested"}}
		}
	}
	if err := k.place(); err != nil {
		return &broken{err}
	}
	return nil
}

func words(_ context.Context, k *kit, _ string) error {
	var missing []string
	if k.writer.Version == "" {
		missing = append(missing, "its version")
	}
	if k.writer.Doc == "" {
		missing = append(missing, "what it writes")
	}
	options, err := writer.Options(k.writer)
	if err != nil {
		return err
	}
	for _, o := range options {
		if o.Doc == "" {
			missing = append(missing, "what the option "+o.Name+" does")
		}
	}
	if len(missing) > 0 {
		return wrongf("it does not say %s", strings.Join(missing, ", "))
	}
	return nil
}

// fresh calls something of the writer in a process of its own.
func (k *kit) fresh(ctx context.Context, do func(*writer.Session) error) error {
	module := k.module
	module.SHA256, module.Writer = k.found.SHA256, k.writer.Name
	if module.Path == "" {
		module.SHA256 = ""
	}
	s, err := k.host.Start(ctx, module, writer.Limits{Memory: k.Case.Memory, Stage: k.Case.Timeout}, writer.Grants{})
	if err != nil {
		return err
	}
	defer s.Close()
	return do(s)
}

// twice asks the writer something in two processes, and tells whether the answers differ.
func (k *kit) twice(ctx context.Context, ask func(*writer.Session) (any, error)) error {
	var answers []string
	for range 2 {
		err := k.fresh(ctx, func(s *writer.Session) error {
			a, err := ask(s)
			if err != nil {
				return err
			}
			text, err := json.Marshal(a)
			answers = append(answers, string(text))
			return err
		})
		if err != nil {
			return err
		}
	}
	if answers[0] != answers[1] {
		return wrongf("it answered %s, and then %s", answers[0], answers[1])
	}
	return nil
}

func describe(ctx context.Context, k *kit, _ string) error {
	return k.twice(ctx, func(s *writer.Session) (any, error) {
		a, err := s.Describe(ctx)
		at := slices.IndexFunc(a.Writers, func(d abi.Description) bool { return d.Name == k.writer.Name })
		if err == nil && at < 0 {
			err = wrongf("it describes itself no more")
		}
		if err != nil {
			return nil, err
		}
		return a.Writers[at], nil
	})
}

func plans(ctx context.Context, k *kit, _ string) error {
	for _, m := range k.writer.Modes {
		targets := map[string]string{}
		for _, folder := range []string{"/lake/a", "/lake/b"} {
			req := abi.PlanRequest{Epoch: 1, Time: time.Unix(1767225600, 0).UTC().Format(time.RFC3339Nano),
				Output: abi.Output{Name: "data", Mode: m.Name, Target: folder, Options: k.Case.Options}}
			if m.Name == modePartitions {
				req.Output.PartitionBy = []string{"part"}
			}
			want, _ := k.writer.Class(m.Name, k.Case.Options)
			err := k.twice(ctx, func(s *writer.Session) (any, error) {
				a, err := s.Plan(ctx, req)
				if err == nil && len(a.Problems) > 0 {
					p := a.Problems[0]
					return nil, wrongf("mode %s: %s: %s (if the options are to blame: options: … in a case file)", m.Name, p.Field, p.Message)
				}
				if err == nil && a.Class != want {
					return nil, wrongf("mode %s: it declares %s and plans %s", m.Name, want, a.Class)
				}
				targets[a.Target] = folder
				return a, err
			})
			if err != nil {
				return err
			}
		}
		if len(targets) != 2 {
			return wrongf("mode %s: it gives two folders one target", m.Name)
		}
	}
	return nil
}

func options(ctx context.Context, k *kit, _ string) error {
	p, err := k.project(task{name: "options", table: plain, options: map[string]string{"no_such_option": "1"}})
	if err != nil {
		return err
	}
	d, err := p.run(ctx, "1")
	if err != nil {
		return err
	}
	if f := d.any(); f == nil {
		return wrongf("no_such_option: 1 was taken, so a mistyped option would be too")
	} else if !f.declines() {
		return wrongf("no_such_option: 1 ended it: %s", f.text)
	}
	return nil
}

// write runs a pipeline of one task. What the writer declines is a *declined.
func (k *kit) write(ctx context.Context, t task) (*project, *done, error) {
	p, err := k.project(t)
	if err != nil {
		return nil, nil, err
	}
	d, err := p.run(ctx, "1")
	if err != nil {
		return nil, nil, err
	}
	return p, d, p.outcome(d, t.name)
}

// outcome tells whether a task has landed; one that has not must have left nothing.
func (p *project) outcome(d *done, name string) error {
	f := d.any()
	if f == nil {
		return nil
	}
	if own, ok := d.failed[name]; ok {
		f = &own
	}
	if _, landed := d.rows[name]; landed && d.failed[name].kind == "" && len(d.failed) > 0 {
		return nil // another task's
	}
	names, err := visible(p.folder(name))
	switch {
	case err != nil:
		return err
	case len(names) > 0:
		return wrongf("it failed (%s), and left %s to be seen", f.text, names[0])
	case !f.declines():
		return wrongf("%s", f.text)
	}
	return &declined{f.text}
}

// tables writes a table and reads it back.
func tables(name string, t table) func(context.Context, *kit, string) error {
	return func(ctx context.Context, k *kit, _ string) error {
		p, _, err := k.write(ctx, task{name: name, table: t})
		if err == nil {
			err = k.holds(ctx, p.folder(name), t)
		}
		if d, ok := err.(*declined); ok && !t.part && name != "nulls" {
			return wrongf("it refuses what every writer can write: %s", d.why)
		}
		return err
	}
}

func counts(ctx context.Context, k *kit, _ string) error {
	_, d, err := k.write(ctx, task{name: "counts", table: plain})
	if err != nil {
		return err
	}
	if got := d.rows["counts"]; got != 3 {
		return wrongf("it was given 3 rows and counts %d", got)
	}
	return nil
}

// each writes many small tables side by side, and reads those back that were not declined, which it names.
func (k *kit) each(ctx context.Context, names []string, tables []table) error {
	var tasks []task
	for i, t := range tables {
		tasks = append(tasks, task{name: fmt.Sprintf("t%d", i), table: t})
	}
	p, err := k.project(tasks...)
	if err != nil {
		return err
	}
	d, err := p.run(ctx, "1")
	if err != nil {
		return err
	}
	var refused, lost []string
	for i, t := range tasks {
		err := p.outcome(d, t.name)
		if slices.Contains(k.Case.Loses, names[i]) && d.failed[t.name].kind == "" {
			lost = append(lost, names[i])
			continue
		}
		if err == nil {
			err = k.holds(ctx, p.folder(t.name), t.table)
		}
		switch err.(type) {
		case nil:
		case *declined:
			refused = append(refused, names[i])
		case *broken:
			return err
		default:
			return wrongf("%s: %w", names[i], err)
		}
	}
	var notes []string
	if len(refused) > 0 {
		notes = append(notes, "declined: "+strings.Join(refused, ", "))
	}
	if len(lost) > 0 {
		notes = append(notes, "lost by its format, as the case says: "+strings.Join(lost, ", "))
	}
	switch {
	case len(refused) == len(names):
		return &declined{"all of them"}
	case len(notes) > 0:
		return &noted{strings.Join(notes, "; ")}
	}
	return nil
}

func manyTexts(ctx context.Context, k *kit, _ string) error {
	var names []string
	var all []table
	for _, t := range texts {
		names = append(names, t.name)
		all = append(all, table{sql: valueSQL(t.literal, "'plain'")})
	}
	return k.each(ctx, names, all)
}

func eachType(of func(typed) table) func(context.Context, *kit, string) error {
	return func(ctx context.Context, k *kit, _ string) error {
		var names []string
		var all []table
		for _, t := range types {
			names = append(names, t.kind)
			all = append(all, of(t))
		}
		return k.each(ctx, names, all)
	}
}

// sized has the output begin new files often. Beside it nothing is partitioned.
var sized = map[string]any{"target_file_size": "512KiB"}

func severalFiles(ctx context.Context, k *kit, _ string) error {
	t := lines(60_000)
	p, _, err := k.write(ctx, task{name: "files", table: t, output: sized})
	if err == nil {
		err = k.holds(ctx, p.folder("files"), t)
	}
	return err
}

// bytesOfLine is about how many a row of lines has.
const bytesOfLine = 45

func limits(ctx context.Context, k *kit, _ string) error {
	rows := int(k.Case.Memory / bytesOfLine)
	_, d, err := k.write(ctx, task{name: "limits", table: lines(rows)})
	if err != nil {
		return wrongf("of %d rows: %w", rows, err)
	}
	if got := d.rows["limits"]; got != int64(rows) {
		return wrongf("it was given %d rows and counts %d", rows, got)
	}
	return nil
}

// mostSaid is how many bytes a writer may log and print for three rows.
const mostSaid = 4 << 10

func quiet(ctx context.Context, k *kit, _ string) error {
	_, d, err := k.write(ctx, task{name: "log", table: plain})
	if err == nil && d.said > mostSaid {
		err = wrongf("for 3 rows it logged and printed %d bytes; a person reads %d", d.said, mostSaid)
	}
	return err
}

// usualPoints is at how many of a run's operations something is done to it, unless the options say so.
const usualPoints = 12

// spread chooses some of n operations, evenly; the first and the last are always among them.
func (k *kit) spread(n int) (all []int) {
	most := cmp.Or(k.Points, usualPoints)
	for i := range min(n, most) {
		at := i + 1
		if n > most && most > 1 {
			at = 1 + i*(n-1)/(most-1)
		}
		all = append(all, at)
	}
	return all
}

// failure has each operation fail once. The writer may go on without it only if the rows are all there.
func failure(ctx context.Context, k *kit, _ string) error {
	t := lines(2000)
	_, d, err := k.write(ctx, task{name: "traced", table: t})
	if err != nil {
		return err
	}
	for _, n := range k.spread(len(d.points)) {
		p, err := k.project(task{name: "failure", table: t})
		if err != nil {
			return err
		}
		got, err := p.failAt(ctx, n, "1")
		if err != nil {
			return err
		}
		err = p.outcome(got, "failure")
		if err == nil {
			err = k.holds(ctx, p.folder("failure"), t)
		}
		if _, ok := err.(*declined); !ok && err != nil {
			return wrongf("operation %d, %s, failed: %w", n, d.points[n-1], err)
		}
	}
	return nil
}

func capabilities(_ context.Context, k *kit, _ string) error {
	if len(k.Only) > 0 {
		return &noted{"it is known only when all checks are made"}
	}
	var unused []string
	for _, c := range k.writer.Capabilities {
		if !k.used[string(c)] {
			unused = append(unused, string(c))
		}
	}
	if len(unused) > 0 {
		return wrongf("it asks for %s, and never used it: who grants it gives more than is needed", strings.Join(unused, ", "))
	}
	return nil
}
