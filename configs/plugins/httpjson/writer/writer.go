package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/ubunye-io/ubunye/engine/abi"
	"github.com/ubunye-io/ubunye/plugins/sdk"
)

// delivery upholds sdk.Committer.
type delivery struct{}

const schema = `{
  "type": "object", "additionalProperties": false, "required": ["url"],
  "properties": {
    "url": {"type": "string", "description": "Where to send to; of a host that the pipeline allows."},
    "rows": {"type": "integer", "minimum": 1, "maximum": 100000, "default": 500, "description": "Most rows of one request."},
    "headers": {"type": "string", "description": "Further header fields, a line each, as \"Authorization: Bearer ${API_TOKEN}\"."},
    "honours_key": {"type": "boolean", "default": false, "description": "The host takes a request with an Idempotency-Key that it has taken before for the same request, and does it once. It needs sort_by."}
  }
}`

// Describe upholds sdk.Writer. Whether a delivery can be repeated is for the host to promise, so it is said in the pipeline.
func (delivery) Describe() abi.Description {
	return abi.Description{
		Name: "httpjson", Version: "1", Doc: "JSON arrays, sent to a host by HTTP",
		Modes: []abi.Mode{{Name: "append", Class: abi.ClassNamed,
			Exceptions: []abi.Exception{{Options: map[string]string{"honours_key": "true"}, Class: abi.ClassOnce}}}},
		Options:      abi.JSON(schema),
		Capabilities: []abi.Capability{abi.CapRelation, abi.CapFiles, abi.CapTable, abi.CapHTTP},
	}
}

// Plan upholds sdk.Writer.
func (delivery) Plan(_ sdk.Host, req abi.PlanRequest) (abi.PlanAnswer, error) {
	o, problems := read(req.Output)
	answer := abi.PlanAnswer{Class: abi.ClassNamed, Target: req.Output.Target, Problems: problems,
		Will: fmt.Sprintf("send at most %d rows a request to %s", o.rows, o.url)}
	if o.honours {
		answer.Class = req.Batch.Class
	}
	return answer, nil
}

// Stage upholds sdk.Writer: the bodies of the requests are files of the outbox.
func (delivery) Stage(h sdk.Host, req abi.StageRequest) (abi.StageAnswer, error) {
	none := abi.StageAnswer{}
	o, problems := read(req.Output)
	if len(problems) > 0 { // plan has refused them
		return none, errors.New(problems[0].Message)
	}
	relation := req.Relation
	if len(req.Output.SortBy) > 0 {
		var err error
		if relation, err = h.Derive(abi.DeriveRequest{SQL: "SELECT * FROM unsorted ORDER BY " + strings.Join(req.Output.SortBy, ", "),
			Inputs: []abi.DeriveInput{{Name: "unsorted", Relation: relation}}}); err != nil {
			return none, err
		}
	}
	rows, err := h.Rows(abi.RowsRequest{Relation: relation})
	if err != nil {
		return none, err
	}
	out := outbox{host: h, most: o.rows}
	for {
		batch, err := rows.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return none, err
		}
		for row := range batch.Rows {
			if err := out.add(batch, row); err != nil {
				return none, err
			}
		}
	}
	if err := out.close(); err != nil {
		return none, err
	}
	out.answer.State, err = json.Marshal(out.names)
	return out.answer, err
}

// outbox makes the bodies.
type outbox struct {
	host   sdk.Host
	most   int
	body   []byte
	rows   int      // in body
	names  []string // of the staged files, in the order of their rows
	answer abi.StageAnswer
}

func (o *outbox) add(b *sdk.Batch, row int) error {
	separator := byte(',')
	if o.rows == 0 {
		separator = '['
	}
	o.body = append(o.body, separator)
	var err error
	if o.body, err = appendRow(o.body, b, row); err != nil {
		return err
	}
	if o.rows++; o.rows == o.most {
		return o.close()
	}
	return nil
}

// close ends the body that is being made, if one is.
func (o *outbox) close() error {
	if o.rows == 0 {
		return nil
	}
	file, err := o.host.CreateFile(abi.FileCreateRequest{Extension: "json"})
	if err != nil {
		return err
	}
	if _, err := file.Write(append(o.body, ']')); err != nil {
		return err
	}
	closed, err := file.Close()
	if err != nil {
		return err
	}
	o.answer.Files = append(o.answer.Files, abi.StagedFile{Name: closed.Name, Rows: int64(o.rows), Bytes: closed.Bytes})
	o.answer.Rows += int64(o.rows)
	o.names = append(o.names, closed.Name)
	o.body, o.rows = o.body[:0], 0
	return nil
}
