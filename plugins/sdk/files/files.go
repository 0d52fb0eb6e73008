// Package files is for writers of files that the compute engine encodes: a writer says what its format is called and
// which options it has, and Format is the rest.
package files

import (
	"strconv"
	"strings"

	"github.com/ubunye-io/ubunye/engine/abi"
	"github.com/ubunye-io/ubunye/plugins/sdk"
)

// Format is a writer of files of one format, flat or partitioned. It upholds sdk.Writer.
type Format struct {
	Name    string // of the writer and, for the engine, of the format; as "csv"
	Title   string // as people write it in a sentence: "CSV"
	Doc     string // one line
	Options Options
	// Check finds what is wrong with options that are right one by one; nil: nothing is.
	Check func(given map[string]string) []abi.Problem
}

var _ sdk.Writer = Format{}

// Describe upholds sdk.Writer.
func (f Format) Describe() abi.Description {
	return abi.Description{
		Name: f.Name, Version: "1", Doc: f.Doc,
		Modes:        modes(),
		Options:      f.Options.Schema(),
		Capabilities: []abi.Capability{abi.CapRelation},
	}
}

// modes are those that the engine can carry out for any writer that stages files: it lands them, or puts
// staged folders in place.
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
func (f Format) Plan(_ sdk.Host, req abi.PlanRequest) (abi.PlanAnswer, error) {
	out := req.Output
	answer := abi.PlanAnswer{Target: out.Target}
	class, ok := abi.Description{Modes: modes()}.Class(out.Mode, out.Options)
	if !ok {
		answer.Problems = append(answer.Problems, abi.Problem{Field: "mode",
			Message: strconv.Quote(out.Mode) + " is no mode of " + f.Name + " outputs", Hint: "the modes are " + modeNames()})
	}
	answer.Class = class
	answer.Problems = append(answer.Problems, CheckLayout(out)...)
	wrong := f.Options.Check(f.Name, out.Options)
	if len(wrong) == 0 && f.Check != nil {
		wrong = f.Check(f.Options.WithDefaults(out.Options))
	}
	answer.Problems = append(answer.Problems, wrong...)
	if len(answer.Problems) == 0 {
		answer.Will = f.will(out)
	}
	return answer, nil
}

func (f Format) will(out abi.Output) string {
	what := f.Title + " files"
	if c := f.Options.WithDefaults(out.Options)["compression"]; c != "" {
		what += " (" + c + ")"
	}
	line := "append " + what + " to "
	switch out.Mode {
	case "overwrite":
		line = "replace what is in the folder by " + what + " in "
	case "overwrite_partitions":
		line = "replace by " + what + " the partitions that the data has in "
	case "error_if_exists", "ignore":
		line = "write " + what + ", unless there is data, to "
	}
	line += out.Target
	if len(out.PartitionBy) > 0 {
		line += ", partitioned by " + strings.Join(out.PartitionBy, ", ")
	}
	return line
}

// CheckLayout finds what is wrong with how an output divides its rows into files.
func CheckLayout(out abi.Output) (problems []abi.Problem) {
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
			problems = append(problems, abi.Problem{Field: "partition_by", Message: "column " + strconv.Quote(column) + " is named twice"})
		} else if !namesFolders(column) {
			problems = append(problems, abi.Problem{Field: "partition_by",
				Message: "a column called " + strconv.Quote(column) + " cannot name folders: readers would miss them, or find a column of another name",
				Hint:    "name it with letters of ASCII, digits and _ in a step, no _ in front"})
		}
		seen[name] = true
	}
	return problems
}

// namesFolders tells that all readers find a column of that name in the names of folders. The engine holds every writer to it; here
// it is told before anything is read.
func namesFolders(column string) bool {
	for _, c := range []byte(column) {
		if c != '_' && c != '.' && c != '-' && c != '~' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			return false
		}
	}
	return column[0] != '_' && column[0] != '.'
}

// Stage upholds sdk.Writer: the engine encodes, so no row passes through the writer.
func (f Format) Stage(h sdk.Host, req abi.StageRequest) (abi.StageAnswer, error) {
	for _, column := range req.Output.PartitionBy {
		if !hasColumn(req.Schema, column) {
			return abi.StageAnswer{}, &abi.Failure{Code: abi.CodeInvalid,
				Message: "partition_by names the column " + strconv.Quote(column) + ", which " + strconv.Quote(req.Relation) + " does not have",
				Hint:    "its columns are " + columnNames(req.Schema)}
		}
	}
	if len(req.Schema) == len(req.Output.PartitionBy) {
		return abi.StageAnswer{}, &abi.Failure{Code: abi.CodeInvalid,
			Message: "partition_by takes every column, so nothing is left for the files", Hint: "leave out at least one column"}
	}
	staged, err := h.Encode(abi.EncodeRequest{
		Relation: req.Relation, Format: f.Name, Options: f.Options.WithDefaults(req.Output.Options),
		PartitionBy: req.Output.PartitionBy, OrderBy: req.Output.SortBy, TargetFileSize: req.Output.TargetFileSize,
	})
	if err != nil {
		return abi.StageAnswer{}, err
	}
	answer := abi.StageAnswer{Files: staged}
	for _, file := range staged {
		answer.Rows += file.Rows
	}
	return answer, nil
}

func hasColumn(schema []abi.Column, name string) bool {
	for _, c := range schema {
		if strings.EqualFold(c.Name, name) {
			return true
		}
	}
	return false
}

func columnNames(schema []abi.Column) string {
	names := make([]string, len(schema))
	for i, c := range schema {
		names[i] = c.Name
	}
	return strings.Join(names, ", ")
}
