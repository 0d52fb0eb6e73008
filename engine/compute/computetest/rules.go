package computetest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ubunye-io/ubunye/engine/compute"
)

// rule makes a rule of a line: kind, columns with commas between them, then what the kind needs.
func rule(t *testing.T, text string) compute.Rule {
	t.Helper()
	words := strings.Fields(text)
	r := compute.Rule{Columns: strings.Split(words[1], ",")}
	bound := func(i int) *string {
		if words[i] == "-" {
			return nil
		}
		return &words[i]
	}
	switch words[0] {
	case "notnull":
		r.Kind = compute.NotNull
	case "unique":
		r.Kind = compute.Unique
	case "between":
		r.Kind, r.Min, r.Max = compute.Between, bound(2), bound(3)
	case "oneof":
		r.Kind, r.Values = compute.OneOf, words[2:]
	case "matches":
		r.Kind, r.Pattern = compute.Matches, strings.Join(words[2:], " ")
	default:
		t.Fatalf("rule %q", text)
	}
	return r
}

// typed is a relation with a value of each kind, with NULLs, and with what is hard to compare.
const typed = `SELECT * FROM (VALUES
	(1, 'a',       CAST(1.00 AS DECIMAL(9,2)), DATE '2026-01-01', CAST(1 AS DOUBLE),     9007199254740993),
	(2, 'b',       2.50,                       DATE '2026-01-31', CAST('NaN' AS DOUBLE), 9007199254740992),
	(3, 'B',       NULL,                       NULL,              CAST('inf' AS DOUBLE), NULL),
	(3, NULL,      -1.00,                      DATE '1500-01-01', NULL,                  0),
	(NULL, '',     1.00,                       DATE '2026-02-01', CAST(-0.0 AS DOUBLE),  0),
	(NULL, chr(10), 1.00,                      DATE '2026-02-01', CAST(0 AS DOUBLE),     0)
) AS t(id, txt, amount, dt, ratio, big)`

// Each rule counts the rows that break it, and no NULL breaks another one than NotNull.
func checkRules(t *testing.T, f *fixture) {
	f.prepare("typed typed", compute.Step{Name: "typed", SQL: typed})
	for _, tt := range []struct {
		rule   string
		broken int64
		first  string // the first example
	}{
		{"notnull id", 2, "NULL|"},
		{"notnull TXT", 1, "3|NULL"},
		{"unique id", 2, "3"},
		{"unique id,amount", 0, ""},
		{"unique amount", 3, "1.00"},
		{"unique ID,dt", 0, ""},
		{"unique dt,amount", 2, "2026-02-01|1.00"},
		{"unique ratio", 2, "0.0"},
		{"between id 2 -", 1, "1|a"},
		{"between id - 2", 2, "3|B"},
		{"between id 1 3", 0, ""},
		{"between amount 1 2.50", 1, "3|NULL"},
		{"between amount 1.0000 2.49", 2, "2|b"},
		{"between dt 2026-01-01 2026-01-31", 3, "3|NULL"},
		{"between ratio 0 -", 1, "2|b"},
		{"between ratio - 1e3", 2, "2|b"},
		{"between big 9007199254740993 -", 4, "2|b"},
		{"between txt a -", 3, "3|B"},
		{"oneof id 1 2 3", 0, ""},
		{"oneof id 1 2", 2, "3|B"},
		{"oneof txt a b", 3, "3|B"},
		{"oneof amount 1 2.5", 1, "3|NULL"},
		{"oneof dt 2026-02-01", 3, "1|a"},
		{"matches txt [a-z]", 3, "3|B"},
		{"matches txt .", 1, "NULL|"},
		{"matches txt .*", 0, ""},
		{"matches txt (?i)b", 3, "1|a"},
		{"matches txt a|'", 4, "2|b"},
	} {
		got, err := f.ses.Check(t.Context(), compute.Check{Relation: "typed", Rules: []compute.Rule{rule(t, tt.rule)}, Examples: 3, Show: []string{"id", "txt"}})
		if err != nil {
			t.Errorf("%s: %v", tt.rule, err)
			continue
		}
		b := got.Broken[0]
		if got.Rows != 6 || b.Rows != tt.broken || len(b.Examples) > 3 || (len(b.Examples) > 0) != (tt.broken > 0) {
			t.Errorf("%s: %d of %d rows with %d examples, want %d of 6", tt.rule, b.Rows, got.Rows, len(b.Examples), tt.broken)
			continue
		}
		if first := example(b); first != tt.first {
			t.Errorf("%s: the first example is %q of %v, want %q", tt.rule, first, b.Columns, tt.first)
		}
	}
}

func example(b compute.Broken) string {
	if len(b.Examples) == 0 {
		return ""
	}
	var words []string
	for _, v := range b.Examples[0] {
		if v == nil {
			words = append(words, "NULL")
			continue
		}
		words = append(words, *v)
	}
	return strings.Join(words, "|")
}

// All rules of a relation are counted at once, over the same rows; without rules there is the number of rows.
func checkTogether(t *testing.T, f *fixture) {
	f.prepare("r r", compute.Step{Name: "r", SQL: "SELECT i % 10 AS k, random() AS x FROM range(1000) t(i)"})
	rules := []compute.Rule{rule(t, "between x - 0.5"), rule(t, "between x 0.5 -"), rule(t, "unique k"), rule(t, "notnull k")}
	for range 2 {
		got, err := f.ses.Check(t.Context(), compute.Check{Relation: "R", Rules: rules})
		if err != nil {
			t.Fatal(err)
		}
		b := got.Broken
		if got.Rows != 1000 || b[0].Rows+b[1].Rows != 1000 || b[2].Rows != 1000 || b[3].Rows != 0 || b[2].Examples != nil {
			t.Errorf("got %+v", got)
		}
	}
	got, err := f.ses.Check(t.Context(), compute.Check{Relation: "r"})
	if err != nil || got.Rows != 1000 || len(got.Broken) != 0 {
		t.Errorf("without rules: %+v, %v", got, err)
	}
	f.prepare("none none", compute.Step{Name: "none", SQL: "SELECT * FROM r WHERE k > 10"})
	if got, err = f.ses.Check(t.Context(), compute.Check{Relation: "none", Rules: rules}); err != nil || got.Rows != 0 || got.Broken[2].Rows != 0 {
		t.Errorf("no rows: %+v, %v", got, err)
	}
}

// What is wrong with a rule is told with its place, by a session that knows the columns and, as far as it can be, without one.
func ruleMistakes(t *testing.T, f *fixture) {
	f.prepare("typed times", compute.Step{Name: "typed", SQL: typed}, compute.Step{Name: "times", SQL: "SELECT TIMESTAMP '2026-01-01 00:00:00' AS ts"})
	for _, text := range []string{"2026-01-01T00:00:00+02", "2026-01-01T00:00:00.1234567"} {
		_, err := f.ses.Check(t.Context(), compute.Check{Relation: "times", Rules: []compute.Rule{rule(t, "oneof ts "+text)}})
		f.wantError(err, compute.Error{Kind: compute.BadOption, Column: "ts", Message: fmt.Sprintf("%q is not a TIMESTAMP", text)})
	}
	types := columns("id integer; txt text; amount decimal(9,2); dt date; ratio double; big bigint")
	for _, tt := range []struct {
		rule, column, message string
		alone                 bool // it can be told without the columns
	}{
		{"notnull idd", "idd", "did you mean id?", false},
		{"unique id,day", "day", "no such column", false},
		{"between id 0.5 -", "id", `"0.5" is not a INTEGER`, false},
		{"between id - 1e3", "id", `"1e3"`, false},
		{"between id - 99999999999", "id", `"99999999999"`, false},
		{"between amount 0.001 -", "amount", `"0.001" is not a DECIMAL(9,2)`, false},
		{"between dt - 2026-02-30", "dt", `"2026-02-30" is not a DATE`, false},
		{"between dt - 2026-02-03T10:00", "dt", "is not a DATE", false},
		{"between ratio - 1e400", "ratio", `"1e400" is not a DOUBLE`, false},
		{"oneof id 1 one", "id", `"one" is not a INTEGER`, false},
		{"matches id [0-9]+", "id", "only text", false},
		{"matches txt (", "txt", `"(" is not a regular expression`, true},
		{"matches txt (?=a)", "txt", "not a regular expression", true},
	} {
		rules := []compute.Rule{rule(t, "notnull id"), rule(t, tt.rule)}
		_, err := f.ses.Check(t.Context(), compute.Check{Relation: "typed", Rules: rules})
		e := f.wantError(err, compute.Error{Kind: compute.BadOption, Column: tt.column, Message: tt.message})
		if e.Rule != 2 {
			t.Errorf("%s: it is said of rule %d", tt.rule, e.Rule)
		}
		for _, known := range [][]compute.Column{types, nil} {
			wrong, err := f.h.New(t).CheckRules(t.Context(), rules, known)
			if err != nil {
				t.Fatal(err)
			}
			if want := known != nil || tt.alone; (len(wrong) == 1) != want {
				t.Errorf("%s with columns %v: %v", tt.rule, known, wrong)
				continue
			}
			for _, e := range wrong {
				f.wantError(e, compute.Error{Kind: compute.BadOption, Column: tt.column, Message: tt.message})
				if e.Rule != 2 {
					t.Errorf("%s: it is said of rule %d", tt.rule, e.Rule)
				}
			}
		}
	}
	wrong, err := f.h.New(t).CheckRules(t.Context(), nil, columns("id bigintt; n integer"))
	if err != nil || len(wrong) != 1 || wrong[0].Column != "id" {
		t.Errorf("a type that does not exist: %v, %v", wrong, err)
	}
	if typ, err := f.ses.Type(t.Context(), "int"); err != nil || typ != "INTEGER" {
		t.Errorf("int is %q, %v", typ, err)
	}
}

// Two parts have all rows, each once, although the SQL is not deterministic; every later step sees the part that has the name.
func divide(t *testing.T, f *fixture) {
	rules := []compute.Rule{rule(t, "notnull id"), rule(t, "unique id"), rule(t, "oneof txt a b B")}
	names := []string{"not_null: [id]", "unique", "it's"}
	f.prepare("good bad ids",
		compute.Step{Name: "before", SQL: typed},
		compute.Step{Name: "good", Divide: &compute.Divide{Of: "before", Rules: rules, Names: names}},
		compute.Step{Name: "bad", Divide: &compute.Divide{Of: "before", Rules: rules, Names: names, Broken: "_check"}},
		compute.Step{Name: "ids", SQL: "SELECT id FROM good"})
	f.wantTypes(f.schema("good"), "id INTEGER; txt VARCHAR; amount DECIMAL(9,2); dt DATE; ratio DOUBLE; big BIGINT")
	f.wantTypes(f.schema("bad"), "id INTEGER; txt VARCHAR; amount DECIMAL(9,2); dt DATE; ratio DOUBLE; big BIGINT; _check VARCHAR")
	f.wantRows(f.rows("ids"), "1", "2")
	var said []string
	for _, r := range f.rows("bad").Rows {
		said = append(said, r[0]+" "+r[len(r)-1])
	}
	slices.Sort(said)
	if want := []string{"3 unique", "3 unique", "NULL not_null: [id]; it's", "NULL not_null: [id]; it's"}; !slices.Equal(said, want) {
		t.Errorf("broken: %q, want %q", said, want)
	}
	half := []compute.Rule{rule(t, "between x - 0.5"), rule(t, "unique k")}
	f.prepare("low high",
		compute.Step{Name: "dice", SQL: "SELECT i, CASE WHEN random() < 0.01 THEN 1 ELSE i END AS k, random() AS x FROM range(1000) t(i)"},
		compute.Step{Name: "low", Divide: &compute.Divide{Of: "dice", Rules: half}},
		compute.Step{Name: "high", Divide: &compute.Divide{Of: "dice", Rules: half, Broken: "why", Names: []string{"a", "b"}}})
	seen := map[string]int{}
	for _, table := range []Table{f.rows("low"), f.rows("high")} {
		for _, r := range table.Rows {
			seen[r[0]]++
		}
	}
	if len(seen) != 1000 || slices.ContainsFunc(f.rows("low").Rows, func(r []string) bool { return seen[r[0]] != 1 }) {
		t.Errorf("%d of 1000 rows, or some twice", len(seen))
	}
	// What a step computes of one part, it does not compute of the other.
	numbers := []compute.Rule{rule(t, "matches n [0-9]{1,7}"), rule(t, "unique i")}
	f.prepare("cast words",
		compute.Step{Name: "text\x01before", SQL: "SELECT i, CASE WHEN i % 1000 = 0 THEN 'x' ELSE i::VARCHAR END AS n FROM range(100000) t(i)"},
		compute.Step{Name: "numbers", Divide: &compute.Divide{Of: "text\x01before", Rules: numbers}},
		compute.Step{Name: "words", Divide: &compute.Divide{Of: "text\x01before", Rules: numbers, Broken: "why", Names: []string{"a", "b"}}},
		compute.Step{Name: "cast", SQL: "SELECT i FROM numbers WHERE CAST(n AS INTEGER) > 10"})
	f.count("cast", 99890)
	f.count("words", 100)
	err := f.ses.Prepare(t.Context(), []compute.Step{{Name: "typo", SQL: "SELECT * FROM text"}}, nil)
	if e := f.wantError(err, compute.Error{Kind: compute.QueryInvalid, Message: "known: bad, "}); strings.Contains(e.Hint+e.Message, "\x01") {
		t.Errorf("hint: %q", e.Hint)
	}
	for _, tt := range []struct {
		d    compute.Divide
		want compute.Error
	}{
		{compute.Divide{Of: "before", Rules: []compute.Rule{rule(t, "notnull id"), rule(t, "notnull x")}}, compute.Error{Kind: compute.BadOption, Column: "x", Rule: 2}},
		{compute.Divide{Of: "bad", Rules: rules, Names: names, Broken: "_CHECK"}, compute.Error{Kind: compute.BadOption, Column: "_CHECK", Message: "already"}},
		{compute.Divide{Of: "nothing", Rules: rules}, compute.Error{Kind: compute.QueryInvalid, Message: "nothing"}},
	} {
		err := f.ses.Prepare(t.Context(), []compute.Step{{Name: "part", Divide: &tt.d}}, nil)
		e := f.wantError(err, tt.want)
		if e.Step != "part" || tt.want.Rule != 0 && e.Rule != tt.want.Rule {
			t.Errorf("step %q, rule %d: %v", e.Step, e.Rule, e)
		}
	}
}

// Sums are exact beyond what 64 bits or a floating-point number hold.
func sums(t *testing.T, f *fixture) {
	f.prepare("r", compute.Step{Name: "r", SQL: "SELECT 9223372036854775807 AS big, CAST(0.1 AS DECIMAL(18,1)) AS exact, 0.1::DOUBLE AS near, NULL::INTEGER AS none, 'x' AS txt FROM range(10)"})
	for column, want := range map[string]string{"big": "92233720368547758070", "EXACT": "1.0", "near": "1.0", "none": "0"} {
		if got, err := f.ses.Sum(t.Context(), "r", column); err != nil || got != want {
			t.Errorf("%s: %q, %v, want %s", column, got, err, want)
		}
	}
	for column, message := range map[string]string{"txt": "cannot be added up", "neer": "did you mean near?"} {
		_, err := f.ses.Sum(t.Context(), "r", column)
		f.wantError(err, compute.Error{Kind: compute.BadOption, Column: column, Message: message})
	}
	if _, err := f.ses.Sum(t.Context(), "nothing", "x"); err == nil || !strings.Contains(fmt.Sprint(err), "nothing") {
		t.Errorf("of no relation: %v", err)
	}
}
