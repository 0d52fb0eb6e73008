package main

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/ubunye-io/ubunye/engine/abi"
	"github.com/ubunye-io/ubunye/plugins/sdk"
	"github.com/ubunye-io/ubunye/plugins/sdk/sdktest"
)

// relation has the columns rain and sky; each list of rows is a batch.
func relation(batches ...[][]any) sdktest.Relation {
	return sdktest.Table([]sdk.Field{{Name: "rain", Kind: sdk.Int, Bits: 64}, {Name: "sky", Kind: sdk.Text}}, batches...)
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
	h, answer, err := stage(t, relation([][]any{{12, "rain"}, {-7, "schön"}}, [][]any{{nil, nil}, {12345, "ABCDEF"}}), abi.Output{SortBy: []string{"rain"}})
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
	pair := [][]any{{1, "a"}, {2, "b"}}
	h, answer, err := stage(t, relation(pair, pair, pair), abi.Output{TargetFileSize: 25})
	if err != nil || len(h.Files) != 2 || answer.Rows != 6 || answer.Files[0].Rows != 4 || answer.Files[1].Rows != 2 || h.Files[1].Len() != 24 {
		t.Fatalf("%d files, %+v, %v", len(h.Files), answer, err)
	}
	if h, answer, err = stage(t, relation(), abi.Output{}); err != nil || len(h.Files) != 1 || h.Files[0].Len() != 0 || len(answer.Files) != 1 || answer.Rows != 0 {
		t.Fatalf("no rows: %d files, %+v, %v", len(h.Files), answer, err)
	}
}

func TestWhatDoesNotFit(t *testing.T) {
	for _, c := range []struct {
		value any
		want  string
	}{{"drizzle", `column sky: "drizzle" does not fit`}, {"a\nb", `column sky: "a\nb" has a line break`}} {
		_, _, err := stage(t, relation([][]any{{1, c.value}}), abi.Output{})
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
		h := &sdktest.Host{Relations: map[string]sdktest.Relation{"clean": relation(), "derived_1": relation()}, Fail: func(o abi.Operation) *abi.Failure {
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
		answer, err := fixedWidth{}.Plan(nil, abi.PlanRequest{Output: c.out})
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
