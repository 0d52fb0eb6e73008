package main

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/ubunye-io/ubunye/engine/abi"
	"github.com/ubunye-io/ubunye/plugins/sdk"
)

// options are those of an output.
type options struct {
	url     string
	rows    int
	headers map[string]string
	honours bool
}

// keyField is what draft-ietf-httpapi-idempotency-key-header calls it.
const keyField = "Idempotency-Key"

// read reads them; the engine has compared them with the schema.
func read(out abi.Output) (options, []abi.Problem) {
	o := options{url: out.Options["url"], rows: 500, headers: map[string]string{"Content-Type": "application/json"}, honours: out.Options["honours_key"] == "true"}
	var problems []abi.Problem
	wrong := func(field, message, hint string) {
		problems = append(problems, abi.Problem{Field: field, Message: message, Hint: hint})
	}
	if text := out.Options["rows"]; text != "" {
		var err error
		if o.rows, err = strconv.Atoi(text); err != nil || o.rows < 1 {
			wrong("options.rows", text+" is no number of rows", "")
		}
	}
	if o.url == "" {
		wrong("options.url", "it does not say where to send to", "")
	}
	for _, line := range strings.Split(out.Options["headers"], "\n") {
		name, value, ok := strings.Cut(line, ":")
		name = strings.TrimSpace(name)
		switch {
		case strings.TrimSpace(line) == "":
		case !ok || strings.EqualFold(name, keyField):
			wrong("options.headers", fmt.Sprintf("%q is no further header field", name), "a line each, as Authorization: Bearer ${API_TOKEN}")
		default:
			o.headers[name] = strings.TrimSpace(value)
		}
	}
	if len(out.PartitionBy) > 0 {
		wrong("partition_by", "what is sent is not partitioned", "remove partition_by")
	}
	if o.honours && len(out.SortBy) == 0 {
		wrong("sort_by", "with honours_key a request that is sent again must be the same, so its rows need an order", "as in sort_by: [id]")
	}
	return o, problems
}

// appendRow appends a row as a JSON object.
func appendRow(to []byte, b *sdk.Batch, row int) ([]byte, error) {
	to = append(to, '{')
	for i := range b.Columns {
		c := &b.Columns[i]
		if i > 0 {
			to = append(to, ',')
		}
		to = append(appendText(to, []byte(c.Name)), ':')
		begin := len(to)
		switch {
		case c.Null(row):
			to = append(to, "null"...)
		case c.Kind == sdk.Text:
			to = appendText(to, c.Bytes(row))
		case c.Kind == sdk.Bool, c.Kind == sdk.Int, c.Kind == sdk.Uint, c.Kind == sdk.Decimal:
			to = c.AppendText(to, row)
		case c.Kind == sdk.Float:
			to = c.AppendText(to, row)
			if v := c.Float(row); v != v || v-v != 0 {
				return nil, &abi.Failure{Code: "value", Message: fmt.Sprintf("column %s: JSON has no number %s", c.Name, to[begin:]), Hint: "replace it in a step"}
			}
		default:
			to = append(c.AppendText(append(to, '"'), row), '"')
		}
	}
	return append(to, '}'), nil
}

// appendText appends a text as RFC 8259 has it.
func appendText(to, text []byte) []byte {
	const hex = "0123456789abcdef"
	to = append(to, '"')
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		switch {
		case r == '"' || r == '\\':
			to = append(to, '\\', byte(r))
		case r < 0x20:
			to = append(to, '\\', 'u', '0', '0', hex[r>>4], hex[r&15])
		default:
			to = utf8.AppendRune(to, r)
		}
		text = text[size:]
	}
	return append(to, '"')
}
