// Package parquet is the writer of Parquet files. It decides names, partitions and options; the compute
// engine encodes, so no row passes through it.
package parquet

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/ubunye-io/ubunye/engine/abi"
	"github.com/ubunye-io/ubunye/plugins/sdk"
)

// Writer upholds sdk.Writer.
type Writer struct{}

// options is the JSON Schema of the output's options.
const options = `{
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "compression": {
      "description": "How column pages are compressed.",
      "enum": ["zstd", "snappy", "gzip", "lz4", "brotli", "none"],
      "default": "zstd"
    },
    "compression_level": {
      "description": "1 (fastest) to 22 (smallest); with compression zstd only.",
      "type": "integer", "minimum": 1, "maximum": 22
    },
    "row_group_size": {
      "description": "Rows of a row group, roughly.",
      "type": "integer", "minimum": 2048, "maximum": 100000000
    }
  }
}`

// The limits of options; the schema says the same.
const (
	defaultCompression = "zstd"
	maxLevel           = 22 // zstd's own
	minRowGroup        = 2048
	maxRowGroup        = 100_000_000
)

func compressions() []string { return []string{"zstd", "snappy", "gzip", "lz4", "brotli", "none"} }

// Describe upholds sdk.Writer.
func (Writer) Describe() abi.Description {
	return abi.Description{
		Name: "parquet", Version: "1", Doc: "Apache Parquet files in a folder, flat or partitioned",
		Modes:        modes(),
		Options:      json.RawMessage(options),
		Capabilities: []abi.Capability{abi.CapRelation},
	}
}

// modes are those that the engine can carry out for any writer that stages files: it lands them, or
// puts staged folders in place.
func modes() []abi.Mode {
	return []abi.Mode{
		{Name: "append", Class: abi.ClassClaims},
		{Name: "overwrite", Class: abi.ClassReplaces},
		{Name: "overwrite_partitions", Class: abi.ClassReplaces},
		{Name: "error_if_exists", Class: abi.ClassClaims},
		{Name: "ignore", Class: abi.ClassClaims},
	}
}

func modeNames() string {
	var names []string
	for _, m := range modes() {
		names = append(names, m.Name)
	}
	return strings.Join(names, ", ")
}

// Plan upholds sdk.Writer.
func (w Writer) Plan(req abi.PlanRequest) (abi.PlanAnswer, error) {
	out := req.Output
	answer := abi.PlanAnswer{Target: out.Target}
	class, ok := w.Describe().Class(out.Mode, out.Options)
	if !ok {
		answer.Problems = append(answer.Problems, abi.Problem{Field: "mode",
			Message: fmt.Sprintf("%q is no mode of parquet outputs", out.Mode), Hint: "the modes are " + modeNames()})
	}
	answer.Class = class
	answer.Problems = append(answer.Problems, checkLayout(out)...)
	answer.Problems = append(answer.Problems, checkOptions(out.Options)...)
	if len(answer.Problems) == 0 {
		answer.Will = will(out)
	}
	return answer, nil
}

func will(out abi.Output) string {
	does := map[string]string{
		"append":               "append Parquet files (%s) to %s",
		"overwrite":            "replace what is in the folder by Parquet files (%s) in %s",
		"overwrite_partitions": "replace by Parquet files (%s) the partitions that the data has in %s",
		"error_if_exists":      "write Parquet files (%s), unless there is data, to %s",
		"ignore":               "write Parquet files (%s), unless there is data, to %s",
	}[out.Mode]
	line := fmt.Sprintf(does, compression(out.Options), out.Target)
	if len(out.PartitionBy) > 0 {
		line += ", partitioned by " + strings.Join(out.PartitionBy, ", ")
	}
	return line
}

func checkLayout(out abi.Output) (problems []abi.Problem) {
	if len(out.PartitionBy) > 0 && out.TargetFileSize > 0 {
		problems = append(problems, abi.Problem{Field: "target_file_size",
			Message: "target_file_size does not go with partition_by", Hint: "remove one of the two"})
	}
	if out.TargetFileSize < 0 {
		problems = append(problems, abi.Problem{Field: "target_file_size", Message: "target_file_size is negative"})
	}
	if out.Mode == "overwrite_partitions" && len(out.PartitionBy) == 0 {
		problems = append(problems, abi.Problem{Field: "partition_by",
			Message: "mode overwrite_partitions replaces partitions, and there are none", Hint: "name the columns, or use mode overwrite"})
	}
	seen := map[string]bool{}
	for _, column := range out.PartitionBy {
		name := strings.ToLower(column) // SQL names do not differ by case
		if column == "" {
			problems = append(problems, abi.Problem{Field: "partition_by", Message: "a column without a name"})
		} else if seen[name] {
			problems = append(problems, abi.Problem{Field: "partition_by", Message: fmt.Sprintf("column %q is named twice", column)})
		}
		seen[name] = true
	}
	return problems
}

func checkOptions(given map[string]string) (problems []abi.Problem) {
	say := func(name, hint, format string, args ...any) {
		problems = append(problems, abi.Problem{Field: "options." + name, Message: fmt.Sprintf(format, args...), Hint: hint})
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		value := given[name]
		switch name {
		case "compression":
			if !slices.Contains(compressions(), value) {
				say(name, "one of "+strings.Join(compressions(), ", "), "%q is no compression of Parquet files", value)
			}
		case "compression_level":
			if c := compression(given); c != "zstd" {
				say(name, "remove it, or set compression: zstd", "compression %s has no levels", c)
			} else if !within(value, 1, maxLevel) {
				say(name, fmt.Sprintf("1 (fastest) to %d (smallest)", maxLevel), "%q is no level of zstd", value)
			}
		case "row_group_size":
			if !within(value, minRowGroup, maxRowGroup) {
				say(name, fmt.Sprintf("%d to %d rows", minRowGroup, maxRowGroup), "%q is no size of a row group", value)
			}
		default:
			say(name, "the options are compression, compression_level and row_group_size", "parquet outputs have no option %q", name)
		}
	}
	return problems
}

func within(text string, least, most int) bool {
	n, err := strconv.Atoi(text)
	return err == nil && n >= least && n <= most
}

// encodeOptions is what the engine's encoder is told: every option given, and the default compression. Its
// names of compressions are those of the Parquet format, where "lz4" is an older one that few readers know.
func encodeOptions(given map[string]string) map[string]string {
	all := map[string]string{}
	maps.Copy(all, given)
	switch c := compression(given); c {
	case "none":
		all["compression"] = "uncompressed"
	case "lz4":
		all["compression"] = "lz4_raw"
	default:
		all["compression"] = c
	}
	return all
}

// compression is the one that the output has, in the pipeline's words.
func compression(given map[string]string) string {
	return cmp.Or(given["compression"], defaultCompression)
}

// Stage upholds sdk.Writer.
func (Writer) Stage(h sdk.Host, req abi.StageRequest) (abi.StageAnswer, error) {
	for _, column := range req.Output.PartitionBy {
		if !hasColumn(req.Schema, column) {
			return abi.StageAnswer{}, &abi.Failure{Code: abi.CodeInvalid,
				Message: fmt.Sprintf("partition_by names the column %q, which %q does not have", column, req.Relation),
				Hint:    "its columns are " + columnNames(req.Schema)}
		}
	}
	if len(req.Schema) == len(req.Output.PartitionBy) {
		return abi.StageAnswer{}, &abi.Failure{Code: abi.CodeInvalid,
			Message: "partition_by takes every column, so nothing is left for the files", Hint: "leave out at least one column"}
	}
	files, err := h.Encode(abi.EncodeRequest{
		Relation: req.Relation, Format: "parquet", Options: encodeOptions(req.Output.Options),
		PartitionBy: req.Output.PartitionBy, OrderBy: req.Output.SortBy, TargetFileSize: req.Output.TargetFileSize,
	})
	if err != nil {
		return abi.StageAnswer{}, err
	}
	answer := abi.StageAnswer{Files: files}
	for _, f := range files {
		answer.Rows += f.Rows
	}
	return answer, nil
}

func hasColumn(schema []abi.Column, name string) bool {
	return slices.ContainsFunc(schema, func(c abi.Column) bool { return strings.EqualFold(c.Name, name) })
}

func columnNames(schema []abi.Column) string {
	names := make([]string, len(schema))
	for i, c := range schema {
		names[i] = c.Name
	}
	return strings.Join(names, ", ")
}
