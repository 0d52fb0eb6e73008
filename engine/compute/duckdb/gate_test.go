package duckdb

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ubunye-io/ubunye/engine/compute"
)

// openWith opens a session that has relations a(id, s) and b(id, t).
func openWith(t *testing.T, settings compute.Settings) *session {
	t.Helper()
	opened, err := Engine{}.Open(t.Context(), settings)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := opened.Close(); err != nil {
			t.Error(err)
		}
	})
	err = opened.Prepare(t.Context(), []compute.Step{
		{Name: "a", SQL: "SELECT i AS id, 'x' AS s FROM range(3) t(i)"},
		{Name: "b", SQL: "SELECT i AS id, 'y' AS t FROM range(3) t(i)"},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return opened.(*session)
}

// What the gate lets pass, and the relations that it finds in it.
func TestGateAdmits(t *testing.T) {
	s := openWith(t, compute.Settings{Variables: []compute.Variable{{Name: "n", Type: "BIGINT", Value: "2"}, {Name: "day", Type: "DATE", Value: "2026-01-31"}}})
	for i, tt := range []struct{ sql, refs string }{
		{"SELECT * FROM a", "a"},
		{"SELECT * FROM A;", "a"},
		{`SELECT * FROM "a" -- ; DROP VIEW a`, "a"},
		{"/* '; */ SELECT * FROM a /* /* nested */ */", "a"},
		{";; SELECT 1", ""},
		{"FROM a", "a"},
		{"FROM a SELECT id", "a"},
		{"TABLE a", "a"},
		{"VALUES (1), (2)", ""},
		{"(SELECT * FROM a)", "a"},
		{"SELECT x.* FROM a x JOIN a y USING (id)", "a a"},
		{"SELECT * FROM a UNION ALL SELECT * FROM b", "a b"},
		{"SELECT * FROM a UNION ALL BY NAME SELECT * FROM b", "a b"},
		{"SELECT * FROM a EXCEPT SELECT * FROM b INTERSECT SELECT * FROM a", "a a b"},
		{"SELECT * FROM a, LATERAL (SELECT t FROM b WHERE b.id = a.id) l", "a b"},
		{"SELECT (SELECT max(id) FROM b) AS m, EXISTS (SELECT 1 FROM b) AS e FROM a WHERE id IN (SELECT id FROM b) ORDER BY (SELECT min(id) FROM b)", "a b b b b"},
		{"SELECT * FROM a ANTI JOIN b USING (id)", "a b"},
		{"SELECT a.*, t FROM a POSITIONAL JOIN b", "a b"},
		{"SELECT a.*, t FROM a ASOF JOIN b ON a.id >= b.id", "a b"},
		{"WITH c AS (SELECT * FROM a) SELECT * FROM c", "a"},
		{"WITH c AS MATERIALIZED (FROM a), d AS (FROM c) SELECT c.* FROM c, d", "a"},
		{"WITH a AS (SELECT * FROM a) SELECT * FROM a", "a"},
		{"WITH a AS (SELECT * FROM b) SELECT * FROM a", "b"},
		{"SELECT b.* FROM (WITH b AS (SELECT 1 AS id) SELECT * FROM b) x, b", "b"},
		{"WITH c AS (WITH d AS (FROM a) FROM d) SELECT c.* FROM c, (WITH d AS (FROM b) FROM d)", "a b"},
		{"WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r, b WHERE n < 3) SELECT * FROM r", "b"},
		{"SELECT * FROM range(3), generate_series(1, $n) g(x), unnest([1, 2]) u(y)", ""},
		{"SELECT unnest([1, 2]), * FROM a", "a"},
		{"SELECT * FROM (PIVOT a ON s IN ('x') USING count(*))", "a"},
		{"UNPIVOT a ON s", "a"},
		{"SELECT * FROM a USING SAMPLE 10 ROWS", "a"},
		{"SELECT id, row_number() OVER (ORDER BY id) AS n FROM a QUALIFY n = 1", "a"},
		{"SELECT list_transform([1, 2], x -> x + id), COLUMNS('i.*') FROM a GROUP BY ALL", "a"},
		{"SELECT s.y FROM (SELECT {'y': 1} AS s)", ""},
		{"SELECT 'FROM ''x.csv''' AS text", ""},
		{"SELECT $day + INTERVAL ($n) DAY AS later, $N::INTEGER, $n+$n AS four, E'\\'$no' AS e, $q$ $no $q$ AS d FROM a LIMIT $n OFFSET ($n - 1)", "a"},
		{"SELECT CASE WHEN s = '$no' THEN $day END AS \"$no\" FROM a WHERE id BETWEEN $n AND $n", "a"},
		{"SELECT id FROM a GROUP BY id HAVING count(*) < $n ORDER BY id % $n", "a"},
	} {
		name := fmt.Sprintf("step%d", i)
		before := len(s.relations)
		if err := s.Prepare(t.Context(), []compute.Step{{Name: name, SQL: tt.sql}}, nil); err != nil {
			t.Errorf("%s: %v", tt.sql, err)
			continue
		}
		var refs []string
		for ref, n := range s.relations[before].refs {
			for range n {
				refs = append(refs, ref.name)
			}
		}
		slices.Sort(refs)
		if got := strings.Join(refs, " "); got != tt.refs {
			t.Errorf("%s: refers to %q, want %q", tt.sql, got, tt.refs)
		}
		if _, err := s.Count(t.Context(), compute.Relation(name)); err != nil {
			t.Errorf("%s: %v", tt.sql, err)
		}
	}
}

// What the gate refuses. No step may read or do anything outside of the session's relations.
func TestGateRefuses(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "x.csv")
	if err := os.WriteFile(file, []byte("id\n1\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	s := openWith(t, compute.Settings{Variables: []compute.Variable{{Name: "n", Type: "BIGINT", Value: "2"}}})
	for _, sql := range []string{
		"", ";", " \n\t", "-- x", "/* x */",
		"SELECT 1; SELECT 2", "SELECT * FROM a; DROP VIEW a", "SELECT",
		"FROM 'x.csv'", `SELECT * FROM "x.csv"`, "SELECT * FROM x.csv", "SELECT * FROM a, 'x.csv'", "SELECT * FROM a UNION ALL FROM 'x.csv'",
		"SELECT (SELECT count(*) FROM 'x.csv')", "WITH c AS (FROM 'x.csv') FROM c", "SELECT * FROM (FROM 'x.csv')", "SELECT * FROM a JOIN 'x.csv' USING (id)",
		"SELECT * FROM a WHERE id IN (SELECT id FROM 'x.csv')", "SELECT * FROM a ORDER BY (SELECT 1 FROM 'x.csv')", "SELECT * FROM a LIMIT (SELECT 1 FROM 'x.csv')",
		"SELECT * FROM (PIVOT 'x.csv' ON id IN (1) USING count(*))", "SELECT list_transform([1], v -> (SELECT count(*) FROM 'x.csv'))",
		`WITH "x.csv" AS (SELECT 1) FROM "x.csv"`, `SELECT * FROM (WITH "x.csv" AS (SELECT 1) FROM a), "x.csv"`,
		"FROM read_csv('x.csv')", "FROM read_csv_auto('x.csv')", "FROM read_text('x.csv')", "FROM read_blob('x.csv')", "FROM READ_TEXT('x.csv')", `FROM "read_text"('x.csv')`,
		"FROM read_parquet('x')", "FROM parquet_scan('x')", "FROM parquet_schema('x')", "FROM read_json('x')", "FROM read_ndjson('x')", "FROM sniff_csv('x.csv')",
		"FROM glob('*')", "FROM read_duckdb('x')", "FROM query('SELECT 1')", "FROM query_table('a')", "FROM query_table(['x.csv'])", "FROM json_execute_serialized_sql('x')",
		"FROM duckdb_settings()", "FROM duckdb_tables()", "FROM duckdb_tables", "FROM information_schema.tables", "FROM sqlite_master", "FROM pragma_table_info('a')",
		"FROM duckdb_variables()", "FROM main.a", "FROM memory.main.a", "FROM temp.a", "FROM pg_catalog.pg_class", "FROM summary((FROM a))", "FROM enable_logging()",
		"DESCRIBE a", "SHOW TABLES", "SUMMARIZE a", "FROM (DESCRIBE a)", "FROM (SHOW TABLES)", "FROM (SUMMARIZE a)", "EXPLAIN SELECT 1", "EXPLAIN ANALYZE SELECT 1",
		"SELECT * FROM a AT (VERSION => 1)", "SELECT * INTO c FROM a",
		"COPY a TO 'y.csv'", "COPY (SELECT 1) TO 'y.csv'", "COPY a FROM 'x.csv'", "ATTACH 'y.db'", "DETACH memory", "USE memory", "INSTALL httpfs", "LOAD httpfs",
		"PRAGMA database_list", "PRAGMA version", "SET threads = 1", "RESET threads", "CALL pragma_version()", "CHECKPOINT", "VACUUM", "ANALYZE", "BEGIN", "COMMIT",
		"CREATE TABLE c AS SELECT 1", "CREATE VIEW c AS SELECT 1", "CREATE MACRO m(x) AS x", "CREATE SECRET s (TYPE s3)", "DROP TABLE a", "ALTER VIEW a RENAME TO c", "TRUNCATE a",
		"INSERT INTO a VALUES (1)", "UPDATE a SET id = 1", "DELETE FROM a", "MERGE INTO a USING b ON true WHEN MATCHED THEN DELETE", "WITH c AS (DELETE FROM a RETURNING *) FROM c",
		"EXPORT DATABASE 'y'", "IMPORT DATABASE 'y'", "PREPARE p AS SELECT 1", "EXECUTE p", "DEALLOCATE p", "SET VARIABLE n = 3", "PIVOT a ON s",
		"SELECT getvariable('n')", "SELECT GETVARIABLE('n')", "SELECT main.getvariable('n')", "SELECT system.main.getvariable('n')", "SELECT 'n'.getvariable()", "SELECT current_setting('threads')", "SELECT nextval('q')", "SELECT write_log('x')", "SELECT sleep_ms(1)",
		"SELECT $m", "SELECT ?", "SELECT $1", "SELECT $n, ?", "SELECT $ n", "SELECT $\"n\"", "SELECT * FROM $n",
		"SELECT 1 \x00", "SELECT '\xff'", "SELECT nothing FROM a", "SELECT * FROM step", "WITH c AS (FROM d), d AS (SELECT 1) FROM c",
		strings.Repeat("(", 100000) + "SELECT 1" + strings.Repeat(")", 100000),
		"SELECT " + strings.Repeat("(", 100000) + "1" + strings.Repeat(")", 100000),
		"SELECT " + strings.Repeat("-", 1) + strings.Repeat("NOT ", 100000) + "true",
		"SELECT " + strings.Repeat("1+", 900) + "1",
		strings.Repeat("SELECT * FROM (", 3000) + "SELECT 1" + strings.Repeat(")", 3000),
		"SELECT '" + strings.Repeat("x", maxSQL) + "'",
	} {
		err := s.Prepare(t.Context(), []compute.Step{{Name: "step", SQL: sql}}, nil)
		var e *compute.Error
		if !errors.As(err, &e) || e.Kind != compute.QueryInvalid || e.Step != "step" {
			t.Errorf("%.80q was not refused: %v", sql, err)
			continue
		}
		if strings.Contains(e.Error()+e.Hint, "\n") {
			t.Errorf("%.80q: more than one line: %q", sql, e.Error())
		}
		if e.Line == 0 && e.Col != 0 || e.Line > 0 && e.Col == 0 {
			t.Errorf("%.80q: line %d, byte %d", sql, e.Line, e.Col)
		}
	}
	// The session is as it was.
	n, err := s.Count(t.Context(), "a")
	if err != nil || n != 3 || len(s.relations) != 2 {
		t.Errorf("after the refusals: %d rows, %d relations, %v", n, len(s.relations), err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("the folder holds %v (%v)", entries, err)
	}
}

// The widest and deepest SQL that the gate lets pass must not bring the process down.
func TestGateDepthIsSafe(t *testing.T) {
	s := openWith(t, compute.Settings{})
	for name, sql := range map[string]string{
		"unions":     strings.Repeat("SELECT id FROM a UNION ALL ", 1900) + "SELECT id FROM a",
		"subqueries": strings.Repeat("SELECT * FROM (", 450) + "SELECT id FROM a" + strings.Repeat(")", 450),
		"joins":      "SELECT a.id FROM a" + strings.Repeat(", a", 60) + " LIMIT 1",
		"sums":       "SELECT " + strings.Repeat("1+", 350) + "1 AS n",
		"list":       "SELECT id FROM a WHERE id IN (" + strings.Repeat("1, ", 100000) + "1)",
		"cases":      "SELECT " + strings.Repeat("CASE WHEN true THEN ", 300) + "1" + strings.Repeat(" END", 300) + " AS n",
		"ctes":       "WITH c0 AS (FROM a)" + many(300, func(i int) string { return fmt.Sprintf(", c%d AS (FROM c%d)", i+1, i) }) + " SELECT * FROM c300",
	} {
		t.Run(name, func(t *testing.T) {
			err := s.Prepare(t.Context(), []compute.Step{{Name: name, SQL: sql}}, nil)
			if err == nil {
				_, err = s.Count(t.Context(), compute.Relation(name))
			}
			var e *compute.Error
			if err != nil && !errors.As(err, &e) {
				t.Errorf("error is %v", err)
			}
		})
	}
	if n, err := s.Count(t.Context(), "a"); err != nil || n != 3 {
		t.Errorf("afterwards: %d, %v", n, err)
	}
}

func many(n int, f func(int) string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(f(i))
	}
	return b.String()
}

// FuzzParameters checks the search for $names against DuckDB's own tree.
func FuzzParameters(f *testing.F) {
	for _, sql := range []string{"SELECT $n", "SELECT '$n', $n -- $n", "SELECT $$ $n $$", "SELECT e'\\'$n', \"$n\"", "SELECT /* /* $n */ */ $n", "SELECT a$n FROM a", "SELECT $n::INT[$n]", "SELECT 1$n", "SELECT U&'\\0041$n'", "SELECT x'00'$n", "SELECT $x$ $n $y$ $x$"} {
		f.Add(sql)
	}
	f.Fuzz(func(t *testing.T, sql string) {
		s := openWith(t, compute.Settings{Variables: []compute.Variable{{Name: "n", Type: "BIGINT", Value: "2"}}})
		bound, _, err := s.admit(t.Context(), sql, nil)
		if err != nil {
			return
		}
		tree, err := s.parseSQL(t.Context(), bound)
		if err != nil {
			t.Fatalf("%q became %q: %v", sql, bound, err)
		}
		g := &gate{session: s, sql: bound, reads: s.byName, refs: map[*relation]int{}, params: map[string]bool{}}
		g.walk(tree, nil, 0)
		if len(g.params) > 0 {
			t.Errorf("%q became %q, which has parameters left", sql, bound)
		}
	})
}

func TestUnshift(t *testing.T) {
	s := &session{variables: map[string]string{"n": "n"}}
	sql := "SELECT $n, x, $N FROM y"
	bound := bind(sql, s.variables)
	for _, word := range []string{"SELECT", "x,", "FROM", "y"} {
		if got := s.unshift(sql, bound, strings.Index(bound, word)); got != strings.Index(sql, word) {
			t.Errorf("%s: %d, want %d", word, got, strings.Index(sql, word))
		}
	}
	if got := s.unshift(sql, bound, strings.Index(bound, "getvariable")); got != strings.Index(sql, "$n") {
		t.Errorf("inside a variable: %d", got)
	}
}
