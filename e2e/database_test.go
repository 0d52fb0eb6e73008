package e2e

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/ubunye-io/ubunye/internal/serverstest"
)

// reading reads a table of a database; the rest of the input follows.
const reading = `name: sales
variables: {dt: date}
connections:
  warehouse:
    url: %q
    user: {env: DB_USER}
    password: "{{ secret('env/DB_PASSWORD') }}"
tasks:
  load:
    inputs:
      raw: {format: jdbc, connection: warehouse, %s}
    outputs:
      raw: {format: parquet, path: lake/raw}
`

var readingArgs = []string{"run", "-c", "pipeline.yaml", "--dt", "2026-01-01"}

// reader is a project that reads a database.
func newReader(t *testing.T, url, input string) *project {
	t.Helper()
	p := newProject(t, fmt.Sprintf(reading, url, input))
	p.env = []string{"DB_USER=" + serverstest.User, "DB_PASSWORD=" + serverstest.Password}
	return p
}

// postgresURL makes a database of these statements and gives its address.
func postgresURL(t *testing.T, sql string) string {
	t.Helper()
	s := serverstest.PostgreSQL(t)
	name := s.Database(t)
	s.Exec(t, name, sql)
	return fmt.Sprintf("jdbc:postgresql://%s:%d/%s?sslmode=prefer", s.Host, s.Port, name)
}

func mariadbURL(t *testing.T, sql string) string {
	t.Helper()
	s := serverstest.MariaDB(t)
	name := s.Database(t)
	s.Exec(t, name, "SET time_zone = '+00:00'; "+sql)
	return fmt.Sprintf("jdbc:mariadb://%s:%d/%s", s.Host, s.Port, name)
}

// sqlite makes data/orders.db in the project by Python's own module.
func (p *project) sqlite(sql string) {
	p.t.Helper()
	p.write("data/.keep", "")
	cmd := exec.Command(python, "-c", "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.executescript(sys.argv[2]); c.commit()", p.path("data/orders.db"), sql)
	if out, err := cmd.CombinedOutput(); err != nil {
		p.t.Fatalf("%v: %s", err, out)
	}
}

// wantValues asserts what pyarrow reads of a column, in any order.
func (p *project) wantValues(column string, want ...string) {
	p.t.Helper()
	var got []string
	for _, row := range foreign.read(p.t, map[string]any{"kind": "parquet", "path": p.path("lake/raw"), "columns": []string{column}}) {
		got = append(got, strings.TrimSuffix(strings.TrimPrefix(row, `{"`+column+`": `), "}"))
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		p.t.Errorf("%s is %q, want %q", column, got, want)
	}
}

func TestPostgreSQLToParquet(t *testing.T) {
	t.Parallel()
	p := newReader(t, postgresURL(t, `CREATE TABLE t (id bigint, n numeric(38,10), f float8, tz timestamptz, ts timestamp, d date, u uuid, j json, a text[], by bytea, bit bit(1), s text);
INSERT INTO t VALUES (9223372036854775807, -9999999999999999999999999999.9999999999, 0.1, '2026-01-01 00:00:00.000001+02', '9999-12-31 23:59:59.999999', '0001-01-01',
 '6f1f4bde-8a5f-4f0e-9d36-0c1a2b3c4d5e', '{"a": 1.50}', '{x,NULL,""}', '\x00ff', B'1', E'a\t''"ü'), (NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)`), "table: public.t")
	p.run(readingArgs...).must(t, 0)
	p.wantValues("id", `"9223372036854775807"`, "null")
	p.wantValues("n", `"-9999999999999999999999999999.9999999999"`, "null")
	p.wantValues("f", `"0.1"`, "null")
	p.wantValues("tz", `"2025-12-31 22:00:00.000001+00:00"`, "null")
	p.wantValues("ts", `"9999-12-31 23:59:59.999999"`, "null")
	p.wantValues("d", `"0001-01-01"`, "null")
	p.wantValues("j", `"{\"a\": 1.50}"`, "null")
	p.wantValues("a", `["x", null, ""]`, "null")
	p.wantValues("bit", `"true"`, "null")
	p.wantValues("s", `"a\t'\"ü"`, "null")
	p.run(readingArgs...).must(t, 1).says(t, "would add the batch twice")
}

func TestMariaDBToParquet(t *testing.T) {
	t.Parallel()
	p := newReader(t, mariadbURL(t, `CREATE TABLE t (id bigint unsigned, n decimal(38,10), f float, g double, ts timestamp(6) NULL, dt datetime(6), d date, ti time(6), b bit(1), by1 varbinary(5), e enum('x','ü'), s text, y year);
INSERT INTO t VALUES (18446744073709551615, -9999999999999999999999999999.9999999999, 16777216.5, 0.1, '2026-01-01 00:00:00.000001', '9999-12-31 23:59:59.999999', '1000-01-01', '23:59:59.999999', b'1', x'00ff', 'ü', 'a\t''"ü😀', 2155),
 (NULL, NULL, 0.1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)`), "table: t")
	p.run(readingArgs...).must(t, 0)
	p.wantValues("id", `"18446744073709551615"`, "null")
	p.wantValues("n", `"-9999999999999999999999999999.9999999999"`, "null")
	p.wantValues("f", `"16777216.0"`, `"0.10000000149011612"`)
	p.wantValues("ts", `"2026-01-01 00:00:00.000001+00:00"`, "null")
	p.wantValues("dt", `"9999-12-31 23:59:59.999999"`, "null")
	p.wantValues("d", `"1000-01-01"`, "null")
	p.wantValues("ti", `"23:59:59.999999"`, "null")
	p.wantValues("b", `"1"`, "null")
	p.wantValues("e", `"ü"`, "null")
	p.wantValues("s", `"a\t'\"ü😀"`, "null")
	p.wantValues("y", `"2155"`, "null")
}

func TestSQLiteToParquet(t *testing.T) {
	t.Parallel()
	p := newReader(t, "jdbc:sqlite:data/orders.db", "query: SELECT * FROM t")
	p.sqlite(`CREATE TABLE t (id INTEGER, n DECIMAL(18,2), f REAL, d DATE, ts DATETIME, b BOOLEAN, s VARCHAR(10), x BLOB);
INSERT INTO t VALUES (9223372036854775807, 12.34, 0.1, '2026-01-01', '2026-01-01 10:00:00.000001', 1, 'ü', x'00ff'), (NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);`)
	p.run(readingArgs...).must(t, 0)
	p.wantValues("id", `"9223372036854775807"`, "null")
	p.wantValues("n", `"12.34"`, "null")
	p.wantValues("f", `"0.1"`, "null")
	p.wantValues("d", `"2026-01-01"`, "null")
	p.wantValues("ts", `"2026-01-01 10:00:00.000001"`, "null")
	p.wantValues("b", `"true"`, "null")
	p.wantValues("s", `"ü"`, "null")
}
