package duckdb

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sort"
	"strconv"
	"strings"

	driverduckdb "github.com/duckdb/duckdb-go/v2"

	"github.com/ubunye-io/ubunye/engine/compute"
)

// engineError is what DuckDB says under `SET errors_as_json = true`.
type engineError struct {
	Type       string `json:"exception_type"`
	Message    string `json:"exception_message"`
	Position   string `json:"position"` // byte in the statement, from 0; empty: unknown
	Candidates string `json:"candidates"`
	Name       string `json:"name"`
	Subtype    string `json:"error_subtype"`
	Errno      string `json:"errno"`
}

// parse reads DuckDB's structured error out of err. An error of another shape is kept whole as the message.
func parse(err error) engineError {
	text := err.Error()
	var de *driverduckdb.Error
	if errors.As(err, &de) {
		text = de.Msg
	}
	// The parser puts "Parser Error: " before the JSON.
	if i := strings.IndexByte(text, '{'); i >= 0 {
		var e engineError
		if json.NewDecoder(strings.NewReader(text[i:])).Decode(&e) == nil && e.Type != "" {
			return e
		}
	}
	return engineError{Message: text}
}

// position gives the byte that the error is about, or -1.
func (e engineError) position() int {
	n, err := strconv.Atoi(e.Position)
	if err != nil {
		return -1
	}
	return n
}

// line gives the message as one line: its first line, which says what is wrong; the others are
// advice for people who type SQL into a shell.
func (e engineError) line() string {
	msg, _, _ := strings.Cut(strings.TrimSpace(e.Message), "\n")
	return strings.Join(strings.Fields(msg), " ")
}

// hint gives the candidates that DuckDB names, in one line.
func (e engineError) hint() string {
	if e.Candidates == "" {
		return ""
	}
	return "did you mean " + strings.ReplaceAll(e.Candidates, ",", ", ") + "?"
}

func failed(msg string, err error) *compute.Error {
	return &compute.Error{Kind: compute.Failed, Message: msg + ": " + parse(err).line(), Err: err}
}

// cancelled gives the context's error if that is why a statement ended.
func cancelled(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return context.Cause(ctx)
}

// fail makes the error of a statement that is not about any input or step.
func (s *session) fail(ctx context.Context, err error, msg string) error {
	if c := cancelled(ctx); c != nil {
		return c
	}
	e := failed(msg, err)
	e.Hint = memoryHint(parse(err))
	return e
}

func memoryHint(e engineError) string {
	if e.Type != "Out of Memory" {
		return ""
	}
	return "give the engine more memory or a folder to spill to"
}

// optionErr makes the error of a setting that DuckDB refuses.
func (s *session) optionErr(ctx context.Context, err error, msg, hint string) error {
	if c := cancelled(ctx); c != nil {
		return c
	}
	return &compute.Error{Kind: compute.BadOption, Message: msg, Hint: hint, Err: err}
}

// inColumn puts a column into an error that does not have one.
func inColumn(err error, column string) error {
	var e *compute.Error
	if errors.As(err, &e) && e.Column == "" {
		e.Column = column
	}
	return err
}

// quote makes an SQL identifier of any name without NUL.
func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// literal makes an SQL string of any text without NUL.
func literal(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

func plainName(name string) bool {
	for i, r := range name {
		letter := r == '_' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return name != ""
}

// didYouMean gives a hint with the nearest of the known names, or all of them if none is near.
func didYouMean(name string, known []string) string {
	best, distance := "", len(name)/3+2
	for _, k := range known {
		if d := editDistance(strings.ToLower(name), strings.ToLower(k)); d < distance {
			best, distance = k, d
		}
	}
	switch {
	case best != "":
		return fmt.Sprintf("did you mean %s?", best)
	case len(known) == 0:
		return ""
	}
	sorted := append([]string(nil), known...)
	sort.Strings(sorted)
	if len(sorted) > 12 {
		sorted = append(sorted[:12], "…")
	}
	return "known: " + strings.Join(sorted, ", ")
}

// editDistance is Levenshtein's.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			next := min(row[j]+1, row[j+1]+1, diagonal+cost)
			diagonal, row[j+1] = row[j+1], next
		}
	}
	return row[len(b)]
}
