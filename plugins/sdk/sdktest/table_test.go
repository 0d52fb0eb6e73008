//go:build !wasip1

package sdktest_test

import (
	"bytes"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"github.com/ubunye-io/ubunye/engine/abi"
	"github.com/ubunye-io/ubunye/plugins/sdk"
	"github.com/ubunye-io/ubunye/plugins/sdk/sdktest"
)

// A table of a test reads as the same values by Arrow's own reader and by the SDK's.
func TestTable(t *testing.T) {
	at := time.Date(2026, 1, 31, 5, 6, 7, 500_000_000, time.UTC)
	columns := []sdk.Field{{Name: "b", Kind: sdk.Bool}, {Name: "i8", Kind: sdk.Int, Bits: 8}, {Name: "i64", Kind: sdk.Int, Bits: 64}, {Name: "u32", Kind: sdk.Uint, Bits: 32},
		{Name: "f32", Kind: sdk.Float, Bits: 32}, {Name: "f64", Kind: sdk.Float, Bits: 64}, {Name: "d", Kind: sdk.Decimal, Precision: 20, Scale: 3}, {Name: "s", Kind: sdk.Text},
		{Name: "bin", Kind: sdk.Binary}, {Name: "day", Kind: sdk.Date}, {Name: "tm", Kind: sdk.Time, Digits: 6}, {Name: "ts", Kind: sdk.Timestamp, Digits: 6},
		{Name: "tz", Kind: sdk.Timestamp, Digits: 3, Zone: "UTC"}}
	values := []any{true, -5, -1 << 62, uint64(4_000_000_000), -0.5, 0.1, "-1234.5", "ä", []byte{1, 255}, at, at, at, at}
	table := sdktest.Table(columns, [][]any{values, make([]any, len(columns))}, [][]any{values})
	want := []string{"true", "-5", "-4611686018427387904", "4000000000", "-0.5", "0.1", "-1234.500", "ä", "01ff", "2026-01-31", "05:06:07.5", "2026-01-31 05:06:07.5", "2026-01-31 05:06:07.5+00"}

	h := &sdktest.Host{Relations: map[string]sdktest.Relation{"r": table}}
	rows, err := h.Rows(abi.RowsRequest{Relation: "r"})
	if err != nil {
		t.Fatal(err)
	}
	if fields, err := rows.Fields(); err != nil || fmt.Sprint(fields) != fmt.Sprint(columns) {
		t.Fatalf("%v, %v", fields, err)
	}
	for _, n := range []int{2, 1} {
		b, err := rows.Next()
		if err != nil || b.Rows != n {
			t.Fatalf("%+v, %v", b, err)
		}
		for i := range b.Rows {
			for k := range b.Columns {
				if got := string(b.Columns[k].AppendText(nil, i)); b.Columns[k].Null(i) != (i == 1) || i == 0 && got != want[k] {
					t.Errorf("row %d of %s: %q, want %q", i, columns[k].Name, got, want[k])
				}
			}
		}
	}
	if _, err := rows.Next(); err != io.EOF {
		t.Error(err)
	}
	if table.Rows != 3 || table.Columns[6].Type != "DECIMAL(20,3)" {
		t.Errorf("%d rows, %+v", table.Rows, table.Columns)
	}

	arrow, err := ipc.NewReader(bytes.NewReader(bytes.Join(table.Messages, nil)))
	if err != nil {
		t.Fatal(err)
	}
	theirs := []string{"true", "-5", "-4611686018427387904", "4000000000", "-0.5", "0.1", "-1234.5", "ä", "Af8=", "2026-01-31", "05:06:07.500000", "2026-01-31T05:06:07.5Z", "2026-01-31T05:06:07.5Z"}
	batches := 0
	for ; arrow.Next(); batches++ {
		for k := range columns {
			for i := range int(arrow.RecordBatch().NumRows()) {
				want := theirs[k]
				if i == 1 {
					want = array.NullValueStr
				}
				if got := arrow.RecordBatch().Column(k).ValueStr(i); got != want {
					t.Errorf("Arrow reads row %d of %s as %q, want %q", i, columns[k].Name, got, want)
				}
			}
		}
	}
	if arrow.Err() != nil || batches != 2 {
		t.Errorf("%d batches, %v", batches, arrow.Err())
	}
}

// Rows of named columns come in the order of the names.
func TestColumnsAreChosen(t *testing.T) {
	columns := []sdk.Field{{Name: "id", Kind: sdk.Int, Bits: 64}, {Name: "sky", Kind: sdk.Text}}
	h := &sdktest.Host{Relations: map[string]sdktest.Relation{"r": sdktest.Table(columns, [][]any{{1, "sun"}})}}
	rows, err := h.Rows(abi.RowsRequest{Relation: "r", Columns: []string{"SKY", "id"}})
	if err != nil {
		t.Fatal(err)
	}
	b, err := rows.Next()
	if err != nil || len(b.Columns) != 2 || string(b.Columns[0].Bytes(0)) != "sun" || b.Columns[1].Int(0) != 1 {
		t.Fatalf("%+v, %v", b, err)
	}
	if _, err := h.Rows(abi.RowsRequest{Relation: "r", Columns: []string{"rain"}}); err == nil {
		t.Error("a column that is not there was chosen")
	}
}

func TestTablePanicsForAnotherKind(t *testing.T) {
	defer func() {
		if got := fmt.Sprint(recover()); got != "column n cannot hold true" {
			t.Errorf("%s", got)
		}
	}()
	sdktest.Table([]sdk.Field{{Name: "n", Kind: sdk.Int, Bits: 64}}, [][]any{{true}})
}
