package computetest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/ubunye-io/ubunye/engine/compute"
)

func stepsAndVariables(t *testing.T, f *fixture) {
	p := f.write("a.csv", "id,dt,amount\n1,2026-01-01,1.10\n2,2026-01-02,2.20\n3,2026-01-02,\n")
	f.open(compute.Variable{Name: "dt", Type: "DATE", Value: "2026-01-02"}, compute.Variable{Name: "least", Type: "DECIMAL(18,2)", Value: "0.10"})
	f.input(compute.Input{Name: "raw", Format: "csv", Path: p, Columns: columns("id bigint; dt date; amount decimal(18,2)")})
	f.prepare("sums",
		compute.Step{Name: "typed", SQL: "SELECT * FROM RAW WHERE dt = $dt -- of the day, not $DT"},
		compute.Step{Name: "raw2", SQL: "WITH typed AS (SELECT * FROM typed WHERE amount IS NULL OR amount >= $Least) SELECT *, $dt AS day FROM typed;"},
		compute.Step{Name: "sums", SQL: "SELECT day, count(*) AS n, sum(amount) AS total FROM raw2 GROUP BY day"},
		compute.Step{Name: "never", SQL: "SELECT CAST('x' || id AS INTEGER) AS boom FROM raw"})
	f.wantTypes(f.schema("raw2"), "id BIGINT; dt DATE; amount DECIMAL(18,2); day DATE")
	f.wantRows(f.rows("sums"), "2026-01-02|2|2.20")
	f.prepare("later", compute.Step{Name: "later", SQL: "SELECT n + 1 AS m FROM sums"})
	f.wantRows(f.rows("later"), "3")
}

// Values are bound, never pasted.
func variablesFromHell(t *testing.T, f *fixture) {
	values := []string{"", "'", `"; DROP TABLE x; --`, "$a", "a\nb\r\n", `\`, "ünï🎉", "%s", "NULL"}
	for i, v := range values {
		f.ses = nil
		f.dir = t.TempDir()
		f.open(compute.Variable{Name: "a", Type: "VARCHAR", Value: v}, compute.Variable{Name: "a_b", Type: "INTEGER", Value: "7"})
		f.prepare("r", compute.Step{Name: "r", SQL: "SELECT $a AS a, '$a' AS text, $a_b AS n, $a_b::BIGINT + 1 AS m, [$a][1] AS l, $$ $a $$ AS d /* $zz */ LIMIT $a_b"})
		f.wantTypes(f.schema("r"), "a VARCHAR; text VARCHAR; n INTEGER; m BIGINT; l VARCHAR; d VARCHAR")
		got := f.rows("r")
		if len(got.Rows) != 1 || got.Rows[0][0] != v || got.Rows[0][1] != "$a" || got.Rows[0][2] != "7" || got.Rows[0][3] != "8" || got.Rows[0][4] != v || got.Rows[0][5] != " $a " {
			t.Errorf("value %d: %q came back as %q", i, v, got.Rows)
		}
	}
}

// SQL that is not the pipeline's own reads what it is given, under names of its own, and nothing else.
func stepReads(t *testing.T, f *fixture) {
	p := f.write("a.csv", "id,name\n1,x\n2,y\n")
	f.open()
	f.input(compute.Input{Name: "orders", Format: "csv", Path: p, Columns: columns("id bigint; name varchar")})
	f.input(compute.Input{Name: "secret", Format: "csv", Path: p, Columns: columns("id bigint; name varchar")})
	reads := map[string]compute.Relation{"source": "orders"}
	f.prepare("d1", compute.Step{Name: "d1", Reads: reads, SQL: "WITH big AS (SELECT * FROM Source WHERE id > 1) SELECT id, upper(name) AS name FROM big; "})
	f.wantRows(f.rows("d1"), "2|Y")
	// A name may be that of another relation: it stands for what it was given.
	f.prepare("d2", compute.Step{Name: "d2", Reads: map[string]compute.Relation{"secret": "d1"}, SQL: "SELECT * FROM secret"})
	f.wantRows(f.rows("d2"), "2|Y")
	for _, sql := range []string{"SELECT * FROM orders", "SELECT * FROM secret", "SELECT * FROM source JOIN secret USING (id)",
		"SELECT * FROM source) UNION ALL (SELECT * FROM secret", "SELECT * FROM main.secret", "SELECT (SELECT max(name) FROM secret)"} {
		err := f.ses.Prepare(t.Context(), []compute.Step{{Name: "bad", SQL: sql, Reads: reads}}, nil)
		var e *compute.Error
		if !errors.As(err, &e) || e.Kind != compute.QueryInvalid {
			t.Errorf("%s: got %v, want QueryInvalid", sql, err)
		}
	}
}

func head(t *testing.T, f *fixture) {
	p := f.write("a.csv", "id,amount\n1,1.10\n2,\n3,3.30\n")
	f.input(compute.Input{Name: "raw", Format: "csv", Path: p, Columns: columns("id bigint; amount decimal(9,2)")})
	rows, err := f.ses.Head(t.Context(), "raw", 2)
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != 2 || *rows[0][0] != "1" || *rows[0][1] != "1.10" || *rows[1][0] != "2" || rows[1][1] != nil {
		t.Errorf("got %v", rows)
	}
}

func stepMistakes(t *testing.T, f *fixture) {
	p := f.write("a.csv", "id,name\n1,x\n")
	f.open(compute.Variable{Name: "region", Type: "VARCHAR", Value: "eu"})
	f.input(compute.Input{Name: "orders", Format: "csv", Path: p})
	for _, tt := range []struct {
		sql  string
		want compute.Error
	}{
		{"SELECT * FROM order", compute.Error{Line: 1, Col: 15}},
		{"SELECT id\nFROM ordres", compute.Error{Line: 2, Col: 6, Message: "did you mean orders?"}},
		{"SELECT\n  nme FROM orders", compute.Error{Line: 2, Col: 3, Message: "did you mean name"}},
		{"SELECT *\nFROM orders\nWHERE name = $regio", compute.Error{Line: 3, Col: 14, Message: "did you mean $region?"}},
		{"SELECT $region AS a, nme FROM orders", compute.Error{Line: 1, Col: 22, Message: "nme"}},
		{"SELECT * FROM orders WHERE name = ?", compute.Error{Message: "by name"}},
		{"", compute.Error{Message: "it is empty"}},
		{"-- nothing", compute.Error{Message: "it is empty"}},
		{"SELECT 1; SELECT 2", compute.Error{Message: "it has 2 statements"}},
		{"DROP VIEW orders", compute.Error{Message: "it is not a SELECT"}},
		{"INSERT INTO orders VALUES (1)", compute.Error{Message: "it is not a SELECT"}},
		{"SELECT 1; DROP VIEW orders", compute.Error{Message: "it is not a SELECT"}},
		{"SELECT * FROM '" + p + "'", compute.Error{Line: 1, Col: 15, Message: "files are opened by inputs"}},
		{"SELECT * FROM me", compute.Error{Message: "no input or earlier step"}},
		{"WITH c AS (SELECT 1 AS x) SELECT * FROM (SELECT * FROM c) UNION ALL SELECT id FROM d", compute.Error{Message: `"d"`}},
		{"SELECT 1 AS Id, 2 AS x, 3 AS id", compute.Error{Message: "the columns Id and id have one name for SQL"}},
		{"SELECT a.*, b.* FROM orders a JOIN orders b ON a.id = b.id", compute.Error{Message: "two columns are called id"}},
		{"SELECT (WITH c AS (SELECT 1 AS x) SELECT x FROM c) FROM c", compute.Error{Message: `"c"`}},
	} {
		tt.want.Kind, tt.want.Step = compute.QueryInvalid, "me"
		err := f.ses.Prepare(t.Context(), []compute.Step{{Name: "me", SQL: tt.sql}}, nil)
		f.wantError(err, tt.want)
	}
	f.prepare("", compute.Step{Name: "alike", SQL: "SELECT 1 AS id, 2 AS id_1, 3 AS id_2"})
	err := f.ses.Prepare(t.Context(), nil, []compute.Relation{"nothing"})
	f.wantError(err, compute.Error{Kind: compute.QueryInvalid, Message: "nothing"})
	// A value that fails while it is computed is blamed on its step.
	f.prepare("end", compute.Step{Name: "bad", SQL: "SELECT CAST(name AS INTEGER) AS n FROM orders"}, compute.Step{Name: "end", SQL: "SELECT n + 1 AS m FROM bad"})
	_, err = f.ses.Encode(t.Context(), compute.Encode{Relation: "end", Format: "parquet", Dir: f.folder("out")})
	f.wantError(err, compute.Error{Kind: compute.Failed, Step: "bad", Message: "'x'"})
}

// A relation with two consumers gives both the same rows, though its SQL is not deterministic.
func computedOnce(t *testing.T, f *fixture) {
	f.prepare("a b", compute.Step{Name: "base", SQL: "SELECT i, random() AS r FROM range(100) t(i)"},
		compute.Step{Name: "a", SQL: "SELECT i, r FROM base"}, compute.Step{Name: "b", SQL: "SELECT i, r FROM base"})
	a, b := f.rows("a"), f.rows("b")
	for i := range a.Rows {
		if a.Rows[i][1] != b.Rows[i][1] {
			t.Fatalf("row %d is %v for one consumer and %v for the other", i, a.Rows[i], b.Rows[i])
		}
	}
	f.prepare("twice twice", compute.Step{Name: "twice", SQL: "SELECT i, random() AS r FROM range(100) t(i)"})
	first := f.rows("twice")
	second := f.read(f.folder("again"), f.encode(compute.Encode{Relation: "twice", Dir: f.folder("again")}))
	if len(first.Rows) != 100 || first.Rows[42][1] != second.Rows[42][1] {
		t.Errorf("the second time gave other rows")
	}
	f.prepare("self", compute.Step{Name: "once", SQL: "SELECT i, random() AS r FROM range(100) t(i)"},
		compute.Step{Name: "self", SQL: "SELECT count(*) AS n FROM once x JOIN once y ON x.i = y.i AND x.r = y.r"})
	f.wantRows(f.rows("self"), "100")
}

func cancel(t *testing.T, f *fixture) {
	f.prepare("slow", compute.Step{Name: "slow", SQL: "SELECT count(*) AS n FROM range(100000000) a(i), range(100000000) b(j) WHERE (i * j) % 7 = 3"})
	reason := errors.New("the lease was lost")
	ctx, stop := context.WithCancelCause(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := f.ses.Encode(ctx, compute.Encode{Relation: "slow", Format: "parquet", Dir: f.folder("out")})
		done <- err
	}()
	timer := time.AfterFunc(200*time.Millisecond, func() { stop(reason) })
	defer timer.Stop()
	select {
	case err := <-done:
		if !errors.Is(err, reason) {
			t.Errorf("error is %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Error("still running 10 s after it was cancelled")
	}
	cancelled, stop2 := context.WithCancel(t.Context())
	stop2()
	if _, err := f.ses.Count(cancelled, "slow"); !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v", err)
	}
}
