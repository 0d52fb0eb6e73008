package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
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

// Checks of rows, and what becomes of those that break them, are the same for a database.
func TestChecksOfATable(t *testing.T) {
	t.Parallel()
	p := newReader(t, "jdbc:sqlite:data/orders.db", "table: t")
	p.write("pipeline.yaml", `name: sales
connections: {w: {url: "jdbc:sqlite:data/orders.db?busy_timeout=100&nolock=1"}}
tasks:
  load:
    inputs:
      raw: {format: jdbc, connection: w, table: t, columns: {id: bigint, amount: "decimal(18,2)"}}
    expect:
      raw: [{not_null: [amount], severity: quarantine, to: bad}, {unique: [id]}]
    reconcile: [{input: raw, output: raw, plus: [bad], rows: equal}]
    outputs:
      raw: {format: parquet, path: lake/raw}
      bad: {format: parquet, path: lake/bad}
`)
	p.sqlite(`CREATE TABLE t (id INTEGER, amount TEXT, other BLOB); INSERT INTO t VALUES (1, '1.5', NULL), (2, NULL, NULL);`)
	p.run("run", "-c", "pipeline.yaml").must(t, 0).says(t, "connection w: url: nothing is made of nolock")
	same(t, "rows", p.rows("lake/raw"), []string{`{"amount": "1.50", "id": "1"}`})
	if bad := p.rows("lake/bad"); len(bad) != 1 || !strings.Contains(bad[0], `"id": "2"`) {
		t.Errorf("rows that break a check: %q", bad)
	}
	p.sqlite("INSERT INTO t VALUES (3, '1.505', NULL);")
	p.run("run", "-c", "pipeline.yaml").must(t, 4).says(t, "pipeline.yaml:6:74: task load: input raw: column amount: the value \"1.505\" (VARCHAR) is no DECIMAL(18,2) without loss; nothing became visible")
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

// What is new of a table is asked of the database; each slice lands once, and a run that died is followed by one that reads the same.
func TestIncrementalTable(t *testing.T) {
	t.Parallel()
	s := serverstest.PostgreSQL(t)
	name := s.Database(t)
	s.Exec(t, name, "CREATE TABLE t (id int, at timestamptz); INSERT INTO t VALUES (1, '2026-01-01 00:00:00.000001+00'), (2, '2026-01-01 00:00:00.000002+00')")
	p := newReader(t, fmt.Sprintf("jdbc:postgresql://%s:%d/%s", s.Host, s.Port, name), "table: t, incremental: {column: at}")
	p.run(readingArgs...).must(t, 0)
	p.wantValues("id", `"1"`, `"2"`)
	p.run(readingArgs...).must(t, 0).says(t, "skipped: nothing new")
	s.Exec(t, name, "INSERT INTO t VALUES (3, '2026-01-01 00:00:00.000003+00'), (4, '2026-01-01 00:00:00.000001+00')")
	p.run("plan", "-c", "pipeline.yaml", "--dt", "2026-01-01").must(t, 0).tells(t, "at > 2026-01-01 00:00:00.000002+00 and <= 2026-01-01 00:00:00.000003+00")
	p.wantValues("id", `"1"`, `"2"`)
	p.run(readingArgs...).must(t, 0)
	p.wantValues("id", `"1"`, `"2"`, `"3"`)
	for k, killed := 1, true; killed; k += 7 {
		s.Exec(t, name, fmt.Sprintf("INSERT INTO t VALUES (%d, (SELECT max(at) FROM t) + interval '1 microsecond')", 100+k))
		r := p.runEnv([]string{fmt.Sprintf("UBUNYE_FAULT=kill:%d", k)}, readingArgs...)
		if killed = r.exit == 137; !killed {
			r.must(t, 0)
		}
		if k == 1 && !killed {
			t.Fatal("nothing was killed: the test shows little")
		}
		p.run(readingArgs...).must(t, 0)
		if got, want := len(p.rows("lake/raw")), 3+(k+6)/7; got != want {
			t.Fatalf("kill at %d: %d rows, want %d", k, got, want)
		}
	}
	s.Exec(t, name, "INSERT INTO t VALUES (5, NULL)")
	p.run(readingArgs...).must(t, 4).says(t, "1 row is without a value of at: no run would ever read them")
}

// C102: a password with every sign that somebody could expand or escape, from each place that it can come from; it is nowhere afterwards.
func TestC102_PasswordsAreTakenAsTheyAreAndShownNowhere(t *testing.T) {
	t.Parallel()
	url := postgresURL(t, "CREATE TABLE t (id int); INSERT INTO t VALUES (1)")
	for name, password := range map[string]string{
		"env":      `{env: DB_PASSWORD}`,
		"template": `"{{ env.DB_PASSWORD }}"`,
		"file":     `{file: secret.txt}`,
		"command":  `{command: [cat, secret.txt]}`,
		"text":     fmt.Sprintf("%q", serverstest.Password),
	} {
		p := newReader(t, url, "table: t")
		p.write("pipeline.yaml", strings.Replace(fmt.Sprintf(reading, url, "table: t"), `"{{ secret('env/DB_PASSWORD') }}"`, password, 1))
		p.write("secret.txt", serverstest.Password+"\n")
		p.run("validate", "-c", "pipeline.yaml").must(t, 0)
		p.run("plan", "-c", "pipeline.yaml", "--dt", "2026-01-01", "--json").must(t, 0)
		r := p.run(append(readingArgs, "--json")...).must(t, 0)
		p.wantValues("id", `"1"`)
		if strings.Contains(r.stdout+r.stderr, serverstest.Password) {
			t.Errorf("%s: the password is printed", name)
		}
		p.wantNowhere(serverstest.Password, "secret.txt", "pipeline.yaml")
	}
}

// wantNowhere asserts that a text is in no file of the project but these.
func (p *project) wantNowhere(text string, but ...string) {
	p.t.Helper()
	err := filepath.WalkDir(p.dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || slices.Contains(but, filepath.Base(path)) {
			return err
		}
		data, err := os.ReadFile(path)
		if strings.Contains(string(data), text) {
			p.t.Errorf("%s holds it", path)
		}
		return err
	})
	if err != nil {
		p.t.Fatal(err)
	}
}

// What fails of a connection is told with its place in the pipeline, by plan already, and nothing of it shows the password.
func TestConnectionsThatFail(t *testing.T) {
	t.Parallel()
	url := postgresURL(t, "CREATE TABLE t (id int, n numeric)")
	for _, c := range []struct{ name, url, input, want string }{
		{"host", "jdbc:postgresql://no-such-host.invalid/x", "table: t", "pipeline.yaml:5:10: task load: input raw: connection warehouse: there is no host no-such-host.invalid"},
		{"port", "jdbc:postgresql://127.0.0.1:1/x", "table: t", "pipeline.yaml:5:10: task load: input raw: connection warehouse: nobody listens at 127.0.0.1:1"},
		{"tls", url + "&sslmode=verify-full", "table: t", "pipeline.yaml:5:10: task load: input raw: connection warehouse: 127.0.0.1:"},
		{"database", strings.Replace(url, "/t", "/nowhere", 1), "table: t", "connection warehouse: the database says: database \"nowhere"},
		{"table", url, "table: T", "pipeline.yaml:11:57: task load: input raw: connection warehouse: the database says: relation \"T\" does not exist"},
		{"query", url, "query: SELECT nope FROM t", "the database says: column \"nope\" does not exist"},
		{"type", url, "table: t", "input raw: column n: it is numeric without a width in the database, which may have any number of digits"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newReader(t, c.url, c.input)
			p.run("plan", "-c", "pipeline.yaml", "--dt", "2026-01-01").must(t, 0).tells(t, "would refuse", strings.Replace(c.want, "task load: ", "", 1))
			r := p.run(readingArgs...)
			if r.exit != 4 {
				t.Errorf("exit %d, want 4: %s", r.exit, r.stderr)
			}
			r.says(t, c.want, "nothing became visible")
			if strings.Contains(r.stderr+r.stdout, serverstest.Password) {
				t.Error("the password is printed")
			}
		})
	}
	p := newReader(t, url, "table: t, options: {as_text: n}")
	p.env = []string{"DB_USER=ubunye", "DB_PASSWORD=wr0ng"}
	r := p.run(readingArgs...).must(t, 4).says(t, "connection warehouse: the database says: password authentication failed")
	if strings.Contains(r.stderr, "wr0ng") {
		t.Error("the password is printed")
	}
	p.env = nil
	p.run(readingArgs...).must(t, 2).says(t, "pipeline.yaml:7:26: the environment variable DB_PASSWORD is not set")
	p.run("status", "-c", "pipeline.yaml").must(t, 0)
	p.run("validate", "-c", "pipeline.yaml").must(t, 0)
}

// C097: columns that come, go or change from day to day are told by name, and nothing lands.
func TestC097_TablesThatChangeTheirColumns(t *testing.T) {
	t.Parallel()
	s := serverstest.MariaDB(t)
	name := s.Database(t)
	s.Exec(t, name, "CREATE TABLE t (id int, v int); INSERT INTO t VALUES (1, 2)")
	p := newReader(t, fmt.Sprintf("jdbc:mariadb://%s:%d/%s", s.Host, s.Port, name), "table: t")
	day := func(n int) result { return p.run("run", "-c", "pipeline.yaml", "--dt", fmt.Sprintf("2026-01-%02d", n)) }
	day(1).must(t, 0)
	s.Exec(t, name, "ALTER TABLE t ADD COLUMN new int FIRST")
	day(2).must(t, 3).says(t, "the column new (INTEGER) is new", "nothing became visible")
	s.Exec(t, name, "ALTER TABLE t DROP COLUMN new, MODIFY v varchar(9)")
	day(3).must(t, 3).says(t, "the column v is VARCHAR, and was INTEGER")
	s.Exec(t, name, "ALTER TABLE t DROP COLUMN v")
	day(4).must(t, 3).says(t, "the column v is gone")
	s.Exec(t, name, "ALTER TABLE t ADD COLUMN v int FIRST")
	day(5).must(t, 0)
	p.wantValues("id", `"1"`, `"1"`)
}

// tells asserts that stdout has texts.
func (r result) tells(t *testing.T, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(r.stdout, text) {
			t.Errorf("stdout does not say %q:\n%s", text, r.stdout)
		}
	}
}
