package main

import (
	"errors"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/ubunye-io/ubunye/engine/abi"
	"github.com/ubunye-io/ubunye/plugins/sdk"
)

// fixedWidth upholds sdk.Writer.
type fixedWidth struct{}

const options = `{
  "type": "object", "additionalProperties": false, "required": ["widths"],
  "properties": {
    "widths": {"type": "string", "description": "The columns of a line in their order, each with its width in characters, as \"day=10 sky=8\"."}
  }
}`

// Describe upholds sdk.Writer.
func (fixedWidth) Describe() abi.Description {
	return abi.Description{
		Name: "fixedwidth", Version: "1", Doc: "Text files of fixed width, a line a row",
		Modes:        []abi.Mode{{Name: "append", Class: abi.ClassClaims}},
		Options:      abi.JSON(options),
		Capabilities: []abi.Capability{abi.CapRelation, abi.CapFiles},
	}
}

// Plan upholds sdk.Writer.
func (fixedWidth) Plan(_ sdk.Host, req abi.PlanRequest) (abi.PlanAnswer, error) {
	answer := abi.PlanAnswer{Class: abi.ClassClaims, Target: req.Output.Target, Will: "append text files of fixed width to " + req.Output.Target}
	if len(req.Output.PartitionBy) > 0 {
		answer.Problems = append(answer.Problems, abi.Problem{Field: "partition_by", Message: "these files are not partitioned", Hint: "remove partition_by"})
	}
	for _, name := range slices.Sorted(maps.Keys(req.Output.Options)) {
		if name != "widths" {
			answer.Problems = append(answer.Problems, abi.Problem{Field: "options." + name, Message: "there is no such option", Hint: "the option is widths"})
		}
	}
	if _, problem := parseWidths(req.Output.Options["widths"]); problem != nil {
		answer.Problems = append(answer.Problems, *problem)
	}
	return answer, nil
}

// Stage upholds sdk.Writer.
func (fixedWidth) Stage(h sdk.Host, req abi.StageRequest) (abi.StageAnswer, error) {
	places, problem := parseWidths(req.Output.Options["widths"])
	if problem != nil { // plan has refused it
		return abi.StageAnswer{}, errors.New(problem.Message)
	}
	relation := req.Relation
	if len(req.Output.SortBy) > 0 {
		var err error
		relation, err = h.Derive(abi.DeriveRequest{SQL: "SELECT * FROM unsorted ORDER BY " + strings.Join(req.Output.SortBy, ", "),
			Inputs: []abi.DeriveInput{{Name: "unsorted", Relation: relation}}})
		if err != nil {
			return abi.StageAnswer{}, err
		}
	}
	rows, err := h.Rows(abi.RowsRequest{Relation: relation, Columns: columns(places)})
	if err != nil {
		return abi.StageAnswer{}, err
	}
	out := output{host: h, most: req.Output.TargetFileSize}
	if err := out.write(rows, places); err != nil {
		return abi.StageAnswer{}, err
	}
	return out.answer, nil
}

// output is the files of one relation.
type output struct {
	host   sdk.Host
	most   int64 // bytes at which a new file is begun; 0: one file
	file   sdk.File
	lines  int64 // in file
	bytes  int64 // in file
	answer abi.StageAnswer
}

// write writes all rows. A relation without rows becomes a file without lines.
func (o *output) write(rows *sdk.Rows, places []place) error {
	var lines []byte
	for {
		batch, err := rows.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		if o.most > 0 && o.bytes >= o.most {
			if err := o.close(); err != nil {
				return err
			}
		}
		lines = lines[:0]
		for row := range batch.Rows {
			if lines, err = appendRow(lines, places, batch, row); err != nil {
				return err
			}
		}
		if err := o.append(lines, batch.Rows); err != nil {
			return err
		}
	}
	if o.file == nil && o.answer.Files == nil {
		if err := o.append(nil, 0); err != nil {
			return err
		}
	}
	return o.close()
}

func (o *output) append(lines []byte, count int) (err error) {
	if o.file == nil {
		if o.file, err = o.host.CreateFile(abi.FileCreateRequest{Extension: "txt"}); err != nil {
			return err
		}
	}
	n, err := o.file.Write(lines)
	o.bytes += int64(n)
	o.lines += int64(count)
	return err
}

// close ends the file that is being written, if one is.
func (o *output) close() error {
	if o.file == nil {
		return nil
	}
	closed, err := o.file.Close()
	if err != nil {
		return err
	}
	o.answer.Files = append(o.answer.Files, abi.StagedFile{Name: closed.Name, Rows: o.lines, Bytes: closed.Bytes})
	o.answer.Rows += o.lines
	o.file, o.lines, o.bytes = nil, 0, 0
	return nil
}
