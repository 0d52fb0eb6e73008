package computetest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/ubunye-io/ubunye/engine/compute"
)

// given is a compute.Source whose rows the test makes.
type given struct {
	columns []compute.Column
	next    func(ctx context.Context, batch int) (arrow.RecordBatch, error)
	reads   atomic.Int32
	closed  atomic.Int32
}

func (g *given) Columns() []compute.Column { return g.columns }

func (g *given) Read(context.Context) (compute.Batches, error) {
	g.reads.Add(1)
	return &givenBatches{given: g}, nil
}

type givenBatches struct {
	*given
	batch int
	done  bool
}

func (b *givenBatches) Next(ctx context.Context) (arrow.RecordBatch, error) {
	b.batch++
	return b.next(ctx, b.batch-1)
}

func (b *givenBatches) Close() error {
	if !b.done {
		b.closed.Add(1)
	}
	b.done = true
	return nil
}

// typedColumn is a column of a source with the texts of its values.
type typedColumn struct {
	typ   string
	arrow arrow.DataType
	json  []string // the values, as JSON that Arrow reads
	want  []string // as text
}

var microseconds = &arrow.TimestampType{Unit: arrow.Microsecond}
var microsecondsUTC = &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}

// sourceTypes are the types that a source may have, with values at their ends.
func sourceTypes() []typedColumn {
	return []typedColumn{
		{"BOOLEAN", arrow.FixedWidthTypes.Boolean, []string{"true", "false"}, []string{"true", "false"}},
		{"TINYINT", arrow.PrimitiveTypes.Int8, []string{"-128", "127"}, []string{"-128", "127"}},
		{"SMALLINT", arrow.PrimitiveTypes.Int16, []string{"-32768", "32767"}, []string{"-32768", "32767"}},
		{"INTEGER", arrow.PrimitiveTypes.Int32, []string{"-2147483648", "2147483647"}, []string{"-2147483648", "2147483647"}},
		{"BIGINT", arrow.PrimitiveTypes.Int64, []string{`"-9223372036854775808"`, `"9223372036854775807"`}, []string{"-9223372036854775808", "9223372036854775807"}},
		{"UTINYINT", arrow.PrimitiveTypes.Uint8, []string{"0", "255"}, []string{"0", "255"}},
		{"USMALLINT", arrow.PrimitiveTypes.Uint16, []string{"0", "65535"}, []string{"0", "65535"}},
		{"UINTEGER", arrow.PrimitiveTypes.Uint32, []string{"0", "4294967295"}, []string{"0", "4294967295"}},
		{"UBIGINT", arrow.PrimitiveTypes.Uint64, []string{"0", `"18446744073709551615"`}, []string{"0", "18446744073709551615"}},
		{"DOUBLE", arrow.PrimitiveTypes.Float64, []string{"0.1", "-1.7976931348623157e308"}, []string{"0.1", "-1.7976931348623157e+308"}},
		{"FLOAT", arrow.PrimitiveTypes.Float32, []string{"0.5", "16777216"}, []string{"0.5", "16777216.0"}},
		{"DECIMAL(18,2)", &arrow.Decimal128Type{Precision: 18, Scale: 2}, []string{`"-9999999999999999.99"`, `"0.01"`}, []string{"-9999999999999999.99", "0.01"}},
		{"DECIMAL(18,17)", &arrow.Decimal128Type{Precision: 18, Scale: 17}, []string{`"0.00000000000000001"`, `"-9.99999999999999999"`}, []string{"0.00000000000000001", "-9.99999999999999999"}},
		{"DECIMAL(5,0)", &arrow.Decimal128Type{Precision: 5, Scale: 0}, []string{`"-99999"`, `"7"`}, []string{"-99999", "7"}},
		{"DECIMAL(38,10)", &arrow.Decimal128Type{Precision: 38, Scale: 10}, []string{`"-9999999999999999999999999999.9999999999"`, `"1.0000000000"`}, []string{"-9999999999999999999999999999.9999999999", "1.0000000000"}},
		{"VARCHAR", arrow.BinaryTypes.String, []string{`""`, `"ü\u0001 '\\"`}, []string{"", "ü\x01 '\\"}},
		{"JSON", arrow.BinaryTypes.String, []string{`"{\"a\": 1.50}"`, `"null"`}, []string{`{"a": 1.50}`, "null"}},
		{"UUID", arrow.BinaryTypes.String, []string{`"6f1f4bde-8a5f-4f0e-9d36-0c1a2b3c4d5e"`, `"ffffffff-ffff-ffff-ffff-ffffffffffff"`}, []string{"6f1f4bde-8a5f-4f0e-9d36-0c1a2b3c4d5e", "ffffffff-ffff-ffff-ffff-ffffffffffff"}},
		{"BLOB", arrow.BinaryTypes.Binary, []string{`"AP8="`, `""`}, []string{`\x00\xFF`, ""}},
		{"DATE", arrow.FixedWidthTypes.Date32, []string{fmt.Sprint(-719162), fmt.Sprint(math.MaxInt32)}, []string{"0001-01-01", "infinity"}},
		{"TIME", arrow.FixedWidthTypes.Time64us, []string{`"23:59:59.999999"`, `"00:00:00"`}, []string{"23:59:59.999999", "00:00:00"}},
		{"TIMESTAMP", microseconds, []string{`"1969-12-31 23:59:59.999999"`, fmt.Sprint(-int64(math.MaxInt64))}, []string{"1969-12-31 23:59:59.999999", "-infinity"}},
		{"TIMESTAMP WITH TIME ZONE", microsecondsUTC, []string{`"2026-01-01 00:00:00.000001"`, `"9999-12-31 23:59:59.999999"`}, []string{"2026-01-01 00:00:00.000001+00", "9999-12-31 23:59:59.999999+00"}},
		{"VARCHAR[]", arrow.ListOf(arrow.BinaryTypes.String), []string{`["a", null, "b, \"c\""]`, `[]`}, []string{`[a, NULL, 'b, "c"']`, "[]"}},
		{"BIGINT[]", arrow.ListOf(arrow.PrimitiveTypes.Int64), []string{`["9223372036854775807"]`, `[null]`}, []string{"[9223372036854775807]", "[NULL]"}},
		{"DOUBLE[]", arrow.ListOf(arrow.PrimitiveTypes.Float64), []string{`[0.1]`, `[]`}, []string{"[0.1]", "[]"}},
	}
}

// batchOf makes one batch of a column: its values and then a NULL.
func (c typedColumn) batchOf(t *testing.T) arrow.RecordBatch {
	t.Helper()
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema([]arrow.Field{{Name: "v", Type: c.arrow, Nullable: true}}, nil))
	defer b.Release()
	for _, v := range c.json {
		if n, ok := number(v); ok {
			switch to := b.Field(0).(type) { // what Arrow would not read
			case *array.Date32Builder:
				to.Append(arrow.Date32(n))
				continue
			case *array.TimestampBuilder:
				to.Append(arrow.Timestamp(n))
				continue
			}
		}
		if err := b.Field(0).UnmarshalJSON([]byte("[" + v + "]")); err != nil {
			t.Fatalf("%s: %s: %v", c.typ, v, err)
		}
	}
	b.Field(0).AppendNull()
	return b.NewRecordBatch()
}

func number(text string) (n int64, ok bool) {
	_, err := fmt.Sscanf(text, "%d", &n)
	return n, err == nil
}

// once gives batches one after another.
func once(batches ...arrow.RecordBatch) func(context.Context, int) (arrow.RecordBatch, error) {
	return func(_ context.Context, i int) (arrow.RecordBatch, error) {
		if i == len(batches) {
			return nil, io.EOF
		}
		return batches[i], nil
	}
}

func sourceValues(t *testing.T, f *fixture) {
	f.open()
	for i, c := range sourceTypes() {
		g := &given{columns: []compute.Column{{Name: "v", Type: c.typ}}, next: once(c.batchOf(t))}
		name := fmt.Sprintf("r%d", i)
		rel, _ := f.input(compute.Input{Name: name, Format: "jdbc", Source: g})
		f.wantTypes(f.schema(rel), "v "+c.typ)
		head, err := f.ses.Head(t.Context(), rel, 10)
		if err != nil {
			t.Fatalf("%s: %v", c.typ, err)
		}
		if len(head) != 3 || head[2][0] != nil {
			t.Errorf("%s: rows are %v, want two values and a NULL", c.typ, head)
			continue
		}
		for j, want := range c.want {
			if head[j][0] == nil || *head[j][0] != want {
				t.Errorf("%s: value %d is %v, want %q", c.typ, j, texts(head[j]), want)
			}
		}
		if g.reads.Load() != 1 || g.closed.Load() != 1 {
			t.Errorf("%s: read %d times and closed %d times, want once", c.typ, g.reads.Load(), g.closed.Load())
		}
	}
}

func texts(values []*string) (all []string) {
	for _, v := range values {
		if v == nil {
			all = append(all, "NULL")
			continue
		}
		all = append(all, *v)
	}
	return all
}

// A float that is no number, and infinite ones, which JSON does not have.
func sourceFloats(t *testing.T, f *fixture) {
	f.open()
	b := array.NewFloat64Builder(memory.DefaultAllocator)
	b.AppendValues([]float64{math.NaN(), math.Inf(1), math.Inf(-1), math.Copysign(0, -1)}, nil)
	batch := array.NewRecordBatch(arrow.NewSchema([]arrow.Field{{Name: "v", Type: arrow.PrimitiveTypes.Float64}}, nil), []arrow.Array{b.NewArray()}, 4)
	rel, _ := f.input(compute.Input{Name: "r", Format: "jdbc", Source: &given{columns: []compute.Column{{Name: "v", Type: "DOUBLE"}}, next: once(batch)}})
	head, err := f.ses.Head(t.Context(), rel, 10)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"nan", "inf", "-inf", "-0.0"} {
		if *head[i][0] != want {
			t.Errorf("value %d is %s, want %s", i, *head[i][0], want)
		}
	}
}

// counting gives so many rows of one BIGINT column, in batches of any size.
func counting(sizes ...int) *given {
	first := int64(0)
	return &given{columns: []compute.Column{{Name: "id", Type: "BIGINT"}}, next: func(_ context.Context, i int) (arrow.RecordBatch, error) {
		if i == len(sizes) {
			return nil, io.EOF
		}
		b := array.NewInt64Builder(memory.DefaultAllocator)
		for range sizes[i] {
			b.Append(first)
			first++
		}
		return array.NewRecordBatch(arrow.NewSchema([]arrow.Field{{Name: "id", Type: arrow.PrimitiveTypes.Int64}}, nil), []arrow.Array{b.NewArray()}, int64(sizes[i])), nil
	}}
}

func sourceBatches(t *testing.T, f *fixture) {
	f.open()
	g := counting(1, 0, 2048, 2049, 5000, 0, 3)
	rel, _ := f.input(compute.Input{Name: "r", Format: "jdbc", Source: g})
	f.count(rel, 1+2048+2049+5000+3)
	f.prepare("s", compute.Step{Name: "s", SQL: "SELECT count(DISTINCT a.id) AS n, max(a.id) AS m FROM r a JOIN r b USING (id)"})
	f.wantRows(f.rows("s"), "9101|9100")
	if g.reads.Load() != 1 {
		t.Errorf("the source was read %d times", g.reads.Load())
	}
	rel, _ = f.input(compute.Input{Name: "none", Format: "jdbc", Source: counting()})
	f.count(rel, 0)
	f.wantTypes(f.schema(rel), "id BIGINT")
}

func sourceDeclared(t *testing.T, f *fixture) {
	f.open()
	text := typedColumn{typ: "VARCHAR", arrow: arrow.BinaryTypes.String, json: []string{`"1.50"`, `"2.5"`}}
	columns := []compute.Column{{Name: "V", Type: "VARCHAR"}}
	rel, _ := f.input(compute.Input{Name: "r", Format: "jdbc", Columns: []compute.Column{{Name: "v", Type: "decimal(18,2)"}}, Source: &given{columns: columns, next: once(text.batchOf(t))}})
	f.wantTypes(f.schema(rel), "v DECIMAL(18,2)")
	f.wantRows(f.rows(rel), "1.50", "2.50", "NULL")
	_, _, err := f.ses.Input(t.Context(), compute.Input{Name: "s", Format: "jdbc", Columns: []compute.Column{{Name: "v", Type: "integer"}}, Source: &given{columns: columns, next: once(text.batchOf(t))}})
	f.wantError(err, compute.Error{Kind: compute.InputInvalid, Input: "s", Column: "v", Message: `the value "1.50" (VARCHAR) is no INTEGER without loss`})
	wide := typedColumn{typ: "BIGINT", arrow: arrow.PrimitiveTypes.Int64, json: []string{`"4611686018427387905"`}}
	_, _, err = f.ses.Input(t.Context(), compute.Input{Name: "w", Format: "jdbc", Columns: []compute.Column{{Name: "v", Type: "double"}},
		Source: &given{columns: []compute.Column{{Name: "v", Type: "BIGINT"}}, next: once(wide.batchOf(t))}})
	f.wantError(err, compute.Error{Kind: compute.InputInvalid, Input: "w", Column: "v", Message: `the value "4611686018427387905" (BIGINT) is no DOUBLE without loss`})
	_, _, err = f.ses.Input(t.Context(), compute.Input{Name: "u", Format: "jdbc", Columns: []compute.Column{{Name: "other", Type: "double"}}, Source: counting(1)})
	f.wantError(err, compute.Error{Kind: compute.InputInvalid, Input: "u", Message: "it has no column other"})
}

func sourceMistakes(t *testing.T, f *fixture) {
	f.open()
	broken := counting(3000, 10)
	whole := broken.next
	cause := errors.New("the server closed the connection")
	broken.next = func(ctx context.Context, i int) (arrow.RecordBatch, error) {
		if i == 1 {
			return nil, &compute.Error{Kind: compute.InputInvalid, Column: "id", Message: "a value is lost", Err: cause}
		}
		return whole(ctx, i)
	}
	_, _, err := f.ses.Input(t.Context(), compute.Input{Name: "r", Format: "jdbc", Source: broken})
	if e := f.wantError(err, compute.Error{Kind: compute.InputInvalid, Input: "r", Column: "id", Message: "a value is lost"}); !errors.Is(e, cause) {
		t.Errorf("the cause is lost: %v", err)
	}
	if broken.closed.Load() != 1 {
		t.Errorf("closed %d times after an error", broken.closed.Load())
	}
	twins := counting(1)
	twins.columns = []compute.Column{{Name: "id", Type: "BIGINT"}, {Name: "ID", Type: "BIGINT"}}
	_, _, err = f.ses.Input(t.Context(), compute.Input{Name: "r", Format: "jdbc", Source: twins})
	f.wantError(err, compute.Error{Kind: compute.InputInvalid, Input: "r", Column: "ID", Message: "another column has the same name"})

	// What was refused has left no relation behind.
	rel, _ := f.input(compute.Input{Name: "r", Format: "jdbc", Source: counting(2)})
	f.count(rel, 2)
}

func sourceCancelled(t *testing.T, f *fixture) {
	f.open()
	reason := errors.New("the lease was lost")
	ctx, stop := context.WithCancelCause(t.Context())
	g := counting(10)
	first := g.next
	g.next = func(ctx context.Context, i int) (arrow.RecordBatch, error) {
		if i == 0 {
			return first(ctx, i)
		}
		stop(reason)
		<-ctx.Done()
		return nil, ctx.Err()
	}
	done := make(chan error, 1)
	go func() {
		_, _, err := f.ses.Input(ctx, compute.Input{Name: "r", Format: "jdbc", Source: g})
		done <- err
	}()
	select {
	case err := <-done:
		if !errors.Is(err, reason) {
			t.Errorf("error is %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Error("still reading 10 s after it was cancelled")
	}
}
