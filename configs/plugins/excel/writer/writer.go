package main

import (
	"io"
	"slices"
	"strings"

	"github.com/ubunye-io/ubunye/engine/abi"
	"github.com/ubunye-io/ubunye/plugins/sdk"
)

// excel upholds sdk.Writer.
type excel struct{}

const options = `{
  "type": "object", "additionalProperties": false,
  "properties": {
    "sheet_by": {"type": "string", "description": "A column: each of its values is a sheet of that name, and the column is left out. Without it there is one sheet."}
  }
}`

// Describe upholds sdk.Writer.
func (excel) Describe() abi.Description {
	return abi.Description{
		Name: "excel", Version: "1", Doc: "Excel workbooks, a sheet for each value of a column",
		Modes:        []abi.Mode{{Name: "append", Class: abi.ClassClaims}, {Name: "overwrite", Class: abi.ClassReplaces}},
		Options:      abi.JSON(options),
		Capabilities: []abi.Capability{abi.CapRelation, abi.CapFiles},
	}
}

// Plan upholds sdk.Writer.
func (excel) Plan(_ sdk.Host, req abi.PlanRequest) (abi.PlanAnswer, error) {
	class, _ := excel{}.Describe().Class(req.Output.Mode, nil)
	answer := abi.PlanAnswer{Class: class, Target: req.Output.Target, Will: req.Output.Mode + " an Excel workbook"}
	if len(req.Output.PartitionBy) > 0 {
		answer.Problems = append(answer.Problems, abi.Problem{Field: "partition_by", Message: "a workbook is one file", Hint: "for a sheet for each value of a column: options: {sheet_by: " + req.Output.PartitionBy[0] + "}"})
	}
	if req.Output.TargetFileSize > 0 {
		answer.Problems = append(answer.Problems, abi.Problem{Field: "target_file_size", Message: "a workbook is one file", Hint: "remove target_file_size"})
	}
	return answer, nil
}

// Stage upholds sdk.Writer.
func (excel) Stage(h sdk.Host, req abi.StageRequest) (abi.StageAnswer, error) {
	none := abi.StageAnswer{}
	by := req.Output.Options["sheet_by"]
	rows, err := sorted(h, req.Relation, by, req.Output.SortBy)
	if err != nil {
		return none, err
	}
	fields, err := rows.Fields()
	if err != nil {
		return none, err
	}
	at := slices.IndexFunc(fields, func(f sdk.Field) bool { return by != "" && strings.EqualFold(f.Name, by) })
	if by != "" && at < 0 {
		return none, &abi.Failure{Code: "option", Message: "sheet_by: there is no column " + by}
	}
	file, err := h.CreateFile(abi.FileCreateRequest{Extension: "xlsx"})
	if err != nil {
		return none, err
	}
	w := newWorkbook(file, fields, at)
	if err := w.writeAll(rows); err != nil {
		return none, err
	}
	closed, err := file.Close()
	if err != nil {
		return none, err
	}
	return abi.StageAnswer{Files: []abi.StagedFile{{Name: closed.Name, Rows: w.total, Bytes: closed.Bytes}}, Rows: w.total}, nil
}

// sorted opens the rows, those of a sheet one after the other.
func sorted(h sdk.Host, relation, by string, order []string) (*sdk.Rows, error) {
	if by != "" {
		order = append([]string{`"` + strings.ReplaceAll(by, `"`, `""`) + `"`}, order...)
	}
	if len(order) > 0 {
		var err error
		relation, err = h.Derive(abi.DeriveRequest{SQL: "SELECT * FROM unsorted ORDER BY " + strings.Join(order, ", "),
			Inputs: []abi.DeriveInput{{Name: "unsorted", Relation: relation}}})
		if err != nil {
			return nil, err
		}
	}
	return h.Rows(abi.RowsRequest{Relation: relation})
}

// writeAll writes all rows and ends the workbook.
func (w *workbook) writeAll(rows *sdk.Rows) error {
	for {
		batch, err := rows.Next()
		if err == io.EOF {
			return w.close()
		}
		if err != nil {
			return err
		}
		for row := range batch.Rows {
			if err := w.add(batch, row); err != nil {
				return err
			}
		}
		if err := w.flush(); err != nil {
			return err
		}
	}
}
