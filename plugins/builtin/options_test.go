package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/ubunye-io/ubunye/engine/abi"
	"github.com/ubunye-io/ubunye/plugins/csv"
	"github.com/ubunye-io/ubunye/plugins/delta"
	jsonwriter "github.com/ubunye-io/ubunye/plugins/json"
	"github.com/ubunye-io/ubunye/plugins/parquet"
	"github.com/ubunye-io/ubunye/plugins/sdk"
	"github.com/ubunye-io/ubunye/plugins/sdk/sdktest"
)

// The published schema and the checks of plan agree on each value of each option.
func TestOptionsSchemaAgreesWithPlan(t *testing.T) {
	texts := []any{"", "a", "%d/%m", "é", "a\nb", "\x00", strings.Repeat("x", 100), strings.Repeat("x", 101)}
	signs := []any{"", "|", "\t", "\x01", "é", "\n", "\r", "\x00", "||", "||||", "|||||", "\x7f"}
	for _, c := range []struct {
		writer sdk.Writer
		values map[string][]any
	}{
		{parquet.Writer(), map[string][]any{
			"compression":       {"zstd", "snappy", "gzip", "lz4", "brotli", "none", "lzo", ""},
			"compression_level": {0, 1, 22, 23, -1},
			"row_group_size":    {2047, 2048, 100_000_000, 100_000_001},
			"dictionary":        {"yes"},
		}},
		{csv.Writer(), map[string][]any{
			"compression": {"zstd", "gzip", "none", "snappy", ""}, "header": {true, false},
			"delimiter": signs, "quote": signs, "escape": signs, "null": texts, "date_format": texts, "timestamp_format": texts, "line_end": {"x"},
		}},
		{jsonwriter.Writer(), map[string][]any{
			"compression": {"zstd", "gzip", "none", "snappy", ""}, "layout": {"lines", "array", "pretty"}, "date_format": texts, "timestamp_format": texts, "header": {true},
		}},
		{delta.Writer{}, map[string][]any{
			"compression":    {"zstd", "snappy", "gzip", "lz4", "brotli", "none", "lzo", ""},
			"row_group_size": {2047, 2048, 100_000_000, 100_000_001},
			"timestamp_ntz":  {true, false},
			"dictionary":     {"yes"},
		}},
	} {
		d := c.writer.Describe()
		schema := compile(t, d.Options)
		for name, all := range c.values {
			for _, v := range all {
				answer, err := c.writer.Plan(&sdktest.Host{}, abi.PlanRequest{Output: abi.Output{Mode: "append", Target: "/lake", Options: map[string]string{name: fmt.Sprint(v)}}})
				if err != nil {
					t.Fatal(err)
				}
				data, _ := json.Marshal(map[string]any{name: v})
				instance, err := jsonschema.UnmarshalJSON(strings.NewReader(string(data)))
				if err != nil {
					t.Fatal(err)
				}
				if err := schema.Validate(instance); (err == nil) != (len(answer.Problems) == 0) {
					t.Errorf("%s: %s: %q: the schema says %v, plan says %+v", d.Name, name, v, err, answer.Problems)
				}
			}
		}
	}
}

func compile(t *testing.T, options abi.JSON) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(options)))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("options.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("options.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}
