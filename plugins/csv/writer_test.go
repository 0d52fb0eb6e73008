package csv_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ubunye-io/ubunye/engine/abi"
	"github.com/ubunye-io/ubunye/plugins/csv"
	"github.com/ubunye-io/ubunye/plugins/sdk/sdktest"
)

func plan(t *testing.T, out abi.Output) abi.PlanAnswer {
	t.Helper()
	if out.Mode == "" {
		out.Mode = "append"
	}
	out.Target = "/lake"
	answer, err := csv.Writer().Plan(nil, abi.PlanRequest{Output: out})
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

func TestPlan(t *testing.T) {
	for want, out := range map[string]abi.Output{
		"append CSV files (none) to /lake":                        {},
		"append CSV files (gzip) to /lake":                        {Options: map[string]string{"compression": "gzip", "null": "NULL", "quote": "'", "escape": "\\"}},
		"append CSV files (none) to /lake, partitioned by dt, id": {PartitionBy: []string{"dt", "id"}, Options: map[string]string{"delimiter": "\t"}},
	} {
		got := plan(t, out)
		if got.Will != want || got.Class != abi.ClassClaims || got.Target != "/lake" || len(got.Problems) != 0 {
			t.Errorf("want %q, got %+v", want, got)
		}
	}
}

// Signs that readers could not tell apart are refused before anything is read.
func TestPlanProblems(t *testing.T) {
	for _, c := range []struct {
		options map[string]string
		want    string
	}{
		{map[string]string{"delimiter": `"`}, `options.quote: the quote is the delimiter, "\"" (choose signs that differ)`},
		{map[string]string{"delimiter": "|", "escape": "|"}, `options.escape: the escape is the delimiter, "|" (choose signs that differ)`},
		{map[string]string{"null": "a,b"}, `options.null: "a,b" holds the delimiter, the quote or the escape (choose signs that differ)`},
		{map[string]string{"null": "''", "quote": "'"}, `options.null: "''" holds the delimiter, the quote or the escape (choose signs that differ)`},
		{map[string]string{"delimiter": "é"}, `options.delimiter: "é" is no delimiter (one ASCII character, no line end)`},
		{map[string]string{"header": "yes"}, `options.header: "yes" is no value of header (true or false)`},
		{map[string]string{"compresion": "gzip"}, `options.compresion: csv outputs have no option "compresion" (the options are compression, delimiter, header, quote, escape, null, date_format and timestamp_format)`},
	} {
		answer := plan(t, abi.Output{Options: c.options})
		var lines []string
		for _, p := range answer.Problems {
			lines = append(lines, fmt.Sprintf("%s: %s (%s)", p.Field, p.Message, p.Hint))
		}
		if got := strings.Join(lines, "\n"); got != c.want || answer.Will != "" {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}

func TestStageTellsTheEngineEveryOption(t *testing.T) {
	columns := []abi.Column{{Name: "id", Type: "BIGINT"}, {Name: "dt", Type: "DATE"}}
	h := &sdktest.Host{Relations: map[string]sdktest.Relation{"clean": {Columns: columns, Rows: 7}}}
	out := abi.Output{PartitionBy: []string{"dt"}, SortBy: []string{"id"}, Options: map[string]string{"delimiter": ";"}}
	answer, err := csv.Writer().Stage(h, abi.StageRequest{Output: out, Relation: "clean", Schema: columns})
	if err != nil || answer.Rows != 7 || len(answer.Files) != 1 {
		t.Fatal(answer, err)
	}
	want := abi.EncodeRequest{Relation: "clean", Format: "csv", PartitionBy: []string{"dt"}, OrderBy: []string{"id"},
		Options: map[string]string{"compression": "none", "delimiter": ";", "header": "true", "quote": `"`}}
	if len(h.Encoded) != 1 || fmt.Sprint(h.Encoded[0]) != fmt.Sprint(want) {
		t.Fatalf("encoded %+v", h.Encoded)
	}
}
