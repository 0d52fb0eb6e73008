package database

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

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
	d, err := New(Connection{Name: "w", Address: a, User: serverstest.User, Password: serverstest.Password})
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
	wantColumn(t, columns, values, "n", "DECIMAL(38,10)", "-9999999999999999999999999999.9999999999", "1e-10", "1000000000000")
	wantColumn(t, columns, values, "n2", "DECIMAL(5,2)", "-999.99", "0.01", "100")
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
