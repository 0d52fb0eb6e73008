package main

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/ubunye-io/ubunye/engine/abi"
	"github.com/ubunye-io/ubunye/plugins/sdk/sdktest"
)

// relation has the columns sky and rain, in that order, and a row for each pair; a batch for each list of pairs.
func relation(t *testing.T, batches ...[][2]any) sdktest.Relation {
	t.Helper()
	schema := arrow.NewSchema([]arrow.Field{{Name: "sky", Type: arrow.BinaryTypes.String, Nullable: true}, {Name: "rain", Type: arrow.PrimitiveTypes.Int64, Nullable: true}}, nil)
	var r sdktest.Relation
	put := func(p ipc.Payload, err error) {
		var b bytes.Buffer
		if err == nil {
			_, err = p.WritePayload(&b)
		}
		if err != nil {
			t.Fatal(err)
		}
		r.Messages = append(r.Messages, b.Bytes())
	}
	put(ipc.GetSchemaPayload(schema, memory.DefaultAllocator), nil)
	for _, rows := range batches {
		b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
		for _, row := range rows {
			for i, v := range row {
				switch v := v.(type) {
				case string:
					b.Field(i).(*array.StringBuilder).Append(v)
				case int:
					b.Field(i).(*array.Int64Builder).Append(int64(v))
				default:
					b.Field(i).AppendNull()
				}
			}
			r.Rows++
		}
		put(ipc.GetRecordBatchPayload(b.NewRecordBatch()))
	}
	return r
}

func stage(t *testing.T, r sdktest.Relation, out abi.Output) (*sdktest.Host, abi.StageAnswer, error) {
	t.Helper()
	h := &sdktest.Host{Relations: map[string]sdktest.Relation{"clean": r, "derived_1": r}}
	if out.Options == nil {
		out.Options = map[string]string{"widths": "sky=6 rain=5"}
	}
	answer, err := fixedWidth{}.Stage(h, abi.StageRequest{Output: out, Relation: "clean"})
	return h, answer, err
}

func TestLinesOfFixedWidth(t *testing.T) {
	h, answer, err := stage(t, relation(t, [][2]any{{"rain", 12}, {"schön", -7}}, [][2]any{{nil, nil}, {"ABCDEF", 12345}}), abi.Output{SortBy: []string{"rain"}})
	if err != nil {
		t.Fatal(err)
	}
	const want = "rain     12\nschön    -7\n           \nABCDEF12345\n"
	if len(h.Files) != 1 || h.Files[0].String() != want || !h.Files[0].Closed || h.Files[0].Request.Extension != "txt" {
		t.Fatalf("%d files: %q", len(h.Files), h.Files[0])
	}
	if answer.Rows != 4 || len(answer.Files) != 1 || answer.Files[0].Rows != 4 || answer.Files[0].Bytes != int64(len(want)) {
		t.Errorf("%+v", answer)
	}
	if len(h.Derived) != 1 || h.Derived[0].SQL != "SELECT * FROM unsorted ORDER BY rain" {
		t.Errorf("derived %+v", h.Derived)
	}
}

func TestFilesOfASize(t *testing.T) {
	pair := [][2]any{{"a", 1}, {"b", 2}}
	h, answer, err := stage(t, relation(t, pair, pair, pair), abi.Output{TargetFileSize: 25})
	if err != nil || len(h.Files) != 2 || answer.Rows != 6 || answer.Files[0].Rows != 4 || answer.Files[1].Rows != 2 || h.Files[1].Len() != 24 {
		t.Fatalf("%d files, %+v, %v", len(h.Files), answer, err)
	}
	if h, answer, err = stage(t, relation(t), abi.Output{}); err != nil || len(h.Files) != 1 || h.Files[0].Len() != 0 || len(answer.Files) != 1 || answer.Rows != 0 {
		t.Fatalf("no rows: %d files, %+v, %v", len(h.Files), answer, err)
	}
}

func TestWhatDoesNotFit(t *testing.T) {
	for _, c := range []struct {
		value any
		want  string
	}{{"drizzle", `column sky: "drizzle" does not fit`}, {"a\nb", `column sky: "a\nb" has a line break`}} {
		_, _, err := stage(t, relation(t, [][2]any{{c.value, 1}}), abi.Output{})
		var f *abi.Failure
		if !errors.As(err, &f) || f.Message != c.want || f.Hint == "" {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}

// What the engine refuses ends the writer with the engine's words.
func TestFailuresAreHandedOn(t *testing.T) {
	full := &abi.Failure{Code: abi.CodeFailed, Message: "the disk is full"}
	for _, op := range []abi.Operation{abi.OpRows, abi.OpFileCreate, abi.OpFileClose, abi.OpDerive} {
		h := &sdktest.Host{Relations: map[string]sdktest.Relation{"clean": relation(t), "derived_1": relation(t)}, Fail: func(o abi.Operation) *abi.Failure {
			if o == op {
				return full
			}
			return nil
		}}
		_, err := fixedWidth{}.Stage(h, abi.StageRequest{Relation: "clean", Output: abi.Output{SortBy: []string{"sky"}, Options: map[string]string{"widths": "sky=6 rain=5"}}})
		if !errors.Is(err, full) {
			t.Errorf("%s failed: %v", op, err)
		}
	}
}

func TestPlan(t *testing.T) {
	for _, c := range []struct {
		out  abi.Output
		want string // fields with a problem
	}{
		{abi.Output{Options: map[string]string{"widths": "day=10 sky=8"}}, ""},
		{abi.Output{}, "options.widths"},
		{abi.Output{Options: map[string]string{"widths": "day=10 sky"}}, "options.widths"},
		{abi.Output{Options: map[string]string{"widths": "day=0"}}, "options.widths"},
		{abi.Output{Options: map[string]string{"widths": "day=5 DAY=6"}}, "options.widths"},
		{abi.Output{Options: map[string]string{"widths": "a=1", "z": "", "b": ""}, PartitionBy: []string{"a"}}, "partition_by options.b options.z"},
	} {
		answer, err := fixedWidth{}.Plan(abi.PlanRequest{Output: c.out})
		if err != nil {
			t.Fatal(err)
		}
		var fields []string
		for _, p := range answer.Problems {
			fields = append(fields, p.Field)
		}
		if got := strings.Join(fields, " "); got != c.want {
			t.Errorf("%+v: problems of %q, want %q", c.out, got, c.want)
		}
	}
	if class, ok := (fixedWidth{}).Describe().Class("append", nil); class != abi.ClassClaims || !ok {
		t.Error(fmt.Sprint(class, ok))
	}
}
