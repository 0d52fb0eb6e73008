package expect_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/ubunye-io/ubunye/engine/compute"
	"github.com/ubunye-io/ubunye/engine/compute/duckdb"
	. "github.com/ubunye-io/ubunye/engine/expect"
)

func open(t *testing.T) compute.Session {
	t.Helper()
	ses, err := duckdb.Engine{}.Open(t.Context(), compute.Settings{Spill: filepath.Join(t.TempDir(), "spill"), Threads: 2, Rename: os.Rename})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ses.Close() })
	return ses
}

// prepare makes the relation clean of SQL, as a run does, and sum, which reads it.
func prepare(t *testing.T, ses compute.Session, set *Set, sql string) error {
	t.Helper()
	steps := append([]compute.Step{{Name: set.Whole("clean"), SQL: sql}}, set.Divided("clean")...)
	steps = append(steps, compute.Step{Name: "later", SQL: "SELECT * FROM clean"})
	return set.Blame(ses.Prepare(t.Context(), steps, append(set.Consumed(), "clean", "later")))
}

func evaluate(t *testing.T, sql string, checks ...Check) ([]Result, compute.Session, error) {
	t.Helper()
	ses, set := open(t), New(checks)
	if err := prepare(t, ses, set, sql); err != nil {
		return nil, ses, err
	}
	results, err := set.Evaluate(t.Context(), ses)
	return results, ses, err
}

func number(n int64) *int64            { return &n }
func text(s string) *string            { return &s }
func columns(names ...string) []string { return names }

const rows = `SELECT * FROM (VALUES (1, 'a', 1.5), (2, 'b', NULL), (2, 'c,d', 2.5), (NULL, '', 3.5), (5, NULL, 99.0)) t(id, txt, amount)`

func TestChecksTellHowManyRowsAndWhich(t *testing.T) {
	for _, tt := range []struct {
		name  string
		check Check
		want  Result
	}{
		{"a NULL", Check{Rule: &compute.Rule{Kind: compute.NotNull, Columns: columns("id")}}, Result{Rows: 5, Broken: 1, Detail: `1 of 5 rows: (id=NULL, txt="")`}},
		{"a key twice", Check{Rule: &compute.Rule{Kind: compute.Unique, Columns: columns("id")}}, Result{Rows: 5, Broken: 2, Detail: "2 of 5 rows: (id=2)"}},
		{"none of them", Check{Rule: &compute.Rule{Kind: compute.OneOf, Columns: columns("amount"), Values: []string{"1.5"}}},
			Result{Rows: 5, Broken: 3, Detail: `3 of 5 rows: (id=2, txt="c,d", amount=2.5), (id=NULL, txt="", amount=3.5), (id=5, txt=NULL, amount=99.0)`}},
		{"many", Check{Rule: &compute.Rule{Kind: compute.Between, Columns: columns("amount"), Min: text("99.1")}},
			Result{Rows: 5, Broken: 4, Detail: `4 of 5 rows, for example: (id=1, txt=a, amount=1.5), (id=2, txt="c,d", amount=2.5), (id=NULL, txt="", amount=3.5)`}},
		{"no text but one", Check{Rule: &compute.Rule{Kind: compute.Matches, Columns: columns("txt"), Pattern: ".*"}}, Result{Rows: 5, Passed: true}},
		{"too few", Check{Rows: &Bounds{Min: number(6)}}, Result{Rows: 5, Detail: "5 rows, fewer than 6"}},
		{"too many", Check{Rows: &Bounds{Min: number(1), Max: number(4)}}, Result{Rows: 5, Detail: "5 rows, more than 4"}},
		{"as many", Check{Rows: &Bounds{Min: number(5), Max: number(5)}}, Result{Rows: 5, Passed: true}},
		{"the columns", Check{Columns: []compute.Column{{Name: "TXT", Type: "text"}, {Name: "amount", Type: "decimal(3,1)"}, {Name: "id", Type: "any"}}}, Result{Passed: true}},
		{"other columns", Check{Columns: []compute.Column{{Name: "id", Type: "bigint"}, {Name: "day", Type: "any"}, {Name: "amount", Type: "any"}}},
			Result{Detail: "id is a INTEGER, day is missing, txt (VARCHAR) is not expected"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.check.Relation, tt.check.Severity = "clean", Fail
			results, _, err := evaluate(t, rows, tt.check)
			if err != nil || len(results) != 1 || results[0] != tt.want {
				t.Errorf("got %+v, %v\nwant %+v", results, err, tt.want)
			}
		})
	}
}

// Rows in quarantine are out of the relation for whoever reads it, the other checks too; what is known of them is told of all rows.
func TestQuarantineComesFirst(t *testing.T) {
	results, ses, err := evaluate(t, rows,
		Check{Relation: "clean", Severity: Fail, Rule: &compute.Rule{Kind: compute.NotNull, Columns: columns("id")}},
		Check{Relation: "clean", Severity: Fail, Rows: &Bounds{Max: number(2)}},
		Check{Relation: "clean", Severity: Quarantine, Text: "q1", Rule: &compute.Rule{Kind: compute.NotNull, Columns: columns("id")}},
		Check{Relation: "clean", Severity: Quarantine, Text: "q2", Rule: &compute.Rule{Kind: compute.Unique, Columns: columns("id")}},
		Check{Relation: "clean", Severity: Quarantine, Text: "q3", Rule: &compute.Rule{Kind: compute.Matches, Columns: columns("txt"), Pattern: ".+"}})
	if err != nil {
		t.Fatal(err)
	}
	want := []Result{{Check: 0, Passed: true, Rows: 2}, {Check: 1, Passed: true, Rows: 2},
		{Check: 2, Rows: 5, Broken: 1, Detail: `1 of 5 rows: (id=NULL, txt="")`}, {Check: 3, Rows: 5, Broken: 2, Detail: "2 of 5 rows: (id=2)"}, {Check: 4, Rows: 5, Broken: 1, Detail: `1 of 5 rows: (id=NULL, txt="")`}}
	if !reflect.DeepEqual(results, want) {
		t.Errorf("got  %+v\nwant %+v", results, want)
	}
	for relation, want := range map[compute.Relation]int64{"clean": 2, "later": 2, compute.Relation(Quarantined("clean")): 3} {
		if n, err := ses.Count(t.Context(), relation); err != nil || n != want {
			t.Errorf("%s has %d rows, want %d: %v", relation, n, want, err)
		}
	}
	head, err := ses.Head(t.Context(), compute.Relation(Quarantined("clean")), 9)
	if err != nil {
		t.Fatal(err)
	}
	said := map[string]int{}
	for _, row := range head {
		said[*row[len(row)-1]]++
	}
	if !reflect.DeepEqual(said, map[string]int{"q1; q3": 1, "q2": 2}) {
		t.Errorf("broken: %v", said)
	}
	for name, want := range map[string]string{New([]Check{{Relation: "clean", Severity: Quarantine}}).Whole("clean"): "clean", Quarantined("clean"): "clean", "clean": "clean"} {
		if got := Plain(name); got != want {
			t.Errorf("%s is %s in the pipeline", name, got)
		}
	}
}

// What is checked is what is written, though each computing of the SQL gives other rows.
func TestTheRowsThatAreCheckedAreThoseThatAreWritten(t *testing.T) {
	const dice = "SELECT random() AS a, random() AS b, random() AS c FROM range(2000)"
	for severity, written := range map[Severity]compute.Relation{Warn: "clean", Quarantine: compute.Relation(Quarantined("clean"))} {
		var checks []Check
		for _, column := range []string{"a", "b", "c"} {
			rule := &compute.Rule{Kind: compute.Between, Columns: columns(column), Max: text("0.5")}
			checks = append(checks, Check{Relation: "clean", Severity: severity, Text: column, Rule: rule})
		}
		ses, set := open(t), New(checks)
		steps := append([]compute.Step{{Name: set.Whole("clean"), SQL: dice}}, set.Divided("clean")...)
		if err := ses.Prepare(t.Context(), steps, append(set.Consumed(), written)); err != nil {
			t.Fatal(err)
		}
		results, err := set.Evaluate(t.Context(), ses)
		if err != nil {
			t.Fatal(err)
		}
		for i, c := range checks {
			high := compute.Step{Name: c.Text, SQL: "SELECT * FROM r WHERE " + c.Text + " > 0.5", Reads: map[string]compute.Relation{"r": written}}
			if err := ses.Prepare(t.Context(), []compute.Step{high}, nil); err != nil {
				t.Fatal(err)
			}
			if n, err := ses.Count(t.Context(), compute.Relation(c.Text)); err != nil || n != results[i].Broken || n < 500 {
				t.Errorf("%s: %d rows break the check of %s, and %d are written: %v", severity, results[i].Broken, c.Text, n, err)
			}
		}
	}
}

// miscounting is a session that loses a row.
type miscounting struct{ compute.Session }

func (m miscounting) Count(ctx context.Context, r compute.Relation) (int64, error) {
	n, err := m.Session.Count(ctx, r)
	if r == "clean" {
		n--
	}
	return n, err
}

func TestALostRowEndsTheTask(t *testing.T) {
	ses := open(t)
	set := New([]Check{{Relation: "clean", Severity: Quarantine, Text: "q", Rule: &compute.Rule{Kind: compute.NotNull, Columns: columns("id")}}})
	if err := prepare(t, ses, set, rows); err != nil {
		t.Fatal(err)
	}
	_, err := set.Evaluate(t.Context(), miscounting{ses})
	var e *compute.Error
	if !errors.As(err, &e) || e.Kind != compute.Failed || !strings.Contains(e.Message, "of 5 rows 3 go on and 1 are quarantined") {
		t.Errorf("got %v", err)
	}
}

// A check that cannot be made is told by its place, also where another relation's come before.
func TestAChecksMistakeIsTold(t *testing.T) {
	rule := func(column string) *compute.Rule {
		return &compute.Rule{Kind: compute.NotNull, Columns: columns(column)}
	}
	for _, severity := range []Severity{Fail, Quarantine} {
		_, _, err := evaluate(t, rows,
			Check{Relation: "later", Severity: Fail, Rule: rule("id")},
			Check{Relation: "clean", Severity: severity, Text: "a", Rule: rule("id")},
			Check{Relation: "clean", Severity: severity, Text: "b", Rule: rule("idd")})
		var e *Error
		if !errors.As(err, &e) || e.Check != 2 || !strings.Contains(e.Error(), "idd") {
			t.Errorf("%s: got %v", severity, err)
		}
	}
	_, _, err := evaluate(t, rows, Check{Relation: "clean", Severity: Fail, Columns: []compute.Column{{Name: "id", Type: "bigintt"}}})
	var e *Error
	if !errors.As(err, &e) || e.Check != 0 {
		t.Errorf("a type that does not exist: %v", err)
	}
	_, _, err = evaluate(t, "SELECT id, CAST(txt AS INTEGER) AS n FROM ("+rows+")", Check{Relation: "clean", Severity: Fail, Rule: rule("n")})
	var failed *compute.Error
	if errors.As(err, &e) && !errors.As(err, &failed) || err == nil || !strings.Contains(err.Error(), "Could not convert") {
		t.Errorf("a value that cannot be computed: %v", err)
	}
}
