package json_test

import (
	"fmt"
	"testing"

	"github.com/ubunye-io/ubunye/engine/abi"
	"github.com/ubunye-io/ubunye/plugins/json"
	"github.com/ubunye-io/ubunye/plugins/sdk/sdktest"
)

func plan(t *testing.T, out abi.Output) abi.PlanAnswer {
	t.Helper()
	if out.Mode == "" {
		out.Mode = "append"
	}
	out.Target = "/lake"
	answer, err := json.Writer().Plan(nil, abi.PlanRequest{Output: out})
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

func TestPlan(t *testing.T) {
	got := plan(t, abi.Output{PartitionBy: []string{"dt"}, Options: map[string]string{"compression": "zstd", "layout": "array"}})
	if got.Will != "append JSON files (zstd) to /lake, partitioned by dt" || got.Class != abi.ClassClaims || len(got.Problems) != 0 {
		t.Errorf("got %+v", got)
	}
	got = plan(t, abi.Output{Mode: "merge", Options: map[string]string{"layout": "pretty"}})
	want := `[{mode "merge" is no mode of json outputs the modes are append, overwrite, overwrite_partitions, error_if_exists, ignore} {options.layout "pretty" is no layout of JSON files one of lines, array}]`
	if fmt.Sprint(got.Problems) != want || got.Will != "" {
		t.Errorf("got %+v", got.Problems)
	}
}

func TestStageTellsTheEngineEveryOption(t *testing.T) {
	columns := []abi.Column{{Name: "id", Type: "BIGINT"}}
	h := &sdktest.Host{Relations: map[string]sdktest.Relation{"clean": {Columns: columns, Rows: 7}}}
	out := abi.Output{TargetFileSize: 1 << 20, Options: map[string]string{"date_format": "%d/%m/%Y"}}
	answer, err := json.Writer().Stage(h, abi.StageRequest{Output: out, Relation: "clean", Schema: columns})
	if err != nil || answer.Rows != 7 {
		t.Fatal(answer, err)
	}
	want := abi.EncodeRequest{Relation: "clean", Format: "json", TargetFileSize: 1 << 20,
		Options: map[string]string{"compression": "none", "layout": "lines", "date_format": "%d/%m/%Y"}}
	if len(h.Encoded) != 1 || fmt.Sprint(h.Encoded[0]) != fmt.Sprint(want) {
		t.Fatalf("encoded %+v", h.Encoded)
	}
}
