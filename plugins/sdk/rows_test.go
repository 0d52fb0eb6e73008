//go:build !wasip1

package sdk_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/ubunye-io/ubunye/engine/compute"
	"github.com/ubunye-io/ubunye/engine/compute/duckdb"
	"github.com/ubunye-io/ubunye/plugins/sdk"
)

// texts reads all rows as text, a NULL as "NULL".
func texts(t *testing.T, rows *sdk.Rows) (fields []sdk.Field, all [][]string) {
	t.Helper()
	fields, err := rows.Fields()
	for err == nil {
		var b *sdk.Batch
		if b, err = rows.Next(); err != nil {
			break
		}
		for i := range b.Rows {
			line := make([]string, len(b.Columns))
			for k := range b.Columns {
				line[k] = string(b.Columns[k].AppendText(nil, i))
				if b.Columns[k].Null(i) {
					line[k] = "NULL"
				}
			}
			all = append(all, line)
		}
	}
	if !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	return fields, all
}

// Every type that the embedded engine hands out is read, and printed as the engine prints it.
func TestRowsOfTheEngine(t *testing.T) {
	session, err := duckdb.Engine{}.Open(t.Context(), compute.Settings{Spill: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	const sql = `SELECT * FROM (VALUES
		(true, CAST(-128 AS TINYINT), CAST(-32768 AS SMALLINT), -2147483648, CAST(-9223372036854775807 AS BIGINT), CAST(255 AS UTINYINT), CAST(65535 AS USMALLINT),
		 CAST(4294967295 AS UINTEGER), CAST(18446744073709551615 AS UBIGINT), CAST(0.1 AS FLOAT), CAST(0.1 AS DOUBLE), CAST('-99999999999999999999999999999999999.999' AS DECIMAL(38,3)),
		 CAST(0.05 AS DECIMAL(4,2)), 'ä''"', DATE '1969-12-31', TIME '23:59:59.999999', TIMESTAMP '1969-12-31 23:59:59.5', TIMESTAMPTZ '2026-01-31 01:02:03+02',
		 TIMESTAMP_S '2026-01-31 01:02:03', TIMESTAMP_MS '2026-01-31 01:02:03.25', TIMESTAMP_NS '2026-01-31 01:02:03.123456789', CAST(170141183460469231731 AS HUGEINT),
		 CAST('0.00000000000000000000000000000000000001' AS DECIMAL(38,38))),
		(false, 127, 32767, 2147483647, 9223372036854775807, 0, 0, 0, 0, -2.5, 1e300, '0.001', -12.34, '', DATE '9999-12-31', TIME '00:00:00', TIMESTAMP '2026-01-31 00:00:00',
		 TIMESTAMPTZ '1970-01-01 00:00:00+00', TIMESTAMP_S '1970-01-01 00:00:00', TIMESTAMP_MS '1969-12-31 23:59:59.001', TIMESTAMP_NS '1970-01-01 00:00:00', -1, '-0.5'),
		(NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL))
		v(b, i8, i16, i32, i64, u8, u16, u32, u64, f32, f64, d, small, s, day, tm, ts, tz, ts_s, ts_ms, ts_ns, huge, tiny)`
	if err := session.Prepare(t.Context(), []compute.Step{{Name: "r", SQL: sql}}, []compute.Relation{"r", "r"}); err != nil {
		t.Fatal(err)
	}
	reader, err := session.Rows(t.Context(), "r", nil)
	if err != nil {
		t.Fatal(err)
	}
	fields, got := texts(t, sdk.NewRows(func() ([]byte, error) { return reader.Next(t.Context()) }))
	want := [][]string{
		{"true", "-128", "-32768", "-2147483648", "-9223372036854775807", "255", "65535", "4294967295", "18446744073709551615", "0.1", "0.1",
			"-99999999999999999999999999999999999.999", "0.05", `ä'"`, "1969-12-31", "23:59:59.999999", "1969-12-31 23:59:59.5", "2026-01-30 23:02:03+00",
			"2026-01-31 01:02:03", "2026-01-31 01:02:03.25", "2026-01-31 01:02:03.123456789", "170141183460469231731", "0.00000000000000000000000000000000000001"},
		{"false", "127", "32767", "2147483647", "9223372036854775807", "0", "0", "0", "0", "-2.5", "1e+300", "0.001", "-12.34", "", "9999-12-31", "00:00:00",
			"2026-01-31 00:00:00", "1970-01-01 00:00:00+00", "1970-01-01 00:00:00", "1969-12-31 23:59:59.001", "1970-01-01 00:00:00", "-1", "-0.50000000000000000000000000000000000000"},
		strings.Split(strings.Repeat("NULL ", len(fields))[:5*len(fields)-1], " "),
	}
	if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
		t.Errorf("got\n%q\nwant\n%q", got, want)
	}
	head, err := session.Head(t.Context(), "r", 10)
	if err != nil {
		t.Fatal(err)
	}
	for i, row := range head {
		for k, v := range row {
			text := "NULL"
			if v != nil {
				text = *v
			}
			if fields[k].Name == "tiny" {
				text = strings.Replace(text, ".", "0.", 1) // DuckDB leaves out the 0 where no digit stands before the point
			}
			if text != got[i][k] {
				t.Errorf("%s: %q, the engine prints %q", fields[k].Name, got[i][k], text)
			}
		}
	}
	for name, want := range map[string]sdk.Field{
		"i8": {Name: "i8", Kind: sdk.Int, Bits: 8}, "u64": {Name: "u64", Kind: sdk.Uint, Bits: 64}, "f32": {Name: "f32", Kind: sdk.Float, Bits: 32},
		"d": {Name: "d", Kind: sdk.Decimal, Precision: 38, Scale: 3}, "s": {Name: "s", Kind: sdk.Text}, "tz": {Name: "tz", Kind: sdk.Timestamp, Digits: 6, Zone: "UTC"},
		"ts_ns": {Name: "ts_ns", Kind: sdk.Timestamp, Digits: 9}, "tm": {Name: "tm", Kind: sdk.Time, Digits: 6}, "day": {Name: "day", Kind: sdk.Date},
	} {
		found := false
		for _, f := range fields {
			found = found || f == want
		}
		if !found {
			t.Errorf("no column %s as %+v in %+v", name, want, fields)
		}
	}
}

// Many batches, each once and in order.
func TestRowsInManyBatches(t *testing.T) {
	session, err := duckdb.Engine{}.Open(t.Context(), compute.Settings{Spill: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	if err := session.Prepare(t.Context(), []compute.Step{{Name: "r", SQL: "SELECT i, 'row ' || i AS s FROM range(100000) t(i)"}}, []compute.Relation{"r"}); err != nil {
		t.Fatal(err)
	}
	reader, err := session.Rows(t.Context(), "r", []string{"s"})
	if err != nil {
		t.Fatal(err)
	}
	batches := 0
	rows := sdk.NewRows(func() ([]byte, error) { batches++; return reader.Next(t.Context()) })
	fields, got := texts(t, rows)
	if len(fields) != 1 || len(got) != 100000 || batches < 4 {
		t.Fatalf("%d columns, %d rows in %d messages", len(fields), len(got), batches)
	}
	for i, row := range got {
		if row[0] != fmt.Sprint("row ", i) {
			t.Fatalf("row %d is %q", i, row[0])
		}
	}
}

// messages encodes with Arrow's own writer.
func messages(t testing.TB, schema *arrow.Schema, batches ...arrow.RecordBatch) [][]byte {
	t.Helper()
	var all [][]byte
	put := func(p ipc.Payload) {
		defer p.Release()
		var b bytes.Buffer
		if _, err := p.WritePayload(&b); err != nil {
			t.Fatal(err)
		}
		all = append(all, b.Bytes())
	}
	put(ipc.GetSchemaPayload(schema, memory.DefaultAllocator))
	for _, b := range batches {
		p, err := ipc.GetRecordBatchPayload(b)
		if err != nil {
			t.Fatal(err)
		}
		put(p)
	}
	return all
}

func read(all [][]byte) *sdk.Rows {
	return sdk.NewRows(func() ([]byte, error) {
		if len(all) == 0 {
			return nil, io.EOF
		}
		m := all[0]
		all = all[1:]
		return m, nil
	})
}

// flatSchema has every type that is read.
func flatSchema() *arrow.Schema {
	types := []arrow.DataType{arrow.FixedWidthTypes.Boolean, arrow.PrimitiveTypes.Int8, arrow.PrimitiveTypes.Int16, arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Int64,
		arrow.PrimitiveTypes.Uint8, arrow.PrimitiveTypes.Uint16, arrow.PrimitiveTypes.Uint32, arrow.PrimitiveTypes.Uint64, arrow.PrimitiveTypes.Float32, arrow.PrimitiveTypes.Float64,
		&arrow.Decimal128Type{Precision: 38, Scale: 7}, arrow.BinaryTypes.String, arrow.BinaryTypes.Binary, arrow.FixedWidthTypes.Date32, &arrow.TimestampType{Unit: arrow.Nanosecond}}
	fields := make([]arrow.Field, len(types))
	for i, typ := range types {
		fields[i] = arrow.Field{Name: fmt.Sprint("c", i), Type: typ, Nullable: true}
	}
	return arrow.NewSchema(fields, nil)
}

// What Arrow's own writer writes reads as Arrow's own values: random ones, with and without NULLs, in slices that
// do not begin at a byte.
func TestRowsOfArrow(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	schema := flatSchema()
	for _, nulls := range []float64{0, 0.3, 1} {
		var batches []arrow.RecordBatch
		for _, n := range []int{0, 1, 7, 100} {
			whole := randomBatch(schema, n+5, nulls, random)
			batches = append(batches, whole.NewSlice(3, int64(n+3)))
		}
		rows := read(messages(t, schema, batches...))
		for _, want := range batches {
			got, err := rows.Next()
			if err != nil || int64(got.Rows) != want.NumRows() {
				t.Fatalf("%+v, %v; want %d rows", got, err, want.NumRows())
			}
			for k := range got.Columns {
				for i := range got.Rows {
					if want.Column(k).IsNull(i) != got.Columns[k].Null(i) {
						t.Fatalf("column %d, row %d: NULL is %t", k, i, got.Columns[k].Null(i))
					}
					if text := value(&got.Columns[k], i); !got.Columns[k].Null(i) && text != arrowText(want.Column(k), i) {
						t.Fatalf("column %d, row %d: %s, want %s", k, i, text, arrowText(want.Column(k), i))
					}
				}
			}
		}
		if _, err := rows.Next(); err != io.EOF {
			t.Fatal(err)
		}
	}
}

func value(c *sdk.Column, i int) string {
	switch c.Kind {
	case sdk.Date, sdk.Timestamp:
		return fmt.Sprint(c.Int(i))
	case sdk.Float:
		return fmt.Sprint(math.Float64bits(c.Float(i)))
	}
	return string(c.AppendText(nil, i))
}

func arrowText(a arrow.Array, i int) string {
	switch a := a.(type) {
	case *array.Date32:
		return fmt.Sprint(int32(a.Value(i)))
	case *array.Timestamp:
		return fmt.Sprint(int64(a.Value(i)))
	case *array.Float32:
		return fmt.Sprint(math.Float64bits(float64(a.Value(i))))
	case *array.Float64:
		return fmt.Sprint(math.Float64bits(a.Value(i)))
	case *array.Binary:
		return fmt.Sprintf("%x", a.Value(i))
	case *array.Decimal128:
		// The number, then the point by text alone: another way than the reader's.
		n := a.Value(i).BigInt()
		sign := ""
		if n.Sign() < 0 {
			sign, n = "-", new(big.Int).Neg(n)
		}
		digits := fmt.Sprintf("%08s", n)
		return sign + digits[:len(digits)-7] + "." + digits[len(digits)-7:]
	}
	return a.ValueStr(i)
}

func randomBatch(schema *arrow.Schema, n int, nulls float64, random *rand.Rand) arrow.RecordBatch {
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	for range n {
		for k := range schema.NumFields() {
			bits := random.Uint64()
			if random.Float64() < nulls {
				b.Field(k).AppendNull()
				continue
			}
			switch f := b.Field(k).(type) {
			case *array.BooleanBuilder:
				f.Append(bits&1 == 1)
			case *array.Int8Builder:
				f.Append(int8(bits))
			case *array.Int16Builder:
				f.Append(int16(bits))
			case *array.Int32Builder:
				f.Append(int32(bits))
			case *array.Int64Builder:
				f.Append(int64(bits))
			case *array.Uint8Builder:
				f.Append(uint8(bits))
			case *array.Uint16Builder:
				f.Append(uint16(bits))
			case *array.Uint32Builder:
				f.Append(uint32(bits))
			case *array.Uint64Builder:
				f.Append(bits)
			case *array.Float32Builder:
				f.Append(math.Float32frombits(uint32(bits) &^ (1 << 23))) // no NaN, whose bits conversions change
			case *array.Float64Builder:
				f.Append(math.Float64frombits(bits))
			case *array.Decimal128Builder:
				f.Append(decimal128.New(int64(bits)>>2, random.Uint64())) // below 10^38
			case *array.StringBuilder:
				f.Append(strings.Repeat("ä", int(bits%9)))
			case *array.BinaryBuilder:
				f.Append(bytes.Repeat([]byte{byte(bits >> 8)}, int(bits%9)))
			case *array.Date32Builder:
				f.Append(arrow.Date32(int32(bits)))
			case *array.TimestampBuilder:
				f.Append(arrow.Timestamp(int64(bits)))
			}
		}
	}
	return b.NewRecordBatch()
}

func TestWhatRowsDoNotRead(t *testing.T) {
	for name, typ := range map[string]arrow.DataType{"a nested column": arrow.ListOf(arrow.PrimitiveTypes.Int8), "a float of a strange size": arrow.FixedWidthTypes.Float16,
		"a date in milliseconds": arrow.FixedWidthTypes.Date64, "a decimal of a strange size": &arrow.Decimal256Type{Precision: 60, Scale: 2},
		"a dictionary": &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}, "a time of a strange size": arrow.FixedWidthTypes.Time32ms} {
		_, err := read(messages(t, arrow.NewSchema([]arrow.Field{{Name: "odd", Type: typ}}, nil))).Fields()
		if want := "column odd: " + name + " cannot be read here: leave it out, or cast it to text in a step"; err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if _, err := read(nil).Fields(); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("no schema: %v", err)
	}
	schema := flatSchema()
	random := rand.New(rand.NewPCG(3, 4))
	all := messages(t, schema, randomBatch(schema, 9, 0.5, random))
	if _, err := read([][]byte{all[1]}).Fields(); err == nil {
		t.Error("a record batch was taken for a schema")
	}
	if _, err := read([][]byte{all[0], all[0]}).Next(); err == nil {
		t.Error("a schema was taken for a record batch")
	}
	for cut := range len(all[1]) - 64 { // the end may be padding
		if _, err := read([][]byte{all[0], all[1][:cut]}).Next(); err == nil {
			t.Fatalf("%d of %d bytes of a batch were taken for it", cut, len(all[1]))
		}
	}
}

// Whatever the bytes are, reading them ends, in values or an error.
func FuzzRows(f *testing.F) {
	schema := flatSchema()
	random := rand.New(rand.NewPCG(5, 6))
	all := messages(f, schema, randomBatch(schema, 9, 0.5, random))
	f.Add(all[0], all[1])
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 4, 0, 0, 0, 4, 0, 0, 0}, []byte{})
	f.Fuzz(func(t *testing.T, head, body []byte) {
		rows := read([][]byte{head, body})
		b, err := rows.Next()
		if err != nil {
			return
		}
		for k := range b.Columns {
			for i := range b.Rows {
				b.Columns[k].AppendText(nil, i)
			}
		}
	})
}
