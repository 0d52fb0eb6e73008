package expect_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/ubunye-io/ubunye/engine/compute"
	. "github.com/ubunye-io/ubunye/engine/expect"
)

func TestReconcile(t *testing.T) {
	ses := open(t)
	steps := []compute.Step{
		{Name: "raw", SQL: "SELECT i AS id, CAST(i * 0.1 AS DECIMAL(18,2)) AS amount, 0.1::DOUBLE AS ratio, NULL::BIGINT AS none, 'x' AS txt FROM range(10) t(i)"},
		{Name: "clean", SQL: "SELECT * FROM raw WHERE id < 9"}, {Name: "bad", SQL: "SELECT * FROM raw WHERE id >= 9"},
		{Name: "twice", SQL: "SELECT * FROM raw UNION ALL SELECT * FROM clean"},
		{Name: "infinite", SQL: "SELECT CAST('inf' AS DOUBLE) AS ratio"}}
	if err := ses.Prepare(t.Context(), steps, nil); err != nil {
		t.Fatal(err)
	}
	clean, bad, twice := Staged{"clean", 9}, Staged{"bad", 1}, Staged{"twice", 19}
	for _, tt := range []struct {
		name string
		b    Balance
		want string // empty: it passes
	}{
		{"all rows", Balance{Outputs: []Staged{clean, bad}}, ""},
		{"one lost", Balance{Outputs: []Staged{clean}}, "10 rows read, 9 to land: 1 lost"},
		{"one may be lost", Balance{Outputs: []Staged{clean}, MaxLost: 1}, ""},
		{"nine may be lost", Balance{Outputs: []Staged{bad}, MaxLost: 8}, "10 rows read, 1 to land: 9 lost"},
		{"more", Balance{Outputs: []Staged{twice}, MaxLost: 100}, "10 rows read, 19 to land: 9 more"},
		{"the sum", Balance{Outputs: []Staged{clean, bad}, Sum: "amount"}, ""},
		{"another sum", Balance{Outputs: []Staged{clean}, Sum: "amount"}, "the sum of amount is 4.50 in what was read, 3.60 in what is to land"},
		{"near enough", Balance{Outputs: []Staged{clean}, Sum: "amount", Tolerance: "0.9"}, ""},
		{"not near enough", Balance{Outputs: []Staged{clean}, Sum: "AMOUNT", Tolerance: "0.89"}, "the sum of AMOUNT"},
		{"too much", Balance{Outputs: []Staged{twice}, Sum: "id"}, "the sum of id is 45 in what was read, 81 in what is to land"},
		{"nothing but NULL", Balance{Outputs: []Staged{twice}, Sum: "none"}, ""},
		{"floating-point", Balance{Outputs: []Staged{clean, bad}, Sum: "ratio", Tolerance: "0.000001"}, ""},
		{"infinite", Balance{Outputs: []Staged{{"infinite", 1}}, Sum: "ratio", Tolerance: "1"}, "no finite numbers"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.b.Input = "raw"
			results, err := Reconcile(t.Context(), ses, []Balance{tt.b})
			if err != nil {
				t.Fatal(err)
			}
			r := results[0]
			if r.Passed != (tt.want == "") || !strings.Contains(r.Detail, tt.want) || r.Passed && r.Detail != "" || r.Rows != 10 {
				t.Errorf("got %+v, want %q", r, tt.want)
			}
		})
	}
	for _, column := range []string{"txt", "amuont"} {
		_, err := Reconcile(t.Context(), ses, []Balance{{Input: "raw"}, {Input: "raw", Outputs: []Staged{clean}, Sum: column}})
		var e *Error
		if !errors.As(err, &e) || e.Check != 1 {
			t.Errorf("%s: %v", column, err)
		}
	}
}
