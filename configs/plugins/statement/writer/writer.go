package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/ubunye-io/ubunye/engine/abi"
	"github.com/ubunye-io/ubunye/plugins/sdk"
)

// statement upholds sdk.Writer.
type statement struct{}

const options = `{
  "type": "object", "additionalProperties": false, "required": ["account", "currency"],
  "properties": {
    "account": {"type": "string", "description": "The account's number, at most 34 characters."},
    "currency": {"type": "string", "description": "Three letters, as EUR."},
    "opening": {"type": "string", "default": "0.00", "description": "The balance before the first booking, with two digits after the point; what is owed is negative."}
  }
}`

// Describe upholds sdk.Writer.
func (statement) Describe() abi.Description {
	return abi.Description{
		Name: "statement", Version: "1", Doc: "Bank statements of fixed width with trailer totals",
		Modes:        []abi.Mode{{Name: "append", Class: abi.ClassClaims}},
		Options:      abi.JSON(options),
		Capabilities: []abi.Capability{abi.CapRelation, abi.CapFiles},
	}
}

// Plan upholds sdk.Writer.
func (statement) Plan(_ sdk.Host, req abi.PlanRequest) (abi.PlanAnswer, error) {
	_, problems := read(req.Output)
	return abi.PlanAnswer{Class: abi.ClassClaims, Target: req.Output.Target, Will: "append a bank statement", Problems: problems}, nil
}

// columns are those of the rows, in the order of a line.
var columns = []string{"booked", "reference", "text", "amount"}

// Stage upholds sdk.Writer.
func (statement) Stage(h sdk.Host, req abi.StageRequest) (abi.StageAnswer, error) {
	none := abi.StageAnswer{}
	s, problems := read(req.Output)
	if len(problems) > 0 { // plan has refused them
		return none, errors.New(problems[0].Message)
	}
	relation, err := h.Derive(abi.DeriveRequest{SQL: "SELECT * FROM unsorted ORDER BY " + strings.Join(req.Output.SortBy, ", "),
		Inputs: []abi.DeriveInput{{Name: "unsorted", Relation: req.Relation}}})
	if err != nil {
		return none, err
	}
	rows, err := h.Rows(abi.RowsRequest{Relation: relation, Columns: columns})
	if err != nil {
		return none, err
	}
	if err := checkColumns(rows); err != nil {
		return none, err
	}
	file, err := h.CreateFile(abi.FileCreateRequest{Extension: "txt"})
	if err != nil {
		return none, err
	}
	if err := s.write(file, rows); err != nil {
		return none, err
	}
	closed, err := file.Close()
	if err != nil {
		return none, err
	}
	return abi.StageAnswer{Files: []abi.StagedFile{{Name: closed.Name, Rows: s.count, Bytes: closed.Bytes}}, Rows: s.count}, nil
}

// checkColumns refuses what is no booking: an amount is exact, to the cent.
func checkColumns(rows *sdk.Rows) error {
	fields, err := rows.Fields()
	if err != nil {
		return err
	}
	if booked := fields[0]; booked.Kind != sdk.Date {
		return &abi.Failure{Code: "column", Message: "the column booked is no DATE", Hint: "cast it in a step"}
	}
	if amount := fields[3]; amount.Kind != sdk.Decimal || amount.Scale != 2 {
		return &abi.Failure{Code: "column", Message: "the column amount is no DECIMAL with two digits after the point", Hint: "cast it in a step, as amount::DECIMAL(15,2)"}
	}
	return nil
}

// write writes header, bookings and trailer.
func (s *sheet) write(to io.Writer, rows *sdk.Rows) error {
	lines := s.header(nil)
	for {
		batch, err := rows.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		for row := range batch.Rows {
			if lines, err = s.booking(lines, batch, row); err != nil {
				return fmt.Errorf("booking %d: %w", s.count+1, err)
			}
		}
		if _, err := to.Write(lines); err != nil {
			return err
		}
		lines = lines[:0]
	}
	_, err := to.Write(s.trailer(lines))
	return err
}
