package main

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/ubunye-io/ubunye/engine/abi"
	"github.com/ubunye-io/ubunye/plugins/sdk"
)

// place is a column's place in a line.
type place struct {
	column string
	width  int // characters
}

// parseWidths reads the option widths, as "day=10 sky=8".
func parseWidths(text string) ([]place, *abi.Problem) {
	problem := func(format string, args ...any) ([]place, *abi.Problem) {
		return nil, &abi.Problem{Field: "options.widths", Message: fmt.Sprintf(format, args...), Hint: `the columns of a line in their order, as "day=10 sky=8"`}
	}
	var places []place
	seen := map[string]bool{}
	for _, word := range strings.Fields(text) {
		column, number, _ := strings.Cut(word, "=")
		width, err := strconv.Atoi(number)
		if column == "" || err != nil || width < 1 || width > 10_000 {
			return problem("%q is no column and its width, from 1 to 10000", word)
		}
		if name := strings.ToLower(column); seen[name] {
			return problem("the column %s has two widths", column)
		} else {
			seen[name] = true
		}
		places = append(places, place{column, width})
	}
	if places == nil {
		return problem("no column has a width")
	}
	return places, nil
}

// columns gives the names of the columns in the order of a line.
func columns(places []place) []string {
	names := make([]string, len(places))
	for i, p := range places {
		names[i] = p.column
	}
	return names
}

// appendRow appends a row as one line: numbers to the right of their place, all else to the left. What does not fit
// is an error: a file that lost part of a value would still look like one.
func appendRow(line []byte, places []place, b *sdk.Batch, row int) ([]byte, error) {
	for i, p := range places {
		c := &b.Columns[i]
		begin := len(line)
		line = c.AppendText(line, row)
		text := line[begin:]
		pad := p.width - utf8.RuneCount(text)
		if pad < 0 {
			return nil, misfit(fmt.Sprintf("give the column more than %d characters", p.width), "column %s: %q does not fit", p.column, text)
		}
		if bytes.ContainsAny(text, "\r\n") {
			return nil, misfit("replace line breaks in a step", "column %s: %q has a line break", p.column, text)
		}
		line = append(line, bytes.Repeat([]byte{' '}, pad)...)
		if right(c.Kind) {
			copy(line[begin+pad:], line[begin:len(line)-pad])
			copy(line[begin:], bytes.Repeat([]byte{' '}, pad))
		}
	}
	return append(line, '\n'), nil
}

func right(k sdk.Kind) bool {
	return k == sdk.Int || k == sdk.Uint || k == sdk.Float || k == sdk.Decimal
}

func misfit(hint, format string, args ...any) error {
	return &abi.Failure{Code: "value", Message: fmt.Sprintf(format, args...), Hint: hint}
}
