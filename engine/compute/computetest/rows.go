package computetest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"github.com/ubunye-io/ubunye/engine/compute"
)

// stream reads all messages of a relation, and gives the record batches in them.
func (f *fixture) stream(r compute.Relation, columns ...string) (*arrow.Schema, []arrow.RecordBatch) {
	f.t.Helper()
	reader, err := f.ses.Rows(f.t.Context(), r, columns)
	if err != nil {
		f.t.Fatal(err)
	}
	var all bytes.Buffer
	for {
		message, err := reader.Next(f.t.Context())
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			f.t.Fatal(err)
		}
		if len(message) > 8<<20 {
			f.t.Errorf("a message has %d bytes", len(message))
		}
		all.Write(message)
	}
	if err := reader.Close(); err != nil {
		f.t.Error(err)
	}
	decoded, err := ipc.NewReader(&all)
	if err != nil {
		f.t.Fatal(err)
	}
	var batches []arrow.RecordBatch
	for decoded.Next() {
		batch := decoded.RecordBatch()
		batch.Retain()
		batches = append(batches, batch)
	}
	if err := decoded.Err(); err != nil {
		f.t.Fatal(err)
	}
	return decoded.Schema(), batches
}

func rowsValues(t *testing.T, f *fixture) {
	f.prepare("r", compute.Step{Name: "r", SQL: `SELECT CAST(9007199254740993 AS BIGINT) AS b, CAST(-12345678901234567890.12 AS DECIMAL(38,2)) AS d, CAST(1.5 AS DECIMAL(4,1)) AS small,
		DATE '1969-12-31' AS dt, TIMESTAMP '2026-01-31 01:02:03.456789' AS ts, TIMESTAMPTZ '2026-01-31 01:02:03+02' AS tz, TIME '23:59:59.999999' AS tm,
		true AS ok, 0.1 AS dec, CAST(0.1 AS DOUBLE) AS x, CAST(0.5 AS FLOAT) AS f, 'ä''"' AS s, CAST('\x00\xff' AS BLOB) AS bin, CAST(200 AS UTINYINT) AS u,
		[1, NULL, 3] AS l, {'k': 1, 'm': ['x']} AS st, MAP {'a': 1, 'b': NULL} AS mp, CAST('5b6a8de7-0000-4000-8000-000000000001' AS UUID) AS id,
		CAST(NULL AS VARCHAR) AS n, sum(2) AS total`})
	schema, batches := f.stream("r")
	if len(batches) != 1 || batches[0].NumRows() != 1 {
		t.Fatalf("batches: %v", batches)
	}
	want := map[string][2]string{
		"b": {"int64", "9007199254740993"}, "d": {"decimal(38, 2)", "-12345678901234567890.12"}, "small": {"decimal(4, 1)", "1.5"},
		"dt": {"date32", "1969-12-31"}, "ts": {"timestamp[us]", "2026-01-31T01:02:03.456789Z"}, "tz": {"timestamp[us, tz=UTC]", "2026-01-30T23:02:03Z"}, "tm": {"time64[us]", "23:59:59.999999"},
		"ok": {"bool", "true"}, "dec": {"decimal(2, 1)", "0.1"}, "x": {"float64", "0.1"}, "f": {"float32", "0.5"}, "s": {"utf8", `ä'"`}, "bin": {"binary", "AP8="}, "u": {"uint8", "200"},
		"l": {"list<item: int32, nullable>", "[1,null,3]"}, "st": {"struct<k: int32, m: list<item: utf8, nullable>>", `{"k":1,"m":["x"]}`},
		"mp": {"map<utf8, int32, items_nullable>", `[{"key":"a","value":1},{"key":"b","value":null}]`}, "id": {"utf8", "5b6a8de7-0000-4000-8000-000000000001"},
		"n": {"utf8", array.NullValueStr}, "total": {"decimal(38, 0)", "2"},
	}
	if schema.NumFields() != len(want) {
		t.Errorf("%d columns", schema.NumFields())
	}
	for i, field := range schema.Fields() {
		typ, value := field.Type.String(), batches[0].Column(i).ValueStr(0)
		if typ != want[field.Name][0] || value != want[field.Name][1] {
			t.Errorf("%s is %s %q, want %q", field.Name, typ, value, want[field.Name])
		}
	}
}

// Many rows come in many batches, each once and in order; the session can be used meanwhile.
func rowsWindows(t *testing.T, f *fixture) {
	f.prepare("r named wide none", compute.Step{Name: "r", SQL: "SELECT i, 'row ' || i AS s FROM range(100000) t(i)"},
		compute.Step{Name: "named", SQL: "SELECT i * 2 AS rowid, i FROM range(5000) t(i)"},
		compute.Step{Name: "wide", SQL: "SELECT i, repeat('x', 300000) AS s FROM range(40) t(i)"},
		compute.Step{Name: "none", SQL: "SELECT i FROM range(3) t(i) WHERE false"})
	for name, n := range map[string]int64{"r": 100000, "named": 5000, "none": 0} {
		_, batches := f.stream(compute.Relation(name), "I")
		var next int64
		for _, b := range batches {
			if b.NumCols() != 1 || b.ColumnName(0) != "i" {
				t.Fatalf("%s: columns of %v", name, b.Schema())
			}
			for i := range int(b.NumRows()) {
				if got := b.Column(0).ValueStr(i); got != fmt.Sprint(next) {
					t.Fatalf("%s: row %d is %s", name, next, got)
				}
				next++
			}
		}
		if next != n {
			t.Errorf("%s: %d rows", name, next)
		}
		if n == 100000 && len(batches) < 2 {
			t.Errorf("%d batches", len(batches))
		}
	}
	reader, err := f.ses.Rows(t.Context(), "wide", nil)
	if err != nil {
		t.Fatal(err)
	}
	messages := 0
	for ; err == nil; messages++ {
		f.count("r", 100000)
		var message []byte
		if message, err = reader.Next(t.Context()); len(message) > 8<<20 {
			t.Errorf("a message has %d bytes", len(message))
		}
	}
	if !errors.Is(err, io.EOF) || messages < 2 {
		t.Errorf("%d messages, %v", messages, err)
	}
	_, err = f.ses.Rows(t.Context(), "r", []string{"ii"})
	f.wantError(err, compute.Error{Kind: compute.OutputInvalid, Column: "ii", Message: "did you mean i?"})
	_, err = f.ses.Rows(t.Context(), "q", nil)
	if e := f.wantError(err, compute.Error{Kind: compute.QueryInvalid}); !strings.Contains(e.Message, "q") {
		t.Errorf("message: %s", e.Message)
	}
}
