package parquet_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/ubunye-io/ubunye/engine/abi"
	"github.com/ubunye-io/ubunye/plugins/parquet"
	"github.com/ubunye-io/ubunye/plugins/sdk/sdktest"
)

func plan(t *testing.T, out abi.Output) abi.PlanAnswer {
	t.Helper()
	if out.Mode == "" {
		out.Mode = "append"
	}
	out.Target = "/lake"
	answer, err := parquet.Writer().Plan(nil, abi.PlanRequest{Output: out})
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

func TestPlan(t *testing.T) {
	for want, out := range map[string]abi.Output{
		"append Parquet files (zstd) to /lake":                                                         {},
		"append Parquet files (none) to /lake":                                                         {Options: map[string]string{"compression": "none"}},
		"replace what is in the folder by Parquet files (zstd) in /lake":                               {Mode: "overwrite"},
		"replace by Parquet files (zstd) the partitions that the data has in /lake, partitioned by dt": {Mode: "overwrite_partitions", PartitionBy: []string{"dt"}},
		"write Parquet files (zstd), unless there is data, to /lake":                                   {Mode: "ignore"},
		"append Parquet files (zstd) to /lake, partitioned by year, month":                             {PartitionBy: []string{"year", "month"}, Options: map[string]string{"compression_level": "22", "row_group_size": "2048"}},
	} {
		got := plan(t, out)
		class := abi.ClassClaims
		if strings.HasPrefix(out.Mode, "overwrite") {
			class = abi.ClassReplaces
		}
		if got.Will != want || got.Class != class || got.Target != "/lake" || len(got.Problems) != 0 {
			t.Errorf("want %q, got %+v", want, got)
		}
	}
}

// Every problem is told, with its place in the output and what would be right.
func TestPlanProblems(t *testing.T) {
	for _, c := range []struct {
		out  abi.Output
		want string
	}{
		{abi.Output{Mode: "merge"}, `mode: "merge" is no mode of parquet outputs (the modes are append, overwrite, overwrite_partitions, error_if_exists, ignore)`},
		{abi.Output{Mode: "overwrite_partitions"}, "partition_by: mode overwrite_partitions replaces partitions, and there are none (name the columns, or use mode overwrite)"},
		{abi.Output{PartitionBy: []string{"dt"}, TargetFileSize: 1}, "target_file_size: target_file_size does not go with partition_by (remove one of the two)"},
		{abi.Output{TargetFileSize: -1}, "target_file_size: target_file_size is negative ()"},
		{abi.Output{PartitionBy: []string{"Größe"}}, `partition_by: a column called "Größe" cannot name folders: readers would miss them, or find a column of another name (name it with letters of ASCII, digits and _ in a step, no _ in front)`},
		{abi.Output{PartitionBy: []string{"_x"}}, `partition_by: a column called "_x" cannot name folders: readers would miss them, or find a column of another name (name it with letters of ASCII, digits and _ in a step, no _ in front)`},
		{abi.Output{PartitionBy: []string{"dt", "DT"}}, `partition_by: column "DT" is named twice ()`},
		{abi.Output{PartitionBy: []string{""}}, "partition_by: a column without a name ()"},
		{abi.Output{Options: map[string]string{"compression": "ZIP", "compresion": "x", "row_group_size": "many"}},
			`options.compresion: parquet outputs have no option "compresion" (the options are compression, compression_level and row_group_size)
options.compression: "ZIP" is no compression of Parquet files (one of zstd, snappy, gzip, lz4, brotli, none)
options.row_group_size: "many" is no size of a row group (2048 to 100000000 rows)`},
		{abi.Output{Options: map[string]string{"compression": "snappy", "compression_level": "3"}},
			"options.compression_level: compression snappy has no levels (remove it, or set compression: zstd)"},
		{abi.Output{Options: map[string]string{"compression_level": "23"}}, `options.compression_level: "23" is no level of zstd (1 (fastest) to 22 (smallest))`},
	} {
		answer := plan(t, c.out)
		var lines []string
		for _, p := range answer.Problems {
			lines = append(lines, fmt.Sprintf("%s: %s (%s)", p.Field, p.Message, p.Hint))
		}
		if got := strings.Join(lines, "\n"); got != c.want || answer.Will != "" {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}

var schema = []abi.Column{{Name: "id", Type: "BIGINT"}, {Name: "dt", Type: "DATE"}}

func host() *sdktest.Host {
	return &sdktest.Host{Relations: map[string]sdktest.Relation{"clean": {Columns: schema, Rows: 7, Files: []abi.StagedFile{
		{Name: "a", Partition: map[string]string{"dt": "2026-01-01"}, Rows: 4}, {Name: "b", Rows: 3}}}}}
}

func TestStageHasTheEngineEncode(t *testing.T) {
	h := host()
	out := abi.Output{PartitionBy: []string{"DT"}, SortBy: []string{"id DESC"}, Options: map[string]string{"row_group_size": "4096"}}
	answer, err := parquet.Writer().Stage(h, abi.StageRequest{Output: out, Relation: "clean", Schema: schema})
	if err != nil || answer.Rows != 7 || len(answer.Files) != 2 {
		t.Fatal(answer, err)
	}
	want := abi.EncodeRequest{Relation: "clean", Format: "parquet", PartitionBy: []string{"DT"}, OrderBy: []string{"id DESC"},
		Options: map[string]string{"compression": "zstd", "row_group_size": "4096"}}
	if len(h.Encoded) != 1 || fmt.Sprint(h.Encoded[0]) != fmt.Sprint(want) {
		t.Fatalf("encoded %+v", h.Encoded)
	}
}

func TestStageRefusesPartitionsThatCannotBe(t *testing.T) {
	for columns, want := range map[string]string{
		"region": `partition_by names the column "region", which "clean" does not have; its columns are id, dt`,
		"dt,id":  "partition_by takes every column, so nothing is left for the files; leave out at least one column",
	} {
		h := host()
		_, err := parquet.Writer().Stage(h, abi.StageRequest{Output: abi.Output{PartitionBy: strings.Split(columns, ",")}, Relation: "clean", Schema: schema})
		var f *abi.Failure
		if !errors.As(err, &f) || f.Message+"; "+f.Hint != want || len(h.Encoded) != 0 {
			t.Errorf("%s: %v", columns, err)
		}
	}
}

func TestStageHandsOnFailures(t *testing.T) {
	full := &abi.Failure{Code: abi.CodeFailed, Message: "disk full"}
	h := host()
	h.Fail = func(op abi.Operation) *abi.Failure {
		if op == abi.OpEncode {
			return full
		}
		return nil
	}
	if _, err := parquet.Writer().Stage(h, abi.StageRequest{Relation: "clean", Schema: schema}); !errors.Is(err, full) {
		t.Fatal(err)
	}
}
