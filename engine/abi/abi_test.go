package abi_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/ubunye-io/ubunye/engine/abi"
)

func TestClass(t *testing.T) {
	d := abi.Description{Modes: []abi.Mode{
		{Name: "append", Class: abi.ClassNamed, Exceptions: []abi.Exception{
			{Options: map[string]string{"replace_where": abi.AnyValue}, Class: abi.ClassReplaces},
			{Options: map[string]string{"once": "table", "keep": abi.AnyValue}, Class: abi.ClassOnce},
			{Class: abi.ClassClaims}, // without a condition: never
		}},
		{Name: "overwrite", Class: abi.ClassReplaces},
	}}
	for _, c := range []struct {
		mode    string
		options map[string]string
		class   abi.Class
		ok      bool
	}{
		{"append", nil, abi.ClassNamed, true},
		{"append", map[string]string{"replace_where": ""}, abi.ClassReplaces, true},
		{"append", map[string]string{"once": "table"}, abi.ClassNamed, true},
		{"append", map[string]string{"once": "table", "keep": "1"}, abi.ClassOnce, true},
		{"append", map[string]string{"once": "no", "keep": "1"}, abi.ClassNamed, true},
		{"append", map[string]string{"once": "table", "keep": "1", "replace_where": "a"}, abi.ClassReplaces, true},
		{"overwrite", map[string]string{"replace_where": "a"}, abi.ClassReplaces, true},
		{"merge", nil, "", false},
	} {
		if class, ok := d.Class(c.mode, c.options); class != c.class || ok != c.ok {
			t.Errorf("%s %v: %q, %t", c.mode, c.options, class, ok)
		}
	}
}

func TestCapability(t *testing.T) {
	for op, want := range map[abi.Operation]abi.Capability{abi.OpEncode: abi.CapRelation, abi.OpFileClose: abi.CapFiles,
		"sql.exec": abi.CapSQL, "encode": "", "": "", ".x": ""} {
		if got := op.Capability(); got != want {
			t.Errorf("%q: %q", op, got)
		}
	}
}

// What is said arrives: every field of every message survives JSON.
func TestMessagesSurviveJSON(t *testing.T) {
	minimum := "1"
	file := abi.StagedFile{Name: "n", Partition: map[string]string{"dt": ""}, Rows: 1, Bytes: 2, Columns: []abi.ColumnStats{{Name: "c", Nulls: 3, Min: &minimum}}}
	out := abi.Output{Name: "o", Mode: "append", Target: "/t", PartitionBy: []string{"p"}, SortBy: []string{"s"}, TargetFileSize: 4, Options: map[string]string{"k": "v"}}
	now := "2026-11-30T01:02:03.000000004Z"
	for _, m := range []any{
		&abi.PlanRequest{Writer: "w", Output: out, Epoch: 5, Time: now, Memory: 6},
		&abi.PlanAnswer{Class: abi.ClassOnce, Target: "/t", Problems: []abi.Problem{{Field: "f", Message: "m", Hint: "h"}}, Will: "w"},
		&abi.StageRequest{Writer: "w", Output: out, Relation: "r", Schema: []abi.Column{{Name: "c", Type: "t"}}, Epoch: 5, Time: now, Memory: 6},
		&abi.StageAnswer{Files: []abi.StagedFile{file}, Rows: 1},
		&abi.EncodeRequest{Relation: "r", Format: "csv", Options: map[string]string{"k": "v"}, PartitionBy: []string{"p"}, OrderBy: []string{"s"}, TargetFileSize: 7, Statistics: true},
		&abi.EncodeAnswer{Files: []abi.StagedFile{file}},
		&abi.DeriveRequest{SQL: "s", Inputs: []abi.DeriveInput{{Name: "n", Relation: "r"}, {Name: "m", Files: []string{"f"}}}},
		&abi.DescribeAnswer{ABI: 1, Writers: []abi.Description{{ABI: 1, Name: "n", Version: "v", Doc: "d", Options: abi.JSON(`{}`), Capabilities: []abi.Capability{abi.CapSQL},
			Modes: []abi.Mode{{Name: "m", Class: abi.ClassOnce, Exceptions: []abi.Exception{{Options: map[string]string{"k": "*"}, Class: abi.ClassNamed}}}}}}},
		&abi.Failure{Code: "c", Message: "m", Hint: "h", Retryable: true},
		&abi.FileCreateRequest{Partition: map[string]string{"dt": "x"}, Extension: "txt"},
		&abi.RowsRequest{Relation: "r", Columns: []string{"c"}},
	} {
		data, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		again := reflect.New(reflect.TypeOf(m).Elem()).Interface()
		if err := json.Unmarshal(data, again); err != nil || !reflect.DeepEqual(m, again) {
			t.Errorf("%T: %s became %+v (%v)", m, data, again, err)
		}
	}
}
