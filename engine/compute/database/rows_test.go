package database

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/ubunye-io/ubunye/engine/compute"
	"github.com/ubunye-io/ubunye/internal/serverstest"
)

// at gives the database of a server by an address with these parameters.
func at(t *testing.T, s *serverstest.Server, scheme, name, parameters string) *Database {
	t.Helper()
	a, err := Parse(fmt.Sprintf("%s//%s:%d/%s%s", scheme, s.Host, s.Port, name, parameters))
	if err != nil {
		t.Fatal(err)
	}
	d, err := New(Connection{Name: "w", Address: a, User: serverstest.User, Password: NewSecret(serverstest.Password)})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// postgresAt makes a database with these tables.
func postgresAt(t *testing.T, sql string) *Database {
	t.Helper()
	s := serverstest.PostgreSQL(t)
	name := s.Database(t)
	if sql != "" {
		s.Exec(t, name, sql)
	}
	return at(t, s, "jdbc:postgresql:", name, "")
}

func mariadbAt(t *testing.T, sql string) *Database {
	t.Helper()
	s := serverstest.MariaDB(t)
	name := s.Database(t)
	if sql != "" {
		s.Exec(t, name, "SET sql_mode = ''; SET time_zone = '+00:00'; "+sql)
	}
	return at(t, s, "jdbc:mariadb:", name, "")
}

func sqliteAt(t *testing.T, sql string) *Database {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a b%?.db")
	conn := sqliteWrite(t, path)
	for statement := range strings.SplitSeq(sql, ";\n") {
		if err := conn.exec(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	conn.close()
	return &Database{Connection: Connection{Name: "w", Address: &Address{Dialect: SQLite, Database: path}}, dialect: sqliteDialect{}}
}

// sqliteWrite opens a file for writing.
func sqliteWrite(t *testing.T, path string) *sqliteSession {
	t.Helper()
	if err := os.WriteFile(path, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	conn, err := openSQLite(path, "rw", usualWait)
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

// readAll gives the columns and, as text, the rows of a source, a column a slice.
func readAll(t *testing.T, d *Database, rows Rows) (columns []compute.Column, values [][]string) {
	t.Helper()
	src, err := d.Source(t.Context(), rows)
	if err != nil {
		t.Fatal(err)
	}
	values, err = drain(t, src)
	if err != nil {
		t.Fatal(err)
	}
	return src.Columns(), values
}

func drain(t *testing.T, src compute.Source) ([][]string, error) {
	t.Helper()
	b, err := src.Read(t.Context())
	if err != nil {
		return nil, err
	}
	defer b.Close()
	values := make([][]string, len(src.Columns()))
	for {
		batch, err := b.Next(t.Context())
		if errors.Is(err, io.EOF) {
			return values, nil
		}
		if err != nil {
			return nil, err
		}
		for i := range values {
			values[i] = append(values[i], texts(batch.Column(i))...)
		}
		batch.Release()
	}
}

func texts(a arrow.Array) (all []string) {
	for i := range a.Len() {
		if d, ok := a.(*array.Decimal128); ok && d.IsValid(i) {
			all = append(all, d.Value(i).ToString(d.DataType().(*arrow.Decimal128Type).Scale))
			continue
		}
		all = append(all, a.ValueStr(i))
	}
	return all
}

// wantColumn asserts the type and values of one column.
func wantColumn(t *testing.T, columns []compute.Column, values [][]string, name, typ string, want ...string) {
	t.Helper()
	i := slices.IndexFunc(columns, func(c compute.Column) bool { return c.Name == name })
	if i < 0 {
		t.Errorf("there is no column %s", name)
		return
	}
	if columns[i].Type != typ {
		t.Errorf("%s is %s, want %s", name, columns[i].Type, typ)
	}
	if !slices.Equal(values[i], want) {
		t.Errorf("%s is %q, want %q", name, values[i], want)
	}
}

func TestPostgreSQLTypes(t *testing.T) {
	d := postgresAt(t, `CREATE TYPE mood AS ENUM ('sad', 'héllo');
CREATE TABLE "T x" (id int, si smallint, bi bigint, n numeric(38,10), n2 numeric(5,2), n0 numeric(6), nn numeric(3,-2), r real, f float8, b boolean, t text, v varchar(5), c char(3),
 by bytea, d date, ti time, ts timestamp, tz timestamptz, u uuid, j json, jb jsonb, bit1 bit(1), m mood, ta text[], ia int[], ma mood[], na numeric(10,2)[]);
INSERT INTO "T x" VALUES
 (1, -32768, -9223372036854775808, -9999999999999999999999999999.9999999999, -999.99, 123456, 12300, 'NaN', 'Infinity', true, E'a\tü''"', 'abc', 'a',
  '\x00ff', '4713-01-01 BC', '00:00:00', '0001-01-01 00:00:00', '-infinity', '6f1f4bde-8a5f-4f0e-9d36-0c1a2b3c4d5e', '{"a":  1.50}', '{"b": [1, 2]}', B'1', 'sad', '{a,NULL,"b,c"}', '{1,2}', '{sad}', '{1.50,-0.01}'),
 (2, 32767, 9223372036854775807, 0.0000000001, 0.01, -1, -99900, '-0.1', '-0', false, '', '', '', '', 'infinity', '24:00:00', '9999-12-31 23:59:59.999999', '2026-01-01 00:00:00.000001+02', 'ffffffff-ffff-ffff-ffff-ffffffffffff',
  'null', 'true', B'0', 'héllo', '{}', '{-2147483648}', '{NULL}', '{}'),
 (3, 0, 0, 1000000000000, 100, 10000, 0, '3.4028235e38', 1e-307, NULL, NULL, NULL, NULL, NULL, '-infinity', '23:59:59.999999', 'infinity', 'infinity', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)`)
	columns, values := readAll(t, d, Rows{Table: "T x"})
	wantColumn(t, columns, values, "id", "INTEGER", "1", "2", "3")
	wantColumn(t, columns, values, "si", "SMALLINT", "-32768", "32767", "0")
	wantColumn(t, columns, values, "bi", "BIGINT", "-9223372036854775808", "9223372036854775807", "0")
	wantColumn(t, columns, values, "n", "DECIMAL(38,10)", "-9999999999999999999999999999.9999999999", "0.0000000001", "1000000000000.0000000000")
	wantColumn(t, columns, values, "n2", "DECIMAL(5,2)", "-999.99", "0.01", "100.00")
	wantColumn(t, columns, values, "n0", "DECIMAL(6,0)", "123456", "-1", "10000")
	wantColumn(t, columns, values, "nn", "DECIMAL(5,0)", "12300", "-99900", "0")
	wantColumn(t, columns, values, "r", "FLOAT", "NaN", "-0.1", "3.4028235e+38")
	wantColumn(t, columns, values, "f", "DOUBLE", "+Inf", "-0", "1e-307")
	wantColumn(t, columns, values, "b", "BOOLEAN", "true", "false", "(null)")
	wantColumn(t, columns, values, "t", "VARCHAR", "a\tü'\"", "", "(null)")
	wantColumn(t, columns, values, "c", "VARCHAR", "a  ", "   ", "(null)")
	wantColumn(t, columns, values, "by", "BLOB", "AP8=", "", "(null)")
	wantColumn(t, columns, values, "ti", "TIME", "00:00:00.000000", "00:00:00.000000", "23:59:59.999999")
	wantColumn(t, columns, values, "u", "UUID", "6f1f4bde-8a5f-4f0e-9d36-0c1a2b3c4d5e", "ffffffff-ffff-ffff-ffff-ffffffffffff", "(null)")
	wantColumn(t, columns, values, "j", "JSON", `{"a":  1.50}`, "null", "(null)")
	wantColumn(t, columns, values, "jb", "JSON", `{"b": [1, 2]}`, "true", "(null)")
	wantColumn(t, columns, values, "bit1", "BOOLEAN", "true", "false", "(null)")
	wantColumn(t, columns, values, "m", "VARCHAR", "sad", "héllo", "(null)")
	wantColumn(t, columns, values, "ta", "VARCHAR[]", `["a",null,"b,c"]`, "[]", "(null)")
	wantColumn(t, columns, values, "ia", "INTEGER[]", "[1,2]", "[-2147483648]", "(null)")
	wantColumn(t, columns, values, "ma", "VARCHAR[]", `["sad"]`, "[null]", "(null)")
	wantColumn(t, columns, values, "na", "DECIMAL(10,2)[]", `["1.5","-0.01"]`, "[]", "(null)")
	if t.Failed() {
		return
	}
	if typ := columns[slices.IndexFunc(columns, func(c compute.Column) bool { return c.Name == "tz" })].Type; typ != "TIMESTAMP WITH TIME ZONE" {
		t.Errorf("tz is %s", typ)
	}
}

func TestMariaDBTypes(t *testing.T) {
	d := mariadbAt(t, `CREATE TABLE t (id int, ti tinyint, b1 tinyint(1), us smallint unsigned, mi mediumint, ui int unsigned, ub bigint unsigned, n decimal(38,10), f float, g double, c char(3), v varchar(5), tx longtext,
 bi binary(2), bl blob, bit1 bit(1), bit64 bit(64), d date, dt datetime(6), ts timestamp(6) NULL, tm time(6), y year, e enum('a','ü'), s set('x','y'), j json);
INSERT INTO t VALUES (1, -128, 1, 65535, -8388608, 4294967295, 18446744073709551615, -9999999999999999999999999999.9999999999, 16777215, 0.1, 'a', 'ü', 'x', x'0001', x'ff', b'1', b'1111111111111111111111111111111111111111111111111111111111111111',
 '9999-12-31', '9999-12-31 23:59:59.999999', '2026-01-01 00:00:00.000001', '23:59:59.999999', 1901, 'ü', 'x,y', '{"a": 1.50}'),
 (2, 127, 0, 0, 8388607, 0, 0, 0.0000000001, 1.1e-38, -1.7976931348623157e308, '', '', '', '', '', b'0', b'0', '1000-01-01', '1000-01-01 00:00:00', '1970-01-01 00:00:01', '00:00:00', 2155, 'a', '', 'null'),
 (3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)`)
	columns, values := readAll(t, d, Rows{Query: "SELECT * FROM t ORDER BY id"})
	null := "(null)"
	wantColumn(t, columns, values, "ti", "TINYINT", "-128", "127", null)
	wantColumn(t, columns, values, "b1", "TINYINT", "1", "0", null)
	wantColumn(t, columns, values, "us", "USMALLINT", "65535", "0", null)
	wantColumn(t, columns, values, "mi", "INTEGER", "-8388608", "8388607", null)
	wantColumn(t, columns, values, "ui", "UINTEGER", "4294967295", "0", null)
	wantColumn(t, columns, values, "ub", "UBIGINT", "18446744073709551615", "0", null)
	wantColumn(t, columns, values, "n", "DECIMAL(38,10)", "-9999999999999999999999999999.9999999999", "0.0000000001", null)
	wantColumn(t, columns, values, "f", "FLOAT", "1.6777215e+07", "1.1e-38", null)
	wantColumn(t, columns, values, "g", "DOUBLE", "0.1", "-1.7976931348623157e+308", null)
	wantColumn(t, columns, values, "v", "VARCHAR", "ü", "", null)
	wantColumn(t, columns, values, "bi", "BLOB", "AAE=", "AAA=", null)
	wantColumn(t, columns, values, "bit1", "UBIGINT", "1", "0", null)
	wantColumn(t, columns, values, "bit64", "UBIGINT", "18446744073709551615", "0", null)
	wantColumn(t, columns, values, "d", "DATE", "9999-12-31", "1000-01-01", null)
	wantColumn(t, columns, values, "dt", "TIMESTAMP", "9999-12-31T23:59:59.999999Z", "1000-01-01T00:00:00Z", null)
	wantColumn(t, columns, values, "ts", "TIMESTAMP WITH TIME ZONE", "2026-01-01T00:00:00.000001Z", "1970-01-01T00:00:01Z", null)
	wantColumn(t, columns, values, "tm", "TIME", "23:59:59.999999", "00:00:00.000000", null)
	wantColumn(t, columns, values, "y", "SMALLINT", "1901", "2155", null)
	wantColumn(t, columns, values, "e", "VARCHAR", "ü", "a", null)
	wantColumn(t, columns, values, "s", "VARCHAR", "x,y", "", null)
	wantColumn(t, columns, values, "j", "VARCHAR", `{"a": 1.50}`, "null", null)
}

func TestSQLiteTypes(t *testing.T) {
	d := sqliteAt(t, `CREATE TABLE t (id INTEGER PRIMARY KEY, n DECIMAL(10,2), r REAL, f DOUBLE, b BOOLEAN, d DATE, dt DATETIME, tm TIME, s VARCHAR(5), x BLOB, j JSON);
INSERT INTO t VALUES (1, 12345678.9, 0.1, 1e308, 1, '0001-01-01', '2026-01-01T10:00', '23:59:59', 'ü', x'00ff', '{"a":1}');
INSERT INTO t VALUES (9223372036854775807, -5, 2, 1, 0, '9999-12-31', '2026-01-01 10:00:00.000001', '00:00:00', '', x'', 'null');
INSERT INTO t (id) VALUES (-9223372036854775808)`)
	columns, values := readAll(t, d, Rows{Query: "SELECT * FROM t ORDER BY id"})
	null := "(null)"
	wantColumn(t, columns, values, "id", "BIGINT", "-9223372036854775808", "1", "9223372036854775807")
	wantColumn(t, columns, values, "n", "DECIMAL(10,2)", null, "12345678.90", "-5.00")
	wantColumn(t, columns, values, "r", "DOUBLE", null, "0.1", "2")
	wantColumn(t, columns, values, "f", "DOUBLE", null, "1e+308", "1")
	wantColumn(t, columns, values, "b", "BOOLEAN", null, "true", "false")
	wantColumn(t, columns, values, "d", "DATE", null, "0001-01-01", "9999-12-31")
	wantColumn(t, columns, values, "dt", "TIMESTAMP", null, "2026-01-01T10:00:00Z", "2026-01-01T10:00:00.000001Z")
	wantColumn(t, columns, values, "tm", "TIME", null, "23:59:59.000000", "00:00:00.000000")
	wantColumn(t, columns, values, "s", "VARCHAR", null, "ü", "")
	wantColumn(t, columns, values, "x", "BLOB", null, "AP8=", "")
	wantColumn(t, columns, values, "j", "JSON", null, `{"a":1}`, "null")
}

// wantRefused asserts that a column is refused by name, and gives what it says.
func wantRefused(t *testing.T, err error, column, message string) {
	t.Helper()
	var e *compute.Error
	if !errors.As(err, &e) || e.Column != column || e.Message != message {
		t.Errorf("error is %v, want one of column %s: %s", err, column, message)
		return
	}
	if e.Kind == compute.InputInvalid && !strings.HasPrefix(e.Hint, "have it read as text by options: {as_text: "+column+"}") {
		t.Errorf("column %s: the hint is %q", column, e.Hint)
	}
}

// A type that no type here holds exactly is refused before a row is read, and read as text where that is wanted.
func TestTypesThatCannotBeKept(t *testing.T) {
	pg := postgresAt(t, `CREATE TABLE t (id int, n numeric, big numeric(60,5), iv interval, ip inet, b bit(4), p point, tt timetz, a int[][], x xml[]);
INSERT INTO t VALUES (1, 1.5, 2, '1 day', '10.0.0.1', B'0101', '(1,2)', '10:00+02', '{{1,2},{3,4}}', NULL)`)
	for _, c := range []struct{ column, message, text string }{
		{"n", "it is numeric without a width in the database, which may have any number of digits", "1.5"},
		{"big", "it is numeric(60,5) in the database, which has more than 38 digits", "2.00000"},
		{"iv", "it is interval in the database, which no type here holds exactly", "1 day"},
		{"ip", "it is inet in the database, which no type here holds exactly", "10.0.0.1/32"},
		{"b", "it is bit(4) in the database, and only bit(1) is a truth value", "0101"},
		{"p", "it is point in the database, which no type here holds exactly", "(1,2)"},
		{"tt", "it is time with time zone in the database, which no type here holds exactly", "10:00:00+02"},
		{"x", "it is xml[] in the database, and lists of that are not read", "(null)"},
	} {
		query := `SELECT "` + c.column + `" FROM t`
		_, err := pg.Source(t.Context(), Rows{Query: query})
		wantRefused(t, err, c.column, c.message)
		for _, as := range []string{c.column, "*"} {
			columns, values := readAll(t, pg, Rows{Query: query, Options: Options{AsText: []string{as}}})
			wantColumn(t, columns, values, c.column, "VARCHAR", c.text)
		}
		columns, values := readAll(t, pg, Rows{Table: "t", Columns: []compute.Column{{Name: strings.ToUpper(c.column), Type: "varchar"}}})
		wantColumn(t, columns, values, c.column, "VARCHAR", c.text)
	}
	m := mariadbAt(t, "CREATE TABLE t (n decimal(60,5), g point); INSERT INTO t VALUES (1.5, NULL)")
	_, err := m.Source(t.Context(), Rows{Query: "SELECT n FROM t"})
	wantRefused(t, err, "n", "it is decimal(60,5) in the database, which has more than 38 digits")
	_, err = m.Source(t.Context(), Rows{Query: "SELECT g FROM t"})
	wantRefused(t, err, "g", "it is geometry in the database, which no type here holds exactly")
	lite := sqliteAt(t, "CREATE TABLE t (a, n NUMERIC);\nINSERT INTO t VALUES (1, 2)")
	_, err = lite.Source(t.Context(), Rows{Query: "SELECT a FROM t"})
	wantRefused(t, err, "a", "it is without a type in the database, so nothing says what its values are")
	_, err = lite.Source(t.Context(), Rows{Query: "SELECT n FROM t"})
	wantRefused(t, err, "n", "it is numeric in the database, which says too little of its values")
	columns, values := readAll(t, lite, Rows{Table: "t", Options: Options{AsText: []string{"*"}}})
	wantColumn(t, columns, values, "a", "VARCHAR", "1")
}

// A value that its type has and none here does ends the reading, and names its column.
func TestValuesThatCannotBeKept(t *testing.T) {
	pg := postgresAt(t, "")
	for query, want := range map[string]string{
		"SELECT 'NaN'::numeric(5,2) AS v":                "a value is NaN, which a number with a fixed count of digits cannot be here",
		"SELECT '{{1,2},{3,4}}'::int[] AS v":             "an array has 2 dimensions, and lists have one",
		"SELECT '[0:1]={1,2}'::int[] AS v":               "an array begins with the index 0, and lists begin with 1",
		"SELECT '294276-12-31 23:59:59'::timestamp AS v": "a timestamp comes after the year 294246, which none can here",
	} {
		src, err := pg.Source(t.Context(), Rows{Query: query})
		if err != nil {
			t.Fatal(err)
		}
		_, err = drain(t, src)
		wantRefused(t, err, "v", want)
	}
	m := mariadbAt(t, "CREATE TABLE t (d date, dt datetime, ts timestamp, tm time); INSERT INTO t VALUES ('0000-00-00', '2026-00-01', '0000-00-00', '-838:59:59')")
	for column, want := range map[string]string{"d": `the value "0000-00-00" is no DATE`, "dt": `the value "2026-00-01 00:00:00" is no TIMESTAMP`, "ts": `the value "0000-00-00 00:00:00" is no TIMESTAMP WITH TIME ZONE`, "tm": `the value "-838:59:59" is no TIME`} {
		src, err := m.Source(t.Context(), Rows{Query: "SELECT " + column + " FROM t"})
		if err != nil {
			t.Fatal(err)
		}
		_, err = drain(t, src)
		wantRefused(t, err, column, want)
	}
	columns, values := readAll(t, m, Rows{Table: "t", Options: Options{AsText: []string{"d", "dt", "ts", "tm"}}})
	wantColumn(t, columns, values, "d", "VARCHAR", "0000-00-00")
	lite := sqliteAt(t, `CREATE TABLE t (i INTEGER, s TEXT, b BOOLEAN, n DECIMAL(5,2), r REAL, d DATE);
INSERT INTO t VALUES ('abc', x'00', 2, 1.005, 'x', '2026-13-01')`)
	for column, want := range map[string]string{"i": `the value "abc" is no BIGINT`, "s": `the value "\x00" is no VARCHAR`, "b": `the value "2" is no BOOLEAN`, "n": `the value "1.005" is no DECIMAL(5,2)`, "r": `the value "x" is no DOUBLE`, "d": `the value "2026-13-01" is no DATE`} {
		src, err := lite.Source(t.Context(), Rows{Query: `SELECT "` + column + `" FROM t`})
		if err != nil {
			t.Fatal(err)
		}
		_, err = drain(t, src)
		wantRefused(t, err, column, want)
	}
}

// Rows that are divided among several connections come once each, also those without a value, whatever the ends are.
func TestPartitions(t *testing.T) {
	rows := "INSERT INTO t VALUES (-9223372036854775808), (9223372036854775807), (NULL), (0), (1), (2), (NULL)"
	want := []string{"(null)", "(null)", "-9223372036854775808", "0", "1", "2", "9223372036854775807"}
	for name, d := range map[string]*Database{
		"PostgreSQL": postgresAt(t, "CREATE TABLE t (id bigint); "+rows),
		"MariaDB":    mariadbAt(t, "CREATE TABLE t (id bigint); "+rows),
		"SQLite":     sqliteAt(t, "CREATE TABLE t (id BIGINT);\n"+rows),
	} {
		for _, n := range []int{1, 2, 3, 7, 64} {
			_, values := readAll(t, d, Rows{Table: "t", Options: Options{PartitionColumn: "id", Partitions: n}})
			slices.Sort(values[0])
			if !slices.Equal(values[0], want) {
				t.Errorf("%s in %d parts: %q, want %q", name, n, values[0], want)
			}
		}
		_, err := drain(t, must(d.Source(t.Context(), Rows{Query: "SELECT id, 'x' AS s FROM t", Options: Options{AsText: []string{"*"}, PartitionColumn: "s", Partitions: 2}})))
		var e *compute.Error
		if !errors.As(err, &e) || e.Option != "partition_column" {
			t.Errorf("%s: a text as partition column: %v", name, err)
		}
	}
}

func must(s *Source, err error) *Source {
	if err != nil {
		panic(err)
	}
	return s
}

// All connections of a reading see the rows of one moment: what is written after it began is not there, in no part.
func TestPartitionsSeeOneMoment(t *testing.T) {
	for name, d := range map[string]*Database{
		"PostgreSQL": postgresAt(t, "CREATE TABLE t (id bigint); INSERT INTO t SELECT g FROM generate_series(1, 1000) g"),
		"MariaDB":    mariadbAt(t, "CREATE TABLE t (id bigint); INSERT INTO t SELECT seq FROM seq_1_to_1000"),
	} {
		sessions, err := d.dialect.shared(t.Context(), d, "t", 3)
		if err != nil {
			t.Fatal(err)
		}
		if len(sessions) != 3 {
			t.Errorf("%s: %d connections see the same rows, want 3", name, len(sessions))
		}
		other, err := d.connect(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := other.values(t.Context(), "SELECT 1"); err != nil {
			t.Fatal(err)
		}
		for _, sql := range []string{"DELETE FROM t WHERE id <= 500", "INSERT INTO t VALUES (5000)"} {
			if err := other.(interface {
				exec(ctx context.Context, sql string) error
			}).exec(t.Context(), sql); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		for i, s := range sessions {
			row, err := s.values(t.Context(), "SELECT count(*), sum(id) FROM t")
			if err != nil {
				t.Fatal(err)
			}
			if *row[0] != "1000" || *row[1] != "500500" {
				t.Errorf("%s: connection %d sees %s rows, sum %s", name, i, *row[0], *row[1])
			}
			s.close()
		}
		other.close()
	}
}

// Without the right to lock a table, and for a query, MariaDB is read by one connection, and that is said.
func TestPartitionsThatCannotSeeOneMoment(t *testing.T) {
	d := mariadbAt(t, "CREATE TABLE t (id bigint); INSERT INTO t VALUES (1), (2), (3); CREATE OR REPLACE USER looker IDENTIFIED BY 'x'; GRANT SELECT ON t TO looker")
	d.User, d.Password = "looker", NewSecret("x")
	for _, rows := range []Rows{{Table: "t"}, {Query: "SELECT id FROM t"}} {
		rows.Options = Options{PartitionColumn: "id", Partitions: 3}
		src := must(d.Source(t.Context(), rows))
		values, err := drain(t, src)
		if err != nil || !slices.Equal(values[0], []string{"1", "2", "3"}) {
			t.Errorf("rows are %q, %v", values, err)
		}
		if len(src.Told()) != 1 || !strings.HasPrefix(src.Told()[0], "rows are read by one connection and not by 3") {
			t.Errorf("told: %q", src.Told())
		}
	}
}

func TestWindowsAndGreatest(t *testing.T) {
	after, upTo := "2026-01-01 00:00:00.000001", "2026-01-02 00:00:00"
	for name, d := range map[string]*Database{
		"PostgreSQL": postgresAt(t, "CREATE TABLE t (id int, at timestamp); INSERT INTO t VALUES (1, '2026-01-01 00:00:00.000001'), (2, '2026-01-01 00:00:00.000002'), (3, '2026-01-02'), (4, '2026-01-03'), (5, NULL)"),
		"MariaDB":    mariadbAt(t, "CREATE TABLE t (id int, at datetime(6)); INSERT INTO t VALUES (1, '2026-01-01 00:00:00.000001'), (2, '2026-01-01 00:00:00.000002'), (3, '2026-01-02'), (4, '2026-01-03'), (5, NULL)"),
	} {
		window := &compute.Window{Column: "AT", Type: "TIMESTAMP", After: &after, UpTo: &upTo}
		_, values := readAll(t, d, Rows{Query: "SELECT * FROM t ORDER BY id", Window: window})
		if !slices.Equal(values[0], []string{"2", "3"}) {
			t.Errorf("%s: the window has %q", name, values[0])
		}
		_, values = readAll(t, d, Rows{Table: "t", Window: &compute.Window{Column: "at", Type: "TIMESTAMP"}})
		if len(values[0]) != 0 {
			t.Errorf("%s: a window of nothing has %q", name, values[0])
		}
		one, nulls, err := must(d.Source(t.Context(), Rows{Table: "t"})).Greatest(t.Context(), "at")
		if err != nil {
			t.Fatal(err)
		}
		values, err = drain(t, one)
		if err != nil || len(values) != 1 || !slices.Equal(values[0], []string{"2026-01-03T00:00:00Z"}) || nulls != 1 {
			t.Errorf("%s: the greatest is %q with %d NULLs, %v", name, values, nulls, err)
		}
	}
}

// What was begun and is not wanted any more ends, and keeps no connection.
func TestReadingIsBrokenOff(t *testing.T) {
	d := postgresAt(t, "")
	b, err := must(d.Source(t.Context(), Rows{Query: "SELECT generate_series(1, 100000000) AS id"})).Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	batch, err := b.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	batch.Release()
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
}

// SQLite orders timestamps as the texts that they are, so what is new cannot be told by them.
func TestSQLiteTellsWhatIsNewByNumbers(t *testing.T) {
	d := sqliteAt(t, `CREATE TABLE t (id INTEGER, d DATE, at DATETIME);
INSERT INTO t VALUES (1, '2026-01-01', '2026-01-01T10:00'), (3, '2026-01-03', '2026-01-01 11:00'), (2, '2026-01-02', NULL)`)
	src := must(d.Source(t.Context(), Rows{Table: "t"}))
	_, _, err := src.Greatest(t.Context(), "at")
	wantRefused(t, err, "at", "it is datetime in the database, which SQLite keeps as texts of several spellings and orders as texts")
	for column, want := range map[string]string{"id": "3", "d": "2026-01-03"} {
		one, nulls, err := src.Greatest(t.Context(), column)
		if err != nil {
			t.Fatal(err)
		}
		values, err := drain(t, one)
		if err != nil || !slices.Equal(values[0], []string{want}) || nulls != 0 {
			t.Errorf("the greatest %s is %q, %d, %v", column, values, nulls, err)
		}
	}
	after, upTo := "1", "2"
	_, values := readAll(t, d, Rows{Table: "t", Window: &compute.Window{Column: "id", Type: "BIGINT", After: &after, UpTo: &upTo}})
	if !slices.Equal(values[0], []string{"2"}) {
		t.Errorf("the window has %q", values[0])
	}
}
