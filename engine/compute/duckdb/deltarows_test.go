package duckdb

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ubunye-io/ubunye/engine/compute"
)

// madeTable is a table that a test makes: files by DuckDB, and a log by hand.
type madeTable struct {
	t    *testing.T
	root string
	s    *session
	next int
}

func makeDelta(t *testing.T, fields, partition, configuration string) *madeTable {
	t.Helper()
	m := &madeTable{t: t, root: filepath.Join(t.TempDir(), "table"), s: deltaSession(t)}
	m.must(os.MkdirAll(filepath.Join(m.root, "_delta_log"), 0o777))
	protocol := `{"protocol":{"minReaderVersion":1,"minWriterVersion":2}}`
	if configuration != "" {
		protocol = `{"protocol":{"minReaderVersion":2,"minWriterVersion":5}}`
	}
	m.commit(protocol, fmt.Sprintf(`{"metaData":{"id":"x","format":{"provider":"parquet","options":{}},"schemaString":%q,"partitionColumns":[%s],"configuration":{%s}}}`,
		`{"type":"struct","fields":[`+fields+`]}`, partition, configuration))
	return m
}

func (m *madeTable) must(err error) {
	m.t.Helper()
	if err != nil {
		m.t.Fatal(err)
	}
}

func (m *madeTable) commit(lines ...string) {
	m.t.Helper()
	m.must(os.WriteFile(filepath.Join(m.root, "_delta_log", fmt.Sprintf("%020d.json", m.next)), []byte(strings.Join(lines, "\n")+"\n"), 0o666))
	m.next++
}

// file writes a data file and gives its add.
func (m *madeTable) file(name, options, partition, query string) string {
	m.t.Helper()
	m.must(m.s.exec(m.t.Context(), "COPY ("+query+") TO "+literal(filepath.Join(m.root, name))+" (FORMAT parquet"+options+")"))
	return fmt.Sprintf(`{"add":{"path":%q,"partitionValues":{%s},"size":1,"modificationTime":0,"dataChange":true}}`, name, partition)
}

// rows are those that an input has, as JSON, sorted.
func (m *madeTable) rows(in compute.Input) string {
	m.t.Helper()
	in.Name, in.Format, in.Path = "got", "delta", m.root
	s := deltaSession(m.t)
	if _, _, err := s.Input(m.t.Context(), in); err != nil {
		m.t.Fatal(err)
	}
	return s.one(m.t, "SELECT coalesce(string_agg(r::VARCHAR, ' ' ORDER BY r::VARCHAR), '') FROM (SELECT to_json(got) AS r FROM got)")
}

func logField(name, typ string) string {
	return fmt.Sprintf(`{"name":%q,"type":%s,"nullable":true,"metadata":{}}`, name, typ)
}

// A query of one partition opens the files of its group, whatever else the table has: also where a group holds several partitions.
func TestDeltaPartitionsThatAQueryCannotWantAreNotRead(t *testing.T) {
	m := makeDelta(t, logField("id", `"long"`)+","+logField("day", `"date"`)+","+logField("area", `"string"`), `"day","area"`, "")
	var adds []string
	for day := range 90 {
		for _, area := range []string{"eu", "us"} {
			name := fmt.Sprintf("%d-%s.parquet", day, area)
			adds = append(adds, m.file(name, "", fmt.Sprintf(`"day":%q,"area":%q`, m.s.one(t, fmt.Sprintf("SELECT (DATE '2026-01-01' + %d)::VARCHAR", day)), area), fmt.Sprintf("SELECT %d::BIGINT AS id", day)))
		}
	}
	m.commit(adds...)
	s := deltaSession(t)
	if _, files, err := s.Input(t.Context(), compute.Input{Name: "got", Format: "delta", Path: m.root}); err != nil || len(files) != 180 {
		t.Fatal(len(files), err)
	}
	for _, c := range []struct {
		where string
		rows  string
		scans int
	}{
		{"day = DATE '2026-02-01'", "2", 1},
		{"day BETWEEN '2026-02-01' AND '2026-02-28' AND area = 'us'", "28", 10},
		{"day >= '2026-03-30'", "4", 1},
		{"day > '2027-01-01'", "0", 0},
		{"area = 'zz'", "0", 0},
		{"true", "180", 30},
	} {
		if got := s.one(t, "SELECT count(*) FROM got WHERE "+c.where); got != c.rows {
			t.Errorf("%s: %s rows, want %s", c.where, got, c.rows)
		}
		plan := s.plan(t, "SELECT id FROM got WHERE "+c.where)
		if scans := strings.Count(plan, `"name": "READ_PARQUET`); scans != c.scans {
			t.Errorf("%s: %d scans, want %d; %s", c.where, scans, c.scans, plan[:min(len(plan), 1500)])
		}
	}
}

func (s *session) plan(t *testing.T, q string) string {
	t.Helper()
	var key, text string
	if err := s.conn.QueryRowContext(t.Context(), "EXPLAIN (FORMAT json) "+q).Scan(&key, &text); err != nil {
		t.Fatal(err)
	}
	return text
}

// Columns come and go, and types widen: older files lack some, and hold narrower values.
func TestDeltaFilesOfOlderSchemas(t *testing.T) {
	m := makeDelta(t, logField("ID", `"long"`)+","+logField("amount", `"double"`)+","+logField("note", `"string"`)+","+logField("nothing", `"void"`)+","+
		logField("s", `{"type":"struct","fields":[`+logField("a", `"long"`)+","+logField("b", `"string"`)+`]}`), "", "")
	m.commit(m.file("1.parquet", "", "", "SELECT 1::INTEGER AS id, {a: 1::INTEGER} AS s, 7 AS dropped"),
		m.file("2.parquet", "", "", "SELECT 2::BIGINT AS \"ID\", 0.5::FLOAT AS amount, 'x' AS note, {b: 'y', a: 2::BIGINT} AS s"))
	want := `{"ID":1,"amount":null,"note":null,"nothing":null,"s":{"a":1,"b":null}} {"ID":2,"amount":0.5,"note":"x","nothing":null,"s":{"a":2,"b":"y"}}`
	if got := m.rows(compute.Input{}); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	declared := compute.Input{Columns: []compute.Column{{Name: "note", Type: "VARCHAR"}, {Name: "id", Type: "BIGINT"}}}
	if got, want := m.rows(declared), `{"note":"x","id":2} {"note":null,"id":1}`; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

// With a column mapping data files have other names, also below a column.
func TestDeltaColumnsOfOtherNames(t *testing.T) {
	mapped := func(name, physical, typ string, id int) string {
		return fmt.Sprintf(`{"name":%q,"type":%s,"nullable":true,"metadata":{"delta.columnMapping.physicalName":%q,"delta.columnMapping.id":%d}}`, name, typ, physical, id)
	}
	inner := `{"type":"struct","fields":[` + mapped("a b", "p3", `"long"`, 3) + `]}`
	fields := mapped("the id", "p1", `"long"`, 1) + "," + mapped("s", "p2", inner, 2) + "," +
		mapped("list", "p4", `{"type":"array","elementType":`+inner+`,"containsNull":true}`, 4) + "," +
		mapped("map", "p5", `{"type":"map","keyType":"string","valueType":`+inner+`,"valueContainsNull":true}`, 5)
	// the one inner struct has one number at three places, which is the test's shortcut and not a table's
	fields = strings.Replace(fields, `"p3","delta.columnMapping.id":3`, `"p3","delta.columnMapping.id":31`, 1)
	fields = strings.Replace(fields, `"p3","delta.columnMapping.id":3}`, `"p3","delta.columnMapping.id":32}`, 1)
	query := `SELECT 1::BIGINT AS p1, {p3: 2::BIGINT} AS p2, [{p3: 3::BIGINT}, NULL] AS p4, MAP {'k': {p3: 4::BIGINT}} AS p5 UNION ALL SELECT 5, NULL, NULL, NULL`
	want := `{"the id":1,"s":{"a b":2},"list":[{"a b":3},null],"map":{"k":{"a b":4}}} {"the id":5,"s":null,"list":null,"map":null}`
	for mode, ids := range map[string]string{"name": "", "id": ", FIELD_IDS {p1: 1, p2: {__duckdb_field_id: 2, p3: 31}, p4: {__duckdb_field_id: 4, element: {__duckdb_field_id: 41, p3: 32}}, p5: {__duckdb_field_id: 5, key: 51, value: {__duckdb_field_id: 52, p3: 3}}}"} {
		m := makeDelta(t, fields, "", `"delta.columnMapping.mode":"`+mode+`"`)
		m.commit(m.file("1.parquet", ids, "", query))
		if got := m.rows(compute.Input{}); got != want {
			t.Errorf("%s: got %s\nwant %s", mode, got, want)
		}
	}
	m := makeDelta(t, fields, "", `"delta.columnMapping.mode":"id"`)
	m.commit(m.file("1.parquet", "", "", query))
	_, _, err := deltaSession(t).Input(t.Context(), compute.Input{Name: "got", Format: "delta", Path: m.root})
	if e := asError(t, err); e.Kind != compute.InputInvalid || !strings.Contains(e.Message, "its columns have no numbers") || e.File != filepath.Join(m.root, "1.parquet") {
		t.Errorf("%+v", e)
	}
	other := strings.Replace(ids31, "p3: 31", "q3: 31", 1)
	m = makeDelta(t, fields, "", `"delta.columnMapping.mode":"id"`)
	m.commit(m.file("1.parquet", other, "", `SELECT 1::BIGINT AS p1, {q3: 2::BIGINT} AS p2`))
	_, _, err = deltaSession(t).Input(t.Context(), compute.Input{Name: "got", Format: "delta", Path: m.root})
	if e := asError(t, err); e.Kind != compute.InputInvalid || !strings.Contains(e.Message, `field number 31 below a column is called "q3", and the table calls it "p3"`) {
		t.Errorf("%+v", e)
	}
}

const ids31 = ", FIELD_IDS {p1: 1, p2: {__duckdb_field_id: 2, p3: 31}}"

// Partition values are those of the log, whatever the folders are called.
func TestDeltaPartitionValues(t *testing.T) {
	for _, c := range []struct{ typ, sql, text, want string }{
		{`"string"`, "VARCHAR", `"a/b=c:%d 'e' ..😀 "`, `a/b=c:%d 'e' ..😀 `},
		{`"string"`, "VARCHAR", `null`, ""},
		{`"string"`, "VARCHAR", `""`, ""}, // the protocol reads it as NULL
		{`"integer"`, "INTEGER", `"-7"`, "-7"},
		{`"long"`, "BIGINT", `"9223372036854775807"`, "9223372036854775807"},
		{`"decimal(38,2)"`, "DECIMAL(38,2)", `"999999999999999999999999999999999999.99"`, "999999999999999999999999999999999999.99"},
		{`"double"`, "DOUBLE", `"0.1"`, "0.1"},
		{`"boolean"`, "BOOLEAN", `"true"`, "true"},
		{`"date"`, "DATE", `"1582-10-04"`, "1582-10-04"},
		{`"timestamp"`, "TIMESTAMP WITH TIME ZONE", `"2026-01-31 12:00:00.123456"`, "2026-01-31 12:00:00.123456+00"},
		{`"timestamp"`, "TIMESTAMP WITH TIME ZONE", `"2026-01-31T12:00:00.5+02:00"`, "2026-01-31 10:00:00.5+00"},
		{`"timestamp_ntz"`, "TIMESTAMP", `"2026-01-31 12:00:00"`, "2026-01-31 12:00:00"},
		{`"binary"`, "BLOB", `"\u0000\u0001a'"`, `\x00\x01a\x27`},
	} {
		m := makeDelta(t, logField("id", `"long"`)+","+logField("p", c.typ), `"p"`, "")
		if c.typ == `"timestamp_ntz"` {
			m = makeDelta(t, logField("id", `"long"`)+","+logField("p", c.typ), `"p"`, "")
			m.next--
			m.commit(`{"protocol":{"minReaderVersion":3,"minWriterVersion":7,"readerFeatures":["timestampNtz"],"writerFeatures":["timestampNtz"]}}`,
				fmt.Sprintf(`{"metaData":{"id":"x","format":{"provider":"parquet","options":{}},"schemaString":%q,"partitionColumns":["p"],"configuration":{}}}`, `{"type":"struct","fields":[`+logField("id", `"long"`)+","+logField("p", c.typ)+`]}`))
		}
		m.commit(m.file("1.parquet", "", `"p":`+c.text, "SELECT 1::BIGINT AS id"), m.file("2.parquet", "", `"p":null`, "SELECT 2::BIGINT AS id"))
		s := deltaSession(t)
		if _, _, err := s.Input(t.Context(), compute.Input{Name: "got", Format: "delta", Path: m.root}); err != nil {
			t.Fatalf("%s %s: %v", c.typ, c.text, err)
		}
		if got := s.one(t, "SELECT typeof(p) || ' ' || coalesce(p::VARCHAR, '') FROM got WHERE id = 1"); got != c.sql+" "+c.want {
			t.Errorf("%s %s: %q, want %q", c.typ, c.text, got, c.sql+" "+c.want)
		}
		if got := s.one(t, "SELECT count(*) FROM got WHERE p IS NULL AND id = 2"); got != "1" {
			t.Errorf("%s: %s rows of NULL", c.typ, got)
		}
	}
	m := makeDelta(t, logField("id", `"long"`)+","+logField("p", `"integer"`), `"p"`, "")
	m.commit(m.file("1.parquet", "", `"p":"many"`, "SELECT 1::BIGINT AS id"))
	_, _, err := deltaSession(t).Input(t.Context(), compute.Input{Name: "got", Format: "delta", Path: m.root})
	if e := asError(t, err); e.Kind != compute.InputInvalid || e.Column != "p" || !strings.Contains(e.Message, "is no INTEGER") {
		t.Errorf("%+v", e)
	}
}

// What cannot be read as the log says is refused by name, and never read shorter.
func TestDeltaTablesThatAreDamaged(t *testing.T) {
	id := logField("id", `"long"`)
	for _, c := range []struct {
		what, message, file string
		kind                compute.Kind
		options             map[string]string
		damage              func(m *madeTable)
	}{
		{"a file is gone", "has this file, and it is gone", "1.parquet", compute.InputInvalid, nil, func(m *madeTable) { m.must(os.Remove(filepath.Join(m.root, "1.parquet"))) }},
		{"a commit is missing", "the commit of version 1 is missing from the log, and version 2 needs it", "", compute.InputInvalid, nil,
			func(m *madeTable) { m.must(os.Remove(filepath.Join(m.root, "_delta_log/00000000000000000001.json"))) }},
		{"a commit is cut", "", "_delta_log/00000000000000000001.json", compute.InputInvalid, nil,
			func(m *madeTable) {
				m.must(os.WriteFile(filepath.Join(m.root, "_delta_log/00000000000000000001.json"), []byte(`{"add":{"pa`), 0o666))
			}},
		{"no table", "there is no Delta table", "", compute.InputMissing, nil, func(m *madeTable) { m.must(os.RemoveAll(filepath.Join(m.root, "_delta_log"))) }},
		{"no folder", "there is no such file", "", compute.InputMissing, nil, func(m *madeTable) { m.must(os.RemoveAll(m.root)) }},
		{"an old version", "the table has no version 7", "", compute.InputMissing, map[string]string{"version": "7"}, func(*madeTable) {}},
		{"an old time", "the table has no", "", compute.InputMissing, map[string]string{"timestamp": "1999-12-31"}, func(*madeTable) {}},
	} {
		m := makeDelta(t, id, "", "")
		m.commit(m.file("1.parquet", "", "", "SELECT 1::BIGINT AS id"))
		m.commit(m.file("2.parquet", "", "", "SELECT 2::BIGINT AS id"))
		c.damage(m)
		in := compute.Input{Name: "got", Format: "delta", Path: m.root, Options: c.options}
		_, _, err := deltaSession(t).Input(t.Context(), in)
		e := asError(t, err)
		if e.Kind != c.kind || !strings.Contains(e.Message, c.message) || e.File != filepath.Join(m.root, c.file) || e.Hint == "" || e.Input != "got" {
			t.Errorf("%s: %+v", c.what, e)
		}
		if _, err := (Engine{}).Files(t.Context(), in); asError(t, err).Message != e.Message {
			t.Errorf("%s: Files says %v", c.what, err)
		}
	}
}

func TestDeltaOptions(t *testing.T) {
	for _, c := range []struct{ option, value, want string }{
		{"version", "-1", `option version: "-1" is not the number of a version, from 0`},
		{"timestamp", "yesterday", `option timestamp: "yesterday" is not a time, as 2026-01-31T12:00:00Z or 2026-01-31 12:00:00`},
		{"time_zone", "Local", `option time_zone: "Local" is not a time zone, as Europe/Zurich`},
		{"versoin", "1", "delta has no option versoin"},
	} {
		wrong, err := Engine{}.Check(t.Context(), compute.Input{Name: "a", Format: "delta", Path: "/t", Options: map[string]string{c.option: c.value}})
		if err != nil || len(wrong) != 1 || wrong[0].Message != c.want || wrong[0].Option != c.option {
			t.Errorf("%s=%s: %v %v", c.option, c.value, wrong, err)
		}
	}
	wrong, err := Engine{}.Check(t.Context(), compute.Input{Name: "a", Format: "delta", Path: "/t", Options: map[string]string{"version": "1", "timestamp": "2026-01-01"}})
	if err != nil || len(wrong) != 1 || !strings.Contains(wrong[0].Message, "beside version") {
		t.Errorf("%v %v", wrong, err)
	}
}
